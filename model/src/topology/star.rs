//! One switch with every host on it (SYSTEMS F14): the baseline that fabrics outgrow, and the plainest incast.

use super::{Cable, Covers, Error, HostId, Plan, Switch, Topology, at_least};

/// The dimensions of a star.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Star {
    /// Hosts on the switch.
    pub hosts: u32,
    /// Their cables.
    pub cable: Cable,
}

impl Star {
    /// Lays it out.
    ///
    /// # Errors
    /// No host, or more than the model can name.
    pub fn build(&self) -> Result<Topology, Error> {
        at_least("star", "hosts", self.hosts, 1)?;
        let mut plan = Plan::new("star", u64::from(self.hosts))?;
        let covers = Covers { first: 0, last: self.hosts, step: 1, parallel: 1, down: self.hosts, up: 0 };
        let switch = plan.switch(Switch { tier: 1, covers })?;
        for host in 0..self.hosts {
            plan.wire((HostId(host).into(), 0), (switch, host), self.cable)?;
        }
        plan.finish()
    }
}
