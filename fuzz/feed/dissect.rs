//! The target `dissect`: what the packet walker makes of any frame of any link type.

#[path = "links.rs"]
mod links;

use rocetop_parsers::dissect;

/// Walks the frame as userland does and as the kernel does; neither may panic, and what they say must fit the frame.
pub(crate) fn feed(data: &[u8]) {
    let Some((link, frame)) = links::framed(data) else { return };
    for walked in [dissect::<2, _>(frame, link), dissect::<0, _>(frame, link)] {
        match walked {
            Ok(facts) if facts.is_rdma() => {
                assert!(usize::from(facts.bth) + 12 <= frame.len(), "a BTH beyond the frame: {facts:?}");
            }
            Ok(_) => {}
            Err(cut) => assert!(cut.had < cut.needed, "nothing is missing: {cut}"),
        }
    }
}
