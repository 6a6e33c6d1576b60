//! Names of figures: which there are, which one is meant, which is nearest to one that is not there.

use std::fmt;

use serde_json::Value;

use super::shape;
use super::shares::{SHARES, Share};
use super::value::Kind;

/// A part of the report: what a figure is a figure of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    Totals,
    Flow,
    Connection,
    Capture,
    Finding,
    Exchange,
    Pause,
    Paths,
    Tap,
}

impl Scope {
    /// In front of a name.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Totals => "totals",
            Self::Flow => "flow",
            Self::Connection => "connection",
            Self::Capture => "capture",
            Self::Finding => "finding",
            Self::Exchange => "cm",
            Self::Pause => "pause",
            Self::Paths => "paths",
            Self::Tap => "tap",
        }
    }

    /// Whether an end of a name is enough: of what few captures have, the part of the report is named too.
    fn is_common(self) -> bool {
        !matches!(self, Self::Exchange | Self::Pause | Self::Paths | Self::Tap)
    }
}

/// A figure that can be named.
#[derive(Clone, Debug)]
pub(super) struct Figure {
    pub(super) scope: Scope,
    /// Fields from the outside in; `[]` is each element of a list, `*` any one field.
    pub(super) path: Vec<String>,
    /// It is the number of elements of the list at the path.
    pub(super) counts: bool,
    pub(super) kind: Kind,
    /// It is no field but a ratio of fields.
    pub(super) share: Option<&'static Share>,
}

impl Figure {
    fn words(&self) -> impl Iterator<Item = &str> {
        let count = self.counts.then_some("count");
        std::iter::once(self.scope.word()).chain(self.path.iter().map(String::as_str)).chain(count)
    }

    /// What it is, in a few words.
    pub(super) fn says(&self) -> &'static str {
        self.share.map_or(self.kind.like(), |share| share.what)
    }

    /// Whether a sum over flows says something. It does not for ids, codes, points in time, percentiles and maxima.
    pub(super) fn sums_up(&self) -> bool {
        let last = self.path.last().map_or("", String::as_str);
        let number = matches!(self.kind, Kind::Count | Kind::Nanos | Kind::Micros | Kind::Size);
        let point = ["first_", "last_", "most_"].iter().any(|p| last.starts_with(p))
            || ["_psn", "_qp", "_hops", "_tries"].iter().any(|p| last.ends_with(p))
            || ["id", "epoch", "connection", "flow", "flows", "mtu", "pcp", "p50", "p99", "max", "timeout_ns"]
                .contains(&last)
            || ["_exponent", "_retry", "_mtu", "bps", "_mean_ns", "_max_ns", "_timeout_ns", "_apart_ns", "_least"]
                .iter()
                .any(|p| last.ends_with(p))
            || ["rnr_timer_us", "exchange", "retry_count", "[]", "*"].contains(&last);
        self.share.is_some() || self.counts || number && !point
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&joined(self.words()))
    }
}

fn joined<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let mut text = String::new();
    for word in words {
        if word != "[]" && !text.is_empty() {
            text.push('.');
        }
        text.push_str(word);
    }
    text
}

/// Why a name means nothing.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(super) enum NoName {
    #[error("{name:?} is no figure of the report; did you mean {nearest}?")]
    Unknown { name: String, nearest: String },
    #[error("{name:?} could be {}; write the longer name", one_of(.all))]
    Several { name: String, all: Vec<String> },
    #[error("{name:?} is a list: name {name}[] for each of its elements, {name}.count for their number")]
    List { name: String },
    #[error("{name:?} has parts; name one of them: {}", one_of(.parts))]
    Parts { name: String, parts: Vec<String> },
}

fn one_of(all: &[String]) -> String {
    /// So many names still help.
    const FEW: usize = 6;
    let shown: Vec<&str> = all.iter().take(FEW).map(String::as_str).collect();
    let more = if all.len() > FEW { format!(" and {} more", all.len() - FEW) } else { String::new() };
    shown.join(", ") + &more
}

/// All figures that can be named.
#[derive(Debug)]
pub(super) struct Names(Vec<Figure>);

