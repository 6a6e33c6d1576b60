//! What can stand behind a key: numbers with their units, names, lists.

use rocetop_parsers::Bytes;

use super::reader::{Doc, Keys, Node, short, unknown_word};
use crate::topology::Cable;
use crate::units::{Each, Metres, Priorities, Priority, Rate, Time};

/// A value of a scenario's text.
pub(crate) trait Value: Sized {
    /// Reads it; a fault is noted under the name of its key.
    fn read(node: &Node<'_>, doc: &Doc, key: &str) -> Option<Self>;

    /// Reads one that must not be zero.
    fn read_some(node: &Node<'_>, doc: &Doc, key: &str) -> Option<Self>
    where
        Self: Default + PartialEq,
    {
        let value = Self::read(node, doc, key)?;
        if value == Self::default() { zero(node, doc, key) } else { Some(value) }
    }
}

/// Notes that a value is zero.
fn zero<T>(node: &Node<'_>, doc: &Doc, key: &str) -> Option<T> {
    doc.fault(node.span().start, format!("{key} is zero; it must be more"));
    None
}

/// Notes that a value is of another kind than it should be.
fn wrong<T>(node: &Node<'_>, doc: &Doc, key: &str, wanted: &str) -> Option<T> {
    doc.fault(node.span().start, format!("{key} is {}; it must be {wanted}", told(node)));
    None
}

/// A value as it stands in the text.
fn told(node: &Node<'_>) -> String {
    let value = node.get_ref();
    match (value.as_str(), whole(node)) {
        (Some(text), _) => format!("{:?}", short(text)),
        (None, Some(number)) => number.to_string(),
        _ => match (value.as_integer(), value.as_float()) {
            (Some(number), _) => short(number.as_str()),
            (None, Some(number)) => short(number.as_str()),
            _ => format!("of type {}", value.type_str()),
        },
    }
}

/// A whole number. No integer of TOML is larger than the largest of 64 bits with a sign, but those of a model are.
fn whole(node: &Node<'_>) -> Option<i128> {
    let number = node.get_ref().as_integer()?;
    i128::from_str_radix(number.as_str(), number.radix()).ok()
}

fn float(node: &Node<'_>) -> Option<f64> {
    let number: f64 = node.get_ref().as_float()?.as_str().parse().ok()?;
    number.is_finite().then_some(number)
}

/// Units and what they are of the smallest.
type Units = &'static [(&'static str, u64)];

/// What can be wrong with a number and its unit.
enum Wrong {
    /// It is no such thing.
    Form,
    /// It is larger than can be counted.
    Large,
}

/// A number and its unit as a count of the smallest unit, rounded: `"1.5 us"`, `"100 Gb/s"`, `"2e3 s"`.
fn measure(text: &str, units: Units) -> Result<u64, Wrong> {
    /// 2^64.
    const MOST: f64 = 18_446_744_073_709_551_616.0;
    let (number, unit) = text.trim().split_at(digits(text.trim()));
    let number = number.replace('_', "");
    let exact = number.parse::<u64>().ok();
    let value = number.parse::<f64>().map_err(|_| Wrong::Form)?;
    // Too large in every unit: then it is no matter whether the unit is one.
    if exact.is_none() && value >= MOST {
        return Err(Wrong::Large);
    }
    let (_, weight) = units.iter().find(|(name, _)| *name == unit.trim()).ok_or(Wrong::Form)?;
    if let Some(whole) = exact {
        return whole.checked_mul(*weight).ok_or(Wrong::Large);
    }
    let value = value * *weight as f64;
    // Exact up to 2^53, and nobody writes more digits.
    if value < MOST { Ok(value.round() as u64) } else { Err(Wrong::Large) }
}

/// How long the number at the start of a text is.
fn digits(text: &str) -> usize {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(text.len());
    let (_, rest) = text.split_at(end);
    let power = rest.strip_prefix(['e', 'E']).map(|power| power.strip_prefix(['+', '-']).unwrap_or(power));
    let power = power.map_or(rest, |power| power.trim_start_matches(|c: char| c.is_ascii_digit()));
    // No digit behind it: then it is the start of a unit.
    let read = rest.len() - power.len();
    let (read, _) = rest.split_at(read);
    if read.ends_with(|c: char| c.is_ascii_digit()) { end + read.len() } else { end }
}

