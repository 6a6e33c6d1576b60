//! What the pattern of lost packets suggests: a physical fault, or congestion.
//!
//! # What it detects
//! RT016: losses on the way to one host that are spread like damage: single packets, all over the capture, without any
//! sign of congestion. RT017: losses on the way to one host that come like an overflow: with congestion marks or
//! notifications, and in bursts or of several senders at once. Where neither fits well, or too little was lost to tell,
//! nothing is said.
//!
//! # Why it hurts
//! The two need opposite cures. A bad cable or transceiver loses packets at any load and is replaced; a queue that
//! overflows wants pause frames, marks at a lower threshold, or less incast.
//!
//! # How it decides
//! Over all flows to one host with at least eight lost packets. Three signs of congestion. Marks: at least eight
//! packets marked CE, or more CNPs than NAKs (a NAK makes some NICs send a CNP). Bursts: at least a third of the lost
//! packets follow another lost one directly. Together: a third of them are lost next to another sender's, no further
//! away than 1 ms and than a tenth of the average time from one loss to the next. The last two count only where losses
//! that are independent of one another would hardly ever come like that: once in a thousand times, by the share of
//! packets lost and by how often losses come.
//!
//! RT017 is marks and one of the other two; of traffic that takes no part in ECN, both of these. The losses must come
//! at more than one moment: a link that goes away once takes a burst of all who send, too. RT016 is no CE mark, no CNP,
//! less than a tenth in bursts, no crowds in time, and from the first loss to the last at least half of the time in
//! which requests were sent to the host.
//!
//! Where more is lost than is kept, the time up to the first loss that is not kept is judged, with the requests of that
//! time, and what was lost in it is told as the least (`judged_ns` of `lasted_ns`).
//!
//! With several captures (`--taps`) it is what was lost between them that counts, wherever they cover the flow: the
//! finding is that of the tap before the losses, and what no tap lost is not judged. Marks that any of them shows on
//! the way to the host silence RT016; frames that arrive damaged at the next tap stand in its evidence (`icrc_bad`).
//!
//! # What could fool it
//! Traffic that does not take part in ECN is never marked, so no marks say nothing then; a policer that drops single
//! packets looks like damage. Marks that are set behind the tap are not seen. Without marks, a link that comes and goes
//! looks like a queue that overflows again and again.
//!
//! # What to do next
//! RT016: compare FEC and CRC error counters of each port on the path, clean or change optics and cables. RT017: look
//! at the queue that overflows: its drops, the pause frames it sent, its ECN threshold, and who sends at the same time.
//!
//! # References
//! IEEE 802.3 asks for a bit error ratio below 1e-12, one 4 KiB packet in 30 million. DCQCN (SIGCOMM 2015) for marks
//! and CNPs. The chances are bounds of Chernoff for independent events.

use super::kit::{FRAMES, Loss, Way, count, counted};
use super::{Evidence, Finding, Judge, Rule, Severity};
use crate::Ledger;
use crate::report::survey::Survey;

pub(super) const PHYSICAL: Rule = Rule {
    code: "RT016",
    name: "loss_pattern",
    title: "the losses are spread like damage, not like congestion",
    severity: Severity::Info,
    needs: "packets of both directions, behind the place of the loss, or taps on both sides of it",
    source: include_str!("loss_pattern.rs"),
    judge: Judge::Survey(judge),
};

pub(super) const CONGESTION: Rule = Rule {
    code: "RT017",
    title: "the losses come in bursts, with signs of congestion",
    // The other one's judge says either this or that.
    judge: Judge::Sibling,
    ..PHYSICAL
};

