//! The report for people: 80 columns, what matters first.

mod connections;
mod exchanges;
pub(crate) mod figures;
mod files;
mod findings;
pub mod flow_level;
pub(crate) mod page;
mod played;
pub mod simulation;
pub mod story;
pub mod taps;

use std::io::{self, Write};

use rocetop_analysis::Ledger;
use rocetop_analysis::detect::Findings;
use rocetop_analysis::report::TotalsReport;
use rocetop_analysis::report::paths::PathsReport;

use self::connections::Story;
use self::figures::{bars, bytes, count, counted, duration, rate, share, time};
use self::files::Files;
use self::page::{BAD, DIM, GOOD, HEAD, PLAIN, Page};
use super::known;
use super::select::Selection;
use super::taps::Ids;
use crate::source::{CaptureSummary, Watched};

/// Captures that are all named.
const FILES: usize = 8;
/// Bars that a picture of the rate needs (chosen: fewer make none).
const BARS: usize = 8;
/// RoCE frames that it needs, too: fewer are told one by one.
const MANY: u64 = 32;

/// What to show.
#[derive(Clone, Debug)]
pub struct Shown {
    /// Which connections.
    pub chosen: Selection,
    /// How many of them.
    pub top: usize,
    /// With several taps, the ids of those before.
    pub before: Option<Ids>,
}

/// Writes the report.
///
/// # Errors
/// Those of the writer.
pub fn write(
    out: &mut impl Write,
    captures: &[CaptureSummary],
    ledger: &Ledger<'_>,
    found: &Findings,
    shown: &Shown,
) -> io::Result<()> {
    let mut page = Page::new(out);
    let totals = known::totals(ledger, captures);
    heads(&mut page, captures)?;
    page.gap()?;
    if !shown.chosen.is_all() {
        page.words(DIM, "", "Of the whole capture, not of the selection alone:")?;
    }
    sums(&mut page, &totals, captures, ledger.is_counted())?;
    if let Some(paths) = &found.paths {
        spread(&mut page, paths)?;
    }
    page.gap()?;
    let story = Story::of(ledger, shown);
    verdict(&mut page, &totals, captures, &story, shown, findings::alarming(found))?;
    let start = captures.iter().filter_map(|c| c.first_ns).min().map_or(0, |first| first.0);
    let files = Files::of(captures);
    findings::write(&mut page, found, &files, start, shown)?;
    for block in &story.blocks {
        page.gap()?;
        block.write(&mut page, &files)?;
    }
    exchanges::write(&mut page, ledger, &files, start, shown.top, |exchange| shown.chosen.concerns(exchange, &[]))?;
    page.gap()?;
    // What was watched and not kept cannot be looked at again.
    let again = captures.iter().all(|capture| capture.watched.is_none());
    more(&mut page, &story, found, shown, again)
}

/// The captures.
fn heads<W: Write>(page: &mut Page<'_, W>, captures: &[CaptureSummary]) -> io::Result<()> {
    // A ring buffer may have hundreds of parts: the first few stand for the others, but for those with a problem.
    let few = captures.len() <= FILES;
    let (shown_captures, rest): (Vec<_>, Vec<_>) =
        captures.iter().enumerate().partition(|(n, c)| few || *n < FILES / 2 || c.is_odd());
    for (_, capture) in shown_captures {
        captured(page, capture)?;
    }
    match rest.len() {
        0 => Ok(()),
        n => page.words(DIM, "", &format!("and {}, all complete", counted(n as u64, "more file"))),
    }
}

/// One capture: what it is, when it was taken, and what is wrong with it.
fn captured<W: Write>(page: &mut Page<'_, W>, capture: &CaptureSummary) -> io::Result<()> {
    page.words(HEAD, "", &capture.path)?;
    let mut figures: Vec<String> = [&capture.format, &capture.link_type].into_iter().flatten().cloned().collect();
    figures.push(counted(capture.frames, "frame"));
    figures.push(bytes(capture.bytes.0));
    if let (Some(first), Some(last)) = (capture.first_ns, capture.last_ns) {
        if !capture.clock_jumps {
            figures.push(duration(last.since(first).0));
        }
        page.figures(PLAIN, "  ", &figures)?;
        page.words(DIM, "  ", &format!("{} UTC to {} UTC", time(first.0), time(last.0)))?;
    } else {
        page.figures(PLAIN, "  ", &figures)?;
    }
    if let Some(watched) = &capture.watched {
        watching(page, watched)?;
    }
    // Those of what is watched are told with how it is.
    match capture.drops.filter(|_| capture.watched.is_none()) {
        Some(0) => page.words(DIM, "  ", "The capture says that it missed no frame.")?,
        Some(n) => {
            let missed = counted(n, "frame");
            let text =
                format!("The capture itself missed {missed}: figures are too low, and gaps may be of its making.");
            page.words(BAD, "  ", &text)?;
        }
        None => {}
    }
    // A clock that was set is told as such.
    if capture.stamped_back != 0 && !capture.clock_jumps {
        let (n, are) = (capture.stamped_back, if capture.stamped_back == 1 { "is" } else { "are" });
        let text = format!(
            "{} {are} stamped before the one ahead: the order may be the capturing host's.",
            counted(n, "frame")
        );
        page.words(PLAIN, "  ", &text)?;
    }
    for note in &capture.notes {
        page.words(BAD, "  ", note)?;
    }
    match &capture.problem {
        Some(problem) => {
            let rest = if capture.frames == 0 { "" } else { " What comes before is analysed." };
            page.words(BAD, "  ", &format!("Not complete: {problem}.{rest}"))
        }
        None => Ok(()),
    }
}

