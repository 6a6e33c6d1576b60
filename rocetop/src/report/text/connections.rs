//! Connections, the ones in trouble first.

use std::cmp::Reverse;
use std::io::{self, Write};

use rocetop_analysis::Grade;
use rocetop_analysis::Ledger;
use rocetop_analysis::report::{ConnectionReport, FlowReport};

use super::Shown;
use super::figures::{bytes, count, counted, duration, share};
use super::files::Files;
use super::page::{BAD, HEAD, PLAIN, Page};

/// What is wrong with some flows: sums of the figures that a healthy flow has none of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Trouble {
    again: u64,
    gaps: u64,
    gap_psns: u64,
    never_seen: u64,
    responses_again: u64,
    response_gaps: u64,
    naks: u64,
    /// Of them, those that end the queue pair: all but sequence errors.
    fatal_naks: u64,
    rnr_naks: u64,
    icrc_bad: u64,
    fill_unknown: bool,
}

impl Trouble {
    fn of(flow: &FlowReport, counted: bool) -> Self {
        Self {
            // Of sums nobody knows which gaps were filled.
            fill_unknown: counted,
            again: flow.requests.seen_again,
            gaps: flow.requests.gaps,
            gap_psns: flow.requests.gap_psns,
            never_seen: flow.requests.never_seen,
            responses_again: flow.responses.seen_again,
            response_gaps: flow.responses.gaps,
            naks: flow.naks.total(),
            fatal_naks: flow.naks.total() - u64::from(flow.naks.psn_sequence_error),
            rnr_naks: u64::from(flow.rnr_naks),
            icrc_bad: u64::from(flow.icrc_bad),
        }
    }

    fn add(&mut self, other: &Self) {
        self.again += other.again;
        self.gaps += other.gaps;
        self.gap_psns += other.gap_psns;
        self.never_seen += other.never_seen;
        self.responses_again += other.responses_again;
        self.response_gaps += other.response_gaps;
        self.naks += other.naks;
        self.fatal_naks += other.fatal_naks;
        self.rnr_naks += other.rnr_naks;
        self.icrc_bad += other.icrc_bad;
        self.fill_unknown |= other.fill_unknown;
    }

    fn weight(&self) -> u64 {
        self.again
            + self.gap_psns
            + self.responses_again
            + self.response_gaps
            + self.naks
            + self.rnr_naks
            + self.icrc_bad
    }

    /// The figures that are not zero, for a sentence.
    pub(super) fn words(&self) -> Vec<String> {
        let gaps = || {
            let filled = match self.never_seen {
                _ if self.fill_unknown => "whether they were filled is not known: it needs packets".to_owned(),
                0 => "all filled later".to_owned(),
                n => format!("{} never seen", count(n)),
            };
            format!("{} of {} ({filled})", counted(self.gaps, "gap"), counted(self.gap_psns, "PSN"))
        };
        let words = [
            // What the receiver says, what is missing, what was sent again because of it.
            (self.rnr_naks, counted(self.rnr_naks, "RNR NAK") + " (receiver not ready)"),
            (self.fatal_naks, counted(self.fatal_naks, "fatal NAK")),
            (self.naks - self.fatal_naks, counted(self.naks - self.fatal_naks, "NAK")),
            (self.icrc_bad, counted(self.icrc_bad, "bad ICRC")),
            (self.gaps, gaps()),
            (self.response_gaps, counted(self.response_gaps, "gap") + " in responses"),
            (self.again, counted(self.again, "request packet") + " seen again"),
            (self.responses_again, counted(self.responses_again, "response packet") + " seen again"),
        ];
        words.into_iter().filter(|&(n, _)| n != 0).map(|(_, words)| words).collect()
    }
}

/// All chosen connections, and the ones to show.
pub(super) struct Story {
    pub(super) connections: u64,
    /// Those that are not chosen, too.
    pub(super) all: u64,
    pub(super) troubled: u64,
    pub(super) trouble: Trouble,
    /// Those without trouble that were silent for long, and the longest of these times.
    pub(super) silent: (u64, u64),
    pub(super) blocks: Vec<Block>,
    /// Flows came counted: what needs packets is not known.
    pub(super) counted: bool,
}

impl Story {
    pub(super) fn of(ledger: &Ledger<'_>, shown: &Shown) -> Self {
        let counted = ledger.is_counted();
        let (trouble, blocks) = (Trouble::default(), Vec::new());
        let mut story = Self { connections: 0, all: 0, troubled: 0, trouble, silent: (0, 0), blocks, counted };
        let ids = shown.before.unwrap_or_default();
        for mut connection in ledger.connections() {
            let flows: Vec<FlowReport> = connection.flows.iter().filter_map(|&id| ledger.flow(id)).collect();
            story.all += 1;
            if !shown.chosen.fits(&flows) {
                continue;
            }
            let flows: Vec<FlowReport> = flows.into_iter().map(|flow| ids.shift_flow(flow)).collect();
            ids.shift_connection(&mut connection);
            let mut trouble = Trouble::default();
            for flow in &flows {
                trouble.add(&Trouble::of(flow, counted));
            }
            story.connections += 1;
            story.troubled += u64::from(trouble.weight() != 0);
            story.trouble.add(&trouble);
            if let Some(ns) = flows.iter().filter_map(silence).max().filter(|_| trouble.weight() == 0) {
                story.silent = (story.silent.0 + 1, story.silent.1.max(ns));
            }
            story.blocks.push(Block { trouble, connection, flows, counted });
            // Now and then, so that a million connections take no more memory than a few.
            if story.blocks.len() > shown.top.saturating_mul(2).saturating_add(64) {
                story.keep(shown.top);
            }
        }
        story.keep(shown.top);
        story
    }

