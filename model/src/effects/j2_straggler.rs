//! SYSTEMS J2: one NIC that is 5% slower makes the whole job slower; so does a throttled optic.
//!
//! In a ring every byte passes every rank, and every step waits for the one before: the slowest link sets the pace of
//! all, but for the cables' latency, which a link that is always busy hides. A job that computes for a part of its time
//! loses that much less. Set-up: 32 hosts of 100G on a rail-optimised fabric, ring all-reduce of 320 MB, compute gaps
//! as long as the all-reduce, three steps; one NIC at 95G, or one leaf's uplink optic at 86G with all traffic of its
//! rail on it; fluid.

use super::{Effect, Error, Found};
use crate::collective::{Job, ring};
use crate::fluid::{self, Settings};
use crate::topology::{Cable, HostId, Rail, Topology};
use crate::units::{Bytes, Rate, Time};
use crate::workload::{Flow, Workload};

pub(super) const EFFECT: Effect = Effect {
    name: "j2_straggler",
    claim: "about 5% lower NIC bandwidth by throttled firmware slows the job; throttled optics make jobs 6-8% longer",
    run,
};

const BYTES: Bytes = Bytes(320_000_000);

/// How long three steps take.
fn job(fabric: &Topology, ranks: &[HostId], gap: Time) -> Result<Time, Error> {
    let mut load = Workload::new();
    let mut job = Job::new(&mut load, ranks.to_vec(), Flow::new(HostId(0), HostId(1), Bytes(1)));
    for _ in 0..3 {
        job.compute(gap);
        ring::play(&mut job, BYTES);
    }
    Ok(fluid::run(fabric, &load, &Settings::default())?.end)
}

fn run() -> Result<Found, Error> {
    let cable = Cable::new(Rate::gbps(100), Time::us(1));
    // Two units of one rail and one spine: whatever goes between the units passes one uplink each way.
    let rail = Rail { units: 2, servers: 16, rails: 1, spines: 1, host: cable, spine: cable };
    let healthy = rail.build()?;
    let ranks = rail.ranks();
    let gap = crate::collective::ring_floor(ranks.len(), BYTES, cable.rate, Time::us(2));
    let throttled = |at: HostId, rate: Rate, uplink: bool| -> Result<Topology, Error> {
        let mut fabric = rail.build()?;
        let mut port = fabric.ports_of(at.into()).first;
        if uplink {
            let leaf = fabric.ports()[fabric.ports()[port].peer].node;
            port = fabric.next_hops(leaf, HostId(31)).first;
        }
        fabric.throttle(port, rate);
        Ok(fabric)
    };
    let nic = throttled(HostId(5), Rate::gbps(95), false)?;
    let optic = throttled(HostId(0), Rate::gbps(86), true)?;
    let longer = |fabric: &Topology, gap: Time| -> Result<f64, Error> {
        let (slow, well) = (job(fabric, &ranks, gap)?, job(&healthy, &ranks, gap)?);
        Ok((slow.seconds() / well.seconds() - 1.0) * 100.0)
    };
    let (busy, half) = (longer(&nic, Time::ns(1))?, longer(&nic, gap)?);
    let (optic_busy, optic_half) = (longer(&optic, Time::ns(1))?, longer(&optic, gap)?);
    let text = format!(
        "one NIC of 32 at 95%: the job takes {busy:.1}% longer, {half:.1}% when it computes half of the time; one \
         optic at 86%: {optic_busy:.1}% and {optic_half:.1}%"
    );
    let holds = (3.0..5.3).contains(&busy) && half < busy && half > 1.5 && (6.0..9.0).contains(&optic_half);
    Ok(Found { text, holds: holds && optic_busy > optic_half })
}