/// Fewer lost packets have no pattern: where a third of all come in bursts, eight of them come without any in one
/// capture of 26, (2/3)^8, and all in one half of the time by chance in one of 28, 9/256.
const LEAST: u64 = 8;
/// Fewer marks are of a queue that was never long (chosen: as many as losses).
const MARKS: u64 = LEAST;
/// One in so many is many: chance alone makes neighbours of one in a hundred where one packet in a hundred is lost.
const MANY: u64 = 3;
/// Less than one in so many is few (chosen).
const FEW: u64 = 10;
/// Losses of two senders this close share a cause: a switch's queue fills and drains in less (chosen: 12.5 MB at 100
/// Gb/s).
const TOGETHER_NS: u64 = 1_000_000;
/// Where losses are frequent, those of one cause are so much closer than the average distance; independent ones are
/// in one case of six (chosen).
const CLOSER: u64 = 10;
/// What comes by chance once in so many captures is no sign of congestion (chosen: captures have many hosts).
const RARE: f64 = 1_000.0;
/// What looks like a crowd in all but one of so many captures is not called spread (the usual level of 5%).
const USUAL: f64 = 20.0;

fn judge(survey: &Survey, ledger: &Ledger<'_>, report: &mut dyn FnMut(Finding)) {
    let ecn = ledger.totals().ecn;
    let capable = ecn.ect0 + ecn.ect1 + ecn.ce != 0;
    for (host, way) in survey.ways.each() {
        if let Some(finding) = Pattern::of(way).and_then(|pattern| pattern.finding(host, capable)) {
            report(finding);
        }
    }
}

/// Whether so many of so many events are more than one in `rarely` captures has by chance, where each has this
/// probability on its own: Chernoff's bound of the binomial distribution.
fn beyond_chance(many: u64, of: u64, probability: f64, rarely: f64) -> bool {
    let (all, share) = (of as f64, many as f64 / of.max(1) as f64);
    if share <= probability {
        return false;
    }
    let term = |part: f64, expected: f64| if part > 0.0 { part * (part / expected).ln() } else { 0.0 };
    all * (term(share, probability) + term(1.0 - share, 1.0 - probability)) > rarely.ln()
}

/// How the packets on the way to one host were lost.
struct Pattern<'a> {
    way: &'a Way,
    losses: Vec<&'a Loss>,
    lost: u64,
    /// Lost right behind another one of the same flow.
    in_bursts: u64,
    /// Lost at about the same time as one of another sender.
    together: u64,
    marks: bool,
    bursts: bool,
    senders: bool,
    /// Closer to one another than chance has it.
    crowds: bool,
}

impl<'a> Pattern<'a> {
    /// `None` where too little was lost.
    fn of(way: &'a Way) -> Option<Self> {
        let losses = way.losses();
        let lost: u64 = losses.iter().map(|l| l.packets).sum();
        if lost < LEAST {
            return None;
        }
        let many = |n: u64| n * MANY >= lost;
        let moments = losses.len() as u64;
        let in_bursts = lost - moments;
        let rate = lost as f64 / way.requests().max(lost + 1) as f64;
        let closer = way.lasted() / (CLOSER * moments);
        let window = TOGETHER_NS.min(closer);
        // That one of the others falls into the window before it or behind it.
        let chance = |window: u64| {
            let expected = 2.0 * window as f64 * (moments - 1) as f64 / way.lasted().max(1) as f64;
            -(-expected).exp_m1()
        };
        let (moments_together, together) = near(&losses, window, |a, b| a.sender != b.sender);
        let (crowded, _) = near(&losses, closer, |_, _| true);
        Some(Self {
            way,
            losses,
            lost,
            in_bursts,
            together,
            marks: way.ce() >= MARKS || way.cnps > way.naks,
            bursts: many(in_bursts) && beyond_chance(in_bursts, lost, rate, RARE),
            senders: many(together) && beyond_chance(moments_together, moments, chance(window), RARE),
            crowds: beyond_chance(crowded, moments, chance(closer), USUAL),
        })
    }

