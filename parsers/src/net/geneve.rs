//! GENEVE: 8 bytes and up to 252 of options, then a frame or packet (RFC 8926 3.4).

use core::fmt;

use crate::cut::{Cut, Layer};
use crate::link::ethernet::EtherType;
use crate::window::Window;

mod field {
    pub(super) const VERSION: usize = 0; // version 2 bits, options length in words 6 bits
    pub(super) const FLAGS: usize = 1; // O control, C critical options, 6 reserved bits
    pub(super) const PROTOCOL: usize = 2; // EtherType
    pub(super) const VNI: usize = 4; // 24 bits, 8 reserved
}

/// A GENEVE header, without its options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geneve([u8; Geneve::LEN]);

impl Geneve {
    /// Bytes on the wire without options.
    pub const LEN: usize = 8;

    /// The header at offset `at`.
    ///
    /// # Errors
    /// [`Cut`] when fewer than 8 bytes are there.
    #[inline]
    pub fn load<W: Window + ?Sized>(frame: &W, at: usize) -> Result<Self, Cut> {
        frame.header(at, Layer::Geneve).map(Self)
    }

    /// Version; 0 today.
    #[must_use]
    pub const fn version(&self) -> u8 {
        self.0[field::VERSION] >> 6
    }

    /// Bytes of the header with its options, 8..=260.
    #[must_use]
    pub const fn header_len(&self) -> usize {
        Self::LEN + (self.0[field::VERSION] & 0x3f) as usize * 4
    }

    /// A packet between tunnel ends themselves.
    #[must_use]
    pub const fn control(&self) -> bool {
        self.0[field::FLAGS] & 0x80 != 0
    }

    /// What follows.
    #[must_use]
    pub const fn protocol(&self) -> EtherType {
        EtherType(u16::from_be_bytes([self.0[field::PROTOCOL], self.0[field::PROTOCOL + 1]]))
    }

    /// Network identifier, 24 bits.
    #[must_use]
    pub const fn vni(&self) -> u32 {
        u32::from_be_bytes([0, self.0[field::VNI], self.0[field::VNI + 1], self.0[field::VNI + 2]])
    }

    /// A header without options: the low 24 bits of `vni`.
    #[must_use]
    pub const fn new(protocol: EtherType, vni: u32) -> Self {
        let ([p0, p1], [_, a, b, c]) = (protocol.0.to_be_bytes(), vni.to_be_bytes());
        Self([0, 0, p0, p1, a, b, c, 0])
    }

    /// The same header with this length of options, in words of 4 bytes (low 6 bits).
    #[must_use]
    pub const fn with_option_words(mut self, words: u8) -> Self {
        self.0[field::VERSION] = self.0[field::VERSION] & 0xc0 | words & 0x3f;
        self
    }

    /// The same header of a control packet, or not.
    #[must_use]
    pub const fn with_control(mut self, yes: bool) -> Self {
        self.0[field::FLAGS] = self.0[field::FLAGS] & 0x7f | (yes as u8) << 7;
        self
    }

    /// The bytes on the wire.
    #[must_use]
    pub const fn bytes(&self) -> [u8; Self::LEN] {
        self.0
    }
}

impl fmt::Display for Geneve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GENEVE {} {} header {}", self.vni(), self.protocol(), self.header_len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEADER: [u8; 8] = [0x02, 0x80, 0x65, 0x58, 0x00, 0x13, 0x88, 0];

    #[test]
    fn takes_apart() {
        let geneve = Geneve::load(&HEADER[..], 0).unwrap();
        assert_eq!((geneve.version(), geneve.header_len(), geneve.control()), (0, 16, true));
        assert_eq!((geneve.protocol(), geneve.vni()), (EtherType::BRIDGED, 5000));
        assert_eq!(geneve.to_string(), "GENEVE 5000 0x6558 header 16");
    }

    #[test]
    fn puts_together() {
        let geneve = Geneve::new(EtherType::BRIDGED, 5000).with_option_words(2).with_control(true);
        assert_eq!(geneve.bytes(), HEADER);
    }

    #[test]
    fn cut_at_every_length() {
        for had in 0..Geneve::LEN {
            assert_eq!(Geneve::load(&HEADER[..had], 0), Err(Cut::new(Layer::Geneve, 0, 8, had)));
        }
    }

    proptest! {
        #[test]
        fn round_trip(protocol: u16, vni in 0u32..1 << 24, words in 0u8..64, control: bool) {
            let built = Geneve::new(EtherType(protocol), vni).with_option_words(words).with_control(control);
            let read = Geneve::load(&built.bytes()[..], 0).unwrap();
            prop_assert_eq!((read.protocol(), read.vni(), read.control()), (EtherType(protocol), vni, control));
            prop_assert_eq!(read.header_len(), 8 + usize::from(words) * 4);
        }
    }
}
