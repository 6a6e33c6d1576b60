//! Packets that overtake each other, and packets that come twice.

use crate::faults::Faults;
use crate::model::{Rng, Scenario, run};
use crate::scenario::{Mix, clean};
use crate::tap::{PLACES, Place, seen, story};

/// A clean run in which some requests are late, on either link.
fn late(seed: u64) -> Scenario {
    let mut rng = Rng::new(seed ^ 0x1a7e);
    let mut s = clean(seed, Mix::Sent);
    for link in [0, 1] {
        s.links[link].late = rng.one_of(&[0, 5_000, 20_000]);
        s.links[link].late_by = rng.one_of(&[1_000, 5_000, 20_000]);
    }
    s
}

#[test]
fn what_is_late_is_not_lost() {
    let mut faults = Faults::default();
    let (mut seen_late, mut truly_late) = (0, 0);
    for seed in 0..1_500 {
        let s = late(seed);
        let truth = run(&s);
        for place in PLACES {
            let records = &truth.taps[place as usize];
            let why = format!("seed {seed} {place:?}");
            let seen = seen(&s, records, place, seed % 2 == 0);
            let story = story(&seen, records, &why);
            faults.same("lost_before_tap", (story.lost_before_tap, 0), &why, story);
            for (what, is) in [
                ("duplicated_by_network", story.duplicated_by_network),
                ("missed_by_capture", story.missed_by_capture),
                ("lost_acks", story.lost_acks),
                ("naks_repeated", story.naks_repeated),
                ("restarts_elsewhere", story.restarts_elsewhere),
            ] {
                faults.same(what, (is, 0), &why, story);
            }
            let behind: u64 = truth.tolls[..2].iter().map(|t| t.late).sum();
            faults.check("lost_or_late <= late", story.lost_or_late <= behind, &why, story);
            faults.check("reordered <= late", story.reordered <= behind, &why, story);
            seen_late += story.reordered;
            if place == Place::Responder {
                truly_late += behind;
            }
        }
    }
    assert!(seen_late * 4 > truly_late, "{seen_late} of {truly_late}");
    faults.few(&[
        ("duplicated_by_network", 21),
        ("lost_before_tap", 35),
        ("lost_or_late <= late", 348),
        ("reordered <= late", 51),
        ("restarts_elsewhere", 1),
    ]);
}

#[test]
fn what_the_network_doubles_is_counted_as_that() {
    let mut faults = Faults::default();
    for seed in 0..500 {
        let mut s = clean(seed, Mix::Sent);
        s.links[0].twice = 10_000;
        let truth = run(&s);
        for place in PLACES {
            let records = &truth.taps[place as usize];
            let why = format!("seed {seed} {place:?}");
            let seen = seen(&s, records, place, seed % 2 == 0);
            let story = story(&seen, records, &why);
            let twice = if place == Place::Requester { 0 } else { truth.tolls[0].twice };
            faults.check("duplicated_by_network <= twice", story.duplicated_by_network <= twice, &why, story);
            let by = &story.retransmissions.by_cause;
            faults.same(
                "(by.nak, by.rnr, by.read_reissue)",
                ((by.nak, by.rnr, by.read_reissue), (0, 0, 0)),
                &why,
                story,
            );
        }
    }
    faults.none();
}
