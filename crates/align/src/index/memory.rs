//! Large memory, requested so that a refusal is an error, and given back at once.

use std::mem;
use std::ops::{Deref, DerefMut};

use seqloom_runtime::placement::{ask_for_huge_pages, drop_with_pages};

use super::error::BuildError;

/// A vector whose memory is the kernel's again when it is dropped. An allocator keeps it for a
/// while, in which what comes next would be on top of it, above what was planned.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Large<T>(Vec<T>);

impl<T> Default for Large<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> From<Vec<T>> for Large<T> {
    fn from(values: Vec<T>) -> Self {
        Self(values)
    }
}

impl<T> Deref for Large<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T> DerefMut for Large<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.0
    }
}

impl<T> Drop for Large<T> {
    fn drop(&mut self) {
        drop_with_pages(mem::take(&mut self.0));
    }
}

/// An empty vector with room for `entries`, or an error instead of an abort. Sorting reads and
/// writes here and there, so huge pages are requested.
pub(crate) fn reserved<T>(entries: u64) -> Result<Large<T>, BuildError> {
    let mut vector = Vec::new();
    let entries_here = usize::try_from(entries).unwrap_or(usize::MAX);
    vector
        .try_reserve_exact(entries_here)
        .map_err(|_| BuildError::OutOfMemory(entries.saturating_mul(size_of::<T>() as u64)))?;
    ask_for_huge_pages(vector.spare_capacity_mut());
    Ok(Large(vector))
}
