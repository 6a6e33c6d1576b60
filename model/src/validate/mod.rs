//! The model against what is known: closed forms and published figures, one file a subject.
//!
//! Every check measures something in a run and sets it beside a target that does not come from the model.
//! `cargo xtask validate` prints the whole table; its exit code says whether all of it holds.

mod dcqcn;
mod headroom;
mod incast;
mod scenarios;

/// One line of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What was looked at.
    pub name: String,
    /// What it should be, and by whose word.
    pub target: String,
    /// What the model does.
    pub measured: String,
    /// Whether that will do.
    pub pass: bool,
}

/// A subject: its name, and what measures it.
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    /// The name of its file.
    pub name: &'static str,
    /// Measures it. Takes seconds to minutes in a release build.
    pub run: fn() -> Vec<Row>,
}

/// Every subject.
pub const SUBJECTS: &[Subject] = &[
    Subject { name: "dcqcn", run: dcqcn::run },
    Subject { name: "headroom", run: headroom::run },
    Subject { name: "incast", run: incast::run },
    Subject { name: "scenarios", run: scenarios::run },
];

/// Mean and standard deviation; zeros for nothing.
fn spread(values: &[f64]) -> (f64, f64) {
    let n = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / n;
    let square = values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / n;
    (mean, square.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_of_three() {
        assert_eq!(spread(&[1.0, 3.0, 5.0, 3.0]), (3.0, 2.0_f64.sqrt()));
        assert_eq!(spread(&[]), (0.0, 0.0));
    }

    #[test]
    fn the_list_and_the_folder_agree() {
        let mut found: Vec<String> = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src/validate"))
            .unwrap()
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
            .filter(|name| name != "mod")
            .collect();
        found.sort();
        assert_eq!(found, SUBJECTS.iter().map(|subject| subject.name).collect::<Vec<_>>());
    }
}
