//! Lines of at most 80 columns.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

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
        let indent = label.width();
        let mut line = label.to_owned();
        let mut used = indent;
        let mut first = true;
        for piece in pieces.flat_map(|piece| parts(piece, COLUMNS.saturating_sub(indent))) {
            let width = piece.width();
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

/// A piece in parts of at most so many columns. A path stays whole: it is something to copy.
fn parts(mut piece: &str, columns: usize) -> Vec<&str> {
    let mut parts = Vec::new();
    while piece.width() > columns && !piece.contains('/') {
        let mut used = 0;
        let fits = |&(_, c): &(usize, char)| {
            used += c.width().unwrap_or(0);
            used > columns
        };
        let Some((at, _)) = piece.char_indices().find(fits).filter(|&(at, _)| at != 0) else { break };
        let (part, rest) = piece.split_at(at);
        parts.push(part);
        piece = rest;
    }
    parts.push(piece);
    parts
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

    #[test]
    fn wide_and_long_words_stay_within_the_columns() {
        let mut out = Vec::new();
        let text = format!("{} {} {}", "\u{6f22}".repeat(30), "x".repeat(200), "\u{5b57}".repeat(90));
        Page::new(&mut out).words(PLAIN, "Label  ", &text).unwrap();
        let text = String::from_utf8(out).unwrap();
        let widths: Vec<usize> = text.lines().map(UnicodeWidthStr::width).collect();
        assert_eq!(widths, [67, 80, 80, 61, 79, 79, 43]);
        let path = format!("/{}", "p".repeat(100));
        assert_eq!(parts(&path, 73), [path.as_str()]);
    }
}
