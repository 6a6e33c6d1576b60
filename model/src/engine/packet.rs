//! Packets on their way: one cache line each, in one arena.

use crate::table::{Table, id};
use crate::topology::{HostId, NodeId, PortId};
use crate::units::{Priority, Time};
use crate::workload::FlowId;

id! {
    /// A packet of the arena.
    PacketId
}

impl PacketId {
    /// No packet: the end of a list.
    pub(crate) const NONE: Self = Self(u32::MAX);
}

id! {
    /// A queue pair: one sender and its receiver.
    QpId
}

impl QpId {
    /// No queue pair: the end of a list.
    pub(crate) const NONE: Self = Self(u32::MAX);
}

/// What a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u8)]
pub(crate) enum What {
    /// A piece of a message.
    #[default]
    Data,
    /// The last piece of a message.
    Last,
    /// An acknowledgement of all before `seq`.
    Ack,
    /// A request to go back to `seq`.
    Nak,
    /// A request to try again later: the receiver has no receive for the message that begins with `seq`.
    NotReady,
    /// A congestion notification.
    Cnp,
    /// A PFC frame: `seq` holds the priorities that it speaks for, and, eight bits up, those that it pauses.
    Pause,
    /// Credits of a link: `payload` holds the total of what its priority has freed.
    Credit,
}

/// A packet.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct Packet {
    /// When it was sent; in an ACK, when the packet that it answers was.
    pub(crate) sent: Time,
    /// The next one in the queue that it is in.
    pub(crate) next: PacketId,
    /// Its queue pair.
    pub(crate) qp: QpId,
    /// Its flow (data).
    pub(crate) flow: FlowId,
    /// Its number in the queue pair, from 0; PSNs are its low 24 bits.
    pub(crate) seq: u32,
    /// Where it goes.
    pub(crate) dst: HostId,
    /// What its way is chosen by.
    pub(crate) entropy: u32,
    /// The port by which it comes, or came, into the node that it goes to, or waits in; and that node.
    pub(crate) ingress: PortId,
    pub(crate) node: NodeId,
    /// Bytes of the frame, FCS included, without preamble and gap.
    pub(crate) size: u32,
    /// Payload bytes; in an ACK, how many packets it speaks for, and, sixteen bits up, how many of those were marked;
    /// in a CNP, the share of marked packets in parts of a million.
    pub(crate) payload: u32,
    /// In an ACK or NAK, how many messages the receiver has taken (IBTA 9.3.5); in a CNP, the number of the node that
    /// made it.
    pub(crate) msn: u32,
    /// In a NAK: the packet that came too early.
    pub(crate) early: u32,
    /// What it is.
    pub(crate) what: What,
    /// Its traffic class, and that by which it came into the switch that it waits in.
    pub(crate) priority: Priority,
    pub(crate) came: Priority,
    /// The tier of the switch that marked it CE; 0 while nobody has.
    pub(crate) marked: u8,
    /// Whether it wants an ACK of its own (BTH's AckReq, IBTA 9.2.9).
    pub(crate) asks: bool,
}

const _: () = assert!(size_of::<Packet>() == 64);

/// All packets that are on their way; rows are used again.
#[derive(Clone, Debug)]
pub(crate) struct Arena {
    rows: Table<PacketId, Packet>,
    free: PacketId,
    live: u32,
}

impl Arena {
    /// An empty arena with room for `n` packets: address space, which becomes memory when it is used.
    pub(crate) fn with_room(n: usize) -> Self {
        Self { rows: Table::with_room(n), free: PacketId::NONE, live: 0 }
    }

    /// Puts a packet in.
    #[inline]
    pub(crate) fn add(&mut self, packet: Packet) -> PacketId {
        self.live += 1;
        let id = self.free;
        if id == PacketId::NONE {
            return self.rows.push(packet);
        }
        self.free = self.rows[id].next;
        self.rows[id] = packet;
        id
    }

    /// Forgets a packet that is in no list any more.
    #[inline]
    pub(crate) fn drop(&mut self, id: PacketId) {
        self.live -= 1;
        self.rows[id].next = self.free;
        self.free = id;
    }

    /// How many there are.
    pub(crate) const fn live(&self) -> u32 {
        self.live
    }
}

impl std::ops::Index<PacketId> for Arena {
    type Output = Packet;
    #[inline(always)]
    fn index(&self, id: PacketId) -> &Packet {
        &self.rows[id]
    }
}

impl std::ops::IndexMut<PacketId> for Arena {
    #[inline(always)]
    fn index_mut(&mut self, id: PacketId) -> &mut Packet {
        &mut self.rows[id]
    }
}

/// A first-in-first-out list of packets, threaded through the packets themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fifo {
    pub(crate) head: PacketId,
    pub(crate) tail: PacketId,
}

impl Default for Fifo {
    fn default() -> Self {
        Self { head: PacketId::NONE, tail: PacketId::NONE }
    }
}

impl Fifo {
    /// Appends a packet.
    #[inline]
    pub(crate) fn push(&mut self, packets: &mut Arena, id: PacketId) {
        packets[id].next = PacketId::NONE;
        if self.head == PacketId::NONE {
            self.head = id;
        } else {
            packets[self.tail].next = id;
        }
        self.tail = id;
    }

    /// Takes the first packet; `None` when there is none.
    #[inline]
    pub(crate) fn pop(&mut self, packets: &Arena) -> Option<PacketId> {
        let id = self.head;
        if id == PacketId::NONE {
            return None;
        }
        self.head = packets[id].next;
        Some(id)
    }

    /// Whether there is no packet.
    #[inline]
    pub(crate) fn is_empty(self) -> bool {
        self.head == PacketId::NONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_keep_order_and_rows_are_used_again() {
        let mut packets = Arena::with_room(4);
        let mut list = Fifo::default();
        let ids: Vec<PacketId> = (0..3).map(|seq| packets.add(Packet { seq, ..Packet::default() })).collect();
        for id in &ids {
            list.push(&mut packets, *id);
        }
        assert_eq!(list.pop(&packets), Some(ids[0]));
        packets.drop(ids[0]);
        assert_eq!(packets.add(Packet::default()), ids[0]);
        assert_eq!([list.pop(&packets), list.pop(&packets), list.pop(&packets)], [Some(ids[1]), Some(ids[2]), None]);
        assert_eq!(packets.live(), 3);
    }
}
