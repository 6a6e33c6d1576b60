//! Several queue pairs where there was one (SYSTEMS R3): more entropy for switches that hash the queue pair.

use std::collections::BTreeMap;

use super::{Flow, FlowId, Milestone, Workload};
use crate::topology::HostId;
use crate::units::Bytes;

/// How messages are put on several queue pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scaling {
    /// Every message is cut into as many parts, one for each queue pair; it has arrived when all of them have.
    Split(u16),
    /// Whole messages, one queue pair after the other.
    RoundRobin(u16),
}

impl Scaling {
    /// The same workload over several queue pairs; lanes are given anew. Work stays work, and a split leaves no part
    /// empty.
    #[must_use]
    pub fn apply(self, load: &Workload) -> Workload {
        let mut scaled = Workload::new();
        // What each flow has become: its parts follow one another.
        let mut became: Vec<(FlowId, u32)> = Vec::new();
        let mut turns: BTreeMap<(HostId, HostId), u16> = BTreeMap::new();
        for (_, flow) in load.flows().iter() {
            let parts = match self {
                Self::Split(n) if !flow.is_work() => u64::from(n.max(1)).min(flow.bytes.0.max(1)),
                _ => 1,
            };
            let at = |part: u64| (u128::from(flow.bytes.0) * u128::from(part) / u128::from(parts)) as u64;
            let mut first = None;
            for part in 0..parts {
                let lane = match self {
                    Self::Split(_) => part as u16,
                    Self::RoundRobin(n) => {
                        let turn = turns.entry((flow.src, flow.dst)).or_default();
                        let lane = *turn;
                        *turn = (lane + 1) % n.max(1);
                        lane
                    }
                };
                let id = scaled.add(Flow { bytes: Bytes(at(part + 1) - at(part)), lane, ..*flow });
                first.get_or_insert(id);
            }
            became.push((first.unwrap_or_default(), parts as u32));
        }
        for wait in load.waits() {
            let of = |id: FlowId| became.get(id.0 as usize).copied().unwrap_or_default();
            let ((flow, parts), (on, others)) = (of(wait.flow), of(wait.on));
            for part in 0..parts {
                for other in 0..others {
                    // Order inside a queue pair is a matter between parts of the same lane.
                    if wait.until != Milestone::Started || part == other || parts != others {
                        scaled.wait(FlowId(flow.0 + part), FlowId(on.0 + other), wait.until);
                    }
                }
            }
        }
        scaled
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Time;

    #[test]
    fn split_or_in_turns() {
        let mut load = Workload::new();
        let flow = Flow::new(HostId(0), HostId(1), Bytes(10));
        let a = load.add(flow);
        let b = load.add(flow);
        let work = load.add(Flow::work(HostId(1), Time::us(1)));
        load.wait(b, a, Milestone::Started);
        load.wait(work, a, Milestone::Delivered);
        let lanes =
            |load: &Workload| load.flows().rows().iter().map(|flow| (flow.lane, flow.bytes.0)).collect::<Vec<_>>();
        let split = Scaling::Split(3).apply(&load);
        assert_eq!(lanes(&split), [(0, 3), (1, 3), (2, 4), (0, 3), (1, 3), (2, 4), (0, 0)]);
        assert_eq!(split.waits().len(), 3 + 3, "part by part, and work after all parts");
        let turns = Scaling::RoundRobin(2).apply(&load);
        assert_eq!(lanes(&turns)[..2], [(0, 10), (1, 10)]);
        assert_eq!(turns.waits(), load.waits());
        for load in [split, turns] {
            assert_eq!((load.check(2), load.bytes()), (Ok(()), Bytes(20)));
        }
        let mut tiny = Workload::new();
        tiny.add(Flow { bytes: Bytes(2), ..flow });
        assert_eq!(Scaling::Split(8).apply(&tiny).flows().len(), 2);
    }
}
