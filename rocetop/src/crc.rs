//! The fast CRC-32 that the parsers ask for: `crc32fast`, which picks the CPU's carry-less multiplication at run time.

use rocetop_parsers::icrc::Crc32;

/// CRC-32 on whatever the CPU offers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fast;

impl Crc32 for Fast {
    #[inline]
    fn update(&self, crc: u32, bytes: &[u8]) -> u32 {
        let mut hasher = crc32fast::Hasher::new_with_initial(crc);
        hasher.update(bytes);
        hasher.finalize()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rocetop_parsers::icrc::Table;

    #[test]
    fn agrees_with_the_table_at_every_length() {
        let bytes: Vec<u8> = (0..600u32).map(|n| (n * 31 + n / 7) as u8).collect();
        for len in 0..bytes.len() {
            let (a, b) = bytes.split_at(len);
            assert_eq!(Fast.update(Fast.update(0, a), b), Table.update(Table.update(0, a), b));
        }
    }
}
