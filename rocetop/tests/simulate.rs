//! `rocetop simulate`, and the round trip: what the simulator knows, `analyze` must find in what it saved.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a helper of tests fails like a test")]

#[path = "kit/binary.rs"]
mod binary;
#[path = "kit/folder.rs"]
mod folder;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use binary::{Ran, rocetop};
use folder::Folder;
use serde_json::Value;

fn scenario(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios").join(name).display().to_string()
}

/// The report of a command that goes well.
fn report(args: &[&str]) -> Value {
    let ran = Ran::of(&mut rocetop(args));
    assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.err);
    serde_json::from_str(&ran.out).unwrap()
}

/// Plays a scenario with taps; its report, and the captures' names.
fn simulate(folder: &Folder, name: &str, links: &[&str], more: &[&str]) -> (Value, Vec<String>) {
    let files: Vec<String> = links.iter().map(|link| folder.file(&format!("{link}.pcapng"), b"")).collect();
    let taps: Vec<String> = links.iter().zip(&files).map(|(link, file)| format!("--pcap={link}={file}")).collect();
    let scenario = scenario(name);
    let mut args = vec!["simulate", "--json", scenario.as_str()];
    args.extend(taps.iter().map(String::as_str));
    args.extend(more);
    (report(&args), files)
}

#[test]
fn all_keys_can_be_listed() {
    let ran = Ran::of(&mut rocetop(&["simulate", "--keys"]));
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), rocetop_model::scenario::KEYS));
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

fn sum<'a>(rows: &'a Value, of: impl Fn(&'a Value) -> &'a Value) -> u64 {
    rows.as_array().unwrap().iter().map(|row| number(of(row))).sum()
}

fn link<'a>(report: &'a Value, name: &str) -> &'a Value {
    report["links"].as_array().unwrap().iter().find(|link| link["link"] == name).unwrap()
}

/// Losses by source and destination that are above zero.
fn lost(rows: &Value, figure: &str) -> BTreeMap<(String, String), u64> {
    let mut lost = BTreeMap::new();
    for row in rows.as_array().unwrap() {
        let key = (row["src"].as_str().unwrap().to_owned(), row["dst"].as_str().unwrap().to_owned());
        *lost.entry(key).or_default() += number(&row[figure]);
    }
    lost.retain(|_, packets| *packets > 0);
    lost
}

const MIXED: &str = "lossy_marked_paused.toml";

#[test]
fn taps_on_both_sides_find_every_drop() {
    let folder = Folder::new();
    for seed in ["1", "2", "3"] {
        let (known, files) = simulate(&folder, MIXED, &["t1s0-t1s1", "h3"], &["--seed", seed]);
        assert_eq!(known["ended"], "done");
        let drops = lost(&known["lost"], "packets");
        assert!(drops.len() >= 2 && drops.keys().all(|(_, dst)| dst == "10.0.0.4"), "{drops:?}");
        assert_eq!(drops.values().sum::<u64>(), number(&known["totals"]["drops"]));
        let found = report(&["analyze", "--taps", "--json", &files[0], &files[1]]);
        assert_eq!(lost(&found["taps"], "lost"), drops, "seed {seed}");
    }
}

#[test]
fn one_link_alone_has_the_repeats_the_marks_the_notifications_and_the_pauses() {
    let folder = Folder::new();
    let (known, files) = simulate(&folder, MIXED, &["t1s0-t1s1", "h3", "h4"], &[]);
    let [trunk, h3, h4] = [0, 1, 2].map(|n| report(&["analyze", "--json", &files[n]]));
    let totals = &known["totals"];
    // All data crosses the trunk, and nothing is lost before it.
    assert_eq!(sum(&trunk["flows"], |flow| &flow["requests"]["seen_again"]), number(&totals["retransmissions"]));
    assert_eq!(number(&trunk["totals"]["cnp"]), number(&totals["cnps"]));
    assert!(number(&totals["retransmissions"]) > 0 && number(&totals["cnps"]) > 0);
    // What the last switch marks is seen behind it.
    let marked = sum(&known["flows"], |flow| &flow["ce"]);
    let ce = [&h3, &h4].iter().map(|report| number(&report["totals"]["ecn"]["ce"])).sum::<u64>();
    assert!(marked > 0);
    assert_eq!(ce, marked);
    // The port of the left switch is paused by frames that come over the trunk.
    let pauses = number(&link(&known, "t1s0-t1s1")["pauses"]);
    let resumes = sum(&trunk["pauses"], |class| &class["resumes"]);
    let stops = sum(&trunk["pauses"], |class| &class["frames"]) - resumes;
    assert!(pauses > 0);
    assert_eq!(resumes, pauses);
    assert!(stops >= pauses, "one that lasts is refreshed: {stops}");
    // Time stamps are cut to nanoseconds, thirty of them.
    let stopped = number(&trunk["pauses"][0]["stopped_400g_ns"]);
    assert!(stopped.abs_diff(number(&link(&known, "t1s0-t1s1")["paused_ns"])) <= 30, "{stopped}");
    // Every frame that crossed the trunk is in the capture.
    let crossed = ["t1s0-t1s1", "t1s1-t1s0"].map(|name| number(&link(&known, name)["tx_frames"])).iter().sum::<u64>();
    assert_eq!(number(&trunk["totals"]["frames"]), crossed);
    for report in [&trunk, &h3, &h4] {
        let icrc = &report["totals"]["icrc"];
        assert_eq!((&icrc["bad"], &icrc["unknown"]), (&0.into(), &0.into()));
        assert_eq!(report["totals"]["undecodable_frames"], 0);
    }
}

