//! ERF record: 16 bytes, extension headers of 8, then the frame (Endace ERF types reference, sections 2 to 4).

use core::fmt;

use crate::cut::{Cut, Layer};
use crate::window::Window;

mod field {
    pub(super) const TYPE: usize = 8; // after a 64-bit little-endian timestamp; top bit: an extension header follows
    pub(super) const FLAGS: usize = 9; // low 2 bits: capture interface
    pub(super) const RECORD_LEN: usize = 10; // rlen, 16 bits: this header and padding included
    pub(super) const WIRE_LEN: usize = 14; // wlen, 16 bits, after a 16-bit loss or colour counter
}

/// What a record carries. Unknown values are kept as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Kind(pub u8);

#[allow(missing_docs, reason = "each name is the record type's own")]
impl Kind {
    pub const ETHERNET: Self = Self(2);
    pub const ETHERNET_COLOUR: Self = Self(11);
    pub const ETHERNET_DSM_COLOUR: Self = Self(16);
    pub const ETHERNET_COLOUR_HASH: Self = Self(20);
    pub const INFINIBAND: Self = Self(21);
    pub const IPV4: Self = Self(22);
    pub const IPV6: Self = Self(23);

    /// Whether an Ethernet frame follows, after 2 bytes of padding.
    #[must_use]
    pub const fn is_ethernet(self) -> bool {
        matches!(self, Self::ETHERNET | Self::ETHERNET_COLOUR | Self::ETHERNET_DSM_COLOUR | Self::ETHERNET_COLOUR_HASH)
    }
}

/// A record header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Erf([u8; Erf::LEN]);

impl Erf {
    /// Bytes on the wire, without extension headers.
    pub const LEN: usize = 16;
    /// Bytes of an extension header.
    pub const EXTENSION_LEN: usize = 8;
    /// Extension headers that [`Erf::frame_at`] steps over.
    pub const EXTENSIONS: usize = 8;
    /// Bytes between an Ethernet record's headers and its frame: offset and padding.
    pub const ETHERNET_PAD: usize = 2;

    /// The header at offset `at`.
    ///
    /// # Errors
    /// [`Cut`] when fewer than 16 bytes are there, or the record says that it is shorter than its own header.
    #[inline]
    pub fn load<W: Window + ?Sized>(frame: &W, at: usize) -> Result<Self, Cut> {
        let erf = frame.header(at, Layer::Erf).map(Self)?;
        let claimed = usize::from(erf.record_len());
        if claimed < Self::LEN {
            return Err(Cut::new(Layer::Erf, at, Self::LEN, claimed));
        }
        Ok(erf)
    }

    /// Offset of the frame in the record at `at`: past the extension headers and an Ethernet record's padding.
    /// `None` when there are more than [`Erf::EXTENSIONS`].
    ///
    /// # Errors
    /// [`Cut`] when the record ends inside an extension header.
    pub fn frame_at<W: Window + ?Sized>(&self, frame: &W, at: usize) -> Result<Option<usize>, Cut> {
        let mut at = at + Self::LEN;
        let mut more = self.extended();
        for _ in 0..Self::EXTENSIONS {
            if !more {
                break;
            }
            let [first, ..]: [u8; Self::EXTENSION_LEN] = frame.header(at, Layer::Erf)?;
            more = first & 0x80 != 0;
            at += Self::EXTENSION_LEN;
        }
        if self.kind().is_ethernet() {
            at += Self::ETHERNET_PAD;
        }
        Ok(if more { None } else { Some(at) })
    }

