//! The kernel programs: what passes is counted where it passes, and as much of it comes here as is wanted.
//!
//! Either every RoCE packet's headers come through a ring, and the engine sees packets; or the kernel's tables of flows
//! are read once a second, and the engine sees sums, exact at any rate. Each interface has programs and tables of its
//! own, so that a flow which crosses two is counted once at each.

mod attach;

use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

use aya::maps::{MapData, RingBuf};
use caps::Capability;
use rocetop_analysis::counted::Counted;
use rocetop_parsers::Nanos;
use rocetop_parsers::abi::{Event, Head, Key, Totals, Why};

pub use attach::{Received, Sent};

use super::super::batch::{Batch, Counts};
use super::super::bpf::{self, Programs};
use super::super::choose::Device;
use super::super::host::Host;
use super::super::privileges;
use super::super::session::now;
use super::{ReadError, Source, WatchError};
use crate::pcap::LinkType;

/// What the programs need, to be loaded, hung in and read.
pub const NEEDS: [Capability; 3] = [Capability::CAP_BPF, Capability::CAP_NET_ADMIN, Capability::CAP_PERFMON];

/// How the kernel is to count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ways {
    /// Sums of flows, instead of the headers of every RoCE packet.
    pub counted: bool,
    /// With sums: the headers of one RoCE packet in so many beside them.
    pub sample: Option<u32>,
    /// Where XDP must run; `None` for ours to pick.
    pub received: Option<Received>,
    /// How sent frames must be seen; `None` for ours to pick.
    pub sent: Option<Sent>,
}

/// The oldest kernel whose XDP can tell a frame's length and read frames in several buffers.
const OLDEST: (u32, u32) = (5, 18);

/// Flows of each table of an interface (chosen: bounds the memory).
const FLOWS: u32 = 1 << 16;
/// Bytes of an interface's ring where every header comes through it: 25 ms at 5 million packets a second.
const RING: u32 = 1 << 25;
/// Bytes of a ring for what is rare (chosen).
const SMALL_RING: u32 = 1 << 22;
/// A flow that was silent for so long may make room (chosen).
const SILENT: Nanos = Nanos(10_000_000_000);

/// Whether this process, on this kernel, can watch so.
///
/// # Errors
/// What stands in the way.
pub fn usable() -> Result<(), String> {
    privileges::require(&NEEDS).map_err(|error| error.to_string())?;
    match kernel() {
        Some((version, name)) if version < OLDEST => {
            Err(format!("this is Linux {name}, and counting in the kernel needs {}.{} or newer", OLDEST.0, OLDEST.1))
        }
        _ => Ok(()),
    }
}

/// This kernel's version, and its whole name.
fn kernel() -> Option<((u32, u32), String)> {
    let name = std::fs::read_to_string("/proc/sys/kernel/osrelease").ok()?;
    let mut numbers = name.split(|c: char| !c.is_ascii_digit()).map(|n| n.parse().ok());
    Some(((numbers.next()??, numbers.next()??), name.trim().to_owned()))
}

pub(super) struct Kernel {
    programs: Programs,
    ring: RingBuf<MapData>,
    /// From the time since the machine started to that since 1970.
    epoch: u64,
    counted: bool,
    before: Totals,
    /// When flows were read last, since the machine started.
    read_at: Nanos,
    _attached: attach::Attached,
}

impl Kernel {
    /// Loads the programs and hangs them in. Also tells how, and why so.
    pub(super) fn open(
        device: &Device,
        ways: &Ways,
    ) -> Result<(LinkType, Self, &'static str, Vec<String>), WatchError> {
        let failed = |reason: String| WatchError::Open { device: device.name.clone(), reason };
        let Some(index) = device.index else {
            let reason = "XDP needs a network interface; --source libpcap opens other devices";
            return Err(failed(reason.to_owned()));
        };
        usable().map_err(failed)?;
        if !Host::here().is_ethernet(&device.name) {
            return Err(failed("its frames are no Ethernet, and the kernel programs read nothing else".to_owned()));
        }
        let events = match (ways.counted, ways.sample) {
            (false, _) => Why::HEADERS.with(Why::PAUSE).with(Why::CM),
            (true, Some(_)) => Why::ALL,
            (true, None) => Why::TELLING,
        };
        let settings = bpf::Settings {
            events,
            sample: ways.sample.unwrap_or(1),
            flows: if ways.counted { FLOWS } else { FLOWS / 4 },
            ring: if ways.counted { SMALL_RING } else { RING },
        };
        let mut programs = Programs::load(&settings).map_err(|error| failed(error.explain()))?;
        let loopback = Host::here().interface(&device.name).is_some_and(|i| i.loopback);
        let wish = (ways.received, ways.sent);
        let attached = attach::attach(&mut programs, device, index, loopback, wish).map_err(failed)?;
        let mode = attached.mode();
        let ring = programs.ring().map_err(|error| failed(error.to_string()))?;
        let kernel = kernel().map(|(_, name)| format!(", Linux {name}")).unwrap_or_default();
        let mut notes = vec![format!("{}: {mode}{kernel}", device.name)];
        notes.push(match (ways.counted, ways.sample) {
            (false, _) => format!(
                "{}: the first 128 bytes of every RoCE packet: ICRCs of longer ones are not checked",
                device.name
            ),
            (true, None) => format!(
                "{}: flows are counted in the kernel: repeats, stories and findings need \
                packets",
                device.name
            ),
            (true, Some(n)) => format!(
                "{}: flows are counted in the kernel: repeats, stories and findings need packets; of one RoCE packet \
                 in {n} the first 128 bytes are seen",
                device.name
            ),
        });
        notes.extend(attached.notes.iter().cloned());
        let source = Self {
            programs,
            ring,
            epoch: now().0.saturating_sub(monotonic().0),
            counted: ways.counted,
            before: Totals::default(),
            read_at: Nanos(0),
            _attached: attached,
        };
        Ok((LinkType::ETHERNET, source, mode, notes))
    }

