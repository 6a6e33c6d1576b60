//! Congestion control: how fast a queue pair may send, one file an algorithm.
//!
//! An algorithm is a small state machine that the sending NIC tells what it sees ([`Algorithm`]) and asks for a rate
//! and a window. It knows no packets, no queues and no other flow. It has at most one deadline of its own; before the
//! NIC tells or asks it anything at time `t`, it has called [`Algorithm::on_timer`] for every deadline up to `t`, in
//! order, so that no timer needs an event and none is late.
//!
//! To add one: a file with its `Settings` (the published defaults, each with its source; `scenario::knobs` names them)
//! and its state, and one line in the list below (`algorithms!`). It inherits the tests at the end of this file.

pub mod dcqcn;
pub mod dctcp;
pub mod fixed;
pub mod hierarchical;
pub mod hpcc;
pub mod none;
pub mod swift;
pub mod timely;

use crate::units::{Bytes, Rate, Time};

/// What a queue pair knows about its way when it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// The sender's line rate: no algorithm is asked to go beyond.
    pub line: Rate,
    /// Round trip of a full packet and its ACK through an empty fabric.
    pub base_rtt: Time,
    /// Payload of a full packet.
    pub mtu: Bytes,
    /// Cables on the way there.
    pub hops: u8,
    /// The highest tier of switch that it passes (1: it stays below one leaf).
    pub tier: u8,
}

impl Path {
    /// Bytes that the empty path holds (bandwidth-delay product).
    #[must_use]
    pub const fn bdp(&self) -> Bytes {
        self.line.bytes_in(self.base_rtt)
    }
}

/// A rate that was computed, as one that can be used: at least one bit per second, at most `line`.
fn rate(bits: f64, line: Rate) -> Rate {
    Rate((bits.round() as u64).clamp(1, line.0.max(1)))
}

/// Whether the window held the sender back when this ACK came. A window that nobody fills must not grow (RFC 7661).
fn full(ack: &Ack<'_>, window: f64, mtu: u32) -> bool {
    (ack.in_flight.0.saturating_add(ack.bytes.0)) as f64 + f64::from(mtu) > window
}

/// What one hop wrote into a packet, where telemetry is on (HPCC's INT, SIGCOMM 2019).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Telemetry {
    /// When the packet left.
    pub at: Time,
    /// Bytes that stood in its queue behind it.
    pub queue: Bytes,
    /// Bytes that had left by this port until then.
    pub sent: Bytes,
    /// The port's line rate.
    pub line: Rate,
}

/// An acknowledgement, as the sender sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack<'a> {
    /// When it came.
    pub now: Time,
    /// Payload that it acknowledges for the first time; zero for a repeat.
    pub bytes: Bytes,
    /// Packets that it speaks for: more than one when ACKs are coalesced.
    pub packets: u32,
    /// How many of those carried CE.
    pub marked: u32,
    /// Time since the newest packet it acknowledges was sent (the newest transmission, if there were several).
    pub rtt: Time,
    /// Payload on the way after it.
    pub in_flight: Bytes,
    /// What the hops wrote, from the sender on; empty unless the algorithm asked for it.
    pub hops: &'a [Telemetry],
}

/// A congestion notification packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cnp {
    /// When it came.
    pub now: Time,
    /// The tier of the switch that marked the packet it answers to, or that made it (SYSTEMS C5, C16).
    pub tier: u8,
    /// The share of packets that this tier marked, in parts of a million, where receivers measure it ([`Domains`]);
    /// else a million: the one packet it answers to.
    pub share_ppm: u32,
}

/// How the sender learnt of a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The receiver said so (NAK, PSN sequence error).
    Nak,
    /// Nothing came for the time-out.
    Timeout,
}

/// What an algorithm needs from receivers and switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Feedback {
    /// CNPs for packets marked CE.
    pub cnp: bool,
    /// Telemetry of every hop in every ACK.
    pub telemetry: bool,
    /// CNPs for tiers that mark too much, instead of those for single packets.
    pub domains: Option<Domains>,
}

/// Tiers that are told apart as congestion domains: leaf, spine, and all above.
pub const DOMAINS: usize = 3;

