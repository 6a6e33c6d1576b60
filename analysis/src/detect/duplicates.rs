//! The network delivers requests twice.
//!
//! # What it detects
//! Second copies of a request that come too soon to be anybody's repeat, while the flow goes on as if nothing had
//! happened.
//!
//! # Why it hurts
//! The responder answers each copy; the link carries more than was sent. A fabric that duplicates has a fault that may
//! do more than that: a forwarding loop, two paths that both deliver, a mirror that leaks into production.
//!
//! # How it decides
//! By the time between the copies, and by a sender that does not go back. A READ or atomic whose answer had passed is
//! none: it may as well be asked for again.
//!
//! # What could fool it
//! A capture that takes frames twice, as on a bridge and its port. Where nearly all frames of two hosts are doubled, or
//! TTL, VLAN or tunnel differ, they are counted as mirror copies instead.
//!
//! # What to do next
//! Capture at the sender: are there two already? Then walk along the path; look for loops and for mirror sessions with
//! the wrong destination.
//!
//! # References
//! IBTA Volume 1, 9.7.1 (duplicate requests).

use super::kit::{Digest, counted, finding, road};
use super::{Case, Evidence, Finding, Judge, Rule, Severity};
use crate::story::report::Kind;

pub(super) const RULE: Rule = Rule {
    code: "RT012",
    name: "duplicates",
    title: "the network delivers requests twice",
    severity: Severity::Warning,
    needs: "packets of the requester's direction",
    source: include_str!("duplicates.rs"),
    judge: Judge::Connection(judge),
};

fn judge(case: &Case<'_>, report: &mut dyn FnMut(Finding)) {
    for (flow, _, story) in case.stories().filter(|(_, _, story)| story.duplicated_by_network != 0) {
        let digest = Digest::of(story, |e| e.kind == Kind::DuplicatedByNetwork);
        let title = format!("{} delivered twice: {}", counted(story.duplicated_by_network, "packet"), road(flow));
        let evidence = Evidence::default()
            .with("requests", flow.requests.packets)
            .with("duplicated_by_network", story.duplicated_by_network);
        let advice = "Capture at the sender to see whether there are two already; if not, look for a loop or a leaking \
                      mirror on the path.";
        report(Finding { evidence, advice: advice.to_owned(), ..finding(&RULE, flow, digest.as_ref(), title) });
    }
}

#[cfg(test)]
mod tests {
    use super::super::kit::cases::{self, episode};
    use super::*;
    use crate::story::StoryReport;

    #[test]
    fn copies_are_counted() {
        let episodes = vec![episode(Kind::DuplicatedByNetwork, None, 7, &[5, 6])];
        let story = StoryReport { duplicated_by_network: 9, episodes, ..StoryReport::default() };
        let found = cases::one(&RULE, &cases::flows(story, 0));
        assert_eq!(found.title, "9 packets delivered twice: 10.9.1.1 -> 10.9.2.1 qp 20");
        assert!(cases::findings(&RULE, &cases::flows(StoryReport::default(), 0)).is_empty());
    }
}
