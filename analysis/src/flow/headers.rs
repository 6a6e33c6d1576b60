//! What a flow's packets carry below the BTH: source ports, DSCP, VLANs, TTLs. Small sets, one comparison a packet.

use rocetop_parsers::Facts;
use rocetop_parsers::facts::Flags;
use rocetop_parsers::ib::opcode::Opcode;

use crate::event::Packet;

/// Up to `N` distinct values; further ones are only known to exist.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Few<T, const N: usize> {
    values: [T; N],
    len: u8,
    more: bool,
}

impl<T: Copy + Default + PartialEq, const N: usize> Default for Few<T, N> {
    fn default() -> Self {
        Self { values: [T::default(); N], len: 0, more: false }
    }
}

impl<T: Copy + Default + PartialEq, const N: usize> Few<T, N> {
    pub(crate) fn of(value: T) -> Self {
        let mut few = Self::default();
        few.add(value);
        few
    }

    pub(crate) fn add(&mut self, value: T) {
        if self.values().contains(&value) {
            return;
        }
        match self.values.get_mut(usize::from(self.len)) {
            Some(free) => {
                *free = value;
                self.len += 1;
            }
            None => self.more = true,
        }
    }

    /// In the order of first sight.
    pub(crate) fn values(&self) -> &[T] {
        self.values.get(..usize::from(self.len)).unwrap_or_default()
    }

    /// Whether there are values beyond the ones kept.
    pub(crate) fn more(&self) -> bool {
        self.more
    }
}

/// Where a packet was seen: what differs between a frame and its mirror copy. Packed for one comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Place(u64);

impl Place {
    /// Whether both are of one strand of files: then one clock stamped them.
    pub(crate) fn same_clock(self, other: Self) -> bool {
        (self.0 ^ other.0) & (7 << (Outer::IFACE + 9)) == 0
    }

    /// Whether both are one place but for the interface.
    pub(crate) fn is_beside(self, other: Self) -> bool {
        (self.0 ^ other.0) & !(0xfff << Outer::IFACE) == 0
    }
}

/// Place, source port and DSCP in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Outer(u64);

impl Outer {
    const VLAN: u32 = 0;
    const TTL: u32 = 16;
    const TUNNEL: u32 = 24;
    const TAGGED: u32 = 29;
    const DSCP: u32 = 30;
    const SPORT: u32 = 36;
    const IFACE: u32 = 52;

    #[inline(always)]
    pub(crate) fn of(facts: &Facts, packet: &Packet) -> Self {
        // Nine bits for the interface, three for the strand; of two that fall together, a mirror's copies would count
        // as repeats.
        let iface = packet.iface ^ facts.ifindex;
        let iface = u64::from((iface ^ iface >> 9) & 0x1ff | u32::from(packet.strand & 7) << 9);
        Self(
            u64::from(facts.vlan) << Self::VLAN
                | u64::from(facts.ttl) << Self::TTL
                | (facts.tunnel as u64) << Self::TUNNEL
                | u64::from(facts.flags.has(Flags::VLAN)) << Self::TAGGED
                | u64::from(facts.dscp()) << Self::DSCP
                | u64::from(facts.sport) << Self::SPORT
                | iface << Self::IFACE,
        )
    }

    #[inline(always)]
    pub(crate) fn place(self) -> Place {
        Place(self.0 & !(0x3f << Self::DSCP | 0xffff << Self::SPORT))
    }

    /// Whether both were seen at one interface, in one encapsulation: then a difference is not the tap's.
    pub(crate) fn same_tap(self, other: Self) -> bool {
        (self.0 ^ other.0) & (0xfff << Self::IFACE | 0x1f << Self::TUNNEL) == 0
    }

    /// Whether they differ in more than the source port.
    pub(crate) fn differs(self, other: Self) -> bool {
        (self.0 ^ other.0) & !(0xffff << Self::SPORT) != 0
    }

    pub(crate) fn dscp(self) -> u8 {
        (self.0 >> Self::DSCP & 0x3f) as u8
    }

    pub(crate) fn ttl(self) -> u8 {
        (self.0 >> Self::TTL) as u8
    }

    /// VLAN and priority; `None` where there is no tag.
    pub(crate) fn tag(self) -> Option<u16> {
        (self.0 >> Self::TAGGED & 1 == 1).then_some((self.0 >> Self::VLAN) as u16)
    }
}

/// The sets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Headers {
    latest: Outer,
    pub(crate) dscp: Few<u8, 4>,
    pub(crate) sports: Few<u16, 4>,
    pub(crate) vlans: Few<u16, 4>,
    pub(crate) ttls: Few<u8, 4>,
}

impl Headers {
    /// Takes a packet's headers in. Returns whether they differ from the packet before.
    #[inline(always)]
    pub(crate) fn add(&mut self, outer: Outer, facts: &Facts) -> bool {
        if outer == self.latest && self.ttls.len != 0 {
            return false;
        }
        self.change(outer, facts);
        true
    }

    #[cold]
    fn change(&mut self, outer: Outer, facts: &Facts) {
        self.latest = outer;
        self.dscp.add(facts.dscp());
        // Notifications have ports of their own, which tell nothing of the flow's path: one NIC sends them from
        // port 0.
        if facts.opcode != Opcode::CNP {
            self.sports.add(facts.sport);
        }
        self.ttls.add(facts.ttl);
        if facts.flags.has(Flags::VLAN) {
            self.vlans.add(facts.vlan);
        }
    }

    /// Whether a set has more values than it keeps.
    pub(crate) fn more(&self) -> bool {
        self.dscp.more || self.sports.more || self.vlans.more || self.ttls.more
    }

    pub(crate) fn latest(&self) -> Outer {
        self.latest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_first_few() {
        let mut few = Few::<u16, 2>::default();
        for v in [7, 7, 0, 9] {
            few.add(v);
        }
        assert_eq!((few.values(), few.more()), (&[7, 0][..], true));
    }

    #[test]
    fn port_and_dscp_are_no_place() {
        let a = Facts { sport: 1, tos: 0x68, ttl: 64, ..Facts::default() };
        let b = Facts { sport: 2, tos: 0x02, ..a };
        let c = Facts { ttl: 63, ..a };
        let place = |facts: &Facts, strand, iface| {
            let packet = Packet { strand, iface, ..Packet::default() };
            Outer::of(facts, &packet).place()
        };
        assert_eq!(place(&a, 0, 0), place(&b, 0, 0));
        assert_ne!(place(&a, 0, 0), place(&c, 0, 0));
        assert_ne!(place(&a, 0, 0), place(&a, 0, 1));
        assert_ne!(place(&a, 0, 0), place(&a, 1, 0));
    }
}
