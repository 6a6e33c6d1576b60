//! A packet socket, packet(7), as far as a source needs one. All that is unsafe about it is in this file.
#![allow(
    unsafe_code,
    reason = "packet sockets need calls that no crate here wraps: recvmmsg with what stands beside a frame"
)]

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use rocetop_parsers::{Bytes, Nanos};

/// Frames that one call receives, at most.
pub(super) const MESSAGES: usize = 64;

/// Room for what stands beside a frame: a time stamp (16 bytes) and auxiliary data (20), each behind a header of 16.
const CONTROL: usize = 128;

/// A packet socket that is bound to an interface.
pub(super) struct Socket(OwnedFd);

/// What stands beside a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Beside {
    /// Bytes that were captured.
    pub(super) captured: usize,
    /// Bytes that it had on the wire, less those of a tag that was taken out.
    pub(super) wire_len: usize,
    /// When it passed.
    pub(super) ts: Option<Nanos>,
    /// This host sent it.
    pub(super) outgoing: bool,
    /// The VLAN tag that was taken out, as it stood on the wire.
    pub(super) tag: Option<[u8; 4]>,
}

impl Socket {
    /// Opens one for both directions of an interface.
    pub(super) fn open(index: u32, buffer: Bytes) -> io::Result<Self> {
        // With protocol 0 nothing comes before it is bound: no frame of another interface.
        // SAFETY: takes numbers alone.
        let fd = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: it is new, and nobody else's.
        let socket = Self(unsafe { OwnedFd::from_raw_fd(fd) });
        let yes: libc::c_int = 1;
        socket.set(libc::SOL_PACKET, libc::PACKET_AUXDATA, &yes)?;
        socket.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &yes)?;
        let room = buffer.0 as libc::c_int;
        // More than the system's usual limit needs a permission that may be missing; then as much as it gives.
        socket
            .set(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &room)
            .or_else(|_| socket.set(libc::SOL_SOCKET, libc::SO_RCVBUF, &room))?;
        let mut address = blank();
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = index.cast_signed();
        // SAFETY: the address is one of packet(7), and its own length goes with it.
        check(unsafe {
            libc::bind(fd, (&raw const address).cast(), size_of::<libc::sockaddr_ll>() as libc::socklen_t)
        })?;
        let promiscuous = libc::packet_mreq {
            mr_ifindex: index.cast_signed(),
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        socket.set(libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &promiscuous)?;
        Ok(socket)
    }

    /// `ARPHRD_*` of its interface.
    pub(super) fn hardware(&self) -> io::Result<u16> {
        let mut address = blank();
        let mut len = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: there is room for as many bytes as `len` says.
        check(unsafe { libc::getsockname(self.as_raw_fd(), (&raw mut address).cast(), &raw mut len) })?;
        Ok(address.sll_hatype)
    }

    /// Frames that there was no room for since the last time.
    pub(super) fn drops(&self) -> io::Result<u64> {
        let mut stats = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
        let mut len = size_of::<libc::tpacket_stats>() as libc::socklen_t;
        let (level, name) = (libc::SOL_PACKET, libc::PACKET_STATISTICS);
        // SAFETY: there is room for as many bytes as `len` says, and any bytes are two numbers.
        check(unsafe { libc::getsockopt(self.as_raw_fd(), level, name, (&raw mut stats).cast(), &raw mut len) })?;
        Ok(u64::from(stats.tp_drops))
    }

    /// Receives frames that wait, each into its slot of `room`. Never none.
    pub(super) fn receive(&self, room: &mut [u8], slot: usize) -> io::Result<Vec<Beside>> {
        let mut control = [[0u64; CONTROL / 8]; MESSAGES];
        let mut names = [blank(); MESSAGES];
        let mut slices: [libc::iovec; MESSAGES] =
            [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; MESSAGES];
        // SAFETY: numbers and null pointers alone.
        let mut headers: [libc::mmsghdr; MESSAGES] = unsafe { zeroed() };
        let slots = room.chunks_exact_mut(slot.max(1));
        let mut count = 0;
        for ((((header, bytes), slice), name), control) in
            headers.iter_mut().zip(slots).zip(&mut slices).zip(&mut names).zip(&mut control)
        {
            *slice = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
            header.msg_hdr.msg_iov = slice;
            header.msg_hdr.msg_iovlen = 1;
            header.msg_hdr.msg_name = (&raw mut *name).cast();
            header.msg_hdr.msg_namelen = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
            header.msg_hdr.msg_control = control.as_mut_ptr().cast();
            header.msg_hdr.msg_controllen = CONTROL;
            count += 1;
        }
        let flags = libc::MSG_TRUNC | libc::MSG_DONTWAIT;
        // SAFETY: the first `count` headers point to slots, names and control room that outlive the call, with their
        // sizes.
        let got = unsafe { libc::recvmmsg(self.as_raw_fd(), headers.as_mut_ptr(), count, flags, std::ptr::null_mut()) };
        let got = usize::try_from(got).map_err(|_| io::Error::last_os_error())?;
        let told = headers.iter().zip(&names).zip(&control).take(got);
        Ok(told
            .map(|((header, name), control)| {
                let len = header.msg_len as usize;
                let mut beside = Beside {
                    captured: len.min(slot),
                    wire_len: len,
                    outgoing: name.sll_pkttype == libc::PACKET_OUTGOING,
                    ..Beside::default()
                };
                let mut bytes = [0; CONTROL];
                let words = bytes.as_chunks_mut().0.iter_mut().zip(control);
                words.for_each(|(to, word)| *to = word.to_ne_bytes());
                beside.read(bytes.get(..header.msg_hdr.msg_controllen).unwrap_or_default());
                beside
            })
            .collect())
    }

