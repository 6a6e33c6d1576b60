//! Texts that are right, and texts that are not.

use super::*;
use crate::cc;
use crate::collective;
use crate::topology::SHAPES;
use crate::units::{Bytes, Rate};
use proptest::prelude::*;

const SMALL: &str = "
[fabric]
shape = \"star\"
hosts = 4
rate = \"100 Gb/s\"

[[traffic]]
kind = \"incast\"
to = 3
bytes = \"100 kB\"
";

fn faults(text: &str) -> Vec<String> {
    match Scenario::parse(text) {
        Ok(_) => Vec::new(),
        Err(Faults(faults)) => faults.iter().map(|fault| format!("{}: {}", fault.line, fault.text)).collect(),
    }
}

#[test]
fn a_small_text_plays() {
    let scenario = Scenario::parse(SMALL).unwrap();
    let mut run = scenario.begin().unwrap();
    assert_eq!(run.finish(&mut ()), Ended::Done);
    let flows: Vec<_> = run.flows().collect();
    assert_eq!(flows.len(), 3);
    assert!(flows.iter().all(|(_, name, flow, result)| {
        *name == "incast" && flow.bytes == Bytes(100_000) && result.delivered.is_some()
    }));
}

#[test]
fn every_name_of_every_list_can_be_said() {
    let dims =
        "hosts = 4\nleft = 2\nright = 2\nswitches = 4\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\nservers = 2\n";
    for shape in SHAPES {
        // Each shape takes those dimensions that it has; the others are unknown to it, and nothing else is wrong.
        let text = SMALL.replace("\"star\"", &format!("{shape:?}")).replace("hosts = 4\n", dims);
        let text =
            if *shape == "fat_tree" { SMALL.replace("\"star\"\nhosts = 4", "\"fat_tree\"\nradix = 4") } else { text };
        let found = faults(&text);
        assert!(found.iter().all(|fault| fault.contains("unknown key")), "{shape}: {found:?}");
    }
    for name in cc::NAMES {
        assert_eq!(faults(&format!("{SMALL}\n[cc]\nname = {name:?}")), [""; 0]);
    }
    for name in routing::NAMES {
        assert_eq!(faults(&format!("{SMALL}\n[routing]\nname = {name:?}")), [""; 0]);
    }
    for kind in collective::KINDS {
        let text = SMALL.replace("\"incast\"\nto = 3", &format!("{:?}", kind.name));
        let mut run = Scenario::parse(&text).unwrap().begin().unwrap();
        assert_eq!(run.finish(&mut ()), Ended::Done, "{}", kind.name);
    }
}

#[test]
fn faults_have_lines_and_the_nearest_name() {
    let text = "
name = 3
[fabric]
shape = \"sar\"
[switch]
bufer = { per_port = \"1 MB\" }
lossless = [8]
[nic]
mtu = \"4 kBytes\"
timeout = \"0 s\"
[cc]
name = \"dcqnc\"
[[traffic]]
kind = \"incast\"
[rn]
seed = 1
";
    assert_eq!(
        faults(text),
        [
            "2: name is 3; it must be a text in quotes",
            "4: shape = \"sar\" is not known; it is one of ai_zone, clos2, dumbbell, fat_tree, long_haul, rail, ring, \
             star; did you mean \"star\"?",
            "6: unknown key \"bufer\" in [switch]; did you mean \"buffer\"?",
            "7: lossless is 8; it must be a priority from 0 to 7",
            "9: mtu is \"4 kBytes\"; it must be bytes, such as 4096 or \"64 KiB\" (B, kB, MB, GB, TB, KiB, MiB, GiB)",
            "10: timeout is zero; it must be more",
            &format!(
                "12: name = \"dcqnc\" is not known; it is one of {}; did you mean \"dcqcn\"?",
                cc::NAMES.join(", ")
            ),
            "15: unknown key \"rn\" in the scenario; did you mean \"run\"?",
        ]
    );
    let text = SMALL.replace("to = 3", "to = 4").replace("\"100 Gb/s\"", "\"100 Gb/s\"\nhost = 3\n") + "kind = 4\n";
    let found = faults(&text);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("13: not TOML: duplicate key"), "{found:?}");
    let found = faults(&SMALL.replace("to = 3", "to = 4").replace("hosts = 4", "hosts = 4\nhost = 3"));
    assert_eq!(
        found,
        [
            "5: unknown key \"host\" in [fabric]; it can have delay, hosts, inside, metres, rate, shape",
            "10: to: hosts 4 to 4 are not there; the fabric has 0 to 3",
        ]
    );
}

