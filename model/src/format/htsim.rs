//! The connection matrix of htsim (`.cm`; csg-htsim, `sim/datacenter/connection_matrix.cpp`).
//!
//! `Nodes N`, `Connections N`, `Triggers N`, then a line for each connection, `SRC->DST id N start PS size BYTES`,
//! where `trigger N` stands for `start`, and `send_done_trigger N` or `recv_done_trigger N` set one off; and one for
//! each trigger, `trigger id N oneshot|multishot|barrier count N`. Starts are in picoseconds. A flow of ours waits for
//! all that it waits for, so a trigger that several connections set off must be a barrier of just as many. Link
//! failures in a file belong to a fabric and are refused here.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::{ReadError, WriteError, decimal, number};
use crate::topology::HostId;
use crate::units::{Bytes, Time};
use crate::workload::{Flow, FlowId, Milestone, Workload};

/// A connection matrix: a workload, and for how many hosts.
#[derive(Clone, Debug)]
pub struct Matrix {
    /// Hosts of the fabric.
    pub nodes: u32,
    /// The flows.
    pub load: Workload,
}

/// What a trigger does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fires {
    /// As soon as one connection sets it off.
    First,
    /// When so many have.
    Barrier(usize),
}

/// A trigger as far as it is known.
#[derive(Clone, Debug, Default)]
struct Trigger {
    line: usize,
    fires: Option<Fires>,
    by: Vec<(FlowId, Milestone)>,
    starts: Vec<FlowId>,
}

/// The attributes of a line as far as they have been read.
#[derive(Default)]
struct Once<'t>(Vec<&'t str>);

impl<'t> Once<'t> {
    fn see(&mut self, line: usize, word: &'t str) -> Result<(), ReadError> {
        if self.0.contains(&word) {
            return Err(ReadError::new(line, format!("{word} stands twice in the line; only one can hold")));
        }
        // What nobody knows is refused in a moment.
        self.0.push(word);
        Ok(())
    }
}

/// A file being read.
#[derive(Default)]
struct Reader {
    /// Where each id of a connection stands.
    ids: BTreeMap<u32, usize>,
    /// Where each flow stands.
    lines: Vec<usize>,
    nodes: Option<u32>,
    connections: Option<usize>,
    triggers: Option<usize>,
    declared: usize,
    load: Workload,
    lanes: super::Lanes,
    known: BTreeMap<u32, Trigger>,
}

/// Reads a connection matrix.
///
/// Connections between the same hosts are given lanes of their own: htsim makes a sender for each. None may name a host
/// beyond the file's nodes, nor beyond the `hosts` of the fabric that it is for.
///
/// # Errors
/// The first line that does not fit, and why.
pub fn read(text: &str, hosts: u32) -> Result<Matrix, ReadError> {
    let mut reader = Reader::default();
    let mut last = 0;
    for (line, text) in (1..).zip(text.lines()) {
        last = line;
        reader.line(line, text)?;
    }
    reader.finish(last + 1, hosts)
}

impl Reader {
    fn line(&mut self, line: usize, text: &str) -> Result<(), ReadError> {
        let mut words = text.split_whitespace();
        let Some(first) = words.next().filter(|word| !word.starts_with('#')) else { return Ok(()) };
        let once = |known: bool| match known {
            true => Err(ReadError::new(line, format!("{first} stands here a second time"))),
            false => Ok(()),
        };
        match first {
            "Nodes" => {
                once(self.nodes.is_some())?;
                self.nodes = Some(number(line, "the number of nodes", words.next())?);
            }
            "Connections" => {
                once(self.connections.is_some())?;
                self.connections = Some(number(line, "the number of connections", words.next())?);
            }
            "Triggers" => {
                once(self.triggers.is_some())?;
                self.triggers = Some(number(line, "the number of triggers", words.next())?);
            }
            "Failures" => {
                let count: usize = number(line, "the number of failures", words.next())?;
                if count > 0 {
                    return Err(ReadError::new(line, "link failures belong to the fabric; give them there"));
                }
            }
            "trigger" => self.trigger(line, words)?,
            _ => match first.split_once("->") {
                Some((src, dst)) => self.connection(line, src, dst, words)?,
                None => {
                    let short: String = first.chars().take(40).collect();
                    return Err(ReadError::new(
                        line,
                        format!("{short:?} is neither a connection (1->2) nor a known word"),
                    ));
                }
            },
        }
        Ok(())
    }

