//! zstd as a stream of frames: a file may hold several, with skippable ones between them (RFC 8878 3.1).

use std::io::{self, BufRead, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::compression::is_cut;

/// Bytes of a block, at most (RFC 8878 3.1.1.2.4).
const BLOCK: usize = 128 * 1024;
/// A last block of no bytes (RFC 8878 3.1.1.2), and four for the checksum where one is announced.
const END: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];

/// A reader of all frames of a zstd stream, one block at a time. Windows above 128 MiB are refused by the decoder.
pub(crate) struct Zstd<R> {
    compressed: R,
    decoder: FrameDecoder,
    in_frame: bool,
    /// Why the current frame has no more blocks than it has.
    fault: Option<io::Error>,
    /// Bytes at the end of the frame that are not to be trusted.
    doubtful: usize,
}

impl<R: BufRead> Zstd<R> {
    pub(crate) fn new(compressed: R) -> Self {
        Self { compressed, decoder: FrameDecoder::new(), in_frame: false, fault: None, doubtful: 0 }
    }

    /// Starts the next frame; `false` at the end of the stream.
    fn next_frame(&mut self) -> io::Result<bool> {
        while !self.compressed.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.compressed) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                    let length = u64::from(length);
                    let skipped = io::copy(&mut self.compressed.by_ref().take(length), &mut io::sink())?;
                    if skipped < length {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        Ok(false)
    }

    fn end_frame(&mut self) -> io::Result<()> {
        self.in_frame = false;
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        match (self.decoder.get_checksum_from_data(), self.decoder.get_calculated_checksum()) {
            (Some(written), Some(found)) if written != found => {
                Err(io::Error::new(io::ErrorKind::InvalidData, "the checksum of a zstd frame does not match"))
            }
            _ => Ok(()),
        }
    }

    fn next_block(&mut self) -> io::Result<()> {
        let one = || BlockDecodingStrategy::UptoBlocks(1);
        if let Err(error) = self.decoder.decode_blocks(&mut self.compressed, one()) {
            let fault = io::Error::other(error);
            // A block that is cut has left nothing; one that is broken may have left something.
            self.doubtful = if is_cut(&fault) { 0 } else { BLOCK };
            self.fault = Some(fault);
            // The decoder keeps a window of what it has decoded until the frame ends; only its own checksum may be in
            // want.
            if !self.decoder.is_finished() {
                self.decoder.decode_blocks(&END[..], one()).map_err(io::Error::other)?;
            }
        }
        Ok(())
    }
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.in_frame {
                (self.in_frame, self.doubtful) = (self.next_frame()?, 0);
                if !self.in_frame {
                    return Ok(0);
                }
            }
            let ready = self.decoder.can_collect().saturating_sub(self.doubtful);
            if ready > 0 {
                let most = ready.min(buf.len());
                return self.decoder.read(buf.get_mut(..most).unwrap_or_default());
            }
            if self.decoder.is_finished() {
                self.end_frame()?;
            } else {
                self.next_block()?;
            }
        }
    }
}
