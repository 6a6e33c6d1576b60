//! A tap that shows every frame twice, while the sender truly repeats.

use super::{Lab, Sent, ack, request};
use crate::taps::TapReport;

/// A packet at both taps, of which the second one shows two copies, `lag` ns apart.
fn doubled(lab: &mut Lab, sent: Sent, lag: u64) {
    lab.seen(0, sent, 0);
    at_second(lab, sent, lag);
}

fn at_second(lab: &mut Lab, sent: Sent, lag: u64) {
    lab.hops = 2;
    lab.seen(1, sent, 0);
    let mut copy = sent;
    copy.facts.ttl -= 1;
    lab.seen(1, copy, lag);
}

/// 100 packets and their answers, of which the 60th is lost and the last 40 are sent again.
fn gone_back(lag: u64) -> [TapReport; 2] {
    let mut lab = Lab::new();
    let us = |n: u32| u64::from(n) * 2;
    for n in 0..60 {
        doubled(&mut lab, request(n, us(n)), lag);
        doubled(&mut lab, ack(n, us(n) + 50), lag);
    }
    lab.seen(0, request(60, us(60)), 0);
    for n in 61..100 {
        doubled(&mut lab, request(n, us(n)), lag);
    }
    for n in 60..100 {
        doubled(&mut lab, request(n, 300 + us(n)), lag);
        doubled(&mut lab, ack(n, 350 + us(n)), lag);
    }
    lab.rows().map(Option::unwrap)
}

#[test]
fn repeats_are_no_copies_where_each_has_its_own() {
    for lag in [300, 5_000] {
        let [there, back] = gone_back(lag);
        assert_eq!((there.sent, there.received, there.lost, there.mirror_copies), (140, 139, Some(1), 139), "{lag}");
        assert_eq!((back.sent, back.lost, back.mirror_copies, back.duplicated), (100, Some(0), 100, 0), "{lag}");
    }
}

#[test]
fn a_tap_whose_links_take_turns_shows_repeats() {
    // One link, one that takes over in the midst of what is sent again, and a bond of two.
    for link in [|_| 0, |n: u32| u32::from(n >= 62), |n: u32| n % 2] {
        let mut lab = Lab::new();
        let thrice = (0..60).chain(10..60).chain(10..70);
        for (n, psn) in (0..).zip(thrice) {
            let mut sent = request(psn, u64::from(n) * 2);
            lab.seen(0, sent, 0);
            // Of 40 the first one is lost, and of 55 all three.
            if n != 40 && psn != 55 {
                sent.facts.ifindex = link(n);
                lab.seen(1, sent, 0);
            }
        }
        let row = lab.row();
        let (copies, lost) = (row.mirror_copies, row.lost);
        assert_eq!((row.sent, row.received, lost, copies), (170, 166, Some(4), 0), "{} {}", link(62), link(61));
    }
}
