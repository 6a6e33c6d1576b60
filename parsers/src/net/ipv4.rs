//! IPv4: 20 bytes and up to 40 of options (RFC 791 3.1).

use core::fmt;
use core::net::Ipv4Addr;

use crate::cut::{Cut, Layer};
use crate::net::protocol::Protocol;
use crate::window::Window;

mod field {
    pub(super) const VERSION: usize = 0; // version 4 bits, header length in words 4 bits
    pub(super) const TOS: usize = 1; // DSCP 6 bits (RFC 2474), ECN 2 bits (RFC 3168 5)
    pub(super) const TOTAL_LEN: usize = 2;
    pub(super) const ID: usize = 4;
    pub(super) const FRAGMENT: usize = 6; // reserved, DF, MF, offset 13 bits in units of 8 bytes
    pub(super) const TTL: usize = 8;
    pub(super) const PROTOCOL: usize = 9;
    pub(super) const CHECKSUM: usize = 10;
    pub(super) const SRC: usize = 12;
    pub(super) const DST: usize = 16;
}

/// An IPv4 header, without its options. The checksum is read and not verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv4([u8; Ipv4::LEN]);

impl Ipv4 {
    /// Bytes on the wire without options.
    pub const LEN: usize = 20;

    /// The header at offset `at`.
    ///
    /// # Errors
    /// [`Cut`] when fewer than 20 bytes are there, or the header says that it is shorter than that, or the packet
    /// that it is shorter than the header. A total length of 0 passes: senders that leave segmentation to the NIC
    /// are captured so.
    #[inline(always)]
    pub fn load<W: Window + ?Sized>(frame: &W, at: usize) -> Result<Self, Cut> {
        let ip = frame.header(at, Layer::Ipv4).map(Self)?;
        let (header, total) = (ip.header_len(), ip.total_len() as usize);
        if header < Self::LEN {
            return Err(Cut::new(Layer::Ipv4, at, Self::LEN, header));
        }
        if total < header && total != 0 {
            return Err(Cut::new(Layer::Ipv4, at, header, total));
        }
        Ok(ip)
    }

    /// IP version; 4.
    #[inline(always)]
    #[must_use]
    pub const fn version(&self) -> u8 {
        self.0[field::VERSION] >> 4
    }

    /// Bytes of the header with its options, 20..=60.
    #[inline(always)]
    #[must_use]
    pub const fn header_len(&self) -> usize {
        (self.0[field::VERSION] & 0xf) as usize * 4
    }

    /// Type of service: DSCP in the high six bits, ECN in the low two.
    #[inline(always)]
    #[must_use]
    pub const fn tos(&self) -> u8 {
        self.0[field::TOS]
    }

    /// Bytes of the packet from this header on.
    #[inline(always)]
    #[must_use]
    pub const fn total_len(&self) -> u16 {
        u16::from_be_bytes([self.0[field::TOTAL_LEN], self.0[field::TOTAL_LEN + 1]])
    }

    /// Identification.
    #[must_use]
    pub const fn id(&self) -> u16 {
        u16::from_be_bytes([self.0[field::ID], self.0[field::ID + 1]])
    }

    /// The packet must not be fragmented.
    #[must_use]
    pub const fn dont_fragment(&self) -> bool {
        self.0[field::FRAGMENT] & 0x40 != 0
    }

    /// Another fragment follows.
    #[must_use]
    pub const fn more_fragments(&self) -> bool {
        self.0[field::FRAGMENT] & 0x20 != 0
    }

    /// Offset of this fragment in the whole packet's payload, in bytes.
    #[must_use]
    pub const fn fragment_offset(&self) -> u16 {
        u16::from_be_bytes([self.0[field::FRAGMENT] & 0x1f, self.0[field::FRAGMENT + 1]]) << 3
    }

