//! Insert sizes by the orientation of pairs (Picard 3.5.0 CollectInsertSizeMetrics, default
//! options, all reads together).
//!
//! Counted: one record of each pair, the one that is not first of pair, when both mates are mapped
//! and TLEN is not 0. QC-failed pairs count; duplicates, secondary and supplementary alignments do
//! not.

use seqloom_format::bam::{Flags, RecordRef, cigar};

use super::histogram::Histogram;

/// An orientation needs this share of all pairs (Picard MINIMUM_PCT, a float there).
const LEAST_SHARE: f64 = 0.05_f32 as f64;
/// The histogram ends this many median absolute deviations above the median (DEVIATIONS).
const TRIM_DEVIATIONS: f64 = 10.0;
/// The shares of pairs whose widths are reported.
const WIDTH_SHARES: [f64; 11] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99];

/// How two mates are on the same sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairOrientation {
    /// Facing each other.
    Fr,
    /// Facing away from each other.
    Rf,
    /// On the same strand.
    Tandem,
}

impl PairOrientation {
    /// In the order of reports.
    const ALL: [Self; 3] = [Self::Fr, Self::Rf, Self::Tandem];

    /// Its name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fr => "FR",
            Self::Rf => "RF",
            Self::Tandem => "TANDEM",
        }
    }

    /// Orientation of a record whose mate is mapped on the same sequence (htsjdk 5.0 SamPairUtil).
    /// Mates that share one position face each other. Where a reverse mate ends, its CIGAR says
    /// (`MC`); without it, TLEN does.
    #[must_use]
    pub(crate) fn of(record: &RecordRef<'_>) -> Self {
        let is_reverse = record.has_flags(Flags::REVERSE);
        if is_reverse == record.has_flags(Flags::MATE_REVERSE) {
            return Self::Tandem;
        }
        let position = i64::from(record.position());
        let is_facing = if is_reverse {
            let end = position + record.full_cigar().reference_span();
            i64::from(record.mate_position()) < end
        } else if let Some(span) = mate_span(record) {
            position < i64::from(record.mate_position()) + span
        } else {
            record.template_length() > 0
        };
        if is_facing { Self::Fr } else { Self::Rf }
    }
}

/// Bases of the reference that the mate's CIGAR covers; `None` without a CIGAR that can be read.
fn mate_span(record: &RecordRef<'_>) -> Option<i64> {
    let text = record.find_aux(*b"MC").ok()??.as_string()?;
    if text == b"*" {
        return Some(0);
    }
    cigar::parse(text).try_fold(0, |span, op| {
        let (code, length) = op.ok()?;
        Some(span + if cigar::consumes_reference(code) { i64::from(length) } else { 0 })
    })
}

/// Insert sizes of every orientation.
#[derive(Debug, Clone, Default)]
pub struct InsertSizeCounts {
    /// By orientation.
    histograms: [Histogram; 3],
}

/// Metrics of one orientation; fields are Picard's columns.
#[derive(Debug, Clone)]
pub struct InsertSizeMetrics {
    /// PAIR_ORIENTATION.
    pub orientation: PairOrientation,
    /// READ_PAIRS.
    pub read_pairs: u64,
    /// MEDIAN_INSERT_SIZE.
    pub median_bp: f64,
    /// MODE_INSERT_SIZE.
    pub mode_bp: u32,
    /// MEDIAN_ABSOLUTE_DEVIATION.
    pub median_absolute_deviation_bp: f64,
    /// MIN_INSERT_SIZE.
    pub min_bp: u32,
    /// MAX_INSERT_SIZE.
    pub max_bp: u32,
    /// MEAN_INSERT_SIZE, of the trimmed histogram.
    pub mean_bp: f64,
    /// STANDARD_DEVIATION, of the trimmed histogram.
    pub standard_deviation_bp: f64,
    /// WIDTH_OF_10_PERCENT to WIDTH_OF_99_PERCENT.
    pub widths_bp: [u64; 11],
    /// Pairs by insert size, up to ten median absolute deviations above the median.
    pub histogram: Histogram,
}

seqloom_format::persist_fields!(InsertSizeCounts { histograms });

impl InsertSizeCounts {
    pub(super) fn add(&mut self, record: &RecordRef<'_>) {
        if let Some(size) = counted_size(record) {
            self.histograms[PairOrientation::of(record) as usize].add(size);
        }
    }

    /// Pairs counted whose sizes take memory for each size.
    pub(super) fn large_sizes(&self) -> u64 {
        self.histograms.iter().map(Histogram::large_values).sum()
    }

    pub(super) fn merge(&mut self, other: &Self) {
        let pairs = self.histograms.iter_mut().zip(&other.histograms);
        pairs.for_each(|(sum, more)| sum.merge(more));
    }

    /// One row for each orientation that has enough pairs; none without pairs.
    #[must_use]
    pub fn rows(&self) -> Vec<InsertSizeMetrics> {
        let total: u64 = self.histograms.iter().map(Histogram::count).sum();
        let least = total as f64 * LEAST_SHARE;
        let rows = PairOrientation::ALL.into_iter().zip(&self.histograms);
        rows.filter(|(_, histogram)| histogram.count() as f64 >= least)
            .filter_map(|(orientation, histogram)| InsertSizeMetrics::new(orientation, histogram))
            .collect()
    }
}

