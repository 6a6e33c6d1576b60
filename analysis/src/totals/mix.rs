//! Frames that are no RoCE, by the class that they travel in: what shares a queue with RoCE.

use rocetop_parsers::facts::Flags;
use rocetop_parsers::net::protocol::Protocol;
use rocetop_parsers::{Bytes, Nanos};

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

/// Frames that are no RoCE: all, and IP packets by DSCP and by the priority of their VLAN tag.
#[derive(Clone, Debug)]
pub(crate) struct Mix {
    pub(crate) all: Foreign,
    dscp: [Foreign; 64],
    pcp: [Foreign; 8],
}

impl Default for Mix {
    fn default() -> Self {
        Self { all: Foreign::default(), dscp: [Foreign::default(); 64], pcp: [Foreign::default(); 8] }
    }
}

impl Mix {
    pub(crate) fn add(&mut self, packet: &Packet) {
        let facts = &packet.facts;
        self.all.add(packet);
        // Without addresses it is no IP packet, and has no DSCP.
        if facts.end != 0
            && let Some(class) = self.dscp.get_mut(usize::from(facts.dscp()))
        {
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
    }

    pub(crate) fn dscp(&self, dscp: u8) -> Foreign {
        self.dscp.get(usize::from(dscp)).copied().unwrap_or_default()
    }

    pub(crate) fn pcp(&self, pcp: u8) -> Foreign {
        self.pcp.get(usize::from(pcp)).copied().unwrap_or_default()
    }
}
