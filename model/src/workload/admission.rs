//! Receiver-driven admission by clear-to-send (SYSTEMS C4): a sender may only write into a buffer that the receiver
//! offers.
//!
//! Messages are cut into pieces of a buffer's size. For each piece the receiver sends a small clear-to-send message in
//! a priority of its own; it has a few buffers, and offers one again when the piece in it has arrived. So no more than
//! `buffers x buffer` bytes are ever on their way to whoever owns the buffers: a connection, as in collective
//! libraries, or the receiver as a whole. It is a change of the workload, not of NICs or switches: clear-to-send is one
//! more thing that a message waits for, and it takes its place on the cables like any other. A flow's compute gap
//! begins when it is there, a trip later than without.

use std::collections::BTreeMap;
use std::ops::Range;

use super::{Error, Flow, FlowId, Milestone, Workload};
use crate::table::Table;
use crate::units::{Bytes, Priority, Time};

/// Messages that an admitted workload may have, and waits beyond those of its pieces: with all that a run keeps of one,
/// it takes some 340 bytes (measured), so these are a gigabyte and a half.
const MOST: u64 = 1 << 22;

/// The first lane of clear-to-send messages: those of the data they are for, counted from here, so that they have a
/// queue pair of their own even where data of the same priority goes the same way.
const LANES: u16 = 0x8000;

/// Whose the buffers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Owner {
    /// Each connection (source, destination, lane, priority) has its own; its messages go one after the other.
    #[default]
    Connection,
    /// Each receiver has them for all its senders, who get them in turns.
    Receiver,
}

/// What can be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admission {
    /// How many buffers an owner has.
    pub buffers: u16,
    /// The size of one.
    pub buffer: Bytes,
    /// Whose they are.
    pub owner: Owner,
    /// The size of a clear-to-send message.
    pub cts: Bytes,
    /// Its priority.
    pub priority: Priority,
}

impl Default for Admission {
    /// Eight buffers of 512 KiB for a connection (NCCL: a `NCCL_BUFFSIZE` of 4 MiB in 8 steps); 64 bytes in priority 6,
    /// both declared here.
    fn default() -> Self {
        Self {
            buffers: 8,
            buffer: Bytes(512 << 10),
            owner: Owner::Connection,
            cts: Bytes(64),
            priority: Priority::new(6),
        }
    }
}

/// A workload with its clear-to-send messages.
#[derive(Clone, Debug)]
pub struct Admitted {
    /// What is to be played: the pieces of all flows in the flows' order, then the clear-to-send messages.
    pub load: Workload,
    pieces: Table<FlowId, Range<u32>>,
    offers: Range<u32>,
}

impl Admitted {
    /// The pieces of a flow of the original workload, as flows of this one.
    pub fn pieces(&self, flow: FlowId) -> impl Iterator<Item = FlowId> + use<> {
        self.pieces[flow].clone().map(FlowId)
    }

    /// One past the last piece of the first `flows` flows of the original workload.
    #[must_use]
    pub fn end(&self, flows: u32) -> u32 {
        flows.checked_sub(1).map_or(0, |last| self.pieces[FlowId(last)].end)
    }

    /// All clear-to-send messages.
    pub fn offers(&self) -> impl Iterator<Item = FlowId> + use<> {
        self.offers.clone().map(FlowId)
    }
}

/// A piece in the order in which its owner's buffers are offered.
struct Slot {
    place: (u32, u32, u32),
    piece: FlowId,
}

impl Admission {
    /// Puts `load` under admission.
    ///
    /// # Errors
    /// A workload that cannot be played, no buffers, or more pieces than can be numbered.
    pub fn admit(&self, load: &Workload) -> Result<Admitted, Error> {
        // Hosts are looked at when the workload meets its fabric.
        load.check(u32::MAX)?;
        if self.buffers == 0 || self.buffer.0 == 0 || self.cts.0 == 0 {
            return Err(Error::NoBuffer);
        }
        let depths = depths(load);
        let mut admitted = Admitted { load: Workload::new(), pieces: Table::new(), offers: 0..0 };
        let mut owners: BTreeMap<(u32, u32, u16, u8), Vec<Slot>> = BTreeMap::new();
        let mut count = 0;
        for (id, flow) in load.flows().iter() {
            if flow.lane >= LANES {
                return Err(Error::Lane { flow: id.0, lane: flow.lane, first: LANES });
            }
            count = flow.bytes.0.div_ceil(self.buffer.0).saturating_mul(2).saturating_add(count);
            if count > MOST {
                return Err(Error::TooManyPieces { pieces: count, most: MOST });
            }
            let first = admitted.load.flows().len() as u32;
            if flow.is_work() {
                // It crosses no link and needs no buffer.
                admitted.load.add(*flow);
                admitted.pieces.push(first..first + 1);
                count += 1;
                continue;
            }
            let mut left = flow.bytes.0;
            let mut n = 0;
            while left > 0 {
                let bytes = left.min(self.buffer.0);
                left -= bytes;
                // The first piece begins when the flow would have, and no other before it.
                let after = if n == 0 { flow.after } else { Time::ZERO };
                let piece = admitted.load.add(Flow { bytes: Bytes(bytes), after, ..*flow });
                if n > 0 {
                    admitted.load.wait(piece, FlowId(first), Milestone::Started);
                }
                // A flow's pieces never stand before those of one that it waits for: no circle can arise.
                let (owner, place) = match self.owner {
                    Owner::Connection => {
                        ((flow.src.0, flow.dst.0, flow.lane, flow.priority.number()), (depths[id], id.0, n))
                    }
                    Owner::Receiver => ((u32::MAX, flow.dst.0, 0, 0), (depths[id], n, id.0)),
                };
                owners.entry(owner).or_default().push(Slot { place, piece });
                n += 1;
            }
            admitted.pieces.push(first..first + n);
        }
        wait(load, &mut admitted)?;
        let first = admitted.load.flows().len() as u32;
        for slots in owners.values_mut() {
            slots.sort_unstable_by_key(|slot| slot.place);
            self.offer(slots, &mut admitted.load);
        }
        admitted.offers = first..admitted.load.flows().len() as u32;
        Ok(admitted)
    }

