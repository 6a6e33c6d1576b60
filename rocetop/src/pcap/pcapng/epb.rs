//! Enhanced packet block: interface, 64-bit time stamp, both lengths, bytes (4.3).

use super::super::{Fault, Record, Step};
use super::{Pcapng, check_captured, need, whole};

/// Bytes of the block without packet and options.
pub const LEAST: u32 = 32;

pub(super) mod field {
    //! Offsets in the block.
    pub(in super::super) const INTERFACE: usize = 8;
    pub(in super::super) const TS_HIGH: usize = 12;
    pub(in super::super) const TS_LOW: usize = 16;
    pub(in super::super) const CAPTURED: usize = 20;
    pub(in super::super) const WIRE: usize = 24;
    pub(in super::super) const DATA: usize = 28;
}

const PART: &str = "enhanced packet block";

impl Pcapng {
    #[inline(always)]
    pub(super) fn enhanced_packet(&mut self, ahead: &[u8]) -> Result<Step, Fault> {
        let order = self.order;
        let Some(block) = whole(order, ahead, LEAST, PART)? else { return need(order, ahead) };
        self.stamped_packet(block, order.u32(block.bytes, field::INTERFACE), PART)
    }

    /// The part that the obsolete packet block shares: all fields from the time stamp on.
    #[inline(always)]
    pub(super) fn stamped_packet(
        &self,
        block: super::Block<'_>,
        interface: u32,
        part: &'static str,
    ) -> Result<Step, Fault> {
        let (order, bytes) = (self.order, block.bytes);
        let (port, iface) = self.port(interface, part)?;
        let captured = order.u32(bytes, field::CAPTURED);
        check_captured(captured, port.limit, block, field::DATA, part)?;
        let ticks = u64::from(order.u32(bytes, field::TS_HIGH)) << 32 | u64::from(order.u32(bytes, field::TS_LOW));
        Ok(Step::Record(Record {
            ts: Some(port.clock.at(ticks)),
            iface,
            link: port.link,
            wire_len: order.u32(bytes, field::WIRE).max(captured),
            data: field::DATA..field::DATA + captured as usize,
            used: block.total as usize,
        }))
    }
}
