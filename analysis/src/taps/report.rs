//! What was found between taps, in the shape of the report contract's `taps`.

use serde::Serialize;

use super::clock::Offset;
use super::gaps::{Gaps, Gone};
use super::pair::Pair;
use super::sight::Kind;
use super::told::{self, Fates};
use super::way::{Alone, Outage, Way};
use crate::event::FrameNo;
use crate::report::FrameRef;
use crate::story::report::Spread;

/// All that was found between taps.
#[derive(Clone, Debug, Default)]
pub struct Between {
    /// By pair of taps and direction, those that have traffic in common.
    pub rows: Vec<TapReport>,
    /// Names of taps that have no traffic in common.
    pub strangers: Vec<[String; 2]>,
    /// Packets of flows that there was no room for, by all pairs of taps: not compared.
    pub beyond: u64,
    /// Names of all taps, by index.
    pub(super) names: Vec<String>,
    pub(super) fates: Fates,
}

/// What tells which of two taps a direction passes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DirectionBy {
    /// A router between them lowered the TTL.
    Ttl,
    /// The other way round, packets and those that go back would take less than no time together.
    RoundTrip,
    /// One tap saw packets that the other did not, and hardly the reverse.
    Losses,
    /// Nothing does: from and to may be the other way round.
    Unknown,
}

/// Why two clocks cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ClockUnknown {
    /// Only one direction was seen at both taps.
    OneDirection,
    /// Of a direction every packet came several times, and not as often at both taps: which copy is which is not known.
    Copies,
    /// Nothing tells which of the taps the packets passed first.
    Order,
    /// Both ways together take less than no time: a clock was set, or ran at another speed.
    ClockSet,
}

/// Packets by what they are for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "as they are called")]
pub struct KindsReport {
    pub requests: u64,
    pub responses: u64,
    pub acks: u64,
    pub naks: u64,
    pub cnps: u64,
    pub other: u64,
}

/// Losses of one flow in a row, as the tap before them stamped them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OutageReport {
    /// Destination queue pair of the flow.
    pub dst_qp: u32,
    /// Packets lost.
    pub packets: u64,
    /// The last packet of the flow that went through before, if one did.
    pub last_through_ns: Option<u64>,
    /// The first one that did not.
    pub first_lost_ns: u64,
    /// The last one that did not.
    pub last_lost_ns: u64,
    /// The first one that went through again, if one did.
    pub first_through_ns: Option<u64>,
    /// These four frames.
    pub frames: Vec<FrameRef>,
}

/// One direction between two taps.
#[derive(Clone, Debug, Serialize)]
pub struct TapReport {
    /// The tap that the direction passes first.
    pub from: String,
    /// The tap that it passes then.
    pub to: String,
    /// Source address.
    pub src: String,
    /// Destination address.
    pub dst: String,
    /// What tells `from` and `to` apart.
    pub direction_by: DirectionBy,
    /// Packets seen at `from` while `to` was capturing: received, lost, missed and undecided.
    pub sent: u64,
    /// Of them, those seen at `to`.
    pub received: u64,
    /// Of them, those that `to` should have seen and did not, at least: `undecided` ones may be lost as well. `None`
    /// where `from` and `to` are not known apart, and where all are undecided.
    pub lost: Option<u64>,
    /// The lost ones by kind, of each those that are certain.
    pub lost_by_kind: KindsReport,
    /// The first packets that `to` did not show and that are not known to have arrived: lost ones and undecided ones.
    /// None where none is lost.
    pub first_lost: Vec<FrameRef>,
    /// Rows of losses, the longest first.
    pub outages: Vec<OutageReport>,
    /// Rows beyond those listed.
    pub more_outages: u64,
    /// Sent, not seen at `to`, and yet delivered: the capture at `to` missed them, or they went another way.
    pub missed: u64,
    /// Sent and not seen at `to`, of which nothing tells what became of them: lost, or on another way where many
    /// packets that arrived went past this tap, or missed by its capture where that is known to have missed others.
    pub undecided: u64,
    /// Seen at `to`, not at `from`, by kind: the capture at `from` missed them, they came another way, or something
    /// between made them.
    pub appeared: KindsReport,
    /// Copies seen at `to` beyond those seen at `from`.
    pub duplicated: u64,
    /// Received with a bad ICRC that they had not been sent with.
    pub damaged: u64,
    /// Received with a congestion mark that they had not been sent with.
    pub ce_marked: u64,
    /// Received behind a packet that was sent later (RFC 4737), as `to` wrote them down. Of packets of which a copy was
    /// lost it is not known.
    pub reordered: u64,
    /// Seen by one tap before the other's first frame or after its last: not judged.
    pub outside: u64,
    /// Flows seen at `from` of which `to` saw nothing, and their packets: lost altogether or on another way; not
    /// judged.
    pub unseen_flows: u64,
    /// Their packets.
    pub unseen_packets: u64,
    /// Frames that one of the captures itself shows a second time, left out.
    pub mirror_copies: u64,
    /// One-way delay with the clock offset taken off, as exact as the offset; `None` where that is unknown.
    pub owd_ns: Option<Spread>,
    /// Delay beyond the shortest one seen, which needs no offset.
    pub queueing_ns: Spread,
    /// The clock of `to` less that of `from`; `None` where `clock_unknown` says why.
    pub clock_offset_ns: Option<i64>,
    /// The offset is right to within this.
    pub clock_uncertainty_ns: Option<u64>,
    /// Why the clocks cannot be compared, where they cannot.
    pub clock_unknown: Option<ClockUnknown>,
    /// Packets of both taps that were settled early, or not at all, because too many were open.
    pub hurried: u64,
}

