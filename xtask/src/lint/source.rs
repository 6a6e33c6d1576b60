//! Rules about source files: their length and what they must not contain.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::sh;

/// A file has fewer lines than this.
const LIMIT: usize = 500;
/// A line has no more letters: rustfmt leaves comments and texts as they are.
const WIDTH: usize = 120;

/// What must not stand in a source file. Written in two parts, so that this file does not break its own rule.
const MARKS: &[(&str, &str)] = &[
    (concat!("todo", "!"), "finish it, or return an error that says what is missing"),
    (concat!("unimplemented", "!"), "finish it, or return an error that says what is missing"),
    (concat!("#[", "ignore"), "a test runs, or it goes"),
    (concat!("allow(", "dead_code"), "code that nobody calls goes"),
];

pub(super) fn length(root: &Path) -> Result<Vec<String>> {
    each(root, |name, text| {
        let lines = text.lines().count();
        (lines >= LIMIT).then(|| format!("{name}: {lines} lines; split it by subject")).into_iter().collect()
    })
}

pub(super) fn width(root: &Path) -> Result<Vec<String>> {
    each(root, |name, text| {
        let wide = (1..).zip(text.lines()).filter(|(_, line)| line.chars().count() > WIDTH);
        wide.map(|(number, _)| format!("{name}:{number}: longer than {WIDTH} letters; wrap it")).collect()
    })
}

pub(super) fn marks(root: &Path) -> Result<Vec<String>> {
    each(root, |name, text| {
        let mut faults = Vec::new();
        for (number, line) in text.lines().enumerate() {
            for (mark, advice) in MARKS.iter().filter(|(mark, _)| line.contains(mark)) {
                faults.push(format!("{name}:{}: `{mark}`: {advice}", number + 1));
            }
        }
        faults
    })
}

pub(super) fn each(root: &Path, mut check: impl FnMut(&str, &str) -> Vec<String>) -> Result<Vec<String>> {
    let mut files = Vec::new();
    walk(root, &mut files)?;
    files.sort();
    let mut faults = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        faults.extend(check(&name, &text));
    }
    Ok(faults)
}

/// Every .rs file below a folder, but for hidden folders and what cargo built (it marks these as caches).
fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    if folder.join("CACHEDIR.TAG").exists() {
        return Ok(());
    }
    for entry in std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() && !path.is_symlink() && !sh::name(&path).starts_with('.') {
            walk(&path, files)?;
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_long_files_wide_lines_and_marks() {
        let folder = std::env::temp_dir().join(format!("xtask-source-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("deep")).unwrap();
        std::fs::write(folder.join("deep/long.rs"), "\n".repeat(LIMIT)).unwrap();
        std::fs::write(folder.join("short.rs"), format!("{}fn f() {{ {}() }}\n", "\n".repeat(9), MARKS[0].0)).unwrap();
        std::fs::write(folder.join("wide.rs"), format!("{0}\n{0}-\n", "-".repeat(WIDTH))).unwrap();
        let (long, wide) = (length(&folder).unwrap(), width(&folder).unwrap());
        let marked = marks(&folder).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(long, ["deep/long.rs: 500 lines; split it by subject"]);
        assert_eq!(wide, ["wide.rs:2: longer than 120 letters; wrap it"]);
        assert!(marked.len() == 1 && marked[0].starts_with("short.rs:10:"), "{marked:?}");
    }
}
