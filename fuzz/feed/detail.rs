//! The target `detail`: connection management messages and pause frames behind the walker.

#[path = "links.rs"]
mod links;

use std::mem::discriminant;

use rocetop_parsers::facts::Flags;
use rocetop_parsers::ib::opcode::Opcode;
use rocetop_parsers::{Class, Detail, Qpn, detail, dissect};

/// Decodes what a frame carries beside its facts, shows it, and decodes it from a frame that the facts are not of.
pub(crate) fn feed(data: &[u8]) {
    let Some((link, frame)) = links::framed(data) else { return };
    let Ok(facts) = dissect::<2, _>(frame, link) else { return };
    let found = detail(frame, &facts);
    match &found {
        Some(Detail::Cm(message)) => {
            assert!(facts.is_rdma() && facts.opcode == Opcode::UD_SEND_ONLY && facts.dst_qp == Qpn::GSI);
            assert!(facts.flags.has(Flags::EXTENDED));
            assert!(!message.to_string().is_empty());
        }
        Some(Detail::Pause(pause)) => {
            assert_eq!(facts.class, Class::Pause);
            assert!(!pause.to_string().is_empty());
        }
        None => {}
    }
    // A frame that was cut further yields the same kind of message, or none.
    for had in [0, 14, usize::from(facts.bth), usize::from(facts.bth) + 64, frame.len().saturating_sub(1)] {
        let cut = frame.get(..had).unwrap_or(frame);
        let less = detail(cut, &facts);
        let fits = less.is_none() || less.as_ref().map(kind) == found.as_ref().map(kind);
        assert!(fits, "{had} bytes of {}: {less:?}, not {found:?}", frame.len());
    }
}

/// Which detail, and which message.
fn kind(detail: &Detail) -> impl PartialEq {
    let message = if let Detail::Cm(message) = detail { Some(discriminant(message)) } else { None };
    (discriminant(detail), message)
}
