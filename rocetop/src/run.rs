//! One pass over a time line: frame, walker, ICRC, engine. On one thread or several, with the same result.

mod team;

use rocetop_analysis::{Config, Engine, Focus, Packet, SHARDS};
use rocetop_parsers::facts::Class;
use rocetop_parsers::ib::transport::plausible;
use rocetop_parsers::icrc::{self, Icrc};
use rocetop_parsers::{Bytes, Facts, detail, dissect_into};

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

/// Frames between two looks at the progress, at most.
const BATCH: usize = 1 << 14;

/// Reads a time line to its end. `progress` is called now and then with the bytes done and the bytes in all, if known.
pub fn run(timeline: Timeline, options: &Options, progress: impl FnMut(Bytes, Option<Bytes>)) -> Outcome {
    match options.threads.clamp(1, SHARDS) {
        1 => alone(timeline, options, progress),
        parts => team::run(timeline, options, parts, progress),
    }
}

/// [`run`] on the thread that calls.
fn alone(timeline: Timeline, options: &Options, progress: impl FnMut(Bytes, Option<Bytes>)) -> Outcome {
    pass(timeline, options, options.engine, progress, |engine, frame| {
        let _ = account(engine, frame);
    })
}

/// Hands every frame that passes the filter to `each`, with the engine that it is for.
#[inline(always)]
fn pass(
    mut timeline: Timeline,
    options: &Options,
    config: Config,
    mut progress: impl FnMut(Bytes, Option<Bytes>),
    mut each: impl FnMut(&mut Engine, &Frame<'_>),
) -> Outcome {
    let mut engine = Engine::new(config);
    let mut filter = options.filter.as_ref().map(Filter::compiled);
    loop {
        let read = timeline.batch(BATCH, |frame| {
            if filter.as_mut().is_none_or(|f| f.passes(&frame)) {
                each(&mut engine, &frame);
            }
        });
        if read == 0 {
            break;
        }
        let (done, total) = timeline.progress();
        progress(done, total);
    }
    Outcome { engine: Engine::merge(vec![engine]), captures: timeline.summaries() }
}

/// A second pass over the same captures, for the connection in `focus` alone. The outcome's engine is for
/// [`Engine::look_closer`]; whether the captures are still the same is for the caller to see.
pub fn again(
    timeline: Timeline,
    options: &Options,
    focus: Focus,
    progress: impl FnMut(Bytes, Option<Bytes>),
) -> Outcome {
    let config = Config { focus: Some(focus), ..options.engine };
    pass(timeline, options, config, progress, |engine, frame| {
        let mut packet = Packet::default();
        if look(frame, &mut packet) && focus.concerns(&packet.facts) {
            feed(engine, frame, &packet);
        }
    })
}

/// One frame through walker, ICRC and engine. Returns what the engine took, for who matches it with other taps.
#[inline(always)]
pub(crate) fn account(engine: &mut Engine, frame: &Frame<'_>) -> Option<Packet> {
    let mut packet = Packet::default();
    if !look(frame, &mut packet) {
        engine.undecodable(packet.wire);
        return None;
    }
    feed(engine, frame, &packet);
    Some(packet)
}

/// One frame that was counted elsewhere: only what it carries beside its facts goes into the engine.
pub(crate) fn mention(engine: &mut Engine, frame: &Frame<'_>) {
    let mut packet = Packet::default();
    if look(frame, &mut packet)
        && let Some(detail) = detail(frame.bytes, &packet.facts)
    {
        engine.detail(&packet, &detail);
    }
}

/// A frame that was looked at goes into the engine, with what it carries beside its facts.
#[inline(always)]
fn feed(engine: &mut Engine, frame: &Frame<'_>, packet: &Packet) {
    engine.packet(packet);
    if let Some(detail) = detail(frame.bytes, &packet.facts) {
        engine.detail(packet, &detail);
    }
}

/// One frame through walker and ICRC. `false` for one that ends too early, or of a link type that nobody here knows.
#[inline(always)]
pub(crate) fn look(frame: &Frame<'_>, packet: &mut Packet) -> bool {
    let wire = Bytes(u64::from(frame.wire_len));
    let (facts, icrc) = (Facts::default(), Icrc::Unknown);
    let Frame { number, ts, iface, strand, .. } = *frame;
    *packet = Packet { frame: number, at: ts, wire, iface, strand, facts, icrc };
    let facts = &mut packet.facts;
    let Some(link) = frame.link else { return false };
    if dissect_into::<DEPTH, [u8]>(frame.bytes, link, facts).is_err() {
        return false;
    }
    if facts.is_rdma() {
        packet.icrc = icrc::check(frame.bytes, facts, &Fast);
        if facts.class == Class::RoceV2 && !plausible(facts, packet.icrc) {
            facts.class = Class::Other;
        }
    }
    true
}
