//! Hanging the programs into an interface: XDP for what it receives, TC for what it sends.
//!
//! Native XDP first, which takes frames in several buffers; then generic. TCX first, whose links die with the process;
//! then a classic filter (clsact), which does not: it carries our program's name, and the next start removes it.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use aya::programs::tc::{self, NlOptions, TcAttachOptions, TcError};
use aya::programs::xdp::XdpError;
use aya::programs::{LinkOrder, ProgramError, TcAttachType, XdpMode};

use super::super::super::bpf::{BpfError, Programs, SENT};
use super::super::super::choose::Device;

/// Where XDP runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Received {
    /// In the driver, before the kernel makes a packet of a frame.
    Native,
    /// In the kernel, behind any driver.
    Generic,
}

/// How the program for sent frames hangs in the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Sent {
    /// A link, Linux 6.6 and newer.
    Tcx,
    /// A filter of a clsact queueing discipline.
    Clsact,
}

/// What there is of an interface, once the programs hang in it.
#[derive(Debug)]
pub(super) struct Attached {
    pub(super) received: Received,
    /// `None` for a loopback: what it sends it receives.
    pub(super) sent: Option<Sent>,
    /// Why it is not the first choice of each.
    pub(super) notes: Vec<String>,
    /// While it lives, filters of our name on this interface are somebody's who runs.
    _claim: Option<UnixListener>,
}

impl Attached {
    /// In a few words, for the report.
    pub(super) fn mode(&self) -> &'static str {
        match (self.received, self.sent) {
            (Received::Native, Some(Sent::Tcx)) => "native XDP, TCX",
            (Received::Native, Some(Sent::Clsact)) => "native XDP, clsact",
            (Received::Native, None) => "native XDP",
            (Received::Generic, Some(Sent::Tcx)) => "generic XDP, TCX",
            (Received::Generic, Some(Sent::Clsact)) => "generic XDP, clsact",
            (Received::Generic, None) => "generic XDP",
        }
    }
}

/// Hangs the programs in. They go when `programs` does.
pub(super) fn attach(
    programs: &mut Programs,
    device: &Device,
    index: u32,
    loopback: bool,
    wish: (Option<Received>, Option<Sent>),
) -> Result<Attached, String> {
    let mut notes = Vec::new();
    let received = receive(programs, device, index, wish.0, &mut notes)?;
    let (mut sent, mut claim) = (None, None);
    if loopback {
        notes.push(format!("{} gives back what it is sent: only what it receives is counted", device.name));
    } else {
        let (how, claimed) = send(programs, device, index, wish.1, &mut notes)?;
        (sent, claim) = (Some(how), claimed);
    }
    Ok(Attached { received, sent, notes, _claim: claim })
}

fn receive(
    programs: &mut Programs,
    device: &Device,
    index: u32,
    wish: Option<Received>,
    notes: &mut Vec<String>,
) -> Result<Received, String> {
    let modes: &[Received] = match &wish {
        Some(one) => std::slice::from_ref(one),
        None => &[Received::Native, Received::Generic],
    };
    let program = programs.received().map_err(|e| e.to_string())?;
    let mut why = String::new();
    for &mode in modes {
        let (flag, name) = match mode {
            Received::Native => (XdpMode::Driver, "native"),
            Received::Generic => (XdpMode::Skb, "generic"),
        };
        match program.attach_to_if_index(index, flag) {
            Ok(_) => {
                if !why.is_empty() {
                    notes.push(format!("{}: {why}, so XDP is generic: each packet costs more", device.name));
                }
                return Ok(mode);
            }
            Err(error) => {
                why = format!("{name} XDP: {}", explain(errno(&error), &device.name, &error));
                // Where another program sits, it sits in every mode.
                if errno(&error) == Some(libc::EBUSY) {
                    break;
                }
            }
        }
    }
    Err(why)
}

fn send(
    programs: &mut Programs,
    device: &Device,
    index: u32,
    wish: Option<Sent>,
    notes: &mut Vec<String>,
) -> Result<(Sent, Option<UnixListener>), String> {
    let name = device.name.as_str();
    let claim = claim(index).map_err(|e| format!("what another rocetop does here cannot be known: {e}"))?;
    // Where nobody who runs has one here, a filter of our name was left behind by somebody who was killed. It cannot be
    // taken away where there is none, or no clsact at all.
    if claim.is_some() && tc::qdisc_detach_program(name, TcAttachType::Egress, SENT).is_ok() {
        notes.push(format!("{name}: a filter was removed that a killed rocetop had left behind"));
    }
    let program = programs.sent().map_err(|e| e.to_string())?;
    let mut why = String::new();
    if wish != Some(Sent::Clsact) {
        let options = TcAttachOptions::TcxOrder(LinkOrder::default());
        match program.attach_with_options(name, TcAttachType::Egress, options) {
            Ok(_) => return Ok((Sent::Tcx, None)),
            Err(error) => why = format!("TCX: {}", explain(errno(&error), name, &error)),
        }
    }
    if wish == Some(Sent::Tcx) {
        return Err(why);
    }
    if let Err(error) = tc::qdisc_add_clsact(name)
        && tc_errno(&error) != Some(libc::EEXIST)
    {
        return Err(format!("clsact: {}", explain(tc_errno(&error), name, &error)));
    }
    let options = TcAttachOptions::Netlink(NlOptions::default());
    match program.attach_with_options(name, TcAttachType::Egress, options) {
        Ok(_) => {
            if !why.is_empty() {
                notes.push(format!("{name}: {why}, so what it sends is seen by a clsact filter"));
            }
            Ok((Sent::Clsact, claim))
        }
        Err(error) => Err(format!("clsact: {}", explain(errno(&error), name, &error))),
    }
}

/// The right to call filters of our name on this interface left behind; `None` while another rocetop has it. An
/// abstract name lives in this network namespace, and no longer than its process, however that ends.
fn claim(index: u32) -> io::Result<Option<UnixListener>> {
    let name = SocketAddr::from_abstract_name(format!("rocetop/clsact/{index}"))?;
    match UnixListener::bind_addr(&name) {
        Ok(listener) => Ok(Some(listener)),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Ok(None),
        Err(error) => Err(error),
    }
}

fn errno(error: &ProgramError) -> Option<i32> {
    match error {
        ProgramError::SyscallError(error) => error.io_error.raw_os_error(),
        ProgramError::XdpError(XdpError::NetlinkError(error)) => error.raw_os_error(),
        ProgramError::TcError(error) => tc_errno(error),
        _ => None,
    }
}

fn tc_errno(error: &TcError) -> Option<i32> {
    match error {
        TcError::NetlinkError(error) => error.raw_os_error(),
        TcError::IoError(error) => error.raw_os_error(),
        _ => None,
    }
}

/// What the kernel means.
fn explain(errno: Option<i32>, name: &str, error: &dyn std::error::Error) -> String {
    match errno {
        Some(libc::EBUSY) => format!(
            "another XDP program hangs in {name} already (`ip link show {name}`): it may be another rocetop; end it, \
             or watch through --source libpcap"
        ),
        Some(libc::EOPNOTSUPP) => format!("the driver of {name} has none"),
        Some(libc::ERANGE) => {
            format!("the MTU of {name} is too large for its driver (lower it with `ip link set {name} mtu N`)")
        }
        Some(libc::ENODEV) => format!("{name} is gone"),
        Some(libc::EPERM) => "the kernel does not allow it".to_owned(),
        Some(libc::EINVAL) => format!("this kernel or the driver of {name} does not take it (EINVAL)"),
        _ => BpfError::words(error),
    }
}
