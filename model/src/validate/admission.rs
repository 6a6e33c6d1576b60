//! Receiver-driven admission (SYSTEMS C4): what clear-to-send does to a fabric, and what its priority does to it.

use super::{Check, Error, Verdict, finish, quantile, settings};
use crate::cc;
use crate::engine::Simulation;
use crate::topology::{Cable, Clos2, HostId};
use crate::units::{Bytes, Priority, Rate, Time};
use crate::workload::admission::{Admission, Owner};
use crate::workload::{Flow, FlowId, Workload};

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "C4: admission keeps an incast from stopping others",
        source: "SYSTEMS C4 (direction)",
        how: "Racks of 16 hosts under 16 spines, three of them busy, 100 Gb/s, PFC, no congestion control. Fifteen \
              hosts of the first send 4 MB each to one host of the second, while that rack's other hosts fetch 1 MB \
              each from the third. Without admission the incast fills the second leaf, the leaf pauses the spines, and \
              whatever passes them stands still though its own port is idle. With 16 buffers of 32 KB at each receiver \
              at most half a megabyte is on its way to the busy port, hardly an account comes near its threshold, and \
              the others share a spine's port with it at worst. The incast itself ends when it would have ended: its \
              port is busy all the time.",
        run: storm,
    },
    Check {
        name: "C4: clear-to-send needs a priority of its own",
        source: "SYSTEMS C4 (direction)",
        how: "The same incast under admission with 4 buffers, just what the way holds, while hosts of the third rack \
              send 2 x 32 MB of bulk data to each of its senders. In a strict priority clear-to-send passes the queues \
              that these build; in their class it waits in them, and as long as it waits, the buffer that it offers \
              stays empty and the incast's port idle.",
        run: priority,
    },
];

const RACK: u32 = 16;
const SENDERS: u32 = 15;
const BUSY: HostId = HostId(RACK);
const ADMISSION: Admission = Admission {
    buffers: 16,
    buffer: Bytes(32_000),
    owner: Owner::Receiver,
    cts: Bytes(64),
    priority: Priority::new(6),
};

/// Hosts of the first rack send to the first host of the second.
fn incast(load: &mut Workload) {
    for src in 0..SENDERS {
        load.add(Flow::new(HostId(src), BUSY, Bytes(4_000_000)));
    }
}

/// The other hosts of the second rack fetch from the third, by four queue pairs each.
fn others(load: &mut Workload) -> Vec<FlowId> {
    let flow = |n: u32| {
        let (src, dst, lane) = (2 * RACK + 1 + n / 4, RACK + 1 + n / 4, n % 4);
        Flow::new(HostId(src), HostId(dst), Bytes(250_000)).lane(lane as u16).after(Time::us(500))
    };
    (0..4 * SENDERS).map(|n| load.add(flow(n))).collect()
}

fn play(load: &Workload) -> Result<Simulation, Error> {
    let cable = Cable::new(Rate::gbps(100), Time::us(1));
    let fabric =
        Clos2 { leaves: 8, spines: RACK, hosts_per_leaf: RACK, parallel: 1, host: cable, spine: cable }.build()?;
    finish(fabric, load, settings(4_096, cc::Settings::None(cc::none::Settings)))
}

/// When the last of some flows had arrived.
fn end(run: &Simulation, flows: impl IntoIterator<Item = FlowId>) -> Time {
    flows.into_iter().filter_map(|flow| run.flow(flow).delivered).max().unwrap_or(Time::NEVER)
}

fn storm() -> Result<Verdict, Error> {
    let mut alone = Workload::new();
    let flows = others(&mut alone);
    let alone = end(&play(&alone)?, flows);
    let mut load = Workload::new();
    incast(&mut load);
    let flows = others(&mut load);
    let open = play(&load)?;
    let admitted = ADMISSION.admit(&load)?;
    let closed = play(&admitted.load)?;
    let took = |time: Time| (time - Time::us(500)).seconds() * 1e6;
    let with = end(&closed, flows.iter().flat_map(|flow| admitted.pieces(*flow)));
    let without = end(&open, flows);
    let incast = end(&open, (0..SENDERS).map(FlowId));
    let slower = end(&closed, (0..SENDERS).flat_map(|flow| admitted.pieces(FlowId(flow)))).seconds() / incast.seconds();
    let pauses = [&open, &closed].map(|run| run.totals().pauses);
    Ok(Verdict {
        target: String::from(
            "a hundredth of the pauses; the others take at most twice as long as alone, without it 5 times; the incast \
            within 3%",
        ),
        measured: format!(
            "others {:.0} us alone, {:.0} without, {:.0} with admission; pauses {} and {}; incast {:.2} ms, {:+.1}% \
            with",
            took(alone),
            took(without),
            took(with),
            pauses[0],
            pauses[1],
            incast.seconds() * 1e3,
            (slower - 1.0) * 100.0
        ),
        pass: pauses[1] * 100 <= pauses[0]
            && took(with) <= 2.0 * took(alone)
            && took(without) >= 5.0 * took(alone)
            && (slower - 1.0).abs() <= 0.03,
    })
}

/// When the incast ended, and how long 99% of its clear-to-send messages took at most.
fn under_bulk(priority: Priority) -> Result<(Time, Time), Error> {
    let mut load = Workload::new();
    incast(&mut load);
    let mut admitted = Admission { buffers: 4, priority, ..ADMISSION }.admit(&load)?;
    for dst in 0..SENDERS {
        for n in 0..2 {
            admitted.load.add(Flow::new(HostId(2 * RACK + (dst + n) % RACK), HostId(dst), Bytes(32_000_000)));
        }
    }
    let run = play(&admitted.load)?;
    let waits: Vec<u64> = admitted.offers().filter_map(|cts| run.flow(cts).duration()).map(|time| time.0).collect();
    let pieces = (0..SENDERS).flat_map(|flow| admitted.pieces(FlowId(flow)));
    Ok((end(&run, pieces), Time(quantile(&waits, 0.99))))
}

fn priority() -> Result<Verdict, Error> {
    let (first, soon) = under_bulk(ADMISSION.priority)?;
    let (late, waits) = under_bulk(Flow::PRIORITY)?;
    let us = |time: Time| time.seconds() * 1e6;
    Ok(Verdict {
        target: String::from(
            "99% of clear-to-send within 20 us by priority, 5 times that without; the incast 5% later without",
        ),
        measured: format!(
            "99% within {:.1} us by priority, {:.1} us in the data's class; incast {:.2} against {:.2} ms",
            us(soon),
            us(waits),
            first.seconds() * 1e3,
            late.seconds() * 1e3
        ),
        pass: us(soon) < 20.0 && us(waits) > 5.0 * us(soon) && late.seconds() > 1.05 * first.seconds(),
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn admission_does_what_is_said_of_it() {
        super::super::all_pass(super::CHECKS);
    }
}