#[test]
fn a_clean_run_gives_zero_of_everything() {
    let folder = Folder::new();
    let (known, files) = simulate(&folder, "clean.toml", &["t1s0-t1s1", "h0", "h3"], &[]);
    let totals = &known["totals"];
    for figure in ["drops", "ce", "cnps", "pauses", "naks", "out_of_sequence", "retransmissions", "timeouts"] {
        assert_eq!(totals[figure], 0, "{figure}");
    }
    assert_eq!((&totals["flows"], &totals["flows_done"]), (&11.into(), &11.into()));
    for file in &files {
        let found = report(&["analyze", "--json", file]);
        let loud: Vec<&Value> =
            found["findings"].as_array().unwrap().iter().filter(|finding| finding["severity"] != "info").collect();
        assert!(loud.is_empty(), "{loud:?}");
        for flow in found["flows"].as_array().unwrap() {
            let requests = &flow["requests"];
            for figure in ["seen_again", "behind", "filled", "gaps", "gap_psns", "never_seen"] {
                assert_eq!(requests[figure], 0, "{figure} of {flow}");
            }
        }
        assert_eq!((&found["totals"]["ecn"]["ce"], &found["totals"]["cnp"]), (&0.into(), &0.into()));
        assert_eq!(found["totals"]["pfc_frames"], 0);
    }
    let between = report(&["analyze", "--taps", "--json", &files[0], &files[1]]);
    assert!(lost(&between["taps"], "lost").is_empty());
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let folder = Folder::new();
    let name = scenario(MIXED);
    let run = |file: &str, seed: &str| {
        let path = folder.file(file, b"");
        let ran =
            Ran::of(&mut rocetop(&["simulate", &name, "--seed", seed, "--json", "--pcap", &format!("h3={path}")]));
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        (ran.out, std::fs::read(&path).unwrap())
    };
    let (a, b, c) = (run("a", "7"), run("b", "7"), run("c", "8"));
    assert!(a == b, "two runs of one seed differ");
    assert!(a != c, "two seeds give the same");
    // A tap changes nothing.
    let bare = Ran::of(&mut rocetop(&["simulate", &name, "--seed", "7", "--json"]));
    let [bare, tapped] = [&bare.out, &a.0].map(|text| serde_json::from_str::<Value>(text).unwrap());
    assert_eq!(bare, tapped);
}

#[test]
fn a_snap_length_keeps_the_lengths() {
    let folder = Folder::new();
    let (_, whole) = simulate(&folder, "clean.toml", &["h0"], &[]);
    let (_, cut) = simulate(&folder, "clean.toml", &["h3"], &["--snaplen", "96"]);
    let [whole, cut] = [&whole[0], &cut[0]].map(|file| report(&["analyze", "--json", file]));
    // h0 sends to h3 alone: the same packets at both ends.
    assert_eq!(whole["captures"][0]["frames"], cut["captures"][0]["frames"]);
    let bytes = |report: &Value| sum(&report["flows"], |flow| &flow["bytes"]);
    assert_eq!(bytes(&whole), bytes(&cut));
    assert_eq!(whole["totals"]["icrc"]["unknown"], 0);
    assert!(number(&cut["totals"]["icrc"]["unknown"]) > 0);
}

