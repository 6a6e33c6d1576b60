//! IPv6: 40 bytes, then extension headers (RFC 8200 3 and 4).

use core::fmt;
use core::net::Ipv6Addr;

use crate::cut::{Cut, Layer};
use crate::net::protocol::Protocol;
use crate::window::Window;

mod field {
    pub(super) const VERSION: usize = 0; // version 4 bits, traffic class 8 bits, flow label 20 bits
    pub(super) const PAYLOAD_LEN: usize = 4;
    pub(super) const NEXT: usize = 6;
    pub(super) const HOP_LIMIT: usize = 7;

    pub(super) mod extension {
        pub(in super::super) const NEXT: usize = 0;
        pub(in super::super) const LEN: usize = 1; // in units of 8 bytes beyond the first; AH: of 4 beyond the second
        pub(in super::super) const FRAGMENT: usize = 2; // RFC 8200 4.5: offset 13 bits, 2 reserved, M
    }
}

/// An IPv6 header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv6([u8; Ipv6::LEN]);

impl Ipv6 {
    /// Bytes on the wire.
    pub const LEN: usize = 40;
    /// Extension headers that the walker steps over.
    pub const EXTENSIONS: usize = 4;

    /// The header at offset `at`.
    ///
    /// # Errors
    /// [`Cut`] when fewer than 40 bytes are there.
    #[inline(always)]
    pub fn load<W: Window + ?Sized>(frame: &W, at: usize) -> Result<Self, Cut> {
        frame.header(at, Layer::Ipv6).map(Self)
    }

    /// IP version; 6.
    #[inline(always)]
    #[must_use]
    pub const fn version(&self) -> u8 {
        self.0[field::VERSION] >> 4
    }

    /// Traffic class: DSCP in the high six bits, ECN in the low two.
    #[inline(always)]
    #[must_use]
    pub const fn traffic_class(&self) -> u8 {
        self.0[field::VERSION] << 4 | self.0[field::VERSION + 1] >> 4
    }

    /// Flow label, 20 bits.
    #[must_use]
    pub const fn flow_label(&self) -> u32 {
        u32::from_be_bytes([
            0,
            self.0[field::VERSION + 1] & 0xf,
            self.0[field::VERSION + 2],
            self.0[field::VERSION + 3],
        ])
    }

    /// Bytes after this header, extension headers included.
    #[inline(always)]
    #[must_use]
    pub const fn payload_len(&self) -> u16 {
        u16::from_be_bytes([self.0[field::PAYLOAD_LEN], self.0[field::PAYLOAD_LEN + 1]])
    }

    /// What follows.
    #[inline(always)]
    #[must_use]
    pub const fn next(&self) -> Protocol {
        Protocol(self.0[field::NEXT])
    }

    /// Hop limit.
    #[inline(always)]
    #[must_use]
    pub const fn hop_limit(&self) -> u8 {
        self.0[field::HOP_LIMIT]
    }

    /// Source address.
    #[inline(always)]
    #[must_use]
    pub const fn src(&self) -> [u8; 16] {
        // An array pattern and not byte by byte: the compiler copies it in one piece.
        let [_, _, _, _, _, _, _, _, src @ .., _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _] = &self.0;
        *src
    }

    /// Destination address.
    #[inline(always)]
    #[must_use]
    pub const fn dst(&self) -> [u8; 16] {
        let [_, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, dst @ ..] = &self.0;
        *dst
    }

    /// A header before `payload` bytes: hop limit 64, traffic class and flow label 0.
    #[must_use]
    pub const fn new(src: [u8; 16], dst: [u8; 16], next: Protocol, payload: u16) -> Self {
        let [l0, l1] = payload.to_be_bytes();
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = src;
        let [q, r, s, t, u, v, w, x, y, z, a2, b2, c2, d2, e2, f2] = dst;
        Self([
            0x60, 0, 0, 0, l0, l1, next.0, 64, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x,
            y, z, a2, b2, c2, d2, e2, f2,
        ])
    }

    /// The same header with this payload length, in bytes.
    #[must_use]
    pub const fn with_payload_len(mut self, payload: u16) -> Self {
        [self.0[field::PAYLOAD_LEN], self.0[field::PAYLOAD_LEN + 1]] = payload.to_be_bytes();
        self
    }

