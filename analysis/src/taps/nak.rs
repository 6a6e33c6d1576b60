//! Requests that a NAK names, whatever a capture misses of them: a sequence error tells that they had not come to the
//! responder (where packets overtake one another some of them come later), an RNR NAK that they had.

use rocetop_parsers::Facts;

use super::delivered::RIVALS;
use super::pair::Pair;
use super::sight::{Kind, Named, Sight, names};
use super::window::Window;

impl Pair {
    /// A packet of flow `index`, the `turn`th of all.
    pub(super) fn note_nak(&mut self, index: usize, facts: &Facts, turn: u64) {
        let Some(named) = names(facts) else { return };
        if let Some(way) = self.windows.get(index).and_then(|window| self.ways.get_mut(window.way)) {
            way.names(named, turn, index);
        }
    }

    /// Whether the responder said so of a request before that was sent again in turn `next`. What was sent behind it in
    /// the meantime the responder did not take, though it may have come.
    pub(super) fn is_named(&self, how: Named, window: &Window, sight: &Sight, next: u64) -> bool {
        let Some(back) = self.way_back(window).filter(|_| sight.kind == Kind::Request && sight.shows()) else {
            return false;
        };
        let [from, to] = [sight.turn, next].map(|turn| (how, sight.psn.get(), turn, 0));
        let is_its = |index: usize| window.mate.is_none_or(|mate| mate == index);
        next != u64::MAX && back.named.range(from..to).take(RIVALS).any(|&(.., index)| is_its(index))
    }

    /// A request that both taps saw, and tap `side` again in turn `next`: a NAK that told it to be missing came too
    /// early.
    pub(super) fn note_late(&mut self, window: &Window, side: usize, sight: &Sight, next: u64) {
        let late = u64::from(self.is_named(Named::Missing, window, sight, next));
        if let Some(count) = self.ways.get_mut(window.way).and_then(|way| way.late.get_mut(side)) {
            *count += late;
        }
    }
}
