//! Through what an interface is watched: one file a source.
//!
//! A source is opened with all permissions and read without any. It never blocks: it hands over what is at hand and
//! names a descriptor to wait on.

#[cfg(feature = "libpcap")]
mod libpcap;
mod raw;
mod socket;
pub mod xdp;

use std::os::fd::RawFd;

use caps::Capability;
use rocetop_parsers::Bytes;
use rocetop_parsers::abi::Head;

pub(super) use self::socket::wait;
use super::batch::{Batch, Counts};
use super::choose::{Choice, Device, Kind};
use super::privileges::PrivilegeError;
use crate::filter::Filter;
use crate::pcap::Interface;

/// Longest time that a frame waits in the kernel for others to come along, in milliseconds.
pub(super) const GATHER_MS: i32 = 20;

/// Memory that the kernel is asked for, for frames of an interface that wait to be read.
const BUFFER: Bytes = Bytes(32 << 20);

/// Bytes of a frame that are kept where nobody says: any frame of any link, as tcpdump has it.
pub const WHOLE: u32 = 262_144;

/// How to watch.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Bytes kept of each frame.
    pub snaplen: u32,
    /// Frames that do not pass are not seen.
    pub filter: Option<(String, Filter)>,
    /// How the kernel is to count, where it does.
    pub ways: xdp::Ways,
}

/// An interface that is open.
pub struct Opened {
    /// What it is.
    pub device: Device,
    /// Its frames, as a capture file describes them.
    pub interface: Interface,
    /// Through what.
    pub kind: Kind,
    /// How, where there are several ways.
    pub mode: Option<&'static str>,
    /// What to know about it.
    pub notes: Vec<String>,
    pub(super) source: Box<dyn Source>,
}

/// What frames come from.
pub(super) trait Source: Send {
    /// Puts frames that are at hand into a batch, until it is full. Tells how many there were.
    fn read(&mut self, batch: &mut Batch) -> Result<usize, ReadError>;

    /// What to wait on for more.
    fn descriptor(&self) -> RawFd;

    /// Frames so far that the kernel had no room for; `None` where it does not tell. Where flows are counted, packets
    /// that no flow has counted.
    fn drops(&mut self) -> Option<u64>;

    /// What the kernel counted since the last time, where it counts.
    fn counts(&mut self) -> Result<Option<Counts>, ReadError> {
        Ok(None)
    }

    /// The end was asked for: from here on nothing more need be seen.
    fn leave(&mut self) {}
}

/// Why nothing more comes from an interface.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct ReadError(pub(super) String);

/// Why an interface cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// Not allowed.
    #[error(transparent)]
    Privilege(#[from] PrivilegeError),
    /// The source does not open it.
    #[error("cannot watch {device}: {reason}")]
    Open {
        /// Its name.
        device: String,
        /// The source's own words.
        reason: String,
    },
    /// Its frames start with something that a packet socket does not explain.
    #[error(
        "cannot watch {device} through raw: its hardware type is {hardware}, and raw reads Ethernet and plain IP; try \
        --source libpcap"
    )]
    Hardware {
        /// Its name.
        device: String,
        /// `ARPHRD_*` number.
        hardware: u16,
    },
    /// The filter makes no sense for its frames.
    #[error("the filter does not fit the frames of {device}: {reason}; see pcap-filter(7) for its language")]
    Filter {
        /// Its name.
        device: String,
        /// libpcap's words.
        reason: String,
    },
}

/// Opens everything that was chosen.
///
/// # Errors
/// [`WatchError`]: the first that cannot be opened.
pub fn open(choice: &Choice, settings: &Settings) -> Result<Vec<Opened>, WatchError> {
    match choice.kind {
        Kind::Xdp => super::privileges::require(&xdp::NEEDS)?,
        Kind::Libpcap | Kind::Raw => super::privileges::require(&[Capability::CAP_NET_RAW])?,
    }
    choice.devices.iter().map(|device| open_one(choice.kind, device, settings)).collect()
}

fn open_one(kind: Kind, device: &Device, settings: &Settings) -> Result<Opened, WatchError> {
    let (mut mode, mut notes) = (None, Vec::new());
    let (link_type, source): (_, Box<dyn Source>) = match kind {
        Kind::Xdp => {
            let (link_type, source, how, why) = xdp::Kernel::open(device, &settings.ways)?;
            (mode, notes) = (Some(how), why);
            (link_type, Box::new(source))
        }
        #[cfg(feature = "libpcap")]
        Kind::Libpcap => {
            let (link_type, source) = libpcap::Libpcap::open(device, settings)?;
            (link_type, Box::new(source))
        }
        #[cfg(not(feature = "libpcap"))]
        Kind::Libpcap => {
            let reason = super::choose::NoChoice::NotBuiltIn.to_string();
            return Err(WatchError::Open { device: device.name.clone(), reason });
        }
        Kind::Raw => {
            let (link_type, source) = raw::Raw::open(device, settings)?;
            (link_type, Box::new(source))
        }
    };
    let name = Some(device.name.as_str().into());
    // Of connection management all is kept, of everything else less.
    let snaplen = if kind == Kind::Xdp { Head::FRAME_CM as u32 } else { settings.snaplen };
    let interface = Interface { link_type, snaplen, name };
    Ok(Opened { device: device.clone(), interface, kind, mode, notes, source })
}

/// The devices that libpcap lists; `None` where it is not built in.
#[must_use]
pub fn libpcap_devices() -> Option<Vec<String>> {
    #[cfg(feature = "libpcap")]
    return Some(libpcap::devices());
    #[cfg(not(feature = "libpcap"))]
    None
}
