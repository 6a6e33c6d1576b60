//! Numbers of 32 bits in 16: to a thousandth, in the order of what they stand for.

/// Bits that are kept of a number, as it is or shifted left by the five above.
const DIGITS: u32 = 11;

/// The short form: of a larger number never smaller.
#[inline(always)]
pub(crate) fn short(n: u32) -> u16 {
    let shift = (u32::BITS - n.leading_zeros()).saturating_sub(DIGITS);
    (shift << DIGITS | n >> shift) as u16
}

/// What it stands for, no more than the number was.
#[inline(always)]
pub(crate) fn long(short: u16) -> u64 {
    let (shift, digits) = (short >> DIGITS, u64::from(short) & ((1 << DIGITS) - 1));
    digits << shift
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_keep_their_order() {
        let numbers = [0, 1, 64, 2_047, 2_048, 4_095, 4_096, 1 << 20, 1 << 30, u32::MAX];
        let kept = numbers.map(|n| long(short(n)));
        assert_eq!(kept, [0, 1, 64, 2_047, 2_048, 4_094, 4_096, 1 << 20, 1 << 30, 0xffe0_0000]);
        assert!(numbers.map(short).is_sorted());
    }
}