    /// All flows that packets were added to since the last time; long silent ones are taken out where a table is nearly
    /// full.
    fn flows(&mut self) -> Result<Vec<Counted>, ReadError> {
        let programs = &self.programs;
        let told = |error: bpf::BpfError| ReadError(error.explain());
        let start = monotonic();
        // The clock of flows is as coarse as the kernel's tick.
        let since = Nanos(self.read_at.0.saturating_sub(1_000_000_000));
        let (mut flows, mut silent, mut there) = (Vec::new(), [Vec::new(), Vec::new()], [0u32; 2]);
        programs
            .for_each_flow(|table, key, flow| {
                let table = usize::from(table == bpf::Table::Others);
                let last = flow.counters.last;
                if let (Some(count), Some(silent)) = (there.get_mut(table), silent.get_mut(table)) {
                    *count += 1;
                    if start.since(last) > SILENT {
                        silent.push((last, key));
                    }
                }
                if last >= since || flow.lock != 0 {
                    flows.push(Counted { iface: 0, key, flow, over: false });
                }
            })
            .map_err(told)?;
        for (there, mut silent) in there.into_iter().zip(silent) {
            if there < FLOWS / 8 * 7 {
                continue;
            }
            silent.sort_unstable_by_key(|&(last, key)| (last, key));
            for (_, key) in silent.into_iter().take((there - FLOWS / 4 * 3) as usize) {
                flows.extend(taken(programs, &key).map_err(told)?);
            }
        }
        self.read_at = start;
        for counted in &mut flows {
            let counters = &mut counted.flow.counters;
            counters.first.0 += self.epoch;
            counters.last.0 += self.epoch;
        }
        Ok(flows)
    }
}

fn taken(programs: &Programs, key: &Key) -> Result<Option<Counted>, bpf::BpfError> {
    Ok(programs.take_flow(key)?.map(|flow| Counted { iface: 0, key: *key, flow, over: true }))
}

/// Bytes of both addresses of an Ethernet frame: a tag that is kept beside it stands behind them.
const ADDRESSES: usize = 12;

impl Source for Kernel {
    fn read(&mut self, batch: &mut Batch) -> Result<usize, ReadError> {
        let mut frames = 0;
        while !batch.is_full() {
            let Some(record) = self.ring.next() else { break };
            frames += 1;
            let Some(event) = Event::read(&record) else { continue };
            let Head { time, wire, vlan, flags, .. } = event.head;
            let (addresses, rest) = event.bytes.split_at(event.bytes.len().min(ADDRESSES));
            let tag = [0x81, 0, (vlan >> 8) as u8, vlan as u8];
            let tag: &[u8] = if flags & Head::VLAN != 0 { &tag } else { &[] };
            batch.push(Nanos(time.0 + self.epoch), wire, &[addresses, tag, rest]);
        }
        Ok(frames)
    }

    fn descriptor(&self) -> RawFd {
        self.ring.as_raw_fd()
    }

    fn drops(&mut self) -> Option<u64> {
        let totals = self.programs.totals().ok()?;
        Some(if self.counted { totals.overflow } else { totals.ring_drops })
    }

    fn counts(&mut self) -> Result<Option<Counts>, ReadError> {
        let flows = if self.counted { self.flows()? } else { Vec::new() };
        let totals = self.programs.totals().map_err(|error| ReadError(error.explain()))?;
        let frames = totals.since(&self.before);
        self.before = totals;
        Ok(Some(Counts { frames, flows }))
    }

    fn leave(&mut self) {
        self.programs.detach();
        // What a CPU had begun is over in much less.
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Time since the machine started, as the programs have it (CLOCK_MONOTONIC).
#[allow(unsafe_code, reason = "the standard library's Instant does not tell its number")]
fn monotonic() -> Nanos {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: there is room for what it writes.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    Nanos(time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs())
}