#[test]
fn every_shipped_scenario_is_played_and_shown() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios");
    let mut names: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert!(names.len() >= 7);
    for name in names.iter().filter(|name| name.ends_with(".toml")) {
        let ran = Ran::of(&mut rocetop(&["simulate", &scenario(name)]));
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{name}");
        let end = if name.starts_with("deadlock") { "never opened: t1s0 port 2" } else { "every flow arrived" };
        assert!(ran.out.contains(end), "{name}: {}", ran.out);
        let wide: Vec<&str> = ran.out.lines().filter(|line| line.chars().count() > 80).collect();
        assert!(wide.is_empty(), "{name}: {wide:?}");
    }
}

/// A flow file stands beside its scenario, wherever the program is run.
#[test]
fn flow_files_are_read_from_beside_the_scenario() {
    let folder = Folder::new();
    folder.file("two.cm", b"Nodes 4\nConnections 2\n0->1 id 1 start 0 size 50000\n2->1 id 2 start 1000 size 60000\n");
    let text = b"[fabric]\nshape = \"star\"\nhosts = 4\n[[traffic]]\nkind = \"htsim\"\nfile = \"two.cm\"\n";
    let path = folder.file("flows.toml", text);
    let played = report(&["simulate", "--json", &path]);
    let sizes: Vec<u64> = played["flows"].as_array().unwrap().iter().map(|flow| number(&flow["bytes"])).collect();
    assert_eq!(sizes, [50_000, 60_000]);
    let path = folder.file("gone.toml", &String::from_utf8_lossy(text).replace("two.cm", "gone.cm").into_bytes());
    let ran = Ran::of(&mut rocetop(&["simulate", &path]));
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""));
    assert!(ran.err.contains("gone.toml:6: gone.cm: cannot be read (No such file"), "{}", ran.err);
}

/// What is answered with an RNR NAK is a SEND, and `analyze` hears of it.
#[test]
fn receivers_that_are_not_ready_are_sent_sends() {
    let folder = Folder::new();
    let text = b"[fabric]\nshape = \"star\"\nhosts = 2\n\
        [nic]\nmtu = 1024\nreceives = { posted = 1, refill = \"50 us\", timer = \"60 us\" }\n\
        [[traffic]]\nkind = \"flow\"\nfrom = 0\nto = 1\nbytes = 3000\nrounds = 3\n";
    let path = folder.file("rnr.toml", text);
    let tap = folder.file("h0.pcapng", b"");
    report(&["simulate", "--json", &path, &format!("--pcap=h0={tap}")]);
    let seen = report(&["analyze", "--json", &tap]);
    // One receive, three messages at once, and a timer longer than the refill: the second and the third come too early
    // once.
    let finding = seen["findings"].as_array().unwrap().iter().find(|finding| finding["code"] == "RT005").unwrap();
    assert_eq!((number(&finding["evidence"]["rnr_naks"]), number(&finding["evidence"]["rnr_timer_us"])), (2, 60));
    let opcodes = seen["totals"]["opcodes"].to_string();
    assert!(opcodes.contains("SEND") && !opcodes.contains("WRITE"), "{opcodes}");
}

/// What has been played until somebody stops it is told, and that it is not all.
#[test]
fn an_interrupt_ends_it_with_what_was_played() {
    let folder = Folder::new();
    let text =
        b"[fabric]\nshape = \"star\"\nhosts = 2\n[[traffic]]\nkind = \"flow\"\nfrom = 0\nto = 1\nbytes = \"2 TB\"\n";
    let path = folder.file("long.toml", text);
    for signal in ["-INT", "-TERM"] {
        let tap = folder.file("h0.pcapng", b"");
        let mut command = rocetop(&["simulate", "--json", &path, "--snaplen", "64", &format!("--pcap=h0={tap}")]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let begun = Instant::now();
        while std::fs::metadata(&tap).unwrap().len() < 1 << 20 && begun.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
        let ended = child.wait_with_output().unwrap();
        let err = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(3), "{err}");
        assert!(err.contains("rocetop: interrupted after") && err.ends_with("0 of 1 flows done\n"), "{err}");
        let played: Value = serde_json::from_slice(&ended.stdout).unwrap();
        assert_eq!((&played["ended"], &played["flows"][0]["delivered_ns"]), (&"interrupted".into(), &Value::Null));
        let seen = report(&["analyze", "--json", &tap]);
        assert!(number(&seen["totals"]["frames"]) > 1_000);
    }
}

