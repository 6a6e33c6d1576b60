//! A story in the shape of the report contract.

use serde::Serialize;

use crate::report::FrameRef;

/// The end of the path that the tap stands at, as seen from the requester (`src`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Near {
    /// The requester's: what is lost of its requests is lost behind the tap.
    Src,
    /// The responder's.
    Dst,
    /// Somewhere on the way: requests are lost before the tap and behind it.
    Between,
    /// The packets do not tell.
    #[default]
    Unknown,
}

/// Why a request was sent again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// A NAK for a PSN sequence error asked for it.
    Nak,
    /// No answer came in time.
    Timeout,
    /// The receiver was not ready.
    Rnr,
    /// What is left of a READ was asked for again.
    ReadReissue,
    /// The packets do not tell: the other direction was not seen, or the network made the copy.
    #[default]
    Unknown,
}

/// How the sender recovers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Recovery {
    /// It sends everything again from the packet that was lost.
    GoBackN,
    /// It sends only what was lost.
    Selective,
    /// It sent again what a NAK asked for, and nothing shows whether it would have gone on from there.
    Unknown,
    /// It was never seen to recover.
    #[default]
    NoneSeen,
}

/// What an episode was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Requests were lost between the requester and the tap.
    LostBeforeTap,
    /// Requests were lost or late: one tap cannot tell these two apart. At the requester's end, behind the tap.
    LostOrLate,
    /// Requests arrived in another order than they were sent in.
    Reordered,
    /// The network delivered a request twice.
    DuplicatedByNetwork,
    /// The answer was lost; the requests were not.
    AckLost,
    /// A timeout: either the request or its answer was lost or late.
    RequestOrAckLost,
    /// A timeout about a request that a NAK had named as missing: that, or its repeat, was lost or late.
    RequestLost,
    /// A READ or atomic response was lost.
    ResponseLost,
    /// A READ or atomic response was asked for again and may only have been late.
    ResponseLostOrLate,
    /// The capture lacks packets that the network delivered.
    MissedByCapture,
    /// The receiver was not ready and said so.
    Rnr,
    /// The requester's timer ran out before the answer could come; nothing was lost.
    EarlyTimeout,
    /// Nothing answered any more, to the end of the capture.
    Unanswered,
    /// A NAK that ends the queue pair.
    FatalNak,
    /// A repeat whose cause cannot be told from here.
    #[serde(rename = "unknown")]
    Unexplained,
}

/// Percentiles of a time, from 64 buckets: off by a sixteenth at most where all times lie within a factor of ten, by an
/// eighth within a hundred. Those of messages and round trips are exact to a hundredth in the sums and of a connection
/// in focus. Maximum and count are exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the contract names and explains them")]
pub struct Spread {
    pub count: u64,
    pub p50: u64,
    pub p99: u64,
    pub max: u64,
}

/// Repeated requests, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Retransmissions {
    /// All of them: `requests.seen_again`.
    pub total: u64,
    /// The parts of the total.
    pub by_cause: ByCause,
}

/// Counts by [`Cause`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "as the causes")]
pub struct ByCause {
    pub nak: u64,
    pub timeout: u64,
    pub rnr: u64,
    pub read_reissue: u64,
    pub unknown: u64,
}

/// What speaks for the place of the tap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct NearEvidence {
    /// Sequence errors about PSNs that had not passed the tap: lost or late before it.
    pub naks_for_unseen: u64,
    /// Sequence errors about PSNs that had passed the tap in order: lost or late behind it.
    pub naks_for_seen: u64,
    /// Routers that the requests had passed, by their TTL.
    pub request_hops: Option<u8>,
    /// Routers that the answers had passed.
    pub answer_hops: Option<u8>,
}

/// One episode of a story.
#[derive(Clone, Debug, Serialize)]
pub struct EpisodeReport {
    /// What it was.
    pub kind: Kind,
    /// Why the requester sent again, if it did.
    pub cause: Option<Cause>,
    /// When it began.
    pub first_ns: u64,
    /// When it was over.
    pub last_ns: u64,
    /// The frames that tell it: what showed it first, the NAK, the first repeat...
    pub frames: Vec<FrameRef>,
    /// First and last PSN concerned.
    pub psn: [u32; 2],
    /// Packets lost, late or missed.
    pub packets: u64,
    /// Requests sent again because of it.
    pub repeats: u64,
    /// Of timeouts: how long the oldest request without an answer had waited, since it was first sent, when the timer
    /// ran out for the first time. `None` where it was not seen.
    pub waited_ns: Option<u64>,
}

