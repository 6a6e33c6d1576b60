//! A sender was told to slow down, and no mark was seen that would explain it.
//!
//! # What it detects
//! Congestion notification packets (CNPs) for a flow of which no packet was marked CE at this tap.
//!
//! # Why it hurts
//! The sender slows down. If the network is not congested, the rate is lost for nothing.
//!
//! # How it decides
//! It needs the data and the notifications of one connection. When the receiver also sent NAKs for a sequence error,
//! it says so: some network cards treat loss as congestion and notify on each of them (slow restart). That is the
//! likely reason where there are as many NAKs as notifications or more, and the tap is not at the sender's end, where
//! no mark can be seen yet.
//!
//! # What could fool it
//! Most often nothing is wrong: a tap at the sender's end sees the packets before a switch marks them. So this is
//! information, and tells at which end the tap stands where that is known.
//!
//! # What to do next
//! Capture at the receiver's end. No marks there either: look for lost packets, and at the receiver's counters
//! `np_ecn_marked_roce_packets` and `np_cnp_sent`, and at `roce_slow_restart_cnps` on the sender. In tshark:
//! `infiniband.bth.opcode == 0x81`
//!
//! # References
//! IBTA annex A17.9.3 and A17.9.4; Linux `mlx5` hw_counters (roce_slow_restart_cnps).

use super::kit::{counted, road};
use super::{Case, Finding, Judge, Rule, Severity};
use crate::story::report::Near;

pub(super) const RULE: Rule = Rule {
    code: "RT021",
    name: "cnp_without_ce",
    title: "congestion notifications without marks",
    severity: Severity::Info,
    needs: "packets of both directions",
    source: include_str!("cnp_without_ce.rs"),
    judge: Judge::Connection(judge),
};

fn judge(case: &Case<'_>, report: &mut dyn FnMut(Finding)) {
    for (data, back) in case.directions() {
        let Some(back) = back else { continue };
        let Some(cnp) = back.marks.as_ref().and_then(|m| m.cnp.as_ref()) else { continue };
        let sent = data.requests.packets + data.responses.packets;
        if sent == 0 || data.ce != 0 {
            continue;
        }
        let naks = u64::from(back.naks.psn_sequence_error);
        let near = data.story.as_ref().map(|s| s.near).unwrap_or_default();
        // More notifications than NAKs have another reason as well (chosen: no source tells how many a loss draws).
        let slow_restart = near != Near::Src && naks != 0 && naks >= back.cnps;
        let why = match near {
            _ if slow_restart => "here, likely a slow restart after loss",
            Near::Src => "yet at the sender",
            Near::Dst => "at the receiver",
            Near::Between | Near::Unknown => "here, maybe before the switch that marks",
        };
        let title = format!("{} and no mark {why}: {}", counted(back.cnps, "CNP"), road(data));
        let advice = if slow_restart {
            "The receiver reported lost packets, too, as often as it sent CNPs: some NICs notify of loss. Look for \
             lost packets, and at `roce_slow_restart_cnps` on the sender."
        } else if naks != 0 {
            "Capture at the receiver's end: marks there mean congestion. Lost packets were reported, too: some NICs \
             notify of loss; `roce_slow_restart_cnps` on the sender tells."
        } else {
            "Capture at the receiver's end: marks there mean congestion; without them loss or the receiver itself \
             causes the notifications."
        };
        report(
            Finding::of(&RULE, Severity::Info, title)
                .about(data)
                .marked(cnp)
                .with("cnps", back.cnps)
                .with("packets", sent)
                .with("sequence_naks", naks)
                .advice(advice),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::kit::cases;
    use super::*;
    use crate::flow::marks::{MarksReport, SpanReport};
    use crate::report::{FlowReport, FrameRef};
    use crate::story::StoryReport;

    /// What is said of so many CNPs and NAKs, seen at this place.
    fn told(near: Near, cnps: u64, naks: u32) -> (String, bool) {
        let [data, back] = cases::flows(StoryReport { near, ..StoryReport::default() }, naks);
        let frame = || FrameRef::Place(9);
        let cnp = SpanReport { count: cnps, first_ns: 1, last_ns: 2, first_frame: frame(), last_frame: frame() };
        let marks = Some(MarksReport { cnp: Some(cnp), ..MarksReport::default() });
        let found = cases::one(&RULE, &[data, FlowReport { cnps, marks, ..back }]);
        let (title, road) = found.title.rsplit_once(": ").unwrap();
        assert_eq!(road, "10.9.1.1 -> 10.9.2.1 qp 20");
        (title.to_owned(), found.advice.contains("some NICs notify of loss"))
    }

    #[test]
    fn where_marks_would_be() {
        let title = |near| told(near, 2, 0);
        assert_eq!(title(Near::Src), ("2 CNPs and no mark yet at the sender".into(), false));
        assert_eq!(title(Near::Dst), ("2 CNPs and no mark at the receiver".into(), false));
        for near in [Near::Between, Near::Unknown] {
            assert_eq!(title(near), ("2 CNPs and no mark here, maybe before the switch that marks".into(), false));
        }
    }

    #[test]
    fn as_many_naks_are_a_slow_restart() {
        for near in [Near::Dst, Near::Between, Near::Unknown] {
            for naks in [2, 3] {
                let slow = "2 CNPs and no mark here, likely a slow restart after loss";
                assert_eq!(told(near, 2, naks), (slow.into(), true));
            }
        }
    }

    #[test]
    fn at_the_sender_marks_may_come_yet() {
        assert_eq!(told(Near::Src, 2, 9), ("2 CNPs and no mark yet at the sender".into(), true));
    }

    #[test]
    fn fewer_naks_than_notifications_explain_only_a_part() {
        assert_eq!(told(Near::Dst, 3, 2), ("3 CNPs and no mark at the receiver".into(), true));
    }
}
