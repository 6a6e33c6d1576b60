//! Two network namespaces of one test, with a cable between them, gone with it.

use std::fs::File;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// A cable between two namespaces: `near` at this end, where tests send, `far` at the end that is watched.
#[derive(Debug)]
pub(crate) struct Cable {
    pub(crate) here: String,
    pub(crate) there: String,
}

pub(crate) const NEAR: &str = "near";
pub(crate) const FAR: &str = "far";

fn run(command: &str) -> Result<(), String> {
    let output = Command::new("sh").args(["-c", command]).stdin(Stdio::null()).output().map_err(|e| e.to_string())?;
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(()) } else { Err(format!("`{command}`: {err}")) }
}

impl Cable {
    /// Lays one; `None`, with the reason printed, where this system does not let us.
    pub(crate) fn new() -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("rt-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let cable = Self { here: format!("{name}a"), there: format!("{name}b") };
        let (here, there) = (&cable.here, &cable.there);
        // Without IPv6 of their own they say nothing by themselves.
        let quiet = "for i in all default; do echo 1 > /proc/sys/net/ipv6/conf/$i/disable_ipv6; done";
        let steps = [
            format!("ip netns add {here} && ip netns add {there}"),
            format!("for n in {here} {there}; do ip netns exec $n sh -c '{quiet}' || exit 1; done"),
            format!("ip -n {here} link add {NEAR} mtu 9000 type veth peer name {FAR} mtu 9000 netns {there}"),
            format!("ip -n {here} link set {NEAR} up && ip -n {there} link set {FAR} up"),
        ];
        for step in steps {
            if let Err(reason) = run(&step) {
                println!("skipped: two network namespaces and a cable between them cannot be had here: {reason}");
                return None;
            }
        }
        cable.settle();
        Some(cable)
    }

    /// A command at the end that is watched.
    pub(crate) fn at_far_end(&self, command: &Command) -> Command {
        let mut inside = Command::new("ip");
        inside.args(["netns", "exec", &self.there]).arg(command.get_program()).args(command.get_args());
        inside.stdin(Stdio::null());
        inside
    }

    /// Does something to the end that is watched: words of `ip link`.
    pub(crate) fn link(&self, words: &str) {
        run(&format!("ip -n {} link {words}", self.there)).unwrap();
    }

    /// Waits until all cables of both namespaces have a link: until then the kernel drops what is sent.
    pub(crate) fn settle(&self) {
        for namespace in [&self.here, &self.there] {
            let waits = format!("ip -n {namespace} link show up type veth | grep -q 'state [^U]'");
            run(&format!("for i in $(seq 500); do {waits} || exit 0; sleep 0.01; done; exit 1")).unwrap();
        }
    }

    /// Sends frames from this end, as fast as it goes.
    pub(crate) fn send(&self, frames: &[Vec<u8>]) {
        self.inside(&self.here, || send(NEAR, frames));
    }

    /// Sends frames from the end that is watched.
    pub(crate) fn send_back(&self, frames: &[Vec<u8>]) {
        self.send_by(FAR, frames);
    }

    /// Sends frames into an interface of the end that is watched.
    pub(crate) fn send_by(&self, name: &str, frames: &[Vec<u8>]) {
        self.inside(&self.there, || send(name, frames));
    }

    /// Runs something on a thread of its own inside a namespace.
    #[allow(unsafe_code, reason = "setns has no safe wrapper among our dependencies")]
    fn inside<T: Send>(&self, namespace: &str, work: impl FnOnce() -> T + Send) -> T {
        let place = File::open(format!("/run/netns/{namespace}")).unwrap();
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                // SAFETY: takes numbers alone, and moves this thread only, which ends here.
                assert_eq!(unsafe { libc::setns(place.as_raw_fd(), libc::CLONE_NEWNET) }, 0);
                work()
            });
            thread.join().unwrap()
        })
    }
}

/// Frames that one call sends.
const BURST: usize = 64;

#[allow(
    unsafe_code,
    reason = "sendmmsg has no safe wrapper among our dependencies, and one call a frame takes minutes"
)]
fn send(name: &str, frames: &[Vec<u8>]) {
    let interface = pnet_datalink::interfaces().into_iter().find(|i| i.name == name).unwrap();
    // SAFETY: takes numbers alone; the descriptor is new, and nobody else's.
    let socket = unsafe { OwnedFd::from_raw_fd(libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0)) };
    // SAFETY: numbers and null pointers alone.
    let mut to: libc::sockaddr_ll = unsafe { zeroed() };
    (to.sll_family, to.sll_ifindex) = (libc::AF_PACKET as u16, interface.index.cast_signed());
    for burst in frames.chunks(BURST) {
        let mut slices: Vec<libc::iovec> = burst
            .iter()
            .map(|frame| libc::iovec { iov_base: frame.as_ptr().cast_mut().cast(), iov_len: frame.len() })
            .collect();
        let message = |slice: &mut libc::iovec| {
            // SAFETY: as above.
            let mut one: libc::mmsghdr = unsafe { zeroed() };
            one.msg_hdr.msg_name = (&raw const to).cast_mut().cast();
            one.msg_hdr.msg_namelen = size_of::<libc::sockaddr_ll>() as u32;
            (one.msg_hdr.msg_iov, one.msg_hdr.msg_iovlen) = (slice, 1);
            one
        };
        let mut messages: Vec<libc::mmsghdr> = slices.iter_mut().map(message).collect();
        let mut done = 0;
        while done < messages.len() {
            let rest = &mut messages[done..];
            // SAFETY: headers, slices and frames outlive the call, and are only read.
            let sent = unsafe { libc::sendmmsg(socket.as_raw_fd(), rest.as_mut_ptr(), rest.len() as u32, 0) };
            match usize::try_from(sent) {
                Ok(sent) => done += sent,
                // The queue of the interface is full for the moment.
                Err(_) => assert_eq!(std::io::Error::last_os_error().raw_os_error(), Some(libc::ENOBUFS)),
            }
        }
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        for name in [&self.here, &self.there] {
            let _ = run(&format!("ip netns del {name}"));
        }
    }
}
