//! Counters of duplicate marking, one set for each worker, and the metrics made of their sum.

use std::collections::BTreeMap;

use seqloom_format::bam::Flags;
use seqloom_format::persist_fields;

use super::mapped_read::has_mapped_mate;
use super::{Companion, FragmentEnd};
use crate::duplicates::LibraryTable;

/// Set sizes up to this one are counted in an array.
const SMALL_SET: usize = 64;

/// Counts of one library.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LibraryCounts {
    /// Mapped primary records without a mapped mate.
    pub(crate) unpaired_reads: u64,
    /// Mapped primary records with a mapped mate; two for each pair.
    pub(crate) paired_reads: u64,
    /// Mapped secondary and supplementary records.
    pub(crate) secondary_or_supplementary: u64,
    /// Unmapped records.
    pub(crate) unmapped: u64,
    /// Duplicates among `unpaired_reads`.
    pub(crate) unpaired_read_duplicates: u64,
    /// Duplicates among `paired_reads` whose mates are not there.
    pub(crate) lone_mate_duplicates: u64,
    /// Pairs that are duplicates.
    pub(crate) pair_duplicates: u64,
    /// Pairs that are optical duplicates.
    pub(crate) optical_pair_duplicates: u64,
}

impl LibraryCounts {
    fn merge(&mut self, other: &Self) {
        self.unpaired_reads += other.unpaired_reads;
        self.paired_reads += other.paired_reads;
        self.secondary_or_supplementary += other.secondary_or_supplementary;
        self.unmapped += other.unmapped;
        self.unpaired_read_duplicates += other.unpaired_read_duplicates;
        self.lone_mate_duplicates += other.lone_mate_duplicates;
        self.pair_duplicates += other.pair_duplicates;
        self.optical_pair_duplicates += other.optical_pair_duplicates;
    }
}

/// How many sets have one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SetsOfSize {
    /// Templates of each.
    pub size: u64,
    /// How many there are.
    pub sets: u64,
}

/// Numbers of pair sets by size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetSizes {
    small: [u64; SMALL_SET],
    large: BTreeMap<u64, u64>,
}

impl Default for SetSizes {
    fn default() -> Self {
        Self { small: [0; SMALL_SET], large: BTreeMap::new() }
    }
}

impl SetSizes {
    /// Counts one set of this size.
    pub(crate) fn add(&mut self, size: u64) {
        match self.small.get_mut(size as usize) {
            Some(count) => *count += 1,
            None => *self.large.entry(size).or_default() += 1,
        }
    }

    /// Each size that was met and its number of sets, by size.
    pub fn iter(&self) -> impl Iterator<Item = SetsOfSize> {
        let small = (0_u64..).zip(self.small).filter(|&(_, count)| count > 0);
        let all = small.chain(self.large.iter().map(|(&size, &count)| (size, count)));
        all.map(|(size, sets)| SetsOfSize { size, sets })
    }

    fn merge(&mut self, other: &Self) {
        self.small.iter_mut().zip(other.small).for_each(|(count, more)| *count += more);
        for (&size, &count) in &other.large {
            *self.large.entry(size).or_default() += count;
        }
    }
}

/// Sizes of the pair sets of all libraries together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DuplicateSetHistogram {
    /// Every pair set, single pairs included.
    pub all: SetSizes,
    /// Optical duplicates + 1 of every set that has some.
    pub optical: SetSizes,
    /// Every set without its optical duplicates.
    pub non_optical: SetSizes,
}

/// Parts of the templates whose unique pairs are counted.
pub(crate) const SATURATION_STEPS: usize = 20;

/// Pairs of one sample of the templates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampledPairs {
    /// All pairs.
    pub pairs: u64,
    /// Pairs without duplicates.
    pub unique: u64,
}

/// How many unique pairs parts of the templates have: of nested samples of 1/20 to 20/20 of them,
/// by a hash of the template's ordinal. Exact: a set of duplicates is there from the first sample
/// on that holds one of its pairs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Saturation {
    /// Pairs by the first sample that they belong to.
    pairs: [u64; SATURATION_STEPS],
    /// Sets by the first sample that one of their pairs belongs to.
    sets: [u64; SATURATION_STEPS],
}

