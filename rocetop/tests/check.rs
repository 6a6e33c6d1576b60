//! `rocetop check` as CI uses it: the examples over captures, exit codes, JUnit, faults.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a helper of tests fails like a test")]

#[path = "kit/binary.rs"]
mod binary;
#[path = "kit/captures.rs"]
mod captures;
#[path = "kit/folder.rs"]
mod folder;

use std::collections::BTreeSet;
use std::path::Path;

use binary::{Ran, rocetop};
use folder::Folder;
use roxmltree::Document;
use serde_json::Value;

const CLEAN: &str = "01c_write_rc_small.e1.pcap";
const LOSS: &str = "07e_send_loss2pct_q4.e2.pcap";

/// Runs one file of expectations over one capture.
fn check(capture: &str, expect: &str, more: &[&str]) -> Ran {
    Ran::of(&mut rocetop(&[&["check", capture, "--expect", expect], more].concat()))
}

/// The same with an example of the repository.
fn example(name: &str, capture: &str) -> Ran {
    check(capture, &format!("../examples/{name}.toml"), &[])
}

/// Names of the expectations that failed.
fn failed(ran: &Ran) -> Vec<&str> {
    let rows = ran.out.lines().filter_map(|line| line.strip_prefix("FAIL  "));
    rows.map(|row| row.split("  ").next().unwrap()).collect()
}

#[test]
fn the_examples_on_captures() {
    for (name, capture, fails) in [
        ("clean", CLEAN, &[][..]),
        ("clean", "02a_read_rc_mtu1024.e1.pcap", &[]),
        ("clean", "05c_psnwrap.e1.pcap", &[]),
        ("clean", "12a_rping.e1.pcap", &[]),
        ("clean", "18b_netns73shared.e1.pcap", &[]),
        ("clean", "14a_vlan_dscp.e2.pcapng", &[]),
        ("clean", LOSS, &["no packet is skipped", "nothing is sent twice", "no receiver asks again"]),
        ("clean", "10a_rnr.e1.pcap", &["nothing is sent twice", "every receiver is ready"]),
        ("clean", "08d_corrupt.e2.pcap.gz", &["no frame is damaged"]),
        ("lossy", LOSS, &[]),
        ("lossy", "07f_atomic_loss5pct.e1.pcap", &[]),
        ("lossy", "07g_uc_loss2pct.e2.pcap.gz", &["what was lost comes again"]),
        ("lossy", "11b_invreq.e1.pcap", &["no queue pair gives up"]),
        ("ecn", "09a_netem_ecn.e2.pcap", &[]),
        ("ecn", CLEAN, &["the traffic can be marked", "few packets are marked"]),
    ] {
        let ran = example(name, capture);
        for name in fails {
            assert!(failed(&ran).contains(name), "{capture}: {name}\n{}", ran.out);
        }
        assert_eq!(ran.code, Some(i32::from(!fails.is_empty())), "{name} {capture}\n{}{}", ran.out, ran.err);
        assert_eq!(failed(&ran).is_empty(), fails.is_empty(), "{}", ran.out);
        assert_eq!(ran.err, "");
        assert!(ran.out.lines().all(|line| line.chars().count() <= 80), "{}", ran.out);
    }
}

/// Whatever is in a capture, an example has a verdict on it.
#[test]
fn the_examples_on_every_capture() {
    for capture in captures::captures(&captures::home()) {
        for name in ["clean", "lossy", "ecn"] {
            let ran = example(name, capture.to_str().unwrap());
            let verdict = if ran.code == Some(0) { " hold.\n" } else { " not hold.\n" };
            assert!(
                matches!(ran.code, Some(0 | 1)) && ran.out.ends_with(verdict),
                "{name} {}: {ran:?}",
                capture.display()
            );
        }
    }
}

/// Each example is tried above, and is what its first lines say.
#[test]
fn every_example_is_known() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let mut names: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["clean.toml", "ecn.toml", "lossy.toml"]);
}

#[test]
fn a_failure_can_be_found_in_the_report() {
    let folder = Folder::new();
    let text = "[[expect]]\nname = 'quiet'\nwhy = 'Because.'\nthat = 'flow.requests.seen_again <= 5'\n\
                where = { src = '10.9.1.1' }\n";
    let ran = check(LOSS, &folder.file("e.toml", text.as_bytes()), &[]);
    assert_eq!(ran.code, Some(1));
    for says in [
        "FAIL  quiet     <= 5    29\n",
        "      flow 2, 10.9.1.1 -> 10.9.2.1 qp 32 RC\n",
        "      Because.\n",
        "\nThe expectation does not hold.\n",
    ] {
        assert!(ran.out.contains(says), "{says}\n{}", ran.out);
    }
    let words = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("/e.toml:4: flow.requests.seen_again <= 5 where src == 10.9.1.1 The"), "{words}");
    let report = Ran::of(&mut rocetop(&["analyze", "--json", LOSS]));
    let report: Value = serde_json::from_str(&report.out).unwrap();
    assert_eq!(report["flows"][2]["requests"]["seen_again"], 29);
}

