//! Other traffic travels in the class of RoCE.
//!
//! # What it detects
//! IP packets that are no RoCE with the DSCP of RoCE data, or with its VLAN priority. It is information from sixteen
//! packets and a thousandth of RoCE's bytes on (in the default class a hundredth), and a warning where RoCE has a class
//! of its own (a DSCP or priority other than 0) and others make up more than one percent of its bytes.
//!
//! # Why it hurts
//! A lossless queue is sized for senders that slow down when told to. TCP fills it and RoCE is marked and paused for
//! it; a pause of the class then stops both.
//!
//! # How it decides
//! DSCP and priority of all IP packets that are no RoCE, against those of RoCE flows with at least sixteen data
//! packets. What keeps the network itself going does not count: ARP and other frames without IP, ICMP, ICMPv6, IGMP.
//!
//! # What could fool it
//! A capture on a host may see packets before its network card maps or rewrites their class.
//!
//! # What to do next
//! Give RoCE a DSCP of its own and map it to a queue of its own on every hop; find who else uses it. In tshark:
//! `(ip.dsfield.dscp == 26 || ipv6.tclass.dscp == 26) && !(udp.dstport == 4791)`
//!
//! # References
//! RFC 2474; IEEE 802.1Qbb; published practice of RoCE fabrics (a separate class or a separate network for training
//! traffic).

use super::kit::counted;
use super::{Finding, Judge, Rule, Severity};
use crate::Ledger;
use crate::report::survey::{Class, SOME, Survey};
use crate::totals::mix::Foreign;

pub(super) const RULE: Rule = Rule {
    code: "RT035",
    name: "foreign_traffic",
    title: "other traffic in the class of RoCE",
    severity: Severity::Warning,
    needs: "packets of all traffic",
    source: include_str!("foreign_traffic.rs"),
    judge: Judge::Survey(judge),
};

/// Told from one byte in so many (chosen: a queue does not notice less).
const TOLD_ONE_IN: u64 = 1_000;
/// A warning from one byte in so many (chosen: less hardly takes room in a queue).
const ONE_IN: u64 = 100;

fn judge(survey: &Survey, ledger: &Ledger<'_>, report: &mut dyn FnMut(Finding)) {
    let mix = ledger.mix();
    let by_dscp = survey.dscp.iter().map(|(&dscp, class)| ("DSCP", dscp, class, mix.dscp(dscp)));
    let by_pcp = survey.pcp.iter().map(|(&pcp, class)| ("priority", pcp, class, mix.pcp(pcp)));
    for (what, value, class, foreign) in by_dscp.chain(by_pcp) {
        if is_told(value, class, foreign) {
            report(found(ledger, what, value, class, foreign));
        }
    }
}

/// Whether there is enough of it to speak of: fewer packets are somebody's greeting, and no traffic. The default class
/// is shared with everything.
fn is_told(value: u8, class: &Class, foreign: Foreign) -> bool {
    foreign.frames >= SOME && reaches(class, foreign, if value == 0 { ONE_IN } else { TOLD_ONE_IN })
}

fn reaches(class: &Class, foreign: Foreign, one_in: u64) -> bool {
    foreign.bytes.0.saturating_mul(one_in) >= class.bytes
}

fn found(ledger: &Ledger<'_>, what: &str, value: u8, class: &Class, foreign: Foreign) -> Finding {
    let bytes = foreign.bytes.0;
    let severity = if value != 0 && reaches(class, foreign, ONE_IN) { Severity::Warning } else { Severity::Info };
    let title = format!(
        "{} of other traffic in {what} {value}, beside {}",
        counted(foreign.frames, "frame"),
        counted(class.flows, "RoCE flow")
    );
    Finding::of(&RULE, severity, title)
        .during(foreign.first_at.0, foreign.last_at.0)
        .shown_by(vec![ledger.frame(foreign.first), ledger.frame(foreign.last)])
        .with("foreign_frames", foreign.frames)
        .with("foreign_bytes", bytes)
        .with("tcp_frames", foreign.tcp)
        .with("roce_bytes", class.bytes)
        .advice("Give RoCE a class of its own on every hop, and keep other traffic out of it.")
}

#[cfg(test)]
mod tests {
    use rocetop_parsers::Bytes;

    use super::*;

    #[test]
    fn a_few_packets_are_no_traffic() {
        let class = Class { flows: 1, bytes: 1_000_000 };
        let told = |value, frames, bytes| {
            is_told(value, &class, Foreign { frames, bytes: Bytes(bytes), ..Foreign::default() })
        };
        assert!(told(3, 16, 1_000));
        assert!(!told(3, 15, 900_000));
        assert!(!told(3, 100, 999));
        assert!(told(0, 16, 10_000) && !told(0, 16, 9_999));
    }
}
