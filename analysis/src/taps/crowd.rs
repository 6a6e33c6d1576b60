//! The lives of all flows of one direction, as one tap saw them, by what finds some of them again.

use std::collections::HashMap;

use rocetop_parsers::Psn;

use super::delivered::Lived;
use super::window::Window;

/// The lives that came from one port.
#[derive(Clone, Debug)]
struct Port {
    /// Them, by index.
    lives: Vec<usize>,
    /// The flow whose they are, where they are of one alone.
    flow: Option<usize>,
}

/// All lives of the flows of a direction.
#[derive(Clone, Debug, Default)]
pub(super) struct Crowd {
    /// By their furthest PSN.
    lives: Vec<Lived>,
    /// By their only source port; `None`: they had several.
    ports: HashMap<Option<u16>, Port>,
    /// Before that turn some are forgotten.
    forgotten: u64,
}

impl Crowd {
    /// What tap `side` saw these flows ask, or acknowledge.
    pub(super) fn of<'a>(windows: impl Iterator<Item = (usize, &'a Window)>, side: usize, acked: bool) -> Self {
        let mut crowd = Self::default();
        for (flow, window) in windows {
            let lives = if acked { &window.acked } else { &window.asked };
            let Some(lives) = lives.get(side) else { continue };
            crowd.forgotten = crowd.forgotten.max(lives.forgotten());
            let to = window.key.qp();
            crowd.lives.extend(lives.each().map(|(life, turns)| Lived { flow, to, life, turns }));
        }
        crowd.sorted()
    }

    /// Of the life that each of these flows is in.
    pub(super) fn of_latest(lives: Vec<Lived>) -> Self {
        Self { lives, ..Self::default() }.sorted()
    }

    fn sorted(mut self) -> Self {
        self.lives.sort_by_key(|lived| lived.last().get());
        for (n, lived) in self.lives.iter().enumerate() {
            let flow = Some(lived.flow);
            let port = self.ports.entry(lived.life.port).or_insert(Port { lives: Vec::new(), flow });
            port.lives.push(n);
            port.flow = port.flow.filter(|_| port.flow == flow);
        }
        self
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lives.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.lives.len()
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Lived> {
        self.lives.iter()
    }

    /// Before that turn some of its lives are forgotten.
    pub(super) fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// Those whose furthest PSN is one of these.
    pub(super) fn between(&self, from: Psn, to: Psn) -> impl Iterator<Item = &Lived> {
        let (from, to) = (from.get(), to.get());
        let begin = self.lives.partition_point(|lived| lived.last().get() < from);
        let end = self.lives.partition_point(|lived| lived.last().get() <= to);
        // Of numbers that go round.
        let parts = if from <= to { [begin..end.max(begin), 0..0] } else { [begin..self.lives.len(), 0..end] };
        parts.into_iter().flat_map(|part| self.lives.get(part).unwrap_or_default())
    }

    /// Those that may answer a life as far as its source port tells.
    pub(super) fn fitting_ports(&self, asked: &Lived) -> impl Iterator<Item = &Lived> {
        let ports = asked.ports_of_answers();
        let lives = ports.filter_map(|port| self.ports.get(&Some(port))).flat_map(|port| &port.lives);
        lives.filter_map(|&n| self.lives.get(n))
    }

    /// Whether no flow but this one has that port, as far as is known of all of them.
    pub(super) fn is_port_of(&self, port: u16, flow: usize) -> bool {
        let is_only = |port: &Port| port.flow == Some(flow);
        self.ports.get(&Some(port)).is_none_or(is_only) && self.ports.get(&None).is_none_or(is_only)
    }

    /// Whether one life alone has that port, as far as is known of all of them.
    pub(super) fn is_once(&self, port: u16) -> bool {
        self.ports.get(&Some(port)).is_some_and(|port| port.lives.len() == 1) && !self.ports.contains_key(&None)
    }
}

#[cfg(test)]
mod tests {
    use rocetop_parsers::{Qpn, sport};

    use super::*;
    use crate::taps::lives::Lives;

    /// Flows that have each come to one of these PSNs, from one of these ports.
    fn crowd(of: &[(u32, u16)]) -> Crowd {
        let lived = |(flow, &(psn, port)): (usize, &(u32, u16))| {
            let mut lives = Lives::default();
            lives.add([Psn::new(psn); 2], port, 0);
            lives.each().map(move |(life, turns)| Lived { flow, to: Qpn(7), life, turns }).next()
        };
        Crowd::of_latest(of.iter().enumerate().filter_map(lived).collect())
    }

    #[test]
    fn numbers_that_go_round_are_found() {
        let all = crowd(&[(5, 1), (0xff_fff0, 1), (100, 1), (0x80_0000, 1), (0, 1)]);
        let flows = |from: u32, to: u32| {
            let mut flows: Vec<usize> = all.between(Psn::new(from), Psn::new(to)).map(|lived| lived.flow).collect();
            flows.sort_unstable();
            flows
        };
        assert_eq!(flows(0, 100), [0, 2, 4]);
        assert_eq!(flows(0xff_fff0, 5), [0, 1, 4]);
        assert_eq!(flows(0xff_fff1, 0xff_ffff), [0; 0]);
        assert_eq!(flows(101, 100), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn ports_tell_whose_lives_they_are() {
        let own = sport::of_rxe_source(Qpn(7));
        let all = crowd(&[(5, 50_000), (6, own), (7, 50_001), (8, 50_000)]);
        let asked = *crowd(&[(5, 50_000)]).all().next().unwrap();
        let flows: Vec<usize> = all.fitting_ports(&asked).map(|lived| lived.flow).collect();
        assert_eq!(flows, [0, 3, 1]);
        assert!(all.is_port_of(50_001, 2) && all.is_port_of(50_002, 2) && !all.is_port_of(50_000, 0));
        assert!(all.is_once(50_001) && !all.is_once(50_000) && !all.is_once(50_002));
    }
}