    /// Time of arrival: seconds since the epoch in the high half, their binary fraction in the low half.
    #[must_use]
    pub const fn timestamp(&self) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = self.0;
        u64::from_le_bytes([a, b, c, d, e, f, g, h])
    }

    /// What the record carries.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        Kind(self.0[field::TYPE] & 0x7f)
    }

    /// An extension header follows.
    #[must_use]
    pub const fn extended(&self) -> bool {
        self.0[field::TYPE] & 0x80 != 0
    }

    /// Capture interface, 0..=3.
    #[must_use]
    pub const fn interface(&self) -> u8 {
        self.0[field::FLAGS] & 3
    }

    /// Bytes of the whole record.
    #[must_use]
    pub const fn record_len(&self) -> u16 {
        u16::from_be_bytes([self.0[field::RECORD_LEN], self.0[field::RECORD_LEN + 1]])
    }

    /// Bytes of the frame on the wire.
    #[must_use]
    pub const fn wire_len(&self) -> u16 {
        u16::from_be_bytes([self.0[field::WIRE_LEN], self.0[field::WIRE_LEN + 1]])
    }

    /// A record header without extensions, at time 0 on interface 0. Lengths are in bytes.
    #[must_use]
    pub const fn new(kind: Kind, record_len: u16, wire_len: u16) -> Self {
        let ([r0, r1], [w0, w1]) = (record_len.to_be_bytes(), wire_len.to_be_bytes());
        Self([0, 0, 0, 0, 0, 0, 0, 0, kind.0 & 0x7f, 4, r0, r1, 0, 0, w0, w1])
    }

    /// The same header, announcing an extension header or not.
    #[must_use]
    pub const fn with_extended(mut self, yes: bool) -> Self {
        self.0[field::TYPE] = self.0[field::TYPE] & 0x7f | (yes as u8) << 7;
        self
    }

    /// The bytes on the wire.
    #[must_use]
    pub const fn bytes(&self) -> [u8; Self::LEN] {
        self.0
    }
}

impl fmt::Display for Erf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ERF type {} record {} wire {}", self.kind().0, self.record_len(), self.wire_len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RECORD: [u8; 16] = [0, 0, 0, 0x80, 0x01, 0, 0, 0, 0x95, 0x04, 0x00, 0x38, 0, 0, 0x00, 0x1a];

    #[test]
    fn takes_apart() {
        let erf = Erf::load(&RECORD[..], 0).unwrap();
        assert_eq!((erf.kind(), erf.extended(), erf.interface()), (Kind::INFINIBAND, true, 0));
        assert_eq!((erf.record_len(), erf.wire_len()), (56, 26));
        assert_eq!(erf.timestamp(), 0x1_8000_0000, "one second and a half");
        assert_eq!(erf.to_string(), "ERF type 21 record 56 wire 26");
    }

    #[test]
    fn puts_together() {
        let erf = Erf::new(Kind::INFINIBAND, 56, 26).with_extended(true);
        assert_eq!(erf.bytes()[8..], RECORD[8..]);
    }

    #[test]
    fn cut_at_every_length() {
        for had in 0..Erf::LEN {
            assert_eq!(Erf::load(&RECORD[..had], 0), Err(Cut::new(Layer::Erf, 0, 16, had)));
        }
    }

    #[test]
    fn shorter_than_its_header() {
        for claimed in 0..16 {
            let bytes = Erf::new(Kind::ETHERNET, claimed, 64).bytes();
            assert_eq!(Erf::load(&bytes[..], 0), Err(Cut::new(Layer::Erf, 0, 16, usize::from(claimed))));
        }
    }

    #[test]
    fn steps_over_extensions() {
        let more = [0x80u8, 0, 0, 0, 0, 0, 0, 0];
        let last = [0u8; 8];
        let plain = Erf::new(Kind::ETHERNET, 64, 60);
        let extended = Erf::new(Kind::INFINIBAND, 64, 60).with_extended(true);
        assert_eq!(plain.frame_at(&plain.bytes()[..], 0), Ok(Some(18)));
        let two = [&extended.bytes()[..], &more, &last].concat();
        assert_eq!(extended.frame_at(&two[..], 0), Ok(Some(32)));
        for had in 16..24 {
            assert_eq!(extended.frame_at(&two[..had], 0), Err(Cut::new(Layer::Erf, 16, 8, had - 16)));
        }
        let mut many = extended.bytes().to_vec();
        many.resize(200, 0x80);
        assert_eq!(extended.frame_at(&many[..], 0), Ok(None));
    }

    proptest! {
        #[test]
        fn round_trip(kind in 0u8..128, record in 16u16.., wire: u16, extended: bool) {
            let built = Erf::new(Kind(kind), record, wire).with_extended(extended);
            let read = Erf::load(&built.bytes()[..], 0).unwrap();
            prop_assert_eq!((read.kind(), read.extended()), (Kind(kind), extended));
            prop_assert_eq!((read.record_len(), read.wire_len()), (record, wire));
        }
    }
}
