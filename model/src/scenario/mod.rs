//! Published effects reproduced, one file a scenario, named after its row of practice (R2: a routing row, F11: a fabric row).
//!
//! A file's doc comment is the mechanism; its run gives the size that the model finds in the set-up described there, and
//! whether the published direction holds. Sizes are of that set-up and of no other.

mod f11_long_haul;
mod f12_mtu;
mod j2_straggler;
mod p6_deep_buffers;
mod r2_pinning;
mod r3_qp_scaling;
mod r4_by_packet;

/// A published effect.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// The name of its file.
    pub name: &'static str,
    /// What is published: the direction to be reproduced.
    pub claim: &'static str,
    /// Plays it.
    pub run: fn() -> Result<Found, Error>,
}

/// What a scenario found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The sizes, for people.
    pub text: String,
    /// Whether the direction is as published.
    pub holds: bool,
}

/// Why a scenario could not be played: a fault of the model.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The fabric.
    #[error(transparent)]
    Topology(#[from] crate::topology::Error),
    /// The packet engine.
    #[error(transparent)]
    Engine(#[from] crate::engine::Error),
    /// The fluid engine.
    #[error(transparent)]
    Fluid(#[from] crate::fluid::Error),
    /// A run that did not come to its end.
    #[error("{0}")]
    Unfinished(&'static str),
}

/// Every scenario, by the name of its file.
pub const SCENARIOS: &[Scenario] = &[
    f11_long_haul::SCENARIO,
    f12_mtu::SCENARIO,
    j2_straggler::SCENARIO,
    p6_deep_buffers::SCENARIO,
    r2_pinning::SCENARIO,
    r3_qp_scaling::SCENARIO,
    r4_by_packet::SCENARIO,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_direction_holds() {
        let all = SCENARIOS.iter().map(|scenario| (scenario.name, (scenario.run)().unwrap()));
        let missed: Vec<_> = all.filter(|(_, found)| !found.holds).collect();
        assert!(missed.is_empty(), "{missed:#?}");
    }

    #[test]
    fn the_list_and_the_folder_agree() {
        let mut found: Vec<String> = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src/scenario"))
            .unwrap()
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
            .filter(|name| name != "mod")
            .collect();
        found.sort();
        assert_eq!(found, SCENARIOS.iter().map(|scenario| scenario.name).collect::<Vec<_>>());
    }
}
