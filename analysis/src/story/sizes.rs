//! How large the messages are.

use rocetop_parsers::Psn;

use super::report::Sizes as Report;

/// Sizes of the messages whose ends were seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    /// First PSN of the message that is under way.
    begun: Option<Psn>,
    least: u32,
    most: u32,
    count: u32,
    sum: u64,
}

impl Default for Sizes {
    fn default() -> Self {
        Self { begun: None, least: u32::MAX, most: 0, count: 0, sum: 0 }
    }
}

/// What a request says of its message's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// It is the whole of it, or asks for it: so many bytes.
    Whole(u32),
    /// Its first packet.
    First,
    /// One of those between.
    Middle,
    /// Its last packet, with so many bytes; all before it are as large as the path MTU, where that is known.
    Last(u32, Option<u32>),
}

impl Sizes {
    /// A request seen for the first time.
    #[inline(always)]
    pub(super) fn add(&mut self, psn: Psn, part: Part) {
        match part {
            Part::Whole(bytes) => self.measured(bytes),
            Part::First => self.begun = Some(psn),
            Part::Middle => {}
            Part::Last(bytes, mtu) => {
                // By its PSNs: what a hole lacks counts, too.
                if let Some((begun, mtu)) = self.begun.take().zip(mtu) {
                    let packets = (psn - begun).max(0).unsigned_abs();
                    self.measured(packets.saturating_mul(mtu).saturating_add(bytes));
                }
            }
        }
    }

    fn measured(&mut self, bytes: u32) {
        self.least = self.least.min(bytes);
        self.most = self.most.max(bytes);
        self.count = self.count.saturating_add(1);
        self.sum += u64::from(bytes);
    }

    pub(super) fn report(&self) -> Option<Report> {
        let mean = self.sum.checked_div(u64::from(self.count))?;
        Some(Report { count: u64::from(self.count), min: self.least, mean, max: self.most })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_as_long_as_its_psns_and_its_last_packet_say() {
        let mut sizes = Sizes::default();
        assert_eq!(sizes.report(), None);
        sizes.add(Psn::new(0xff_ffff), Part::First);
        // PSN 0 was lost.
        sizes.add(Psn::new(1), Part::Middle);
        sizes.add(Psn::new(2), Part::Last(100, Some(1024)));
        sizes.add(Psn::new(3), Part::Whole(8));
        assert_eq!(sizes.report(), Some(Report { count: 2, min: 8, mean: 1590, max: 3172 }));
    }

    #[test]
    fn what_cannot_be_told_is_not_measured() {
        let mut sizes = Sizes::default();
        sizes.add(Psn::new(5), Part::Last(100, Some(1024)));
        sizes.add(Psn::new(6), Part::First);
        sizes.add(Psn::new(7), Part::Last(100, None));
        assert_eq!(sizes.report(), None);
    }
}