/// What is written as a number and its unit.
struct Quantity {
    units: Units,
    /// Whether a number without a unit is one too.
    bare: bool,
    /// The largest there is.
    most: u64,
    /// What it is called where something else stands, with its units.
    wanted: &'static str,
}

impl Quantity {
    /// Reads it as a count of the smallest unit.
    fn read(&self, node: &Node<'_>, doc: &Doc, key: &str) -> Option<u64> {
        let value = node.get_ref();
        let found = match value.as_str() {
            Some(text) => measure(text, self.units),
            None if self.bare && value.as_integer().is_some() => match whole(node) {
                Some(number) if number < 0 => Err(Wrong::Form),
                number => number.and_then(|number| u64::try_from(number).ok()).ok_or(Wrong::Large),
            },
            None => Err(Wrong::Form),
        };
        match found {
            Ok(number) if number <= self.most => Some(number),
            Err(Wrong::Form) => wrong(node, doc, key, self.wanted),
            _ => {
                let largest = self.units.iter().max_by_key(|(_, weight)| *weight);
                let most = largest.map_or(String::new(), |(name, weight)| format!("{} {name}", self.most / weight));
                doc.fault(
                    node.span().start,
                    format!("{key} is {}, which is too large; the most is {most}", told(node)),
                );
                None
            }
        }
    }
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

/// A whole number of some type.
fn whole_number<T: TryFrom<i128>>(node: &Node<'_>, doc: &Doc, key: &str, least: u8, most: u64) -> Option<T> {
    let number = whole(node).filter(|number| (i128::from(least)..=i128::from(most)).contains(number));
    let number = number.and_then(|number| T::try_from(number).ok());
    number.or_else(|| wrong(node, doc, key, &format!("a whole number from {least} to {most}")))
}

macro_rules! whole_numbers {
    ($($type:ty),*) => {$(
        impl Value for $type {
            fn read(node: &Node<'_>, doc: &Doc, key: &str) -> Option<Self> {
                whole_number(node, doc, key, 0, Self::MAX.min(i64::MAX as Self).into())
            }

            fn read_some(node: &Node<'_>, doc: &Doc, key: &str) -> Option<Self> {
                if whole(node) == Some(0) {
                    return zero(node, doc, key);
                }
                whole_number(node, doc, key, 1, Self::MAX.min(i64::MAX as Self).into())
            }
        }
    )*};
}
whole_numbers!(u8, u16, u32, u64);

impl Value for Time {
    fn read(node: &Node<'_>, doc: &Doc, key: &str) -> Option<Self> {
        const TIME: Quantity = Quantity {
            units: &[("ps", 1), ("ns", 1_000), ("us", 1_000_000), ("ms", 1_000_000_000), ("s", 1_000_000_000_000)],
            bare: false,
            most: Time::NEVER.0 - 1,
            wanted: "a time with its unit (ps, ns, us, ms, s), such as \"55 us\", or \"never\"",
        };
        if node.get_ref().as_str() == Some("never") {
            return Some(Self::NEVER);
        }
        TIME.read(node, doc, key).map(Self)
    }
}

impl Value for Rate {
    fn read(node: &Node<'_>, doc: &Doc, key: &str) -> Option<Self> {
        const RATE: Quantity = Quantity {
            units: &[
                ("b/s", 1),
                ("kb/s", 1_000),
                ("Mb/s", 1_000_000),
                ("Gb/s", 1_000_000_000),
                ("Tb/s", 1_000_000_000_000),
            ],
            bare: false,
            most: u64::MAX,
            wanted: "a rate with its unit (Mb/s, Gb/s, Tb/s), such as \"100 Gb/s\"",
        };
        match RATE.read(node, doc, key)? {
            0 => zero(node, doc, key),
            rate => Some(Self(rate)),
        }
    }
}

impl Value for Bytes {
    fn read(node: &Node<'_>, doc: &Doc, key: &str) -> Option<Self> {
        const BYTES: Quantity = Quantity {
            units: &[
                ("B", 1),
                ("KB", 1_000),
                ("kB", 1_000),
                ("MB", 1_000_000),
                ("GB", 1_000_000_000),
                ("TB", 1_000_000_000_000),
                ("KiB", 1 << 10),
                ("MiB", 1 << 20),
                ("GiB", 1 << 30),
            ],
            bare: true,
            most: u64::MAX,
            wanted: "bytes, such as 4096 or \"64 KiB\" (B, kB, MB, GB, TB, KiB, MiB, GiB)",
        };
        BYTES.read(node, doc, key).map(Self)
    }
}

impl Value for Metres {
    fn read(node: &Node<'_>, doc: &Doc, key: &str) -> Option<Self> {
        const METRES: Quantity = Quantity {
            units: &[("m", 1), ("km", 1_000)],
            bare: true,
            most: u64::MAX,
            wanted: "metres, such as 30 or \"3000 km\"",
        };
        METRES.read(node, doc, key).map(Self)
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
/// half a microsecond or so (chosen).
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

#[cfg(test)]
mod tests {
    use crate::scenario::{Faults, Scenario};

    /// What is said of the last line of a scenario.
    fn said(line: &str) -> String {
        let text = "[[traffic]]\nkind = \"incast\"\nto = 0\nbytes = 1000\n[fabric]\nshape = \"star\"\nhosts = 2\n";
        match Scenario::parse(&format!("{text}{line}\n")) {
            Ok(_) => String::new(),
            Err(Faults(faults)) => faults.first().map_or(String::new(), |fault| fault.text.clone()),
        }
    }

    #[test]
    fn too_large_is_no_lack_of_a_unit() {
        for (line, fault) in [
            (
                "rate = \"99999999999999999999Gbps\"",
                "rate is \"99999999999999999999Gbps\", which is too large; the most is 18446744 Tb/s",
            ),
            ("rate = \"18446745 Tb/s\"", "rate is \"18446745 Tb/s\", which is too large; the most is 18446744 Tb/s"),
            ("delay = \"1e30s\"", "delay is \"1e30s\", which is too large; the most is 18446744 s"),
            (
                "delay = \"18446744073709551615 ps\"",
                "delay is \"18446744073709551615 ps\", which is too large; the most is 18446744 s",
            ),
            (
                "metres = 99999999999999999999",
                "metres is 99999999999999999999, which is too large; the most is 18446744073709551 km",
            ),
            (
                "rate = \"100 Gbps\"",
                "rate is \"100 Gbps\"; it must be a rate with its unit (Mb/s, Gb/s, Tb/s), such as \"100 Gb/s\"",
            ),
            ("rate = \"0 Gb/s\"", "rate is zero; it must be more"),
            (
                "delay = \"5\"",
                "delay is \"5\"; it must be a time with its unit (ps, ns, us, ms, s), such as \"55 us\", or \"never\"",
            ),
            (
                "delay = \"1e us\"",
                "delay is \"1e us\"; it must be a time with its unit (ps, ns, us, ms, s), such as \"55 us\", \
                 or \"never\"",
            ),
            ("metres = -1", "metres is -1; it must be metres, such as 30 or \"3000 km\""),
            ("[nic]\nmtu = \"1e30\"", "mtu is \"1e30\", which is too large; the most is 18446744 TB"),
            ("[nic]\nack_every = 65536", "ack_every is 65536; it must be a whole number from 1 to 65535"),
            ("[nic]\nack_every = 0", "ack_every is zero; it must be more"),
            ("[nic]\nretries = 256", "retries is 256; it must be a whole number from 0 to 255"),
            (
                "[nic]\nmtu = true",
                "mtu is of type boolean; it must be bytes, such as 4096 or \"64 KiB\" (B, kB, MB, GB, TB, KiB, MiB, \
                 GiB)",
            ),
            ("[cc]\nname = \"dcqcn\"\ng = inf", "g is inf; it must be a number, not below zero"),
        ] {
            assert_eq!(said(line), fault);
        }
        for line in ["delay = \"10000.5 s\"", "delay = \"1e3 ns\"", "rate = \"1.5E2 Gb/s\"", "delay = \"1_000 ns\""] {
            assert_eq!(said(line), "", "{line}");
        }
    }
}
