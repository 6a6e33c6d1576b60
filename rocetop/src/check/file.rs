//! The file of expectations: TOML, read by hand so that each fault has its line.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::language::{Bound, Operator, That, split, that};
use super::names::{Figure, Names, Scope, nearest};
use super::value::{Kind, Want};
use crate::report::select::{Host, QpNumber};

/// More is no file of expectations.
const MOST: u64 = 1 << 20;

/// How the values of several flows become one verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Over {
    Each,
    Any,
    Sum,
    Max,
    Min,
}

const OVERS: [(&str, Over); 5] =
    [("each", Over::Each), ("any", Over::Any), ("sum", Over::Sum), ("max", Over::Max), ("min", Over::Min)];

impl Over {
    pub(super) fn name(self) -> &'static str {
        OVERS.iter().find(|(_, o)| *o == self).map_or("", |(name, _)| name)
    }
}

/// What a flow, or another part of the report, must be like to be looked at.
#[derive(Clone, Debug)]
pub(super) enum Condition {
    /// One of these bounds holds for the figure.
    Figure { figure: Figure, any_of: Vec<Bound> },
    /// One of these queue pair numbers at either end of the connection.
    Qpn(Vec<u32>),
    /// One of these addresses at either end.
    Host(Vec<String>),
}

/// One expectation.
#[derive(Clone, Debug)]
pub struct Expectation {
    name: Option<String>,
    why: Option<String>,
    /// As it was written.
    text: String,
    file: String,
    line: usize,
    pub(super) that: That,
    pub(super) select: Vec<Condition>,
    /// The selection as it was written.
    pub(super) selected: String,
    pub(super) over: Over,
    over_written: bool,
    pub(super) may_be_none: bool,
}

impl Expectation {
    /// What it is called: its name, or what it says.
    #[must_use]
    pub fn title(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.says())
    }

    /// What it says: the line as it was written, over what, where.
    #[must_use]
    pub fn says(&self) -> String {
        let mut text = self.text.clone();
        if self.over_written {
            text = format!("{} of {text}", self.over.name());
        }
        if !self.selected.is_empty() {
            text = format!("{text} where {}", self.selected);
        }
        text
    }

    /// Why it matters, on one line.
    #[must_use]
    pub fn why(&self) -> Option<&String> {
        self.why.as_ref()
    }

    /// The file that it is from.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Its line there.
    #[must_use]
    pub fn line(&self) -> usize {
        self.line
    }
}

/// What is wrong at a line.
#[derive(Debug, PartialEq, Eq)]
pub struct Fault {
    pub(super) line: usize,
    pub(super) text: String,
}

/// Why a file of expectations cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The system does not give it.
    #[error("cannot read {path}: {error}")]
    Read {
        /// The file.
        path: String,
        /// The system's words.
        error: io::Error,
    },
    /// It is no text of reasonable size.
    #[error("{path} is no file of expectations: {why}; `rocetop check --help` shows one")]
    Other {
        /// The file.
        path: String,
        /// What it is instead.
        why: &'static str,
    },
    /// It is not understood.
    #[error("{}", told(.path, .faults))]
    Faults {
        /// The file.
        path: String,
        /// All that is wrong.
        faults: Vec<Fault>,
    },
}

fn told(path: &str, faults: &[Fault]) -> impl fmt::Display {
    /// So many can be mended before the next run.
    const SHOWN: usize = 10;
    let mut lines: Vec<String> =
        faults.iter().take(SHOWN).map(|fault| format!("{path}:{}: {}", fault.line, fault.text)).collect();
    if faults.len() > SHOWN {
        lines.push(format!("{path}: and {} more", faults.len() - SHOWN));
    }
    lines.join("\n")
}

/// Reads a file.
///
/// # Errors
/// [`FileError`], with every fault and its line.
pub fn read(path: &Path) -> Result<Vec<Expectation>, FileError> {
    let name = path.display().to_string();
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MOST + 1).read_to_end(&mut bytes));
    if let Err(error) = read {
        return Err(FileError::Read { path: name, error });
    }
    if bytes.len() as u64 > MOST {
        return Err(FileError::Other { path: name, why: "it is larger than 1 MiB" });
    }
    let Ok(text) = String::from_utf8(bytes) else {
        return Err(FileError::Other { path: name, why: "it is not UTF-8 text" });
    };
    parse(&name, &text).map_err(|faults| FileError::Faults { path: name, faults })
}

