//! The one packet walker: from the first byte of a frame to [`Facts`].

use crate::cut::Cut;
use crate::facts::Facts;
use crate::window::Window;

/// What a frame starts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each name is the link type's own")]
pub enum Link {
    Ethernet,
    /// LINKTYPE_RAW, LINKTYPE_IPV4, LINKTYPE_IPV6: the version nibble tells.
    RawIp,
    LinuxCooked1,
    LinuxCooked2,
    Infiniband,
    Erf,
}

/// Walks one frame. `DEPTH` is how many encapsulations are looked into: 0 in the kernel, 2 over capture files.
///
/// # Errors
/// [`Cut`] when the frame ends before its kind is known, up to and including the BTH. A cut further on yields the
/// facts before it, with [`crate::facts::Flags::CUT`].
pub fn dissect<const DEPTH: usize, W: Window + ?Sized>(frame: &W, link: Link) -> Result<Facts, Cut> {
    let _ = (frame, link, DEPTH);
    Ok(Facts::default())
}
