//! Scenarios that contradict themselves, and those that only look odd.

use crate::scenario::{Faults, Kind, Scenario};

/// What is said of a small scenario with more to it; its lines are counted from its end.
fn said(fabric: &str, more: &str) -> Vec<String> {
    let text = format!("[fabric]\n{fabric}\n[[traffic]]\nkind = \"incast\"\nto = 0\nbytes = 1000\n{more}\n");
    match Scenario::parse(&text) {
        Ok(_) => Vec::new(),
        Err(Faults(faults)) => faults.into_iter().map(|fault| format!("{}: {}", fault.line, fault.text)).collect(),
    }
}

const STAR: &str = "shape = \"star\"\nhosts = 4";

#[test]
fn what_contradicts_itself_is_refused_where_it_stands() {
    for (more, fault) in [
        ("[switch]\nmarking = { kmin = 5, kmax = 4 }", "9: kmin is 5; it must be at most 4, which is kmax"),
        ("[switch]\nmarking = { pmax_ppm = 2000000 }", "9: pmax_ppm is 2000000; it must be at most 1000000: it is"),
        ("[switch]\nmarking = [{}, {}]", "9: marking: 2 entries are for as many tiers, and the fabric has 1"),
        ("[switch]\nmarking = []\nmarked = [3]", "10: marked: nothing is marked where marking is []"),
        ("[switch]\nmarking = \"paper\"\nmarked = []", "9: marking: no priority is marked"),
        ("[switch]\nlossless = []\nlanes = {}", "10: up: priority 3 is not lossless"),
        ("[switch.lanes]\nup = 3\ndown = 4", "10: down: priority 4 is not lossless; name it in [switch] lossless"),
        ("[switch.lanes]\nup = 3\ndown = 3", "10: down: both lanes have one priority"),
        ("[switch]\nlossless = []\nwatchdog = {}", "10: watchdog: it watches lossless priorities"),
        ("[switch.watchdog]\npoll = \"1 s\"", "9: poll is 1s; it must be at most 200ms, which is detect"),
        ("[switch]\nlossless = []\nbuffer = { link = \"credits\" }", "10: link: credits are for lossless"),
        ("[switch]\nbuffer = {}\n[[switch.tiers]]\nper_port = \"1 MB\"", "9: buffer: tiers say the buffer of"),
        ("[switch.buffer]\nhysteresis = \"300 kB\"", "9: hysteresis: XON would lie 300000 bytes below XOFF"),
        ("[switch.buffer]\nalpha_256 = 0", "9: alpha_256 is zero; it must be more"),
        ("[switch.buffer]\nper_port = \"9000000 TB\"", "9: per_port: a switch would have more bytes than can be"),
        ("[switch]\nquanta = 0", "9: quanta is zero; it must be more"),
        ("[switch.scheduler]\nweights = [0, 0, 0, 0, 0, 0, 0, 0]", "9: weights: that of priority 0 is zero"),
        ("[nic]\nack_every = 0", "9: ack_every is zero; it must be more"),
        ("[nic]\nretries = 8", "9: retries is 8; it must be at most 7: it is a count of three bits"),
        ("[nic]\njitter = \"never\"", "9: jitter is never; it must be a time"),
        ("[nic]\nreceives = { posted = 0 }", "9: posted is zero; it must be more"),
        ("[cc]\nname = \"timely\"\nlow = \"1 ms\"", "10: low is 1ms; it must be at most 500us, which is high"),
        ("[cc]\nname = \"timely\"\nhigh = \"1 us\"", "10: low is 50us; it must be at most 1us, which is high"),
        ("[cc]\nname = \"timely\"\nstart = \"200 Gb/s\"", "10: start is 200Gb/s; it must be at most 100Gb/s, the"),
        ("[cc]\nname = \"fixed\"\nrate = \"1 Tb/s\"", "10: rate is 1000Gb/s; it must be at most 100Gb/s, the rate"),
        ("[cc]\nname = \"fixed\"\nwindow = 0", "10: window is zero; it must be more"),
        ("[cc]\nname = \"dcqcn\"\ng = 1.5", "10: g is 1.5; it must be at most 1: it is a share"),
        ("[cc]\nname = \"dcqcn\"\nrate_timer = \"never\"\nbyte_counter = \"none\"", "10: rate_timer: with no byte_c"),
        ("[cc]\nname = \"dctcp\"\nstart = 1000", "10: start: 1000 bytes are less than a packet of 4096"),
        ("[cc]\nname = \"swift\"\nsmall = 100", "10: small: small is 100, and must be below large, 100"),
        ("[cc]\nname = \"hpcc\"\neta = 2", "10: eta is 2; it must be at most 1: it is a share"),
        ("[cc]\nname = \"hierarchical\"\nglobal_ppm = 200000", "10: global_ppm is 200000; it must be at most 1000"),
        ("[run]\nuntil = \"1 us\"\n[[fault]]\nkind = \"cut\"\nlink = \"h0\"\nat = \"1 us\"", "13: at: it does not ha"),
        ("[observe]\nbin = \"never\"", "9: bin is never; it must be a time"),
    ] {
        let found = said(STAR, more);
        assert!(found.first().is_some_and(|first| first.starts_with(fault)), "{more}: {found:?}");
    }
}