    fn finding(&self, host: &str, capable: bool) -> Option<Finding> {
        let way = self.way;
        let signs = [self.marks, self.bursts, self.senders].into_iter().filter(|&sign| sign).count() as u64;
        let few = |n: u64| n * FEW < self.lost;
        let congested = (self.marks || !capable) && signs >= 2 && self.comes_again();
        let spread = signs == 0 && few(self.in_bursts) && !self.crowds && self.spans_half();
        let least = if way.is_whole() { "" } else { "at least " };
        let lost = format!("{least}{} lost towards {host}", counted(self.lost, "packet"));
        let (rule, title, advice) = if congested {
            (
                &CONGESTION,
                format!("{lost} look like congestion"),
                if self.marks {
                    "Look at the queue towards this host: drops, pause frames, ECN threshold, and who sends at the \
                     same time."
                } else {
                    "Look at the queue towards this host: drops, pause frames, and who sends at the same time. This \
                     traffic takes no part in ECN, so there are no marks: exclude a link that comes and goes first."
                },
            )
        } else if spread && way.ce() + way.cnps == 0 && !way.is_marked_elsewhere() {
            (
                &PHYSICAL,
                format!("{lost} are spread like damage"),
                if capable {
                    "Compare FEC and CRC error counters of the ports on the path before you change anything about \
                     congestion."
                } else {
                    "Compare FEC and CRC error counters of the ports on the path. This traffic takes no part in ECN, \
                     so the absence of marks says nothing."
                },
            )
        } else {
            return None;
        };
        let first = self.losses.first().map_or(0, |l| l.at);
        let mut evidence = Evidence::default()
            .with("lost", self.lost)
            .with("in_bursts", self.in_bursts)
            .with("beside_another_senders", self.together)
            .with("senders", way.senders())
            .with("requests", way.requests())
            .with_harm("ce", way.ce())
            .with("cnps", way.cnps)
            .with("icrc_bad", way.icrc_bad())
            .with("signs", format!("{} of 3", count(signs)));
        if !way.is_whole() {
            evidence = evidence.with("judged_ns", way.lasted()).with("lasted_ns", way.lasted_in_all());
        }
        Some(Finding {
            code: rule.code,
            severity: rule.severity,
            title,
            flow: None,
            connection: None,
            first_ns: first,
            last_ns: self.losses.last().map_or(first, |l| l.at),
            frames: self.losses.iter().filter_map(|l| l.frame.clone()).take(FRAMES).collect(),
            evidence,
            advice: advice.to_owned(),
        })
    }

    /// Whether losses come at moments further apart than what shares a cause.
    fn comes_again(&self) -> bool {
        let losses = &self.losses;
        losses.iter().zip(losses.iter().skip(1)).any(|(a, b)| b.at.saturating_sub(a.at) > TOGETHER_NS)
    }

    /// Whether the first and the last are half of the time or more apart in which requests came.
    fn spans_half(&self) -> bool {
        let losses = &self.losses;
        let ends = losses.first().zip(losses.last());
        ends.is_some_and(|(first, last)| last.at.saturating_sub(first.at).saturating_mul(2) >= self.way.lasted())
    }
}

/// Losses that are no further than `window` from one that is `apart` from them: moments and packets. Of those in order
/// of time, the next on either side is looked at.
fn near(losses: &[&Loss], window: u64, apart: fn(&Loss, &Loss) -> bool) -> (u64, u64) {
    let close = |a: &Loss, b: &Loss| apart(a, b) && b.at.saturating_sub(a.at) <= window;
    let before = std::iter::once(None).chain(losses.iter().map(Some));
    let after = losses.iter().skip(1).map(Some).chain(std::iter::once(None));
    let neighbours = losses.iter().zip(before.zip(after));
    let beside = neighbours.filter(|(loss, (before, after))| {
        before.is_some_and(|b| close(b, loss)) || after.is_some_and(|a| close(loss, a))
    });
    beside.fold((0, 0), |(moments, packets), (loss, _)| (moments + 1, packets + loss.packets))
}

#[cfg(test)]
mod tests;
