//! Connection management: who tells whom which queue pair, PSN and MTU a connection has (IBTA chapter 12).
//!
//! One file a message. Each is decoded into a small struct: a message is looked at once a connection, and its fields
//! outlive the frame. Userland only.

pub mod drep;
pub mod dreq;
pub mod ip_cm;
pub mod mra;
pub mod rej;
pub mod rep;
pub mod req;
pub mod rtu;
pub mod sidr_rep;
pub mod sidr_req;

use core::fmt;

use crate::cut::{Cut, Layer};
use crate::ib::be;
use crate::ib::mad::{Mad, MadClass, TransactionId};
use crate::units::{Bytes, Nanos};
use crate::window::Window;

use drep::Drep;
use dreq::Dreq;
use mra::Mra;
use rej::Rej;
use rep::Rep;
use req::Req;
use rtu::Rtu;
use sidr_rep::SidrRep;
use sidr_req::SidrReq;

/// The number that one end calls a connection by. Its bytes have no order of their own; shown as they are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(transparent)]
pub struct CommId(pub u32);

impl fmt::Display for CommId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#010x}", self.0)
    }
}

/// The service that a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(transparent)]
pub struct ServiceId(pub u64);

impl ServiceId {
    /// The prefix of the RDMA IP CM service, over a protocol (8 bits) and a port (16 bits) (IBTA annex A11).
    const IP: u64 = 0x01;

    /// Whether it is one of the RDMA connection manager's, with an IP-CM header in the private data.
    #[must_use]
    pub const fn is_ip(self) -> bool {
        self.0 >> 24 == Self::IP
    }

    /// The protocol number whose port space it is (6 TCP, 17 UDP), for an [`is_ip`](Self::is_ip) one.
    #[must_use]
    pub const fn protocol(self) -> Option<u8> {
        if self.is_ip() { Some((self.0 >> 16) as u8) } else { None }
    }

    /// The port that the service listens on, for an [`is_ip`](Self::is_ip) one.
    #[must_use]
    pub const fn port(self) -> Option<u16> {
        if self.is_ip() { Some(self.0 as u16) } else { None }
    }
}

impl fmt::Display for ServiceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.protocol(), self.port()) {
            (Some(6), Some(port)) => write!(f, "tcp port {port}"),
            (Some(17), Some(port)) => write!(f, "udp port {port}"),
            _ => write!(f, "{:#018x}", self.0),
        }
    }
}

/// A path MTU as its code on the wire (IBTA table 106). Unknown values are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(transparent)]
pub struct PathMtu(pub u8);

impl PathMtu {
    /// Bytes of payload in a packet: 256, 512, 1024, 2048 or 4096; `None` for a reserved code.
    #[must_use]
    pub const fn bytes(self) -> Option<Bytes> {
        match self.0 {
            1..=5 => Some(Bytes(128 << self.0)),
            _ => None,
        }
    }
}

impl fmt::Display for PathMtu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bytes() {
            Some(Bytes(n)) => n.fmt(f),
            None => write!(f, "code {}", self.0),
        }
    }
}

/// The time that a 5-bit exponent stands for: 4.096 us times two to its power (IBTA 9.7.6.1.3). For the local ACK
/// timeout 0 means for ever, hence `None`.
#[must_use]
pub const fn timeout(exponent: u8) -> Option<Nanos> {
    match exponent & 0x1f {
        0 => None,
        exponent => Some(Nanos(4096 << exponent)),
    }
}

/// The attribute id of a connection management datagram (IBTA 16.7.3; Linux `cm_msgs.h`). Unknown values are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Attribute(pub u16);

#[allow(missing_docs, reason = "each name is the message's own")]
impl Attribute {
    pub const REQ: Self = Self(0x10);
    pub const MRA: Self = Self(0x11);
    pub const REJ: Self = Self(0x12);
    pub const REP: Self = Self(0x13);
    pub const RTU: Self = Self(0x14);
    pub const DREQ: Self = Self(0x15);
    pub const DREP: Self = Self(0x16);
    pub const SIDR_REQ: Self = Self(0x17);
    pub const SIDR_REP: Self = Self(0x18);
    pub const LAP: Self = Self(0x19);
    pub const APR: Self = Self(0x1a);
}

impl fmt::Display for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match *self {
            Self::REQ => "REQ",
            Self::MRA => "MRA",
            Self::REJ => "REJ",
            Self::REP => "REP",
            Self::RTU => "RTU",
            Self::DREQ => "DREQ",
            Self::DREP => "DREP",
            Self::SIDR_REQ => "SIDR_REQ",
            Self::SIDR_REP => "SIDR_REP",
            Self::LAP => "LAP",
            Self::APR => "APR",
            Self(other) => return write!(f, "CM {other:#06x}"),
        })
    }
}

/// A message that is not taken apart: alternate paths (LAP, APR), which RoCE does not use, and unknown ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raw {
    /// Transaction id of the datagram.
    pub transaction: TransactionId,
    /// Which message it is.
    pub attribute: Attribute,
    /// The first 32 bits: in LAP and APR the sender's number for the connection.
    pub local: CommId,
    /// The next 32 bits: in LAP and APR the receiver's number.
    pub remote: CommId,
}

impl fmt::Display for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} id {} peer {}", self.attribute, self.local, self.remote)
    }
}

