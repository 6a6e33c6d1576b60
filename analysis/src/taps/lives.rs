//! What one tap saw of a flow's PSNs, by the lives of its queue pair.

use rocetop_parsers::Psn;

use super::delivered::Reach;

/// Lives kept besides the latest one (chosen: bounds the memory; what is settled later than so many lives and has no
/// copy at the other tap stays in doubt).
const KEPT: usize = 64;

/// PSNs without a jump, and the only source port that they came from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Life {
    pub(super) reach: Reach,
    pub(super) port: Option<u16>,
    /// PSNs from its first packet to the furthest, however often the numbers went round.
    pub(super) nth: i64,
    /// When it began.
    turn: u64,
}

/// All of a flow, in the order in which they were.
#[derive(Clone, Debug, Default)]
pub(super) struct Lives {
    earlier: Vec<Life>,
    latest: Option<Life>,
    /// The turn up to which the lives are forgotten.
    forgotten: u64,
}

impl Lives {
    pub(super) fn is_empty(&self) -> bool {
        self.latest.is_none()
    }

    pub(super) fn latest(&self) -> Option<Life> {
        self.latest
    }

    /// Before that turn nothing is known of its lives any more.
    pub(super) fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// The furthest PSN of the life that a packet of that turn is of; `None` of another one's.
    pub(super) fn upto(&self, turn: u64, psn: Psn) -> Option<Psn> {
        let lives = self.each().filter(|(_, [_, end])| turn < *end).map(|(life, _)| life.reach);
        lives.filter(|reach| reach.is_near(psn)).map(Reach::last).next()
    }

    /// PSNs of one packet, which came from this port as the `turn`th of all. Returns the place of the first of them in
    /// its life.
    pub(super) fn add(&mut self, psns: [Psn; 2], port: u16, turn: u64) -> i64 {
        match &mut self.latest {
            Some(life) if life.reach.is_near(psns[0]) => {
                let before = life.reach.last();
                let place = life.nth + i64::from(psns[0] - before);
                life.reach = Reach::with(Some(life.reach), psns);
                life.nth += i64::from(life.reach.last() - before);
                life.port = life.port.filter(|&known| known == port);
                place
            }
            latest => {
                let life =
                    Life { reach: Reach::with(None, psns), port: Some(port), nth: i64::from(psns[1] - psns[0]), turn };
                if let Some(before) = latest.replace(life) {
                    self.earlier.push(before);
                    if self.earlier.len() > KEPT {
                        self.earlier.remove(0);
                        self.forgotten = self.earlier.first().map_or(turn, |oldest| oldest.turn);
                    }
                }
                0
            }
        }
    }

    /// Each life, with the turn of its first packet and that of the next one's. The first one was there before the
    /// capture.
    pub(super) fn each(&self) -> impl Iterator<Item = (Life, [u64; 2])> {
        let all = || self.earlier.iter().chain(&self.latest);
        let begins = [self.forgotten].into_iter().chain(all().skip(1).map(|life| life.turn));
        let ends = all().skip(1).map(|life| life.turn).chain([u64::MAX]);
        all().zip(begins.zip(ends)).map(|(life, (begin, end))| (*life, [begin, end]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_do_not_go_round() {
        let mut lives = Lives::default();
        let mut add = |psn: u32, more: u32| lives.add([Psn::new(psn), Psn::new(psn + more)], 1, 0);
        assert_eq!([add(0xff_fff0, 15), add(0, 255), add(0xff_fff8, 0)], [0, 16, 8]);
        // Around all numbers and half of them.
        let last = (1..=384).map(|n| add(n << 16 & 0xff_ffff, 0)).last();
        assert_eq!(last, Some((384 << 16) + 16));
        assert_eq!(lives.latest().map(|life| life.nth), last);
    }

    #[test]
    fn what_was_before_the_lives_that_are_kept_belongs_to_none() {
        let mut lives = Lives::default();
        for life in 0..80u32 {
            lives.add([Psn::new(life * 200_000); 2], 1, u64::from(life) * 10);
        }
        assert_eq!((lives.each().count(), lives.forgotten()), (KEPT + 1, 150));
        assert_eq!(lives.each().next().map(|(_, turns)| turns), Some([150, 160]));
    }
}
