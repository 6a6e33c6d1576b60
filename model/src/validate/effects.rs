//! Published effects: the directions, with the sizes that the model finds.

use super::Row;
use crate::effects::EFFECTS;

/// One row an effect.
pub(super) fn run() -> Vec<Row> {
    let row = |effect: &crate::effects::Effect| {
        let (measured, pass) = match (effect.run)() {
            Ok(found) => (found.text, found.holds),
            Err(error) => (error.to_string(), false),
        };
        Row { name: effect.name.to_owned(), target: effect.claim.to_owned(), measured, pass, how: "" }
    };
    EFFECTS.iter().map(row).collect()
}
