//! A scenario at the level of flows for people: how long the flows took, and what the links carried.

use std::io::{self, Write};

use super::figures::{bytes, counted, share};
use super::page::{BAD, GOOD, PLAIN, Page};
use super::played;
use crate::report::flow_level::{FlowLevel, Link};

/// What it does not show.
const BLIND: &str = "flows alone, at the rates that a perfect congestion control would give them: no queues, losses, \
                     pauses or retransmissions; [switch], [cc], [nic] (but for the MTU), [run] hops, [observe] and \
                     priorities play no part";

/// Writes the page: at most `top` flows, the slowest first, and as many links, the busiest first.
///
/// # Errors
/// Those of the writer.
pub fn write(out: &mut impl Write, run: &FlowLevel, top: usize) -> io::Result<()> {
    let mut page = Page::new(out);
    played::head(&mut page, &run.scenario)?;
    page.words(PLAIN, "Shown     ", BLIND)?;
    let totals = &run.totals;
    let late = totals.flows - totals.flows_done;
    let (style, end) = match late {
        0 => (GOOD, "every flow arrived".to_owned()),
        late => (BAD, format!("{} would take longer than the clock can tell", counted(late, "flow"))),
    };
    played::end(&mut page, style, run.end_ns, &end)?;
    page.figures(PLAIN, "In all    ", &[format!("{} delivered", bytes(totals.delivered_bytes))])?;
    page.gap()?;
    played::flows(&mut page, &run.flows, top, "", |_| ("-", String::new()))?;
    links(&mut page, &run.links, top)
}

fn links<W: Write>(page: &mut Page<'_, W>, links: &[Link], top: usize) -> io::Result<()> {
    let mut sorted: Vec<&Link> = links.iter().filter(|link| link.tx_bytes > 0).collect();
    sorted.sort_by_key(|link| std::cmp::Reverse((link.use_ppm, link.tx_bytes)));
    let title = ("Links", "what the end named first sends; the busiest first");
    let head = format!("{:<16} {:>6} {:>8}", "  link", "use", "carried");
    played::table(page, title, &head, &sorted, top, |link| {
        format!("  {:<14} {:>6} {:>8}", link.link, share(link.use_ppm, 1_000_000), bytes(link.tx_bytes))
    })
}
