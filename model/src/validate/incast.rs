//! Incast completion: 127 hosts of a fat tree send 400 KB each to the last one, 50.8 MB in all.

use super::{Check, Error, Verdict, finish, last, settings};
use crate::cc;
use crate::engine::{Settings, Simulation};
use crate::switch::Marking;
use crate::topology::{Cable, FatTree, HostId};
use crate::units::{Bytes, Rate, Time};
use crate::wire;
use crate::workload::{Admission, Flow, Workload, admission::Owner};

const SOURCE: &str = "the port's line rate; other simulators: 4.15 to 4.45 ms with their headers";
const HOW: &str = "A three-tier fat tree of radix 8, 100 Gb/s, 1 us cables, 1000-byte packets, PFC. The last cable \
                   must carry every byte and its headers; the first packet needs half a round trip to get there. \
                   Nothing may be faster, and a control that keeps the port busy is not much slower.";

/// A check of one control by its name.
const fn check(name: &'static str, run: fn() -> Result<Verdict, Error>) -> Check {
    Check { name, source: SOURCE, how: HOW, run }
}

pub(super) const CHECKS: &[Check] = &[
    check("incast 127 to 1: none", || floor(cc::Settings::None(cc::none::Settings))),
    check("incast 127 to 1: DCQCN", || floor(cc::Settings::Dcqcn(cc::dcqcn::Settings::default()))),
    check("incast 127 to 1: DCTCP", || floor(cc::Settings::Dctcp(cc::dctcp::Settings::default()))),
    check("incast 127 to 1: TIMELY", || floor(cc::Settings::Timely(cc::timely::Settings::default()))),
    check("incast 127 to 1: Swift", || floor(cc::Settings::Swift(cc::swift::Settings::default()))),
    check("incast 127 to 1: HPCC", || floor(cc::Settings::Hpcc(cc::hpcc::Settings::default()))),
    check("incast 127 to 1: hierarchical", || floor(cc::Settings::Hierarchical(cc::hierarchical::Settings::default()))),
    check("incast 127 to 1: admission", admitted),
];

const SENDERS: u32 = 127;
const BYTES: Bytes = Bytes(400_000);
const MTU: Bytes = Bytes(1_000);

fn load() -> Workload {
    let mut load = Workload::new();
    for src in 0..SENDERS {
        load.add(Flow::new(HostId(src), HostId(SENDERS), BYTES));
    }
    load
}

/// Marking as each control has it in its own publication, at 100 Gb/s.
fn marking(cc: &cc::Settings) -> Marking {
    match cc {
        // One threshold: 30 KB for each 10 Gb/s (HPCC, SIGCOMM 2019, for its DCTCP).
        cc::Settings::Dctcp(_) => {
            Marking { kmin: Bytes(30_000), kmax: Bytes(30_000), pmax_ppm: 1_000_000, per: Some(Rate::gbps(10)) }
        }
        cc::Settings::Hierarchical(_) => Marking::production(),
        _ => Marking::default(),
    }
}

fn play(load: &Workload, cc: cc::Settings) -> Result<Simulation, Error> {
    let marking = marking(&cc);
    let mut settings: Settings = settings(MTU.0, cc);
    settings.switch.marking = vec![marking];
    let fabric = FatTree::radix(8, Cable::new(Rate::gbps(100), Time::us(1))).build()?;
    finish(fabric, load, settings)
}

fn floor(cc: cc::Settings) -> Result<Verdict, Error> {
    let int = if cc.feedback().telemetry { u64::from(wire::INT) } else { 0 };
    judge(&play(&load(), cc)?, int)
}

fn admitted() -> Result<Verdict, Error> {
    // 16 buffers of 32 KB: half a megabyte on the way to the receiver, four times what the path holds.
    let admission = Admission { buffers: 16, buffer: Bytes(32_000), owner: Owner::Receiver, ..Admission::default() };
    judge(&play(&admission.admit(&load())?.load, cc::Settings::None(cc::none::Settings))?, 0)
}

fn judge(run: &Simulation, int: u64) -> Result<Verdict, Error> {
    let packets = BYTES.0.div_ceil(MTU.0);
    let bytes = u64::from(SENDERS) * (wire::message(BYTES, MTU).0 + packets * int);
    let floor = Rate::gbps(100).time_for(Bytes(bytes)) + Time::us(1);
    let took = last(run);
    let ms = |time: Time| time.seconds() * 1e3;
    let totals = run.totals();
    Ok(Verdict {
        target: format!("{:.3} ms or up to 10% more, no drops", ms(floor)),
        measured: format!(
            "{:.3} ms ({:+.1}%), {} drops, {} pauses",
            ms(took),
            (ms(took) / ms(floor) - 1.0) * 100.0,
            totals.drops,
            totals.pauses
        ),
        pass: took >= floor && ms(took) <= 1.1 * ms(floor) && totals.drops == 0,
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn incast_ends_near_the_floor() {
        super::super::all_pass(super::CHECKS);
    }
}
