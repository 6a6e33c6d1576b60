//! Published effects: the directions, with the sizes that the model finds.

use super::Row;
use crate::scenario::SCENARIOS;

/// One row a scenario.
pub(super) fn run() -> Vec<Row> {
    let row = |scenario: &crate::scenario::Scenario| {
        let (measured, pass) = match (scenario.run)() {
            Ok(found) => (found.text, found.holds),
            Err(error) => (error.to_string(), false),
        };
        Row { name: scenario.name.to_owned(), target: scenario.claim.to_owned(), measured, pass, how: "" }
    };
    SCENARIOS.iter().map(row).collect()
}
