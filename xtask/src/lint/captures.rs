//! The bundled captures: each beside its truth, all of them small.

use std::path::Path;

use anyhow::Result;

use crate::sh;

/// What the whole folder may weigh: 6 MB.
const LIMIT: u64 = 6_000_000;

pub(super) fn check(root: &Path) -> Result<Vec<String>> {
    let folder = root.join("captures");
    if !folder.is_dir() {
        return Ok(vec!["there is no folder captures/".to_owned()]);
    }
    let files = sh::files(&folder)?;
    let mut size = 0;
    for file in &files {
        size += std::fs::metadata(file)?.len();
    }
    Ok(faults(&files.iter().map(|file| sh::name(file)).collect::<Vec<_>>(), size))
}

fn faults(files: &[String], size: u64) -> Vec<String> {
    let mut faults = Vec::new();
    let stems: Vec<(&String, String)> =
        files.iter().filter_map(|file| Some((file, sh::capture_stem(Path::new(file))?))).collect();
    for (index, (file, stem)) in stems.iter().enumerate() {
        if !files.contains(&format!("{stem}.toml")) {
            faults.push(format!("captures/{file} has no {stem}.toml that says where it came from and what is right"));
        }
        if stems.iter().skip(index + 1).any(|(_, other)| other == stem) {
            faults.push(format!("captures/{file}: a second capture is called {stem}; one truth cannot serve both"));
        }
    }
    for file in files {
        let lonely = file.strip_suffix(".toml").filter(|stem| stems.iter().all(|(_, other)| other != stem));
        faults.extend(lonely.map(|_| format!("captures/{file} belongs to no capture")));
    }
    if size > LIMIT {
        faults.push(format!("captures/ weighs {size} bytes; {LIMIT} is the limit"));
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn each_capture_has_one_truth_and_each_truth_one_capture() {
        assert!(faults(&names(&["README.md", "a.pcap", "a.toml", "b.pcapng", "b.toml"]), LIMIT).is_empty());
        assert_eq!(faults(&names(&["a.pcap", "b.toml"]), 0).len(), 2);
        assert_eq!(faults(&names(&["a.pcap", "a.pcapng", "a.toml"]), 0).len(), 1);
        assert_eq!(faults(&[], LIMIT + 1).len(), 1);
    }
}
