//! The interfaces of this host, and what the kernel tells about those that do RDMA.

use std::fs;
use std::path::{Path, PathBuf};

/// A network interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Its number in this network namespace.
    pub index: u32,
    /// Somebody brought it up.
    pub up: bool,
    /// Its link is there.
    pub running: bool,
    /// It leads back to this host.
    pub loopback: bool,
}

/// What is known about this host.
#[derive(Clone, Debug)]
pub struct Host {
    /// The interfaces of this network namespace.
    pub interfaces: Vec<Interface>,
    sys: PathBuf,
}

/// A device that verbs programs use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rdma {
    /// It does RDMA in software, over this network interface.
    Software {
        /// The interface that its traffic passes.
        netdev: String,
    },
    /// It does RDMA in hardware, and the kernel sees none of it.
    Hardware {
        /// The interfaces at the same port, which see what is no RDMA.
        netdevs: Vec<String>,
    },
}

impl Host {
    /// This host, from within this network namespace.
    #[must_use]
    pub fn here() -> Self {
        let interfaces = pnet_datalink::interfaces().into_iter().map(|i| Interface {
            up: i.is_up(),
            running: i.is_running(),
            loopback: i.is_loopback(),
            index: i.index,
            name: i.name,
        });
        Self { interfaces: interfaces.collect(), sys: "/sys/class".into() }
    }

    /// A host that is told, with a folder that looks like `/sys/class`.
    #[must_use]
    pub fn told(interfaces: Vec<Interface>, sys: &Path) -> Self {
        Self { interfaces, sys: sys.into() }
    }

    /// The interface of that name.
    #[must_use]
    pub fn interface(&self, name: &str) -> Option<&Interface> {
        self.interfaces.iter().find(|i| i.name == name)
    }

    /// Whether frames of that interface also pass another one below: a bond's, a bridge's, a VLAN's.
    #[must_use]
    pub fn is_stacked(&self, name: &str) -> bool {
        entries(&self.sys.join("net").join(name)).iter().any(|entry| entry.starts_with("lower_"))
    }

    /// Whether its frames are Ethernet's, as those of a loopback are (`ARPHRD_*`, linux/if_arp.h).
    #[must_use]
    pub fn is_ethernet(&self, name: &str) -> bool {
        let kind = fs::read_to_string(self.sys.join("net").join(name).join("type"));
        // In a namespace of its own without a /sys of its own nothing is known.
        kind.map_or(true, |kind| matches!(kind.trim(), "1" | "772"))
    }

    /// Names of all RDMA devices.
    #[must_use]
    pub fn rdma_devices(&self) -> Vec<String> {
        entries(&self.sys.join("infiniband"))
    }

    /// The RDMA device of that name.
    #[must_use]
    pub fn rdma(&self, name: &str) -> Option<Rdma> {
        let folder = self.sys.join("infiniband").join(name);
        if !folder.is_dir() {
            return None;
        }
        // Soft-RoCE and soft iWARP name the interface that they sit on; the file is theirs alone.
        if let Ok(netdev) = fs::read_to_string(folder.join("parent")) {
            return Some(Rdma::Software { netdev: netdev.trim().to_owned() });
        }
        Some(Rdma::Hardware { netdevs: entries(&folder.join("device/net")) })
    }

    /// The RDMA devices in hardware that share their port with a network interface.
    #[must_use]
    pub fn behind(&self, netdev: &str) -> Vec<String> {
        entries(&self.sys.join("net").join(netdev).join("device/infiniband"))
    }
}

/// Names in a folder, sorted; none where there is no such folder.
fn entries(folder: &Path) -> Vec<String> {
    let read = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = read.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}