    /// Offers an owner's buffers to the pieces in `slots`, in order.
    fn offer(&self, slots: &[Slot], load: &mut Workload) {
        let free = std::iter::repeat_n(None, usize::from(self.buffers)).chain(slots.iter().map(Some));
        for (slot, before) in slots.iter().zip(free) {
            let piece = load.flows()[slot.piece];
            let lane = piece.lane | LANES;
            let cts = Flow { lane, priority: self.priority, ..Flow::new(piece.dst, piece.src, self.cts) };
            let cts = load.add(Flow { after: Time::ZERO, ..cts });
            load.wait(slot.piece, cts, Milestone::Delivered);
            if let Some(before) = before {
                load.wait(cts, before.piece, Milestone::Delivered);
            }
        }
    }
}

/// What a flow waited for, its first piece waits for.
fn wait(load: &Workload, admitted: &mut Admitted) -> Result<(), Error> {
    let mut count = 0;
    for wait in load.waits() {
        let (on, by) = (admitted.pieces[wait.on].clone(), admitted.pieces[wait.flow].start);
        count += u64::from(on.end - on.start);
        if count > MOST {
            return Err(Error::TooManyPieces { pieces: count, most: MOST });
        }
        for on in on {
            admitted.load.wait(FlowId(by), FlowId(on), wait.until);
        }
    }
    Ok(())
}

