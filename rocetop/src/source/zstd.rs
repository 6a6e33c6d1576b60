//! zstd as a stream of frames: a file may hold several, with skippable ones between them (RFC 8878 3.1).

use std::io::{self, BufRead, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// A reader of all frames of a zstd stream, one block at a time. Windows above 128 MiB are refused by the decoder.
pub(crate) struct Zstd<R> {
    compressed: R,
    decoder: FrameDecoder,
    in_frame: bool,
}

impl<R: BufRead> Zstd<R> {
    pub(crate) fn new(compressed: R) -> Self {
        Self { compressed, decoder: FrameDecoder::new(), in_frame: false }
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
        match (self.decoder.get_checksum_from_data(), self.decoder.get_calculated_checksum()) {
            (Some(written), Some(found)) if written != found => {
                Err(io::Error::new(io::ErrorKind::InvalidData, "the checksum of a zstd frame does not match"))
            }
            _ => Ok(()),
        }
    }
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.in_frame {
                self.in_frame = self.next_frame()?;
                if !self.in_frame {
                    return Ok(0);
                }
            }
            if self.decoder.can_collect() > 0 {
                return self.decoder.read(buf);
            }
            if self.decoder.is_finished() {
                self.end_frame()?;
            } else {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                self.decoder.decode_blocks(&mut self.compressed, one).map_err(io::Error::other)?;
            }
        }
    }
}
