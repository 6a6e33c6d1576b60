//! Frames to count.

use rocetop_parsers::ib::bth::Bth;
use rocetop_parsers::ib::opcode::Opcode;
use rocetop_parsers::{Psn, Qpn};

/// A RoCEv2 packet over IPv4, 10.0.0.1 to 10.0.0.2, source port 49152, with `payload` zero bytes.
pub(crate) fn ipv4(opcode: u8, qp: u32, psn: u32, payload: usize) -> Vec<u8> {
    let udp = 8 + Bth::LEN + payload + 4;
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
    frame.extend([0x45, 0]);
    frame.extend(((20 + udp) as u16).to_be_bytes());
    frame.extend([0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    frame.extend(49152u16.to_be_bytes());
    frame.extend(4791u16.to_be_bytes());
    frame.extend((udp as u16).to_be_bytes());
    frame.extend([0, 0]);
    frame.extend(Bth::new(Opcode(opcode), Qpn(qp), Psn::new(psn)).bytes());
    frame.resize(frame.len() + payload + 4, 0);
    frame
}
