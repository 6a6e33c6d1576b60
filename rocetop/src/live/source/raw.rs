//! A packet socket of our own: needs no library, sees both directions of any interface that the kernel handles frames
//! of.
//!
//! pnet_datalink's channel would be less code, but hands over bare bytes: the kernel takes the VLAN tag out of a frame
//! and tells it beside, as it does the time stamp, the direction and the true length; none of these can be had through
//! it.

use std::io;
use std::os::fd::{AsRawFd, RawFd};

use caps::Capability;
use rocetop_parsers::Link;

use super::super::batch::Batch;
use super::super::choose::Device;
use super::super::privileges::PrivilegeError;
use super::super::session::now;
use super::socket::{Beside, MESSAGES, Socket};
use super::{BUFFER, ReadError, Settings, Source, WatchError};
use crate::filter::Compiled;
use crate::pcap::LinkType;
use crate::source::Frame;

pub(super) struct Raw {
    socket: Socket,
    link: Option<Link>,
    filter: Option<Compiled>,
    /// Frames that are sent come back on a loopback, and count once.
    loopback: bool,
    snaplen: usize,
    /// Room for the frames of one call.
    bytes: Vec<u8>,
    slot: usize,
    whole: Vec<u8>,
    drops: u64,
}

/// `ARPHRD_*` (linux/if_arp.h): what frames of an interface start with.
mod hardware {
    pub(super) const ETHER: u16 = 1;
    pub(super) const PPP: u16 = 512;
    pub(super) const LOOPBACK: u16 = 772;
    pub(super) const NONE: u16 = 0xfffe;
}

/// Room for a frame: the largest that IP can say, and headers. Larger ones (BIG TCP) are none of RoCE, and are cut.
const LARGEST: usize = 1 << 17;
/// Both addresses of an Ethernet frame: a tag that was taken out stood behind them.
const ADDRESSES: usize = 12;

impl Raw {
    pub(super) fn open(device: &Device, settings: &Settings) -> Result<(LinkType, Self), WatchError> {
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::PermissionDenied => {
                PrivilegeError::missing(Capability::CAP_NET_RAW, &[Capability::CAP_NET_RAW]).into()
            }
            _ => WatchError::Open { device: device.name.clone(), reason: error.to_string() },
        };
        let Some(index) = device.index else {
            let reason = "a packet socket needs a network interface; --source libpcap opens other devices".to_owned();
            return Err(WatchError::Open { device: device.name.clone(), reason });
        };
        let socket = Socket::open(index, BUFFER).map_err(failed)?;
        let link_type = match socket.hardware().map_err(failed)? {
            hardware::ETHER | hardware::LOOPBACK => LinkType::ETHERNET,
            hardware::NONE | hardware::PPP => LinkType(101),
            hardware => return Err(WatchError::Hardware { device: device.name.clone(), hardware }),
        };
        let snaplen = settings.snaplen as usize;
        let slot = snaplen.min(LARGEST);
        let raw = Self {
            loopback: socket.hardware().map_err(failed)? == hardware::LOOPBACK,
            socket,
            link: link_type.link(),
            filter: settings.filter.as_ref().map(|(_, filter)| filter.compiled()),
            snaplen,
            bytes: vec![0; slot * MESSAGES],
            slot,
            whole: Vec::new(),
            drops: 0,
        };
        Ok((link_type, raw))
    }

    /// Takes in one frame. `false` for one that is not wanted.
    fn take(&mut self, batch: &mut Batch, index: usize, beside: &Beside) -> bool {
        if self.loopback && beside.outgoing {
            return false;
        }
        let start = index * self.slot;
        let Some(bytes) = self.bytes.get(start..start + beside.captured.min(self.slot)) else { return false };
        let (addresses, rest) = bytes.split_at(bytes.len().min(ADDRESSES));
        let tag = beside.tag.unwrap_or_default();
        let tag: &[u8] = if beside.tag.is_some() && self.link == Some(Link::Ethernet) { &tag } else { &[] };
        let wire_len = (beside.wire_len + tag.len()) as u32;
        let ts = beside.ts.unwrap_or_else(now);
        // As if the tag had never been taken out, and cut where the whole frame would have been.
        let rest = rest.get(..self.snaplen.saturating_sub(addresses.len() + tag.len())).unwrap_or(rest);
        if let Some(filter) = &mut self.filter {
            self.whole.clear();
            [addresses, tag, rest].iter().for_each(|part| self.whole.extend_from_slice(part));
            let (number, iface, strand) = Default::default();
            if !filter.passes(&Frame { ts, number, iface, strand, link: self.link, wire_len, bytes: &self.whole }) {
                return false;
            }
        }
        batch.push(ts, wire_len, &[addresses, tag, rest]);
        true
    }
}

impl Source for Raw {
    fn read(&mut self, batch: &mut Batch) -> Result<usize, ReadError> {
        let mut frames = 0;
        while !batch.is_full() {
            let beside = match self.socket.receive(&mut self.bytes, self.slot) {
                Ok(beside) => beside,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // It went down, and may come up again; whoever reads looks whether it is still there.
                Err(error) if error.kind() == io::ErrorKind::NetworkDown => break,
                Err(error) => return Err(ReadError(error.to_string())),
            };
            for (index, one) in beside.iter().enumerate() {
                frames += usize::from(self.take(batch, index, one));
            }
            if beside.len() < MESSAGES {
                break;
            }
        }
        Ok(frames)
    }

    fn descriptor(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    fn drops(&mut self) -> Option<u64> {
        // The kernel counts anew after each question.
        self.drops += self.socket.drops().unwrap_or(0);
        Some(self.drops)
    }
}
