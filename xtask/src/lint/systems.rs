//! The systems that the model names by id: each that code cites is listed, and each that is listed is there.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result};

use super::source;

/// What a citation begins with. Written in two parts, so that this file cites nothing.
const CITE: &str = concat!("SYS", "TEMS ");

pub(super) fn check(root: &Path) -> Result<Vec<String>> {
    let model = root.join("model");
    let list = model.join("SYSTEMS.md");
    let list = std::fs::read_to_string(&list).with_context(|| format!("cannot read {}", list.display()))?;
    let mut cited = BTreeSet::new();
    source::each(&model, |_, text| {
        cited.extend(citations(text));
        Vec::new()
    })?;
    let mut faults = faults(&cited, &list);
    let named = list.split('`').skip(1).step_by(2).filter(|name| name.ends_with(".rs"));
    let gone = named.filter(|name| !model.join("src").join(name).is_file());
    faults.extend(gone.map(|name| format!("model/SYSTEMS.md: there is no model/src/{name}")));
    Ok(faults)
}

/// The ids that a text cites: a letter and a number.
fn citations(text: &str) -> impl Iterator<Item = String> {
    text.split(CITE).skip(1).map(|rest| rest.chars().take_while(char::is_ascii_alphanumeric).collect())
}

fn faults(cited: &BTreeSet<String>, list: &str) -> Vec<String> {
    let ids = list.lines().filter_map(|line| line.strip_prefix("| ")?.split(' ').next());
    let listed: BTreeSet<String> = ids.filter(|id| *id != "id").map(str::to_owned).collect();
    let lacking = cited.difference(&listed).map(|id| format!("model/SYSTEMS.md has no row {id}, which the code cites"));
    let idle = listed.difference(cited).map(|id| format!("model/SYSTEMS.md: nothing cites {id}"));
    lacking.chain(idle).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_and_citations_agree() {
        let text = format!("//! ECMP ({CITE}R1).\n/// ({CITE}C13): credits.");
        let cited: BTreeSet<String> = citations(&text).collect();
        assert_eq!(cited.iter().map(String::as_str).collect::<Vec<_>>(), ["C13", "R1"]);
        assert!(faults(&cited, "| id | what |\n|---|---|\n| R1 | a |\n| C13 | b |").is_empty());
        assert_eq!(faults(&cited, "| id | what |\n|---|---|\n| R1 | a |\n| R2 | b |").len(), 2);
    }
}
