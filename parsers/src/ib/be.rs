//! Big-endian fields of a header at offsets that the compiler checks: what the longer wire files read and write with.
#![allow(
    clippy::indexing_slicing,
    reason = "each index is a constant, and the assertion beside it is evaluated by the compiler"
)]

/// The 16 bits at `AT`.
#[inline(always)]
pub(crate) const fn get16<const AT: usize, const N: usize>(b: &[u8; N]) -> u16 {
    const { assert!(AT + 2 <= N) };
    u16::from_be_bytes([b[AT], b[AT + 1]])
}

/// The 24 bits at `AT`.
#[inline(always)]
pub(crate) const fn get24<const AT: usize, const N: usize>(b: &[u8; N]) -> u32 {
    const { assert!(AT + 3 <= N) };
    u32::from_be_bytes([0, b[AT], b[AT + 1], b[AT + 2]])
}

/// The 32 bits at `AT`.
#[inline(always)]
pub(crate) const fn get32<const AT: usize, const N: usize>(b: &[u8; N]) -> u32 {
    const { assert!(AT + 4 <= N) };
    u32::from_be_bytes([b[AT], b[AT + 1], b[AT + 2], b[AT + 3]])
}

/// The 64 bits at `AT`.
#[inline(always)]
pub(crate) const fn get64<const AT: usize, const N: usize>(b: &[u8; N]) -> u64 {
    const { assert!(AT + 8 <= N) };
    u64::from_be_bytes([b[AT], b[AT + 1], b[AT + 2], b[AT + 3], b[AT + 4], b[AT + 5], b[AT + 6], b[AT + 7]])
}

/// The 128 bits at `AT`, as they are.
#[inline(always)]
pub(crate) const fn get128<const AT: usize, const N: usize>(b: &[u8; N]) -> [u8; 16] {
    // In two halves: the kernel's compiler copies arrays byte by byte.
    const { assert!(AT + 16 <= N) };
    let mut low = [0; 8];
    let mut high = [0; 8];
    let mut i = 0;
    while i < 8 {
        high[i] = b[AT + i];
        low[i] = b[AT + 8 + i];
        i += 1;
    }
    ((u64::from_be_bytes(high) as u128) << 64 | u64::from_be_bytes(low) as u128).to_be_bytes()
}

/// Writes `V` bytes at `AT`.
#[inline(always)]
pub(crate) const fn put<const AT: usize, const V: usize, const N: usize>(b: &mut [u8; N], value: [u8; V]) {
    const { assert!(AT + V <= N) };
    let mut i = 0;
    while i < V {
        b[AT + i] = value[i];
        i += 1;
    }
}

/// Writes the low 24 bits of `value` at `AT`.
#[inline(always)]
pub(crate) const fn put24<const AT: usize, const N: usize>(b: &mut [u8; N], value: u32) {
    let [_, x, y, z] = value.to_be_bytes();
    put::<AT, 3, N>(b, [x, y, z]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_wrote() {
        let mut b = [0u8; 20];
        put::<1, 8, 20>(&mut b, 0x0102_0304_0506_0708u64.to_be_bytes());
        assert_eq!(get64::<1, 20>(&b), 0x0102_0304_0506_0708);
        assert_eq!(get32::<2, 20>(&b), 0x0203_0405);
        assert_eq!(get24::<2, 20>(&b), 0x02_0304);
        assert_eq!(get16::<7, 20>(&b), 0x0708);
        put24::<17, 20>(&mut b, 0xff12_3456);
        assert_eq!(b[16..], [0, 0x12, 0x34, 0x56]);
        assert_eq!(get128::<4, 20>(&b)[..5], [4, 5, 6, 7, 8]);
    }
}
