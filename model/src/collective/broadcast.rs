//! Broadcast from rank 0 along a chain, in pieces: while one rank passes a piece on it receives the next.

use super::{Job, Send};
use crate::units::Bytes;

/// n-1 hops for each piece.
pub fn play(job: &mut Job<'_>, bytes: Bytes) {
    chain(job, bytes, |n| (1..n).map(|to| (to - 1, to)).collect());
}

/// Passes every piece along the hops of a chain.
pub(super) fn chain(job: &mut Job<'_>, bytes: Bytes, hops: impl Fn(usize) -> Vec<(usize, usize)>) {
    let hops = hops(job.ranks());
    job.pieces(bytes, |job, bytes| {
        for (from, to) in &hops {
            job.step(&[Send { from: *from, to: *to, bytes }]);
        }
    });
}
