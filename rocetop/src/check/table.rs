//! All expectations as a table for people, with what failed and where.

use std::io::{self, Write};

use super::{Expectation, Verdict};
use crate::report::text::figures::count;
use crate::report::text::page::{BAD, DIM, GOOD, HEAD, PLAIN, Page};

/// Widest column of titles; a longer title has a line to itself.
const TITLE: usize = 40;
/// Widest column of what was wanted.
const WANTED: usize = 14;

/// Writes the table. `whole` says whether the captures were read to their ends.
///
/// # Errors
/// Those of the writer.
pub fn write(out: &mut impl Write, judged: &[(&Expectation, &Verdict)], whole: bool) -> io::Result<()> {
    let widest = |column: fn(&Expectation, &Verdict) -> usize, head: usize, most: usize| {
        let fitting = judged.iter().map(|(e, v)| column(e, v)).filter(|&width| width <= most);
        fitting.max().unwrap_or(0).max(head)
    };
    let title = widest(|e, _| e.title().chars().count(), "expected".len(), TITLE);
    let wanted = widest(|_, v| v.wanted.chars().count(), "wanted".len(), WANTED);
    let mut page = Page::new(out);
    page.words(HEAD, "", &format!("      {:title$}  {:wanted$}  measured", "expected", "wanted"))?;
    for (expectation, verdict) in judged {
        let (mark, style) = if verdict.holds { ("ok", PLAIN) } else { ("FAIL", BAD) };
        let mut name = expectation.title();
        if name.chars().count() > title {
            page.words(style, &format!("{mark:4}  "), &name)?;
            name = String::new();
        }
        let mark = if name.is_empty() { "" } else { mark };
        let label = format!("{mark:4}  {name:title$}  {:wanted$}  ", verdict.wanted);
        page.words(style, &label, &verdict.measured)?;
        if verdict.holds {
            continue;
        }
        for note in &verdict.notes {
            page.words(PLAIN, "      ", note)?;
        }
        if let Some(why) = expectation.why() {
            page.words(PLAIN, "      ", why)?;
        }
        let place = format!("{}:{}: {}", expectation.file(), expectation.line(), expectation.says());
        page.words(DIM, "      ", &place)?;
    }
    page.gap()?;
    let failed = judged.iter().filter(|(_, v)| !v.holds).count();
    let all = count(judged.len() as u64);
    match (failed, judged.len()) {
        (0, 1) => page.words(GOOD, "", "The expectation holds."),
        (0, _) => page.words(GOOD, "", &format!("All {all} expectations hold.")),
        (_, 1) => page.words(BAD, "", "The expectation does not hold."),
        (1, _) => page.words(BAD, "", &format!("1 of {all} expectations does not hold.")),
        (failed, _) => page.words(BAD, "", &format!("{} of {all} expectations do not hold.", count(failed as u64))),
    }?;
    if whole {
        Ok(())
    } else {
        page.words(BAD, "", "A capture is not complete: this is about what could be read of it.")
    }
}