    /// One part of a packet, first, middle or last.
    #[inline(always)]
    #[must_use]
    pub const fn is_fragment(&self) -> bool {
        u16::from_be_bytes([self.0[field::FRAGMENT], self.0[field::FRAGMENT + 1]]) & 0x3fff != 0
    }

    /// Time to live.
    #[inline(always)]
    #[must_use]
    pub const fn ttl(&self) -> u8 {
        self.0[field::TTL]
    }

    /// What follows.
    #[inline(always)]
    #[must_use]
    pub const fn protocol(&self) -> Protocol {
        Protocol(self.0[field::PROTOCOL])
    }

    /// Header checksum, as sent.
    #[must_use]
    pub const fn checksum(&self) -> u16 {
        u16::from_be_bytes([self.0[field::CHECKSUM], self.0[field::CHECKSUM + 1]])
    }

    /// Source address.
    #[inline(always)]
    #[must_use]
    pub const fn src(&self) -> [u8; 4] {
        [self.0[field::SRC], self.0[field::SRC + 1], self.0[field::SRC + 2], self.0[field::SRC + 3]]
    }

    /// Destination address.
    #[inline(always)]
    #[must_use]
    pub const fn dst(&self) -> [u8; 4] {
        [self.0[field::DST], self.0[field::DST + 1], self.0[field::DST + 2], self.0[field::DST + 3]]
    }

    /// A header without options before `payload` bytes: TTL 64, TOS 0, not to be fragmented, checksum 0.
    /// [`with_checksum`](Ipv4::with_checksum) comes last.
    #[must_use]
    pub const fn new(src: [u8; 4], dst: [u8; 4], protocol: Protocol, payload: u16) -> Self {
        let ([a, b, c, d], [e, f, g, h]) = (src, dst);
        Self([0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, protocol.0, 0, 0, a, b, c, d, e, f, g, h])
            .with_total_len(payload.saturating_add(Self::LEN as u16))
    }

    /// The same header with this total length, in bytes.
    #[must_use]
    pub const fn with_total_len(mut self, total: u16) -> Self {
        [self.0[field::TOTAL_LEN], self.0[field::TOTAL_LEN + 1]] = total.to_be_bytes();
        self
    }

    /// The same header with this header length, in words of 4 bytes (low 4 bits). The total length stays.
    #[must_use]
    pub const fn with_header_words(mut self, words: u8) -> Self {
        self.0[field::VERSION] = self.0[field::VERSION] & 0xf0 | words & 0xf;
        self
    }

    /// The same header with this type of service.
    #[must_use]
    pub const fn with_tos(mut self, tos: u8) -> Self {
        self.0[field::TOS] = tos;
        self
    }

    /// The same header with this time to live.
    #[must_use]
    pub const fn with_ttl(mut self, ttl: u8) -> Self {
        self.0[field::TTL] = ttl;
        self
    }

    /// The same header with this identification.
    #[must_use]
    pub const fn with_id(mut self, id: u16) -> Self {
        [self.0[field::ID], self.0[field::ID + 1]] = id.to_be_bytes();
        self
    }

    /// The same header of a fragment: `offset` in bytes, a multiple of 8, and whether more follow.
    #[must_use]
    pub const fn with_fragment(mut self, offset: u16, more: bool) -> Self {
        [self.0[field::FRAGMENT], self.0[field::FRAGMENT + 1]] = (offset >> 3 | (more as u16) << 13).to_be_bytes();
        self
    }

    /// The same header with the checksum that it has without options.
    #[must_use]
    pub fn with_checksum(mut self) -> Self {
        [self.0[field::CHECKSUM], self.0[field::CHECKSUM + 1]] = [0, 0];
        let (words, _) = self.0.as_chunks::<2>();
        let sum: u32 = words.iter().map(|word| u32::from(u16::from_be_bytes(*word))).sum();
        // Ten words: two folds bring every carry home (RFC 1071 1).
        let sum = (sum & 0xffff) + (sum >> 16);
        let sum = (sum & 0xffff) + (sum >> 16);
        [self.0[field::CHECKSUM], self.0[field::CHECKSUM + 1]] = (!(sum as u16)).to_be_bytes();
        self
    }

