//! Hierarchical congestion control (SYSTEMS C5) against PFC alone and DCQCN, on the same storm.

use super::{Check, Error, Verdict, finish, last, ports, settings};
use crate::cc::{self, hierarchical};
use crate::collective::{self, Job, Shape};
use crate::engine::{self, Simulation};
use crate::switch::Marking;
use crate::topology::{Cable, Clos2, HostId, PortId};
use crate::units::{Bytes, Rate, Time};
use crate::wire;
use crate::workload::{Flow, Workload};

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "C5: a pause storm, and utilisation without it",
        source: "SYSTEMS C5: 95% against 60% claimed",
        how: "Eight racks of eight hosts under eight spines, 100 Gb/s, PFC, marking from 100 KB to 1.6 MB up to 20%, \
              so that the shares of both thresholds are lengths far apart: 175 and 850 KB. The hosts of four racks \
              send without end to one host of the first rack; its seven other hosts receive from the last rack, each \
              by eight queue pairs. PFC alone stops the incast where it enters the fabric and everything else with it: \
              the busy port is full, the others starve. Under hierarchical control the busy leaf's marks come from \
              tier 1 alone, with a high alpha, so that only the queue pairs that pass it slow down until their sum \
              fits. Utilisation is the mean of the rack's eight ports from 40 to 60 ms, when the first collapse is \
              over; three seeds. DCQCN with the same marks fills the ports as well, for ten times as many CNPs.",
        run: storm,
    },
    Check {
        name: "C5: no CNPs while marks stay below T_d",
        source: "SYSTEMS C5: CNPs near zero in a steady state claimed",
        how: "Two rounds of all-to-all, 16 MB a host, under twice as many spines as hosts in a rack, marking from 20 \
              KB to 1 MB up to 10%. Bursts meet now and then and a few hundred packets are marked, but nothing stays \
              full. DCQCN answers nearly every mark with a CNP; a domain's share never comes near T_d, so no CNP is \
              sent at all, and the collective takes as long. This needs shares that are told from enough packets: \
              where a window's few are all there is, one mark is a large share, and most marks are answered as DCQCN \
              does.",
        run: calm,
    },
    Check {
        name: "C5: CNPs near zero where uplinks stay overloaded",
        source: "SYSTEMS C5: CNPs near zero in a steady state claimed",
        how: "The fabric of the storm without the incast: 56 queue pairs share eight uplinks by hash, so that some \
              uplinks are asked for more than others for ever. From T_g on rates stand still and up to T_d nobody \
              sends a CNP, so a queue pair has one in some twenty milliseconds. None at all is not reached: a queue \
              adds up by how much the rates that stand still miss the port's, and so leaves the band between the \
              thresholds in the end; nothing in the description but a CNP takes a rate back. What a cut takes, alpha P \
              R, must be climbed again, so that the number of CNPs follows the slope, which is not published: it is \
              shown for four times and a quarter of the declared one. A slow one has few, but has not filled the ports \
              yet after 40 ms.",
        run: steady,
    },
    Check {
        name: "C5: the open values, swept",
        source: "SYSTEMS C5; none published",
        how: "The storm with one value changed at a time: alpha halved and doubled, T_d at 5% and 20%, T_g at half a \
              percent and 2%, the slope at a quarter and four times, both windows doubled, samples halved and doubled, \
              and the marks of production fabrics (400 KB to 1.6 MB). What is asked is that no choice falls back to \
              what PFC alone does, nor to DCQCN's CNPs (one for 100 frames).",
        run: sweep,
    },
];

/// What a run showed from 40 to 60 ms.
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

/// Marks from which both thresholds of hierarchical control are lengths far apart.
const MARKING: Marking = Marking { kmin: Bytes(100_000), kmax: Bytes(1_600_000), pmax_ppm: 200_000, per: None };

