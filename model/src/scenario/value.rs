//! What can stand behind a key: numbers with their units, names, lists.

use rocetop_parsers::Bytes;

use super::reader::{Doc, Keys, Node, short, unknown_word};
use crate::topology::Cable;
use crate::units::{Each, Metres, Priorities, Priority, Rate, Time};

/// A value of a scenario's text.
pub(crate) trait Value: Sized {
    /// Reads it; a fault is noted under the name of its key.
    fn read(node: &Node<'_>, doc: &Doc, key: &str) -> Option<Self>;
}

/// Notes that a value is of another kind than it should be.
fn wrong<T>(node: &Node<'_>, doc: &Doc, key: &str, wanted: &str) -> Option<T> {
    let is = match node.get_ref().as_str() {
        Some(text) => format!("{:?}", short(text)),
        None => match (whole(node), float(node)) {
            (Some(number), _) => number.to_string(),
            (None, Some(number)) => number.to_string(),
            _ => format!("of type {}", node.get_ref().type_str()),
        },
    };
    doc.fault(node.span().start, format!("{key} is {is}; it must be {wanted}"));
    None
}

fn whole(node: &Node<'_>) -> Option<i64> {
    let number = node.get_ref().as_integer()?;
    i64::from_str_radix(number.as_str(), number.radix()).ok()
}

fn float(node: &Node<'_>) -> Option<f64> {
    let number: f64 = node.get_ref().as_float()?.as_str().parse().ok()?;
    number.is_finite().then_some(number)
}

/// A number and its unit as a count of the smallest unit, rounded: `"1.5 us"`, `"100 Gb/s"`.
fn measure(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_')?;
    let (number, unit) = text.split_at(split);
    let unit = unit.trim();
    let (_, weight) = units.iter().find(|(name, _)| *name == unit)?;
    let number = number.replace('_', "");
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(*weight);
    }
    let value = number.parse::<f64>().ok()? * *weight as f64;
    // Exact up to 2^53, and nobody writes more digits.
    (value < 9e15).then(|| value.round() as u64)
}

impl Value for String {
    fn read(node: &Node<'_>, doc: &Doc, key: &str) -> Option<Self> {
        match node.get_ref().as_str() {
            Some(text) => Some(text.to_owned()),
            None => wrong(node, doc, key, "a text in quotes"),
        }
    }
}

impl Value for bool {
    fn read(node: &Node<'_>, doc: &Doc, key: &str) -> Option<Self> {
        node.get_ref().as_bool().or_else(|| wrong(node, doc, key, "true or false"))
    }
}

/// A share or a factor: not below zero.
impl Value for f64 {
    fn read(node: &Node<'_>, doc: &Doc, key: &str) -> Option<Self> {
        let number = float(node).or_else(|| whole(node).map(|number| number as f64));
        number.filter(|number| *number >= 0.0).or_else(|| wrong(node, doc, key, "a number, not below zero"))
    }
}

macro_rules! whole_numbers {
    ($($type:ty),*) => {$(
        impl Value for $type {
            fn read(node: &Node<'_>, doc: &Doc, key: &str) -> Option<Self> {
                let number = whole(node).and_then(|number| Self::try_from(number).ok());
                let most = Self::MAX.min(i64::MAX as Self);
                number.or_else(|| wrong(node, doc, key, &format!("a whole number from 0 to {most}")))
            }
        }
    )*};
}
whole_numbers!(u8, u16, u32, u64);

impl Value for Time {
    fn read(node: &Node<'_>, doc: &Doc, key: &str) -> Option<Self> {
        const UNITS: &[(&str, u64)] =
            &[("ps", 1), ("ns", 1_000), ("us", 1_000_000), ("ms", 1_000_000_000), ("s", 1_000_000_000_000)];
        let text = node.get_ref().as_str();
        if text == Some("never") {
            return Some(Self::NEVER);
        }
        let time = text.and_then(|text| measure(text, UNITS)).map(Self);
        time.or_else(|| {
            wrong(node, doc, key, "a time with its unit (ps, ns, us, ms, s), such as \"55 us\", or \"never\"")
        })
    }
}

impl Value for Rate {
    fn read(node: &Node<'_>, doc: &Doc, key: &str) -> Option<Self> {
        const UNITS: &[(&str, u64)] =
            &[("b/s", 1), ("kb/s", 1_000), ("Mb/s", 1_000_000), ("Gb/s", 1_000_000_000), ("Tb/s", 1_000_000_000_000)];
        let rate = node.get_ref().as_str().and_then(|text| measure(text, UNITS)).filter(|rate| *rate > 0).map(Self);
        rate.or_else(|| wrong(node, doc, key, "a rate with its unit (Mb/s, Gb/s, Tb/s), such as \"100 Gb/s\""))
    }
}

impl Value for Bytes {
    fn read(node: &Node<'_>, doc: &Doc, key: &str) -> Option<Self> {
        const UNITS: &[(&str, u64)] = &[
            ("B", 1),
            ("KB", 1_000),
            ("kB", 1_000),
            ("MB", 1_000_000),
            ("GB", 1_000_000_000),
            ("TB", 1_000_000_000_000),
            ("KiB", 1 << 10),
            ("MiB", 1 << 20),
            ("GiB", 1 << 30),
        ];
        let number = whole(node).and_then(|number| u64::try_from(number).ok());
        let bytes = number.or_else(|| node.get_ref().as_str().and_then(|text| measure(text, UNITS))).map(Self);
        bytes.or_else(|| wrong(node, doc, key, "bytes, such as 4096 or \"64 KiB\" (B, kB, MB, GB, KiB, MiB, GiB)"))
    }
}

