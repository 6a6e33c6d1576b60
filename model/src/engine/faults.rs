//! What goes wrong on cables, and what routers learn of it: cuts, flaps, bit errors, throttles, and failover by BFD.
//!
//! A cut cable swallows what arrives by it from then on, PFC frames too; both its ports forget the pauses they were
//! told. Switches go on sending into it until their BFD session has missed its packets (SYSTEMS R8), and then take
//! every way that leads only there out of use; a flap that is shorter is never noticed. Bit errors break frames by
//! their length, and a broken frame is gone.

use super::State;
use super::event::{Event, Kind};
use super::packet::{self, PacketId};
use crate::rng::Rng;
use crate::table::{Id, Table, id};
use crate::topology::{PortId, Topology};
use crate::units::{Priorities, Rate, Time};
use crate::wire;

/// Something that happens to a cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// When.
    pub at: Time,
    /// The cable, by either of its ports.
    pub port: PortId,
    /// What.
    pub what: What,
}

/// What happens to a cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// It is cut.
    Cut,
    /// It carries frames again.
    Mended,
    /// From now on one bit in so many is wrong; 0 for none.
    Errors {
        /// Bits for one that is wrong.
        one_in: u64,
    },
    /// From now on it has this rate, at most that which it was laid with, in both directions: a NIC or an optic that
    /// throttles (SYSTEMS J2). Nobody is told; senders go on by the rate they knew, and are held at the port.
    Throttled {
        /// The rate; not zero.
        rate: Rate,
    },
}

/// How failures are noticed: a BFD session on every cable (RFC 5880, section 6.8.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detection {
    /// Time between its packets.
    pub interval: Time,
    /// Packets that must be missing; a cable that is mended is used again after as many have come.
    pub misses: u32,
}

impl Detection {
    /// 300 ms, three times (SYSTEMS R8).
    pub const BFD: Self = Self { interval: Time::ms(300), misses: 3 };
    /// As soon as it happens: loss of light.
    pub const LIGHT: Self = Self { interval: Time::ZERO, misses: 1 };

    /// From the failure to the new way.
    #[must_use]
    pub const fn time(&self) -> Time {
        self.interval.times(self.misses as u64)
    }
}

id! {
    /// A row of what will happen.
    StepId
}

/// What an event of this kind does.
#[derive(Clone, Copy, Debug)]
enum Step {
    Happens(PortId, What),
    /// A session ran out, or came up: routers learn how the cable is, if it has been so all the time.
    Learn(PortId),
}

/// How a cable is, at one of its ports.
#[derive(Clone, Copy, Debug, Default)]
struct Cable {
    down: bool,
    /// Since when.
    since: Time,
    /// Whether routers have taken it out of use.
    out: bool,
    one_in: u64,
}

/// All that goes wrong in a run.
#[derive(Clone, Debug)]
pub(crate) struct Faults {
    steps: Table<StepId, Step>,
    times: Vec<Time>,
    /// Empty when nothing ever goes wrong.
    cables: Table<PortId, Cable>,
    detect: Time,
    /// How many ports are out of use.
    out: usize,
    chance: Rng,
}

impl Faults {
    /// A plan; faults of ports that are not there are left out.
    pub(crate) fn new(fabric: &Topology, faults: &[Fault], detection: Detection, seed: u64) -> Self {
        let detect = detection.time();
        let mut plan = Self {
            steps: Table::new(),
            times: Vec::new(),
            cables: Table::new(),
            detect,
            out: 0,
            chance: Rng::named(seed, "bit errors"),
        };
        for fault in faults.iter().filter(|fault| fabric.ports().has(fault.port)) {
            plan.steps.push(Step::Happens(fault.port, fault.what));
            plan.times.push(fault.at);
            if !matches!(fault.what, What::Errors { .. } | What::Throttled { .. }) {
                plan.steps.push(Step::Learn(fault.port));
                plan.times.push(fault.at + detect);
            }
        }
        if !plan.steps.is_empty() {
            plan.cables = Table::filled(Cable::default(), fabric.ports().len());
        }
        plan
    }

    /// What happens when.
    pub(crate) fn events(&self) -> impl Iterator<Item = (Time, Event)> {
        self.times.iter().enumerate().map(|(row, at)| (*at, Event::new(Kind::Fault, StepId::of(row).0)))
    }

    /// Whether any cable can be anything but whole.
    #[inline(always)]
    pub(crate) const fn any(&self) -> bool {
        !self.cables.is_empty()
    }

    /// Whether routers have taken any cable out of use.
    #[inline(always)]
    pub(crate) const fn damaged(&self) -> bool {
        self.out > 0
    }

    /// Whether routers have taken this one out.
    pub(crate) fn is_out(&self, port: PortId) -> bool {
        self.any() && self.cables[port].out
    }
}