/// A run that is cut short by its bound says so wherever it is looked at.
#[test]
fn used_up_hops_are_no_end() {
    let folder = Folder::new();
    let text =
        "[fabric]\nshape = \"star\"\nhosts = 2\n[[traffic]]\nkind = \"flow\"\nfrom = 0\nto = 1\nbytes = \"2 MB\"\n";
    let path = folder.file("bound.toml", format!("{text}[run]\nhops = 100\n").as_bytes());
    let ran = Ran::of(&mut rocetop(&["simulate", &path]));
    assert_eq!(ran.code, Some(3));
    assert!(ran.out.contains("the scenario's hops were used up; 1"), "{}", ran.out);
    assert!(
        ran.err.starts_with("rocetop: the scenario's hops ([run] hops) were used up after")
            && ran.err.ends_with("0 of 1 flows done\n"),
        "{}",
        ran.err
    );
    let ran = Ran::of(&mut rocetop(&["simulate", "--json", &path]));
    let played: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((ran.code, &played["ended"]), (Some(3), &"hops".into()));
    // An end that the scenario names is one.
    let path = folder.file("until.toml", format!("{text}[run]\nuntil = \"9 us\"\n").as_bytes());
    let ran = Ran::of(&mut rocetop(&["simulate", "--json", &path]));
    let played: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((ran.code, ran.err.as_str(), &played["ended"]), (Some(0), "", &"time".into()));
}

/// Losses are told by link and by cause where nobody taps.
#[test]
fn losses_are_counted_where_they_happen_without_a_tap() {
    let folder = Folder::new();
    let text = b"[fabric]\nshape = \"dumbbell\"\nleft = 2\nright = 1\n[nic]\ntimeout = \"1 ms\"\n\
        [[fault]]\nkind = \"errors\"\nlink = \"t1s0-t1s1\"\none_in = 1000000\n\
        [[traffic]]\nkind = \"incast\"\nto = 2\nbytes = \"2 MB\"\n";
    let path = folder.file("errors.toml", text);
    let played = report(&["simulate", "--json", &path]);
    let broken: BTreeMap<&str, u64> = played["links"]
        .as_array()
        .unwrap()
        .iter()
        .map(|link| (link["link"].as_str().unwrap(), number(&link["broken"])))
        .filter(|(_, broken)| *broken > 0)
        .collect();
    // Data break on their way to the right switch, ACKs on their way back.
    assert!(broken["t1s1-t1s0"] > 0 && broken.keys().all(|link| link.starts_with("t1s")), "{broken:?}");
    assert_eq!(broken.values().sum::<u64>(), number(&played["totals"]["broken"]));
    // What one end sends and the other does not get is the loss of the end that sends.
    let lost = |name: &str| number(&link(&played, name)["lost"]);
    assert_eq!((lost("t1s0-t1s1"), lost("t1s1-t1s0")), (broken["t1s1-t1s0"], *broken.get("t1s0-t1s1").unwrap_or(&0)));
    assert_eq!(played["totals"]["drops"], 0);
    // Whose they were: data of both hosts to the third, and its ACKs.
    assert_eq!(sum(&played["lost"], |row| &row["packets"]), number(&played["totals"]["broken"]));
    let first = &played["lost"][0];
    assert_eq!([&first["from"], &first["to"], &first["src"], &first["dst"]], ["h0", "h2", "10.0.0.1", "10.0.0.3"]);
    let ran = Ran::of(&mut rocetop(&["simulate", &path]));
    let (_, pairs) = ran.out.split_once("\nLost (by who sent to whom)\n").unwrap();
    assert!(pairs.contains(&format!("  h0 > h2  {} packet", first["packets"])), "{}", ran.out);
    assert!(ran.out.contains(&format!("0 drops  {} broken on cables", played["totals"]["broken"])), "{}", ran.out);
}

/// A circle of queues is told at the end, whatever ended the run; CNPs are those of flows, whoever decides about them.
#[test]
fn what_happened_is_told_where_one_looks_first() {
    let ran = Ran::of(&mut rocetop(&["simulate", &scenario("deadlock_ring.toml")]));
    let (end, _) = ran.out.split_once("\nIn all").unwrap();
    assert!(end.contains("queues waited for each other in a circle"), "{end}");
    let storm = scenario("pause_storm.toml");
    let played = report(&["simulate", "--json", &storm]);
    let sent = sum(&played["nics"], |nic| &nic["np_cnp_sent"]);
    assert!(sent > 0);
    assert_eq!(sum(&played["flows"], |flow| &flow["cnps"]), sent);
}

