//! Network layers: IPv4, IPv6, UDP, and the tunnels that mirrors use.

pub mod erspan;
pub mod geneve;
pub mod gre;
pub mod ipv4;
pub mod ipv6;
pub mod protocol;
pub mod udp;
pub mod vxlan;