    fn set<T>(&self, level: libc::c_int, name: libc::c_int, value: &T) -> io::Result<()> {
        let len = size_of::<T>() as libc::socklen_t;
        // SAFETY: the value is plain numbers, and its own length goes with it.
        check(unsafe { libc::setsockopt(self.as_raw_fd(), level, name, std::ptr::from_ref(value).cast(), len) })
    }
}

impl AsRawFd for Socket {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

impl Beside {
    /// Reads control messages, cmsg(3): length (with this header), level and type, then what it says, to 8 bytes each.
    fn read(&mut self, mut control: &[u8]) {
        const HEADER: usize = 16;
        while let Some((head, rest)) = control.split_first_chunk::<HEADER>() {
            let [length, kind] = *head.as_chunks::<8>().0 else { return };
            let length = usize::from_ne_bytes(length);
            let [level, kind] = *kind.as_chunks::<4>().0 else { return };
            let Some(data) = length.checked_sub(HEADER).and_then(|n| rest.get(..n)) else { return };
            match (i32::from_ne_bytes(level), i32::from_ne_bytes(kind)) {
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => self.ts = stamp(data),
                (libc::SOL_PACKET, libc::PACKET_AUXDATA) => self.auxiliary(data),
                _ => {}
            }
            control = rest.get(data.len().next_multiple_of(8)..).unwrap_or_default();
        }
    }

    /// `struct tpacket_auxdata` (linux/if_packet.h): status, len, snaplen: 32 bits; mac, net, vlan_tci, vlan_tpid: 16
    /// bits.
    fn auxiliary(&mut self, data: &[u8]) {
        let word = |at: usize| data.get(at..).and_then(|d| d.first_chunk()).map(|b| u32::from_ne_bytes(*b));
        let half = |at: usize| data.get(at..).and_then(|d| d.first_chunk()).map(|b| u16::from_ne_bytes(*b));
        let (Some(status), Some(len), Some(tci), Some(tpid)) = (word(0), word(4), half(16), half(18)) else { return };
        self.wire_len = len as usize;
        if status & libc::TP_STATUS_VLAN_VALID != 0 {
            let tpid = if status & libc::TP_STATUS_VLAN_TPID_VALID != 0 { tpid } else { libc::ETH_P_8021Q as u16 };
            let ([a, b], [c, d]) = (tpid.to_be_bytes(), tci.to_be_bytes());
            self.tag = Some([a, b, c, d]);
        }
    }
}

/// `struct timespec` of a 64-bit system.
fn stamp(data: &[u8]) -> Option<Nanos> {
    let (seconds, rest) = data.split_first_chunk()?;
    let seconds = u64::try_from(i64::from_ne_bytes(*seconds)).ok()?;
    let nanos = u64::try_from(i64::from_ne_bytes(*rest.first_chunk()?)).ok()?;
    Some(Nanos(seconds * 1_000_000_000 + nanos))
}

/// Waits until a descriptor has something to say, not longer than that.
pub(in super::super) fn wait(descriptor: RawFd, most: Duration) {
    let mut poll = libc::pollfd { fd: descriptor, events: libc::POLLIN, revents: 0 };
    // SAFETY: one entry, as said. Whatever comes of it, the caller looks for itself.
    let ready = unsafe { libc::poll(&raw mut poll, 1, most.as_millis() as libc::c_int) };
    if ready < 0 {
        // Not a descriptor to wait on, or a signal: at any rate not in a circle without rest.
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn blank() -> libc::sockaddr_ll {
    // SAFETY: plain numbers.
    unsafe { zeroed() }
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(level: i32, kind: i32, data: &[u8]) -> Vec<u8> {
        let mut bytes = (16 + data.len()).to_ne_bytes().to_vec();
        bytes.extend(level.to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(data);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    }

    fn auxiliary(status: u32, tpid: u16) -> Vec<u8> {
        let mut data: Vec<u8> = [status, 1500, 96].iter().flat_map(|n| n.to_ne_bytes()).collect();
        data.extend([0u16, 14, 0x6064, tpid].iter().flat_map(|n| n.to_ne_bytes()));
        message(263, 8, &data)
    }

    #[test]
    fn what_stands_beside_a_frame() {
        let stamp: Vec<u8> = [7i64, 9].iter().flat_map(|n| n.to_ne_bytes()).collect();
        let mut beside = Beside { captured: 96, wire_len: 96, ..Beside::default() };
        beside.read(&[message(1, 35, &stamp), auxiliary(0x51, 0x88a8)].concat());
        let tag = Some([0x88, 0xa8, 0x60, 0x64]);
        let right = Beside { captured: 96, wire_len: 1500, ts: Some(Nanos(7_000_000_009)), outgoing: false, tag };
        assert_eq!(beside, right);
        let mut beside = Beside::default();
        beside.read(&auxiliary(0x11, 0));
        assert_eq!(beside.tag, Some([0x81, 0, 0x60, 0x64]));
        let mut beside = Beside::default();
        beside.read(&auxiliary(1, 0));
        assert_eq!((beside.tag, beside.wire_len), (None, 1500));
    }

    #[test]
    fn control_bytes_that_make_no_sense_end_it() {
        let whole = [message(1, 35, &[0; 16]), auxiliary(0x51, 0)].concat();
        for len in 0..whole.len() {
            Beside::default().read(&whole[..len]);
        }
        Beside::default().read(&[0xff; 64]);
        Beside::default().read(&[0; 64]);
    }
}
