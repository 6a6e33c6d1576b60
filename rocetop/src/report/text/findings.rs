//! What the detectors found, the worst first.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::io::{self, Write};

use rocetop_analysis::detect::{Findings, Value};
use rocetop_analysis::{Finding, Severity};

use super::Shown;
use super::figures::{bits, count, counted, duration, share};
use super::files::Files;
use super::page::{BAD, DIM, HEAD, PLAIN, Page};

/// Frames of a finding that are named; the JSON report has more.
const FRAMES: usize = 6;

/// Where the text of a finding starts: behind the code and the longest severity.
const INDENT: &str = "                ";

/// The findings to show, at most so many, the worst first. Each kind stands with its strongest one before any kind has
/// a second: forty connections with one trouble do not hide another. Only what is good to know makes room for more of
/// what is critical.
fn in_turn(found: &Findings, most: usize) -> Vec<&Finding> {
    let mut codes = BTreeSet::new();
    let mut list: Vec<_> = found.list.iter().map(|finding| (finding, codes.insert(finding.code))).collect();
    // Stable: the order of the findings, which are the worst first.
    list.sort_by_key(|&(finding, first)| match (finding.severity, first) {
        (Severity::Critical | Severity::Warning, true) => 0,
        (Severity::Critical, false) => 1,
        (Severity::Info, true) => 2,
        (Severity::Warning | Severity::Info, false) => 3,
    });
    list.truncate(most);
    list.sort_by_key(|&(finding, first)| (Reverse(finding.severity), !first));
    list.into_iter().map(|(finding, _)| finding).collect()
}

/// How many more findings of a kind there are than are `shown`, and what shows them; `None` where these are all.
fn same(found: &Findings, shown: &[&Finding], code: &str) -> Option<String> {
    let of_kind = |finding: &&Finding| finding.code == code;
    let here: BTreeSet<_> = shown.iter().copied().filter(of_kind).map(|finding| finding.connection).collect();
    let all = || found.list.iter().filter(of_kind);
    let gone: u64 = found.more.iter().filter(|(of, _)| *of == code).map(|&(_, n)| n).sum();
    let hidden = all().count().saturating_sub(shown.iter().copied().filter(of_kind).count()) as u64;
    let elsewhere: BTreeSet<_> =
        all().filter_map(|finding| finding.connection).filter(|id| !here.contains(&Some(*id))).collect();
    // Of those that were not kept nobody knows how many connections they are about.
    let what = match (hidden + gone, elsewhere.len() as u64) {
        (0, _) => return None,
        (_, 1) if gone == 0 => "1 more connection has it as well".to_owned(),
        (_, n) if n != 0 && gone == 0 => format!("{} more connections have it as well", count(n)),
        (n, _) => format!("And {} of this kind", counted(n, "more finding")),
    };
    Some(if hidden == 0 { format!("{what}.") } else { format!("{what}: --top {} or --json.", found.list.len()) })
}

/// Writes as many findings as are to be `shown`, and how many there are beyond. `start` is the time of the capture's
/// first frame.
pub(super) fn write<W: Write>(
    page: &mut Page<'_, W>,
    found: &Findings,
    files: &Files<'_>,
    start: u64,
    shown: &Shown,
) -> io::Result<()> {
    let (most, ids) = (shown.top, shown.before.unwrap_or_default());
    let mut said = BTreeSet::new();
    let list = in_turn(found, most);
    let mut kinds = BTreeSet::new();
    for &finding in &list {
        page.gap()?;
        let mut here = finding.clone();
        ids.shift_finding(&mut here);
        one(page, &here, files, start)?;
        // The same thing about several connections is advised once.
        if said.insert(&finding.advice) {
            page.words(DIM, INDENT, &finding.advice)?;
        }
        if kinds.insert(finding.code)
            && let Some(same) = same(found, &list, finding.code)
        {
            page.words(DIM, INDENT, &same)?;
        }
    }
    if !found.of_all.is_empty() {
        let codes: Vec<&str> = found.of_all.iter().copied().collect();
        page.gap()?;
        let codes = codes.join(", ");
        let note = format!("Also found, about no single connection: {codes}. Without a selection the report tells.");
        page.words(DIM, "", &note)?;
    }
    let hidden = found.list.len().saturating_sub(most) as u64;
    let criticals = |n: usize, finding: &Finding| n + usize::from(finding.severity == Severity::Critical);
    let critical = found.list.iter().fold(0, criticals) - list.iter().copied().fold(0, criticals);
    let gone: u64 = found.more.iter().map(|&(_, n)| n).sum();
    let all = format!("--top {} or --json has", found.list.len());
    let which = if critical == 0 { "" } else { " critical" };
    let among = if critical == 0 { String::new() } else { format!(", {} of them critical", count(critical as u64)) };
    let note = match (hidden, gone) {
        (0, 0) => return Ok(()),
        (1, 0) => format!("and 1 more{which} finding; {all} it."),
        (_, 0) => format!("and {}{among}; {all} them.", counted(hidden, "more finding")),
        (0, _) => {
            format!("and {} that {} not kept.", counted(gone, "more finding"), if gone == 1 { "was" } else { "were" })
        }
        _ => format!("and {}{among}; {all} all but {}.", counted(hidden + gone, "more finding"), count(gone)),
    };
    page.gap()?;
    page.words(DIM, "", &note)
}

