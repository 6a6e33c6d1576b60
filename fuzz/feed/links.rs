//! What several feeds share: a frame and its link type.

use rocetop_parsers::Link;

/// The first byte chooses the link type, in the order of `Link::ALL`; the rest is the frame.
pub(crate) fn framed(data: &[u8]) -> Option<(Link, &[u8])> {
    let (first, frame) = data.split_first()?;
    Some((*Link::ALL.get(usize::from(*first) % Link::ALL.len())?, frame))
}
