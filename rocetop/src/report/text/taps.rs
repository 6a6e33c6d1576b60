//! Between the taps: what was lost on the way from one to the other, and how long the way took.

use std::collections::BTreeMap;
use std::io::{self, Write};

use rocetop_analysis::detect::{Findings, Severity, Value};
use rocetop_analysis::report::FrameRef;
use rocetop_analysis::taps::{Between, ClockUnknown, DirectionBy, KindsReport, OutageReport, TapReport};
use rocetop_analysis::{Finding, Ledger};

use super::figures::{count, counted, duration, share, time};
use super::page::{BAD, DIM, GOOD, HEAD, PLAIN, Page};
use crate::source::CaptureSummary;

/// Rows shown at most: the ones with losses first.
const ROWS: usize = 24;
/// Frames and outages named.
const FEW: usize = 3;

/// Writes the section, and an empty line.
///
/// # Errors
/// Those of the writer.
pub fn write(out: &mut impl Write, between: &Between, captures: &[CaptureSummary]) -> io::Result<()> {
    let mut page = Page::new(out);
    page.words(HEAD, "", "Between the taps")?;
    for [a, b] in &between.strangers {
        page.words(PLAIN, "  ", &format!("{a} and {b} have no traffic in common."))?;
    }
    if between.rows.is_empty() {
        page.words(BAD, "  ", "Nothing can be compared: no packet was seen at two taps.")?;
        return page.gap();
    }
    let losses = losses(between);
    // Of three taps and more, every packet that is lost early is missing at several.
    let mut pairs: BTreeMap<_, u64> = BTreeMap::new();
    for (&(from, to), lost) in &losses {
        *pairs.entry((from.min(to), from.max(to))).or_default() += lost;
    }
    let (lost, pairs) = (pairs.values().copied().max().unwrap_or(0), pairs.len());
    let unknown = between.rows.iter().any(|r| r.direction_by == DirectionBy::Unknown && r.lost.is_none());
    let missed: u64 = between.rows.iter().map(|r| r.missed).sum();
    let undecided: u64 = between.rows.iter().map(|r| r.undecided).sum();
    let apart: u64 = between.rows.iter().map(|r| r.outside + r.unseen_packets).sum();
    let verdict = match (lost, unknown) {
        (0, true) => (PLAIN, "Which way the packets went is not known, so nothing is called lost.".to_owned()),
        (0, false) if undecided != 0 => {
            (PLAIN, "Nothing is called lost: one of the captures lacks packets that arrived.".to_owned())
        }
        (0, false) if apart != 0 => (GOOD, "Of what was judged, nothing was lost between the taps.".to_owned()),
        (0, false) => (GOOD, "Nothing was lost between the taps.".to_owned()),
        (n, _) if pairs > 1 => (BAD, format!("Up to {} lost between two of the taps.", counted(n, "packet"))),
        (n, _) => (BAD, format!("{} lost between the taps.", counted(n, "packet"))),
    };
    page.words(verdict.0, "  ", &verdict.1)?;
    if undecided != 0 {
        let note = format!(
            "{} lost, or on another way, or missed by a capture: nothing tells which.",
            counted(undecided, "packet")
        );
        page.words(PLAIN, "  ", &note)?;
    }
    if apart != 0 {
        let note = format!(
            "{} not judged: outside of what the other capture covers for certain, or of flows that it never saw.",
            counted(apart, "packet")
        );
        page.words(PLAIN, "  ", &note)?;
    }
    if missed != 0 {
        let note = format!("{} arrived though a capture does not show them.", counted(missed, "packet"));
        page.words(PLAIN, "  ", &note)?;
    }
    if between.beyond != 0 {
        let note = format!(
            "{} not compared: the table of flows was full; --max-flows raises it.",
            counted(between.beyond, "packet")
        );
        page.words(BAD, "  ", &note)?;
    }
    let mut rows: Vec<&TapReport> = between.rows.iter().collect();
    // Stable: rows of the same two taps stay together.
    rows.sort_by_key(|r| std::cmp::Reverse(losses.get(&(r.from.as_str(), r.to.as_str())).copied()));
    let mut heading = ("", "");
    for row in rows.iter().take(ROWS) {
        if heading != (row.from.as_str(), row.to.as_str()) {
            heading = (&row.from, &row.to);
            page.gap()?;
            course(&mut page, row)?;
        }
        direction(&mut page, row)?;
    }
    if rows.iter().any(|row| row.reordered != 0) && captures.iter().any(|c| c.stamped_back != 0) {
        let note = "Overtaken as the files have them, whose stamps go back: a capturing host takes packets from \
                    several receive queues. Only RT002 tells what came in order by its stamps.";
        page.words(DIM, "  ", note)?;
    }
    if rows.len() > ROWS {
        let note = format!("{} not shown; --json has them.", counted((rows.len() - ROWS) as u64, "more direction"));
        page.words(DIM, "  ", &note)?;
    }
    page.gap()
}

