//! A second pass tells everything about one connection, and nothing else changes.

use rocetop_analysis::report::FrameRef;
use rocetop_analysis::{Config, Engine, Focus, FrameNo, Ledger};

use crate::kit::{SEND_ONLY, Tap, connection, way};

/// Three connections of the same two hosts lose a packet each in every round.
fn lossy(rounds: u32, focus: Option<Focus>) -> Engine {
    let mut tap = Tap::with(Config { focus, ..Config::default() });
    let (out, back) = connection();
    let others = [(way(1, 2, 119, 7), way(2, 1, 117, 7)), (way(1, 2, 219, 9), way(2, 1, 217, 9))];
    for n in (0..2 * rounds).step_by(2) {
        for (base, (out, back)) in [(0, (out, back)), (1 << 20, others[0]), (1 << 21, others[1])] {
            let psn = base + n;
            tap.send(out, SEND_ONLY, psn).send(out, SEND_ONLY, psn + 1).nak(back, psn, n);
            tap.send(out, SEND_ONLY, psn).send(out, SEND_ONLY, psn + 1).ack(back, psn + 1, n);
        }
    }
    tap.engine()
}

#[test]
fn every_episode_of_the_connection_in_focus_is_kept() {
    let mut engine = lossy(1_000, None);
    let before = Ledger::new(&engine, Vec::new());
    let focus = before.focus(2).unwrap();
    let flows: Vec<String> = before.flows().map(|f| format!("{:?}", f.requests)).collect();
    let kept = |ledger: &Ledger<'_>, id| {
        let story = ledger.flow(id).unwrap().story.unwrap();
        (story.episodes.len() as u64, story.more_episodes)
    };
    let (some, more) = kept(&before, 2);
    // The first answers tell which flow they belong to, and are no part of its story.
    assert!(more != 0 && some + more == 999, "{some} {more}");
    assert_eq!((before.len(), before.focus(6)), (6, None));
    engine.look_closer(&focus, lossy(1_000, Some(focus)));
    let after = Ledger::new(&engine, Vec::new());
    assert_eq!(kept(&after, 2), (999, 0));
    // The room that it had before is the others' now.
    assert_eq!(kept(&after, 0).0 + kept(&after, 4).0, 1024 + 2 * 8);
    assert_eq!(after.flows().map(|f| format!("{:?}", f.requests)).collect::<Vec<_>>(), flows);
}

#[test]
fn a_close_look_measures_closely() {
    let coarse = lossy(100, None);
    let ledger = Ledger::new(&coarse, Vec::new());
    let close = lossy(100, ledger.focus(1));
    let times = |engine: &Engine, id| Ledger::new(engine, Vec::new()).flow(id).unwrap().story.unwrap().message_ns;
    let (rough, exact) = (times(&coarse, 0), times(&close, 0));
    assert_eq!((rough.count, rough.max), (exact.count, exact.max));
    // Sent at 10 and 20 us, acknowledged at 60 us.
    assert!((50_000 - 64..=50_500).contains(&exact.p99), "{exact:?}");
    assert_eq!(times(&close, 2), times(&coarse, 2));
    // The sums are what they were: all messages of all flows, but for two of each pair that is known only by its
    // answers.
    let all = ledger.totals().message_ns.unwrap();
    assert_eq!((all.count, all.max), (596, rough.max));
}

#[test]
fn frames_are_found_again() {
    let engine = lossy(1, None);
    let alone = Ledger::new(&engine, vec!["a.pcap".into()]);
    assert_eq!(alone.place(&FrameRef::Place(7)), Some(FrameNo::new(0, 7)));
    let names = ["a.pcap", "b:1.pcap"].map(String::from);
    let several = Ledger::new(&engine, names.to_vec());
    for frame in [FrameNo::new(0, 7), FrameNo::new(1, 7)] {
        assert_eq!(several.place(&several.frame(frame)), Some(frame));
    }
    assert_eq!(several.place(&FrameRef::In("c.pcap:1".into())), None);
}

#[test]
fn packets_are_known_by_flow_and_time() {
    let engine = lossy(1, None);
    let members = Ledger::new(&engine, Vec::new()).members([0, 1]);
    let (out, back) = connection();
    let facts = |way| Tap::facts(way, SEND_ONLY, 0);
    let at = rocetop_parsers::Nanos(1_000_050_000);
    assert!(members.have(&facts(out), at) && members.have(&facts(back), at));
    assert!(!members.have(&facts(way(1, 2, 119, 7)), at));
    assert!(!members.have(&facts(out), rocetop_parsers::Nanos(1)));
}
