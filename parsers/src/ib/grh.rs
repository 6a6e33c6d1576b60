//! Global route header: 40 bytes before the BTH, laid out like IPv6 (IBTA 8.3). RoCEv1 always has one (annex A16.4).

use core::fmt;

use crate::addr::Addr;
use crate::cut::{Cut, Layer};
use crate::net::protocol::Protocol;
use crate::window::Window;

mod field {
    pub(super) const VERSION: usize = 0; // IPVer 8.3.1 (4 bits), TClass 8.3.2 (8 bits), FlowLabel 8.3.3 (20 bits)
    pub(super) const PAY_LEN: usize = 4; // 8.3.4
    pub(super) const NEXT: usize = 6; // NxtHdr 8.3.5
    pub(super) const HOP_LIMIT: usize = 7; // 8.3.6; then SGID 8.3.7 and DGID 8.3.8, 128 bits each
}

/// A global route header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grh([u8; Grh::LEN]);

impl Grh {
    /// Bytes on the wire.
    pub const LEN: usize = 40;

    /// The header at offset `at`.
    ///
    /// # Errors
    /// [`Cut`] when fewer than 40 bytes are there.
    #[inline]
    pub fn load<W: Window + ?Sized>(frame: &W, at: usize) -> Result<Self, Cut> {
        frame.header(at, Layer::Grh).map(Self)
    }

    /// Version; 6.
    #[must_use]
    pub const fn version(&self) -> u8 {
        self.0[field::VERSION] >> 4
    }

    /// Traffic class.
    #[must_use]
    pub const fn traffic_class(&self) -> u8 {
        self.0[field::VERSION] << 4 | self.0[field::VERSION + 1] >> 4
    }

    /// Flow label, 20 bits.
    #[must_use]
    pub const fn flow_label(&self) -> u32 {
        u32::from_be_bytes([
            0,
            self.0[field::VERSION + 1] & 0xf,
            self.0[field::VERSION + 2],
            self.0[field::VERSION + 3],
        ])
    }

    /// Bytes from the first after this header up to the end of the ICRC.
    #[must_use]
    pub const fn payload_len(&self) -> u16 {
        u16::from_be_bytes([self.0[field::PAY_LEN], self.0[field::PAY_LEN + 1]])
    }

    /// What follows: [`Protocol::IBA`] for a BTH.
    #[must_use]
    pub const fn next(&self) -> Protocol {
        Protocol(self.0[field::NEXT])
    }

    /// Hop limit.
    #[must_use]
    pub const fn hop_limit(&self) -> u8 {
        self.0[field::HOP_LIMIT]
    }

    /// Source GID.
    #[must_use]
    pub const fn src(&self) -> Addr {
        // An array pattern and not byte by byte: the compiler copies it in one piece.
        let [_, _, _, _, _, _, _, _, src @ .., _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _] = &self.0;
        Addr(*src)
    }

    /// Destination GID.
    #[must_use]
    pub const fn dst(&self) -> Addr {
        let [_, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, dst @ ..] = &self.0;
        Addr(*dst)
    }

    /// A header before a BTH, with `payload` bytes after itself: hop limit 64, traffic class and flow label 0.
    #[must_use]
    pub const fn new(src: Addr, dst: Addr, payload: u16) -> Self {
        let [l0, l1] = payload.to_be_bytes();
        let Addr([a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p]) = src;
        let Addr([q, r, s, t, u, v, w, x, y, z, a2, b2, c2, d2, e2, f2]) = dst;
        Self([
            0x60,
            0,
            0,
            0,
            l0,
            l1,
            Protocol::IBA.0,
            64,
            a,
            b,
            c,
            d,
            e,
            f,
            g,
            h,
            i,
            j,
            k,
            l,
            m,
            n,
            o,
            p,
            q,
            r,
            s,
            t,
            u,
            v,
            w,
            x,
            y,
            z,
            a2,
            b2,
            c2,
            d2,
            e2,
            f2,
        ])
    }

    /// The same header with another next header.
    #[must_use]
    pub const fn with_next(mut self, next: Protocol) -> Self {
        self.0[field::NEXT] = next.0;
        self
    }

    /// The same header with this traffic class.
    #[must_use]
    pub const fn with_traffic_class(mut self, class: u8) -> Self {
        self.0[field::VERSION] = self.0[field::VERSION] & 0xf0 | class >> 4;
        self.0[field::VERSION + 1] = self.0[field::VERSION + 1] & 0xf | class << 4;
        self
    }

    /// The same header with this hop limit.
    #[must_use]
    pub const fn with_hop_limit(mut self, hops: u8) -> Self {
        self.0[field::HOP_LIMIT] = hops;
        self
    }

    /// The bytes on the wire.
    #[must_use]
    pub const fn bytes(&self) -> [u8; Self::LEN] {
        self.0
    }
}

impl fmt::Display for Grh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GRH {} > {} length {} hops {}", self.src(), self.dst(), self.payload_len(), self.hop_limit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEADER: [u8; 40] = [
        0x6c, 0x20, 0, 0, 0x00, 0x1c, 0x1b, 1, 0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xfe, 0x80, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2,
    ];
    const ONE: Addr = Addr([0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    const TWO: Addr = Addr([0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);

    #[test]
    fn takes_apart() {
        let grh = Grh::load(&HEADER[..], 0).unwrap();
        assert_eq!((grh.version(), grh.traffic_class(), grh.flow_label()), (6, 0xc2, 0));
        assert_eq!((grh.payload_len(), grh.next(), grh.hop_limit()), (28, Protocol::IBA, 1));
        assert_eq!((grh.src(), grh.dst()), (ONE, TWO));
        assert_eq!(grh.to_string(), "GRH fe80::1 > fe80::2 length 28 hops 1");
    }

    #[test]
    fn puts_together() {
        assert_eq!(Grh::new(ONE, TWO, 28).with_traffic_class(0xc2).with_hop_limit(1).bytes(), HEADER);
    }

    #[test]
    fn cut_at_every_length() {
        for had in 0..Grh::LEN {
            assert_eq!(Grh::load(&HEADER[..had], 0), Err(Cut::new(Layer::Grh, 0, 40, had)));
        }
    }

    proptest! {
        #[test]
        fn round_trip(src: [u8; 16], dst: [u8; 16], payload: u16, class: u8, hops: u8, next: u8) {
            let built = Grh::new(Addr(src), Addr(dst), payload)
                .with_traffic_class(class).with_hop_limit(hops).with_next(Protocol(next));
            let read = Grh::load(&built.bytes()[..], 0).unwrap();
            prop_assert_eq!((read.src(), read.dst(), read.payload_len()), (Addr(src), Addr(dst), payload));
            prop_assert_eq!((read.traffic_class(), read.hop_limit()), (class, hops));
            prop_assert_eq!((read.version(), read.next()), (6, Protocol(next)));
        }
    }
}
