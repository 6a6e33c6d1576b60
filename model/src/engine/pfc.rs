//! PFC in time: pauses run out unless they are said again, and watchdogs look at queues that stand still.
//!
//! A pause lasts for so many quanta of 512 bit times of the line (IEEE 802.3, annex 31D; the quantum is 31B.2's); who
//! pauses says so again at half of that. So a lost PFC frame is made good: without this a lost XON would stop a queue
//! for ever. A port has a clock only once a pause has gone out or come in by it, and its clock an event only while a
//! pause lasts.

use std::collections::BTreeMap;

use super::State;
use super::event::{Event, Kind};
use crate::switch::deadlock::Queue;
use crate::switch::watchdog::{Action, Alarm, Watch};
use crate::topology::PortId;
use crate::units::{Bytes, Each, Priorities, Priority, Time};

/// What a port must do at certain times. NEVER: nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    /// The time of its event.
    armed: Time,
    /// When to say the pauses again that the port has sent, and those that are about to be.
    refresh: Time,
    again: Priorities,
    /// Priorities that the other end wants to be stopped, and when that runs out.
    asked: Priorities,
    until: Each<Time>,
    /// When the watchdog looks.
    poll: Time,
}

impl Default for Clock {
    fn default() -> Self {
        Self {
            armed: Time::NEVER,
            refresh: Time::NEVER,
            again: Priorities::NONE,
            asked: Priorities::NONE,
            until: Each([Time::NEVER; Priority::COUNT]),
            poll: Time::NEVER,
        }
    }
}

/// All clocks, and what watchdogs know.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pfc {
    clocks: BTreeMap<PortId, Clock>,
    pub(crate) watches: BTreeMap<Queue, Watch>,
    pub(crate) alarms: Vec<Alarm>,
    /// Queues with an alarm.
    pub(crate) alarmed: usize,
}

impl Pfc {
    fn clock(&mut self, at: PortId) -> &mut Clock {
        self.clocks.entry(at).or_default()
    }
}

impl State {
    /// How long a pause lasts on the line of a port.
    fn lasts(&self, at: PortId) -> Option<Time> {
        let quanta = self.settings.switch.quanta?;
        Some(self.ports[at].rate().time_for(Bytes(u64::from(quanta.max(2)) * 512 / 8)))
    }

    /// A port has told its other end to stop some priorities; those of them that it had not told before.
    pub(crate) fn said_stop(&mut self, at: PortId, stop: Priorities) -> Priorities {
        let Some(lasts) = self.lasts(at) else { return stop };
        let refresh = self.now + Time(lasts.0 / 2);
        let clock = self.pfc.clock(at);
        let again = std::mem::take(&mut clock.again);
        clock.refresh = clock.refresh.min(refresh);
        self.arm(at, refresh);
        stop.without(again)
    }

    /// A port has been told to stop some of the priorities that are spoken of, and to let the others go; what it obeys.
    pub(crate) fn heard(&mut self, at: PortId, said: Priorities, stop: Priorities) -> Priorities {
        let (now, lasts) = (self.now, self.lasts(at));
        let dog = self.settings.switch.watchdog.filter(|_| at.0 >= self.fabric.hosts());
        if lasts.is_none() && dog.is_none() {
            return stop;
        }
        let clock = self.pfc.clock(at);
        clock.asked = Priorities(clock.asked.without(said).0 | stop.0);
        let until = lasts.map_or(Time::NEVER, |lasts| now + lasts);
        for priority in stop.iter() {
            clock.until[priority] = until;
        }
        let mut obeyed = stop;
        if let Some(dog) = dog {
            for priority in said.iter() {
                let watch = self.pfc.watches.entry(Queue { port: at, priority }).or_default();
                watch.heard += 1;
                watch.quiet = if stop.has(priority) { Time::NEVER } else { now };
                if watch.alarm.is_some() && dog.action == Action::Forward {
                    obeyed = obeyed.without(Priorities(priority.bit()));
                }
            }
            let look = self.first_look(&dog);
            let clock = self.pfc.clock(at);
            clock.poll = clock.poll.min(look);
            self.arm(at, look);
        }
        if !stop.is_empty() {
            self.arm(at, until);
        }
        obeyed
    }

    /// Sees that a port's clock goes off at `time` at the latest.
    fn arm(&mut self, at: PortId, time: Time) {
        let clock = self.pfc.clock(at);
        if time < clock.armed {
            clock.armed = time;
            self.events.push(time, Event::new(Kind::Tick, at.0));
        }
    }

    /// A port's clock goes off.
    pub(crate) fn tick(&mut self, at: PortId) {
        let now = self.now;
        // Once no flow is left that could move, nothing is worth saying or looking at any more.
        if self.pfc.clock(at).armed != now || self.begun <= self.done + self.failed {
            return;
        }
        self.pfc.clock(at).armed = Time::NEVER;
        if self.pfc.clock(at).refresh <= now {
            self.say_again(at);
        }
        let Clock { asked, until, poll, .. } = *self.pfc.clock(at);
        for priority in asked.iter().filter(|priority| until[*priority] <= now) {
            let gone = Priorities(priority.bit());
            let clock = self.pfc.clock(at);
            clock.asked = clock.asked.without(gone);
            if let Some(watch) = self.pfc.watches.get_mut(&Queue { port: at, priority }) {
                watch.quiet = now;
            }
            self.obey(at, gone, Priorities::NONE);
        }
        if let Some(dog) = self.settings.switch.watchdog
            && poll <= now
        {
            self.pfc.clock(at).poll = Time::NEVER;
            let next = self.watch(at, &dog);
            self.pfc.clock(at).poll = next;
        }
        let Clock { refresh, asked, until, poll, .. } = *self.pfc.clock(at);
        let next = asked.iter().map(|priority| until[priority]).fold(refresh.min(poll), Time::min);
        self.arm(at, next);
    }

    /// Puts out a pause frame for all that is still stopped.
    fn say_again(&mut self, at: PortId) {
        let held = &self.held[at];
        let all = Priorities::ALL.iter().filter(|priority| held[*priority].stopped());
        let stopped = all.fold(Priorities::NONE, Priorities::with);
        let port = &mut self.ports[at];
        let fresh = stopped.without(port.due);
        port.due = Priorities(port.due.0 | stopped.0);
        let clock = self.pfc.clock(at);
        clock.refresh = Time::NEVER;
        clock.again = fresh;
        if !stopped.is_empty() {
            self.kick(at);
        }
    }
}
