//! A capture that begins amid a recovery: what was before its first frame is unknown, and nothing was late or missed.

use rocetop_analysis::story::StoryReport;
use rocetop_parsers::Facts;
use rocetop_parsers::ib::aeth::{Aeth, Syndrome};

use crate::faults::Faults;
use crate::kit::{READ_REQ, Seen, Tap, connection};
use crate::model::{Message, Rng, Scenario, run};
use crate::scenario::{Mix, clean};
use crate::tap::{PLACES, Place, seen};

/// Losses of requests, on both links to the responder.
fn lossy(seed: u64, rng: &mut Rng) -> Scenario {
    let mut s = clean(seed, [Mix::Sent, Mix::Read, Mix::All][seed as usize % 3]);
    s.messages.insert(0, Message::Write(3));
    s.links[0].loss = rng.one_of(&[2_000, 10_000, 30_000]);
    s.links[1].loss = rng.one_of(&[0, 2_000, 10_000]);
    s.window = rng.one_of(&[16, 64, 96]);
    s.selective = seed.is_multiple_of(5);
    s
}

fn story(seen: &Seen) -> Option<&StoryReport> {
    seen.flows.iter().find(|f| f.dst_qp == 19)?.story.as_ref()
}

#[test]
fn what_was_before_the_first_frame_is_neither_late_nor_missed() {
    let mut faults = Faults::default();
    let mut cut = 0;
    for seed in 0..600 {
        let mut rng = Rng::new(seed ^ 0xbe61);
        let s = lossy(seed, &mut rng);
        let truth = run(&s);
        for place in PLACES {
            let all = &truth.taps[place as usize];
            let ttls = seed % 2 == 0;
            // What is wrong of the whole is not the beginning's.
            let whole = seen(&s, all, place, ttls);
            let right = story(&whole).is_some_and(|w| (w.reordered, w.missed_by_capture) == (0, 0));
            let again: Vec<usize> = (0..all.len()).filter(|&n| all[n].packet.again.is_some()).collect();
            for _ in 0..if right && !again.is_empty() { 4 } else { 0 } {
                let from = again[rng.within(0, again.len() as u64) as usize];
                let from = from.saturating_sub(rng.within(0, 40) as usize);
                let why = format!("seed {seed} {place:?} from {from}");
                let seen = seen(&s, &all[from..], place, ttls);
                let Some(story) = story(&seen) else { continue };
                cut += 1;
                for (what, is) in [
                    ("reordered", story.reordered),
                    ("duplicated_by_network", story.duplicated_by_network),
                    ("missed_by_capture", story.missed_by_capture),
                ] {
                    faults.same(what, (is, 0), &why, story);
                }
                let lost = if place == Place::Requester { story.lost_before_tap } else { 0 };
                faults.same("lost_before_tap", (lost, 0), &why, story);
            }
        }
    }
    faults.none();
    assert!(cut > 3_000, "{cut}");
}

#[test]
fn what_was_acknowledged_before_it_came_had_passed_before_the_first_frame() {
    // A capture that begins where atomics (or READs) are asked for again, one for each new one: the responder has
    // completed those up to 5, of which 3 to 5 come by for the first time only now.
    let (out, back) = connection();
    for (request, response, answered) in
        [(0x14, 0x12, true), (READ_REQ, 0x10, true), (0x14, 0x12, false), (READ_REQ, 0x10, false)]
    {
        let mut tap = Tap::default();
        let mut at = 1_000_000_000;
        for (psn, msn) in [(2, 6), (6, 7), (3, 7), (7, 8), (4, 8), (8, 9), (5, 9), (9, 10), (10, 11), (11, 12)] {
            let (dma_len, payload) = if request == READ_REQ { (64, 64) } else { (0, 0) };
            tap.add(at, Facts { dma_len, payload: 0, ..Tap::facts(out, request, psn) });
            let aeth = Aeth::new(Syndrome::Ack(31), msn);
            if answered {
                tap.add(at + 400, Facts { aeth, payload, ..Tap::facts(back, response, psn) });
            }
            at += 200_444;
        }
        let seen = tap.finish();
        let story = story(&seen).unwrap();
        assert_eq!((story.lost_or_late, story.lost_before_tap, story.reordered), (0, 0, 0), "{request:x} {story:?}");
        assert_eq!((story.missed_or_before, story.missed_by_capture), (3, 0), "{request:x}");
    }
}
