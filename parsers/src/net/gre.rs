//! GRE: 4 bytes, then optional checksum, key and sequence number of 4 bytes each (RFC 2784 2, RFC 2890 2).

use core::fmt;

use crate::cut::{Cut, Layer};
use crate::link::ethernet::EtherType;
use crate::window::Window;

mod field {
    pub(super) const FLAGS: usize = 0; // C, R (RFC 1701 only), K, S, 9 reserved bits, version 3 bits
    pub(super) const PROTOCOL: usize = 2; // EtherType
}

/// The first 4 bytes of a GRE header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gre([u8; Gre::LEN]);

impl Gre {
    /// Bytes on the wire without the optional fields.
    pub const LEN: usize = 4;
    const CHECKSUM: u8 = 0x80;
    const ROUTING: u8 = 0x40;
    const KEY: u8 = 0x20;
    const SEQUENCE: u8 = 0x10;

    /// The header at offset `at`.
    ///
    /// # Errors
    /// [`Cut`] when fewer than 4 bytes are there.
    #[inline]
    pub fn load<W: Window + ?Sized>(frame: &W, at: usize) -> Result<Self, Cut> {
        frame.header(at, Layer::Gre).map(Self)
    }

    /// A checksum and 2 reserved bytes follow.
    #[must_use]
    pub const fn has_checksum(&self) -> bool {
        self.0[field::FLAGS] & Self::CHECKSUM != 0
    }

    /// A source route follows, of a length that only walking it tells (RFC 1701; RFC 2784 2.3 has it discarded).
    #[must_use]
    pub const fn has_routing(&self) -> bool {
        self.0[field::FLAGS] & Self::ROUTING != 0
    }

    /// A key follows.
    #[must_use]
    pub const fn has_key(&self) -> bool {
        self.0[field::FLAGS] & Self::KEY != 0
    }

    /// A sequence number follows.
    #[must_use]
    pub const fn has_sequence(&self) -> bool {
        self.0[field::FLAGS] & Self::SEQUENCE != 0
    }

    /// Version: 0, or 1 for PPTP (RFC 2637), whose header is another one.
    #[must_use]
    pub const fn version(&self) -> u8 {
        self.0[field::FLAGS + 1] & 7
    }

    /// What follows.
    #[must_use]
    pub const fn protocol(&self) -> EtherType {
        EtherType(u16::from_be_bytes([self.0[field::PROTOCOL], self.0[field::PROTOCOL + 1]]))
    }

    /// Bytes of the header with its optional fields, 4..=16.
    #[must_use]
    pub const fn header_len(&self) -> usize {
        Self::LEN + 4 * (self.has_checksum() as usize + self.has_key() as usize + self.has_sequence() as usize)
    }

    /// A header without optional fields.
    #[must_use]
    pub const fn new(protocol: EtherType) -> Self {
        let [p0, p1] = protocol.0.to_be_bytes();
        Self([0, 0, p0, p1])
    }

    /// The same header, announcing these optional fields.
    #[must_use]
    pub const fn with_fields(mut self, checksum: bool, key: bool, sequence: bool) -> Self {
        self.0[field::FLAGS] = self.0[field::FLAGS] & Self::ROUTING
            | (checksum as u8 * Self::CHECKSUM)
            | (key as u8 * Self::KEY)
            | (sequence as u8 * Self::SEQUENCE);
        self
    }

    /// The first 4 bytes on the wire.
    #[must_use]
    pub const fn bytes(&self) -> [u8; Self::LEN] {
        self.0
    }
}

impl fmt::Display for Gre {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GRE {} header {}", self.protocol(), self.header_len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ERSPAN: [u8; 4] = [0x10, 0x00, 0x88, 0xbe];

    #[test]
    fn takes_apart() {
        let gre = Gre::load(&ERSPAN[..], 0).unwrap();
        assert!(gre.has_sequence() && !gre.has_key() && !gre.has_checksum() && !gre.has_routing());
        assert_eq!((gre.version(), gre.protocol(), gre.header_len()), (0, EtherType::ERSPAN2, 8));
        assert_eq!(gre.to_string(), "GRE 0x88be header 8");
    }

    #[test]
    fn puts_together() {
        assert_eq!(Gre::new(EtherType::ERSPAN2).with_fields(false, false, true).bytes(), ERSPAN);
    }

    #[test]
    fn cut_at_every_length() {
        for had in 0..Gre::LEN {
            assert_eq!(Gre::load(&ERSPAN[..had], 0), Err(Cut::new(Layer::Gre, 0, 4, had)));
        }
    }

    proptest! {
        #[test]
        fn round_trip(protocol: u16, c: bool, k: bool, s: bool) {
            let built = Gre::new(EtherType(protocol)).with_fields(c, k, s);
            let read = Gre::load(&built.bytes()[..], 0).unwrap();
            prop_assert_eq!((read.has_checksum(), read.has_key(), read.has_sequence()), (c, k, s));
            prop_assert_eq!(read.header_len(), 4 + 4 * [c, k, s].iter().filter(|yes| **yes).count());
            prop_assert_eq!(read.protocol(), EtherType(protocol));
        }
    }
}