/// What was found at each tap, but of a loss between the taps, which each of them tells of, only the worst or the
/// first: read one below the other they would seem to be several losses.
#[must_use]
pub fn told_once(found: &[Findings], ledgers: &[Ledger<'_>]) -> Vec<Findings> {
    let loss = |finding: &Finding, ledger: &Ledger<'_>| {
        let evidence = match finding.code {
            "RT001" => "requests_lost_between_taps",
            "RT009" => "answers_lost_between_taps",
            _ => return None,
        };
        let between = |(name, value): &(&str, Value)| *name == evidence && *value != Value::Number(0);
        finding.evidence.0.iter().find(|figure| between(figure))?;
        let flow = ledger.flow(finding.flow?)?;
        Some((finding.code, flow.src, flow.dst, flow.dst_qp, flow.class, flow.epoch))
    };
    let mut tellers: BTreeMap<_, (Severity, usize)> = BTreeMap::new();
    for (tap, (found, ledger)) in found.iter().zip(ledgers).enumerate() {
        for finding in &found.list {
            let Some(loss) = loss(finding, ledger) else { continue };
            let teller = tellers.entry(loss).or_insert((finding.severity, tap));
            if finding.severity > teller.0 {
                *teller = (finding.severity, tap);
            }
        }
    }
    let taps = found.iter().zip(ledgers).enumerate();
    taps.map(|(tap, (found, ledger))| {
        let tells = |f: &&Finding| loss(f, ledger).and_then(|loss| tellers.get(&loss)).is_none_or(|&(_, by)| by == tap);
        Findings { list: found.list.iter().filter(tells).cloned().collect(), ..found.clone() }
    })
    .collect()
}

/// The losses between each two taps, this way round.
fn losses(between: &Between) -> BTreeMap<(&str, &str), u64> {
    let mut losses = BTreeMap::new();
    for row in &between.rows {
        *losses.entry((row.from.as_str(), row.to.as_str())).or_default() += row.lost.unwrap_or(0);
    }
    losses
}

/// Two taps and their clocks.
fn course<W: Write>(page: &mut Page<'_, W>, row: &TapReport) -> io::Result<()> {
    page.words(HEAD, "  ", &format!("{} -> {}", row.from, row.to))?;
    match row.direction_by {
        DirectionBy::Ttl => {}
        DirectionBy::RoundTrip => page.words(DIM, "    ", "This order, since the round trip takes time.")?,
        DirectionBy::Losses => page.words(DIM, "    ", "This order, since only the first tap saw more.")?,
        DirectionBy::Unknown => {
            page.words(BAD, "    ", "Nothing tells which of the two the packets passed first.")?;
        }
    }
    let clocks = match (row.clock_offset_ns, row.clock_uncertainty_ns) {
        (Some(offset), Some(within)) => {
            let side = if offset < 0 { "behind" } else { "ahead of" };
            format!(
                "the second is {} {side} the first, give or take {}",
                duration(offset.unsigned_abs()),
                duration(within)
            )
        }
        _ => {
            let why = match row.clock_unknown {
                Some(ClockUnknown::Copies) => "every packet came several times, and which is which is not known",
                Some(ClockUnknown::ClockSet) => "one was set meanwhile, or runs at another speed",
                Some(ClockUnknown::Order) => "which tap comes first is not known",
                Some(ClockUnknown::OneDirection) | None => "only one direction was seen at both",
            };
            format!("not comparable: {why}")
        }
    };
    page.words(PLAIN, "    Clocks   ", &clocks)
}