impl State {
    /// Something happens to a cable, or is learnt.
    pub(crate) fn fault(&mut self, id: StepId) {
        let now = self.now;
        let step = self.faults.steps[id];
        let (Step::Happens(port, _) | Step::Learn(port)) = step;
        for end in [port, self.fabric.ports()[port].peer] {
            let cable = &mut self.faults.cables[end];
            match step {
                Step::Happens(_, What::Errors { one_in }) => cable.one_in = one_in,
                Step::Happens(_, What::Throttled { rate }) => {
                    let wired = self.fabric.ports()[end].cable.rate;
                    self.ports[end].throttle(rate.clamp(Rate(1), wired));
                }
                Step::Happens(_, what) => {
                    cable.down = what == What::Cut;
                    cable.since = now;
                    let told = self.held[end].0.iter().zip(0..).filter(|(held, _)| held.stopped());
                    let told = told.fold(0, |bits, (_, priority): (_, u8)| bits | 1 << priority);
                    let forgotten = self.recall(end);
                    self.obey(end, forgotten, Priorities::NONE);
                    // What the other end has forgotten must be said again.
                    let port = &mut self.ports[end];
                    port.due = Priorities(port.due.0 | told);
                    self.kick(end);
                }
                Step::Learn(_) if now.since(cable.since) >= self.faults.detect && cable.out != cable.down => {
                    cable.out = cable.down;
                    if cable.down {
                        self.faults.out += 1;
                    } else {
                        self.faults.out -= 1;
                    }
                }
                Step::Learn(_) => {}
            }
        }
    }

    /// Whether a frame that would arrive by `at` is gone.
    #[inline(never)]
    pub(crate) fn lost_on_cable(&mut self, at: PortId, id: PacketId) -> bool {
        let Cable { down, one_in, .. } = self.faults.cables[at];
        let bits = 8 * u64::from(self.packets[id].size + wire::GAP);
        if !down && (one_in == 0 || self.faults.chance.below(one_in) >= bits) {
            return false;
        }
        self.counters[at].broken += 1;
        self.note_loss(id);
        let what = self.packets[id].what;
        if matches!(what, packet::What::Pause | packet::What::Credit) {
            self.deadlocks.told(at, false);
        }
        if self.credits.any() {
            self.lost_credit(at, id, down);
        }
        self.packets.drop(id);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Failure, FlowResult, Settings, Simulation, Status, Totals};
    use crate::routing;
    use crate::topology::{Cable, Clos2, HostId, NodeId, SwitchId};
    use crate::units::Bytes;
    use crate::workload::{Flow, Workload};

    const CABLE: crate::topology::Cable = Cable::new(Rate::gbps(100), Time::us(1));

    fn fabric() -> Topology {
        let clos = Clos2 { leaves: 2, spines: 2, hosts_per_leaf: 2, parallel: 1, host: CABLE, spine: CABLE };
        clos.build().unwrap()
    }

    /// One flow of 12.5 MB (a millisecond) whose leaf's uplink has faults; pinned, so that we know which.
    fn play(faults: &[(u64, What)], detection: Detection, timeout: Time) -> (FlowResult, Totals, Status) {
        let fabric = fabric();
        let port = fabric.next_hops(fabric.node(SwitchId(0)), HostId(2)).first;
        let mut load = Workload::new();
        let id = load.add(Flow::new(HostId(0), HostId(2), Bytes(12_500_000)));
        let mut settings = Settings {
            faults: faults.iter().map(|(us, what)| Fault { at: Time::us(*us), port, what: *what }).collect(),
            detection,
            routing: routing::Settings::Pinned(routing::pinned::Settings),
            ..Settings::default()
        };
        settings.nic.timeout = timeout;
        let mut run = Simulation::new(fabric, &load, settings).unwrap();
        let status = run.run();
        (run.flow(id), run.totals(), status)
    }

    #[test]
    fn three_times_300_ms() {
        assert_eq!(Detection::BFD.time(), Time::ms(900));
        // Cut at 0.5 ms; the timer runs out every 200 ms, and only the one after 900.5 ms finds another way.
        let (flow, totals, status) = play(&[(500, What::Cut)], Detection::BFD, Time::ms(200));
        assert_eq!(status, Status::Done);
        let delivered = flow.delivered.unwrap();
        assert!(delivered >= Time::us(1_000_400) && delivered < Time::us(1_002_000), "{delivered}");
        assert_eq!(totals.timeouts, 5);
        assert!(totals.broken > 0 && totals.drops == 0);
        // Loss of light is noticed at once: only what was on its way is missed, and a NAK asks for it.
        let (flow, totals, _) = play(&[(500, What::Cut)], Detection::LIGHT, Time::ms(200));
        assert!(flow.delivered.unwrap() < Time::us(1_200), "{flow:?}");
        assert_eq!(totals.timeouts, 0);
    }

