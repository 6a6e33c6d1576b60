//! Frames that are no RoCE, by the class that they travel in: what shares a queue with RoCE. And by what they are: RoCE
//! may be inside of what is not opened.

use rocetop_parsers::facts::Flags;
use rocetop_parsers::net::protocol::Protocol;
use rocetop_parsers::{Bytes, Facts, Nanos};

use crate::event::{FrameNo, Packet};

/// Frames of one class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Foreign {
    pub(crate) frames: u64,
    pub(crate) bytes: Bytes,
    /// TCP segments among them.
    pub(crate) tcp: u64,
    pub(crate) first: FrameNo,
    pub(crate) last: FrameNo,
    pub(crate) first_at: Nanos,
    pub(crate) last_at: Nanos,
}

impl Foreign {
    fn add(&mut self, packet: &Packet) {
        let one = Self {
            frames: 1,
            bytes: packet.wire,
            tcp: u64::from(packet.facts.protocol == Protocol::TCP.0),
            first: packet.frame,
            last: packet.frame,
            first_at: packet.at,
            last_at: packet.at,
        };
        self.merge(&one);
    }

    fn merge(&mut self, other: &Self) {
        if other.frames == 0 {
            return;
        }
        if self.frames == 0 || other.first < self.first {
            (self.first, self.first_at) = (other.first, other.first_at);
        }
        if self.frames == 0 || other.last > self.last {
            (self.last, self.last_at) = (other.last, other.last_at);
        }
        self.frames += other.frames;
        self.bytes += other.bytes;
        self.tcp += other.tcp;
    }
}

/// Frames that are no RoCE: all, and IP packets by DSCP and by the priority of their VLAN tag, those that keep the
/// network itself going apart.
#[derive(Clone, Debug)]
pub(crate) struct Mix {
    pub(crate) all: Foreign,
    dscp: [Foreign; 64],
    pcp: [Foreign; 8],
    /// IP packets by protocol.
    protocols: [u64; 256],
    /// Those that have none: fragments, and tunnels in which no RoCE was found.
    pub(crate) unopened: u64,
    /// Frames without an IP header that was found.
    pub(crate) without_ip: u64,
}

/// Whether it keeps the network itself going: frames without IP, as ARP and LLDP, and ICMP, IGMP and ICMPv6 (numbers 1,
/// 2 and 58 of the IANA registry). Every host sends them, in whatever class.
fn is_control(facts: &Facts) -> bool {
    facts.end == 0 || matches!(facts.protocol, 1 | 2 | 58)
}

impl Default for Mix {
    fn default() -> Self {
        Self {
            all: Foreign::default(),
            dscp: [Foreign::default(); 64],
            pcp: [Foreign::default(); 8],
            protocols: [0; 256],
            unopened: 0,
            without_ip: 0,
        }
    }
}

impl Mix {
    pub(crate) fn add(&mut self, packet: &Packet) {
        let facts = &packet.facts;
        self.all.add(packet);
        match facts.protocol {
            // Without addresses it is no IP packet, and has no DSCP.
            _ if facts.end == 0 => self.without_ip += 1,
            0 => self.unopened += 1,
            protocol => {
                if let Some(sum) = self.protocols.get_mut(usize::from(protocol)) {
                    *sum += 1;
                }
            }
        }
        if is_control(facts) {
            return;
        }
        if let Some(class) = self.dscp.get_mut(usize::from(facts.dscp())) {
            class.add(packet);
        }
        if facts.flags.has(Flags::VLAN)
            && let Some(class) = self.pcp.get_mut(usize::from(facts.vlan >> 13))
        {
            class.add(packet);
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.all.merge(&other.all);
        let mine = self.dscp.iter_mut().chain(&mut self.pcp);
        for (mine, theirs) in mine.zip(other.dscp.iter().chain(&other.pcp)) {
            mine.merge(theirs);
        }
        for (mine, theirs) in self.protocols.iter_mut().zip(&other.protocols) {
            *mine += theirs;
        }
        self.unopened += other.unopened;
        self.without_ip += other.without_ip;
    }

    /// IP packets of this protocol.
    pub(crate) fn protocol(&self, protocol: Protocol) -> u64 {
        self.protocols.get(usize::from(protocol.0)).copied().unwrap_or_default()
    }

    pub(crate) fn dscp(&self, dscp: u8) -> Foreign {
        self.dscp.get(usize::from(dscp)).copied().unwrap_or_default()
    }

    pub(crate) fn pcp(&self, pcp: u8) -> Foreign {
        self.pcp.get(usize::from(pcp)).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_keeps_the_network_going_is_in_no_class() {
        let mut mix = Mix::default();
        let tagged = Facts { vlan: 3 << 13, flags: Flags::VLAN, tos: 104, ..Facts::default() };
        // ARP, ICMPv6, TCP.
        for (end, protocol) in [(0, 0), (60, 58), (60, 6)] {
            mix.add(&Packet { facts: Facts { end, protocol, ..tagged }, ..Packet::default() });
        }
        assert_eq!((mix.pcp(3).frames, mix.dscp(26).frames, mix.all.frames), (1, 1, 3));
    }
}
