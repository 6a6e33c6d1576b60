//! The flow file of the HPCC simulator (ns-3, `simulation/scratch/third.cc`, `ReadFlowInput`).
//!
//! The number of flows, then one a line: source, destination, priority group, UDP destination port, bytes, and the
//! start in seconds, in the order of starts. Its other programs start their traffic at 2 s.

use std::fmt::Write;

use super::{ReadError, WriteError, decimal, number};
use crate::topology::HostId;
use crate::units::{Bytes, Priority, Time};
use crate::workload::{Flow, Workload};

/// The destination port that is written: 100, as that simulator's own traffic generator does.
const PORT: u16 = 100;

/// Reads a flow file.
///
/// Flows between the same hosts are given lanes of their own: that simulator makes a queue pair for each. None may name
/// a host beyond the `hosts` of the fabric that the file is for.
///
/// # Errors
/// The first line that does not fit, and why.
pub fn read(text: &str, hosts: u32) -> Result<Workload, ReadError> {
    let mut lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let Some((line, first)) = lines.next() else {
        return Err(ReadError::new(1, "the file is empty; it begins with the number of flows"));
    };
    let mut fields = first.split_whitespace();
    let count: usize = number(line, "the number of flows", fields.next())?;
    if fields.next().is_some() {
        return Err(ReadError::new(line, "more than the number of flows; each flow has a line of its own"));
    }
    let mut load = Workload::new();
    let mut lanes = super::Lanes::default();
    let mut latest = Time::ZERO;
    let mut last = line;
    for (line, text) in lines {
        last = line;
        if load.flows().len() == count {
            return Err(ReadError::new(line, format!("the first line announces {count} flows, and here is another")));
        }
        let mut fields = text.split_whitespace();
        let src = HostId(number(line, "the source", fields.next())?);
        let dst = HostId(number(line, "the destination", fields.next())?);
        let class: u8 = number(line, "the priority group", fields.next())?;
        let _port: u16 = number(line, "the destination port", fields.next())?;
        let bytes = Bytes(number(line, "the size in bytes", fields.next())?);
        let start = fields.next().and_then(|text| decimal(text, Time::SECOND));
        let Some(start) = start else {
            return Err(ReadError::new(line, "the start in seconds is missing or no decimal number (like 2.000001)"));
        };
        if fields.next().is_some() {
            return Err(ReadError::new(line, "more than six fields: source destination group port bytes start"));
        }
        if class > 7 {
            return Err(ReadError::new(line, format!("priority group {class}; there are 0 to 7")));
        }
        if let Some(HostId(host)) = [src, dst].into_iter().find(|host| host.0 >= hosts) {
            let last = hosts.saturating_sub(1);
            return Err(ReadError::new(line, format!("there is no host {host}; the fabric has hosts 0 to {last}")));
        }
        if src == dst || bytes.0 == 0 {
            return Err(ReadError::new(line, "a flow from a host to itself, or of no bytes"));
        }
        if start < latest {
            return Err(ReadError::new(line, "starts before the flow above it; that simulator would never start it"));
        }
        latest = start;
        let lane = lanes.next(line, src, dst)?;
        load.add(Flow { priority: Priority::new(class), ..Flow::new(src, dst, bytes).after(start).lane(lane) });
    }
    if load.flows().len() < count {
        let why = format!("the first line announces {count} flows, but there are {}", load.flows().len());
        return Err(ReadError::new(last + 1, why));
    }
    Ok(load)
}

