//! What the feeds of capture formats share: a driver that shows a decoder a file in pieces.

use rocetop::pcap::{Decoder, Format, MAX_NEED, MAX_SKIP, Record, Step};

/// How a file ended for its driver.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Where it may end.
    Whole,
    /// In the middle of something.
    Cut,
    /// It makes no sense from here on.
    Fault(usize),
}

/// The pieces that a file is read in, by the first byte of an input: as asked for, one byte more each time, or up to
/// that many bytes more, from a simple generator.
struct Pieces(u32);

impl Pieces {
    fn extra(&mut self) -> usize {
        let most = self.0 & 0xff;
        self.0 = (self.0 >> 8).wrapping_mul(0x9e37_79b1).wrapping_add(0x7f4a_7c15) & 0x00ff_ffff;
        let extra = if most < 2 { most } else { self.0 % (most * most) };
        self.0 = self.0 << 8 | most;
        extra as usize
    }
}

/// Drives a decoder over a file in the pieces that the first byte chooses and all at once, and compares.
pub(crate) fn feed(format: Format, data: &[u8]) {
    let Some((&first, file)) = data.split_first() else { return };
    let mut pieces = Pieces(u32::from(first));
    let in_pieces = drive(format, file, || pieces.extra());
    let at_once = drive(format, file, || file.len());
    assert_eq!(in_pieces, at_once, "the pieces make a difference");
}

/// Checks what every step promises; returns the records, each with its place, and the end.
fn drive(format: Format, file: &[u8], mut extra: impl FnMut() -> usize) -> (Vec<(usize, Record)>, End) {
    let mut decoder = Decoder::new(format);
    let mut records = Vec::new();
    let (mut at, mut shown) = (0, 0);
    loop {
        let left = file.get(at..).unwrap_or_default();
        let ahead = left.get(..shown).unwrap_or(left);
        match decoder.step(ahead) {
            Ok(Step::Record(record)) => {
                assert!(record.used > 0 && record.used <= ahead.len(), "{record:?}");
                assert!(record.data.start <= record.data.end && record.data.end <= record.used, "{record:?}");
                assert!(record.wire_len as usize >= record.data.len(), "{record:?}");
                assert!((record.iface as usize) < decoder.interfaces().len(), "{record:?}");
                shown = shown.saturating_sub(record.used);
                at += record.used;
                records.push((at, record));
            }
            Ok(Step::Skip(n)) => {
                assert!(n > 0 && n <= MAX_SKIP as usize, "skips {n}");
                if n > left.len() {
                    return (records, End::Cut);
                }
                shown = shown.saturating_sub(n);
                at += n;
            }
            Ok(Step::Need(n)) => {
                assert!(n > ahead.len() && n <= MAX_NEED, "wants {n} of {}", ahead.len());
                if ahead.len() == left.len() {
                    let whole = left.is_empty() && decoder.may_end();
                    return (records, if whole { End::Whole } else { End::Cut });
                }
                // Less than was asked for may come, too.
                shown = if extra() % 5 == 4 { shown + 1 } else { n + extra() };
            }
            Err(fault) => return (records, End::Fault(at + fault.offset.0 as usize)),
        }
    }
}
