//! What is sent: flows, and what each of them waits for.
//!
//! A [`Flow`] is one message of one queue pair. It starts some time after everything it waits for has happened; one
//! that waits for nothing starts at that time of the run. Collectives, traffic patterns and the flow files of other
//! simulators all come down to this.

pub mod admission;
pub mod pattern;
pub mod scaling;

pub use admission::{Admission, Admitted};

use crate::table::{Table, id};
use crate::topology::HostId;
use crate::units::{Bytes, Priority, Rate, Time};

id! {
    /// A flow of a workload.
    FlowId
}

/// One message from one host to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Who sends.
    pub src: HostId,
    /// Who receives.
    pub dst: HostId,
    /// Payload; at least one byte, but for [work](Self::work).
    pub bytes: Bytes,
    /// Time between the last thing it waits for (the start of the run, if nothing) and its own start: a compute gap.
    pub after: Time,
    /// Which queue pair between the two carries it: flows with the same source, destination, lane and priority share
    /// one, and go through it one after the other in the order in which they start.
    pub lane: u16,
    /// Traffic class of its packets.
    pub priority: Priority,
    /// What its queue pair never exceeds, whatever congestion control says (SYSTEMS C14); [`Rate::MAX`] for no limit.
    pub limit: Rate,
}

impl Flow {
    /// The priority that RoCE traffic has unless something else is said: 3, as most deployments have it.
    pub const PRIORITY: Priority = Priority::new(3);

    /// A message that starts with the run.
    #[must_use]
    pub const fn new(src: HostId, dst: HostId, bytes: Bytes) -> Self {
        Self { src, dst, bytes, after: Time::ZERO, lane: 0, priority: Self::PRIORITY, limit: Rate::MAX }
    }

    /// Work that a host does for `time`: it crosses no link and carries nothing, and others may wait for it.
    #[must_use]
    pub const fn work(host: HostId, time: Time) -> Self {
        Self::new(host, host, Bytes(0)).after(time)
    }

    /// Whether it is [work](Self::work).
    #[must_use]
    pub fn is_work(&self) -> bool {
        self.src == self.dst && self.bytes.0 == 0
    }

    /// The same, `after` a time.
    #[must_use]
    pub const fn after(self, after: Time) -> Self {
        Self { after, ..self }
    }

    /// The same, on another queue pair between the two hosts.
    #[must_use]
    pub const fn lane(self, lane: u16) -> Self {
        Self { lane, ..self }
    }
}

/// What about a flow another one waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Milestone {
    /// Its queue pair has it in line: what keeps messages of one queue pair in order that could start at the same time.
    Started,
    /// Its last byte has reached the receiver: what the receiver may act on.
    Delivered,
    /// Its last byte is acknowledged: what the sender may act on.
    Acked,
}

/// One thing that a flow waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Wait {
    /// The flow that must happen first.
    pub on: FlowId,
    /// How far it must have come.
    pub until: Milestone,
    /// The flow that waits.
    pub flow: FlowId,
}

/// Flows and what they wait for.
#[derive(Clone, Debug, Default)]
pub struct Workload {
    flows: Table<FlowId, Flow>,
    waits: Vec<Wait>,
}

impl Workload {
    /// Nothing to send.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a flow.
    pub fn add(&mut self, flow: Flow) -> FlowId {
        self.flows.push(flow)
    }

    /// Adds all of another workload, with its waits.
    pub fn append(&mut self, other: &Self) {
        let first = self.flows.len() as u32;
        for flow in other.flows.rows() {
            self.flows.push(*flow);
        }
        let moved = |id: FlowId| FlowId(first + id.0);
        self.waits.extend(other.waits.iter().map(|wait| Wait { on: moved(wait.on), flow: moved(wait.flow), ..*wait }));
    }

    /// A flow, to change.
    pub fn flow_mut(&mut self, id: FlowId) -> &mut Flow {
        &mut self.flows[id]
    }

    /// Makes `flow` wait for another.
    pub fn wait(&mut self, flow: FlowId, on: FlowId, until: Milestone) {
        self.waits.push(Wait { on, until, flow });
    }

