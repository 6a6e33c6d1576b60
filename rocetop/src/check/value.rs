//! Amounts: what an expectation wants and what the report has, with units.

use std::fmt;

/// What a figure is, and so which units a bound on it may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A number of things, an id, a code.
    Count,
    /// Nanoseconds.
    Nanos,
    /// Microseconds.
    Micros,
    /// Bytes.
    Size,
    /// A ratio.
    Share,
    /// Words.
    Text,
    /// True or false.
    Flag,
    /// The report's sample does not tell.
    Any,
}

impl Kind {
    /// Of a field, by its sample and by the house's way to name fields.
    pub(super) fn of(path: &[String], sample: &serde_json::Value) -> Self {
        let name = |back: usize| path.iter().rev().nth(back).map_or("", String::as_str);
        let last = name(0);
        match sample {
            serde_json::Value::Bool(_) => Self::Flag,
            serde_json::Value::String(_) => Self::Text,
            _ if last.ends_with("_ns") || matches!(last, "p50" | "p99" | "max") && name(1).ends_with("_ns") => {
                Self::Nanos
            }
            _ if last.ends_with("_us") => Self::Micros,
            _ if last == "bytes" || last.ends_with("_bytes") || last == "mtu" => Self::Size,
            serde_json::Value::Number(_) => Self::Count,
            _ => Self::Any,
        }
    }

    /// What a bound on it may look like.
    pub(super) fn like(self) -> &'static str {
        match self {
            Self::Count => "a number without a unit",
            Self::Nanos | Self::Micros => "a time such as 5 ms (ns, us, ms, s, min)",
            Self::Size => "a size such as 64 KiB (B, kB, MB, GB, KiB, MiB, GiB)",
            Self::Share => "a share such as 0.01 or 1%",
            Self::Text => "text, such as 'RC'",
            Self::Flag => "true or false",
            Self::Any => "a number or text",
        }
    }
}

/// A unit that a number may have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Unit {
    name: &'static str,
    /// In the smallest unit of its kind: nanoseconds, bytes, one.
    factor: f64,
    kind: Kind,
}

static UNITS: &[Unit] = &[
    Unit { name: "ns", factor: 1.0, kind: Kind::Nanos },
    Unit { name: "us", factor: 1e3, kind: Kind::Nanos },
    Unit { name: "ms", factor: 1e6, kind: Kind::Nanos },
    Unit { name: "s", factor: 1e9, kind: Kind::Nanos },
    Unit { name: "min", factor: 60e9, kind: Kind::Nanos },
    Unit { name: "B", factor: 1.0, kind: Kind::Size },
    Unit { name: "kB", factor: 1e3, kind: Kind::Size },
    Unit { name: "MB", factor: 1e6, kind: Kind::Size },
    Unit { name: "GB", factor: 1e9, kind: Kind::Size },
    Unit { name: "KiB", factor: 1024.0, kind: Kind::Size },
    Unit { name: "MiB", factor: 1_048_576.0, kind: Kind::Size },
    Unit { name: "GiB", factor: 1_073_741_824.0, kind: Kind::Size },
    Unit { name: "%", factor: 0.01, kind: Kind::Share },
];

/// A number, exact where it is whole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    Whole(i128),
    Real(f64),
}

impl Number {
    pub(super) fn real(self) -> f64 {
        match self {
            Self::Whole(n) => n as f64,
            Self::Real(n) => n,
        }
    }
}

/// What an expectation compares with.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Want {
    /// A number in the figure's own unit, with the unit in which it was written.
    Number(Number, Option<Unit>),
    Text(String),
    Flag(bool),
}

/// Why a bound cannot be understood.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(super) enum NoValue {
    #[error("there is nothing to compare with: write a value behind the operator")]
    Missing,
    #[error("{text:?} is not {}", .kind.like())]
    Unlike { text: String, kind: Kind },
    #[error("{text:?} has a unit that nothing here has; known are ns, us, ms, s, min, B, kB, MB, GB, KiB, MiB, GiB, %")]
    Unit { text: String },
}

impl Want {
    /// Reads a bound on a figure of this kind.
    pub(super) fn read(text: &str, kind: Kind) -> Result<Self, NoValue> {
        let text = text.trim();
        let unlike = || NoValue::Unlike { text: text.to_owned(), kind };
        let quoted = ['\'', '"'].iter().find_map(|&q| text.strip_prefix(q)?.strip_suffix(q));
        match (kind, text) {
            (_, "") => Err(NoValue::Missing),
            (Kind::Flag, "true" | "false") => Ok(Self::Flag(text == "true")),
            (Kind::Flag, _) => Err(unlike()),
            (Kind::Text, _) => Ok(Self::Text(quoted.unwrap_or(text).to_owned())),
            (Kind::Any, _) if quoted.is_some() || number(text).is_none() => {
                Ok(Self::Text(quoted.unwrap_or(text).to_owned()))
            }
            _ => {
                let (number, unit) = number(text).ok_or_else(unlike)?;
                Self::number(&number, unit, text, kind)
            }
        }
    }

