//! The command line as people and scripts use it: exit codes, streams, signals, selections.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a helper of tests fails like a test")]

#[path = "kit/binary.rs"]
mod binary;
#[path = "kit/captures.rs"]
mod captures;
#[path = "kit/folder.rs"]
mod folder;

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use binary::{Ran, rocetop};
use folder::Folder;
use serde_json::Value;

const LOSS: &str = "07e_send_loss2pct_q4.e1.pcap";
const RNR: &str = "10b_rnr_fail.e1.pcap";

fn run(args: &[&str]) -> Ran {
    Ran::of(&mut rocetop(args))
}

/// The report of a run that goes well.
fn report(args: &[&str]) -> Value {
    let ran = run(&[&["analyze", "--json"], args].concat());
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{args:?}");
    serde_json::from_str(&ran.out).unwrap()
}

fn flows(report: &Value) -> Vec<u64> {
    report["flows"].as_array().unwrap().iter().map(|flow| flow["id"].as_u64().unwrap()).collect()
}

#[test]
fn exit_codes() {
    for (args, code) in [
        (&["analyze", RNR][..], 0),
        (&["--version"], 0),
        (&["analyze", "--help"], 0),
        (&[], 2),
        (&["analyze"], 2),
        (&["analyse", RNR], 2),
        (&["analyze", RNR, "--qpn", "16777216"], 2),
        (&["analyze", RNR, "--host", "node-1"], 2),
        (&["analyze", RNR, "missing.pcap"], 2),
        (&["analyze", "-", "-"], 2),
        (&["analyze", RNR, "--flow", "9"], 2),
        (&["analyze", RNR, "--flow", "0", "--no-stories"], 2),
        (&["analyze", "--taps", "--flow", "0", RNR, LOSS], 2),
        (&["analyze", RNR, "--idle", "0"], 2),
        (&["analyze", RNR, "--max-flows", "0"], 2),
        (&["analyze", RNR, "--threads", "0"], 2),
        (&["explain"], 0),
        (&["explain", "RT000"], 2),
    ] {
        let ran = run(args);
        assert_eq!(ran.code, Some(code), "{args:?}: {ran:?}");
        assert_eq!(ran.out.is_empty(), code != 0, "{args:?}: {ran:?}");
    }
    let folder = Folder::new();
    let bytes = std::fs::read(captures::home().join(RNR)).unwrap();
    let ran = run(&["analyze", LOSS, &folder.file("cut.pcap", &bytes[..bytes.len() - 1])]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.out.contains("Not complete: the capture is cut"), "{}", ran.out);
    assert!(ran.err.contains("cut.pcap: the capture is cut"), "{}", ran.err);
    let ran = run(&["analyze", &folder.file("empty.pcap", &[])]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.out.contains("\nNo frame was found.\n") && !ran.out.contains("What comes before"), "{}", ran.out);
    // A capture in which nothing passed is whole.
    let ran = run(&["analyze", &folder.file("header.pcap", &bytes[..24])]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:?}");
}

/// Starts a run whose standard output nobody reads.
fn unread(args: &[&str]) -> Child {
    let mut command = rocetop(args);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    child
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    for args in [&["analyze", LOSS][..], &["analyze", "--json", LOSS]] {
        let output = unread(args).wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]), "{args:?}");
    }
    let shell = format!("'{}' analyze --json {LOSS} {LOSS} | head -1 | cut -c 1", env!("CARGO_BIN_EXE_rocetop"));
    let ran = Ran::of(Command::new("sh").args(["-c", &shell]).current_dir(captures::home()));
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (Some(0), "{\n", ""));
}

#[test]
fn a_full_disk_is_an_error() {
    let Ok(full) = std::fs::File::options().write(true).open("/dev/full") else { return };
    for args in [&["analyze", LOSS][..], &["analyze", "--json", LOSS]] {
        let output = rocetop(args).stdout(full.try_clone().unwrap()).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(err.starts_with("rocetop: cannot write the report: "), "{err}");
    }
}

