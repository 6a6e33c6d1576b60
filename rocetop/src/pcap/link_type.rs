//! LINKTYPE numbers: what the frames of a capture start with.
//!
//! Numbers and names: the registry at <https://www.tcpdump.org/linktypes.html>.

use std::fmt;

use rocetop_parsers::Link;

/// A LINKTYPE number as a capture file writes it. Unknown values are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkType(pub u16);

impl LinkType {
    /// Ethernet, with or without 802.1Q tags.
    pub const ETHERNET: Self = Self(1);

    /// What the parsers call it; `None` for a link type that they do not know.
    #[must_use]
    pub const fn link(self) -> Option<Link> {
        Some(match self.0 {
            0 => Link::BsdNull,
            108 => Link::BsdLoop,
            1 => Link::Ethernet,
            // 12 and 14 are DLT_RAW of several systems, that some writers put into files as they are.
            12 | 14 | 101 | 228 | 229 => Link::RawIp,
            113 => Link::LinuxCooked1,
            276 => Link::LinuxCooked2,
            247 => Link::Infiniband,
            197 => Link::Erf,
            _ => return None,
        })
    }

    /// The name that tcpdump knows it by, for the link types that a RoCE host can meet.
    #[must_use]
    pub const fn name(self) -> Option<&'static str> {
        Some(match self.0 {
            0 => "NULL",
            1 => "EN10MB",
            9 => "PPP",
            12 | 14 | 101 => "RAW",
            105 => "IEEE802_11",
            108 => "LOOP",
            113 => "LINUX_SLL",
            127 => "IEEE802_11_RADIO",
            192 => "PPI",
            197 => "ERF",
            220 => "USB_LINUX_MMAPPED",
            228 => "IPV4",
            229 => "IPV6",
            239 => "NFLOG",
            247 => "INFINIBAND",
            252 => "WIRESHARK_UPPER_PDU",
            253 => "NETLINK",
            276 => "LINUX_SLL2",
            _ => return None,
        })
    }
}

impl fmt::Display for LinkType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "LINKTYPE_{}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_link_that_the_parsers_know_has_a_name() {
        for n in 0..=u16::MAX {
            let link_type = LinkType(n);
            assert!(link_type.link().is_none() || link_type.name().is_some(), "{link_type}");
        }
        assert_eq!(LinkType::ETHERNET.to_string(), "EN10MB");
        assert_eq!(LinkType(147).to_string(), "LINKTYPE_147");
    }
}
