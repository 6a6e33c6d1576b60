//! Frames as the kernel shows them: a window of bytes that the verifier can follow, and what is known beside them.
#![allow(unsafe_code, reason = "packet memory and helpers; each use says why it holds")]

use aya_ebpf::EbpfContext;
use aya_ebpf::helpers::generated::{bpf_skb_load_bytes, bpf_skb_pull_data, bpf_xdp_get_buff_len, bpf_xdp_load_bytes};
use aya_ebpf::programs::{TcContext, XdpContext};
use rocetop_parsers::abi::Head;
use rocetop_parsers::link::ethernet::{EtherType, Ethernet};
use rocetop_parsers::{Cut, Layer, Window};

/// A frame in one of the two hooks.
pub(crate) trait Frame: Window {
    /// Bytes of the frame, and its length on the wire, without FCS.
    fn sizes(&self) -> (u32, u32);
    /// The interface.
    fn ifindex(&self) -> u32;
    /// The VLAN tag that is kept beside the bytes.
    fn vlan(&self) -> Option<u16>;
    /// Copies the first `len` bytes to `to`; whether it could.
    ///
    /// # Safety
    /// `to` has room for `len` bytes.
    unsafe fn copy(&self, to: *mut u8, len: u32) -> bool;
}

/// The bytes that lie in one piece: `start..end`, as the kernel tells.
#[derive(Clone, Copy)]
struct Piece {
    start: usize,
    end: usize,
}

/// Offsets are below this: more than any header has, less than the verifier's own limit for packet offsets.
const FARTHEST: usize = 0x7fff;

impl Piece {
    #[inline(always)]
    fn load<const N: usize>(self, at: usize) -> Option<[u8; N]> {
        if at > FARTHEST {
            return None;
        }
        let from = self.start + at;
        if from + N > self.end {
            return None;
        }
        // SAFETY: `from..from + N` lies inside the piece, by the comparison above; the verifier proves it again.
        Some(unsafe { (from as *const [u8; N]).read_unaligned() })
    }
}

/// A received frame.
pub(crate) struct Received<'a> {
    context: &'a XdpContext,
    piece: Piece,
}

impl<'a> Received<'a> {
    #[inline(always)]
    pub(crate) fn new(context: &'a XdpContext) -> Self {
        let piece = Piece { start: context.data(), end: context.data_end() };
        Self { context, piece }
    }
}

impl Window for Received<'_> {
    #[inline(always)]
    fn load<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.piece.load(at)
    }

    #[inline(always)]
    fn len(&self) -> usize {
        // SAFETY: the context is the program's own.
        unsafe { bpf_xdp_get_buff_len(self.context.ctx) as usize }
    }

    #[inline(always)]
    fn holds(&self, end: usize) -> bool {
        // Frames in one piece, nearly all, need not ask.
        end <= self.piece.end - self.piece.start || end <= self.len()
    }

    #[inline(always)]
    fn header<const N: usize>(&self, at: usize, layer: Layer) -> Result<[u8; N], Cut> {
        // Nobody here reads how much was missing.
        self.load(at).ok_or(Cut::new(layer, at, N, 0))
    }
}

impl Frame for Received<'_> {
    #[inline(always)]
    fn sizes(&self) -> (u32, u32) {
        let len = self.len() as u32;
        (len, len)
    }

    #[inline(always)]
    fn ifindex(&self) -> u32 {
        self.context.ingress_ifindex() as u32
    }

    #[inline(always)]
    fn vlan(&self) -> Option<u16> {
        None
    }

    #[inline(always)]
    unsafe fn copy(&self, to: *mut u8, len: u32) -> bool {
        // SAFETY: the caller vouches for `to`; the helper checks the frame's side.
        unsafe { bpf_xdp_load_bytes(self.context.ctx, 0, to.cast(), len) == 0 }
    }
}

/// A frame about to be sent.
pub(crate) struct Sent<'a> {
    context: &'a TcContext,
    piece: Piece,
}

impl<'a> Sent<'a> {
    #[inline(always)]
    pub(crate) fn new(context: &'a TcContext) -> Self {
        let piece = Piece { start: context.data(), end: context.data_end() };
        Self { context, piece }
    }

    /// Whether the first piece may be too short for the headers of RoCE. A TCP segment on its way out has little more
    /// than its headers there, and nothing that is looked for: it is left as it is.
    #[inline(always)]
    pub(crate) fn is_short(&self) -> bool {
        if self.piece.end - self.piece.start >= self.wanted() as usize {
            return false;
        }
        let transport = match self.piece.load(Ethernet::LEN - 2).map(u16::from_be_bytes).map(EtherType) {
            Some(EtherType::IPV4) => self.piece.load(Ethernet::LEN + 9),
            Some(EtherType::IPV6) => self.piece.load(Ethernet::LEN + 6),
            _ => None,
        };
        transport != Some([TCP])
    }

    /// Brings the headers into one piece, if it can. Windows taken before are void either way.
    #[inline(always)]
    pub(crate) fn gather(&self) {
        // SAFETY: the context is the program's own.
        let _ = unsafe { bpf_skb_pull_data(self.context.skb.skb, self.wanted()) };
    }

    /// Bytes that are to lie in one piece.
    #[inline(always)]
    fn wanted(&self) -> u32 {
        self.bytes().min(Head::FRAME as u32)
    }

    /// Bytes of the frame. Read anew each time: what the verifier learns of a value that is kept, by comparing it,
    /// would make one way through the walker many.
    #[inline(always)]
    fn bytes(&self) -> u32 {
        // SAFETY: the context is the program's own.
        unsafe { (&raw const (*self.context.skb.skb).len).read_volatile() }
    }
}

/// The protocol number of TCP (RFC 9293).
const TCP: u8 = 6;

impl Window for Sent<'_> {
    #[inline(always)]
    fn load<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.piece.load(at)
    }

    #[inline(always)]
    fn len(&self) -> usize {
        self.bytes() as usize
    }

    #[inline(always)]
    fn header<const N: usize>(&self, at: usize, layer: Layer) -> Result<[u8; N], Cut> {
        // Nobody here reads how much was missing.
        self.load(at).ok_or(Cut::new(layer, at, N, 0))
    }
}

impl Frame for Sent<'_> {
    #[inline(always)]
    fn sizes(&self) -> (u32, u32) {
        let len = self.bytes();
        // A tag that the NIC is to put in is on the wire, but not in the frame yet.
        // SAFETY: the context is the program's own. Without a branch: the verifier would walk all that follows twice.
        let tagged = unsafe { (&raw const (*self.context.skb.skb).vlan_present).read_volatile() };
        (len, len + 4 * (tagged & 1))
    }

    #[inline(always)]
    fn ifindex(&self) -> u32 {
        // SAFETY: the context is the program's own.
        unsafe { (*self.context.skb.skb).ifindex }
    }

    #[inline(always)]
    fn vlan(&self) -> Option<u16> {
        let skb = self.context.skb.skb;
        // SAFETY: the context is the program's own.
        unsafe { if (*skb).vlan_present != 0 { Some((*skb).vlan_tci as u16) } else { None } }
    }

    #[inline(always)]
    unsafe fn copy(&self, to: *mut u8, len: u32) -> bool {
        // SAFETY: the caller vouches for `to`; the helper checks the frame's side.
        unsafe { bpf_skb_load_bytes(self.context.as_ptr(), 0, to.cast(), len) == 0 }
    }
}
