//! What a file of expectations may say, and what its faults are called.

use crate::check::Expectation;
use crate::check::file::{Condition, Over, parse};

fn one(text: &str) -> Expectation {
    let mut all = parse("e.toml", text).unwrap_or_else(|faults| panic!("{faults:?}"));
    assert_eq!(all.len(), 1);
    all.remove(0)
}

/// The only fault of a text, with its line.
fn fault(text: &str) -> String {
    let faults = parse("e.toml", text).unwrap_err();
    assert_eq!(faults.len(), 1, "{text}: {faults:?}");
    format!("{}: {}", faults[0].line, faults[0].text)
}

#[test]
fn everything_that_can_be_said() {
    let e = one("# a comment\n[[expect]]\nname = 'n'\nwhy = 'w'\nthat = 'flow.requests.gaps <= 1_0'\n\
                 where = { src = '::ffff:10.0.0.1', dst_qp = [0x20, 33], requests.packets = '> 0', \
                 requests.gaps = '< 9', vlan.pcp = 3 }\nover = 'max'\nmay_be_none = true\n");
    assert_eq!((e.title().as_str(), e.why().unwrap().as_str(), e.line()), ("n", "w", 5));
    assert!(e.over == Over::Max && e.may_be_none && e.select.len() == 5);
    assert_eq!(
        e.says(),
        "max of flow.requests.gaps <= 1_0 where src == 10.0.0.1 and dst_qp == 32 or == 33 and requests.packets > 0 \
         and requests.gaps < 9 and vlan.pcp == 3"
    );
    let said: Vec<String> = e
        .select
        .iter()
        .map(|c| match c {
            Condition::Figure { figure, any_of } => {
                format!("{figure} {:?}", any_of.iter().map(|b| &b.want).collect::<Vec<_>>())
            }
            other => format!("{other:?}"),
        })
        .collect();
    assert_eq!(said[0], "flow.src [Text(\"10.0.0.1\")]");
    assert_eq!(said[1], "flow.dst_qp [Number(Whole(32), None), Number(Whole(33), None)]");
    assert!(said[2].starts_with("flow.requests.packets") && said[4].starts_with("flow.vlan[].pcp"), "{said:?}");
}

#[test]
fn short_names_are_summed_and_full_names_are_each_flows() {
    let over = |that: &str| one(&format!("[[expect]]\nthat = '{that}'")).over;
    assert_eq!(over("retransmissions.total == 0"), Over::Sum);
    assert_eq!(over("flow.story.retransmissions.total == 0"), Over::Each);
    assert_eq!(over("rtt_ns.p99 < 5 ms"), Over::Each);
    assert_eq!(over("loss.share == 0"), Over::Sum);
}

