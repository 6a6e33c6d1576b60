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
            "4: shape = \"sar\" is not known; it is one of ai_zone, clos2, dumbbell, fat_tree, long_haul, rail, ring, star; \
             did you mean \"star\"?",
            "6: unknown key \"bufer\" in [switch]; did you mean \"buffer\"?",
            "7: lossless is 8; it must be a priority from 0 to 7",
            "9: mtu is \"4 kBytes\"; it must be bytes, such as 4096 or \"64 KiB\" (B, kB, MB, GB, KiB, MiB, GiB)",
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
            "5: unknown key \"host\" in [fabric]; did you mean \"hosts\"?",
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
    let scenario = Scenario::parse(&text).unwrap();
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
    struct All(Vec<crate::observe::Seen>, usize);
    impl Sink for All {
        fn seen(&mut self, seen: &crate::observe::Seen) {
            self.0.push(*seen);
        }
        fn lost(&mut self, _: &crate::observe::Lost) {
            self.1 += 1;
        }
    }
    let text = SMALL.to_owned()
        + "[switch]\nlossless = []\nbuffer = { per_port = \"20 kB\" }\n[observe]\ntaps = \"t1s0-h3\"\n";
    let mut scenario = Scenario::parse(&text).unwrap();
    let mut seen = |seed| {
        scenario.settings.seed = seed;
        let mut all = All::default();
        scenario.begin().unwrap().finish(&mut all);
        all
    };
    let (a, b, c) = (seen(1), seen(1), seen(2));
    assert_eq!((&a.0, a.1), (&b.0, b.1));
    assert_ne!(a.0, c.0);
    assert!(a.1 > 0, "nothing was dropped");
    assert!(a.0.windows(2).all(|pair| pair[0].at <= pair[1].at));
}

proptest! {
    /// Damaged texts are read or refused, whatever stands in them.
    #[test]
    fn damaged_texts_are_read_or_refused(at in 0..SMALL.len(), cut in 0_usize..12, put in "[a-z0-9=\"\\[\\]{}. \n-]{0,8}") {
        let end = (at + cut).min(SMALL.len());
        let text = format!("{}{put}{}", &SMALL[..at], &SMALL[end..]);
        if let Err(Faults(faults)) = Scenario::parse(&text) {
            prop_assert!(!faults.is_empty() && faults.iter().all(|fault| fault.line > 0 && !fault.text.is_empty()));
        }
    }
}
