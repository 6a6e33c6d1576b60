//! The story of one connection: who asks whom, where the tap stands, what happened when, and what it cost in all.

use std::io::{self, Write};

use rocetop_analysis::Ledger;
use rocetop_analysis::detect::Findings;
use rocetop_analysis::report::{FlowReport, FrameRef};
use rocetop_analysis::story::StoryReport;
use rocetop_analysis::story::report::{EpisodeReport, Kind, Near, Recovery, Sizes, Spread};

use super::figures::{bytes, count, counted, duration, timeout_exponent};
use super::files::Files;
use super::findings::{self, offset};
use super::page::{BAD, DIM, GOOD, HEAD, PLAIN, Page};
use super::{Shown, connections, exchanges, heads};
use crate::report::words;
use crate::source::CaptureSummary;

/// Entries told from the beginning of a long story, and from its end.
const FIRST: usize = 48;
const LAST: usize = 16;
/// Frames of an entry that are named.
const FRAMES: usize = 6;
/// What an entry says starts here, behind its time and direction; and what fits there in one line.
const INDENT: &str = "                   ";
const WIDTH: usize = 60;

/// One direction that carries requests, and what answers them.
struct Side<'a> {
    flow: &'a FlowReport,
    back: Option<&'a FlowReport>,
    story: &'a StoryReport,
    arrow: &'static str,
}

impl Side<'_> {
    /// Whether PSNs count packets here, and so tell what is missing.
    fn counts(&self) -> bool {
        self.flow.requests.next_psn.is_some()
    }
}

/// Writes the story. `again` tells whether the captures were read a second time, for every episode of this connection.
///
/// # Errors
/// Those of the writer.
pub fn write(
    out: &mut impl Write,
    captures: &[CaptureSummary],
    ledger: &Ledger<'_>,
    found: &Findings,
    shown: &Shown,
    again: bool,
) -> io::Result<()> {
    let mut page = Page::new(out);
    let start = captures.iter().filter_map(|c| c.first_ns).min().map_or(0, |first| first.0);
    let files = Files::of(captures);
    let all = connections::Story::of(ledger, &Shown { top: 1, ..shown.clone() });
    let Some(block) = all.blocks.first() else {
        return page.words(BAD, "", "This flow's connection does not fit the other parts of the selection.");
    };
    heads(&mut page, captures)?;
    page.gap()?;
    block.write(&mut page, &files)?;
    let flows = block.flows();
    let sides = sides(flows);
    exchanges::write(&mut page, ledger, &files, start, usize::MAX, |exchange| shown.chosen.concerns(exchange, flows))?;
    page.gap()?;
    if sides.is_empty() {
        page.words(PLAIN, "", "No requests were seen here, so there is no story to tell.")?;
    }
    for side in &sides {
        standpoint(&mut page, side)?;
    }
    if !sides.is_empty() {
        timeline(&mut page, flows, &sides, &files, start)?;
    }
    let more: u64 = sides.iter().map(|s| s.story.more_episodes).sum();
    if more != 0 {
        let why = if again {
            "there were too many"
        } else {
            "what comes through a pipe cannot be read a second time; save it to a file to see all"
        };
        page.words(BAD, "", &format!("{} not kept: {why}.", counted(more, "more episode")))?;
    }
    for side in &sides {
        page.gap()?;
        sums(&mut page, side, &files, sides.len() > 1)?;
    }
    if found.list.is_empty() {
        page.gap()?;
        return page.words(GOOD, "", "Nothing to report about this connection.");
    }
    findings::write(&mut page, found, &files, start, &Shown { top: usize::MAX, ..shown.clone() })
}

/// The directions that carry requests.
fn sides(flows: &[FlowReport]) -> Vec<Side<'_>> {
    let mut sides = Vec::new();
    for (flow, arrow) in flows.iter().zip(["->", "<-"]) {
        if let Some(story) = &flow.story {
            sides.push(Side { flow, back: flows.iter().find(|f| f.id != flow.id), story, arrow });
        }
    }
    sides
}

