//! Packet block: what files of before 2009 hold in place of the enhanced one (appendix A).
//!
//! The same layout, but for a 16-bit interface number followed by a drop count.

use super::super::{Fault, Step};
use super::{Pcapng, epb, need, whole};

const PART: &str = "packet block";

impl Pcapng {
    #[cold]
    pub(super) fn packet(&mut self, ahead: &[u8]) -> Result<Step, Fault> {
        let Some(block) = whole(self.order, ahead, epb::LEAST, PART)? else { return need(self.order, ahead) };
        let interface = self.order.u16(block.bytes, epb::field::INTERFACE);
        self.stamped_packet(block, u32::from(interface), PART)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::{Order, Step};
    use super::*;
    use rocetop_parsers::Nanos;

    #[test]
    fn the_interface_is_16_bits_wide() {
        let mut pcapng = Pcapng { in_section: true, order: Order::Big, ..Pcapng::new() };
        pcapng.step(&[0, 0, 0, 1, 0, 0, 0, 20, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 20]).unwrap();
        #[rustfmt::skip]
        let block = [
            0, 0, 0, 2, 0, 0, 0, 36, 0, 0, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0, 60, 9, 0, 0, 0,
            0, 0, 0, 36,
        ];
        let Ok(Step::Record(record)) = pcapng.step(&block) else { panic!("no record") };
        assert_eq!((record.ts, record.iface, record.wire_len, record.data), (Some(Nanos(7000)), 0, 60, 28..29));
    }
}
