//! Playing a scenario without packets, as flows that share links: [`crate::fluid`].

use super::run::Load;
use super::{Fault, Scenario};
use crate::engine::FlowResult;
use crate::fluid::{self, Outcome};
use crate::topology::Topology;
use crate::units::Time;
use crate::workload::{Flow, FlowId};

/// What a scenario came to at the level of flows.
#[derive(Debug)]
pub struct Fluid {
    fabric: Topology,
    load: Load,
    outcome: Outcome,
}

impl Scenario {
    /// Plays it to its end at the level of flows: what a perfect congestion control would reach. Switches, congestion
    /// control, priorities and NICs (but for the MTU) play no part, nor do [`Self::hops`], [`Self::watched`] and
    /// [`Self::bin`].
    ///
    /// # Errors
    /// What flows cannot show (cables that fail, taps, an end by [`Self::until`]) or the fabric cannot carry, with its
    /// place in the text.
    pub fn fluid(&self) -> Result<Fluid, Fault> {
        let refuse = |place: &str, text: &str| Fault { line: self.places.line(place), text: text.to_owned() };
        if !self.settings.faults.is_empty() {
            return Err(refuse("fault", "flows do not show what a cable loses; leave out [[fault]], or play packets"));
        }
        if !self.taps.is_empty() {
            return Err(refuse(
                "observe.taps",
                "taps: flows have no frames to be seen; leave them out, or play packets",
            ));
        }
        if self.until != Time::NEVER {
            return Err(refuse("run.until", "until: flows are played to their end; leave it out, or play packets"));
        }
        let load = self.load().map_err(|unfit| unfit.fault)?;
        let settings = fluid::Settings {
            seed: self.settings.seed,
            mtu: self.settings.nic.mtu,
            routing: self.settings.routing.clone(),
            ..fluid::Settings::default()
        };
        let outcome = fluid::run(&self.fabric, load.flows(), &settings);
        let outcome = outcome.map_err(|why| self.unfit(why, load.ends()).fault)?;
        Ok(Fluid { fabric: self.fabric.clone(), load, outcome })
    }
}

impl Fluid {
    /// The fabric.
    #[must_use]
    pub const fn fabric(&self) -> &Topology {
        &self.fabric
    }

    /// What every link carried, and when the last flow was acknowledged.
    #[must_use]
    pub const fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// Messages that cross the fabric: the name of their traffic, what was to be sent, what became of it.
    pub fn flows(&self) -> impl Iterator<Item = (FlowId, &str, &Flow, FlowResult)> {
        self.load.messages(|id| self.outcome.flows[id])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Bytes, Rate};
    use crate::wire;

    const TEXT: &str = "[fabric]\nshape = \"star\"\nhosts = 9\nrate = \"100 Gb/s\"\ndelay = \"1 us\"\n\
        [[traffic]]\nkind = \"incast\"\nto = 0\nbytes = \"1 MB\"\n\
        [[traffic]]\nname = \"free\"\nkind = \"flow\"\nfrom = 0\nto = 1\nbytes = \"1 MB\"\n";

    /// Eight to one have an eighth of the line each: all are there when it has carried all of them, two cables and one
    /// packet later. The way back is free.
    #[test]
    fn shares_are_those_of_the_closed_form() {
        let played = Scenario::parse(TEXT).unwrap().fluid().unwrap();
        let wire = wire::message(Bytes(1_000_000), Bytes(4_096)).0;
        let (line, last) = (Rate::gbps(100), Bytes(4_096 + u64::from(wire::HEADERS + wire::GAP)));
        let after = Time::us(2) + line.time_for(last);
        let took: Vec<_> = played.flows().map(|(_, name, _, flow)| (name, flow.duration().unwrap())).collect();
        assert_eq!(took.len(), 9);
        for (name, time) in took {
            let all = if name == "free" { wire } else { 8 * wire };
            let floor = line.time_for(Bytes(all)) + after;
            assert!(time.0.abs_diff(floor.0) <= 2, "{name}: {time} for {floor}");
        }
        assert_eq!(played.outcome().carried.rows().iter().map(|bytes| bytes.0).max(), Some(8 * wire));
    }

    #[test]
    fn what_flows_cannot_show_is_refused_where_it_stands() {
        for (more, fault) in [
            ("[[fault]]\nkind = \"cut\"\nlink = \"h0\"", "line 16: flows do not show what a cable loses"),
            ("[observe]\ntaps = \"h0\"", "line 17: taps: flows have no frames"),
            ("[run]\nuntil = \"1 ms\"", "line 17: until: flows are played to their end"),
            ("[nic]\nmtu = 0", "line 17: nic.mtu: an MTU of 0 bytes"),
            ("[nic]\nmtu = 100000", "line 17: nic.mtu: an MTU of 100000 bytes"),
        ] {
            let found = Scenario::parse(&format!("{TEXT}{more}\n")).unwrap().fluid().unwrap_err().to_string();
            assert!(found.starts_with(fault), "{found}");
        }
    }

    /// What no clock reaches does not arrive, and nobody waits for it.
    #[test]
    fn a_flow_that_takes_longer_than_time_does_not_arrive() {
        let text = TEXT.replace("100 Gb/s", "1 b/s").replace("1 MB", "1 TB");
        let played = Scenario::parse(&text).unwrap().fluid().unwrap();
        assert!(played.flows().all(|(_, _, _, flow)| flow.delivered.is_none()));
    }
}
