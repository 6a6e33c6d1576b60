//! Figures that are the ratio of others: the report has integers only, a bound is often a share.

/// A share: what its parts sum up to, of what.
#[derive(Debug)]
pub(super) struct Share {
    /// Its name, as if the report had it.
    pub(super) name: &'static str,
    /// What is counted: fields of the same part of the report.
    pub(super) part: &'static [&'static str],
    /// What it is counted among.
    pub(super) whole: &'static [&'static str],
    /// In words, for the list of figures.
    pub(super) what: &'static str,
}

/// All of them. A share of nothing is not known.
pub(super) static SHARES: &[Share] = &[
    Share {
        name: "totals.ecn.ce_share",
        part: &["ecn.ce"],
        // Only these can be marked (RFC 3168, section 5).
        whole: &["ecn.ect0", "ecn.ect1", "ecn.ce"],
        what: "marked frames among those that a queue can mark",
    },
    Share {
        name: "totals.ecn.capable_share",
        part: &["ecn.ect0", "ecn.ect1", "ecn.ce"],
        whole: &["ecn.not_ect", "ecn.ect0", "ecn.ect1", "ecn.ce"],
        what: "RoCE frames that a queue can mark",
    },
    Share {
        name: "totals.icrc.bad_share",
        part: &["icrc.bad"],
        whole: &["icrc.ok", "icrc.bad"],
        what: "damaged frames among those whose ICRC could be checked",
    },
    Share { name: "flow.ce_share", part: &["ce"], whole: &["packets"], what: "packets of the flow marked CE" },
    Share {
        name: "flow.story.retransmissions.share",
        part: &["story.retransmissions.total"],
        whole: &["requests.packets"],
        what: "repeats among the request packets seen",
    },
    Share {
        name: "flow.story.loss.share",
        part: &["story.lost_before_tap", "story.lost_after_tap"],
        // What was lost before the tap was sent, but is not among the packets seen.
        whole: &["requests.packets", "story.lost_before_tap"],
        what: "requests certainly lost among those sent; what may be late is not in it",
    },
];
