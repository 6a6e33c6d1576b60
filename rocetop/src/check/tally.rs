//! What an expectation has met so far, and what that means for it.

use serde_json::Value;

use super::file::{Expectation, Over};
use super::language::Bound;
use super::names::{Figure, Scope};
use super::value::{Measured, Number};
use super::walk::{Found, values};
use crate::report::text::figures::counted;

/// What became of an expectation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Whether it holds.
    pub holds: bool,
    /// What was wanted.
    pub wanted: String,
    /// What was there.
    pub measured: String,
    /// Where: the flow concerned, the findings with their frames, why it cannot be known.
    pub notes: Vec<String>,
}

impl Verdict {
    /// Where there was nothing to compare.
    pub(super) fn none(expectation: &Expectation, measured: String, bound: &Bound) -> Self {
        let holds = expectation.may_be_none;
        let advice = "Where that is as it should be, say may_be_none = true.".to_owned();
        let notes = if holds { Vec::new() } else { vec![advice] };
        Self { holds, wanted: bound.to_string(), measured, notes }
    }
}

/// A value and whose it is.
struct Seen {
    measured: Measured,
    subject: String,
}

/// The values of one figure.
#[derive(Default)]
pub(super) struct Tally {
    /// Flows, or what else has the figure, that were selected.
    selected: u64,
    passing: u64,
    failing: u64,
    unknown: u64,
    first_unknown: Option<String>,
    what_without: Option<String>,
    worst: Option<Seen>,
    nearest: Option<Seen>,
    largest: Option<Seen>,
    smallest: Option<Seen>,
    /// Of the values; of shares their parts and wholes.
    part: i128,
    whole: i128,
    /// The sum has a share in it.
    ratio: bool,
}

impl Tally {
    /// Adds what one selected part of the report has.
    pub(super) fn add(&mut self, figure: &Figure, bound: &Bound, part: &Value) {
        self.selected += 1;
        for found in values(figure, part) {
            match found {
                Found::Unknown => {
                    self.unknown += 1;
                    self.first_unknown.get_or_insert_with(|| subject(figure.scope, part));
                }
                Found::Without(what) => {
                    self.what_without.get_or_insert_with(|| what.to_owned());
                }
                Found::Value(measured) => self.value(bound, measured, || subject(figure.scope, part)),
            }
        }
    }

    fn value(&mut self, bound: &Bound, measured: Measured, subject: impl Fn() -> String) {
        match bound.holds(&measured) {
            Some(true) => self.passing += 1,
            Some(false) => self.failing += 1,
            None => {
                self.unknown += 1;
                self.first_unknown.get_or_insert_with(&subject);
                return;
            }
        }
        match measured {
            Measured::Number(Number::Whole(n)) => self.part += n,
            Measured::Share(part, whole) => {
                self.part += part;
                self.whole += whole;
                self.ratio = true;
            }
            _ => {}
        }
        let badness = |m: &Measured| bound.badness(m);
        let size = |m: &Measured| m.number().map_or(0.0, Number::real);
        keep(&mut self.worst, &measured, badness, &subject);
        keep(&mut self.nearest, &measured, |m| -badness(m), &subject);
        keep(&mut self.largest, &measured, size, &subject);
        keep(&mut self.smallest, &measured, |m| -size(m), &subject);
    }