    /// All flows.
    #[must_use]
    pub const fn flows(&self) -> &Table<FlowId, Flow> {
        &self.flows
    }

    /// All waits, in the order in which they were added.
    #[must_use]
    pub fn waits(&self) -> &[Wait] {
        &self.waits
    }

    /// Payload of all flows.
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        Bytes(self.flows.rows().iter().fold(0_u64, |sum, flow| sum.saturating_add(flow.bytes.0)))
    }

    /// Whether it can be played on a fabric of `hosts` hosts.
    ///
    /// # Errors
    /// A host that is not there, a flow to its own source or of no bytes or rate zero, flows that wait for one another.
    pub fn check(&self, hosts: u32) -> Result<(), Error> {
        for (id, flow) in self.flows.iter() {
            for host in [flow.src, flow.dst] {
                if host.0 >= hosts {
                    return Err(Error::NoHost { flow: id.0, host: host.0, hosts });
                }
            }
            if flow.is_work() {
                continue;
            }
            if flow.src == flow.dst {
                return Err(Error::ToItself { flow: id.0, host: flow.src.0 });
            }
            if flow.bytes.0 == 0 || flow.limit.0 == 0 {
                let what = if flow.bytes.0 == 0 { "no bytes" } else { "a limit of zero" };
                return Err(Error::Nothing { flow: id.0, what });
            }
        }
        self.circle()
    }

    /// Starts flows as far as their waits allow; what never starts waits in a circle.
    fn circle(&self) -> Result<(), Error> {
        let mut missing: Table<FlowId, u32> = Table::filled(0, self.flows.len());
        for wait in &self.waits {
            for id in [wait.flow, wait.on] {
                if !self.flows.has(id) {
                    return Err(Error::NoFlow { flow: wait.flow.0, on: wait.on.0 });
                }
            }
            missing[wait.flow] += 1;
        }
        let followers = Followers::new(self);
        let mut ready: Vec<FlowId> = missing.iter().filter(|(_, n)| **n == 0).map(|(id, _)| id).collect();
        let mut started = 0;
        while let Some(flow) = ready.pop() {
            started += 1;
            for wait in followers.of(flow) {
                missing[wait.flow] -= 1;
                if missing[wait.flow] == 0 {
                    ready.push(wait.flow);
                }
            }
        }
        match missing.iter().find(|(_, n)| **n > 0) {
            Some((flow, _)) if started < self.flows.len() => Err(Error::Circle { flow: flow.0 }),
            _ => Ok(()),
        }
    }
}

/// The waits of a workload, by the flow that is waited for.
#[derive(Clone, Debug)]
pub struct Followers {
    first: Vec<u32>,
    waits: Vec<Wait>,
}

impl Followers {
    /// Sorts the waits of `workload`.
    #[must_use]
    pub fn new(workload: &Workload) -> Self {
        let mut waits = workload.waits.clone();
        waits.sort_unstable();
        let mut first = Vec::new();
        if !waits.is_empty() {
            let mut at = 0;
            first.reserve_exact(workload.flows.len() + 1);
            for flow in workload.flows.ids() {
                first.push(at);
                at += waits.iter().skip(at as usize).take_while(|wait| wait.on == flow).count() as u32;
            }
            first.push(at);
        }
        Self { first, waits }
    }

    /// Who waits for `flow`.
    #[must_use]
    pub fn of(&self, flow: FlowId) -> &[Wait] {
        let row = flow.0 as usize;
        let (Some(&from), Some(&to)) = (self.first.get(row), self.first.get(row + 1)) else { return &[] };
        self.waits.get(from as usize..to as usize).unwrap_or_default()
    }
}

impl Error {
    /// The flow that it is about, if it is about one.
    #[must_use]
    pub const fn flow(&self) -> Option<u32> {
        match self {
            Self::NoHost { flow, .. }
            | Self::ToItself { flow, .. }
            | Self::Nothing { flow, .. }
            | Self::NoFlow { flow, .. }
            | Self::Lane { flow, .. }
            | Self::Circle { flow } => Some(*flow),
            Self::NoBuffer | Self::TooManyPieces { .. } => None,
        }
    }
}

