//! All-gather by a ring: every rank ends with all parts.

use super::Job;
use crate::units::Bytes;

/// n-1 steps, in each of which every rank passes on the nth that it got last; after a reduce-scatter it begins with the
/// part that it has summed.
pub fn play(job: &mut Job<'_>, bytes: Bytes) {
    job.round(&job.all(), bytes, 1);
}