/// The insert size of a pair where this record stands for it.
pub(super) fn counted_size(record: &RecordRef<'_>) -> Option<u32> {
    const NOT_COUNTED: u16 = Flags::UNMAPPED
        | Flags::MATE_UNMAPPED
        | Flags::FIRST_OF_PAIR
        | Flags::SECONDARY
        | Flags::SUPPLEMENTARY
        | Flags::DUPLICATE;
    let is_counted = record.flags() & (NOT_COUNTED | Flags::PAIRED) == Flags::PAIRED;
    let size = record.template_length().unsigned_abs();
    // TLEN between sequences means nothing; Picard 2.27.5 counted it all the same.
    let is_on_one = record.reference_id() == record.mate_reference_id();
    (is_counted && is_on_one && size != 0).then_some(size)
}

impl InsertSizeMetrics {
    /// `None` without pairs.
    fn new(orientation: PairOrientation, histogram: &Histogram) -> Option<Self> {
        let median_bp = histogram.median();
        let median_absolute_deviation_bp = histogram.median_absolute_deviation();
        let mut trimmed = histogram.clone();
        trimmed.trim_above((median_bp + TRIM_DEVIATIONS * median_absolute_deviation_bp) as u32);
        Some(Self {
            orientation,
            read_pairs: histogram.count(),
            median_bp,
            mode_bp: histogram.mode()?,
            median_absolute_deviation_bp,
            min_bp: histogram.smallest()?,
            max_bp: histogram.largest()?,
            mean_bp: trimmed.mean(),
            standard_deviation_bp: trimmed.standard_deviation(),
            widths_bp: widths(histogram, median_bp as u32),
            histogram: trimmed,
        })
    }
}

/// The widths of the windows about the median that hold the shares of pairs: windows grow by one
/// to either side.
fn widths(histogram: &Histogram, median_bp: u32) -> [u64; 11] {
    let by_distance = |(size, count): (u32, u64)| (u64::from(size.abs_diff(median_bp)), count);
    let mut distances: Vec<(u64, u64)> = histogram.iter().map(by_distance).collect();
    distances.sort_unstable();
    let total = histogram.count() as f64;
    let (mut widths, mut covered, mut known) = ([0; 11], 0, 0);
    for part in distances.chunk_by(|a, b| a.0 == b.0) {
        covered += part.iter().map(|&(_, count)| count).sum::<u64>();
        let share = covered as f64 / total;
        while known < WIDTH_SHARES.len() && share >= WIDTH_SHARES[known] {
            widths[known] = 2 * part[0].0 + 1;
            known += 1;
        }
    }
    widths
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_records::body;

    #[test]
    fn orientation_is_that_of_htsjdk_5() {
        let t = |flags, (start, mate), tlen: i32, mate_cigar: &str, expected| {
            let mut body = body("n", flags, 0, start, 10);
            body[20..24].copy_from_slice(&0_i32.to_le_bytes());
            body[24..28].copy_from_slice(&i32::to_le_bytes(mate));
            body[28..32].copy_from_slice(&tlen.to_le_bytes());
            if !mate_cigar.is_empty() {
                body.extend_from_slice(format!("MCZ{mate_cigar}\0").as_bytes());
            }
            let record = RecordRef::new(&body).unwrap();
            assert_eq!(PairOrientation::of(&record), expected, "{flags:x} {start} {mate} {tlen}");
        };
        use PairOrientation::{Fr, Rf, Tandem};
        let (forward, reverse) = (0x61, 0x91);
        t(0x41, (5, 50), 55, "10M", Tandem);
        t(0xb1, (5, 50), 55, "10M", Tandem);
        // Ten bases, of which the last one is the mate's first.
        t(reverse, (100, 109), -1, "", Fr);
        t(reverse, (100, 110), -1, "", Rf);
        t(forward, (100, 50), 1, "", Fr);
        t(forward, (100, 50), 0, "", Rf);
        // The mate's CIGAR goes before TLEN.
        t(forward, (100, 91), -50, "5S10M3S", Fr);
        t(forward, (100, 90), 50, "10M", Rf);
        t(forward, (100, 90), 50, "5M5D5I", Rf);
        t(forward, (100, 100), 50, "*", Rf);
        t(forward, (100, 90), 50, "10", Fr);
    }

    #[test]
    fn windows_grow_to_both_sides_of_the_median() {
        let mut counts = InsertSizeCounts::default();
        assert!(counts.rows().is_empty());
        for size in [100, 101, 102, 103, 900_000] {
            counts.histograms[0].add(size);
        }
        let [row] = &counts.rows()[..] else { panic!("one row") };
        assert_eq!((row.median_bp, row.mode_bp, row.max_bp), (102.0, 100, 900_000));
        let far = 2 * (900_000 - 102) + 1;
        assert_eq!(row.widths_bp, [1, 1, 3, 3, 3, 3, 5, 5, far, far, far]);
        assert_eq!(row.histogram.iter().count(), 4);
    }
}