/// How receivers measure congestion domains (SYSTEMS C5): over a window they count a queue pair's packets and those
/// that each tier marked, and send one CNP for each tier whose share is above its threshold. A window ends when its
/// time is over and its packets can tell: there are enough of them, or a tier has marked more than the threshold allows
/// for that many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Domains {
    /// The window, at least.
    pub window: Time,
    /// Packets that are enough.
    pub sample: u32,
    /// The thresholds, in parts of a million.
    pub above_ppm: [u32; DOMAINS],
}

/// Whether more than so many parts of a million are marked.
pub(crate) fn above(marked: u32, packets: u32, above_ppm: u32) -> bool {
    u64::from(marked) * 1_000_000 > u64::from(above_ppm) * u64::from(packets)
}

/// The row of a tier among the domains.
#[must_use]
pub const fn domain(tier: u8) -> usize {
    let row = tier.saturating_sub(1) as usize;
    if row < DOMAINS { row } else { DOMAINS - 1 }
}

/// One queue pair's congestion control.
///
/// What is not of interest need not be implemented: by default nothing changes anything.
pub trait Algorithm: Clone + Sized {
    /// What can be set.
    type Settings;

    /// The state of a queue pair that begins at `now`.
    fn new(settings: &Self::Settings, path: &Path, now: Time) -> Self;

    /// What it wants to be told.
    fn feedback(_settings: &Self::Settings) -> Feedback {
        Feedback::default()
    }

    /// A packet with `bytes` on the wire (headers included) was sent.
    fn on_send(&mut self, _settings: &Self::Settings, _now: Time, _bytes: Bytes) {}

