//! What happened, in words: for the story of a flow and for comments on its frames.

use rocetop_analysis::story::report::{Cause, EpisodeReport, Kind, Near};

/// What may have been lost or late, as far as it is known where: behind a tap at the requester's end alone, since
/// before that there is nothing.
pub(crate) fn lost_or_late(near: Near) -> &'static str {
    if near == Near::Src { "lost or late behind the tap" } else { "lost or late" }
}

/// What an episode was. `near` is where the tap stands.
fn kind(kind: Kind, near: Near) -> &'static str {
    match kind {
        Kind::LostBeforeTap => "lost before the tap",
        Kind::LostOrLate => lost_or_late(near),
        Kind::Reordered => "overtaken on the way, not lost",
        Kind::DuplicatedByNetwork => "delivered twice by the network",
        Kind::AckLost => "answer lost, not the request",
        Kind::RequestOrAckLost => "request or answer lost or late",
        Kind::RequestLost => "request lost or late, as a NAK says",
        Kind::ResponseLost => "response lost",
        Kind::ResponseLostOrLate => "response late, or lost",
        Kind::MissedByCapture => "missed by the capture, delivered by the network",
        Kind::Rnr => "receiver not ready",
        Kind::EarlyTimeout => "timer ran out too early, nothing was lost",
        Kind::Unanswered => "no answer any more, to the end",
        Kind::FatalNak => "refused for good: the queue pair ends in error",
        Kind::Unexplained => "seen again; from here nobody can tell why",
    }
}

/// What was done about it, where that does not go without saying.
pub(crate) fn remedy(episode: &EpisodeReport) -> Option<&'static str> {
    match (episode.cause?, episode.kind) {
        (Cause::Nak, _) => Some("sent again after a NAK"),
        (Cause::Timeout, Kind::Unanswered) => Some("sent again and again"),
        (Cause::Timeout, Kind::EarlyTimeout) => Some("sent again"),
        (Cause::Timeout, _) => Some("sent again after a timeout"),
        (Cause::ReadReissue, _) => Some("asked for again"),
        (Cause::Rnr, _) => Some("sent again when it had waited"),
        (Cause::Unknown, _) => None,
    }
}

/// An episode in one sentence: what it was, and what was done about it. `near` is where the tap stands.
pub(crate) fn episode(episode: &EpisodeReport, near: Near) -> String {
    match remedy(episode) {
        // What asked for it is known, what had happened is not.
        Some(remedy) if episode.kind == Kind::Unexplained => {
            format!("{remedy}; from here nobody can tell whether anything was lost")
        }
        Some(remedy) => format!("{}; {remedy}", kind(episode.kind, near)),
        None => kind(episode.kind, near).to_owned(),
    }
}

/// A range of PSNs: `PSN 7`, `PSN 7 to 9`.
pub(crate) fn psns([from, to]: [u32; 2]) -> String {
    if from == to { format!("PSN {from}") } else { format!("PSN {from} to {to}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_of_a_repeat_and_what_is_not() {
        let seen = |kind, cause, near| {
            let (frames, psn, waited_ns) = (Vec::new(), [7, 7], None);
            let (first_ns, last_ns, packets, repeats) = (0, 0, 0, 1);
            episode(&EpisodeReport { kind, cause, first_ns, last_ns, frames, psn, packets, repeats, waited_ns }, near)
        };
        let of = |kind, cause| seen(kind, cause, Near::Src);
        assert_eq!(of(Kind::Unexplained, None), "seen again; from here nobody can tell why");
        assert_eq!(of(Kind::Unexplained, Some(Cause::Unknown)), "seen again; from here nobody can tell why");
        assert_eq!(
            of(Kind::Unexplained, Some(Cause::Timeout)),
            "sent again after a timeout; from here nobody can tell whether anything was lost"
        );
        assert_eq!(of(Kind::LostOrLate, Some(Cause::Nak)), "lost or late behind the tap; sent again after a NAK");
        // Elsewhere nobody knows on which side of the tap.
        for near in [Near::Dst, Near::Between, Near::Unknown] {
            assert_eq!(seen(Kind::LostOrLate, Some(Cause::Nak), near), "lost or late; sent again after a NAK");
        }
    }
}
