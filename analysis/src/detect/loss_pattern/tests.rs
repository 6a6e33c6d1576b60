use super::super::kit::Ways;
use super::super::kit::cases::{self, END, episode};
use super::*;
use crate::report::{FlowReport, FrameRef};
use crate::story::StoryReport;
use crate::story::report::{Cause, EpisodeReport, Kind};
use crate::taps::{RowReport, Told};

const MS: u64 = 1_000_000;

/// Flows of a sender that lost so many packets at each of these times; it sends a thousand in a second.
fn lossy(src: &str, times: &[u64], packets: u64) -> FlowReport {
    let episodes = times
        .iter()
        .map(|&at| EpisodeReport { packets, ..episode(Kind::LostBeforeTap, Some(Cause::Nak), at, &[at / MS]) })
        .collect();
    let [mut flow, _] = cases::flows(StoryReport { episodes, ..StoryReport::default() }, 0);
    flow.src = src.into();
    flow
}

/// What is said of these flows, of which other taps tell this; `capable`: the traffic takes part in ECN.
fn judged(flows: Vec<FlowReport>, told: Option<&Told>, capable: bool) -> Vec<Finding> {
    let mut ways = Ways::default();
    for flow in flows {
        cases::case(&[flow], END, &[told.cloned()], |case| ways.add(case));
    }
    let found = |(host, way): (&str, Way)| Pattern::of(&way).and_then(|p| p.finding(host, capable));
    ways.each().filter_map(found).collect()
}

fn told(flows: Vec<FlowReport>) -> Vec<(&'static str, String)> {
    judged(flows, None, true).into_iter().map(|f| (f.code, f.title)).collect()
}

fn found(code: &'static str, packets: u64) -> Vec<(&'static str, String)> {
    let how = if code == "RT016" { "are spread like damage" } else { "look like congestion" };
    vec![(code, format!("{packets} packets lost towards 10.9.2.1 {how}"))]
}

const FAR_APART: [u64; 8] = [10 * MS, 130 * MS, 200 * MS, 350 * MS, 480 * MS, 610 * MS, 700 * MS, 900 * MS];

#[test]
fn single_packets_far_apart_look_like_damage() {
    assert_eq!(told(vec![lossy("10.9.1.1", &FAR_APART, 1)]), found("RT016", 8));
    // Of seven nobody can tell.
    assert!(told(vec![lossy("10.9.1.1", &FAR_APART[1..], 1)]).is_empty());
    // One bad cable at the receiver takes from all who send.
    let flows = [("10.9.1.1", 0), ("10.9.3.1", 31 * MS)];
    let flows = flows.map(|(src, off)| lossy(src, &FAR_APART.map(|at| at + off), 1));
    assert_eq!(told(flows.to_vec()), found("RT016", 16));
}

#[test]
fn what_happens_at_one_time_is_not_spread() {
    let early = FAR_APART.map(|at| at / 3);
    assert!(told(vec![lossy("10.9.1.1", &early, 1)]).is_empty());
    // Single packets, in three crowds.
    let crowds = [10, 12, 14, 500, 502, 504, 900, 902].map(|at| at * MS);
    assert!(told(vec![lossy("10.9.1.1", &crowds, 1)]).is_empty());
}

#[test]
fn marks_alone_are_no_verdict() {
    for ce in [1, 7, 70] {
        let marked = FlowReport { ce, ..lossy("10.9.1.1", &FAR_APART, 1) };
        assert!(told(vec![marked]).is_empty(), "{ce}");
    }
}

#[test]
fn bursts_with_marks_look_like_congestion() {
    let bursts = || lossy("10.9.1.1", &[10 * MS, 500 * MS], 6);
    assert_eq!(told(vec![FlowReport { ce: 8, ..bursts() }]), found("RT017", 12));
    assert!(told(vec![FlowReport { ce: 7, ..bursts() }]).is_empty());
    // Bursts alone may be a link that went away for a moment.
    assert!(told(vec![bursts()]).is_empty());
    // Where half of all is lost, neighbours come by chance.
    let mut half = FlowReport { ce: 99, ..lossy("10.9.1.1", &FAR_APART, 2) };
    half.requests.packets = 16;
    assert!(told(vec![half]).is_empty());
}

#[test]
fn bursts_of_several_senders_need_marks_where_there_can_be_some() {
    let flows = |times: &[u64], ce| {
        let of = |src| FlowReport { ce, ..lossy(src, times, 6) };
        ["10.9.1.1", "10.9.3.1"].map(of).to_vec()
    };
    let again = [10 * MS, 500 * MS];
    assert_eq!(told(flows(&again, 12)), found("RT017", 24));
    // Of a link that comes and goes, or of a queue that marks nothing.
    assert!(told(flows(&again, 0)).is_empty());
    let blind = judged(flows(&again, 0), None, false);
    assert_eq!(blind.iter().map(|f| f.code).collect::<Vec<_>>(), ["RT017"]);
    assert!(blind[0].advice.contains("a link that comes and goes"), "{}", blind[0].advice);
    // A link that goes away for a moment takes from all of them at once.
    assert!(judged(flows(&again[..1], 0), None, false).is_empty());
}

#[test]
fn losses_of_two_senders_meet_by_chance_where_many_are_lost() {
    // 250 in a second of each, never further than a millisecond from the other's.
    let times = |off: u64| (0..250).map(|n| n * 4 * MS + off).collect::<Vec<_>>();
    let flows = [("10.9.1.1", 0), ("10.9.3.1", MS)];
    let flows = flows.map(|(src, off)| FlowReport { ce: 999, ..lossy(src, &times(off), 1) });
    assert!(told(flows.to_vec()).is_empty());
}

#[test]
fn cnps_count_where_naks_did_not_cause_them() {
    let bursts = lossy("10.9.1.1", &[10 * MS, 500 * MS], 6);
    let back = |cnps| {
        let [_, back] = cases::flows(StoryReport::default(), 2);
        FlowReport { cnps, ..back }
    };
    assert!(told(vec![bursts.clone(), back(2)]).is_empty());
    assert_eq!(told(vec![bursts, back(3)]).len(), 1);
}

#[test]
fn several_taps_tell_what_was_lost() {
    let row = |at: u64| RowReport { at_ns: at, packets: 1, frame: FrameRef::Place(at / MS) };
    let rows: Vec<RowReport> = FAR_APART.map(row).into();
    let before = Told { requests: 8, behind: true, rows: rows.clone(), ..Told::default() };
    // The tap before the losses sees nothing of them itself.
    let seen = judged(vec![lossy("10.9.1.1", &[], 1)], Some(&before), true);
    assert_eq!(seen.iter().map(|f| (f.code, f.title.clone())).collect::<Vec<_>>(), found("RT016", 8));
    assert_eq!(seen[0].frames[0], FrameRef::Place(10));
    // Marks that were set behind it count, too.
    let marked = Told { marked: 8, ..before.clone() };
    assert!(judged(vec![lossy("10.9.1.1", &[], 1)], Some(&marked), true).is_empty());
    // The tap behind them leaves it to that one, and where none was lost, nothing is said.
    for requests in [0, 8] {
        let behind = Told { requests, before: true, ..Told::default() };
        assert!(judged(vec![lossy("10.9.1.1", &FAR_APART, 1)], Some(&behind), true).is_empty());
    }
    // What was lost before all of them is seen by the first one alone.
    let outside = Told { requests: 0, behind: true, ..Told::default() };
    assert_eq!(judged(vec![lossy("10.9.1.1", &FAR_APART, 1)], Some(&outside), true).len(), 1);
}
