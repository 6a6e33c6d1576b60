//! What is said about frames: by number, a line for each finding and episode that names them.

use rocetop_analysis::detect::Findings;
use rocetop_analysis::report::FlowReport;
use rocetop_analysis::story::report::{EpisodeReport, Near};
use rocetop_analysis::{FrameNo, Ledger};

use crate::report::words;

/// The lines, sorted by frame.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    list: Vec<(FrameNo, u32)>,
    lines: Vec<String>,
}

impl Notes {
    /// What the findings say, the worst first, and what the episodes of these flows do.
    #[must_use]
    pub fn new(ledger: &Ledger<'_>, found: &Findings, flows: impl Iterator<Item = FlowReport>) -> Self {
        let mut notes = Self::default();
        for finding in &found.list {
            let line = format!("{} {}: {}", finding.code, finding.severity.name(), finding.title);
            notes.say(line, finding.frames.iter().filter_map(|frame| ledger.place(frame)));
        }
        for flow in flows {
            for (near, episode) in flow.story.iter().flat_map(|s| s.episodes.iter().map(|e| (s.near, e))) {
                let frames = episode.frames.iter().filter_map(|frame| ledger.place(frame));
                notes.say(line(&flow, near, episode), frames);
            }
        }
        // Of one frame in the order in which they were said.
        notes.list.sort_unstable();
        notes.list.dedup();
        notes
    }

    fn say(&mut self, line: String, frames: impl Iterator<Item = FrameNo>) {
        let number = self.lines.len() as u32;
        self.list.extend(frames.map(|frame| (frame, number)));
        self.lines.push(line);
    }

    /// The lines about a frame.
    #[must_use]
    pub fn of(&self, frame: FrameNo) -> Vec<&str> {
        let from = self.list.partition_point(|&(named, _)| named < frame);
        let about = self.list.get(from..).unwrap_or_default().iter().take_while(|&&(named, _)| named == frame);
        about.filter_map(|&(_, line)| self.lines.get(line as usize)).map(String::as_str).collect()
    }
}

/// `#1 -> 10.9.2.1 qp 32: lost or late behind the tap; sent again after a NAK (PSN 7 to 9)`.
fn line(flow: &FlowReport, near: Near, episode: &EpisodeReport) -> String {
    let (what, psns) = (words::episode(episode, near), words::psns(episode.psn));
    format!("#{} -> {} qp {}: {what} ({psns})", flow.connection, flow.dst, flow.dst_qp)
}
