//! One run: events in the order of their time, and what the taps saw of them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rocetop_parsers::ib::aeth::rnr_timer_us;

use super::requester::Requester;
use super::responder::Responder;
use super::{Kind, Link, Message, Packet, Rng, Toll, Why, plan};

/// What is to be run. Times are nanoseconds.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    pub(crate) seed: u64,
    pub(crate) messages: Vec<Message>,
    /// Asks for an acknowledgement every so many packets, too.
    pub(crate) ack_each: u64,
    /// The PSN that the taps see first.
    pub(crate) start: u32,
    /// PSNs that may be out.
    pub(crate) window: u64,
    /// Between two packets of one sender.
    pub(crate) gap: u64,
    /// Until an answer leaves, and until it leaves together with later ones.
    pub(crate) think: u64,
    pub(crate) coalesce: u64,
    pub(crate) rto: u64,
    pub(crate) retries: u32,
    /// PSNs that are refused, and how often.
    pub(crate) not_ready: Vec<(u64, u32)>,
    pub(crate) rnr_code: u8,
    /// What follows a refused packet draws no NAK.
    pub(crate) silent_rest: bool,
    pub(crate) acks_every_duplicate: bool,
    pub(crate) selective: bool,
    /// The responder takes packets as they come, and never asks.
    pub(crate) any_order: bool,
    /// No answers at all: UC.
    pub(crate) unreliable: bool,
    /// To the responder: near the requester and far; back: near the responder and far.
    pub(crate) links: [Link; 4],
}

impl Scenario {
    pub(crate) fn rnr_wait(&self) -> u64 {
        u64::from(rnr_timer_us(self.rnr_code)) * 1_000
    }

    /// From a request's last sight at the requester to its ACK.
    pub(crate) fn round_trip(&self) -> u64 {
        self.links.iter().map(|l| l.delay).sum::<u64>() + self.think + self.coalesce
    }
}

/// A packet seen by a tap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    pub(crate) at: u64,
    pub(crate) packet: Packet,
}

/// What was the case.
#[derive(Clone, Debug, Default)]
pub(crate) struct Truth {
    /// What the requester, the middle and the responder saw.
    pub(crate) taps: [Vec<Record>; 3],
    pub(crate) tolls: [Toll; 4],
    pub(crate) timeouts: u64,
    /// Tries after the last answer.
    pub(crate) last_tries: u32,
    pub(crate) gave_up: bool,
    /// Requests that the responder had already.
    pub(crate) useless: u64,
}

impl Truth {
    /// Lost on these links, of one kind.
    pub(crate) fn lost(&self, links: std::ops::Range<usize>, which: impl Fn(&Packet) -> bool) -> u64 {
        self.tolls[links].iter().flat_map(|t| &t.lost).filter(|p| which(p)).count() as u64
    }

    /// Requests sent again for that reason, as the requester's tap saw them.
    pub(crate) fn again(&self, why: Why) -> u64 {
        self.taps[0].iter().filter(|r| r.packet.again == Some(why)).count() as u64
    }
}

#[derive(Clone, Copy, Debug)]
enum Event {
    /// The requester may send.
    Send,
    /// A timer may have run out.
    Timer,
    /// A packet has crossed this link.
    Arrival(usize, Packet),
    /// The responder sends an answer.
    Answer(Packet),
    /// The answer that waited for later ones.
    Flush,
}

struct World<'a> {
    s: &'a Scenario,
    rng: Rng,
    now: u64,
    queue: BinaryHeap<Reverse<(u64, u64, usize)>>,
    events: Vec<Event>,
    requester: Requester,
    responder: Responder,
    /// When each may send again, and whether the requester has that on the list.
    free: [u64; 2],
    sending: bool,
    waiting: Option<Packet>,
    truth: Truth,
}

