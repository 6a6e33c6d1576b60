//! Queues that congestion controls keep: DCTCP's band, HPCC's none.

use super::{Check, Error, Verdict, gbps, mean, ports, quantile, settings, watch};
use crate::cc;
use crate::engine::{Settings, Simulation};
use crate::switch::Marking;
use crate::switch::ecn::At;
use crate::topology::{Cable, HostId, Star};
use crate::units::{Bytes, Rate, Time};
use crate::wire;
use crate::workload::{Flow, Workload};

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "DCTCP's queue, 10G, 100 us, K = 65, N = 2",
        source: "DCTCP, SIGCOMM 2010",
        how: "Two long flows into one 10 Gb/s port over 100 us of round trip; the port marks every packet that finds \
              more than 65 packets waiting. The queue swings between K + N and A packets below it, A = 1/2 sqrt(2N(C \
              RTT + K)).",
        run: dctcp,
    },
    Check {
        name: "HPCC's queue, 100G, N = 2",
        source: "HPCC, SIGCOMM 2019",
        how: "Long flows into one 100 Gb/s port; every ACK tells what the port carries and holds, and the senders aim \
              at 95% of it, so that once the first burst is gone next to nothing waits.",
        run: || hpcc(2),
    },
    Check {
        name: "HPCC's queue, 100G, N = 16",
        source: "HPCC, SIGCOMM 2019",
        how: "As with two flows.",
        run: || hpcc(16),
    },
];

/// `flows` endless flows into host 0 of a star.
fn into_one(flows: u32, cable: Cable, settings: Settings) -> Result<Simulation, Error> {
    let fabric = Star { hosts: flows + 1, cable }.build()?;
    let mut load = Workload::new();
    for src in 1..=flows {
        load.add(Flow::new(HostId(src), HostId(0), Bytes(1_000_000_000)));
    }
    Ok(Simulation::new(fabric, &load, settings)?)
}

fn dctcp() -> Result<Verdict, Error> {
    const FRAME: u64 = 1_500;
    let rate = Rate::gbps(10);
    let mut settings = settings(FRAME - u64::from(wire::HEADERS), cc::Settings::Dctcp(cc::dctcp::Settings::default()));
    let k = Bytes(65 * FRAME);
    settings.switch.marking = vec![Marking { kmin: k, kmax: k, pmax_ppm: 1_000_000, per: None }];
    settings.switch.mark_at = At::Enqueue;
    // Four cables there and back, and what the frames themselves take: 100 us in all.
    let frames = rate.time_for(Bytes(2 * (FRAME + 20) + 2 * u64::from(wire::ACK + wire::GAP)));
    let cable = Cable::new(rate, Time((Time::us(100) - frames).0 / 4));
    let mut run = into_one(2, cable, settings)?;
    let (_, port) = ports(run.fabric(), HostId(0));
    let lengths = watch(&mut run, port, Time::ms(50), Time::ms(250), Time::us(1));
    // Single packets come and go; a fifth of a round trip evens them out.
    let even: Vec<u64> = lengths.chunks(20).map(|chunk| mean(chunk) as u64).collect();
    let (low, high) = swings(&even);
    let (low, high) = (low / FRAME as f64, high / FRAME as f64);
    let holds = rate.bytes_in(Time::us(100)).0 as f64 / FRAME as f64;
    let (k, n) = (65.0, 2.0);
    let swing = (2.0 * n * (holds + k)).sqrt() / 2.0;
    let (bottom, top) = (k + n - swing, k + n);
    // The closed form counts packets as a fluid; a packet and the round trip's granularity lie on either side.
    let slack = 3.0;
    Ok(Verdict {
        target: format!("{bottom:.1} to {top:.1} packets, +-{slack}"),
        measured: format!(
            "{low:.1} to {high:.1} packets (mean trough and crest), mean {:.1}",
            mean(&lengths) / FRAME as f64
        ),
        pass: (low - bottom).abs() <= slack && (high - top).abs() <= slack,
    })
}

/// The mean of all troughs, and of all crests: the lowest and the highest between two times at which a length passes
/// from its lowest quarter to its highest, or back. Ripples between the two are none.
fn swings(lengths: &[u64]) -> (f64, f64) {
    let (low, high) = (quantile(lengths, 0.25), quantile(lengths, 0.75));
    let (mut troughs, mut crests) = (Vec::new(), Vec::new());
    let mut up = None;
    let mut most = 0;
    for &length in lengths {
        let turns = if up == Some(true) { length < low } else { length > high };
        if turns || up.is_none() {
            match up {
                Some(true) => crests.push(most),
                Some(false) => troughs.push(most),
                None => {}
            }
            up = Some(turns && up != Some(true));
            most = length;
        }
        most = if up == Some(true) { most.max(length) } else { most.min(length) };
    }
    (mean(&troughs), mean(&crests))
}

fn hpcc(flows: u32) -> Result<Verdict, Error> {
    let settings = settings(1_000, cc::Settings::Hpcc(cc::hpcc::Settings::default()));
    let mut run = into_one(flows, Cable::new(Rate::gbps(100), Time::us(1)), settings)?;
    let (_, port) = ports(run.fabric(), HostId(0));
    let (from, to) = (Time::ms(2), Time::ms(10));
    run.advance(from, u64::MAX);
    let before = run.counters(port).bytes;
    let lengths = watch(&mut run, port, from, to, Time::us(1));
    let carried = gbps(run.counters(port).bytes - before, to - from);
    let (mean, high) = (mean(&lengths) / 1e3, quantile(&lengths, 0.99) as f64 / 1e3);
    Ok(Verdict {
        target: String::from("mean below 5 KB, 99th percentile below 20 KB, 90 to 100 Gb/s"),
        measured: format!("mean {mean:.1} KB, 99th percentile {high:.1} KB, {carried:.1} Gb/s"),
        pass: mean < 5.0 && high < 20.0 && carried > 90.0,
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn troughs_and_crests_are_told_apart() {
        // The quarters are 2 and 8: from 4 to 6 and back is a ripple.
        let lengths = [0, 1, 4, 6, 4, 9, 7, 8, 1, 2, 4, 6, 11, 8, 0, 3];
        assert_eq!(super::swings(&lengths), (0.5, 10.0));
    }

    #[test]
    fn queues_are_where_they_should_be() {
        super::super::all_pass(super::CHECKS);
    }
}
