//! Lost requests: what a tap counts lies between what it must have seen and what was lost.

use std::collections::HashMap;

use rocetop_analysis::story::report::{Cause, Near, Recovery};

use crate::faults::Faults;
use crate::model::{Message, Record, Rng, Scenario, Truth, run};
use crate::scenario::{Mix, clean};
use crate::tap::{PLACES, Place, seen, story};

/// A clean run with losses of requests, single or in bursts, on both links to the responder.
fn lossy(seed: u64, mix: Mix, selective: bool) -> Scenario {
    let mut rng = Rng::new(seed ^ 0x1055);
    let mut s = clean(seed, mix);
    s.selective = selective;
    // The path MTU is known from the start: before, nothing is called a gap.
    s.messages.insert(0, Message::Write(3));
    s.links[0].spared = 3;
    s.links[1].spared = 3;
    for link in [0, 1] {
        s.links[link].loss = rng.one_of(&[0, 2_000, 10_000, 30_000]);
        s.links[link].burst = rng.one_of(&[1, 1, 2, 8]);
    }
    s
}

/// PSNs that a tap behind these links must have missed: lost at first, and a later one passed before they came again.
fn visible(truth: &Truth, links: usize, records: &[Record]) -> u64 {
    let mut first: HashMap<u64, usize> = HashMap::new();
    let requests: Vec<&Record> = records.iter().filter(|r| r.packet.is_request()).collect();
    for (n, r) in requests.iter().enumerate() {
        first.entry(r.packet.psn).or_insert(n);
    }
    let lost = truth.tolls[..links].iter().flat_map(|t| &t.lost).filter(|p| p.is_request() && p.again.is_none());
    // What is before the first packet seen is not missed by anybody.
    let start = requests.first().map_or(0, |r| r.packet.psn);
    let passed = |psn: u64| requests.iter().position(|r| r.packet.psn > psn);
    lost.filter(|p| p.psn > start && passed(p.psn).is_some_and(|n| first.get(&p.psn).is_none_or(|&m| n < m))).count()
        as u64
}

#[test]
fn losses_are_counted_where_they_show() {
    let mixes = [Mix::Sent, Mix::Sent, Mix::All];
    losses(0..1_500, |seed| lossy(seed, mixes[seed as usize % 3], false)).few(&[("restarts_elsewhere", 2)]);
}

#[test]
fn so_are_those_that_are_mended_one_by_one() {
    losses(0..500, |seed| lossy(seed, Mix::Sent, true)).few(&[
        ("lost_acks", 30),
        ("near", 10),
        ("reordered", 2),
        ("visible <= most", 6),
    ]);
}

#[test]
fn so_are_those_of_a_long_way() {
    // A NAK takes longer than a window, and what it asks for is lost again: runs of repeats overlap.
    let far = |seed| {
        let mut rng = Rng::new(seed ^ 0xfa4);
        let mut s = lossy(seed, Mix::Sent, false);
        s.window = rng.one_of(&[16, 32, 64]);
        s.links.iter_mut().for_each(|l| l.delay = rng.one_of(&[25_000, 500_000, 1_000_000]));
        s.rto = 20_000_000;
        s.links[0].loss = rng.one_of(&[10_000, 50_000]);
        s.links[1].loss = rng.one_of(&[0, 50_000]);
        s
    };
    losses(0..500, far).few(&[
        ("duplicated_by_network", 2),
        ("reordered", 9),
        ("restarts_elsewhere", 1),
        ("visible <= most", 1),
    ]);
}

#[track_caller]
fn losses(seeds: std::ops::Range<u64>, scenario: impl Fn(u64) -> Scenario) -> Faults {
    let (mut counted, mut there) = (0, 0);
    let mut faults = Faults::default();
    for seed in seeds {
        let s = scenario(seed);
        let truth = run(&s);
        for place in PLACES {
            let records = &truth.taps[place as usize];
            let why = format!("seed {seed} {place:?} selective {}", s.selective);
            let ttls = seed % 2 == 0;
            let seen = seen(&s, records, place, ttls);
            let story = story(&seen, records, &why);
            let links = place as usize;
            let lost = truth.lost(0..links, |p| p.is_request());
            let all = truth.lost(0..2, |p| p.is_request());
            let visible = visible(&truth, links, records);
            counted += story.lost_before_tap;
            there += visible;
            faults.check("lost_before_tap <= lost", story.lost_before_tap <= lost, &why, story);
            let most = story.lost_before_tap + story.lost_or_late;
            faults.check("visible <= most", visible <= most, &why, story);
            faults.check("most <= all", most <= all, &why, story);
            for (what, is) in [
                ("reordered", story.reordered),
                ("duplicated_by_network", story.duplicated_by_network),
                ("missed_by_capture", story.missed_by_capture),
                ("lost_acks", story.lost_acks),
                ("lost_after_tap", story.lost_after_tap),
                ("naks_repeated", story.naks_repeated),
                ("restarts_elsewhere", story.restarts_elsewhere),
            ] {
                faults.same(what, (is, 0), &why, story);
            }
            let right: &[Near] = match place {
                Place::Requester => &[Near::Src, Near::Unknown],
                Place::Middle if ttls => &[Near::Between],
                Place::Middle => &[Near::Between, Near::Unknown, Near::Src, Near::Dst],
                Place::Responder => &[Near::Dst, Near::Unknown],
            };
            faults.check("near", right.contains(&story.near), &why, story);
            let wrong = if s.selective { Recovery::GoBackN } else { Recovery::Selective };
            // No timer ran out: so says every episode, too.
            let timer = truth.timeouts == 0 && story.episodes.iter().any(|e| e.cause == Some(Cause::Timeout));
            faults.check("no episode of a timer", !timer, &why, story);
            faults.check("recovery", story.recovery != wrong, &why, story);
        }
    }
    // What was sent again alone may have been late instead: there, hardly any is certain.
    let sure = if scenario(0).selective { counted < there / 100 } else { counted * 5 > there * 3 };
    assert!(sure, "{counted} of {there} are certain");
    faults
}
