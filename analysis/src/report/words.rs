//! Figures in sentences: the same in findings and in every report.

/// With thousands separators: `1,234,567`.
#[must_use]
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i != 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 request`, `2 requests`, `3 losses`.
#[must_use]
pub fn counted(n: u64, what: &str) -> String {
    let many = match n {
        1 => "",
        _ if ["s", "x", "ch", "sh"].iter().any(|end| what.ends_with(end)) => "es",
        _ => "s",
    };
    format!("{} {what}{many}", count(n))
}

/// A length of time: `850 ns`, `12.3 us`, `1.72 s`, `2 h 05 min`.
#[must_use]
pub fn duration(ns: u64) -> String {
    let seconds = ns / 1_000_000_000;
    match seconds {
        0 => scaled(ns as f64, &["ns", "us", "ms", "s"]),
        1..120 => format!("{} s", three(ns as f64 / 1e9)),
        120..7200 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds / 60 % 60),
    }
}

/// Three digits and the unit, each of which is a thousand of the one before; nothing fits below the first.
#[must_use]
pub fn scaled(value: f64, units: &[&str]) -> String {
    let mut value = value;
    let mut units = units.iter();
    let mut unit = units.next().copied().unwrap_or_default();
    for next in units {
        if value < 999.5 {
            break;
        }
        value /= 1000.0;
        unit = next;
    }
    format!("{} {unit}", three(value))
}

/// Three significant digits; no `.0` behind a whole number, nor `.00` behind what rounds to one digit.
fn three(value: f64) -> String {
    if value.fract() == 0.0 || value >= 99.95 {
        format!("{value:.0}")
    } else if value >= 9.995 {
        format!("{value:.1}")
    } else {
        let text = format!("{value:.2}");
        text.strip_suffix(".00").unwrap_or(&text).to_owned()
    }
}

/// The exponent t of a transport timeout of 4.096 us x 2^t (IBTA 9.7.6.1.3), where the length of time is one of these.
#[must_use]
pub fn timeout_exponent(ns: u64) -> Option<u32> {
    const UNIT: u64 = 4_096;
    (ns / UNIT).checked_ilog2().filter(|&t| UNIT << t == ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents() {
        assert_eq!(timeout_exponent(4_096), Some(0));
        assert_eq!(timeout_exponent(4_294_967_296), Some(20));
        assert_eq!(timeout_exponent(5_000), None);
        assert_eq!(timeout_exponent(0), None);
    }

    #[test]
    fn lengths_of_time() {
        assert_eq!(duration(850), "850 ns");
        assert_eq!(duration(4_096), "4.10 us");
        assert_eq!(duration(25_980_000), "26.0 ms");
        assert_eq!(duration(67_108_864), "67.1 ms");
        assert_eq!(duration(100_000_000), "100 ms");
        assert_eq!(duration(999_600_000), "1 s");
        assert_eq!(duration(8_589_934_592), "8.59 s");
        assert_eq!(duration(130_000_000_000), "2 min 10 s");
        assert_eq!(duration(7_500_000_000_000), "2 h 05 min");
    }
}
