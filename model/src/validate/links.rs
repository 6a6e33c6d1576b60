//! Cables: what must be reserved behind XOFF, what a long one holds, how long a cut one is missed, what a loss costs.

use super::{Check, Error, Verdict, finish, last, settings};
use crate::cc;
use crate::engine::faults::{Detection, Fault, What};
use crate::engine::{Settings, Simulation};
use crate::nic::Recovery;
use crate::routing;
use crate::switch::buffer::driver_xoff;
use crate::switch::{Headroom, Link};
use crate::topology::{Cable, Clos2, Dumbbell, HostId, Star, SwitchId};
use crate::units::{Bytes, Metres, Rate, Time};
use crate::wire;
use crate::workload::{Flow, Workload};

const XOFF: &str = "Linux, mlx5 calculate_xoff at MTU 9216";
const HAUL: &str = "SYSTEMS F11";
const FAR: &str = "One flow of 1.5 GB over a trunk of 400 Gb/s and 15 ms one way, 4 KiB packets, a fixed window.";

pub(super) const CHECKS: &[Check] = &[
    Check { name: "XOFF of a driver: 100G, 100 m", source: XOFF, how: "", run: || xoff(100, 100, 76_767) },
    Check { name: "XOFF of a driver: 400G, 100 m", source: XOFF, how: "", run: || xoff(400, 100, 231_867) },
    Check { name: "XOFF of a driver: 800G, 300 m", source: XOFF, how: "", run: || xoff(800, 300, 784_267) },
    Check {
        name: "XOFF of a driver: 400G, 3,000 km",
        source: XOFF,
        how: "",
        run: || xoff(400, 3_000_000, 2_592_145_467),
    },
    Check {
        name: "exact headroom beside drivers: 100G, 100 m",
        source: "mlx5 76,767 B, mlxsw 102,528 B",
        how: "The model's bound has no response time of the peer in it; drivers add a generous one.",
        run: beside,
    },
    Check { name: "bandwidth x delay: a full window", source: HAUL, how: FAR, run: || haul(1) },
    Check { name: "bandwidth x delay: half a window", source: HAUL, how: FAR, run: || haul(2) },
    Check {
        name: "a cut cable is missed after 900 ms",
        source: "RFC 5880, 300 ms x 3; SYSTEMS R8",
        how: "Two leaves, two spines, one pinned flow; its uplink is cut at 1 ms; retries every 5 ms.",
        run: failover,
    },
    Check {
        name: "C13: credits carry their grant in a round trip",
        source: "closed form: min(line, credits x frame / round trip)",
        how: "One flow at 100 Gb/s in 1,000-byte packets over two cables of 2 us; the switch grants room for a few \
              frames to a whole bandwidth-delay product. A frame's credit is back when it has been sent and has come, \
              and the word of it too.",
        run: credits,
    },
    Check {
        name: "C13: credits against PFC",
        source: "SYSTEMS C13: parity 95-98% in one account, equivalent after tuning in another",
        how: "Eight into one over a trunk, 100 Gb/s, 4 KiB packets; the exact headroom of PFC as the grant. Credits \
              cost their own frames: one for each that passes a switch.",
        run: parity,
    },
    Check { name: "one loss, go-back-N", source: "closed form", how: LOSS, run: || loss(Recovery::GoBackN) },
    Check { name: "one loss, selective repeat", source: "closed form", how: LOSS, run: || loss(Recovery::Selective) },
];

const LOSS: &str = "A thousand packets of 1000 bytes at 100 Gb/s over two cables of 1 us; the hundredth is lost on the \
                    first. Going back repeats all that was begun until the NAK came: two and a round trip's worth. \
                    Selective repeat repeats one.";

fn by_credits(mtu: u64, headroom: Headroom) -> Settings {
    let mut settings = settings(mtu, cc::Settings::None(cc::none::Settings));
    settings.switch.buffer.link = Link::Credits;
    settings.switch.buffer.headroom = headroom;
    settings
}

