//! Hierarchical congestion control (SYSTEMS C5) against PFC alone and DCQCN, on the same storm.

use super::{Check, Error, Verdict, ports, settings};
use crate::cc::{self, hierarchical};
use crate::engine::Simulation;
use crate::switch::Marking;
use crate::topology::{Cable, Clos2, HostId, PortId};
use crate::units::{Bytes, Rate, Time};
use crate::workload::{Flow, Workload};

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "C5: a pause storm, and utilisation without it",
        source: "SYSTEMS C5: 95% against 60% claimed",
        how: "Eight racks of eight hosts under eight spines, 100 Gb/s, PFC, marking from 400 KB to 1.6 MB up to 20%. The hosts of four racks \
              send without end to one host of the first rack; its seven other hosts receive from the last rack, each by eight queue \
              pairs. PFC alone stops the incast where it enters the fabric and everything else with it: the busy port is \
              full, the others starve. Under hierarchical control the busy leaf's marks come from tier 1 alone, with a high alpha, so \
              that only the queue pairs that pass it slow down until their sum fits. Utilisation is the mean of the \
              rack's eight ports from 20 to 40 ms. DCQCN with the same marks does as well: the size is that of any control \
              that works against none. With 32 flows of 3 Gb/s a window has 5 packets: its share is coarse, and CNPs do \
              not come to rest.",
        run: storm,
    },
    Check {
        name: "C5: fewer CNPs than DCQCN in a steady state",
        source: "SYSTEMS C5: CNPs near zero claimed",
        how: "The same fabric without the incast: 56 queue pairs share eight uplinks by hash, so that some carry more than \
              others. Both controls fill the ports; DCQCN's CNPs answer every marked packet (one in 50 us), those of the \
              domains only a share above T_d.",
        run: steady,
    },
    Check {
        name: "C5: the open values, swept",
        source: "SYSTEMS C5; none published",
        how: "The storm with one value changed at a time: alpha halved and doubled, T_d at 2% and 30%, the slope at a quarter and four \
              times, the window at 100 us. What is asked is that no choice falls back to what PFC alone does.",
        run: sweep,
    },
];

/// What a run showed from 20 to 40 ms.
struct Seen {
    /// Shares of line rate: the busy port's, and the mean of the rack's others.
    busy: f64,
    others: f64,
    /// For each millisecond.
    cnps: f64,
    pauses: f64,
}

impl Seen {
    /// The mean of all eight ports.
    fn all(&self) -> f64 {
        (self.busy + 7.0 * self.others) / 8.0
    }
}

impl std::fmt::Display for Seen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let percents = [self.all(), self.busy, self.others].map(|share| share * 100.0);
        let [all, busy, others] = percents;
        write!(f, "{all:.0}% (busy {busy:.0}%, others {others:.0}%), ")?;
        write!(f, "{:.0} CNPs and {:.0} pauses a ms", self.cnps, self.pauses)
    }
}

fn play(cc: cc::Settings, senders: u32) -> Result<Seen, Error> {
    let cable = Cable::new(Rate::gbps(100), Time::us(1));
    let fabric = Clos2 { leaves: 8, spines: 8, hosts_per_leaf: 8, parallel: 1, host: cable, spine: cable }.build()?;
    let endless = Bytes(1_000_000_000);
    let mut load = Workload::new();
    for n in 0..senders {
        load.add(Flow::new(HostId(8 + n), HostId(0), endless));
    }
    for dst in 1..8 {
        for lane in 0..8 {
            load.add(Flow::new(HostId(64 - dst), HostId(dst), endless).lane(lane));
        }
    }
    let rack: Vec<PortId> = (0..8).map(|host| ports(&fabric, HostId(host)).1).collect();
    let mut settings = settings(4_096, cc);
    settings.switch.marking = vec![Marking::production()];
    let mut run = Simulation::new(fabric, &load, settings)?;
    let (from, to) = (Time::ms(20), Time::ms(40));
    run.advance(from, u64::MAX);
    let (was, before) = (sent(&run, &rack), run.totals());
    run.advance(to, u64::MAX);
    let (is, after) = (sent(&run, &rack), run.totals());
    let line = Rate::gbps(100).bytes_in(to - from).0 as f64;
    let mut shares = is.iter().zip(&was).map(|(is, was)| (is - was) as f64 / line);
    let busy = shares.next().unwrap_or(0.0);
    let ms = (to - from).seconds() * 1e3;
    Ok(Seen {
        busy,
        others: shares.sum::<f64>() / 7.0,
        cnps: (after.cnps - before.cnps) as f64 / ms,
        pauses: (after.pauses - before.pauses) as f64 / ms,
    })
}

