//! What most stories never need.

use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use std::sync::LazyLock;

use super::hole::Hole;
use super::log::Log;
use super::run::Asked;
use super::{NakTimes, Trouble};

/// A pointer where nothing has happened: made with the first change, and blank until then.
#[derive(Clone, Debug, Default)]
pub(super) struct Rare<T>(Option<Box<T>>);

impl<T> Rare<T> {
    /// Whether nothing ever changed: the only question that most packets ask.
    #[inline(always)]
    pub(super) fn is_none(&self) -> bool {
        self.0.is_none()
    }
}

impl<T> Rare<VecDeque<T>> {
    /// The same question of a queue, which may be empty again.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|queue| queue.is_empty())
    }
}

/// A value to read where there is none.
pub(super) trait Blank: 'static {
    fn blank() -> &'static Self;
}

macro_rules! blank {
    ($($of:ty),*) => {$(
        impl Blank for $of {
            fn blank() -> &'static Self {
                static BLANK: LazyLock<$of> = LazyLock::new(Default::default);
                &BLANK
            }
        }
    )*};
}

blank!(Trouble, NakTimes, Log, VecDeque<Hole>, VecDeque<Asked>);

impl<T: Blank> Deref for Rare<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_deref().unwrap_or_else(|| T::blank())
    }
}

impl<T: Blank + Default> DerefMut for Rare<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.get_or_insert_default()
    }
}
