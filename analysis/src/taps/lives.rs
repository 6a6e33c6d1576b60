//! What one tap saw of a flow's PSNs, by the lives of its queue pair.

use rocetop_parsers::Psn;

use super::delivered::Reach;

/// Lives kept besides the latest one (chosen: bounds the memory; what is settled later than so many lives is called
/// nothing that it was not).
const KEPT: usize = 64;

/// PSNs without a jump, and the only source port that they came from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Life {
    pub(super) reach: Reach,
    pub(super) port: Option<u16>,
    /// When it began.
    turn: u64,
}

/// All of a flow, in the order in which they were.
#[derive(Clone, Debug, Default)]
pub(super) struct Lives {
    earlier: Vec<Life>,
    latest: Option<Life>,
}

impl Lives {
    pub(super) fn is_empty(&self) -> bool {
        self.latest.is_none()
    }

    pub(super) fn latest(&self) -> Option<Life> {
        self.latest
    }

    /// The furthest PSN of the life that a packet of that turn is of; `None` of another one's.
    pub(super) fn upto(&self, turn: u64, psn: Psn) -> Option<Psn> {
        let lives = self.each().filter(|(_, [_, end])| turn < *end).map(|(life, _)| life.reach);
        lives.filter(|reach| reach.is_near(psn)).map(Reach::last).next()
    }

    /// PSNs of one packet, which came from this port as the `turn`th of all.
    pub(super) fn add(&mut self, psns: [Psn; 2], port: u16, turn: u64) {
        match &mut self.latest {
            Some(life) if life.reach.is_near(psns[0]) => {
                life.reach = Reach::with(Some(life.reach), psns);
                life.port = life.port.filter(|&known| known == port);
            }
            latest => {
                let life = Life { reach: Reach::with(None, psns), port: Some(port), turn };
                if let Some(before) = latest.replace(life) {
                    if self.earlier.len() == KEPT {
                        self.earlier.remove(0);
                    }
                    self.earlier.push(before);
                }
            }
        }
    }

    /// Each life, with the turn of its first packet and that of the next one's. The first one was there before the
    /// capture.
    pub(super) fn each(&self) -> impl Iterator<Item = (Life, [u64; 2])> {
        let all = || self.earlier.iter().chain(&self.latest);
        let begins = [0].into_iter().chain(all().skip(1).map(|life| life.turn));
        let ends = all().skip(1).map(|life| life.turn).chain([u64::MAX]);
        all().zip(begins.zip(ends)).map(|(life, (begin, end))| (*life, [begin, end]))
    }
}
