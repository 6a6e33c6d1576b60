//! Hash functions of switches, and the header fields that go into them.
//!
//! A hash is taken once, where a packet is made; a switch adds its seed to those 32 bits. That is exact for the linear
//! hashes (a CRC's start value, an XOR's constant): on messages of one length a different start value changes every
//! result by the same bits. For the same reason seeds do not undo their polarisation (Zhang et al.: "Hashing linearity
//! enables relative path control in data centers", USENIX ATC 2021): flows that agreed at one switch agree at the next.

use super::Key;
use crate::rng::mix;
use rocetop_parsers::icrc::{Crc32, Table};

/// A hash function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Hash {
    /// A 64-bit mixer: as good as chance, and every seed makes a different one of it.
    #[default]
    Mix,
    /// CRC-32 of Ethernet (polynomial 0x04c11db7).
    Crc32,
    /// CRC-16 (polynomial 0x1021, as in CCITT).
    Crc16,
    /// All 16-bit words of the fields XORed: cheap, and blind to fields that change together.
    Xor,
}

/// Which header fields go in. The destination port is always 4791 and the protocol UDP: they would add nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields {
    /// Both addresses.
    pub addresses: bool,
    /// The UDP source port.
    pub sport: bool,
    /// The destination queue pair (E-ECMP: a user-defined field of the switch).
    pub qp: bool,
    /// The packet sequence number: packets of one queue pair go different ways.
    pub psn: bool,
}

impl Fields {
    /// Both addresses alone (SYSTEMS R9): all between two hosts goes one way.
    pub const PAIR: Self = Self { addresses: true, sport: false, qp: false, psn: false };
    /// The 5-tuple.
    pub const TUPLE: Self = Self { sport: true, ..Self::PAIR };
    /// The 5-tuple and the destination queue pair.
    pub const TUPLE_QP: Self = Self { qp: true, ..Self::TUPLE };
    /// Addresses, destination queue pair and PSN (SYSTEMS R4).
    pub const PACKET: Self = Self { addresses: true, sport: false, qp: true, psn: true };

    /// The chosen fields as they stand in a packet; the others are zero, which no hash minds.
    fn bytes(self, key: &Key) -> [u8; 16] {
        let pick = |yes: bool, n: u32| if yes { n } else { 0 };
        let [a, b, c, d] = pick(self.addresses, key.src.0).to_be_bytes();
        let [e, f, g, h] = pick(self.addresses, key.dst.0).to_be_bytes();
        let [_, _, i, j] = pick(self.sport, u32::from(key.sport)).to_be_bytes();
        let [_, k, l, m] = pick(self.qp, key.qp.0).to_be_bytes();
        let [_, n, o, p] = pick(self.psn, key.psn.get()).to_be_bytes();
        [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p]
    }
}

impl Hash {
    /// The hash of the fields of a packet, before any seed.
    #[must_use]
    pub fn of(self, fields: Fields, key: &Key) -> u32 {
        let bytes = fields.bytes(key);
        match self {
            Self::Mix => {
                let all = u128::from_be_bytes(bytes);
                mix(mix((all >> 64) as u64) ^ all as u64) as u32
            }
            // The start value is the seed's: zero here. `update` takes and gives the inverted register.
            Self::Crc32 => !Table.update(!0, &bytes),
            Self::Crc16 => u32::from(crc16(&bytes)),
            Self::Xor => u32::from(bytes.chunks_exact(2).fold(0, |sum, pair| match pair {
                &[high, low] => sum ^ u16::from_be_bytes([high, low]),
                _ => sum,
            })),
        }
    }

    /// What a switch with `seed` makes of it: a number whose high bits choose.
    #[must_use]
    #[inline]
    pub fn at(self, seed: u64, hash: u32) -> u32 {
        match self {
            Self::Mix => (mix(seed ^ u64::from(hash)) >> 32) as u32,
            // Switches divide and keep the remainder: of a power of two that is the low bits, here in another order.
            Self::Crc32 | Self::Crc16 | Self::Xor => (hash ^ seed as u32).reverse_bits(),
        }
    }
}

/// CRC-16 with a start value of zero.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ u16::from(*byte) << 8, |crc, _| crc << 1 ^ if crc & 0x8000 == 0 { 0 } else { 0x1021 })
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::key;
    use super::*;
    use crate::topology::HostId;
    use crate::units::{Psn, Qpn};

    #[test]
    fn crc16_of_the_check_string() {
        // "CRC-16/XMODEM" in the catalogue of parametrised CRC algorithms (reveng).
        assert_eq!(crc16(b"123456789"), 0x31c3);
    }

    #[test]
    fn fields_that_are_out_do_not_matter() {
        for hash in [Hash::Mix, Hash::Crc32, Hash::Crc16, Hash::Xor] {
            let a = key(5);
            let b = Key { sport: a.sport ^ 1, ..a };
            assert_ne!(hash.of(Fields::TUPLE, &a), hash.of(Fields::TUPLE, &b));
            assert_eq!(hash.of(Fields::PAIR, &a), hash.of(Fields::PAIR, &b));
            let c = Key { qp: Qpn(77), ..a };
            assert_eq!(hash.of(Fields::TUPLE, &a), hash.of(Fields::TUPLE, &c));
            assert_ne!(hash.of(Fields::TUPLE_QP, &a), hash.of(Fields::TUPLE_QP, &c));
            let d = Key { psn: Psn::new(a.psn.get() + 1), ..a };
            assert_ne!(hash.of(Fields::PACKET, &a), hash.of(Fields::PACKET, &d));
        }
    }

    #[test]
    fn an_xor_is_blind_to_what_changes_together() {
        let a = Key { src: HostId(1), dst: HostId(2), ..key(0) };
        let b = Key { src: HostId(2), dst: HostId(1), ..a };
        assert_eq!(Hash::Xor.of(Fields::PAIR, &a), Hash::Xor.of(Fields::PAIR, &b));
        assert_ne!(Hash::Crc32.of(Fields::PAIR, &a), Hash::Crc32.of(Fields::PAIR, &b));
    }
}
