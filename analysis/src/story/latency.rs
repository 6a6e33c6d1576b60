//! How long messages and acknowledgements take.
//!
//! What was sent and asks for an answer waits in a short queue; an acknowledgement takes off all up to its PSN.

use std::collections::VecDeque;

use rocetop_parsers::{Nanos, Psn};

use super::histogram::Histogram;
use super::report::Spread;
use super::times::Times;
use crate::short::{long, short};

/// Packets remembered that wait for an answer. Where more are out, only some are measured, chosen by their PSN: of
/// every age as many, so that a long queue is sampled evenly (chosen: bounds the memory of a flow).
const MOST: usize = 16;
/// What a queue makes room for at first (chosen: most flows have no more out).
const FEW: usize = 4;

/// A packet that ends a message or asks for an acknowledgement. Twelve bytes, since one is kept of each that is out.
#[derive(Clone, Copy, Debug)]
struct Sent {
    /// When, less what is above 2^48 ns: three days.
    at: [u16; 3],
    /// How long before `at` the message began, if this ends one.
    lead: Lead,
    /// PSN (of a READ the last one of its range) in the low 24 bits, flags above.
    tag: u32,
}

impl Sent {
    const ENDS: u32 = 1 << 24;
    const ACK_REQ: u32 = 1 << 25;
    /// Another packet of this PSN was sent.
    const AGAIN: u32 = 1 << 26;
    /// What was sent before it waited for an answer when it was sent.
    const BEHIND: u32 = 1 << 27;
    const PSN: u32 = 0xff_ffff;
    const CLOCK: u32 = 48;

    fn new(at: Nanos, lead: Lead, tag: u32) -> Self {
        Self { at: [at.0 as u16, (at.0 >> 16) as u16, (at.0 >> 32) as u16], lead, tag }
    }

    fn psn(self) -> Psn {
        Psn::new(self.tag)
    }

    fn has(self, flag: u32) -> bool {
        self.tag & flag != 0
    }

    /// Whether it is one of those that are measured where one in 2^`thin` is.
    fn chosen(psn: Psn, thin: u8) -> bool {
        // The upper bits of a product know nothing of every second or every sixteenth packet.
        psn.get().wrapping_mul(0x9e37_79b1).leading_zeros() >= u32::from(thin)
    }

    /// How long ago; nothing where the clock went back.
    fn age(self, now: Nanos) -> Nanos {
        let [low, middle, high] = self.at.map(u64::from);
        let age = now.0.wrapping_sub(low | middle << 16 | high << 32) & ((1 << Self::CLOCK) - 1);
        Nanos(if age >> (Self::CLOCK - 1) == 0 { age } else { 0 })
    }
}

/// A length of time in 16 bits, to a thousandth, in units of 64 ns. Up to four and a half minutes.
#[derive(Clone, Copy, Debug, Default)]
struct Lead(u16);

impl Lead {
    const UNIT_BITS: u32 = 6;

    fn of(time: Nanos) -> Self {
        Self(short(u32::try_from(time.0 >> Self::UNIT_BITS).unwrap_or(u32::MAX)))
    }

    fn time(self) -> Nanos {
        Nanos(long(self.0) << Self::UNIT_BITS)
    }
}