impl Names {
    pub(super) fn new() -> Self {
        let mut all = Vec::new();
        for (scope, sample) in shape::samples() {
            if scope != Scope::Totals {
                all.push(Figure { scope, path: Vec::new(), counts: true, kind: Kind::Count, share: None });
            }
            collect(scope, &sample, &mut Vec::new(), &mut all);
            for share in SHARES {
                let Some(rest) = share.name.strip_prefix(scope.word()).and_then(|r| r.strip_prefix('.')) else {
                    continue;
                };
                let path = rest.split('.').map(str::to_owned).collect();
                all.push(Figure { scope, path, counts: false, kind: Kind::Share, share: Some(share) });
            }
        }
        Self(all)
    }

    pub(super) fn all(&self) -> &[Figure] {
        &self.0
    }

    /// The figure that a name means: its full name, or an end of it that no other has. Whether it was named in full is
    /// told too.
    pub(super) fn find(&self, name: &str) -> Result<(Figure, bool), NoName> {
        let words = words(name);
        let in_full = |figure: &Figure| same(figure.words(), words.iter().map(String::as_str));
        if let Some(figure) = self.0.iter().find(|f| in_full(f)) {
            return Ok((named(figure, &words), true));
        }
        let full = self.0.iter().any(|f| words.first().is_some_and(|w| w == f.scope.word()));
        if !full {
            let mut ends = self.0.iter().filter(|f| f.scope.is_common() && ends_so(f, &words));
            if let Some(figure) = ends.next() {
                let others: Vec<String> = ends.map(ToString::to_string).collect();
                if others.is_empty() {
                    return Ok((named(figure, &words), false));
                }
                let all = std::iter::once(figure.to_string()).chain(others).collect();
                return Err(NoName::Several { name: name.to_owned(), all });
            }
        }
        Err(self.no_name(name, &words, |_| true))
    }

    /// The same among the figures of one part, for `where`. A list means any of its elements: there is no `[]` in keys.
    pub(super) fn find_in(&self, scope: Scope, name: &str) -> Result<Figure, NoName> {
        let mut words = words(name);
        words.retain(|w| w != "[]");
        if words.first().is_some_and(|w| w == scope.word()) {
            words.remove(0);
        }
        let known = |f: &Figure| f.words().filter(|w| *w != "[]").skip(1).map(str::to_owned).collect::<Vec<_>>();
        let mine = self.0.iter().filter(|f| f.scope == scope);
        let given = || words.iter().map(String::as_str);
        if let Some(figure) = mine.clone().find(|f| same(known(f).iter().map(String::as_str), given())) {
            return Ok(named(figure, &words));
        }
        let ends: Vec<&Figure> = mine.filter(|f| ends_so(f, &words)).collect();
        match *ends {
            [figure] => Ok(named(figure, &words)),
            [] => Err(self.no_name(name, &words, |f| f.scope == scope)),
            _ => {
                let all = ends.iter().map(|f| joined(f.words().skip(1))).collect();
                Err(NoName::Several { name: name.to_owned(), all })
            }
        }
    }

    fn no_name(&self, name: &str, words: &[String], among: impl Fn(&Figure) -> bool) -> NoName {
        let parts: Vec<&Figure> = self.0.iter().filter(|f| among(f) && starts_so(f, words)).collect();
        if parts.iter().any(|f| f.words().skip(words.len()).eq(["count"]) && f.counts) {
            return NoName::List { name: name.to_owned() };
        }
        if !parts.is_empty() {
            return NoName::Parts { name: name.to_owned(), parts: parts.iter().map(ToString::to_string).collect() };
        }
        let nearest = self.0.iter().filter(|f| among(f)).min_by_key(|f| distance(f, words));
        NoName::Unknown { name: name.to_owned(), nearest: nearest.map(ToString::to_string).unwrap_or_default() }
    }
}

