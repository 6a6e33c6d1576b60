//! DCQCN's fixed points, and where it has none.
//!
//! The fluid model of Zhu et al. (SIGCOMM 2015; in the form of "ECN or Delay", CoNEXT 2016) has one
//! fixed point for N flows at a bottleneck: the marking probability that balances cuts and increases, and the queue at
//! which RED gives it. A packet simulation sits somewhat above it, since marks and CNPs come in lumps. Feedback that is
//! slow against the queue makes it swing.

use super::{Row, spread};
use crate::cc;
use crate::engine::{Settings, Simulation};
use crate::topology::{Cable, HostId, PortId, Star};
use crate::units::{Bytes, Rate, Time};
use crate::wire::{GAP, HEADERS};
use crate::workload::{Flow, FlowId, Workload};

/// Every packet takes this much of a cable, as in the fluid model.
const PACKET: u64 = 1_000;

/// Where the fluid model comes to rest.
#[derive(Clone, Copy, Debug)]
struct Rest {
    p: f64,
    alpha: f64,
    queue: f64,
}

/// The fixed point of `n` flows at a bottleneck of `line`, with the paper's settings; `None` where it would take a
/// marking probability above Pmax.
fn rest(line: Rate, n: u32) -> Option<Rest> {
    let settings = cc::dcqcn::Settings::default();
    let packets = |rate: f64| rate / (8.0 * PACKET as f64);
    let rate = packets(line.0 as f64) / f64::from(n);
    let step = packets(settings.ai.0 as f64);
    let (cnp, timer) = (50e-6, settings.rate_timer.seconds());
    let alpha_timer = settings.alpha_timer.seconds();
    let every = settings.byte_counter.map_or(f64::INFINITY, |Bytes(bytes)| bytes as f64 / PACKET as f64);
    let f = f64::from(settings.f);
    // Cuts take a^2 alpha, increases give (b + d)(c + e); a CNP interval has cnp x rate packets.
    let balance = |p: f64| {
        let none = |packets: f64| (1.0 - p).powf(packets);
        let a = 1.0 - none(cnp * rate);
        let alpha = 1.0 - none(alpha_timer * rate);
        let b = p / (1.0 / none(every) - 1.0);
        let d = p / (1.0 / none(timer * rate) - 1.0);
        let (c, e) = (none(f * every) * b, none(f * timer * rate) * d);
        a * a * alpha - cnp * cnp * step * rate * (b + d) * (c + e)
    };
    let (mut low, mut high) = (1e-9, 0.01);
    if balance(high) < 0.0 {
        return None;
    }
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if balance(middle) < 0.0 { low = middle } else { high = middle }
    }
    let alpha = 1.0 - (1.0 - low).powf(alpha_timer * rate);
    Some(Rest { p: low, alpha, queue: 5_000.0 + low / 0.01 * 195_000.0 })
}

/// What a run of `n` flows showed between 200 and 400 ms.
struct Seen {
    /// The queue: mean, and standard deviation over mean.
    queue: f64,
    swing: f64,
    /// Goodput of each flow, against its equal share.
    shares: Vec<f64>,
    drops: u64,
}

/// `n` hosts send to one more; a packet takes `round` there and its ACK back.
fn run_one(line: Rate, n: u32, round: Time, seed: u64) -> Option<Seen> {
    let cable = Cable::new(line, Time(round.0 / 4));
    let fabric = Star { hosts: n + 1, cable }.build().ok()?;
    let mut settings = Settings { seed, ..Settings::default() };
    settings.cc = cc::Settings::Dcqcn(cc::dcqcn::Settings::default());
    settings.nic.mtu = Bytes(PACKET - u64::from(HEADERS + GAP));
    // Long cables need their headroom.
    settings.switch.buffer.per_port = Bytes(2_000_000);
    let mut load = Workload::new();
    for src in 0..n {
        // More than they can send.
        load.add(Flow::new(HostId(src), HostId(n), Bytes(100_000_000_000)));
    }
    let bottleneck = PortId(fabric.ports_of(fabric.node(crate::topology::SwitchId(0))).first.0 + n);
    let mut run = Simulation::new(fabric, &load, settings).ok()?;
    let received = |run: &Simulation| -> Vec<u64> { (0..n).map(|flow| run.received(FlowId(flow)).0).collect() };
    let (from, to, step) = (Time::ms(200), Time::ms(400), Time::us(10));
    run.advance(from, u64::MAX);
    let before = received(&run);
    let mut queue = Vec::new();
    let mut now = from;
    while now < to {
        now += step;
        run.advance(now, u64::MAX);
        queue.push(run.queue(bottleneck).0 as f64);
    }
    let payload = (PACKET - u64::from(HEADERS + GAP)) as f64 / PACKET as f64;
    let share = line.0 as f64 / 8.0 * to.since(from).seconds() * payload / f64::from(n);
    let shares = received(&run).iter().zip(before).map(|(after, before)| (after - before) as f64 / share).collect();
    let (mean, deviation) = spread(&queue);
    Some(Seen { queue: mean, swing: deviation / mean.max(1.0), shares, drops: run.totals().drops })
}