impl Saturation {
    /// The first sample that a template belongs to.
    fn first_sample(template: u64) -> usize {
        let mixed = (template ^ (template >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        // The upper bits as a share of 20.
        ((u128::from(mixed) * SATURATION_STEPS as u128) >> 64) as usize
    }

    /// Counts a set of duplicate pairs.
    pub(crate) fn add_set(&mut self, templates: impl Iterator<Item = u64>) {
        let mut first = SATURATION_STEPS - 1;
        for sample in templates.map(Self::first_sample) {
            self.pairs[sample] += 1;
            first = first.min(sample);
        }
        self.sets[first] += 1;
    }

    fn merge(&mut self, other: &Self) {
        self.pairs.iter_mut().zip(other.pairs).for_each(|(sum, more)| *sum += more);
        self.sets.iter_mut().zip(other.sets).for_each(|(sum, more)| *sum += more);
    }

    /// The pairs of each sample, from 1/20 to all.
    pub fn points(&self) -> impl Iterator<Item = SampledPairs> {
        let mut sum = SampledPairs { pairs: 0, unique: 0 };
        self.pairs.iter().zip(&self.sets).map(move |(pairs, sets)| {
            sum.pairs += pairs;
            sum.unique += sets;
            sum
        })
    }
}

/// All counters of duplicate marking; each worker fills its own, [`Self::merge`] adds them up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DuplicationCounters {
    /// By library index of the [`LibraryTable`].
    pub(crate) libraries: Vec<LibraryCounts>,
    /// Set sizes.
    pub histogram: DuplicateSetHistogram,
    /// Unique pairs of parts of the templates.
    pub saturation: Saturation,
}

persist_fields!(LibraryCounts {
    unpaired_reads,
    paired_reads,
    secondary_or_supplementary,
    unmapped,
    unpaired_read_duplicates,
    lone_mate_duplicates,
    pair_duplicates,
    optical_pair_duplicates,
});
persist_fields!(SetSizes { small, large });
persist_fields!(DuplicateSetHistogram { all, optical, non_optical });
persist_fields!(Saturation { pairs, sets });
persist_fields!(DuplicationCounters { libraries, histogram, saturation });

impl DuplicationCounters {
    /// Counters at zero with room for `libraries` libraries (`table.libraries().len()`); a library
    /// index beyond makes room for itself.
    pub fn new(libraries: usize) -> Self {
        Self {
            libraries: vec![LibraryCounts::default(); libraries],
            histogram: DuplicateSetHistogram::default(),
            saturation: Saturation::default(),
        }
    }

    fn library(&mut self, library: u16) -> &mut LibraryCounts {
        let index = usize::from(library);
        if index >= self.libraries.len() {
            self.libraries.resize(index + 1, LibraryCounts::default());
        }
        &mut self.libraries[index]
    }

    /// Counts one record as examined, by its flags alone; every record is counted once.
    pub(crate) fn count_record(&mut self, library: u16, flags: u16) {
        let counts = self.library(library);
        if flags & Flags::UNMAPPED != 0 {
            counts.unmapped += 1;
        } else if flags & (Flags::SECONDARY | Flags::SUPPLEMENTARY) != 0 {
            counts.secondary_or_supplementary += 1;
        } else if has_mapped_mate(flags) {
            counts.paired_reads += 1;
        } else {
            counts.unpaired_reads += 1;
        }
    }

    /// Counts a pair set of `size` pairs, `optical` of which are optical duplicates; `None` where
    /// they are not looked for. Picard then has only the single pairs in its histogram.
    pub(crate) fn count_pair_set(&mut self, library: u16, size: usize, optical: Option<u64>) {
        let size = size as u64;
        let counts = self.library(library);
        counts.pair_duplicates += size.saturating_sub(1);
        counts.optical_pair_duplicates += optical.unwrap_or(0);
        if optical.is_none() && size > 1 {
            return;
        }
        let optical = optical.unwrap_or(0);
        self.histogram.all.add(size);
        if optical > 0 {
            self.histogram.optical.add(optical + 1);
        }
        if size > optical {
            self.histogram.non_optical.add(size - optical);
        }
    }

    /// Counts a duplicate that is no pair's, by its flags alone: the mate of one whose flags say
    /// that it is mapped is not there. A record that shares its mark with another counts with it
    /// when the mark is set (`is_first`), as Picard counts the records that it flags.
    pub(crate) fn count_fragment_duplicate(&mut self, fragment: &FragmentEnd, is_first: bool) {
        let own = Companion { library: fragment.library, mate_mapped: fragment.mate_mapped };
        let records = match fragment.companion {
            None => [Some(own), None],
            Some(_) if !is_first => [None; 2],
            companion => [Some(own), companion],
        };
        for record in records.into_iter().flatten() {
            let counts = self.library(record.library);
            if record.mate_mapped {
                counts.lone_mate_duplicates += 1;
            } else {
                counts.unpaired_read_duplicates += 1;
            }
        }
    }

