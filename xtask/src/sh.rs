//! What the commands share: where things are, running a step, building `rocetop`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::needs;

/// The folder that holds the workspace.
pub(crate) fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    here.parent().map(Path::to_path_buf).unwrap_or(here)
}

/// The cargo that runs us.
pub(crate) fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root());
    cargo
}

/// A command's standard output, as text; an error when it fails.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let done = command.stderr(Stdio::inherit()).output().with_context(|| format!("cannot start {name}"))?;
    if !done.status.success() {
        bail!("{name} failed ({})", done.status);
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

/// Runs a command to its end with our own output; whether it succeeded.
pub(crate) fn run(command: &mut Command) -> Result<bool> {
    let name = command.get_program().to_string_lossy().into_owned();
    Ok(command.status().with_context(|| format!("cannot start {name}"))?.success())
}

/// Where cargo builds to.
pub(crate) fn target() -> Result<PathBuf> {
    let text = output(cargo().args(["metadata", "--no-deps", "--format-version", "1"]))?;
    let metadata: serde_json::Value = serde_json::from_str(&text).context("cargo metadata")?;
    let folder =
        metadata.get("target_directory").and_then(|v| v.as_str()).context("cargo names no target directory")?;
    Ok(folder.into())
}

/// Cargo's flags for what this machine has: without libpcap's headers its filters are left out, said in one sentence.
pub(crate) fn features() -> &'static [&'static str] {
    if needs::pcap_headers() {
        return &[];
    }
    eprintln!("libpcap's headers are not here, so rocetop is built without its filters (-f); all else works.");
    &["--no-default-features"]
}

/// Builds `rocetop` in release and names the binary.
pub(crate) fn rocetop() -> Result<PathBuf> {
    build("release")
}

/// The same for a first look: not optimised, so that it is built soon.
pub(crate) fn rocetop_soon() -> Result<PathBuf> {
    build("demo")
}

fn build(profile: &str) -> Result<PathBuf> {
    if !run(cargo().args(["build", "--quiet", "--profile", profile, "--package", "rocetop"]).args(features()))? {
        bail!("rocetop does not build");
    }
    Ok(target()?.join(profile).join("rocetop"))
}

/// Whether a program can be found.
pub(crate) fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// The files of a folder, sorted by name.
pub(crate) fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read the folder {}", folder.display()))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// The last part of a path, as text.
pub(crate) fn name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// NAME of a capture called NAME.pcap, NAME.pcapng, or one of these compressed (NAME.pcap.gz); `None` for other files.
pub(crate) fn capture_stem(path: &Path) -> Option<String> {
    let name = name(path);
    let (stem, rest) = name.rsplit_once(".pcap")?;
    matches!(rest, "" | "ng" | ".gz" | ".zst" | ".xz" | "ng.gz" | "ng.zst" | "ng.xz").then(|| stem.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captures_are_told_from_their_company() {
        assert_eq!(capture_stem(Path::new("a/b.e1.pcap")).as_deref(), Some("b.e1"));
        assert_eq!(capture_stem(Path::new("b.e1.pcapng")).as_deref(), Some("b.e1"));
        assert_eq!(capture_stem(Path::new("b.pcap.zst")).as_deref(), Some("b"));
        assert_eq!(capture_stem(Path::new("b.toml")), None);
        assert_eq!(capture_stem(Path::new("b.pcap.toml")), None);
    }
}