pub(super) fn run() -> Vec<Row> {
    let mut rows = Vec::new();
    for (gbps, flows) in [(40, &[2, 4, 10][..]), (100, &[2, 4, 10, 16, 32])] {
        for &n in flows {
            rows.push(fixed_point(Rate::gbps(gbps), n));
        }
    }
    for (n, micros, least, most) in [(10, 4, 0.0, 0.4), (10, 85, 0.8, f64::INFINITY)] {
        rows.push(swing(n, Time::us(micros), least, most));
    }
    rows
}

const SEEDS: [u64; 3] = [1, 2, 3];

fn fixed_point(line: Rate, n: u32) -> Row {
    let name = format!("DCQCN {line}, {n} flows: queue at rest");
    let (Some(rest), seen) = (rest(line, n), SEEDS.map(|seed| run_one(line, n, Time::us(4), seed))) else {
        return Row { name, target: "a fixed point".into(), measured: "none".into(), pass: false, how: "" };
    };
    let seen: Vec<Seen> = seen.into_iter().flatten().collect();
    let (queue, _) = spread(&seen.iter().map(|seen| seen.queue).collect::<Vec<_>>());
    let shares: Vec<f64> = seen.iter().flat_map(|seen| seen.shares.iter().copied()).collect();
    let off = shares.iter().fold(0.0_f64, |most, share| most.max((share - 1.0).abs()));
    let drops: u64 = seen.iter().map(|seen| seen.drops).sum();
    // MODEL: -10 % to +35 % of the root; goodputs within 15 % of the equal share, 20 % at 32 flows.
    let allowed = if n >= 32 { 0.20 } else { 0.15 };
    let ratio = queue / rest.queue;
    Row {
        name,
        target: format!(
            "{:.1} KB -10..+35 % (p {:.6}, alpha {:.4}), shares within {:.0} %",
            rest.queue / 1e3,
            rest.p,
            rest.alpha,
            allowed * 100.0
        ),
        measured: format!(
            "{:.1} KB ({:+.0} %), shares within {:.1} %",
            queue / 1e3,
            (ratio - 1.0) * 100.0,
            off * 100.0
        ),
        pass: seen.len() == SEEDS.len() && (0.9..=1.35).contains(&ratio) && off <= allowed && drops == 0,
        how: "",
    }
}

fn swing(n: u32, round: Time, least: f64, most: f64) -> Row {
    let seen: Vec<Seen> = SEEDS.into_iter().filter_map(|seed| run_one(Rate::gbps(40), n, round, seed)).collect();
    let (swing, _) = spread(&seen.iter().map(|seen| seen.swing).collect::<Vec<_>>());
    let target = if most.is_finite() { format!("below {most}") } else { format!("above {least}") };
    Row {
        name: format!("DCQCN 40Gb/s, {n} flows, round trip {round}: deviation of the queue over its mean"),
        target,
        measured: format!("{swing:.2}"),
        pass: seen.len() == SEEDS.len() && swing >= least && swing <= most,
        how: "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The roots as another solver found them: p*, alpha* and queue in KB.
    #[test]
    fn the_roots_are_those_of_the_fluid_model() {
        let known = [
            (40, 2, 0.000777, 0.1014, 20.2),
            (40, 4, 0.001888, 0.1218, 41.8),
            (40, 10, 0.006032, 0.1533, 122.6),
            (100, 2, 0.000239, 0.0788, 9.7),
            (100, 4, 0.000583, 0.0954, 16.4),
            (100, 10, 0.001888, 0.1218, 41.8),
            (100, 16, 0.003432, 0.1373, 71.9),
            (100, 32, 0.008225, 0.1626, 165.4),
        ];
        for (gbps, n, p, alpha, queue) in known {
            let rest = rest(Rate::gbps(gbps), n).unwrap();
            assert!((rest.p - p).abs() < 2e-6, "{gbps}G, {n} flows: p {}", rest.p);
            assert!((rest.alpha - alpha).abs() < 1e-4, "{gbps}G, {n} flows: alpha {}", rest.alpha);
            assert!((rest.queue / 1e3 - queue).abs() < 0.1, "{gbps}G, {n} flows: queue {}", rest.queue);
        }
        assert!(rest(Rate::gbps(40), 16).is_none(), "16 flows at 40G need more than Pmax");
    }
}
