//! Hierarchical congestion control (SYSTEMS C5) against PFC alone and DCQCN, on the same storm.

use super::{Check, Error, Verdict, finish, last, ports, settings};
use crate::cc::{self, hierarchical};
use crate::collective::{self, Job, Shape};
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
              that works against none.",
        run: storm,
    },
    Check {
        name: "C5: no CNPs while marks stay below T_d",
        source: "SYSTEMS C5: CNPs near zero in a steady state claimed",
        how: "Two rounds of all-to-all, 16 MB a host, under twice as many spines as hosts in a rack, marking from 20 KB to 1 MB up to 10%. \
              Bursts meet now and then and a few hundred packets are marked, but nothing stays full. DCQCN answers nearly \
              every mark with a CNP; a domain's share never comes near T_d, so no CNP is sent at all, and the collective takes as \
              long. This needs shares that are told from enough packets: where a window's few are all there is, one mark is \
              a large share, and most marks are answered as DCQCN does.",
        run: calm,
    },
    Check {
        name: "C5: fewer CNPs than DCQCN where uplinks stay overloaded",
        source: "SYSTEMS C5: CNPs near zero in a steady state claimed",
        how: "The fabric of the storm without the incast: 56 queue pairs share eight uplinks by hash, so that some carry more than \
              others for ever. Both controls fill the ports. Near zero is not reached, and the description has nothing that could \
              reach it: rates rise as long as a domain is calm, only a CNP takes them back, and a cut is alpha P R. So each queue pair \
              needs a CNP whenever its rises add up to that: their number follows the slope, which is not published. \
              It is shown for the declared one and an eighth of it, which fills the ports as well but comes back later.",
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

/// CNPs of an all-to-all, the packets that were marked, and when it was over.
fn all_to_all(cc: cc::Settings) -> Result<(u64, u64, Time), Error> {
    let cable = Cable::new(Rate::gbps(100), Time::us(1));
    let fabric = Clos2 { leaves: 8, spines: 16, hosts_per_leaf: 8, parallel: 1, host: cable, spine: cable }.build()?;
    let mut load = Workload::new();
    let like = Flow::new(HostId(0), HostId(0), Bytes(1));
    let mut job = Job::new(&mut load, (0..64).map(HostId).collect(), like);
    job.shape = Shape { per_server: 1, inside: None, ..Shape::default() };
    for _ in 0..2 {
        collective::all_to_all::play(&mut job, Bytes(16_000_000));
    }
    let mut settings = settings(4_096, cc);
    let marking = Marking { kmin: Bytes(20_000), kmax: Bytes(1_000_000), pmax_ppm: 100_000, per: None };
    settings.switch.marking = vec![marking];
    let run = finish(fabric, &load, settings)?;
    Ok((run.totals().cnps, run.totals().marks, last(&run)))
}

fn calm() -> Result<Verdict, Error> {
    let coarse = hierarchical::Settings { sample: 1, ..hierarchical::Settings::default() };
    let ours = all_to_all(cc::Settings::Hierarchical(hierarchical::Settings::default()))?;
    let coarse = all_to_all(cc::Settings::Hierarchical(coarse))?;
    let dcqcn = all_to_all(dcqcn())?;
    let ms = |time: Time| time.seconds() * 1e3;
    Ok(Verdict {
        target: String::from("none for hundreds of marks, where DCQCN sends half as many or more; ends within 1%"),
        measured: format!(
            "hierarchical {} CNPs for {} marks in {:.2} ms ({} for {} if windows end by time alone), DCQCN {} for {} in {:.2} ms",
            ours.0,
            ours.1,
            ms(ours.2),
            coarse.0,
            coarse.1,
            dcqcn.0,
            dcqcn.1,
            ms(dcqcn.2)
        ),
        pass: ours.0 == 0 && ours.1 >= 200 && dcqcn.0 * 2 >= dcqcn.1 && ms(ours.2) <= 1.01 * ms(dcqcn.2),
    })
}

fn steady() -> Result<Verdict, Error> {
    let set = hierarchical::Settings::default();
    let ours = play(cc::Settings::Hierarchical(set), 0)?;
    let slow = play(cc::Settings::Hierarchical(hierarchical::Settings { gain: set.gain / 8.0, ..set }), 0)?;
    let (none, dcqcn) = (play(none(), 0)?, play(dcqcn(), 0)?);
    Ok(Verdict {
        target: String::from(
            "the seven ports 95% full or more, with half of DCQCN's CNPs or less, an eighth with an eighth of the slope",
        ),
        measured: format!(
            "hierarchical {:.0}% with {:.1} CNPs a ms ({:.0}% with {:.1} at an eighth of the slope), DCQCN {:.0}% with {:.1}; \
             PFC alone {:.0}% with {:.0} pauses a ms",
            ours.others * 100.0,
            ours.cnps,
            slow.others * 100.0,
            slow.cnps,
            dcqcn.others * 100.0,
            dcqcn.cnps,
            none.others * 100.0,
            none.pauses
        ),
        pass: ours.others.min(slow.others) >= 0.95 && ours.cnps * 2.0 <= dcqcn.cnps && slow.cnps * 8.0 <= dcqcn.cnps,
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