/// Through what an interface was watched, and what its figures are worth.
fn watching<W: Write>(page: &mut Page<'_, W>, watched: &Watched) -> io::Result<()> {
    let source = match watched.mode {
        Some(mode) => format!("{} ({mode})", watched.source),
        None => watched.source.to_owned(),
    };
    if watched.needs_packets.is_some() {
        let counted = match watched.unlisted {
            0 => format!("Through {source}, counted in the kernel: figures of flows are exact."),
            n => format!(
                "Through {source}, counted in the kernel, whose table of flows was full: {} belong to flows that are \
                not here.",
                counted(n, "packet")
            ),
        };
        return page.words(if watched.unlisted == 0 { PLAIN } else { BAD }, "  ", &counted);
    }
    match watched.drops {
        Some(0) => {
            page.words(PLAIN, "  ", &format!("Through {source}, every frame: none was dropped. Figures are exact."))
        }
        Some(n) => {
            let lost = format!(
                "Through {source}, which had no room for {}: figures are too low, and gaps may be of its making.",
                counted(n, "frame")
            );
            page.words(BAD, "  ", &lost)
        }
        None => {
            let text =
                format!("Through {source}; nobody tells whether frames were dropped, so gaps may be of its making.");
            page.words(PLAIN, "  ", &text)
        }
    }
}

fn sums<W: Write>(
    page: &mut Page<'_, W>,
    t: &TotalsReport,
    captures: &[CaptureSummary],
    counted_by_kernel: bool,
) -> io::Result<()> {
    let some = |n: u64, what: &str| (n != 0).then(|| format!("{} {what}", count(n)));
    let mut frames = vec![format!("{} RoCEv2 ({})", count(t.roce_frames), share(t.roce_frames, t.frames))];
    let rest = [
        some(t.rocev1_frames, "RoCEv1"),
        some(t.infiniband_frames, "InfiniBand"),
        some(t.pfc_frames, "PFC/pause"),
        some(t.other_frames, "other"),
        some(t.undecodable_frames, "undecodable"),
        some(t.mirror_copies, "second copies, left out"),
        some(t.wild, "damaged as it seems, left out"),
    ];
    frames.extend(rest.into_iter().flatten());
    page.figures(PLAIN, "Frames   ", &frames)?;
    if t.mirror_copies != 0 {
        page.words(DIM, "         ", "These sums count both copies; connections, findings and latency one.")?;
        if captures.len() > 1 {
            let hint = "Where these files are captures of several places, --taps compares them.";
            page.words(DIM, "         ", hint)?;
        }
    }
    let first = captures.iter().filter_map(|c| c.first_ns).min();
    let last = captures.iter().filter_map(|c| c.last_ns).max();
    let sound = !captures.iter().any(|c| c.clock_jumps);
    if let (Some(first), Some(last)) = (first, last)
        && sound
        && let Some(rate) = rate(t.bytes, last.since(first).0)
    {
        page.figures(PLAIN, "Rate     ", &[format!("{rate}, all frames, over {}", duration(last.since(first).0))])?;
    }
    if let Some(over_time) = t.rate.as_ref().filter(|_| sound)
        && over_time.bytes.len() >= BARS
        && t.roce_frames >= MANY
    {
        let peak = over_time.bytes.iter().max().and_then(|&most| rate(most, over_time.bin_ns)).unwrap_or_default();
        let bins = format!("RoCE, {} a bar, {peak} at most", duration(over_time.bin_ns));
        page.words(PLAIN, "         ", &bars(&over_time.bytes))?;
        page.words(DIM, "         ", &bins)?;
    }
    if t.icrc.ok + t.icrc.bad + t.icrc.unknown == 0 {
        return Ok(());
    }
    let icrc = [
        Some(format!("{} ok", count(t.icrc.ok))),
        some(t.icrc.bad, "bad"),
        some(t.icrc.unknown, if counted_by_kernel { "not looked at" } else { "unknown (cut by the snap length)" }),
    ];
    let style = if t.icrc.bad == 0 { PLAIN } else { BAD };
    page.figures(style, "ICRC     ", &icrc.into_iter().flatten().collect::<Vec<_>>())?;
    let ecn = [
        some(t.ecn.not_ect, "not-ECT"),
        some(t.ecn.ect0, "ECT(0)"),
        some(t.ecn.ect1, "ECT(1)"),
        some(t.ecn.ce, "CE"),
        some(t.cnp, "CNP"),
    ];
    page.figures(PLAIN, "ECN      ", &ecn.into_iter().flatten().collect::<Vec<_>>())?;
    let mut opcodes: Vec<_> = t.opcodes.iter().collect();
    opcodes.sort_by_key(|&(_, n)| std::cmp::Reverse(n));
    let opcodes: Vec<String> = opcodes.into_iter().map(|(opcode, n)| format!("{} {opcode}", count(n))).collect();
    page.figures(PLAIN, "Opcodes  ", &opcodes)?;
    match t.message_ns.filter(|times| times.count != 0) {
        Some(m) => {
            let times = [("p50", m.p50), ("p99", m.p99), ("max", m.max)];
            let times = times.map(|(name, ns)| format!("{name} {}", duration(ns)));
            let answered = format!("{} answered", counted(m.count, "message"));
            let figures = [&times[..], &[answered, "counted from this tap".to_owned()]].concat();
            page.figures(PLAIN, "Latency  ", &figures)
        }
        None => Ok(()),
    }
}