/// Who asks, and where the tap stands, with its evidence.
fn standpoint<W: Write>(page: &mut Page<'_, W>, side: &Side<'_>) -> io::Result<()> {
    let (asks, answers) = (&side.flow.src, &side.flow.dst);
    let who = match (side.flow.transport, side.back) {
        ("UC" | "UD", _) => format!("{asks} sends to {answers}, which need not answer."),
        (_, Some(_)) => format!("{asks} asks, {answers} answers."),
        (_, None) => format!("{asks} asks; what {answers} answers was not seen."),
    };
    page.words(PLAIN, "", &who)?;
    let evidence = &side.story.near_evidence;
    let (unseen, seen) = (evidence.naks_for_unseen, evidence.naks_for_seen);
    let told_by_ttl = match (evidence.request_hops, evidence.answer_hops) {
        (Some(there), Some(back)) if there != 0 || back != 0 => Some((there, back)),
        _ => None,
    };
    let why = match told_by_ttl {
        Some((there, back)) => {
            let passed = |n: u8| if n == 0 { "no router".to_owned() } else { counted(u64::from(n), "router") };
            format!("by their TTL the requests had passed {}, the answers {}", passed(there), passed(back))
        }
        None if unseen + seen == 0 => "TTLs do not tell, and no NAK did".to_owned(),
        None => format!(
            "{} asked for what had not passed here, {} for what had",
            counted(unseen, "NAK"),
            if seen == 0 { "none".to_owned() } else { count(seen) }
        ),
    };
    let text = match side.story.near {
        Near::Src => format!("The tap stands at {asks}, which asks: {why}."),
        Near::Dst => format!("The tap stands at {answers}, which answers: {why}."),
        Near::Between => format!("The tap stands between the two: {why}."),
        Near::Unknown => format!("Where the tap stands is not known: {why}."),
    };
    page.words(PLAIN, "", &text)
}

/// Entries before a run of repeats among which is what it mended (chosen: few things happen at once).
const AROUND: usize = 4;

/// The same thing, happening one or several times in a row to the same PSNs.
struct Entry<'a> {
    side: &'a Side<'a>,
    /// The first time.
    episode: &'a EpisodeReport,
    times: u64,
    packets: u64,
    repeats: u64,
    /// These are told already, with what they mended.
    told: bool,
    took: u64,
    frames: Vec<&'a FrameRef>,
}

impl<'a> Entry<'a> {
    /// What happened, in the order of time.
    fn all(sides: &'a [Side<'a>]) -> Vec<Self> {
        let mut all: Vec<(&EpisodeReport, &Side<'_>)> =
            sides.iter().flat_map(|side| side.story.episodes.iter().map(move |e| (e, side))).collect();
        all.sort_by_key(|(e, _)| e.first_ns);
        let mut entries: Vec<Self> = Vec::new();
        for (episode, side) in all {
            match entries.last_mut() {
                Some(last) if last.is_like(episode, side) => last.add(episode),
                _ => {
                    let told = entries.iter().rev().take(AROUND).any(|e| e.mended_by(episode, side));
                    let frames = Vec::new();
                    let mut entry = Self { side, episode, times: 0, packets: 0, repeats: 0, told, took: 0, frames };
                    entry.add(episode);
                    entries.push(entry);
                }
            }
        }
        entries
    }

    /// Whether the repeats of the other one are those that mended this: where it ends, they begin.
    fn mended_by(&self, other: &EpisodeReport, side: &Side<'_>) -> bool {
        let e = self.episode;
        let begins = e.frames.last().is_some_and(|frame| other.frames.first() == Some(frame));
        self.side.flow.id == side.flow.id && e.cause == other.cause && e.repeats == other.repeats && begins
    }

    fn is_like(&self, other: &EpisodeReport, side: &Side<'_>) -> bool {
        let e = self.episode;
        self.side.flow.id == side.flow.id && (e.kind, e.cause, e.psn) == (other.kind, other.cause, other.psn)
    }

    fn add(&mut self, episode: &'a EpisodeReport) {
        self.times += 1;
        self.packets += episode.packets;
        self.repeats += episode.repeats;
        self.took += episode.last_ns.saturating_sub(episode.first_ns);
        self.frames.extend(&episode.frames);
    }

    /// Which PSNs, what it cost, and the frames that show it.
    fn figures(&self, files: &Files<'_>) -> Vec<String> {
        let mut figures = vec![words::psns(self.episode.psn)];
        if self.times != 1 {
            figures.push(counted(self.times, "time"));
        }
        if self.packets != 0 {
            figures.push(counted(self.packets, "packet"));
        }
        if self.repeats != 0 {
            let which = if self.told { "the same " } else { "" };
            figures.push(format!("{which}{} sent again", count(self.repeats)));
        }
        if self.took != 0 {
            let verb = if self.episode.kind == Kind::Rnr { "waited" } else { "took" };
            figures.push(format!("{verb} {}", duration(self.took)));
        }
        let named: Vec<String> = self.frames.iter().take(FRAMES).map(|frame| files.place(frame)).collect();
        let more = if self.frames.len() > FRAMES { "..." } else { "" };
        let word = if named.len() == 1 { "frame" } else { "frames" };
        let line = format!("{word} {}{more}", named.join(" "));
        match named.len() {
            0 => {}
            _ if line.len() <= WIDTH => figures.push(line),
            // With the names of their files they need a line each.
            _ => figures.extend(named.into_iter().map(|frame| format!("frame {frame}"))),
        }
        figures
    }
}