#[test]
fn colours_are_for_terminals() {
    let coloured = |name: &str| {
        let ran = Ran::of(rocetop(&["analyze", LOSS]).env("CLICOLOR_FORCE", "1").env(name, "1"));
        ran.out.contains('\x1b')
    };
    assert!(coloured("CLICOLOR_FORCE") && !coloured("NO_COLOR"));
    for args in [&["analyze", LOSS][..], &["analyze", "--json", LOSS], &["--help"], &["analyze", "missing.pcap"]] {
        let ran = run(args);
        assert!(!ran.out.contains('\x1b') && !ran.err.contains('\x1b'), "{args:?}");
    }
}

#[test]
fn the_contract_is_kept() {
    // As the report contract names them; some have parts of their own.
    const TOP: &str = "schema captures totals flows connections taps findings";
    const CAPTURE: &str = "path format link_type frames bytes first_ns last_ns complete problem drops";
    const TOTALS: &str = "frames roce_frames rocev1_frames infiniband_frames pfc_frames other_frames \
                          undecodable_frames mirror_copies icrc.ok icrc.bad icrc.unknown ecn.not_ect ecn.ect0 ecn.ect1 \
                          ecn.ce cnp opcodes message_ns.count message_ns.p50 message_ns.p99 message_ns.max";
    const FLOW: &str = "id src dst dst_qp transport epoch udp_sports dscp vlan ttl packets bytes first_ns last_ns \
                        connection icrc_bad requests.packets requests.first_psn requests.next_psn requests.messages \
                        requests.seen_again requests.behind requests.filled requests.gaps requests.gap_psns \
                        requests.never_seen responses.packets responses.seen_again responses.gaps responses.gap_psns \
                        acks naks.psn_sequence_error naks.invalid_request naks.remote_access_error \
                        naks.remote_operational_error rnr_naks cnps ce story";
    let has = |value: &Value, fields: &str| {
        for field in fields.split_whitespace() {
            assert!(value.pointer(&format!("/{}", field.replace('.', "/"))).is_some(), "no {field} in {value}");
        }
    };
    for capture in captures::captures(&captures::home()) {
        let report = report(&[capture.file_name().unwrap().to_str().unwrap()]);
        has(&report, TOP);
        assert_eq!(report["schema"], "rocetop.report/1");
        has(&report["captures"][0], CAPTURE);
        has(&report["totals"], TOTALS);
        let flows = report["flows"].as_array().unwrap();
        assert!(!flows.is_empty());
        flows.iter().for_each(|flow| has(flow, FLOW));
        report["connections"].as_array().unwrap().iter().for_each(|c| has(c, "id flows paired_by"));
        // Integers, strings, booleans and nulls: no number with a fraction.
        assert!(!fraction(&report), "{}", capture.display());
    }
}

fn fraction(value: &Value) -> bool {
    match value {
        Value::Number(n) => n.as_u64().is_none() && n.as_i64().is_none(),
        Value::Array(all) => all.iter().any(fraction),
        Value::Object(all) => all.values().any(fraction),
        _ => false,
    }
}

#[test]
fn a_filter_leaves_frames_out() {
    if !cfg!(feature = "libpcap") {
        let ran = run(&["analyze", "-f", "udp", LOSS]);
        assert!(ran.code == Some(2) && ran.err.contains("built without libpcap"), "{ran:?}");
        eprintln!("left out: built without libpcap");
        return;
    }
    let frames = |filter: &str| report(&["-f", filter, LOSS])["totals"]["frames"].as_u64().unwrap();
    let (there, back) = (frames("src host 10.9.1.1"), frames("src host 10.9.2.1"));
    assert_eq!((frames("host 10.9.1.1"), there + back), (778, 778));
    assert!(there > back && back > 0);
    let ran = run(&["analyze", LOSS, "-f", "udp port 4792"]);
    assert!(ran.code == Some(0) && ran.out.contains("\nNo frame passes the filter. "), "{ran:?}");
    let ran = run(&["analyze", LOSS, "-f", "hots 10.9.1.1"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""));
    assert!(ran.err.contains("\"hots 10.9.1.1\" is not valid") && ran.err.contains("syntax error"), "{}", ran.err);
}

