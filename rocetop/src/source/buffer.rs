//! Bytes at hand: a chunk as it was read, and a seam where a record lies across two of them.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// Bytes that are read at a time: what the kernel copies is then still in the second-level cache.
pub(crate) const CHUNK: usize = 256 * 1024;
/// A buffer never grows beyond one wish of a decoder and one chunk.
#[cfg(test)]
pub(crate) const MAX_BUFFER: usize = crate::pcap::MAX_NEED + CHUNK + ALIGN;

/// Where a chunk starts. The kernel copies its pages to such an address four times as fast as to one beside it.
const ALIGN: usize = 4096;

/// Bytes that were read at once, in room that is used again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chunk {
    /// Allocated by the first reading.
    room: Box<[u8]>,
    start: usize,
    end: usize,
}

impl Chunk {
    /// Puts the next bytes of `from` in the place of what was there: `least`, and as many more as come along. Fewer
    /// are the end.
    pub(crate) fn read(&mut self, from: &mut impl Read, least: usize) -> io::Result<usize> {
        if self.room.is_empty() {
            self.room = vec![0; ALIGN + CHUNK].into_boxed_slice();
        }
        self.start = self.room.as_ptr().align_offset(ALIGN).min(ALIGN);
        self.end = self.start;
        while self.end - self.start < least {
            match from.read(self.room.get_mut(self.end..self.start + CHUNK).unwrap_or_default()) {
                Ok(0) => break,
                Ok(n) => self.end += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(self.end - self.start)
    }

    /// Puts `whole` bytes of a plain file in the place of what was there. Fewer are the end.
    pub(crate) fn read_at(&mut self, file: &File, offset: u64, whole: usize) -> io::Result<usize> {
        // From the page that it lies in, as only whole pages are copied fast.
        let skip = (offset % ALIGN as u64) as usize;
        let n = self.read(&mut At { file, offset: offset - skip as u64 }.take((skip + whole) as u64), skip + whole)?;
        self.start += skip.min(n);
        Ok(self.end - self.start)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.room.get(self.start..self.end).unwrap_or_default()
    }
}

/// A file from an offset of its own: several may read it at once.
struct At<'a> {
    file: &'a File,
    offset: u64,
}

impl Read for At<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read_at(buf, self.offset)?;
        self.offset += n as u64;
        Ok(n)
    }
}

impl AsRef<[u8]> for Chunk {
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
}

/// Where bytes lie that may outlive the next step: in a chunk, or where the next step may overwrite them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spot<'a> {
    pub(crate) chunk: Option<&'a Arc<Chunk>>,
    pub(crate) at: usize,
}

/// The bytes from the current position on, as far as they are at hand, and the record before it.
///
/// Nothing is copied but a record that lies across two chunks: it is put together in the seam.
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    chunk: Arc<Chunk>,
    /// Chunks that others kept when it was time for the next.
    kept: VecDeque<Arc<Chunk>>,
    /// Bytes of the chunk that were consumed or moved to the seam.
    used: usize,
    seam: Vec<u8>,
    /// Bytes of the seam that were consumed.
    seam_used: usize,
    /// Whether the current position lies in the seam, or right behind it.
    in_seam: bool,
}

impl Buffer {
    /// The part that the current position lies in, and where.
    #[inline]
    fn current(&self) -> (&[u8], usize) {
        if self.in_seam { (&self.seam, self.seam_used) } else { (self.chunk.bytes(), self.used) }
    }

    /// The bytes at hand.
    #[inline]
    pub(crate) fn ahead(&self) -> &[u8] {
        let (bytes, at) = self.current();
        bytes.get(at..).unwrap_or_default()
    }

    /// Bytes `from..to` of [`Buffer::ahead`] as it was before the last [`Buffer::consume`] of `used` bytes.
    #[inline]
    pub(crate) fn behind(&self, used: usize, from: usize, to: usize) -> &[u8] {
        let (bytes, at) = self.current();
        bytes.get(at - used + from..at - used + to).unwrap_or_default()
    }

    /// Where [`Buffer::ahead`] lies.
    #[inline]
    pub(crate) fn spot(&self) -> Spot<'_> {
        let at = self.current().1;
        Spot { chunk: (!self.in_seam).then_some(&self.chunk), at }
    }

    /// Goes on by `n` bytes that are at hand.
    #[inline]
    pub(crate) fn consume(&mut self, n: usize) {
        if self.in_seam {
            self.seam_used += n;
        } else {
            self.used += n;
        }
    }

    /// Tries to have `n` bytes at hand. Where that fails, all of the chunk is consumed or in the seam.
    pub(crate) fn gather(&mut self, n: usize) -> bool {
        if self.in_seam && self.seam_used == self.seam.len() {
            self.in_seam = false;
        }
        let had = self.ahead().len();
        if had >= n {
            return true;
        }
        if !self.in_seam && had == 0 {
            return false;
        }
        if self.in_seam {
            self.seam.drain(..self.seam_used);
        } else {
            self.seam.clear();
            self.in_seam = true;
        }
        self.seam_used = 0;
        // Doubling would pass the bound.
        self.seam.reserve_exact(n - self.seam.len());
        let rest = self.chunk.bytes().get(self.used..).unwrap_or_default();
        let more = rest.get(..n - self.seam.len()).unwrap_or(rest);
        self.seam.extend_from_slice(more);
        self.used += more.len();
        self.seam.len() >= n
    }

    /// A chunk to be filled anew, in the place of the last one, once [`Buffer::gather`] has failed.
    pub(crate) fn refill(&mut self) -> &mut Chunk {
        self.used = 0;
        if Arc::get_mut(&mut self.chunk).is_none() {
            let free = self.kept.pop_front_if(|chunk| Arc::get_mut(chunk).is_some()).unwrap_or_default();
            self.kept.push_back(std::mem::replace(&mut self.chunk, free));
        }
        Arc::make_mut(&mut self.chunk)
    }

    /// Takes the next chunk, once [`Buffer::gather`] has failed.
    pub(crate) fn replace(&mut self, chunk: Arc<Chunk>) {
        (self.chunk, self.used) = (chunk, 0);
    }

    /// Lets go of the chunk, once [`Buffer::gather`] has failed.
    pub(crate) fn release(&mut self) {
        self.replace(Arc::default());
    }

    /// Lets go of everything but the last record, of `used` bytes.
    pub(crate) fn keep(&mut self, used: usize) {
        let (bytes, at) = self.current();
        let seam = bytes.get(at - used..at).unwrap_or_default().to_vec();
        *self = Self { seam, seam_used: used, in_seam: true, ..Self::default() };
    }

    /// Bytes that it holds or could hold.
    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.chunk.room.len() + self.seam.capacity()
    }
}
