//! Section header block: byte order and version of what follows (4.1).

use rocetop_parsers::Bytes;

use super::super::{Fault, Order, Step, What};
use super::{Pcapng, need, whole};

/// The byte-order magic, read in the right order.
pub const BYTE_ORDER: u32 = 0x1a2b_3c4d;
/// Bytes of the block without options.
pub const LEAST: u32 = 28;

mod field {
    //! Offsets in the block.
    pub(super) const BYTE_ORDER: usize = 8;
    pub(super) const MAJOR: usize = 12;
    pub(super) const MINOR: usize = 14;
}

const PART: &str = "section header block";

impl Pcapng {
    /// Starts a section: its own byte order, and no interfaces yet. The section's length is not looked at, since the
    /// next section header ends it as well.
    #[cold]
    pub(super) fn section_header(&mut self, ahead: &[u8]) -> Result<Step, Fault> {
        let Some(&magic) = ahead.get(field::BYTE_ORDER..).and_then(|b| b.first_chunk::<4>()) else {
            return Ok(Step::Need(field::BYTE_ORDER + 4));
        };
        let order = match (u32::from_le_bytes(magic), u32::from_be_bytes(magic)) {
            (BYTE_ORDER, _) => Order::Little,
            (_, BYTE_ORDER) => Order::Big,
            _ => {
                let offset = Bytes(field::BYTE_ORDER as u64);
                return Err(Fault { offset, ..Fault::new(PART, What::ByteOrder { magic }) });
            }
        };
        let Some(block) = whole(order, ahead, LEAST, PART)? else { return need(order, ahead) };
        let (major, minor) = (order.u16(block.bytes, field::MAJOR), order.u16(block.bytes, field::MINOR));
        // 1.0 is what is written; 1.2 was written by mistake and is the same (4.1, "Minor Version").
        if major != 1 {
            let offset = Bytes(field::MAJOR as u64);
            return Err(Fault { offset, ..Fault::new(PART, What::Version { major, minor }) });
        }
        self.order = order;
        self.in_section = true;
        self.base = self.interfaces.len() as u32;
        self.ports.clear();
        Ok(Step::Skip(block.total as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BIG: [u8; 28] = [
        0x0a, 0x0d, 0x0d, 0x0a, 0, 0, 0, 28, 0x1a, 0x2b, 0x3c, 0x4d, 0, 1, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
        0xff, 0xff, 0, 0, 0, 28,
    ];

    #[test]
    fn sets_the_byte_order() {
        let mut pcapng = Pcapng::new();
        assert_eq!(pcapng.step(&BIG), Ok(Step::Skip(28)));
        assert_eq!(pcapng.order, Order::Big);
    }

    #[test]
    fn asks_for_what_is_missing() {
        for n in 0..28 {
            let need = [8, 12, 28][usize::from(n >= 8) + usize::from(n >= 12)];
            assert_eq!(Pcapng::new().step(&BIG[..n]), Ok(Step::Need(need)));
        }
    }

    #[test]
    fn strange_orders_and_versions_are_told() {
        let mut bytes = BIG;
        bytes[8] = 0;
        let fault = Pcapng::new().step(&bytes).unwrap_err();
        assert_eq!((fault.offset, fault.what), (Bytes(8), What::ByteOrder { magic: [0, 0x2b, 0x3c, 0x4d] }));
        let mut bytes = BIG;
        bytes[13] = 2;
        let fault = Pcapng::new().step(&bytes).unwrap_err();
        assert_eq!((fault.offset, fault.what), (Bytes(12), What::Version { major: 2, minor: 0 }));
    }
}
