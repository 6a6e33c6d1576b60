//! Rare things that packets of a flow show, each with its first and last frame: evidence for whoever doubts a finding.
//!
//! A flow that has none of them keeps none of this.

use rocetop_parsers::fold::Tally;
use rocetop_parsers::ib::opcode::{Opcode, Traits};
use rocetop_parsers::{Facts, Nanos, Psn};
use serde::Serialize;

use crate::event::{FrameNo, Packet};
use crate::flow::copies::Copies;
use crate::flow::habits::Habits;
use crate::flow::headers::{Few, Outer};
use crate::report::FrameRef;

/// What is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// A request or READ response was marked CE.
    Ce,
    /// An ACK, NAK or notification was marked CE.
    CeOnAnswer,
    Cnp,
    /// A NAK that ends the queue pair.
    FatalNak,
    BadIcrc,
    /// A packet of a cut frame whose PSN or transport fits nothing before it or behind.
    Wild,
    /// The DSCP is not that of the packet of the same kind before.
    Dscp,
    Ttl,
    /// VLAN or priority, or the tag itself.
    Vlan,
    /// A First or Middle packet with less than the path MTU.
    Small,
}

/// How often, and where first and last.
#[derive(Clone, Copy, Debug, Default)]
struct Span {
    count: u64,
    first: FrameNo,
    last: FrameNo,
    first_at: Nanos,
    last_at: Nanos,
}

impl Span {
    fn add(&mut self, packet: &Packet) {
        if self.count == 0 {
            (self.first, self.first_at) = (packet.frame, packet.at);
        }
        self.count += 1;
        self.last = packet.frame;
        // Clocks may run backward.
        (self.first_at, self.last_at) = (self.first_at.min(packet.at), self.last_at.max(packet.at));
    }
}

/// Packets that a sender may put in classes of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Requests and READ or atomic responses.
    Data,
    /// ACKs and NAKs.
    Answer,
    Cnp,
}

impl Kind {
    fn of(facts: &Facts, traits: Traits) -> Self {
        if facts.opcode == Opcode::CNP {
            Self::Cnp
        } else if traits.any(Traits::REQUEST | Traits::RESPONSE) {
            Self::Data
        } else {
            Self::Answer
        }
    }

    /// Packets of each kind.
    fn counts(tally: &Tally) -> [u64; 3] {
        let data = tally.requests + tally.responses;
        [data, tally.packets - data - tally.cnps, tally.cnps]
    }
}

/// Headers of one kind of packets.
#[derive(Clone, Copy, Debug, Default)]
struct Worn {
    dscp: Few<u8, 4>,
    latest: Option<Outer>,
    /// Packets of this kind when the headers changed last.
    packets: u64,
}

impl Worn {
    fn wear(&mut self, outer: Outer) {
        self.latest = Some(outer);
        self.dscp.add(outer.dscp());
    }
}

/// The first packet that was larger than all before it.
#[derive(Clone, Copy, Debug)]
struct Growth {
    psn: Psn,
    frame: FrameNo,
    /// Largest size before, and its own.
    passed: u16,
    size: u16,
    /// Times that it was sent again, and the last one.
    repeats: u32,
    last: FrameNo,
    last_at: Nanos,
}

/// What was marked in a flow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marks {
    /// Of what was seen, in the order of first sight.
    spans: Vec<(Mark, Span)>,
    /// By kind, once headers have changed.
    worn: Option<Box<[Worn; 3]>>,
    /// Smallest payload of a First or Middle packet below the path MTU.
    small: u32,
    growth: Option<Growth>,
    /// What a mirror shows again from another place.
    pub(super) copies: Option<Box<Copies>>,
    /// A packet that may be one, until the next one tells.
    pub(crate) strange: Option<Box<Packet>>,
    /// What happens over time, where something does.
    pub(crate) habits: Option<Box<Habits>>,
    /// Repeated Last or Only packets.
    pub(crate) messages_again: u32,
}

impl Marks {
    pub(crate) fn add(&mut self, mark: Mark, packet: &Packet) {
        match self.spans.iter_mut().find(|(m, _)| *m == mark) {
            Some((_, span)) => span.add(packet),
            None => {
                let mut span = Span::default();
                span.add(packet);
                self.spans.push((mark, span));
            }
        }
    }

    fn span(&self, mark: Mark) -> Option<&Span> {
        self.spans.iter().find(|(m, _)| *m == mark).map(|(_, span)| span)
    }

    pub(crate) fn count(&self, mark: Mark) -> u64 {
        self.span(mark).map_or(0, |span| span.count)
    }

    /// A First or Middle packet that its path MTU does not explain.
    pub(crate) fn small(&mut self, packet: &Packet) {
        self.add(Mark::Small, packet);
        let payload = packet.facts.payload;
        self.small = if self.small == 0 { payload } else { self.small.min(payload) };
    }

    /// A request that is larger than the `passed` of all before it.
    pub(crate) fn grew(&mut self, packet: &Packet, passed: u16, size: u16) {
        let (psn, frame, last_at) = (packet.facts.psn, packet.frame, packet.at);
        self.growth = Some(Growth { psn, frame, passed, size, repeats: 0, last: frame, last_at });
    }

    /// A request was sent again.
    pub(crate) fn repeated(&mut self, packet: &Packet) {
        if let Some(growth) = self.growth.as_mut().filter(|g| g.psn == packet.facts.psn) {
            growth.repeats += 1;
            (growth.last, growth.last_at) = (packet.frame, packet.at);
        }
    }

