//! Two switches with hosts on both and trunks between: the plainest bottleneck, and, with long trunks, two sites far
//! apart (SYSTEMS F11).

use super::{Cable, Covers, Error, HostId, Plan, Switch, Topology, at_least};

/// The dimensions of a dumbbell. Hosts on the left come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dumbbell {
    /// Hosts on the left switch.
    pub left: u32,
    /// Hosts on the right switch.
    pub right: u32,
    /// Cables between the switches.
    pub trunks: u32,
    /// The hosts' cables.
    pub host: Cable,
    /// The trunks.
    pub trunk: Cable,
}

impl Dumbbell {
    /// Lays it out.
    ///
    /// # Errors
    /// A side without hosts, no trunk, or more than the model can name.
    pub fn build(&self) -> Result<Topology, Error> {
        for (what, is) in [("left", self.left), ("right", self.right), ("trunks", self.trunks)] {
            at_least("dumbbell", what, is, 1)?;
        }
        let mut plan = Plan::new("dumbbell", u64::from(self.left) + u64::from(self.right))?;
        let mut side = |first: u32, hosts: u32| -> Result<_, Error> {
            let last = first + hosts;
            let covers = Covers { first, last, step: 1, parallel: 1, down: hosts, up: self.trunks };
            let switch = plan.switch(Switch { tier: 1, covers })?;
            for host in first..last {
                plan.wire((HostId(host).into(), 0), (switch, host - first), self.host)?;
            }
            Ok(switch)
        };
        let left = side(0, self.left)?;
        let right = side(self.left, self.right)?;
        for trunk in 0..self.trunks {
            plan.wire((left, self.left + trunk), (right, self.right + trunk), self.trunk)?;
        }
        plan.finish()
    }
}
