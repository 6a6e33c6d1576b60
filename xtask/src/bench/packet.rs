//! One generated frame: Ethernet, IPv4, UDP, BTH, what the opcode wants, payload, and a right ICRC.

/// RC opcodes that the generator uses (IBTA, BTH: OpCode).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Opcode {
    SendOnly = 0x04,
    WriteOnly = 0x0a,
    Ack = 0x11,
}

/// What differs from frame to frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    pub(super) src: u32,
    pub(super) dst: u32,
    pub(super) sport: u16,
    pub(super) opcode: Opcode,
    pub(super) dst_qp: u32,
    pub(super) psn: u32,
    pub(super) ack_req: bool,
    /// Messages completed, in an ACK.
    pub(super) msn: u32,
}

const ETHERNET: usize = 14;
const IPV4: usize = 20;
const UDP: usize = 8;
/// Bytes of a frame without extended headers and payload.
pub(super) const BARE: usize = ETHERNET + IPV4 + UDP + 12 + 4;

/// Writes the frame into `out` (emptied before) so that it is `length` bytes long; an ACK has its own length.
pub(super) fn build(packet: &Packet, length: usize, out: &mut Vec<u8>) {
    let extended: Vec<u8> = match packet.opcode {
        Opcode::SendOnly => Vec::new(),
        // RETH: virtual address, R_Key, DMA length.
        Opcode::WriteOnly => {
            let payload = length.saturating_sub(BARE + 16) as u32;
            [&[0, 0, 0x7f, 0, 0, 0, 0, 0][..], &packet.dst_qp.to_be_bytes(), &payload.to_be_bytes()].concat()
        }
        // AETH: ACK with unlimited credits, MSN.
        Opcode::Ack => ((31 << 24) | (packet.msn & 0xff_ffff)).to_be_bytes().to_vec(),
    };
    let length = if packet.opcode == Opcode::Ack { BARE + extended.len() } else { length };
    let payload = length.saturating_sub(BARE + extended.len());

    out.clear();
    // Locally administered addresses with the hosts' own.
    for host in [packet.dst, packet.src] {
        out.extend_from_slice(&[2, 0]);
        out.extend_from_slice(&host.to_be_bytes());
    }
    out.extend_from_slice(&[8, 0]);
    let total = (length - ETHERNET) as u16;
    let mut ip = [0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    put(&mut ip, 2, &total.to_be_bytes());
    put(&mut ip, 12, &packet.src.to_be_bytes());
    put(&mut ip, 16, &packet.dst.to_be_bytes());
    let sum = checksum(&ip);
    put(&mut ip, 10, &sum.to_be_bytes());
    out.extend_from_slice(&ip);
    out.extend_from_slice(&packet.sport.to_be_bytes());
    out.extend_from_slice(&4791u16.to_be_bytes());
    out.extend_from_slice(&(total - IPV4 as u16).to_be_bytes());
    out.extend_from_slice(&[0, 0]);
    out.extend_from_slice(&[packet.opcode as u8, 0x40, 0xff, 0xff, 0]);
    out.extend(packet.dst_qp.to_be_bytes().iter().skip(1));
    out.push(u8::from(packet.ack_req) << 7);
    out.extend(packet.psn.to_be_bytes().iter().skip(1));
    out.extend_from_slice(&extended);
    out.extend((0..payload).map(|n| n as u8));
    let crc = icrc(out);
    out.extend_from_slice(&crc.to_le_bytes());
}

/// The ICRC of a frame that lacks it: CRC-32 over eight bytes of ones (in the place of an LRH) and the packet from the
/// IP header on, with ones for what routers change: TOS, TTL, both checksums, and the BTH's byte 4 (IBTA annex A17).
fn icrc(frame: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    let mut head = [0u8; IPV4 + UDP + 12];
    for (to, from) in head.iter_mut().zip(frame.iter().skip(ETHERNET)) {
        *to = *from;
    }
    for at in [1, 8, 10, 11, IPV4 + 6, IPV4 + 7, IPV4 + UDP + 4] {
        put(&mut head, at, &[0xff]);
    }
    crc.update(&[0xff; 8]);
    crc.update(&head);
    crc.update(frame.get(ETHERNET + head.len()..).unwrap_or_default());
    crc.finalize()
}

fn put(to: &mut [u8], at: usize, bytes: &[u8]) {
    for (to, from) in to.iter_mut().skip(at).zip(bytes) {
        *to = *from;
    }
}

/// The Internet checksum (RFC 1071) of an even number of bytes.
fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes.as_chunks::<2>().0.iter().map(|word| u32::from(u16::from_be_bytes(*word)));
    let sum: u32 = words.sum();
    !((sum & 0xffff) + (sum >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: Packet = Packet {
        src: 0x0a09_0101,
        dst: 0x0a09_0201,
        sport: 50113,
        opcode: Opcode::WriteOnly,
        dst_qp: 31,
        psn: 0xbb_1b7a,
        ack_req: true,
        msn: 0,
    };

    #[test]
    fn frames_have_the_asked_length() {
        let mut frame = Vec::new();
        for (opcode, length) in [(Opcode::SendOnly, 134), (Opcode::WriteOnly, 134), (Opcode::Ack, 62)] {
            build(&Packet { opcode, ..PACKET }, 134, &mut frame);
            assert_eq!(frame.len(), length);
            assert_eq!(usize::from(u16::from_be_bytes([frame[16], frame[17]])), length - 14);
            assert_eq!(checksum(&frame[14..34]), 0);
        }
    }

    /// A captured frame (the first of a CM exchange) without its ICRC gives the ICRC it had.
    #[test]
    fn the_icrc_is_that_of_a_real_frame() {
        let bytes = include_bytes!("../../../captures/12c_rping_nolistener.e1.pcap");
        let length = u32::from_le_bytes([bytes[32], bytes[33], bytes[34], bytes[35]]) as usize;
        let frame = &bytes[40..40 + length];
        let (body, tail) = frame.split_at(length - 4);
        assert_eq!(icrc(body).to_le_bytes(), tail);
    }
}
