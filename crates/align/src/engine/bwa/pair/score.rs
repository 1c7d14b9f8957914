//! What the insert size adds to the score of a pair.

use super::super::float::insert_score;
use super::insert_size::{InsertSizes, Model};

/// Sizes beyond so many are not tabled: `-I` may give bounds of any width.
const MOST_TABLED: i64 = 1 << 14;

/// What insert sizes add to the score of a pair, by orientation and distance.
#[derive(Debug, Clone, PartialEq)]
pub(in super::super) struct PairScores {
    tables: [Vec<f64>; 4],
    matching: i32,
}

impl PairScores {
    /// For a model, where a match scores `matching`.
    pub(in super::super) fn new(model: &Model, matching: i32) -> Self {
        let table = |sizes: &InsertSizes| {
            let count = (i64::from(sizes.high) - i64::from(sizes.low) + 1).clamp(0, MOST_TABLED);
            let count = if sizes.failed { 0 } else { count };
            (0..count).map(|at| score(i64::from(sizes.low) + at, sizes, matching)).collect()
        };
        Self { tables: model.each_ref().map(table), matching }
    }

    /// What a distance that is proper in an orientation adds.
    pub(in super::super) fn of(
        &self,
        orientation: usize,
        distance: i64,
        sizes: &InsertSizes,
    ) -> f64 {
        let at = usize::try_from(distance - i64::from(sizes.low)).ok();
        let tabled = at.and_then(|at| self.tables[orientation].get(at));
        tabled.copied().unwrap_or_else(|| score(distance, sizes, self.matching))
    }
}

/// Without a deviation every distance that is proper counts as the mean. (bwa divides by 0 there
/// and pairs nothing; bwa-mem3, which this follows, does not.)
fn score(distance: i64, sizes: &InsertSizes, matching: i32) -> f64 {
    let off =
        if sizes.deviation > 0.0 { (distance as f64 - sizes.mean) / sizes.deviation } else { 0.0 };
    insert_score(off) * f64::from(matching)
}
