use super::super::kit::cases::{self, END, episode};
use super::*;
use crate::report::paths::mixed;
use crate::report::{FlowReport, FrameRef, RequestsReport};
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
    let mut survey = Survey::default();
    for flow in flows {
        cases::case(&[flow], END, &[told.cloned()], |case| survey.add(case));
    }
    let found = |(host, way)| Pattern::of(way).and_then(|p| p.finding(host, capable));
    survey.ways.each().filter_map(found).collect()
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

/// The same flow, of whose losses only those before this time are kept.
fn cut(mut flow: FlowReport, until_ns: u64) -> FlowReport {
    let story = flow.story.as_mut().unwrap();
    story.lost_before_tap = story.episodes.iter().map(|e| e.packets).sum();
    let all = story.episodes.len();
    story.episodes.retain(|e| e.first_ns < until_ns);
    story.more_episodes = (all - story.episodes.len()) as u64;
    story.listed_until_ns = (story.more_episodes != 0).then_some(until_ns);
    flow
}

fn at_least(code: &'static str, packets: u64) -> Vec<(&'static str, String)> {
    found(code, packets).into_iter().map(|(code, title)| (code, format!("at least {title}"))).collect()
}

/// In a second, 80 moments of loss without a pattern.
fn scattered(salt: u64) -> Vec<u64> {
    let mut times: Vec<u64> = (0..80).map(|n| mixed(salt << 32 | n) % cases::LAST).collect();
    times.sort_unstable();
    times
}

#[test]
fn of_losses_that_are_not_all_kept_the_time_of_those_is_judged() {
    let all = lossy("10.9.1.1", &scattered(0), 1);
    assert_eq!(told(vec![cut(all.clone(), u64::MAX)]), found("RT016", 80));
    // The first eighth of a second holds some ten of them.
    let kept = scattered(0).iter().filter(|&&at| at < 125 * MS).count() as u64;
    let parts = judged(vec![cut(all.clone(), 125 * MS)], None, true);
    assert_eq!(parts.iter().map(|f| (f.code, f.title.clone())).collect::<Vec<_>>(), at_least("RT016", kept));
    let evidence = &parts[0].evidence.0;
    for figure in [("requests", 125), ("judged_ns", 125 * MS), ("lasted_ns", 1_000 * MS)] {
        assert!(evidence.contains(&(figure.0, figure.1.into())), "{evidence:?}");
    }
    // What is kept of others is judged no longer.
    let other = lossy("10.9.3.1", &scattered(1), 1);
    assert_eq!(told(vec![cut(all, 125 * MS), cut(other, u64::MAX)]).len(), 1);
}

#[test]
fn spread_losses_that_are_not_all_kept_are_no_congestion() {
    // Of two senders, 1 in 12 lost, with marks for another reason.
    let both = |until| {
        let flows = [("10.9.1.1", 0), ("10.9.3.1", 1)];
        flows.map(|(src, salt)| cut(FlowReport { ce: 99, ..lossy(src, &scattered(salt), 1) }, until)).to_vec()
    };
    for until in [60 * MS, 125 * MS, 250 * MS, u64::MAX] {
        let found = told(both(until));
        assert!(found.iter().all(|f| f.0 != "RT017"), "{until} {found:?}");
    }
    // Where a third of all packets is lost, neighbours come by chance in the time that is kept, too.
    let times: Vec<u64> = (0..200).map(|n| n * 5 * MS + 1).collect();
    let mut dense = lossy("10.9.1.1", &times, 2);
    (dense.ce, dense.requests.packets) = (99, 800);
    assert!(told(vec![cut(dense.clone(), 40 * MS)]).is_empty());
    assert!(told(vec![dense]).is_empty());
}

#[test]
fn bursts_that_are_not_all_kept_are_congestion() {
    let times: Vec<u64> = (0..100).map(|n| n * 10 * MS + 1).collect();
    let bursts = FlowReport { ce: 99, ..lossy("10.9.1.1", &times, 6) };
    let bursts = FlowReport { requests: RequestsReport { packets: 100_000, ..bursts.requests }, ..bursts };
    assert_eq!(told(vec![cut(bursts, 80 * MS)]), at_least("RT017", 48));
}

#[test]
fn of_more_moments_than_are_kept_the_first_are_judged() {
    // The flows of a host come in any order: those of the second half first.
    let half = |src, from: u64| {
        let times: Vec<u64> = (0..5_000).map(|n| (from + n) * 100_000).collect();
        let mut flow = lossy(src, &times, 1);
        flow.requests.packets = 1_000_000;
        flow
    };
    let found = judged(vec![half("10.9.3.1", 5_000), half("10.9.1.1", 0)], None, true);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].title, "at least 4,096 packets lost towards 10.9.2.1 are spread like damage");
    assert_eq!((found[0].first_ns, found[0].last_ns), (0, 409_500_000));
}

#[test]
fn rows_that_are_not_all_kept_are_no_whole() {
    let row = |at: &u64| RowReport { at_ns: *at, packets: 1, frame: FrameRef::Place(at / MS) };
    let rows: Vec<RowReport> = scattered(0).iter().filter(|&&at| at < 125 * MS).map(row).collect();
    let kept = rows.len() as u64;
    let part = Told { requests: 80, here: 80, behind: true, rows, rows_until: Some(125 * MS), ..Told::default() };
    let seen = judged(vec![lossy("10.9.1.1", &[], 1)], Some(&part), true);
    assert_eq!(seen.iter().map(|f| (f.code, f.title.clone())).collect::<Vec<_>>(), at_least("RT016", kept));
}

#[test]
fn what_the_other_taps_saw_has_a_say() {
    let row = |at: &u64| RowReport { at_ns: *at, packets: 1, frame: FrameRef::Place(at / MS) };
    let rows: Vec<RowReport> = FAR_APART.iter().map(row).collect();
    let told = Told { requests: 8, here: 8, behind: true, rows, ..Told::default() };
    let judged = |told: &Told| judged(vec![lossy("10.9.1.1", &[], 1)], Some(told), true);
    // Three frames arrived damaged behind this tap.
    let seen = judged(&Told { damaged: 3, ..told.clone() });
    assert_eq!(seen.iter().map(|f| f.code).collect::<Vec<_>>(), ["RT016"]);
    assert!(seen[0].evidence.0.contains(&("icrc_bad", 3u64.into())), "{:?}", seen[0].evidence);
    // A queue further on marks: no damage, but no reason to blame the queue here.
    assert!(judged(&Told { marked_anywhere: 9, ..told }).is_empty());
}