    /// The same header with this traffic class.
    #[must_use]
    pub const fn with_traffic_class(mut self, class: u8) -> Self {
        self.0[field::VERSION] = self.0[field::VERSION] & 0xf0 | class >> 4;
        self.0[field::VERSION + 1] = self.0[field::VERSION + 1] & 0xf | class << 4;
        self
    }

    /// The same header with the low 20 bits of `label` as its flow label.
    #[must_use]
    pub const fn with_flow_label(mut self, label: u32) -> Self {
        let [_, a, b, c] = label.to_be_bytes();
        self.0[field::VERSION + 1] = self.0[field::VERSION + 1] & 0xf0 | a & 0xf;
        [self.0[field::VERSION + 2], self.0[field::VERSION + 3]] = [b, c];
        self
    }

    /// The same header with this hop limit.
    #[must_use]
    pub const fn with_hop_limit(mut self, hops: u8) -> Self {
        self.0[field::HOP_LIMIT] = hops;
        self
    }

    /// The bytes on the wire.
    #[must_use]
    pub const fn bytes(&self) -> [u8; Self::LEN] {
        self.0
    }
}

impl fmt::Display for Ipv6 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (src, dst) = (Ipv6Addr::from(self.src()), Ipv6Addr::from(self.dst()));
        write!(f, "IPv6 {src} > {dst} {} length {} hops {}", self.next(), self.payload_len(), self.hop_limit())
    }
}

/// The first bytes of an extension header: hop-by-hop, routing, destination, fragment or authentication (RFC 4302).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extension {
    bytes: [u8; Extension::LEN],
    kind: Protocol,
}

impl Extension {
    /// Bytes that are the same in all of them, and that are read.
    pub const LEN: usize = 4;

    /// Whether `next` announces an extension header that can be stepped over.
    #[inline(always)]
    #[must_use]
    pub const fn follows(next: Protocol) -> bool {
        matches!(
            next,
            Protocol::HOP_BY_HOP | Protocol::ROUTING | Protocol::FRAGMENT | Protocol::AH | Protocol::DESTINATION
        )
    }

    /// The extension header at offset `at` that the header before it announced as `kind`.
    ///
    /// # Errors
    /// [`Cut`] when fewer than 4 bytes are there.
    #[inline]
    pub fn load<W: Window + ?Sized>(frame: &W, at: usize, kind: Protocol) -> Result<Self, Cut> {
        frame.header(at, Layer::Ipv6Extension).map(|bytes| Self { bytes, kind })
    }

    /// What follows.
    #[must_use]
    pub const fn next(&self) -> Protocol {
        Protocol(self.bytes[field::extension::NEXT])
    }

    /// Bytes of the whole extension header, 8..=2048.
    #[must_use]
    pub const fn header_len(&self) -> usize {
        let len = self.bytes[field::extension::LEN] as usize;
        match self.kind {
            Protocol::FRAGMENT => 8,       // RFC 8200 4.5: the byte is reserved
            Protocol::AH => (len + 2) * 4, // RFC 4302 2.2
            _ => (len + 1) * 8,            // RFC 8200 4.3
        }
    }

    /// A fragment header of one part of a packet; one of a whole packet (RFC 6946) does not count.
    #[must_use]
    pub const fn is_fragment(&self) -> bool {
        const F: usize = field::extension::FRAGMENT;
        matches!(self.kind, Protocol::FRAGMENT) && u16::from_be_bytes([self.bytes[F], self.bytes[F + 1]]) & 0xfff9 != 0
    }

    /// The first 4 bytes of an extension header of this kind with `units` in its length byte.
    #[must_use]
    pub const fn new(kind: Protocol, next: Protocol, units: u8) -> Self {
        Self { bytes: [next.0, units, 0, 0], kind }
    }

    /// The same fragment header: `offset` in bytes, a multiple of 8, and whether more follow.
    #[must_use]
    pub const fn with_fragment(mut self, offset: u16, more: bool) -> Self {
        const F: usize = field::extension::FRAGMENT;
        [self.bytes[F], self.bytes[F + 1]] = (offset & 0xfff8 | more as u16).to_be_bytes();
        self
    }

