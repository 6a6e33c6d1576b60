//! What several feeds share: a frame and its link type.

use rocetop_parsers::Link;

const LINKS: [Link; 8] = [
    Link::Ethernet,
    Link::RawIp,
    Link::LinuxCooked1,
    Link::LinuxCooked2,
    Link::Infiniband,
    Link::Erf,
    Link::BsdNull,
    Link::BsdLoop,
];

/// The first byte chooses the link type, in the order of `LINKS`; the rest is the frame.
pub(crate) fn framed(data: &[u8]) -> Option<(Link, &[u8])> {
    let (first, frame) = data.split_first()?;
    Some((*LINKS.get(usize::from(*first) % LINKS.len())?, frame))
}
