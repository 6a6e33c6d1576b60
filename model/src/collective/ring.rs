//! All-reduce by a ring: parts are summed on one way round, and spread on another.

use super::Job;
use crate::units::Bytes;

/// 2(n-1) steps, in each of which every rank sends an nth to the next.
pub fn play(job: &mut Job<'_>, bytes: Bytes) {
    super::reduce_scatter::play(job, bytes);
    super::all_gather::play(job, bytes);
}
