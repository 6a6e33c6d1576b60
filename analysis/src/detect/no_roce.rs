//! No RoCE was found in the capture, or most of it cannot be looked into.
//!
//! # What it detects
//! Frames, and none of them known for RoCE of either version or InfiniBand. Also a capture with RoCE in which more
//! frames are fragments of IP, or tunnels in which no RoCE was found.
//!
//! # Why it hurts
//! What was meant to be RDMA may run over TCP (NCCL falls back to sockets without saying much), or the tap does not
//! see it: RDMA traffic bypasses the host's network stack. A mirror whose packets are longer than its way allows sends
//! them in fragments: the data is missing then, and short packets such as acknowledgements are all that is seen.
//!
//! # How it decides
//! By the totals; it tells how much TCP there is instead, and counts what may hold RoCE and is not opened: fragments of
//! IP (they are not put together) and tunnels without RoCE, which look alike here; IP in IP, ESP, L2TP and MPLS in IP;
//! and frames without an IP header that was found, such as ARP, PPPoE, or more VLAN tags than two.
//!
//! # What could fool it
//! A capture filter, a tunnel that is not looked into, encryption. Fragments and tunnels of other traffic.
//!
//! # What to do next
//! `NCCL_DEBUG=INFO` prints `NET/IB` or `NET/Socket`. To see RDMA on a host, capture on the RDMA device (`-i mlx5_0`)
//! or mirror the switch port. Where a mirror's packets come in fragments, raise the MTU of the way to its collector, or
//! let the switch cut what it mirrors. Fragments in tshark: `ip.flags.mf == 1 || ip.frag_offset > 0 || ipv6.fraghdr`
//!
//! # References
//! IBTA annex A17.4.5 (UDP destination port 4791); RFC 791 and RFC 8200 (fragments); the IANA registry of protocol
//! numbers.

use rocetop_parsers::net::protocol::Protocol;

use super::kit::{count, counted};
use super::{Finding, Judge, Rule, Severity};
use crate::Ledger;
use crate::report::survey::SOME;
use crate::totals::mix::Mix;

pub(super) const RULE: Rule = Rule {
    code: "RT037",
    name: "no_roce",
    title: "no RoCE was found, or most frames cannot be looked into",
    severity: Severity::Info,
    needs: "packets",
    source: include_str!("no_roce.rs"),
    judge: Judge::Capture(judge),
};

/// What carries packets and is not opened: numbers of the IANA registry.
const ENCAPSULATIONS: [(Protocol, &str); 5] = [
    (Protocol(4), "IPv4 in IP"),
    (Protocol(41), "IPv6 in IP"),
    (Protocol(50), "ESP"),
    (Protocol(115), "L2TP"),
    (Protocol(137), "MPLS in IP"),
];

fn judge(ledger: &Ledger<'_>, report: &mut dyn FnMut(Finding)) {
    let totals = ledger.totals();
    let mix = ledger.mix();
    let foreign = mix.all;
    let roce = totals.roce_frames + totals.rocev1_frames + totals.infiniband_frames;
    let Some(title) = title(totals.frames, roce, mix) else { return };
    let usual = match roce {
        0 => "See whether the application uses RDMA at all, and whether this tap can see it.",
        _ => "Fragments are not put together: see whether a mirror's packets are longer than the MTU of its way.",
    };
    let unopened = unopened(mix);
    let advice = if unopened.is_empty() {
        usual.to_owned()
    } else {
        format!("{usual} RoCE may be inside of what is not opened: {}.", unopened.join(", "))
    };
    report(
        Finding::of(&RULE, Severity::Info, title)
            .during(foreign.first_at.0, foreign.last_at.0)
            .shown_by(vec![ledger.frame(foreign.first), ledger.frame(foreign.last)])
            .with("frames", totals.frames)
            .with("tcp_frames", foreign.tcp)
            .with("fragments_or_tunnels", mix.unopened)
            .with("without_ip", mix.without_ip)
            .advice(&advice),
    );
}

fn title(frames: u64, roce: u64, mix: &Mix) -> Option<String> {
    if mix.all.frames == 0 {
        return None;
    }
    let all = counted(frames, "frame");
    match (roce, mix.all.tcp) {
        (0, 0) => Some(format!("no RoCE was found in {all}")),
        (0, tcp) => Some(format!("no RoCE was found in {all}, {} of them TCP", count(tcp))),
        // Fewer are somebody's datagrams.
        _ if mix.unopened >= SOME && mix.unopened > roce => {
            Some(format!("{} of {all} are fragments of IP, or tunnels without RoCE", count(mix.unopened)))
        }
        _ => None,
    }
}

/// What RoCE may be inside of, the most frequent first.
fn unopened(mix: &Mix) -> Vec<String> {
    let encapsulated = ENCAPSULATIONS.map(|(protocol, name)| (mix.protocol(protocol), name));
    let others = [(mix.unopened, "fragments of IP or tunnels without RoCE"), (mix.without_ip, "without IP")];
    let mut all: Vec<(u64, &str)> = encapsulated.into_iter().chain(others).filter(|&(n, _)| n != 0).collect();
    all.sort_by_key(|&(n, _)| std::cmp::Reverse(n));
    all.into_iter().map(|(n, name)| format!("{} {name}", count(n))).collect()
}

#[cfg(test)]
mod tests {
    use rocetop_parsers::Facts;

    use super::*;
    use crate::event::Packet;

    fn mix(frames: &[(u32, u8)]) -> Mix {
        let mut mix = Mix::default();
        for &(end, protocol) in frames {
            mix.add(&Packet { facts: Facts { end, protocol, ..Facts::default() }, ..Packet::default() });
        }
        mix
    }

    #[test]
    fn what_is_not_opened_is_named() {
        let mix = mix(&[(60, 4), (60, 6), (0, 0), (60, 4), (60, 0), (60, 0), (60, 0)]);
        assert_eq!(title(7, 0, &mix).unwrap(), "no RoCE was found in 7 frames, 1 of them TCP");
        let parts = ["3 fragments of IP or tunnels without RoCE", "2 IPv4 in IP", "1 without IP"];
        assert_eq!(unopened(&mix), parts);
    }

    #[test]
    fn more_fragments_than_roce_are_told() {
        let fragments = mix(&[(60, 0); 20]);
        let told = title(39, 19, &fragments).unwrap();
        assert_eq!(told, "20 of 39 frames are fragments of IP, or tunnels without RoCE");
        assert_eq!(title(40, 20, &fragments), None);
        assert_eq!(title(20, 5, &mix(&[(60, 0); 15])), None);
        assert_eq!(title(20, 5, &mix(&[(60, 17); 15])), None);
    }
}
