//! A capture that is not whole: what it lacks is the capture's, not the network's.

use crate::clean::nothing;
use crate::faults::Faults;
use crate::model::{Record, Rng, run};
use crate::scenario::{Mix, clean};
use crate::tap::{PLACES, requests, seen, story};

#[test]
fn what_the_capture_missed_is_nobodys_loss() {
    let mut faults = Faults::default();
    let (mut told, mut there) = (0, 0);
    for seed in 0..1_000 {
        let s = clean(seed, if seed % 2 == 0 { Mix::Sent } else { Mix::All });
        let truth = run(&s);
        let mut rng = Rng::new(seed ^ 0xca97);
        let share = rng.one_of(&[2_000, 10_000, 100_000]);
        for place in PLACES {
            let mut records: Vec<Record> = truth.taps[place as usize].clone();
            records.retain(|_| !rng.chance(share));
            let why = format!("seed {seed} {place:?} share {share}");
            let seen = seen(&s, &records, place, seed % 2 == 0);
            let story = story(&seen, &records, &why);
            faults.same("retransmissions.total", (story.retransmissions.total, 0), &why, story);
            faults.same(
                "(lost_before_tap, lost_after_tap, reordered)",
                ((story.lost_before_tap, story.lost_after_tap, story.reordered), (0, 0, 0)),
                &why,
                story,
            );
            faults.same(
                "(lost_acks, timeouts, naks_repeated)",
                ((story.lost_acks, story.timeouts, story.naks_repeated), (0, 0, 0)),
                &why,
                story,
            );
            faults.same(
                "(duplicated_by_network, stall_ns)",
                ((story.duplicated_by_network, story.stall_ns), (0, 0)),
                &why,
                story,
            );
            let never = requests(&seen).requests.never_seen;
            // Of the first ones it is not known whether they had passed before.
            let most = story.missed_by_capture + story.lost_or_late;
            faults.check("missed_by_capture + lost_or_late <= never_seen", most <= never, &why, story);
            (told, there) = (told + most, there + never);
        }
    }
    faults.none();
    assert!(told * 10 > there * 9, "{told} of {there}");
}

#[test]
fn one_direction_alone_tells_of_no_timer() {
    let mut faults = Faults::default();
    for seed in 0..300 {
        let mut s = clean(seed, Mix::Sent);
        let lossy = seed % 3 != 0;
        if lossy {
            s.links[0].loss = 10_000;
            s.links[1].loss = 10_000;
        }
        let truth = run(&s);
        for place in PLACES {
            let mut records: Vec<Record> = truth.taps[place as usize].clone();
            records.retain(|r| r.packet.is_request());
            let why = format!("seed {seed} {place:?}");
            let seen = seen(&s, &records, place, seed % 2 == 0);
            let story = story(&seen, &records, &why);
            if !lossy {
                nothing(story, &why);
            }
            let by = &story.retransmissions.by_cause;
            faults.same(
                "(by.nak, by.timeout, by.rnr, by.read_reissue)",
                ((by.nak, by.timeout, by.rnr, by.read_reissue), (0, 0, 0, 0)),
                &why,
                story,
            );
            faults.same(
                "(lost_acks, timeouts, missed_by_capture)",
                ((story.lost_acks, story.timeouts, story.missed_by_capture), (0, 0, 0)),
                &why,
                story,
            );
            faults.same(
                "(unanswered_tries, reordered, message_ns.count)",
                ((story.unanswered_tries, story.reordered, story.message_ns.count), (0, 0, 0)),
                &why,
                story,
            );
        }
    }
    faults.none();
}