#[test]
fn a_choice_of_connections() {
    assert_eq!(flows(&report(&[LOSS])).len(), 8);
    for qpn in ["32", "0x20", "0X000020"] {
        assert_eq!(flows(&report(&["--qpn", qpn, LOSS])), [2, 3], "{qpn}");
    }
    for host in ["10.9.1.1", "::ffff:10.9.2.1", "00:00:00:00:00:00:00:00:00:00:255:255:10:09:01:01"] {
        assert_eq!(flows(&report(&["--host", host, LOSS])).len(), 8, "{host}");
        assert_eq!(flows(&report(&["--host", host, "--qpn", "33", LOSS])), [4, 5], "{host}");
    }
    for (args, said) in [
        (
            &["--qpn", "99"][..],
            "rocetop: no connection fits --qpn 99: none of 8 flows\n\
            rocetop: the nearest queue pairs are 31, 32, 33, 34\n",
        ),
        (
            &["--qpn", "0xffffff", "--host", "10.9.1.1"],
            "rocetop: no connection fits --qpn 0xffffff and --host 10.9.1.1: none of 8 flows\n\
            rocetop: the nearest queue pairs are 0x1f, 0x20, 0x21, 0x22\n",
        ),
        (
            &["--host", "10.9.1.2"],
            "rocetop: no connection fits --host 10.9.1.2: none of 8 flows\n\
            rocetop: the addresses are 10.9.1.1, 10.9.2.1\n",
        ),
        (
            &["-f", "tcp"],
            "rocetop: none of 778 frames passes the filter \"tcp\" (of what is tagged or tunnelled a filter sees the \
            outside)\n",
        ),
    ] {
        let ran = run(&[&["analyze", "--json", LOSS], args].concat());
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), said), "{args:?}");
        let report: Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!(flows(&report), [0; 0]);
        assert!(args[0] == "-f" || report["findings"] == serde_json::json!([]), "{report}");
    }
    let ipv6 = report(&["13c_ipv6_rping.e1.pcap"]);
    let host = ipv6["flows"][0]["src"].as_str().unwrap();
    assert!(host.contains(':') && !flows(&report(&["--host", host, "13c_ipv6_rping.e1.pcap"])).is_empty());
    // What is found about the capture as a whole is about none that was chosen.
    let codes = |args: &[&str]| {
        let found = report(args)["findings"].as_array().unwrap().clone();
        found.iter().map(|f| format!("{} {}", f["code"].as_str().unwrap(), f["flow"])).collect::<Vec<_>>()
    };
    assert!(codes(&[LOSS]).contains(&"RT027 null".to_owned()), "{:?}", codes(&[LOSS]));
    assert_eq!(codes(&["--qpn", "32", LOSS]), ["RT001 2", "RT003 2"]);
    // Sums are of all frames whatever is shown.
    assert_eq!(report(&["--qpn", "32", LOSS])["totals"], report(&[LOSS])["totals"]);
    let none = run(&["analyze", "--qpn", "99", LOSS]);
    assert!(none.code == Some(0) && none.out.contains("No connection fits the selection."), "{none:?}");
}

#[test]
fn what_is_of_the_whole_capture_says_so() {
    let text = run(&["analyze", LOSS, "--qpn", "32"]).out;
    assert!(text.contains("\nOf the whole capture, not of the selection alone:\nFrames "), "{text}");
    assert!(text.contains("\n1 of 1 chosen connection (of 4 in all) in trouble: "), "{text}");
    let text = run(&["analyze", LOSS]).out;
    assert!(!text.contains("Of the whole capture"), "{text}");
    assert!(text.contains("1 pair of hosts"), "{text}");
    let text = run(&["analyze", LOSS, LOSS]).out;
    assert!(text.contains("\n         These sums count both copies;"), "{text}");
}

