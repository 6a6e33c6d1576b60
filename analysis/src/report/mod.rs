//! The figures of a run in the shape of the report contract (`rocetop.report/1`): integers, `None` for what cannot be
//! known. Everything that shows flows (text, JSON, TUI, exporters) reads these and nothing else.

mod ledger;
mod members;
pub mod paths;
pub mod survey;
pub mod words;

pub use ledger::Ledger;
pub(crate) use ledger::class_name;
pub use members::Members;

use std::fmt;

use serde::{Serialize, Serializer};

use rocetop_parsers::ib::opcode::Opcode;

use crate::engine::Evicted;
use crate::engine::Grade;
use crate::engine::exchanges::CmTerms;
use crate::flow::habits::HabitsReport;
use crate::flow::marks::{MarksReport, StuckReport};
use crate::story::StoryReport;
use crate::story::report::Spread;

/// Sums over all frames.
#[derive(Clone, Debug, Default, Serialize)]
#[allow(missing_docs, reason = "the contract names and explains them")]
pub struct TotalsReport {
    pub frames: u64,
    pub bytes: u64,
    pub roce_frames: u64,
    pub rocev1_frames: u64,
    pub infiniband_frames: u64,
    pub pfc_frames: u64,
    pub other_frames: u64,
    pub undecodable_frames: u64,
    pub mirror_copies: u64,
    /// Packets of cut frames that fit nothing before or behind them, left out of flow accounting.
    pub wild: u64,
    pub icrc: IcrcReport,
    pub ecn: EcnReport,
    pub cnp: u64,
    pub opcodes: Opcodes,
    /// Bytes of frames with a BTH over time; `None` without any, and for several taps together.
    pub rate: Option<RateReport>,
    /// From the first packet of a message to its answer, over all flows and to a hundredth. `None` without stories, and
    /// for several taps, which see the same messages.
    pub message_ns: Option<Spread>,
    /// Flows that made room because the table was full.
    pub evicted: EvictedReport,
    /// Flows that made room because they had been idle for longer than allowed.
    pub aged_out: EvictedReport,
}

impl TotalsReport {
    /// Adds the sums of another tap.
    pub fn add(&mut self, other: &Self) {
        self.rate = None;
        self.frames += other.frames;
        self.bytes += other.bytes;
        self.roce_frames += other.roce_frames;
        self.rocev1_frames += other.rocev1_frames;
        self.infiniband_frames += other.infiniband_frames;
        self.pfc_frames += other.pfc_frames;
        self.other_frames += other.other_frames;
        self.undecodable_frames += other.undecodable_frames;
        self.mirror_copies += other.mirror_copies;
        self.wild += other.wild;
        self.icrc.ok += other.icrc.ok;
        self.icrc.bad += other.icrc.bad;
        self.icrc.unknown += other.icrc.unknown;
        self.ecn.not_ect += other.ecn.not_ect;
        self.ecn.ect0 += other.ecn.ect0;
        self.ecn.ect1 += other.ecn.ect1;
        self.ecn.ce += other.ecn.ce;
        self.cnp += other.cnp;
        for (sum, n) in self.opcodes.0.iter_mut().zip(other.opcodes.0.iter()) {
            *sum += n;
        }
        self.message_ns = None;
        self.evicted.add(other.evicted);
        self.aged_out.add(other.aged_out);
    }
}

/// Frames with a BTH by their invariant CRC.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[allow(missing_docs, reason = "the contract names and explains them")]
pub struct IcrcReport {
    pub ok: u64,
    pub bad: u64,
    pub unknown: u64,
}

/// Frames with a BTH by their ECN field.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[allow(missing_docs, reason = "the contract names and explains them")]
pub struct EcnReport {
    pub not_ect: u64,
    pub ect0: u64,
    pub ect1: u64,
    pub ce: u64,
}

/// Bytes over time, in bins of one width.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RateReport {
    /// When the first bin begins.
    pub first_ns: u64,
    /// How long each of them is.
    pub bin_ns: u64,
    /// Bytes on the wire in each.
    pub bytes: Vec<u64>,
}

/// Flows that had to make room, and what they carried.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[allow(missing_docs, reason = "plain counts")]
pub struct EvictedReport {
    pub flows: u64,
    pub packets: u64,
    pub bytes: u64,
}

impl EvictedReport {
    fn add(&mut self, other: Self) {
        self.flows += other.flows;
        self.packets += other.packets;
        self.bytes += other.bytes;
    }
}

impl From<Evicted> for EvictedReport {
    fn from(gone: Evicted) -> Self {
        Self { flows: gone.flows, packets: gone.packets, bytes: gone.bytes.0 }
    }
}

/// Frames by opcode, those that occur.
#[derive(Clone, Debug)]
pub struct Opcodes(pub(crate) Box<[u64; 256]>);

impl Opcodes {
    /// Opcode and count, in the order of the codes.
    pub fn iter(&self) -> impl Iterator<Item = (Opcode, u64)> + '_ {
        (0u8..=255).zip(self.0.iter()).filter(|&(_, &n)| n != 0).map(|(code, &n)| (Opcode(code), n))
    }
}

impl Default for Opcodes {
    fn default() -> Self {
        Self(Box::new([0; 256]))
    }
}

