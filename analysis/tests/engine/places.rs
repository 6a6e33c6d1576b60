//! A flow that moves from one interface to another is the same flow at the same host.

use rocetop_analysis::story::report::Recovery;

use crate::kit::*;

/// Ten losses before the tap, each with a NAK and a window of twenty sent again. `place` gives the interface and strand
/// of files that a packet is seen at, by its number.
fn ten_losses(place: impl Fn(u32) -> (u32, u16)) -> Seen {
    let (out, back) = connection();
    let mut tap = Tap::default();
    let mut count = 0;
    let mut at = |way: Way| {
        let (iface, strand) = place(count);
        count += 1;
        Way { iface, strand, ..way }
    };
    for episode in 0..10 {
        let first = 60 * episode;
        for psn in first..first + 40 {
            tap.send(at(out), WRITE_ONLY, psn).ack(at(back), psn, psn + 1);
        }
        for psn in first + 41..first + 60 {
            tap.send(at(out), WRITE_ONLY, psn);
            if psn == first + 41 {
                tap.nak(at(back), first + 40, first + 40);
            }
        }
        tap.wait(100_000);
        for psn in first + 40..first + 60 {
            tap.send(at(out), WRITE_ONLY, psn).ack(at(back), psn, psn + 1);
        }
        tap.wait(1_000_000);
    }
    tap.finish()
}

#[test]
fn what_was_lost_is_told_wherever_the_flow_goes_on() {
    // 140 packets each: a link that failed between two of them, and in the middle of the fifth; and links that take
    // turns.
    let moves = |n: u32| (u32::from(n >= 700), 0);
    let amid = |n: u32| (u32::from(n >= 675), 0);
    let turns = |n: u32| (n * 7 / 3 % 2, 0);
    let part = |n: u32| (0, (n / 140) as u16);
    for (name, seen) in [
        ("stays", ten_losses(|_| (0, 0))),
        ("moves", ten_losses(moves)),
        ("amid", ten_losses(amid)),
        ("turns", ten_losses(turns)),
        ("parts", ten_losses(part)),
    ] {
        let flow = &seen.flows[0];
        let story = flow.story.as_ref().unwrap();
        assert_eq!((seen.totals.mirror_copies, flow.requests.seen_again), (0, 190), "{name}");
        assert_eq!((story.lost_before_tap, story.lost_or_late, story.reordered), (10, 0, 0), "{name}");
        assert_eq!((story.retransmissions.by_cause.nak, story.retransmissions.total), (190, 190), "{name}");
        assert_eq!(story.recovery, Recovery::GoBackN, "{name}");
    }
}

#[test]
fn what_both_links_see_is_told_once() {
    let (out, back) = connection();
    let mut tap = Tap::default();
    for psn in (0..20).chain(21..40).chain(20..60) {
        for iface in 0..2 {
            tap.now -= 9_000;
            // The second one is a router's other side.
            tap.send(Way { iface, ttl: 64 - iface as u8, ..out }, WRITE_ONLY, psn);
            if psn == 21 {
                tap.nak(Way { iface, ttl: 64 - iface as u8, ..back }, 20, 20);
            }
        }
    }
    let seen = tap.finish();
    let story = seen.flows[0].story.as_ref().unwrap();
    assert_eq!((seen.flows[0].packets, seen.flows[0].requests.seen_again), (79, 19));
    assert_eq!((story.retransmissions.by_cause.nak, story.retransmissions.total), (19, 19));
}
