//! libpcap: any device that it opens, RDMA devices among them where it was built with rdmasniff; filters in the kernel.

use std::os::fd::{AsRawFd, RawFd};

use caps::Capability;
use pcap::{Active, Capture, Error, Packet, Precision};
use rocetop_parsers::Nanos;

use super::super::batch::Batch;
use super::super::choose::Device;
use super::super::privileges::PrivilegeError;
use super::{BUFFER, GATHER_MS, ReadError, Settings, Source, WatchError};
use crate::pcap::LinkType;

pub(super) struct Libpcap {
    capture: Capture<Active>,
    /// Whether the device tells what it drops.
    tells: bool,
    /// What was told last: it counts in 32 bits.
    told: u32,
    drops: u64,
}

/// `DLT_RAW`, which capture files write as 101.
const DLT_RAW: i32 = 12;
const LINKTYPE_RAW: u16 = 101;

/// The devices that libpcap lists.
pub(super) fn devices() -> Vec<String> {
    pcap::Device::list().map(|list| list.into_iter().map(|device| device.name).collect()).unwrap_or_default()
}

impl Libpcap {
    pub(super) fn open(device: &Device, settings: &Settings) -> Result<(LinkType, Self), WatchError> {
        let name = || device.name.clone();
        let failed = |error: Error| match error {
            Error::PcapError(text) if text.contains("ermission") || text.contains("not permitted") => {
                PrivilegeError::missing(Capability::CAP_NET_RAW, &[Capability::CAP_NET_RAW]).into()
            }
            Error::PcapError(reason) => WatchError::Open { device: name(), reason },
            other => WatchError::Open { device: name(), reason: other.to_string() },
        };
        let mut capture = Capture::from_device(device.name.as_str())
            .map_err(failed)?
            .snaplen(settings.snaplen.cast_signed())
            .promisc(true)
            .buffer_size(BUFFER.0 as i32)
            .timeout(GATHER_MS)
            .precision(Precision::Nano)
            .open()
            .and_then(Capture::setnonblock)
            .map_err(failed)?;
        if let Some((expression, _)) = &settings.filter {
            let misfit = |error: Error| WatchError::Filter { device: name(), reason: error.to_string() };
            capture.filter(expression, true).map_err(misfit)?;
        }
        let link_type = match capture.get_datalink().0 {
            DLT_RAW => LINKTYPE_RAW,
            // All that a network interface can have are the same in files.
            other => u16::try_from(other).unwrap_or(u16::MAX),
        };
        Ok((LinkType(link_type), Self { capture, tells: !device.rdma, told: 0, drops: 0 }))
    }
}

impl Source for Libpcap {
    fn read(&mut self, batch: &mut Batch) -> Result<usize, ReadError> {
        let mut frames = 0;
        while !batch.is_full() {
            match self.capture.next_packet() {
                Ok(Packet { header, data }) => {
                    let seconds = u64::try_from(header.ts.tv_sec).unwrap_or(0);
                    // Nanoseconds, since that is what was asked for.
                    let nanos = u64::try_from(header.ts.tv_usec).unwrap_or(0);
                    batch.push(Nanos(seconds * 1_000_000_000 + nanos), header.len, &[data]);
                    frames += 1;
                }
                Err(Error::TimeoutExpired) => break,
                Err(Error::PcapError(text)) => return Err(ReadError(text)),
                Err(other) => return Err(ReadError(other.to_string())),
            }
        }
        Ok(frames)
    }

    fn descriptor(&self) -> RawFd {
        self.capture.as_raw_fd()
    }

    fn drops(&mut self) -> Option<u64> {
        if self.tells
            && let Ok(stats) = self.capture.stats()
        {
            self.drops += u64::from(stats.dropped.wrapping_sub(self.told));
            self.told = stats.dropped;
        }
        self.tells.then_some(self.drops)
    }
}
