//! Units of the finish phase: runs of consecutive partitions that are sorted and encoded together.

use std::ops::Range;

use crate::partition::store::ChunkStore;

/// A run of consecutive partitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unit {
    /// Which store the partitions are in.
    pub(super) store: usize,
    pub(super) partitions: Range<usize>,
    /// Bytes of records with their frames.
    pub(super) bytes: u64,
}

/// All that is to be finished, in output order: a function of the records and their order.
#[derive(Debug)]
pub struct UnitPlan(Vec<Unit>);

/// Some units of a plan, one after the other.
#[derive(Debug, Clone, Copy)]
pub struct Units<'p> {
    /// Number of the first one in the plan.
    first: usize,
    units: &'p [Unit],
}

impl UnitPlan {
    /// Units of everything that `stores` hold, store by store. A unit is closed at the first
    /// partition edge after `unit_bytes` of records
    /// ([`Encoding::unit_bytes`](super::Encoding::unit_bytes)). Bytes per partition follow from the
    /// input alone, and so do the units.
    #[must_use]
    pub fn new(stores: &[&ChunkStore<'_>], unit_bytes: u64) -> Self {
        let sizes = |store: &ChunkStore<'_>| {
            (0..store.partitions()).map(|p| store.bytes(p)).collect::<Vec<_>>()
        };
        let units = stores.iter().enumerate();
        let group = |(index, store): (_, &&ChunkStore<'_>)| group(index, &sizes(store), unit_bytes);
        Self(units.flat_map(group).collect())
    }

    /// Number of units.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// All units.
    #[must_use]
    pub fn all(&self) -> Units<'_> {
        Units { first: 0, units: &self.0 }
    }

    /// Those of one of several shares of about equal bytes, the shares one after the other: a unit
    /// belongs to the share in which its first byte is, as with stripes.
    #[must_use]
    pub fn share(&self, share: usize, shares: usize) -> Units<'_> {
        let shares_of = share_of_each(&self.0, shares);
        let first = shares_of.partition_point(|&it| it < share);
        let end = shares_of.partition_point(|&it| it <= share);
        Units { first, units: &self.0[first..end] }
    }

    /// Those from number `first` on that hold `bytes` of records together, at least one; none where
    /// there are no more.
    #[must_use]
    pub fn region(&self, first: usize, bytes: u64) -> Units<'_> {
        let rest = self.0.get(first..).unwrap_or_default();
        let mut sum = 0;
        let has_room = |unit: &&Unit| {
            let had_room = sum < bytes.max(1);
            sum += unit.bytes;
            had_room
        };
        Units { first, units: &rest[..rest.iter().take_while(has_room).count()] }
    }
}

impl<'p> Units<'p> {
    /// Number of units.
    #[must_use]
    pub fn count(&self) -> usize {
        self.units.len()
    }

    /// Number of the first one in the plan.
    pub(super) fn first(self) -> usize {
        self.first
    }

    /// Whether a partition of a store belongs to one of them.
    #[must_use]
    pub fn has(&self, store: usize, partition: usize) -> bool {
        let after = |unit: &Unit| (unit.store, unit.partitions.end) <= (store, partition);
        let unit = self.units.get(self.units.partition_point(after));
        unit.is_some_and(|unit| unit.store == store && unit.partitions.contains(&partition))
    }

    pub(super) fn as_slice(self) -> &'p [Unit] {
        self.units
    }
}

/// The share in which each unit's first byte is.
pub(super) fn share_of_each(units: &[Unit], shares: usize) -> Vec<usize> {
    let total_bytes: u64 = units.iter().map(|unit| unit.bytes).sum();
    let mut before = 0;
    let share_of = |unit: &Unit| {
        let share = u128::from(before) * shares as u128 / u128::from(total_bytes.max(1));
        before += unit.bytes;
        (share as usize).min(shares - 1)
    };
    units.iter().map(share_of).collect()
}

fn group(store: usize, sizes: &[u64], unit_bytes: u64) -> Vec<Unit> {
    let mut units = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (partition, size) in sizes.iter().enumerate() {
        bytes += size;
        let last = partition + 1 == sizes.len();
        if bytes >= unit_bytes || (last && bytes > 0) {
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
    fn regions_follow_each_other() {
        let unit = |bytes| Unit { store: 0, partitions: 0..1, bytes };
        let plan = UnitPlan([5, 5, 20, 1, 1].map(unit).into());
        let counts = |first, bytes| plan.region(first, bytes).count();
        assert_eq!([counts(0, 0), counts(0, 5), counts(0, 6), counts(1, 6)], [1, 1, 2, 2]);
        assert_eq!([counts(2, 6), counts(3, 99), counts(5, 99), counts(9, 99)], [1, 2, 0, 0]);
        assert_eq!(plan.all().count(), plan.count());
    }

    #[test]
    fn shares_are_all_of_it_and_know_their_partitions() {
        let unit = |(i, bytes): (usize, u64)| Unit {
            store: i / 3,
            partitions: i % 3 * 2..i % 3 * 2 + 2,
            bytes,
        };
        let plan = UnitPlan((0..).zip([5, 5, 20, 1, 1, 0]).map(unit).collect());
        for shares in 1..9 {
            let all: Vec<Unit> =
                (0..shares).flat_map(|it| plan.share(it, shares).as_slice().to_vec()).collect();
            assert_eq!(all, plan.0, "{shares}");
        }
        let second = plan.share(1, 2);
        let bytes =
            |units: Units<'_>| units.units.iter().map(|unit| unit.bytes).collect::<Vec<_>>();
        assert_eq!([bytes(plan.share(0, 2)), bytes(second)], [vec![5, 5, 20], vec![1, 1, 0]]);
        let has =
            |store, partition| (second.has(store, partition), plan.all().has(store, partition));
        assert_eq!(
            [has(0, 5), has(0, 6), has(1, 0)],
            [(false, true), (false, false), (true, true)]
        );
        assert_eq!(
            [has(1, 3), has(1, 6), has(2, 0)],
            [(true, true), (false, false), (false, false)]
        );
    }

    #[test]
    fn units_cover_every_record_once_and_end_at_partition_edges() {
        let mega = 1 << 20;
        let unit = |partitions, bytes| Unit { store: 0, partitions, bytes };
        fn t(sizes: &[u64], expected: &[Unit]) {
            assert_eq!(group(0, sizes, 2 << 20), expected, "{sizes:?}");
        }
        t(&[], &[]);
        t(&[0, 0], &[]);
        t(&[mega, mega, mega], &[unit(0..2, 2 * mega), unit(2..3, mega)]);
        t(&[9 * mega, 0, 1], &[unit(0..1, 9 * mega), unit(1..3, 1)]);
    }
}
