//! The line that says what is expected: `NAME OPERATOR VALUE`, or `finding WHAT absent`.

use std::fmt;

use rocetop_analysis::Severity;
use rocetop_analysis::detect::{self, RULES};

use super::names::{Figure, Names, NoName, Scope, nearest};
use super::value::{Kind, Measured, NoValue, Number, Want};

/// How to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    Unequal,
    Below,
    AtMost,
    Above,
    AtLeast,
}

/// The longer ones first, so that `<=` is not read as `<`.
const OPERATORS: &[(&str, Operator)] = &[
    ("==", Operator::Equal),
    ("!=", Operator::Unequal),
    ("<=", Operator::AtMost),
    (">=", Operator::AtLeast),
    ("<", Operator::Below),
    (">", Operator::Above),
];

impl Operator {
    fn name(self) -> &'static str {
        OPERATORS.iter().find(|(_, o)| *o == self).map_or("", |(name, _)| name)
    }

    fn orders(self) -> bool {
        !matches!(self, Self::Equal | Self::Unequal)
    }
}

/// A bound: an operator and what stands behind it.
#[derive(Clone, Debug)]
pub(super) struct Bound {
    pub(super) operator: Operator,
    pub(super) want: Want,
    /// As it was written.
    text: String,
}

impl Bound {
    /// Reads the value behind an operator.
    pub(super) fn read(operator: Operator, value: &str, kind: Kind) -> Result<Self, NoSense> {
        let want = Want::read(value, kind)?;
        if operator.orders() && !matches!(want, Want::Number(..)) {
            return Err(NoSense::Unordered { operator: operator.name() });
        }
        Ok(Self { operator, want, text: format!("{} {}", operator.name(), value.trim()) })
    }

    /// With another text to compare with: the same one in another spelling.
    pub(super) fn respelled(self, text: String) -> Self {
        Self { text: format!("{} {text}", self.operator.name()), want: Want::Text(text), ..self }
    }

    /// Whether a value keeps it; `None` where the two cannot be compared.
    pub(super) fn holds(&self, measured: &Measured) -> Option<bool> {
        use std::cmp::Ordering;
        let ordering = match (measured, &self.want) {
            (Measured::Number(Number::Whole(a)), Want::Number(Number::Whole(b), _)) => a.cmp(b),
            (_, Want::Number(wanted, _)) => measured.number()?.real().partial_cmp(&wanted.real())?,
            (Measured::Text(a), Want::Text(b)) => a.cmp(b),
            (Measured::Flag(a), Want::Flag(b)) => a.cmp(b),
            _ => return None,
        };
        Some(match self.operator {
            Operator::Equal => ordering == Ordering::Equal,
            Operator::Unequal => ordering != Ordering::Equal,
            Operator::Below => ordering == Ordering::Less,
            Operator::AtMost => ordering != Ordering::Greater,
            Operator::Above => ordering == Ordering::Greater,
            Operator::AtLeast => ordering != Ordering::Less,
        })
    }

    /// The same, where what cannot be compared does not hold.
    pub(super) fn keeps(&self, measured: &Measured) -> bool {
        self.holds(measured) == Some(true)
    }

