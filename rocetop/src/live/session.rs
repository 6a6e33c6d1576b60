//! The loop: frames of the interfaces through the same path as those of files, and a figure or two every second.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rocetop_analysis::counted::Counted;
use rocetop_analysis::{Config, Engine, FrameNo, Pulse};
use rocetop_parsers::{Bytes, Nanos};

use super::batch::Counts;
use super::lanes::{Lanes, Turn};
use super::source::Opened;
use crate::pcap::Interface;
use crate::run::{Outcome, account, mention};
use crate::source::summary::Tally;
use crate::source::{CaptureSummary, Frame, Stop, Watched};

/// What a second was like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Second {
    /// When it ended, by this host's clock.
    pub at: Nanos,
    /// How long it really took.
    pub took: Nanos,
    /// Frames, of whatever kind.
    pub frames: u64,
    /// Their bytes on the wire.
    pub bytes: Bytes,
    /// Those with a BTH.
    pub rdma_frames: u64,
    /// Of these, those marked CE.
    pub ce: u64,
    /// Congestion notifications.
    pub cnps: u64,
    /// What was new.
    pub new: Pulse,
    /// Connections so far.
    pub connections: u64,
    /// Frames that the kernel had no room for; `None` where one interface does not tell.
    pub drops: Option<u64>,
}

/// Who is told what happens.
pub trait Listener {
    /// A frame passed. What [`Interface`] it came from is told by its `iface`.
    fn frame(&mut self, frame: &Frame<'_>);
    /// A second is over. `false` asks for the end.
    fn second(&mut self, second: &Second) -> bool;
    /// Something that a person should know.
    fn note(&mut self, text: &str);
}

/// An interface, and what has come of it.
struct Post {
    name: String,
    watched: Watched,
    interface: Interface,
    tally: Tally,
    problem: Option<String>,
}

/// Watches until the end is asked for, until `duration` is over, or until no interface is left.
pub fn watch(
    opened: Vec<Opened>,
    engine: Config,
    duration: Option<Duration>,
    stop: &Stop,
    listener: &mut impl Listener,
) -> Outcome {
    let post = |o: &Opened| Post {
        name: o.device.name.clone(),
        watched: Watched { mode: o.mode, ..Watched::new(o.kind.name(), None) },
        interface: o.interface.clone(),
        tally: Tally::default(),
        problem: None,
    };
    let fresh = Engine::new(engine);
    let mut session = Session {
        posts: opened.iter().map(post).collect(),
        frames: 0,
        before: Sums { pulse: fresh.pulse(), ..Sums::default() },
        engine: fresh,
        most: 0,
    };
    let mut lanes = Lanes::start(opened, stop);
    let start = Instant::now();
    let end = duration.and_then(|d| start.checked_add(d));
    let (mut since, mut tick) = (start, start + SECOND);
    loop {
        let turn = lanes.turn(end.map_or(tick, |end| end.min(tick)), |lane, item| {
            let Some(post) = session.posts.get_mut(lane) else { return };
            session.frames += 1;
            let frame = Frame {
                ts: item.ts,
                number: FrameNo::new(0, session.frames),
                iface: lane as u32,
                strand: 0,
                link: post.interface.link_type.link(),
                wire_len: item.wire_len,
                bytes: item.bytes,
            };
            if session.engine.is_counted() {
                // The kernel has counted it; what it carries beside is not among the sums.
                mention(&mut session.engine, &frame);
            } else {
                post.tally.add(Some(item.ts), item.wire_len);
                let _ = account(&mut session.engine, &frame);
            }
            listener.frame(&frame);
        });
        lanes.counts(|lane, counts| session.counted(lane, &counts));
        for (lane, post) in session.posts.iter_mut().enumerate() {
            if let Some(problem) = lanes.problem(lane) {
                listener.note(&format!("{}: {problem}", post.name));
                post.problem = Some(problem);
            }
        }
        let at = Instant::now();
        let over = matches!(turn, Turn::End);
        if over {
            // Packets that waited to see whether they come twice are settled, and so belong to the last second.
            session.engine = Engine::merge(vec![std::mem::replace(&mut session.engine, Engine::new(engine))]);
        }
        // The last one is as long as it is; without news and in no time it is none.
        if at >= tick || over && session.has_news() {
            let second = session.second(&lanes, at - since);
            (since, tick) = (at, tick.max(at - SECOND) + SECOND);
            if !listener.second(&second) {
                stop.stop();
            }
        }
        if end.is_some_and(|end| at >= end) {
            stop.stop();
        }
        if over {
            break;
        }
    }
    session.outcome(&lanes)
}

const SECOND: Duration = Duration::from_secs(1);

struct Session {
    posts: Vec<Post>,
    engine: Engine,
    frames: u64,
    before: Sums,
    /// Connections at the highest: two flows that turn out to be one connection take one away.
    most: u64,
}

/// What it came to when the last second was over.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    frames: u64,
    bytes: Bytes,
    rdma: u64,
    ce: u64,
    cnps: u64,
    drops: u64,
    pulse: Pulse,
}