    /// Adds another worker's counters.
    pub fn merge(&mut self, other: &Self) {
        if self.libraries.len() < other.libraries.len() {
            self.libraries.resize(other.libraries.len(), LibraryCounts::default());
        }
        self.libraries.iter_mut().zip(&other.libraries).for_each(|(sum, more)| sum.merge(more));
        self.histogram.all.merge(&other.histogram.all);
        self.histogram.optical.merge(&other.histogram.optical);
        self.histogram.non_optical.merge(&other.histogram.non_optical);
        self.saturation.merge(&other.saturation);
    }

    /// One row for each library of the header, and for the unknown one where it has records.
    pub fn metrics(&self, table: &LibraryTable) -> Vec<DuplicationMetrics> {
        let none = LibraryCounts::default();
        let counts = self.libraries.iter().chain(std::iter::repeat(&none));
        table
            .libraries()
            .zip(counts)
            .filter(|&((_, in_header), counts)| in_header || *counts != none)
            .map(|((name, _), counts)| DuplicationMetrics::new(name, counts))
            .collect()
    }
}

/// One row of Picard's duplication metrics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DuplicationMetrics {
    /// Name of the library.
    pub library: String,
    /// UNPAIRED_READS_EXAMINED.
    pub unpaired_reads_examined: u64,
    /// READ_PAIRS_EXAMINED.
    pub read_pairs_examined: u64,
    /// SECONDARY_OR_SUPPLEMENTARY_RDS.
    pub secondary_or_supplementary_reads: u64,
    /// UNMAPPED_READS.
    pub unmapped_reads: u64,
    /// UNPAIRED_READ_DUPLICATES.
    pub unpaired_read_duplicates: u64,
    /// READ_PAIR_DUPLICATES.
    pub read_pair_duplicates: u64,
    /// READ_PAIR_OPTICAL_DUPLICATES.
    pub read_pair_optical_duplicates: u64,
}

impl DuplicationMetrics {
    fn new(library: &str, counts: &LibraryCounts) -> Self {
        Self {
            library: library.to_owned(),
            unpaired_reads_examined: counts.unpaired_reads,
            read_pairs_examined: counts.paired_reads / 2,
            secondary_or_supplementary_reads: counts.secondary_or_supplementary,
            unmapped_reads: counts.unmapped,
            unpaired_read_duplicates: counts.unpaired_read_duplicates,
            read_pair_duplicates: counts.pair_duplicates + counts.lone_mate_duplicates / 2,
            read_pair_optical_duplicates: counts.optical_pair_duplicates,
        }
    }

    /// PERCENT_DUPLICATION: the fraction (0 to 1) of mapped primary reads that are duplicates.
    pub fn percent_duplication(&self) -> f64 {
        let examined = self.unpaired_reads_examined + 2 * self.read_pairs_examined;
        let duplicates = self.unpaired_read_duplicates + 2 * self.read_pair_duplicates;
        if examined == 0 { 0.0 } else { duplicates as f64 / examined as f64 }
    }

    /// Pairs that are no duplicates.
    pub fn unique_pairs(&self) -> u64 {
        self.read_pairs_examined.saturating_sub(self.read_pair_duplicates)
    }

    /// ESTIMATED_LIBRARY_SIZE: distinct molecules in the library, from pairs seen and unique pairs
    /// after Lander and Waterman, optical duplicates left out. `None` without duplicates.
    pub fn estimated_library_size(&self) -> Option<u64> {
        let pairs = self.read_pairs_examined.saturating_sub(self.read_pair_optical_duplicates);
        estimate_library_size(pairs, self.unique_pairs())
    }
}

