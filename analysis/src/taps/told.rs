//! What the comparison of taps tells about a single flow, for those who judge what one of the taps saw.

use std::collections::{BTreeMap, BTreeSet};

use super::report::{Between, DirectionBy, OutageReport, TapReport};
use super::tally::Row;
use super::window::Window;
use crate::event::FrameNo;
use crate::flow::Key;
use crate::report::{FlowReport, FrameRef, class_name};

/// A flow in all captures: addresses, queue pair, class.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Name {
    src: String,
    dst: String,
    qp: u32,
    class: &'static str,
}

impl Name {
    fn of(flow: &FlowReport) -> Self {
        Self { src: flow.src.clone(), dst: flow.dst.clone(), qp: flow.dst_qp, class: flow.class }
    }

    fn of_key(key: &Key) -> Self {
        Self { src: key.src.to_string(), dst: key.dst.to_string(), qp: key.qp().0, class: class_name(key.class()) }
    }
}

/// A flow between two taps that both saw it.
#[derive(Clone, Debug)]
struct Fate {
    /// The taps, in the order in which it passes them, where that is known.
    from: usize,
    to: usize,
    ordered: bool,
    /// Those that were lost, at the least; `None` where it is not known whether any was.
    requests: Option<u64>,
    answers: Option<u64>,
    /// Packets of its direction, of whatever flow, that others overtook between the two.
    overtaken: u64,
    /// Of each of both: the time by its clock in which the other covers it, where that is not all of it.
    covered: [Option<[u64; 2]>; 2],
    first: Vec<FrameRef>,
    /// When the first and the last request was lost, by the clock of `from`.
    lost_ns: Option<[u64; 2]>,
    outage: Option<OutageReport>,
    rows: Vec<RowReport>,
    /// When the first one was lost that belongs to none of the rows, where they are not all.
    rows_until: Option<u64>,
    /// Packets of its direction, of whatever flow, that were marked between the two, and that were damaged.
    marked: u64,
    damaged: u64,
}

/// Requests of a flow that were lost in a row right behind a tap, by its clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RowReport {
    pub(crate) at_ns: u64,
    pub(crate) packets: u64,
    pub(crate) frame: FrameRef,
}

/// All flows that two taps or more saw.
#[derive(Clone, Debug, Default)]
pub(super) struct Fates(BTreeMap<Name, Vec<Fate>>);

/// One direction, as its flows need it.
pub(super) struct Course<'a> {
    /// The two taps, in the order of the windows' sides.
    pub(super) taps: [usize; 2],
    /// Which side comes first.
    pub(super) first: usize,
    pub(super) row: &'a TapReport,
    /// Whether what has no copy at the other tap was missed by that capture.
    pub(super) missed: bool,
    /// Those that are undecided because it is forgotten what became of them, which each flow knows of itself.
    pub(super) forgotten: u64,
    /// Of what a NAK named, so many may have been late and missed.
    pub(super) late: u64,
}

