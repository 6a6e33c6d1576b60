//! ERSPAN: a mirrored frame over GRE (draft-foschiano-erspan-03 4). Type I has no header of its own, type II has 8
//! bytes, type III 12 and, with the O bit, 8 more.

use core::fmt;

use crate::cut::{Cut, Layer};
use crate::window::Window;

mod field {
    pub(super) const VERSION: usize = 0; // version 4 bits, VLAN 12 bits; 4.2 and 4.3 alike
    pub(super) const SESSION: usize = 2; // class 3 bits, 2 bits, T 1 bit, session id 10 bits
    pub(super) const KIND: usize = 10; // type III: P 1 bit, frame type 5 bits, hardware 6 bits, D, granularity, O
}

/// The first 4 bytes of an ERSPAN type II or III header, and the flags of type III.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Erspan([u8; Erspan::LEN3]);

impl Erspan {
    /// Bytes of a type II header.
    pub const LEN2: usize = 8;
    /// Bytes of a type III header without its platform part.
    pub const LEN3: usize = 12;
    /// Bytes of the platform part.
    pub const PLATFORM_LEN: usize = 8;

    /// The type II header at offset `at`.
    ///
    /// # Errors
    /// [`Cut`] when fewer than 8 bytes are there.
    #[inline]
    pub fn load2<W: Window + ?Sized>(frame: &W, at: usize) -> Result<Self, Cut> {
        let [a, b, c, d, e, f, g, h]: [u8; Self::LEN2] = frame.header(at, Layer::Erspan)?;
        Ok(Self([a, b, c, d, e, f, g, h, 0, 0, 0, 0]))
    }

    /// The type III header at offset `at`.
    ///
    /// # Errors
    /// [`Cut`] when fewer than 12 bytes are there.
    #[inline]
    pub fn load3<W: Window + ?Sized>(frame: &W, at: usize) -> Result<Self, Cut> {
        frame.header(at, Layer::Erspan).map(Self)
    }

    /// Version: 1 for type II, 2 for type III.
    #[must_use]
    pub const fn version(&self) -> u8 {
        self.0[field::VERSION] >> 4
    }

    /// VLAN that the frame was mirrored from, 12 bits.
    #[must_use]
    pub const fn vlan(&self) -> u16 {
        u16::from_be_bytes([self.0[field::VERSION] & 0xf, self.0[field::VERSION + 1]])
    }

    /// Class of service of the mirrored frame, 0..=7.
    #[must_use]
    pub const fn class(&self) -> u8 {
        self.0[field::SESSION] >> 5
    }

    /// The mirror cut the frame.
    #[must_use]
    pub const fn truncated(&self) -> bool {
        self.0[field::SESSION] & 4 != 0
    }

    /// Mirror session, 10 bits.
    #[must_use]
    pub const fn session(&self) -> u16 {
        u16::from_be_bytes([self.0[field::SESSION] & 3, self.0[field::SESSION + 1]])
    }

    /// Type III: what was mirrored, 5 bits: 0 an Ethernet frame, 2 an IP packet. Type II: 0.
    #[must_use]
    pub const fn frame_type(&self) -> u8 {
        self.0[field::KIND] >> 2 & 0x1f
    }

    /// Bytes of the header: 8, 12, or 20 with a platform part.
    #[must_use]
    pub const fn header_len(&self) -> usize {
        match (self.version(), self.0[field::KIND + 1] & 1 != 0) {
            (2, true) => Self::LEN3 + Self::PLATFORM_LEN,
            (2, false) => Self::LEN3,
            _ => Self::LEN2,
        }
    }

    /// A type II header: the low 10 bits of `session`.
    #[must_use]
    pub const fn type2(session: u16) -> Self {
        let [s0, s1] = (session & 0x3ff).to_be_bytes();
        Self([0x10, 0, s0, s1, 0, 0, 0, 0, 0, 0, 0, 0])
    }

