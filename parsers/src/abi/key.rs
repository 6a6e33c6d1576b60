//! What flows are told apart by, and where those over IPv4 lie.

use crate::addr::Addr;
use crate::facts::{Class, Facts, Flags};
use crate::units::Qpn;

/// Which way a frame went through the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Way {
    /// Received: seen by XDP.
    In = 0,
    /// Sent: seen by TC.
    Out = 1,
}

/// The last four bytes of a key: queue pair, class, address family and way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct Tag(pub(super) u32);

impl Tag {
    /// Its bits.
    #[inline(always)]
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.0
    }

    const CLASS: u32 = 24;
    const IPV6: u32 = 1 << 30;
    const OUT: u32 = 1 << 31;

    /// The tag of a packet's flow.
    #[inline(always)]
    #[must_use]
    pub const fn of(facts: &Facts, way: Way) -> Self {
        let ipv6 = if facts.flags.has(Flags::IPV6) { Self::IPV6 } else { 0 };
        Self(facts.dst_qp.0 & 0xff_ffff | (facts.class as u32) << Self::CLASS | ipv6 | (way as u32) << 31)
    }

    /// The destination queue pair.
    #[must_use]
    pub const fn qp(self) -> Qpn {
        Qpn(self.0 & 0xff_ffff)
    }

    /// How RoCE was carried. Only what has a BTH has a flow.
    #[must_use]
    pub const fn class(self) -> Class {
        match self.0 >> Self::CLASS & 7 {
            c if c == Class::RoceV1 as u32 => Class::RoceV1,
            c if c == Class::Infiniband as u32 => Class::Infiniband,
            _ => Class::RoceV2,
        }
    }

    /// Whether the addresses are IPv6's.
    #[must_use]
    pub const fn ipv6(self) -> bool {
        self.0 & Self::IPV6 != 0
    }

    /// Which way the flow goes through the interface.
    #[must_use]
    pub const fn way(self) -> Way {
        if self.0 & Self::OUT != 0 { Way::Out } else { Way::In }
    }
}

/// Key of a RoCEv2 flow over IPv4, which lies in the [`Flow`](super::Flow) itself: the table of these flows is an array
/// with [`Key4::WAYS`] places for each flow. The kernel's hash tables cost a look-up two calls, and a page more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(C)]
pub struct Key4 {
    pub(super) src: [u8; 4],
    pub(super) dst: [u8; 4],
    pub(super) tag: Tag,
}

/// Key of the map of all other flows; and in userland of any flow, with IPv4 mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(C)]
pub struct Key {
    /// Source address.
    pub src: Addr,
    /// Destination address.
    pub dst: Addr,
    /// Everything else.
    pub tag: Tag,
}

const _: () = assert!(size_of::<Key4>() == 12 && size_of::<Key>() == 36);

impl Key4 {
    /// The key of a packet's flow; `None` when it belongs to the other map.
    #[inline(always)]
    #[must_use]
    pub fn of(facts: &Facts, way: Way) -> Option<Self> {
        if !matches!(facts.class, Class::RoceV2) || facts.flags.has(Flags::IPV6) {
            return None;
        }
        let ([.., a, b, c, d], [.., e, f, g, h]) = (facts.src.0, facts.dst.0);
        Some(Self { src: [a, b, c, d], dst: [e, f, g, h], tag: Tag::of(facts, way) })
    }

    /// What is not an address of it.
    #[inline(always)]
    #[must_use]
    pub const fn tag(&self) -> Tag {
        self.tag
    }

    /// Places that a flow may have in a table.
    pub const WAYS: u32 = 4;

    /// One of the places of the flow in a table of `mask + 1`, a power of two; they are tried in order. Queue pairs of
    /// the same two hosts lie one behind the other, as hosts number them: they fill the table evenly, and share pages.
    /// All flows with the same [`Key4::column`] have the same places.
    #[inline(always)]
    #[must_use]
    pub const fn place(&self, way: u32, mask: u32) -> u32 {
        // Odd numbers that have no pattern: the golden ratio's and the square root of two's digits.
        const SRC: u64 = 0x9e37_79b9_7f4a_7c15;
        const DST: u64 = 0x6a09_e667_f3bc_c909;
        let src = u32::from_ne_bytes(self.src) as u64;
        let dst = u32::from_ne_bytes(self.dst).wrapping_add(self.tag.0 >> Tag::CLASS) as u64;
        // One after the other: the sum of two products would lay the pairs of a fabric out in stripes.
        let pair = ((src.wrapping_mul(SRC) >> 32 ^ dst).wrapping_mul(DST) >> 32) as u32;
        let step = mask / Self::WAYS + 1;
        pair.wrapping_add(self.tag.0 & 0xff_ffff).wrapping_add(way.wrapping_mul(step)) & mask
    }