#[test]
fn faults_have_their_lines() {
    for (text, says) in [
        ("", "1: nothing is expected"),
        ("[[expect]\n", "1: not TOML: "),
        ("\n[[expect]]\nthat = 'totals.icrc.bad == 0\n", "3: not TOML: "),
        ("[[expect]]\nthat = 'cnp == 0'\nthat = 'cnp == 0'\n", "3: not TOML: duplicate key"),
        ("[[expects]]\nthat = 'cnp == 0'\n", "1: unknown key \"expects\"; did you mean \"expect\"?"),
        ("[expect]\nthat = 'cnp == 0'\n", "1: \"expect\" is a list of tables: write [[expect]]"),
        ("expect = 3\n", "1: \"expect\" is a list of tables"),
        ("expect = [3]\n", "1: \"expect\" is a list of tables"),
        ("[[expect]]\nthat = 'cnp == 0'\nwher = {}\n", "3: unknown key \"wher\"; did you mean \"where\"?"),
        ("[[expect]]\nname = 'x'\n", "1: this [[expect]] does not say what"),
        ("[[expect]]\nthat = 3\n", "2: \"that\" is a text in quotes, not of type integer"),
        (
            "[[expect]]\nthat = 'cnp == 0'\nmay_be_none = 'yes'\n",
            "3: \"may_be_none\" is true or false, not of type string",
        ),
        (
            "[[expect]]\nthat = 'flow.acks > 0'\nover = 'summ'\n",
            "3: over = \"summ\": it is one of each, any, sum, max, min; did you mean \"sum\"?",
        ),
        (
            "[[expect]]\nthat = 'flow.mtu > 0'\nover = 'sum'\n",
            "3: a sum of flow.mtu says nothing; use each, any, max or min",
        ),
        ("[[expect]]\nthat = 'flow.src == x'\nover = 'max'\n", "3: flow.src has no max; use each or any"),
        ("[[expect]]\nthat = 'finding any absent'\nover = 'max'\n", "3: \"over\" is of no use here"),
        ("[[expect]]\nthat = 'cnp == 0'\nover = 'max'\n", "3: \"over\" is of no use here: there is one totals.cnp"),
        ("[[expect]]\nthat = 'totals.cnp == 0'\nwhere = { src = '10.0.0.1' }\n", "3: \"where\" is of no use here"),
        ("[[expect]]\nthat = 'flow.acks > 0'\nwhere = 'x'\n", "3: \"where\" is a table"),
        (
            "[[expect]]\nthat = 'flow.acks > 0'\nwhere = { sorce = '10.0.0.1' }\n",
            "3: where: \"sorce\" is no figure of the report; did you mean flow.src?",
        ),
        (
            "[[expect]]\nthat = 'flow.acks > 0'\nwhere = { src = 'node-1' }\n",
            "3: where: src = \"node-1\": not an address",
        ),
        ("[[expect]]\nthat = 'flow.acks > 0'\nwhere = { host = 7 }\n", "3: where: host = \"7\": not an address"),
        (
            "[[expect]]\nthat = 'flow.acks > 0'\nwhere = { host = ['10.0.0.1', {}] }\n",
            "3: \"host\" is an address, or a list of them",
        ),
        (
            "[[expect]]\nthat = 'flow.acks > 0'\nwhere = { src = [] }\n",
            "3: where: src is one of an empty list, which nothing is",
        ),
        ("[[expect]]\nthat = 'flow.acks > 0'\nwhere = { qpn = 16777216 }\n", "3: \"qpn\" is a queue pair number"),
        (
            "[[expect]]\nthat = 'flow.acks > 0'\nwhere = { dst_qp = 'x' }\n",
            "3: where: flow.dst_qp: \"x\" is not a number",
        ),
        (
            "[[expect]]\nthat = 'flow.acks > 0'\nwhere = { dst_qp = 1979-05-27 }\n",
            "3: where: flow.dst_qp is compared with",
        ),
        (
            "[[expect]]\n\n\nthat = 'totals.icrc.bda == 0'\n",
            "4: \"totals.icrc.bda\" is no figure of the report; did you mean totals.icrc.bad?",
        ),
    ] {
        assert!(fault(text).starts_with(says), "{text}\n{}", fault(text));
    }
}

#[test]
fn all_faults_are_told_at_once() {
    let faults =
        parse("e.toml", "[[expect]]\nthat = 'x == 0'\n[[expect]]\nthat = 'totals.cnp = 0'\nnam = 1\n").unwrap_err();
    let lines: Vec<usize> = faults.iter().map(|f| f.line).collect();
    assert_eq!(lines, [2, 4, 5]);
}

#[test]
fn what_no_person_writes_is_no_disaster() {
    let deep = format!("a = {}", "[".repeat(100_000));
    assert!(parse("e.toml", &deep).is_err());
    let wide = "[[expect]]\nthat = 'totals.cnp == 0'\n".repeat(20_000);
    assert_eq!(parse("e.toml", &wide).unwrap().len(), 20_000);
    assert!(parse("e.toml", "[[expect]]\nthat = '\u{1f980}\u{1f980} == 0'\n").is_err());
    assert!(parse("e.toml", "[[expect]]\nthat = '== '\n").is_err());
}

proptest::proptest! {
    #[test]
    fn no_text_is_a_disaster(
        line in "[a-z.=<>!0-9 %\\[\\]'_*\u{b5}\u{1f980}-]{0,40}", key in "[a-z._]{1,12}", rest in ".{0,80}",
    ) {
        let _ = parse("e.toml", &format!("[[expect]]\nthat = \"{line}\"\nwhere = {{ {key} = \"{line}\" }}\n"));
        let _ = parse("e.toml", &format!("[[expect]]\n{key} = {rest}\n"));
        let _ = parse("e.toml", &rest);
    }

    #[test]
    fn nor_is_an_example_with_a_hole(at in 0..900usize, len in 0..40usize) {
        let text = include_str!("../../../../examples/clean.toml");
        let kept = |range: std::ops::Range<usize>| text.get(range).unwrap_or_default();
        let _ = parse("e.toml", &format!("{}{}", kept(0..at), kept(at + len..text.len())));
    }
}
