//! Who gets how much: TIMELY's missing fixed point, beside a control that has one.

use super::{Check, Error, Verdict, gbps, ports, settings};
use crate::cc;
use crate::engine::Simulation;
use crate::switch::Marking;
use crate::topology::{Cable, HostId, Star};
use crate::units::{Bytes, Rate, Time};
use crate::workload::{Flow, Workload};

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "TIMELY: flows that start apart stay apart",
        source: "Zhu et al., \"ECN or Delay\", CoNEXT 2016",
        how: "Two flows into a 10 Gb/s port start at 3 Gb/s, the second 0, 5 or 10 ms after the first, which has grown \
              by then. Any split of the port at which the round trip stands still satisfies TIMELY; since a fast flow \
              judges more often and each calm judgement adds the same, no force brings them together: what they get \
              from 20 to 120 ms after the second's start follows from how they began.",
        run: timely,
    },
    Check {
        name: "DCTCP: flows that start apart meet",
        source: "DCTCP, SIGCOMM 2010 (convergence)",
        how: "The same two flows under DCTCP, the second with one packet after 10 ms: the larger window gives up more \
            at every mark, so both end near half.",
        run: dctcp,
    },
];

/// The share of a second flow that starts `wait` after the first, from 20 to 120 ms after its start.
fn share(cc: cc::Settings, wait: Time) -> Result<f64, Error> {
    let fabric = Star { hosts: 3, cable: Cable::new(Rate::gbps(10), Time::us(1)) }.build()?;
    let mut load = Workload::new();
    load.add(Flow::new(HostId(1), HostId(0), Bytes(2_000_000_000)));
    load.add(Flow::new(HostId(2), HostId(0), Bytes(2_000_000_000)).after(wait));
    let mut settings = settings(1_000, cc);
    let k = Bytes(65_000);
    settings.switch.marking = vec![Marking { kmin: k, kmax: k, pmax_ppm: 1_000_000, per: None }];
    let mut run = Simulation::new(fabric, &load, settings)?;
    let both = [1, 2].map(|host| ports(run.fabric(), HostId(host)).0);
    let (from, to) = (wait + Time::ms(20), wait + Time::ms(120));
    run.advance(from, u64::MAX);
    let before = both.map(|port| run.counters(port).bytes);
    run.advance(to, u64::MAX);
    let [first, second] = both.map(|port| run.counters(port).bytes);
    let [was_first, was_second] = before;
    let (first, second) = (gbps(first - was_first, to - from), gbps(second - was_second, to - from));
    Ok(second / (first + second))
}

fn timely() -> Result<Verdict, Error> {
    let mut shares = Vec::new();
    for wait in [0, 5, 10] {
        let settings = cc::timely::Settings { start: Some(Rate::gbps(3)), ..Default::default() };
        shares.push(share(cc::Settings::Timely(settings), Time::ms(wait))?);
    }
    let percents: Vec<String> = shares.iter().map(|share| format!("{:.0}%", share * 100.0)).collect();
    let (alike, apart) = (shares.first().copied().unwrap_or(0.0), shares.last().copied().unwrap_or(1.0));
    Ok(Verdict {
        target: String::from("begun alike: 45 to 55%; begun apart: the later, the less, and below 35% in the end"),
        measured: format!("{} of the port for a second flow after 0, 5, 10 ms", percents.join(", ")),
        pass: (0.45..=0.55).contains(&alike) && shares.is_sorted_by(|a, b| a > b) && apart < 0.35,
    })
}

fn dctcp() -> Result<Verdict, Error> {
    let start = Some(Bytes(1_000));
    let share = share(cc::Settings::Dctcp(cc::dctcp::Settings { start, ..Default::default() }), Time::ms(10))?;
    Ok(Verdict {
        target: String::from("40 to 60% of the port for the second flow"),
        measured: format!("{:.1}%", share * 100.0),
        pass: (0.4..=0.6).contains(&share),
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn shares_are_as_published() {
        super::super::all_pass(super::CHECKS);
    }
}
