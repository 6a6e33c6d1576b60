//! Figures as titles have them.

use crate::report::FlowReport;
pub(in crate::detect) use crate::report::words::{count, counted};

/// A length of time in three digits: `655 ms`, `8.59 s`, `4.1 us`.
pub(in crate::detect) fn time(ns: u64) -> String {
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
    let Some((unit, name)) = units.into_iter().find(|&(unit, _)| ns >= unit) else { return format!("{ns} ns") };
    let decimals = match ns / unit {
        0..=9 => 2,
        10..=99 => 1,
        _ => 0,
    };
    let scale = 10u128.pow(decimals);
    let scaled = (u128::from(ns) * scale + u128::from(unit) / 2) / u128::from(unit);
    let (whole, rest) = (scaled / scale, scaled % scale);
    match decimals {
        _ if rest == 0 => format!("{whole} {name}"),
        2 => format!("{} {name}", format!("{whole}.{rest:02}").trim_end_matches('0')),
        _ => format!("{whole}.{rest} {name}"),
    }
}

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
    fn times() {
        assert_eq!(time(850), "850 ns");
        assert_eq!(time(4_096), "4.1 us");
        assert_eq!(time(655_360_000), "655 ms");
        assert_eq!(time(67_108_864), "67.1 ms");
        assert_eq!(time(8_589_934_592), "8.59 s");
        assert_eq!(time(100_000_000), "100 ms");
        assert_eq!(time(122_880_000), "123 ms");
        assert_eq!(time(9_999_000), "10 ms");
        assert_eq!(time(2_000_000_000), "2 s");
    }

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
