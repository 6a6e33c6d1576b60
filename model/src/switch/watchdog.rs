//! The PFC watchdog: a queue that has been paused for too long is taken for stuck, and something is done about it.
//!
//! It knows nothing of circles (`switch::deadlock` does): it sees one queue's counters, and every rule takes some
//! healthy queue for a stuck one. The two rules by polls are those that a public switch system arrived at for two
//! vendors' chips; the third is a plain bound on the time. While an alarm lasts the queue drops what it has and what
//! comes, or sends in spite of the pause; when the other end has not asked for a stop during `restore`, the queue is as
//! before.

use crate::engine::State;
use crate::engine::packet::{Packet, PacketId};
use crate::switch::deadlock::Queue;
use crate::topology::PortId;
use crate::units::{Priorities, Time};

/// What is taken for a stuck queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Paused for `detect` without a break.
    Bound,
    /// At every poll for `detect`: the queue is not empty, has sent nothing since the last poll, and was paused for
    /// more than 99 % of the time between. A slow receiver's queue looks like that too.
    Occupied,
    /// At every poll for `detect`: pause frames have come since the last poll, none of them let the queue go, and it is
    /// paused at both polls. So is an empty queue of a slow receiver. Blind where pauses are not refreshed.
    Received,
}

/// What is done about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The queue's frames are dropped, and those that come for it.
    Drop,
    /// The queue sends in spite of the pause.
    Forward,
    /// Nothing; it is counted.
    Alert,
}

/// What can be set about the watchdog of every switch port and lossless priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watchdog {
    /// What is taken for a stuck queue.
    pub rule: Rule,
    /// What is done about it.
    pub action: Action,
    /// Time between looks; [`Rule::Bound`] looks when the bound is reached.
    pub poll: Time,
    /// For how long the rule must hold.
    pub detect: Time,
    /// For how long no stop may be asked for until the queue is as before.
    pub restore: Time,
}

impl Default for Watchdog {
    /// As SONiC's `pfcwd` is started by default: polls, detection and restoration in 200 ms, drop; here with the first
    /// vendor's rule.
    fn default() -> Self {
        let ms = Time::ms(200);
        Self { rule: Rule::Occupied, action: Action::Drop, poll: ms, detect: ms, restore: ms }
    }
}

/// An alarm of the watchdog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alarm {
    /// When.
    pub at: Time,
    /// The queue.
    pub queue: Queue,
    /// When it was as before.
    pub restored: Option<Time>,
    /// Frames that it dropped.
    pub dropped: u64,
}

/// What the watchdog knows of a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watch {
    /// Frames that the queue has sent, and pause frames that spoke of it.
    pub(crate) sent: u64,
    pub(crate) heard: u64,
    /// Since when nobody asked for a stop, or somebody does: NEVER.
    pub(crate) quiet: Time,
    /// What was so at the last poll.
    before: Counts,
    /// For how long the rule has held.
    held: Time,
    /// The alarm that lasts.
    pub(crate) alarm: Option<usize>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    sent: u64,
    heard: u64,
    resumed: u64,
    total: Time,
    paused: bool,
}

impl Default for Watch {
    fn default() -> Self {
        Self { sent: 0, heard: 0, quiet: Time::ZERO, before: Counts::default(), held: Time::ZERO, alarm: None }
    }
}

impl State {
    /// Looks at the queues of a switch's port; when to look again.
    pub(crate) fn watch(&mut self, at: PortId, dog: &Watchdog) -> Time {
        let mut next = Time::NEVER;
        for priority in Priorities::ALL.iter() {
            let queue = Queue { port: at, priority };
            let Some(watch) = self.pfc.watches.get(&queue).copied() else { continue };
            next = next.min(match watch.alarm {
                Some(alarm) => self.soothe(queue, watch, alarm, dog),
                None => self.suspect(queue, watch, dog),
            });
        }
        next
    }

    /// When to look at a queue that has just been paused or let go.
    pub(crate) fn first_look(&self, dog: &Watchdog) -> Time {
        if dog.rule == Rule::Bound { self.now + dog.detect } else { self.next_poll(dog) }
    }