/// Whether someone should do something about it.
pub(super) fn alarming(found: &Findings) -> bool {
    found.list.iter().any(|f| f.severity >= Severity::Warning)
}

fn one<W: Write>(page: &mut Page<'_, W>, finding: &Finding, files: &Files<'_>, start: u64) -> io::Result<()> {
    let style = match finding.severity {
        Severity::Critical => BAD,
        Severity::Warning => HEAD,
        Severity::Info => PLAIN,
    };
    let name = finding.severity.name();
    page.words(style, &format!("{} {name:<8}  ", finding.code), &finding.title)?;
    let mut place = Vec::new();
    if let Some(connection) = finding.connection {
        place.push(format!("#{connection}"));
    }
    if let Some(flow) = finding.flow {
        place.push(format!("flow {flow}"));
    }
    place.push(format!("at {}", offset(finding.first_ns.saturating_sub(start))));
    let span = finding.last_ns.saturating_sub(finding.first_ns);
    if span != 0 {
        place.push(format!("for {}", duration(span)));
    }
    page.figures(PLAIN, INDENT, &place)?;
    if let Some(frames) = frames(finding, files) {
        page.words(PLAIN, INDENT, &frames)?;
    }
    let cost = cost(finding);
    if cost.is_empty() { Ok(()) } else { page.figures(PLAIN, INDENT, &cost) }
}

/// What it cost and how far it came, by the evidence; without what the title says.
fn cost(finding: &Finding) -> Vec<String> {
    let value = |name: &str| finding.evidence.0.iter().find(|(n, _)| *n == name).map(|(_, value)| value);
    let number = |name: &str| value(name).and_then(|v| if let Value::Number(n) = v { Some(*n) } else { None });
    let time = |name: &str, what: &str| number(name).filter(|&ns| ns != 0).map(|ns| format!("{what} {}", duration(ns)));
    let again = number("sent_again").zip(number("requests")).filter(|&(again, _)| again != 0);
    let waited = number("waited_least_ns").zip(number("waited_most_ns")).map(|(least, most)| {
        let (least, most) = (duration(least), duration(most));
        if least == most {
            format!("waited {most} for an answer")
        } else {
            format!("waited {least} to {most} for answers")
        }
    });
    let figures = [
        again.map(|(again, all)| format!("{} of {} are repeats", share(again, all), counted(all, "packet"))),
        waited,
        time("recovery_ns", "recovering"),
        time("stall_ns", "stalled"),
        time("tries_apart_ns", "tries apart by at least"),
        time("timeout_ns", "timeout about"),
        // Atomics carry no payload.
        number("goodput_bps").filter(|&bps| bps != 0).map(|bps| format!("goodput {}", bits(bps))),
        number("last_acked_psn").map(|psn| format!("PSN {psn} was acknowledged last")),
    ];
    figures.into_iter().flatten().filter(|figure| !finding.title.contains(figure)).collect()
}

fn frames(finding: &Finding, files: &Files<'_>) -> Option<String> {
    let named: Vec<String> = finding.frames.iter().take(FRAMES).map(|frame| files.place(frame)).collect();
    match named.len() {
        0 => None,
        1 => Some(format!("frame {}", named.concat())),
        _ => {
            let more = if finding.frames.len() > FRAMES { "..." } else { "" };
            Some(format!("frames {}{more}", named.join(", ")))
        }
    }
}