    fn connection<'t>(
        &mut self,
        line: usize,
        src: &str,
        dst: &str,
        mut words: impl Iterator<Item = &'t str>,
    ) -> Result<(), ReadError> {
        let src = HostId(number(line, "the source", Some(src))?);
        let dst = HostId(number(line, "the destination", Some(dst))?);
        let (mut start, mut bytes, mut starts_by) = (None, None, None);
        let mut sets_off = Vec::new();
        let mut once = Once::default();
        while let Some(word) = words.next() {
            once.see(line, word)?;
            let value = words.next();
            match word {
                "start" => {
                    let time = value.and_then(|text| decimal(text, Time(1)));
                    let Some(time) = time else {
                        return Err(ReadError::new(line, "start must be a number of picoseconds"));
                    };
                    start = Some(time);
                }
                "size" => bytes = Some(number(line, "the size in bytes", value)?),
                "id" => {
                    let id: u32 = number(line, "the id", value)?;
                    if id == 0 {
                        return Err(ReadError::new(line, "an id of 0; htsim refuses it"));
                    }
                    if let Some(first) = self.ids.insert(id, line) {
                        return Err(ReadError::new(line, format!("id {id} is the connection's of line {first}")));
                    }
                }
                "trigger" => starts_by = Some(number(line, "the trigger", value)?),
                "send_done_trigger" => sets_off.push((number(line, "the trigger", value)?, Milestone::Acked)),
                "recv_done_trigger" => sets_off.push((number(line, "the trigger", value)?, Milestone::Delivered)),
                // htsim's own packet priority among NDP flows; RoCE has none of it.
                "prio" => {
                    number::<i64>(line, "prio", value)?;
                }
                other => {
                    let short: String = other.chars().take(40).collect();
                    return Err(ReadError::new(line, format!("{short:?} is no attribute of a connection")));
                }
            }
        }
        let after = match (start, starts_by) {
            (Some(start), None) => start,
            (None, Some(_)) => Time::ZERO,
            (Some(_), Some(_)) => return Err(ReadError::new(line, "both a start and a trigger; it can have one")),
            (None, None) => return Err(ReadError::new(line, "neither a start nor a trigger; it would never start")),
        };
        let Some(bytes) = bytes.filter(|bytes| *bytes > 0) else {
            return Err(ReadError::new(line, "no size; a flow without end never completes"));
        };
        if src == dst {
            return Err(ReadError::new(line, format!("from host {} to itself", src.0)));
        }
        let lane = self.lanes.next(line, src, dst)?;
        self.lines.push(line);
        let id = self.load.add(Flow::new(src, dst, Bytes(bytes)).after(after).lane(lane));
        if let Some(trigger) = starts_by {
            self.of(line, trigger).starts.push(id);
        }
        for (trigger, until) in sets_off {
            self.of(line, trigger).by.push((id, until));
        }
        Ok(())
    }

    fn of(&mut self, line: usize, id: u32) -> &mut Trigger {
        self.known.entry(id).or_insert_with(|| Trigger { line, ..Trigger::default() })
    }

    fn trigger<'t>(&mut self, line: usize, mut words: impl Iterator<Item = &'t str>) -> Result<(), ReadError> {
        let (mut id, mut fires, mut count) = (None, None, None);
        let mut once = Once::default();
        while let Some(word) = words.next() {
            // These three are one attribute.
            once.see(line, if matches!(word, "multishot" | "barrier") { "oneshot" } else { word })?;
            match word {
                "id" => id = Some(number::<u32>(line, "the trigger's id", words.next())?),
                "count" => count = Some(number::<usize>(line, "the barrier's count", words.next())?),
                // No flow of ours starts twice, so one shot or many is the same.
                "oneshot" | "multishot" => fires = Some(Fires::First),
                "barrier" => fires = Some(Fires::Barrier(0)),
                other => {
                    let short: String = other.chars().take(40).collect();
                    return Err(ReadError::new(line, format!("{short:?} is no attribute of a trigger")));
                }
            }
        }
        let Some(id) = id.filter(|id| *id > 0) else {
            return Err(ReadError::new(line, "a trigger without an id, or with id 0"));
        };
        let fires = match (fires, count) {
            (Some(Fires::Barrier(_)), Some(count)) => Fires::Barrier(count),
            (Some(Fires::Barrier(_)), None) => return Err(ReadError::new(line, "a barrier needs a count")),
            (Some(fires), _) => fires,
            (None, _) => return Err(ReadError::new(line, "a trigger is oneshot, multishot or barrier; this is none")),
        };
        let trigger = self.of(line, id);
        trigger.line = line;
        if trigger.fires.replace(fires).is_some() {
            return Err(ReadError::new(line, format!("trigger {id} was declared above")));
        }
        self.declared += 1;
        Ok(())
    }

    fn finish(mut self, end: usize, hosts: u32) -> Result<Matrix, ReadError> {
        let Some(nodes) = self.nodes else {
            return Err(ReadError::new(end, "no line says how many Nodes there are"));
        };
        let flows = self.load.flows().len();
        for (what, said, is) in [
            ("Connections", self.connections.unwrap_or(0), flows),
            ("Triggers", self.triggers.unwrap_or(0), self.declared),
        ] {
            if said != is {
                return Err(ReadError::new(end, format!("{what} says {said}, but there are {is}")));
            }
        }
        for (id, trigger) in &self.known {
            let wrong = |why: &str| ReadError::new(trigger.line, format!("trigger {id} {why}"));
            match trigger.fires {
                None => return Err(wrong("is used here and declared nowhere")),
                Some(_) if trigger.by.is_empty() && !trigger.starts.is_empty() => {
                    return Err(wrong("is set off by no connection; what it starts would never start"));
                }
                Some(Fires::First) if trigger.by.len() > 1 => {
                    return Err(wrong(
                        "fires at the first of several connections; only a barrier of all can be modelled",
                    ));
                }
                Some(Fires::Barrier(count)) if count != trigger.by.len() => {
                    return Err(wrong("waits for another number of connections than set it off"));
                }
                Some(_) => {}
            }
            for start in &trigger.starts {
                for (on, until) in &trigger.by {
                    self.load.wait(*start, *on, *until);
                }
            }
        }
        self.load.check(nodes.min(hosts)).map_err(|error| {
            let line = error.flow().and_then(|flow| self.lines.get(flow as usize));
            ReadError::new(*line.unwrap_or(&end), error.to_string())
        })?;
        Ok(Matrix { nodes, load: self.load })
    }
}