#[test]
fn the_story_of_one_flow() {
    let all = report(&[LOSS]);
    for flow in ["2", "3"] {
        let one = report(&["--flow", flow, LOSS]);
        assert_eq!((flows(&one), &one["totals"]), (vec![2, 3], &all["totals"]));
        let ids = |r: &Value| r["connections"].as_array().unwrap().iter().map(|c| c["id"].clone()).collect::<Vec<_>>();
        assert_eq!(ids(&one), [1]);
        let found = one["findings"].as_array().unwrap();
        assert!(!found.is_empty() && found.iter().all(|f| f["connection"] == 1), "{found:?}");
        for (near, far) in one["flows"].as_array().unwrap().iter().zip(&all["flows"].as_array().unwrap()[2..]) {
            assert_eq!(near["story"]["episodes"], far["story"]["episodes"]);
            assert_eq!(near["requests"], far["requests"]);
        }
    }
    let ran = run(&["analyze", "--flow", "2", LOSS]);
    assert_eq!((ran.code, ran.err.as_str(), ran.out.matches("\n#").count()), (Some(0), "", 1));
    // Together with other parts of a selection.
    assert_eq!(flows(&report(&["--flow", "2", "--qpn", "0x20", LOSS])), [2, 3]);
    let ran = run(&["analyze", "--flow", "2", "--qpn", "33", LOSS]);
    assert!(ran.out.contains("does not fit the other parts of the selection"), "{}", ran.out);
    let ran = run(&["analyze", "--flow", "8", LOSS]);
    assert!(ran.err.contains("there is no flow 8: there are 8, from 0 to 7"), "{}", ran.err);
}

#[test]
fn the_top_connections() {
    let blocks = |args: &[&str]| run(&[&["analyze", LOSS], args].concat()).out.matches("\n#").count();
    assert_eq!([blocks(&[]), blocks(&["--top", "2"]), blocks(&["--top", "0"])], [4, 2, 0]);
    let ran = run(&["analyze", LOSS, "--top", "0"]);
    let hidden = "4 connections not shown (1 of all without gaps, NAKs or repeats). --top 10 shows\nmore of them.";
    assert!(ran.out.contains(hidden), "{}", ran.out);
    let ran = run(&["analyze", LOSS, "--top", "1"]);
    let hidden = hidden.replace('4', "3");
    assert!(ran.out.contains("\n#1 ") && ran.out.contains(&hidden), "{}", ran.out);
}

#[test]
fn findings_can_fail_a_run() {
    let code = |args: &[&str]| run(&[&["analyze"], args].concat()).code;
    // A remote access error is critical; UD ping-pong is clean.
    for (level, refused) in [("info", 1), ("warning", 1), ("critical", 1)] {
        assert_eq!(code(&["--fail-on", level, "11b_invreq.e1.pcap"]), Some(refused), "{level}");
        assert_eq!(code(&["--fail-on", level, "--json", "11b_invreq.e1.pcap"]), Some(refused), "{level}");
        assert_eq!(code(&["--fail-on", level, "03b_send_ud.e1.pcap"]), Some(0), "{level}");
    }
    assert_eq!(code(&["11b_invreq.e1.pcap"]), Some(0));
    assert_eq!(code(&["--fail-on", "critical", "10a_rnr.e1.pcap"]), Some(0));
    assert_eq!(code(&["--fail-on", "warning", "10a_rnr.e1.pcap"]), Some(1));
    assert_eq!(code(&["--fail-on", "bad", RNR]), Some(2));
    // Of the chosen connections alone.
    assert_eq!(code(&["--fail-on", "info", "--qpn", "99", "11b_invreq.e1.pcap"]), Some(0));
    // A capture that is cut says more than what was found in it.
    let bytes = std::fs::read(captures::home().join("11b_invreq.e1.pcap")).unwrap();
    let cut = Folder::new();
    assert_eq!(code(&["--fail-on", "info", &cut.file("cut.pcap", &bytes[..bytes.len() - 1])]), Some(3));
}