/// A tap on one of two ways does not see what goes the other, and calls none of it lost.
#[test]
fn what_goes_another_way_is_not_lost() {
    let folder = Folder::new();
    let text =
        b"[fabric]\nshape = \"clos2\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\n[routing]\nname = \"spray\"\n\
        [[traffic]]\nkind = \"flow\"\nfrom = 0\nto = 2\nbytes = \"400 kB\"\n";
    let path = folder.file("spray.toml", text);
    let files = ["h0", "t1s0-t2s0"].map(|link| (link, folder.file(link, b"")));
    let taps = files.each_ref().map(|(link, file)| format!("--pcap={link}={file}"));
    let played = report(&["simulate", "--json", &path, &taps[0], &taps[1]]);
    assert_eq!((&played["totals"]["drops"], &played["totals"]["broken"]), (&0.into(), &0.into()));
    let found = report(&["analyze", "--taps", "--json", &files[0].1, &files[1].1]);
    assert_eq!((&found["taps"][0]["lost"], &found["taps"][1]["lost"]), (&Value::Null, &0.into()), "{}", found["taps"]);
    let ran = Ran::of(&mut rocetop(&["analyze", "--taps", &files[0].1, &files[1].1]));
    assert!(ran.out.contains("Nothing is called lost: one of the captures lacks packets that arrived."), "{}", ran.out);
}

/// Frames that nobody waits for are on both sides of a cable when a run ends.
#[test]
fn nothing_on_its_way_is_called_lost() {
    let folder = Folder::new();
    let text = "[fabric]\nshape = \"dumbbell\"\nleft = 3\nright = 1\n\
        trunk = { rate = \"100 Gb/s\", delay = \"50 us\" }\n\
        [switch]\nbuffer = { per_port = \"4 MB\" }\n[nic]\ntimeout = \"80 us\"\n\
        [[traffic]]\nkind = \"incast\"\nfrom = \"0-2\"\nto = 3\nbytes = \"200 kB\"\n";
    let path = folder.file("repeats.toml", text.as_bytes());
    let files = ["t1s0-t1s1", "t1s1-t1s0"].map(|link| (link, folder.file(link, b"")));
    let taps = files.each_ref().map(|(link, file)| format!("--pcap={link}={file}"));
    let played = report(&["simulate", "--json", &path, &taps[0], &taps[1]]);
    assert!(number(&played["totals"]["retransmissions"]) > 100);
    let found = report(&["analyze", "--taps", "--json", &files[0].1, &files[1].1]);
    assert!(lost(&found["taps"], "lost").is_empty(), "{}", found["taps"]);
}

