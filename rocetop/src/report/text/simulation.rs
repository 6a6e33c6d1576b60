//! A simulated run for people: what became of the flows, and what the links had to carry.

use std::io::{self, Write};

use super::figures::{bytes, count, counted, duration, share};
use super::page::{BAD, GOOD, HEAD, PLAIN, Page};
use super::played::{self, part};
use crate::report::simulation::{Circle, Flow, Link, LostOf, Queue, Simulation, Tree};

/// Trees of pauses that are shown.
const TREES: usize = 5;

/// Writes the page: at most `top` flows, the slowest first, as many links, those in trouble first, and as many pairs
/// that lost.
///
/// # Errors
/// Those of the writer.
pub fn write(out: &mut impl Write, run: &Simulation, top: usize) -> io::Result<()> {
    let mut page = Page::new(out);
    head(&mut page, run)?;
    flows(&mut page, &run.flows, top)?;
    links(&mut page, &run.links, top)?;
    losses(&mut page, &run.lost, top)?;
    trees(&mut page, &run.pause_trees)?;
    circles(&mut page, &run.deadlocks)
}

fn head<W: Write>(page: &mut Page<'_, W>, run: &Simulation) -> io::Result<()> {
    played::head(page, &run.scenario)?;
    let totals = &run.totals;
    let missing = run.flows.iter().filter(|flow| flow.message.duration_ns.is_none()).count() as u64;
    let (style, mut end) = match run.ended {
        "done" if totals.flows == 0 => (PLAIN, "there was nothing to send".to_owned()),
        "done" => (GOOD, "every flow arrived".to_owned()),
        "deadlock" => (BAD, format!("deadlock: {} never arrived", counted(missing, "flow"))),
        "stuck" => (BAD, format!("stuck: {} never arrived", counted(missing, "flow"))),
        "time" => (PLAIN, format!("the scenario's time was over; {} on their way", counted(missing, "flow"))),
        "hops" => (BAD, format!("the scenario's hops were used up; {} on their way", counted(missing, "flow"))),
        _ => (BAD, format!("interrupted; {} on their way", counted(missing, "flow"))),
    };
    let unheard =
        run.flows.iter().filter(|flow| flow.message.duration_ns.is_some() && flow.message.acked_ns.is_none()).count();
    if unheard > 0 {
        end.push_str(&format!("; {} arrived unacknowledged", counted(unheard as u64, "flow")));
    }
    if run.ended != "deadlock" && !run.deadlocks.is_empty() {
        end.push_str("; queues waited for each other in a circle (Deadlocks, below)");
    }
    played::end(page, style, run.end_ns, &end)?;
    let mut sums = vec![
        format!("{} delivered", bytes(totals.delivered_bytes)),
        counted(totals.drops, "drop"),
        format!("{} sent again", count(totals.retransmissions)),
        format!("{} CE", count(totals.ce)),
        counted(totals.cnps, "CNP"),
        counted(totals.pauses, "pause"),
        counted(totals.timeouts, "timeout"),
    ];
    if totals.broken > 0 {
        sums.insert(2, format!("{} broken on cables", count(totals.broken)));
    }
    page.figures(PLAIN, "In all    ", &sums)?;
    page.gap()
}

fn flows<W: Write>(page: &mut Page<'_, W>, flows: &[Flow], top: usize) -> io::Result<()> {
    let columns = |again: &str, ce: &str, cnp: &str| format!(" {again:>6} {ce:>6} {cnp:>5}");
    played::flows(page, flows, top, &columns("again", "CE", "CNP"), |flow| {
        let missing = match flow.message.started_ns {
            _ if flow.failed => "broken",
            Some(_) => "on way",
            None => "waits",
        };
        let counts = [flow.retransmissions, flow.ce, flow.cnps].map(|of| count(of.into()));
        let [again, ce, cnp] = &counts;
        (missing, columns(again, ce, cnp))
    })
}

/// Bytes of a queue that make a difference in the order of links: the largest frame of RoCE, about (chosen).
const QUEUE: u64 = 4096;