    /// Whether a queue is to be taken for stuck.
    fn suspect(&mut self, queue: Queue, mut watch: Watch, dog: &Watchdog) -> Time {
        let clock = self.counters(queue.port).pause[queue.priority];
        let (now, paused) = (self.now, self.ports[queue.port].paused.has(queue.priority));
        let total = clock.total + if paused { now.since(clock.since) } else { Time::ZERO };
        if dog.rule == Rule::Bound {
            let at = clock.since + dog.detect;
            return match (paused, at <= now) {
                (false, _) => Time::NEVER,
                (true, false) => at,
                (true, true) => self.alarm(queue, watch, dog),
            };
        }
        let empty = self.ports[queue.port].queues[queue.priority].list.is_empty();
        let resumed = clock.times - u64::from(paused);
        let counts = Counts { sent: watch.sent, heard: watch.heard, resumed, total, paused };
        let before = std::mem::replace(&mut watch.before, counts);
        let holds = match dog.rule {
            Rule::Occupied => {
                !empty && counts.sent == before.sent && total.since(before.total).0 > dog.poll.0 - dog.poll.0 / 100
            }
            _ => {
                let heard = counts.heard > before.heard && counts.resumed == before.resumed;
                heard && before.paused && paused
            }
        };
        watch.held = if holds { watch.held + dog.poll } else { Time::ZERO };
        self.pfc.watches.insert(queue, watch);
        if watch.held >= dog.detect {
            return self.alarm(queue, watch, dog);
        }
        // A queue that is let go and has been seen so needs no look until it is paused again.
        if paused || before != counts { self.next_poll(dog) } else { Time::NEVER }
    }

    /// Polls come at whole multiples of their interval.
    fn next_poll(&self, dog: &Watchdog) -> Time {
        let poll = dog.poll.max(Time(1));
        poll.times(self.now.0 / poll.0 + 1)
    }

    fn alarm(&mut self, queue: Queue, watch: Watch, dog: &Watchdog) -> Time {
        let alarm = self.pfc.alarms.len();
        self.pfc.alarms.push(Alarm { at: self.now, queue, restored: None, dropped: 0 });
        self.pfc.alarmed += 1;
        self.pfc.watches.insert(queue, Watch { alarm: Some(alarm), held: Time::ZERO, ..watch });
        match dog.action {
            Action::Drop => self.empty(queue),
            Action::Forward => self.obey(queue.port, Priorities(queue.priority.bit()), Priorities::NONE),
            Action::Alert => {}
        }
        self.next_poll(dog)
    }

    /// Whether an alarm is over.
    fn soothe(&mut self, queue: Queue, watch: Watch, alarm: usize, dog: &Watchdog) -> Time {
        let now = self.now;
        if watch.quiet == Time::NEVER || watch.quiet + dog.restore > now {
            return self.next_poll(dog);
        }
        self.pfc.alarmed -= 1;
        self.pfc.watches.insert(queue, Watch { alarm: None, before: Counts::default(), ..watch });
        if let Some(alarm) = self.pfc.alarms.get_mut(alarm) {
            alarm.restored = Some(now);
        }
        Time::NEVER
    }

    /// Drops all frames of a queue.
    fn empty(&mut self, queue: Queue) {
        let port = &mut self.ports[queue.port];
        let mut gone = std::mem::take(&mut port.queues[queue.priority]);
        port.queued -= gone.bytes;
        port.waiting = port.waiting.without(Priorities(queue.priority.bit()));
        port.deficits[queue.priority] = 0;
        while let Some(id) = gone.list.pop(&self.packets).or_else(|| self.voqs.pop(&self.packets, queue)) {
            let Packet { ingress, node, came, size, .. } = self.packets[id];
            self.release(ingress, node, came, u64::from(size));
            self.drop_at(queue, id);
        }
    }

    /// Drops a frame that comes for a queue whose alarm says so; whether it did.
    #[inline(never)]
    pub(crate) fn bars(&mut self, queue: Queue, id: PacketId) -> bool {
        let barred = self.settings.switch.watchdog.is_some_and(|dog| dog.action == Action::Drop)
            && self.pfc.watches.get(&queue).is_some_and(|watch| watch.alarm.is_some());
        if barred {
            self.drop_at(queue, id);
        }
        barred
    }

    fn drop_at(&mut self, queue: Queue, id: PacketId) {
        let alarm = self.pfc.watches.get(&queue).and_then(|watch| watch.alarm);
        if let Some(alarm) = alarm.and_then(|row| self.pfc.alarms.get_mut(row)) {
            alarm.dropped += 1;
        }
        self.lose(id);
    }
}