/// Seconds since the capture's first frame, to the microsecond: what Wireshark shows beside a frame, to find it by.
pub(super) fn offset(ns: u64) -> String {
    format!("{}.{:06} s", ns / 1_000_000_000, ns / 1_000 % 1_000_000)
}

#[cfg(test)]
mod tests {
    use rocetop_analysis::detect::Evidence;
    use rocetop_analysis::report::FrameRef;

    use super::*;

    fn finding(severity: Severity, frames: u64) -> Finding {
        Finding {
            code: "RT001",
            severity,
            title: "2 packets lost, 8 sent again: 10.9.1.1 -> 10.9.2.1 qp 20".into(),
            flow: Some(3),
            connection: Some(1),
            first_ns: 2_000_123_456,
            last_ns: 2_500_123_456,
            frames: (1..=frames).map(FrameRef::Place).collect(),
            evidence: Evidence::default(),
            advice: "Look there.".into(),
        }
    }

    #[test]
    fn what_it_cost_is_said_once() {
        let evidence = Evidence::default().with("requests", 7_561u64).with("sent_again", 6_921u64);
        let evidence =
            evidence.with("stall_ns", 381_800_000u64).with("recovery_ns", 0u64).with("goodput_bps", 2_412_000u64);
        let loss = Finding { evidence, ..finding(Severity::Critical, 1) };
        assert_eq!(cost(&loss), ["92% of 7,561 packets are repeats", "stalled 382 ms", "goodput 2.41 Mb/s"]);
        let titled = Finding { title: "50 RNR NAKs, stalled 382 ms, 150 sent again".into(), ..loss };
        assert_eq!(cost(&titled), ["92% of 7,561 packets are repeats", "goodput 2.41 Mb/s"]);
        let evidence = Evidence::default().with("waited_least_ns", 10_500_000u64).with("waited_most_ns", 10_500_000u64);
        let evidence = evidence.with("timeout_ns", 67_108_864u64).with("last_acked_psn", 1_118_484u64);
        let dead = Finding { evidence, ..finding(Severity::Critical, 1) };
        assert_eq!(
            cost(&dead),
            ["waited 10.5 ms for an answer", "timeout about 67.1 ms", "PSN 1118484 was acknowledged last"]
        );
    }

    fn text(found: &Findings, most: usize) -> String {
        let mut out = Vec::new();
        let shown = Shown { chosen: crate::report::select::Selection::default(), top: most, before: None };
        write(&mut Page::new(&mut out), found, &Files::of(&[]), 1_000_000_000, &shown).unwrap();
        anstream::adapter::strip_bytes(&out).into_vec().try_into().unwrap()
    }

    #[test]
    fn says_where_to_look() {
        let found = Findings { list: vec![finding(Severity::Warning, 7)], ..Findings::default() };
        assert_eq!(
            text(&found, 10),
            "\nRT001 warning   2 packets lost, 8 sent again: 10.9.1.1 -> 10.9.2.1 qp 20\n\
             \u{20}               #1  flow 3  at 1.000123 s  for 500 ms\n\
             \u{20}               frames 1, 2, 3, 4, 5, 6...\n\
             \u{20}               Look there.\n"
        );
        assert!(alarming(&found));
        let twice = Findings { list: vec![found.list[0].clone(), found.list[0].clone()], ..Findings::default() };
        assert_eq!(text(&twice, 10).matches("Look there.").count(), 1);
    }

    #[test]
    fn one_of_each_kind_before_a_second() {
        let of = |code, title: &str| Finding { code, title: title.to_owned(), ..finding(Severity::Warning, 1) };
        let list = vec![of("RT001", "first"), of("RT001", "second"), of("RT003", "third"), of("RT001", "fourth")];
        let shown = text(&Findings { list, ..Findings::default() }, 3);
        let titles: Vec<&str> = shown.lines().filter_map(|l| l.split_once("warning   ")).map(|(_, t)| t).collect();
        assert_eq!(titles, ["first", "third", "second"]);
    }

