//! NICs: queue pairs that cut messages into packets, acknowledge, notify, go back and give up.
//!
//! A queue pair is one direction: a sender at one host, its receiver at another. Packets are made when the cable is
//! free for them, never before: a host holds no queue of data.

pub(crate) mod domains;
pub mod ready;
pub(crate) mod receiver;
pub mod selective;
pub(crate) mod sender;
pub(crate) mod serve;

pub use ready::Receives;
pub use selective::Recovery;

use crate::units::{Bytes, Priority, Time};

/// What CNPs are counted by when their interval is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum CnpPer {
    /// Each queue pair.
    #[default]
    Qp,
    /// Each pair of addresses.
    Ip,
    /// The receiver's port.
    Port,
}

/// What can be set about NICs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Payload of a full packet.
    pub mtu: Bytes,
    /// Packets that one ACK speaks for; the last of a message, and what fills a window beyond a quarter, is always
    /// acknowledged.
    pub ack_every: u16,
    /// Traffic class of ACKs and NAKs; `None`: that of the data.
    pub ack_priority: Option<Priority>,
    /// Traffic class of CNPs.
    pub cnp_priority: Priority,
    /// The shortest time between two CNPs.
    pub cnp_interval: Time,
    /// What that interval is kept by.
    pub cnp_per: CnpPer,
    /// How long a sender waits for an acknowledgement.
    pub timeout: Time,
    /// How often it tries again before the queue pair breaks (IBTA: a count of three bits).
    pub retries: u8,
    /// How a loss is made good.
    pub recovery: Recovery,
    /// Receives that messages need, as SENDs do; `None`: they need none, as WRITEs. Not with selective repeat.
    pub receives: Option<Receives>,
    /// How much later than its pace a packet may go, and than its start a message: drawn for each by a hash (SYSTEMS
    /// C6: 49 ns), so that senders which are in step do not meet. Rates stay what they are.
    pub jitter: Time,
}

impl Default for Settings {
    /// 4 KiB packets with an ACK each; CNPs in priority 6, one in 50 us for a queue pair (SIGCOMM 2015);
    /// a time-out of 4.096 us x 2^14 = 67 ms and seven retries, as common libraries set them (IBTA 9.7.6.1.3).
    fn default() -> Self {
        Self {
            mtu: Bytes(4096),
            ack_every: 1,
            ack_priority: None,
            cnp_priority: Priority::new(6),
            cnp_interval: Time::us(50),
            cnp_per: CnpPer::Qp,
            timeout: Time::ns(4_096 << 14),
            retries: 7,
            recovery: Recovery::GoBackN,
            receives: None,
            jitter: Time::ZERO,
        }
    }
}
