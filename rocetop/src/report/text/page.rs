//! Lines of at most 80 columns.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

/// Columns of a page: what a terminal has, and what fits in a mail.
const COLUMNS: usize = 80;

/// A heading.
pub(crate) const HEAD: Style = Style::new().bold();
/// Something is wrong.
pub(crate) const BAD: Style = AnsiColor::Red.on_default();
/// All is well.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// Said in passing.
pub(crate) const DIM: Style = Style::new().dimmed();
/// As it comes.
pub(crate) const PLAIN: Style = Style::new();

/// Where lines go. Colours are taken off again by the writer where they are not wanted.
pub(crate) struct Page<'a, W: Write> {
    out: &'a mut W,
}

impl<'a, W: Write> Page<'a, W> {
    pub(crate) fn new(out: &'a mut W) -> Self {
        Self { out }
    }

    /// An empty line.
    pub(crate) fn gap(&mut self) -> io::Result<()> {
        writeln!(self.out)
    }

    /// One line, or several where the words do not fit: the first starts with `label`, the others below its end.
    pub(crate) fn words(&mut self, style: Style, label: &str, text: &str) -> io::Result<()> {
        self.flow(style, label, text.split(' '), " ")
    }

    /// A line as it is, however long: something to copy.
    pub(crate) fn verbatim(&mut self, line: &str) -> io::Result<()> {
        self.verbatim_in(PLAIN, line)
    }

    /// The same in a style.
    pub(crate) fn verbatim_in(&mut self, style: Style, line: &str) -> io::Result<()> {
        self.line(style, line)
    }

    /// Figures side by side, two spaces apart; one is never broken.
    pub(crate) fn figures(&mut self, style: Style, label: &str, figures: &[String]) -> io::Result<()> {
        self.flow(style, label, figures.iter().map(String::as_str), "  ")
    }

    fn flow<'t>(
        &mut self,
        style: Style,
        label: &str,
        pieces: impl Iterator<Item = &'t str>,
        between: &str,
    ) -> io::Result<()> {
        let indent = label.chars().count();
        let mut line = label.to_owned();
        let mut used = indent;
        let mut first = true;
        for piece in pieces {
            let width = piece.chars().count();
            if !first && used + between.len() + width > COLUMNS {
                self.line(style, &line)?;
                line = " ".repeat(indent);
                used = indent;
                first = true;
            }
            if !first {
                line += between;
                used += between.len();
            }
            line += piece;
            used += width;
            first = false;
        }
        self.line(style, &line)
    }

    fn line(&mut self, style: Style, line: &str) -> io::Result<()> {
        writeln!(self.out, "{style}{line}{style:#}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wraps_below_the_label() {
        let mut out = Vec::new();
        let figures: Vec<String> = (0..12).map(|n| format!("{n:>9}x")).collect();
        Page::new(&mut out).figures(PLAIN, "Label  ", &figures).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.lines().all(|l| l.len() <= COLUMNS));
        assert_eq!(text.lines().count(), 2);
        assert!(text.lines().nth(1).unwrap().starts_with("       "));
    }
}