impl Between {
    pub(super) fn add(&mut self, pair: &Pair, taps: [usize; 2], names: &[String]) {
        let name = |tap: usize| names.get(tap).cloned().unwrap_or_default();
        let before = self.rows.len();
        self.beyond += pair.beyond;
        let common = || pair.ways.iter().filter(|w| w.through != 0);
        let courses: Vec<Course<'_>> = common().map(|way| Course::of(way, pair.back(way))).collect();
        let offset = offset(&courses);
        let gaps = Gaps::of(pair, &courses);
        for course in courses {
            let row = course.report(taps.map(name), offset, pair, &gaps, names);
            let missed = course.unshown(&gaps) != 0;
            let late = course.up().named - gaps.certain(&course, course.up().named);
            let forgotten = course.up().forgotten;
            let told = told::Course { taps, first: course.first, row: &row, missed, forgotten, late };
            let windows = course.way.windows.iter().filter_map(|&index| pair.windows.get(index));
            windows.for_each(|window| self.fates.add(window, &told, |frame| place(frame, names)));
            self.rows.push(row);
        }
        if self.rows.len() == before {
            self.strangers.push(taps.map(name));
        }
    }
}

/// A direction and which tap it passes first.
pub(super) struct Course<'a> {
    pub(super) way: &'a Way,
    pub(super) first: usize,
    pub(super) by: DirectionBy,
}

/// By how much one side of the evidence has to outweigh the other (chosen).
pub(super) const OUTWEIGHS: u64 = 4;

impl<'a> Course<'a> {
    fn of(way: &'a Way, back: Option<&Way>) -> Self {
        let decided = |first, by| Self { way, first, by };
        let side = |counts: [u64; 2]| match counts {
            [a, b] if a > b.saturating_mul(OUTWEIGHS) => Some(0),
            [a, b] if b > a.saturating_mul(OUTWEIGHS) => Some(1),
            _ => None,
        };
        if let Some(first) = side(way.fresher) {
            return decided(first, DirectionBy::Ttl);
        }
        // Medians, since a single stamp that is off would turn the least.
        let there = way.differences.median();
        let again = back.and_then(|back| back.differences.median());
        if let (Some(there), Some(again)) = (there, again)
            && there != again
        {
            return decided(usize::from(there < again), DirectionBy::RoundTrip);
        }
        let [a, b] = &way.alone;
        match side([a.sum(), b.sum()]) {
            Some(first) => decided(first, DirectionBy::Losses),
            None => decided(0, DirectionBy::Unknown),
        }
    }

