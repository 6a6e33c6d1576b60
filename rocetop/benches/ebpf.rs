//! What the kernel programs cost: nanoseconds a packet by the kernel's own clock, over an empty program in the same
//! run.
//!
//! Started by `cargo xtask bench ebpf`, which builds the object that rotates queue pairs and PSNs around both.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a measurement fails like a test")]

#[cfg(target_os = "linux")]
#[path = "../tests/kernel/frames.rs"]
mod frames;

#[cfg(target_os = "linux")]
fn main() {
    linux::main();
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("the programs are Linux's");
}

#[cfg(target_os = "linux")]
mod linux {
    use std::time::{Duration, Instant};

    use aya::maps::ProgramArray;
    use aya::programs::{TestRun, TestRunOptions, Xdp};
    use aya::{Ebpf, EbpfLoader};
    use rocetop::live::bpf::{Programs, Settings};
    use rocetop_parsers::abi::Why;

    use super::frames::ipv4;

    /// Runs of each, in turns, so that what else the machine does hits both alike.
    const ROUNDS: usize = 401;
    /// Packets a run.
    const PACKETS: u32 = 20_000;
    /// From one flow to the next where they come in no order: odd, so that all of a power of two get their turn, and
    /// their golden section, so that no two near in time are near in memory.
    const FAR: u32 = 20_251;

    pub(crate) fn main() {
        // Cargo adds `--bench`.
        let Some(object) = std::env::args().skip(1).find(|arg| !arg.starts_with('-')) else {
            eprintln!("left out: name the object that `cargo xtask bench ebpf` builds");
            return;
        };
        let object = std::fs::read(&object).unwrap();
        let write = ipv4(0x07, 1, 0, 1024);
        let mut udp = ipv4(0x07, 1, 0, 64);
        udp[36..38].copy_from_slice(&[0, 53]);
        let mut tcp = udp.clone();
        tcp[23] = 6;

        let quiet = Settings { events: Why::default(), ..Settings::default() };
        let headers = Settings { events: Why::HEADERS, ..Settings::default() };
        println!("nanoseconds a packet, least/median of {ROUNDS} runs of {PACKETS} packets each");
        println!("hash: over the empty program, what only looks the flow up in a hash table of the kernel's");
        println!("{:<34} {:>9} {:>9} {:>9} {:>8} {:>9}", "measured", "empty", "ours", "over", "target", "hash");
        for (what, settings, frame, (flows, step), target) in [
            ("1,000 IPv4 flows", Settings::default(), &write, (1_000, 1), "<= 100"),
            ("32,768 IPv4 flows", Settings::default(), &write, (32_768, 1), "<= 130"),
            ("32,768 flows in no order", Settings::default(), &write, (32_768, FAR), "-"),
            ("1 flow", Settings::default(), &write, (1, 1), "-"),
            ("1,000 flows, no events", quiet, &write, (1_000, 1), "-"),
            ("1,000 flows, ring full of headers", headers, &write, (1_000, 1), "-"),
            ("plain UDP frame", Settings::default(), &udp, (0, 1), "<= 12"),
            ("plain TCP frame", Settings::default(), &tcp, (0, 1), "<= 12"),
        ] {
            let [empty, ours, hash] = together(&object, &settings, frame, flows, step);
            let [over, hash] = [ours, hash].map(|[least, median]| [least - empty[0], median - empty[1]]);
            let [empty, ours, over, mut hash] =
                [empty, ours, over, hash].map(|[least, median]| format!("{least}/{median}"));
            if flows == 0 {
                // There is no flow to look up.
                hash = "-".to_owned();
            }
            println!("{what:<34} {empty:>9} {ours:>9} {over:>9} {target:>8} {hash:>9}");
        }
        read(&object, &write);
    }

    /// Least and median of the empty program, of ours, and of a look-up alone.
    fn together(object: &[u8], settings: &Settings, frame: &[u8], flows: u32, step: u32) -> [[i64; 2]; 3] {
        let mut programs = Programs::load(settings).unwrap();
        let mut bench = bench(object, flows, step);
        let ours = programs.received().unwrap().fd().unwrap().try_clone().unwrap();
        let [empty, hash] =
            ["empty", "look_up"].map(|name| program(&mut bench, name).fd().unwrap().try_clone().unwrap());
        let mut target = ProgramArray::try_from(bench.take_map("TARGET").unwrap()).unwrap();
        let mut runs = [Vec::new(), Vec::new(), Vec::new()];
        // The first rounds make the flows; they do not count.
        for round in 0..=ROUNDS + 3 {
            for (fd, runs) in [&empty, &ours, &hash].into_iter().zip(&mut runs) {
                target.set(0, fd, 0).unwrap();
                let each = run(&mut bench, frame, PACKETS);
                if round > 3 {
                    runs.push(each.as_nanos() as i64);
                }
            }
        }
        runs.map(|mut runs| {
            runs.sort_unstable();
            [runs[0], runs[ROUNDS / 2]]
        })
    }

    fn bench(object: &[u8], flows: u32, step: u32) -> Ebpf {
        let mut loader = EbpfLoader::new();
        loader.override_global("FLOWS", &flows, true).override_global("STEP", &step, true);
        let mut bench = loader.load(object).unwrap();
        for name in ["rotate", "empty", "look_up"] {
            program(&mut bench, name).load().unwrap();
        }
        bench
    }

    fn program<'a>(bench: &'a mut Ebpf, name: &str) -> &'a mut Xdp {
        bench.program_mut(name).unwrap().try_into().unwrap()
    }

    fn run(bench: &mut Ebpf, frame: &[u8], repeat: u32) -> Duration {
        let options = TestRunOptions { data_in: Some(frame), repeat, ..TestRunOptions::new() };
        let result = program(bench, "rotate").test_run(options).unwrap();
        assert_eq!(result.return_value, Programs::PASS);
        result.duration
    }

    /// How long userland takes to read many flows.
    fn read(object: &[u8], frame: &[u8]) {
        const FLOWS: u32 = 60_000;
        let mut programs = Programs::load(&Settings::default()).unwrap();
        let ours = programs.received().unwrap().fd().unwrap().try_clone().unwrap();
        let mut bench = bench(object, FLOWS, 1);
        let mut target = ProgramArray::try_from(bench.take_map("TARGET").unwrap()).unwrap();
        target.set(0, &ours, 0).unwrap();
        run(&mut bench, frame, FLOWS);
        let mut runs: Vec<Duration> = (0..ROUNDS)
            .map(|_| {
                let (start, mut seen) = (Instant::now(), 0);
                programs.for_each_flow(|_, _, flow| seen += flow.counters.tally.packets).unwrap();
                assert_eq!(seen, u64::from(FLOWS));
                start.elapsed()
            })
            .collect();
        runs.sort_unstable();
        let [least, median] = [runs[0], runs[ROUNDS / 2]].map(|run| run.as_secs_f64() * 1e3);
        println!("{:<34} {:>29} {:>8}   (ms)", "read 60,000 flows", format!("{least:.1}/{median:.1}"), "<= 30");
    }
}
