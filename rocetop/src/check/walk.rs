//! From a part of the report to the values that a name means in it.

use serde_json::Value;

use super::file::Condition;
use super::language::Bound;
use super::names::Figure;
use super::shares::Share;
use super::value::{Measured, Number};

/// What there is at a name's place.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Found<'f> {
    Value(Measured),
    /// Null: the capture does not tell.
    Unknown,
    /// There is nothing that could have such a figure: a null or an empty list on the way, by its name.
    Without(&'f str),
}

/// All that a figure means in one part of the report.
pub(super) fn values<'f>(figure: &'f Figure, part: &Value) -> Vec<Found<'f>> {
    let mut found = Vec::new();
    match figure.share {
        Some(share) => found.push(ratio(share, part)),
        None => walk(part, &figure.path, "", figure.counts, &mut found),
    }
    found
}

fn walk<'f>(value: &Value, path: &'f [String], on: &'f str, counts: bool, found: &mut Vec<Found<'f>>) {
    let Some((word, rest)) = path.split_first() else {
        let measured = match value.as_array() {
            Some(all) if counts => Some(Measured::Number(Number::Whole(all.len() as i128))),
            _ => Measured::of(value),
        };
        return found.push(measured.map_or(Found::Unknown, Found::Value));
    };
    if word == "[]" {
        match value.as_array() {
            Some(all) if !all.is_empty() => all.iter().for_each(|v| walk(v, rest, word, counts, found)),
            _ => found.push(Found::Without(on)),
        }
        return;
    }
    // Percentiles of nothing are written as 0.
    if matches!(word.as_str(), "p50" | "p99" | "max") && value.get("count").is_some_and(|n| *n == 0) {
        return found.push(Found::Unknown);
    }
    match value.get(word) {
        Some(Value::Null) if !rest.is_empty() => found.push(Found::Without(word)),
        Some(inner) => walk(inner, rest, word, counts, found),
        // Opcodes that do not occur are left out of the report.
        None if on == "opcodes" => found.push(Found::Value(Measured::Number(Number::Whole(0)))),
        None => found.push(Found::Unknown),
    }
}

fn ratio<'f>(share: &'static Share, part: &Value) -> Found<'f> {
    let sum = |fields: &'static [&'static str]| -> Result<i128, Found<'f>> {
        let mut sum = 0;
        for field in fields {
            let mut value = part;
            for word in field.split('.') {
                if value.is_null() {
                    return Err(Found::Without(field.split('.').next().unwrap_or_default()));
                }
                value = value.get(word).unwrap_or(&Value::Null);
            }
            sum += i128::from(value.as_u64().ok_or(Found::Unknown)?);
        }
        Ok(sum)
    };
    match sum(share.part).and_then(|part| Ok((part, sum(share.whole)?))) {
        Ok((part, whole)) if whole != 0 => Found::Value(Measured::Share(part, whole)),
        Ok(_) => Found::Unknown,
        Err(found) => found,
    }
}

/// Whether a flow, or another part of the report, is selected. `family` are the flows of its connection, if it has one.
pub(super) fn selected(select: &[Condition], part: &Value, family: &[Value]) -> bool {
    select.iter().all(|condition| match condition {
        Condition::Figure { figure, any_of } => values(figure, part).iter().any(|found| fits(found, any_of)),
        Condition::Qpn(any_of) => family.iter().any(|flow| is_one_of(flow, ["dst_qp", "src_qp"], any_of)),
        Condition::Host(any_of) => is_one_of(part, ["src", "dst"], any_of),
    })
}

/// Whether one of these fields has one of these values.
fn is_one_of<T>(part: &Value, fields: [&str; 2], any_of: &[T]) -> bool
where
    Value: PartialEq<T>,
{
    fields.iter().filter_map(|field| part.get(field)).any(|value| any_of.iter().any(|wanted| value == wanted))
}

fn fits(found: &Found<'_>, any_of: &[Bound]) -> bool {
    let Found::Value(measured) = found else { return false };
    any_of.iter().any(|bound| bound.keeps(measured))
}
