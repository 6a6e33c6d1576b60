//! All-to-all: every rank has a part for every other, and sends all of them at once, beginning with its neighbour's so
//! that no receiver is everybody's first.

use super::{Job, Send};
use crate::units::Bytes;

/// One step of n(n-1) transfers.
pub fn play(job: &mut Job<'_>, bytes: Bytes) {
    let n = job.ranks();
    let sends: Vec<Send> = (1..n)
        .flat_map(|away| {
            (0..n).map(move |from| {
                let to = (from + away) % n;
                Send { from, to, bytes: Job::part(bytes, to as u64, n as u64) }
            })
        })
        .collect();
    job.step(&sends);
}
