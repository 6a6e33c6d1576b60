//! Which captures of a folder are judged, and by what.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::{Case, compare, expect, sidecar, tshark as other};
use crate::sh;

fn captures(folder: &Path) -> Result<Vec<(String, PathBuf)>> {
    Ok(sh::files(folder)?.into_iter().filter_map(|file| Some((sh::capture_stem(&file)?, file))).collect())
}

/// Every capture with a NAME.toml beside it, and every capture that a lab sidecar of the folder describes.
pub(super) fn truths(folder: &Path) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    let mut lab = sidecar::folder(folder)?;
    for (stem, file) in captures(folder)? {
        let toml = folder.join(format!("{stem}.toml"));
        let wanted = if toml.is_file() {
            expect::read(&toml)?
        } else if let Some(entry) = lab.remove(&sh::name(&file)) {
            entry.answer()?
        } else {
            continue;
        };
        cases.push(Case { file, check: "truth", judge: Box::new(move |got| Ok(compare::answers(&wanted, got))) });
    }
    Ok(cases)
}

/// Every capture of the folder, each of which must show no loss, no repeats and no damage.
pub(super) fn clean(folder: &Path) -> Result<Vec<Case>> {
    let case = |(_, file)| Case { file, check: "clean", judge: Box::new(|got| Ok(compare::clean(got))) };
    Ok(captures(folder)?.into_iter().map(case).collect())
}

/// Every capture of the folder; tshark counts the opcodes a second time.
pub(super) fn tshark(folder: &Path) -> Result<Vec<Case>> {
    let case = |(_, file): (String, PathBuf)| {
        let asked = file.clone();
        Case { file, check: "tshark", judge: Box::new(move |got| Ok(compare::opcodes(&other::opcodes(&asked)?, got))) }
    };
    Ok(captures(folder)?.into_iter().map(case).collect())
}
