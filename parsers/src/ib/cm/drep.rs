//! Disconnect reply: the peer has let go too (IBTA 12.6.11, table 113).

use core::fmt;

use crate::cut::{Cut, Layer};
use crate::ib::be;
use crate::ib::cm::CommId;
use crate::ib::mad::TransactionId;
use crate::window::Window;

mod field {
    pub(super) const LOCAL: usize = 0; // 32 bits
    pub(super) const REMOTE: usize = 4; // 32 bits
}

/// A disconnect reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drep {
    /// Transaction id of the datagram.
    pub transaction: TransactionId,
    /// Number that the sender calls the connection by.
    pub local: CommId,
    /// Number that the receiver calls the connection by.
    pub remote: CommId,
}

impl Drep {
    /// Bytes on the wire up to the private data, which is the consumer's.
    pub const LEN: usize = 8;

    /// The message at offset `at`, just past the header of the datagram whose transaction is given.
    ///
    /// # Errors
    /// [`Cut`] when fewer than 8 bytes are there.
    pub fn load<W: Window + ?Sized>(frame: &W, at: usize, transaction: TransactionId) -> Result<Self, Cut> {
        let b: [u8; Self::LEN] = frame.header(at, Layer::Cm)?;
        Ok(Self {
            transaction,
            local: CommId(be::get32::<{ field::LOCAL }, { Self::LEN }>(&b)),
            remote: CommId(be::get32::<{ field::REMOTE }, { Self::LEN }>(&b)),
        })
    }

    /// The bytes on the wire up to the private data; fields that are not kept are zero.
    #[must_use]
    pub const fn bytes(&self) -> [u8; Self::LEN] {
        let mut b = [0; Self::LEN];
        be::put::<{ field::LOCAL }, 4, { Self::LEN }>(&mut b, self.local.0.to_be_bytes());
        be::put::<{ field::REMOTE }, 4, { Self::LEN }>(&mut b, self.remote.0.to_be_bytes());
        b
    }
}

impl fmt::Display for Drep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DREP id {} peer {}", self.local, self.remote)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TRANSACTION: TransactionId = TransactionId(0x2_fbbd_3b90);
    /// From the lab's rping.
    const LAB: [u8; 8] = [0x93, 0x3b, 0xbd, 0xfb, 0x90, 0x3b, 0xbd, 0xfb];

    fn lab() -> Drep {
        Drep { transaction: TRANSACTION, local: CommId(0x933b_bdfb), remote: CommId(0x903b_bdfb) }
    }

    #[test]
    fn takes_apart() {
        assert_eq!(Drep::load(&LAB[..], 0, TRANSACTION), Ok(lab()));
        assert_eq!(lab().to_string(), "DREP id 0x933bbdfb peer 0x903bbdfb");
    }

    #[test]
    fn puts_together() {
        assert_eq!(lab().bytes(), LAB);
    }

    #[test]
    fn cut_at_every_length() {
        for had in 0..Drep::LEN {
            let cut = Cut::new(Layer::Cm, 0, 8, had);
            assert_eq!(Drep::load(&LAB[..had], 0, TRANSACTION), Err(cut));
        }
    }

    proptest! {
        #[test]
        fn round_trip(transaction: u64, local: u32, remote: u32) {
            let built = Drep {
                transaction: TransactionId(transaction),
                local: CommId(local),
                remote: CommId(remote),
            };
            prop_assert_eq!(Drep::load(&built.bytes()[..], 0, built.transaction), Ok(built));
        }
    }
}