    /// How far a value is on the wrong side: the larger, the worse. Tells the worst of several from the others.
    pub(super) fn badness(&self, measured: &Measured) -> f64 {
        let (Some(number), Want::Number(wanted, _)) = (measured.number(), &self.want) else {
            return if self.keeps(measured) { 0.0 } else { 1.0 };
        };
        let over = number.real() - wanted.real();
        match self.operator {
            Operator::Equal => over.abs(),
            Operator::Unequal => -over.abs(),
            Operator::Below | Operator::AtMost => over,
            Operator::Above | Operator::AtLeast => -over,
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Which findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    /// All of them.
    Any,
    /// This bad or worse.
    Severity(Severity),
    /// Those of one detector.
    Code(&'static str),
}

/// Severities by name, for findings at least as bad.
pub(super) const SEVERITIES: [(&str, Severity); 3] =
    [("info", Severity::Info), ("warning", Severity::Warning), ("critical", Severity::Critical)];

/// What is expected.
#[derive(Clone, Debug)]
pub(super) enum That {
    /// A bound on a figure. `in_full`: it was named in full, so it is each flow's; else it is the capture's.
    Figure { figure: Figure, bound: Bound, in_full: bool },
    /// A bound on the number of findings.
    Findings { which: Which, bound: Bound },
}

/// Why a line makes no sense.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(super) enum NoSense {
    #[error(
        "{text:?} compares nothing: write NAME OPERATOR VALUE, such as \"totals.icrc.bad == 0\", or \"finding warning \
        absent\""
    )]
    NoOperator { text: String },
    #[error("{operator:?} is no operator; there are ==, !=, <, <=, > and >=")]
    Operator { operator: String },
    #[error("{operator} needs a number; text, true and false are compared by == or !=")]
    Unordered { operator: &'static str },
    #[error(
        "{what:?} is no finding: name a code, a severity (info, warning, critical: that bad or worse) or any; did you \
        mean {nearest}?"
    )]
    Which { what: String, nearest: String },
    #[error(
        "write absent, present or a number behind \"finding {what}\", such as \"finding {what} absent\" or \"finding \
        {what} <= 2\""
    )]
    Presence { what: String },
    #[error(transparent)]
    Name(#[from] NoName),
    #[error("{name}: {value}")]
    Figure { name: String, value: NoValue },
    #[error(transparent)]
    Value(#[from] NoValue),
}

/// Splits what stands before an operator, the operator, and what stands behind. `None` where there is no operator.
pub(super) fn split(text: &str) -> Result<Option<(&str, Operator, &str)>, NoSense> {
    let sign = |c: char| matches!(c, '=' | '!' | '<' | '>');
    let Some(at) = text.find(sign) else { return Ok(None) };
    let (before, rest) = text.split_at_checked(at).unwrap_or_default();
    let end = rest.find(|c| !sign(c)).unwrap_or(rest.len());
    let (signs, behind) = rest.split_at_checked(end).unwrap_or_default();
    let Some(&(_, operator)) = OPERATORS.iter().find(|(name, _)| *name == signs) else {
        return Err(NoSense::Operator { operator: signs.to_owned() });
    };
    Ok(Some((before.trim(), operator, behind.trim())))
}

/// Reads a line.
pub(super) fn that(text: &str, names: &Names) -> Result<That, NoSense> {
    let compared = split(text)?;
    let before = compared.map_or(text, |(before, ..)| before);
    let mut words = before.split_whitespace();
    if let (Some("finding" | "findings"), Some(what)) = (words.next(), words.next()) {
        let which = which(what)?;
        let presence = || NoSense::Presence { what: what.to_owned() };
        let bound = match (words.next(), words.next(), compared) {
            (Some("absent"), None, None) => Bound::read(Operator::Equal, "0", Kind::Count),
            (Some("present"), None, None) => Bound::read(Operator::AtLeast, "1", Kind::Count),
            (None, None, Some((_, operator, value))) => Bound::read(operator, value, Kind::Count),
            _ => return Err(presence()),
        };
        return Ok(That::Findings { which, bound: bound.map_err(|_| presence())? });
    }
    let Some((name, operator, value)) = compared else { return Err(NoSense::NoOperator { text: text.to_owned() }) };
    let (figure, in_full) = names.find(name)?;
    let bound = Bound::read(operator, value, figure.kind).map_err(|error| match error {
        NoSense::Value(value) => NoSense::Figure { name: figure.to_string(), value },
        other => other,
    })?;
    if figure.scope == Scope::Finding && figure.counts && figure.path.is_empty() {
        // Beyond those that the report lists.
        return Ok(That::Findings { which: Which::Any, bound });
    }
    Ok(That::Figure { figure, bound, in_full })
}

fn which(what: &str) -> Result<Which, NoSense> {
    if what == "any" {
        return Ok(Which::Any);
    }
    if let Some((_, severity)) = SEVERITIES.iter().find(|(name, _)| *name == what) {
        return Ok(Which::Severity(*severity));
    }
    detect::rule(what).map(|rule| Which::Code(rule.code)).ok_or_else(|| {
        let known = RULES.iter().map(|r| r.code).chain(SEVERITIES.map(|(name, _)| name)).chain(["any"]);
        NoSense::Which { what: what.to_owned(), nearest: nearest(what, known).to_owned() }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn no(text: &str) -> String {
        that(text, &Names::new()).unwrap_err().to_string()
    }

    #[test]
    fn bounds() {
        let bound = |text: &str| {
            let (_, operator, value) = split(text).unwrap().unwrap();
            Bound::read(operator, value, Kind::Count).unwrap()
        };
        let number = |n| Measured::Number(Number::Whole(n));
        for (text, holds) in [
            ("x == 2", [false, true, false]),
            ("x != 2", [true, false, true]),
            ("x<2", [true, false, false]),
            ("x <= 2", [true, true, false]),
            ("x > 2", [false, false, true]),
            ("x >=2", [false, true, true]),
            ("x < 2.5", [true, true, false]),
        ] {
            assert_eq!([1, 2, 3].map(|n| bound(text).holds(&number(n)).unwrap()), holds, "{text}");
        }
        assert_eq!(bound("x == 2").holds(&Measured::Text("2".into())), None);
        // Whole numbers beyond what a float can hold are told apart.
        let big = bound("x == 1767225600000000001");
        assert_eq!([0, 1].map(|n| big.holds(&number(1_767_225_600_000_000_000 + n)).unwrap()), [false, true]);
        assert!(bound("x <= 2").badness(&number(9)) > bound("x <= 2").badness(&number(5)));
        assert!(bound("x >= 2").badness(&number(0)) > bound("x >= 2").badness(&number(1)));
    }

    #[test]
    fn findings() {
        for (text, which, bound) in [
            ("finding warning absent", Which::Severity(Severity::Warning), "== 0"),
            ("finding RT008 present", Which::Code("RT008"), ">= 1"),
            ("finding rt008 <= 2", Which::Code("RT008"), "<= 2"),
            ("finding fatal_nak absent", Which::Code("RT008"), "== 0"),
            ("findings any == 0", Which::Any, "== 0"),
            ("findings.count == 0", Which::Any, "== 0"),
        ] {
            match that(text, &Names::new()).unwrap() {
                That::Findings { which: w, bound: b } => assert_eq!((w, b.to_string().as_str()), (which, bound)),
                That::Figure { .. } => panic!("{text}"),
            }
        }
        assert!(no("finding RT0O8 absent").contains("did you mean RT008?"));
        assert!(no("finding warnings absent").contains("did you mean warning?"));
        assert!(no("finding RT008 gone").contains("\"finding RT008 absent\""));
        assert!(no("finding RT008").contains("write absent, present or a number"));
        assert!(no("finding RT008 <= 1%").contains("write absent, present or a number"));
    }

    #[test]
    fn what_makes_no_sense() {
        assert!(no("totals.icrc.bad").contains("compares nothing"));
        assert!(no("totals.icrc.bad = 0").contains("\"=\" is no operator; there are =="));
        assert!(no("totals.icrc.bad =< 0").contains("\"=<\" is no operator"));
        assert!(no("totals.icrc.bad == 1%").contains("totals.icrc.bad: \"1%\" is not a number without a unit"));
        assert!(no("flow.transport < RC").contains("< needs a number"));
        assert!(no("capture.complete == yes").contains("is not true or false"));
        assert!(no("totals.icrc.bad ==").contains("nothing to compare with"));
    }
}
