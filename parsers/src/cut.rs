//! The error of the parsers: where a frame ends too early, or says so of itself.

use core::fmt;

/// The layer that a [`Cut`] happened in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs, reason = "each name is the header's own")]
pub enum Layer {
    Ethernet,
    Vlan,
    Mpls,
    LinuxCooked,
    Erf,
    Pause,
    Ipv4,
    Ipv6,
    Ipv6Extension,
    Udp,
    Gre,
    Erspan,
    Vxlan,
    Geneve,
    Lrh,
    Grh,
    Bth,
    Deth,
    Reth,
    Aeth,
    AtomicEth,
    AtomicAckEth,
    ImmDt,
    Ieth,
    Rdeth,
    Xrceth,
    Feth,
    Mad,
    Cm,
    Loopback,
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Layer::Ethernet => "Ethernet",
            Layer::Vlan => "802.1Q",
            Layer::Mpls => "MPLS",
            Layer::LinuxCooked => "Linux cooked",
            Layer::Erf => "ERF",
            Layer::Pause => "PFC/pause",
            Layer::Ipv4 => "IPv4",
            Layer::Ipv6 => "IPv6",
            Layer::Ipv6Extension => "IPv6 extension",
            Layer::Udp => "UDP",
            Layer::Gre => "GRE",
            Layer::Erspan => "ERSPAN",
            Layer::Vxlan => "VXLAN",
            Layer::Geneve => "GENEVE",
            Layer::Lrh => "LRH",
            Layer::Grh => "GRH",
            Layer::Bth => "BTH",
            Layer::Deth => "DETH",
            Layer::Reth => "RETH",
            Layer::Aeth => "AETH",
            Layer::AtomicEth => "AtomicETH",
            Layer::AtomicAckEth => "AtomicAckETH",
            Layer::ImmDt => "ImmDt",
            Layer::Ieth => "IETH",
            Layer::Rdeth => "RDETH",
            Layer::Xrceth => "XRCETH",
            Layer::Feth => "FETH",
            Layer::Mad => "MAD",
            Layer::Cm => "CM",
            Layer::Loopback => "loopback",
        })
    }
}

/// A header that is not all there: the layer, its offset in the frame, the bytes it needs and the bytes it had.
///
/// A length field below its own header's minimum is the same fault, told by the frame itself: `had` is then what
/// the field claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The header that is missing or too short.
    pub layer: Layer,
    /// Offset of that header in the frame, in bytes.
    pub offset: u32,
    /// Bytes that the header needs.
    pub needed: u32,
    /// Bytes that were there.
    pub had: u32,
}

impl Cut {
    /// A cut in `layer` at `offset`, where `needed` bytes were wanted and `had` were there.
    #[must_use]
    pub const fn new(layer: Layer, offset: usize, needed: usize, had: usize) -> Self {
        Self { layer, offset: offset as u32, needed: needed as u32, had: had as u32 }
    }
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} header at offset {} needs {} bytes, {} are there", self.layer, self.offset, self.needed, self.had)
    }
}

impl core::error::Error for Cut {}
