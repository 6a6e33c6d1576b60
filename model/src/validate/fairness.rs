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
        source: "Zhu et al., \"ECN or Delay\", CoNEXT 2016, section 4",
        how: "One flow has had a 10 Gb/s port for 200 ms when a second one starts, at 1, 3 or 5 Gb/s. Any split of the port \
              at which the round trip stands still satisfies TIMELY, so the split after another 300 ms follows the start.",
        run: timely,
    },
    Check {
        name: "DCTCP: flows that start apart meet",
        source: "DCTCP, SIGCOMM 2010, section 4.1.2 (convergence)",
        how: "The same two flows under DCTCP: the larger window gives up more at every mark, so both end at half.",
        run: dctcp,
    },
];

/// The second flow's share of the port in the last 100 of 500 ms.
fn share(cc: cc::Settings) -> Result<f64, Error> {
    let fabric = Star { hosts: 3, cable: Cable::new(Rate::gbps(10), Time::us(5)) }.build()?;
    let mut load = Workload::new();
    load.add(Flow::new(HostId(1), HostId(0), Bytes(2_000_000_000)));
    load.add(Flow::new(HostId(2), HostId(0), Bytes(2_000_000_000)).after(Time::ms(200)));
    let mut settings = settings(1_000, cc);
    let k = Bytes(65_000);
    settings.switch.marking = vec![Marking { kmin: k, kmax: k, pmax_ppm: 1_000_000, per: None }];
    let mut run = Simulation::new(fabric, &load, settings)?;
    let both = [1, 2].map(|host| ports(run.fabric(), HostId(host)).0);
    let (from, to) = (Time::ms(400), Time::ms(500));
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
    for gbps in [1, 3, 5] {
        let start = Some(Rate::gbps(gbps));
        shares.push(share(cc::Settings::Timely(cc::timely::Settings { start, ..Default::default() }))?);
    }
    let percents: Vec<String> = shares.iter().map(|share| format!("{:.0}%", share * 100.0)).collect();
    let apart = shares.iter().copied().fold(0.0, f64::max) - shares.iter().copied().fold(1.0, f64::min);
    Ok(Verdict {
        target: String::from(
            "the second flow's share follows its start: 15 points apart or more, at least one split below 35%",
        ),
        measured: format!("{} of the port from 1, 3, 5 Gb/s", percents.join(", ")),
        pass: apart > 0.15 && shares.is_sorted() && shares.iter().any(|share| *share < 0.35),
    })
}

fn dctcp() -> Result<Verdict, Error> {
    let start = Some(Bytes(1_000));
    let share = share(cc::Settings::Dctcp(cc::dctcp::Settings { start, ..Default::default() }))?;
    Ok(Verdict {
        target: String::from("45 to 55% of the port for the second flow"),
        measured: format!("{:.1}%", share * 100.0),
        pass: (0.45..=0.55).contains(&share),
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn shares_are_as_published() {
        super::super::all_pass(super::CHECKS);
    }
}
