//! What was lost on the way to each host, and what speaks about the reason.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::report::{FlowReport, FrameRef};
use crate::story::report::Kind;
use crate::taps::Told;

/// Moments of loss that are looked at, of all flows to one host: of more than twice as many, the first ones (chosen:
/// bounds memory and work).
const MOMENTS: usize = 4_096;

/// Packets that were lost in a row.
#[derive(Clone, Debug)]
pub(crate) struct Loss {
    pub(crate) at: u64,
    pub(crate) packets: u64,
    pub(crate) sender: Rc<str>,
    pub(crate) frame: Option<FrameRef>,
}

/// A time: its beginning and its end.
type Span = [u64; 2];

fn lasted([from, to]: Span) -> u64 {
    to.saturating_sub(from)
}

/// With another time added, where there is one already.
fn joined(span: Option<Span>, [from, to]: Span) -> Span {
    span.map_or([from, to], |[a, b]| [a.min(from), b.max(to)])
}

/// One who sends to a host.
#[derive(Clone, Copy, Debug, Default)]
struct Sender {
    /// Its requests, and from the first packet of their flows to the last.
    requests: u64,
    span: Option<Span>,
    /// Those marked CE between this tap and the next one, between any two taps, and those damaged between this tap and
    /// the next one.
    marked: u64,
    marked_anywhere: u64,
    damaged: u64,
}

impl Sender {
    /// Its requests before `until`, as if it had sent them evenly.
    fn requests_before(&self, until: u64) -> u64 {
        let Some([from, to]) = self.span.filter(|span| span[1] > until) else { return self.requests };
        let part =
            u128::from(self.requests) * u128::from(lasted([from, until])) / u128::from(lasted([from, to]).max(1));
        u64::try_from(part).unwrap_or(self.requests)
    }
}

/// What is known about the way to one host.
#[derive(Clone, Debug, Default)]
pub(crate) struct Way {
    senders: BTreeMap<Rc<str>, Sender>,
    /// CE marks of what came by here, frames with a bad ICRC, and the CNPs and sequence errors that came back.
    ce: u64,
    icrc_bad: u64,
    pub(crate) cnps: u64,
    pub(crate) naks: u64,
    /// Those that are kept.
    losses: Vec<Loss>,
    /// When the first one came that is not kept, of any flow.
    until: Option<u64>,
    /// More was lost than is kept.
    more: bool,
    /// From the first packet of these flows to the last.
    span: Option<Span>,
}

impl Way {
    /// CE marks, of this tap and behind it.
    pub(crate) fn ce(&self) -> u64 {
        self.ce + self.senders.values().map(|s| s.marked).sum::<u64>()
    }

    /// Whether another tap saw marks that this one did not: of a queue on the same way, if not where the losses were.
    pub(crate) fn is_marked_elsewhere(&self) -> bool {
        self.senders.values().any(|s| s.marked_anywhere > s.marked)
    }

    /// Frames with a bad ICRC, of this tap and behind it.
    pub(crate) fn icrc_bad(&self) -> u64 {
        self.icrc_bad + self.senders.values().map(|s| s.damaged).sum::<u64>()
    }

    pub(crate) fn senders(&self) -> u64 {
        self.senders.len() as u64
    }

    /// The losses in the order of time, up to the first one that is not kept: of what comes later only a part is known,
    /// which has another pattern than the whole.
    pub(crate) fn losses(&self) -> Vec<&Loss> {
        let known = |loss: &&Loss| self.until.is_none_or(|until| loss.at < until);
        let mut losses: Vec<&Loss> = self.losses.iter().filter(known).collect();
        losses.sort_by_key(|l| l.at);
        losses
    }

    /// Whether these are all.
    pub(crate) fn is_whole(&self) -> bool {
        !self.more
    }

    /// Requests sent to this host in the time of these losses; an estimate where that is not all of it.
    pub(crate) fn requests(&self) -> u64 {
        let before = |s: &Sender| self.until.map_or(s.requests, |until| s.requests_before(until));
        self.senders.values().map(before).sum()
    }

