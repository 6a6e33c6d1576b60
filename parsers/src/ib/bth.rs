//! Base transport header: 12 bytes after UDP, GRH or LRH (IBTA 9.2).

use core::fmt;

use crate::cut::{Cut, Layer};
use crate::ib::opcode::Opcode;
use crate::units::{Psn, Qpn};
use crate::window::Window;

mod field {
    pub(super) const OPCODE: usize = 0; // 9.2.1
    pub(super) const FLAGS: usize = 1; // SE 9.2.2, M 9.2.3, PadCnt 9.2.4 (2 bits), TVer 9.2.5 (4 bits)
    pub(super) const PKEY: usize = 2; // 9.2.6, 16 bits
    pub(super) const CONGESTION: usize = 4; // FECN, BECN (A17.9), 6 reserved bits; masked in the ICRC
    pub(super) const DST_QP: usize = 5; // 9.2.8, 24 bits
    pub(super) const ACK_REQ: usize = 8; // 9.2.9, 1 bit, 7 reserved
    pub(super) const PSN: usize = 9; // 9.2.10, 24 bits
}

/// A base transport header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bth([u8; Bth::LEN]);

impl Bth {
    /// Bytes on the wire.
    pub const LEN: usize = 12;

    /// The header at offset `at`.
    ///
    /// # Errors
    /// [`Cut`] when fewer than 12 bytes are there.
    #[inline(always)]
    pub fn load<W: Window + ?Sized>(frame: &W, at: usize) -> Result<Self, Cut> {
        frame.header(at, Layer::Bth).map(Self)
    }

    /// Operation code.
    #[must_use]
    pub const fn opcode(&self) -> Opcode {
        Opcode(self.0[field::OPCODE])
    }

    /// Solicited event.
    #[must_use]
    pub const fn solicited(&self) -> bool {
        self.0[field::FLAGS] & 0x80 != 0
    }

    /// Migration state.
    #[must_use]
    pub const fn migrated(&self) -> bool {
        self.0[field::FLAGS] & 0x40 != 0
    }

    /// Bytes of padding after the payload, 0..=3.
    #[must_use]
    pub const fn pad(&self) -> u8 {
        self.0[field::FLAGS] >> 4 & 3
    }

    /// Transport header version; 0 today.
    #[must_use]
    pub const fn version(&self) -> u8 {
        self.0[field::FLAGS] & 0xf
    }

    /// Partition key.
    #[must_use]
    pub const fn pkey(&self) -> u16 {
        u16::from_be_bytes([self.0[field::PKEY], self.0[field::PKEY + 1]])
    }

    /// Forward explicit congestion notification.
    #[must_use]
    pub const fn fecn(&self) -> bool {
        self.0[field::CONGESTION] & 0x80 != 0
    }

    /// Backward explicit congestion notification; set in a CNP.
    #[must_use]
    pub const fn becn(&self) -> bool {
        self.0[field::CONGESTION] & 0x40 != 0
    }

    /// Destination queue pair.
    #[must_use]
    pub const fn dst_qp(&self) -> Qpn {
        Qpn(u32::from_be_bytes([0, self.0[field::DST_QP], self.0[field::DST_QP + 1], self.0[field::DST_QP + 2]]))
    }

    /// The requester wants this packet acknowledged.
    #[must_use]
    pub const fn ack_req(&self) -> bool {
        self.0[field::ACK_REQ] & 0x80 != 0
    }

    /// Packet sequence number.
    #[must_use]
    pub const fn psn(&self) -> Psn {
        Psn::new(u32::from_be_bytes([0, self.0[field::PSN], self.0[field::PSN + 1], self.0[field::PSN + 2]]))
    }

    /// Whether version and reserved bits are all zero, as every NIC sends them. Tells RoCE from a stray datagram where
    /// neither a known opcode nor the ICRC can; a random one passes once in 2^17.
    #[must_use]
    pub const fn reserved_clear(&self) -> bool {
        self.version() == 0 && self.0[field::CONGESTION] & 0x3f == 0 && self.0[field::ACK_REQ] & 0x7f == 0
    }

