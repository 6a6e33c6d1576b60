//! Interface statistics block: what the capture itself knows to have missed (4.6).

use super::super::{Fault, Order, Step};
use super::option::Opt;
use super::{EMPTY_BLOCK, Pcapng, TRAILER, need, whole};

mod field {
    //! Offsets in the block.
    pub(super) const INTERFACE: usize = 8;
    pub(super) const OPTIONS: usize = 20; // after a time stamp
}

mod code {
    //! Options that matter here.
    pub(super) const IFDROP: u16 = 5;
    pub(super) const OSDROP: u16 = 7;
}

/// What Wireshark takes for a counter that nobody has read.
const UNKNOWN: u64 = u64::MAX;

const PART: &str = "interface statistics block";

impl Pcapng {
    /// Takes in what an interface's counters say. They count from the start of the capture on: the last one holds. What
    /// is odd about the block tells nothing, and ends nothing: no packet needs it.
    #[cold]
    pub(super) fn interface_statistics(&mut self, ahead: &[u8]) -> Result<Step, Fault> {
        let Some(block) = whole(self.order, ahead, EMPTY_BLOCK, PART)? else { return need(self.order, ahead) };
        let interface = self.base as usize + self.order.u32(block.bytes, field::INTERFACE) as usize;
        let mut rest = block.bytes.get(field::OPTIONS..block.bytes.len() - TRAILER).unwrap_or_default();
        let mut drops = None;
        while let Ok(Some(option)) = Opt::next(&mut rest, self.order, PART) {
            if let code::IFDROP | code::OSDROP = option.code
                && let Ok(raw) = option.fixed(PART)
            {
                let count = match self.order {
                    Order::Little => u64::from_le_bytes(raw),
                    Order::Big => u64::from_be_bytes(raw),
                };
                if count != UNKNOWN {
                    drops = Some(count.saturating_add(drops.unwrap_or(0)));
                }
            }
        }
        if let Some(all) = self.drops.get_mut(interface) {
            *all = drops.or(*all);
        }
        Ok(Step::Skip(block.total as usize))
    }

    /// Frames that the statistics of all interfaces count as missed; `None` where none of them tells.
    #[must_use]
    pub fn drops(&self) -> Option<u64> {
        self.drops.iter().flatten().copied().reduce(u64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Statistics of interface 0 with these options.
    fn block(options: &[(u16, &[u8])]) -> Vec<u8> {
        let mut body = vec![0; 12];
        for &(code, value) in options {
            body.extend(code.to_le_bytes());
            body.extend((value.len() as u16).to_le_bytes());
            body.extend(value);
        }
        let total = (body.len() as u32 + 12).to_le_bytes();
        [&[5, 0, 0, 0][..], &total, &body, &total].concat()
    }

    #[test]
    fn counts_what_was_missed() {
        let mut pcapng = Pcapng { in_section: true, ..Pcapng::new() };
        // Of an interface that nobody has described.
        assert_eq!(pcapng.step(&block(&[(5, &[7, 0, 0, 0, 0, 0, 0, 0])])), Ok(Step::Skip(36)));
        assert_eq!(pcapng.drops(), None);
        pcapng.step(&[1, 0, 0, 0, 20, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0]).unwrap();
        // Received alone tells nothing about drops.
        let received = 9u64.to_le_bytes();
        assert_eq!(pcapng.step(&block(&[(4, &received)])), Ok(Step::Skip(36)));
        assert_eq!(pcapng.drops(), None);
        pcapng.step(&block(&[(5, &[0xff; 8])])).unwrap();
        assert_eq!(pcapng.drops(), None);
        let (seven, two) = (7u64.to_le_bytes(), 2u64.to_le_bytes());
        pcapng.step(&block(&[(5, &seven), (7, &two)])).unwrap();
        assert_eq!(pcapng.drops(), Some(9));
        pcapng.step(&block(&[(5, &9u64.to_le_bytes()), (7, &two)])).unwrap();
        assert_eq!(pcapng.drops(), Some(11));
        assert_eq!(pcapng.step(&block(&[(5, &[0; 4])])), Ok(Step::Skip(32)));
        assert_eq!(pcapng.step(&[5, 0, 0, 0, 12, 0, 0, 0, 12, 0, 0, 0]), Ok(Step::Skip(12)));
        assert_eq!(pcapng.drops(), Some(11));
    }
}
