//! Every frame of the captures through both: the loaded programs, and the same fold here.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;

use aya::maps::{MapData, RingBuf};
use rocetop::live::bpf::{Programs, Settings};
use rocetop::source::Timeline;
use rocetop_parsers::abi::{Event, Flow, Folded, Head, Key, Totals, Way, Why};
use rocetop_parsers::facts::Tunnel;
use rocetop_parsers::fold::Move;
use rocetop_parsers::{Bytes, Class, Facts, Link, Nanos, dissect};

use super::captures;

/// Frames that were compared, and those that were not.
#[derive(Clone, Copy, Debug, Default)]
struct Compared {
    frames: u64,
    roce: u64,
    flows: u64,
    events: u64,
    /// Seen alike, but what is in a tunnel is not looked for in the kernel.
    tunnels: u64,
    /// No Ethernet.
    other_links: u64,
    /// Shorter than an Ethernet header, or longer than a test run takes.
    unfit: u64,
}

/// The longest frame that a test run of a TC program takes on every kernel: a page, less the room for headers before it
/// and for what the kernel keeps behind it (Linux `net/bpf/test_run.c`).
const LONGEST_SENT: usize = 4096 - 640;

/// The same that the kernel keeps.
#[derive(Default)]
struct Userland {
    flows: HashMap<Key, Flow>,
    totals: Totals,
}

impl Userland {
    /// Counts a frame; what should come out of the ring for it.
    fn count(&mut self, bytes: &[u8], way: Way) -> Option<(Why, u32, usize)> {
        self.totals.seen += 1;
        self.totals.bytes += bytes.len() as u64;
        let Ok(facts) = dissect::<0, _>(bytes, Link::Ethernet) else {
            self.totals.undecodable += 1;
            return None;
        };
        match facts.class {
            Class::RoceV2 | Class::RoceV1 => self.roce(&facts, bytes.len(), way),
            Class::Pause => {
                self.totals.pauses += 1;
                self.totals.named_bytes += bytes.len() as u64;
                Some((Why::PAUSE, 0, Head::FRAME))
            }
            Class::Infiniband | Class::Other => None,
        }
    }

    fn roce(&mut self, facts: &Facts, len: usize, way: Way) -> Option<(Why, u32, usize)> {
        self.totals.named_bytes += len as u64;
        self.totals.ecn[usize::from(facts.ecn())] += 1;
        self.totals.opcodes[usize::from(facts.opcode.0)] += 1;
        let traits = facts.opcode.traits();
        let flow = self.flows.entry(Key::of(facts, way)).or_default();
        let folded: Folded = flow.fold(facts, traits, Bytes(len as u64), Nanos(0));
        let why = Why::of(facts, traits).with(Why::of_folded(&folded));
        let skipped = match (folded.request, folded.response) {
            (Move::Ahead(n), _) | (_, Move::Ahead(n)) => n,
            _ => 0,
        };
        let most = if why.has(Why::CM) { Head::FRAME_CM } else { Head::FRAME };
        (why != Why::default()).then_some((why, skipped, most))
    }
}

struct Pair {
    programs: Programs,
    ring: RingBuf<MapData>,
    compared: Compared,
}

impl Pair {
    fn load() -> Option<Self> {
        let mut programs = super::load(&Settings::default())?;
        let ring = programs.ring().unwrap();
        Some(Self { programs, ring, compared: Compared::default() })
    }

    /// Runs a capture through both; what differs, in words.
    fn capture(&mut self, capture: &Path, way: Way) -> String {
        let before = self.programs.totals().unwrap();
        let mut userland = Userland::default();
        let mut differences = String::new();
        let mut timeline = Timeline::open(&[capture]).unwrap();
        timeline.for_each(|frame| {
            let fits = frame.bytes.len() >= 14 && (way == Way::In || frame.bytes.len() <= LONGEST_SENT);
            if frame.link != Some(Link::Ethernet) {
                self.compared.other_links += 1;
            } else if !fits {
                self.compared.unfit += 1;
            } else {
                let here = userland.count(frame.bytes, way);
                self.frame(frame.bytes, way, here, frame.number.place(), &mut differences);
            }
        });
        let totals = self.programs.totals().unwrap().since(&before);
        if totals != userland.totals {
            writeln!(differences, "  totals: {totals:?}, userland {:?}", userland.totals).unwrap();
        }
        self.compared.frames += totals.seen;
        self.compared.roce += totals.roce();
        self.flows(userland.flows, &mut differences);
        differences
    }

