//! One pass over a time line: frame, walker, ICRC, engine. On one thread or several, with the same result.

use std::thread;

use rocetop_analysis::{Config, Engine, Packet, SHARDS};
use rocetop_parsers::facts::Class;
use rocetop_parsers::ib::transport::plausible;
use rocetop_parsers::icrc::{self, Icrc};
use rocetop_parsers::{Bytes, Facts, detail, dissect_into, endpoints};

use crate::crc::Fast;
use crate::filter::Filter;
use crate::source::{CaptureSummary, Frame, Timeline};

/// Encapsulations that are looked into: a mirror's tunnel, and one that the mirrored traffic itself may have.
const DEPTH: usize = 2;

/// How to run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Threads that analyse; 0 and 1 are one, 64 the most that are of use.
    pub threads: usize,
    /// Bounds of the engine.
    pub engine: Config,
    /// Frames that do not pass are left out of everything.
    pub filter: Option<Filter>,
}

/// What a run yields.
#[derive(Debug)]
pub struct Outcome {
    /// The engine at the end, settled.
    pub engine: Engine,
    /// What became of each capture.
    pub captures: Vec<CaptureSummary>,
}

/// Frames between two looks at the progress.
const BATCH: usize = 1 << 14;

/// Reads a time line to its end. `progress` is called now and then with the bytes done and the bytes in all, if known.
pub fn run(timeline: Timeline, options: &Options, progress: impl FnMut(Bytes, Option<Bytes>)) -> Outcome {
    let parts = options.threads.clamp(1, SHARDS);
    let mut timelines = (0..).zip(timeline.split(parts));
    let first = timelines.next();
    thread::scope(|scope| {
        let others: Vec<_> = timelines
            .map(|(part, timeline)| scope.spawn(move || read(timeline, options, part, parts, |_, _| {}).0))
            .collect();
        let first = first.map(|(part, timeline)| read(timeline, options, part, parts, progress));
        let (first, captures) = first.unwrap_or_else(|| (Engine::new(options.engine), Vec::new()));
        // A part that panicked has a fault that must not pass as a report.
        let rest = others.into_iter().map(|o| o.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        Outcome { engine: Engine::merge(std::iter::once(first).chain(rest).collect()), captures }
    })
}

/// Reads one of the time lines. It is dropped at the end, by a panic too, so that the other parts do not wait for it.
fn read(
    mut timeline: Timeline,
    options: &Options,
    part: usize,
    parts: usize,
    mut progress: impl FnMut(Bytes, Option<Bytes>),
) -> (Engine, Vec<CaptureSummary>) {
    let mut engine = Engine::part(options.engine, part, parts);
    let mut filter = options.filter.as_ref().map(Filter::compiled);
    loop {
        let read = timeline.batch(BATCH, |frame| {
            if (parts == 1 || may_own(&engine, &frame)) && filter.as_mut().is_none_or(|f| f.passes(&frame)) {
                let _ = account(&mut engine, &frame);
            }
        });
        if read == 0 {
            break;
        }
        let (done, total) = timeline.progress();
        progress(done, total);
    }
    (engine, timeline.summaries())
}

/// Whether a frame may be this part's to account, as far as a short look can tell.
#[inline(always)]
fn may_own(engine: &Engine, frame: &Frame<'_>) -> bool {
    let pair = frame.link.and_then(|link| endpoints(frame.bytes, link));
    pair.is_none_or(|(src, dst)| engine.owns_pair(src, dst))
}

/// One frame through walker, ICRC and engine. Out of line, so that the loop around it is short for frames of others.
/// Returns what the engine took, for who matches it with other taps.
#[inline(never)]
pub(crate) fn account(engine: &mut Engine, frame: &Frame<'_>) -> Option<Packet> {
    let wire = Bytes(u64::from(frame.wire_len));
    let Some(link) = frame.link else {
        undecodable(engine, wire);
        return None;
    };
    let (facts, icrc) = (Facts::default(), Icrc::Unknown);
    let mut packet = Packet { frame: frame.number, at: frame.ts, wire, iface: frame.iface, facts, icrc };
    let facts = &mut packet.facts;
    if dissect_into::<DEPTH, [u8]>(frame.bytes, link, facts).is_err() {
        undecodable(engine, wire);
        return None;
    }
    if !engine.owns(facts) {
        return None;
    }
    if facts.is_rdma() {
        packet.icrc = icrc::check(frame.bytes, facts, &Fast);
        if facts.class == Class::RoceV2 && !plausible(facts, packet.icrc) {
            facts.class = Class::Other;
        }
    }
    engine.packet(&packet);
    if let Some(detail) = detail(frame.bytes, &packet.facts) {
        engine.detail(&packet, &detail);
    }
    Some(packet)
}

/// A frame that ends too early, or of a link type that nobody here knows. It belongs to no shard.
#[cold]
fn undecodable(engine: &mut Engine, wire: Bytes) {
    if engine.owns_rest() {
        engine.undecodable(wire);
    }
}
