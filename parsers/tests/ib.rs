//! The InfiniBand layer as a whole: every opcode's packet is built by the builders, read by `fill`, cut at every byte,
//! and bent at every bit.

use proptest::prelude::*;
use rocetop_parsers::facts::{Class, Flags};
use rocetop_parsers::ib::aeth::{Aeth, Syndrome};
use rocetop_parsers::ib::atomic_ack_eth::AtomicAckEth;
use rocetop_parsers::ib::atomic_eth::AtomicEth;
use rocetop_parsers::ib::bth::Bth;
use rocetop_parsers::ib::deth::Deth;
use rocetop_parsers::ib::feth::Feth;
use rocetop_parsers::ib::ieth::Ieth;
use rocetop_parsers::ib::imm_dt::ImmDt;
use rocetop_parsers::ib::opcode::{Opcode, Traits};
use rocetop_parsers::ib::rdeth::Rdeth;
use rocetop_parsers::ib::reth::Reth;
use rocetop_parsers::ib::transport::{fill, plausible};
use rocetop_parsers::ib::xrceth::Xrceth;
use rocetop_parsers::icrc::{Icrc, Table, check};
use rocetop_parsers::{Cut, Facts, Layer, Psn, Qpn, detail};

const DST: Qpn = Qpn(0x12_3456);
const SRC: Qpn = Qpn(0x65_4321);
const PSN: u32 = 0xff_fffe;
const DMA_LEN: u32 = 0x1_0001;
const IMM: u32 = 0xdead_beef;
/// Bytes in front of the BTH.
const AT: usize = 42;

/// A packet of `opcode` with `payload` bytes, from the first header to the ICRC, and where its payload begins.
fn packet(opcode: Opcode, payload: usize) -> (Vec<u8>, usize) {
    let pad = payload.wrapping_neg() & 3;
    let mut bytes = vec![0x45; AT];
    bytes.extend(Bth::new(opcode, DST, Psn::new(PSN)).with_ack_req(true).with_pad(pad as u8).bytes());
    let traits = opcode.traits();
    if traits.has(Traits::RDETH) {
        bytes.extend(Rdeth::new(7).bytes());
    }
    if traits.has(Traits::DETH) {
        bytes.extend(Deth::new(0x1111_1111, SRC).bytes());
    }
    if traits.has(Traits::XRCETH) {
        bytes.extend(Xrceth::new(9).bytes());
    }
    if traits.has(Traits::FETH) {
        bytes.extend(Feth::new(Feth::PERSISTENT, 0).bytes());
    }
    if traits.has(Traits::RETH) {
        bytes.extend(Reth::new(0x7f00_0000_1000, 0x1234, DMA_LEN).bytes());
    }
    if traits.has(Traits::ATOMIC_ETH) {
        bytes.extend(AtomicEth::new(0x7f00_0000_1000, 0x1234, 1, 2).bytes());
    }
    if traits.has(Traits::AETH) {
        bytes.extend(aeth().bytes());
    }
    if traits.has(Traits::ATOMIC_ACK_ETH) {
        bytes.extend(AtomicAckEth(5).bytes());
    }
    if traits.has(Traits::IMM) {
        bytes.extend(ImmDt(IMM).bytes());
    }
    if traits.has(Traits::IETH) {
        bytes.extend(Ieth(IMM).bytes());
    }
    let body = bytes.len();
    bytes.resize(body + payload + pad + 4, 0xaa);
    (bytes, body)
}

fn aeth() -> Aeth {
    Aeth::new(Syndrome::RnrNak(12), 0xabcdef)
}

/// What must be read of it; `whole` tells whether the extended headers are.
fn expected(opcode: Opcode, payload: usize, end: usize, whole: bool) -> Facts {
    let traits = opcode.traits();
    let value = |what: u16, value: u32| if whole && traits.any(what) { value } else { 0 };
    Facts {
        opcode,
        psn: Psn::new(PSN),
        dst_qp: DST,
        src_qp: Qpn(value(Traits::DETH, SRC.0)),
        aeth: Aeth(value(Traits::AETH, aeth().0)),
        dma_len: value(Traits::RETH, DMA_LEN),
        imm: value(Traits::IMM | Traits::IETH, IMM),
        payload: payload as u32,
        end: end as u32,
        bth: AT as u16,
        pkey: 0xffff,
        flags: Flags::ACK_REQ
            .with(Flags::RESERVED_CLEAR)
            .when(whole, Flags::EXTENDED)
            .when(whole && traits.any(Traits::IMM | Traits::IETH), Flags::IMM),
        ..Facts::default()
    }
}

