//! UDP: 8 bytes (RFC 768).

use core::fmt;

use crate::cut::{Cut, Layer};
use crate::window::Window;

mod field {
    pub(super) const SRC_PORT: usize = 0;
    pub(super) const DST_PORT: usize = 2;
    pub(super) const LENGTH: usize = 4;
    pub(super) const CHECKSUM: usize = 6;
}

/// A UDP header. The checksum is read and not verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Udp([u8; Udp::LEN]);

impl Udp {
    /// Bytes on the wire.
    pub const LEN: usize = 8;

    /// The header at offset `at`.
    ///
    /// # Errors
    /// [`Cut`] when fewer than 8 bytes are there, or the datagram says that it is shorter than that. A length of 0
    /// passes: RFC 2675 4 leaves it to the IP header.
    #[inline(always)]
    pub fn load<W: Window + ?Sized>(frame: &W, at: usize) -> Result<Self, Cut> {
        let udp = frame.header(at, Layer::Udp).map(Self)?;
        let length = udp.length() as usize;
        if length < Self::LEN && length != 0 {
            return Err(Cut::new(Layer::Udp, at, Self::LEN, length));
        }
        Ok(udp)
    }

    /// Source port.
    #[inline(always)]
    #[must_use]
    pub const fn src_port(&self) -> u16 {
        u16::from_be_bytes([self.0[field::SRC_PORT], self.0[field::SRC_PORT + 1]])
    }

    /// Destination port.
    #[inline(always)]
    #[must_use]
    pub const fn dst_port(&self) -> u16 {
        u16::from_be_bytes([self.0[field::DST_PORT], self.0[field::DST_PORT + 1]])
    }

    /// Bytes of the datagram, this header included.
    #[inline(always)]
    #[must_use]
    pub const fn length(&self) -> u16 {
        u16::from_be_bytes([self.0[field::LENGTH], self.0[field::LENGTH + 1]])
    }

    /// Checksum, as sent; RoCEv2 senders may leave it 0.
    #[must_use]
    pub const fn checksum(&self) -> u16 {
        u16::from_be_bytes([self.0[field::CHECKSUM], self.0[field::CHECKSUM + 1]])
    }

    /// A header before `payload` bytes, with checksum 0.
    #[must_use]
    pub const fn new(src_port: u16, dst_port: u16, payload: u16) -> Self {
        let ([s0, s1], [d0, d1]) = (src_port.to_be_bytes(), dst_port.to_be_bytes());
        Self([s0, s1, d0, d1, 0, 0, 0, 0]).with_length(payload.saturating_add(Self::LEN as u16))
    }

    /// The same header with this length, in bytes.
    #[must_use]
    pub const fn with_length(mut self, length: u16) -> Self {
        [self.0[field::LENGTH], self.0[field::LENGTH + 1]] = length.to_be_bytes();
        self
    }

    /// The same header with this checksum.
    #[must_use]
    pub const fn with_checksum(mut self, checksum: u16) -> Self {
        [self.0[field::CHECKSUM], self.0[field::CHECKSUM + 1]] = checksum.to_be_bytes();
        self
    }

    /// The bytes on the wire.
    #[must_use]
    pub const fn bytes(&self) -> [u8; Self::LEN] {
        self.0
    }
}

impl fmt::Display for Udp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UDP {} > {} length {}", self.src_port(), self.dst_port(), self.length())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ROCE: [u8; 8] = [0xc0, 0x01, 0x12, 0xb7, 0x00, 0x28, 0xab, 0xcd];

    #[test]
    fn takes_apart() {
        let udp = Udp::load(&ROCE[..], 0).unwrap();
        assert_eq!((udp.src_port(), udp.dst_port(), udp.length(), udp.checksum()), (49153, 4791, 40, 0xabcd));
        assert_eq!(udp.to_string(), "UDP 49153 > 4791 length 40");
    }

    #[test]
    fn puts_together() {
        assert_eq!(Udp::new(49153, 4791, 32).with_checksum(0xabcd).bytes(), ROCE);
    }

    #[test]
    fn cut_at_every_length() {
        for had in 0..Udp::LEN {
            assert_eq!(Udp::load(&ROCE[..had], 0), Err(Cut::new(Layer::Udp, 0, 8, had)));
        }
    }

    #[test]
    fn impossible_lengths() {
        let udp = Udp::new(1, 2, 0);
        for length in 1..8u16 {
            let bytes = udp.with_length(length).bytes();
            assert_eq!(Udp::load(&bytes[..], 0), Err(Cut::new(Layer::Udp, 0, 8, usize::from(length))));
        }
        assert!(Udp::load(&udp.with_length(0).bytes()[..], 0).is_ok());
    }

    proptest! {
        #[test]
        fn round_trip(src: u16, dst: u16, payload in 0u16..65528, checksum: u16) {
            let built = Udp::new(src, dst, payload).with_checksum(checksum);
            let read = Udp::load(&built.bytes()[..], 0).unwrap();
            prop_assert_eq!((read.src_port(), read.dst_port()), (src, dst));
            prop_assert_eq!((read.length(), read.checksum()), (payload + 8, checksum));
        }
    }
}
