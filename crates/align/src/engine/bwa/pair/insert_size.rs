//! The insert sizes of a cohort, by orientation (`mem_pestat`).
//!
//! Pairs count whose first regions are nearly unique and on one sequence. Of each orientation the
//! quartiles give bounds for the mean and the deviation, and these the bounds of proper pairs.

use super::super::float::rounded;
use super::super::options::InsertSize;
use super::super::regions::{MateDistance, Region};
use super::super::settings::Settings;

/// A pair counts if the second best region of neither end has a greater share of the best score.
const MOST_AMBIGUOUS: f64 = 0.8;
/// An orientation of fewer pairs is not looked at.
const LEAST_PAIRS: u64 = 10;
/// Nor one of a smaller share of the most frequent one's.
const LEAST_SHARE: f64 = 0.05;
/// Sizes further from the quartiles, in distances between them, are not averaged.
const OUTLIERS: f64 = 2.0;
/// Proper pairs reach as far from the quartiles,
const PROPER: f64 = 3.0;
/// or as many deviations from the mean, if that is more.
const PROPER_DEVIATIONS: f64 = 4.0;

/// The insert sizes of one orientation, in bp.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(in super::super) struct InsertSizes {
    /// The smallest of a proper pair.
    pub(in super::super) low: i32,
    /// The largest of a proper pair.
    pub(in super::super) high: i32,
    /// Too few pairs are of this orientation: none is proper.
    pub(in super::super) failed: bool,
    /// Mean of the distribution, in bp.
    pub(in super::super) mean: f64,
    /// Standard deviation.
    pub(in super::super) deviation: f64,
}

impl InsertSizes {
    /// Whether a distance is that of a proper pair, if the orientation is.
    pub(in super::super) fn holds(&self, distance: i64) -> bool {
        (i64::from(self.low)..=i64::from(self.high)).contains(&distance)
    }
}

/// Insert sizes by orientation: FF, FR, RF, RR.
pub(in super::super) type Model = [InsertSizes; 4];

impl InsertSize {
    /// As bwa's `-I`: only FR pairs are proper.
    pub(in super::super) fn model(self) -> Model {
        let unused = InsertSizes { failed: true, ..InsertSizes::default() };
        let proper = InsertSizes {
            low: self.min_bp,
            high: self.max_bp,
            failed: false,
            mean: self.mean_bp,
            deviation: self.deviation_bp,
        };
        [unused, proper, unused, unused]
    }
}

/// How often each insert size was seen, by orientation.
#[derive(Debug, Clone)]
pub(in super::super) struct Histogram {
    counts: [Vec<u32>; 4],
}

impl Histogram {
    /// For sizes up to `largest`, which do not count beyond.
    pub(in super::super) fn new(largest: i32) -> Self {
        Self { counts: std::array::from_fn(|_| vec![0; largest.max(0) as usize + 1]) }
    }

    /// Counts the regions of a pair, on a reference of `bases`.
    pub(in super::super) fn add(&mut self, pair: [&[Region]; 2], bases: u64, settings: &Settings) {
        let [[first, ..], [second, ..]] = pair else { return };
        if pair.iter().any(|regions| is_ambiguous(regions, settings))
            || first.sequence != second.sequence
        {
            return;
        }
        let places = [first.reference_start, second.reference_start];
        let MateDistance { orientation, distance } = MateDistance::of(bases, places);
        let counts = &mut self.counts[orientation];
        if let Some(count) = usize::try_from(distance).ok().and_then(|at| counts.get_mut(at)) {
            *count += u32::from(distance > 0);
        }
    }

    /// What follows from all pairs.
    pub(in super::super) fn model(&self) -> Model {
        let totals: [u64; 4] =
            self.counts.each_ref().map(|it| it.iter().copied().map(u64::from).sum());
        let most = totals.iter().max().copied().unwrap_or(0);
        std::array::from_fn(|at| {
            if totals[at] < LEAST_PAIRS {
                return InsertSizes { failed: true, ..InsertSizes::default() };
            }
            let failed = (totals[at] as f64) < most as f64 * LEAST_SHARE;
            InsertSizes { failed, ..sizes_of(&self.counts[at], totals[at]) }
        })
    }
}

/// Whether another region is nearly as good as the first.
fn is_ambiguous(regions: &[Region], settings: &Settings) -> bool {
    let best = &regions[0];
    let second = regions[1..].iter().find(|it| it.competes_with(best, settings));
    let second = second.map_or(settings.unseen_score(), |it| it.score);
    f64::from(second) > MOST_AMBIGUOUS * f64::from(best.score)
}