/// Links of the group that is told of: what many leaf switches have upward.
const UPLINKS: u64 = 8;
/// Queue pairs with data of which the spread is told: of fewer it is plain.
const SPREAD: u64 = 4;

/// How well the traffic can spread over links of equal cost.
fn spread<W: Write>(page: &mut Page<'_, W>, paths: &PathsReport) -> io::Result<()> {
    let Some(links) = paths.uplinks.iter().find(|group| group.links == UPLINKS) else { return Ok(()) };
    if paths.queue_pairs < SPREAD {
        return Ok(());
    }
    let figures = [
        counted(paths.queue_pairs, "flow") + " with data",
        counted(paths.host_pairs, "pair") + " of hosts",
        counted(paths.five_tuples, "five-tuple"),
    ];
    page.figures(PLAIN, "Paths    ", &figures)?;
    let times = |permille: u64| format!("{:.1}", permille as f64 / 1000.0);
    let both = if paths.pairs == paths.host_pairs { "" } else { ", both ways together," };
    let text = format!(
        "hashed to {UPLINKS} links{both} the busiest gets {} times its share, with the QP {}",
        times(links.busiest_permille),
        times(links.with_qp_busiest_permille)
    );
    page.words(DIM, "         ", &text)
}

/// The sentence that a hurried reader reads.
fn verdict<W: Write>(
    page: &mut Page<'_, W>,
    t: &TotalsReport,
    captures: &[CaptureSummary],
    story: &Story,
    shown: &Shown,
    alarming: bool,
) -> io::Result<()> {
    if t.frames == 0 {
        // Only a filter leaves frames out.
        let none = captures.iter().all(|c| c.frames == 0);
        return page.words(
            BAD,
            "",
            if none {
                "No frame was found."
            } else {
                "No frame passes the filter. For tagged frames write 'vlan and (...)'."
            },
        );
    }
    if t.roce_frames + t.rocev1_frames + t.infiniband_frames == 0 {
        page.words(BAD, "", "No RoCE or InfiniBand frame was found.")?;
        if let Some(link) = captures.iter().find_map(|c| c.unread_link.as_deref()) {
            let text = format!(
                "Frames of the link type {link} cannot be read here. Capture on an Ethernet or RDMA device, or convert \
                 the file."
            );
            return page.words(PLAIN, "", &text);
        }
        return page.words(
            PLAIN,
            "",
            "Verbs traffic of a hardware NIC bypasses the kernel, so tcpdump on its network device sees none of it. \
             Capture on the RDMA device, at a switch mirror, or on a DPU.",
        );
    }
    let chosen = if shown.chosen.is_all() { "connection" } else { "chosen connection" };
    let of_all = if shown.chosen.is_all() { String::new() } else { format!(" (of {} in all)", count(story.all)) };
    let connections = counted(story.connections, chosen) + &of_all;
    let gone = t.evicted.flows + t.aged_out.flows;
    if story.connections == 0 && t.icrc.bad != 0 && t.icrc.ok + t.icrc.unknown == 0 {
        let all = "Every packet has a bad ICRC, so no connection is built. A tap that strips or does not fill the ICRC \
                   does that; a network hardly.";
        page.words(BAD, "", all)?;
    } else if story.connections == 0 {
        return page.words(BAD, "", "No connection fits the selection.");
    } else if story.troubled == 0 {
        let style = if gone == 0 && !alarming { GOOD } else { PLAIN };
        let repeats = if story.counted { "" } else { "no repeats, " };
        // What was lost elsewhere is told above.
        let here = if shown.before.is_some() { " at this tap" } else { "" };
        let but = if alarming { ", and yet not all is well:" } else { "." };
        page.words(style, "", &format!("{connections}: no gaps, {repeats}no NAKs{here}{but}"))?;
    } else {
        let of = format!("{} of {connections} in trouble: ", count(story.troubled));
        page.words(BAD, "", &(of + &story.trouble.words().join(", ") + "."))?;
    }
    if let (n @ 1.., ns) = story.silent {
        let were = if n == 1 { "was silent for" } else { "were silent for up to" };
        let (who, long) = (counted(n, "connection"), duration(ns));
        let text = format!(
            "{who} without trouble {were} {long}, long against the usual pace. An idle application looks the same."
        );
        page.words(PLAIN, "", &text)?;
    }
    if story.counted {
        let not =
            "Repeats, what gaps were filled, stories and findings need packets: leave out --counters to see them.";
        page.words(PLAIN, "", not)?;
    }
    let place = if shown.chosen.is_all() { "" } else { " in the whole capture" };
    if t.ecn.ce + t.cnp != 0 {
        let rdma = t.roce_frames + t.rocev1_frames + t.infiniband_frames;
        let marked =
            format!("{} of {} marked CE ({})", count(t.ecn.ce), counted(rdma, "RDMA frame"), share(t.ecn.ce, rdma));
        page.words(BAD, "", &format!("Congestion{place}: {marked}, {}.", counted(t.cnp, "CNP")))?;
    }
    if t.icrc.bad != 0 {
        let note = format!("Damage{place}: {} with a bad ICRC, left out of the flows.", counted(t.icrc.bad, "frame"));
        page.words(BAD, "", &note)?;
    }
    for (gone, why) in
        [(t.evicted, "the table was full; --max-flows raises it"), (t.aged_out, "they were idle; --idle")]
    {
        if gone.flows != 0 {
            let lost = format!(
                "{} made room for newer ones ({why}): {} of theirs are in no verdict here.",
                counted(gone.flows, "flow"),
                counted(gone.packets, "packet")
            );
            page.words(BAD, "", &lost)?;
        }
    }
    Ok(())
}

