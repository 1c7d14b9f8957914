//! Counts by key, kept sorted, in memory that follows from the number of keys and not from how
//! often they are counted.
//!
//! New counts go to a short list. When that has grown to a share of the long one it is sorted,
//! equal keys are joined in the order in which they were added, and both lists are merged in place.

/// Fresh entries are merged in when they are as many as this part of those there are: adding costs
/// a logarithm, and memory stays below 1.5 times that of the keys.
const FRESH_PART: usize = 2;

/// Fewer fresh entries than these are not merged.
const MIN_FRESH: usize = 1 << 16;

/// A count that can take in another.
pub(crate) trait Absorb {
    /// Adds `later`, which was counted after this one.
    fn absorb(&mut self, later: &Self);
}

/// Keys in their order, each with its count.
#[derive(Debug)]
pub(crate) struct Tallies<K, V> {
    /// Sorted, each key once.
    merged: Vec<(K, V)>,
    /// In the order in which they were added.
    fresh: Vec<(K, V)>,
    min_fresh: usize,
}

impl<K, V> Default for Tallies<K, V> {
    fn default() -> Self {
        Self { merged: Vec::new(), fresh: Vec::new(), min_fresh: MIN_FRESH }
    }
}

impl<K: Ord + Copy, V: Absorb + Copy> Tallies<K, V> {
    /// Counts `value` for `key`; whether all that was added is now merged.
    pub(crate) fn add(&mut self, key: K, value: V) -> bool {
        self.fresh.push((key, value));
        let is_full = self.fresh.len() >= self.min_fresh.max(self.merged.len() / FRESH_PART);
        if is_full {
            self.merge();
        }
        is_full
    }

    /// Merges what was added.
    pub(crate) fn merge(&mut self) {
        // A stable sort: which of two equal keys came first can be seen in what is absorbed.
        self.fresh.sort_by_key(|(key, _)| *key);
        self.fresh.dedup_by(|later, kept| {
            let is_same = later.0 == kept.0;
            if is_same {
                kept.1.absorb(&later.1);
            }
            is_same
        });
        self.absorb_known();
        self.insert_unknown();
    }

    /// Takes fresh entries whose keys there are already out of the fresh ones.
    fn absorb_known(&mut self) {
        let mut known = self.merged.iter_mut().peekable();
        self.fresh.retain(|(key, value)| {
            while known.next_if(|(other, _)| other < key).is_some() {}
            match known.peek_mut() {
                Some((other, count)) if other == key => {
                    count.absorb(value);
                    false
                }
                _ => true,
            }
        });
    }

    /// Merges fresh entries, none of whose keys there is yet, from the back.
    fn insert_unknown(&mut self) {
        let Some(&filler) = self.fresh.first() else { return };
        let mut old = self.merged.len();
        self.merged.reserve_exact(self.fresh.len());
        self.merged.resize(old + self.fresh.len(), filler);
        let mut place = self.merged.len();
        while let Some(&entry) = self.fresh.last() {
            place -= 1;
            if old > 0 && self.merged[old - 1].0 > entry.0 {
                old -= 1;
                self.merged[place] = self.merged[old];
            } else {
                self.merged[place] = entry;
                self.fresh.pop();
            }
        }
    }

    /// The entries by key; complete after [`merge`](Self::merge).
    #[must_use]
    pub(crate) fn merged(&self) -> &[(K, V)] {
        &self.merged
    }

    /// The counts in the order of their keys; complete after [`merge`](Self::merge).
    pub(crate) fn merged_values(&mut self) -> impl Iterator<Item = &mut V> {
        self.merged.iter_mut().map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// How often, and when first.
    #[derive(Debug, Clone, Copy, PartialEq)]
    struct Count(u32, usize);

    impl Absorb for Count {
        fn absorb(&mut self, later: &Self) {
            assert!(self.1 < later.1, "absorbed in order");
            self.0 += later.0;
        }
    }

    proptest! {
        #[test]
        fn sums_are_those_of_a_map(
            keys in prop::collection::vec(0_u16..60, 0..400),
            min_fresh in 1_usize..50,
        ) {
            let mut tallies = Tallies { min_fresh, ..Tallies::default() };
            let mut expected: BTreeMap<u16, Count> = BTreeMap::new();
            for (index, &key) in keys.iter().enumerate() {
                let was_merged = tallies.add(key, Count(1, index));
                prop_assert_eq!(was_merged, tallies.fresh.is_empty());
                expected.entry(key).or_insert(Count(0, index)).0 += 1;
            }
            tallies.merge();
            let expected: Vec<(u16, Count)> = expected.into_iter().collect();
            prop_assert_eq!(tallies.merged(), expected);
        }
    }
}