    fn keep(&mut self, top: usize) {
        self.blocks.sort_by_key(|b| (Reverse((b.trouble.weight(), b.bytes())), b.connection.id));
        self.blocks.truncate(top);
    }
}

/// One connection.
pub(super) struct Block {
    trouble: Trouble,
    connection: ConnectionReport,
    flows: Vec<FlowReport>,
    counted: bool,
}

impl Block {
    fn bytes(&self) -> u64 {
        self.flows.iter().map(|f| f.bytes).sum()
    }

    pub(super) fn flows(&self) -> &[FlowReport] {
        &self.flows
    }

    /// Whether something is wrong with it.
    pub(super) fn is_troubled(&self) -> bool {
        self.trouble.weight() != 0
    }

    /// Its number.
    pub(super) fn id(&self) -> u32 {
        self.connection.id
    }

    pub(super) fn write<W: Write>(&self, page: &mut Page<'_, W>, files: &Files<'_>) -> io::Result<()> {
        let Some(flow) = self.flows.first() else { return Ok(()) };
        let back = self.flows.get(1);
        let near = match back.map(|b| b.dst_qp).or(flow.src_qp) {
            Some(qp) => format!("{} qp {qp}", flow.src),
            None => flow.src.clone(),
        };
        let arrow = if back.is_some() { "<->" } else { "->" };
        let far = format!("{} qp {}", flow.dst, flow.dst_qp);
        // Two long IPv6 addresses take a line each.
        let mut figures = if near.len() + far.len() <= 60 {
            vec![format!("{near} {arrow} {far}")]
        } else {
            vec![format!("{near} {arrow}"), far]
        };
        figures.push(flow.transport.to_owned());
        if flow.epoch != 0 {
            figures.push(format!("epoch {}", flow.epoch));
        }
        figures.push(paired(self.connection.paired_by, flow.transport).to_owned());
        page.figures(HEAD, &format!("#{:<3} ", self.connection.id), &figures)?;
        page.figures(PLAIN, "     ", &self.shared())?;
        for (label, flow) in ["  -> ", "  <- "].into_iter().zip(&self.flows) {
            direction(page, label, flow, self.counted)?;
            // Where there is trouble, that says why.
            if let Some(silent) = silent(flow, files).filter(|_| !self.is_troubled() && silence(flow).is_some()) {
                page.words(PLAIN, "     ", &format!("silent for {silent}"))?;
            }
        }
        Ok(())
    }

    /// Its flows, and what both directions have: class, MTU, DSCP, VLAN.
    fn shared(&self) -> Vec<String> {
        let mut figures = Vec::new();
        let Some(flow) = self.flows.first() else { return figures };
        figures.push(match self.flows.get(1) {
            Some(back) => format!("flows {}, {}", flow.id, back.id),
            None => format!("flow {}", flow.id),
        });
        if flow.class != "rocev2" {
            figures.push(flow.class.to_owned());
        }
        if let Some(mtu) = self.flows.iter().find_map(|f| f.mtu) {
            figures.push(format!("MTU {mtu}"));
        }
        let list = |name: &str, each: &dyn Fn(&FlowReport) -> Vec<String>| {
            let mut all: Vec<String> = Vec::new();
            for value in self.flows.iter().flat_map(each) {
                if !all.contains(&value) {
                    all.push(value);
                }
            }
            (!all.is_empty()).then(|| format!("{name} {}", all.join(", ")))
        };
        figures.extend(list("UDP source port", &|f| f.udp_sports.iter().map(u16::to_string).collect()));
        figures.extend(list("DSCP", &|f| f.dscp.iter().map(u8::to_string).collect()));
        figures.extend(list("VLAN", &|f| f.vlan.iter().map(|v| format!("{} PCP {}", v.id, v.pcp)).collect()));
        figures
    }
}

/// A silence shorter than this is nothing to speak of, whatever the usual pace (chosen).
const SILENCE: u64 = 10_000_000;
/// Times the usual time between requests from which on a silence is long (chosen).
const LONG: u64 = 100;

/// The longest time without a packet before a request of a flow, where that is long against its usual pace.
pub(super) fn silence(flow: &FlowReport) -> Option<u64> {
    let quiet = flow.story.as_ref()?.silence_ns;
    let others = flow.requests.packets.checked_sub(2).filter(|&n| n != 0)?;
    let usual = flow.last_ns.saturating_sub(flow.first_ns).saturating_sub(quiet) / others;
    (quiet >= SILENCE && quiet >= usual.saturating_mul(LONG)).then_some(quiet)
}

