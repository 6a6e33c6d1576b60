//! Requests that a NAK names: they had not come to the responder, whatever a capture misses. Where packets overtake one
//! another some of them come later.

use rocetop_parsers::Facts;

use super::delivered::RIVALS;
use super::pair::Pair;
use super::sight::{Kind, Sight, misses};
use super::window::Window;

impl Pair {
    /// A packet of flow `index`, the `turn`th of all.
    pub(super) fn note_nak(&mut self, index: usize, facts: &Facts, turn: u64) {
        let Some(psn) = misses(facts) else { return };
        if let Some(way) = self.windows.get(index).and_then(|window| self.ways.get_mut(window.way)) {
            way.names(psn, turn, index);
        }
    }

    /// Whether the responder named a request by a NAK that came before it was sent again. What was sent behind it in
    /// the meantime the responder did not take, though it may have come.
    pub(super) fn is_named(&self, window: &Window, sight: &Sight, next: u64) -> bool {
        let Some(back) = self.way_back(window).filter(|_| sight.kind == Kind::Request && sight.shows()) else {
            return false;
        };
        let psn = sight.psn.get();
        let [from, to] = [sight.turn, next].map(|turn| (psn, turn, 0));
        let is_its = |index: usize| window.mate.is_none_or(|mate| mate == index);
        next != u64::MAX && back.named.range(from..to).take(RIVALS).any(|&(_, _, index)| is_its(index))
    }

    /// A request that both taps saw, and tap `side` again in turn `next`: a NAK that named it came too early.
    pub(super) fn note_late(&mut self, window: &Window, side: usize, sight: &Sight, next: u64) {
        let late = u64::from(self.is_named(window, sight, next));
        if let Some(count) = self.ways.get_mut(window.way).and_then(|way| way.late.get_mut(side)) {
            *count += late;
        }
    }
}
