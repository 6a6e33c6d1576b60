//! Two answers side by side.

use std::fmt;

use super::{Answer, Counts, Key};

/// One field in which a report is not what it should be.
#[derive(Debug, PartialEq)]
pub(super) struct Difference {
    pub(super) field: String,
    pub(super) wanted: String,
    pub(super) got: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: wanted {}, got {}", self.field, self.wanted, self.got)
    }
}

/// Families of counts in which a name that is not there counts zero, and a name that is not wanted is wrong.
const FAMILIES: &[&str] = &["opcodes.", "ecn."];

fn family(name: &str) -> Option<&'static str> {
    FAMILIES.iter().copied().find(|family| name.starts_with(family))
}

/// Whether `name` is a count of which nothing was said although its whole family was: then it is zero.
fn silent_zero(counts: &Counts, name: &str) -> bool {
    family(name).is_some_and(|family| counts.keys().any(|other| other.starts_with(family)))
}

fn text(count: Option<u64>) -> String {
    count.map_or_else(|| "nothing".to_owned(), |count| count.to_string())
}

fn counts(wanted: &Counts, got: &Counts, place: &str) -> Vec<Difference> {
    let mut found = Vec::new();
    for (name, want) in wanted {
        let have = got.get(name).copied().or_else(|| silent_zero(got, name).then_some(0));
        // Nothing at all was counted in a family: as good as a family of zeros.
        if have != Some(*want) && !(have.is_none() && *want == 0 && family(name).is_some()) {
            found.push(Difference { field: format!("{place}{name}"), wanted: want.to_string(), got: text(have) });
        }
    }
    for (name, have) in got.iter().filter(|(name, have)| **have > 0 && !wanted.contains_key(*name)) {
        if silent_zero(wanted, name) {
            found.push(Difference { field: format!("{place}{name}"), wanted: "0".into(), got: have.to_string() });
        }
    }
    found
}

fn place((src, dst, qp): &Key) -> String {
    format!("{src} -> {dst} qp {qp} ")
}

/// All that the truth says, against a report. Flows that the truth does not list are left to its count of flows.
pub(super) fn answers(wanted: &Answer, got: &Answer) -> Vec<Difference> {
    let mut found = counts(&wanted.totals, &got.totals, "");
    for (key, want) in &wanted.flows {
        match got.flows.get(key) {
            Some(have) => found.extend(counts(want, have, &place(key))),
            None => found.push(Difference {
                field: place(key).trim_end().to_owned(),
                wanted: format!("{} packets", text(want.get("packets").copied())),
                got: "no such flow".into(),
            }),
        }
    }
    found
}

/// What must be zero where nothing was lost: damage in the totals; gaps and repeats in every flow.
pub(super) fn clean(got: &Answer) -> Vec<Difference> {
    let zero = |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), 0)).collect::<Counts>();
    let mut found = counts(&zero(&["icrc.bad"]), &got.totals, "");
    for (key, have) in &got.flows {
        let none = ["gaps", "gap_psns", "seen_again", "behind", "response_gaps", "responses_again"];
        found.extend(counts(&zero(&none), have, &place(key)));
    }
    found
}

/// The opcode mix alone.
pub(super) fn opcodes(wanted: &Counts, got: &Answer) -> Vec<Difference> {
    let mut have = got.totals.clone();
    have.retain(|name, _| name.starts_with("opcodes."));
    if wanted.is_empty() {
        let extra = |(name, n): (String, u64)| Difference { field: name, wanted: "0".into(), got: n.to_string() };
        return have.into_iter().map(extra).collect();
    }
    counts(wanted, &have, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(list: &[(&str, u64)]) -> Counts {
        list.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
    }

    fn lines(found: Vec<Difference>) -> Vec<String> {
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn only_what_the_truth_names_is_compared() {
        let wanted = Answer { totals: of(&[("frames", 3)]), ..Answer::default() };
        let got = Answer { totals: of(&[("frames", 3), ("bytes", 7), ("opcodes.RC_ACK", 1)]), ..Answer::default() };
        assert!(answers(&wanted, &got).is_empty());
    }

    #[test]
    fn opcodes_are_compared_both_ways() {
        let wanted = of(&[("opcodes.RC_ACK", 2), ("opcodes.RC_SEND_ONLY", 1)]);
        let got = Answer { totals: of(&[("opcodes.RC_ACK", 2), ("opcodes.CNP", 4)]), ..Answer::default() };
        let found = lines(opcodes(&wanted, &got));
        assert_eq!(found, ["opcodes.RC_SEND_ONLY: wanted 1, got 0", "opcodes.CNP: wanted 0, got 4"]);
        assert_eq!(lines(opcodes(&of(&[]), &got)).len(), 2);
    }

    #[test]
    fn a_count_that_is_not_told_is_not_zero() {
        let wanted = Answer { totals: of(&[("icrc.bad", 0), ("ecn.ce", 0)]), ..Answer::default() };
        assert_eq!(lines(answers(&wanted, &Answer::default())), ["icrc.bad: wanted 0, got nothing"]);
    }

    #[test]
    fn flows_are_found_by_their_key() {
        let key = |qp| ("a".to_owned(), "b".to_owned(), qp);
        let wanted = Answer {
            flows: [(key(1), of(&[("packets", 5), ("gaps", 1)])), (key(2), of(&[("packets", 9)]))].into(),
            ..Answer::default()
        };
        let got = Answer { flows: [(key(1), of(&[("packets", 5), ("gaps", 0)]))].into(), ..Answer::default() };
        let found = lines(answers(&wanted, &got));
        assert_eq!(found, ["a -> b qp 1 gaps: wanted 1, got 0", "a -> b qp 2: wanted 9 packets, got no such flow"]);
    }

    #[test]
    fn clean_means_zero_everywhere() {
        let flow = of(&[("gaps", 0), ("gap_psns", 0), ("seen_again", 2), ("behind", 2)]);
        let flow = flow.into_iter().chain(of(&[("response_gaps", 0), ("responses_again", 0)])).collect();
        let got =
            Answer { totals: of(&[("icrc.bad", 0)]), flows: [(("a".to_owned(), "b".to_owned(), 1), flow)].into() };
        assert_eq!(lines(clean(&got)).len(), 2);
    }
}