    /// The first 4 bytes on the wire.
    #[must_use]
    pub const fn bytes(&self) -> [u8; Self::LEN] {
        self.bytes
    }
}

impl fmt::Display for Extension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IPv6 extension {} length {} then {}", self.kind.0, self.header_len(), self.next())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEADER: [u8; 40] = [
        0x6c, 0x2a, 0xbc, 0xde, 0x00, 0x28, 17, 63, 0xfd, 0x09, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xfd, 0x09,
        0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2,
    ];

    #[test]
    fn takes_apart() {
        let ip = Ipv6::load(&HEADER[..], 0).unwrap();
        assert_eq!((ip.version(), ip.traffic_class(), ip.flow_label()), (6, 0xc2, 0xabcde));
        assert_eq!((ip.payload_len(), ip.next(), ip.hop_limit()), (40, Protocol::UDP, 63));
        assert_eq!((ip.src()[15], ip.dst()[15]), (1, 2));
        assert_eq!(ip.to_string(), "IPv6 fd09:1::1 > fd09:1::2 protocol 17 length 40 hops 63");
    }

    #[test]
    fn puts_together() {
        let (mut src, mut dst) = ([0; 16], [0; 16]);
        src.copy_from_slice(&HEADER[8..24]);
        dst.copy_from_slice(&HEADER[24..]);
        let ip = Ipv6::new(src, dst, Protocol::UDP, 40).with_hop_limit(63);
        assert_eq!(ip.with_traffic_class(0xc2).with_flow_label(0xabcde).bytes(), HEADER);
    }

    #[test]
    fn cut_at_every_length() {
        for had in 0..Ipv6::LEN {
            assert_eq!(Ipv6::load(&HEADER[..had], 0), Err(Cut::new(Layer::Ipv6, 0, 40, had)));
        }
        for had in 0..Extension::LEN {
            let cut = Cut::new(Layer::Ipv6Extension, 0, 4, had);
            assert_eq!(Extension::load(&HEADER[..had], 0, Protocol::AH), Err(cut));
        }
    }

    #[test]
    fn extension_lengths() {
        let len = |kind, units| Extension::new(kind, Protocol::UDP, units).header_len();
        assert_eq!((len(Protocol::HOP_BY_HOP, 0), len(Protocol::ROUTING, 255)), (8, 2048));
        assert_eq!((len(Protocol::FRAGMENT, 77), len(Protocol::AH, 4), len(Protocol::AH, 0)), (8, 24, 8));
        assert!(!Extension::follows(Protocol::UDP) && !Extension::follows(Protocol(50)));
        let shown = Extension::new(Protocol::AH, Protocol::UDP, 4).to_string();
        assert_eq!(shown, "IPv6 extension 51 length 24 then protocol 17");
    }

    proptest! {
        #[test]
        fn round_trip(
            src: [u8; 16], dst: [u8; 16], next: u8, payload: u16, class: u8, label in 0u32..1 << 20, hops: u8,
        ) {
            let built = Ipv6::new(src, dst, Protocol(next), 0).with_payload_len(payload)
                .with_traffic_class(class).with_flow_label(label).with_hop_limit(hops);
            let read = Ipv6::load(&built.bytes()[..], 0).unwrap();
            prop_assert_eq!((read.src(), read.dst(), read.next()), (src, dst, Protocol(next)));
            prop_assert_eq!((read.traffic_class(), read.flow_label()), (class, label));
            prop_assert_eq!((read.version(), read.hop_limit(), read.payload_len()), (6, hops, payload));
        }

        #[test]
        fn fragments(next: u8, units in 0u16..8192, more: bool) {
            let built = Extension::new(Protocol::FRAGMENT, Protocol(next), 0).with_fragment(units << 3, more);
            let read = Extension::load(&built.bytes()[..], 0, Protocol::FRAGMENT).unwrap();
            prop_assert_eq!((read.next(), read.is_fragment()), (Protocol(next), units != 0 || more));
        }
    }
}
