//! SYSTEMS F11: over 3,000 km a pause comes 15 ms late, and headroom must hold a whole round trip.
//!
//! A switch that says stop goes on receiving what is on the cable, and what is sent until the pause has arrived: rate
//! times round trip, at 400G 1.5 GB, half of it sent while the pause travels. With that much headroom nothing is lost;
//! with the headroom of a data hall the same incast loses frames. Set-up: two sites, one trunk of 15 ms, three senders
//! to one receiver at the other site; scaled down to hosts of 10G and a trunk of 30G (112.5 MB for a round trip);
//! packets.

use super::{Effect, Error, Found};
use crate::engine::{Settings, Simulation, Totals};
use crate::switch::{Buffer, Headroom};
use crate::topology::{Cable, HostId, LongHaul};
use crate::units::{Bytes, Metres, Rate, Time};
use crate::workload::{Workload, pattern};

pub(super) const EFFECT: Effect = Effect {
    name: "f11_long_haul",
    claim: "at 3,000 km 1.5 GB are in flight at 400G, and a pause arrives 750 MB late; lossless with headroom for it",
    run,
};

fn play(headroom: Headroom) -> Result<Totals, Error> {
    let rate = Rate::gbps(10);
    let near = Cable::metres(Rate::gbps(40), Metres(50), Time::ns(500));
    let pair = LongHaul {
        leaves: 1,
        hosts_per_leaf: 3,
        spines: 1,
        trunks: 1,
        host: Cable { rate, ..near },
        spine: near,
        trunk: Cable::metres(Rate::gbps(30), Metres(3_000_000), Time::ns(500)),
    };
    let mut load = Workload::new();
    pattern::incast(&mut load, (0..3).map(HostId), HostId(3), Bytes(120_000_000));
    let mut settings = Settings::default();
    settings.switch.buffer = Buffer { per_port: Bytes(100_000_000), headroom, ..Buffer::default() };
    settings.switch.marking = Vec::new();
    let mut run = Simulation::new(pair.build()?, &load, settings)?;
    run.advance(Time::ms(400), u64::MAX);
    Ok(run.totals())
}

fn run() -> Result<Found, Error> {
    let (line, one_way) = (Rate::gbps(400), Metres(3_000_000).delay());
    let late = line.bytes_in(one_way);
    let flight = line.bytes_in(one_way.times(2));
    let enough = play(Headroom::Exact { percent: 100 })?;
    let hall = play(Headroom::Fixed(Bytes(100_000)))?;
    let text = format!(
        "400G: {} MB in flight in a round trip, {} MB while a pause travels; drops with headroom for it {}, with a \
        hall's {}",
        flight.0 / 1_000_000,
        late.0 / 1_000_000,
        enough.drops,
        hall.drops
    );
    let holds = flight == Bytes(1_500_000_000) && late == Bytes(750_000_000) && enough.drops == 0 && hall.drops > 0;
    Ok(Found { text, holds: holds && enough.pauses > 0 })
}