impl Fates {
    pub(super) fn add(&mut self, window: &Window, course: &Course<'_>, frame: impl Fn(FrameNo) -> FrameRef) {
        let (first, second) = (course.first, 1 - course.first.min(1));
        let tap = |side: usize| course.taps.get(side).copied().unwrap_or_default();
        let Some(up) = window.tallies.get(first) else { return };
        if up.common.is_none() {
            return;
        }
        let kinds = &course.row.lost_by_kind;
        // What cannot be said of a packet, which flow it was of (damaged beyond recognition), the row has taken off. Of
        // which flow those are whose fate nobody knows cannot be said either.
        let doubtful = course.row.undecided.saturating_sub(course.forgotten);
        let certain = |gone: u64, named: u64, of_kind: u64| {
            let lost = gone.saturating_sub(doubtful).max(named).min(of_kind);
            let known = course.row.lost.is_some() && (doubtful == 0 || lost != 0) || doubtful != 0 && gone == 0;
            known.then_some(lost)
        };
        let gone = up.requests.lost(course.missed);
        let named = up.requests.named().saturating_sub(course.late);
        let requests = certain(gone, named, kinds.requests).filter(|&lost| lost != 0 || !up.requests.is_open());
        let answers = certain(up.answers.lost(course.missed), 0, kinds.responses + kinds.acks + kinds.naks);
        let covered = [first, second].map(|side| {
            let tally = window.tallies.get(side).filter(|tally| tally.outside != 0)?;
            let [from, to] = tally.common?;
            let [lost, last] = tally.lost.unwrap_or([from, to]);
            Some([from.min(lost), to.max(last)].map(i64::cast_unsigned))
        });
        // What was damaged beyond recognition is no row of its own, and of what is in doubt nobody knows which it was.
        let lost = requests.unwrap_or(0);
        let known = up.requests.lost(false) <= lost;
        let frames = || up.first.iter().filter(|_| lost != 0 && gone <= lost);
        let row =
            |row: &Row| RowReport { at_ns: row.at[0].cast_unsigned(), packets: row.packets, frame: frame(row.frame) };
        let outage = up.outage.as_deref().filter(|_| doubtful == 0 && lost + answers.unwrap_or(0) != 0);
        let fate = Fate {
            rows: up.rows.iter().filter(|_| known).map(row).collect(),
            rows_until: up.rows_until.filter(|_| known).map(i64::cast_unsigned),
            marked: course.row.ce_marked,
            damaged: course.row.damaged,
            from: tap(first),
            to: tap(second),
            ordered: course.row.direction_by != DirectionBy::Unknown,
            requests,
            answers,
            overtaken: course.row.reordered,
            covered,
            first: frames().map(|&f| frame(f)).collect(),
            lost_ns: up.lost.filter(|_| lost != 0).map(|span| span.map(i64::cast_unsigned)),
            outage: outage.map(|o| OutageReport::of(o, &frame)),
        };
        self.0.entry(Name::of_key(&window.key)).or_default().push(fate);
    }
}

/// Packets of a flow that were lost between two neighbouring taps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) lost: u64,
}

/// What the taps tell about the requests of a flow, and about what answers them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Told {
    /// Requests lost between the taps.
    pub(crate) requests: u64,
    /// Answers lost between the taps; `None` where the taps do not cover them.
    pub(crate) answers: Option<u64>,
    /// Packets that go the same way and that others overtook between the taps, at most; `None` where the order of the
    /// taps is not known.
    pub(crate) overtaken: Option<u64>,
    /// Another tap saw these requests before this one did.
    pub(crate) before: bool,
    /// Another tap saw them after this one.
    pub(crate) behind: bool,
    /// Where requests were lost.
    pub(crate) places: Vec<Place>,
    /// Where answers were lost.
    pub(crate) places_back: Vec<Place>,
    /// Requests lost right behind this tap.
    pub(crate) here: u64,
    /// The first of them.
    pub(crate) first: Vec<FrameRef>,
    /// When they were lost.
    pub(crate) lost_ns: Option<[u64; 2]>,
    /// The longest row of losses right behind this tap.
    pub(crate) outage: Option<OutageReport>,
    /// The first of them, by row; none where nobody can say which they were.
    pub(crate) rows: Vec<RowReport>,
    /// When the first one was lost that belongs to none of the rows; `None` where they are all.
    pub(crate) rows_until: Option<u64>,
    /// Packets that go the same way and were marked right behind this tap.
    pub(crate) marked: u64,
    /// Those that were marked between any two taps, at most.
    pub(crate) marked_anywhere: u64,
    /// Packets that go the same way and were damaged right behind this tap.
    pub(crate) damaged: u64,
    /// The time that the taps cover, where that is not all of the flow.
    pub(crate) covered: Option<[u64; 2]>,
}

impl Told {
    /// Whether the taps cover all of the flow.
    pub(crate) fn is_whole(&self) -> bool {
        self.covered.is_none()
    }

    /// Whether what happened then lies in the time that the taps cover.
    pub(crate) fn covers(&self, first_ns: u64, last_ns: u64) -> bool {
        self.covered.is_none_or(|[from, to]| from <= first_ns && last_ns <= to)
    }
}

/// What one tap can know of the others.
#[derive(Debug)]
pub(crate) struct Beside<'a> {
    between: &'a Between,
    tap: usize,
    /// Queue pair numbers with several lives, which the comparison does not tell apart.
    reused: BTreeSet<Name>,
}