fn links<W: Write>(page: &mut Page<'_, W>, links: &[Link], top: usize) -> io::Result<()> {
    let mut sorted: Vec<&Link> = links.iter().filter(|link| link.tx_frames + link.lost > 0).collect();
    // Where a queue grows is the cause; whoever is paused because of it waits, often with nothing queued at all.
    let trouble = |link: &Link| {
        // A frame or two are no queue.
        let longest = link.queue.map_or(0, |queue| queue.max / QUEUE);
        (link.lost, link.ce, longest, link.paused_ns, link.use_ppm)
    };
    sorted.sort_by_key(|link| std::cmp::Reverse(trouble(link)));
    let title = ("Links", "what the end named first sends; in trouble first");
    let head = format!(
        "{:<16} {:>6} {:>6} {:>6} {:>6} {:>8} {:>8} {:>8} {:>8}",
        "  link", "use", "lost", "CE", "pauses", "paused", "q p50", "q p99", "q max"
    );
    played::table(page, title, &head, &sorted, top, |link| {
        let queue =
            |of: fn(&Queue) -> u64| link.queue.as_ref().map_or_else(|| "-".to_owned(), |queue| bytes(of(queue)));
        format!(
            "  {:<14} {:>6} {:>6} {:>6} {:>6} {:>8} {:>8} {:>8} {:>8}",
            link.link,
            share(link.use_ppm, 1_000_000),
            count(link.lost),
            count(link.ce),
            count(link.pauses),
            duration(link.paused_ns),
            queue(|q| q.p50),
            queue(|q| q.p99),
            queue(|q| q.max)
        )
    })
}

fn losses<W: Write>(page: &mut Page<'_, W>, lost: &[LostOf], top: usize) -> io::Result<()> {
    if lost.is_empty() {
        return Ok(());
    }
    let mut sorted: Vec<&LostOf> = lost.iter().collect();
    sorted.sort_by_key(|pair| std::cmp::Reverse(pair.packets));
    let shown = sorted.len().min(top);
    page.gap()?;
    page.words(HEAD, "", &format!("Lost (by who sent to whom{})", part(shown, sorted.len())))?;
    for pair in sorted.into_iter().take(top) {
        let ends = format!("{} > {}", pair.from, pair.to);
        page.figures(BAD, "  ", &[ends, counted(pair.packets, "packet")])?;
    }
    Ok(())
}

fn circles<W: Write>(page: &mut Page<'_, W>, circles: &[Circle]) -> io::Result<()> {
    if circles.is_empty() {
        return Ok(());
    }
    page.gap()?;
    page.words(HEAD, "", &format!("Deadlocks{}", part(circles.len().min(TREES), circles.len())))?;
    for circle in circles.iter().take(TREES) {
        let opened = circle.opened_ns.map_or("never opened".to_owned(), |at| format!("opened at {}", duration(at)));
        page.words(
            BAD,
            "  ",
            &format!("closed at {}, {opened}: {}", duration(circle.closed_ns), circle.queues.join(" > ")),
        )?;
    }
    Ok(())
}

fn trees<W: Write>(page: &mut Page<'_, W>, trees: &[Tree]) -> io::Result<()> {
    if trees.is_empty() {
        return Ok(());
    }
    page.gap()?;
    page.words(
        HEAD,
        "",
        &format!("Pauses (by where the congestion stood{})", part(trees.len().min(TREES), trees.len())),
    )?;
    for tree in trees.iter().take(TREES) {
        let levels = if tree.depth == 1 { "1 level".to_owned() } else { format!("{} levels", tree.depth) };
        let figures = [
            format!("{}, priority {}", tree.root, tree.priority),
            counted(tree.pauses, "pause"),
            levels,
            format!("{} stopped, {} of them hosts", counted(tree.ports.len() as u64, "port"), tree.hosts),
        ];
        page.figures(PLAIN, "  ", &figures)?;
    }
    Ok(())
}