/// What happened, in the order of time.
fn timeline<W: Write>(
    page: &mut Page<'_, W>,
    flows: &[FlowReport],
    sides: &[Side<'_>],
    files: &Files<'_>,
    start: u64,
) -> io::Result<()> {
    let entries = Entry::all(sides);
    page.gap()?;
    if entries.is_empty() && !sides.iter().any(Side::counts) {
        return page.words(PLAIN, "", "What was lost cannot be known: the PSNs of datagrams do not tell it.");
    }
    let silent = sides.iter().filter(|side| connections::silence(side.flow).is_some());
    let silent = silent.max_by_key(|side| side.story.silence_ns).and_then(|side| connections::silent(side.flow, files));
    if let Some(silent) = silent.filter(|_| entries.is_empty()) {
        let text = format!(
            "Nothing was seen to happen: no request was lost, late or sent again at this tap. But it was silent for \
             {silent}. An idle application looks so, and so does what was lost before the tap and never came."
        );
        return page.words(PLAIN, "", &text);
    }
    if entries.is_empty() {
        return page.words(GOOD, "", "Nothing happened: no request was lost, late or sent again.");
    }
    let first = flows.iter().map(|f| f.first_ns).min().unwrap_or_default();
    let last = flows.iter().map(|f| f.last_ns).max().unwrap_or_default();
    let at = |ns: u64| format!("{:>14}  ", offset(ns.saturating_sub(start)));
    page.words(HEAD, "", "What happened, by the time since the capture's first frame")?;
    page.words(DIM, &at(first), "first packet")?;
    let left_out = entries.len().saturating_sub(FIRST + LAST);
    for (n, entry) in entries.iter().enumerate() {
        if left_out != 0 && n == FIRST {
            let note = format!("... {} more left out here; --json has every episode", count(left_out as u64));
            page.words(DIM, "                ", &note)?;
        }
        if n < FIRST || n >= FIRST + left_out {
            let label = format!("{}{} ", at(entry.episode.first_ns), entry.side.arrow);
            page.words(style(entry.episode.kind), &label, &words::episode(entry.episode, entry.side.story.near))?;
            page.figures(PLAIN, INDENT, &entry.figures(files))?;
        }
    }
    page.words(DIM, &at(last), "last packet")
}

fn style(kind: Kind) -> anstyle::Style {
    match kind {
        Kind::Reordered | Kind::ResponseLostOrLate | Kind::MissedByCapture | Kind::DuplicatedByNetwork => PLAIN,
        _ => BAD,
    }
}

/// What it came to.
fn sums<W: Write>(page: &mut Page<'_, W>, side: &Side<'_>, files: &Files<'_>, several: bool) -> io::Result<()> {
    let story = side.story;
    let title = if several { format!("In all, of what {} asked", side.flow.src) } else { "In all".to_owned() };
    page.words(HEAD, "", &title)?;
    let some = |parts: &[(u64, &str)]| -> Vec<String> {
        parts.iter().filter(|(n, _)| *n != 0).map(|(n, what)| format!("{} {what}", count(*n))).collect()
    };
    let plural = |n, one, more| if n == 1 { one } else { more };
    let fates = some(&[
        (story.lost_before_tap, "lost before the tap"),
        (story.lost_after_tap, "lost behind the tap"),
        (story.lost_or_late, words::lost_or_late(story.near)),
        (story.lost_acks, plural(story.lost_acks, "answer lost", "answers lost")),
        (story.lost_responses, plural(story.lost_responses, "response lost", "responses lost")),
        (story.reordered, "out of order"),
        (story.duplicated_by_network, "duplicated by the network"),
        (story.missed_by_capture, "missed by the capture"),
    ]);
    let mut line = |label: &str, figures: Vec<String>| {
        if figures.is_empty() { Ok(()) } else { page.figures(PLAIN, &format!("  {label:<12}"), &figures) }
    };
    let fates = if side.counts() { fates } else { vec!["not known".to_owned()] };
    // Each timeout had a reason, which one tap may not know.
    let none = if story.timeouts == 0 { "none" } else { "none for certain" };
    line("Lost, late", if fates.is_empty() { vec![none.to_owned()] } else { fates })?;
    if !side.counts() {
        return Ok(());
    }
    let causes = &story.retransmissions.by_cause;
    let mut again = vec![counted(story.retransmissions.total, "packet")];
    again.extend(some(&[
        (causes.nak, "after NAKs"),
        (causes.timeout, "after timeouts"),
        (causes.rnr, "after RNR NAKs"),
        (causes.read_reissue, "to get responses again"),
        (causes.unknown, "of unknown cause"),
    ]));
    // What was lost again with a repeat, and what came when its cause was mended already, belongs to no line for
    // certain.
    let told: u64 = story.episodes.iter().map(|e| e.repeats).sum();
    let rest = story.retransmissions.total.saturating_sub(told);
    if story.more_episodes == 0 && rest != 0 {
        again.push(format!("{} of all in no line above: of which episode they are does not show", count(rest)));
    }
    line("Sent again", again)?;
    let recovery = match story.recovery {
        Recovery::GoBackN => vec!["go-back-N: all from the lost packet on is sent again".to_owned()],
        Recovery::Selective => vec!["selective: only what was lost is sent again".to_owned()],
        Recovery::Unknown | Recovery::NoneSeen => Vec::new(),
    };
    line("Recovery", recovery)?;
    line("Gap to NAK", spread(&story.nak_generation_ns, "measured"))?;
    line("NAK heeded", spread(&story.nak_reaction_ns, "measured"))?;
    line("Messages", spread(&story.message_ns, "answered, counted from this tap"))?;
    line("Their size", story.message_size.map(sizes).into_iter().collect())?;
    // Few receive requests left is what a sender waits for.
    let scarce = story.credits_least.filter(|&credits| u64::from(credits) <= SCARCE);
    line("Credits", scarce.map(|n| format!("down to room for {n} requests at the responder")).into_iter().collect())?;
    line("Round trip", spread(&story.rtt_ns, "measured from this tap"))?;
    line("Timeout", timeout(story))?;
    line("Not ready", rnr(story))?;
    line("Stalled", if story.stall_ns == 0 { Vec::new() } else { vec![duration(story.stall_ns)] })?;
    line("Silent", connections::silent(side.flow, files).into_iter().collect())?;
    let mut end = Vec::new();
    if story.unanswered_tries != 0 {
        // The first sending is no retry.
        end.push(format!("no answer to {}", counted(u64::from(story.unanswered_tries) + 1, "sending")));
    }
    if let Some(psn) = story.last_acked_psn {
        end.push(format!("PSN {psn} was acknowledged last"));
    }
    line("At the end", end)
}

/// Receive requests of which a sender with several messages out may have to wait for the next (chosen).
const SCARCE: u64 = 2;

fn sizes(of: Sizes) -> String {
    match of.min == of.max {
        true => format!("{} each", bytes(u64::from(of.min))),
        false => format!("{} to {}, {} on average", bytes(u64::from(of.min)), bytes(u64::from(of.max)), bytes(of.mean)),
    }
}

fn spread(times: &Spread, what: &str) -> Vec<String> {
    // All zero: the frames have no times.
    if times.max == 0 {
        return Vec::new();
    }
    vec![
        format!("p50 {}", duration(times.p50)),
        format!("p99 {}", duration(times.p99)),
        format!("max {}", duration(times.max)),
        format!("{} {what}", count(times.count)),
    ]
}

/// The timer in use: 4.096 us times a power of two (IBTA 9.7.6.1.3).
fn timeout(story: &StoryReport) -> Vec<String> {
    let mut figures = Vec::new();
    if let Some(ns) = story.timeout_ns {
        let formula = timeout_exponent(ns).map_or(String::new(), |t| format!(" (4.096 us x 2^{t})"));
        figures.push(format!("{}{formula}", duration(ns)));
    }
    if let Some(ns) = story.tries_apart_ns {
        figures.push(format!("tries {} apart or more", duration(ns)));
    }
    if story.timeouts != 0 {
        figures.push(format!("ran out {}", counted(story.timeouts, "time")));
    }
    figures
}

fn rnr(story: &StoryReport) -> Vec<String> {
    let mut figures = Vec::new();
    if story.rnr_waits != 0 {
        figures.push(counted(story.rnr_waits, "time"));
    }
    if let Some(us) = story.rnr_timer_us {
        figures.push(format!("the receiver asks for {}", duration(us.saturating_mul(1_000))));
    }
    if story.rnr_unresolved {
        figures.push("the last one was never followed by a repeat".to_owned());
    }
    figures
}
