//! The target `pcap`: the decoder of classic pcap files, shown the file in pieces that the first byte chooses.

#[path = "decoder.rs"]
mod decoder;

use rocetop::pcap::Format;

/// The first byte chooses the pieces, the rest is the file.
pub(crate) fn feed(data: &[u8]) {
    decoder::feed(Format::Pcap, data);
}