fn direction<W: Write>(page: &mut Page<'_, W>, row: &TapReport) -> io::Result<()> {
    page.words(PLAIN, "    ", &format!("{} -> {}", row.src, row.dst))?;
    let mut figures = vec![format!("{} sent", count(row.sent)), format!("{} received", count(row.received))];
    let lost = row.lost.map_or_else(
        || "lost: not known".to_owned(),
        |lost| match lost {
            0 => "none lost".to_owned(),
            n if row.undecided != 0 => format!("at least {} lost ({})", count(n), share(n, row.sent)),
            n => format!("{} lost ({})", count(n), share(n, row.sent)),
        },
    );
    figures.push(lost);
    let style = if row.lost == Some(0) { PLAIN } else { BAD };
    page.figures(style, "      Packets  ", &figures)?;
    let kinds = kinds(&row.lost_by_kind);
    if row.lost.is_some_and(|lost| lost != 0) {
        if !kinds.is_empty() {
            page.figures(BAD, "      Lost     ", &kinds)?;
        }
        page.words(PLAIN, "      First    ", &frames(&row.first_lost, row.lost.unwrap_or(0) + row.undecided))?;
    }
    for outage in row.outages.iter().take(FEW) {
        gap(page, outage)?;
    }
    let further = (row.outages.len().saturating_sub(FEW)) as u64 + row.more_outages;
    if further != 0 {
        page.words(
            DIM,
            "               ",
            &format!("and {} of several packets in a row", counted(further, "more loss")),
        )?;
    }
    match &row.owd_ns {
        Some(d) => page.figures(PLAIN, "      Delay    ", &spread("", d.p50, d.p99, d.max))?,
        None => {
            let d = &row.queueing_ns;
            if d.count != 0 {
                page.figures(PLAIN, "      Delay    ", &spread("above the least: ", d.p50, d.p99, d.max))?;
            }
        }
    }
    let notes = [
        (row.reordered, format!("{} overtaken by later ones", count(row.reordered))),
        (row.ce_marked, format!("{} marked CE", count(row.ce_marked))),
        (row.damaged, format!("{} damaged", count(row.damaged))),
        (row.duplicated, format!("{} duplicated", count(row.duplicated))),
        (row.mirror_copies, format!("{} second copies left out", count(row.mirror_copies))),
    ];
    let notes: Vec<String> = notes.into_iter().filter(|n| n.0 != 0).map(|n| n.1).collect();
    if !notes.is_empty() {
        page.figures(PLAIN, "      On way   ", &notes)?;
    }
    if row.missed != 0 {
        let note = format!(
            "{} arrived but {} not in the second capture: it missed them, or they went another way",
            counted(row.missed, "packet"),
            if row.missed == 1 { "is" } else { "are" }
        );
        page.words(PLAIN, "      Missed   ", &note)?;
    }
    if row.appeared.total() != 0 {
        let which = self::kinds(&row.appeared).join(", ");
        let note = format!("{which} only in the second capture: the first missed them, or something between made them");
        page.words(PLAIN, "      Extra    ", &note)?;
    }
    if row.undecided != 0 {
        let note = format!(
            "{} lost, or on another way, or missed: others that arrived are not in the second capture either",
            counted(row.undecided, "packet")
        );
        page.words(PLAIN, "      Unknown  ", &note)?;
    }
    if row.outside != 0 {
        let note = format!(
            "{} not judged: before or after what the other capture covers for certain",
            counted(row.outside, "packet")
        );
        page.words(DIM, "      Apart    ", &note)?;
    }
    if row.unseen_flows != 0 {
        let flows = counted(row.unseen_flows, "flow");
        let note = format!(
            "{flows} ({}) not judged: never seen at the second tap, lost altogether or on another way",
            counted(row.unseen_packets, "packet")
        );
        page.words(DIM, "      Apart    ", &note)?;
    }
    if row.hurried != 0 {
        let note = format!("{} settled early: too many were open at once", counted(row.hurried, "packet"));
        page.words(BAD, "      Limits   ", &note)?;
    }
    Ok(())
}

fn spread(what: &str, p50: u64, p99: u64, max: u64) -> Vec<String> {
    vec![format!("{what}p50 {}", duration(p50)), format!("p99 {}", duration(p99)), format!("max {}", duration(max))]
}

fn kinds(kinds: &KindsReport) -> Vec<String> {
    let all = [
        (kinds.requests, "request"),
        (kinds.responses, "response"),
        (kinds.acks, "ACK"),
        (kinds.naks, "NAK"),
        (kinds.cnps, "CNP"),
        (kinds.other, "other packet"),
    ];
    all.into_iter().filter(|k| k.0 != 0).map(|(n, what)| counted(n, what)).collect()
}

/// Their places in the capture that the heading names first.
fn frames(frames: &[FrameRef], all: u64) -> String {
    let place = |frame: &FrameRef| {
        let text = frame.to_string();
        text.rsplit_once(':').map_or(text.clone(), |(_, place)| place.to_owned())
    };
    let places: Vec<String> = frames.iter().take(FEW).map(place).collect();
    let more = match all.saturating_sub(places.len() as u64) {
        0 => String::new(),
        n => format!(" and {} more", count(n)),
    };
    let frames = if places.len() == 1 { "frame" } else { "frames" };
    format!("{frames} {}{more} of the first capture", places.join(", "))
}

/// A row of losses: how long, and from when to when.
fn gap<W: Write>(page: &mut Page<'_, W>, outage: &OutageReport) -> io::Result<()> {
    let from = outage.last_through_ns.unwrap_or(outage.first_lost_ns);
    let to = outage.first_through_ns.unwrap_or(outage.last_lost_ns);
    let end = if outage.first_through_ns.is_some() { "" } else { ", to the end" };
    let note = format!(
        "{} to qp {} in a row, {}{end}, from {}",
        counted(outage.packets, "packet"),
        outage.dst_qp,
        duration(to.saturating_sub(from)),
        time(from)
    );
    page.words(BAD, "      Gap      ", &note)
}
