//! What can be named: one sample of each part of the report, serialised as the report is. A field that is new there is
//! known here at once, and known too where a capture has no flow.

use rocetop_analysis::Grade;
use rocetop_analysis::detect::{Evidence, Finding, Severity};
use rocetop_analysis::engine::exchanges::{CmTerms, ExchangeReport, Purpose, State, StepReport};
use rocetop_analysis::flow::habits::{HabitsReport, ReactionReport};
use rocetop_analysis::flow::marks::{MarksReport, SpanReport, StuckReport};
use rocetop_analysis::report::paths::{PairReport, PathsReport, UplinksReport};
use rocetop_analysis::report::{ConnectionReport, FlowReport, FrameRef, RateReport, TotalsReport, VlanReport};
use rocetop_analysis::story::StoryReport;
use rocetop_analysis::story::report::{Cause, EpisodeReport, Kind, NearEvidence, Sizes, Spread};
use rocetop_analysis::taps::{ClockUnknown, DirectionBy, KindsReport, OutageReport, TapReport};
use rocetop_analysis::totals::pauses::PauseReport;
use rocetop_parsers::Bytes;
use rocetop_parsers::ib::opcode::Opcode;
use serde_json::{Map, Value};

use super::names::Scope;
use crate::source::CaptureSummary;

/// A sample of each part: every optional field is there, every list has an element.
pub(super) fn samples() -> Vec<(Scope, Value)> {
    vec![
        (Scope::Totals, totals()),
        (Scope::Flow, json(flow())),
        (Scope::Connection, json(ConnectionReport { id: 0, flows: vec![0], paired_by: Grade::default() })),
        (Scope::Capture, json(capture())),
        (Scope::Finding, json(finding())),
        (Scope::Exchange, json(exchange())),
        (Scope::Pause, json(pause())),
        (Scope::Paths, json(paths())),
        (Scope::Tap, json(tap())),
    ]
}