/// Every leaf below a sample.
fn collect(scope: Scope, sample: &Value, path: &mut Vec<String>, all: &mut Vec<Figure>) {
    let mut deeper = |word: &str, value: &Value, all: &mut Vec<Figure>| {
        path.push(word.to_owned());
        collect(scope, value, path, all);
        path.pop();
    };
    match sample {
        // Whoever fills it chooses the fields.
        Value::Object(fields) if fields.is_empty() => deeper("*", &Value::Null, all),
        Value::Object(fields) => fields.iter().for_each(|(name, value)| deeper(name, value, all)),
        Value::Array(elements) => {
            if let Some(first) = elements.first() {
                deeper("[]", first, all);
            }
            all.push(Figure { scope, path: path.clone(), counts: true, kind: Kind::Count, share: None });
        }
        leaf => {
            let kind = Kind::of(path, leaf);
            all.push(Figure { scope, path: path.clone(), counts: false, kind, share: None });
        }
    }
}

/// The words of a name; `flows[].x` and `flows.x` are `flow.x`, and so on.
fn words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    for part in name.trim().split('.') {
        let (word, lists) = match part.find("[]") {
            Some(at) if part.len() > 2 => part.split_at(at),
            _ => (part, ""),
        };
        words.push(word.to_owned());
        words.extend((0..lists.len() / 2).map(|_| "[]".to_owned()));
    }
    let scopes =
        [Scope::Flow, Scope::Connection, Scope::Capture, Scope::Finding, Scope::Exchange, Scope::Pause, Scope::Tap];
    let plural = |s: &Scope| words.first().and_then(|w| w.strip_suffix('s')) == Some(s.word());
    let scope = scopes.iter().find(|s| plural(s));
    if let Some((scope, first)) = scope.zip(words.first_mut()) {
        *first = scope.word().to_owned();
    }
    if words.len() > 1
        && words.get(1).is_some_and(|w| w == "[]")
        && scopes.iter().any(|s| words.first().is_some_and(|w| w == s.word()))
    {
        words.remove(1);
    }
    words
}

fn fits(known: &str, given: &str) -> bool {
    known == given || known == "*"
}

fn same<'a>(mut known: impl Iterator<Item = &'a str>, mut given: impl Iterator<Item = &'a str>) -> bool {
    loop {
        match (known.next(), given.next()) {
            (None, None) => return true,
            (Some(known), Some(given)) if fits(known, given) => {}
            _ => return false,
        }
    }
}

/// Whether the name is an end of the figure's. Elements of lists inside want their full name.
fn ends_so(figure: &Figure, given: &[String]) -> bool {
    let known: Vec<&str> = figure.words().collect();
    let plain = !known.iter().any(|w| matches!(*w, "[]" | "*"));
    let skipped = known.len().saturating_sub(given.len());
    plain && skipped > 0 && known.iter().skip(skipped).eq(given.iter())
}

fn starts_so(figure: &Figure, given: &[String]) -> bool {
    let known: Vec<&str> = figure.words().collect();
    // In full, or without the part of the report in front.
    [0, 1].iter().any(|&skip| {
        let rest = known.iter().skip(skip);
        rest.len() > given.len() && !given.is_empty() && rest.zip(given).all(|(k, g)| k == g)
    })
}

/// The figure with the words that were given in the place of `*`.
fn named(figure: &Figure, given: &[String]) -> Figure {
    let mut figure = figure.clone();
    for (word, given) in figure.path.iter_mut().rev().zip(given.iter().rev()) {
        if word == "*" {
            word.clone_from(given);
        }
    }
    figure
}

/// How far a name is from a figure's: a word left out counts as two letters, one too many as all of its own.
fn distance(figure: &Figure, given: &[String]) -> usize {
    const WORD: usize = 2;
    let known: Vec<&str> = figure.words().collect();
    let mut row: Vec<usize> = (0..=known.len()).map(|n| n * WORD).collect();
    for word in given {
        let extra = word.chars().count().max(WORD);
        let mut next = vec![row.first().map_or(0, |n| n + extra)];
        for ((pair, known), left) in row.windows(2).zip(&known).zip(0..) {
            let &[diagonal, above] = pair else { continue };
            let before = next.get(left).copied().unwrap_or(usize::MAX / 2);
            let changed = diagonal + strsim::damerau_levenshtein(word, known);
            next.push(changed.min(above + extra).min(before + WORD));
        }
        row = next;
    }
    row.last().copied().unwrap_or(usize::MAX)
}

