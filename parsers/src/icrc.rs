//! Invariant CRC.

/// Whether a frame's invariant CRC holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Icrc {
    /// It holds.
    Ok,
    /// It does not.
    Bad,
    /// The frame was cut, so nobody can tell.
    Unknown,
}
