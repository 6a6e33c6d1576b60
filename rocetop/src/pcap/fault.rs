//! Where and why a capture file stops making sense.

use std::fmt;

use rocetop_parsers::Bytes;

use super::Format;

/// Bytes that no writer of the format can have meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} ({part} at byte offset {})", .offset.0)]
pub struct Fault {
    /// Where the part at fault starts. A decoder counts from the first byte it was shown, a source from the start of
    /// the file.
    pub offset: Bytes,
    /// The part of the format that it happened in.
    pub part: &'static str,
    /// What is wrong with it.
    pub what: What,
}

impl Fault {
    pub(crate) const fn new(part: &'static str, what: What) -> Self {
        Self { offset: Bytes(0), part, what }
    }

    /// The same fault, `base` bytes further on.
    #[must_use]
    pub(crate) fn further(self, base: Bytes) -> Self {
        Self { offset: self.offset + base, ..self }
    }
}

/// What is wrong with a part of a capture file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is told by its message")]
pub enum What {
    Version { major: u16, minor: u16 },
    CapturedBytes { claimed: u32, limit: u32 },
    Zeros,
    AnotherCapture { format: Format },
    ByteOrder { magic: [u8; 4] },
    NotASection { kind: u32 },
    BlockLength { claimed: u32, least: u32, most: u32 },
    BlockAlignment { claimed: u32 },
    BlockTrailer { head: u32, trailer: u32 },
    DataBeyondBlock { captured: u32, room: u32 },
    NoInterface { wanted: u32, known: usize },
    TooManyInterfaces { limit: usize },
    OptionBeyondBlock { code: u16, length: u16 },
    OptionLength { code: u16, length: u16, expected: u16 },
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Version { major, minor } => write!(f, "version {major}.{minor} is not one that can be read"),
            Self::CapturedBytes { claimed, limit } => {
                write!(f, "a record claims {claimed} captured bytes, of which {limit} are plausible at most")
            }
            Self::Zeros => f.write_str("a record header of zeros: the rest of the file was reserved and never written"),
            Self::AnotherCapture { format } => {
                write!(
                    f,
                    "another capture begins here, a {}: split the file there, or put them together with mergecap",
                    format.name()
                )
            }
            Self::ByteOrder { magic: [a, b, c, d] } => {
                write!(f, "the byte-order magic is {a:02x} {b:02x} {c:02x} {d:02x}, neither 1a 2b 3c 4d nor its mirror")
            }
            Self::NotASection { kind } => write!(f, "block type {kind:#x} comes before any section header"),
            Self::BlockLength { claimed, least, most } => {
                write!(f, "a block claims to be {claimed} bytes long, which must lie in {least}..={most}")
            }
            Self::BlockAlignment { claimed } => {
                write!(f, "a block claims to be {claimed} bytes long, which is no multiple of 4")
            }
            Self::BlockTrailer { head, trailer } => {
                write!(f, "a block's two lengths differ: {head} before it, {trailer} after it")
            }
            Self::DataBeyondBlock { captured, room } => {
                write!(f, "a packet claims {captured} captured bytes in a block that has room for {room}")
            }
            Self::NoInterface { wanted, known } => {
                write!(f, "a packet belongs to interface {wanted}, and the section has described {known} so far")
            }
            Self::TooManyInterfaces { limit } => write!(f, "more than {limit} interfaces are described"),
            Self::OptionBeyondBlock { code, length } => {
                write!(f, "option {code} claims {length} bytes, more than its block has left")
            }
            Self::OptionLength { code, length, expected } => {
                write!(f, "option {code} is {length} bytes long instead of {expected}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_what_and_where() {
        let fault = Fault::new("packet record", What::CapturedBytes { claimed: u32::MAX, limit: 262_144 });
        assert_eq!(
            fault.further(Bytes(40)).to_string(),
            "a record claims 4294967295 captured bytes, of which 262144 are plausible at most (packet record at byte \
             offset 40)"
        );
    }
}
