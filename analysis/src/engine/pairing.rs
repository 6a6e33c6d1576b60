//! Which flow is the other direction of which: evidence with a grade, never a guess.

use rocetop_parsers::sport;
use rocetop_parsers::{Psn, Qpn};

use crate::flow::{Flow, Index, NONE};

/// The evidence that two flows are one connection, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// The CM exchange named both queue pairs.
    Cm,
    /// The UDP source ports are the hash of the two QP numbers, as Linux computes it.
    PortHash,
    /// Acknowledgements fall in the request window of this flow and of no other.
    Ack,
    /// Both directions use the same source port, and no other flow of these hosts does.
    Ports,
    /// Datagrams name their source QP.
    Ud,
    /// No other direction is known.
    #[default]
    Unpaired,
}

/// A flow's neighbours in the list of unpaired flows with the same addresses, and its best guess so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hunt {
    pub(crate) prev: Index,
    pub(crate) next: Index,
    /// The flow that the last answer pointed to alone.
    pub(crate) suspect: Index,
    /// How many different answers pointed there in a row.
    pub(crate) votes: u8,
    /// PSN of the latest of them.
    pub(crate) psn: Psn,
}

impl Default for Hunt {
    fn default() -> Self {
        Self { prev: NONE, next: NONE, suspect: NONE, votes: 0, psn: Psn::default() }
    }
}

/// Answers that must agree, each with a PSN of its own: they follow one flow as it moves on (chosen: a stranger agrees
/// once by chance, hardly three times).
pub(crate) const VOTES: u8 = 3;

/// Whether the source ports of the two directions are the hash of their queue pair numbers.
///
/// Either the symmetric fold of both QPNs that connected QPs have had since Linux 5.8
/// (`rdma_calc_flow_label`), or rxe's own hash of the sender's QPN, which must hold both ways.
pub(crate) fn ports_verify(a: &Flow, b: &Flow) -> bool {
    hash_fits((only_port(a), a.key.qp()), (only_port(b), b.key.qp()))
}

/// [`ports_verify`] by the only source port and the destination QPN of each.
pub(crate) fn hash_fits((port_a, to_a): (Option<u16>, Qpn), (port_b, to_b): (Option<u16>, Qpn)) -> bool {
    let (Some(port_a), Some(port_b)) = (port_a, port_b) else { return false };
    // A flow is named by its destination: a's QPN is b's destination.
    let (qp_a, qp_b) = (to_b, to_a);
    (port_a == port_b && port_a == sport::of_qps(qp_a, qp_b)) || own_hash(port_a, qp_a) && own_hash(port_b, qp_b)
}

fn own_hash(port: u16, qp: Qpn) -> bool {
    port == sport::of_rxe_source(qp)
}

/// The source port of a flow that has used one alone.
pub(crate) fn only_port(flow: &Flow) -> Option<u16> {
    match flow.headers.sports.values() {
        &[port] if !flow.headers.sports.more() => Some(port),
        _ => None,
    }
}
