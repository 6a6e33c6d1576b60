//! Figures as titles have them.

use crate::report::FlowReport;
pub(in crate::detect) use crate::report::words::{count, counted, duration as time};

/// A part of so many things: `1 of 3 flows`, `all 3 flows`, `both flows`, `1 flow`.
pub(in crate::detect) fn part(n: u64, all: u64, what: &str) -> String {
    match all {
        _ if n != all => format!("{} of {}", count(n), counted(all, what)),
        1 => counted(all, what),
        2 => format!("both {what}s"),
        _ => format!("all {}", counted(all, what)),
    }
}

/// Addresses longer than this leave no room for a sentence: the receiver alone is named then.
const LONG: usize = 44;

/// Where a flow goes: `10.9.1.1 -> 10.9.2.1 qp 20`.
pub(in crate::detect) fn road(flow: &FlowReport) -> String {
    if flow.src.len() + flow.dst.len() > LONG {
        format!("-> {} qp {}", flow.dst, flow.dst_qp)
    } else {
        format!("{} -> {} qp {}", flow.src, flow.dst, flow.dst_qp)
    }
}

#[cfg(test)]
mod tests {
    use super::super::cases;
    use super::*;

    #[test]
    fn counts() {
        assert_eq!(count(1_637), "1,637");
        assert_eq!(counted(1, "NAK"), "1 NAK");
    }

    #[test]
    fn parts() {
        let part = |n, all| part(n, all, "flow");
        assert_eq!(
            [part(1, 3), part(3, 3), part(2, 2), part(1, 1)],
            ["1 of 3 flows", "all 3 flows", "both flows", "1 flow"]
        );
    }

    #[test]
    fn long_addresses_leave_the_receiver() {
        let mut flow = cases::flow();
        assert_eq!(road(&flow), "10.9.1.1 -> 10.9.2.1 qp 20");
        (flow.src, flow.dst) = ("fd09:1:2:3:4:5:6:7".into(), "2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff".into());
        assert_eq!(road(&flow), "-> 2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff qp 20");
    }
}
