//! MAC control frames that stop a sender: 802.3x pause (IEEE 802.3 31B) and priority flow control (31D, 802.1Qbb).

use core::fmt;

use crate::cut::{Cut, Layer};
use crate::window::Window;

mod field {
    pub(super) const OPCODE: usize = 0; // 31.4.1.4, 16 bits
    pub(super) const QUANTA: usize = 2; // pause: 16 bits (31B.2)
    pub(super) const CLASSES: usize = 2; // PFC: class-enable vector, 16 bits, high byte reserved (31D.2)
    pub(super) const TIMES: usize = 4; // PFC: 8 times of 16 bits, class 0 first
}

/// A MAC control opcode. Unknown values are kept as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Opcode(pub u16);

impl Opcode {
    /// Global pause (31B).
    pub const PAUSE: Self = Self(0x0001);
    /// Priority flow control (31D).
    pub const PFC: Self = Self(0x0101);

    /// The opcode at offset `at`, just past EtherType 0x8808.
    ///
    /// # Errors
    /// [`Cut`] when fewer than 2 bytes are there.
    #[inline]
    pub fn load<W: Window + ?Sized>(frame: &W, at: usize) -> Result<Self, Cut> {
        frame.header(at + field::OPCODE, Layer::Pause).map(|bytes| Self(u16::from_be_bytes(bytes)))
    }

    /// Bytes of a frame with this opcode, from the opcode on; `None` for an opcode that stops nobody.
    #[must_use]
    pub const fn frame_len(self) -> Option<usize> {
        match self {
            Self::PAUSE => Some(Pause::GLOBAL_LEN),
            Self::PFC => Some(Pause::LEN),
            _ => None,
        }
    }
}

/// A pause frame from its opcode on, as the eight times that PFC has. In a global pause, one time holds for all
/// classes.
///
/// Times are in quanta of 512 bit times at the link's speed; 0 resumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause([u8; Pause::LEN]);

impl Pause {
    /// Bytes on the wire of a PFC frame, after the EtherType.
    pub const LEN: usize = 20;
    /// Bytes on the wire of a global pause, after the EtherType.
    pub const GLOBAL_LEN: usize = 4;
    /// Bit times of one quantum.
    pub const QUANTUM_BITS: u32 = 512;

    /// The frame at offset `at`, just past EtherType 0x8808; `None` for another opcode.
    ///
    /// # Errors
    /// [`Cut`] when the opcode or the times after it are not all there.
    #[inline]
    pub fn load<W: Window + ?Sized>(frame: &W, at: usize) -> Result<Option<Self>, Cut> {
        match Opcode::load(frame, at)? {
            Opcode::PFC => frame.header(at, Layer::Pause).map(|bytes| Some(Self(bytes))),
            Opcode::PAUSE => {
                let bytes: [u8; Self::GLOBAL_LEN] = frame.header(at, Layer::Pause)?;
                Ok(Some(Self::global(u16::from_be_bytes([bytes[field::QUANTA], bytes[field::QUANTA + 1]]))))
            }
            _ => Ok(None),
        }
    }

    /// A global pause and not PFC.
    #[must_use]
    pub const fn is_global(&self) -> bool {
        self.0[field::OPCODE] == 0
    }

    /// Classes whose times count, class 0 in the lowest bit: all for a global pause.
    #[must_use]
    pub const fn classes(&self) -> u8 {
        if self.is_global() { 0xff } else { self.0[field::CLASSES + 1] }
    }

