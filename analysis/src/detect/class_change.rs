//! Packets of one kind change their class within a flow.
//!
//! # What it detects
//! Requests and responses, or ACKs, of one flow that change their DSCP, their VLAN or its priority from one packet to
//! the next.
//!
//! # Why it hurts
//! A queue pair has one class. When it changes on the way, its packets wait in different queues: they overtake each
//! other, which a reliable connection takes for loss, and some are in a queue that may drop.
//!
//! # How it decides
//! It compares each packet with the one of its kind before, seen at the same interface. Notifications are left out.
//! It is information; it becomes a warning when it happened at least twice and packets of the flow were also missing
//! or came again.
//!
//! # What could fool it
//! A queue pair that is modified on purpose. A number that is used again by another application is another epoch, and
//! is not compared. A capture that joins two places of the path shows both; where that is known, nothing is said.
//!
//! # What to do next
//! Look for a switch or a bond member that rewrites the DSCP or the tag, and for routes over both a tagged and an
//! untagged interface.
//!
//! # References
//! RFC 2474; IEEE 802.1Q; IBTA 9.7.2 (order within a queue pair).

use super::kit::{counted, road};
use super::{Case, Finding, Judge, Rule, Severity};

pub(super) const RULE: Rule = Rule {
    code: "RT031",
    name: "class_change",
    title: "a flow changes its class",
    severity: Severity::Warning,
    needs: "packets",
    source: include_str!("class_change.rs"),
    judge: Judge::Connection(judge),
};

fn judge(case: &Case<'_>, report: &mut dyn FnMut(Finding)) {
    for (flow, _) in case.directions().filter(|(flow, _)| flow.mirror_copies == 0) {
        let Some(marks) = &flow.marks else { continue };
        for (what, change) in [("DSCP", &marks.dscp_change), ("VLAN tag", &marks.vlan_change)] {
            let Some(change) = change else { continue };
            let harmed = flow.requests.seen_again + flow.requests.gaps != 0;
            let severity = if change.count > 1 && harmed { Severity::Warning } else { Severity::Info };
            let title = format!("the {what} changed {}: {}", counted(change.count, "time"), road(flow));
            report(
                Finding::of(&RULE, severity, title)
                    .about(flow)
                    .marked(change)
                    .with("changes", change.count)
                    .with_harm("repeats", flow.requests.seen_again)
                    .with("gaps", flow.requests.gaps)
                    .advice("Look for what rewrites it on the way: a switch port, a bond member, a second route."),
            );
        }
    }
}
