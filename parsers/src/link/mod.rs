//! Link layers: Ethernet and its tags, Linux cooked, BSD loopback, ERF, pause frames.

pub mod erf;
pub mod ethernet;
pub mod loopback;
pub mod mpls;
pub mod pause;
pub mod sll;
pub mod vlan;
