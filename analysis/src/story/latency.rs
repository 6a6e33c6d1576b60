//! How long messages and acknowledgements take.
//!
//! What was sent and asks for an answer waits in a short queue; an acknowledgement takes off all up to its PSN.

use std::collections::VecDeque;

use rocetop_parsers::{Nanos, Psn};

use super::histogram::Histogram;
use super::report::Spread;
use super::times::Times;

/// Packets remembered that wait for an answer. Of more, the oldest give way and are not measured.
const MOST: usize = 32;

/// A packet that ends a message or asks for an acknowledgement. Sixteen bytes, since one is kept of each that is out.
#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Nanos,
    /// PSN (of a READ the last one of its range) in the low 24 bits, flags above.
    tag: u32,
    /// How long before `at` the message began, if this ends one: in units of 64 ns, up to four and a half minutes.
    lead: u32,
}

impl Sent {
    const ENDS: u32 = 1 << 24;
    const ACK_REQ: u32 = 1 << 25;
    /// Another packet of this PSN was sent.
    const AGAIN: u32 = 1 << 26;
    const LEAD_BITS: u32 = 6;

    fn psn(self) -> Psn {
        Psn::new(self.tag)
    }

    fn has(self, flag: u32) -> bool {
        self.tag & flag != 0
    }

    fn began(self) -> Nanos {
        Nanos(self.at.0 - (u64::from(self.lead) << Self::LEAD_BITS))
    }
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
    /// The same to a hundredth, of a connection in focus.
    close: Option<Box<Close>>,
}

/// Times to a hundredth.
#[derive(Clone, Debug, Default)]
struct Close {
    message: Times,
    rtt: Times,
}

impl Latency {
    /// With percentiles that are exact to a hundredth, where somebody looks closely.
    pub(crate) fn measuring(closely: bool) -> Self {
        Self { close: closely.then(Box::default), ..Self::default() }
    }

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
        let mut tag = stamp.psn.get();
        let mut lead = 0;
        if stamp.ends
            && let Some(began) = self.began.take()
        {
            tag |= Sent::ENDS;
            lead = u32::try_from(stamp.at.since(began).0 >> Sent::LEAD_BITS).unwrap_or(u32::MAX);
        }
        if stamp.ack_req {
            tag |= Sent::ACK_REQ;
        }
        self.out.push_back(Sent { at: stamp.at, tag, lead });
    }

    /// A request was seen again: its answer may belong to either (Karn's rule).
    pub(crate) fn again(&mut self, psn: Psn) {
        for sent in self.out.iter_mut().rev().take_while(|s| s.psn() - psn >= 0) {
            if sent.psn() == psn {
                sent.tag |= Sent::AGAIN;
            }
        }
    }

    /// Everything up to `psn` was answered. Returns how long the message and the way there and back took, if measured.
    #[inline(always)]
    pub(crate) fn answered(&mut self, psn: Psn, at: Nanos, mut message: impl FnMut(Nanos)) {
        while let Some(&sent) = self.out.front() {
            if sent.psn() - psn > 0 {
                break;
            }
            self.out.pop_front();
            if sent.has(Sent::ENDS) {
                let time = at.since(sent.began());
                self.message.record(time);
                message(time);
                if let Some(close) = &mut self.close {
                    close.message.record(time);
                }
            }
            if sent.has(Sent::ACK_REQ) && !sent.has(Sent::AGAIN) && sent.psn() == psn {
                let time = at.since(sent.at);
                self.rtt.record(time);
                if let Some(close) = &mut self.close {
                    close.rtt.record(time);
                }
            }
        }
    }

    /// Everything before `psn` may have been answered unseen: it is not measured.
    pub(crate) fn forget_before(&mut self, psn: Psn) {
        self.out.retain(|sent| sent.psn() - psn >= 0);
    }

    /// The oldest packet that asks for an acknowledgement and has none.
    pub(crate) fn oldest_asked(&self) -> Option<Psn> {
        self.out.iter().find(|s| s.has(Sent::ACK_REQ)).map(|s| s.psn())
    }

    pub(crate) fn message(&self) -> Spread {
        self.close.as_ref().map_or_else(|| self.message.spread(), |c| c.message.spread())
    }

    pub(crate) fn rtt(&self) -> Spread {
        self.close.as_ref().map_or_else(|| self.rtt.spread(), |c| c.rtt.spread())
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
        // To 64 ns.
        assert_eq!(seen, [7_960]);
        assert_eq!((l.message().max, l.rtt().max), (7_960, 7_000));
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
    fn a_close_look_is_exact_to_a_hundredth() {
        let spread = |closely| {
            let mut l = Latency::measuring(closely);
            for n in 1..=100u64 {
                l.sent(stamp(n as u32, 0, true, true));
                l.answered(Psn::new(n as u32), Nanos(n * 1_000), |_| {});
            }
            assert_eq!((l.message(), l.message().count), (l.rtt(), 100));
            l.message()
        };
        assert!((99_000..=99_990).contains(&spread(true).p99), "{:?}", spread(true));
        assert_eq!((spread(true).max, spread(false).max), (100_000, 100_000));
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
