//! What becomes of holes.

use super::*;

fn mark(frame: u64) -> Mark {
    Mark { frame: FrameNo::new(0, frame), at: Nanos(frame * 1000) }
}

fn hole(arrivals: &[u32], fate: Fate) -> Hole {
    let mut hole = Hole::new(Psn::new(0xff_fffe), 3, mark(10), false);
    hole.nak = Some(mark(11));
    hole.reached(mark(20), Cause::Nak);
    for (frame, &psn) in (20..).zip(arrivals) {
        hole.arrive(Psn::new(psn), mark(frame), fate);
    }
    hole
}

/// The same, and the packet behind it came again once, long ago.
fn passed(arrivals: &[u32], fate: Fate) -> Hole {
    let mut hole = hole(arrivals, fate);
    hole.passed_again(Nanos(40_000));
    hole.since = SETTLED + 1;
    hole
}

#[test]
fn a_late_one_and_its_repeat_are_no_loss() {
    let mut hole = hole(&[0xff_fffe, 0xff_ffff, 0, 0xff_fffe, 0xff_ffff, 0], Fate::Repeated);
    assert_eq!(hole.outcome(true), Outcome { lost_or_late: 3, ..Outcome::default() });
    hole.passed_again(mark(26).at);
    hole.since = SETTLED + 1;
    assert_eq!(hole.outcome(true), Outcome { lost_or_late: 3, ..Outcome::default() });
}

#[test]
fn a_sender_that_may_have_begun_behind_it_proves_nothing() {
    let mut hole = passed(&[0xff_fffe, 0xff_ffff, 0], Fate::Repeated);
    assert_eq!(hole.outcome(true), Outcome { lost: 3, ..Outcome::default() });
    hole.wanted(Psn::new(0xff_fffe), true);
    hole.wanted(Psn::new(2), true);
    assert_eq!(hole.outcome(true), Outcome { lost: 3, ..Outcome::default() });
    hole.wanted(Psn::new(1), true);
    assert_eq!(hole.outcome(true), Outcome { lost_or_late: 3, ..Outcome::default() });
}

#[test]
fn soon_it_is_proved_only_where_the_order_is_kept() {
    let in_order = Outcome { lost_if_in_order: 3, ..Outcome::default() };
    let mut soon = hole(&[0xff_fffe, 0xff_ffff, 0], Fate::Repeated);
    soon.passed_again(mark(22).at);
    assert_eq!(soon.outcome(true), in_order);
    soon.wanted(Psn::new(1), false);
    assert_eq!(soon.outcome(true), in_order);
    // What is asked for afterwards is another matter.
    soon.wanted(Psn::new(1), true);
    assert_eq!(soon.outcome(true), in_order);
    // Each came a second time, and much later the one behind them too.
    (20..23).for_each(|n| soon.arrive(Psn::new(0xff_fffe) + (n - 20), mark(u64::from(n)), Fate::Repeated));
    assert_eq!(soon.outcome(true), Outcome { lost_or_late: 3, ..Outcome::default() });
    soon.passed_again(mark(26).at);
    assert_eq!(soon.outcome(true), Outcome { lost_or_late: 3, ..Outcome::default() });
    let mut later = hole(&[0xff_fffe, 0xff_ffff, 0], Fate::Repeated);
    later.passed_again(mark(26).at);
    assert_eq!(later.outcome(true), in_order);
    later.wanted(Psn::new(1), false);
    assert_eq!(later.outcome(true), Outcome { lost_or_late: 3, ..Outcome::default() });
}

#[test]
fn the_order_of_files_tells_no_time() {
    let mut hole = Hole::new(Psn::new(5), 1, mark(10), false);
    // The ring of files began anew: the later packet stands in the first one.
    hole.arrive(Psn::new(5), Mark { frame: FrameNo::new(1, 3), at: Nanos(20_000) }, Fate::Late);
    hole.reached(Mark { frame: FrameNo::new(0, 7), at: Nanos(30_000) }, Cause::Timeout);
    assert_eq!(hole.cause(), Some(Cause::Unknown));
    hole.reached(Mark { frame: FrameNo::new(2, 1), at: Nanos(19_000) }, Cause::Nak);
    assert_eq!(hole.cause(), Some(Cause::Nak));
}

