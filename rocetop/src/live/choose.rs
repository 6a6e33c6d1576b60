//! Which interfaces are watched, through what, and why.

use super::host::{Host, Interface, Rdma};

/// Through what interfaces are watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The kernel programs.
    Xdp,
    /// libpcap.
    Libpcap,
    /// A packet socket of our own.
    Raw,
}

impl Kind {
    /// Its name on the command line and in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Xdp => "xdp",
            Self::Libpcap => "libpcap",
            Self::Raw => "raw",
        }
    }
}

/// What is watched, through what, and what there is to say about it.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Through what.
    pub kind: Kind,
    /// Names of what is watched, each once.
    pub devices: Vec<Device>,
    /// Why, and what to know: sentences for the person who started it.
    pub notes: Vec<String>,
}

/// Something to watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// Its number, where it is a network interface.
    pub index: Option<u32>,
    /// Whether it is an RDMA device: libpcap cannot tell what these drop.
    pub rdma: bool,
}

/// Interfaces that are watched at once, at most.
pub const MOST: usize = 64;

/// Why nothing can be watched.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[allow(missing_docs, reason = "each says itself what it is")]
pub enum NoChoice {
    #[error("no interface is up but the loopback: bring one up, or name what to watch with -i DEV")]
    NoneUp,
    #[error(
        "{0} interfaces are up, more than the {MOST} that can be watched at once: name those that matter with -i DEV"
    )]
    TooMany(usize),
    #[error("no interface is called {name}{nearest}: there {there}")]
    Unknown { name: String, nearest: String, there: String },
    #[error("{0} is down: bring it up with `ip link set {0} up`")]
    Down(String),
    #[error(
        "{name} is an RDMA device in software: its traffic passes the network interface {netdev}, so watch that with \
         -i {netdev}"
    )]
    Software { name: String, netdev: String },
    #[error(
        "{name} is an RDMA device in hardware: its verbs traffic bypasses the kernel, and {door}. What sees it: a \
         libpcap built with rdmasniff (Debian's is not) and --source libpcap; a switch mirror or ERSPAN towards \
         another interface of this host or to a host of its own, with -i there; the ports' representors on a DPU. Its \
         network interface ({netdevs}) sees none of it"
    )]
    Hardware { name: String, door: &'static str, netdevs: String },
    #[error(
        "this rocetop was built without libpcap: rebuild with its headers installed (Debian: apt-get install \
         libpcap-dev), or use --source raw"
    )]
    NotBuiltIn,
}

/// Chooses. `asked` are the devices that were named; `forced` the source that was, `None` for ours to pick; `libpcap`
/// the devices that libpcap lists, `None` where it is not built in; `xdp` why the kernel programs cannot be used, if
/// so.
///
/// Where none is named, all interfaces are watched that are up, have a link, do not lead back to this host and do not
/// sit on others (bonds, bridges, VLANs): what passes there passes the one below.
///
/// # Errors
/// [`NoChoice`].
pub fn choose(
    host: &Host,
    asked: &[String],
    forced: Option<Kind>,
    libpcap: Option<&[String]>,
    xdp: Result<(), String>,
) -> Result<Choice, NoChoice> {
    // What only libpcap knows, XDP cannot open.
    let foreign = asked.iter().find(|name| host.interface(name).is_none() && host.rdma(name).is_some());
    let xdp = xdp.and_then(|()| foreign.map_or(Ok(()), |name| Err(format!("{name} is no network interface"))));
    let (kind, why) = match (forced, xdp, libpcap) {
        (Some(Kind::Libpcap), _, None) => return Err(NoChoice::NotBuiltIn),
        (Some(kind), ..) => (kind, "as --source says".to_owned()),
        (None, Ok(()), _) => {
            (Kind::Xdp, "the first choice: read where it passes, before the kernel copies it".to_owned())
        }
        (None, Err(not), Some(_)) => (Kind::Libpcap, format!("not xdp: {not}")),
        (None, Err(not), None) => {
            (Kind::Raw, format!("not xdp: {not}; not libpcap: this rocetop was built without it"))
        }
    };
    let mut notes = Vec::new();
    let devices = if asked.is_empty() {
        all(host)?
    } else {
        let known = if kind == Kind::Libpcap { libpcap.unwrap_or_default() } else { &[] };
        let mut devices: Vec<Device> = Vec::new();
        for name in asked {
            let device = one(host, name, kind, known)?;
            if !devices.contains(&device) {
                devices.push(device);
            }
        }
        devices
    };
    if devices.len() > MOST {
        return Err(NoChoice::TooMany(devices.len()));
    }
    let names: Vec<&str> = devices.iter().map(|d| d.name.as_str()).collect();
    let which = if asked.is_empty() { "everything with a link that does not sit on another interface; " } else { "" };
    notes.push(format!("watching {} through {} ({which}{why})", names.join(", "), kind.name()));
    for device in &devices {
        notes.extend(about(host, device));
    }
    Ok(Choice { kind, devices, notes })
}

