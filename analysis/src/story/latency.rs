//! How long messages and acknowledgements take.
//!
//! What was sent and asks for an answer waits in a short queue; an acknowledgement takes off all up to its PSN.

use std::collections::VecDeque;

use rocetop_parsers::{Nanos, Psn};

use super::histogram::Histogram;
use super::report::Spread;

/// Packets remembered that wait for an answer. Of more, the oldest give way and are not measured.
const MOST: usize = 64;

/// A packet that ends a message or asks for an acknowledgement.
#[derive(Clone, Copy, Debug)]
struct Sent {
    /// Its PSN; of a READ the last one of its range.
    psn: Psn,
    at: Nanos,
    /// When the message began, if this ends one.
    began: Option<Nanos>,
    ack_req: bool,
    /// No other packet of this PSN was sent.
    once: bool,
}

/// What a request is to the clock.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stamp {
    /// Last PSN of the request.
    pub(crate) psn: Psn,
    pub(crate) at: Nanos,
    pub(crate) starts: bool,
    pub(crate) ends: bool,
    pub(crate) ack_req: bool,
}

/// Times of one flow's requests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Latency {
    out: VecDeque<Sent>,
    /// When the message that is under way began.
    began: Option<Nanos>,
    message: Histogram,
    rtt: Histogram,
}

impl Latency {
    /// A request seen for the first time.
    #[inline(always)]
    pub(crate) fn sent(&mut self, stamp: Stamp) {
        if stamp.starts {
            self.began = Some(stamp.at);
        }
        if !stamp.ends && !stamp.ack_req {
            return;
        }
        if self.out.len() == MOST {
            self.out.pop_front();
        }
        let began = if stamp.ends { self.began.take() } else { None };
        self.out.push_back(Sent { psn: stamp.psn, at: stamp.at, began, ack_req: stamp.ack_req, once: true });
    }

    /// A request was seen again: its answer may belong to either (Karn's rule).
    pub(crate) fn again(&mut self, psn: Psn) {
        for sent in self.out.iter_mut().rev().take_while(|s| s.psn - psn >= 0) {
            sent.once &= sent.psn != psn;
        }
    }

    /// Everything up to `psn` was answered. Returns how long the message and the way there and back took, if measured.
    #[inline(always)]
    pub(crate) fn answered(&mut self, psn: Psn, at: Nanos, mut message: impl FnMut(Nanos)) {
        while let Some(&sent) = self.out.front() {
            if sent.psn - psn > 0 {
                break;
            }
            self.out.pop_front();
            if let Some(began) = sent.began {
                let time = at.since(began);
                self.message.record(time);
                message(time);
            }
            if sent.ack_req && sent.once && sent.psn == psn {
                self.rtt.record(at.since(sent.at));
            }
        }
    }

    /// The oldest packet that asks for an acknowledgement and has none.
    pub(crate) fn oldest_asked(&self) -> Option<Psn> {
        self.out.iter().find(|s| s.ack_req).map(|s| s.psn)
    }

    pub(crate) fn message(&self) -> Spread {
        self.message.spread()
    }

    pub(crate) fn rtt(&self) -> Spread {
        self.rtt.spread()
    }

    /// Shortest and longest way there and back.
    pub(crate) fn rtt_range(&self) -> Option<(Nanos, Nanos)> {
        self.rtt.min().zip(self.rtt.max())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(psn: u32, at: u64, starts: bool, ends: bool) -> Stamp {
        Stamp { psn: Psn::new(psn), at: Nanos(at), starts, ends, ack_req: ends }
    }

    #[test]
    fn a_message_takes_from_its_first_packet_to_its_ack() {
        let mut l = Latency::default();
        l.sent(stamp(0xff_ffff, 1_000, true, false));
        l.sent(stamp(0, 2_000, false, true));
        let mut seen = Vec::new();
        l.answered(Psn::new(0), Nanos(9_000), |t| seen.push(t.0));
        assert_eq!(seen, [8_000]);
        assert_eq!((l.message().max, l.rtt().max), (8_000, 7_000));
    }

    #[test]
    fn one_ack_answers_several_messages_but_times_one_way() {
        let mut l = Latency::default();
        for n in 0..3 {
            l.sent(stamp(n, u64::from(n) * 1_000, true, true));
        }
        l.answered(Psn::new(2), Nanos(10_000), |_| {});
        assert_eq!((l.message().count, l.rtt().count, l.rtt().max), (3, 1, 8_000));
    }

    #[test]
    fn a_repeat_tells_no_way() {
        let mut l = Latency::default();
        l.sent(stamp(5, 0, true, true));
        l.again(Psn::new(5));
        l.answered(Psn::new(5), Nanos(10_000), |_| {});
        assert_eq!((l.message().count, l.rtt().count), (1, 0));
    }

    #[test]
    fn the_queue_is_bounded() {
        let mut l = Latency::default();
        for n in 0..1_000 {
            l.sent(stamp(n, 0, true, true));
        }
        l.answered(Psn::new(999), Nanos(1), |_| {});
        assert_eq!(l.message().count, MOST as u64);
    }
}