/// Writes a flow file, flows in the order of their starts.
///
/// # Errors
/// A flow that waits for another, or a rate limit: the format cannot say them.
pub fn write(load: &Workload) -> Result<String, WriteError> {
    if let Some(wait) = load.waits().first() {
        return Err(WriteError { flow: wait.flow.0, why: "it waits for another, which an HPCC flow file cannot say" });
    }
    let mut flows: Vec<_> = load.flows().iter().collect();
    flows.sort_by_key(|(id, flow)| (flow.after, *id));
    let mut text = format!("{}\n", flows.len());
    for (id, flow) in flows {
        super::plain(id, flow)?;
        let Time(ps) = flow.after;
        let (whole, rest) = (ps / Time::SECOND.0, ps % Time::SECOND.0);
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{} {} {} {PORT} {} {whole}.{rest:012}",
            flow.src.0,
            flow.dst.0,
            flow.priority.number(),
            flow.bytes.0
        );
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Rate;
    use proptest::prelude::*;

    #[test]
    fn reads_what_that_simulator_reads() {
        // The four flows of a file in its form.
        let load = read("4\n0 1 3 100 200000 2\n2 1 3 100 200000 2.0\n\n0 1 3 101 5 2.000000001\n3 0 5 100 1 2.5\n", 4)
            .unwrap();
        let flows = load.flows().rows();
        assert_eq!(flows[0], Flow::new(HostId(0), HostId(1), Bytes(200_000)).after(Time::SECOND.times(2)));
        assert_eq!((flows[2].after, flows[2].lane), (Time(2_000_000_001_000), 1));
        assert_eq!(flows[3].priority, Priority::new(5));
        assert_eq!(load.check(4), Ok(()));
    }

    #[test]
    fn errors_name_the_line() {
        for (text, line, word) in [
            ("", 1, "empty"),
            ("x", 1, "\"x\""),
            ("1 2", 1, "line of its own"),
            ("2\n0 1 3 100 5 0", 3, "announces 2 flows, but there are 1"),
            ("1\n0 1 3 100 5 0\n0 1 3 100 5 0", 3, "another"),
            ("1\n0 1 3 100 5", 2, "start"),
            ("1\n0 1 3 100 5 soon", 2, "start"),
            ("1\n0 1 3 100 5 -1", 2, "start"),
            ("1\n0 1 3 100 5 0 0", 2, "six fields"),
            ("1\n0 1 9 100 5 0", 2, "group 9"),
            ("1\n0 1 3 70000 5 0", 2, "port"),
            ("2\n0 1 3 100 5 0\n50 1 3 100 5 0", 3, "no host 50; the fabric has hosts 0 to 49"),
            ("1\n0 -1 3 100 5 0", 2, "the destination is \"-1\""),
            ("1\n0 1 3 100 -5 0", 2, "size in bytes is \"-5\""),
            ("1\n0 1 3 100 5 -1", 2, "start"),
            ("1\n\n0 0 3 100 5 0", 3, "itself"),
            ("1\n0 1 3 100 99999999999999999999 0", 2, "size"),
            ("2\n0 1 3 100 5 2\n0 1 3 100 5 1", 3, "before"),
            ("18446744073709551615\n", 2, "there are 0"),
        ] {
            let error = read(text, 50).unwrap_err();
            assert_eq!(error.line, line, "{text:?}: {error}");
            assert!(error.to_string().contains(word), "{text:?}: {error}");
        }
    }

    #[test]
    fn what_cannot_be_said_is_not_written() {
        let mut load = Workload::new();
        let a = load.add(Flow::new(HostId(0), HostId(1), Bytes(5)));
        let b = load.add(Flow { limit: Rate::gbps(1), ..Flow::new(HostId(0), HostId(1), Bytes(5)) });
        assert_eq!(write(&load).unwrap_err().flow, 1);
        load.wait(b, a, crate::workload::Milestone::Acked);
        assert!(write(&load).unwrap_err().to_string().contains("waits"));
        let mut load = Workload::new();
        load.add(Flow::work(HostId(0), Time::us(1)));
        assert!(write(&load).is_err());
    }

    proptest! {
        #[test]
        fn written_and_read_again(
            list in proptest::collection::vec((0_u32..50, 1_u32..50, 1_u64..1 << 40, 0_u64..1 << 50), 0..40),
        ) {
            let mut load = Workload::new();
            let mut list = list;
            list.sort_by_key(|flow| flow.3);
            for (src, away, bytes, at) in list {
                load.add(Flow::new(HostId(src), HostId((src + away) % 50), Bytes(bytes)).after(Time(at)));
            }
            let count = load.flows().len();
            let load = read(&write(&load).unwrap_or_default(), 50).ok().filter(|again| again.flows().len() == count);
            prop_assert!(load.is_some());
            let text = load.as_ref().map(|load| write(load).unwrap_or_default());
            let again = text.as_deref().and_then(|text| read(text, 50).ok());
            let rows = |load: Option<Workload>| load.map(|load| load.flows().rows().to_vec());
            prop_assert_eq!(rows(again), rows(load));
        }

        #[test]
        fn no_text_breaks_it(text in "[0-9 .\\-\nx]{0,80}") {
            let _ = read(&text, 50);
        }
    }
}