/// What to know about a device before an empty screen tells it.
fn about(host: &Host, device: &Device) -> Vec<String> {
    let name = &device.name;
    let mut notes = Vec::new();
    if host.interface(name).is_some_and(|i| !i.running && !i.loopback) {
        notes.push(format!("{name} has no link: nothing passes until it does"));
    }
    let behind = host.behind(name);
    if !behind.is_empty() {
        let behind = behind.join(", ");
        notes.push(format!(
            "{name} is at the same port as {behind}, whose verbs traffic bypasses the kernel and is not seen here: \
             watch {behind} with a libpcap that has rdmasniff, or a switch mirror"
        ));
    }
    notes
}

fn all(host: &Host) -> Result<Vec<Device>, NoChoice> {
    let fits = |i: &&Interface| i.up && i.running && !i.loopback && !host.is_stacked(&i.name);
    let devices: Vec<Device> = host.interfaces.iter().filter(fits).map(netdev).collect();
    if devices.is_empty() { Err(NoChoice::NoneUp) } else { Ok(devices) }
}

fn netdev(interface: &Interface) -> Device {
    Device { name: interface.name.clone(), index: Some(interface.index), rdma: false }
}

fn one(host: &Host, name: &str, kind: Kind, known: &[String]) -> Result<Device, NoChoice> {
    if let Some(interface) = host.interface(name) {
        return if interface.up { Ok(netdev(interface)) } else { Err(NoChoice::Down(name.to_owned())) };
    }
    let rdma = host.rdma(name);
    // libpcap knows more than network interfaces: RDMA devices, `any`, mirrors of its own.
    if known.iter().any(|k| k == name) {
        return Ok(Device { name: name.to_owned(), index: None, rdma: rdma.is_some() });
    }
    match rdma {
        Some(Rdma::Software { netdev }) => Err(NoChoice::Software { name: name.to_owned(), netdev }),
        Some(Rdma::Hardware { netdevs }) => {
            let door = match kind {
                Kind::Xdp | Kind::Raw => "a program or socket of the kernel sees what the kernel does",
                Kind::Libpcap => "this libpcap cannot open RDMA devices",
            };
            let netdevs = if netdevs.is_empty() { "if it has one".to_owned() } else { netdevs.join(", ") };
            Err(NoChoice::Hardware { name: name.to_owned(), door, netdevs })
        }
        None => Err(unknown(host, name)),
    }
}