/// How many flows each flow waits for one after the other, at most.
fn depths(load: &Workload) -> Table<FlowId, u32> {
    let mut depths: Table<FlowId, u32> = Table::filled(0, load.flows().len());
    let mut missing: Table<FlowId, u32> = Table::filled(0, load.flows().len());
    for wait in load.waits() {
        missing[wait.flow] += 1;
    }
    let followers = super::Followers::new(load);
    let mut ready: Vec<FlowId> = missing.iter().filter(|(_, n)| **n == 0).map(|(id, _)| id).collect();
    while let Some(flow) = ready.pop() {
        for wait in followers.of(flow) {
            depths[wait.flow] = depths[wait.flow].max(depths[flow] + 1);
            missing[wait.flow] -= 1;
            if missing[wait.flow] == 0 {
                ready.push(wait.flow);
            }
        }
    }
    depths
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Settings, Simulation, Status};
    use crate::topology::{Cable, HostId, Star};
    use crate::units::Rate;

    const ADMISSION: Admission = Admission {
        buffers: 2,
        buffer: Bytes(10_000),
        owner: Owner::Connection,
        cts: Bytes(64),
        priority: Priority::new(6),
    };

    fn load(flows: &[(u32, u32, u64)]) -> Workload {
        let mut load = Workload::new();
        for &(src, dst, bytes) in flows {
            load.add(Flow::new(HostId(src), HostId(dst), Bytes(bytes)));
        }
        load
    }

    /// Who waits for whom.
    fn waits(admitted: &Admitted) -> Vec<(u32, u32)> {
        admitted.load.waits().iter().map(|wait| (wait.flow.0, wait.on.0)).collect()
    }

    #[test]
    fn pieces_wait_for_their_buffer_and_buffers_for_the_piece_in_them() {
        let admitted = ADMISSION.admit(&load(&[(0, 1, 35_000)])).unwrap();
        let sizes: Vec<u64> = admitted.load.flows().rows().iter().map(|flow| flow.bytes.0).collect();
        assert_eq!(sizes, [10_000, 10_000, 10_000, 5_000, 64, 64, 64, 64]);
        assert_eq!(waits(&admitted), [(1, 0), (2, 0), (3, 0), (0, 4), (1, 5), (2, 6), (6, 0), (3, 7), (7, 1)]);
        assert_eq!(admitted.pieces(FlowId(0)).map(|id| id.0).collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert_eq!(admitted.offers().map(|id| id.0).collect::<Vec<_>>(), [4, 5, 6, 7]);
    }

    #[test]
    fn a_receivers_buffers_go_round_its_senders() {
        let admission = Admission { buffers: 1, owner: Owner::Receiver, ..ADMISSION };
        let admitted = admission.admit(&load(&[(0, 2, 20_000), (1, 2, 10_000)])).unwrap();
        // Pieces 0 and 1 of the first, 2 of the second: offered as 0, 2, 1.
        assert_eq!(waits(&admitted), [(1, 0), (0, 3), (2, 4), (4, 0), (1, 5), (5, 2)]);
    }

    #[test]
    fn a_gap_is_kept_once() {
        for owner in [Owner::Connection, Owner::Receiver] {
            let mut load = Workload::new();
            load.add(Flow::new(HostId(0), HostId(1), Bytes(50_000)).after(Time::us(100)));
            let admitted = Admission { owner, ..ADMISSION }.admit(&load).unwrap();
            let fabric = Star { hosts: 2, cable: Cable::new(Rate::gbps(100), Time::us(1)) }.build().unwrap();
            let mut run = Simulation::new(fabric, &admitted.load, Settings::default()).unwrap();
            assert_eq!(run.run(), Status::Done);
            let starts: Vec<u64> =
                admitted.pieces(FlowId(0)).map(|id| run.flow(id).started.unwrap().0 / 1_000_000).collect();
            // Two buffers at once, a clear-to-send of 2 us before the gap; then one trip there and back for each.
            assert_eq!(starts, [102, 102, 107, 108, 112], "{owner:?}");
        }
    }

    #[test]
    fn waits_of_the_workload_are_kept_and_no_circle_arises() {
        for owner in [Owner::Connection, Owner::Receiver] {
            // The second flow, by number, must arrive first, at the same receiver.
            let mut load = load(&[(0, 2, 50_000), (1, 2, 50_000)]);
            load.wait(FlowId(0), FlowId(1), Milestone::Delivered);
            let admitted = Admission { owner, ..ADMISSION }.admit(&load).unwrap();
            assert_eq!(admitted.load.check(3), Ok(()));
            let fabric = Star { hosts: 3, cable: Cable::new(Rate::gbps(100), Time::us(1)) }.build().unwrap();
            let mut run = Simulation::new(fabric, &admitted.load, Settings::default()).unwrap();
            assert_eq!(run.run(), Status::Done);
            let first = admitted.pieces(FlowId(0)).map(|id| run.flow(id).started).min().unwrap();
            let last = admitted.pieces(FlowId(1)).map(|id| run.flow(id).delivered).max().unwrap();
            assert!(first >= last, "{owner:?}: {first:?} {last:?}");
        }
    }

    /// A host's own work stays in the chain.
    #[test]
    fn work_needs_no_buffer() {
        let mut load = load(&[(0, 1, 20_000)]);
        let work = load.add(Flow::work(HostId(1), Time::us(50)));
        let back = load.add(Flow::new(HostId(1), HostId(0), Bytes(20_000)));
        load.wait(work, FlowId(0), Milestone::Delivered);
        load.wait(back, work, Milestone::Delivered);
        let admitted = ADMISSION.admit(&load).unwrap();
        let fabric = Star { hosts: 2, cable: Cable::new(Rate::gbps(100), Time::us(1)) }.build().unwrap();
        let mut run = Simulation::new(fabric, &admitted.load, Settings::default()).unwrap();
        assert_eq!(run.run(), Status::Done);
        let there = admitted.pieces(FlowId(0)).map(|id| run.flow(id).delivered).max().unwrap().unwrap();
        let back = admitted.pieces(back).map(|id| run.flow(id).started).min().unwrap().unwrap();
        assert_eq!(back, there + Time::us(50));
        assert_eq!([1, 2, 3].map(|flows| admitted.end(flows)), [2, 3, 5]);
    }

    /// Clear-to-send never shares a queue pair with data.
    #[test]
    fn lanes_of_clear_to_send_are_not_for_data() {
        let with = |lane| {
            let mut load = Workload::new();
            load.add(Flow::new(HostId(0), HostId(1), Bytes(1)).lane(lane));
            ADMISSION.admit(&load)
        };
        let lanes: Vec<u16> = with(0x7fff).unwrap().load.flows().rows().iter().map(|flow| flow.lane).collect();
        assert_eq!(lanes, [0x7fff, 0xffff]);
        assert_eq!(with(0x8000).unwrap_err(), Error::Lane { flow: 0, lane: 0x8000, first: 0x8000 });
    }

    #[test]
    fn what_cannot_be_admitted_is_said() {
        let none = Admission { buffers: 0, ..ADMISSION };
        assert_eq!(none.admit(&load(&[(0, 1, 1)])).unwrap_err(), Error::NoBuffer);
        let tiny = Admission { buffer: Bytes(1), ..ADMISSION };
        let error = tiny.admit(&load(&[(0, 1, 100_000_000)])).unwrap_err();
        assert_eq!(error, Error::TooManyPieces { pieces: 200_000_000, most: 1 << 22 });
        // Twice as many as can be counted are too many, too.
        let error = tiny.admit(&load(&[(0, 1, u64::MAX)])).unwrap_err();
        assert_eq!(error, Error::TooManyPieces { pieces: u64::MAX, most: 1 << 22 });
    }
}
