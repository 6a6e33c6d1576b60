//! pcapng: blocks in sections, one file a block kind.
//!
//! Source: draft-ietf-opsawg-pcapng. A section header sets the byte order, interface descriptions give link type and
//! clock, packet blocks refer to interfaces by their position in the section. Blocks of other kinds are passed over
//! (3.1: "must be ignored when not understood").

pub mod clock;
pub mod epb;
pub mod idb;
pub mod isb;
pub mod option;
pub mod pb;
pub mod shb;
pub mod spb;
pub mod write;

use rocetop_parsers::Link;

pub use clock::Clock;
pub use write::Writer;

use super::{Fault, Format, Interface, MAX_BLOCK, MAX_SKIP, Order, Step, What};

/// Section header block. The same in both byte orders.
pub const SHB: u32 = 0x0a0d_0d0a;
/// Interface description block.
pub const IDB: u32 = 1;
/// Packet block, obsolete.
pub const PB: u32 = 2;
/// Simple packet block.
pub const SPB: u32 = 3;
/// Interface statistics block.
pub const ISB: u32 = 5;
/// Enhanced packet block.
pub const EPB: u32 = 6;

/// Bytes of a block without a body: kind, length, and the length again behind it.
pub const EMPTY_BLOCK: u32 = 12;
/// Bytes before the body of a block.
const HEAD: usize = 8;
/// Bytes behind the body of a block.
const TRAILER: usize = 4;

/// What the packets of one interface of the current section need.
#[derive(Clone, Debug)]
struct Port {
    clock: Clock,
    link: Option<Link>,
    snaplen: u32,
    limit: u32,
}

/// The decoder of pcapng.
#[derive(Clone, Debug)]
pub struct Pcapng {
    order: Order,
    in_section: bool,
    /// The length of a block that was passed over, until its trailer has confirmed it.
    unconfirmed: Option<u32>,
    /// Index in the file of the section's first interface.
    base: u32,
    ports: Vec<Port>,
    interfaces: Vec<Interface>,
    /// Frames that were missed, as the statistics of each of them say.
    drops: Vec<Option<u64>>,
}

impl Default for Pcapng {
    fn default() -> Self {
        Self::new()
    }
}

impl Pcapng {
    /// A decoder at the start of a file.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            order: Order::Little,
            in_section: false,
            unconfirmed: None,
            base: 0,
            ports: Vec::new(),
            interfaces: Vec::new(),
            drops: Vec::new(),
        }
    }

    /// Takes one step over `ahead`; see [`super::Decoder::step`].
    ///
    /// # Errors
    /// [`Fault`] where the bytes are no block of the section.
    #[inline(always)]
    pub fn step(&mut self, ahead: &[u8]) -> Result<Step, Fault> {
        if let Some(head) = self.unconfirmed {
            return self.confirm(head, ahead);
        }
        if ahead.len() < HEAD {
            return Ok(Step::Need(HEAD));
        }
        match self.order.u32(ahead, 0) {
            EPB if self.in_section => self.enhanced_packet(ahead),
            SHB => self.section_header(ahead),
            kind if !self.in_section => Err(Fault::new("pcapng block", What::NotASection { kind })),
            IDB => self.interface_description(ahead),
            SPB => self.simple_packet(ahead),
            PB => self.packet(ahead),
            ISB => self.interface_statistics(ahead),
            kind => self.pass_over(kind, ahead),
        }
    }

    /// Whether a file may end at the current position: between blocks, behind a section header.
    #[must_use]
    pub const fn may_end(&self) -> bool {
        self.in_section && self.unconfirmed.is_none()
    }

    /// The interfaces of all sections so far.
    #[must_use]
    pub fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    /// The interface of a packet, by its number in the section: what its packets need, and its index in the file.
    #[inline(always)]
    fn port(&self, number: u32, part: &'static str) -> Result<(&Port, u32), Fault> {
        match self.ports.get(number as usize) {
            Some(port) => Ok((port, self.base + number)),
            None => Err(Fault::new(part, What::NoInterface { wanted: number, known: self.ports.len() })),
        }
    }

    /// Passes over a block of unknown kind without looking inside, however little of it is there.
    #[cold]
    fn pass_over(&mut self, kind: u32, ahead: &[u8]) -> Result<Step, Fault> {
        const PART: &str = "pcapng block";
        let total = self.order.u32(ahead, 4);
        if kind == 0 && total == 0 {
            return Err(Fault::new(PART, What::Zeros));
        }
        if let Some(format @ Format::Pcap) = Format::detect(ahead.get(..4).unwrap_or_default()) {
            return Err(Fault::new(PART, What::AnotherCapture { format }));
        }
        check_length(total, EMPTY_BLOCK, MAX_SKIP, PART)?;
        self.unconfirmed = Some(total);
        Ok(Step::Skip(total as usize - TRAILER))
    }

    #[cold]
    fn confirm(&mut self, head: u32, ahead: &[u8]) -> Result<Step, Fault> {
        if ahead.len() < TRAILER {
            return Ok(Step::Need(TRAILER));
        }
        check_trailer(head, self.order.u32(ahead, 0), "pcapng block trailer")?;
        self.unconfirmed = None;
        Ok(Step::Skip(TRAILER))
    }
}

/// A block that is all there and whose two lengths agree.
#[derive(Clone, Copy)]
struct Block<'a> {
    /// All of it, from its kind to its trailer.
    bytes: &'a [u8],
    total: u32,
}