/// Runs a scenario to its end.
pub(crate) fn run(s: &Scenario) -> Truth {
    let mut world = World {
        s,
        rng: Rng::new(s.seed ^ 0x5bd1_e995),
        now: 1_000_000_000,
        queue: BinaryHeap::new(),
        events: Vec::new(),
        requester: Requester::new(plan(&s.messages, s.ack_each)),
        responder: Responder::default(),
        free: [0; 2],
        sending: false,
        waiting: None,
        truth: Truth::default(),
    };
    world.pump();
    while let Some(Reverse((at, _, index))) = world.queue.pop() {
        world.now = at;
        world.event(world.events[index]);
        assert!(world.events.len() < 200_000, "runs for ever: {s:?}");
    }
    let World { requester, responder, mut truth, .. } = world;
    assert!(s.unreliable || requester.done(), "stuck: {s:?} {requester:?}");
    truth.timeouts = requester.timeouts;
    truth.gave_up = requester.dead;
    truth.last_tries = requester.tries;
    truth.useless = responder.duplicates;
    truth
}

impl World<'_> {
    fn plan(&mut self, at: u64, event: Event) {
        let n = self.events.len();
        self.events.push(event);
        self.queue.push(Reverse((at, n as u64, n)));
    }

    /// Has the requester send when it may.
    fn pump(&mut self) {
        if !self.sending {
            self.sending = true;
            self.plan(self.free[0].max(self.now), Event::Send);
        }
        let timer = self.requester.resting.or(self.requester.deadline).filter(|_| !self.s.unreliable);
        if let Some(at) = timer.filter(|_| !self.requester.done()) {
            self.plan(at.max(self.now), Event::Timer);
        }
    }

    fn record(&mut self, tap: usize, packet: Packet) {
        self.truth.taps[tap].push(Record { at: self.now, packet });
    }

    fn cross(&mut self, link: usize, packet: Packet) {
        let arrivals = self.s.links[link].carry(&mut self.truth.tolls[link], &mut self.rng, &packet, self.now);
        for at in arrivals {
            self.plan(at, Event::Arrival(link, packet));
        }
    }

    fn event(&mut self, event: Event) {
        match event {
            Event::Send => {
                self.sending = false;
                if let Some(packet) = self.requester.send(self.now, self.s) {
                    self.free[0] = self.now + self.s.gap;
                    self.record(0, packet);
                    self.cross(0, packet);
                    self.pump();
                }
            }
            Event::Timer => {
                if self.requester.resting.is_some_and(|at| at <= self.now) {
                    self.requester.wake(self.now, self.s);
                    self.pump();
                } else if self.requester.resting.is_none() && self.requester.deadline.is_some_and(|at| at <= self.now) {
                    self.requester.expire(self.now, self.s);
                    self.pump();
                }
            }
            Event::Arrival(0, packet) => {
                self.record(1, packet);
                self.cross(1, packet);
            }
            Event::Arrival(1, packet) => {
                self.record(2, packet);
                if !self.s.unreliable {
                    let answers = self.responder.request(&packet, self.s);
                    answers.into_iter().for_each(|a| self.reply(a));
                }
            }
            Event::Arrival(2, packet) => {
                self.record(1, packet);
                self.cross(3, packet);
            }
            Event::Arrival(_, packet) => {
                self.record(0, packet);
                self.requester.answer(&packet, self.now, self.s);
                self.pump();
            }
            Event::Answer(packet) => {
                self.record(2, packet);
                self.cross(2, packet);
            }
            Event::Flush => {
                if let Some(answer) = self.waiting.take() {
                    self.leave(answer);
                }
            }
        }
    }

    /// An answer leaves after those before it; an ACK may wait for later ones, which then say it all.
    fn reply(&mut self, answer: Packet) {
        if answer.kind == Kind::Ack && self.s.coalesce != 0 {
            if self.waiting.is_none() {
                self.plan(self.now + self.s.coalesce, Event::Flush);
            }
            self.waiting = Some(answer);
            return;
        }
        self.waiting = None;
        self.leave(answer);
    }

    fn leave(&mut self, answer: Packet) {
        let at = self.free[1].max(self.now + self.s.think);
        self.free[1] = at + self.s.gap;
        self.plan(at, Event::Answer(answer));
    }
}
