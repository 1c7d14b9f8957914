//! Units of the finish phase: runs of consecutive partitions that are sorted and encoded together.

use std::ops::Range;

use crate::store::ChunkStore;

/// A unit is closed at the first partition edge behind this many bytes of records. Bytes per
/// partition follow from the input alone, and so do the units.
const UNIT_BYTES: u64 = 2 << 20;

/// A run of consecutive partitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unit {
    /// Which store the partitions are in.
    pub(super) store: usize,
    pub(super) partitions: Range<usize>,
    /// Bytes of records with their frames.
    pub(super) bytes: u64,
}

/// All units in output order: store by store.
pub(super) fn plan(stores: &[&ChunkStore<'_>]) -> Vec<Unit> {
    let sizes = |store: &ChunkStore<'_>| {
        (0..store.partitions()).map(|p| store.bytes(p)).collect::<Vec<_>>()
    };
    stores.iter().enumerate().flat_map(|(index, store)| group(index, &sizes(store))).collect()
}

fn group(store: usize, sizes: &[u64]) -> Vec<Unit> {
    let mut units = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (partition, size) in sizes.iter().enumerate() {
        bytes += size;
        let last = partition + 1 == sizes.len();
        if bytes >= UNIT_BYTES || (last && bytes > 0) {
            units.push(Unit { store, partitions: start..partition + 1, bytes });
            (start, bytes) = (partition + 1, 0);
        }
    }
    units
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_cover_every_record_once_and_end_at_partition_edges() {
        let mega = 1 << 20;
        let unit = |partitions, bytes| Unit { store: 0, partitions, bytes };
        fn t(sizes: &[u64], expected: &[Unit]) {
            assert_eq!(group(0, sizes), expected, "{sizes:?}");
        }
        t(&[], &[]);
        t(&[0, 0], &[]);
        t(&[mega, mega, mega], &[unit(0..2, 2 * mega), unit(2..3, mega)]);
        t(&[9 * mega, 0, 1], &[unit(0..1, 9 * mega), unit(1..3, 1)]);
    }
}