fn play(cc: cc::Settings, senders: u32, marking: Marking, seed: u64) -> Result<Seen, Error> {
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
    let mut settings = engine::Settings { seed, ..settings(4_096, cc) };
    settings.switch.marking = vec![marking];
    let mut run = Simulation::new(fabric, &load, settings)?;
    let (from, to) = (Time::ms(40), Time::ms(60));
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

fn hierarchical(set: hierarchical::Settings) -> cc::Settings {
    cc::Settings::Hierarchical(set)
}

const SENDERS: u32 = 32;

/// The mean of three seeds.
fn three(cc: &cc::Settings, senders: u32) -> Result<Seen, Error> {
    let mut mean = Seen { busy: 0.0, others: 0.0, cnps: 0.0, pauses: 0.0 };
    for seed in 1..=3 {
        let seen = play(cc.clone(), senders, MARKING, seed)?;
        mean.busy += seen.busy / 3.0;
        mean.others += seen.others / 3.0;
        mean.cnps += seen.cnps / 3.0;
        mean.pauses += seen.pauses / 3.0;
    }
    Ok(mean)
}

fn storm() -> Result<Verdict, Error> {
    let ours = three(&hierarchical(hierarchical::Settings::default()), SENDERS)?;
    let (none, dcqcn) = (play(none(), SENDERS, MARKING, 1)?, play(dcqcn(), SENDERS, MARKING, 1)?);
    Ok(Verdict {
        target: String::from("95% or more, PFC alone 60% or less; a tenth of DCQCN's CNPs or fewer"),
        measured: format!("hierarchical {ours}; PFC alone {none}; DCQCN {dcqcn}"),
        pass: ours.all() >= 0.95 && none.all() <= 0.6 && ours.cnps * 10.0 <= dcqcn.cnps,
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
    let ours = all_to_all(hierarchical(hierarchical::Settings::default()))?;
    let coarse = all_to_all(hierarchical(coarse))?;
    let dcqcn = all_to_all(dcqcn())?;
    let ms = |time: Time| time.seconds() * 1e3;
    Ok(Verdict {
        target: String::from("none for hundreds of marks, where DCQCN sends half as many or more; ends within 1%"),
        measured: format!(
            "hierarchical {} CNPs for {} marks in {:.2} ms ({} for {} if windows end by time alone), DCQCN {} for {} \
            in {:.2} ms",
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

/// Frames of 4,096 B that a full port of 100 Gb/s sends in a millisecond.
const FRAMES: f64 = 100e9 * 1e-3 / 8.0 / (4_096 + wire::HEADERS + wire::GAP) as f64;

fn steady() -> Result<Verdict, Error> {
    let slope = |times: f64| {
        let mut set = hierarchical::Settings::default();
        set.gain *= times;
        play(hierarchical(set), 0, MARKING, 1)
    };
    let ours = three(&hierarchical(hierarchical::Settings::default()), 0)?;
    let (steep, flat) = (slope(4.0)?, slope(0.25)?);
    let (none, dcqcn) = (play(none(), 0, MARKING, 1)?, play(dcqcn(), 0, MARKING, 1)?);
    let percent = |seen: &Seen| format!("{:.0}% with {:.1}", seen.others * 100.0, seen.cnps);
    Ok(Verdict {
        target: String::from(
            "the seven ports 95% full or more, a CNP for 5,000 frames or more, a twentieth of DCQCN's; fewer with a \
            flatter slope",
        ),
        measured: format!(
            "hierarchical {} CNPs a ms, one for {:.0} frames ({} with four times the slope, {} with a quarter), DCQCN \
             {}, one for {:.0}; PFC alone {:.0}% with {:.0} pauses a ms",
            percent(&ours),
            7.0 * FRAMES / ours.cnps,
            percent(&steep),
            percent(&flat),
            percent(&dcqcn),
            7.0 * FRAMES / dcqcn.cnps,
            none.others * 100.0,
            none.pauses
        ),
        pass: ours.others >= 0.95
            && ours.cnps * 5_000.0 <= 7.0 * FRAMES
            && ours.cnps * 20.0 <= dcqcn.cnps
            && flat.cnps < ours.cnps
            && ours.cnps < steep.cnps,
    })
}

fn sweep() -> Result<Verdict, Error> {
    type Change = fn(&mut hierarchical::Settings);
    let choices: [(&str, Change); 12] = [
        ("alpha/2", |set| set.alpha.iter_mut().for_each(|alpha| *alpha /= 2.0)),
        ("alpha x2", |set| set.alpha.iter_mut().for_each(|alpha| *alpha *= 2.0)),
        ("T_d 5%", |set| set.above_ppm.fill(50_000)),
        ("T_d 20%", |set| set.above_ppm.fill(200_000)),
        ("T_g .5%", |set| set.global_ppm = 5_000),
        ("T_g 2%", |set| set.global_ppm = 20_000),
        ("slope/4", |set| set.gain /= 4.0),
        ("slope x4", |set| set.gain *= 4.0),
        ("window 100 us", |set| set.window = Time::us(100)),
        ("global window 1 ms", |set| set.global_window = Time::ms(1)),
        ("sample 25", |set| set.sample = 25),
        ("sample 100", |set| set.sample = 100),
    ];
    let mut words = Vec::new();
    let mut pass = true;
    let mut look = |name: &str, seen: &Seen| {
        pass &= seen.all() >= 0.85 && seen.cnps * 400.0 <= 8.0 * FRAMES;
        words.push(format!("{name} {:.0}%, {:.0} CNPs a ms", seen.all() * 100.0, seen.cnps));
    };
    for (name, change) in choices {
        let mut choice = hierarchical::Settings::default();
        change(&mut choice);
        look(name, &play(hierarchical(choice), SENDERS, MARKING, 1)?);
    }
    let production = play(hierarchical(hierarchical::Settings::default()), SENDERS, Marking::production(), 1)?;
    look("production marks", &production);
    Ok(Verdict { target: String::from("85% or more, a CNP for 400 frames or more"), measured: words.join("; "), pass })
}

#[cfg(test)]
mod tests {
    #[test]
    fn domains_do_what_is_said_of_them() {
        super::super::all_pass(super::CHECKS);
    }
}