/// The nearest of some words.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> &'a str {
    known
        .into_iter()
        .min_by_key(|k| strsim::damerau_levenshtein(&word.to_lowercase(), &k.to_lowercase()))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str) -> (String, bool) {
        let (figure, full) = Names::new().find(name).unwrap_or_else(|e| panic!("{e}"));
        (figure.to_string(), full)
    }

    fn lost(name: &str) -> String {
        Names::new().find(name).unwrap_err().to_string()
    }

    #[test]
    fn full_names_and_ends_of_names() {
        for (given, means, full) in [
            ("totals.icrc.bad", "totals.icrc.bad", true),
            ("flow.requests.gaps", "flow.requests.gaps", true),
            ("flows[].requests.gaps", "flow.requests.gaps", true),
            ("flows.requests.gaps", "flow.requests.gaps", true),
            ("flow.vlan[].pcp", "flow.vlan[].pcp", true),
            ("flow.vlan.count", "flow.vlan.count", true),
            ("flows.count", "flow.count", true),
            ("captures[].complete", "capture.complete", true),
            ("connections[].paired_by", "connection.paired_by", true),
            ("findings[].evidence.naks", "finding.evidence.naks", true),
            ("cm[].state", "cm.state", true),
            ("cm.terms.path_mtu", "cm.terms.path_mtu", true),
            ("pauses[].frames", "pause.frames", true),
            ("taps[].lost", "tap.lost", true),
            ("taps.lost_by_kind.acks", "tap.lost_by_kind.acks", true),
            ("flow.story.episodes[].kind", "flow.story.episodes[].kind", true),
            ("totals.opcodes.RC_ACK", "totals.opcodes.RC_ACK", true),
            ("retransmissions.total", "flow.story.retransmissions.total", false),
            ("by_cause.timeout", "flow.story.retransmissions.by_cause.timeout", false),
            ("loss.share", "flow.story.loss.share", false),
            ("ecn.ce_share", "totals.ecn.ce_share", false),
            ("icrc.bad", "totals.icrc.bad", false),
            ("RC_ACK", "totals.opcodes.RC_ACK", false),
        ] {
            assert_eq!(found(given), (means.to_owned(), full), "{given}");
        }
    }

    #[test]
    fn the_nearest_is_named() {
        for (given, says) in [
            ("totals.icrc.bda", "did you mean totals.icrc.bad?"),
            ("retransmission.total", "did you mean flow.story.retransmissions.total?"),
            ("flow.request.gaps", "did you mean flow.requests.gaps?"),
            ("requets.gaps", "did you mean flow.requests.gaps?"),
            ("flows[].story.time_out_ns", "did you mean flow.story.timeout_ns?"),
            ("totals.opcodes.RC_AKC", "did you mean totals.opcodes.RC_ACK?"),
            ("ecn.ce_shar", "did you mean totals.ecn.ce_share?"),
            ("flow.udp_sports", "is a list: name flow.udp_sports[] for each"),
            ("gaps", "could be flow.requests.gaps, flow.responses.gaps; write the longer name"),
            ("flow.naks", "has parts; name one of them: flow.naks.invalid_request"),
            ("", "did you mean"),
        ] {
            assert!(lost(given).contains(says), "{given}: {}", lost(given));
        }
    }

    #[test]
    fn what_is_no_count_is_not_summed() {
        for name in [
            "flow.story.message_ns.p99",
            "flow.first_ns",
            "flow.requests.next_psn",
            "flow.id",
            "flow.dscp[]",
            "flow.story.goodput_bps",
        ] {
            assert!(!Names::new().find(name).unwrap().0.sums_up(), "{name}");
        }
        for name in ["flow.requests.gaps", "flow.story.stall_ns", "flow.bytes", "flow.story.message_ns.count"] {
            assert!(Names::new().find(name).unwrap().0.sums_up(), "{name}");
        }
    }

    #[test]
    fn the_shares_are_made_of_figures() {
        let names = Names::new();
        for share in SHARES {
            let (figure, _) = names.find(share.name).unwrap();
            for part in share.part.iter().chain(share.whole) {
                let part = names.find(&format!("{}.{part}", figure.scope.word())).unwrap().0;
                assert!(part.kind == Kind::Count && part.sums_up(), "{part}");
            }
        }
    }
}