    fn number(number: &str, unit: &str, text: &str, kind: Kind) -> Result<Self, NoValue> {
        let unlike = || NoValue::Unlike { text: text.to_owned(), kind };
        if unit.is_empty() {
            if let Ok(whole) = number.parse() {
                return Ok(Self::Number(Number::Whole(whole), None));
            }
            let real: f64 = number.parse().map_err(|_| unlike())?;
            return if real.is_finite() { Ok(Self::Number(Number::Real(real), None)) } else { Err(unlike()) };
        }
        let unit = if unit == "\u{b5}s" || unit == "\u{3bc}s" { "us" } else { unit };
        let Some(&unit) = UNITS.iter().find(|u| u.name == unit) else {
            return Err(NoValue::Unit { text: text.to_owned() });
        };
        let real: f64 = number.parse().map_err(|_| unlike())?;
        let fits = match kind {
            Kind::Micros => unit.kind == Kind::Nanos,
            _ => unit.kind == kind,
        };
        if !fits || !real.is_finite() {
            return Err(unlike());
        }
        Ok(Self::Number(
            match kind {
                Kind::Share => Number::Real(real * unit.factor),
                Kind::Micros => Number::Real(real * unit.factor / 1e3),
                // Nothing is finer than a nanosecond or a byte.
                _ => Number::Whole((real * unit.factor).round() as i128),
            },
            Some(unit),
        ))
    }

    /// The unit in which a measured value is shown beside it.
    pub(super) fn unit(&self) -> Option<Unit> {
        if let Self::Number(_, unit) = self { *unit } else { None }
    }
}

/// Splits a number from its unit and takes `_` out of it. `None` where there is no number.
fn number(text: &str) -> Option<(String, &str)> {
    let digit = |c: char| c.is_ascii_digit();
    let mut end = text.find(|c: char| !digit(c) && !matches!(c, '.' | '-' | '+' | '_')).unwrap_or(text.len());
    // An exponent, if a number follows: 1e-6.
    let exponent = text.get(end..).and_then(|rest| rest.strip_prefix(['e', 'E']));
    if let Some(power) = exponent.filter(|p| p.trim_start_matches(['-', '+']).starts_with(digit)) {
        let sign = power.len() - power.trim_start_matches(['-', '+']).len();
        let digits = power.get(sign..)?.find(|c| !digit(c)).unwrap_or(power.len() - sign);
        end += 1 + sign + digits;
    }
    let (number, unit) = text.split_at_checked(end)?;
    number.contains(digit).then(|| (number.replace('_', ""), unit.trim()))
}

/// What the report has.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Measured {
    Number(Number),
    /// Part and whole, which is not 0.
    Share(i128, i128),
    Text(String),
    Flag(bool),
}

impl Measured {
    /// A value of the report; `None` where it is null or no single value.
    pub(super) fn of(value: &serde_json::Value) -> Option<Self> {
        match value {
            serde_json::Value::Bool(flag) => Some(Self::Flag(*flag)),
            serde_json::Value::String(text) => Some(Self::Text(text.clone())),
            serde_json::Value::Number(n) => Some(Self::Number(match (n.as_u64(), n.as_i64()) {
                (Some(n), _) => Number::Whole(n.into()),
                (None, Some(n)) => Number::Whole(n.into()),
                _ => Number::Real(n.as_f64()?),
            })),
            _ => None,
        }
    }

    /// Its size, if it has one.
    pub(super) fn number(&self) -> Option<Number> {
        match *self {
            Self::Number(n) => Some(n),
            Self::Share(part, whole) => Some(Number::Real(part as f64 / whole as f64)),
            Self::Text(_) | Self::Flag(_) => None,
        }
    }

    /// Beside a bound in this unit. Exact, so that it can be checked by hand.
    pub(super) fn show(&self, unit: Option<Unit>, kind: Kind) -> Shown<'_> {
        Shown { measured: self, unit, kind }
    }
}

