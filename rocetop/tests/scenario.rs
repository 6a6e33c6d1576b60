//! What `rocetop simulate` does with files that are no scenarios, with several outputs, and with a signal before it
//! has begun to play.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a helper of tests fails like a test")]

#[path = "kit/binary.rs"]
mod binary;
#[path = "kit/folder.rs"]
mod folder;

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use binary::{Ran, rocetop};
use folder::Folder;
use signal_hook::consts::SIGTERM;

const SMALL: &str = "[fabric]\nshape = \"star\"\nhosts = 3\n[[traffic]]\nkind = \"incast\"\nto = 0\nbytes = 1000\n";

/// Nothing is emptied or made before all of it can be written.
#[test]
fn a_capture_that_is_refused_costs_no_other() {
    let folder = Folder::new();
    let path = folder.file("small.toml", SMALL.as_bytes());
    let kept = folder.file("kept.pcapng", b"something");
    let made = format!("{kept}.new");
    for second in [
        format!("h1={path}"),
        "h1=-".to_owned(),
        "h1=/nowhere/x.pcapng".to_owned(),
        format!("h1={kept}"),
        format!("h9={kept}.other"),
    ] {
        for first in [&kept, &made] {
            let ran = Ran::of(&mut rocetop(&["simulate", &path, "--pcap", &format!("h0={first}"), "--pcap", &second]));
            let twice = first == &made && second == format!("h1={kept}");
            assert_eq!(ran.code, Some(if twice { 0 } else { 2 }), "{second}: {}", ran.err);
            if !twice {
                assert_eq!(std::fs::read(&kept).unwrap(), b"something", "{second}");
                assert!(!std::path::Path::new(&made).exists(), "{second}");
            } else {
                std::fs::remove_file(&made).unwrap();
                std::fs::write(&kept, b"something").unwrap();
            }
        }
    }
    assert_eq!(std::fs::read(&path).unwrap(), SMALL.as_bytes());
}

#[test]
fn bytes_that_are_no_text_are_named_by_line_and_byte() {
    let folder = Folder::new();
    let text = SMALL.replace("[fabric]", "[fabric] # f\u{e4}b").into_bytes();
    // Latin-1 for the third line.
    let text = [text.as_slice(), b"limit = \"\xfcber\"\n"].concat();
    let path = folder.file("latin.toml", &text);
    let ran = Ran::of(&mut rocetop(&["simulate", &path]));
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""));
    assert!(ran.err.contains("latin.toml:8: byte 10 of the line (0xfc) is not UTF-8; a scenario is"), "{}", ran.err);
    folder.file("two.cm", b"Nodes 4\nConnections 1\n0->1 \xff\n");
    let text = SMALL.replace("kind = \"incast\"\nto = 0\nbytes = 1000", "kind = \"htsim\"\nfile = \"two.cm\"");
    let path = folder.file("file.toml", text.as_bytes());
    let ran = Ran::of(&mut rocetop(&["simulate", &path]));
    assert!(ran.err.contains("file.toml:6: two.cm: line 3: byte 6 of the line (0xff) is not UTF-8"), "{}", ran.err);
    // Cut within a character where reading ends.
    let long = folder.file("long.toml", format!("#{}", "\u{e4}".repeat(1 << 20)).as_bytes());
    let ran = Ran::of(&mut rocetop(&["simulate", &long]));
    assert!(ran.err.contains("has more than 1048576 bytes"), "{}", ran.err);
}

/// Interrupts what waits for something that never comes, and sees it die of that: a program that takes the signal
/// itself would go on to wait. The signal is SIGTERM, which is treated as Ctrl-C is: what a shell runs in the
/// background is deaf to Ctrl-C.
fn dies_of_an_interrupt(command: &mut Command) {
    /// More than the slowest machine takes to end it (chosen).
    const PATIENCE: Duration = Duration::from_secs(60);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // Time to come to where it waits; one that needs longer dies of the signal on its way there.
    std::thread::sleep(Duration::from_millis(500));
    assert!(child.try_wait().unwrap().is_none(), "it has ended by itself");
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    let begun = Instant::now();
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if begun.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(5)),
            None => {
                child.kill().unwrap();
                break child.wait().unwrap();
            }
        }
    };
    assert_eq!(status.signal(), Some(SIGTERM), "{status}");
}

#[test]
fn an_interrupt_ends_what_waits_for_a_scenario() {
    dies_of_an_interrupt(rocetop(&["simulate", "-"]).stdin(Stdio::piped()));
}

/// The last thing of a set-up is to open the captures: a pipe that nobody reads makes it as long as it takes.
#[test]
fn an_interrupt_ends_a_set_up() {
    let folder = Folder::new();
    let path = folder.file("small.toml", SMALL.as_bytes());
    let pipe = format!("{path}.pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    dies_of_an_interrupt(&mut rocetop(&["simulate", &path, "--pcap", &format!("h0={pipe}")]));
}

/// The same scenario flow by flow: seven into one have the line to themselves, one after all.
#[test]
fn flows_alone_reach_what_the_line_carries() {
    let folder = Folder::new();
    let text = "[fabric]\nshape = \"star\"\nhosts = 8\nrate = \"100 Gb/s\"\n[cc]\nname = \"dcqcn\"\n\
        [[traffic]]\nkind = \"incast\"\nto = 7\nbytes = \"1 MB\"\n";
    let path = folder.file("flows.toml", text.as_bytes());
    let ran = Ran::of(&mut rocetop(&["simulate", "--flow-level", "--json", &path]));
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    let played: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&played["schema"], &played["totals"]["flows_done"]), (&"rocetop.flow_level/1".into(), &7.into()));
    for flow in played["flows"].as_array().unwrap() {
        // 7 MB of payload at 100 Gb/s are 560 us; headers are two bytes in a hundred, and the way is some microseconds.
        let took = flow["duration_ns"].as_u64().unwrap();
        assert!((565_000..580_000).contains(&took), "{flow}");
        assert!(flow.get("ce").is_none(), "{flow}");
    }
    let busiest = played["links"].as_array().unwrap().iter().map(|link| link["use_ppm"].as_u64().unwrap()).max();
    assert!(busiest.unwrap() > 980_000, "{busiest:?}");
    let ran = Ran::of(&mut rocetop(&["simulate", "--flow-level", &path]));
    assert!(ran.out.contains("flows alone, at the rates that a perfect congestion control"), "{}", ran.out);
    assert!(ran.out.lines().all(|line| line.chars().count() <= 80), "{}", ran.out);
    for table in ["[switch]", "[cc]", "[nic]", "hops", "[observe]"] {
        assert!(ran.out.contains(table), "{table}: {}", ran.out);
    }
    for (args, words) in
        [(&["--pcap", "h0=x"][..], "cannot be used with"), (&["--json", "--series"], "cannot be used with")]
    {
        let ran = Ran::of(&mut rocetop(&[&["simulate", "--flow-level", &path], args].concat()));
        assert!(ran.code == Some(2) && ran.err.contains(words), "{}", ran.err);
    }
    let cut = folder.file("cut.toml", format!("{text}[[fault]]\nkind = \"cut\"\nlink = \"h0\"\n").as_bytes());
    let ran = Ran::of(&mut rocetop(&["simulate", "--flow-level", &cut]));
    assert!(ran.code == Some(2) && ran.err.contains("cut.toml:11: flows do not show"), "{}", ran.err);
}
