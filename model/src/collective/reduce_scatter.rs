//! Reduce-scatter by a ring: every rank ends with the sum of its part.

use super::Job;
use crate::units::Bytes;

/// n-1 steps, in each of which every rank sends an nth to the next.
pub fn play(job: &mut Job<'_>, bytes: Bytes) {
    job.round(&job.all(), bytes, 0);
}
