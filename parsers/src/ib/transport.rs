//! From the BTH on: fills [`Facts`] with the transport's part of a frame, and tells RoCE from a stray datagram.
//!
//! Runs in the kernel too: which headers follow an opcode, and where, is looked up in a table that the compiler
//! derives from [`Traits`], so that the walk is a few tests at offsets with a small bound instead of ten branches
//! that each move the next.

use crate::cut::Cut;
use crate::facts::{Facts, Flags};
use crate::ib::aeth::Aeth;
use crate::ib::atomic_ack_eth::AtomicAckEth;
use crate::ib::atomic_eth::AtomicEth;
use crate::ib::bth::Bth;
use crate::ib::deth::Deth;
use crate::ib::feth::Feth;
use crate::ib::ieth::Ieth;
use crate::ib::imm_dt::ImmDt;
use crate::ib::opcode::{Opcode, Traits};
use crate::ib::rdeth::Rdeth;
use crate::ib::reth::Reth;
use crate::ib::xrceth::Xrceth;
use crate::icrc::Icrc;
use crate::units::Qpn;
use crate::window::Window;

/// Bytes of the ICRC, which closes every packet.
const ICRC: usize = 4;

/// Where the headers of an opcode lie, in bytes from the start of the BTH. Zero where it has none: that is the BTH.
#[derive(Clone, Copy, Default)]
struct Layout {
    /// Bytes of all headers, the BTH among them.
    len: u8,
    deth: u8,
    reth: u8,
    aeth: u8,
    /// ImmDt or IETH: 32 bits either way.
    imm: u8,
}

impl Layout {
    /// The layout of an opcode, in the wire order of IBTA 5.2: RDETH, DETH, XRCETH, FETH, RETH, AtomicETH, AETH,
    /// AtomicAckETH, ImmDt, IETH. (FETH before RETH: Linux `rxe_opcode.c`.)
    const fn of(traits: Traits) -> Self {
        const fn take(traits: Traits, what: u16, len: usize, next: &mut u8) -> u8 {
            if !traits.has(what) {
                return 0;
            }
            let at = *next;
            *next += len as u8;
            at
        }
        let mut next = Bth::LEN as u8;
        let _ = take(traits, Traits::RDETH, Rdeth::LEN, &mut next);
        let deth = take(traits, Traits::DETH, Deth::LEN, &mut next);
        let _ = take(traits, Traits::XRCETH, Xrceth::LEN, &mut next);
        let _ = take(traits, Traits::FETH, Feth::LEN, &mut next);
        let reth = take(traits, Traits::RETH, Reth::LEN, &mut next);
        let _ = take(traits, Traits::ATOMIC_ETH, AtomicEth::LEN, &mut next);
        let aeth = take(traits, Traits::AETH, Aeth::LEN, &mut next);
        let _ = take(traits, Traits::ATOMIC_ACK_ETH, AtomicAckEth::LEN, &mut next);
        let imm = take(traits, Traits::IMM, ImmDt::LEN, &mut next);
        let inv = take(traits, Traits::IETH, Ieth::LEN, &mut next);
        // No opcode has both, so the sum is the one that is there.
        Self { len: next, deth, reth, aeth, imm: imm + inv }
    }

    #[inline(always)]
    fn get(opcode: Opcode) -> Self {
        static TABLE: [Layout; 256] = Layout::table();
        // 256 entries and a byte: the default is never taken.
        TABLE.get(usize::from(opcode.0)).copied().unwrap_or_default()
    }

    const fn table() -> [Self; 256] {
        let mut table = [Self { len: 0, deth: 0, reth: 0, aeth: 0, imm: 0 }; 256];
        let mut code = 0;
        while code < 256 {
            #[allow(clippy::indexing_slicing, reason = "evaluated by the compiler, which checks it")]
            {
                table[code] = Self::of(Opcode(code as u8).derive());
            }
            code += 1;
        }
        table
    }
}

