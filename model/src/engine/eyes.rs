//! What a routing policy sees of the running fabric.

use super::faults::Faults;
use super::port::Port;
use crate::rng::Rng;
use crate::routing::{View, leads};
use crate::table::Table;
use crate::topology::{HostId, PortId, Topology};
use crate::units::{Bytes, Time};

pub(crate) struct Eyes<'a> {
    pub(crate) now: Time,
    pub(crate) ports: &'a Table<PortId, Port>,
    pub(crate) fabric: &'a Topology,
    pub(crate) faults: &'a Faults,
    pub(crate) chance: &'a mut Rng,
}

impl View for Eyes<'_> {
    #[inline(always)]
    fn now(&self) -> Time {
        self.now
    }

    #[inline(always)]
    fn queue(&self, port: PortId) -> Bytes {
        Bytes(self.ports[port].queued)
    }

    #[inline(always)]
    fn damaged(&self) -> bool {
        self.faults.damaged()
    }

    fn usable(&self, port: PortId, to: HostId) -> bool {
        leads(self.fabric, port, to, &|port| self.faults.is_out(port))
    }

    #[inline(always)]
    fn below(&mut self, n: u32) -> u32 {
        self.chance.below(u64::from(n)) as u32
    }
}
