//! What frames weigh. Every byte takes time on a cable; preamble and gap take none in a buffer.

use crate::units::Bytes;

/// Ethernet 14 + IPv4 20 + UDP 8 + BTH 12 (IBTA 9.2) + ICRC 4 (IBTA 7.8.1) + FCS 4.
pub const HEADERS: u32 = 14 + 20 + 8 + 12 + 4 + 4;
/// The RETH of the first packet of an RDMA WRITE (IBTA 9.3.3).
pub const RETH: u32 = 16;
/// An acknowledgement or NAK: headers and AETH (IBTA 9.3.5).
pub const ACK: u32 = HEADERS + 4;
/// What telemetry adds to data and its ACK: five hops' worth, on every way (HPCC, SIGCOMM 2019).
pub const INT: u32 = 42;
/// A congestion notification: headers and 16 reserved bytes (IBTA annex A17).
pub const CNP: u32 = HEADERS + 16;
/// A PFC frame: the smallest that Ethernet has (IEEE 802.3, annex 31D and 4.4.2).
pub const PAUSE: u32 = 64;
/// A frame that tells credits: as short as Ethernet allows, declared.
pub const CREDIT: u32 = 64;
/// Preamble and start delimiter 8, gap between frames 12 (IEEE 802.3, 3.1.1 and 4.4.2).
pub const GAP: u32 = 8 + 12;

/// Bytes that a cable carries for a message of `bytes` in packets of `mtu`, headers and gaps included; no more than can
/// be counted.
#[must_use]
pub const fn message(bytes: Bytes, mtu: Bytes) -> Bytes {
    let packets = bytes.0.div_ceil(if mtu.0 == 0 { 1 } else { mtu.0 });
    Bytes(bytes.0.saturating_add(packets.saturating_mul((HEADERS + GAP) as u64)).saturating_add(RETH as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_weighs_more_than_its_payload() {
        assert_eq!([HEADERS, ACK, CNP, HEADERS + GAP], [62, 66, 78, 82]);
        assert_eq!(message(Bytes(4096), Bytes(4096)), Bytes(4096 + 82 + 16));
        assert_eq!(message(Bytes(4097), Bytes(1000)), Bytes(4097 + 5 * 82 + 16));
        assert_eq!(message(Bytes(u64::MAX), Bytes(1)), Bytes(u64::MAX));
    }
}
