//! `[[fault]]`: what goes wrong on a cable, and when. `[detection]`: how switches notice a cut.

use super::reader::{Keys, knobs};
use crate::engine::faults::{Detection, Fault, What};
use crate::observe::port_of;
use crate::topology::{PortId, Topology};
use crate::units::{Rate, Time};

/// Kinds of fault.
const KINDS: &[&str] = &["cut", "errors", "flap", "throttle"];
/// Flaps of one entry, and things that happen in all: they bound what must be kept before it has begun (chosen).
const FLAPS: u32 = 100_000;
const MOST: usize = 400_000;

knobs!(Detection { interval, misses > 0 });

/// Reads all entries, of a run that ends at `end`.
pub(super) fn faults(all: Vec<Keys<'_>>, fabric: &Topology, end: Time) -> Vec<Fault> {
    let mut faults = Vec::new();
    for keys in all {
        entry(&keys, fabric, end, &mut faults);
        if faults.len() > MOST {
            keys.fault(format!("up to here {} things happen to cables; a scenario may have {MOST}", faults.len()));
            break;
        }
        keys.done();
    }
    faults
}

fn entry(keys: &Keys<'_>, fabric: &Topology, end: Time, faults: &mut Vec<Fault>) -> Option<()> {
    if keys.node("kind").is_none() {
        keys.fault(format!("[[fault]] needs a kind, one of {}", KINDS.join(", ")));
    }
    let kind = keys.name("kind", KINDS);
    let port = link(keys, fabric);
    let at: Time = keys.get("at").unwrap_or_default();
    if at == Time::NEVER {
        keys.fault_at("at", "at is never; leave the fault out");
    } else if at >= end {
        keys.fault_at("at", format!("at: it does not happen before the run ends at {end} ([run] until)"));
    }
    let mut add = |at: Time, what: What| {
        if let Some(port) = port {
            faults.push(Fault { at, port, what });
        }
    };
    match kind? {
        "flap" => {
            let down: Time = keys.need("down", "\"100 us\"")?;
            let times: u32 = keys.get("times").unwrap_or(1);
            let every: Time =
                if times > 1 { keys.need("every", "\"1 ms\"")? } else { keys.get("every").unwrap_or(down) };
            if down == Time::ZERO || down == Time::NEVER || every < down || (times > 1 && every == Time::NEVER) {
                keys.fault_at("down", "down is longer than nothing and at most as long as every");
            }
            if times == 0 || times > FLAPS {
                keys.fault_at("times", format!("times is {times}; it must be from 1 to {FLAPS}"));
                return None;
            }
            for nth in 0..u64::from(times) {
                let at = Time(at.0.saturating_add(every.0.saturating_mul(nth)));
                add(at, What::Cut);
                add(Time(at.0.saturating_add(down.0)), What::Mended);
            }
            return Some(());
        }
        "cut" => add(at, What::Cut),
        "errors" => {
            let one_in = keys.need_some("one_in", "10000000")?;
            add(at, What::Errors { one_in });
        }
        _ => {
            let rate: Rate = keys.need("rate", "\"50 Gb/s\"")?;
            let wired = port.map_or(Rate::MAX, |port| fabric.ports()[port].cable.rate);
            if rate > wired {
                keys.fault_at("rate", format!("rate is more than the {wired} of the cable"));
            }
            add(at, What::Throttled { rate });
        }
    }
    if let Some(until) = keys.get::<Time>("until") {
        if until <= at {
            keys.fault_at("until", "until is not later than at");
        }
        let whole = match kind? {
            "cut" => What::Mended,
            "errors" => What::Errors { one_in: 0 },
            _ => What::Throttled { rate: Rate::MAX },
        };
        add(until, whole);
    }
    Some(())
}

/// The link that it happens to.
fn link(keys: &Keys<'_>, fabric: &Topology) -> Option<PortId> {
    let name: String = keys.need("link", "\"t1s0-t2s0\"")?;
    match port_of(fabric, &name) {
        Ok(port) => Some(port),
        Err(error) => {
            keys.fault_at("link", format!("link: {error}"));
            None
        }
    }
}
