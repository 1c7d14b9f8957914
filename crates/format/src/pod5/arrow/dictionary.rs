//! The dictionary of a column: values that rows refer to by number.

use super::array::{Array, Batch};
use super::schema::Field;

/// All batches of one dictionary. A delta adds to the values before it. A replacement begins anew,
/// for the record batches after it in the file: Arrow's file format has none, its stream format
/// has, and they cost nothing here.
#[derive(Debug, Clone, Default)]
pub(crate) struct Dictionary {
    versions: Vec<Version>,
}

#[derive(Debug, Clone, Default)]
struct Version {
    /// Record batches from here on use it.
    from: u64,
    batches: Vec<Batch>,
}

impl Dictionary {
    pub(super) fn push(&mut self, batch: Batch, is_delta: bool) {
        match self.versions.last_mut() {
            Some(version) if is_delta => version.batches.push(batch),
            _ => self.versions.push(Version { from: batch.at, batches: vec![batch] }),
        }
    }

    /// Value `index` for a record batch whose body is at byte `batch_at`: an array and the row in
    /// it.
    #[must_use]
    pub(crate) fn value<'a>(
        &'a self,
        field: &'a Field,
        batch_at: u64,
        index: usize,
    ) -> Option<(Array<'a>, usize)> {
        let before = self.versions.iter().rev().find(|version| version.from < batch_at);
        let version = before.or(self.versions.first())?;
        let mut row = index as u64;
        for batch in &version.batches {
            if row < batch.rows {
                return Some((batch.values(field)?, row as usize));
            }
            row -= batch.rows;
        }
        None
    }

    /// All values of all versions, in the order of the file.
    pub(crate) fn values<'a>(&'a self, field: &'a Field) -> impl Iterator<Item = (Array<'a>, u64)> {
        let batches = self.versions.iter().flat_map(|version| &version.batches);
        batches.filter_map(move |batch| Some((batch.values(field)?, batch.rows)))
    }
}
