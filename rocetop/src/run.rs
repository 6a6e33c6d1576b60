//! One pass over a time line: frame, walker, ICRC, engine. On one thread or several, with the same result.

use std::thread;

use rocetop_analysis::{Config, Engine, Packet};
use rocetop_parsers::facts::Class;
use rocetop_parsers::ib::transport::plausible;
use rocetop_parsers::icrc::{self, Icrc};
use rocetop_parsers::{Bytes, detail, dissect};

use crate::crc::Fast;
use crate::filter::Filter;
use crate::source::{CaptureSummary, Frame, Timeline};

/// Encapsulations that are looked into: a mirror's tunnel, and one that the mirrored traffic itself may have.
const DEPTH: usize = 2;

/// How to run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Threads; 0 and 1 are one. Streams are always read by one.
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
pub fn run(mut timeline: Timeline, options: &Options, progress: impl FnMut(Bytes, Option<Bytes>)) -> Outcome {
    let others: Vec<Timeline> = (1..options.threads).map_while(|_| timeline.fork()).collect();
    let parts = others.len() + 1;
    let engine = thread::scope(|scope| {
        let others: Vec<_> = (1..)
            .zip(others)
            .map(|(part, mut timeline)| scope.spawn(move || read(&mut timeline, options, part, parts, |_, _| {})))
            .collect();
        let first = read(&mut timeline, options, 0, parts, progress);
        // A part that panicked has a fault that must not pass as a report.
        let rest = others.into_iter().map(|o| o.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        Engine::merge(std::iter::once(first).chain(rest).collect())
    });
    Outcome { engine, captures: timeline.summaries() }
}

fn read(
    timeline: &mut Timeline,
    options: &Options,
    part: usize,
    parts: usize,
    mut progress: impl FnMut(Bytes, Option<Bytes>),
) -> Engine {
    let mut engine = Engine::part(options.engine, part, parts);
    let mut filter = options.filter.as_ref().map(Filter::compiled);
    loop {
        let read = timeline.batch(BATCH, |frame| {
            if filter.as_mut().is_none_or(|f| f.passes(&frame)) {
                account(&mut engine, &frame);
            }
        });
        if read == 0 {
            break;
        }
        let (done, total) = timeline.progress();
        progress(done, total);
    }
    engine
}

/// One frame through walker, ICRC and engine.
#[inline(always)]
fn account(engine: &mut Engine, frame: &Frame<'_>) {
    let wire = Bytes(u64::from(frame.wire_len));
    let Some(link) = frame.link else { return undecodable(engine, frame, wire) };
    let Ok(facts) = dissect::<DEPTH, [u8]>(frame.bytes, link) else { return undecodable(engine, frame, wire) };
    if !engine.owns(&facts) {
        return;
    }
    let icrc = Icrc::Unknown;
    let mut packet = Packet { frame: frame.number, at: frame.ts, wire, iface: frame.iface, facts, icrc };
    let facts = &mut packet.facts;
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
}

/// A frame that ends too early, or of a link type that nobody here knows. It belongs to no shard.
#[cold]
fn undecodable(engine: &mut Engine, frame: &Frame<'_>, wire: Bytes) {
    if engine.owns_rest() {
        engine.undecodable(frame.ts, wire);
    }
}
