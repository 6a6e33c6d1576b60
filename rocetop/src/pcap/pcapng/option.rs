//! Options at the end of a block: code, length, value, padded to 32 bits (3.5).

use super::super::{Fault, Order, What};

/// No more options follow.
pub const END: u16 = 0;

/// An option of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Opt<'a> {
    pub(super) code: u16,
    pub(super) value: &'a [u8],
}

impl<'a> Opt<'a> {
    /// The value of an option whose length the format fixes.
    pub(super) fn fixed<const N: usize>(self, part: &'static str) -> Result<[u8; N], Fault> {
        <[u8; N]>::try_from(self.value).map_err(|_| {
            let what = What::OptionLength { code: self.code, length: self.value.len() as u16, expected: N as u16 };
            Fault::new(part, what)
        })
    }

    /// Cuts the next option off `rest`; `None` at the end of the list, with or without an end marker.
    pub(super) fn next(rest: &mut &'a [u8], order: Order, part: &'static str) -> Result<Option<Self>, Fault> {
        if rest.len() < 4 {
            return Ok(None);
        }
        let (code, length) = (order.u16(rest, 0), order.u16(rest, 2));
        if code == END {
            return Ok(None);
        }
        let end = 4 + usize::from(length);
        let Some(value) = rest.get(4..end) else {
            return Err(Fault::new(part, What::OptionBeyondBlock { code, length }));
        };
        // A last option whose padding was forgotten still ends with its block.
        *rest = rest.get(end.next_multiple_of(4)..).unwrap_or_default();
        Ok(Some(Self { code, value }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_a_list_apart() {
        let mut rest: &[u8] = &[0, 2, 0, 3, b'e', b't', b'h', 0, 0, 9, 0, 1, 6, 0, 0, 0, 0, 0, 0, 0, 0xff];
        let mut next = || Opt::next(&mut rest, Order::Big, "test").unwrap();
        assert_eq!(next(), Some(Opt { code: 2, value: b"eth" }));
        assert_eq!(next(), Some(Opt { code: 9, value: &[6] }));
        assert_eq!(next(), None);
    }

    #[test]
    fn impossible_lengths() {
        let mut rest: &[u8] = &[2, 0, 5, 0, 1, 2, 3, 4];
        let fault = Opt::next(&mut rest, Order::Little, "test").unwrap_err();
        assert_eq!(fault.what, What::OptionBeyondBlock { code: 2, length: 5 });
        let fault = Opt { code: 9, value: &[1, 2] }.fixed::<1>("test").unwrap_err();
        assert_eq!(fault.what, What::OptionLength { code: 9, length: 2, expected: 1 });
    }
}