/// The block at the start of `ahead`, of at least `least` bytes; `None` while it is not all there (see [`need`]).
#[inline(always)]
fn whole<'a>(order: Order, ahead: &'a [u8], least: u32, part: &'static str) -> Result<Option<Block<'a>>, Fault> {
    let total = order.u32(ahead, 4);
    check_length(total, least, MAX_BLOCK, part)?;
    let Some(bytes) = ahead.get(..total as usize) else { return Ok(None) };
    check_trailer(total, order.u32(bytes, total as usize - TRAILER), part)?;
    Ok(Some(Block { bytes, total }))
}

/// The wish for all of a block whose length [`whole`] has checked.
#[cold]
fn need(order: Order, ahead: &[u8]) -> Result<Step, Fault> {
    Ok(Step::Need(order.u32(ahead, 4) as usize))
}

#[inline(always)]
fn check_length(claimed: u32, least: u32, most: u32, part: &'static str) -> Result<(), Fault> {
    if claimed < least || claimed > most {
        return Err(Fault::new(part, What::BlockLength { claimed, least, most }));
    }
    if !claimed.is_multiple_of(4) {
        return Err(Fault::new(part, What::BlockAlignment { claimed }));
    }
    Ok(())
}

#[inline(always)]
fn check_trailer(head: u32, trailer: u32, part: &'static str) -> Result<(), Fault> {
    if head == trailer { Ok(()) } else { Err(Fault::new(part, What::BlockTrailer { head, trailer })) }
}

/// The checks that packet blocks share: `captured` bytes must be plausible and lie in the block behind `fixed` bytes.
#[inline(always)]
fn check_captured(captured: u32, limit: u32, block: Block<'_>, fixed: usize, part: &'static str) -> Result<(), Fault> {
    let room = block.total - (fixed + TRAILER) as u32;
    if captured > limit {
        return Err(Fault::new(part, What::CapturedBytes { claimed: captured, limit }));
    }
    if captured > room {
        return Err(Fault::new(part, What::DataBeyondBlock { captured, room }));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rocetop_parsers::{Bytes, Nanos};

    const SECTION: &[u8] = &[
        0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
        0xff, 0xff, 28, 0, 0, 0,
    ];
    const INTERFACE: &[u8] = &[1, 0, 0, 0, 20, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0];
    const PACKET: &[u8] = &[
        6, 0, 0, 0, 36, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 3, 0, 0, 0, 60, 0, 0, 0, b'a', b'b', b'c', 0, 36,
        0, 0, 0,
    ];

    fn opened() -> Pcapng {
        let mut pcapng = Pcapng::new();
        assert_eq!(pcapng.step(SECTION), Ok(Step::Skip(28)));
        pcapng
    }

    #[test]
    fn takes_a_file_apart() {
        let mut pcapng = opened();
        assert!(pcapng.may_end());
        assert_eq!(pcapng.step(INTERFACE), Ok(Step::Skip(20)));
        let Ok(Step::Record(record)) = pcapng.step(PACKET) else { panic!("no record") };
        assert_eq!((record.ts, record.wire_len, record.data, record.used), (Some(Nanos(7000)), 60, 28..31, 36));
    }

    #[test]
    fn a_packet_before_any_interface_is_a_fault() {
        let fault = opened().step(PACKET).unwrap_err();
        assert_eq!((fault.offset, fault.what), (Bytes(0), What::NoInterface { wanted: 0, known: 0 }));
    }

    #[test]
    fn a_block_before_any_section_is_a_fault() {
        assert_eq!(Pcapng::new().step(PACKET).unwrap_err().what, What::NotASection { kind: 6 });
    }

    #[test]
    fn unknown_blocks_are_passed_over_and_confirmed() {
        let mut pcapng = opened();
        let block = [0xad, 0x0b, 0, 0, 16, 0, 0, 0, 1, 2, 3, 4, 16, 0, 0, 0];
        assert_eq!(pcapng.step(&block[..8]), Ok(Step::Skip(12)));
        assert!(!pcapng.may_end());
        assert_eq!(pcapng.step(&block[12..13]), Ok(Step::Need(4)));
        assert_eq!(pcapng.step(&block[12..]), Ok(Step::Skip(4)));
        assert!(pcapng.may_end());
        pcapng.step(&block).unwrap();
        let fault = pcapng.step(&[17, 0, 0, 0]).unwrap_err();
        assert_eq!(fault.what, What::BlockTrailer { head: 16, trailer: 17 });
    }

    #[test]
    fn impossible_lengths() {
        for (kind, least, most) in [
            (0x0bad, 12, MAX_SKIP),
            (EPB, 32, MAX_BLOCK),
            (SPB, 16, MAX_BLOCK),
            (PB, 32, MAX_BLOCK),
            (IDB, 20, MAX_BLOCK),
        ] {
            for claimed in [0, 8, least - 4, most + 4, u32::MAX - 3] {
                let head: Vec<u8> = [kind, claimed].iter().flat_map(|n| n.to_le_bytes()).collect();
                let fault = opened().step(&head).unwrap_err();
                assert_eq!(fault.what, What::BlockLength { claimed, least, most });
            }
        }
        assert_eq!(opened().step(&[0; 8]).unwrap_err().what, What::Zeros);
        assert_eq!(opened().step(&[6, 0, 0, 0, 33, 0, 0, 0]).unwrap_err().what, What::BlockAlignment { claimed: 33 });
    }
}
