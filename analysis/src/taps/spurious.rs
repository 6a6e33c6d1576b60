//! Requests that are sent again in vain: a tap that sees the repeat had seen the answer to an earlier copy, which so
//! had arrived, whether that tap saw it or not.

use rocetop_parsers::{Facts, Psn};

use super::crowd::Crowd;
use super::delivered::{Acked, Lived, RIVALS, acknowledged, is_beyond};
use super::lives::Lives;
use super::pair::Pair;
use super::sight::{self, Sight};
use super::window::Window;

/// The life that a flow is in, as tap `side` sees it.
fn latest(flow: usize, window: &Window, lives: &[Lives; 2], side: usize) -> Option<Lived> {
    Some(Lived { flow, to: window.key.qp(), life: lives.get(side)?.latest()?, turns: [0, u64::MAX] })
}

/// Flows of one source port that are looked at (chosen: of four million flows whose ports are hashes so many share one;
/// where more do, they are none).
const SAME_PORT: usize = 256;

impl Pair {
    /// Whether a request that comes by tap `side` now was acknowledged before.
    pub(super) fn is_spurious(&mut self, index: usize, side: usize, sight: &Sight) -> bool {
        let Some(window) = self.windows.get(index) else { return false };
        let Some(asked) = latest(index, window, &window.asked, side) else { return false };
        let answer = |index: usize| self.windows.get(index).and_then(|w| latest(index, w, &w.acked, side));
        let mate = |index: usize| answer(index).filter(|mate| mate.port_fits(&asked));
        if let Some(mate) = window.mate.and_then(mate) {
            return acknowledges(&mate, &asked, sight.psn);
        }
        // Every request asks: of very many flows the one that answers is looked for more and more seldom.
        let looked = window.looked_for_mate + 1;
        let back = self.back_windows(window);
        let found = if looked.is_power_of_two() {
            self.of_fitting_ports(window, &asked).find_map(|index| Some((index, mate(index)?)))
        } else {
            None
        };
        let spurious = match &found {
            Some((_, mate)) => acknowledges(mate, &asked, sight.psn),
            None => self.is_spurious_among(index, &asked, back, side, sight.psn),
        };
        if let Some(window) = self.windows.get_mut(index) {
            (window.mate, window.looked_for_mate) = (found.map(|(mate, _)| mate), looked);
        }
        spurious
    }

    /// The flows of the way back.
    fn back_windows(&self, window: &Window) -> &[usize] {
        self.way_back(window).map(|way| way.windows.as_slice()).unwrap_or_default()
    }

    /// A packet of flow `index` as tap `side` saw it, the `turn`th of all: what it acknowledges.
    pub(super) fn note_answer(&mut self, index: usize, side: usize, facts: &Facts, turn: u64) {
        let (Some(psn), port) = (sight::acknowledges(facts), facts.sport) else { return };
        let Some(window) = self.windows.get_mut(index) else { return };
        let Some(acked) = window.acked.get_mut(side) else { return };
        acked.add([psn; 2], port, turn);
        // A flow that uses several ports is not looked for by one.
        let is_only = acked.latest().is_some_and(|life| life.port == Some(port));
        if is_only && window.port != Some(port) && self.ports.len() < self.most_flows {
            window.port = Some(port);
            self.ports.insert((window.way, port, index));
        }
    }

    /// The flows of the way back that may answer a life as far as their source ports tell.
    fn of_fitting_ports(&self, window: &Window, asked: &Lived) -> impl Iterator<Item = usize> {
        let back = self.hosts.get(&(window.key.dst, window.key.src)).copied();
        let asked = *asked;
        let ports = back.into_iter().flat_map(move |back| asked.ports_of_answers().map(move |port| (back, port)));
        ports.flat_map(|(back, port)| {
            let all = self.ports.range((back, port, 0)..=(back, port, usize::MAX)).take(SAME_PORT);
            all.map(|&(_, _, index)| index)
        })
    }

    /// The same where the ports do not tell which of the flows `back` answers.
    fn is_spurious_among(&self, index: usize, asked: &Lived, back: &[usize], side: usize, psn: Psn) -> bool {
        let Some(way) = self.windows.get(index).and_then(|window| self.ways.get(window.way)) else { return false };
        if way.windows.len().max(back.len()) > RIVALS {
            return false;
        }
        let all = |windows: &[usize], lives: fn(&Window) -> &[Lives; 2]| -> Vec<Lived> {
            let windows = windows.iter().filter_map(|&flow| Some((flow, self.windows.get(flow)?)));
            windows.filter_map(|(flow, window)| latest(flow, window, lives(window), side)).collect()
        };
        let answers = all(back, |window| &window.acked);
        if !answers.iter().any(|answer| acknowledges(answer, asked, psn)) {
            return false;
        }
        let others = Crowd::of_latest(all(&way.windows, |window| &window.asked));
        matches!(acknowledged(asked, &others, &Crowd::of_latest(answers)), Acked::Upto(upto) if is_beyond(upto, psn))
    }
}

fn acknowledges(answer: &Lived, asked: &Lived, psn: Psn) -> bool {
    answer.may_answer(asked) && is_beyond(answer.last(), psn)
}
