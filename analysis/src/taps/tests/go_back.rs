//! Senders that go back: what is sent again is neither lost nor a mirror's.

use proptest::prelude::*;

use super::{Lab, frames, request};

/// A go-back-N sender of `count` packets with a window of 16 over a way that loses what `loses` says.
fn go_back_n(count: u32, start: u32, loses: &[bool], lab: &mut Lab) -> Vec<String> {
    let mut lost = Vec::new();
    let (mut acked, mut next, mut time, mut sent) = (0, 0, 0, 0);
    let mut losses = loses.iter().copied().cycle();
    while acked < count {
        let end = (acked + 16).min(count);
        let mut expected = acked;
        while next < end {
            let packet = request(start.wrapping_add(next), time);
            lab.seen(0, packet, 0);
            sent += 1;
            if losses.next() == Some(true) {
                lost.push(format!("a:{sent}"));
            } else {
                lab.seen(1, packet, 0);
                expected += u32::from(next == expected);
            }
            next += 1;
            time += 1;
        }
        // The acknowledgement, or the NAK, after a round trip; then all from there.
        time += 100;
        (acked, next) = (expected, expected);
    }
    lost
}

#[test]
fn who_goes_back_in_every_window_is_no_mirror() {
    let loses: Vec<bool> = (0..97).map(|n| [2, 30, 32, 48].contains(&n)).collect();
    let mut lab = Lab::new();
    let lost = go_back_n(31, 0, &loses, &mut lab);
    lab.all([request(31, 1 << 40)]);
    let row = lab.row();
    assert_eq!(frames(&row), ["a:3", "a:31", "a:33", "a:49"]);
    assert_eq!((lost.len(), row.lost, row.mirror_copies), (4, Some(4), 0));
}

proptest! {
    #[test]
    fn random_loss_is_found_exactly(
        count in 1u32..300,
        start in 0u32..1 << 24,
        mut loses in proptest::collection::vec(prop::bool::weighted(0.2), 97),
    ) {
        loses[0] = false;
        let mut lab = Lab::new();
        let lost = go_back_n(count, start, &loses, &mut lab);
        lab.all([request(start.wrapping_add(count), 1 << 40)]);
        let row = lab.row();
        prop_assert_eq!(row.lost, Some(lost.len() as u64));
        prop_assert_eq!(row.lost_by_kind.requests, lost.len() as u64);
        prop_assert_eq!(row.received + lost.len() as u64, row.sent);
        prop_assert_eq!(row.reordered, 0);
        prop_assert_eq!(frames(&row), lost.into_iter().take(8).collect::<Vec<_>>());
    }
}