/// Reads the text of a file.
pub(super) fn parse(file: &str, text: &str) -> Result<Vec<Expectation>, Vec<Fault>> {
    let lines = text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n').map(|(at, _)| at).collect();
    let mut parser = Parser { file, text, lines, names: Names::new(), faults: Vec::new() };
    let expectations = parser.document();
    parser.faults.sort_by_key(|fault| fault.line);
    if parser.faults.is_empty() { Ok(expectations) } else { Err(parser.faults) }
}

struct Parser<'t> {
    file: &'t str,
    text: &'t str,
    /// Where lines end.
    lines: Vec<usize>,
    names: Names,
    faults: Vec<Fault>,
}

type Node<'t> = Spanned<DeValue<'t>>;

impl<'t> Parser<'t> {
    fn line(&self, offset: usize) -> usize {
        self.lines.partition_point(|&end| end < offset) + 1
    }

    fn fault(&mut self, offset: usize, text: impl fmt::Display) {
        let line = self.line(offset);
        self.faults.push(Fault { line, text: text.to_string() });
    }

    fn document(&mut self) -> Vec<Expectation> {
        let document = match DeTable::parse(self.text) {
            Ok(document) => document.into_inner(),
            Err(error) => {
                self.fault(error.span().map_or(0, |s| s.start), format_args!("not TOML: {}", error.message()));
                return Vec::new();
            }
        };
        let mut expectations = Vec::new();
        for (key, value) in &document {
            if key.get_ref() != "expect" {
                self.fault(key.span().start, format_args!("unknown key {:?}; did you mean \"expect\"?", key.get_ref()));
                continue;
            }
            let tables =
                value.get_ref().as_array().map(|all| all.iter().map(|v| (v.span().start, v.get_ref().as_table())));
            for (at, table) in tables.into_iter().flatten() {
                match table {
                    Some(table) => expectations.extend(self.expectation(at, table)),
                    None => self.fault(at, "\"expect\" is a list of tables: start each with [[expect]]"),
                }
            }
            if value.get_ref().as_array().is_none() {
                self.fault(key.span().start, "\"expect\" is a list of tables: write [[expect]], not [expect]");
            }
        }
        if expectations.is_empty() && self.faults.is_empty() {
            let text = "nothing is expected: write at least one [[expect]] with a line such as \
                        that = \"totals.icrc.bad == 0\"";
            self.fault(0, text);
        }
        expectations.sort_by_key(|e| e.line);
        expectations
    }

    fn expectation(&mut self, at: usize, table: &DeTable<'t>) -> Option<Expectation> {
        const KEYS: [&str; 6] = ["that", "name", "why", "where", "over", "may_be_none"];
        let known = self.faults.len();
        for key in table.keys().filter(|k| !KEYS.contains(&k.get_ref().as_ref())) {
            let near = nearest(key.get_ref(), KEYS);
            self.fault(key.span().start, format_args!("unknown key {:?}; did you mean {near:?}?", key.get_ref()));
        }
        let get = |name: &str| table.iter().find(|(key, _)| key.get_ref() == name).map(|(_, value)| value);
        // Shown on lines of their own, whatever lines they were written on.
        let one_line = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let name = get("name").and_then(|v| self.string("name", v)).map(one_line);
        let why = get("why").and_then(|v| self.string("why", v)).map(one_line);
        let may_be_none = get("may_be_none").is_some_and(|v| self.flag("may_be_none", v));
        let over = get("over").and_then(|v| self.over(v));
        let Some(line) = get("that") else {
            if self.faults.len() == known {
                self.fault(at, "this [[expect]] does not say what: add a line such as that = \"totals.icrc.bad == 0\"");
            }
            return None;
        };
        let text = self.string("that", line)?;
        let that = match that(&text, &self.names) {
            Ok(that) => that,
            Err(error) => {
                self.fault(line.span().start, error);
                return None;
            }
        };
        let over_written = over.is_some();
        let over = self.over_of(&that, over, get("over"));
        let (select, selected) = match get("where") {
            Some(value) => self.selection(&that, value),
            None => Default::default(),
        };
        let line = self.line(line.span().start);
        let file = self.file.to_owned();
        (self.faults.len() == known).then_some(Expectation {
            name,
            why,
            text,
            file,
            line,
            that,
            select,
            selected,
            over,
            over_written,
            may_be_none,
        })
    }