#[test]
fn every_opcode() {
    for opcode in (0..=u8::MAX).map(Opcode) {
        for payload in 0..10 {
            let (bytes, _) = packet(opcode, payload);
            let mut facts = Facts::default();
            assert_eq!(fill(&bytes[..], AT, bytes.len(), &mut facts), Ok(()));
            assert_eq!(facts, expected(opcode, payload, bytes.len(), true), "{opcode}");
        }
    }
}

#[test]
fn every_opcode_cut_at_every_byte() {
    for opcode in (0..=u8::MAX).map(Opcode) {
        let (bytes, body) = packet(opcode, 5);
        for had in 0..bytes.len() {
            let mut facts = Facts::default();
            let result = fill(&bytes[..had], AT, bytes.len(), &mut facts);
            if had < AT + Bth::LEN {
                assert_eq!(result, Err(Cut::new(Layer::Bth, AT, Bth::LEN, had.saturating_sub(AT))));
                assert_eq!(facts, Facts::default());
            } else {
                assert_eq!(facts, expected(opcode, 5, bytes.len(), had >= body), "{opcode} {had}");
            }
        }
    }
}

/// The end that the network header gives may lie anywhere, too.
#[test]
fn every_opcode_with_every_end() {
    for opcode in (0..=u8::MAX).map(Opcode) {
        let (bytes, body) = packet(opcode, 4);
        for end in 0..bytes.len() + 8 {
            let mut facts = Facts::default();
            assert_eq!(fill(&bytes[..], AT, end, &mut facts), Ok(()));
            let payload = end.saturating_sub(body + 4);
            let whole = body == AT + Bth::LEN || end >= body + 4;
            assert_eq!(facts, expected(opcode, payload, end, whole), "{opcode} {end}");
        }
    }
}

#[test]
fn flags_of_the_layers_below_stay() {
    let (bytes, _) = packet(Opcode(0x0a), 0);
    let mut facts = Facts { flags: Flags::CUT.with(Flags::VLAN), ..Facts::default() };
    fill(&bytes[..], AT, bytes.len(), &mut facts).unwrap();
    assert!(facts.flags.has(Flags::CUT.with(Flags::VLAN).with(Flags::EXTENDED)));
}

proptest! {
    /// No bytes, offsets or lengths make any of it panic.
    #[test]
    fn anything(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        at in 0usize..310,
        end in prop_oneof![0usize..320, any::<usize>()],
        l3: u16,
        class in prop::sample::select(vec![Class::RoceV2, Class::RoceV1, Class::Infiniband, Class::Other]),
    ) {
        let mut facts = Facts { class, l3, ..Facts::default() };
        let read = fill(&bytes[..], at, end, &mut facts);
        prop_assert_eq!(read.is_ok(), at + Bth::LEN <= bytes.len());
        let _ = detail(&bytes[..], &facts);
        let icrc = check(&bytes, &facts, &Table);
        if facts.end as usize > bytes.len() {
            prop_assert_eq!(icrc, Icrc::Unknown);
        }
        let _ = plausible(&facts, icrc);
    }

    /// A management datagram with anything in it.
    #[test]
    fn any_datagram(body in prop::collection::vec(any::<u8>(), 256), attribute in 0x0fu8..0x1c, had in 0usize..280) {
        let mut bytes = Bth::new(Opcode::UD_SEND_ONLY, Qpn::GSI, Psn::new(0)).bytes().to_vec();
        bytes.extend(Deth::new(Deth::GSI_QKEY, Qpn::GSI).bytes());
        bytes.extend(body);
        bytes.extend([0; 4]);
        (bytes[21], bytes[36], bytes[37]) = (7, 0, attribute);
        let mut facts = Facts { class: Class::RoceV2, ..Facts::default() };
        fill(&bytes[..], 0, bytes.len(), &mut facts).unwrap();
        prop_assert!(detail(&bytes[..], &facts).is_some());
        if let Some(detail) = detail(&bytes[..had], &facts) {
            prop_assert!(!detail.to_string().is_empty());
        }
    }
}

/// One bit at a time, in packets with the most headers.
#[test]
fn bent_at_every_bit() {
    for opcode in [0x0b, 0x12, 0x1c, 0x4b, 0x53, 0x65, 0xab, 0xb7].map(Opcode) {
        let (bytes, _) = packet(opcode, 3);
        for bit in 0..bytes.len() * 8 {
            let mut bytes = bytes.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let mut facts = Facts { class: Class::RoceV2, l3: 14, ..Facts::default() };
            fill(&bytes[..], AT, bytes.len(), &mut facts).unwrap();
            let _ = (check(&bytes, &facts, &Table), detail(&bytes[..], &facts));
        }
    }
}