/// Sizes, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Sizes {
    /// Messages measured.
    pub count: u64,
    /// The smallest.
    pub min: u32,
    /// Their mean.
    pub mean: u64,
    /// The largest.
    pub max: u32,
}

/// The story of the requests that a flow carries.
#[derive(Clone, Debug, Default, Serialize)]
#[allow(missing_docs, reason = "the contract names and explains them")]
pub struct StoryReport {
    pub near: Near,
    pub near_evidence: NearEvidence,
    pub retransmissions: Retransmissions,
    pub lost_before_tap: u64,
    /// Certain losses behind the tap. One tap alone is never certain of these: they are in `lost_or_late`.
    pub lost_after_tap: u64,
    pub lost_or_late: u64,
    pub reordered: u64,
    /// Of those, the ones stamped before the packet that came ahead of them in the capture: by their stamps they were
    /// in order, so that the disorder may be the capturing host's.
    pub in_order_by_stamp: u64,
    pub duplicated_by_network: u64,
    pub lost_acks: u64,
    pub lost_responses: u64,
    pub missed_by_capture: u64,
    pub recovery: Recovery,
    pub nak_generation_ns: Spread,
    pub nak_reaction_ns: Spread,
    pub message_ns: Spread,
    pub rtt_ns: Spread,
    /// The requester's timer, in ns: the largest value of 4.096 us x 2^t (IBTA 9.7.6.1.3) that is no longer than the
    /// shortest time between two tries.
    pub timeout_ns: Option<u64>,
    /// That time, in ns: from one sending of a request again to the next, where no answer came in between.
    pub tries_apart_ns: Option<u64>,
    /// Times from one of these tries to the next grew, as those of a timer that doubles.
    #[serde(skip)]
    pub tries_grow: bool,
    /// The shortest time, in ns, that a request waited which was sent while one before it waited: a timer was running.
    #[serde(skip)]
    pub waited_behind_ns: Option<u64>,
    /// Times that the requester's timer ran out.
    pub timeouts: u64,
    pub rnr_timer_us: Option<u64>,
    /// Times that the receiver was not ready.
    pub rnr_waits: u64,
    /// The last RNR NAK was never followed by a repeat.
    pub rnr_unresolved: bool,
    pub stall_ns: u64,
    /// The longest time before a request in which neither a request of this flow nor an answer to one came by.
    pub silence_ns: u64,
    /// That request; `None` where no time passed before any.
    pub silence_before: Option<FrameRef>,
    /// Most request PSNs that were out without an answer.
    pub most_in_flight: u32,
    /// Payload of the requests without repeats (of a READ what it asks for) over the time from the first packet to the
    /// last, in millions of bits a second; `None` where that took no time.
    pub goodput_mbps: Option<u64>,
    /// The same in bits a second.
    pub goodput_bps: Option<u64>,
    /// Messages that the responder said to have completed between its first answer seen and the last (the MSN's
    /// progress).
    pub messages_completed: Option<u32>,
    /// Sizes of the messages whose first and last packet were seen, and of what READs ask for; `None` for none.
    pub message_size: Option<Sizes>,
    /// The fewest further receive requests that the responder ever told to have; `None` where it sets no limit.
    pub credits_least: Option<u32>,
    /// Highest PSN acknowledged, if any was.
    pub last_acked_psn: Option<u32>,
    /// Retries of the last request that no answer came for by the end of the capture: it was sent once more than that.
    /// 0 where it was answered or sent once.
    pub unanswered_tries: u32,
    /// When the oldest request was sent that asks for an answer and had none by the end of the capture; `None` where
    /// all had one, or no answer was seen at all.
    pub unanswered_since_ns: Option<u64>,
    /// Sequence errors sent again for a hole that was open already (IBTA 9.7.5.2: one NAK a hole).
    pub naks_repeated: u64,
    /// Restarts after a sequence error at another PSN than the one that it names.
    pub restarts_elsewhere: u64,
    pub episodes: Vec<EpisodeReport>,
    /// Episodes beyond those listed.
    pub more_episodes: u64,
    /// When the first of these began: what began before is listed. `None` where all are.
    pub listed_until_ns: Option<u64>,
    /// Requests that the responder acknowledged and that did not come by here: the capture missed them, or they had
    /// passed before it began. They are in no other count of the story.
    pub missed_or_before: u64,
}