#[test]
fn findings_follow_the_verdict() {
    let ran = run(&["analyze", "11b_invreq.e1.pcap"]);
    let (verdict, finding) = (ran.out.find("in trouble").unwrap(), ran.out.find("\nRT008 critical  ").unwrap());
    assert!(verdict < finding && finding < ran.out.find("\n#0 ").unwrap(), "{}", ran.out);
    assert!(ran.out.ends_with("`rocetop explain RT008` says what that finding means.\n"), "{}", ran.out);
    let ran = run(&["analyze", "--top", "1", "11b_invreq.e1.pcap"]);
    assert!(ran.out.contains("\nand 1 more critical finding; "), "{}", ran.out);
    let clean = run(&["analyze", "03b_send_ud.e1.pcap"]).out;
    assert!(!clean.contains("\nRT") && !clean.contains("explain"), "{clean}");
}

#[test]
fn findings_are_explained() {
    let ran = run(&["explain", "rt008"]);
    assert!(ran.code == Some(0) && ran.out.contains("\nWhat to do next\n"), "{ran:?}");
    let ran = run(&["explain", "RT80"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""));
    assert!(ran.err.contains("no finding has the code 'RT80'; did you mean RT0"), "{}", ran.err);
    let coloured = Ran::of(rocetop(&["explain", "RT008"]).env("CLICOLOR_FORCE", "1"));
    assert!(coloured.out.contains("\x1b[1mWhy it hurts\x1b[0m"), "{}", coloured.out);
}

#[test]
fn threads_change_nothing() {
    let all: Vec<String> = captures::captures(&captures::home()).iter().map(|p| p.to_str().unwrap().into()).collect();
    for capture in all {
        let [one, four] = ["1", "4"].map(|threads| run(&["analyze", "--json", "--threads", threads, &capture]));
        assert_eq!(one.out, four.out, "{capture}");
    }
}

