//! Incast: 127 hosts send 400 KB each to one, through a fat tree of radix 8 at 100 Gb/s.
//!
//! The receiver's cable is the bottleneck from the first byte to the last, so a fabric that loses nothing ends at the floor:
//! all bytes, headers and gaps included, at line rate. Congestion control may leave the cable idle at times.

use super::Row;
use crate::cc;
use crate::engine::{Settings, Simulation, Status};
use crate::topology::{Cable, FatTree, HostId};
use crate::units::{Bytes, Rate, Time};
use crate::wire;
use crate::workload::{Flow, Workload};

const EACH: Bytes = Bytes(400_000);
const MTU: Bytes = Bytes(1_000);

pub(super) fn run() -> Vec<Row> {
    let none = cc::Settings::None(cc::none::Settings);
    let dcqcn = cc::Settings::Dcqcn(cc::dcqcn::Settings::default());
    [none, dcqcn].into_iter().map(row).collect()
}

fn row(cc: cc::Settings) -> Row {
    let name = format!("incast 127 to 1, 50.8 MB at 100 Gb/s, {}", cc.name());
    let floor = Rate::gbps(100).time_for(Bytes(127 * wire::message(EACH, MTU).0));
    let target = format!("{floor} to 10 % more, no drop");
    match end(cc) {
        Some((last, drops)) => Row {
            name,
            target,
            measured: format!("{last} (+{:.1} %), {drops} drops", (last.seconds() / floor.seconds() - 1.0) * 100.0),
            pass: last >= floor && last.0 <= floor.0 / 10 * 11 && drops == 0,
        },
        None => Row { name, target, measured: "it does not end".into(), pass: false },
    }
}

/// When the last byte arrives, and what was lost.
fn end(cc: cc::Settings) -> Option<(Time, u64)> {
    let fabric = FatTree::radix(8, Cable::new(Rate::gbps(100), Time::us(1))).build().ok()?;
    let mut load = Workload::new();
    for src in 1..fabric.hosts() {
        load.add(Flow::new(HostId(src), HostId(0), EACH));
    }
    let mut settings = Settings { cc, ..Settings::default() };
    settings.nic.mtu = MTU;
    let mut run = Simulation::new(fabric, &load, settings).ok()?;
    if run.run() != Status::Done {
        return None;
    }
    let last = run.flows().filter_map(|flow| flow.delivered).max()?;
    Some((last, run.totals().drops))
}