/// Why a workload cannot be played.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A host beyond the fabric.
    #[error("flow {flow} names host {host}, but the fabric has hosts 0 to {}", .hosts.saturating_sub(1))]
    NoHost {
        /// The flow.
        flow: u32,
        /// The host it names.
        host: u32,
        /// How many there are.
        hosts: u32,
    },
    /// Source and destination are the same.
    #[error("flow {flow} goes from host {host} to itself; leave it out, it crosses no link")]
    ToItself {
        /// The flow.
        flow: u32,
        /// Its host.
        host: u32,
    },
    /// Nothing would ever be sent.
    #[error("flow {flow} has {what}; it could never end")]
    Nothing {
        /// The flow.
        flow: u32,
        /// What is zero.
        what: &'static str,
    },
    /// A wait names a flow that is not there.
    #[error("flow {flow} waits for flow {on}, and one of them does not exist")]
    NoFlow {
        /// The flow that waits.
        flow: u32,
        /// What it waits for.
        on: u32,
    },
    /// Admission without anything to admit into.
    #[error("admission needs at least one buffer of at least one byte, and a clear-to-send message of at least one")]
    NoBuffer,
    /// Admission would cut the workload into too many pieces.
    #[error(
        "admission makes {pieces} messages and waits, more than the {most} that the model takes; give it larger buffers"
    )]
    TooManyPieces {
        /// How many there would be.
        pieces: u64,
        /// How many there may be.
        most: u64,
    },
    /// A lane that clear-to-send messages have.
    #[error("flow {flow} has lane {lane}; with admission, those from {first} on belong to clear-to-send messages")]
    Lane {
        /// The flow.
        flow: u32,
        /// Its lane.
        lane: u16,
        /// The first that is taken.
        first: u16,
    },
    /// Flows wait for one another.
    #[error("flow {flow} waits, through others, for itself; none of them would ever start")]
    Circle {
        /// One of the flows.
        flow: u32,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> (Workload, [FlowId; 3]) {
        let mut load = Workload::new();
        let ids = [0, 1, 2].map(|n| load.add(Flow::new(HostId(n), HostId(n + 1), Bytes(10))));
        (load, ids)
    }

    #[test]
    fn flows_follow_what_they_wait_for() {
        let (mut load, [a, b, c]) = three();
        load.wait(c, b, Milestone::Acked);
        load.wait(b, a, Milestone::Delivered);
        load.wait(c, a, Milestone::Delivered);
        assert_eq!(load.check(4), Ok(()));
        let followers = Followers::new(&load);
        let of = |id| followers.of(id).iter().map(|wait| wait.flow).collect::<Vec<_>>();
        assert_eq!([of(a), of(b), of(c)], [vec![b, c], vec![c], vec![]]);
        assert_eq!(load.bytes(), Bytes(30));
        load.add(Flow::work(HostId(1), Time::us(5)));
        assert_eq!((load.check(4), load.bytes()), (Ok(()), Bytes(30)));
    }

    #[test]
    fn what_cannot_be_played_is_said() {
        let (mut load, [a, b, c]) = three();
        assert_eq!(load.check(3), Err(Error::NoHost { flow: 2, host: 3, hosts: 3 }));
        load.wait(b, a, Milestone::Acked);
        load.wait(c, b, Milestone::Acked);
        load.wait(b, c, Milestone::Acked);
        assert_eq!(load.check(4), Err(Error::Circle { flow: 1 }));
        load.wait(a, FlowId(9), Milestone::Acked);
        assert_eq!(load.check(4), Err(Error::NoFlow { flow: 0, on: 9 }));
        let alone = |flow| {
            let mut load = Workload::new();
            load.add(flow);
            load.check(2).unwrap_err().to_string()
        };
        assert!(alone(Flow::new(HostId(1), HostId(1), Bytes(1))).contains("itself"));
        assert!(alone(Flow::work(HostId(2), Time::us(1))).contains("hosts 0 to 1"));
        assert!(alone(Flow::new(HostId(0), HostId(1), Bytes(0))).contains("no bytes"));
        assert!(alone(Flow { limit: Rate(0), ..Flow::new(HostId(0), HostId(1), Bytes(1)) }).contains("limit"));
    }
}
