//! Interface description block: link type, snap length, name and clock (4.2).

use super::super::{Fault, Interface, LinkType, MAX_INTERFACES, Order, Step, What, record_limit};
use super::option::Opt;
use super::{Clock, Pcapng, Port, TRAILER, need, whole};

/// Bytes of the block without options.
pub const LEAST: u32 = 20;
/// Bytes of a name that are kept; Linux allows 15.
const NAME_KEPT: usize = 255;

mod field {
    //! Offsets in the block.
    pub(super) const LINK_TYPE: usize = 8;
    pub(super) const SNAPLEN: usize = 12;
    pub(super) const OPTIONS: usize = 16;
}

mod code {
    //! Options that matter here.
    pub(super) const NAME: u16 = 2;
    pub(super) const TSRESOL: u16 = 9;
    pub(super) const TSOFFSET: u16 = 14;
}

const PART: &str = "interface description block";

impl Pcapng {
    /// Adds an interface to the section.
    #[cold]
    pub(super) fn interface_description(&mut self, ahead: &[u8]) -> Result<Step, Fault> {
        let Some(block) = whole(self.order, ahead, LEAST, PART)? else { return need(self.order, ahead) };
        if self.interfaces.len() >= MAX_INTERFACES {
            return Err(Fault::new(PART, What::TooManyInterfaces { limit: MAX_INTERFACES }));
        }
        let link_type = LinkType(self.order.u16(block.bytes, field::LINK_TYPE));
        let snaplen = self.order.u32(block.bytes, field::SNAPLEN);
        let (mut name, mut resolution, mut offset) = (None, 6, 0);
        let mut rest = block.bytes.get(field::OPTIONS..block.bytes.len() - TRAILER).unwrap_or_default();
        while let Some(option) = Opt::next(&mut rest, self.order, PART)? {
            match option.code {
                code::NAME => name = Some(text(option.value)),
                code::TSRESOL => [resolution] = option.fixed(PART)?,
                code::TSOFFSET => {
                    let raw = option.fixed(PART)?;
                    offset = match self.order {
                        Order::Little => i64::from_le_bytes(raw),
                        Order::Big => i64::from_be_bytes(raw),
                    };
                }
                _ => {}
            }
        }
        self.interfaces.push(Interface { link_type, snaplen, name });
        self.drops.push(None);
        self.ports.push(Port {
            clock: Clock::new(resolution, offset),
            link: link_type.link(),
            snaplen,
            limit: record_limit(snaplen),
        });
        Ok(Step::Skip(block.total as usize))
    }
}

/// A name as text. What is no UTF-8 is replaced, zeros that some writers append are dropped.
fn text(value: &[u8]) -> Box<str> {
    let value = value.get(..NAME_KEPT).unwrap_or(value);
    String::from_utf8_lossy(value).trim_end_matches('\0').into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rocetop_parsers::{Link, Nanos};

    #[test]
    fn reads_name_and_clock() {
        let mut pcapng = Pcapng { in_section: true, order: Order::Big, ..Pcapng::new() };
        #[rustfmt::skip]
        let block = [
            0, 0, 0, 1, 0, 0, 0, 48, 1, 20, 0, 0, 0, 0, 0, 96,
            0, 2, 0, 4, b'e', b't', b'h', b'0', 0, 9, 0, 1, 9, 0, 0, 0,
            0, 14, 0, 8, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 48,
        ];
        assert_eq!(pcapng.step(&block), Ok(Step::Skip(48)));
        let expected = Interface { link_type: LinkType(276), snaplen: 96, name: Some("eth0".into()) };
        assert_eq!(pcapng.interfaces(), [expected]);
        assert_eq!(pcapng.ports[0].link, Some(Link::LinuxCooked2));
        assert_eq!(pcapng.ports[0].clock.at(5), Nanos(2_000_000_005));
    }

    #[test]
    fn names_are_cleaned() {
        assert_eq!(&*text(b"eth0\0\0"), "eth0");
        assert_eq!(&*text(b"\xffth"), "\u{fffd}th");
        assert_eq!(text(&[b'a'; 300]).len(), NAME_KEPT);
    }
}
