//! The reader trait: the only way the parsers touch a frame.
//!
//! A slice in userland and a packet pointer in XDP implement the same two functions, which is what lets one walker
//! run in both worlds (the verifier can prove one comparison against `data_end` for a constant N).

use crate::cut::{Cut, Layer};

/// A frame that can be read in fixed-size pieces.
pub trait Window {
    /// The `N` bytes at offset `at`, or `None` when they are not all there.
    fn load<const N: usize>(&self, at: usize) -> Option<[u8; N]>;

    /// Bytes that can be read. May be less than the frame had on the wire (snap length).
    fn len(&self) -> usize;

    /// Whether there is nothing to read.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether `end` bytes can be read. The same as comparing with [`len`](Window::len), which may cost something.
    #[inline(always)]
    fn holds(&self, end: usize) -> bool {
        end <= self.len()
    }

    /// [`load`](Window::load) for a header: its absence is a [`Cut`] in that layer.
    #[inline(always)]
    fn header<const N: usize>(&self, at: usize, layer: Layer) -> Result<[u8; N], Cut> {
        match self.load(at) {
            Some(bytes) => Ok(bytes),
            None => Err(Cut::new(layer, at, N, self.len().saturating_sub(at))),
        }
    }
}

impl Window for [u8] {
    #[inline(always)]
    fn load<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.get(at..)?.first_chunk().copied()
    }

    #[inline(always)]
    fn len(&self) -> usize {
        <[u8]>::len(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_only_what_is_there() {
        let bytes = &[1u8, 2, 3, 4][..];
        assert_eq!(bytes.load::<2>(2), Some([3, 4]));
        assert_eq!(bytes.load::<2>(3), None);
        assert_eq!(bytes.load::<1>(usize::MAX), None);
        assert_eq!(bytes.header::<4>(2, Layer::Udp), Err(Cut::new(Layer::Udp, 2, 4, 2)));
    }
}
