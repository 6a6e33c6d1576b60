//! Who may use whom: the walls that keep I/O out of the core.

use std::path::Path;

use anyhow::Result;

use super::{dependencies_of, members};

/// Each crate of the house, by its folder, and the crates of the house that it may use.
const WALLS: &[(&str, &[&str])] = &[
    ("parsers", &[]),
    ("analysis", &["parsers"]),
    ("model", &["parsers"]),
    ("rocetop", &["parsers", "analysis", "model"]),
    ("rocetop-ebpf", &["parsers"]),
    ("xtask", &[]),
];

pub(super) fn check(root: &Path) -> Result<Vec<String>> {
    Ok(faults(&members(root)?))
}

fn faults(members: &[(String, toml::Table)]) -> Vec<String> {
    let mut faults = Vec::new();
    let name_of = |manifest: &toml::Table| {
        let name = manifest.get("package").and_then(|p| p.get("name")).and_then(toml::Value::as_str);
        name.unwrap_or_default().to_owned()
    };
    for (folder, manifest) in members {
        let Some((_, may_use)) = WALLS.iter().find(|(crate_folder, _)| crate_folder == folder) else {
            faults.push(format!("{folder}: a crate that the table of walls does not know; say there whom it may use"));
            continue;
        };
        for (dependency, value) in dependencies_of(manifest) {
            let package = value.get("package").and_then(toml::Value::as_str).unwrap_or(&dependency);
            let Some((used, _)) = members.iter().find(|(_, other)| name_of(other) == package) else { continue };
            if !may_use.contains(&used.as_str()) {
                let list = if may_use.is_empty() { "no crate of the house".to_owned() } else { may_use.join(", ") };
                faults.push(format!("{folder} uses {used}; it may use {list}"));
            }
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(folder: &str, name: &str, rest: &str) -> (String, toml::Table) {
        (folder.to_owned(), toml::from_str(&format!("[package]\nname = '{name}'\n{rest}")).unwrap())
    }

    #[test]
    fn a_hole_in_a_wall_is_found() {
        let parsers = member("parsers", "rocetop-parsers", "");
        let good = member("analysis", "rocetop-analysis", "[dependencies]\nrocetop-parsers.workspace = true");
        assert!(faults(&[parsers.clone(), good.clone()]).is_empty());
        let bad =
            member("xtask", "xtask", "[dev-dependencies]\np = { package = 'rocetop-parsers', path = '../parsers' }");
        assert_eq!(faults(&[parsers, good, bad]), ["xtask uses parsers; it may use no crate of the house"]);
    }

    #[test]
    fn a_crate_that_nobody_placed_is_found() {
        assert_eq!(faults(&[member("extra", "extra", "")]).len(), 1);
    }
}
