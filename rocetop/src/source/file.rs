//! What a path names: bytes that are mapped, or a stream.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::Arc;

use memmap2::{Advice, Mmap};
use rocetop_parsers::Bytes;

use super::compression::Compression;
use super::error::OpenError;
use super::stop::Stop;
use super::stream::{Filled, Origin, Stream};

/// Whether a path means standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == OsStr::new("-")
}

/// The bytes of one capture, from its current position on.
#[derive(Debug)]
pub(crate) enum Input {
    /// All there.
    Mapped { map: Arc<Mmap>, at: usize },
    /// Comes by and by.
    Stream(Box<Stream>),
}

impl Input {
    /// Opens a path, without waiting for any byte of a stream.
    pub(crate) fn open(path: &Path, stop: &Stop) -> Result<Self, OpenError> {
        let fault = |source| OpenError::io(path.to_owned(), source);
        let stream =
            |origin, size| Stream::new(origin, size, stop.clone()).map(|s| Self::Stream(Box::new(s))).map_err(fault);
        if is_stdin(path) {
            return if io::stdin().is_terminal() { Err(OpenError::Terminal) } else { stream(Origin::Stdin, None) };
        }
        let metadata = fs::metadata(path).map_err(fault)?;
        if metadata.is_dir() {
            return Err(OpenError::Directory { path: path.to_owned() });
        }
        // A FIFO is opened by its thread; a file of no length is read, since those of /proc have none and yet bytes.
        if !metadata.is_file() || metadata.len() == 0 {
            return stream(Origin::Pipe(path.to_owned()), None);
        }
        let file = File::open(path).map_err(fault)?;
        // Some file systems cannot map; all can be read.
        if let Ok(map) = map(&file)
            && Compression::detect(&map).is_none()
        {
            return Ok(Self::Mapped { map: Arc::new(map), at: 0 });
        }
        stream(Origin::File(path.to_owned()), Some(Bytes(metadata.len())))
    }

    /// Lets go of what can be had again; see [`Stream::park`].
    pub(crate) fn park(&mut self) {
        if let Self::Stream(stream) = self {
            stream.park();
        }
    }

    /// The same bytes from the start, for another reader. `None` for a stream, which can be read only once.
    pub(crate) fn fork(&self) -> Option<Self> {
        match self {
            Self::Mapped { map, .. } => Some(Self::Mapped { map: Arc::clone(map), at: 0 }),
            Self::Stream(_) => None,
        }
    }

    /// The bytes at hand.
    #[inline]
    pub(crate) fn ahead(&self) -> &[u8] {
        match self {
            Self::Mapped { map, at } => map.get(*at..).unwrap_or_default(),
            Self::Stream(stream) => stream.ahead(),
        }
    }

    /// Bytes `from..to` of [`Input::ahead`] as it was before the last [`Input::consume`] of `used` bytes.
    #[inline]
    pub(crate) fn behind(&self, used: usize, from: usize, to: usize) -> &[u8] {
        match self {
            Self::Mapped { map, at } => map.get(at - used + from..at - used + to).unwrap_or_default(),
            Self::Stream(stream) => stream.behind(used, from, to),
        }
    }

    /// Goes on by `n` bytes that are at hand.
    #[inline]
    pub(crate) fn consume(&mut self, n: usize) {
        match self {
            Self::Mapped { at, .. } => *at += n,
            Self::Stream(stream) => stream.consume(n),
        }
    }

    /// Goes on by `n` bytes, wherever they are.
    pub(crate) fn skip(&mut self, n: usize) -> Filled {
        match self {
            Self::Mapped { map, at } => {
                let left = map.len() - *at;
                *at += n.min(left);
                if n <= left { Filled::Yes } else { Filled::Ended }
            }
            Self::Stream(stream) => stream.skip(n),
        }
    }

    /// Waits for `n` bytes at hand.
    pub(crate) fn fill(&mut self, n: usize) -> Filled {
        match self {
            Self::Mapped { .. } if self.ahead().len() >= n => Filled::Yes,
            Self::Mapped { .. } => Filled::Ended,
            Self::Stream(stream) => stream.fill(n),
        }
    }

    /// Position in the (decompressed) bytes.
    pub(crate) const fn position(&self) -> Bytes {
        match self {
            Self::Mapped { at, .. } => Bytes(*at as u64),
            Self::Stream(stream) => stream.position(),
        }
    }

    /// Bytes read of the file as it lies on disk, and its size where known.
    pub(crate) fn progress(&self) -> (Bytes, Option<Bytes>) {
        match self {
            Self::Mapped { map, at } => (Bytes(*at as u64), Some(Bytes(map.len() as u64))),
            Self::Stream(stream) => stream.progress(),
        }
    }

    /// What is undone on the way; known once bytes are at hand.
    pub(crate) const fn compression(&self) -> Option<Compression> {
        match self {
            Self::Mapped { .. } => None,
            Self::Stream(stream) => stream.compression(),
        }
    }
}

fn map(file: &File) -> io::Result<Mmap> {
    #[allow(unsafe_code, reason = "a map is what makes reading a capture cost nothing")]
    // SAFETY: the map is read-only and its length is fixed here; every access goes through a bounds check against that
    // length, and no value that was checked is read a second time to be trusted. Another process that writes to the
    // file meanwhile can change figures but not what memory is touched; one that truncates it makes the kernel end us
    // with SIGBUS, as it would any program that maps files.
    let map = unsafe { Mmap::map(file) }?;
    // Only a hint: read ahead far, drop early.
    let _ = map.advise(Advice::Sequential);
    Ok(map)
}