    /// The end: what it all means.
    pub(super) fn verdict(self, expectation: &Expectation, figure: &Figure, bound: &Bound) -> Verdict {
        let mut verdict =
            Verdict { holds: false, wanted: bound.to_string(), measured: String::new(), notes: Vec::new() };
        let what = figure.scope.word();
        let show = |measured: &Measured| measured.show(bound.want.unit(), figure.kind).to_string();
        if figure.counts && figure.path.is_empty() {
            let count = Measured::Number(Number::Whole(self.selected.into()));
            verdict.holds = bound.keeps(&count);
            verdict.measured = show(&count);
            return verdict;
        }
        let compared = self.passing + self.failing;
        if compared + self.unknown == 0 {
            return Verdict::none(expectation, self.none(expectation, what), bound);
        }
        let any = expectation.over == Over::Any;
        if self.unknown != 0 && !(any && self.passing != 0) && !(expectation.over == Over::Each && self.failing != 0) {
            let share = if figure.share.is_some() { ": there is nothing to take the share of" } else { "" };
            verdict.measured = format!("not known from this capture{share}");
            if figure.scope != Scope::Totals {
                let first = self.first_unknown.unwrap_or_default();
                verdict.notes.push(format!("not known of {}; first of {first}", counted(self.unknown, "value")));
            }
            return verdict;
        }
        let sum = if self.ratio {
            Measured::Share(self.part, self.whole)
        } else {
            Measured::Number(Number::Whole(self.part))
        };
        let (holds, seen, measured) = match expectation.over {
            Over::Each => (self.failing == 0, self.worst, None),
            Over::Any => (self.passing != 0, self.nearest, None),
            Over::Max => (holds(bound, &self.largest), self.largest, None),
            Over::Min => (holds(bound, &self.smallest), self.smallest, None),
            Over::Sum => (bound.keeps(&sum), self.worst, Some(sum)),
        };
        verdict.holds = holds;
        let Some(seen) = seen else { return verdict };
        verdict.measured = show(measured.as_ref().unwrap_or(&seen.measured));
        if holds || figure.scope == Scope::Totals {
            return verdict;
        }
        verdict.notes.push(match expectation.over {
            Over::Each if self.failing > 1 => {
                format!("{} of {} fail; the worst: {}", self.failing, counted(compared, "value"), seen.subject)
            }
            Over::Sum if self.selected > 1 => {
                let worst = show(&seen.measured);
                format!("the sum of {}; the worst, with {worst}: {}", counted(self.selected, what), seen.subject)
            }
            Over::Any => format!("none of {}; the nearest: {}", counted(compared, "value"), seen.subject),
            _ => seen.subject,
        });
        verdict
    }

    /// What to say where nothing could be compared.
    fn none(&self, expectation: &Expectation, what: &str) -> String {
        match &self.what_without {
            Some(without) if without.ends_with('s') => format!("no {what} has {without}"),
            Some(without) => format!("no {what} has a {without}"),
            None if expectation.selected.is_empty() => format!("there is no {what}"),
            None => format!("no {what} is selected"),
        }
    }
}

fn holds(bound: &Bound, seen: &Option<Seen>) -> bool {
    seen.as_ref().is_some_and(|s| bound.keeps(&s.measured))
}

/// Keeps the first with the highest score.
fn keep(slot: &mut Option<Seen>, new: &Measured, score: impl Fn(&Measured) -> f64, subject: impl Fn() -> String) {
    if slot.as_ref().is_none_or(|old| score(new) > score(&old.measured)) {
        *slot = Some(Seen { measured: new.clone(), subject: subject() });
    }
}

/// Whose a figure is, for a person who looks for it.
fn subject(scope: Scope, part: &Value) -> String {
    let text = |name: &str| match part.get(name) {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => "?".to_owned(),
    };
    match scope {
        Scope::Totals | Scope::Paths => scope.word().to_owned(),
        Scope::Capture => text("path"),
        Scope::Connection => format!("connection {}", text("id")),
        Scope::Exchange => format!("exchange {}, {} -> {}", text("id"), text("requester"), text("responder")),
        Scope::Pause => format!("pauses of priority {}", text("priority")),
        Scope::Tap => format!("{} -> {}, {} -> {}", text("from"), text("to"), text("src"), text("dst")),
        Scope::Finding => format!("{}: {}", text("code"), text("title")),
        Scope::Flow => {
            let epoch = part.get("epoch").and_then(Value::as_u64).filter(|&e| e != 0);
            let epoch = epoch.map(|e| format!(" epoch {e}")).unwrap_or_default();
            let [id, src, dst, qp, transport] = ["id", "src", "dst", "dst_qp", "transport"].map(text);
            format!("flow {id}, {src} -> {dst} qp {qp} {transport}{epoch}")
        }
    }
}
