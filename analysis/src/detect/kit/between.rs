//! What several taps tell, in the words of findings.

use super::words::{count, counted, time};
use crate::detect::Evidence;
use crate::taps::{Place, Told};

impl Evidence {
    /// With what was lost between the taps, where there are several that cover the flow.
    pub(in crate::detect) fn with_taps(self, told: Option<&Told>) -> Self {
        let Some(told) = told else { return self };
        let evidence = self.with_harm("requests_lost_between_taps", told.requests);
        let evidence = match told.answers {
            Some(answers) => evidence.with("answers_lost_between_taps", answers),
            None => evidence,
        };
        let Some(outage) = &told.outage else { return evidence };
        let evidence = evidence.with("lost_in_a_row", outage.packets);
        match outage.lasted() {
            Some(ns) => evidence.with("lost_in_a_row_ns", ns),
            None => evidence,
        }
    }
}

/// Where it was lost: `Lost between a.pcap and b.pcap: 27.`
pub(in crate::detect) fn lost_between(places: &[Place]) -> String {
    let place = |place: &Place| format!("between {} and {}: {}", place.from, place.to, count(place.lost));
    format!("Lost {}.", places.iter().map(place).collect::<Vec<_>>().join(", "))
}

/// Where requests were lost, and how many in a row.
pub(in crate::detect) fn whereabouts(told: &Told) -> String {
    let text = lost_between(&told.places);
    let Some(outage) = &told.outage else { return text };
    let lasted = outage.lasted().map_or("to the end".to_owned(), |ns| format!("within {}", time(ns)));
    format!("{text} The longest row: {}, {lasted}.", counted(outage.packets, "packet"))
}