    fn frame(&mut self, bytes: &[u8], way: Way, here: Option<(Why, u32, usize)>, place: u64, differences: &mut String) {
        let verdict = if way == Way::In { Programs::PASS } else { Programs::NEXT };
        let ran = self.programs.run(way, bytes, 1).unwrap();
        if ran.verdict != verdict {
            writeln!(differences, "  frame {place}: verdict {}", ran.verdict).unwrap();
        }
        let deep = dissect::<2, _>(bytes, Link::Ethernet);
        self.compared.tunnels += u64::from(deep.is_ok_and(|facts| facts.tunnel != Tunnel::None));
        let record = self.ring.next();
        let event = record.as_deref().map(|record| Event::read(record).unwrap());
        let there = event.map(|event| (event.head.why, event.head.skipped, event.head.wire as usize, event.bytes));
        let here = here.map(|(why, skipped, most)| (why, skipped, bytes.len(), &bytes[..most.min(bytes.len())]));
        if there != here {
            writeln!(differences, "  frame {place}: event {there:?}, userland {here:?}").unwrap();
        }
        self.compared.events += u64::from(here.is_some());
    }

    /// Compares all flows, and empties the kernel's tables.
    fn flows(&mut self, mut userland: HashMap<Key, Flow>, differences: &mut String) {
        let mut all = Vec::new();
        self.programs.for_each_flow(|_, key, flow| all.push((key, flow))).unwrap();
        self.compared.flows += all.len() as u64;
        for (key, _) in all {
            let mut flow = self.programs.take_flow(&key).unwrap().unwrap();
            // The kernel's clock is not the capture's.
            if flow.counters.first > flow.counters.last || flow.counters.first == Nanos(0) {
                writeln!(differences, "  {key:?}: begins at {:?}", flow.counters.first).unwrap();
            }
            (flow.counters.first, flow.counters.last) = (Nanos(0), Nanos(0));
            let here = userland.remove(&key);
            if here != Some(flow) {
                writeln!(differences, "  {key:?}: {flow:?}, userland {here:?}").unwrap();
            }
        }
        for (key, flow) in userland {
            writeln!(differences, "  {key:?}: missing, userland {flow:?}").unwrap();
        }
    }
}

/// All captures of a folder, both ways; panics where they differ.
fn folder(folder: &Path) {
    let Some(mut pair) = Pair::load() else { return };
    let captures = captures::captures(folder);
    let mut equal = 0;
    for capture in &captures {
        let mut differences = pair.capture(capture, Way::In);
        differences += &pair.capture(capture, Way::Out);
        if differences.is_empty() {
            equal += 1;
        } else {
            eprintln!("{}:\n{differences}", capture.display());
        }
    }
    let Compared { frames, roce, flows, events, tunnels, other_links, unfit } = pair.compared;
    eprintln!(
        "{}: kernel equals userland in {equal} of {} captures, received and sent: {frames} frames, {roce} of RoCE, \
         {flows} flows, {events} events; {tunnels} frames in tunnels, which the kernel does not look into; left out: \
         {other_links} without Ethernet, {unfit} too short or long for a test run",
        folder.display(),
        captures.len()
    );
    assert_eq!(equal, captures.len());
}

#[test]
fn kernel_equals_userland() {
    folder(&captures::home());
}

/// The same over other folders, named in the environment as PATH is.
#[test]
fn kernel_equals_userland_in_other_captures() {
    let Some(folders) = std::env::var_os("ROCETOP_CAPTURES") else {
        eprintln!("left out: ROCETOP_CAPTURES names no folders");
        return;
    };
    std::env::split_paths(&folders).for_each(|path| folder(&path));
}