    /// That time: how long requests were sent to this host, in nanoseconds.
    pub(crate) fn lasted(&self) -> u64 {
        self.span.map_or(0, |[from, to]| lasted([from, self.until.map_or(to, |until| until.min(to))]))
    }

    /// All of the time in which requests were sent.
    pub(crate) fn lasted_in_all(&self) -> u64 {
        self.span.map_or(0, lasted)
    }

    /// The requests of a flow, and what is lost of them: where several taps tell, what they tell.
    fn requested(&mut self, sender: &Rc<str>, flow: &FlowReport, told: Option<&Told>) {
        self.ce += flow.ce;
        self.icrc_bad += u64::from(flow.icrc_bad);
        if flow.requests.packets == 0 {
            return;
        }
        let span = [flow.first_ns, flow.last_ns];
        self.span = Some(joined(self.span, span));
        let known = self.senders.entry(Rc::clone(sender)).or_default();
        known.requests += flow.requests.packets;
        known.span = Some(joined(known.span, span));
        // Each flow of a sender tells of all that goes its way.
        if let Some(told) = told {
            known.marked = known.marked.max(told.marked);
            known.marked_anywhere = known.marked_anywhere.max(told.marked_anywhere);
            known.damaged = known.damaged.max(told.damaged);
        }
        let before = self.losses.len();
        let mut add = |at, packets, frame: Option<&FrameRef>| {
            let (sender, frame) = (Rc::clone(sender), frame.cloned());
            self.losses.push(Loss { at, packets, sender, frame });
            packets
        };
        // A tap before this one saw what is missing here, or saw it getting lost.
        if told.is_none_or(|told| !told.before)
            && let Some(story) = &flow.story
        {
            let here = story.episodes.iter().filter(|e| e.kind == Kind::LostBeforeTap);
            let listed: u64 = here.map(|e| add(e.first_ns, e.packets.max(1), e.frames.first())).sum();
            if listed < story.lost_before_tap {
                (self.more, self.until) = (true, earlier(self.until, story.listed_until_ns));
            }
        }
        if let Some(told) = told {
            let listed: u64 = told.rows.iter().map(|r| add(r.at_ns, r.packets, Some(&r.frame))).sum();
            self.more |= listed < told.here;
            self.until = earlier(self.until, told.rows_until);
        }
        if self.losses.len() > before.max(2 * MOMENTS) {
            self.losses.sort_by_key(|l| l.at);
            let first = self.losses.get(MOMENTS).map(|l| l.at);
            (self.more, self.until) = (true, earlier(self.until, first));
            self.losses.truncate(MOMENTS);
        }
    }
}

fn earlier(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    a.into_iter().chain(b).min()
}

/// All ways, by the host that they lead to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ways(BTreeMap<Rc<str>, Way>);

impl Ways {
    /// Whether a flow says anything of losses: a host that nothing is lost to costs nothing, however many there are.
    pub(crate) fn heeds(flow: &FlowReport, told: Option<&Told>) -> bool {
        let lost =
            flow.story.as_ref().is_some_and(|s| !s.episodes.is_empty()) || told.is_some_and(|t| !t.rows.is_empty());
        let signs = flow.ce + flow.cnps + u64::from(flow.icrc_bad) + u64::from(flow.naks.psn_sequence_error);
        lost || signs != 0
    }

    /// Such a flow between these two hosts, of which the taps tell this.
    pub(crate) fn add(&mut self, [src, dst]: [&Rc<str>; 2], flow: &FlowReport, told: Option<&Told>) {
        self.0.entry(Rc::clone(dst)).or_default().requested(src, flow, told);
        // What goes back speaks about the way here.
        if flow.cnps != 0 || flow.naks.psn_sequence_error != 0 {
            let back = self.0.entry(Rc::clone(src)).or_default();
            back.cnps += flow.cnps;
            back.naks += u64::from(flow.naks.psn_sequence_error);
        }
    }

    /// Each host, with the way there.
    pub(crate) fn each(&self) -> impl Iterator<Item = (&str, &Way)> {
        self.0.iter().map(|(host, way)| (&**host, way))
    }
}
