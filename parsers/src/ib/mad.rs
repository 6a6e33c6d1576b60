//! Management datagram: the 24-byte header that all of them share (IBTA 13.4.3).

use core::fmt;

use crate::cut::{Cut, Layer};
use crate::ib::be;
use crate::window::Window;

mod field {
    pub(super) const BASE_VERSION: usize = 0; // 8 bits
    pub(super) const CLASS: usize = 1; // 8 bits
    pub(super) const CLASS_VERSION: usize = 2; // 8 bits
    pub(super) const METHOD: usize = 3; // 1 bit response, 7 bits method
    pub(super) const STATUS: usize = 4; // 16 bits, then 16 that belong to the class
    pub(super) const TRANSACTION: usize = 8; // 64 bits
    pub(super) const ATTRIBUTE: usize = 16; // 16 bits, then 16 reserved
    pub(super) const MODIFIER: usize = 20; // 32 bits
}

/// What a requester calls a transaction by; a reply repeats it (IBTA 13.4.6.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(transparent)]
pub struct TransactionId(pub u64);

impl fmt::Display for TransactionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#018x}", self.0)
    }
}

/// The management class of a datagram (IBTA 13.4.4). Unknown values are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct MadClass(pub u8);

impl MadClass {
    /// Subnet administration.
    pub const SUBNET_ADMINISTRATION: Self = Self(0x03);
    /// Performance management.
    pub const PERFORMANCE: Self = Self(0x04);
    /// Connection management.
    pub const CONNECTION: Self = Self(0x07);
}

impl fmt::Display for MadClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match *self {
            Self::SUBNET_ADMINISTRATION => "subnet administration",
            Self::PERFORMANCE => "performance",
            Self::CONNECTION => "connection",
            Self(other) => return write!(f, "class {other:#04x}"),
        })
    }
}

/// The common header of a management datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mad([u8; Mad::LEN]);

impl Mad {
    /// Bytes of the header on the wire.
    pub const LEN: usize = 24;
    /// Bytes of a whole datagram, header and data (IBTA 13.4.2).
    pub const WHOLE: usize = 256;
    /// Method of an unsolicited message, which all of the connection manager's are (IBTA 13.4.5, 16.7.2).
    pub const SEND: u8 = 0x03;

    /// The header at offset `at`.
    ///
    /// # Errors
    /// [`Cut`] when fewer than 24 bytes are there.
    #[inline(always)]
    pub fn load<W: Window + ?Sized>(frame: &W, at: usize) -> Result<Self, Cut> {
        frame.header(at, Layer::Mad).map(Self)
    }

    /// Version of the header; 1 today.
    #[must_use]
    pub const fn base_version(&self) -> u8 {
        self.0[field::BASE_VERSION]
    }

    /// Management class.
    #[must_use]
    pub const fn class(&self) -> MadClass {
        MadClass(self.0[field::CLASS])
    }

    /// Version of the class; 2 for connection management.
    #[must_use]
    pub const fn class_version(&self) -> u8 {
        self.0[field::CLASS_VERSION]
    }

    /// Method, with the response bit on top.
    #[must_use]
    pub const fn method(&self) -> u8 {
        self.0[field::METHOD]
    }

    /// Status of the operation; 0 is good.
    #[must_use]
    pub const fn status(&self) -> u16 {
        be::get16::<{ field::STATUS }, { Self::LEN }>(&self.0)
    }

    /// Transaction id.
    #[must_use]
    pub const fn transaction(&self) -> TransactionId {
        TransactionId(be::get64::<{ field::TRANSACTION }, { Self::LEN }>(&self.0))
    }

    /// Attribute id: within the class, what the datagram is about.
    #[must_use]
    pub const fn attribute(&self) -> u16 {
        be::get16::<{ field::ATTRIBUTE }, { Self::LEN }>(&self.0)
    }

    /// Attribute modifier.
    #[must_use]
    pub const fn modifier(&self) -> u32 {
        be::get32::<{ field::MODIFIER }, { Self::LEN }>(&self.0)
    }

    /// A header of base version 1 with these, and everything else zero.
    #[must_use]
    pub const fn new(
        class: MadClass,
        class_version: u8,
        method: u8,
        attribute: u16,
        transaction: TransactionId,
    ) -> Self {
        let mut b = [0; Self::LEN];
        be::put::<0, 4, { Self::LEN }>(&mut b, [1, class.0, class_version, method]);
        be::put::<{ field::TRANSACTION }, 8, { Self::LEN }>(&mut b, transaction.0.to_be_bytes());
        be::put::<{ field::ATTRIBUTE }, 2, { Self::LEN }>(&mut b, attribute.to_be_bytes());
        Self(b)
    }

    /// The bytes on the wire.
    #[must_use]
    pub const fn bytes(&self) -> [u8; Self::LEN] {
        self.0
    }
}

impl fmt::Display for Mad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MAD {} attribute {:#06x} transaction {}", self.class(), self.attribute(), self.transaction())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A connection request's, from the lab.
    const REQ: [u8; 24] = [
        0x01, 0x07, 0x02, 0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0xfb, 0xbd, 0x3b, 0x90, 0x00, 0x10,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    ];

    #[test]
    fn takes_apart() {
        let mad = Mad::load(&REQ[..], 0).unwrap();
        assert_eq!((mad.base_version(), mad.class(), mad.class_version()), (1, MadClass::CONNECTION, 2));
        assert_eq!((mad.method(), mad.status(), mad.attribute(), mad.modifier()), (Mad::SEND, 0, 0x10, 0));
        assert_eq!(mad.transaction(), TransactionId(0x2_fbbd_3b90));
        assert_eq!(mad.to_string(), "MAD connection attribute 0x0010 transaction 0x00000002fbbd3b90");
        assert_eq!(MadClass(0x81).to_string(), "class 0x81");
    }

    #[test]
    fn puts_together() {
        let mad = Mad::new(MadClass::CONNECTION, 2, Mad::SEND, 0x10, TransactionId(0x2_fbbd_3b90));
        assert_eq!(mad.bytes(), REQ);
    }

    #[test]
    fn cut_at_every_length() {
        for had in 0..Mad::LEN {
            assert_eq!(Mad::load(&REQ[..had], 0), Err(Cut::new(Layer::Mad, 0, 24, had)));
        }
    }

    proptest! {
        #[test]
        fn round_trip(class: u8, version: u8, method: u8, attribute: u16, transaction: u64) {
            let built = Mad::new(MadClass(class), version, method, attribute, TransactionId(transaction));
            let read = Mad::load(&built.bytes()[..], 0).unwrap();
            prop_assert_eq!((read.class(), read.class_version(), read.method()), (MadClass(class), version, method));
            prop_assert_eq!((read.attribute(), read.transaction()), (attribute, TransactionId(transaction)));
        }
    }
}
