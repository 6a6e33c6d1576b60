//! Published effects reproduced, one file an effect, named after its row of practice (R2: a routing row, F11: a fabric
//! row).
//!
//! A file's doc comment is the mechanism; its run gives the size that the model finds in the set-up described there,
//! and whether the published direction holds. Sizes are of that set-up and of no other.

mod f11_long_haul;
mod f12_mtu;
mod j2_straggler;
mod p6_deep_buffers;
mod r2_pinning;
mod r3_qp_scaling;
mod r4_by_packet;

/// A published effect.
#[derive(Clone, Copy, Debug)]
pub struct Effect {
    /// The name of its file.
    pub name: &'static str,
    /// What is published: the direction to be reproduced.
    pub claim: &'static str,
    /// Plays it.
    pub run: fn() -> Result<Found, Error>,
}

/// What a run of it found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The sizes, for people.
    pub text: String,
    /// Whether the direction is as published.
    pub holds: bool,
}

/// Why an effect could not be played: a fault of the model.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The fabric.
    #[error(transparent)]
    Topology(#[from] crate::topology::Error),
    /// The packet engine, or the fluid one.
    #[error(transparent)]
    Engine(#[from] crate::engine::Error),
    /// A run that did not come to its end.
    #[error("{0}")]
    Unfinished(&'static str),
}

/// Every effect, by the name of its file.
pub const EFFECTS: &[Effect] = &[
    f11_long_haul::EFFECT,
    f12_mtu::EFFECT,
    j2_straggler::EFFECT,
    p6_deep_buffers::EFFECT,
    r2_pinning::EFFECT,
    r3_qp_scaling::EFFECT,
    r4_by_packet::EFFECT,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_direction_holds() {
        let all = EFFECTS.iter().map(|effect| (effect.name, (effect.run)().unwrap()));
        let missed: Vec<_> = all.filter(|(_, found)| !found.holds).collect();
        assert!(missed.is_empty(), "{missed:#?}");
    }

    #[test]
    fn the_list_and_the_folder_agree() {
        let mut found: Vec<String> = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src/effects"))
            .unwrap()
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
            .filter(|name| name != "mod")
            .collect();
        found.sort();
        assert_eq!(found, EFFECTS.iter().map(|effect| effect.name).collect::<Vec<_>>());
    }
}
