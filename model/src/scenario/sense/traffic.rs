//! `[[traffic]]`: what a host's cable carries, and what comes before the run ends.

use super::Sense;
use crate::collective;
use crate::scenario::traffic::{Kind, Traffic};

impl Sense<'_, '_> {
    pub(super) fn traffic(&self, at: &str, traffic: &Traffic) {
        let path = |key: &str| format!("{at}.{key}");
        let until = self.scenario.until;
        if traffic.start >= until {
            self.refuse(&[&path("start"), at], format!("nothing is sent before the run ends at {until} ([run] until)"));
        }
        self.fits_line(&[(&path("limit"), traffic.limit)]);
        self.printable(&path("name"), &traffic.name, &[]);
        match &traffic.kind {
            Kind::Background { rate, time, .. } => {
                self.at_most(&[&path("rate")], *rate, self.line, ", the rate of a host's cable");
                self.at_most(&[&path("rate")], *rate, traffic.limit, ", which is limit");
                self.finite(&[(&path("time"), *time)]);
            }
            Kind::Poisson { arrivals, .. } => {
                self.at_most(&[&path("load_percent")], arrivals.percent, 100, ": no cable carries more");
            }
            Kind::Collective { shape, .. } => {
                self.at_most(&[&path("pieces")], shape.pieces, collective::MOST_PIECES, "");
                if shape.inside.is_some() && shape.per_server < 2 {
                    self.refuse(&[&path("inside")], "no ranks share a server; say how many do in per_server");
                }
            }
            Kind::Flow { .. } | Kind::Permutation(_) | Kind::File { .. } => {}
        }
    }
}