impl Serialize for Opcodes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|(opcode, n)| (opcode.to_string(), n)))
    }
}

/// One flow.
#[derive(Clone, Debug, Default, Serialize)]
#[allow(missing_docs, reason = "the contract names and explains them")]
pub struct FlowReport {
    pub id: u32,
    pub src: String,
    pub dst: String,
    pub dst_qp: u32,
    pub transport: &'static str,
    /// `rocev2`, `rocev1` or `infiniband`.
    pub class: &'static str,
    pub epoch: u32,
    pub udp_sports: Vec<u16>,
    pub dscp: Vec<u8>,
    pub vlan: Vec<VlanReport>,
    pub ttl: Vec<u8>,
    /// One of these four has more values than are listed.
    pub more_values: bool,
    /// Source queue pair, where all datagrams name the same.
    pub src_qp: Option<u32>,
    pub packets: u64,
    pub bytes: u64,
    pub first_ns: u64,
    pub last_ns: u64,
    /// Number of the first frame, from 1.
    pub first_frame: u64,
    pub connection: u32,
    /// Path MTU in bytes: from the CM, a full payload, or the spans of READs.
    pub mtu: Option<u32>,
    pub mirror_copies: u64,
    pub icrc_bad: u32,
    pub requests: RequestsReport,
    pub responses: ResponsesReport,
    pub acks: u64,
    pub naks: NaksReport,
    pub rnr_naks: u32,
    pub cnps: u64,
    pub ce: u64,
    /// DSCPs of requests and responses.
    pub data_dscp: Vec<u8>,
    /// DSCPs of ACKs and NAKs; notifications have classes of their own.
    pub answer_dscp: Vec<u8>,
    /// Whether requests and responses were sent as not ECN-capable, and whether as ECN-capable (ECT or CE).
    pub data_ecn: CapableReport,
    /// Rare things, with frames.
    pub marks: Option<MarksReport>,
    /// Patterns over time.
    pub habits: Option<HabitsReport>,
    /// A request larger than all before it that was never answered.
    pub stuck: Option<StuckReport>,
    /// What the connection's request asked for, where it was seen.
    pub cm: Option<CmTerms>,
    /// Of the requests that this flow carries; `None` where it carries none.
    pub story: Option<StoryReport>,
}

/// How packets answered the question whether they may be marked instead of dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CapableReport {
    /// Some were not-ECT.
    pub not_ect: bool,
    /// Some were ECT(0), ECT(1) or CE.
    pub ect: bool,
}

/// An 802.1Q tag.
#[derive(Clone, Copy, Debug, Default, Serialize, PartialEq, Eq)]
#[allow(missing_docs, reason = "the contract names and explains them")]
pub struct VlanReport {
    pub id: u16,
    pub pcp: u8,
}

/// Request packets that a flow carries. PSN figures are `None` for transports whose PSNs do not count packets here.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[allow(missing_docs, reason = "the contract names and explains them")]
pub struct RequestsReport {
    pub packets: u64,
    pub first_psn: Option<u32>,
    pub next_psn: Option<u32>,
    pub messages: u64,
    /// Payload of the packets that are no repeats; of a READ what it asks for.
    pub message_bytes: u64,
    pub seen_again: u64,
    pub behind: u64,
    pub filled: u64,
    pub gaps: u64,
    pub gap_psns: u64,
    pub never_seen: u64,
}

/// READ and atomic responses that a flow carries.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[allow(missing_docs, reason = "the contract names and explains them")]
pub struct ResponsesReport {
    pub packets: u64,
    pub seen_again: u64,
    pub gaps: u64,
    pub gap_psns: u64,
}

/// NAKs by code.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[allow(missing_docs, reason = "the contract names and explains them")]
pub struct NaksReport {
    pub psn_sequence_error: u32,
    pub invalid_request: u32,
    pub remote_access_error: u32,
    pub remote_operational_error: u32,
    pub other: u32,
}

impl NaksReport {
    pub(crate) fn of(by_code: [u32; 4], other: u32) -> Self {
        let [psn_sequence_error, invalid_request, remote_access_error, remote_operational_error] = by_code;
        Self { psn_sequence_error, invalid_request, remote_access_error, remote_operational_error, other }
    }

    /// All of them.
    #[must_use]
    pub fn total(&self) -> u64 {
        [
            self.psn_sequence_error,
            self.invalid_request,
            self.remote_access_error,
            self.remote_operational_error,
            self.other,
        ]
        .into_iter()
        .map(u64::from)
        .sum()
    }
}

/// One connection: two flows, or one whose other direction was not seen.
#[derive(Clone, Debug, Serialize)]
pub struct ConnectionReport {
    /// Number, in the order of the first frame.
    pub id: u32,
    /// Ids of its flows.
    pub flows: Vec<u32>,
    /// The evidence.
    pub paired_by: Grade,
}

/// A frame as a reader finds it: its number, with the name of its file where there are several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum FrameRef {
    /// Number in the only file, from 1.
    Place(u64),
    /// `FILE:N`.
    In(String),
}

impl fmt::Display for FrameRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Place(place) => place.fmt(f),
            Self::In(text) => text.fmt(f),
        }
    }
}
