//! Dense tables with typed row numbers.
//!
//! All that the model has many of (hosts, ports, queue pairs, packets) stands in a [`Table`] and is named by a `u32` of
//! its own type: half a pointer's size, never mixed up, and the next row is the next in memory.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// A row number of one kind of table.
pub trait Id: Copy + Eq {
    /// The row.
    fn row(self) -> usize;
    /// The id of a row.
    fn of(row: usize) -> Self;
}

/// Makes a `u32` newtype that names rows.
macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        #[repr(transparent)]
        #[allow(unreachable_pub, reason = "a test may have its own")]
        pub struct $name(pub u32);

        impl $crate::table::Id for $name {
            #[inline(always)]
            fn row(self) -> usize {
                self.0 as usize
            }
            #[inline(always)]
            fn of(row: usize) -> Self {
                Self(row as u32)
            }
        }
    };
}
pub(crate) use id;

/// Rows of `T`, named by `I`.
///
/// Indexing checks bounds. Ids come from the table itself (`push`, `ids`) or were checked where they entered the model,
/// so a miss is a fault of the model and not of its input.
#[derive(Clone, Debug)]
pub struct Table<I, T> {
    rows: Vec<T>,
    kind: PhantomData<fn(I)>,
}

impl<I: Id, T> Table<I, T> {
    /// No rows.
    #[must_use]
    pub const fn new() -> Self {
        Self { rows: Vec::new(), kind: PhantomData }
    }

    /// No rows yet, but room for `n`.
    #[must_use]
    pub fn with_room(n: usize) -> Self {
        Self { rows: Vec::with_capacity(n), kind: PhantomData }
    }

    /// `n` rows of the same value.
    #[must_use]
    pub fn filled(value: T, n: usize) -> Self
    where
        T: Clone,
    {
        Self { rows: vec![value; n], kind: PhantomData }
    }

    /// Adds a row and names it.
    pub fn push(&mut self, value: T) -> I {
        self.rows.push(value);
        I::of(self.rows.len() - 1)
    }

    /// How many rows.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are no rows.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether the row is there.
    #[must_use]
    pub fn has(&self, id: I) -> bool {
        id.row() < self.rows.len()
    }

    /// All ids, in order.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = I> + use<I, T> {
        (0..self.rows.len()).map(I::of)
    }

    /// All rows, in order.
    #[must_use]
    pub fn rows(&self) -> &[T] {
        &self.rows
    }

    /// All rows, in order, to change.
    #[must_use]
    pub fn rows_mut(&mut self) -> &mut [T] {
        &mut self.rows
    }

    /// Ids and rows, in order.
    pub fn iter(&self) -> impl Iterator<Item = (I, &T)> {
        self.rows.iter().enumerate().map(|(row, value)| (I::of(row), value))
    }
}

impl<I: Id, T> Default for Table<I, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<I: Id, T> FromIterator<T> for Table<I, T> {
    fn from_iter<It: IntoIterator<Item = T>>(iter: It) -> Self {
        Self { rows: iter.into_iter().collect(), kind: PhantomData }
    }
}

impl<I: Id, T> Index<I> for Table<I, T> {
    type Output = T;
    #[inline(always)]
    #[allow(clippy::indexing_slicing, reason = "the one place: ids are typed and checked where they enter")]
    fn index(&self, id: I) -> &T {
        &self.rows[id.row()]
    }
}

impl<I: Id, T> IndexMut<I> for Table<I, T> {
    #[inline(always)]
    #[allow(clippy::indexing_slicing, reason = "the one place: ids are typed and checked where they enter")]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.rows[id.row()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    id! {
        /// A row of the test.
        RowId
    }

    #[test]
    fn rows_are_named_in_order() {
        let mut table: Table<RowId, &str> = Table::new();
        assert_eq!((table.push("a"), table.push("b")), (RowId(0), RowId(1)));
        table[RowId(1)] = "c";
        assert_eq!(table.iter().collect::<Vec<_>>(), [(RowId(0), &"a"), (RowId(1), &"c")]);
        assert!(table.has(RowId(1)) && !table.has(RowId(2)));
    }
}