#[test]
fn what_comes_in_repeats_alone_was_lost() {
    let mut hole = passed(&[0xff_fffe, 0xff_ffff, 0, 0xff_fffe], Fate::Repeated);
    assert_eq!(hole.outcome(true), Outcome { lost: 2, lost_or_late: 1, ..Outcome::default() });
    hole.passed_again(mark(29).at);
    assert_eq!(hole.outcome(true), Outcome { lost: 3, ..Outcome::default() });
    hole.arrive(Psn::new(0xff_ffff), mark(30), Fate::Late);
    assert_eq!(hole.outcome(true), Outcome { lost: 2, late: 1, ..Outcome::default() });
    hole.arrive(Psn::new(0xff_ffff), mark(31), Fate::Repeated);
    assert_eq!(hole.outcome(true), Outcome { lost: 2, late: 1, ..Outcome::default() });
}

#[test]
fn a_run_that_was_none_makes_it_late() {
    let mut hole = hole(&[0xff_ffff, 0], Fate::Repeated);
    hole.was_late(Psn::new(0xff_ffff), Psn::new(1));
    assert_eq!(hole.outcome(true), Outcome { late: 2, lost_or_late: 1, ..Outcome::default() });
}

#[test]
fn what_is_unsure_is_settled_later() {
    let mut hole = passed(&[0xff_ffff, 0], Fate::Unsure);
    assert_eq!(hole.outcome(true), Outcome { lost_or_late: 3, ..Outcome::default() });
    hole.settle(Psn::new(0xff_ffff), Fate::Repeated);
    hole.settle(Psn::new(0), Fate::Late);
    // It came once, and was sent again once.
    assert_eq!(hole.outcome(true), Outcome { lost: 1, lost_or_late: 2, ..Outcome::default() });
}

#[test]
fn the_inside_of_a_read_is_not_waited_for() {
    let mut hole = passed(&[0xff_fffe], Fate::Repeated);
    hole.cover(Psn::new(0xff_ffff), Psn::new(5));
    assert!(hole.is_whole());
    assert_eq!(hole.outcome(true), Outcome { lost: 1, ..Outcome::default() });
}

#[test]
fn acknowledged_without_a_word_is_missed_by_the_capture() {
    let mut hole = Hole::new(Psn::new(5), 2, mark(1), false);
    assert_eq!(hole.outcome(true), Outcome { lost_or_late: 2, ..Outcome::default() });
    hole.acked = true;
    assert_eq!(hole.outcome(true), Outcome { missed: 2, ..Outcome::default() });
}

#[test]
fn late_is_certain_only_where_answers_are_seen() {
    let mut hole = Hole::new(Psn::new(5), 1, mark(1), false);
    hole.arrive(Psn::new(5), mark(2), Fate::Late);
    assert_eq!(hole.outcome(true), Outcome { late: 1, ..Outcome::default() });
    assert_eq!(hole.outcome(false), Outcome { lost_or_late: 1, ..Outcome::default() });
}

#[test]
fn late_in_the_file_alone_is_in_order_by_its_stamp() {
    let mut hole = Hole::new(Psn::new(5), 3, mark(10), false);
    let late = |(psn, at)| hole.arrive(Psn::new(psn), Mark { at: Nanos(at), ..mark(11) }, Fate::Late);
    [(5, 9_999), (6, 10_000), (7, 10_001)].into_iter().for_each(late);
    assert_eq!(hole.outcome(true), Outcome { late: 3, in_order: 1, ..Outcome::default() });
}

#[test]
fn what_had_been_seen_before_is_never_certain() {
    let mut hole = Hole::new(Psn::new(5), 1, mark(1), true);
    hole.reached(mark(20), Cause::Nak);
    hole.arrive(Psn::new(5), mark(3), Fate::Repeated);
    assert_eq!(hole.outcome(true), Outcome { lost_or_late: 1, ..Outcome::default() });
}

#[test]
fn a_wide_hole_keeps_its_sum() {
    let mut hole = Hole::new(Psn::new(0), 5_000, mark(1), false);
    hole.acked = true;
    assert_eq!(hole.outcome(true).missed, 5_000);
}