    /// An acknowledgement came.
    fn on_ack(&mut self, _settings: &Self::Settings, _ack: &Ack<'_>) {}

    /// A CNP came.
    fn on_cnp(&mut self, _settings: &Self::Settings, _cnp: &Cnp) {}

    /// Packets were lost.
    fn on_loss(&mut self, _settings: &Self::Settings, _now: Time, _loss: Loss) {}

    /// When it next has something to do by itself; [`Time::NEVER`] for nothing.
    fn deadline(&self) -> Time {
        Time::NEVER
    }

    /// Its deadline has come, at `now`. The next one must be later.
    fn on_timer(&mut self, _settings: &Self::Settings, _now: Time) {}

    /// How fast it may send on the wire; at most the path's line rate, never zero.
    fn rate(&self) -> Rate;

    /// Payload that it may have on the way; `None` for no limit. One packet may always be.
    fn window(&self) -> Option<Bytes> {
        None
    }
}

/// Makes the enums that stand for all algorithms, so that the engine calls none of them through a pointer.
macro_rules! algorithms {
    ($($file:ident $name:ident),* $(,)?) => {
        /// Every algorithm, by the name of its file.
        pub const NAMES: &[&str] = &[$(stringify!($file)),*];

        /// The algorithm of a queue pair, and its settings: one copy for all queue pairs that use it.
        #[derive(Clone, Debug)]
        pub enum Settings {
            $(#[doc = concat!("See [`", stringify!($file), "`].")] $name($file::Settings),)*
        }

        /// The state of one queue pair.
        #[derive(Clone, Debug)]
        pub enum Control {
            $(#[doc = concat!("See [`", stringify!($file), "`].")] $name($file::$name),)*
        }

        impl crate::scenario::Knobs for Settings {
            fn knobs(&mut self, keys: &crate::scenario::Keys<'_>) {
                match self { $(Self::$name(settings) => settings.knobs(keys),)* }
            }
        }

        impl Settings {
            /// The name of the algorithm's file.
            #[must_use]
            pub const fn name(&self) -> &'static str {
                match self { $(Self::$name(_) => stringify!($file),)* }
            }

            /// Each algorithm with its default settings.
            #[must_use]
            pub fn all() -> Vec<Self> {
                vec![$(Self::$name($file::Settings::default())),*]
            }

            /// What the algorithm wants to be told.
            #[must_use]
            pub fn feedback(&self) -> Feedback {
                match self { $(Self::$name(settings) => $file::$name::feedback(settings),)* }
            }

            /// The state of a queue pair that begins at `now`.
            #[must_use]
            pub fn begin(&self, path: &Path, now: Time) -> Control {
                match self { $(Self::$name(settings) => Control::$name($file::$name::new(settings, path, now)),)* }
            }
        }

        impl Control {
            /// Runs every deadline up to `now`.
            #[inline]
            pub fn advance(&mut self, settings: &Settings, now: Time) {
                match (self, settings) {
                    $((Self::$name(state), Settings::$name(settings)) => {
                        let mut due = state.deadline();
                        while due <= now && due != Time::NEVER {
                            state.on_timer(settings, due);
                            let next = state.deadline();
                            // A deadline that does not move would hold up time itself.
                            if next <= due {
                                debug_assert!(false, "a deadline stood still");
                                break;
                            }
                            due = next;
                        }
                    })*
                    #[allow(unreachable_patterns, reason = "there may be one algorithm alone")]
                    _ => debug_assert!(false, "settings of another algorithm"),
                }
            }

            /// A packet with `bytes` on the wire was sent.
            #[inline]
            pub fn on_send(&mut self, settings: &Settings, now: Time, bytes: Bytes) {
                match (self, settings) {
                    $((Self::$name(state), Settings::$name(settings)) => state.on_send(settings, now, bytes),)*
                    #[allow(unreachable_patterns, reason = "there may be one algorithm alone")]
                    _ => debug_assert!(false, "settings of another algorithm"),
                }
            }

            /// An acknowledgement came.
            #[inline]
            pub fn on_ack(&mut self, settings: &Settings, ack: &Ack<'_>) {
                match (self, settings) {
                    $((Self::$name(state), Settings::$name(settings)) => state.on_ack(settings, ack),)*
                    #[allow(unreachable_patterns, reason = "there may be one algorithm alone")]
                    _ => debug_assert!(false, "settings of another algorithm"),
                }
            }

            /// A CNP came.
            pub fn on_cnp(&mut self, settings: &Settings, cnp: &Cnp) {
                match (self, settings) {
                    $((Self::$name(state), Settings::$name(settings)) => state.on_cnp(settings, cnp),)*
                    #[allow(unreachable_patterns, reason = "there may be one algorithm alone")]
                    _ => debug_assert!(false, "settings of another algorithm"),
                }
            }

            /// Packets were lost.
            pub fn on_loss(&mut self, settings: &Settings, now: Time, loss: Loss) {
                match (self, settings) {
                    $((Self::$name(state), Settings::$name(settings)) => state.on_loss(settings, now, loss),)*
                    #[allow(unreachable_patterns, reason = "there may be one algorithm alone")]
                    _ => debug_assert!(false, "settings of another algorithm"),
                }
            }

            /// When it next has something to do by itself.
            #[must_use]
            #[inline]
            pub fn deadline(&self) -> Time {
                match self { $(Self::$name(state) => state.deadline(),)* }
            }

            /// How fast it may send on the wire.
            #[must_use]
            #[inline]
            pub fn rate(&self) -> Rate {
                match self { $(Self::$name(state) => state.rate(),)* }
            }

            /// Payload that it may have on the way.
            #[must_use]
            #[inline]
            pub fn window(&self) -> Option<Bytes> {
                match self { $(Self::$name(state) => state.window(),)* }
            }
        }
    };
}

algorithms! {
    dcqcn Dcqcn,
    dctcp Dctcp,
    fixed Fixed,
    hierarchical Hierarchical,
    hpcc Hpcc,
    none None,
    swift Swift,
    timely Timely,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A path for the algorithms' own tests.
    pub(crate) fn path(line: Rate, base_rtt: Time, mtu: u64) -> Path {
        Path { line, base_rtt, mtu: Bytes(mtu), hops: 2, tier: 1 }
    }

    /// An ACK of one packet, unmarked, with nothing left on the way.
    pub(crate) fn ack(bytes: u64, rtt: Time) -> Ack<'static> {
        Ack { now: rtt, bytes: Bytes(bytes), packets: 1, marked: 0, rtt, in_flight: Bytes(0), hops: &[] }
    }

    /// One thing that can happen to a queue pair, some time after the last.
    #[derive(Clone, Debug)]
    enum Happening {
        Send(u64),
        Ack { bytes: u64, packets: u32, marked: u32, rtt: u64, queue: u64 },
        Cnp(u8),
        Loss(bool),
        Nothing,
    }

    fn happening() -> impl Strategy<Value = (u64, Happening)> {
        let what = prop_oneof![
            (64_u64..10_000).prop_map(Happening::Send),
            (0_u64..100_000, 1_u32..16, 0_u32..16, 0_u64..1_000_000_000, 0_u64..1_000_000).prop_map(
                |(bytes, packets, marked, rtt, queue)| {
                    Happening::Ack { bytes, packets, marked: marked.min(packets), rtt, queue }
                }
            ),
            (0_u8..5).prop_map(Happening::Cnp),
            any::<bool>().prop_map(Happening::Loss),
            Just(Happening::Nothing),
        ];
        // From the same instant to several timers later.
        (prop_oneof![Just(0_u64), 1_u64..1_000_000, 1_u64..2_000_000_000], what)
    }

    /// Plays a list of happenings; the rate and window after each.
    fn play(settings: &Settings, path: &Path, list: &[(u64, Happening)]) -> Vec<(Rate, Option<Bytes>)> {
        let mut control = settings.begin(path, Time::us(3));
        let mut now = Time::us(3);
        let mut sent = 0;
        let mut story = Vec::new();
        for (gap, what) in list {
            now += Time(*gap);
            control.advance(settings, now);
            assert!(control.deadline() > now, "a deadline of {} is left", settings.name());
            match *what {
                Happening::Send(bytes) => {
                    sent += bytes;
                    control.on_send(settings, now, Bytes(bytes));
                }
                Happening::Ack { bytes, packets, marked, rtt, queue } => {
                    let hop = Telemetry { at: now, queue: Bytes(queue), sent: Bytes(sent), line: path.line };
                    let hops = [hop; 3];
                    let hops = hops.get(..usize::from(path.hops.min(3))).unwrap_or_default();
                    let ack = Ack {
                        now,
                        bytes: Bytes(bytes),
                        packets,
                        marked,
                        rtt: Time(rtt),
                        in_flight: Bytes(queue),
                        hops,
                    };
                    control.on_ack(settings, &ack);
                }
                Happening::Cnp(tier) => {
                    let share_ppm = 1_000_000 / (1 + u32::from(tier));
                    control.on_cnp(settings, &Cnp { now, tier, share_ppm });
                }
                Happening::Loss(nak) => {
                    control.on_loss(settings, now, if nak { Loss::Nak } else { Loss::Timeout });
                }
                Happening::Nothing => {}
            }
            story.push((control.rate(), control.window()));
        }
        story
    }

    proptest! {
        /// Whatever happens, in whatever order: a rate above zero and at most the line's, a window that is not zero,
        /// deadlines that progress, and the same story when it happens again.
        #[test]
        fn every_algorithm_stays_within_bounds(
            list in proptest::collection::vec(happening(), 1..200),
            gbps in prop_oneof![Just(10_u64), Just(40), Just(100), Just(400), Just(800)],
        ) {
            let path =
                Path { line: Rate::gbps(gbps), base_rtt: Time::us(8), mtu: Bytes(4096), hops: 3, tier: 3 };
            for settings in Settings::all() {
                let story = play(&settings, &path, &list);
                for (rate, window) in &story {
                    prop_assert!(rate.0 > 0 && *rate <= path.line, "{}: {rate} of {}", settings.name(), path.line);
                    prop_assert!(window.is_none_or(|w| w.0 > 0), "{}: a window of nothing", settings.name());
                }
                prop_assert_eq!(&story, &play(&settings, &path, &list));
            }
        }
    }

    #[test]
    fn the_list_and_the_folder_agree() {
        let mut found: Vec<String> = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src/cc"))
            .unwrap()
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
            .filter(|name| name != "mod")
            .collect();
        found.sort();
        assert_eq!(found, NAMES);
        assert_eq!(Settings::all().iter().map(Settings::name).collect::<Vec<_>>(), NAMES);
    }
}