/// A value as the report has it. Writing into memory cannot fail; if it did, nothing could be named.
pub(super) fn json(value: impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// The sums, with all opcodes: the report leaves out those that do not occur.
fn totals() -> Value {
    let rate = Some(RateReport { bytes: vec![0], ..RateReport::default() });
    let mut totals = json(TotalsReport { rate, message_ns: Some(Spread::default()), ..TotalsReport::default() });
    if let Some(slot) = totals.get_mut("opcodes") {
        *slot = Value::Object((0..=255).map(|code| (Opcode(code).to_string(), 0.into())).collect::<Map<_, _>>());
    }
    totals
}

fn flow() -> FlowReport {
    FlowReport {
        udp_sports: vec![0],
        dscp: vec![0],
        vlan: vec![VlanReport::default()],
        ttl: vec![0],
        src_qp: Some(0),
        mtu: Some(0),
        requests: rocetop_analysis::report::RequestsReport {
            first_psn: Some(0),
            next_psn: Some(0),
            ..Default::default()
        },
        story: Some(StoryReport {
            near_evidence: NearEvidence { request_hops: Some(0), answer_hops: Some(0), ..NearEvidence::default() },
            timeout_ns: Some(0),
            tries_apart_ns: Some(0),
            silence_before: Some(FrameRef::Place(0)),
            rnr_timer_us: Some(0),
            last_acked_psn: Some(0),
            unanswered_since_ns: Some(0),
            goodput_mbps: Some(0),
            goodput_bps: Some(0),
            messages_completed: Some(0),
            message_size: Some(Sizes::default()),
            credits_least: Some(0),
            episodes: vec![EpisodeReport {
                kind: Kind::Unexplained,
                cause: Some(Cause::default()),
                first_ns: 0,
                last_ns: 0,
                frames: vec![FrameRef::Place(0)],
                psn: [0, 0],
                packets: 0,
                repeats: 0,
                waited_ns: Some(0),
            }],
            ..StoryReport::default()
        }),
        data_dscp: vec![0],
        answer_dscp: vec![0],
        marks: Some(marks()),
        habits: Some(habits()),
        stuck: Some(StuckReport {
            passed_bytes: 0,
            bytes: 0,
            psn: 0,
            repeats: 0,
            first_frame: FrameRef::Place(0),
            last_frame: FrameRef::Place(0),
            last_ns: 0,
        }),
        cm: Some(CmTerms {
            exchange: 0,
            path_mtu: Some(0),
            ack_timeout_exponent: 0,
            ack_timeout_ns: Some(0),
            retry_count: 0,
            rnr_retry: 0,
        }),
        ..FlowReport::default()
    }
}

fn marks() -> MarksReport {
    let span = || {
        let (first_frame, last_frame) = (FrameRef::Place(0), FrameRef::Place(0));
        Some(SpanReport { count: 0, first_ns: 0, last_ns: 0, first_frame, last_frame })
    };
    MarksReport {
        ce: span(),
        ce_on_answers: span(),
        cnp: span(),
        fatal_nak: span(),
        icrc_bad: span(),
        wild: span(),
        dscp_change: span(),
        ttl_change: span(),
        vlan_change: span(),
        below_mtu: span(),
        below_mtu_bytes: Some(0),
    }
}

fn habits() -> HabitsReport {
    let frames = || vec![FrameRef::Place(0)];
    HabitsReport {
        empty_frames: frames(),
        slot_frames: frames(),
        step_frames: frames(),
        cleared_mean_ns: Some(0),
        cleared_max_ns: Some(0),
        reaction: Some(ReactionReport { frames: frames(), ..ReactionReport::default() }),
        ..HabitsReport::default()
    }
}

fn capture() -> CaptureSummary {
    CaptureSummary {
        path: String::new(),
        format: Some(String::new()),
        link_type: Some(String::new()),
        frames: 0,
        bytes: Bytes(0),
        first_ns: None,
        last_ns: None,
        stamped_back: 0,
        complete: true,
        problem: Some(String::new()),
        drops: Some(0),
        notes: vec![String::new()],
        clock_jumps: false,
        unread_link: None,
        stopped: false,
        watched: None,
    }
}

fn exchange() -> ExchangeReport {
    let frame = || FrameRef::Place(0);
    ExchangeReport {
        id: 0,
        purpose: Purpose::Connect,
        requester: String::new(),
        responder: String::new(),
        service: Some(String::new()),
        service_port: Some(0),
        requester_qp: Some(0),
        responder_qp: Some(0),
        terms: flow().cm,
        traffic_class: Some(0),
        state: State::Requested,
        reject_code: Some(0),
        reject_reason: Some(String::new()),
        first_ns: 0,
        last_ns: 0,
        first_frame: frame(),
        last_frame: frame(),
        messages: vec![StepReport {
            message: String::new(),
            by_requester: true,
            count: 0,
            first_ns: 0,
            first_frame: frame(),
        }],
    }
}

fn paths() -> PathsReport {
    let (uplinks, heaviest) = (vec![UplinksReport::default()], vec![PairReport::default()]);
    PathsReport { uplinks, heaviest, ..PathsReport::default() }
}

fn pause() -> PauseReport {
    PauseReport {
        priority: Some(0),
        frames: 0,
        resumes: 0,
        quanta: 0,
        stopped_100g_ns: 0,
        stopped_400g_ns: 0,
        first_ns: 0,
        last_ns: 0,
        first_frame: FrameRef::Place(0),
        last_frame: FrameRef::Place(0),
    }
}

fn tap() -> TapReport {
    let outage = OutageReport {
        dst_qp: 0,
        packets: 0,
        last_through_ns: Some(0),
        first_lost_ns: 0,
        last_lost_ns: 0,
        first_through_ns: Some(0),
        frames: vec![FrameRef::Place(0)],
    };
    TapReport {
        from: String::new(),
        to: String::new(),
        src: String::new(),
        dst: String::new(),
        direction_by: DirectionBy::Unknown,
        sent: 0,
        received: 0,
        lost: Some(0),
        lost_by_kind: KindsReport::default(),
        first_lost: outage.frames.clone(),
        outages: vec![outage],
        more_outages: 0,
        missed: 0,
        appeared: KindsReport::default(),
        duplicated: 0,
        damaged: 0,
        ce_marked: 0,
        reordered: 0,
        undecided: 0,
        outside: 0,
        unseen_flows: 0,
        unseen_packets: 0,
        mirror_copies: 0,
        owd_ns: Some(Spread::default()),
        queueing_ns: Spread::default(),
        clock_offset_ns: Some(0),
        clock_uncertainty_ns: Some(0),
        clock_unknown: Some(ClockUnknown::Order),
        hurried: 0,
    }
}

fn finding() -> Finding {
    Finding {
        code: "",
        severity: Severity::Info,
        title: String::new(),
        flow: Some(0),
        connection: Some(0),
        first_ns: 0,
        last_ns: 0,
        frames: vec![FrameRef::Place(0)],
        evidence: Evidence::default(),
        advice: String::new(),
    }
}