/// How long a request has waited for its answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wait {
    pub(crate) time: Nanos,
    /// What was sent before it waited when it was sent: a timer was running already.
    pub(crate) behind: bool,
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
    /// One in 2^`thin` is measured.
    thin: u8,
    /// When the message that is under way began.
    began: Option<Nanos>,
    /// Its first PSN.
    first: Psn,
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
            (self.began, self.first) = (Some(stamp.at), stamp.psn);
        }
        if !stamp.ends && !stamp.ack_req {
            return;
        }
        let mut tag = stamp.psn.get();
        let mut lead = Lead::default();
        if stamp.ends
            && let Some(began) = self.began.take()
        {
            tag |= Sent::ENDS;
            lead = Lead::of(stamp.at.since(began));
        }
        if stamp.ack_req {
            tag |= Sent::ACK_REQ;
        }
        if !self.out.is_empty() || lead.0 != 0 {
            tag |= Sent::BEHIND;
        }
        if self.out.is_empty() {
            self.thin = 0;
        } else if !Sent::chosen(stamp.psn, self.thin) {
            return;
        }
        match self.out.len() {
            MOST => self.thin_out(),
            // Whoever has more than a few out soon has many: growing by doubling leaves holes behind in memory.
            FEW => self.out.reserve_exact(MOST - FEW),
            _ => {}
        }
        self.out.push_back(Sent::new(stamp.at, lead, tag));
    }

    #[cold]
    fn thin_out(&mut self) {
        while self.out.len() == MOST {
            if self.thin == 24 {
                // All are of one PSN.
                self.out.pop_front();
                return;
            }
            self.thin += 1;
            let mut asked = false;
            self.out.retain(|sent| {
                // What has waited for longest is always known.
                let oldest = sent.has(Sent::ACK_REQ) && !std::mem::replace(&mut asked, true);
                oldest || Sent::chosen(sent.psn(), self.thin)
            });
        }
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
                let time = Nanos(sent.age(at).0 + sent.lead.time().0);
                self.message.record(time);
                message(time);
                if let Some(close) = &mut self.close {
                    close.message.record(time);
                }
            }
            if sent.has(Sent::ACK_REQ) && !sent.has(Sent::AGAIN) && sent.psn() == psn {
                let time = sent.age(at);
                self.rtt.record(time);
                if let Some(close) = &mut self.close {
                    close.rtt.record(time);
                }
            }
        }
    }

    /// What waits last, if it has this PSN, is answered by `last`, no earlier.
    pub(crate) fn stretch(&mut self, psn: Psn, last: Psn) {
        if let Some(sent) = self.out.back_mut().filter(|s| s.psn() == psn && last - psn > 0) {
            sent.tag = sent.tag & !Sent::PSN | last.get();
        }
    }

    /// Everything before `psn` may have been answered unseen: it is not measured.
    pub(crate) fn forget_before(&mut self, psn: Psn) {
        self.out.retain(|sent| sent.psn() - psn >= 0);
    }

    /// Messages that wait for their answer; `None` where not all of them are remembered.
    pub(crate) fn messages_out(&self) -> Option<u64> {
        (self.thin == 0).then(|| self.out.iter().filter(|sent| sent.has(Sent::ENDS)).count() as u64)
    }

    /// The oldest packet that asks for an acknowledgement and has none.
    pub(crate) fn oldest_asked(&self) -> Option<Psn> {
        self.out.iter().find(|s| s.has(Sent::ACK_REQ)).map(|s| s.psn())
    }

    /// How long that one has waited.
    pub(crate) fn oldest_wait(&self, now: Nanos) -> Option<Nanos> {
        self.out.iter().find(|s| s.has(Sent::ACK_REQ)).map(|s| s.age(now))
    }

    /// How long the oldest packet from `psn` on that waits for an answer has waited; or the message that begins there
    /// and is not at its end. Nothing where neither is known.
    pub(crate) fn waited(&self, psn: Psn, now: Nanos) -> Wait {
        let out = self.out.iter().find(|s| s.psn() - psn >= 0);
        let out = out.map(|s| Wait { time: s.age(now), behind: s.has(Sent::BEHIND) });
        let begun = |began| Wait { time: now.since(began), behind: !self.out.is_empty() };
        out.or_else(|| self.began.filter(|_| self.first == psn).map(begun)).unwrap_or_default()
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
    fn what_waits_has_waited_since_it_was_first_sent() {
        let mut l = Latency::default();
        l.sent(stamp(7, 1_000, true, true));
        l.sent(stamp(8, 2_000, true, true));
        assert_eq!([7, 8, 9].map(|p| l.waited(Psn::new(p), Nanos(9_000)).time.0), [8_000, 7_000, 0]);
        l.answered(Psn::new(8), Nanos(9_000), |_| {});
        // A message that is under way waits as well, where it is sent again from its beginning.
        l.sent(stamp(9, 10_000, true, false));
        l.sent(stamp(10, 11_000, false, false));
        assert_eq!([9, 10].map(|p| l.waited(Psn::new(p), Nanos(15_000)).time.0), [5_000, 0]);
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
    fn what_waits_takes_twelve_bytes_and_keeps_its_time() {
        assert_eq!(size_of::<Sent>(), 12);
        // To 64 ns as far as eleven bits go, then to a thousandth, then four and a half minutes.
        let kept = [63, 64, 131_071, 10_000_000, 300_000_000_000].map(|t| Lead::of(Nanos(t)).time().0);
        assert_eq!(kept, [0, 64, 131_008, 9_994_240, 274_743_689_216]);
        // Stamps of today do not fit in 48 bits.
        let sent = Sent::new(Nanos(1_796_000_000_123_456_789), Lead::default(), 0);
        let later = |ns: u64| sent.age(Nanos(1_796_000_000_123_456_789 + ns)).0;
        assert_eq!([later(0), later(7), later(86_400_000_000_000)], [0, 7, 86_400_000_000_000]);
        assert_eq!(sent.age(Nanos(1_796_000_000_123_456_788)).0, 0, "the clock went back");
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
    fn the_queue_is_bounded_and_samples_all_ages() {
        let mut l = Latency::default();
        for n in 0..1_000 {
            l.sent(stamp(n, u64::from(n) * 1_000, true, true));
        }
        assert_eq!(l.oldest_asked(), Some(Psn::new(0)));
        l.answered(Psn::new(999), Nanos(999_000), |_| {});
        let seen = l.message();
        assert!((MOST as u64 / 2..=MOST as u64).contains(&seen.count), "{seen:?}");
        assert_eq!(seen.max, 999_000);
    }

    #[test]
    fn one_psn_over_and_over_is_bounded_too() {
        let mut l = Latency::default();
        for n in 0..1_000 {
            l.sent(stamp(0, n, true, true));
        }
        assert!(l.out.len() <= MOST && l.oldest_asked() == Some(Psn::new(0)));
    }

    #[test]
    fn a_window_wider_than_the_queue_is_measured_too() {
        let mut l = Latency::default();
        for n in 0..1_000u32 {
            l.sent(stamp(n, u64::from(n) * 1_000, true, true));
            if let Some(answered) = n.checked_sub(100) {
                l.answered(Psn::new(answered), Nanos(u64::from(n) * 1_000), |_| {});
            }
        }
        let seen = l.message();
        assert_eq!((seen.count, seen.p50, seen.max), (113, 100_000, 100_000));
    }
}
