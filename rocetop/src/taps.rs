//! Several captures as vantage points of their own: an engine for each, and a matcher between them.
//!
//! They are read side by side, so that the same packet comes from all of them at about the same time. Their first
//! packets say how far the clocks and the beginnings are apart; pipes cannot be read twice and are taken by their
//! clocks.

use std::path::{Path, PathBuf};

use rocetop_analysis::taps::{Between, Matcher, Meeting};
use rocetop_analysis::{Engine, FrameNo, Ledger, Packet};
use rocetop_parsers::Bytes;

use crate::filter::{Compiled, Filter};
use crate::run::{Options, Outcome, account};
use crate::source::{CaptureSummary, Frame, OpenError, Stop, Timeline, reads_once};

/// Most taps: each is matched with each.
pub const MOST: usize = 64;

/// What a run over taps yields.
#[derive(Debug)]
pub struct Taps {
    /// Each tap by itself.
    pub outcomes: Vec<Outcome>,
    /// What lies between them.
    pub between: Between,
}

impl Taps {
    /// A run over one vantage point.
    #[must_use]
    pub fn of_one(outcome: Outcome) -> Self {
        Self { outcomes: vec![outcome], between: Between::default() }
    }

    /// The captures of all taps.
    #[must_use]
    pub fn captures(&self) -> Vec<CaptureSummary> {
        self.outcomes.iter().flat_map(|o| &o.captures).cloned().collect()
    }

    /// What each tap saw.
    #[must_use]
    pub fn ledgers(&self) -> Vec<Ledger<'_>> {
        let names: Vec<String> = self.outcomes.iter().flat_map(|o| &o.captures).map(|c| c.path.clone()).collect();
        self.outcomes.iter().map(|o| Ledger::new(&o.engine, names.clone())).collect()
    }
}

/// Frames between two looks at the progress.
const BATCH: u64 = 1 << 14;

/// One capture being read.
struct Tap {
    timeline: Timeline,
    engine: Engine,
    filter: Option<Compiled>,
    /// Clock less that of the first tap.
    ahead: i64,
    /// How far it was read, by the first tap's clock; `None` at the end.
    at: Option<i64>,
}

impl Tap {
    fn open(path: &Path, options: &Options, stop: &Stop) -> Result<Self, OpenError> {
        Ok(Self {
            timeline: Timeline::open_with(&[path], stop.clone())?,
            engine: Engine::new(options.engine),
            filter: options.filter.as_ref().map(Filter::compiled),
            ahead: 0,
            at: Some(i64::MIN),
        })
    }

    /// Reads one frame; hands on its packet, if it is one.
    fn read(&mut self, index: usize, mut each: impl FnMut(&Frame<'_>, Option<Packet>)) {
        let Some(mut frame) = self.timeline.next() else {
            self.at = None;
            return;
        };
        self.at = Some(frame.ts.0.cast_signed().saturating_sub(self.ahead));
        frame.number = FrameNo::new(index as u16, frame.number.place());
        if self.filter.as_mut().is_none_or(|f| f.passes(&frame)) {
            let packet = account(&mut self.engine, &frame);
            each(&frame, packet);
        }
    }
}

/// The tap that is furthest behind.
fn next(taps: &[Tap]) -> Option<usize> {
    let live = taps.iter().enumerate().filter_map(|(index, tap)| Some((tap.at?, index)));
    live.min().map(|(_, index)| index)
}

/// Reads all captures to their ends, each as a tap of its own. `progress` is called as [`crate::run::run`] does.
///
/// # Errors
/// [`OpenError`] when a capture cannot be opened.
pub fn run(
    paths: &[PathBuf],
    options: &Options,
    stop: &Stop,
    mut progress: impl FnMut(Bytes, Option<Bytes>),
) -> Result<Taps, OpenError> {
    let open = |path: &PathBuf| Tap::open(path, options, stop);
    let clocks = clocks(paths, options, stop)?;
    let mut taps = paths.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    for (tap, ahead) in taps.iter_mut().zip(clocks) {
        tap.ahead = ahead;
    }
    let mut matcher = Matcher::new(taps.len(), options.engine.most_flows);
    let mut frames = 0u64;
    while let Some(index) = next(&taps) {
        if let Some(tap) = taps.get_mut(index) {
            tap.read(index, |frame, packet| {
                matcher.frame(index, frame.ts);
                if let Some(packet) = packet {
                    matcher.packet(index, &packet);
                }
            });
        }
        frames += 1;
        if frames.is_multiple_of(BATCH) {
            let (done, total) =
                taps.iter().map(|t| t.timeline.progress()).fold((Bytes(0), Some(Bytes(0))), |(done, total), (d, t)| {
                    (done + d, total.zip(t).map(|(total, t)| total + t))
                });
            progress(done, total);
        }
    }
    let outcome = |tap: Tap| Outcome { captures: tap.timeline.summaries(), engine: Engine::merge(vec![tap.engine]) };
    let outcomes: Vec<Outcome> = taps.into_iter().map(outcome).collect();
    let names: Vec<String> = outcomes.iter().flat_map(|o| &o.captures).map(|c| c.path.clone()).collect();
    Ok(Taps { between: matcher.finish(&names), outcomes })
}

/// How far each capture's clock is ahead of the first one's, as far as their first packets tell.
fn clocks(paths: &[PathBuf], options: &Options, stop: &Stop) -> Result<Vec<i64>, OpenError> {
    let mut meeting = Meeting::new(paths.len());
    if paths.iter().any(|path| reads_once(path)) {
        return Ok(meeting.clocks());
    }
    let open = |path: &PathBuf| Tap::open(path, options, stop);
    let mut taps = paths.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    let mut rounds = 0u64;
    while taps.iter().any(|t| t.at.is_some()) {
        for (index, tap) in taps.iter_mut().enumerate().filter(|(_, t)| t.at.is_some()) {
            tap.read(index, |_, packet| {
                if let Some(packet) = packet {
                    meeting.packet(index, &packet);
                }
            });
        }
        rounds += 1;
        if rounds.is_multiple_of(64) && meeting.is_over() {
            break;
        }
    }
    Ok(meeting.clocks())
}
