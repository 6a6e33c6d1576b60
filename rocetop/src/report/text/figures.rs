//! Numbers as people read them.

use std::fmt::Write;

use rocetop_analysis::report::words::scaled;
pub(crate) use rocetop_analysis::report::words::{count, counted, duration, timeout_exponent};

/// Decimal units, three digits: `999 B`, `31.9 kB`, `6.24 MB`.
pub(super) fn bytes(n: u64) -> String {
    scaled(n as f64, &["B", "kB", "MB", "GB", "TB", "PB"])
}

/// A bar for each figure, the highest one full: eight steps, and a dot for zero.
pub(super) fn bars(figures: &[u64]) -> String {
    const STEPS: [char; 9] = ['·', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = figures.iter().copied().max().unwrap_or(0).max(1);
    let step = |&n: &u64| (u128::from(n) * 8).div_ceil(u128::from(most)) as usize;
    figures.iter().filter_map(|n| STEPS.get(step(n))).collect()
}

const BITS: [&str; 5] = ["b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s"];

/// Bits a second: `28.8 Mb/s`.
pub(super) fn rate(bytes: u64, ns: u64) -> Option<String> {
    (ns != 0).then(|| scaled(bytes as f64 * 8e9 / ns as f64, &BITS))
}

/// The same of a rate that is known: `412 kb/s`.
pub(super) fn bits(bps: u64) -> String {
    scaled(bps as f64, &BITS)
}

/// Gigabits a second with two digits behind the point: `12.34`.
pub(crate) fn gigabits(bytes: u64, ns: u64) -> String {
    format!("{:.2}", bytes as f64 * 8.0 / ns.max(1) as f64)
}

/// A time of day, UTC: `16:43:48`.
pub(crate) fn clock(ns: u64) -> String {
    let seconds = ns / 1_000_000_000 % 86_400;
    format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// A point in time, UTC: `2026-11-29 16:43:48.123456789`.
pub(super) fn time(ns: u64) -> String {
    let (seconds, fraction) = (ns / 1_000_000_000, ns % 1_000_000_000);
    let (days, clock) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    let mut text = String::new();
    let _ = write!(
        text,
        "{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}.{fraction:09}",
        clock / 3600,
        clock / 60 % 60,
        clock % 60
    );
    text
}

/// Year, month and day of a day counted from 1970-01-01, in the Gregorian calendar: years are counted from March, so
/// that the leap day is their last.
fn civil(days: u64) -> (u64, u64, u64) {
    let since = days + 719_468; // days from 0000-03-01 to 1970-01-01
    let (era, of_era) = (since / 146_097, since % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

/// A share in percent, never rounded to 0 or 100 when it is neither.
pub(super) fn share(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "0%".into();
    }
    let percent = part as f64 * 100.0 / whole as f64;
    match percent {
        0.0 => "0%".into(),
        p if p < 0.1 => "<0.1%".into(),
        p if p > 99.9 && part != whole => ">99.9%".into(),
        // One digit more where whole numbers would round to all of it.
        p if p < 10.0 || p >= 99.5 && part != whole => format!("{p:.1}%"),
        p => format!("{p:.0}%"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_well() {
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(123), "123");
        assert_eq!(counted(1, "gap"), "1 gap");
        assert_eq!([1, 9].map(|n| counted(n, "more loss")), ["1 more loss", "9 more losses"]);
        assert_eq!(counted(2, "switch"), "2 switches");
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(6_236_430), "6.24 MB");
        assert_eq!(bytes(999_999), "1 MB");
        assert_eq!(rate(6_236_430, 1_722_748_000).unwrap(), "29.0 Mb/s");
        assert_eq!([0, 411_640, 98_765_432_100].map(bits), ["0 b/s", "412 kb/s", "98.8 Gb/s"]);
        assert_eq!(duration(850), "850 ns");
        assert_eq!(duration(1_722_748_000), "1.72 s");
        assert_eq!(duration(7_500_000_000_000), "2 h 05 min");
        assert_eq!(share(1, 100_000), "<0.1%");
        assert_eq!(share(99_999, 100_000), ">99.9%");
        assert_eq!(share(544, 546), "99.6%");
        assert_eq!(share(9, 9), "100%");
        assert_eq!(share(1637, 5733), "29%");
    }

    #[test]
    fn dates() {
        assert_eq!(time(0), "1970-01-01 00:00:00.000000000");
        assert_eq!(time(951_782_400_000_000_000), "2000-02-29 00:00:00.000000000");
        assert_eq!(time(1_796_000_000_000_000_001), "2026-11-30 00:53:20.000000001");
    }
}
