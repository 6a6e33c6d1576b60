//! `lab`: real RDMA traffic through the release binary, in a machine of its own whose kernel has Soft-RoCE.
//!
//! Boots in software emulation, so it runs anywhere; a run takes some minutes, which is why `test` leaves it out. The
//! machine has two Soft-RoCE devices behind a router and perftest between them; `rocetop live` watches one end by sums
//! and the other by headers, tcpdump captures both. Then three counts of the same packets stand side by side.

mod compare;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::sh;

pub(crate) const ARGS: &str = "[DIR]: where captures and counters are kept; target/lab/run where nobody says";

const IMAGE: &str = include_str!("image.sh");
const GUEST: &str = include_str!("guest.sh");

/// Longest time for a run, from power on to power off.
const MOST: Duration = Duration::from_secs(8 * 60);

/// Programs, and the Debian packages that have them.
const NEEDS: [(&str, &str); 6] = [
    ("qemu-system-x86_64", "qemu-system-x86"),
    ("mmdebstrap", "mmdebstrap"),
    ("busybox", "busybox-static"),
    ("mkfs.ext4", "e2fsprogs"),
    ("cpio", "cpio"),
    ("modprobe", "kmod"),
];

pub(crate) fn run(args: &[String]) -> Result<bool> {
    let home = sh::target()?.join("lab");
    let keep = match args {
        [] => home.join("run"),
        [folder] => PathBuf::from(folder),
        _ => bail!("lab takes {ARGS}"),
    };
    let sbin = |program: &str| ["/usr/sbin", "/sbin"].iter().any(|folder| Path::new(folder).join(program).is_file());
    let missing: Vec<&str> =
        NEEDS.iter().filter(|(p, _)| !sh::has(p) && !sbin(p)).map(|(_, package)| *package).collect();
    if !missing.is_empty() {
        bail!("the lab needs: apt-get install -y --no-install-recommends {}", missing.join(" "));
    }
    let binary = sh::rocetop()?;
    let image = image(&home)?;
    if keep.exists() {
        std::fs::remove_dir_all(&keep).with_context(|| format!("cannot empty {}", keep.display()))?;
    }
    let out = keep.join("out");
    std::fs::create_dir_all(&out).with_context(|| format!("cannot make {}", out.display()))?;
    std::fs::copy(&binary, keep.join("rocetop")).context("cannot copy the binary")?;
    script(&keep.join("guest.sh"), GUEST)?;
    let took = boot(&image, &keep)?;
    println!("the run took {} s, from power on to power off", took.as_secs());
    compare::run(&binary, &out)
}

/// The folder of what is booted; built where it is not there yet.
fn image(home: &Path) -> Result<PathBuf> {
    let image = home.join("image");
    if !image.join("disk").is_file() {
        println!("building the machine: some three minutes, once");
        std::fs::create_dir_all(home).with_context(|| format!("cannot make {}", home.display()))?;
        let build = home.join("image.sh");
        script(&build, IMAGE)?;
        if !sh::run(Command::new(&build).arg(&image))? {
            bail!("the machine cannot be built; see above");
        }
    }
    Ok(image)
}

fn script(path: &Path, text: &str) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))?;
    Ok(())
}

/// Runs the machine until it powers off, and tells how long it took.
fn boot(image: &Path, share: &Path) -> Result<Duration> {
    let start = Instant::now();
    let console = share.join("console");
    let mut machine = Command::new("qemu-system-x86_64");
    machine.args(["-accel", "tcg,thread=multi,tb-size=1024", "-cpu", "max,la57=off", "-smp", "2", "-m", "3072"]);
    machine.args(["-display", "none", "-monitor", "none", "-no-reboot", "-nic", "none"]);
    machine.arg("-serial").arg(format!("file:{}", console.display()));
    machine.arg("-kernel").arg(image.join("kernel")).arg("-initrd").arg(image.join("first.gz"));
    machine.args(["-append", "console=ttyS0 quiet panic=-1 mitigations=off net.ifnames=0 nokaslr"]);
    machine.arg("-drive").arg(format!("file={},if=virtio,format=raw,readonly=on", image.join("disk").display()));
    machine.arg("-virtfs");
    machine.arg(format!("local,path={},mount_tag=host,security_model=none", share.display()));
    let mut child = machine.stdin(Stdio::null()).spawn().context("cannot start qemu-system-x86_64")?;
    let mut told = 0;
    loop {
        let text = std::fs::read_to_string(&console).unwrap_or_default();
        for line in text.lines().filter(|line| line.starts_with("lab: ")).skip(told) {
            println!("{:>4} s  {line}", start.elapsed().as_secs());
            told += 1;
        }
        if let Some(status) = child.try_wait()? {
            if !status.success() || !text.contains("lab: done") {
                bail!("the machine did not come to its end ({status}); see {}", console.display());
            }
            return Ok(start.elapsed());
        }
        if start.elapsed() > MOST {
            child.kill()?;
            bail!("the machine took more than {} s; see {}", MOST.as_secs(), console.display());
        }
        std::thread::sleep(Duration::from_millis(250));
    }
}