    /// The time of a class, in quanta; `None` when the frame says nothing about that class.
    #[must_use]
    pub const fn quanta(&self, class: u8) -> Option<u16> {
        if class > 7 || self.classes() >> class & 1 == 0 {
            return None;
        }
        let class = if self.is_global() { 0 } else { class };
        let [_, _, _, _, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = self.0;
        Some(u16::from_be_bytes(match class {
            0 => [a, b],
            1 => [c, d],
            2 => [e, f],
            3 => [g, h],
            4 => [i, j],
            5 => [k, l],
            6 => [m, n],
            _ => [o, p],
        }))
    }

    /// A global pause for so many quanta.
    #[must_use]
    pub const fn global(quanta: u16) -> Self {
        let ([o0, o1], [q0, q1]) = (Opcode::PAUSE.0.to_be_bytes(), quanta.to_be_bytes());
        // The wire has the time where PFC has its classes; `bytes` puts it there.
        Self([o0, o1, 0, 0, q0, q1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    }

    /// A PFC frame that enables no class yet.
    #[must_use]
    pub const fn pfc() -> Self {
        let [o0, o1] = Opcode::PFC.0.to_be_bytes();
        Self([o0, o1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    }

    /// The same PFC frame with this class stopped for so many quanta, or resumed with 0. Classes above 7 and global
    /// pauses stay as they are.
    #[must_use]
    pub fn with_class(mut self, class: u8, quanta: u16) -> Self {
        let at = field::TIMES + 2 * usize::from(class);
        if class <= 7 && !self.is_global() {
            self.0[field::CLASSES + 1] |= 1 << class;
            if let Some(time) = self.0.get_mut(at..at + 2) {
                time.copy_from_slice(&quanta.to_be_bytes());
            }
        }
        self
    }

    /// The bytes on the wire; of a global pause the first 4 count and the rest is padding.
    #[must_use]
    pub const fn bytes(&self) -> [u8; Self::LEN] {
        let mut bytes = self.0;
        if self.is_global() {
            bytes[field::QUANTA] = self.0[field::TIMES];
            bytes[field::QUANTA + 1] = self.0[field::TIMES + 1];
            bytes[field::TIMES] = 0;
            bytes[field::TIMES + 1] = 0;
        }
        bytes
    }
}

impl fmt::Display for Pause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_global() {
            return write!(f, "pause {}", self.quanta(0).unwrap_or_default());
        }
        f.write_str("PFC")?;
        for class in 0..8 {
            if let Some(quanta) = self.quanta(class) {
                write!(f, " {class}={quanta}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PFC: [u8; 20] = [1, 1, 0, 0x18, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0];
    const GLOBAL: [u8; 4] = [0, 1, 0x12, 0x34];

    #[test]
    fn takes_apart() {
        let pfc = Pause::load(&PFC[..], 0).unwrap().unwrap();
        assert!(!pfc.is_global());
        assert_eq!(pfc.classes(), 0x18);
        assert_eq!((pfc.quanta(3), pfc.quanta(4), pfc.quanta(5), pfc.quanta(8)), (Some(0xffff), Some(0), None, None));
        assert_eq!(pfc.to_string(), "PFC 3=65535 4=0");
        let global = Pause::load(&GLOBAL[..], 0).unwrap().unwrap();
        assert!(global.is_global());
        assert_eq!((global.classes(), global.quanta(0), global.quanta(7)), (0xff, Some(0x1234), Some(0x1234)));
        assert_eq!(global.to_string(), "pause 4660");
        assert_eq!(Pause::load(&[0u8, 2, 0, 0][..], 0), Ok(None));
    }

    #[test]
    fn puts_together() {
        assert_eq!(Pause::pfc().with_class(3, 0xffff).with_class(4, 0).with_class(8, 1).bytes(), PFC);
        assert_eq!(Pause::global(0x1234).with_class(0, 9).bytes()[..4], GLOBAL);
        assert_eq!(Pause::global(0x1234).bytes()[4..], [0; 16]);
    }

    #[test]
    fn cut_at_every_length() {
        for had in 0..Pause::LEN {
            let needed = if had < 2 { 2 } else { 20 };
            assert_eq!(Pause::load(&PFC[..had], 0), Err(Cut::new(Layer::Pause, 0, needed, had)));
        }
        for had in 0..Pause::GLOBAL_LEN {
            let needed = if had < 2 { 2 } else { 4 };
            assert_eq!(Pause::load(&GLOBAL[..had], 0), Err(Cut::new(Layer::Pause, 0, needed, had)));
        }
    }

    proptest! {
        #[test]
        fn round_trip(times: [Option<u16>; 8], global: u16) {
            let mut built = Pause::pfc();
            for (class, time) in (0u8..).zip(times) {
                built = time.map_or(built, |quanta| built.with_class(class, quanta));
            }
            let read = Pause::load(&built.bytes()[..], 0).unwrap().unwrap();
            for (class, time) in (0u8..).zip(times) {
                prop_assert_eq!(read.quanta(class), time);
            }
            let built = Pause::global(global);
            prop_assert_eq!(Pause::load(&built.bytes()[..], 0), Ok(Some(built)));
        }
    }
}