    /// A header with this opcode, queue pair and PSN, the default partition 0xffff, and everything else zero.
    #[must_use]
    pub const fn new(opcode: Opcode, dst_qp: Qpn, psn: Psn) -> Self {
        let [_, q0, q1, q2] = dst_qp.0.to_be_bytes();
        let [_, p0, p1, p2] = psn.get().to_be_bytes();
        Self([opcode.0, 0, 0xff, 0xff, 0, q0, q1, q2, 0, p0, p1, p2])
    }

    /// The same header with the AckReq bit set or clear.
    #[must_use]
    pub const fn with_ack_req(mut self, yes: bool) -> Self {
        self.0[field::ACK_REQ] = self.0[field::ACK_REQ] & 0x7f | (yes as u8) << 7;
        self
    }

    /// The same header with `pad & 3` bytes of padding announced.
    #[must_use]
    pub const fn with_pad(mut self, pad: u8) -> Self {
        self.0[field::FLAGS] = self.0[field::FLAGS] & 0xcf | (pad & 3) << 4;
        self
    }

    /// The same header with the BECN bit set, as a CNP has it.
    #[must_use]
    pub const fn with_becn(mut self) -> Self {
        self.0[field::CONGESTION] |= 0x40;
        self
    }

    /// The bytes on the wire.
    #[must_use]
    pub const fn bytes(&self) -> [u8; Self::LEN] {
        self.0
    }
}

impl fmt::Display for Bth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BTH {} qp {} psn {}", self.opcode(), self.dst_qp(), self.psn())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// RC WRITE First from the lab: pad 0, P_Key 0xffff, QP 19, PSN 0xba5245.
    const WRITE_FIRST: [u8; 12] = [0x06, 0x00, 0xff, 0xff, 0x00, 0x00, 0x00, 0x13, 0x80, 0xba, 0x52, 0x45];

    #[test]
    fn takes_apart() {
        let bth = Bth::load(&WRITE_FIRST[..], 0).unwrap();
        assert_eq!(bth.opcode(), Opcode(0x06));
        assert_eq!(bth.pkey(), 0xffff);
        assert_eq!(bth.dst_qp(), Qpn(19));
        assert_eq!(bth.psn(), Psn::new(0xba_5245));
        assert!(bth.ack_req() && bth.reserved_clear());
        assert!(!bth.solicited() && !bth.migrated() && !bth.fecn() && !bth.becn());
        assert_eq!((bth.pad(), bth.version()), (0, 0));
        assert_eq!(bth.to_string(), "BTH RC_WRITE_FIRST qp 19 psn 12210757");
    }

    #[test]
    fn puts_together() {
        let bth = Bth::new(Opcode(0x06), Qpn(19), Psn::new(0xba_5245)).with_ack_req(true);
        assert_eq!(bth.bytes(), WRITE_FIRST);
    }

    #[test]
    fn cut_at_every_length() {
        for had in 0..Bth::LEN {
            assert_eq!(Bth::load(&WRITE_FIRST[..had], 0), Err(Cut::new(Layer::Bth, 0, 12, had)));
        }
    }

    proptest! {
        #[test]
        fn round_trip(op: u8, qp in 0u32..1 << 24, psn in 0u32..1 << 24, ack: bool, pad in 0u8..4) {
            let built = Bth::new(Opcode(op), Qpn(qp), Psn::new(psn)).with_ack_req(ack).with_pad(pad);
            let read = Bth::load(&built.bytes()[..], 0).unwrap();
            prop_assert_eq!(read.opcode(), Opcode(op));
            prop_assert_eq!(read.dst_qp(), Qpn(qp));
            prop_assert_eq!(read.psn(), Psn::new(psn));
            prop_assert_eq!((read.ack_req(), read.pad()), (ack, pad));
        }
    }
}
