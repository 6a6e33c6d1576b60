//! `lint`: rustfmt, clippy, and the house rules that no compiler checks.

mod captures;
mod dependencies;
mod source;
mod systems;
mod walls;

use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::sh;

/// A house check: the faults it finds, each a line that says where and what to do.
type Check = fn(&Path) -> Result<Vec<String>>;

const CHECKS: &[(&str, Check)] = &[
    ("files stay under 500 lines", source::length),
    ("lines stay within 120 letters", source::width),
    ("no unfinished marks", source::marks),
    ("who may use whom", walls::check),
    ("one dependency table", dependencies::check),
    ("every capture has its truth", captures::check),
    ("every system that is cited is listed", systems::check),
];

pub(crate) fn run(args: &[String]) -> Result<bool> {
    if !args.is_empty() {
        bail!("lint takes no arguments");
    }
    let rules = house(&sh::root())?;
    let fmt = step(&["fmt", "--all", "--check"])? & step(&["fmt", "--manifest-path", "fuzz/Cargo.toml", "--check"])?;
    let clippy: Vec<String> = ["clippy".into(), "--quiet".into(), "--all-targets".into()]
        .into_iter()
        .chain(scope())
        .chain(sh::features().iter().map(|f| (*f).to_owned()))
        .chain(["--".into(), "-D".into(), "warnings".into()])
        .collect();
    let clippy: Vec<&str> = clippy.iter().map(String::as_str).collect();
    Ok(rules & fmt && step(&clippy)?)
}

/// What "the whole workspace" means to cargo: all members but the kernel programs, which another compiler builds.
pub(crate) fn scope() -> Vec<String> {
    let ebpf = manifest(&sh::root().join("Cargo.toml")).is_ok_and(|m| {
        let members = m.get("workspace").and_then(|w| w.get("members")).and_then(toml::Value::as_array);
        members.is_some_and(|list| list.iter().any(|member| member.as_str() == Some("rocetop-ebpf")))
    });
    let mut scope = vec!["--workspace".to_owned()];
    if ebpf {
        scope.extend(["--exclude".to_owned(), "rocetop-ebpf".to_owned()]);
    }
    scope
}

fn step(args: &[&str]) -> Result<bool> {
    let good = sh::run(sh::cargo().args(args))?;
    if !good {
        println!("failed. To run it again: cargo {}", args.join(" "));
    }
    Ok(good)
}

fn house(root: &Path) -> Result<bool> {
    let mut good = true;
    for (rule, check) in CHECKS {
        let faults = check(root)?;
        if !faults.is_empty() {
            println!("house rule broken: {rule}");
        }
        for fault in &faults {
            println!("  {fault}");
        }
        good &= faults.is_empty();
    }
    Ok(good)
}

/// A manifest, parsed.
fn manifest(path: &Path) -> Result<toml::Table> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    toml::from_str(&text).with_context(|| format!("{} is no TOML", path.display()))
}

/// The manifests of the members, each with the member's folder as the workspace names it.
fn members(root: &Path) -> Result<Vec<(String, toml::Table)>> {
    let workspace = manifest(&root.join("Cargo.toml"))?;
    let list = workspace.get("workspace").and_then(|w| w.get("members")).and_then(toml::Value::as_array);
    let folders = list.context("the root manifest lists no members")?.iter().filter_map(toml::Value::as_str);
    folders.map(|folder| Ok((folder.to_owned(), manifest(&root.join(folder).join("Cargo.toml"))?))).collect()
}

/// Every dependency that a manifest names: for all kinds and all targets.
fn dependencies_of(manifest: &toml::Table) -> Vec<(String, toml::Value)> {
    let kinds = ["dependencies", "dev-dependencies", "build-dependencies"];
    let targets = manifest.get("target").and_then(toml::Value::as_table).into_iter().flatten();
    let tables = std::iter::once(manifest).chain(targets.filter_map(|(_, target)| target.as_table()));
    let mut found = Vec::new();
    for table in tables {
        for kind in kinds {
            let list = table.get(kind).and_then(toml::Value::as_table).into_iter().flatten();
            found.extend(list.map(|(name, value)| (name.clone(), value.clone())));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_of_every_kind_are_seen() {
        let manifest: toml::Table = toml::from_str(
            "[dependencies]\na = '1'\n[dev-dependencies]\nb.workspace = true\n\
             [target.'cfg(unix)'.dependencies]\nc = '2'",
        )
        .unwrap();
        let names: Vec<String> = dependencies_of(&manifest).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["a", "b", "c"]);
    }
}