/// The size that is at `rank`, from 0, of all in order.
fn at_rank(counts: &[u32], rank: u64) -> i32 {
    let mut before = 0;
    let reached = |&count: &u32| {
        before += u64::from(count);
        before > rank
    };
    counts.iter().position(reached).unwrap_or(counts.len() - 1) as i32
}

/// The sizes of an orientation with `total` pairs. Each pair is added on its own, in order of the
/// sizes: a product would round differently.
fn sizes_of(counts: &[u32], total: u64) -> InsertSizes {
    let quartile = |share: f64| at_rank(counts, (share * total as f64 + 0.499) as u64);
    let [lower, upper] = [quartile(0.25), quartile(0.75)];
    let away = |times: f64| {
        let reach = times * f64::from(upper - lower);
        [rounded(f64::from(lower) - reach), rounded(f64::from(upper) + reach)]
    };
    let [low, high] = away(OUTLIERS);
    let [low, high] = [low.max(1), high.min(counts.len() as i32 - 1)].map(|it| it as usize);
    let averaged = || {
        let sizes = (low..=high).zip(&counts[low..=high]);
        sizes.flat_map(|(size, &count)| std::iter::repeat_n(size as f64, count as usize))
    };
    let count = averaged().count() as f64;
    let mean = averaged().fold(0.0, |sum, size| sum + size) / count;
    let squares = averaged().fold(0.0, |sum, size| sum + (size - mean) * (size - mean));
    let deviation = (squares / count).sqrt();
    let [mut low, mut high] = away(PROPER);
    let reach = PROPER_DEVIATIONS * deviation;
    if f64::from(low) > mean - reach {
        low = rounded(mean - reach);
    }
    if f64::from(high) < mean + reach {
        high = rounded(mean + reach);
    }
    InsertSizes { low: low.max(1), high, failed: false, mean, deviation }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::oracle::emit::{insert_sizes, region_at as region, some_regions};
    use super::super::super::oracle::index::Options;
    use super::*;

    const BASES: i64 = 30_000;

    fn compare(pairs: &[[Vec<Region>; 2]]) -> Model {
        let options = Options::new().unwrap();
        let settings = Settings::of(options.get());
        let mut histogram = Histogram::new(settings.largest_insert);
        for pair in pairs {
            histogram.add(pair.each_ref().map(Vec::as_slice), BASES as u64, &settings);
        }
        let model = histogram.model();
        assert_eq!(model, insert_sizes(pairs, BASES as u64, &options));
        model
    }

    /// A pair of reads that face each other, `distance` apart.
    fn facing(distance: i64) -> [Vec<Region>; 2] {
        [vec![region(1000)], vec![region(2 * BASES - 1 - 1000 - distance)]]
    }

    #[test]
    fn models_are_those_of_the_library() {
        let few: Vec<_> = (0..9).map(|at| facing(300 + at)).collect();
        assert!(compare(&few).iter().all(|it| it.failed));
        let enough: Vec<_> = (0..10).map(|at| facing(300 + at)).collect();
        let model = compare(&enough);
        assert_eq!(model.map(|it| it.failed), [true, false, true, true]);
        let equal: Vec<_> = (0..50).map(|_| facing(300)).collect();
        let model = compare(&equal);
        assert_eq!((model[1].low, model[1].high, model[1].deviation), (300, 300, 0.0));
        // Of another orientation: a share of 0.05, and one below.
        for (usual, others, failed) in [(200, 10, false), (201, 10, true)] {
            let turned = |at: i64| [vec![region(2000 + at)], vec![region(2500 + 2 * at)]];
            let usual = (0..usual).map(|at| facing(280 + at % 40));
            let model = compare(&usual.chain((0..others).map(turned)).collect::<Vec<_>>());
            assert_eq!(model[0].failed, failed);
        }
        // Sizes of 0, at the limit and beyond.
        for size in [0, 1, 9_999, 10_000, 10_001] {
            compare(&(0..40).map(|at| facing(size + at % 2)).collect::<Vec<_>>());
        }
        compare(&[]);
    }

    proptest! {
        #[test]
        fn models_of_any_regions_are_those_of_the_library(
            seed in proptest::collection::vec(
                [some_regions(BASES, 4), some_regions(BASES, 4)], 0..400,
            ),
            sizes in proptest::collection::vec(150..900_i64, 0..300),
        ) {
            let pairs: Vec<_> = seed.into_iter().chain(sizes.into_iter().map(facing)).collect();
            compare(&pairs);
        }
    }
}