/// Solves c/X - 1 + exp(-n/X) = 0 for X by 40 halvings, as Picard does (same digits).
fn estimate_library_size(pairs: u64, unique: u64) -> Option<u64> {
    if pairs == 0 || unique == 0 || unique >= pairs {
        return None;
    }
    let (n, c) = (pairs as f64, unique as f64);
    let excess = |x: f64| c / x - 1.0 + (-n / x).exp();
    let (mut low, mut high) = (1.0_f64, 100.0_f64);
    // Grows to infinity at the latest, where the excess is 0.
    while excess(high * c) > 0.0 {
        high *= 10.0;
    }
    for _ in 0..40 {
        let middle = (low + high) / 2.0;
        let value = excess(middle * c);
        if value > 0.0 {
            low = middle;
        } else if value < 0.0 {
            high = middle;
        } else {
            break;
        }
    }
    Some((c * (low + high) / 2.0) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use seqloom_format::bam::Header;

    fn table(header: &str) -> LibraryTable {
        LibraryTable::new(&Header::parse(header.as_bytes()).unwrap()).unwrap()
    }

    #[test]
    fn records_are_classed_by_flags() {
        let mut counters = DuplicationCounters::new(1);
        for flags in [0x4, 0x104, 0x100, 0x800, 0x0, 0x9, 0x1, 0x41, 0x281] {
            counters.count_record(0, flags);
        }
        counters.count_record(2, 0); // makes room
        assert_eq!(counters.libraries.len(), 3);
        let counts = counters.libraries[0];
        assert_eq!(counts.unmapped, 2);
        assert_eq!(counts.secondary_or_supplementary, 2);
        assert_eq!(counts.unpaired_reads, 2);
        assert_eq!(counts.paired_reads, 3);
        let table = table("@RG\tID:a\n");
        assert_eq!(counters.metrics(&table)[0].read_pairs_examined, 1);
    }

    #[test]
    fn rows_are_those_of_the_header_and_those_met() {
        let table = table("@RG\tID:a\tLB:z\n@RG\tID:b\tLB:A\n");
        let mut counters = DuplicationCounters::new(3);
        let names = |counters: &DuplicationCounters| -> Vec<String> {
            counters.metrics(&table).into_iter().map(|row| row.library).collect()
        };
        assert_eq!(names(&counters), ["A", "z"]);
        counters.count_record(1, 4);
        assert_eq!(names(&counters), ["A", "Unknown Library", "z"]);
    }

    #[test]
    fn library_size() {
        assert_eq!(estimate_library_size(0, 0), None);
        assert_eq!(estimate_library_size(10, 10), None);
        assert_eq!(estimate_library_size(10, 0), None);
        // X solves 800/X = 1 - exp(-1000/X).
        let size = estimate_library_size(1000, 800).unwrap() as f64;
        assert!((800.0 / size - 1.0 + (-1000.0 / size).exp()).abs() < 1e-5, "{size}");
        // One duplicate in a billion: the upper bound must grow.
        assert!(estimate_library_size(1_000_000_000, 999_999_999).unwrap() > 1 << 50);
    }

    #[test]
    fn merging_adds_everything() {
        let mut parts = [DuplicationCounters::new(2), DuplicationCounters::new(2)];
        let mut whole = DuplicationCounters::new(2);
        for i in 0..40_usize {
            let flags = [0x4, 0x100, 0x0, 0x1][i % 4];
            for counters in [&mut parts[i % 2], &mut whole] {
                counters.count_record((i % 2) as u16, flags);
                counters.count_pair_set(1, i * 7 + 2, Some(i as u64));
                let fragment = FragmentEnd::from_bytes(&[0; FragmentEnd::BYTES]);
                let fragment = FragmentEnd { mate_mapped: i % 2 == 0, ..fragment };
                counters.count_fragment_duplicate(&fragment, true);
            }
        }
        let [mut sum, more] = parts;
        sum.merge(&more);
        assert_eq!(sum, whole);
        let sizes: Vec<_> = whole.histogram.all.iter().collect();
        assert_eq!(sizes.len(), 40);
        assert!(sizes.is_sorted());
        assert_eq!(sizes[39], SetsOfSize { size: 39 * 7 + 2, sets: 1 });
    }

    #[test]
    fn set_sizes_with_and_without_optical_ones() {
        let mut counters = DuplicationCounters::new(1);
        counters.count_pair_set(0, 1, Some(0));
        counters.count_pair_set(0, 5, Some(2));
        let list = |sizes: &SetSizes| sizes.iter().map(|it| (it.size, it.sets)).collect::<Vec<_>>();
        assert_eq!(list(&counters.histogram.all), [(1, 1), (5, 1)]);
        assert_eq!(list(&counters.histogram.optical), [(3, 1)]);
        assert_eq!(list(&counters.histogram.non_optical), [(1, 1), (3, 1)]);
        assert_eq!(counters.libraries[0].pair_duplicates, 4);
        assert_eq!(counters.libraries[0].optical_pair_duplicates, 2);
        counters.count_pair_set(0, 1, None);
        counters.count_pair_set(0, 9, None);
        assert_eq!(list(&counters.histogram.all), [(1, 2), (5, 1)]);
        assert_eq!(counters.libraries[0].pair_duplicates, 12);
    }
}
