//! A scenario at the level of flows for people: how long the flows took, and what the links carried.

use std::io::{self, Write};

use super::figures::{bytes, counted, duration, share};
use super::page::{BAD, DIM, GOOD, HEAD, PLAIN, Page};
use super::simulation::{gigabits, part};
use crate::report::flow_level::{Flow, FlowLevel, Link};

/// What it does not show.
const BLIND: &str = "flows alone, at the rates that a perfect congestion control would give them: no queues, losses, \
                     pauses or retransmissions, and [switch], [cc] and [nic] play no part but for the MTU";

/// Writes the page: at most `top` flows, the slowest first, and as many links, the busiest first.
///
/// # Errors
/// Those of the writer.
pub fn write(out: &mut impl Write, run: &FlowLevel, top: usize) -> io::Result<()> {
    let mut page = Page::new(out);
    let about = &run.scenario;
    page.words(HEAD, "Scenario  ", &about.name)?;
    if !about.about.is_empty() {
        page.words(DIM, "          ", about.about.trim())?;
    }
    let fabric = [
        counted(u64::from(about.hosts), "host"),
        counted(u64::from(about.switches), "switch"),
        format!("routing {}", about.routing),
        format!("seed {}", about.seed),
    ];
    page.figures(PLAIN, "Fabric    ", &fabric)?;
    page.words(PLAIN, "Shown     ", BLIND)?;
    let totals = &run.totals;
    let late = totals.flows - totals.flows_done;
    let (style, end) = match late {
        0 => (GOOD, "every flow arrived".to_owned()),
        late => (BAD, format!("{} would take longer than the clock can tell", counted(late, "flow"))),
    };
    page.words(style, "End       ", &format!("{} after the start: {end}", duration(run.end_ns)))?;
    page.figures(PLAIN, "In all    ", &[format!("{} delivered", bytes(totals.delivered_bytes))])?;
    page.gap()?;
    flows(&mut page, &run.flows, top)?;
    links(&mut page, &run.links, top)
}

fn flows<W: Write>(page: &mut Page<'_, W>, flows: &[Flow], top: usize) -> io::Result<()> {
    let mut sorted: Vec<&Flow> = flows.iter().collect();
    // What never arrived is slower than anything.
    sorted.sort_by_key(|flow| (std::cmp::Reverse(flow.duration_ns.unwrap_or(u64::MAX)), flow.id));
    let shown = sorted.len().min(top);
    page.words(HEAD, "", &format!("Flows (the slowest first{})", part(shown, flows.len())))?;
    let head = format!("{:<15} {:>5} {:>5} {:>8} {:>8} {:>11}", "  traffic", "from", "to", "bytes", "took", "goodput");
    page.verbatim(&head)?;
    for flow in sorted.into_iter().take(top) {
        let name: String = flow.traffic.chars().take(13).collect();
        let (src, dst) = (format!("h{}", flow.src), format!("h{}", flow.dst));
        let took = flow.duration_ns.map_or_else(|| "-".to_owned(), duration);
        let goodput = flow.goodput_bps.map_or_else(|| "-".to_owned(), gigabits);
        page.verbatim(&format!("  {name:<13} {src:>5} {dst:>5} {:>8} {took:>8} {goodput:>11}", bytes(flow.bytes)))?;
    }
    page.gap()
}

fn links<W: Write>(page: &mut Page<'_, W>, links: &[Link], top: usize) -> io::Result<()> {
    let mut sorted: Vec<&Link> = links.iter().filter(|link| link.tx_bytes > 0).collect();
    sorted.sort_by_key(|link| std::cmp::Reverse((link.use_ppm, link.tx_bytes)));
    let shown = sorted.len().min(top);
    let title = format!("Links (what the end named first sends; the busiest first{})", part(shown, sorted.len()));
    page.words(HEAD, "", &title)?;
    page.verbatim(&format!("{:<16} {:>6} {:>8}", "  link", "use", "carried"))?;
    for link in sorted.into_iter().take(top) {
        page.verbatim(&format!(
            "  {:<14} {:>6} {:>8}",
            link.link,
            share(link.use_ppm, 1_000_000),
            bytes(link.tx_bytes)
        ))?;
    }
    Ok(())
}
