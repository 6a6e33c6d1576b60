//! Switches in a ring, hosts on each, and one way round for everything: the smallest fabric whose buffers can wait for
//! one another in a circle (SYSTEMS P3). Nobody builds it to carry traffic.

use super::{Cable, Covers, Error, HostId, Plan, Switch, Topology, at_least};

/// The dimensions of a ring. Hosts are numbered switch by switch; traffic goes by rising switch numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ring {
    /// Switches in the ring.
    pub switches: u32,
    /// Hosts on each switch.
    pub hosts_per_switch: u32,
    /// The hosts' cables.
    pub host: Cable,
    /// The ring's cables.
    pub ring: Cable,
}

impl Ring {
    /// Lays it out. A switch has its hosts' ports, then the one onwards, then the one that leads back.
    ///
    /// # Errors
    /// Fewer than three switches, no host, or more than the model can name.
    pub fn build(&self) -> Result<Topology, Error> {
        let Self { switches, hosts_per_switch, .. } = *self;
        at_least("ring", "switches", switches, 3)?;
        at_least("ring", "hosts_per_switch", hosts_per_switch, 1)?;
        let mut plan = Plan::new("ring", u64::from(switches) * u64::from(hosts_per_switch))?;
        let mut ids = Vec::new();
        for switch in 0..switches {
            let first = switch * hosts_per_switch;
            let last = first + hosts_per_switch;
            // The port back is no down port either: it stands behind the one up port, where no route points to it.
            let covers = Covers { first, last, step: 1, parallel: 1, down: hosts_per_switch, up: 1 };
            let id = plan.switch_with(Switch { tier: 1, covers }, 1)?;
            for host in first..last {
                plan.wire((HostId(host).into(), 0), (id, host - first), self.host)?;
            }
            ids.push(id);
        }
        for (&here, &next) in ids.iter().zip(ids.iter().cycle().skip(1)) {
            plan.wire((here, hosts_per_switch), (next, hosts_per_switch + 1), self.ring)?;
        }
        plan.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::CABLE;
    use super::*;

    #[test]
    fn all_goes_round_one_way() {
        let ring = Ring { switches: 4, hosts_per_switch: 1, host: CABLE, ring: CABLE };
        let fabric = ring.build().unwrap();
        let length = |from, to| fabric.way(HostId(from), HostId(to)).unwrap().len();
        assert_eq!([length(0, 1), length(0, 3), length(1, 0)], [3, 5, 5]);
        assert!(Ring { switches: 2, ..ring }.build().is_err());
    }
}