impl<'a> Beside<'a> {
    /// Of the tap with this index, which saw these flows.
    pub(crate) fn of(between: &'a Between, tap: usize, flows: impl Iterator<Item = FlowReport>) -> Self {
        let reused = flows.filter(|flow| flow.epoch != 0).map(|flow| Name::of(&flow)).collect();
        Self { between, tap, reused }
    }

    /// What the taps tell about a flow that asks and the one that answers it; `None` where they do not tell.
    pub(crate) fn told(&self, flow: &FlowReport, back: Option<&FlowReport>) -> Option<Told> {
        let fates = self.fates(flow)?;
        let requests = most(fates.iter().map(|fate| fate.requests))?;
        let mine = |fate: &&Fate| fate.ordered && fate.from == self.tap;
        let next = || neighbours(fates).filter(mine);
        let here = next().max_by_key(|fate| fate.requests).filter(|fate| fate.requests.is_some_and(|lost| lost != 0));
        let back = back.and_then(|back| self.fates(back));
        Some(Told {
            requests,
            answers: back.and_then(|fates| most(fates.iter().map(|fate| fate.answers))),
            overtaken: fates.iter().filter(|fate| fate.ordered).map(|fate| fate.overtaken).max(),
            before: fates.iter().any(|fate| fate.ordered && fate.to == self.tap),
            behind: fates.iter().any(|fate| mine(&fate)),
            places: self.places(fates, |fate| fate.requests),
            places_back: back.map(|fates| self.places(fates, |fate| fate.answers)).unwrap_or_default(),
            here: here.and_then(|fate| fate.requests).unwrap_or(0),
            first: here.map(|fate| fate.first.clone()).unwrap_or_default(),
            lost_ns: here.and_then(|fate| fate.lost_ns),
            outage: here.and_then(|fate| fate.outage.clone()),
            rows: here.map(|fate| fate.rows.clone()).unwrap_or_default(),
            rows_until: here.and_then(|fate| fate.rows_until),
            marked: next().map(|fate| fate.marked).max().unwrap_or(0),
            marked_anywhere: fates.iter().map(|fate| fate.marked).max().unwrap_or(0),
            damaged: next().map(|fate| fate.damaged).max().unwrap_or(0),
            covered: self.covered(fates),
        })
    }

    fn fates(&self, flow: &FlowReport) -> Option<&'a [Fate]> {
        let name = Name::of(flow);
        let fates = self.between.fates.0.get(&name)?;
        // Of several lives nobody knows whose losses they are, unless there are none.
        let clear = !self.reused.contains(&name)
            || fates.iter().all(|fate| fate.requests == Some(0) && fate.answers == Some(0));
        clear.then_some(fates)
    }

    /// Of every two neighbours, with what was lost between them.
    fn places(&self, fates: &[Fate], lost: impl Fn(&Fate) -> Option<u64>) -> Vec<Place> {
        let name = |tap: usize| self.between.names.get(tap).cloned().unwrap_or_default();
        let lossy = neighbours(fates).filter_map(|f| Some((f, lost(f).filter(|&lost| lost != 0)?)));
        lossy.map(|(f, lost)| Place { from: name(f.from), to: name(f.to), lost }).collect()
    }

    fn covered(&self, fates: &[Fate]) -> Option<[u64; 2]> {
        let mine = fates.iter().flat_map(|f| [f.from, f.to].into_iter().zip(f.covered));
        let spans = mine.filter(|&(tap, _)| tap == self.tap).filter_map(|(_, span)| span);
        spans.reduce(|[a, b], [from, to]| [a.max(from), b.min(to)])
    }
}

/// Those between whose taps no other one is known to stand.
fn neighbours(fates: &[Fate]) -> impl Iterator<Item = &Fate> {
    let ordered = || fates.iter().filter(|f| f.ordered);
    let known = move |from: usize, to: usize| ordered().any(|f| (f.from, f.to) == (from, to));
    let between = move |f: &Fate| ordered().any(|g| g.from == f.from && g.to != f.to && known(g.to, f.to));
    fates.iter().filter(move |f| !between(f))
}

/// The most between any two taps; `None` where of two of them it is not known what was lost: which was passed first, or
/// what a capture missed.
fn most(mut lost: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    lost.try_fold(None, |most, lost| Some(most.max(Some(lost?))))?
}