fn sent(run: &Simulation, ports: &[PortId]) -> Vec<u64> {
    ports.iter().map(|port| run.counters(*port).bytes).collect()
}

fn none() -> cc::Settings {
    cc::Settings::None(cc::none::Settings)
}

fn dcqcn() -> cc::Settings {
    cc::Settings::Dcqcn(cc::dcqcn::Settings::default())
}

const SENDERS: u32 = 32;

fn storm() -> Result<Verdict, Error> {
    let ours = play(cc::Settings::Hierarchical(hierarchical::Settings::default()), SENDERS)?;
    let (none, dcqcn) = (play(none(), SENDERS)?, play(dcqcn(), SENDERS)?);
    Ok(Verdict {
        target: String::from("90% or more, PFC alone 60% or less"),
        measured: format!("hierarchical {ours}; PFC alone {none}; DCQCN {dcqcn}"),
        pass: ours.all() >= 0.9 && none.all() <= 0.6,
    })
}

fn steady() -> Result<Verdict, Error> {
    let ours = play(cc::Settings::Hierarchical(hierarchical::Settings::default()), 0)?;
    let (none, dcqcn) = (play(none(), 0)?, play(dcqcn(), 0)?);
    Ok(Verdict {
        target: String::from("the seven ports 95% full or more, with two thirds of DCQCN's CNPs or less"),
        measured: format!(
            "hierarchical {:.0}% with {:.0} CNPs a ms, DCQCN {:.0}% with {:.0}; PFC alone {:.0}% with {:.0} pauses a ms",
            ours.others * 100.0,
            ours.cnps,
            dcqcn.others * 100.0,
            dcqcn.cnps,
            none.others * 100.0,
            none.pauses
        ),
        pass: ours.others >= 0.95 && ours.cnps * 3.0 <= dcqcn.cnps * 2.0,
    })
}

fn sweep() -> Result<Verdict, Error> {
    type Change = fn(&mut hierarchical::Settings);
    let choices: [(&str, Change); 7] = [
        ("alpha/2", |set| set.alpha.iter_mut().for_each(|alpha| *alpha /= 2.0)),
        ("alpha x2", |set| set.alpha.iter_mut().for_each(|alpha| *alpha *= 2.0)),
        ("T_d 2%", |set| set.above_ppm.fill(20_000)),
        ("T_d 30%", |set| set.above_ppm.fill(300_000)),
        ("slope/4", |set| set.gain /= 4.0),
        ("slope x4", |set| set.gain *= 4.0),
        ("window 100 us", |set| set.window = Time::us(100)),
    ];
    let mut words = Vec::new();
    let mut pass = true;
    let alone = play(none(), SENDERS)?.all();
    for (name, change) in choices {
        let mut choice = hierarchical::Settings::default();
        change(&mut choice);
        let seen = play(cc::Settings::Hierarchical(choice), SENDERS)?;
        pass &= seen.all() > 2.0 * alone;
        words.push(format!("{name} {:.0}%, {:.0} CNPs a ms", seen.all() * 100.0, seen.cnps));
    }
    Ok(Verdict {
        target: format!("utilisation twice that of PFC alone ({:.0}%) or more", alone * 100.0),
        measured: words.join("; "),
        pass,
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn domains_do_what_is_said_of_them() {
        super::super::all_pass(super::CHECKS);
    }
}