    /// The first of the places, whichever of them is tried first: whoever begins a flow holds its lock.
    #[inline(always)]
    #[must_use]
    pub const fn column(&self, mask: u32) -> u32 {
        self.place(0, mask) & (mask / Self::WAYS)
    }

    /// Whether it is the same key. Three comparisons: the derived one calls a function in the kernel.
    #[inline(always)]
    #[must_use]
    pub const fn is(&self, other: &Self) -> bool {
        self.tag.0 == other.tag.0
            && u32::from_ne_bytes(self.src) == u32::from_ne_bytes(other.src)
            && u32::from_ne_bytes(self.dst) == u32::from_ne_bytes(other.dst)
    }
}

impl Key {
    /// The key of a packet's flow.
    #[inline(always)]
    #[must_use]
    pub const fn of(facts: &Facts, way: Way) -> Self {
        Self { src: facts.src, dst: facts.dst, tag: Tag::of(facts, way) }
    }

    /// The key that the flow has in the map of IPv4 flows, if it belongs there.
    #[must_use]
    pub fn narrow(&self) -> Option<Key4> {
        if self.tag.ipv6() || self.tag.class() != Class::RoceV2 {
            return None;
        }
        Some(Key4 { src: self.src.as_v4()?, dst: self.dst.as_v4()?, tag: self.tag })
    }
}

impl From<Key4> for Key {
    fn from(key: Key4) -> Self {
        Self { src: Addr::v4(key.src), dst: Addr::v4(key.dst), tag: key.tag }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(src: [u8; 4], dst: [u8; 4], qp: u32, way: Way) -> Key4 {
        let facts =
            Facts { src: Addr::v4(src), dst: Addr::v4(dst), dst_qp: Qpn(qp), class: Class::RoceV2, ..Facts::default() };
        Key4::of(&facts, way).unwrap()
    }

    #[test]
    fn a_flow_has_four_places_of_one_column() {
        for mask in [3, 63, 65_535] {
            let key = key([10, 0, 0, 1], [10, 0, 0, 2], 77, Way::In);
            let mut places = [0, 1, 2, 3].map(|way| key.place(way, mask));
            places.sort_unstable();
            let step = mask.div_ceil(4);
            assert_eq!(places, [0, 1, 2, 3].map(|n| key.column(mask) + n * step));
        }
    }

    #[test]
    fn neighbours_lie_side_by_side_and_other_hosts_elsewhere() {
        let first = |src, dst, qp, way| key(src, dst, qp, way).place(0, 65_535);
        let (a, b) = ([10, 0, 0, 1], [10, 0, 0, 2]);
        let here = first(a, b, 100, Way::In);
        assert_eq!(first(a, b, 101, Way::In), (here + 1) & 65_535);
        for other in [
            first(b, a, 100, Way::In),
            first(a, b, 100, Way::Out),
            first([11, 0, 0, 1], b, 100, Way::In),
            first(a, [11, 0, 0, 2], 100, Way::In),
        ] {
            assert!(other.abs_diff(here) > 1, "{other} {here}");
        }
    }

    #[test]
    fn hosts_of_a_fabric_are_spread_evenly() {
        // 4,096 pairs with eight queue pairs each, in a table of twice as many places: half full.
        let mut column = [0u8; 16_384];
        for pair in 0..4096u32 {
            let [.., high, low] = pair.to_be_bytes();
            for qp in 17..25 {
                let key = key([10, 1, high, low], [10, 2, low, high], qp, Way::In);
                column[key.column(65_535) as usize] += 1;
            }
        }
        // By chance alone some 1,230 of 32,768 would find their four places taken.
        let crowded: u32 = column.iter().map(|n| u32::from(n.saturating_sub(4))).sum();
        assert!(crowded < 1500, "{crowded}");
    }
}
