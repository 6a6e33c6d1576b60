//! Local route header: 8 bytes before a GRH or a BTH on a native InfiniBand link (IBTA 7.7).

use core::fmt;

use crate::cut::{Cut, Layer};
use crate::window::Window;

mod field {
    pub(super) const VL: usize = 0; // VL 7.7.1 (4 bits), LVer 7.7.2 (4 bits)
    pub(super) const SL: usize = 1; // SL 7.7.3 (4 bits), 2 reserved, LNH 7.7.5 (2 bits)
    pub(super) const DLID: usize = 2; // 7.7.6
    pub(super) const PKT_LEN: usize = 4; // 5 reserved, 7.7.8 (11 bits)
    pub(super) const SLID: usize = 6; // 7.7.9
}

/// What follows an LRH (7.7.5, table 9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lnh {
    /// A raw header with an EtherType: no transport of InfiniBand's.
    RawEtherType,
    /// IPv6, raw.
    RawIpv6,
    /// A BTH.
    Local,
    /// A GRH.
    Global,
}

/// A local route header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lrh([u8; Lrh::LEN]);

impl Lrh {
    /// Bytes on the wire.
    pub const LEN: usize = 8;

    /// The header at offset `at`.
    ///
    /// # Errors
    /// [`Cut`] when fewer than 8 bytes are there, or the packet says that it is shorter than that.
    #[inline]
    pub fn load<W: Window + ?Sized>(frame: &W, at: usize) -> Result<Self, Cut> {
        let lrh = frame.header(at, Layer::Lrh).map(Self)?;
        if lrh.packet_len() < Self::LEN {
            return Err(Cut::new(Layer::Lrh, at, Self::LEN, lrh.packet_len()));
        }
        Ok(lrh)
    }

    /// Virtual lane, 0..=15.
    #[must_use]
    pub const fn vl(&self) -> u8 {
        self.0[field::VL] >> 4
    }

    /// Service level, 0..=15.
    #[must_use]
    pub const fn sl(&self) -> u8 {
        self.0[field::SL] >> 4
    }

    /// What follows.
    #[must_use]
    pub const fn lnh(&self) -> Lnh {
        match self.0[field::SL] & 3 {
            0 => Lnh::RawEtherType,
            1 => Lnh::RawIpv6,
            2 => Lnh::Local,
            _ => Lnh::Global,
        }
    }

    /// Destination local identifier.
    #[must_use]
    pub const fn dlid(&self) -> u16 {
        u16::from_be_bytes([self.0[field::DLID], self.0[field::DLID + 1]])
    }

    /// Bytes of the packet from this header up to the ICRC; the VCRC does not count. The wire has words of 4.
    #[must_use]
    pub const fn packet_len(&self) -> usize {
        u16::from_be_bytes([self.0[field::PKT_LEN] & 7, self.0[field::PKT_LEN + 1]]) as usize * 4
    }

    /// Source local identifier.
    #[must_use]
    pub const fn slid(&self) -> u16 {
        u16::from_be_bytes([self.0[field::SLID], self.0[field::SLID + 1]])
    }

    /// A header on lane 0 and service level 0; `words` is the packet's length in words of 4 bytes (low 11 bits).
    #[must_use]
    pub const fn new(slid: u16, dlid: u16, lnh: Lnh, words: u16) -> Self {
        let ([s0, s1], [d0, d1], [w0, w1]) = (slid.to_be_bytes(), dlid.to_be_bytes(), (words & 0x7ff).to_be_bytes());
        Self([0, lnh as u8, d0, d1, w0, w1, s0, s1])
    }

    /// The same header with this service level (low 4 bits).
    #[must_use]
    pub const fn with_sl(mut self, sl: u8) -> Self {
        self.0[field::SL] = self.0[field::SL] & 0xf | sl << 4;
        self
    }

    /// The bytes on the wire.
    #[must_use]
    pub const fn bytes(&self) -> [u8; Self::LEN] {
        self.0
    }
}

impl fmt::Display for Lrh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LRH lid {} > {} sl {} length {}", self.slid(), self.dlid(), self.sl(), self.packet_len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEADER: [u8; 8] = [0x00, 0x42, 0x00, 0x03, 0x00, 0x09, 0x00, 0x17];

    #[test]
    fn takes_apart() {
        let lrh = Lrh::load(&HEADER[..], 0).unwrap();
        assert_eq!((lrh.vl(), lrh.sl(), lrh.lnh()), (0, 4, Lnh::Local));
        assert_eq!((lrh.slid(), lrh.dlid(), lrh.packet_len()), (23, 3, 36));
        assert_eq!(lrh.to_string(), "LRH lid 23 > 3 sl 4 length 36");
    }

    #[test]
    fn puts_together() {
        assert_eq!(Lrh::new(23, 3, Lnh::Local, 9).with_sl(4).bytes(), HEADER);
    }

    #[test]
    fn cut_at_every_length() {
        for had in 0..Lrh::LEN {
            assert_eq!(Lrh::load(&HEADER[..had], 0), Err(Cut::new(Layer::Lrh, 0, 8, had)));
        }
    }

    #[test]
    fn impossible_lengths() {
        for words in 0..2 {
            let bytes = Lrh::new(1, 2, Lnh::Global, words).bytes();
            assert_eq!(Lrh::load(&bytes[..], 0), Err(Cut::new(Layer::Lrh, 0, 8, usize::from(words) * 4)));
        }
    }

    proptest! {
        #[test]
        fn round_trip(slid: u16, dlid: u16, words in 2u16..2048, sl in 0u8..16, lnh in 0u8..4) {
            let lnh = [Lnh::RawEtherType, Lnh::RawIpv6, Lnh::Local, Lnh::Global][usize::from(lnh)];
            let built = Lrh::new(slid, dlid, lnh, words).with_sl(sl);
            let read = Lrh::load(&built.bytes()[..], 0).unwrap();
            prop_assert_eq!((read.slid(), read.dlid(), read.sl(), read.lnh()), (slid, dlid, sl, lnh));
            prop_assert_eq!(read.packet_len(), usize::from(words) * 4);
        }
    }
}
