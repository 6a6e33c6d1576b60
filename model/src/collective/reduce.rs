//! Reduce to rank 0 along a chain, in pieces: every rank adds its own and passes the sum on.

use super::{Job, broadcast};
use crate::units::Bytes;

/// n-1 hops for each piece.
pub fn play(job: &mut Job<'_>, bytes: Bytes) {
    broadcast::chain(job, bytes, |n| (1..n).rev().map(|from| (from, from - 1)).collect());
}
