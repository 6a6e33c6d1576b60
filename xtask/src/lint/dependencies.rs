//! One table for the whole house: every dependency is named once, default features off, with the reason it is here.

use std::path::Path;

use anyhow::{Context, Result};

use super::{dependencies_of, members};

pub(super) fn check(root: &Path) -> Result<Vec<String>> {
    let path = root.join("Cargo.toml");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut faults = table(&text)?;
    for (folder, manifest) in members(root)? {
        for (name, value) in dependencies_of(&manifest) {
            if value.get("workspace").and_then(toml::Value::as_bool) != Some(true) {
                faults.push(format!("{folder}: {name} is not taken from the table; write `{name}.workspace = true`"));
            }
        }
    }
    Ok(faults)
}

fn table(text: &str) -> Result<Vec<String>> {
    let manifest: toml::Table = toml::from_str(text).context("the root manifest is no TOML")?;
    let table = manifest.get("workspace").and_then(|w| w.get("dependencies")).and_then(toml::Value::as_table);
    let mut faults = Vec::new();
    for (name, value) in table.into_iter().flatten().filter(|(_, value)| value.get("path").is_none()) {
        if value.get("default-features").and_then(toml::Value::as_bool) != Some(false) {
            faults.push(format!("{name}: write `default-features = false` and name the features that are used"));
        }
        if !has_reason(text, name) {
            faults.push(format!("{name}: say in a comment on its line why it is here"));
        }
    }
    Ok(faults)
}

/// Whether the line that defines a dependency, or the line above it, carries a comment.
fn has_reason(text: &str, name: &str) -> bool {
    let mut above = "";
    for line in text.lines() {
        let defines = line.split_once('=').is_some_and(|(key, _)| key.trim() == name);
        if defines && line.trim_start().starts_with(name) {
            return line.contains(" # ") || above.trim_start().starts_with('#');
        }
        above = line;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_needs_both_features_off_and_a_reason() {
        let good = "[workspace.dependencies]\nhouse = { path = 'house' }\n\
                    a = { version = '1', default-features = false } # why\n";
        assert!(table(good).unwrap().is_empty());
        let bad = "[workspace.dependencies]\na = '1' # why\n\nb = { version = '1', default-features = false }\n";
        let faults = table(bad).unwrap();
        assert!(
            faults.len() == 2 && faults[0].starts_with("a: write") && faults[1].starts_with("b: say"),
            "{faults:?}"
        );
    }
}