fn unknown(host: &Host, name: &str) -> NoChoice {
    let mut names: Vec<String> = host.interfaces.iter().map(|i| i.name.clone()).chain(host.rdma_devices()).collect();
    names.dedup();
    let distance = |known: &String| strsim::damerau_levenshtein(&name.to_lowercase(), &known.to_lowercase());
    let nearest = names.iter().min_by_key(|known| distance(known)).filter(|known| distance(known) <= 2);
    let nearest = nearest.map(|known| format!(" (did you mean {known}?)")).unwrap_or_default();
    let there = match names.as_slice() {
        [] => "is none at all".to_owned(),
        [only] => format!("is only {only}"),
        several => format!("are {}", several.join(", ")),
    };
    NoChoice::Unknown { name: name.to_owned(), nearest, there }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::PathBuf;

    struct Sys(PathBuf);

    impl Sys {
        fn new(name: &str, files: &[&str]) -> Self {
            let root = std::env::temp_dir().join(format!("rocetop-sys-{}-{name}", std::process::id()));
            for file in files {
                let path = root.join(file);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, "eth1\n").unwrap();
            }
            Self(root)
        }
    }

    impl Drop for Sys {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn interface(index: u32, name: &str, up: bool, running: bool) -> Interface {
        Interface { name: name.into(), index, up, running, loopback: name == "lo" }
    }

    fn host(sys: &Sys) -> Host {
        let interfaces = vec![
            interface(1, "lo", true, true),
            interface(2, "eth0", true, true),
            interface(3, "eth1", true, false),
            interface(4, "eth2", false, false),
            interface(5, "bond0", true, true),
        ];
        Host::told(interfaces, &sys.0)
    }

    fn names(choice: &Choice) -> Vec<&str> {
        choice.devices.iter().map(|d| d.name.as_str()).collect()
    }

    fn asked(name: &str) -> [String; 1] {
        [name.to_owned()]
    }

    #[test]
    fn what_has_a_link_and_sits_on_nothing_is_watched() {
        let sys = Sys::new("all", &["net/bond0/lower_eth0/x"]);
        let choice = choose(&host(&sys), &[], None, Some(&[]), Err("X".into())).unwrap();
        assert_eq!((choice.kind, names(&choice)), (Kind::Libpcap, vec!["eth0"]));
        assert!(
            choice.notes[0].starts_with("watching eth0 through libpcap (everything with a link"),
            "{:?}",
            choice.notes
        );
        let none = Host::told(vec![interface(1, "lo", true, true)], &sys.0);
        assert_eq!(choose(&none, &[], None, None, Ok(())).unwrap_err(), NoChoice::NoneUp);
    }

    #[test]
    fn the_source_has_a_reason() {
        let sys = Sys::new("source", &[]);
        let note = |forced, libpcap| {
            choose(&host(&sys), &asked("lo"), forced, libpcap, Err("X".into())).unwrap().notes.remove(0)
        };
        assert_eq!(
            note(None, None),
            "watching lo through raw (not xdp: X; not libpcap: this rocetop was built without it)"
        );
        assert_eq!(note(Some(Kind::Raw), Some(&[])), "watching lo through raw (as --source says)");
        let error = choose(&host(&sys), &asked("lo"), Some(Kind::Libpcap), None, Ok(())).unwrap_err();
        assert_eq!(error, NoChoice::NotBuiltIn);
    }

    #[test]
    fn a_name_that_is_none() {
        let sys = Sys::new("unknown", &["infiniband/mlx5_0/device/net/eth0/x"]);
        let error = |name| choose(&host(&sys), &asked(name), None, Some(&[]), Ok(())).unwrap_err().to_string();
        let there = "there are lo, eth0, eth1, eth2, bond0, mlx5_0";
        assert_eq!(error("eht0"), format!("no interface is called eht0 (did you mean eth0?): {there}"));
        assert_eq!(error("wlp3s0"), format!("no interface is called wlp3s0: {there}"));
        assert_eq!(error("eth2"), "eth2 is down: bring it up with `ip link set eth2 up`");
    }

    #[test]
    fn rdma_devices_are_told_from_interfaces() {
        let files =
            ["infiniband/mlx5_0/device/net/eth0/x", "infiniband/rxe0/parent", "net/eth0/device/infiniband/mlx5_0/x"];
        let sys = Sys::new("rdma", &files);
        let error = |name| choose(&host(&sys), &asked(name), None, Some(&[]), Ok(())).unwrap_err().to_string();
        assert!(error("rxe0").ends_with("so watch that with -i eth1"), "{}", error("rxe0"));
        assert!(
            error("mlx5_0").contains("and this libpcap cannot open RDMA devices. What sees it"),
            "{}",
            error("mlx5_0")
        );
        assert!(error("mlx5_0").contains("(eth0) sees none of it"));
        // A libpcap that has rdmasniff lists it.
        let choice = choose(&host(&sys), &asked("mlx5_0"), None, Some(&asked("mlx5_0")), Ok(())).unwrap();
        assert_eq!(choice.devices, [Device { name: "mlx5_0".into(), index: None, rdma: true }]);
        let choice = choose(&host(&sys), &["eth0".into(), "eth0".into(), "eth1".into()], None, None, Ok(())).unwrap();
        assert_eq!(names(&choice), ["eth0", "eth1"]);
        assert!(
            choice.notes[1].starts_with("eth0 is at the same port as mlx5_0, whose verbs traffic"),
            "{:?}",
            choice.notes
        );
        assert_eq!(choice.notes[2], "eth1 has no link: nothing passes until it does");
    }
}
