//! Requests that are sent again in vain: a tap that sees the repeat had seen the answer to an earlier copy, which so
//! had arrived, whether that tap saw it or not.

use rocetop_parsers::Psn;

use super::delivered::{Lived, RIVALS, acknowledged, is_beyond, may_answer, ports_fit};
use super::lives::Lives;
use super::pair::Pair;
use super::sight::Sight;
use super::window::Window;

/// The life that a flow is in, as tap `side` sees it.
fn latest(window: &Window, lives: &[Lives; 2], side: usize) -> Option<Lived> {
    Some((lives.get(side)?.latest()?, [0, u64::MAX], window.key.qp()))
}

impl Pair {
    /// Whether a request that comes by tap `side` now was acknowledged before.
    pub(super) fn is_vain(&mut self, index: usize, side: usize, sight: &Sight) -> bool {
        let Some(window) = self.windows.get(index) else { return false };
        let Some(asked) = latest(window, &window.asked, side) else { return false };
        let answer = |index: usize| self.windows.get(index).and_then(|w| latest(w, &w.acked, side));
        let mate = |index: usize| answer(index).filter(|mate| ports_fit(&asked, mate));
        if let Some(mate) = window.mate.and_then(mate) {
            return acknowledges(&mate, &asked, sight.psn);
        }
        // Every request asks: of very many flows the one that answers is looked for more and more seldom.
        let looked = window.looked_for_mate + 1;
        let back = self.back_windows(window);
        let found = looked.is_power_of_two().then(|| back.iter().find_map(|&index| Some((index, mate(index)?))));
        let found = found.flatten();
        let vain = match &found {
            Some((_, mate)) => acknowledges(mate, &asked, sight.psn),
            None => self.is_vain_among(index, &asked, back, side, sight.psn),
        };
        if let Some(window) = self.windows.get_mut(index) {
            (window.mate, window.looked_for_mate) = (found.map(|(mate, _)| mate), looked);
        }
        vain
    }

    /// The flows of the way back.
    fn back_windows(&self, window: &Window) -> &[usize] {
        let back = self.hosts.get(&(window.key.dst, window.key.src)).and_then(|&back| self.ways.get(back));
        back.map(|way| way.windows.as_slice()).unwrap_or_default()
    }

    /// The same where the ports do not tell which of the flows `back` answers.
    fn is_vain_among(&self, index: usize, asked: &Lived, back: &[usize], side: usize, psn: Psn) -> bool {
        let Some(way) = self.windows.get(index).and_then(|window| self.ways.get(window.way)) else { return false };
        if way.windows.len().max(back.len()) > RIVALS {
            return false;
        }
        let at = |index: &usize| self.windows.get(*index);
        let answers = back.iter().filter_map(at).filter_map(|w| latest(w, &w.acked, side));
        if !answers.clone().any(|answer| acknowledges(&answer, asked, psn)) {
            return false;
        }
        let others = way.windows.iter().filter(|&&other| other != index);
        let others: Vec<Lived> = others.filter_map(at).filter_map(|w| latest(w, &w.asked, side)).collect();
        let answers: Vec<Lived> = answers.collect();
        acknowledged(asked, &others, &answers).is_some_and(|upto| is_beyond(upto, psn))
    }
}

fn acknowledges(answer: &Lived, asked: &Lived, psn: Psn) -> bool {
    may_answer(answer, asked) && is_beyond(answer.0.reach.last(), psn)
}
