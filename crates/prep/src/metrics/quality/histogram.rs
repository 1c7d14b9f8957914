//! Counts by size, with the statistics that htsjdk's `Histogram` gives of them.
//!
//! Memory is bounded: sizes up to 64 Ki are in a table, larger ones in a map. A map of more than
//! 4 Mi values gets bins of 512. Whether it does depends on the values alone, so parts that are
//! counted apart and merged give the same histogram as the whole.

use std::collections::BTreeMap;

/// Sizes below this one are in the table.
const TABLE_SIZES: usize = 1 << 16;
/// Larger values are counted by their exact size up to this many of them.
const EXACT_VALUES: u64 = 1 << 22;
/// Beyond, a bin is 512 sizes: at most 4 Mi bins for all sizes of 31 bits.
const BIN_BITS: u32 = 9;

/// How often each size occurs.
#[derive(Debug, Clone, Default)]
pub struct Histogram {
    table: Vec<u64>,
    large: BTreeMap<u32, u64>,
    /// Values in `large`.
    large_values: u64,
    largest: Option<u32>,
}

seqloom_format::persist_fields!(Histogram { table, large, large_values, largest });

impl Histogram {
    /// Counts a value.
    #[inline]
    pub(crate) fn add(&mut self, size: u32) {
        self.add_many(size, 1);
    }

    fn add_many(&mut self, size: u32, count: u64) {
        self.largest = self.largest.max(Some(size));
        match self.table.get_mut(size as usize) {
            Some(sum) => *sum += count,
            None if (size as usize) < TABLE_SIZES => {
                self.table.resize((size as usize + 1).next_power_of_two(), 0);
                self.table[size as usize] = count;
            }
            None => self.add_large(size, count),
        }
    }

    fn add_large(&mut self, size: u32, count: u64) {
        let was_exact = self.large_values <= EXACT_VALUES;
        self.large_values += count;
        if was_exact && self.large_values > EXACT_VALUES {
            for (exact, count) in std::mem::take(&mut self.large) {
                *self.large.entry(bin_of(exact)).or_default() += count;
            }
        }
        let key = if self.large_values > EXACT_VALUES { bin_of(size) } else { size };
        *self.large.entry(key).or_default() += count;
    }

    /// Adds another histogram.
    pub(crate) fn merge(&mut self, other: &Self) {
        if self.table.len() < other.table.len() {
            self.table.resize(other.table.len(), 0);
        }
        self.table.iter_mut().zip(&other.table).for_each(|(sum, more)| *sum += more);
        other.large.iter().for_each(|(&size, &count)| self.add_large(size, count));
        self.largest = self.largest.max(other.largest);
    }

    /// The sizes that were met, each with how often, by size.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u64)> {
        let table = (0_u32..).zip(self.table.iter().copied()).filter(|&(_, count)| count > 0);
        table.chain(self.large.iter().map(|(&size, &count)| (size, count)))
    }

    /// How many values were counted.
    #[must_use]
    pub(crate) fn count(&self) -> u64 {
        self.table.iter().sum::<u64>() + self.large_values
    }

    /// How many values have sizes above the table.
    #[must_use]
    pub(crate) fn large_values(&self) -> u64 {
        self.large_values
    }

    /// Sum of all values.
    #[must_use]
    pub(crate) fn sum(&self) -> f64 {
        self.iter().map(|(size, count)| f64::from(size) * count as f64).sum()
    }

    /// The smallest size.
    #[must_use]
    pub(crate) fn smallest(&self) -> Option<u32> {
        self.iter().map(|(size, _)| size).next()
    }

    /// The largest size.
    #[must_use]
    pub(crate) fn largest(&self) -> Option<u32> {
        self.largest
    }

    /// The size met most often, the smallest of several.
    #[must_use]
    pub(crate) fn mode(&self) -> Option<u32> {
        let better = |best: Option<(u32, u64)>, bin: (u32, u64)| match best {
            Some((_, count)) if count >= bin.1 => best,
            _ => Some(bin),
        };
        self.iter().fold(None, better).map(|(size, _)| size)
    }

    /// Mean; not a number without values.
    #[must_use]
    pub(crate) fn mean(&self) -> f64 {
        self.sum() / self.count() as f64
    }

    /// Standard deviation of a sample; not a number for fewer than two values.
    #[must_use]
    pub(crate) fn standard_deviation(&self) -> f64 {
        let mean = self.mean();
        let square = |(size, count): (u32, u64)| {
            let difference = f64::from(size) - mean;
            count as f64 * (difference * difference)
        };
        let total: f64 = self.iter().map(square).sum();
        (total / (self.count() as f64 - 1.0)).sqrt()
    }

    /// Median, the mean of the two middle values; 0 without values.
    #[must_use]
    pub(crate) fn median(&self) -> f64 {
        self.twice_median() as f64 / 2.0
    }

    fn twice_median(&self) -> u64 {
        let bins = self.iter().map(|(size, values)| Bin { size: size.into(), values });
        twice_median(bins, self.count())
    }

    /// Median of the absolute differences from the median; 0 without values.
    #[must_use]
    pub(crate) fn median_absolute_deviation(&self) -> f64 {
        let median = self.twice_median();
        let deviation = |(size, values): (u32, u64)| Bin {
            size: (2 * u64::from(size)).abs_diff(median),
            values,
        };
        let mut deviations: Vec<Bin> = self.iter().map(deviation).collect();
        deviations.sort_unstable();
        twice_median(deviations.into_iter(), self.count()) as f64 / 4.0
    }

    /// Forgets all sizes above `limit`.
    pub(crate) fn trim_above(&mut self, limit: u32) {
        self.table.truncate((limit as usize).saturating_add(1));
        self.large.retain(|&size, _| size <= limit);
        self.large_values = self.large.values().sum();
        self.largest = self.iter().map(|(size, _)| size).last();
    }
}