    /// The bytes on the wire.
    #[must_use]
    pub const fn bytes(&self) -> [u8; Self::LEN] {
        self.0
    }
}

impl fmt::Display for Ipv4 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (src, dst) = (Ipv4Addr::from(self.src()), Ipv4Addr::from(self.dst()));
        write!(f, "IPv4 {src} > {dst} {} length {} ttl {}", self.protocol(), self.total_len(), self.ttl())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CNP: [u8; 20] =
        [0x45, 0xc2, 0x00, 0x3c, 0x00, 0x07, 0x40, 0x00, 64, 17, 0x23, 0xd4, 10, 9, 1, 1, 10, 9, 1, 2];

    #[test]
    fn takes_apart() {
        let ip = Ipv4::load(&CNP[..], 0).unwrap();
        assert_eq!((ip.version(), ip.header_len(), ip.tos(), ip.total_len(), ip.id()), (4, 20, 0xc2, 60, 7));
        assert!(ip.dont_fragment() && !ip.more_fragments() && !ip.is_fragment());
        assert_eq!((ip.fragment_offset(), ip.ttl(), ip.protocol()), (0, 64, Protocol::UDP));
        assert_eq!((ip.src(), ip.dst(), ip.checksum()), ([10, 9, 1, 1], [10, 9, 1, 2], 0x23d4));
        assert_eq!(ip.to_string(), "IPv4 10.9.1.1 > 10.9.1.2 protocol 17 length 60 ttl 64");
    }

    #[test]
    fn puts_together() {
        let ip = Ipv4::new([10, 9, 1, 1], [10, 9, 1, 2], Protocol::UDP, 40).with_tos(0xc2).with_id(7).with_checksum();
        assert_eq!(ip.bytes(), CNP);
    }

    #[test]
    fn cut_at_every_length() {
        for had in 0..Ipv4::LEN {
            assert_eq!(Ipv4::load(&CNP[..had], 0), Err(Cut::new(Layer::Ipv4, 0, 20, had)));
        }
    }

    #[test]
    fn impossible_lengths() {
        let ip = Ipv4::load(&CNP[..], 0).unwrap();
        for words in 0..5u8 {
            let bytes = ip.with_header_words(words).bytes();
            assert_eq!(Ipv4::load(&bytes[..], 0), Err(Cut::new(Layer::Ipv4, 0, 20, usize::from(words) * 4)));
        }
        for total in 1..24u16 {
            let bytes = ip.with_header_words(6).with_total_len(total).bytes();
            assert_eq!(Ipv4::load(&bytes[..], 0), Err(Cut::new(Layer::Ipv4, 0, 24, usize::from(total))));
        }
        assert!(Ipv4::load(&ip.with_total_len(0).bytes()[..], 0).is_ok());
    }

    proptest! {
        #[test]
        fn round_trip(src: [u8; 4], dst: [u8; 4], protocol: u8, payload in 40u16..65515, tos: u8, ttl: u8,
                      id: u16, units in 0u16..8192, more: bool, words in 5u8..16) {
            let built = Ipv4::new(src, dst, Protocol(protocol), payload).with_tos(tos).with_ttl(ttl).with_id(id)
                .with_fragment(units << 3, more).with_header_words(words);
            let read = Ipv4::load(&built.bytes()[..], 0).unwrap();
            prop_assert_eq!((read.src(), read.dst(), read.protocol()), (src, dst, Protocol(protocol)));
            prop_assert_eq!((read.tos(), read.ttl(), read.id(), read.total_len()), (tos, ttl, id, payload + 20));
            prop_assert_eq!((read.fragment_offset(), read.more_fragments()), (units << 3, more));
            prop_assert_eq!(read.is_fragment(), more || units != 0);
            prop_assert_eq!(read.header_len(), usize::from(words) * 4);
        }
    }
}