/// Fills the transport's part of `facts`: everything from the BTH at offset `at` up to `end`, the offset just past the
/// ICRC by the network header's length. Expects `facts` as the layers below left it; flags are only added.
///
/// An unknown opcode has no extended headers: what follows its BTH is payload. Where the extended headers are not all
/// there, in the captured bytes or before `end`, [`Flags::EXTENDED`] stays clear and their fields zero, and the payload
/// is still counted by the lengths.
///
/// # Errors
/// [`Cut`] when the BTH itself is not in the captured bytes.
#[inline(always)]
pub fn fill<W: Window + ?Sized>(frame: &W, at: usize, end: usize, facts: &mut Facts) -> Result<(), Cut> {
    let bth = Bth::load(frame, at)?;
    let layout = Layout::get(bth.opcode());
    let past = at.saturating_add(usize::from(layout.len));
    let room = end.saturating_sub(ICRC);

    facts.opcode = bth.opcode();
    facts.psn = bth.psn();
    facts.dst_qp = bth.dst_qp();
    facts.pkey = bth.pkey();
    facts.bth = at as u16;
    facts.end = end as u32;
    facts.payload = room.saturating_sub(past).saturating_sub(usize::from(bth.pad())) as u32;
    facts.flags = facts
        .flags
        .when(bth.ack_req(), Flags::ACK_REQ)
        .when(bth.solicited(), Flags::SOLICITED)
        .when(bth.migrated(), Flags::MIGRATED)
        .when(bth.fecn(), Flags::FECN)
        .when(bth.becn(), Flags::BECN)
        .when(bth.reserved_clear(), Flags::RESERVED_CLEAR);

    if usize::from(layout.len) == Bth::LEN {
        facts.flags = facts.flags.with(Flags::EXTENDED);
    } else if past <= room && frame.holds(past) {
        extended(frame, at, layout, facts);
    }
    Ok(())
}

/// The extended headers, which the caller knows to be all there. In the kernel a load is checked all the same, and one
/// that failed would leave [`Flags::EXTENDED`] clear and the fields zero.
#[inline(always)]
fn extended<W: Window + ?Sized>(frame: &W, at: usize, layout: Layout, facts: &mut Facts) {
    let (mut src_qp, mut dma_len, mut aeth, mut imm) = (Qpn(0), 0, Aeth(0), 0);
    let mut flags = Flags::EXTENDED;
    if layout.aeth != 0 {
        let Ok(header) = Aeth::load(frame, at + usize::from(layout.aeth)) else { return };
        aeth = header;
    }
    if layout.reth != 0 {
        let Ok(header) = Reth::load(frame, at + usize::from(layout.reth)) else { return };
        dma_len = header.dma_len();
    }
    if layout.deth != 0 {
        let Ok(header) = Deth::load(frame, at + usize::from(layout.deth)) else { return };
        src_qp = header.src_qp();
    }
    if layout.imm != 0 {
        let Ok(header) = ImmDt::load(frame, at + usize::from(layout.imm)) else { return };
        imm = header.data();
        flags = flags.with(Flags::IMM);
    }
    facts.src_qp = src_qp;
    facts.dma_len = dma_len;
    facts.aeth = aeth;
    facts.imm = imm;
    facts.flags = facts.flags.with(flags);
}

