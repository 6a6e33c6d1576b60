//! Pause frames of a capture, by class. They have no addresses, so they belong to no flow and no shard.

use rocetop_parsers::Nanos;
use rocetop_parsers::link::pause::Pause;
use serde::Serialize;

use crate::event::{FrameNo, Packet};
use crate::report::FrameRef;

/// Link speeds that the time of pauses is told for, since a capture does not say which the link had.
pub const SPEEDS_GBPS: [u64; 2] = [100, 400];

/// Pauses of one class.
#[derive(Clone, Copy, Debug, Default)]
struct Class {
    frames: u64,
    resumes: u64,
    quanta: u64,
    first: FrameNo,
    last: FrameNo,
    first_at: Nanos,
    last_at: Nanos,
    /// Quanta of the latest frame.
    latest: u16,
    /// Time stopped so far at each speed, up to the latest frame.
    stopped: [Nanos; 2],
}

/// The time of so many quanta at a speed (IEEE 802.3 31B.2: one is 512 bit times).
fn time(quanta: u16, gbps: u64) -> Nanos {
    Nanos(u64::from(quanta) * u64::from(Pause::QUANTUM_BITS) / gbps)
}

impl Class {
    /// Time stopped at each speed if the next frame of this class comes at `now`: it ends or renews the pause before.
    fn stopped_until(&self, now: Nanos) -> [Nanos; 2] {
        let [a, b] = self.stopped;
        let [x, y] = SPEEDS_GBPS.map(|gbps| time(self.latest, gbps).0.min(now.since(self.last_at).0));
        [Nanos(a.0 + x), Nanos(b.0 + y)]
    }

    fn add(&mut self, packet: &Packet, quanta: u16) {
        if self.frames == 0 {
            (self.first, self.first_at) = (packet.frame, packet.at);
        } else {
            self.stopped = self.stopped_until(packet.at);
        }
        self.frames += 1;
        self.resumes += u64::from(quanta == 0);
        self.quanta += u64::from(quanta);
        (self.last, self.last_at, self.latest) = (packet.frame, packet.at, quanta);
    }
}

/// The pause frames of a capture: PFC by class, and global ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pauses {
    classes: [Class; 8],
    global: Class,
}

impl Pauses {
    pub(crate) fn add(&mut self, packet: &Packet, pause: &Pause) {
        if pause.is_global() {
            return self.global.add(packet, pause.quanta(0).unwrap_or_default());
        }
        for (class, state) in (0..).zip(&mut self.classes) {
            if let Some(quanta) = pause.quanta(class) {
                state.add(packet, quanta);
            }
        }
    }

    /// All pause frames are one part's: those of the others are empty.
    pub(crate) fn merge(&mut self, other: Self) {
        let seen = |pauses: &Self| pauses.all().any(|class| class.frames != 0);
        if !seen(self) && seen(&other) {
            *self = other;
        }
    }

    fn all(&self) -> impl Iterator<Item = &Class> {
        self.classes.iter().chain([&self.global])
    }

    /// By class, the global ones last; those that occur. `end` is the time of the capture's last frame.
    pub(crate) fn report(&self, end: Nanos, frame: &dyn Fn(FrameNo) -> FrameRef) -> Vec<PauseReport> {
        let seen = (0..).zip(self.all()).filter(|(_, class)| class.frames != 0);
        seen.map(|(n, class)| {
            let [at_100g, at_400g] = class.stopped_until(end.max(class.last_at));
            PauseReport {
                priority: (n < 8).then_some(n),
                frames: class.frames,
                resumes: class.resumes,
                quanta: class.quanta,
                stopped_100g_ns: at_100g.0,
                stopped_400g_ns: at_400g.0,
                first_ns: class.first_at.0,
                last_ns: class.last_at.0,
                first_frame: frame(class.first),
                last_frame: frame(class.last),
            }
        })
        .collect()
    }
}

/// Pause frames of one priority, or global ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PauseReport {
    /// The priority; `None` for global pauses, which stop all.
    pub priority: Option<u8>,
    /// Frames that name it.
    pub frames: u64,
    /// Those that let it go on.
    pub resumes: u64,
    /// Sum of the times asked for, in quanta of 512 bit times.
    pub quanta: u64,
    /// Time stopped if the link runs at 100 Gb/s: each pause lasts until the next frame of its priority at most.
    pub stopped_100g_ns: u64,
    /// The same at 400 Gb/s.
    pub stopped_400g_ns: u64,
    /// Time of the first frame.
    pub first_ns: u64,
    /// Time of the last frame.
    pub last_ns: u64,
    /// The first frame.
    pub first_frame: FrameRef,
    /// The last frame.
    pub last_frame: FrameRef,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(frame: u64, ns: u64) -> Packet {
        Packet { frame: FrameNo::new(0, frame), at: Nanos(ns), ..Packet::default() }
    }

    #[test]
    fn a_pause_lasts_until_the_next_frame_at_most() {
        let mut pauses = Pauses::default();
        // 65,535 quanta are 335,539 ns at 100 Gb/s, 83,884 ns at 400 Gb/s.
        pauses.add(&at(1, 0), &Pause::pfc().with_class(3, 0xffff));
        pauses.add(&at(2, 100_000), &Pause::pfc().with_class(3, 0xffff));
        pauses.add(&at(3, 110_000), &Pause::pfc().with_class(3, 0));
        let report = pauses.report(Nanos(1_000_000), &|frame| FrameRef::Place(frame.place()));
        assert_eq!(report.len(), 1);
        assert_eq!((report[0].priority, report[0].frames, report[0].resumes), (Some(3), 3, 1));
        assert_eq!((report[0].stopped_100g_ns, report[0].stopped_400g_ns), (110_000, 93_884));
        assert_eq!(report[0].quanta, 131_070);
    }

    #[test]
    fn the_last_pause_runs_out() {
        let mut pauses = Pauses::default();
        pauses.add(&at(1, 0), &Pause::global(1000));
        let report = pauses.report(Nanos(1_000_000), &|frame| FrameRef::Place(frame.place()));
        assert_eq!((report[0].priority, report[0].stopped_100g_ns, report[0].stopped_400g_ns), (None, 5120, 1280));
    }
}
