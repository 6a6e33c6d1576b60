//! Protocol numbers of IPv4 and IPv6, and the UDP ports that matter here (IANA registries).

use core::fmt;

/// What follows an IP header or an extension header. Unknown values are kept as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Protocol(pub u8);

#[allow(missing_docs, reason = "each name is the protocol's own")]
impl Protocol {
    pub const HOP_BY_HOP: Self = Self(0);
    pub const TCP: Self = Self(6);
    pub const UDP: Self = Self(17);
    /// A BTH straight after a GRH (IBTA 8.3.4).
    pub const IBA: Self = Self(0x1b);
    pub const ROUTING: Self = Self(43);
    pub const FRAGMENT: Self = Self(44);
    pub const GRE: Self = Self(47);
    pub const AH: Self = Self(51);
    pub const NONE: Self = Self(59);
    pub const DESTINATION: Self = Self(60);
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "protocol {}", self.0)
    }
}

/// Destination ports that the walker knows.
pub mod port {
    /// RoCEv2 (annex A17.4.5).
    pub const ROCE_V2: u16 = 4791;
    /// VXLAN (RFC 7348 5).
    pub const VXLAN: u16 = 4789;
    /// VXLAN as Linux had it before the registry, still its default.
    pub const VXLAN_LINUX: u16 = 8472;
    /// GENEVE (RFC 8926 3.3).
    pub const GENEVE: u16 = 6081;
}