fn credits() -> Result<Verdict, Error> {
    let cable = Cable::new(Rate::gbps(100), Time::us(2));
    let (frame, longest) = (1_000 + u64::from(wire::HEADERS), 1_000 + u64::from(wire::HEADERS + wire::RETH));
    let on_cable = |bytes: u64| cable.rate.time_for(Bytes(bytes + u64::from(wire::GAP))).0 as f64;
    let round = on_cable(frame) + on_cable(u64::from(wire::CREDIT)) + 2.0 * cable.delay.0 as f64;
    let (mut pass, mut words, mut targets) = (true, Vec::new(), Vec::new());
    for frames in [1, 5, 20, 80] {
        let mut settings = by_credits(1_000, Headroom::Fixed(Bytes(frames * longest)));
        settings.nic.ack_every = u16::MAX;
        let mut load = Workload::new();
        load.add(Flow::new(HostId(0), HostId(1), Bytes(4_000_000)));
        let run = finish(Star { hosts: 2, cable }.build()?, &load, settings)?;
        // A frame may go as long as a longest one fits.
        let at_once = (frames - 1) * longest / frame + 1;
        let want = 8e3 * 1_000.0 / (round / at_once as f64).max(on_cable(frame));
        let found = 8e12 * 4e6 / last(&run).0 as f64 / 1e9;
        pass &= (found / want - 1.0).abs() < 0.03 && (run.totals().drops, run.totals().pauses) == (0, 0);
        targets.push(format!("{want:.2}"));
        words.push(format!("{found:.2}"));
    }
    Ok(Verdict {
        target: format!("{} Gb/s by 1, 5, 20, 80 frames, within 3%; no drop, no pause", targets.join(", ")),
        measured: format!("{} Gb/s", words.join(", ")),
        pass,
    })
}

fn parity() -> Result<Verdict, Error> {
    let cable = Cable::new(Rate::gbps(100), Time::us(1));
    let fabric = Dumbbell { left: 8, right: 1, trunks: 1, host: cable, trunk: cable }.build()?;
    let mut load = Workload::new();
    for src in 0..8 {
        load.add(Flow::new(HostId(src), HostId(8), Bytes(4_000_000)));
    }
    let credits = finish(fabric.clone(), &load, by_credits(4_096, Headroom::Exact { percent: 100 }))?;
    let pfc = finish(fabric, &load, settings(4_096, cc::Settings::None(cc::none::Settings)))?;
    let share = last(&pfc).seconds() / last(&credits).seconds();
    let (totals, paused) = (credits.totals(), pfc.totals().pauses);
    Ok(Verdict {
        target: String::from("95% of PFC's throughput or more; no drop, no pause"),
        measured: format!(
            "{:.1}%; {} drops and {} pauses beside PFC's {paused}",
            share * 100.0,
            totals.drops,
            totals.pauses
        ),
        pass: share >= 0.95 && (totals.drops, totals.pauses) == (0, 0) && paused > 0,
    })
}

fn xoff(gbps: u64, metres: u64, target: u64) -> Result<Verdict, Error> {
    let is = driver_xoff(Rate::gbps(gbps), Metres(metres), Bytes(9_216)).0;
    Ok(Verdict { target: format!("{target} B"), measured: format!("{is} B"), pass: is == target })
}

fn beside() -> Result<Verdict, Error> {
    let buffer = Settings::default().switch.buffer;
    let exact = buffer.headroom(Rate::gbps(100), Metres(100).delay(), 9_216 + wire::HEADERS).0;
    // With what the driver reserves nothing is lost, at its own MTU and cable.
    let cable = Cable::new(Rate::gbps(100), Metres(100).delay());
    let room = driver_xoff(cable.rate, Metres(100), Bytes(9_216));
    let mut load = Workload::new();
    for src in 0..8 {
        load.add(Flow::new(HostId(src), HostId(8), Bytes(4_000_000)));
    }
    let mut settings = settings(9_216, cc::Settings::None(cc::none::Settings));
    settings.switch.buffer.headroom = Headroom::Fixed(room);
    settings.switch.buffer.per_port = Bytes(120_000);
    let fabric = Dumbbell { left: 8, right: 1, trunks: 1, host: cable, trunk: cable }.build()?;
    let totals = finish(fabric, &load, settings)?.totals();
    Ok(Verdict {
        target: String::from("below both drivers' figures, and no drop with the lower one"),
        measured: format!("{exact} B, {} drops in {} pauses", totals.drops, totals.pauses),
        pass: exact < 76_767 && totals.drops == 0 && totals.pauses > 0,
    })
}

