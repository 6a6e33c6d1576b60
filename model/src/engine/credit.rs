//! Links by credits (SYSTEMS C13): a sender may send only what the receiver has granted, as on an InfiniBand link.
//!
//! A switch whose [`crate::switch::Buffer`] says so grants each port and lossless priority its headroom, and takes
//! nothing for it from the shared pool. A frame that is sent uses some of the grant up until it has left the switch.
//! That is told by a frame of its own as soon as it is worth half a full frame, or as the other end might stand still
//! for want of it: so data are told of one by one, and ACKs by the dozen. It carries a total, as InfiniBand's do (IBTA
//! 7.9), so that the next one makes good a lost one; a frame that is lost on the cable gives back what it used. Where
//! less than a full frame's worth is left, the priority stands still: nothing is ever dropped or paused, and the rate
//! is at most the grant in the time that a credit takes to come round. Hosts take what comes and grant without limit,
//! as they never pause either.
//!
//! Taps do not see credits: they belong to the link, and captures of such links do not have them.

use super::State;
use super::packet::{Packet, PacketId, What};
use super::port::Port;
use crate::switch::Link;
use crate::switch::deadlock::Queue;
use crate::table::Table;
use crate::topology::{PortId, Topology};
use crate::units::{Each, Priorities, Priority};
use crate::wire;

/// A priority of a port: as a sender, and as a receiver.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    /// Bytes that were sent and are not known to have left the other end.
    used: u64,
    /// What the other end has told last.
    seen: u32,
    /// Bytes that have come in and left, in all, and as the other end was told; they wrap.
    freed: u32,
    told: u32,
}

/// A port with credits at either end.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    /// What each priority may have used; `None` where the other end sets no limit.
    limit: Option<u64>,
    /// What it grants itself.
    grant: Option<u64>,
    each: Each<Account>,
}

/// The credits of all ports; no rows where no link has any.
#[derive(Clone, Debug, Default)]
pub(crate) struct Credits {
    rows: Table<PortId, Row>,
    /// A full frame.
    frame: u64,
}

impl Credits {
    pub(crate) fn new(
        fabric: &Topology,
        settings: &crate::switch::Settings,
        ports: &Table<PortId, Port>,
        frame: u32,
    ) -> Self {
        let grants = |port: PortId| {
            let node = fabric.ports()[port].node;
            let by_credit = fabric.switch(node).is_some() && settings.buffer(fabric.tier(node)).link == Link::Credits;
            by_credit.then_some(ports[port].headroom)
        };
        let row = |(id, port): (PortId, &Port)| Row { limit: grants(port.peer), grant: grants(id), ..Row::default() };
        let any = ports.ids().any(|port| grants(port).is_some()) && !settings.lossless.is_empty();
        let rows = if any { ports.iter().map(row).collect() } else { Table::new() };
        Self { rows, frame: u64::from(frame) }
    }

    /// Whether any link has credits.
    #[inline(always)]
    pub(crate) const fn any(&self) -> bool {
        !self.rows.is_empty()
    }

    /// What a port grants, if it does.
    #[inline(always)]
    pub(crate) fn grant(&self, at: PortId) -> Option<u64> {
        if self.any() { self.rows[at].grant } else { None }
    }

    /// What a port may have used, if there is a limit.
    pub(crate) fn limit(&self, at: PortId) -> Option<u64> {
        if self.any() { self.rows[at].limit } else { None }
    }

    /// Whether a full frame fits beside so many bytes.
    pub(crate) const fn fits(&self, used: u64, limit: u64) -> bool {
        used + self.frame <= limit
    }
}

impl State {
    /// A port begins to send a frame.
    pub(super) fn spend(&mut self, at: PortId, priority: Priority, size: u32) {
        if !self.settings.switch.lossless.has(priority) {
            return;
        }
        let row = &mut self.credits.rows[at];
        let Some(limit) = row.limit else { return };
        row.each[priority].used += u64::from(size);
        let used = row.each[priority].used;
        debug_assert!(used <= limit, "more is used than was granted");
        if !self.credits.fits(used, limit) {
            self.ports[at].paused = self.ports[at].paused.with(priority);
            self.turned(at, priority, true);
            self.look(Queue { port: at, priority });
        }
    }