/// Whether a datagram to the RoCE port is RoCE. Other programs may use the port too, and a quarter of all first bytes
/// read as a known opcode. A right ICRC proves it. A wrong one speaks against it, unless opcode and reserved bits of
/// the BTH say that it was RoCE before it was damaged. In a cut frame the reserved bits decide.
#[must_use]
pub fn plausible(facts: &Facts, icrc: Icrc) -> bool {
    match icrc {
        Icrc::Ok => true,
        Icrc::Bad => facts.opcode.traits().has(Traits::KNOWN) && facts.flags.has(Flags::RESERVED_CLEAR),
        Icrc::Unknown => facts.flags.has(Flags::RESERVED_CLEAR),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ib::aeth::Syndrome;
    use crate::units::Psn;

    fn filled(frame: &[u8], end: usize) -> Facts {
        let mut facts = Facts::default();
        fill(frame, 0, end, &mut facts).unwrap();
        facts
    }

    /// WRITE Only with immediate of one byte, from the lab: BTH, RETH, ImmDt, one byte and three of pad, ICRC.
    const WRITE_IMM: [u8; 40] = [
        0x0b, 0x30, 0xff, 0xff, 0x00, 0x00, 0x00, 0x12, 0x80, 0x11, 0x11, 0x14, 0x00, 0x00, 0x00, 0x00, 0x28, 0x0f,
        0x40, 0x00, 0x00, 0x00, 0x03, 0xb3, 0x00, 0x00, 0x00, 0x01, 0x07, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x63, 0x80, 0x20, 0x0b,
    ];
    /// Atomic response, from the lab: BTH, AETH, AtomicAckETH, ICRC.
    const ATOMIC_ACK: [u8; 28] = [
        0x12, 0x00, 0xff, 0xff, 0x00, 0x00, 0x00, 0x12, 0x00, 0x11, 0x11, 0x5c, 0x1f, 0x00, 0x00, 0x24, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x05, 0x13, 0x0f, 0x14, 0x9b,
    ];

    #[test]
    fn takes_a_write_apart() {
        let facts = filled(&WRITE_IMM, 40);
        assert_eq!((facts.opcode, facts.dst_qp, facts.psn), (Opcode(0x0b), Qpn(18), Psn::new(0x11_1114)));
        assert_eq!((facts.pkey, facts.dma_len, facts.imm, facts.payload), (0xffff, 1, 0x0700_0000, 1));
        assert_eq!(facts.flags, Flags::ACK_REQ.with(Flags::IMM).with(Flags::EXTENDED).with(Flags::RESERVED_CLEAR));
        assert_eq!((facts.bth, facts.end), (0, 40));
    }

    #[test]
    fn takes_a_response_apart() {
        let facts = filled(&ATOMIC_ACK, 28);
        assert_eq!((facts.aeth.syndrome(), facts.aeth.msn()), (Syndrome::Ack(31), 0x24));
        assert_eq!(facts.payload, 0);
        assert!(facts.flags.has(Flags::EXTENDED));
    }

    #[test]
    fn a_cut_keeps_what_was_before_it() {
        for had in 0..WRITE_IMM.len() {
            let mut facts = Facts::default();
            let result = fill(&WRITE_IMM[..had], 0, 40, &mut facts);
            assert_eq!(result.is_ok(), had >= Bth::LEN);
            if had >= Bth::LEN {
                assert_eq!((facts.psn, facts.payload), (Psn::new(0x11_1114), 1));
                assert_eq!(facts.flags.has(Flags::EXTENDED), had >= 32);
                assert_eq!((facts.dma_len, facts.imm), if had >= 32 { (1, 0x0700_0000) } else { (0, 0) });
            }
        }
    }

    #[test]
    fn headers_must_fit_before_the_icrc() {
        for end in 0..36 {
            let facts = filled(&WRITE_IMM, end);
            assert_eq!((facts.flags.has(Flags::EXTENDED), facts.dma_len, facts.payload), (false, 0, 0), "{end}");
        }
        assert!(filled(&WRITE_IMM, 36).flags.has(Flags::EXTENDED));
    }

    #[test]
    fn an_unknown_opcode_is_all_payload() {
        let mut frame = WRITE_IMM;
        frame[..2].copy_from_slice(&[0xff, 0x00]);
        let facts = filled(&frame, 40);
        assert_eq!(facts.payload, 24);
        assert!(facts.flags.has(Flags::EXTENDED));
        assert_eq!((facts.dma_len, facts.imm), (0, 0));
    }

    #[test]
    fn tells_roce_from_strays() {
        let known = filled(&WRITE_IMM, 40);
        let mut frame = WRITE_IMM;
        frame[0] = 0xff;
        let vendor = filled(&frame, 40);
        frame[8] |= 1;
        let stray = filled(&frame, 40);
        for icrc in [Icrc::Ok, Icrc::Bad, Icrc::Unknown] {
            assert!(plausible(&known, icrc));
            assert_eq!(plausible(&vendor, icrc), icrc != Icrc::Bad);
            assert_eq!(plausible(&stray, icrc), icrc == Icrc::Ok);
        }
    }
}