    /// What the first tap alone saw.
    fn up(&self) -> &Alone {
        let [first, second] = &self.way.alone;
        if self.first == 1 { second } else { first }
    }

    /// What the second tap is taken to have missed, though nothing shows that it arrived.
    fn unshown(&self, gaps: &Gaps) -> u64 {
        let up = self.up();
        if gaps.explain(self, up) { up.absent.iter().sum() } else { 0 }
    }

    fn report(
        &self,
        [a, b]: [String; 2],
        offset: Result<Offset, ClockUnknown>,
        pair: &Pair,
        gaps: &Gaps,
        names: &[String],
    ) -> TapReport {
        let way = self.way;
        let swap = self.first == 1;
        let [first, second] = &way.alone;
        let (up, down) = if swap { (second, first) } else { (first, second) };
        let (from, to) = if swap { (b, a) } else { (a, b) };
        let pick = |counts: [u64; 2]| if swap { counts[1] } else { counts[0] };
        let known = self.by != DirectionBy::Unknown || up.sum() + down.sum() == 0;
        let unshown = self.unshown(gaps);
        let spare = |kind: Kind| up.spare.get(kind as usize).copied().unwrap_or_default();
        let mut by_kind = KindsReport::of(|kind| if unshown == 0 { up.of(kind) } else { spare(kind) });
        // What arrived damaged beyond recognition was not lost.
        let unrecognised = down.damaged.min(up.sum() - unshown);
        by_kind.take(unrecognised);
        let gone = up.sum() - unshown - unrecognised;
        // Where packets that arrived went past the second tap, others may have.
        let [past_first, past_second] = gaps.pass(self);
        let named = if past_second { 0 } else { gaps.certain(self, up.named.min(by_kind.requests)) };
        let unnamed = gone - named;
        let repeated = up.proven.saturating_sub(named).min(unnamed);
        let sorts = Gone { repeated, silent: unnamed - repeated };
        let undecided = if past_second { gone } else { gaps.doubtful(self, sorts) };
        let lost = gone - undecided;
        // Of what kind they are nobody knows: of each, those that are too many, and those that a NAK named.
        by_kind.less(undecided);
        by_kind.requests = by_kind.requests.max(named);
        let undecided = undecided + up.forgotten;
        let known = known && (undecided == 0 || lost != 0);
        let missed = up.missed + unshown;
        let frame = |frame: FrameNo| place(frame, names);
        let received = way.through + unrecognised;
        let clock_unknown = offset.err();
        let offset = offset.ok().map(|o| if swap { Offset { ahead: -o.ahead, ..o } } else { o });
        let differences = &way.differences;
        // In the direction of travel: second tap's stamp less first's, or the reverse.
        let travelled = |percent| {
            if swap { differences.quantile_reversed(percent).map(|d| -d) } else { differences.quantile(percent) }
        };
        let (min, max) = differences.range().unwrap_or_default();
        let (least, most) = if swap { (-max, -min) } else { (min, max) };
        let spread = |base: i64| {
            let beyond = |d: i64| u64::try_from(d - base).unwrap_or_default();
            let quantile = |percent| travelled(percent).map_or(0, beyond);
            Spread { count: differences.count, p50: quantile(50), p99: quantile(99), max: beyond(most) }
        };
        TapReport {
            from,
            to,
            src: way.src.to_string(),
            dst: way.dst.to_string(),
            direction_by: self.by,
            sent: received + lost + missed + undecided,
            received,
            lost: known.then_some(lost),
            lost_by_kind: by_kind,
            first_lost: up.first.iter().filter(|_| lost != 0).map(|&f| frame(f)).collect(),
            outages: up.outages.iter().filter(|_| lost != 0).map(|o| OutageReport::of(o, frame)).collect(),
            more_outages: if lost == 0 { 0 } else { up.more_outages },
            missed,
            undecided,
            appeared: KindsReport::of(|kind| {
                if past_first { down.of(kind) } else { down.absent.get(kind as usize).copied().unwrap_or_default() }
            })
            .with_requests(down.missed),
            duplicated: if past_first { 0 } else { down.spare.iter().sum() },
            damaged: pick(way.damaged) + unrecognised,
            ce_marked: pick(way.marked),
            reordered: pick(way.reordered),
            outside: up.outside + down.outside,
            unseen_flows: up.unseen[0],
            unseen_packets: up.unseen[1],
            mirror_copies: up.mirrored + down.mirrored,
            owd_ns: offset
                .filter(|_| self.by != DirectionBy::Unknown && differences.count != 0)
                .map(|o| spread(o.ahead)),
            queueing_ns: spread(least),
            clock_offset_ns: offset.map(|o| o.ahead),
            clock_uncertainty_ns: offset.map(|o| o.uncertainty),
            clock_unknown,
            hurried: pair.hurried + pair.beyond,
        }
    }
}