    /// A packet's headers are not those of the packet before it. `tally` has it counted already.
    pub(crate) fn headers(&mut self, packet: &Packet, traits: Traits, before: Outer, now: Outer, tally: &Tally) {
        let kind = Kind::of(&packet.facts, traits);
        let all = self.worn.get_or_insert_default();
        worn_since(all, before, tally, Some(kind));
        let Some(worn) = all.get_mut(kind as usize) else { return };
        worn.packets += 1;
        let last = worn.latest.replace(now).filter(|last| last.same_tap(now));
        worn.dscp.add(now.dscp());
        // A notification has the class that its sender gives to all of them.
        let Some(last) = last.filter(|_| kind != Kind::Cnp) else { return };
        for (mark, changed) in [
            (Mark::Dscp, last.dscp() != now.dscp()),
            (Mark::Ttl, last.ttl() != now.ttl()),
            (Mark::Vlan, last.tag() != now.tag()),
        ] {
            if changed {
                self.add(mark, packet);
            }
        }
    }

    /// DSCPs of requests and responses, and of ACKs and NAKs, where headers have changed. `latest` are those of the
    /// last packet.
    pub(crate) fn dscps(&self, latest: Outer, tally: &Tally) -> Option<[Vec<u8>; 2]> {
        let mut all = self.worn.clone()?;
        worn_since(&mut all, latest, tally, None);
        let [data, answers, _] = *all;
        Some([data.dscp.values().to_vec(), answers.dscp.values().to_vec()])
    }

    /// The first larger packet, where it was sent again and nothing from `unacked` on was ever acknowledged.
    pub(crate) fn stuck(&self, unacked: Psn, frame: &dyn Fn(FrameNo) -> FrameRef) -> Option<StuckReport> {
        let growth = self.growth.filter(|g| g.repeats != 0 && unacked - g.psn <= 0)?;
        Some(StuckReport {
            passed_bytes: growth.passed,
            bytes: growth.size,
            psn: growth.psn.get(),
            repeats: growth.repeats,
            first_frame: frame(growth.frame),
            last_frame: frame(growth.last),
            last_ns: growth.last_at.0,
        })
    }

    /// In the shape of the report; `None` where no mark was set.
    pub(crate) fn report(&self, frame: &dyn Fn(FrameNo) -> FrameRef) -> Option<MarksReport> {
        let span = |mark: Mark| {
            self.span(mark).map(|span| SpanReport {
                count: span.count,
                first_ns: span.first_at.0,
                last_ns: span.last_at.0,
                first_frame: frame(span.first),
                last_frame: frame(span.last),
            })
        };
        (!self.spans.is_empty()).then(|| MarksReport {
            ce: span(Mark::Ce),
            ce_on_answers: span(Mark::CeOnAnswer),
            cnp: span(Mark::Cnp),
            fatal_nak: span(Mark::FatalNak),
            icrc_bad: span(Mark::BadIcrc),
            wild: span(Mark::Wild),
            dscp_change: span(Mark::Dscp),
            ttl_change: span(Mark::Ttl),
            vlan_change: span(Mark::Vlan),
            below_mtu: span(Mark::Small),
            below_mtu_bytes: (self.small != 0).then_some(self.small),
        })
    }
}

/// Notes which kinds of packets have come since the last change, all with the same headers. The current packet, if
/// there is one, is not among them.
fn worn_since(all: &mut [Worn; 3], headers: Outer, tally: &Tally, current: Option<Kind>) {
    let counts = Kind::counts(tally);
    for (kind, (worn, count)) in [Kind::Data, Kind::Answer, Kind::Cnp].into_iter().zip(all.iter_mut().zip(counts)) {
        let count = count - u64::from(current == Some(kind));
        if count > worn.packets {
            worn.wear(headers);
            worn.packets = count;
        }
    }
}

/// How often something was seen in a flow, and where first and last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "each name says it")]
pub struct SpanReport {
    pub count: u64,
    pub first_ns: u64,
    pub last_ns: u64,
    pub first_frame: FrameRef,
    pub last_frame: FrameRef,
}

impl SpanReport {
    /// The first frame, and the last where that is another one.
    #[must_use]
    pub fn frames(&self) -> Vec<FrameRef> {
        let mut frames = vec![self.first_frame.clone(), self.last_frame.clone()];
        frames.dedup();
        frames
    }
}

/// Rare things in a flow; `None` for what was not seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MarksReport {
    /// Requests and READ responses marked CE.
    pub ce: Option<SpanReport>,
    /// ACKs, NAKs and notifications marked CE.
    pub ce_on_answers: Option<SpanReport>,
    /// Congestion notification packets.
    pub cnp: Option<SpanReport>,
    /// NAKs that end the queue pair.
    pub fatal_nak: Option<SpanReport>,
    /// Frames whose ICRC is wrong.
    pub icrc_bad: Option<SpanReport>,
    /// Packets of cut frames that fit nothing before or behind them: damaged, as it seems, and left out of all figures.
    pub wild: Option<SpanReport>,
    /// Packets with another DSCP than the one of their kind before.
    pub dscp_change: Option<SpanReport>,
    /// Packets with another TTL than the one of their kind before.
    pub ttl_change: Option<SpanReport>,
    /// Packets with another VLAN tag than the one of their kind before.
    pub vlan_change: Option<SpanReport>,
    /// First and Middle packets with less payload than the path MTU.
    pub below_mtu: Option<SpanReport>,
    /// The least payload of these.
    pub below_mtu_bytes: Option<u32>,
}

/// A request that was larger than all before it, and was sent again without any answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StuckReport {
    /// Largest request before it; of a READ what it asks for, 65,535 at most.
    pub passed_bytes: u16,
    /// Its own size.
    pub bytes: u16,
    /// Its PSN.
    pub psn: u32,
    /// Times that it was sent again.
    pub repeats: u32,
    /// The first time.
    pub first_frame: FrameRef,
    /// The last time.
    pub last_frame: FrameRef,
    /// When that was.
    pub last_ns: u64,
}