    /// A type III header of an Ethernet frame: the low 10 bits of `session`, and whether a platform part follows.
    #[must_use]
    pub const fn type3(session: u16, platform: bool) -> Self {
        let [s0, s1] = (session & 0x3ff).to_be_bytes();
        Self([0x20, 0, s0, s1, 0, 0, 0, 0, 0, 0, 0, platform as u8])
    }

    /// The same header with this VLAN (low 12 bits) and class (low 3 bits).
    #[must_use]
    pub const fn with_vlan(mut self, vlan: u16, class: u8) -> Self {
        let [v0, v1] = (vlan & 0xfff).to_be_bytes();
        self.0[field::VERSION] = self.0[field::VERSION] & 0xf0 | v0;
        self.0[field::VERSION + 1] = v1;
        self.0[field::SESSION] = self.0[field::SESSION] & 0x1f | (class & 7) << 5;
        self
    }

    /// The same type III header with the low 5 bits of `frame_type`.
    #[must_use]
    pub const fn with_frame_type(mut self, frame_type: u8) -> Self {
        self.0[field::KIND] = self.0[field::KIND] & 0x83 | (frame_type & 0x1f) << 2;
        self
    }

    /// The bytes on the wire; of type II the first 8 count.
    #[must_use]
    pub const fn bytes(&self) -> [u8; Self::LEN3] {
        self.0
    }
}

impl fmt::Display for Erspan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ERSPAN version {} session {} vlan {}", self.version(), self.session(), self.vlan())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TYPE2: [u8; 8] = [0x10, 0x64, 0x60, 0x05, 0, 0, 0, 0];
    const TYPE3: [u8; 12] = [0x20, 0x64, 0x60, 0x05, 0, 0, 0, 0, 0, 0, 0x08, 0x01];

    #[test]
    fn takes_apart() {
        let two = Erspan::load2(&TYPE2[..], 0).unwrap();
        assert_eq!((two.version(), two.vlan(), two.class(), two.session(), two.truncated()), (1, 100, 3, 5, false));
        assert_eq!((two.header_len(), two.frame_type()), (8, 0));
        let three = Erspan::load3(&TYPE3[..], 0).unwrap();
        assert_eq!((three.version(), three.vlan(), three.class(), three.session()), (2, 100, 3, 5));
        assert_eq!((three.header_len(), three.frame_type()), (20, 2));
        assert_eq!(three.to_string(), "ERSPAN version 2 session 5 vlan 100");
    }

    #[test]
    fn puts_together() {
        assert_eq!(Erspan::type2(5).with_vlan(100, 3).bytes()[..8], TYPE2);
        assert_eq!(Erspan::type3(5, true).with_vlan(100, 3).with_frame_type(2).bytes(), TYPE3);
    }

    #[test]
    fn cut_at_every_length() {
        for had in 0..Erspan::LEN2 {
            assert_eq!(Erspan::load2(&TYPE2[..had], 0), Err(Cut::new(Layer::Erspan, 0, 8, had)));
        }
        for had in 0..Erspan::LEN3 {
            assert_eq!(Erspan::load3(&TYPE3[..had], 0), Err(Cut::new(Layer::Erspan, 0, 12, had)));
        }
    }

    proptest! {
        #[test]
        fn round_trip(session in 0u16..1024, vlan in 0u16..4096, class in 0u8..8, ft in 0u8..32, platform: bool) {
            let two = Erspan::load2(&Erspan::type2(session).with_vlan(vlan, class).bytes()[..], 0).unwrap();
            prop_assert_eq!((two.session(), two.vlan(), two.class(), two.header_len()), (session, vlan, class, 8));
            let three = Erspan::type3(session, platform).with_vlan(vlan, class).with_frame_type(ft);
            let three = Erspan::load3(&three.bytes()[..], 0).unwrap();
            prop_assert_eq!((three.session(), three.vlan(), three.class()), (session, vlan, class));
            prop_assert_eq!((three.frame_type(), three.header_len()), (ft, if platform { 20 } else { 12 }));
        }
    }
}
