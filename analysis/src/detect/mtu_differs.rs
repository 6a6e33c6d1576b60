//! The two ends of a connection, or its packets and its agreement, disagree about the path MTU.
//!
//! # What it detects
//! First and Middle packets with less payload than the path MTU that the connection is known to have, or with more
//! than the connection managers agreed on.
//!
//! # Why it hurts
//! Both ends of a connection must use one path MTU (256 to 4096 bytes of payload). A receiver whose own is smaller
//! rejects larger packets, and the connection fails at the first message that needs them. Where it works all the
//! same, half-filled packets cost bandwidth and packet rate.
//!
//! # How it decides
//! Every First and Middle packet carries exactly the path MTU, so their payload tells it: the largest seen in either
//! direction, or what the request of the connection manager says. It is information where the messages are answered,
//! and a warning where requests were refused as invalid or never answered.
//!
//! # What could fool it
//! A frame cut by the snap length still has its length in its headers. A queue pair number used again is another
//! epoch.
//!
//! # What to do next
//! Compare `ibv_devinfo` (active_mtu) and the interface MTU on both hosts and on every switch on the way.
//!
//! # References
//! IBTA 9.7.4.1.6 and 9.7.4.2 (payload lengths of First and Middle), 12.6.5 (path packet payload MTU of the REQ).

use super::{Case, Finding, Judge, Rule, Severity};
use crate::report::FlowReport;

pub(super) const RULE: Rule = Rule {
    code: "RT033",
    name: "mtu_differs",
    title: "disagreement about the path MTU",
    severity: Severity::Warning,
    needs: "packets of both directions, messages of several packets",
    source: include_str!("mtu_differs.rs"),
    judge: Judge::Connection(judge),
};

fn judge(case: &Case<'_>, report: &mut dyn FnMut(Finding)) {
    let mut said = false;
    for (flow, peer) in case.directions() {
        let refused = |f: &FlowReport| f.naks.invalid_request != 0;
        let harmed = peer.is_some_and(refused) || flow.stuck.is_some() || refused(flow);
        let severity = if harmed { Severity::Warning } else { Severity::Info };
        let finding = |title, bytes: u32, mtu: u32| {
            Finding::of(&RULE, severity, title)
                .about(flow)
                .with("payload_bytes", u64::from(bytes))
                .with("mtu_bytes", u64::from(mtu))
                .advice("Compare active_mtu and the interface MTU on both hosts and on every switch between them.")
        };
        let marks = flow.marks.as_ref();
        if let (Some(mtu), Some(span), Some(bytes)) =
            (flow.mtu, marks.and_then(|m| m.below_mtu.as_ref()), marks.and_then(|m| m.below_mtu_bytes))
        {
            let title = format!("{} sends {bytes} bytes a packet to {}, on a path MTU of {mtu}", flow.src, flow.dst);
            report(finding(title, bytes, mtu).marked(span).with("packets", span.count));
        }
        if let (Some(mtu), Some(agreed)) = (flow.mtu, flow.cm.and_then(|cm| cm.path_mtu))
            && mtu > agreed
            // Both directions know of it then.
            && flow.requests.packets + flow.responses.packets != 0
            && !std::mem::replace(&mut said, true)
        {
            let title = format!("{} to {} uses a path MTU of {mtu}; {agreed} was agreed on", flow.src, flow.dst);
            report(finding(title, mtu, agreed));
        }
    }
}
