//! The flow-level bench: 442,368 flows over 27,648 hosts of a fat tree, rates solved again and again. Prints one line;
//! `cargo xtask bench model` calls it.

use std::time::Instant;

use rocetop_model::fluid::max_min::{Problem, Solver};
use rocetop_model::fluid::ways::Ways;
use rocetop_model::rng::Rng;
use rocetop_model::routing::{Key, Settings, ecmp};
use rocetop_model::topology::{Cable, FatTree, HostId};
use rocetop_model::units::{Psn, Qpn, Rate, Time};

/// Flows from each host.
const EACH: u32 = 16;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let begin = Instant::now();
    let fabric = FatTree::radix(48, Cable::new(Rate::gbps(400), Time::us(1))).build()?;
    let router = Settings::Ecmp(ecmp::Settings::default()).begin(&fabric, 1);
    let mut ways = Ways::new(&fabric, router, 1);
    let mut problem = Problem::new(fabric.ports().rows().iter().map(|port| port.cable.rate.0 as f64).collect());
    let mut rng = Rng::named(1, "fluid");
    for src in 0..fabric.hosts() {
        for lane in 0..EACH {
            let dst = (src + 1 + rng.below(u64::from(fabric.hosts()) - 1) as u32) % fabric.hosts();
            let sport = 0xc000 | (rng.next() as u16 >> 2);
            let key = Key { src: HostId(src), dst: HostId(dst), sport, qp: Qpn(lane), psn: Psn::new(0) };
            problem.flow(ways.find(&fabric, &key, Time::ZERO).ok_or("no way")?);
        }
    }
    let setup = begin.elapsed();
    let mut solver = Solver::default();
    let mut rates = Vec::new();
    solver.solve(&problem, &mut rates);
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let begin = Instant::now();
        solver.solve(&problem, &mut rates);
        best = best.min(begin.elapsed().as_secs_f64());
    }
    let sum: f64 = rates.iter().sum();
    println!(
        "flows {} hosts {} setup {:.3} s, solved again in {best:.3} s (best of 5), mean rate {:.2} Gb/s",
        problem.flows(),
        fabric.hosts(),
        setup.as_secs_f64(),
        sum / problem.flows() as f64 / 1e9
    );
    Ok(())
}