#[test]
fn units_and_settings_arrive_where_they_belong() {
    let text = format!(
        "{SMALL}start = \"2.5 us\"\npriority = 4\n
[switch]
lossless = [3, 4]
buffer = {{ per_port = \"1 MB\", headroom = \"70 %\" }}
marking = [\"production\", {{ kmin = \"10 kB\", kmax = \"20 kB\" }}]
mark_at = \"enqueue\"
[cc]
name = \"dcqcn\"
ai = \"80 Mb/s\"
byte_counter = \"none\"
variant = \"vendor\"
[routing]
name = \"ecmp\"
fields = \"tuple_qp\"
[run]
seed = 9
until = \"3 ms\"
[observe]
watch = [\"h0\", \"t1s0-h3\"]
"
    );
    let two_tiers = "\"clos2\"\nleaves = 1\nspines = 1\nhosts_per_leaf = 4";
    let scenario = Scenario::parse(&text.replace("\"star\"\nhosts = 4", two_tiers)).unwrap();
    let switch = &scenario.settings.switch;
    assert_eq!(switch.buffer.per_port, Bytes(1_000_000));
    assert_eq!(switch.buffer.headroom, crate::switch::Headroom::Exact { percent: 70 });
    assert_eq!(switch.marking.len(), 2);
    assert_eq!(switch.marking[1].kmax, Bytes(20_000));
    let cc::Settings::Dcqcn(dcqcn) = &scenario.settings.cc else { panic!("DCQCN") };
    assert_eq!((dcqcn.ai, dcqcn.byte_counter), (Rate::mbps(80), None));
    assert_eq!((scenario.settings.seed, scenario.until), (9, Time::ms(3)));
    assert_eq!(scenario.watched.len(), 2);
    assert_eq!(scenario.traffic[0].start, Time::ns(2_500));
}

#[test]
fn what_would_cost_too_much_is_refused_before_it_is_built() {
    for (from, to, words) in [
        ("hosts = 4", "hosts = 4000000000", "ports; a scenario may have 1048576"),
        ("hosts = 4", "hosts = 4000\nmetres = 99999999999", ""),
        ("kind = \"incast\"\nto = 3", "kind = \"all_to_all\"\nrounds = 4000000000", "flows; a scenario may have"),
        ("kind = \"incast\"\nto = 3", "kind = \"tree\"\npieces = 999999999999", "flows; a scenario may have"),
        ("kind = \"incast\"", "kind = \"incast\"\nfrom = \"0-4000000000\"", "are not there"),
    ] {
        let found = faults(&SMALL.replace(from, to));
        assert!(words.is_empty() || found.iter().any(|fault| fault.contains(words)), "{to}: {found:?}");
    }
    let adaptive = format!("{SMALL}\n[routing]\nname = \"adaptive\"\nflows = 4000000000");
    assert!(faults(&adaptive)[0].contains("remember"));
    let long = format!("{SMALL}\n# {}", "x".repeat(MOST));
    assert!(faults(&long)[0].contains("bytes; a scenario may have"));
    assert!(faults(&"[a]\n[[b]]\n".repeat(10)).len() == 1);
    assert!(!faults(&format!("x = {}", "[".repeat(100_000))).is_empty());
}

#[test]
fn a_run_ends_when_it_is_told_to() {
    let mut short = Scenario::parse(SMALL).unwrap();
    short.until = Time::us(5);
    let mut run = short.begin().unwrap();
    assert_eq!((run.finish(&mut ()), run.simulation().now()), (Ended::Time, Time::us(5)));
    short.until = Time::NEVER;
    short.hops = 1;
    assert_eq!(short.begin().unwrap().finish(&mut ()), Ended::Hops);
}

/// Two runs of the same seed see the same; another seed draws other things.
#[test]
fn the_same_seed_sees_the_same() {
    #[derive(Default)]
    struct All(Vec<crate::observe::Seen>);
    impl Sink for All {
        fn seen(&mut self, seen: &crate::observe::Seen) {
            self.0.push(*seen);
        }
    }
    let text = SMALL.to_owned()
        + "[switch]\nlossless = []\nbuffer = { per_port = \"20 kB\" }\n[observe]\ntaps = \"t1s0-h3\"\n";
    let mut scenario = Scenario::parse(&text).unwrap();
    let mut seen = |seed| {
        scenario.settings.seed = seed;
        let mut all = All::default();
        let mut run = scenario.begin().unwrap();
        run.finish(&mut all);
        (all.0, run.simulation().losses().clone())
    };
    let (a, b, c) = (seen(1), seen(1), seen(2));
    assert_eq!(a, b);
    assert_ne!(a.0, c.0);
    assert!(!a.1.is_empty(), "nothing was dropped");
    assert!(a.0.windows(2).all(|pair| pair[0].at <= pair[1].at));
}

proptest! {
    /// Damaged texts are read or refused, whatever stands in them.
    #[test]
    fn damaged_texts_are_read_or_refused(
        at in 0..SMALL.len(), cut in 0_usize..12, put in "[a-z0-9=\"\\[\\]{}. \n-]{0,8}",
    ) {
        let end = (at + cut).min(SMALL.len());
        let text = format!("{}{put}{}", &SMALL[..at], &SMALL[end..]);
        if let Err(Faults(faults)) = Scenario::parse(&text) {
            prop_assert!(!faults.is_empty() && faults.iter().all(|fault| fault.line > 0 && !fault.text.is_empty()));
        }
    }
}

/// What the text's runs end with: everything arrived, and some totals.
fn played(text: &str) -> Run {
    let mut run = Scenario::parse(text).unwrap().begin().unwrap();
    assert_eq!(run.finish(&mut ()), Ended::Done, "{text}");
    run
}

#[test]
fn switches_are_built_as_a_text_says() {
    let text = format!(
        "{SMALL}[switch]\nqueues = \"voq\"\ntiers = [{{ link = \"credits\", headroom = \"50 kB\" }}]\n\
         [nic]\njitter = \"49 ns\"\n"
    );
    let settings = Scenario::parse(&text).unwrap().settings;
    assert_eq!(settings.switch.queues, crate::switch::Queues::Virtual);
    let links: Vec<_> = settings.switch.tiers.iter().map(|buffer| buffer.link).collect();
    assert_eq!(links, [crate::switch::Link::Credits]);
    assert_eq!(settings.nic.jitter, Time::ns(49));
    assert_eq!(played(&text).simulation().totals().pauses, 0);
    let wrong = text.replace("\"voq\"", "\"vog\"").replace("\"credits\"", "\"credit\"");
    assert_eq!(
        faults(&wrong),
        [
            "12: queues = \"vog\" is not known; it is one of output, voq; did you mean \"voq\"?",
            "13: link = \"credit\" is not known; it is one of pfc, credits; did you mean \"credits\"?",
        ]
    );
}

#[test]
fn admission_is_a_table() {
    let free = played(SMALL);
    let text = format!("{SMALL}[admission]\nowner = \"receiver\"\nbuffers = 2\nbuffer = \"10 kB\"\n");
    let run = played(&text);
    // Three flows of 100 kB are ten pieces each, and each needs a clear-to-send.
    let of = |name: &str| run.flows().filter(|(_, of, ..)| *of == name).count();
    assert_eq!((of("incast"), of("clear to send")), (30, 30));
    assert_eq!(free.flows().count(), 3);
    // Never more than two buffers are on their way to the receiver.
    let peak = |run: &Run| {
        let port = port_of(run.simulation().fabric(), "t1s0-h3").unwrap();
        let watched = run.watch().ports().iter().find(|watch| watch.port == port).unwrap();
        watched.points.iter().map(|point| point.peak.0).max().unwrap()
    };
    assert!(peak(&run) <= 22_000 && peak(&free) > 100_000, "{} {}", peak(&run), peak(&free));
    assert_eq!(
        faults(&text.replace("buffers = 2", "buffers = 0\nbufer = 1").replace("\"receiver\"", "\"host\"")),
        [
            "12: owner = \"host\" is not known; it is one of connection, receiver",
            "13: buffers is zero; it must be more",
            "14: unknown key \"bufer\" in [admission]; it can have buffer, buffers, cts, owner, priority",
        ]
    );
    let large = text.replace("buffers = 2", "cts = \"4 GB\"");
    assert_eq!(faults(&large), ["13: cts is 4000000000; a clear-to-send is one packet of 4096 bytes at most"]);
}

#[test]
fn flow_files_are_traffic() {
    let cm = "Nodes 4\nConnections 2\nTriggers 1\n0->1 id 1 start 1000000 size 5000 recv_done_trigger 1\n\
        1->2 id 2 trigger 1 size 7000\ntrigger id 1 oneshot\n";
    let hpcc = "2\n0 3 3 100 4000 0.000001\n1 3 5 100 6000 0.000002\n";
    let read = |text: &str| {
        Scenario::parse_with(text, &mut |name| match name {
            "a.cm" => Ok(cm.to_owned()),
            "b.txt" => Ok(hpcc.to_owned()),
            _ => Err("there is no such file".to_owned()),
        })
    };
    let text = SMALL.replace(
        "kind = \"incast\"\nto = 3\nbytes = \"100 kB\"",
        "kind = \"htsim\"\nfile = \"a.cm\"\nstart = \"5 us\"\npriority = 4\n\
        [[traffic]]\nname = \"other\"\nkind = \"hpcc\"\nfile = \"b.txt\"",
    );
    let mut run = read(&text).unwrap().begin().unwrap();
    assert_eq!(run.finish(&mut ()), Ended::Done);
    let flows: Vec<_> = run
        .flows()
        .map(|(_, name, flow, found)| {
            (name.to_owned(), flow.bytes.0, flow.priority.number(), found.started.unwrap(), found.delivered.unwrap())
        })
        .collect();
    let sent: Vec<_> = flows.iter().map(|(name, bytes, priority, ..)| (name.as_str(), *bytes, *priority)).collect();
    assert_eq!(sent, [("htsim", 5_000, 4), ("htsim", 7_000, 4), ("other", 4_000, 3), ("other", 6_000, 5)]);
    // The file's microsecond and the traffic's five; what a trigger starts has its own time.
    assert_eq!(flows[0].3, Time::us(6));
    assert_eq!(flows[1].3, flows[0].4);
    assert_eq!((flows[2].3, flows[3].3), (Time::us(1), Time::us(2)));
    let wrong = |from: &str, to: &str| read(&text.replace(from, to)).unwrap_err().to_string();
    assert_eq!(wrong("a.cm", "c.cm"), "line 9: c.cm: there is no such file");
    assert_eq!(
        wrong("file = \"a.cm\"", "files = \"a.cm\""),
        "line 7: [[traffic]] needs file, such as file = \"flows.cm\"; is it meant by \"files\"?"
    );
    assert!(
        wrong("\"b.txt\"", "\"a.cm\"").starts_with("line 15: a.cm: line 1: "),
        "{}",
        wrong("\"b.txt\"", "\"a.cm\"")
    );
    assert!(wrong("hosts = 4", "hosts = 2").contains("a.cm: "), "{}", wrong("hosts = 4", "hosts = 2"));
    assert_eq!(
        wrong("\"other\"", "\"other\"\npriority = 3"),
        "line 14: priority: a hpcc file has that of each flow; leave it out"
    );
    assert!(Scenario::parse(&text).unwrap_err().to_string().contains("a.cm: no file can be read from here"));
}

#[test]
fn cables_fail_as_a_text_says() {
    let with =
        |fault: &str| format!("{SMALL}[nic]\ntimeout = \"20 us\"\nretries = 7\n[[fault]]\nlink = \"h0\"\n{fault}\n");
    let flow = |run: &Run| run.flows().next().map(|(_, _, _, flow)| (flow.delivered.unwrap(), flow.resent)).unwrap();
    let whole = flow(&played(SMALL));
    let cut = flow(&played(&with("kind = \"cut\"\nat = \"2 us\"\nuntil = \"60 us\"")));
    assert!(cut.0 > Time::us(60) && cut.1 > 0, "{cut:?}");
    let flap = played(&with("kind = \"flap\"\nat = \"2 us\"\ndown = \"3 us\"\nevery = \"10 us\"\ntimes = 2"));
    assert!(flap.simulation().totals().broken > 0 && flow(&flap).1 > 0);
    let errors = played(&with("kind = \"errors\"\none_in = 200000"));
    assert!(errors.simulation().totals().broken > 0);
    assert_eq!(played(&with("kind = \"errors\"\none_in = 10\nat = \"1 s\"")).simulation().totals().broken, 0);
    // 100 kB at 1 Gb/s take 800 us, but for what the first microsecond has carried.
    let slow = flow(&played(&with("kind = \"throttle\"\nrate = \"1 Gb/s\"\nat = \"1 us\"").replace("20 us", "20 ms")));
    assert!(slow.0 > Time::us(700) && whole.0 < Time::us(60), "{slow:?} {whole:?}");
    let scenario = Scenario::parse(&with("kind = \"cut\"\n[detection]\ninterval = \"10 us\"\nmisses = 2")).unwrap();
    assert_eq!(scenario.settings.detection.time(), Time::us(20));
    let first = |fault: &str| faults(&with(fault)).swap_remove(0);
    assert_eq!(first(""), "14: [[fault]] needs a kind, one of cut, errors, flap, throttle");
    assert_eq!(
        first("kind = \"cat\""),
        "16: kind = \"cat\" is not known; it is one of cut, errors, flap, throttle; did you mean \"cut\"?"
    );
    assert_eq!(
        first("kind = \"cut\"\nuntill = \"1 us\""),
        "17: unknown key \"untill\" in [[fault]]; did you mean \"until\"?"
    );
    assert_eq!(first("kind = \"cut\"\nat = \"2 us\"\nuntil = \"1 us\""), "18: until is not later than at");
    assert_eq!(first("kind = \"errors\""), "14: [[fault]] needs one_in, such as one_in = 10000000");
    assert_eq!(first("kind = \"throttle\"\nrate = \"1 Tb/s\""), "17: rate is more than the 100Gb/s of the cable");
    assert_eq!(first("kind = \"flap\"\ndown = \"1 us\"\ntimes = 0"), "18: times is 0; it must be from 1 to 100000");
    let many =
        "kind = \"flap\"\ndown = \"1 us\"\nevery = \"2 us\"\ntimes = 100000\n[[fault]]\nlink = \"h0\"\n".repeat(3);
    assert_eq!(
        first(&format!("{many}kind = \"cut\"")),
        "26: up to here 600000 things happen to cables; a scenario may have 400000"
    );
    let nowhere = with("kind = \"cut\"").replace("\"h0\"", "\"h9\"");
    assert!(faults(&nowhere)[0].starts_with("15: link: \"h9\" is no link"), "{:?}", faults(&nowhere));
}

/// What cannot be done, and would have been left out in silence, or called done.
#[test]
fn nothing_is_sent_in_silence() {
    for (from, to, words) in [
        ("to = 3", "to = 3\nstart = \"never\"", "10: start is never: nothing would be sent; leave the traffic out"),
        ("to = 3", "to = 3\nfrom = []", "10: from names no host; leave it out, or name some"),
        ("to = 3", "to = 3\nfrom = 3", "7: incast: nothing is sent: it needs a host that sends to another"),
        ("to = 3", "to = \"\"", "9: to is hosts: \"all\", \"0-15\", \"0-3, 8-11\", 7 or [0, 2]"),
        ("to = 3", "to = 4294967295", "9: to: hosts 4294967295 to 4294967295 are not there; the fabric has 0 to 3"),
        ("100 kB", "0 kB", "10: bytes is zero; it must be more"),
        (
            "\"incast\"\nto = 3",
            "\"ring\"\namong = 2",
            "7: ring: nothing is sent: it needs a host that sends to another",
        ),
        (
            "\"incast\"\nto = 3",
            "\"ring\"\ncompute = \"never\"",
            "9: compute is never: nothing would be sent; leave the traffic out",
        ),
        (
            "\"incast\"\nto = 3\nbytes = \"100 kB\"",
            "\"poisson\"\nsizes = 0\nload_percent = 5\ntime = \"1 ms\"",
            "9: sizes is zero; it must be more",
        ),
        (
            "\"incast\"\nto = 3\nbytes = \"100 kB\"",
            "\"background\"\nfrom = 1\nto = 1\nrate = \"1 Gb/s\"\ntime = \"1 ms\"",
            "7: background: nothing is sent: it needs a host that sends to another",
        ),
        ("rate = \"100 Gb/s\"", "delay = \"never\"", "5: delay: nothing would ever come out of the cable"),
        ("hosts = 4", "hosts = 0", "4: star: hosts is 0; it must be at least 1"),
    ] {
        assert_eq!(faults(&SMALL.replace(from, to)).first().map(String::as_str), Some(words));
    }
    let empty = "traffic = []\n[fabric]\nshape = \"star\"\nhosts = 4\n";
    assert_eq!(faults(empty), ["1: a scenario needs traffic: at least one [[traffic]]"]);
    // A number that means nothing else.
    let all = Scenario::parse(&SMALL.replace("to = 3", "to = \"all\"")).unwrap().begin().unwrap();
    assert_eq!(all.flows().count(), 12);
}

/// What is found only when the parts meet has its place all the same.
#[test]
fn parts_that_do_not_fit_each_other_are_named_by_their_lines() {
    let unfit = |text: &str| Scenario::parse(text).unwrap().begin().unwrap_err().to_string();
    let buffer = unfit(&format!("{SMALL}[switch]\nlossless = [3]\nbuffer = {{ per_port = \"1 kB\" }}\n"));
    assert!(buffer.starts_with("line 13: switch.buffer: switch t1s0: headroom for 4 ports takes"), "{buffer}");
    let tiers = unfit(&format!("{SMALL}[switch]\n[[switch.tiers]]\nper_port = \"1 kB\"\n"));
    assert!(tiers.starts_with("line 12: switch.tiers: switch t1s0: headroom"), "{tiers}");
    let mtu = unfit(&format!("{SMALL}[nic]\nmtu = 100000\n"));
    assert!(mtu.starts_with("line 12: nic.mtu: an MTU of 100000 bytes"), "{mtu}");
    let both = unfit(&format!("{SMALL}[nic]\nrecovery = \"selective\"\nreceives = {{ posted = 1 }}\n"));
    assert!(both.starts_with("line 13: nic.receives: receives are counted"), "{both}");
    let admission = unfit(&format!("{SMALL}[admission]\nbuffer = 1\ncts = 1\n").replace("100 kB", "10 GB"));
    assert!(admission.starts_with("line 11: admission: admission makes"), "{admission}");
    // The second entry, by its name; three flows of the first stand before it.
    let second = "[[traffic]]\nname = \"much\"\nkind = \"flow\"\nfrom = 0\nto = 1\nbytes = \"18000000 TB\"\n";
    let packets = unfit(&format!("{SMALL}{second}"));
    assert!(packets.starts_with("line 11: traffic \"much\": flow 3: up to it its queue pair has"), "{packets}");
    let lane = unfit(&format!("{SMALL}lane = 40000\n[admission]\n"));
    assert!(lane.starts_with("line 7: traffic \"incast\": flow 0 has lane 40000"), "{lane}");
    // In code there are no lines.
    let mut scenario = Scenario::parse(SMALL).unwrap();
    scenario.settings.nic.mtu = Bytes(0);
    assert!(scenario.begin().unwrap_err().to_string().starts_with("nic.mtu: an MTU of 0 bytes"));
}

#[test]
fn tables_are_called_as_they_were_written() {
    for (text, words) in [
        ("[switch]\ntiers = [1]", "12: [switch.tiers] is a table of settings, not of type integer"),
        ("[switch]\nmarking = [1]", "12: [switch.marking] is a table of settings, not of type integer"),
        ("[nic]\nreceives = 1", "12: [nic.receives] is a table of settings, not of type integer"),
        ("[[switch.tiers]]\nlnk = \"pfc\"", "12: unknown key \"lnk\" in [switch.tiers]; did you mean \"link\"?"),
    ] {
        assert_eq!(faults(&format!("{SMALL}{text}\n")), [words]);
    }
}