/// A CNP of a switch has the switch's address, and `analyze` says that it is not the receiver's.
#[test]
fn notifications_of_switches_are_told_from_those_of_receivers() {
    let folder = Folder::new();
    let text = "[fabric]\nshape = \"dumbbell\"\nleft = 3\nright = 1\n[switch]\ncnp_by = \"switch\"\n\
        [cc]\nname = \"dcqcn\"\n[[traffic]]\nkind = \"incast\"\nfrom = \"0-2\"\nto = 3\nbytes = \"4 MB\"\n";
    let mut found = ["switch", "receiver"].map(|by| {
        let path = folder.file("notify.toml", text.replace("\"switch\"", &format!("{by:?}")).as_bytes());
        let tap = folder.file("h0.pcapng", b"");
        let played = report(&["simulate", "--json", &path, &format!("--pcap=h0={tap}")]);
        let seen = report(&["analyze", "--json", &tap]);
        assert!(number(&seen["totals"]["cnp"]) > 0);
        (sum(&played["links"], |link| &link["cnps"]) > 0, sum(&played["nics"], |nic| &nic["np_cnp_sent"]) > 0, seen)
    });
    let foreign = |seen: &Value| {
        let findings = seen["findings"].as_array().unwrap();
        findings.iter().find(|finding| finding["code"] == "RT024").map(Value::to_string)
    };
    let [(by_switch, by_nic, seen), (no_switch, all_nics, usual)] = &mut found;
    assert_eq!([*by_switch, *by_nic, *no_switch, *all_nics], [true, false, false, true]);
    assert!(foreign(seen).unwrap().contains("172.16.0."), "{:?}", foreign(seen));
    assert_eq!(foreign(usual), None);
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    let folder = Folder::new();
    let path = folder.file("bad.toml", b"[fabric]\nshape = \"star\"\nhosts = 4\n[[trafic]]\nkind = \"ring\"\n");
    let ran = Ran::of(&mut rocetop(&["simulate", &path]));
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""));
    assert!(
        ran.err.contains("bad.toml:4: unknown key \"trafic\" in the scenario; did you mean \"traffic\"?"),
        "{}",
        ran.err
    );
    let name = scenario("clean.toml");
    for (args, words) in [
        (&["--pcap", "h9=x"][..], "hosts are h0 to h5"),
        (&["--pcap", "h00=x"], "there is no node \"h00\""),
        (&["--pcap", "h0"], "write the link and the file"),
        (&["--pcap", "h0=-"], "needs the name of a file"),
        (&["--pcap", &format!("h0={name}")], "is the scenario, which is read"),
        (&["--pcap", "h0=/nowhere/x.pcapng"], "cannot write /nowhere/x.pcapng"),
        (&["--snaplen", "96"], "--pcap"),
    ] {
        let ran = Ran::of(&mut rocetop(&[&["simulate", &name], args].concat()));
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{args:?}");
        assert!(ran.err.contains(words), "{args:?}: {}", ran.err);
    }
    // A flow file is read as well as the scenario that names it.
    let flows = folder.file("flows.txt", b"1\n0 1 3 100 4000 0\n");
    let path = folder.file(
        "flows.toml",
        b"[fabric]\nshape = \"star\"\nhosts = 4\n[[traffic]]\nkind = \"hpcc\"\nfile = \"flows.txt\"\n",
    );
    let ran = Ran::of(&mut rocetop(&["simulate", &path, "--pcap", &format!("h0={flows}")]));
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""));
    assert!(ran.err.contains("flows.txt is a flow file of the scenario, which is read"), "{}", ran.err);
    assert_eq!(std::fs::read(&flows).unwrap(), b"1\n0 1 3 100 4000 0\n");
    // What fits a scenario's form, and not its fabric.
    let path = folder.file(
        "mtu.toml",
        b"[fabric]\nshape = \"star\"\nhosts = 4\n[nic]\nmtu = 100000\n[[traffic]]\nkind = \"ring\"\nbytes = 9\n",
    );
    let ran = Ran::of(&mut rocetop(&["simulate", &path]));
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""));
    assert!(ran.err.contains("mtu.toml:5: nic.mtu: an MTU of 100000 bytes"), "{}", ran.err);
    let ran = Ran::of(&mut rocetop(&["simulate", "nowhere.toml"]));
    assert!(ran.code == Some(2) && ran.err.contains("cannot read nowhere.toml"), "{}", ran.err);
}

/// One sender over a cable that damages packets: how it recovers is told as it is, or not at all, and nothing is found
/// that was not.
#[test]
fn the_kind_of_recovery_is_told_at_both_ends() {
    let folder = Folder::new();
    for (recovery, other) in [("go_back_n", "selective"), ("selective", "go_back_n")] {
        let mut told = 0;
        for (one_in, seed) in [(5_000_000, 1), (1_000_000, 2), (1_000_000, 3), (300_000, 1), (300_000, 4)] {
            let text = format!(
                "[fabric]\nshape = \"star\"\nhosts = 3\n[nic]\nrecovery = \"{recovery}\"\ntimeout = \"1 ms\"\n\
                 [[traffic]]\nkind = \"flow\"\nfrom = 0\nto = 1\nbytes = \"1 MB\"\nrounds = 2\n\
                 [[fault]]\nkind = \"errors\"\nlink = \"h1\"\none_in = {one_in}\n[run]\nseed = {seed}\n"
            );
            let scenario = folder.file("recovery.toml", text.as_bytes());
            let ends = ["h0", "h1"].map(|link| (link, folder.file(&format!("{link}.pcapng"), b"")));
            let taps = ends.each_ref().map(|(link, file)| format!("--pcap={link}={file}"));
            report(&["simulate", "--json", &scenario, &taps[0], &taps[1]]);
            for (link, file) in &ends {
                let found = report(&["analyze", "--json", file]);
                let why = format!("{recovery}, one in {one_in}, seed {seed}, {link}");
                let is = found["flows"][0]["story"]["recovery"].as_str().unwrap();
                assert_ne!(is, other, "{why}");
                told += u64::from(is == recovery);
                let codes = |code: &str| found["findings"].as_array().unwrap().iter().any(|f| f["code"] == code);
                assert!(codes("RT001") && !codes("RT014") && !codes("RT002") && !codes("RT017"), "{why}");
            }
        }
        assert!(told >= 8, "{recovery}: {told} of 10");
    }
}
