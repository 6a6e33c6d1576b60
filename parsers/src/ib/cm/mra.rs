//! Message receipt acknowledgement: the peer needs longer to answer (IBTA 12.6.6, table 107).

use core::fmt;

use crate::cut::{Cut, Layer};
use crate::ib::be;
use crate::ib::cm::CommId;
use crate::ib::mad::TransactionId;
use crate::window::Window;

mod field {
    pub(super) const LOCAL: usize = 0; // 32 bits
    pub(super) const REMOTE: usize = 4; // 32 bits
    pub(super) const MESSAGE: usize = 8; // 2 bits, then 6 reserved
    pub(super) const SERVICE_TIMEOUT: usize = 9; // 5 bits, then 3 reserved
}

/// A message receipt acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mra {
    /// Transaction id of the datagram.
    pub transaction: TransactionId,
    /// Number that the sender calls the connection by.
    pub local: CommId,
    /// Number that the receiver calls the connection by.
    pub remote: CommId,
    /// What was received: 0 a request, 1 a reply, 2 a load of an alternate path.
    pub message: u8,
    /// How long it may take: 4.096 us times two to this power, 5 bits.
    pub service_timeout: u8,
}

impl Mra {
    /// Bytes on the wire up to the private data, which is the consumer's.
    pub const LEN: usize = 10;

    /// The message at offset `at`, just past the header of the datagram whose transaction is given.
    ///
    /// # Errors
    /// [`Cut`] when fewer than 10 bytes are there.
    pub fn load<W: Window + ?Sized>(frame: &W, at: usize, transaction: TransactionId) -> Result<Self, Cut> {
        let b: [u8; Self::LEN] = frame.header(at, Layer::Cm)?;
        Ok(Self {
            transaction,
            local: CommId(be::get32::<{ field::LOCAL }, { Self::LEN }>(&b)),
            remote: CommId(be::get32::<{ field::REMOTE }, { Self::LEN }>(&b)),
            message: b[field::MESSAGE] >> 6,
            service_timeout: b[field::SERVICE_TIMEOUT] >> 3,
        })
    }

    /// The bytes on the wire up to the private data; fields that are not kept are zero.
    #[must_use]
    pub const fn bytes(&self) -> [u8; Self::LEN] {
        let mut b = [0; Self::LEN];
        be::put::<{ field::LOCAL }, 4, { Self::LEN }>(&mut b, self.local.0.to_be_bytes());
        be::put::<{ field::REMOTE }, 4, { Self::LEN }>(&mut b, self.remote.0.to_be_bytes());
        b[field::MESSAGE] |= self.message << 6;
        b[field::SERVICE_TIMEOUT] |= self.service_timeout << 3;
        b
    }
}

impl fmt::Display for Mra {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MRA id {} peer {} timeout 2^{}", self.local, self.remote, self.service_timeout)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TRANSACTION: TransactionId = TransactionId(0x2_fbbd_3b90);
    /// Made by hand: a reply received, 2^21.
    const LAB: [u8; 10] = [0x90, 0x3b, 0xbd, 0xfb, 0x93, 0x3b, 0xbd, 0xfb, 0x40, 0xa8];

    fn lab() -> Mra {
        Mra {
            transaction: TRANSACTION,
            local: CommId(0x903b_bdfb),
            remote: CommId(0x933b_bdfb),
            message: 1,
            service_timeout: 21,
        }
    }

    #[test]
    fn takes_apart() {
        assert_eq!(Mra::load(&LAB[..], 0, TRANSACTION), Ok(lab()));
        assert_eq!(lab().to_string(), "MRA id 0x903bbdfb peer 0x933bbdfb timeout 2^21");
    }

    #[test]
    fn puts_together() {
        assert_eq!(lab().bytes(), LAB);
    }

    #[test]
    fn cut_at_every_length() {
        for had in 0..Mra::LEN {
            let cut = Cut::new(Layer::Cm, 0, 10, had);
            assert_eq!(Mra::load(&LAB[..had], 0, TRANSACTION), Err(cut));
        }
    }

    proptest! {
        #[test]
        fn round_trip(transaction: u64, local: u32, remote: u32, message in 0u8..4, service_timeout in 0u8..32) {
            let built = Mra {
                transaction: TransactionId(transaction),
                local: CommId(local),
                remote: CommId(remote),
                message,
                service_timeout,
            };
            prop_assert_eq!(Mra::load(&built.bytes()[..], 0, built.transaction), Ok(built));
        }
    }
}