    #[test]
    fn a_kind_stands_before_a_second_of_what_is_worse() {
        let of = |code, severity, connection, title: &str| Finding {
            code,
            connection: Some(connection),
            title: title.to_owned(),
            ..finding(severity, 1)
        };
        let critical = |code, connection, title: &str| of(code, Severity::Critical, connection, title);
        let list = vec![
            critical("RT004", 1, "first"),
            critical("RT004", 2, "second"),
            critical("RT007", 1, "third"),
            of("RT001", Severity::Warning, 1, "fourth"),
            of("RT040", Severity::Info, 1, "fifth"),
        ];
        let found = Findings { list, ..Findings::default() };
        let titles = |shown: &str| -> Vec<String> {
            let titles =
                shown.lines().filter_map(|l| Some(l.strip_prefix("RT")?.split_once("  ")?.1.trim().to_owned()));
            titles.collect()
        };
        let shown = text(&found, 3);
        assert_eq!(titles(&shown), ["first", "third", "fourth"]);
        assert!(shown.contains("\n                1 more connection has it as well: --top 5 or --json.\n"), "{shown}");
        assert!(shown.ends_with("\nand 2 more findings, 1 of them critical; --top 5 or --json has them.\n"), "{shown}");
        let shown = text(&found, 4);
        assert_eq!(titles(&shown), ["first", "third", "second", "fourth"]);
        assert!(shown.ends_with("\nand 1 more finding; --top 5 or --json has it.\n"), "{shown}");
        // What there is room for stands with what is as bad.
        let shown = text(&found, 5);
        assert_eq!(titles(&shown), ["first", "third", "second", "fourth", "fifth"]);
        assert!(!shown.contains("--json"), "{shown}");
        let shown = text(&found, 1);
        assert!(shown.ends_with("\nand 4 more findings, 2 of them critical; --top 5 or --json has them.\n"), "{shown}");
    }

    #[test]
    fn forty_of_a_kind_are_one_with_a_count() {
        let of = |code, connection| Finding { code, connection: Some(connection), ..finding(Severity::Warning, 1) };
        let mut list: Vec<Finding> = (0..40).map(|connection| of("RT003", connection)).collect();
        list.extend((0..12).map(|n| Finding { severity: Severity::Info, ..of(CODES[n], 0) }));
        let shown = text(&Findings { list: list.clone(), ..Findings::default() }, 10);
        let named = |code: &str| shown.lines().filter(|line| line.starts_with(code)).count();
        assert_eq!((named("RT003"), CODES.iter().map(|code| named(code)).sum::<usize>()), (1, 9), "{shown}");
        assert!(
            shown.contains("                39 more connections have it as well: --top 52 or --json.\n"),
            "{shown}"
        );
        assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
        // Both directions of one connection, and more than were kept.
        let both = vec![of("RT003", 7), of("RT003", 7)];
        let shown = text(&Findings { list: both, ..Findings::default() }, 1);
        assert!(shown.contains("And 1 more finding of this kind: --top 2 or --json.\n"), "{shown}");
        let shown = text(&Findings { list, more: vec![("RT003", 1_000)], ..Findings::default() }, 10);
        assert!(shown.contains("And 1,039 more findings of this kind: --top 52 or --json.\n"), "{shown}");
    }

    const CODES: [&str; 12] =
        ["RT020", "RT021", "RT022", "RT023", "RT024", "RT025", "RT026", "RT027", "RT028", "RT029", "RT030", "RT031"];

    #[test]
    fn counts_what_is_not_shown() {
        let list = vec![finding(Severity::Critical, 1), finding(Severity::Info, 0)];
        let found = Findings { list, more: vec![("RT001", 1_000)], ..Findings::default() };
        let shown = text(&found, 1);
        assert!(shown.contains("frame 1\n"), "{shown}");
        assert!(shown.ends_with("\nand 1,001 more findings; --top 2 or --json has all but 1,000.\n"), "{shown}");
        let shown = text(&found, 2);
        assert!(shown.ends_with("\nand 1,000 more findings that were not kept.\n"), "{shown}");
        let found = Findings { more: Vec::new(), ..found };
        let shown = text(&found, 1);
        assert!(shown.ends_with("\nand 1 more finding; --top 2 or --json has it.\n"), "{shown}");
        assert!(!alarming(&Findings { list: vec![finding(Severity::Info, 0)], ..Findings::default() }));
        assert_eq!(text(&Findings::default(), 10), "");
    }
}
