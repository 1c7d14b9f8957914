//! Large memory, asked for so that a refusal is an error.

use seqloom_runtime::placement::ask_for_huge_pages;

use super::error::BuildError;

/// An empty vector with room for `entries`, or an error instead of an abort. Sorting reads and
/// writes here and there, so huge pages are asked for.
pub(crate) fn reserved<T>(entries: u64) -> Result<Vec<T>, BuildError> {
    let mut vector = Vec::new();
    let entries_here = usize::try_from(entries).unwrap_or(usize::MAX);
    vector
        .try_reserve_exact(entries_here)
        .map_err(|_| BuildError::OutOfMemory(entries.saturating_mul(size_of::<T>() as u64)))?;
    ask_for_huge_pages(&mut vector);
    Ok(vector)
}