/// The second tap's clock less the first's, by the shortest way there and the shortest way back.
fn offset(courses: &[Course<'_>]) -> Result<Offset, ClockUnknown> {
    let known = || courses.iter().filter(|c| c.by != DirectionBy::Unknown);
    let shortest = |first| {
        let ranges = known().filter(move |c| c.first == first).filter_map(|c| c.way.differences.range());
        ranges.map(|(min, max)| if first == 0 { min } else { -max }).min()
    };
    match (shortest(0), shortest(1)) {
        (Some(there), Some(back)) => Offset::between(there, back).ok_or(ClockUnknown::ClockSet),
        _ if known().next().is_none() => Err(ClockUnknown::Order),
        _ if known().any(|c| c.first == 0) && known().any(|c| c.first == 1) => Err(ClockUnknown::Copies),
        _ => Err(ClockUnknown::OneDirection),
    }
}

/// A frame of a tap, by the tap's name.
fn place(frame: FrameNo, names: &[String]) -> FrameRef {
    let name = names.get(usize::from(frame.file())).map_or("", String::as_str);
    FrameRef::In(format!("{name}:{}", frame.place()))
}

impl OutageReport {
    /// From the last packet that went through before to the first that did so again; `None` where none did.
    pub(crate) fn lasted(&self) -> Option<u64> {
        Some(self.first_through_ns?.saturating_sub(self.last_through_ns.unwrap_or(self.first_lost_ns)))
    }

    pub(super) fn of(o: &Outage, frame: impl Fn(FrameNo) -> FrameRef) -> Self {
        let ns = |at: (i64, FrameNo)| at.0.cast_unsigned();
        let all = [o.last_through, Some(o.first_lost), Some(o.last_lost), o.first_through];
        Self {
            dst_qp: o.qp.0,
            packets: o.packets,
            last_through_ns: o.last_through.map(ns),
            first_lost_ns: ns(o.first_lost),
            last_lost_ns: ns(o.last_lost),
            first_through_ns: o.first_through.map(ns),
            frames: all.into_iter().flatten().map(|(_, f)| frame(f)).collect(),
        }
    }
}

impl KindsReport {
    fn of(count: impl Fn(Kind) -> u64) -> Self {
        Self {
            requests: count(Kind::Request),
            responses: count(Kind::Response),
            acks: count(Kind::Ack),
            naks: count(Kind::Nak),
            cnps: count(Kind::Cnp),
            other: count(Kind::Other),
        }
    }

    fn with_requests(self, more: u64) -> Self {
        Self { requests: self.requests + more, ..self }
    }

    /// All of them.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.requests + self.responses + self.acks + self.naks + self.cnps + self.other
    }

    /// Takes off so many of each kind.
    fn less(&mut self, count: u64) {
        let Self { requests, responses, acks, naks, cnps, other } = self;
        for kind in [requests, responses, acks, naks, cnps, other] {
            *kind = kind.saturating_sub(count);
        }
    }

    /// Takes off so many whose kind is unknown: the large ones first, which most damage hits.
    fn take(&mut self, count: u64) {
        let mut left = count;
        let kinds =
            [&mut self.requests, &mut self.responses, &mut self.acks, &mut self.naks, &mut self.cnps, &mut self.other];
        for kind in kinds {
            let taken = left.min(*kind);
            *kind -= taken;
            left -= taken;
        }
    }
}
