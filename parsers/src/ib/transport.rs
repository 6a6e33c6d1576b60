//! From the BTH to the ICRC: fills the transport's part of [`Facts`].

use crate::cut::Cut;
use crate::facts::{Facts, Flags};
use crate::ib::bth::Bth;
use crate::window::Window;

/// Reads the BTH at offset `at` of a packet that ends at `end`, ICRC included.
///
/// # Errors
/// [`Cut`] when the BTH is not all there.
#[inline(always)]
pub fn fill<W: Window + ?Sized>(frame: &W, at: usize, end: usize, facts: &mut Facts) -> Result<(), Cut> {
    let bth = Bth::load(frame, at)?;
    facts.bth = at as u16;
    facts.opcode = bth.opcode();
    facts.psn = bth.psn();
    facts.dst_qp = bth.dst_qp();
    facts.pkey = bth.pkey();
    facts.flags = facts
        .flags
        .when(bth.ack_req(), Flags::ACK_REQ)
        .when(bth.solicited(), Flags::SOLICITED)
        .when(bth.migrated(), Flags::MIGRATED)
        .when(bth.fecn(), Flags::FECN)
        .when(bth.becn(), Flags::BECN)
        .when(frame.len() < end, Flags::CUT);
    Ok(())
}
