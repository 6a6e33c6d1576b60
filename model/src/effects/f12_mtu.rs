//! SYSTEMS F12: 4 KB or 9,000 B at distance.
//!
//! Larger frames carry less header. A frame is lost when one of its bits is wrong, so losses for each byte are as many
//! with either size, and with go-back-N each of them costs what is in flight: a round trip at full rate, whatever the
//! frame. So over distance bit errors decide, and the frame size hardly does; the larger one keeps its lead in headers.
//! (Where only what is missing is sent again, a loss costs a frame, and large ones lose more.) Set-up: two hosts 3,000
//! km apart at 10G, 125 MB, go-back-N, one wrong bit in 2.5 x 10^8 on the trunk, three seeds; packets.

use super::{Effect, Error, Found};
use crate::engine::faults::{Fault, What};
use crate::engine::{Settings, Simulation, Status};
use crate::topology::{Cable, Dumbbell, HostId, SwitchId};
use crate::units::{Bytes, Metres, Priorities, Rate, Time};
use crate::workload::{Flow, Workload};

pub(super) const EFFECT: Effect = Effect {
    name: "f12_mtu",
    claim: "at distance the choice of MTU weighs header overhead against the cost of a lost frame",
    run,
};

const BYTES: u64 = 125_000_000;

/// Bits for one that is wrong.
const ONE_IN: u64 = 250_000_000;

const SEEDS: u64 = 3;

/// Goodput as a share of line rate, the round trip left out.
fn goodput(mtu: u64, one_in: u64, seed: u64) -> Result<f64, Error> {
    let rate = Rate::gbps(10);
    let near = Cable::metres(rate, Metres(50), Time::ns(500));
    let trunk = Cable::metres(rate, Metres(3_000_000), Time::ns(500));
    let fabric = Dumbbell { left: 1, right: 1, trunks: 1, host: near, trunk }.build()?;
    let port = fabric.next_hops(fabric.node(SwitchId(0)), HostId(1)).first;
    let mut load = Workload::new();
    let id = load.add(Flow::new(HostId(0), HostId(1), Bytes(BYTES)));
    let mut settings = Settings {
        seed,
        faults: vec![Fault { at: Time::ZERO, port, what: What::Errors { one_in } }],
        ..Settings::default()
    };
    settings.nic.mtu = Bytes(mtu);
    settings.nic.timeout = Time::ms(500);
    // Nothing is congested here, and a buffer for this cable's pauses would be all that there is.
    settings.switch.lossless = Priorities::NONE;
    let mut run = Simulation::new(fabric, &load, settings)?;
    if run.run() != Status::Done {
        return Err(Error::Unfinished("a flow with bit errors broke off"));
    }
    let flow = run.flow(id);
    let time = flow.duration().unwrap_or(Time::NEVER).since(trunk.delay);
    Ok(rate.time_for(Bytes(BYTES)).seconds() / time.seconds())
}

fn run() -> Result<Found, Error> {
    let mean = |mtu, one_in| -> Result<f64, Error> {
        let seeds = if one_in == 0 { 1 } else { SEEDS };
        let all = (1..=seeds).map(|seed| goodput(mtu, one_in, seed)).collect::<Result<Vec<_>, _>>()?;
        Ok(all.iter().sum::<f64>() / all.len() as f64)
    };
    let clean = (mean(4_096, 0)?, mean(9_000, 0)?);
    let dirty = (mean(4_096, ONE_IN)?, mean(9_000, ONE_IN)?);
    let percent = |share: f64| share * 100.0;
    let text = format!(
        "goodput with 4,096 and 9,000 B: {:.1}% and {:.1}% clean, {:.1}% and {:.1}% with one bit in {ONE_IN} wrong",
        percent(clean.0),
        percent(clean.1),
        percent(dirty.0),
        percent(dirty.1)
    );
    // Headers: 82 bytes for each frame. Errors: four expected, each a third of the time.
    let headers = clean.1 > clean.0 && (clean.0 - 4_096.0 / 4_178.0).abs() < 0.003;
    let errors = clean.0 - dirty.0 > 5.0 * (clean.1 - clean.0) && clean.1 - dirty.1 > 5.0 * (clean.1 - clean.0);
    Ok(Found { text, holds: headers && errors })
}