/// A measured value as text.
pub(super) struct Shown<'a> {
    measured: &'a Measured,
    unit: Option<Unit>,
    kind: Kind,
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.measured, self.unit) {
            (Measured::Flag(flag), _) => flag.fmt(f),
            (Measured::Text(text), _) => text.fmt(f),
            (Measured::Share(part, whole), unit) => {
                let share = *part as f64 / *whole as f64;
                match unit {
                    Some(_) => write!(f, "{}% ({part} of {whole})", digits(share * 100.0)),
                    None => write!(f, "{} ({part} of {whole})", digits(share)),
                }
            }
            (Measured::Number(Number::Whole(n)), None) => n.fmt(f),
            (Measured::Number(number), None) => number.real().fmt(f),
            (Measured::Number(number), Some(unit)) => {
                let factor = if self.kind == Kind::Micros { unit.factor / 1e3 } else { unit.factor };
                write!(f, "{} {}", number.real() / factor, unit.name)
            }
        }
    }
}

/// Four significant digits, as far as they go.
fn digits(share: f64) -> String {
    if share == 0.0 || share.fract() == 0.0 {
        return share.to_string();
    }
    let places = (3 - share.abs().log10().floor() as i32).clamp(0, 12) as usize;
    let text = format!("{share:.places$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(text: &str, kind: Kind) -> i128 {
        match Want::read(text, kind).unwrap() {
            Want::Number(Number::Whole(n), _) => n,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn units() {
        assert_eq!(whole("5 ms", Kind::Nanos), 5_000_000);
        assert_eq!(whole("2.3ms", Kind::Nanos), 2_300_000);
        assert_eq!(whole("10 \u{b5}s", Kind::Nanos), 10_000);
        assert_eq!(whole("1.5 min", Kind::Nanos), 90_000_000_000);
        assert_eq!(whole("64 KiB", Kind::Size), 65_536);
        assert_eq!(whole("1.5 kB", Kind::Size), 1_500);
        assert_eq!(whole("1767225600000000001", Kind::Nanos), 1_767_225_600_000_000_001);
        assert_eq!(whole("-3", Kind::Count), -3);
        assert_eq!(whole("1_000_000", Kind::Count), 1_000_000);
        assert_eq!(Want::read("1%", Kind::Share).unwrap(), Want::Number(Number::Real(0.01), Some(UNITS[12])));
        assert_eq!(Want::read("1e-6", Kind::Share).unwrap(), Want::Number(Number::Real(1e-6), None));
        assert_eq!(Want::read("2 ms", Kind::Micros).unwrap(), Want::Number(Number::Real(2000.0), Some(UNITS[2])));
        assert_eq!(Want::read(" 'RC' ", Kind::Text).unwrap(), Want::Text("RC".into()));
        assert_eq!(Want::read("go_back_n", Kind::Text).unwrap(), Want::Text("go_back_n".into()));
        assert_eq!(Want::read("true", Kind::Flag).unwrap(), Want::Flag(true));
    }

    #[test]
    fn a_wrong_unit_says_what_is_right() {
        for (text, kind, says) in [
            ("1%", Kind::Count, "\"1%\" is not a number without a unit"),
            ("5 ms", Kind::Size, "\"5 ms\" is not a size such as"),
            ("5 MB", Kind::Nanos, "\"5 MB\" is not a time such as 5 ms"),
            ("five", Kind::Count, "\"five\" is not a number"),
            ("1.2.3", Kind::Count, "\"1.2.3\" is not a number"),
            ("5 furlongs", Kind::Size, "has a unit that nothing here has"),
            ("yes", Kind::Flag, "\"yes\" is not true or false"),
            ("1e999", Kind::Share, "is not a share"),
            ("", Kind::Count, "nothing to compare with"),
        ] {
            let error = Want::read(text, kind).unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
    }

    #[test]
    fn shown_in_the_unit_of_the_bound() {
        let shown = |measured: Measured, bound: &str, kind| {
            measured.show(Want::read(bound, kind).unwrap().unit(), kind).to_string()
        };
        let number = |n| Measured::Number(Number::Whole(n));
        assert_eq!(shown(number(5_000_400), "5 ms", Kind::Nanos), "5.0004 ms");
        assert_eq!(shown(number(5_000_400), "5000000", Kind::Nanos), "5000400");
        assert_eq!(shown(number(1280), "1 ms", Kind::Micros), "1.28 ms");
        assert_eq!(shown(number(65_536), "1 KiB", Kind::Size), "64 KiB");
        assert_eq!(shown(Measured::Share(12, 973), "1%", Kind::Share), "1.233% (12 of 973)");
        assert_eq!(shown(Measured::Share(1, 100_000), "0.1", Kind::Share), "0.00001 (1 of 100000)");
        assert_eq!(shown(Measured::Share(0, 5), "1%", Kind::Share), "0% (0 of 5)");
    }
}
