//! What the pages of a scenario have in common, be it played packet by packet or flow by flow: the head, when it ended,
//! and the tables.

use std::cmp::Reverse;
use std::io::{self, Write};

use anstyle::Style;

use super::figures::{bytes, count, counted, duration};
use super::page::{DIM, HEAD, PLAIN, Page};
use crate::report::played::{About, Message};

/// The scenario and its fabric.
pub(super) fn head<W: Write>(page: &mut Page<'_, W>, about: &About) -> io::Result<()> {
    page.words(HEAD, "Scenario  ", &about.name)?;
    if !about.about.is_empty() {
        page.words(DIM, "          ", about.about.trim())?;
    }
    let mut fabric = vec![counted(u64::from(about.hosts), "host"), counted(u64::from(about.switches), "switch")];
    fabric.extend(about.congestion_control.map(|name| format!("control {name}")));
    fabric.extend([format!("routing {}", about.routing), format!("seed {}", about.seed)]);
    page.figures(PLAIN, "Fabric    ", &fabric)
}

/// When it ended, and how.
pub(super) fn end<W: Write>(page: &mut Page<'_, W>, style: Style, end_ns: u64, how: &str) -> io::Result<()> {
    page.words(style, "End       ", &format!("{} after the start: {how}", duration(end_ns)))
}

/// `of` things of which `shown` are shown.
pub(super) fn part(shown: usize, of: usize) -> String {
    if shown < of { format!(", {shown} of {}", count(of as u64)) } else { String::new() }
}

/// The first `top` of some rows below their head. The title is `what`, and `order` in brackets.
pub(super) fn table<W: Write, T>(
    page: &mut Page<'_, W>,
    (what, order): (&str, &str),
    head: &str,
    rows: &[&T],
    top: usize,
    row: impl Fn(&T) -> String,
) -> io::Result<()> {
    let shown = rows.len().min(top);
    page.words(HEAD, "", &format!("{what} ({order}{})", part(shown, rows.len())))?;
    page.verbatim(head)?;
    rows.iter().take(top).try_for_each(|of| page.verbatim(&row(of)))
}

/// The slowest flows. `more` is the head of further columns; `row` gives what stands for the time of a flow that has
/// not arrived, and its further columns.
pub(super) fn flows<W: Write, T: AsRef<Message>>(
    page: &mut Page<'_, W>,
    flows: &[T],
    top: usize,
    more: &str,
    row: impl Fn(&T) -> (&'static str, String),
) -> io::Result<()> {
    let mut sorted: Vec<&T> = flows.iter().collect();
    // What never arrived is slower than anything.
    sorted.sort_by_key(|flow| (Reverse(flow.as_ref().duration_ns.unwrap_or(u64::MAX)), flow.as_ref().id));
    let columns = ["  traffic", "from", "to", "bytes", "took", "goodput"];
    let [traffic, from, to, size, took, goodput] = columns;
    let head = format!("{traffic:<15} {from:>5} {to:>5} {size:>8} {took:>8} {goodput:>11}{more}");
    table(page, ("Flows", "the slowest first"), &head, &sorted, top, |flow| {
        let (missing, more) = row(flow);
        let flow = flow.as_ref();
        let name: String = flow.traffic.chars().take(13).collect();
        let (src, dst) = (format!("h{}", flow.src), format!("h{}", flow.dst));
        let took = flow.duration_ns.map_or_else(|| missing.to_owned(), duration);
        let goodput = flow.goodput_bps.map_or_else(|| "-".to_owned(), gigabits);
        format!("  {name:<13} {src:>5} {dst:>5} {:>8} {took:>8} {goodput:>11}{more}", bytes(flow.bytes))
    })?;
    page.gap()
}

/// Bits per second as gigabits with three decimals: `92.134 Gb/s`.
fn gigabits(bps: u64) -> String {
    format!("{}.{:03} Gb/s", bps / 1_000_000_000, bps / 1_000_000 % 1_000)
}