    /// The usual time-out of 67 ms gives up after eight tries, before BFD has noticed.
    #[test]
    fn a_short_timeout_gives_up_before_bfd_notices() {
        let (flow, totals, status) = play(&[(500, What::Cut)], Detection::BFD, Time::ns(4_096 << 14));
        assert_eq!((status, totals.failed, flow.failed), (Status::Stuck, 1, Some(Failure::Retries)));
        assert_eq!(totals.timeouts, 8);
    }

    #[test]
    fn a_flap_is_not_noticed_and_heals() {
        let (flow, totals, status) = play(&[(500, What::Cut), (600, What::Mended)], Detection::BFD, Time::ms(2));
        assert_eq!(status, Status::Done);
        assert!(flow.delivered.unwrap() < Time::ms(4), "{flow:?}");
        assert!(totals.broken > 100 && flow.resent >= totals.broken as u32, "{totals:?} {flow:?}");
    }

    #[test]
    fn a_mended_cable_is_used_again() {
        let fabric = fabric();
        let leaf = fabric.node(SwitchId(0));
        let port = fabric.next_hops(leaf, HostId(2)).first;
        let mut load = Workload::new();
        load.add(Flow::new(HostId(0), HostId(2), Bytes(1_000_000)).after(Time::ms(20)));
        let late = load.add(Flow::new(HostId(0), HostId(2), Bytes(1_000_000)).lane(1).after(Time::ms(60)));
        let fault = |ms, what| Fault { at: Time::ms(ms), port, what };
        let settings = Settings {
            faults: vec![fault(1, What::Cut), fault(30, What::Mended)],
            detection: Detection { interval: Time::ms(5), misses: 2 },
            routing: routing::Settings::Pinned(routing::pinned::Settings),
            ..Settings::default()
        };
        let mut run = Simulation::new(fabric, &load, settings).unwrap();
        run.advance(Time::ms(50), u64::MAX);
        assert_eq!((run.counters(port).frames, run.totals().done), (0, 1));
        assert_eq!(run.run(), Status::Done);
        assert!(run.counters(port).frames > 240 && run.flow(late).resent == 0);
    }

    /// A remote failure counts too: the first spine cannot reach the other leaf, so nobody sends there by it.
    #[test]
    fn ways_that_lead_nowhere_are_not_taken() {
        let fabric = fabric();
        let spine = NodeId(6);
        let port = fabric.next_hops(spine, HostId(2)).first;
        let mut load = Workload::new();
        for lane in 0..16 {
            load.add(Flow::new(HostId(0), HostId(2), Bytes(10_000)).lane(lane).after(Time::us(10)));
        }
        let settings = Settings {
            faults: vec![Fault { at: Time::us(1), port, what: What::Cut }],
            detection: Detection::LIGHT,
            ..Settings::default()
        };
        let mut run = Simulation::new(fabric, &load, settings).unwrap();
        assert_eq!(run.run(), Status::Done);
        assert_eq!((run.totals().broken, run.totals().resent), (0, 0));
    }

    /// 12.5 MB at 100 Gb/s, of which the middle half millisecond at a fifth of it.
    #[test]
    fn a_throttled_cable_carries_less_while_it_lasts() {
        let rate = |us, gbps| (us, What::Throttled { rate: Rate::gbps(gbps) });
        let (flow, totals, status) = play(&[rate(300, 20), rate(800, 400)], Detection::BFD, Time::ms(67));
        let (free, ..) = play(&[], Detection::BFD, Time::ms(67));
        assert_eq!((status, totals.broken, totals.drops), (Status::Done, 0, 0));
        // Four fifths of half a millisecond are lost.
        let lost = flow.delivered.unwrap() - free.delivered.unwrap();
        assert!(lost.0.abs_diff(Time::us(400).0) < Time::us(4).0, "{lost}");
    }

    #[test]
    fn bit_errors_are_as_frequent_as_they_should() {
        // One bit in 10^7: 4,178 bytes are 33,424 bits, so one frame in 299; 3,052 frames are sent once.
        let (flow, totals, status) = play(&[(0, What::Errors { one_in: 10_000_000 })], Detection::BFD, Time::ms(2));
        assert_eq!(status, Status::Done);
        assert!((5..=30).contains(&totals.broken), "{totals:?}");
        assert!(flow.resent > 0 && totals.naks > 0);
        let (_, totals, _) = play(&[(0, What::Errors { one_in: 0 })], Detection::BFD, Time::ms(2));
        assert_eq!(totals.broken, 0);
    }
}
