//! Compressed captures: told by their first bytes, read in a stream.

use std::error::Error;
use std::io::{self, BufRead, Read};

use super::gzip::Gzip;
use super::xz::Xz;
use super::zstd::Zstd;

/// A compression that is undone while reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Compression {
    Gzip,
    Zstd,
    Xz,
}

impl Compression {
    /// Bytes that [`Compression::detect`] looks at, at most.
    pub(crate) const MAGIC_LEN: usize = 6;

    /// The compression of a file that starts with `head`. A shorter head is taken for what it could become.
    pub(crate) fn detect(head: &[u8]) -> Option<Self> {
        let head = head.get(..Self::MAGIC_LEN).unwrap_or(head);
        let is = |magic: &[u8]| !head.is_empty() && (head.starts_with(magic) || magic.starts_with(head));
        if is(&[0x1f, 0x8b]) {
            Some(Self::Gzip) // RFC 1952 2.3.1
        } else if is(&[0x28, 0xb5, 0x2f, 0xfd]) || matches!(head, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]) {
            Some(Self::Zstd) // RFC 8878 3.1.1, and 3.1.2: skippable frames may come first
        } else if is(&[0xfd, b'7', b'z', b'X', b'Z', 0]) {
            Some(Self::Xz)
        } else {
            None
        }
    }

    /// The name in messages.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Xz => "xz",
        }
    }

    /// The file extension, without its dot.
    pub(crate) const fn extension(self) -> &'static str {
        match self {
            Self::Gzip => "gz",
            Self::Zstd => "zst",
            Self::Xz => "xz",
        }
    }

    /// A reader of the decompressed bytes. Files that were appended to one another read as one; one that is cut or
    /// broken gives what was decompressed before the fault comes.
    pub(crate) fn reader<R: BufRead + 'static>(self, compressed: R) -> Box<dyn Read> {
        match self {
            Self::Gzip => Box::new(Gzip::new(compressed)),
            Self::Zstd => Box::new(Zstd::new(compressed)),
            Self::Xz => Box::new(Xz::new(compressed)),
        }
    }
}

/// Whether an error of a decompressor means that its input ended too early.
pub(crate) fn is_cut(error: &io::Error) -> bool {
    let eof = |e: &io::Error| e.kind() == io::ErrorKind::UnexpectedEof;
    let mut cause = error.get_ref().map(|e| e as &(dyn Error + 'static));
    while let Some(e) = cause {
        if e.downcast_ref().is_some_and(eof) {
            return true;
        }
        cause = e.source();
    }
    eof(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn told_by_the_first_bytes() {
        assert_eq!(Compression::detect(&[0x1f, 0x8b, 8, 0, 0, 0]), Some(Compression::Gzip));
        assert_eq!(Compression::detect(&[0x1f]), Some(Compression::Gzip));
        assert_eq!(Compression::detect(&[0x28, 0xb5, 0x2f, 0xfd, 4, 0]), Some(Compression::Zstd));
        assert_eq!(Compression::detect(&[0x53, 0x2a, 0x4d, 0x18, 4, 0]), Some(Compression::Zstd));
        assert_eq!(Compression::detect(b"\xfd7zXZ\0"), Some(Compression::Xz));
        assert_eq!(Compression::detect(b"\xfd7zXY\0"), None);
        assert_eq!(Compression::detect(b"P"), None);
        assert_eq!(Compression::detect(b""), None);
    }
}
