//! Why a time line cannot be opened: always something that the caller can change.

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::compression::Compression;

/// A capture that cannot be opened. One that can but is cut or corrupt is no error: see [`super::CaptureSummary`].
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The list of files is empty.
    #[error("no capture file is named: name at least one, or - for standard input")]
    NoFiles,
    /// More files than frame numbers can tell apart.
    #[error("{0} capture files are too many for one run (65536 at most): merge some first, for example with mergecap")]
    TooManyFiles(usize),
    /// `-` was named twice.
    #[error("standard input can be read only once: name - a single time")]
    StdinTwice,
    /// Standard input is a keyboard.
    #[error("standard input is a terminal: pipe a capture into it, for example tcpdump -U -w - | rocetop analyze -")]
    Terminal,
    /// No such file.
    #[error("{}: no such file", path.display())]
    Missing {
        /// What was named.
        path: PathBuf,
    },
    /// A directory.
    #[error("{}: is a directory; name the capture files in it, for example {}/*.pcap", path.display(), path.display())]
    Directory {
        /// What was named.
        path: PathBuf,
    },
    /// Not allowed.
    #[error("{}: may not be read by this user; change its permissions, or run as its owner", path.display())]
    Permission {
        /// What was named.
        path: PathBuf,
    },
    /// Anything else that the operating system says.
    #[error("{}: cannot be read", path.display())]
    Io {
        /// What was named.
        path: PathBuf,
        /// The system's own words.
        #[source]
        source: io::Error,
    },
    /// The first bytes are those of no capture format.
    #[error(
        "{}: not a capture file: {found}; pcap and pcapng can be read, also inside .gz, .zst and .xz",
        path.display()
    )]
    NotACapture {
        /// What was named.
        path: PathBuf,
        /// What it seems to be instead.
        found: Found,
    },
}

impl OpenError {
    /// What the system said about `path`, in our words where we have better ones.
    pub(crate) fn io(path: PathBuf, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::NotFound => Self::Missing { path },
            io::ErrorKind::PermissionDenied => Self::Permission { path },
            io::ErrorKind::IsADirectory => Self::Directory { path },
            _ => Self::Io { path, source },
        }
    }
}

/// The first bytes of something that is no capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    compression: Option<Compression>,
    head: Box<[u8]>,
}

/// Formats that people hand in by mistake, by their first bytes.
const KNOWN: [(&[u8], &str); 9] = [
    (b"PK\x03\x04", "a zip archive: unpack it first"),
    (b"BZh", "bzip2 data: unpack it with bunzip2 first"),
    (b"\x04\x22\x4d\x18", "lz4 data: unpack it with lz4 -d first"),
    (b"7z\xbc\xaf", "a 7z archive: unpack it first"),
    (b"\x1f\x8b", "compressed once more: unpack it first"),
    (b"\x28\xb5\x2f\xfd", "compressed once more: unpack it first"),
    (b"\xfd7zXZ", "compressed once more: unpack it first"),
    (b"snoop\0", "a snoop capture: convert it with editcap -F pcapng"),
    (b"\x7fELF", "a program"),
];

impl Found {
    /// What starts with `head`, behind that compression.
    pub(crate) fn new(compression: Option<Compression>, head: &[u8]) -> Self {
        Self { compression, head: head.get(..8).unwrap_or(head).into() }
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(compression) = self.compression {
            write!(f, "inside the {} data ", compression.name())?;
        }
        if let Some((_, name)) = KNOWN.iter().find(|(magic, _)| self.head.starts_with(magic)) {
            return write!(f, "it is {name}");
        }
        if self.head.iter().all(|b| b.is_ascii_graphic() || b.is_ascii_whitespace()) {
            return write!(f, "it is text that starts with \"{}\"", self.head.escape_ascii());
        }
        f.write_str("it starts with the bytes")?;
        self.head.iter().try_for_each(|b| write!(f, " {b:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_a_stranger_what_to_do() {
        let found = |head: &[u8]| Found::new(None, head).to_string();
        assert_eq!(found(b"Hello\nworld"), "it is text that starts with \"Hello\\nwo\"");
        assert_eq!(found(b"PK\x03\x04...."), "it is a zip archive: unpack it first");
        assert_eq!(found(&[0, 1, 0xff]), "it starts with the bytes 00 01 ff");
        let found = Found::new(Some(Compression::Gzip), b"text");
        assert_eq!(found.to_string(), "inside the gzip data it is text that starts with \"text\"");
        let error = OpenError::Directory { path: "/tmp".into() };
        assert_eq!(error.to_string(), "/tmp: is a directory; name the capture files in it, for example /tmp/*.pcap");
    }
}
