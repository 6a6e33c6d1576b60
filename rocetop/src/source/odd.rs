//! What is odd about the frames of a capture that is whole: stamps and lengths that none should have.

use rocetop_parsers::Nanos;

use crate::pcap::{MAX_RECORD, Record};

/// A clock that goes back farther than this was set, or a stamp is false. Several queues of a card that are written one
/// after the other are milliseconds apart. Chosen.
pub(super) const BACK: Nanos = Nanos(1_000_000_000);
/// Nothing is silent for so long: a year.
const AHEAD: Nanos = Nanos(366 * 86_400 * 1_000_000_000);

/// Counts of odd frames. Kept apart from the counts of all, which stay in registers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Odd {
    /// Frames without a stamp.
    unstamped: u64,
    /// Stamps that no clock gives behind the ones before.
    jumps: u64,
    /// The longest step back.
    back: Nanos,
    /// Frames whose length on the wire is beyond belief.
    overlong: u64,
}

impl Odd {
    /// Whether a record is to be noted that comes where the latest stamp of all was `latest`.
    #[inline(always)]
    pub(crate) fn is(ts: Option<Nanos>, wire_len: u32, latest: Nanos) -> bool {
        ts.is_none_or(|ts| ts.0.abs_diff(latest.0) > BACK.0) || wire_len > MAX_RECORD
    }

    /// Takes an odd record in; `before` is the stamp before its own, `None` for the first that has one. One that claims
    /// to be longer than any frame is given the length that is there.
    #[cold]
    pub(crate) fn note(&mut self, record: &mut Record, before: Option<Nanos>) {
        self.unstamped += u64::from(record.ts.is_none());
        if let (Some(ts), Some(before)) = (record.ts, before) {
            let back = before.since(ts);
            self.jumps += u64::from(back > BACK || ts.since(before) > AHEAD);
            self.back = self.back.max(back);
        }
        if record.wire_len > MAX_RECORD {
            let captured = record.data.len() as u32;
            self.overlong += u64::from(record.wire_len > captured);
            record.wire_len = captured;
        }
    }

    /// Whether the clock was set, or some stamps are false.
    pub(crate) const fn clock_jumps(&self) -> bool {
        self.jumps != 0
    }

    /// All of it, about so many frames, in sentences.
    pub(crate) fn notes(&self, frames: u64) -> Vec<String> {
        let mut notes = Vec::new();
        if self.jumps != 0 {
            let jump = if self.back > BACK {
                format!("goes back, by up to {} s", self.back.0.div_ceil(1_000_000_000))
            } else {
                "leaps ahead by more than a year".to_owned()
            };
            let times = if self.jumps == 1 { "once".to_owned() } else { format!("{} times", self.jumps) };
            notes.push(format!("Its clock {jump} ({times}): lengths of time across that are worth nothing."));
        }
        if self.unstamped != 0 && self.unstamped == frames {
            notes.push("Its frames have no times: rates, latencies and durations are not known.".to_owned());
        } else if self.unstamped != 0 {
            notes.push(format!(
                "{} of its frames have no time, and are given that of the frame before.",
                self.unstamped
            ));
        }
        if self.overlong != 0 {
            notes.push(format!(
                "{} of its frames claim to be longer than any link carries, and count with the bytes that are there.",
                self.overlong
            ));
        }
        notes
    }
}