/// A flow as large as the path's bandwidth x delay, with a window of that or a part of it.
fn haul(part: u64) -> Result<Verdict, Error> {
    let (line, one_way) = (Rate::gbps(400), Metres(3_000_000).delay());
    let product = line.bytes_in(one_way.times(2));
    let near = Cable::new(line, Time::us(1));
    let fabric = Dumbbell { left: 1, right: 1, trunks: 1, host: near, trunk: Cable::new(line, one_way) }.build()?;
    let mut load = Workload::new();
    // Whole packets, the same number in each half: one more would take a round trip of its own.
    let half = product.0 / 2 / 4_096 * 4_096;
    load.add(Flow::new(HostId(0), HostId(1), Bytes(2 * half)));
    let window = Some(Bytes(product.0 / part));
    let cc = cc::Settings::Fixed(cc::fixed::Settings { rate: Rate::MAX, window });
    let mut settings = settings(4_096, cc);
    settings.switch.buffer.per_port = Bytes(4_000_000_000);
    let took = last(&finish(fabric, &load, settings)?).seconds() * 1e3;
    // All at once, one way; or half, and the other half when the first one's ACKs are there.
    let target = if part == 1 { 45.0 } else { 60.0 };
    Ok(Verdict {
        target: format!("{} B in flight; {target} ms and up to 3% more for headers", product.0),
        measured: format!("{took:.3} ms"),
        pass: product == Bytes(1_500_000_000) && took >= target && took <= target * 1.03,
    })
}

fn failover() -> Result<Verdict, Error> {
    let cable = Cable::new(Rate::gbps(100), Time::us(1));
    let clos = Clos2 { leaves: 2, spines: 2, hosts_per_leaf: 2, parallel: 1, host: cable, spine: cable };
    let fabric = clos.build()?;
    let ups = fabric.next_hops(fabric.node(SwitchId(0)), HostId(2));
    let port = ups.first;
    let mut load = Workload::new();
    load.add(Flow::new(HostId(0), HostId(2), Bytes(25_000_000)));
    let mut settings = settings(4_096, cc::Settings::None(cc::none::Settings));
    settings.faults = vec![Fault { at: Time::ms(1), port, what: What::Cut }];
    settings.detection = Detection::BFD;
    settings.routing = routing::Settings::Pinned(routing::pinned::Settings);
    settings.nic.timeout = Time::ms(5);
    settings.nic.retries = 255;
    let mut run = Simulation::new(fabric, &load, settings)?;
    let used = |run: &Simulation| ups.ports().any(|other| other != port && run.counters(other).frames > 0);
    let mut at = Time::ms(1);
    while at < Time::ms(2_000) && !used(&run) {
        at += Time::ms(1);
        run.advance(at, u64::MAX);
    }
    let after = at.since(Time::ms(1));
    Ok(Verdict {
        target: String::from("900 ms, or up to the next retry, for the first frame on the other way"),
        measured: format!("{after}"),
        pass: after >= Time::ms(900) && after <= Time::ms(906),
    })
}

fn loss(recovery: Recovery) -> Result<Verdict, Error> {
    let cable = Cable::new(Rate::gbps(100), Time::us(1));
    let fabric = Star { hosts: 2, cable }.build()?;
    let port = fabric.ports_of(HostId(0).into()).first;
    let time = |bytes: u32| cable.rate.time_for(Bytes(u64::from(bytes)));
    let full = time(1_000 + wire::HEADERS + wire::GAP);
    let lost = time(wire::RETH) + full.times(100) + cable.delay;
    let width = Time::ns(3);
    let mut load = Workload::new();
    load.add(Flow::new(HostId(0), HostId(1), Bytes(1_000_000)));
    let mut settings = settings(1_000, cc::Settings::None(cc::none::Settings));
    settings.nic.recovery = recovery;
    settings.faults =
        vec![Fault { at: lost - width, port, what: What::Cut }, Fault { at: lost + width, port, what: What::Mended }];
    let took = last(&finish(fabric, &load, settings)?);
    let round = cable.delay.times(4) + full + time(wire::ACK + wire::GAP).times(2);
    let repeats = match recovery {
        Recovery::GoBackN => 2 + round.0.div_ceil(full.0),
        Recovery::Selective => 1,
    };
    let target = time(wire::RETH) + full.times(1_001 + repeats) + cable.delay.times(2);
    Ok(Verdict {
        target: format!("{target}: {repeats} packets more"),
        measured: took.to_string(),
        pass: took == target,
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn cables_are_as_long_as_they_are() {
        super::super::all_pass(super::CHECKS);
    }
}
