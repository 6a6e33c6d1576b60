//! What every second was like, for as long as interfaces are watched: a line of text, or one of JSON
//! (`rocetop.live/1`).

use std::io::{self, Write};

use serde::Serialize;

use super::text::figures::{clock, count, gigabits};
use super::text::page::{BAD, DIM, PLAIN, Page};
use crate::live::session::Second;

/// Name and version of the JSON lines.
pub const SCHEMA: &str = "rocetop.live/1";

/// Lines between two that name the columns.
const PAGE: u64 = 20;

/// Writes the line of a second; `place` counts them from 0.
///
/// # Errors
/// Those of the writer.
pub fn text(out: &mut impl Write, place: u64, second: &Second) -> io::Result<()> {
    let mut page = Page::new(out);
    if place.is_multiple_of(PAGE) {
        page.verbatim_in(
            DIM,
            &line(["time UTC", "frames/s", "Gb/s", "new", "CE", "CNP", "NAK", "RNR", "again", "gaps", "drops"]),
        )?;
    }
    let new = &second.new;
    let took = second.took.0.max(1);
    let rate = u128::from(second.frames) * 1_000_000_000 / u128::from(took);
    let cells = [
        clock(second.at.0),
        count(rate as u64),
        gigabits(second.bytes.0, took),
        count(new.connections),
        count(second.ce),
        count(second.cnps),
        count(new.naks),
        count(new.rnr_naks),
        new.seen_again.map_or_else(|| "?".to_owned(), count),
        count(new.gaps),
        second.drops.map_or_else(|| "?".to_owned(), count),
    ];
    let trouble = second.ce
        + second.cnps
        + new.naks
        + new.rnr_naks
        + new.seen_again.unwrap_or(0)
        + new.gaps
        + second.drops.unwrap_or(0);
    page.verbatim_in(if trouble == 0 { PLAIN } else { BAD }, &line(cells.each_ref().map(String::as_str)))
}

/// Cells at the right of their columns, 80 columns in all as long as figures are of usual size.
fn line(cells: [&str; 11]) -> String {
    const WIDTHS: [usize; 11] = [8, 11, 7, 6, 7, 6, 6, 6, 6, 5, 5];
    cells
        .iter()
        .zip(WIDTHS)
        .map(|(cell, width)| format!("{cell:>width$}"))
        .collect::<Vec<_>>()
        .join(" ")
        .trim_end()
        .to_owned()
}

/// Writes the JSON line of a second.
///
/// # Errors
/// Those of the writer.
pub fn json(out: &mut impl Write, second: &Second) -> io::Result<()> {
    serde_json::to_writer(&mut *out, &Line::of(second))?;
    out.write_all(b"\n")
}

/// What a JSON line says: counts of this second, but for `connections`, which are all so far.
#[derive(Serialize)]
struct Line {
    schema: &'static str,
    at_ns: u64,
    took_ns: u64,
    frames: u64,
    bytes: u64,
    rdma_frames: u64,
    connections: u64,
    new_connections: u64,
    ce: u64,
    cnp: u64,
    naks: u64,
    rnr_naks: u64,
    seen_again: Option<u64>,
    gaps: u64,
    drops: Option<u64>,
}

impl Line {
    fn of(second: &Second) -> Self {
        let new = &second.new;
        Self {
            schema: SCHEMA,
            at_ns: second.at.0,
            took_ns: second.took.0,
            frames: second.frames,
            bytes: second.bytes.0,
            rdma_frames: second.rdma_frames,
            connections: second.connections,
            new_connections: new.connections,
            ce: second.ce,
            cnp: second.cnps,
            naks: new.naks,
            rnr_naks: new.rnr_naks,
            seen_again: new.seen_again,
            gaps: new.gaps,
            drops: second.drops,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rocetop_analysis::Pulse;
    use rocetop_parsers::{Bytes, Nanos};

    fn second() -> Second {
        let new = Pulse { connections: 3, naks: 4, rnr_naks: 5, seen_again: Some(6), gaps: 7 };
        Second {
            at: Nanos(1_700_000_000_000_000_000),
            took: Nanos(500_000_000),
            frames: 1_000_000,
            bytes: Bytes(1_250_000_000),
            rdma_frames: 999_999,
            ce: 1,
            cnps: 2,
            new,
            connections: 40,
            drops: Some(8),
        }
    }

    fn shown(place: u64, second: &Second) -> String {
        let mut out = Vec::new();
        text(&mut out, place, second).unwrap();
        anstream::adapter::strip_bytes(&out).into_vec().try_into().unwrap()
    }

    #[test]
    fn a_line_a_second_and_a_heading_now_and_then() {
        let first = shown(0, &second());
        let lines: Vec<&str> = first.lines().collect();
        assert_eq!(lines[0], "time UTC    frames/s    Gb/s    new      CE    CNP    NAK    RNR  again  gaps drops");
        assert_eq!(lines[1], "22:13:20   2,000,000   20.00      3       1      2      4      5      6     7     8");
        assert_eq!(shown(1, &Second { drops: None, ..second() }).lines().count(), 1);
        assert!(shown(1, &Second { drops: None, ..second() }).ends_with("    ?\n"));
    }

    #[test]
    fn json_has_counts_and_no_rates() {
        let mut out = Vec::new();
        json(&mut out, &Second { drops: None, ..second() }).unwrap();
        let line = String::from_utf8(out).unwrap();
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!((value["schema"].as_str(), value["frames"].as_u64()), (Some("rocetop.live/1"), Some(1_000_000)));
        assert_eq!((value["drops"].is_null(), value["seen_again"].as_u64()), (true, Some(6)));
        assert!(line.starts_with("{\"schema\":") && line.lines().count() == 1, "{line}");
    }
}
