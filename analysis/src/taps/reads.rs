//! READ requests that ask for the rest of an earlier one.
//!
//! A requester that lacks a response asks again from there (mlx5 counts
//! `implied_nak_seq_err`), by a request with a PSN of its own. When
//! that one is lost, another one asks for the rest, or for less of it: what is answered says nothing of the lost one.

use std::collections::VecDeque;

use rocetop_parsers::facts::Flags;
use rocetop_parsers::ib::opcode::Operation;
use rocetop_parsers::{Facts, Psn};

/// READs remembered; outstanding ones are at most 255 (IBTA 11.2.4.2), and mostly far fewer.
const RECENT: usize = 64;

/// Path MTUs in use, each as the bit that it is: 256 to 4096 (IBTA 9.4.1).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mtus(u32);

impl Mtus {
    /// Every response of a READ but the last is as long as the MTU.
    pub(super) fn add(&mut self, facts: &Facts) {
        let full = matches!(facts.opcode.operation(), Operation::READ_RESP_FIRST | Operation::READ_RESP_MIDDLE);
        if full && facts.payload.is_power_of_two() && (256..=4096).contains(&facts.payload) {
            self.0 |= facts.payload;
        }
    }

    /// Whether so many packets carry so many bytes.
    fn fit(self, packets: u32, bytes: u32) -> bool {
        let each = bytes.checked_div(packets).filter(|&each| each * packets == bytes);
        each.is_some_and(|each| each.is_power_of_two() && self.0 & each != 0)
    }
}

/// The latest READs of one flow at one tap, as they were asked for at first.
#[derive(Clone, Debug, Default)]
pub(super) struct Reads {
    recent: VecDeque<(Psn, u32)>,
}

impl Reads {
    /// Whether a request asks for the rest of an earlier READ: further on, and for just so much less.
    pub(super) fn is_rest(&mut self, facts: &Facts, mtus: Mtus) -> bool {
        if facts.opcode.operation() != Operation::READ_REQ || !facts.flags.has(Flags::EXTENDED) {
            return false;
        }
        let this = (facts.psn, facts.dma_len);
        for &earlier in self.recent.iter().rev() {
            if earlier == this {
                return false;
            }
            let (on, less) = (u32::try_from(this.0 - earlier.0), earlier.1.checked_sub(this.1));
            if on.ok().zip(less).is_some_and(|(on, less)| mtus.fit(on, less)) {
                return true;
            }
        }
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(this);
        false
    }
}
