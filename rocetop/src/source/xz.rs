//! xz as a stream that gives what it has: of a chunk that is cut, the bytes before the cut. What its last twenty
//! compressed bytes stand for is left out, since the decoder wants to see where a symbol ends before it begins one.

use std::io::{self, BufRead, Read};

use lzma_rust2::{Action, Status, XzStream};

/// Memory that an .xz file may ask for, in KiB. `xz -9` needs 65 MiB; a header may claim 4 GiB.
const MEMORY_KIB: u32 = 256 * 1024;
/// Compressed bytes that are decoded at a time: of a chunk that is broken, what is decoded in one go with the fault is
/// lost.
const STEP: usize = 4096;

/// A reader of all streams of an xz file.
pub(crate) struct Xz<R> {
    compressed: R,
    stream: XzStream,
    /// Comes after the bytes before it.
    fault: Option<io::Error>,
}

impl<R: BufRead> Xz<R> {
    pub(crate) fn new(compressed: R) -> Self {
        Self { compressed, stream: XzStream::new_mem_limit(true, MEMORY_KIB), fault: None }
    }
}

impl<R: BufRead> Read for Xz<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        let mut filled = 0;
        while let Some(room) = buf.get_mut(filled..).filter(|room| !room.is_empty()) {
            let input = self.compressed.fill_buf()?;
            let action = if input.is_empty() { Action::Finish } else { Action::Run };
            let before = self.stream.total_out();
            match self.stream.process(input.get(..STEP).unwrap_or(input), room, action) {
                Ok(done) => {
                    filled += done.bytes_produced;
                    let at_hand = done.bytes_consumed < input.len();
                    self.compressed.consume(done.bytes_consumed);
                    // What there is comes before what has to be waited for.
                    if done.status == Status::StreamEnd || filled > 0 && !at_hand {
                        break;
                    }
                }
                Err(fault) => {
                    filled += (self.stream.total_out() - before) as usize;
                    if filled == 0 {
                        return Err(fault);
                    }
                    self.fault = Some(fault);
                    break;
                }
            }
        }
        Ok(filled)
    }
}
