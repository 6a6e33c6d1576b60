//! A TOML text read by hand, so that every fault has its line and a wrong name the nearest right one.

use std::cell::RefCell;
use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::value::Value;

/// What is wrong at a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The line, from 1.
    pub line: usize,
    /// What does not fit, and what would.
    pub text: String,
}

/// A value and its place.
pub(crate) type Node<'t> = Spanned<DeValue<'t>>;

/// A text that is being read.
pub(crate) struct Doc {
    /// Where lines end.
    lines: Vec<usize>,
    faults: RefCell<Vec<Fault>>,
}

impl Doc {
    pub(crate) fn new(text: &str) -> Self {
        let lines = text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n').map(|(at, _)| at).collect();
        Self { lines, faults: RefCell::default() }
    }

    /// The line of an offset of the text.
    fn line(&self, offset: usize) -> usize {
        self.lines.partition_point(|&end| end < offset) + 1
    }

    /// Notes a fault at an offset of the text.
    pub(crate) fn fault(&self, offset: usize, text: impl Into<String>) {
        let line = self.line(offset);
        self.faults.borrow_mut().push(Fault { line, text: text.into() });
    }

    /// Whether nothing was wrong so far.
    pub(crate) fn is_right(&self) -> bool {
        self.faults.borrow().is_empty()
    }

    /// All faults, by line.
    pub(crate) fn faults(self) -> Vec<Fault> {
        let mut faults = self.faults.into_inner();
        faults.sort_by_key(|fault| fault.line);
        faults
    }
}

/// The nearest of some names, if one is near: a third of its letters may be wrong, one at least (chosen: two slips in
/// a key of six letters are found, and words of other things with a few letters in common are not).
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let distance = |known: &str| strsim::damerau_levenshtein(&word.to_lowercase(), &known.to_lowercase());
    let all = known.into_iter().map(|known| (distance(known), known));
    all.min_by_key(|(far, _)| *far).filter(|(far, known)| *far <= (known.len() / 3).max(1)).map(|(_, known)| known)
}

/// No word of a message is longer, whatever stood in the text.
pub(crate) fn short(word: &str) -> String {
    word.chars().take(40).collect()
}

/// A table that is being read: what nobody asks for is a fault.
pub(crate) struct Keys<'t> {
    pub(crate) doc: &'t Doc,
    table: &'t DeTable<'t>,
    at: usize,
    /// What it is called in messages: `[fabric]`.
    name: String,
    asked: RefCell<Vec<&'static str>>,
    /// Keys that are told not to fit here: they are not unknown, and nobody should be led to them.
    refused: RefCell<Vec<&'static str>>,
}

impl<'t> Keys<'t> {
    pub(crate) fn new(doc: &'t Doc, table: &'t DeTable<'t>, at: usize, name: &str) -> Self {
        Self { doc, table, at, name: name.to_owned(), asked: RefCell::default(), refused: RefCell::default() }
    }

    /// The table that a value is.
    pub(crate) fn of(doc: &'t Doc, node: &'t Node<'t>, name: &str) -> Option<Self> {
        let at = node.span().start;
        match node.get_ref().as_table() {
            Some(table) => Some(Self::new(doc, table, at, name)),
            None => {
                doc.fault(at, format!("{name} is a table of settings, not of type {}", node.get_ref().type_str()));
                None
            }
        }
    }

    /// The value of a key, as it stands there.
    pub(crate) fn node(&self, key: &'static str) -> Option<&'t Node<'t>> {
        self.asked.borrow_mut().push(key);
        self.find(key)
    }

    fn find(&self, key: &str) -> Option<&'t Node<'t>> {
        self.table.iter().find(|(name, _)| name.get_ref() == key).map(|(_, value)| value)
    }

    /// Notes that a key does not fit here, where it is there.
    pub(crate) fn refuse(&self, key: &'static str, why: &str) {
        if self.find(key).is_some() {
            self.refused.borrow_mut().push(key);
            self.fault_at(key, format!("{key}: {why}"));
        }
    }

    /// Where a path such as `switch.tiers.0.link` leads to, and whether all of it is there; else the last that is. A
    /// value alone is the first of a list.
    fn place(&self, path: &str) -> (usize, bool) {
        let (mut at, mut node): (usize, Option<&Node<'_>>) = (self.at, None);
        for part in path.split('.') {
            let next = match node.map(Spanned::get_ref) {
                None => self.find(part),
                Some(DeValue::Array(all)) => part.parse().ok().and_then(|nth: usize| all.get(nth)),
                Some(DeValue::Table(_)) if part == "0" => node,
                Some(DeValue::Table(table)) => {
                    table.iter().find(|(name, _)| name.get_ref() == part).map(|(_, value)| value)
                }
                Some(_) => None,
            };
            let Some(next) = next else { return (at, false) };
            (at, node) = (next.span().start, Some(next));
        }
        (at, true)
    }

    /// Whether a path leads to something.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.place(path).1
    }

