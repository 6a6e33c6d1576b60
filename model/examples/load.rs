//! One workload of the bench, or the bare event queue beside it: `load CASE [none|dcqcn] [--setup]`. Prints one line.
//! `cargo xtask bench model` runs all of them and takes their CPU time and memory from the kernel.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

use rocetop_model::cc;
use rocetop_model::engine::{Settings, Simulation, Status};
use rocetop_model::rng::Rng;
use rocetop_model::topology::{Cable, FatTree, HostId};
use rocetop_model::units::{Bytes, Rate, Time};
use rocetop_model::workload::{Flow, Workload};

/// Every host sends to another, and every host receives from one.
fn permutation(hosts: u32, bytes: u64) -> Workload {
    let mut order: Vec<u32> = (0..hosts).collect();
    Rng::named(1, "permutation").shuffle(&mut order);
    let mut load = Workload::new();
    for (&src, &dst) in order.iter().zip(order.iter().cycle().skip(1)) {
        load.add(Flow::new(HostId(src), HostId(dst), Bytes(bytes)));
    }
    load
}

fn incast(hosts: u32, bytes: u64) -> Workload {
    let mut load = Workload::new();
    for src in 1..hosts {
        load.add(Flow::new(HostId(src), HostId(0), Bytes(bytes)));
    }
    load
}

/// The least that a hop can cost an event-driven simulator: one event taken from a heap, one put back a little later,
/// one line of memory that is not in the cache. As many events wait as the fabric has ports.
fn bare(pending: u64, hops: u64) -> f64 {
    let mut rng = Rng::new(1);
    let mut heap: BinaryHeap<Reverse<(u64, u64)>> = (0..pending).map(|id| Reverse((rng.below(1 << 20), id))).collect();
    // 64 MB, more than a core's share of any cache.
    let mut memory = vec![1_u64; 1 << 23];
    let begin = Instant::now();
    let mut at = 0;
    for _ in 0..hops {
        if let Some(Reverse((time, id))) = heap.pop() {
            let draw = rng.next();
            at = (at ^ draw) & ((1 << 23) - 1);
            if let Some(word) = memory.get_mut(at as usize) {
                *word += id;
                at ^= *word;
            }
            heap.push(Reverse((time + 1_000_000 + (draw >> 48), id)));
        }
    }
    std::hint::black_box(at);
    begin.elapsed().as_secs_f64()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [name, pending, hops] = args.as_slice()
        && name == "bare"
    {
        let hops: u64 = hops.parse()?;
        println!("hops {hops} run {:.3} s", bare(pending.parse()?, hops));
        return Ok(());
    }
    let has = |word: &str| args.iter().any(|arg| arg == word);
    let (slow, fast) = (Rate::gbps(100), Rate::gbps(400));
    let (k, rate, mtu, load) = match args.first().map(String::as_str) {
        Some("perm128") => (8, slow, 1_000, permutation(128, 500_000)),
        Some("inc128") => (8, slow, 1_000, incast(128, 400_000)),
        Some("perm1024") => (16, fast, 4_096, permutation(1_024, 1_000_000)),
        Some("perm8192") => (32, fast, 4_096, permutation(8_192, 32_768)),
        Some("perm27648") => (48, fast, 4_096, permutation(27_648, 32_768)),
        _ => return Err("perm128, inc128, perm1024, perm8192 or perm27648?".into()),
    };
    let begin = Instant::now();
    let fabric = FatTree::radix(k, Cable::new(rate, Time::us(1))).build()?;
    let mut settings = Settings::default();
    settings.nic.mtu = Bytes(mtu);
    if !has("none") {
        settings.cc = cc::Settings::Dcqcn(cc::dcqcn::Settings::default());
    }
    let mut run = Simulation::new(fabric, &load, settings)?;
    let setup = begin.elapsed();
    if has("--setup") {
        println!("setup {:.3} s", setup.as_secs_f64());
        return Ok(());
    }
    let begin = Instant::now();
    let status = run.run();
    let wall = begin.elapsed();
    if status != Status::Done {
        return Err(format!("{status:?}: {:?}", run.totals()).into());
    }
    let totals = run.totals();
    println!(
        "hops {} setup {:.3} s run {:.3} s ({:.2} M hops/s), simulated {}, drops {} marks {} cnps {} pauses {}",
        totals.hops,
        setup.as_secs_f64(),
        wall.as_secs_f64(),
        totals.hops as f64 / wall.as_secs_f64() / 1e6,
        run.now(),
        totals.drops,
        totals.marks,
        totals.cnps,
        totals.pauses
    );
    Ok(())
}