fn more<W: Write>(
    page: &mut Page<'_, W>,
    story: &Story,
    found: &Findings,
    shown: &Shown,
    again: bool,
) -> io::Result<()> {
    let hidden = story.connections - story.blocks.len() as u64;
    if hidden != 0 {
        let clean = story.connections - story.troubled;
        let note = format!(
            "{} not shown ({} of all without gaps, NAKs or repeats). --top {} shows more of them.",
            counted(hidden, "connection"),
            count(clean),
            shown.top.saturating_mul(4).max(10)
        );
        page.words(DIM, "", &note)?;
    }
    if story.connections == 0 {
        return Ok(());
    }
    let beside = match again {
        true => "See also: --qpn N or --host A for some connections, --json for every figure.",
        false => "See also: --json for every figure; `rocetop analyze` tells more of what --write keeps.",
    };
    page.words(DIM, "", beside)?;
    if again
        && let Some((block, flow)) = story.blocks.first().and_then(|b| Some((b, b.flows().first()?)))
        && block.is_troubled()
        && !story.counted
    {
        let hint = match shown.before {
            None => format!("--flow {} tells the story of #{}.", flow.id, block.id()),
            // It has another id there.
            Some(before) => {
                let id = before.alone(flow.id);
                format!("Without --taps and the other captures, --flow {id} tells the story of #{}.", block.id())
            }
        };
        page.words(DIM, "", &hint)?;
    }
    match found.list.first() {
        Some(worst) => page.words(DIM, "", &format!("`rocetop explain {}` says what that finding means.", worst.code)),
        None => Ok(()),
    }
}