/// A connection management message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each name is the message's own")]
#[allow(clippy::large_enum_variant, reason = "a request is the largest and the most frequent; nothing may allocate")]
pub enum CmMessage {
    Req(Req),
    Mra(Mra),
    Rej(Rej),
    Rep(Rep),
    Rtu(Rtu),
    Dreq(Dreq),
    Drep(Drep),
    SidrReq(SidrReq),
    SidrRep(SidrRep),
    Other(Raw),
}

impl CmMessage {
    /// The message in the management datagram at offset `at`; `None` when that is of another class.
    ///
    /// # Errors
    /// [`Cut`] when the header or the message's own fields are not all there. Private data may be missing.
    pub fn load<W: Window + ?Sized>(frame: &W, at: usize) -> Result<Option<Self>, Cut> {
        let mad = Mad::load(frame, at)?;
        if mad.class() != MadClass::CONNECTION {
            return Ok(None);
        }
        let (at, id) = (at + Mad::LEN, mad.transaction());
        Ok(Some(match Attribute(mad.attribute()) {
            Attribute::REQ => Self::Req(Req::load(frame, at, id)?),
            Attribute::MRA => Self::Mra(Mra::load(frame, at, id)?),
            Attribute::REJ => Self::Rej(Rej::load(frame, at, id)?),
            Attribute::REP => Self::Rep(Rep::load(frame, at, id)?),
            Attribute::RTU => Self::Rtu(Rtu::load(frame, at, id)?),
            Attribute::DREQ => Self::Dreq(Dreq::load(frame, at, id)?),
            Attribute::DREP => Self::Drep(Drep::load(frame, at, id)?),
            Attribute::SIDR_REQ => Self::SidrReq(SidrReq::load(frame, at, id)?),
            Attribute::SIDR_REP => Self::SidrRep(SidrRep::load(frame, at, id)?),
            attribute => {
                let b: [u8; 8] = frame.header(at, Layer::Cm)?;
                let (local, remote) = (CommId(be::get32::<0, 8>(&b)), CommId(be::get32::<4, 8>(&b)));
                Self::Other(Raw { transaction: id, attribute, local, remote })
            }
        }))
    }

    /// Transaction id of the datagram: the same in a request and its answers.
    #[must_use]
    pub const fn transaction(&self) -> TransactionId {
        match self {
            Self::Req(m) => m.transaction,
            Self::Mra(m) => m.transaction,
            Self::Rej(m) => m.transaction,
            Self::Rep(m) => m.transaction,
            Self::Rtu(m) => m.transaction,
            Self::Dreq(m) => m.transaction,
            Self::Drep(m) => m.transaction,
            Self::SidrReq(m) => m.transaction,
            Self::SidrRep(m) => m.transaction,
            Self::Other(m) => m.transaction,
        }
    }
}

impl fmt::Display for CmMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Req(m) => m.fmt(f),
            Self::Mra(m) => m.fmt(f),
            Self::Rej(m) => m.fmt(f),
            Self::Rep(m) => m.fmt(f),
            Self::Rtu(m) => m.fmt(f),
            Self::Dreq(m) => m.fmt(f),
            Self::Drep(m) => m.fmt(f),
            Self::SidrReq(m) => m.fmt(f),
            Self::SidrRep(m) => m.fmt(f),
            Self::Other(m) => m.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn datagram(class: MadClass, attribute: u16, body: &[u8]) -> [u8; Mad::WHOLE] {
        let mut bytes = [0; Mad::WHOLE];
        bytes[..Mad::LEN].copy_from_slice(&Mad::new(class, 2, Mad::SEND, attribute, TransactionId(9)).bytes());
        bytes[Mad::LEN..Mad::LEN + body.len()].copy_from_slice(body);
        bytes
    }

    #[test]
    fn reads_every_message() {
        for attribute in 0..0x30u16 {
            let bytes = datagram(MadClass::CONNECTION, attribute, &[0, 0, 0, 1, 0, 0, 0, 2]);
            let message = CmMessage::load(&bytes[..], 0).unwrap().unwrap();
            let raw = !(0x10..=0x18).contains(&attribute);
            assert_eq!(matches!(message, CmMessage::Other(_)), raw);
            assert_eq!(message.transaction(), TransactionId(9));
            assert!(message.to_string().starts_with(&Attribute(attribute).to_string()));
            for had in 0..bytes.len() {
                let _ = CmMessage::load(&bytes[..had], 0);
            }
        }
        let lap = CmMessage::load(&datagram(MadClass::CONNECTION, 0x19, &[0, 0, 0, 1, 0, 0, 0, 2])[..], 0);
        assert_eq!(lap.unwrap().unwrap().to_string(), "LAP id 0x00000001 peer 0x00000002");
    }

    #[test]
    fn other_classes_are_not_for_us() {
        assert_eq!(CmMessage::load(&datagram(MadClass::PERFORMANCE, 0x10, &[])[..], 0), Ok(None));
    }

    #[test]
    fn mtu_and_timeout_codes() {
        assert_eq!([0, 1, 5, 6].map(|code| PathMtu(code).bytes()), [None, Some(Bytes(256)), Some(Bytes(4096)), None]);
        assert_eq!(PathMtu(9).to_string(), "code 9");
        assert_eq!(timeout(0), None);
        assert_eq!(timeout(14), Some(Nanos(67_108_864)));
    }

    #[test]
    fn services() {
        let tcp = ServiceId(0x0106_1c06);
        assert_eq!((tcp.protocol(), tcp.port()), (Some(6), Some(7174)));
        assert_eq!(ServiceId(0x1000_0000_0106_1c06).port(), None);
        assert_eq!(ServiceId(0x42).to_string(), "0x0000000000000042");
    }
}
