//! All-reduce by a binary tree: sums go up to the root, the result comes down; logarithmic in the number of ranks where
//! a ring is linear. In pieces, so that all levels work at once. An inner rank receives every byte twice on its way up,
//! so a link carries more than a ring's: trees win on latency, rings on bandwidth.

use super::{Job, Send};
use crate::units::Bytes;

/// Rank 0 is the root; the children of `i` are `2i + 1` and `2i + 2`.
pub fn play(job: &mut Job<'_>, bytes: Bytes) {
    let n = job.ranks();
    // A level of the tree holds the ranks from 2^l - 1 up to 2^(l+1) - 1.
    let mut levels = Vec::new();
    let mut first = 1;
    while first < n {
        let last = (2 * first + 1).min(n);
        levels.push(first..last);
        first = last;
    }
    job.pieces(bytes, |job, bytes| {
        for level in levels.iter().rev() {
            let up: Vec<Send> = level.clone().map(|from| Send { from, to: (from - 1) / 2, bytes }).collect();
            job.step(&up);
        }
        for level in &levels {
            let down: Vec<Send> = level.clone().map(|to| Send { from: (to - 1) / 2, to, bytes }).collect();
            job.step(&down);
        }
    });
}