/// The smallest size of a bin, which is above the table.
fn bin_of(size: u32) -> u32 {
    size >> BIN_BITS << BIN_BITS
}

/// Values of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Bin {
    size: u64,
    values: u64,
}

/// Sum of the two middle ones of `count` values, given by size.
fn twice_median(bins: impl Iterator<Item = Bin>, count: u64) -> u64 {
    let (low, high) = (count.div_ceil(2), count / 2 + 1);
    let (mut total, mut low_size) = (0, None);
    for Bin { size, values } in bins {
        total += values;
        if total >= low && low_size.is_none() {
            low_size = Some(size);
        }
        if total >= high {
            return low_size.unwrap_or(size) + size;
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[u32]) -> Histogram {
        let mut histogram = Histogram::default();
        values.iter().for_each(|&value| histogram.add(value));
        histogram
    }

    #[test]
    fn statistics() {
        let t = |values: &[u32], median: f64, deviation: f64, mode: Option<u32>| {
            let histogram = of(values);
            assert_eq!(histogram.median(), median, "{values:?}");
            assert_eq!(histogram.median_absolute_deviation(), deviation, "{values:?}");
            assert_eq!(histogram.mode(), mode, "{values:?}");
            assert_eq!(histogram.smallest(), values.iter().min().copied());
            assert_eq!(histogram.largest(), values.iter().max().copied());
        };
        t(&[], 0.0, 0.0, None);
        t(&[7], 7.0, 0.0, Some(7));
        t(&[1, 2], 1.5, 0.5, Some(1));
        t(&[3, 1, 2], 2.0, 1.0, Some(1));
        t(&[5, 5, 9, 9], 7.0, 2.0, Some(5));
        t(&[1, 2, 4, 900_000], 3.0, 1.5, Some(1));
        t(&[70_000, 80_000, 80_000], 80_000.0, 0.0, Some(80_000));
        assert!(of(&[]).mean().is_nan());
        assert!(of(&[4]).standard_deviation().is_nan());
        assert_eq!(of(&[2, 4, 4, 4, 5, 5, 7, 9]).mean(), 5.0);
        assert_eq!(of(&[2, 4]).standard_deviation(), 2.0_f64.sqrt());
    }

    #[test]
    fn trimming() {
        let mut histogram = of(&[1, 5, 9, 70_000, 90_000]);
        histogram.trim_above(70_000);
        assert_eq!((histogram.count(), histogram.largest()), (4, Some(70_000)));
        histogram.trim_above(8);
        assert_eq!(histogram.iter().collect::<Vec<_>>(), [(1, 1), (5, 1)]);
        histogram.trim_above(0);
        assert_eq!((histogram.count(), histogram.largest()), (0, None));
    }

    #[test]
    fn many_large_values_get_bins_however_they_come() {
        let mut whole = of(&[70_001]);
        whole.add_many(2_000_000_513, EXACT_VALUES);
        let mut parts = [Histogram::default(), Histogram::default()];
        parts[0].add_many(2_000_000_513, EXACT_VALUES);
        parts[1].add(70_001);
        for turn in 0..2 {
            let mut sum = parts[turn].clone();
            sum.merge(&parts[1 - turn]);
            assert!(sum.iter().eq(whole.iter()));
            assert_eq!(sum.largest(), Some(2_000_000_513));
        }
        assert_eq!(whole.iter().next(), Some((69_632, 1)));
    }

    proptest! {
        #[test]
        fn merged_parts_are_the_whole(
            values in prop::collection::vec(prop_oneof![0..300_u32, 60_000..200_000_u32], 0..80),
            cut in 0..80_usize,
        ) {
            let cut = cut.min(values.len());
            let (mut sum, more) = (of(&values[..cut]), of(&values[cut..]));
            sum.merge(&more);
            let whole = of(&values);
            prop_assert!(sum.iter().eq(whole.iter()));
            prop_assert_eq!(sum.largest(), whole.largest());
            prop_assert_eq!(sum.count(), values.len() as u64);
        }
    }
}
