//! What did not hold, over many runs: how often, and the first of each.

use std::collections::BTreeMap;

use rocetop_analysis::story::StoryReport;

/// Collects what did not hold.
#[derive(Debug, Default)]
pub(crate) struct Faults(BTreeMap<String, (u64, String)>);

impl Faults {
    /// `what` should hold.
    pub(crate) fn check(&mut self, what: &str, holds: bool, why: &str, story: &StoryReport) {
        if !holds {
            let first = || (0, format!("{why}: {story:#?}"));
            self.0.entry(what.to_string()).or_insert_with(first).0 += 1;
        }
    }

    /// Two figures should be the same.
    pub(crate) fn same<T: PartialEq + std::fmt::Debug>(
        &mut self,
        what: &str,
        (is, should): (T, T),
        why: &str,
        story: &StoryReport,
    ) {
        let holds = is == should;
        if !holds {
            self.check(what, holds, &format!("{why}: {is:?}, should be {should:?}"), story);
        }
    }

    /// All held.
    #[track_caller]
    pub(crate) fn none(self) {
        self.few(&[]);
    }

    /// All held but for these, which no more often than so many times did not: where several recoveries overlap, what
    /// is seen can fit two of them.
    #[track_caller]
    pub(crate) fn few(self, known: &[(&str, u64)]) {
        let most = |what: &str| known.iter().find(|(known, _)| *known == what).map_or(0, |&(_, most)| most);
        let faults = self.0.iter().filter(|(what, (n, _))| *n > most(what));
        let told: Vec<String> = faults.map(|(what, (n, first))| format!("{n} times: {what}\n{first}")).collect();
        assert!(told.is_empty(), "{}", told.join("\n"));
    }
}