#[test]
fn traffic_that_cannot_be_as_it_is_written_is_refused() {
    for (more, fault) in [
        ("limit = \"400 Gb/s\"", "8: limit is 400Gb/s; it must be at most 100Gb/s, the rate of a host's cable"),
        ("start = \"1 s\"\n[run]\nuntil = \"1 s\"", "8: start: nothing is sent before the run ends at 1s"),
        (
            "[[traffic]]\nkind = \"background\"\nfrom = 0\nto = 1\ntime = \"1 ms\"\nrate = \"101 Gb/s\"",
            "13: rate is 101Gb/s; it must be at most 100Gb/s",
        ),
        (
            "[[traffic]]\nkind = \"poisson\"\nsizes = 9\ntime = \"1 us\"\nload_percent = 101",
            "12: load_percent is 101; it must be at most 100: no cable carries more",
        ),
        (
            "[[traffic]]\nkind = \"hierarchical\"\nbytes = 9\ninside = \"1 Tb/s\"",
            "11: inside: no ranks share a server; say how many do in per_server",
        ),
        ("[[traffic]]\nkind = \"tree\"\nbytes = 9\npieces = 2000", "11: pieces is 2000; it must be at most 1024"),
        ("[[traffic]]\nkind = \"ring\"\nbytes = 9\npieces = 2", "11: pieces: only broadcast, reduce, tree can"),
        ("name = \"\\u001b[31m\"", "8: name: it has the control character '\\u{1b}'; leave it out"),
        ("from = [1, 2, 1]", "8: from names host 1 twice"),
        ("from = \"0-2, 2-3\"", "8: from names host 2 twice"),
        ("[observe]\ntaps = [\"h0\", \"h9\"]", "9: taps: \"h9\" is no link: there is no node"),
        ("from = \"3-1\"", "8: from: the range 3-1 runs backwards; write 1-3"),
    ] {
        let found = said(STAR, more);
        assert!(found.first().is_some_and(|first| first.starts_with(fault)), "{more}: {found:?}");
    }
}

#[test]
fn no_more_is_watched_than_memory_takes() {
    let found = said("shape = \"star\"\nhosts = 20000", "[observe]\nwatch = \"all\"");
    assert_eq!(found, ["9: watch: 40000 links; no more than 32768 can be watched, so name some"]);
}

#[test]
fn a_radix_is_even() {
    for radix in [0, 1, 5] {
        let found = said(&format!("shape = \"fat_tree\"\nradix = {radix}"), "");
        let fault = format!("3: radix is {radix}; it must be even, and 2 at least");
        assert!(found.first().is_some_and(|first| first.starts_with(&fault)), "{found:?}");
    }
    let found = said("shape = \"fat_tree\"\nradix = 4\npods = 4\nhost = {}", "");
    let of = ["pods: radix says how many there are; leave out", "host: with a radix all cables are alike"];
    assert!(of.iter().zip(4..).zip(&found).all(|((of, line), is)| is.starts_with(&format!("{line}: {of}"))));
    assert_eq!(found.len(), 2, "{found:?}");
}

#[test]
fn ranks_are_in_the_order_in_which_they_are_named() {
    let text = format!("[fabric]\n{STAR}\n[[traffic]]\nkind = \"ring\"\namong = [2, 0, 3]\nbytes = 9\n");
    let Kind::Collective { ranks, .. } = &Scenario::parse(&text).unwrap().traffic[0].kind else { panic!("a ring") };
    assert_eq!(ranks.iter().map(|rank| rank.0).collect::<Vec<_>>(), [2, 0, 3]);
}

/// What looks odd and means something.
#[test]
fn what_makes_sense_is_left_alone() {
    for more in [
        "[switch]\nlossless = []\nbuffer = { headroom = \"none\" }",
        "[switch]\nlossless = [0, 1, 2, 3, 4, 5, 6, 7]\nbuffer = { per_port = \"2 MB\" }\nlanes = {}",
        "[switch.scheduler]\nstrict = [6, 7]\nweights = [1, 1, 1, 1, 1, 1, 0, 0]",
        "[switch]\nmarking = { kmin = 1000, kmax = 1000 }",
        "[nic]\ntimeout = \"never\"",
        "[cc]\nname = \"timely\"\nhigh = \"never\"",
        "[run]\nuntil = \"1 ms\"\n[[fault]]\nkind = \"cut\"\nlink = \"h0\"\nuntil = \"1 s\"",
    ] {
        assert_eq!(said(STAR, more), [""; 0], "{more}");
    }
    let marking = "[switch]\nmarking = [\"paper\", \"production\"]\n[[switch.tiers]]\n[[switch.tiers]]";
    assert_eq!(said("shape = \"clos2\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2", marking), [""; 0]);
}
