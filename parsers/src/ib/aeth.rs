//! ACK extended transport header: 4 bytes, syndrome and MSN (IBTA 9.3.5).

use core::fmt;

use crate::cut::{Cut, Layer};
use crate::window::Window;

/// An ACK extended transport header, as its four bytes in host order: syndrome in the top eight bits, MSN in the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(transparent)]
pub struct Aeth(pub u32);

/// What a syndrome says (IBTA 9.7.5.1, table 45).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Syndrome {
    /// Acknowledged, with the credit code: 0x1f = no credit limit.
    Ack(u8),
    /// Receiver not ready, with the timer code.
    RnrNak(u8),
    /// Negative acknowledgement, with its code.
    Nak(NakCode),
    /// Reserved (bits 6:5 = 10), kept as it is.
    Reserved(u8),
}

/// The reason of a NAK (IBTA 9.7.5.2). Unknown values are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct NakCode(pub u8);

#[allow(missing_docs, reason = "each name is the code's own")]
impl NakCode {
    pub const PSN_SEQUENCE_ERROR: Self = Self(0);
    pub const INVALID_REQUEST: Self = Self(1);
    pub const REMOTE_ACCESS_ERROR: Self = Self(2);
    pub const REMOTE_OPERATIONAL_ERROR: Self = Self(3);
    pub const INVALID_RD_REQUEST: Self = Self(4);
}

impl fmt::Display for NakCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match *self {
            Self::PSN_SEQUENCE_ERROR => "PSN sequence error",
            Self::INVALID_REQUEST => "invalid request",
            Self::REMOTE_ACCESS_ERROR => "remote access error",
            Self::REMOTE_OPERATIONAL_ERROR => "remote operational error",
            Self::INVALID_RD_REQUEST => "invalid RD request",
            Self(other) => return write!(f, "NAK code {other}"),
        })
    }
}

impl Aeth {
    /// Bytes on the wire.
    pub const LEN: usize = 4;

    /// The header at offset `at`.
    ///
    /// # Errors
    /// [`Cut`] when fewer than 4 bytes are there.
    #[inline(always)]
    pub fn load<W: Window + ?Sized>(frame: &W, at: usize) -> Result<Self, Cut> {
        frame.header(at, Layer::Aeth).map(|b| Self(u32::from_be_bytes(b)))
    }

    /// What the responder says. The top bit of the syndrome is reserved and not looked at.
    #[must_use]
    pub const fn syndrome(self) -> Syndrome {
        let low = (self.0 >> 24 & 0x1f) as u8;
        match self.0 >> 29 & 3 {
            0 => Syndrome::Ack(low),
            1 => Syndrome::RnrNak(low),
            3 => Syndrome::Nak(NakCode(low)),
            _ => Syndrome::Reserved(low),
        }
    }

    /// Message sequence number: messages that the responder has completed, 24 bits.
    #[must_use]
    pub const fn msn(self) -> u32 {
        self.0 & 0xff_ffff
    }

    /// A header with this syndrome and MSN.
    #[must_use]
    pub const fn new(syndrome: Syndrome, msn: u32) -> Self {
        let byte = match syndrome {
            Syndrome::Ack(credits) => credits & 0x1f,
            Syndrome::RnrNak(timer) => 1 << 5 | timer & 0x1f,
            Syndrome::Reserved(low) => 2 << 5 | low & 0x1f,
            Syndrome::Nak(code) => 3 << 5 | code.0 & 0x1f,
        };
        Self((byte as u32) << 24 | msn & 0xff_ffff)
    }

    /// The bytes on the wire.
    #[must_use]
    pub const fn bytes(self) -> [u8; Self::LEN] {
        self.0.to_be_bytes()
    }
}

/// The wait that an RNR timer code asks for, in microseconds (IBTA 9.7.5.2.8, table 46).
#[must_use]
pub fn rnr_timer_us(code: u8) -> u32 {
    const TABLE: [u32; 32] = [
        655_360, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640, 960, 1_280, 1_920, 2_560, 3_840, 5_120, 7_680,
        10_240, 15_360, 20_480, 30_720, 40_960, 61_440, 81_920, 122_880, 163_840, 245_760, 327_680, 491_520,
    ];
    TABLE.get(usize::from(code & 0x1f)).copied().unwrap_or_default()
}

impl fmt::Display for Aeth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.syndrome() {
            Syndrome::Ack(_) => write!(f, "ACK")?,
            Syndrome::RnrNak(code) => write!(f, "RNR NAK {} us", rnr_timer_us(code))?,
            Syndrome::Nak(code) => write!(f, "NAK {code}")?,
            Syndrome::Reserved(low) => write!(f, "AETH reserved {low}")?,
        }
        write!(f, " msn {}", self.msn())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn takes_apart() {
        let nak = Aeth::load(&[0x60, 0x00, 0x00, 0x07][..], 0).unwrap();
        assert_eq!(nak.syndrome(), Syndrome::Nak(NakCode::PSN_SEQUENCE_ERROR));
        assert_eq!(nak.msn(), 7);
        assert_eq!(nak.to_string(), "NAK PSN sequence error msn 7");
        assert_eq!(Aeth(0x1f00_0001).syndrome(), Syndrome::Ack(0x1f));
        assert_eq!(Aeth(0x2c00_0001).syndrome(), Syndrome::RnrNak(12));
        assert_eq!(Aeth(0x4100_0001).syndrome(), Syndrome::Reserved(1));
    }

    #[test]
    fn puts_together() {
        assert_eq!(Aeth::new(Syndrome::Nak(NakCode(0)), 7).bytes(), [0x60, 0, 0, 7]);
    }

    #[test]
    fn cut_at_every_length() {
        for had in 0..Aeth::LEN {
            assert_eq!(Aeth::load(&[0; 4][..had], 0), Err(Cut::new(Layer::Aeth, 0, 4, had)));
        }
    }

    #[test]
    fn rnr_timers() {
        assert_eq!(rnr_timer_us(0), 655_360);
        assert_eq!(rnr_timer_us(1), 10);
        assert_eq!(rnr_timer_us(31), 491_520);
    }

    proptest! {
        #[test]
        fn round_trip(raw in 0u32..1 << 31) {
            let aeth = Aeth(raw);
            prop_assert_eq!(Aeth::new(aeth.syndrome(), aeth.msn()), aeth);
        }
    }
}
