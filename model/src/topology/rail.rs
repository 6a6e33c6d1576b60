//! Rail-optimised (SYSTEMS F5): GPU `i` of every server of a unit hangs on the unit's leaf number `i`, so that GPUs of
//! one rail reach one another by a single switch; spines join all leaves.

use super::{Cable, Clos2, Error, HostId, Topology, at_least};

/// The dimensions of a rail-optimised fabric. A host is a GPU's NIC; hosts are numbered leaf by leaf, so use
/// [`Rail::gpu`] to find one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rail {
    /// Units: groups of servers that share leaves.
    pub units: u32,
    /// Servers of a unit: down ports of a leaf.
    pub servers: u32,
    /// GPUs of a server: leaves of a unit.
    pub rails: u32,
    /// Spines, each with one cable to every leaf.
    pub spines: u32,
    /// Cables from NICs to leaves.
    pub host: Cable,
    /// Cables from leaves to spines.
    pub spine: Cable,
}

impl Rail {
    /// The NIC of a server's GPU. Servers are numbered through all units.
    #[must_use]
    pub const fn gpu(&self, server: u32, gpu: u32) -> HostId {
        let (unit, inside) = (server / self.servers, server % self.servers);
        HostId((unit * self.rails + gpu) * self.servers + inside)
    }

    /// All NICs, server by server: what a job that fills the fabric has as its ranks.
    #[must_use]
    pub fn ranks(&self) -> Vec<HostId> {
        (0..self.units * self.servers)
            .flat_map(|server| (0..self.rails).map(move |gpu| self.gpu(server, gpu)))
            .collect()
    }

    /// Lays it out.
    ///
    /// # Errors
    /// A dimension of zero, or more than the model can name.
    pub fn build(&self) -> Result<Topology, Error> {
        for (what, is) in
            [("units", self.units), ("servers", self.servers), ("rails", self.rails), ("spines", self.spines)]
        {
            at_least("rail", what, is, 1)?;
        }
        let clos = Clos2 {
            leaves: self.units.saturating_mul(self.rails),
            spines: self.spines,
            hosts_per_leaf: self.servers,
            parallel: 1,
            host: self.host,
            spine: self.spine,
        };
        clos.build()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::CABLE;
    use super::*;

    #[test]
    fn a_rail_is_one_switch() {
        let rail = Rail { units: 2, servers: 4, rails: 8, spines: 4, host: CABLE, spine: CABLE };
        let fabric = rail.build().unwrap();
        let length = |a: (u32, u32), b: (u32, u32)| fabric.way(rail.gpu(a.0, a.1), rail.gpu(b.0, b.1)).unwrap().len();
        assert_eq!(length((0, 3), (2, 3)), 2, "same rail, same unit");
        assert_eq!(length((0, 3), (2, 4)), 4, "another rail");
        assert_eq!(length((0, 3), (5, 3)), 4, "another unit");
        let mut ranks = rail.ranks();
        assert_eq!(ranks[9], rail.gpu(1, 1));
        ranks.sort_unstable();
        assert_eq!(ranks, (0..64).map(HostId).collect::<Vec<_>>());
        assert!(Rail { rails: 0, ..rail }.build().is_err());
    }
}
