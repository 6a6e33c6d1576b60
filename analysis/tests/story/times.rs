//! Times: of messages, of timers, of waits.

use rocetop_analysis::story::report::Near;

use crate::faults::Faults;
use crate::model::{Message, run};
use crate::scenario::{Mix, clean};
use crate::tap::{PLACES, Place, seen, story};

#[test]
fn a_steady_run_takes_what_it_takes() {
    let mut faults = Faults::default();
    for seed in 0..200 {
        let mut s = clean(seed, Mix::Sent);
        // Single packets, far apart: each one's answer comes before the next leaves.
        s.messages = vec![Message::Write(1); 50];
        (s.window, s.coalesce) = (1, 0);
        let truth = run(&s);
        for place in PLACES {
            let records = &truth.taps[place as usize];
            let why = format!("seed {seed} {place:?}");
            let seen = seen(&s, records, place, false);
            let story = story(&seen, records, &why);
            let delay = |links: std::ops::Range<usize>| s.links[links].iter().map(|l| l.delay).sum::<u64>();
            let way = match place {
                Place::Requester => s.round_trip(),
                Place::Middle => delay(1..3) + s.think,
                Place::Responder => s.think,
            };
            faults.same("(rtt_ns.count, rtt_ns.max)", ((story.rtt_ns.count, story.rtt_ns.max), (50, way)), &why, story);
            faults.same(
                "(message_ns.count, message_ns.max)",
                ((story.message_ns.count, story.message_ns.max), (50, way)),
                &why,
                story,
            );
            faults.same("rtt_ns.p50", (story.rtt_ns.p50, way), &why, story);
        }
    }
    faults.none();
}

#[test]
fn a_dead_peer_is_tried_as_often_as_it_is_tried() {
    let mut faults = Faults::default();
    for seed in 0..300 {
        let mut s = clean(seed, Mix::Sent);
        s.messages = vec![Message::Write(5); 20];
        s.retries = 1 + seed as u32 % 7;
        s.rto = 4_096 << (8 + seed % 10);
        s.links[1].dead_from = Some(1_000_000_000 + s.links[0].delay + 10 * s.gap);
        let truth = run(&s);
        assert!(truth.gave_up);
        for place in [Place::Requester, Place::Middle] {
            let records = &truth.taps[place as usize];
            let why = format!("seed {seed} {place:?} rto {} retries {}", s.rto, s.retries);
            let seen = seen(&s, records, place, true);
            let story = story(&seen, records, &why);
            if place == Place::Requester {
                faults.same("near", (story.near, Near::Src), &why, story);
            }
            faults.same("unanswered_tries", (story.unanswered_tries, s.retries), &why, story);
            faults.same("timeouts", (story.timeouts, u64::from(s.retries)), &why, story);
            if s.retries > 1 {
                faults.same("timeout_ns", (story.timeout_ns, Some(s.rto)), &why, story);
            }
            let by = &story.retransmissions.by_cause;
            faults.same("by.timeout", (by.timeout, story.retransmissions.total), &why, story);
        }
    }
    faults.none();
}