#[test]
fn exit_codes() {
    let folder = Folder::new();
    let good = folder.file("good.toml", b"[[expect]]\nthat = 'totals.frames > 0'\n");
    let bad = folder.file("bad.toml", b"[[expect]]\nthat = 'totals.frames == 0'\n");
    let bytes = std::fs::read(captures::home().join(CLEAN)).unwrap();
    let cut = folder.file("cut.pcap", &bytes[..bytes.len() - 1]);
    for (args, code) in [
        (&["check", CLEAN, "--expect", &good][..], 0),
        (&["check", CLEAN, "--expect", &bad], 1),
        (&["check", CLEAN, "--expect", &good, "--expect", &bad], 1),
        (&["check", &cut, "--expect", &good], 3),
        (&["check", &cut, "--expect", &bad], 3),
        (&["check", CLEAN], 2),
        (&["check", "--expect", &good], 2),
        (&["check", "missing.pcap", "--expect", &good], 2),
        (&["check", CLEAN, "--expect", "missing.toml"], 2),
        (&["check", CLEAN, "--expect", &good, "--junit", "/no/such/folder/x.xml"], 2),
        (&["check", "--figures"], 0),
        (&["check", "--help"], 0),
    ] {
        let ran = Ran::of(&mut rocetop(args));
        assert_eq!(ran.code, Some(code), "{args:?}: {ran:?}");
        assert_eq!(ran.out.is_empty(), code == 2, "{args:?}: {ran:?}");
        assert_eq!(ran.err.is_empty(), code < 2, "{args:?}: {ran:?}");
    }
}

#[test]
fn threads_change_nothing() {
    let [one, four] = ["1", "4"].map(|n| check(LOSS, "../examples/clean.toml", &["--threads", n]));
    assert_eq!((one.code, one.out), (four.code, four.out));
}