    /// Notes a fault at the first of some paths that is there; where none is, as near to the first as there is.
    pub(crate) fn fault_in(&self, paths: &[&str], text: impl Into<String>) {
        let found = paths.iter().map(|path| self.place(path)).find(|(_, whole)| *whole);
        let near = paths.first().map_or((self.at, false), |path| self.place(path));
        self.doc.fault(found.unwrap_or(near).0, text);
    }

    /// The line of the table.
    pub(crate) fn at_line(&self) -> usize {
        self.doc.line(self.at)
    }

    /// The line of a key's value, where the key is there.
    pub(crate) fn line(&self, key: &'static str) -> Option<usize> {
        self.node(key).map(|node| self.doc.line(node.span().start))
    }

    /// The lines of the table, which is the value of `key`, and of all that was asked for.
    pub(crate) fn places(&self, key: &'static str, into: &mut BTreeMap<String, usize>) {
        into.insert(key.to_owned(), self.at_line());
        for (name, value) in self.table {
            into.insert(format!("{key}.{}", short(name.get_ref())), self.doc.line(value.span().start));
        }
    }

    /// The value of a key; `None` when it is not there, or wrong, which is then noted.
    pub(crate) fn get<T: Value>(&self, key: &'static str) -> Option<T> {
        self.node(key).and_then(|node| T::read(node, self.doc, key))
    }

    /// Sets what a key says.
    pub(crate) fn set<T: Value>(&self, key: &'static str, into: &mut T) {
        if let Some(value) = self.get(key) {
            *into = value;
        }
    }

    /// Sets what a key says, which must not be zero.
    pub(crate) fn set_some<T: Value + Default + PartialEq>(&self, key: &'static str, into: &mut T) {
        if let Some(value) = self.node(key).and_then(|node| T::read_some(node, self.doc, key)) {
            *into = value;
        }
    }

    /// The value of a key that must be there and not be zero.
    pub(crate) fn need_some<T: Value + Default + PartialEq>(&self, key: &'static str, such_as: &str) -> Option<T> {
        self.needed(key, such_as).and_then(|node| T::read_some(node, self.doc, key))
    }

    /// The value of a key that must be there.
    pub(crate) fn need<T: Value>(&self, key: &'static str, such_as: &str) -> Option<T> {
        self.needed(key, such_as).and_then(|node| T::read(node, self.doc, key))
    }

    /// The value of a key that must be there, as it stands there.
    fn needed(&self, key: &'static str, such_as: &str) -> Option<&'t Node<'t>> {
        let node = self.node(key);
        if node.is_none() {
            // A table that lacks something may not be read to its end, where unknown keys are told.
            let asked = self.asked.borrow();
            let unknown =
                self.table.iter().map(|(name, _)| name.get_ref()).filter(|name| !asked.contains(&name.as_ref()));
            let near = unknown.map(|name| short(name)).find(|name| nearest(name, [key]).is_some());
            let near = near.map_or(String::new(), |name| format!("; is it meant by {name:?}?"));
            self.fault(format!("{} needs {key}, such as {key} = {such_as}{near}", self.name));
        }
        node
    }

    /// The table of a key.
    pub(crate) fn table(&self, key: &'static str, name: &'static str) -> Option<Self> {
        self.node(key).and_then(|node| Self::of(self.doc, node, name))
    }

    /// All tables of a key that is a list of them.
    pub(crate) fn tables(&self, key: &'static str, name: &'static str) -> Vec<Self> {
        let Some(node) = self.node(key) else { return Vec::new() };
        match node.get_ref().as_array() {
            Some(all) => all.iter().filter_map(|node| Self::of(self.doc, node, name)).collect(),
            None => {
                self.doc.fault(node.span().start, format!("{key} is a list of tables: start each with {name}"));
                Vec::new()
            }
        }
    }