    fn string(&mut self, key: &str, value: &Node<'t>) -> Option<String> {
        match value.get_ref().as_str() {
            Some(text) => Some(text.to_owned()),
            None => {
                let is = value.get_ref().type_str();
                self.fault(value.span().start, format_args!("{key:?} is a text in quotes, not of type {is}"));
                None
            }
        }
    }

    fn flag(&mut self, key: &str, value: &Node<'t>) -> bool {
        value.get_ref().as_bool().unwrap_or_else(|| {
            let is = value.get_ref().type_str();
            self.fault(value.span().start, format_args!("{key:?} is true or false, not of type {is}"));
            false
        })
    }

    fn over(&mut self, value: &Node<'t>) -> Option<Over> {
        let text = self.string("over", value)?;
        let known = OVERS.iter().find(|(name, _)| *name == text).map(|&(_, over)| over);
        if known.is_none() {
            let near = nearest(&text, OVERS.map(|(name, _)| name));
            let is = format!("over = {text:?}: it is one of each, any, sum, max, min; did you mean {near:?}?");
            self.fault(value.span().start, is);
        }
        known
    }

    /// How values become one: as asked; else each for a full name, and the sum for the short name of what sums up.
    fn over_of(&mut self, that: &That, asked: Option<Over>, at: Option<&Node<'t>>) -> Over {
        let at = at.map_or(0, |value| value.span().start);
        let That::Figure { figure, in_full, .. } = that else {
            if asked.is_some() {
                self.fault(at, "\"over\" is of no use here: findings are counted");
            }
            return Over::Sum;
        };
        let single = figure.scope == Scope::Totals || figure.counts && figure.path.is_empty();
        let number = !matches!(figure.kind, Kind::Text | Kind::Flag);
        match asked {
            Some(over) if single => {
                self.fault(at, format_args!("\"over\" is of no use here: there is one {figure}"));
                over
            }
            Some(Over::Sum) if !figure.sums_up() => {
                self.fault(at, format_args!("a sum of {figure} says nothing; use each, any, max or min"));
                Over::Sum
            }
            Some(over @ (Over::Max | Over::Min)) if !number => {
                self.fault(at, format_args!("{figure} has no {}; use each or any", over.name()));
                over
            }
            Some(over) => over,
            None if figure.scope == Scope::Flow && !in_full && figure.sums_up() => Over::Sum,
            None => Over::Each,
        }
    }

    /// The conditions of a selection, and how it reads.
    fn selection(&mut self, that: &That, value: &Node<'t>) -> (Vec<Condition>, String) {
        let scope = match that {
            That::Findings { .. } => Scope::Flow,
            That::Figure { figure, .. } => figure.scope,
        };
        let at = value.span().start;
        let Some(table) = value.get_ref().as_table() else {
            self.fault(at, "\"where\" is a table, such as { src = \"10.0.0.1\", dst_qp = 17 }");
            return Default::default();
        };
        if scope == Scope::Totals {
            self.fault(at, "\"where\" is of no use here: totals are those of the whole capture");
            return Default::default();
        }
        let mut entries = Vec::new();
        flatten("", table, &mut entries);
        entries.sort_by_key(|(_, at, _)| *at);
        let mut conditions = Vec::new();
        let mut texts = Vec::new();
        for (key, at, value) in entries {
            let Some(condition) = self.condition(scope, &key, at, value) else { continue };
            texts.push(match &condition {
                Condition::Figure { any_of, .. } => {
                    let bounds: Vec<String> = any_of.iter().map(ToString::to_string).collect();
                    format!("{key} {}", bounds.join(" or "))
                }
                Condition::Qpn(any_of) => equal(&key, any_of),
                Condition::Host(any_of) => equal(&key, any_of),
            });
            conditions.push(condition);
        }
        (conditions, texts.join(" and "))
    }

