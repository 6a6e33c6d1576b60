//! Simple packet block: length and bytes, and nothing else (4.4).
//!
//! It belongs to the section's first interface and has no time stamp. How many bytes were captured is not written
//! either: all of them, or as many as the interface's snap length.

use super::super::{Fault, Record, Step};
use super::{Pcapng, TRAILER, check_captured, need, whole};

/// Bytes of the block without packet.
pub const LEAST: u32 = 16;

mod field {
    //! Offsets in the block.
    pub(super) const WIRE: usize = 8;
    pub(super) const DATA: usize = 12;
}

const PART: &str = "simple packet block";

impl Pcapng {
    #[cold]
    pub(super) fn simple_packet(&mut self, ahead: &[u8]) -> Result<Step, Fault> {
        let Some(block) = whole(self.order, ahead, LEAST, PART)? else { return need(self.order, ahead) };
        let (port, iface) = self.port(0, PART)?;
        let wire_len = self.order.u32(block.bytes, field::WIRE);
        let captured = if port.snaplen == 0 { wire_len } else { wire_len.min(port.snaplen) };
        // A writer may have kept less than its snap length: the block is then shorter than the packet.
        let captured = captured.min(block.total - (field::DATA + TRAILER) as u32);
        check_captured(captured, port.limit, block, field::DATA, PART)?;
        Ok(Step::Record(Record {
            ts: None,
            iface,
            link: port.link,
            wire_len,
            data: field::DATA..field::DATA + captured as usize,
            used: block.total as usize,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::Step;
    use super::*;

    fn record(snaplen: u8, block: &[u8]) -> Record {
        let mut pcapng = Pcapng { in_section: true, ..Pcapng::new() };
        pcapng.step(&[1, 0, 0, 0, 20, 0, 0, 0, 1, 0, 0, 0, snaplen, 0, 0, 0, 20, 0, 0, 0]).unwrap();
        let Ok(Step::Record(record)) = pcapng.step(block) else { panic!("no record") };
        record
    }

    #[test]
    fn the_snap_length_tells_the_captured_bytes() {
        let block = [3, 0, 0, 0, 20, 0, 0, 0, 60, 0, 0, 0, b'a', b'b', b'c', 0, 20, 0, 0, 0];
        assert_eq!((record(3, &block).data, record(3, &block).wire_len, record(3, &block).ts), (12..15, 60, None));
        assert_eq!(record(0, &block).data, 12..16);
    }

    #[test]
    fn padding_is_not_data() {
        let block = [3, 0, 0, 0, 20, 0, 0, 0, 2, 0, 0, 0, b'a', b'b', 0, 0, 20, 0, 0, 0];
        assert_eq!(record(0, &block).data, 12..14);
    }
}
