//! How far the responder says that it has come: messages completed, and how many more it has room for.

use rocetop_parsers::Psn;
use rocetop_parsers::ib::aeth::{Aeth, Syndrome};

/// What the AETHs of a flow's answers said.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    /// First and highest MSN, 24 bits each like a PSN.
    msn: Option<(Psn, Psn)>,
    /// Least credit code; that of no limit before any.
    credits: u8,
}

impl Default for Progress {
    fn default() -> Self {
        Self { msn: None, credits: UNLIMITED }
    }
}

/// The credit code of a responder that counts none (IBTA 9.7.5.1.4).
const UNLIMITED: u8 = 31;

impl Progress {
    #[inline(always)]
    pub(super) fn answered(&mut self, aeth: Aeth) {
        let msn = Psn::new(aeth.msn());
        match &mut self.msn {
            Some((_, highest)) if msn - *highest > 0 => *highest = msn,
            Some(_) => {}
            None => self.msn = Some((msn, msn)),
        }
        if let Syndrome::Ack(code) = aeth.syndrome() {
            self.credits = self.credits.min(code);
        }
    }

    /// The highest MSN.
    pub(super) fn msn(&self) -> Option<Psn> {
        self.msn.map(|(_, highest)| highest)
    }

    /// Messages completed between the first answer and the last; `None` without an answer.
    pub(super) fn completed(&self) -> Option<u32> {
        self.msn.map(|(first, highest)| (highest - first).max(0).unsigned_abs())
    }

    /// The fewest receive requests that the responder ever had room for; `None` where it sets no limit.
    pub(super) fn credits(&self) -> Option<u32> {
        // Steps of a half octave (IBTA table "credit field encoding"; Linux `drivers/infiniband/sw/rdmavt/rc.c`).
        let code = u32::from(self.credits);
        match code {
            31.. => None,
            0..2 => Some(code),
            _ if code % 2 == 0 => Some(1 << (code / 2)),
            _ => Some(3 << ((code - 3) / 2)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credits(code: u8) -> Option<u32> {
        Progress { credits: code, ..Progress::default() }.credits()
    }

    #[test]
    fn credit_codes() {
        let codes = [0, 1, 2, 3, 4, 5, 6, 7, 8, 29, 30];
        let known = [0, 1, 2, 3, 4, 6, 8, 12, 16, 24_576, 32_768];
        assert_eq!(codes.map(credits), known.map(Some));
        assert_eq!(credits(31), None);
    }

    #[test]
    fn messages_are_counted_over_the_wrap() {
        let mut progress = Progress::default();
        assert_eq!((progress.completed(), progress.credits()), (None, None));
        for (msn, code) in [(0xff_fffe, 31), (3, 7), (2, 31)] {
            progress.answered(Aeth::new(Syndrome::Ack(code), msn));
        }
        assert_eq!((progress.completed(), progress.credits()), (Some(5), Some(12)));
    }
}
