//! Bytes over time, in as many bins as a screen has columns.
//!
//! The width of a bin is a power of two of nanoseconds and bins begin at multiples of it, so that what several threads
//! counted adds up, and the same capture has the same bins whatever order its packets come in.

use rocetop_parsers::{Bytes, Nanos};

/// Bins kept (chosen: as many as a line of text can show).
const BINS: usize = 64;
/// The narrowest bin: two to this power, about a microsecond. At 400 Gb/s that is a dozen full packets.
const NARROWEST: u32 = 10;

/// Bytes over time.
#[derive(Clone, Debug)]
pub struct Bins {
    /// Width of a bin: two to this power, in nanoseconds.
    bits: u32,
    /// Number of the first bin since 1970; `None` before the first packet.
    first: Option<u64>,
    bytes: [u64; BINS],
}

impl Default for Bins {
    fn default() -> Self {
        Self { bits: NARROWEST, first: None, bytes: [0; BINS] }
    }
}

impl Bins {
    /// Adds a packet.
    #[inline(always)]
    pub(crate) fn add(&mut self, at: Nanos, bytes: Bytes) {
        let index = (at.0 >> self.bits).wrapping_sub(self.first.unwrap_or(u64::MAX));
        match self.bytes.get_mut(usize::try_from(index).unwrap_or(BINS)) {
            Some(bin) if self.first.is_some() => *bin += bytes.0,
            _ => self.make_room(at, bytes),
        }
    }

    /// The packet lies outside: bins grow, or begin earlier.
    #[cold]
    fn make_room(&mut self, at: Nanos, bytes: Bytes) {
        let Some(first) = self.first else {
            self.first = Some(at.0 >> self.bits);
            return self.add(at, bytes);
        };
        let (from, to) = (first << self.bits, self.last().unwrap_or(first) << self.bits);
        let (from, to) = (from.min(at.0), to.max(at.0));
        let mut bits = self.bits;
        while (to >> bits) - (from >> bits) >= BINS as u64 {
            bits += 1;
        }
        self.rebase(bits, from >> bits);
        if let Some(bin) = self.bytes.get_mut(((at.0 >> bits) - (from >> bits)) as usize) {
            *bin += bytes.0;
        }
    }

    /// The last bin that holds anything.
    fn last(&self) -> Option<u64> {
        let index = self.bytes.iter().rposition(|&n| n != 0)?;
        Some(self.first? + index as u64)
    }

    /// The same bytes in bins of this width from this one on, which all of them fit in.
    fn rebase(&mut self, bits: u32, first: u64) {
        let old = std::mem::replace(self, Self { bits, first: Some(first), bytes: [0; BINS] });
        let Some(begin) = old.first else { return };
        for (number, bytes) in (begin..).zip(old.bytes).filter(|&(_, bytes)| bytes != 0) {
            let index = (number << old.bits >> bits).wrapping_sub(first);
            if let Some(bin) = self.bytes.get_mut(usize::try_from(index).unwrap_or(BINS)) {
                *bin += bytes;
            }
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        let Some(begin) = other.first else { return };
        for (number, bytes) in (begin..).zip(other.bytes).filter(|&(_, bytes)| bytes != 0) {
            // The narrower ones are only known to lie somewhere in the wider bin, and so do all that share it.
            self.widen(other.bits);
            self.add(Nanos(number << other.bits), Bytes(bytes));
        }
    }

    fn widen(&mut self, bits: u32) {
        if bits > self.bits {
            let first = self.first.map(|first| first << self.bits >> bits);
            match first {
                Some(first) => self.rebase(bits, first),
                None => self.bits = bits,
            }
        }
    }

    /// Where the first bin begins, how long each is, and the bytes of all to the last that has any.
    #[must_use]
    pub fn series(&self) -> Option<(Nanos, Nanos, &[u64])> {
        let (first, last) = (self.first?, self.last()?);
        let bytes = self.bytes.get(..=(last - first) as usize)?;
        Some((Nanos(first << self.bits), Nanos(1 << self.bits), bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(packets: &[(u64, u64)]) -> Bins {
        let mut bins = Bins::default();
        for &(at, bytes) in packets {
            bins.add(Nanos(at), Bytes(bytes));
        }
        bins
    }

    #[test]
    fn bins_grow_with_time() {
        let bins = of(&[(5_000, 1), (5_500, 2), (70_000, 4), (140_000, 8)]);
        let (start, width, bytes) = bins.series().unwrap();
        assert_eq!((start, width), (Nanos(4096), Nanos(4096)));
        assert_eq!(bytes.iter().sum::<u64>(), 15);
        assert_eq!((bytes[0], bytes[16], bytes[33]), (3, 4, 8));
    }

    #[test]
    fn order_makes_no_difference_and_neither_do_threads() {
        let packets: Vec<(u64, u64)> = (0..500).map(|n| (1_000_000 + n * n * 37 % 900_000, n + 1)).collect();
        let mut backward = packets.clone();
        backward.reverse();
        let all = of(&packets);
        assert_eq!(all.series(), of(&backward).series());
        let (even, odd): (Vec<_>, Vec<_>) = packets.iter().partition(|p| p.1 % 2 == 0);
        let mut merged = of(&even);
        merged.merge(&of(&odd));
        assert_eq!(merged.series(), all.series());
    }

    #[test]
    fn any_time_is_a_time() {
        let bins = of(&[(0, 1), (u64::MAX, 1)]);
        assert_eq!(bins.series().unwrap().2.iter().sum::<u64>(), 2);
        assert!(Bins::default().series().is_none());
    }
}