/// Starts `analyze --json -` with a pipe to it.
fn piped() -> Child {
    let mut command = rocetop(&["analyze", "--json", "-"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn ended(mut child: Child) -> (Option<i32>, Value, String) {
    let (mut out, mut err) = (Vec::new(), String::new());
    child.stdout.take().unwrap().read_to_end(&mut out).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    (child.wait().unwrap().code(), serde_json::from_slice(&out).unwrap(), err)
}

#[test]
fn standard_input() {
    let bytes = std::fs::read(captures::home().join(LOSS)).unwrap();
    let file = report(&[LOSS]);
    for (length, code) in [(bytes.len(), 0), (bytes.len() - 10, 3)] {
        let mut child = piped();
        let mut pipe = child.stdin.take().unwrap();
        pipe.write_all(&bytes[..length]).unwrap();
        drop(pipe);
        let (status, report, err) = ended(child);
        assert_eq!((status, report["captures"][0]["complete"].as_bool()), (Some(code), Some(code == 0)), "{err}");
        assert_eq!(report["captures"][0]["path"], "-");
        if code == 0 {
            assert_eq!(report["flows"], file["flows"]);
        } else {
            assert_eq!(report["totals"]["frames"], 777);
            assert!(err.starts_with("rocetop: -: the capture is cut"), "{err}");
        }
    }
}

#[test]
fn an_interrupt_ends_a_live_pipe_with_results() {
    let bytes = std::fs::read(captures::home().join(LOSS)).unwrap();
    for signal in ["-INT", "-TERM"] {
        let mut child = piped();
        let mut pipe = child.stdin.take().unwrap();
        // More than a pipe holds: once it is written, the other end reads, and so listens for signals.
        pipe.write_all(&bytes[..bytes.len() - 10]).unwrap();
        std::thread::sleep(Duration::from_millis(300));
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        let (status, report, err) = ended(child);
        drop(pipe);
        assert_eq!(status, Some(0), "{err}");
        assert_eq!((&report["totals"]["frames"], err.contains("stopped")), (&777.into(), true), "{err}");
    }
}

#[test]
fn compression_changes_nothing_but_the_capture() {
    let bytes = std::fs::read(captures::home().join(LOSS)).unwrap();
    let folder = Folder::new();
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(&bytes).unwrap();
    let mut xz = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(1)).unwrap();
    xz.write_all(&bytes).unwrap();
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    let files = [
        ("pcap.gz", gz.finish().unwrap()),
        ("pcap.xz", xz.finish().unwrap()),
        ("pcap.zst", ruzstd::encoding::compress_to_vec(bytes.as_slice(), level)),
    ];
    let mut plain = report(&[LOSS]);
    for (format, bytes) in files {
        let mut report = report(&[&folder.file(&format!("loss.{format}"), &bytes)]);
        assert_eq!(report["captures"][0]["format"], format);
        for part in ["path", "format"] {
            report["captures"][0][part] = Value::Null;
            plain["captures"][0][part] = Value::Null;
        }
        assert_eq!(report, plain, "{format}");
    }
}

/// The flows of a report without what counts them by the order of files.
fn by_key(report: &Value) -> Vec<String> {
    let mut flows = report["flows"].as_array().unwrap().clone();
    for flow in &mut flows {
        for number in ["id", "connection", "first_frame"] {
            flow[number] = Value::Null;
        }
    }
    let mut flows: Vec<String> = flows.iter().map(Value::to_string).collect();
    flows.sort();
    flows
}

#[test]
fn the_order_of_files_does_not_matter() {
    // Of different minutes, and two of the same time from either end.
    let names = [LOSS, "12a_rping.e1.pcap", "07e_send_loss2pct_q4.e2.pcap", "14a_vlan_dscp.e2.pcapng"];
    let forward = report(&names);
    let mut backward = names;
    backward.reverse();
    let backward = report(&backward);
    assert_eq!(forward["totals"], backward["totals"]);
    assert_eq!(by_key(&forward), by_key(&backward));
    let frames: u64 = forward["captures"].as_array().unwrap().iter().map(|c| c["frames"].as_u64().unwrap()).sum();
    assert_eq!(forward["totals"]["frames"], frames);
}

#[test]
fn pages_have_80_columns() {
    let mut reports: Vec<(String, String)> = Vec::new();
    for capture in captures::captures(&captures::home()) {
        let name = capture.file_name().unwrap().to_str().unwrap().to_owned();
        let ran = run(&["analyze", "--top", "1000", &name]);
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{name}");
        let story = run(&["analyze", "--flow", "0", &name, &name]);
        assert_eq!((story.code, story.err.as_str()), (Some(0), ""), "{name}");
        reports.extend([(format!("{name} twice"), story.out), (name, ran.out)]);
    }
    for args in [&["--help"][..], &["analyze", "--help"], &["explain"], &["explain", "RT004"]] {
        reports.push((args.join(" "), run(args).out));
    }
    for (name, text) in reports {
        for line in text.lines() {
            assert!(line.chars().count() <= 80 && line.trim_end() == line, "{name}: {line:?}");
        }
    }
}

/// A frame that was cut still has the length that it had on the wire, and `greater` asks for that one.
#[test]
fn a_filter_knows_the_length_of_cut_frames() {
    if !cfg!(feature = "libpcap") {
        eprintln!("left out: built without libpcap");
        return;
    }
    let whole = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../captures").join(LOSS)).unwrap();
    let (mut cut, mut rest) = (whole[..24].to_vec(), &whole[24..]);
    let mut long = 0;
    while let Some((head, behind)) = rest.split_at_checked(16) {
        let captured = u32::from_le_bytes(head[8..12].try_into().unwrap()) as usize;
        long += u64::from(captured >= 500);
        cut.extend_from_slice(&head[..8]);
        cut.extend_from_slice(&(captured.min(96) as u32).to_le_bytes());
        cut.extend_from_slice(&head[12..16]);
        cut.extend_from_slice(&behind[..captured.min(96)]);
        rest = &behind[captured..];
    }
    let path = std::env::temp_dir().join(format!("rocetop-cut-{}.pcap", std::process::id()));
    std::fs::write(&path, cut).unwrap();
    let report = report(&["-f", "greater 500", path.to_str().unwrap()]);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(report["totals"]["frames"].as_u64(), Some(long));
    assert!(long > 500 && report["totals"]["icrc"]["unknown"].as_u64() == Some(long));
}
