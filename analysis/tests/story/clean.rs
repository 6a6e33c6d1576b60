//! Where nothing goes wrong, nothing is said.

use rocetop_analysis::story::StoryReport;
use rocetop_analysis::story::report::{Kind, Near, Recovery, Retransmissions};

use crate::model::{Message, run};
use crate::scenario::{Mix, clean};
use crate::tap::{PLACES, Place, seen, seen_all, story};

/// Nothing was lost, late, twice, missed or sent again.
#[track_caller]
pub(crate) fn nothing(s: &StoryReport, why: &str) {
    assert_eq!(s.retransmissions, Retransmissions::default(), "{why}");
    let losses = [s.lost_before_tap, s.lost_after_tap, s.lost_or_late, s.lost_acks, s.lost_responses];
    let others = [s.reordered, s.duplicated_by_network, s.missed_by_capture, s.timeouts, s.rnr_waits, s.stall_ns];
    let rules = [s.naks_repeated, s.restarts_elsewhere, s.more_episodes, u64::from(s.unanswered_tries)];
    assert_eq!((losses, others, rules), ([0; 5], [0; 6], [0; 4]), "{why}");
    assert_eq!(s.episodes.iter().map(|e| e.kind).collect::<Vec<Kind>>(), [], "{why}");
    assert_eq!((s.recovery, s.timeout_ns, s.rnr_timer_us), (Recovery::NoneSeen, None, None), "{why}");
    assert_eq!((s.nak_generation_ns.count, s.nak_reaction_ns.count), (0, 0), "{why}");
}

#[test]
fn a_clean_run_is_silent_everywhere() {
    for seed in 0..600 {
        let s = clean(seed, [Mix::Sent, Mix::Read, Mix::All][seed as usize % 3]);
        let truth = run(&s);
        assert!(!truth.gave_up && truth.timeouts == 0);
        for place in PLACES {
            for ttls in [false, true] {
                let records = &truth.taps[place as usize];
                let why = format!("seed {seed} {place:?}");
                let seen = seen(&s, records, place, ttls);
                let story = story(&seen, records, &why);
                nothing(story, &why);
                let near = match place {
                    _ if !ttls => Near::Unknown,
                    Place::Requester => Near::Src,
                    Place::Middle => Near::Between,
                    Place::Responder => Near::Dst,
                };
                assert_eq!(story.near, near, "{why}");
            }
        }
    }
}

#[test]
fn both_directions_at_once_are_two_silent_stories() {
    for seed in 0..200 {
        let (there, here) = (clean(seed, Mix::All), clean(seed + 10_000, Mix::All));
        let (one, other) = (run(&there), run(&here));
        for place in PLACES {
            let mirror = 2 - place as usize;
            let sides = [(&there, &one.taps[place as usize][..]), (&here, &other.taps[mirror][..])];
            let seen = seen_all(&sides, place, seed % 2 == 0);
            assert_eq!(seen.flows.len(), 2);
            for flow in &seen.flows {
                nothing(flow.story.as_ref().unwrap(), &format!("seed {seed} {place:?} to {}", flow.dst_qp));
            }
        }
    }
}

#[test]
fn an_unreliable_connection_is_silent_too() {
    for seed in 0..200 {
        let mut s = clean(seed, Mix::Sent);
        s.unreliable = true;
        s.window = u64::from(u32::MAX);
        let truth = run(&s);
        for place in [Place::Requester, Place::Responder] {
            let records = &truth.taps[place as usize];
            nothing(story(&seen(&s, records, place, false), records, "uc"), &format!("seed {seed} {place:?}"));
        }
    }
}

#[test]
fn one_packet_at_a_time_is_silent() {
    for seed in 0..100 {
        let mut s = clean(seed, Mix::All);
        s.window = 1;
        s.messages.iter_mut().for_each(|m| {
            if let Message::Write(n) | Message::Send(n) = m {
                *n = 1;
            }
        });
        let truth = run(&s);
        let records = &truth.taps[1];
        nothing(story(&seen(&s, records, Place::Middle, false), records, "one"), &format!("seed {seed}"));
    }
}
