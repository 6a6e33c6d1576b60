//! What the tests need from the system, and how to get it.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::sh;

/// Tells whether something is installed.
type Probe = fn() -> bool;

/// A Debian package and how to see that it is there.
const NEEDS: &[(&str, Probe)] = &[
    ("libpcap-dev", pcap_headers),
    ("tshark", || sh::has("tshark")),
    ("tcpdump", || sh::has("tcpdump")),
    // Network namespaces, in which the tests of `rocetop live` send to one another.
    ("iproute2", || sh::has("ip")),
];

/// Whether libpcap can be compiled against: pkg-config knows it, or its header lies where headers lie.
pub(crate) fn pcap_headers() -> bool {
    let known = Command::new("pkg-config")
        .args(["--exists", "libpcap"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    known || ["/usr/include", "/usr/local/include"].iter().any(|folder| Path::new(folder).join("pcap.h").is_file())
}

/// Installs what is missing where we may (root, apt); elsewhere prints the line that does it.
pub(crate) fn install() -> Result<()> {
    let missing: Vec<&str> = NEEDS.iter().filter(|(_, there)| !there()).map(|(package, _)| *package).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let list = missing.join(" ");
    let root = std::fs::metadata("/proc/self").is_ok_and(|me| me.uid() == 0);
    if !root || !sh::has("apt-get") {
        eprintln!("missing: {list}. To install: sudo apt-get install -y --no-install-recommends {list}");
        return Ok(());
    }
    eprintln!("installing {list}");
    // tshark asks on installation whether ordinary users may capture; nobody is there to answer.
    let preseed = "echo wireshark-common wireshark-common/install-setuid boolean false | debconf-set-selections";
    for step in [
        preseed.to_owned(),
        "apt-get update -qq".to_owned(),
        format!("apt-get install -y -qq --no-install-recommends {list}"),
    ] {
        let done = Command::new("sh")
            .args(["-c", &step])
            .env("DEBIAN_FRONTEND", "noninteractive")
            .stdin(Stdio::null())
            .output()
            .context("cannot start sh")?;
        // Without debconf's tools the preseed fails, and the default answer is the same.
        if !done.status.success() && step != preseed {
            bail!("`{step}` failed:\n{}", String::from_utf8_lossy(&done.stderr));
        }
    }
    Ok(())
}