/// The longest time without a packet before a request of a flow, and that request.
pub(super) fn silent(flow: &FlowReport, files: &Files<'_>) -> Option<String> {
    let story = flow.story.as_ref()?;
    let frame = story.silence_before.as_ref()?;
    Some(format!("{} at most, before frame {}", duration(story.silence_ns), files.place(frame)))
}

fn paired(grade: Grade, transport: &str) -> &'static str {
    match grade {
        // Nothing answers there.
        Grade::Unpaired if matches!(transport, "UC" | "UD") => "one way",
        Grade::Cm => "paired by CM",
        Grade::PortHash => "paired by port hash",
        Grade::Ack => "paired by ACKs",
        Grade::Ports => "paired by equal ports",
        Grade::Ud => "paired by source QP",
        Grade::Unpaired => "other direction not known",
    }
}

fn direction<W: Write>(page: &mut Page<'_, W>, label: &str, flow: &FlowReport, counted_only: bool) -> io::Result<()> {
    let r = &flow.requests;
    let mut figures = vec![counted(flow.packets, "packet"), bytes(flow.bytes)];
    if flow.last_ns > flow.first_ns {
        figures.push(duration(flow.last_ns - flow.first_ns));
    }
    if counted_only {
        // What was sent again is among them.
        if r.messages != 0 && r.behind == 0 {
            figures.push(counted(r.messages, "message"));
        }
    } else if r.messages != 0 {
        // "20 messages of 164 kB" would read as the size of each.
        let in_all = if r.messages == 1 { "" } else { " in all" };
        figures.push(format!("{} ({}{in_all})", counted(r.messages, "message"), bytes(r.message_bytes)));
    }
    if let (Some(first), Some(next)) = (r.first_psn, r.next_psn) {
        let last = next.wrapping_sub(1) & 0xff_ffff;
        figures.push(if first == last { format!("PSN {first}") } else { format!("PSN {first} to {last}") });
    }
    if flow.responses.packets != 0 {
        figures.push(counted(flow.responses.packets, "response"));
    }
    if flow.acks != 0 {
        figures.push(counted(flow.acks, "ACK"));
    }
    if flow.ce != 0 {
        figures.push(format!("{} CE ({} of its packets)", count(flow.ce), share(flow.ce, flow.packets)));
    }
    if flow.cnps != 0 {
        figures.push(counted(flow.cnps, "CNP"));
    }
    if flow.mirror_copies != 0 {
        figures.push(format!("{} copies left out", count(flow.mirror_copies)));
    }
    page.figures(PLAIN, label, &figures)?;
    let words = Trouble { naks: 0, fatal_naks: 0, ..Trouble::of(flow, counted_only) }.words();
    let naks = [
        (flow.naks.psn_sequence_error, "PSN sequence error"),
        (flow.naks.invalid_request, "invalid request"),
        (flow.naks.remote_access_error, "remote access error"),
        (flow.naks.remote_operational_error, "remote operational error"),
        (flow.naks.other, "other code"),
    ];
    let naks = naks.into_iter().filter(|&(n, _)| n != 0);
    let naks = naks.map(|(n, kind)| format!("{} ({kind})", counted(u64::from(n), "NAK")));
    let words: Vec<String> = words.into_iter().chain(naks).collect();
    if words.is_empty() { Ok(()) } else { page.figures(BAD, "     ", &words) }
}

#[cfg(test)]
mod tests {
    use rocetop_analysis::report::{FrameRef, RequestsReport};
    use rocetop_analysis::story::StoryReport;

    use super::*;

    /// So many requests within a second and the silence before one of them.
    fn flow(packets: u64, silence_ns: u64) -> FlowReport {
        let (silence_before, requests) = (Some(FrameRef::Place(397)), RequestsReport { packets, ..Default::default() });
        let story = Some(StoryReport { silence_ns, silence_before, ..StoryReport::default() });
        FlowReport { last_ns: 1_000_000_000, requests, story, ..FlowReport::default() }
    }

    #[test]
    fn a_silence_is_long_against_the_usual_pace() {
        // 499 other times share 194 ms: 0.39 ms each.
        assert_eq!(silence(&flow(501, 806_000_000)), Some(806_000_000));
        assert_eq!(silent(&flow(501, 806_000_000), &Files::of(&[])).unwrap(), "806 ms at most, before frame 397");
        // 9 of 111 ms each.
        assert_eq!(silence(&flow(11, 1_000_000)), None);
        assert_eq!(silence(&flow(3, 900_000_000)), None);
        assert_eq!(silence(&flow(3, 999_000_000)), Some(999_000_000));
        // Of two requests nobody knows the usual pace; and what is short is nothing, however fast the others come.
        assert_eq!(silence(&flow(2, 1_000_000_000)), None);
        assert_eq!(silence(&flow(1_000_000_000, 9_000_000)), None);
    }
}