impl Session {
    fn has_news(&self) -> bool {
        self.engine.totals().frames() != self.before.frames || self.engine.pulse() != self.before.pulse
    }

    /// What the kernel of an interface has counted.
    fn counted(&mut self, lane: usize, counts: &Counts) {
        let Some(post) = self.posts.get_mut(lane) else { return };
        let (frames, at) = (&counts.frames, now());
        self.engine.frames(frames, at);
        if self.engine.is_counted() {
            post.tally.count(frames.seen, Bytes(frames.bytes));
            // Where packets come as headers, nobody reads the table of flows, and what the ring lost is among the
            // drops.
            post.watched.unlisted += frames.overflow;
            post.watched.unshown += frames.ring_drops;
        } else {
            let others = frames.other() + frames.undecodable;
            post.tally.count(others, Bytes(frames.bytes.saturating_sub(frames.named_bytes)));
        }
        for flow in &counts.flows {
            let counters = &flow.flow.counters;
            [counters.first, counters.last].into_iter().for_each(|at| post.tally.saw(at));
            self.engine.counters(&Counted { iface: lane as u32, ..*flow });
        }
    }

    fn second(&mut self, lanes: &Lanes, took: Duration) -> Second {
        let totals = self.engine.totals();
        let pulse = self.engine.pulse();
        let drops = self.drops(lanes);
        let [.., ce] = totals.ecn;
        let now_sums = Sums {
            frames: totals.frames(),
            bytes: totals.bytes,
            rdma: totals.rdma(),
            ce,
            cnps: totals.cnps(),
            drops: drops.unwrap_or(self.before.drops),
            pulse,
        };
        let before = std::mem::replace(&mut self.before, now_sums);
        let old = before.pulse;
        let new = Pulse {
            connections: pulse.connections.saturating_sub(self.most),
            naks: pulse.naks.saturating_sub(old.naks),
            rnr_naks: pulse.rnr_naks.saturating_sub(old.rnr_naks),
            seen_again: pulse.seen_again.map(|n| n.saturating_sub(old.seen_again.unwrap_or(0))),
            gaps: pulse.gaps.saturating_sub(old.gaps),
        };
        self.most = self.most.max(pulse.connections);
        Second {
            at: now(),
            took: Nanos(took.as_nanos() as u64),
            frames: now_sums.frames - before.frames,
            bytes: Bytes(now_sums.bytes.0 - before.bytes.0),
            rdma_frames: now_sums.rdma - before.rdma,
            ce: ce - before.ce,
            cnps: now_sums.cnps - before.cnps,
            new,
            connections: pulse.connections,
            drops: drops.map(|n| n - before.drops.min(n)),
        }
    }

    /// All drops; `None` where an interface does not tell.
    fn drops(&self, lanes: &Lanes) -> Option<u64> {
        (0..self.posts.len()).map(|lane| lanes.drops(lane)).sum()
    }

    fn outcome(self, lanes: &Lanes) -> Outcome {
        let counted = self.engine.is_counted();
        let summary = |(lane, post): (usize, Post)| {
            let span = post.tally.span();
            CaptureSummary {
                path: post.name,
                format: None,
                link_type: Some(post.interface.link_type.to_string()),
                frames: post.tally.frames,
                bytes: post.tally.bytes,
                first_ns: span.map(|(first, _)| first),
                last_ns: span.map(|(_, last)| last),
                stamped_back: post.tally.stamped_back,
                complete: post.problem.is_none(),
                problem: post.problem,
                drops: lanes.drops(lane),
                notes: Vec::new(),
                clock_jumps: false,
                unread_link: None,
                stopped: false,
                watched: Some(post.watched.with(lanes.drops(lane), counted)),
            }
        };
        let captures = self.posts.into_iter().enumerate().map(summary).collect();
        Outcome { engine: self.engine, captures }
    }
}

/// Time by this host's clock.
pub(super) fn now() -> Nanos {
    Nanos(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64))
}