    /// What a frame used up at a port is free again.
    fn restore(&mut self, at: PortId, priority: Priority, bytes: u64) {
        let row = &mut self.credits.rows[at];
        let Some(limit) = row.limit else { return };
        debug_assert!(row.each[priority].used >= bytes, "more comes back than was used");
        row.each[priority].used -= bytes;
        let used = row.each[priority].used;
        if !self.ports[at].paused.has(priority) {
            return;
        }
        if self.credits.fits(used, limit) {
            self.ports[at].paused = self.ports[at].paused.without(Priorities(priority.bit()));
            self.turned(at, priority, false);
            self.kick(at);
        } else {
            self.look(Queue { port: at, priority });
        }
    }

    fn turned(&mut self, at: PortId, priority: Priority, stopped: bool) {
        let node = self.ports[self.ports[at].peer].neighbour;
        if let Some(switch) = self.fabric.switch(node) {
            self.deadlocks.turned(switch, Queue { port: at, priority }, stopped, self.now);
        }
    }

    /// A frame that came in by `ingress` has left the switch: the other end is told.
    #[inline(never)]
    pub(crate) fn give_back(&mut self, ingress: PortId, priority: Priority, size: u32) {
        if self.credits.grant(ingress).is_none() || !self.settings.switch.lossless.has(priority) {
            return;
        }
        let account = &mut self.credits.rows[ingress].each[priority];
        account.freed = account.freed.wrapping_add(size);
        self.tell(ingress, priority);
    }

    /// Sees whether the other end should be told what is free.
    pub(crate) fn tell(&mut self, at: PortId, priority: Priority) {
        let Some(grant) = self.credits.grant(at) else { return };
        let Account { freed, told, .. } = self.credits.rows[at].each[priority];
        let news = u64::from(freed.wrapping_sub(told));
        let held = self.held[at][priority].room();
        if news > 0 && (news * 2 >= self.credits.frame || !self.credits.fits(held + news, grant)) {
            self.owe(at, Priorities(priority.bit()));
        }
    }

    fn owe(&mut self, at: PortId, priorities: Priorities) {
        let port = &mut self.ports[at];
        port.due = Priorities(port.due.0 | priorities.0);
        self.kick(at);
    }

    /// Tells the other end what has left of one priority.
    pub(super) fn send_credit(&mut self, at: PortId) {
        let port = &mut self.ports[at];
        let Some(priority) = port.due.highest() else { return };
        port.due = port.due.without(Priorities(priority.bit()));
        let account = &mut self.credits.rows[at].each[priority];
        account.told = account.freed;
        let frame = Packet {
            sent: self.now,
            payload: account.freed,
            size: wire::CREDIT,
            what: What::Credit,
            priority,
            ..Packet::default()
        };
        let id = self.packets.add(frame);
        self.deadlocks.told(self.ports[at].peer, true);
        self.transmit(at, id);
    }

    /// Credits have come in by `at`.
    pub(super) fn credited(&mut self, at: PortId, id: PacketId) {
        let Packet { priority, payload, .. } = self.packets[id];
        self.packets.drop(id);
        self.deadlocks.told(at, false);
        let account = &mut self.credits.rows[at].each[priority];
        let fresh = payload.wrapping_sub(account.seen);
        account.seen = payload;
        self.restore(at, priority, u64::from(fresh));
    }

    /// A frame has been lost on the way to `at`, on a cable that is cut or not.
    pub(super) fn lost_credit(&mut self, at: PortId, id: PacketId, cut: bool) {
        let Packet { priority, size, what, .. } = self.packets[id];
        let from = self.ports[at].peer;
        match what {
            // Totals are said again until one comes; where nothing can come, once the cable is mended.
            What::Credit if !cut => self.owe(from, Priorities(priority.bit())),
            What::Credit | What::Pause => {}
            _ if self.settings.switch.lossless.has(priority) => self.restore(from, priority, u64::from(size)),
            _ => {}
        }
    }

    /// A cable is cut or mended: what may be forgotten of PFC at one of its ends. Credits are no news that a cut takes
    /// away: they are said again.
    pub(super) fn recall(&mut self, end: PortId) -> Priorities {
        let lossless = self.settings.switch.lossless;
        if self.credits.grant(end).is_some() {
            self.owe(end, lossless);
        }
        if self.credits.limit(end).is_some() { Priorities::ALL.without(lossless) } else { Priorities::ALL }
    }
}
