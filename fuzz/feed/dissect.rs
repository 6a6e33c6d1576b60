//! What is done with one input of the target `dissect`: the fuzzer calls it, and `parsers/tests/corpus.rs` replays the
//! corpus through it.
//!
//! The first byte chooses the link type, in the order of `LINKS`; the rest is the frame.

use rocetop_parsers::{Link, dissect};

const LINKS: [Link; 6] =
    [Link::Ethernet, Link::RawIp, Link::LinuxCooked1, Link::LinuxCooked2, Link::Infiniband, Link::Erf];

/// Walks the frame as userland does and as the kernel does; neither may panic, and what they say must fit the frame.
pub(crate) fn feed(data: &[u8]) {
    let Some((first, frame)) = data.split_first() else { return };
    let Some(link) = LINKS.get(usize::from(*first) % LINKS.len()) else { return };
    for walked in [dissect::<2, _>(frame, *link), dissect::<0, _>(frame, *link)] {
        match walked {
            Ok(facts) if facts.is_rdma() => {
                assert!(usize::from(facts.bth) + 12 <= frame.len(), "a BTH beyond the frame: {facts:?}");
            }
            Ok(_) => {}
            Err(cut) => assert!(cut.had < cut.needed, "nothing is missing: {cut}"),
        }
    }
}
