//! Some episodes of a story, put together.

use super::words::counted;
use crate::report::FrameRef;
use crate::story::StoryReport;
use crate::story::report::{Cause, EpisodeReport};

/// Frames that a finding names: enough to look at, few enough to read (chosen).
pub(in crate::detect) const FRAMES: usize = 12;

/// Episodes of one sort.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::detect) struct Digest {
    /// How many.
    pub(in crate::detect) count: u64,
    /// When the first began and the last ended.
    pub(in crate::detect) first_ns: u64,
    pub(in crate::detect) last_ns: u64,
    /// How long at least one of them lasted.
    pub(in crate::detect) lasted_ns: u64,
    /// Sum of what was lost, late or missed.
    pub(in crate::detect) packets: u64,
    /// Sum of what was sent again.
    pub(in crate::detect) repeats: u64,
    /// The frames of the first few.
    pub(in crate::detect) frames: Vec<FrameRef>,
}

impl Digest {
    /// The episodes that fit; `None` where none was kept.
    pub(in crate::detect) fn of(story: &StoryReport, fits: impl Fn(&EpisodeReport) -> bool) -> Option<Self> {
        let mut digest = Self { first_ns: u64::MAX, ..Self::default() };
        let mut over = 0;
        for episode in story.episodes.iter().filter(|e| fits(e)) {
            digest.count += 1;
            // They come in the order in which they began.
            digest.lasted_ns += episode.last_ns.saturating_sub(episode.first_ns.max(over));
            over = over.max(episode.last_ns);
            digest.first_ns = digest.first_ns.min(episode.first_ns);
            digest.last_ns = digest.last_ns.max(episode.last_ns);
            digest.packets += episode.packets;
            digest.repeats += episode.repeats;
            for frame in &episode.frames {
                if digest.frames.len() < FRAMES && !digest.frames.contains(frame) {
                    digest.frames.push(frame.clone());
                }
            }
        }
        (digest.count != 0).then_some(digest)
    }
}

/// How long the requests of these episodes had waited for an answer when the timer ran out: the shortest time and the
/// longest, in ns. `None` where it was not seen.
pub(in crate::detect) fn waited(story: &StoryReport, fits: impl Fn(&EpisodeReport) -> bool) -> Option<(u64, u64)> {
    let waits = || story.episodes.iter().filter(|e| fits(e)).filter_map(|e| e.waited_ns);
    waits().min().zip(waits().max())
}

/// All timeouts of a story, and in how many stalls they came: `6 timeouts in 2 stalls`. `stalls` are the episodes that
/// are told of; `None` where other timeouts are told elsewhere, so that nobody knows how many belong to these.
pub(in crate::detect) fn timeouts(
    story: &StoryReport,
    stalls: u64,
    told: impl Fn(&EpisodeReport) -> bool,
) -> Option<String> {
    let ours = |e: &EpisodeReport| e.cause != Some(Cause::Timeout) || told(e);
    if story.more_episodes != 0 || !story.episodes.iter().all(ours) {
        return None;
    }
    let timeouts = counted(story.timeouts, "timeout");
    Some(match stalls {
        _ if story.timeouts <= stalls => timeouts,
        1 => format!("{timeouts} in a row"),
        _ => format!("{timeouts} in {}", counted(stalls, "stall")),
    })
}

#[cfg(test)]
mod tests {
    use super::super::cases::episode;
    use super::*;
    use crate::story::report::Kind;

    #[test]
    fn sums_those_that_fit() {
        let episodes = vec![
            episode(Kind::LostOrLate, None, 1_000, &[1, 2, 3]),
            episode(Kind::Rnr, None, 2_000, &[4]),
            episode(Kind::LostOrLate, None, 3_000, &[3, 7]),
        ];
        let story = StoryReport { episodes, ..StoryReport::default() };
        let digest = Digest::of(&story, |e| e.kind == Kind::LostOrLate).unwrap();
        assert_eq!(
            (digest.count, digest.first_ns, digest.last_ns, digest.packets, digest.repeats),
            (2, 1_000, 3_100, 2, 8)
        );
        assert_eq!(digest.lasted_ns, 200);
        assert_eq!(digest.frames, [1, 2, 3, 7].map(FrameRef::Place));
        assert_eq!(Digest::of(&story, |e| e.kind == Kind::AckLost), None);
    }

    #[test]
    fn timeouts_come_in_stalls() {
        let told = |e: &EpisodeReport| e.kind == Kind::RequestOrAckLost;
        let stall = |kind| episode(kind, Some(Cause::Timeout), 0, &[1, 2]);
        let mut story =
            StoryReport { timeouts: 6, episodes: vec![stall(Kind::RequestOrAckLost)], ..StoryReport::default() };
        assert_eq!(timeouts(&story, 1, told).as_deref(), Some("6 timeouts in a row"));
        assert_eq!(timeouts(&story, 2, told).as_deref(), Some("6 timeouts in 2 stalls"));
        assert_eq!(timeouts(&story, 7, told).as_deref(), Some("6 timeouts"));
        story.timeouts = 1;
        assert_eq!(timeouts(&story, 1, told).as_deref(), Some("1 timeout"));
        story.episodes.push(stall(Kind::EarlyTimeout));
        assert_eq!(timeouts(&story, 1, told), None);
    }
}