impl Value for Metres {
    fn read(node: &Node<'_>, doc: &Doc, key: &str) -> Option<Self> {
        let number = whole(node).and_then(|number| u64::try_from(number).ok());
        let text = || node.get_ref().as_str().and_then(|text| measure(text, &[("m", 1), ("km", 1_000)]));
        number.or_else(text).map(Self).or_else(|| wrong(node, doc, key, "metres, such as 30 or \"3000 km\""))
    }
}

impl Value for Priority {
    fn read(node: &Node<'_>, doc: &Doc, key: &str) -> Option<Self> {
        let number = whole(node).filter(|number| (0..8).contains(number));
        number.map(|number| Self::new(number as u8)).or_else(|| wrong(node, doc, key, "a priority from 0 to 7"))
    }
}

impl Value for Priorities {
    fn read(node: &Node<'_>, doc: &Doc, key: &str) -> Option<Self> {
        let Some(all) = node.get_ref().as_array() else {
            return wrong(node, doc, key, "a list of priorities, such as [3]");
        };
        all.iter().try_fold(Self::NONE, |set, node| Some(set.with(Priority::read(node, doc, key)?)))
    }
}

/// A value, or `"none"`.
impl<T: Value> Value for Option<T> {
    fn read(node: &Node<'_>, doc: &Doc, key: &str) -> Option<Self> {
        if node.get_ref().as_str() == Some("none") { Some(None) } else { T::read(node, doc, key).map(Some) }
    }
}

/// A list; one value alone stands for a list of one.
impl<T: Value> Value for Vec<T> {
    fn read(node: &Node<'_>, doc: &Doc, key: &str) -> Option<Self> {
        match node.get_ref().as_array() {
            Some(all) => all.iter().map(|node| T::read(node, doc, key)).collect(),
            None => Some(vec![T::read(node, doc, key)?]),
        }
    }
}

impl<T: Value + Copy, const N: usize> Value for [T; N] {
    fn read(node: &Node<'_>, doc: &Doc, key: &str) -> Option<Self> {
        match node.get_ref().as_array() {
            Some(all) if all.len() == N => {
                let values: Option<Vec<T>> = all.iter().map(|node| T::read(node, doc, key)).collect();
                values?.try_into().ok()
            }
            _ => wrong(node, doc, key, &format!("a list of {N} values")),
        }
    }
}

impl<T: Value + Copy> Value for Each<T> {
    fn read(node: &Node<'_>, doc: &Doc, key: &str) -> Option<Self> {
        <[T; Priority::COUNT]>::read(node, doc, key).map(Self)
    }
}

/// A cable: a table of `rate` and `delay`, or of `rate`, `metres` and `inside`; what is not said is that of `base`.
pub(super) fn cable(keys: &Keys<'_>, base: Cable) -> Cable {
    let rate = keys.get("rate").unwrap_or(base.rate);
    let (delay, metres): (Option<Time>, Option<Metres>) = (keys.get("delay"), keys.get("metres"));
    let inside: Option<Time> = keys.get("inside");
    let cable = match (delay, metres, inside) {
        (None, None, None) => Cable { rate, ..base },
        (Some(delay), None, None) => Cable { rate, delay },
        (None, Some(metres), inside) => Cable::metres(rate, metres, inside.unwrap_or(INSIDE)),
        (Some(_), _, _) => {
            keys.fault_at("delay", "delay is all of a cable's time; leave out metres and inside, or delay");
            base
        }
        (None, None, Some(_)) => {
            keys.fault_at("inside", "inside is what a node adds to the cable's own time; say metres too");
            base
        }
    };
    if cable.delay == Time::NEVER {
        let key = if delay.is_some() { "delay" } else { "metres" };
        keys.fault_at(key, format!("{key}: nothing would ever come out of the cable"));
    }
    cable
}

/// What a frame takes inside the node at the end of its cable, unless something else is said: a switch's pipeline is
/// half a microsecond or so.
const INSIDE: Time = Time::ns(500);

/// One of the names of an enum's variants.
pub(super) fn word<T: Copy>(node: &Node<'_>, doc: &Doc, key: &str, words: &[(&'static str, T)]) -> Option<T> {
    let text = String::read(node, doc, key)?;
    let found = words.iter().find(|(name, _)| *name == text).map(|(_, value)| *value);
    if found.is_none() {
        let names: Vec<&'static str> = words.iter().map(|(name, _)| *name).collect();
        doc.fault(node.span().start, unknown_word(key, &text, &names));
    }
    found
}

/// Makes an enum a value that is written as one of some words.
macro_rules! words {
    ($type:ty { $($word:literal => $value:expr),* $(,)? }) => {
        impl Value for $type {
            fn read(node: &Node<'_>, doc: &Doc, key: &str) -> Option<Self> {
                word(node, doc, key, &[$(($word, $value)),*])
            }
        }
    };
}
pub(super) use words;