#[test]
fn a_filter_leaves_frames_out() {
    if !cfg!(feature = "libpcap") {
        eprintln!("left out: built without libpcap");
        return;
    }
    let folder = Folder::new();
    let none =
        folder.file("none.toml", b"[[expect]]\nthat = 'totals.frames == 0'\n[[expect]]\nthat = 'flow.acks == 0'\n");
    let ran = check(LOSS, &none, &["-f", "udp port 4792"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.out.contains("FAIL  flow.acks == 0      == 0    there is no flow\n"), "{}", ran.out);
}

#[test]
fn faults_of_expectations_name_line_and_nearest() {
    let folder = Folder::new();
    for (text, says) in [
        (
            &b"[[expect]]\nthat = 'totals.icrc.bda == 0'\n"[..],
            "e.toml:2: \"totals.icrc.bda\" is no figure of the report; did you mean totals.icrc.bad?",
        ),
        (
            b"[[expect]]\nthat = 'totals.cnp == 0'\nwherre = {}\n",
            "e.toml:3: unknown key \"wherre\"; did you mean \"where\"?",
        ),
        (b"[[expect]]\nthat = 'totals.cnp == 1 ms'\n", "e.toml:2: totals.cnp: \"1 ms\" is not a number without a unit"),
        (b"[[expect]\n", "e.toml:1: not TOML: "),
        (b"\xff\xfe", "e.toml is no file of expectations: it is not UTF-8 text"),
        (b"", "e.toml:1: nothing is expected"),
        (&vec![b'#'; 1 << 21], "e.toml is no file of expectations: it is larger than 1 MiB"),
    ] {
        let ran = check(CLEAN, &folder.file("e.toml", text), &[]);
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{ran:?}");
        assert!(ran.err.contains(says), "{says}\n{}", ran.err);
    }
    // The capture in the place of the expectations.
    let ran = check(CLEAN, LOSS, &[]);
    assert!(ran.code == Some(2) && ran.err.contains("is no file of expectations"), "{ran:?}");
}

#[test]
fn junit() {
    let folder = Folder::new();
    let text = "[[expect]]\nname = 'a \"b\" <c> & d'\nwhy = \"it's\\nso\"\nthat = 'totals.frames < 1'\n\
                [[expect]]\nthat = 'totals.frames >= 1'\n";
    let mine = folder.file("mine.toml", text.as_bytes());
    let xml = folder.file("out.xml", b"old");
    let ran = check(LOSS, &mine, &["--expect", "../examples/clean.toml", "--junit", &xml]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let text = std::fs::read_to_string(&xml).unwrap();
    let document = Document::parse(&text).unwrap();
    let root = document.root_element();
    assert_eq!((root.tag_name().name(), root.attribute("errors")), ("testsuites", Some("0")));
    let cases: Vec<_> = document.descendants().filter(|n| n.has_tag_name("testcase")).collect();
    assert_eq!(root.attribute("tests"), Some(cases.len().to_string().as_str()));
    let suites: Vec<_> = document.descendants().filter(|n| n.has_tag_name("testsuite")).collect();
    assert_eq!(
        suites.iter().map(|s| s.attribute("name").unwrap()).collect::<Vec<_>>(),
        [&mine, "../examples/clean.toml"]
    );
    assert_eq!((suites[0].attribute("tests"), suites[0].attribute("failures")), (Some("2"), Some("1")));
    assert_eq!((cases[0].attribute("name"), cases[0].attribute("line")), (Some("a \"b\" <c> & d"), Some("4")));
    let failure = cases[0].first_element_child().unwrap();
    assert_eq!(failure.attribute("message"), Some("wanted < 1, measured 768"));
    assert!(failure.text().unwrap().contains("totals.frames < 1\nit's so\n"), "{text}");
    assert!(cases[1].first_element_child().is_none());
    // Captures that were cut are errors beside the expectations.
    let bytes = std::fs::read(captures::home().join(CLEAN)).unwrap();
    let cut = folder.file("cut & run.pcap", &bytes[..bytes.len() - 1]);
    assert_eq!(check(&cut, "../examples/clean.toml", &["--junit", &xml]).code, Some(3));
    let text = std::fs::read_to_string(&xml).unwrap();
    let document = Document::parse(&text).unwrap();
    assert_eq!(document.root_element().attribute("errors"), Some("1"));
    let error = document.descendants().find(|n| n.has_tag_name("error")).unwrap();
    assert_eq!(error.parent().unwrap().attribute("name"), Some(cut.as_str()));
    assert!(error.attribute("message").unwrap().contains("the capture is cut"));
}

#[test]
fn figures_can_be_listed() {
    let ran = Ran::of(&mut rocetop(&["check", "--figures"]));
    for name in ["totals.icrc.bad ", "flow.requests.gaps ", "flow.story.timeout_ns ", "finding.code ", "ecn.ce_share "]
    {
        assert!(ran.out.contains(name), "{name}");
    }
    // Each of them can be used.
    let folder = Folder::new();
    let mut text = String::new();
    for line in ran.out.lines() {
        let (name, says) = line.split_once("  ").unwrap();
        let value = if says.contains("true or false") { "true" } else { "0" };
        text += &format!("[[expect]]\nthat = '{} != {value}'\nmay_be_none = true\n", name.trim().replace('*', "x"));
    }
    let ran = check(LOSS, &folder.file("all.toml", text.as_bytes()), &[]);
    assert!(matches!(ran.code, Some(0 | 1)) && ran.err.is_empty(), "{}", ran.err);
}

/// Names of all figures in a part of a report.
fn names(value: &Value, name: &str, all: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(field, v)| names(v, &format!("{name}.{field}"), all)),
        Value::Array(elements) => elements.iter().for_each(|v| names(v, &format!("{name}[]"), all)),
        // A null may stand for more than one figure.
        Value::Null => {}
        _ => drop(all.insert(name.to_owned())),
    }
}

#[test]
fn every_figure_of_a_report_can_be_named() {
    let listed = Ran::of(&mut rocetop(&["check", "--figures"])).out;
    let listed: BTreeSet<&str> = listed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let mut all = BTreeSet::new();
    for capture in captures::captures(&captures::home()) {
        let ran = Ran::of(&mut rocetop(&["analyze", "--json", capture.to_str().unwrap()]));
        let report: Value = serde_json::from_str(&ran.out).unwrap();
        names(&report["totals"], "totals", &mut all);
        for (list, name) in
            [("captures", "capture"), ("flows", "flow"), ("connections", "connection"), ("findings", "finding")]
        {
            report[list].as_array().unwrap().iter().for_each(|part| names(part, name, &mut all));
        }
    }
    all.retain(|name| !name.starts_with("finding.evidence."));
    assert!(all.len() > 100 && all.contains("totals.opcodes.RC_ACK"), "{}", all.len());
    let missing: Vec<_> = all.iter().filter(|name| !listed.contains(name.as_str())).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