    /// One of some names.
    pub(crate) fn name(&self, key: &'static str, known: &[&'static str]) -> Option<&'static str> {
        let word: String = self.get(key)?;
        let found = known.iter().find(|name| **name == word).copied();
        if found.is_none() {
            let at = self.find(key).map_or(self.at, |node| node.span().start);
            self.doc.fault(at, unknown_word(key, &word, known));
        }
        found
    }

    /// Notes a fault of the table as a whole.
    pub(crate) fn fault(&self, text: impl Into<String>) {
        self.doc.fault(self.at, text);
    }

    /// Notes a fault of a key's value.
    pub(crate) fn fault_at(&self, key: &'static str, text: impl Into<String>) {
        let at = self.find(key).map_or(self.at, |node| node.span().start);
        self.doc.fault(at, text);
    }

    /// Ends the reading: what nobody asked for is unknown.
    pub(crate) fn done(self) {
        let (mut asked, refused) = (self.asked.borrow().clone(), self.refused.borrow());
        asked.sort_unstable();
        asked.dedup();
        let known = |key: &str| asked.contains(&key) || refused.contains(&key);
        for (key, _) in self.table.iter().filter(|(key, _)| !known(key.get_ref())) {
            let word = short(key.get_ref());
            // What stands there already cannot be meant.
            let free: Vec<&str> = asked.iter().copied().filter(|key| self.find(key).is_none()).collect();
            let hint = match nearest(&word, free.iter().copied()) {
                Some(near) => format!("; did you mean {near:?}?"),
                None if asked.is_empty() => ": it has no settings".to_owned(),
                None => format!("; it can have {}", asked.join(", ")),
            };
            self.doc.fault(key.span().start, format!("unknown key {word:?} in {}{hint}", self.name));
        }
    }
}

/// The words for a word that is none of those that are known.
pub(crate) fn unknown_word(key: &str, word: &str, known: &[&'static str]) -> String {
    let word = short(word);
    let near = nearest(&word, known.iter().copied()).map_or(String::new(), |near| format!("; did you mean {near:?}?"));
    format!("{key} = {word:?} is not known; it is one of {}{near}", known.join(", "))
}

/// What has settings that a text can change.
pub(crate) trait Knobs {
    /// Sets what the table says.
    fn knobs(&mut self, keys: &Keys<'_>);
}

/// Makes every field of a struct a key of a scenario's text: all of them must be named, so that none is forgotten.
/// Those that must not be zero are followed by `> 0`.
macro_rules! knobs {
    ($type:ty { $($field:ident $(> $zero:literal)?),* $(,)? }) => {
        impl $crate::scenario::Knobs for $type {
            fn knobs(&mut self, _keys: &$crate::scenario::Keys<'_>) {
                let Self { $($field),* } = self;
                $($crate::scenario::knobs!(@one _keys $field $($zero)?);)*
            }
        }
    };
    (@one $keys:ident $field:ident) => { $keys.set(stringify!($field), $field) };
    (@one $keys:ident $field:ident $zero:literal) => { $keys.set_some(stringify!($field), $field) };
}
pub(crate) use knobs;

#[cfg(test)]
mod tests {
    use crate::scenario::Scenario;

    #[test]
    fn only_what_is_near_and_fits_is_suggested() {
        let tail = "[[traffic]]\nkind = \"incast\"\nto = 0\nbytes = 1\n";
        for (text, hint) in [
            ("shape = \"torus\"", "it is one of ai_zone, clos2, dumbbell, fat_tree, long_haul, rail, ring, star"),
            (
                "shape = \"star\"\nhosts = 4\ncolour = 1",
                "[fabric]; it can have delay, hosts, inside, metres, rate, shape",
            ),
            // It stands there already.
            (
                "shape = \"star\"\nhosts = 4\nhots = 5",
                "[fabric]; it can have delay, hosts, inside, metres, rate, shape",
            ),
            ("shape = \"star\"\nhosts = 4\nrat = 5", "[fabric]; did you mean \"rate\"?"),
            // A cable is no number of switches.
            (
                "shape = \"clos2\"\nleaves = 2\nhosts_per_leaf = 2\nspine = {}",
                "[fabric] needs spines, such as spines = 4",
            ),
            ("shape = \"star\"\nhost = 4", "needs hosts, such as hosts = 4; is it meant by \"host\"?"),
        ] {
            let found = Scenario::parse(&format!("[fabric]\n{text}\n{tail}")).unwrap_err().to_string();
            assert!(found.lines().any(|line| line.ends_with(hint)), "{found}");
        }
        // A flow file has lanes of its own: nobody is led to them.
        let file = "[fabric]\nshape = \"star\"\nhosts = 4\n[[traffic]]\nkind = \"htsim\"\nfile = \"a.cm\"\nlan = 1\n";
        let cm = "Nodes 4\nConnections 1\n0->1 id 1 start 0 size 1\n";
        let found = Scenario::parse_with(file, &mut |_| Ok(cm.to_owned())).unwrap_err().to_string();
        assert!(found.ends_with("[[traffic]]; it can have file, kind, limit, name, priority, start"), "{found}");
    }
}