/// Writes a connection matrix. What only keeps the messages of one queue pair in order ([`Milestone::Started`]) is left
/// out: htsim has a sender for each connection.
///
/// # Errors
/// A flow with a rate limit, with more than one trigger to set off for each milestone, or with a compute gap after what
/// it waits for: the format cannot say them.
pub fn write(matrix: &Matrix) -> Result<String, WriteError> {
    let Matrix { nodes, load } = matrix;
    // What each flow waits for. Flows that wait for the same share a trigger; htsim's connection can set off one
    // trigger when it is sent and one when it is received.
    let mut sets: BTreeMap<FlowId, Vec<(FlowId, Milestone)>> = BTreeMap::new();
    for wait in load.waits().iter().filter(|wait| wait.until != Milestone::Started) {
        sets.entry(wait.flow).or_default().push((wait.on, wait.until));
    }
    let mut triggers: BTreeMap<Vec<(FlowId, Milestone)>, usize> = BTreeMap::new();
    let mut starts: BTreeMap<FlowId, usize> = BTreeMap::new();
    for (flow, mut set) in sets {
        set.sort_unstable();
        set.dedup();
        let next = triggers.len() + 1;
        starts.insert(flow, *triggers.entry(set).or_insert(next));
    }
    let mut sets_off: BTreeMap<(FlowId, Milestone), usize> = BTreeMap::new();
    for (set, trigger) in &triggers {
        for on in set {
            if sets_off.insert(*on, *trigger).is_some() {
                let why = "others wait for it in different company, and htsim's connection sets off one trigger";
                return Err(WriteError { flow: on.0.0, why });
            }
        }
    }
    let mut text = format!("Nodes {nodes}\nConnections {}\n", load.flows().len());
    let mut line = |args: std::fmt::Arguments<'_>| {
        // Writing to a string cannot fail.
        let _ = text.write_fmt(args);
    };
    if !triggers.is_empty() {
        line(format_args!("Triggers {}\n", triggers.len()));
    }
    for (id, flow) in load.flows().iter() {
        super::plain(id, flow)?;
        line(format_args!("{}->{} id {} ", flow.src.0, flow.dst.0, u64::from(id.0) + 1));
        match starts.get(&id) {
            None => line(format_args!("start {}", flow.after.0)),
            Some(trigger) if flow.after == Time::ZERO => line(format_args!("trigger {trigger}")),
            Some(_) => {
                let why = "it starts some time after what it waits for, which a connection matrix cannot say";
                return Err(WriteError { flow: id.0, why });
            }
        }
        line(format_args!(" size {}", flow.bytes.0));
        for (until, word) in [(Milestone::Acked, "send_done_trigger"), (Milestone::Delivered, "recv_done_trigger")] {
            if let Some(trigger) = sets_off.get(&(id, until)) {
                line(format_args!(" {word} {trigger}"));
            }
        }
        line(format_args!("\n"));
    }
    let mut by_id: Vec<(usize, usize)> = triggers.iter().map(|(set, id)| (*id, set.len())).collect();
    by_id.sort_unstable();
    for (id, count) in by_id {
        match count {
            1 => line(format_args!("trigger id {id} oneshot\n")),
            _ => line(format_args!("trigger id {id} barrier count {count}\n")),
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collective::{Job, Kind};
    use proptest::prelude::*;

    #[test]
    fn reads_what_its_generators_write() {
        // The form of its gen_serial_alltoall.py: the second transfer of a host starts when its first is acknowledged.
        let text = "Nodes 16\nConnections 2\nTriggers 1\n0->1 id 1 start 0 size 2000 send_done_trigger 1\n\
                    0->2 id 2 trigger 1 size 3000\ntrigger id 1 oneshot\n";
        let Matrix { nodes, load } = read(text, 16).unwrap();
        assert_eq!(nodes, 16);
        assert_eq!(load.flows().rows()[1], Flow::new(HostId(0), HostId(2), Bytes(3_000)));
        let wait = load.waits()[0];
        assert_eq!((wait.flow, wait.on, wait.until), (FlowId(1), FlowId(0), Milestone::Acked));
        assert_eq!(write(&Matrix { nodes, load }).unwrap(), text);
    }

    #[test]
    fn errors_name_the_line() {
        for (text, line, word) in [
            ("", 1, "Nodes"),
            ("Nodes", 1, "missing"),
            ("Nodes x", 1, "\"x\""),
            ("Nodes 4\nNodes 4", 2, "second time"),
            ("Nodes 4\nConnections 9", 3, "says 9, but there are 0"),
            ("Nodes 4\nConnections 1\n0->1 id 1 size 5", 3, "neither a start nor a trigger"),
            ("Nodes 4\nConnections 1\n0->1 start 0 trigger 1 size 5", 3, "both"),
            ("Nodes 4\nConnections 1\n0->1 start 0", 3, "no size"),
            ("Nodes 4\nConnections 1\n0->1 start soon size 5", 3, "picoseconds"),
            ("Nodes 4\nConnections 1\n0->x start 0 size 5", 3, "destination"),
            ("Nodes 4\nConnections 1\n0->0 start 0 size 5", 3, "itself"),
            ("Nodes 4\nConnections 1\n0->1 start 0 size 5 colour 3", 3, "colour"),
            ("Nodes 4\nConnections 2\n0->7 start 0 size 5\n0->1 start 0 size 5", 3, "hosts 0 to 3"),
            ("Nodes 99\nConnections 1\n0->16 start 0 size 5", 3, "hosts 0 to 15"),
            ("Connections 2\n0->1 start 0 size 5\n4->0 start 0 size 5\nNodes 4", 3, "hosts 0 to 3"),
            ("Nodes 4\nConnections 1\n-1->0 start 0 size 5", 3, "the source is \"-1\""),
            ("Nodes 4\nConnections 1\n0->1 start 0 size -5", 3, "size in bytes is \"-5\""),
            ("Nodes 4\nConnections 1\n0->1 start 0 size 18446744073709551616", 3, "the most is 18446744073709551615"),
            ("Nodes 4\nConnections 1\n0->1 start -1 size 5", 3, "picoseconds"),
            ("Nodes 4\nConnections 1\n0->1 start 18446744073709551616 size 5", 3, "picoseconds"),
            ("Nodes 4\nConnections 2\n0->1 id 7 start 0 size 5\n2->3 id 7 start 0 size 5", 4, "line 3"),
            ("Nodes 4\nConnections 1\nTriggers 1\n0->1 trigger 0 size 5\ntrigger id 1 oneshot", 4, "declared nowhere"),
            ("Nodes 4\nTriggers 2\ntrigger id 1 oneshot\ntrigger id 1 oneshot", 4, "declared above"),
            ("Nodes 4\nConnections 1\n0->1 id 0 start 0 size 5", 3, "id of 0"),
            ("Nodes 4\nFailures 2", 2, "fabric"),
            ("Nodes 4\nConnections 1\n0->1 trigger 5 size 5", 3, "declared nowhere"),
            ("Nodes 4\nConnections 1\nTriggers 1\n0->1 trigger 5 size 5\ntrigger id 5 oneshot", 5, "no connection"),
            ("Nodes 4\nTriggers 1\ntrigger id 5 barrier", 3, "count"),
            ("Nodes 4\nTriggers 1\ntrigger id 5", 3, "none"),
            ("Nodes 4\nhello", 2, "\"hello\""),
            ("Nodes 4\nConnections 1\n0->1 start 0 start 5 size 5", 3, "start stands twice"),
            ("Nodes 4\nConnections 1\n0->1 id 1 start 0 size 5 size 6", 3, "size stands twice"),
            ("Nodes 4\nConnections 1\n0->1 id 1 id 1 start 0 size 5", 3, "id stands twice"),
            ("Nodes 4\nTriggers 1\ntrigger id 5 id 6 oneshot", 3, "id stands twice"),
            ("Nodes 4\nTriggers 1\ntrigger id 5 oneshot barrier count 1", 3, "stands twice"),
        ] {
            let error = read(text, 16).unwrap_err();
            assert_eq!(error.line, line, "{text:?}: {error}");
            assert!(error.to_string().contains(word), "{text:?}: {error}");
        }
        let circle = "Nodes 4\nConnections 2\nTriggers 2\n0->1 trigger 1 size 5 send_done_trigger 2\n\
                      1->0 trigger 2 size 5 send_done_trigger 1\ntrigger id 1 oneshot\ntrigger id 2 oneshot";
        let error = read(circle, 16).unwrap_err();
        assert!(error.line == 4 && error.to_string().contains("for itself"), "{error}");
        let race = "Nodes 4\nConnections 3\nTriggers 1\n0->1 start 0 size 5 send_done_trigger 1\n\
                    1->0 start 0 size 5 send_done_trigger 1\n2->3 trigger 1 size 5\ntrigger id 1 oneshot";
        assert!(read(race, 16).unwrap_err().to_string().contains("barrier"));
    }

    #[test]
    fn a_collective_comes_back_as_it_was() {
        for name in ["ring", "all_to_all", "tree"] {
            let mut load = Workload::new();
            let ranks = (0..6).map(HostId).collect();
            (Kind::named(name).unwrap().play)(
                &mut Job::new(&mut load, ranks, Flow::new(HostId(0), HostId(1), Bytes(1))),
                Bytes(6_000),
            );
            let text = match write(&Matrix { nodes: 6, load: load.clone() }) {
                Ok(text) => text,
                Err(error) => panic!("{name}: {error}"),
            };
            let again = read(&text, 16).unwrap().load;
            let sorted = |load: &Workload| {
                let mut waits = load.waits().to_vec();
                waits.retain(|wait| wait.until != Milestone::Started);
                waits.sort_unstable();
                waits
            };
            assert_eq!(sorted(&again), sorted(&load), "{name}");
            assert_eq!(again.flows().len(), load.flows().len());
        }
    }

    #[test]
    fn what_cannot_be_said_is_not_written() {
        let mut load = Workload::new();
        let a = load.add(Flow::new(HostId(0), HostId(1), Bytes(5)));
        let b = load.add(Flow::new(HostId(1), HostId(2), Bytes(5)).after(Time::us(1)));
        load.wait(b, a, Milestone::Delivered);
        assert!(write(&Matrix { nodes: 4, load }).unwrap_err().to_string().contains("some time after"));
    }

    proptest! {
        #[test]
        fn no_text_breaks_it(
            text in "(Nodes|Connections|Triggers|trigger|id|size|start|barrier|count|[0-9]{1,4}|->|[ \n])*",
        ) {
            let _ = read(&text, 16);
        }
    }
}
