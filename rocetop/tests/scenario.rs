//! What `rocetop simulate` does with files that are no scenarios, with several outputs, and with a signal before it
//! has begun to play.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a helper of tests fails like a test")]

#[path = "kit/binary.rs"]
mod binary;
#[path = "kit/folder.rs"]
mod folder;

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use binary::{Ran, rocetop};
use folder::Folder;

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

/// Sends a signal after a while; how long it then took to end.
fn interrupted(mut child: Child, after: Duration) -> Duration {
    std::thread::sleep(after);
    assert!(child.try_wait().unwrap().is_none(), "it has ended by itself");
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(20) {
        if let Some(status) = child.try_wait().unwrap() {
            assert!(!status.success());
            return begun.elapsed();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    begun.elapsed()
}

#[test]
fn an_interrupt_ends_what_waits_for_a_scenario() {
    let command = rocetop(&["simulate", "-"]).stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    assert!(interrupted(command, Duration::from_millis(500)) < Duration::from_secs(10));
}

#[test]
fn an_interrupt_ends_a_large_set_up() {
    let folder = Folder::new();
    let text = "[fabric]\nshape = \"fat_tree\"\nradix = 48\n[[traffic]]\nkind = \"permutation\"\nbytes = \"1 GB\"\nrounds = 37\n";
    let path = folder.file("large.toml", text.as_bytes());
    let command = rocetop(&["simulate", &path]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // A release build sets it up in some seconds.
    assert!(interrupted(command, Duration::from_millis(500)) < Duration::from_secs(2));
}
