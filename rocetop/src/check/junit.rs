//! The verdicts as JUnit XML, which CI systems show beside tests: one test case an expectation.

use std::fmt::{self, Write as _};
use std::io::{self, Write};

use super::{Expectation, Verdict};
use crate::source::CaptureSummary;

/// Writes the XML. A capture that was not read to its end is an error in a suite of its own, since what it lacks may be
/// what an expectation is about.
///
/// # Errors
/// Those of the writer.
pub fn write(out: &mut impl Write, judged: &[(&Expectation, &Verdict)], captures: &[CaptureSummary]) -> io::Result<()> {
    let cut: Vec<&CaptureSummary> = captures.iter().filter(|c| !c.ended()).collect();
    let failures = judged.iter().filter(|(_, v)| !v.holds).count();
    let tests = judged.len() + cut.len();
    writeln!(out, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
    writeln!(out, r#"<testsuites name="rocetop check" tests="{tests}" failures="{failures}" errors="{}">"#, cut.len())?;
    for suite in judged.chunk_by(|(a, _), (b, _)| a.file() == b.file()) {
        let name = suite.first().map_or("", |(e, _)| e.file());
        let failures = suite.iter().filter(|(_, v)| !v.holds).count();
        let (name, tests) = (Escaped(name), suite.len());
        writeln!(out, r#"  <testsuite name="{name}" tests="{tests}" failures="{failures}" errors="0">"#)?;
        for (expectation, verdict) in suite {
            case(out, expectation, verdict)?;
        }
        writeln!(out, "  </testsuite>")?;
    }
    if !cut.is_empty() {
        let tests = cut.len();
        writeln!(out, r#"  <testsuite name="captures" tests="{tests}" failures="0" errors="{tests}">"#)?;
        for capture in cut {
            let (name, problem) = (Escaped(&capture.path), Escaped(capture.problem.as_deref().unwrap_or_default()));
            writeln!(out, r#"    <testcase classname="captures" name="{name}">"#)?;
            writeln!(out, r#"      <error type="incomplete" message="{problem}"/>"#)?;
            writeln!(out, "    </testcase>")?;
        }
        writeln!(out, "  </testsuite>")?;
    }
    writeln!(out, "</testsuites>")
}

fn case(out: &mut impl Write, expectation: &Expectation, verdict: &Verdict) -> io::Result<()> {
    let title = expectation.title();
    let (file, title, line) = (Escaped(expectation.file()), Escaped(&title), expectation.line());
    write!(out, r#"    <testcase classname="{file}" name="{title}" file="{file}" line="{line}""#)?;
    if verdict.holds {
        return writeln!(out, "/>");
    }
    let message = format!("wanted {}, measured {}", verdict.wanted, verdict.measured);
    writeln!(out, ">")?;
    write!(out, r#"      <failure type="expectation" message="{}">"#, Escaped(&message))?;
    for line in std::iter::once(&expectation.says()).chain(&verdict.notes).chain(expectation.why()) {
        writeln!(out, "{}", Escaped(line))?;
    }
    writeln!(out, "</failure>")?;
    writeln!(out, "    </testcase>")
}

/// Text that means itself in XML, in content and in attributes. Characters that XML 1.0 has no way to write (its
/// section 2.2) are replaced.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&apos;")?,
                '\t' | '\n' | '\r' => write!(f, "&#{};", u32::from(c))?,
                '\0'..'\u{20}' | '\u{fffe}' | '\u{ffff}' => f.write_char('\u{fffd}')?,
                _ => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_breaks_out() {
        let text = "a<b> & \"c\" 'd'\n\u{1}\u{1b}[31m\u{ffff}\u{1f980}";
        let safe = "a&lt;b&gt; &amp; &quot;c&quot; &apos;d&apos;&#10;\u{fffd}\u{fffd}[31m\u{fffd}\u{1f980}";
        assert_eq!(Escaped(text).to_string(), safe);
    }
}
