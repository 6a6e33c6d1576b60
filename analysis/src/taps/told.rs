//! What the comparison of taps adds to what each of them found alone.

use super::report::{Between, TapReport};
use crate::detect::{Finding, Findings, road};
use crate::report::Ledger;

/// Findings about losses of which one tap alone cannot say what was lost.
const DOUBTFUL: [&str; 3] = ["RT001", "RT003", "RT009"];
/// The one that is about nothing but that doubt.
const EITHER: &str = "RT009";

impl Between {
    /// Tells the findings of one tap what the comparison shows: how many requests and answers were lost between the taps.
    /// A finding that only doubts which of the two it was says so, or goes where neither was lost; one that is certain of a
    /// lost answer stays as it is.
    pub fn tell(&self, ledger: &Ledger<'_>, found: &mut Findings) {
        found.list.retain_mut(|finding| self.keeps(ledger, finding));
    }

    fn keeps(&self, ledger: &Ledger<'_>, finding: &mut Finding) -> bool {
        if !DOUBTFUL.contains(&finding.code) {
            return true;
        }
        let Some(flow) = finding.flow.and_then(|id| ledger.flow(id)) else { return true };
        let Some(requests) = self.lost(&flow.src, &flow.dst, |row| row.lost_by_kind.requests) else { return true };
        let answers = |row: &TapReport| row.lost.unwrap_or_default() - row.lost_by_kind.requests;
        let Some(answers) = self.lost(&flow.dst, &flow.src, answers) else { return true };
        if finding.code == EITHER {
            let certain = flow.story.as_ref().is_some_and(|story| story.lost_acks != 0);
            if !certain {
                if requests + answers == 0 {
                    return false;
                }
                let road = road(&flow);
                finding.title = format!("lost between the taps: {requests} requests, {answers} answers: {road}");
            }
        }
        let evidence = std::mem::take(&mut finding.evidence);
        finding.evidence =
            evidence.with("requests_lost_between_taps", requests).with("answers_lost_between_taps", answers);
        true
    }

    /// The most that was lost from one host to another between any two taps; `None` where that is not known.
    fn lost(&self, src: &str, dst: &str, count: impl Fn(&TapReport) -> u64) -> Option<u64> {
        let rows = self.rows.iter().filter(|row| row.src == src && row.dst == dst);
        rows.map(|row| row.lost.map(|_| count(row))).reduce(|a, b| Some(a?.max(b?)))?
    }
}