    fn condition(&mut self, scope: Scope, key: &str, at: usize, value: &DeValue<'t>) -> Option<Condition> {
        let values: Vec<&DeValue<'_>> = match value.as_array() {
            Some(all) => all.iter().map(Spanned::get_ref).collect(),
            None => vec![value],
        };
        if values.is_empty() {
            self.fault(at, format_args!("where: {key} is one of an empty list, which nothing is"));
            return None;
        }
        let values = values.into_iter();
        match (scope, key) {
            (Scope::Flow, "qpn") => {
                values.map(|value| self.queue_pair(at, value)).collect::<Option<_>>().map(Condition::Qpn)
            }
            (Scope::Flow, "host") => {
                values.map(|value| self.host(at, value)).collect::<Option<_>>().map(Condition::Host)
            }
            _ => {
                let figure = match self.names.find_in(scope, key) {
                    Ok(figure) => figure,
                    Err(error) => {
                        self.fault(at, format_args!("where: {error}"));
                        return None;
                    }
                };
                let any_of = values.map(|value| self.bound(&figure, at, value)).collect::<Option<_>>()?;
                Some(Condition::Figure { figure, any_of })
            }
        }
    }

    fn queue_pair(&mut self, at: usize, value: &DeValue<'_>) -> Option<u32> {
        let number = literal(value).and_then(|text| text.parse::<QpNumber>().ok());
        if number.is_none() {
            self.fault(at, "\"qpn\" is a queue pair number: 0 to 16777215, or \"0x...\"; or a list of them");
        }
        number.map(|n| n.number)
    }

    fn host(&mut self, at: usize, value: &DeValue<'_>) -> Option<String> {
        match literal(value) {
            Some(text) => self.address("host", at, &text),
            None => {
                self.fault(at, "\"host\" is an address, or a list of them");
                None
            }
        }
    }

    fn bound(&mut self, figure: &Figure, at: usize, value: &DeValue<'_>) -> Option<Bound> {
        let Some(text) = literal(value) else {
            self.fault(at, format_args!("where: {figure} is compared with a number, a text, true or false"));
            return None;
        };
        let compared = if value.is_str() { split(&text) } else { Ok(None) };
        let bound = compared.and_then(|compared| match compared {
            Some(("", operator, value)) => Bound::read(operator, value, figure.kind),
            _ => Bound::read(Operator::Equal, &text, figure.kind),
        });
        let bound = match bound {
            Ok(bound) => bound,
            Err(error) => {
                self.fault(at, format_args!("where: {figure}: {error}"));
                return None;
            }
        };
        match (&bound.want, figure.scope, figure.path.as_slice()) {
            (Want::Text(text), Scope::Flow, [field]) if field == "src" || field == "dst" => {
                let address = self.address(field, at, text)?;
                Some(bound.respelled(address))
            }
            _ => Some(bound),
        }
    }

    /// An address as the report writes it.
    fn address(&mut self, key: &str, at: usize, text: &str) -> Option<String> {
        match text.parse::<Host>() {
            Ok(host) => Some(host.to_string()),
            Err(error) => {
                self.fault(at, format_args!("where: {key} = {text:?}: {error}"));
                None
            }
        }
    }
}

/// How a condition reads that is one of several values.
fn equal(key: &str, any_of: &[impl fmt::Display]) -> String {
    let equal: Vec<String> = any_of.iter().map(|value| format!("== {value}")).collect();
    format!("{key} {}", equal.join(" or "))
}

/// A value as it would stand behind an operator.
fn literal(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(n) if n.radix() == 10 => Some(n.as_str().to_owned()),
        DeValue::Integer(n) => i64::from_str_radix(n.as_str(), n.radix()).ok().map(|n| n.to_string()),
        DeValue::Float(n) => Some(n.as_str().to_owned()),
        DeValue::Boolean(flag) => Some(flag.to_string()),
        _ => None,
    }
}

/// The values of a table by their dotted keys: `a.b = 1` is a table in a table to TOML.
fn flatten<'v, 't>(front: &str, table: &'v DeTable<'t>, entries: &mut Vec<(String, usize, &'v DeValue<'t>)>) {
    for (key, value) in table {
        let name = if front.is_empty() { key.get_ref().to_string() } else { format!("{front}.{}", key.get_ref()) };
        match value.get_ref().as_table() {
            Some(inner) => flatten(&name, inner, entries),
            None => entries.push((name, key.span().start, value.get_ref())),
        }
    }
}
