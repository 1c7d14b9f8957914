//! The summary numbers of `samtools stats` (1.16.1, default options).
//!
//! Counted: the checksum takes all records; secondary alignments are else only counted themselves.
//! Supplementary ones take part in mapped bases by CIGAR, mismatches, longest reads and duplicates;
//! all else is counted of primary records, duplicates and QC-failed ones among them.

use seqloom_format::bam::Flags;
use seqloom_format::persist_fields;

use super::observed::Observed;

/// Longer inserts count as this long.
const LONGEST_INSERT_BP: u32 = 8000;
/// Average and deviation are those of the shortest inserts that make up this share.
const MAIN_SHARE: f64 = 0.99;

/// Sums of CRC-32 of names, packed bases and qualities.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Checksum {
    /// Of names.
    pub names: u32,
    /// Of bases, two a byte.
    pub bases: u32,
    /// Of qualities; samtools 1.16 took the first half of them.
    pub qualities: u32,
}

/// Numbers of reads and bases, named as samtools names them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs)] // they are samtools', whose manual explains them
pub struct StatsSums {
    pub sequences: u64,
    pub first_fragments: u64,
    pub last_fragments: u64,
    pub mapped_and_paired: u64,
    pub mapped_single: u64,
    pub unmapped: u64,
    pub properly_paired: u64,
    pub paired: u64,
    pub duplicated: u64,
    pub mapping_quality_0: u64,
    pub qc_failed: u64,
    pub secondary: u64,
    pub supplementary: u64,
    pub total_length: u64,
    pub total_first_length: u64,
    pub total_last_length: u64,
    pub bases_mapped: u64,
    pub bases_mapped_cigar: u64,
    pub bases_duplicated: u64,
    pub mismatches: i64,
    pub quality_sum: u64,
    /// Records of pairs on different sequences: two a pair.
    pub on_different_sequences: u64,
}

/// Longest reads, hard clips included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LongestReads {
    /// Of all.
    pub all: u32,
    /// Of first fragments.
    pub first: u32,
    /// Of last fragments.
    pub last: u32,
}

/// Which read of its template a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fragment {
    /// The first of a pair, or a read without a mate.
    First,
    Last,
    /// Both or neither, by its flags.
    Other,
}

impl Fragment {
    fn of(observed: &Observed<'_>) -> Self {
        const ORDER: u16 = Flags::FIRST_OF_PAIR | Flags::SECOND_OF_PAIR;
        match observed.record.flags() & ORDER {
            _ if !observed.has_flags(Flags::PAIRED) => Self::First,
            Flags::FIRST_OF_PAIR => Self::First,
            Flags::SECOND_OF_PAIR => Self::Last,
            _ => Self::Other,
        }
    }
}

/// Place of a record, by which order is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Position {
    reference: i32,
    position: i32,
}

/// The counts that the lines SN and CHK of `samtools stats` are made of.
#[derive(Debug, Clone)]
pub struct SamtoolsStatsCounts {
    /// CHK.
    pub checksum: Checksum,
    /// SN.
    pub sums: StatsSums,
    /// SN.
    pub longest: LongestReads,
    is_unsorted: bool,
    last: Option<Position>,
    /// Records by insert size and orientation: inward, outward, other.
    inserts: Vec<[u64; 3]>,
}

/// Pairs by orientation, and their insert sizes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct InsertSummary {
    /// insert size average.
    pub mean_bp: f64,
    /// insert size standard deviation.
    pub standard_deviation_bp: f64,
    /// inward oriented pairs.
    pub inward: u64,
    /// outward oriented pairs.
    pub outward: u64,
    /// pairs with other orientation.
    pub other: u64,
}

impl Default for SamtoolsStatsCounts {
    fn default() -> Self {
        Self {
            checksum: Checksum::default(),
            sums: StatsSums::default(),
            longest: LongestReads::default(),
            is_unsorted: false,
            last: None,
            inserts: vec![[0; 3]; LONGEST_INSERT_BP as usize + 1],
        }
    }
}

persist_fields!(Checksum { names, bases, qualities });
persist_fields!(StatsSums {
    sequences,
    first_fragments,
    last_fragments,
    mapped_and_paired,
    mapped_single,
    unmapped,
    properly_paired,
    paired,
    duplicated,
    mapping_quality_0,
    qc_failed,
    secondary,
    supplementary,
    total_length,
    total_first_length,
    total_last_length,
    bases_mapped,
    bases_mapped_cigar,
    bases_duplicated,
    mismatches,
    quality_sum,
    on_different_sequences,
});
persist_fields!(LongestReads { all, first, last });
persist_fields!(Position { reference, position });
persist_fields!(SamtoolsStatsCounts { checksum, sums, longest, is_unsorted, last, inserts });

impl SamtoolsStatsCounts {
    pub(super) fn add(&mut self, observed: &Observed<'_>) {
        let record = observed.record;
        self.add_checksum(observed);
        if record.has_flags(Flags::SECONDARY) {
            self.sums.secondary += 1;
            return;
        }
        self.sums.supplementary += u64::from(record.has_flags(Flags::SUPPLEMENTARY));
        let bases = record.base_count();
        if bases == 0 {
            return;
        }
        if record.has_flags(Flags::DUPLICATE) {
            self.sums.duplicated += 1;
            self.sums.bases_duplicated += bases as u64;
        }
        self.add_length(observed);
        if !record.has_flags(Flags::SUPPLEMENTARY) {
            self.add_read(observed);
        }
        if !record.has_flags(Flags::UNMAPPED) {
            self.add_alignment(observed);
        }
    }

    fn add_checksum(&mut self, observed: &Observed<'_>) {
        let record = observed.record;
        // Of less than a hundred bytes each, which crc32fast takes twice as long for.
        let add = |sum: &mut u32, bytes: &[u8]| *sum = sum.wrapping_add(libdeflater::crc32(bytes));
        add(&mut self.checksum.names, record.name());
        if record.base_count() > 0 {
            add(&mut self.checksum.bases, record.packed_bases());
            add(&mut self.checksum.qualities, record.qualities());
        }
    }

    fn add_length(&mut self, observed: &Observed<'_>) {
        let length = observed.record.base_count() as u64 + observed.cigar_sums.hard_clipped;
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        let longest = &mut self.longest;
        longest.all = longest.all.max(length);
        match Fragment::of(observed) {
            Fragment::First => longest.first = longest.first.max(length),
            Fragment::Last => longest.last = longest.last.max(length),
            Fragment::Other => {}
        }
    }

    /// Adds what is counted once per read.
    fn add_read(&mut self, observed: &Observed<'_>) {
        let (record, sums) = (observed.record, &mut self.sums);
        let bases = record.base_count() as u64;
        sums.qc_failed += u64::from(record.has_flags(Flags::QC_FAIL));
        sums.paired += u64::from(record.has_flags(Flags::PAIRED));
        sums.sequences += 1;
        sums.total_length += bases;
        // Missing qualities count as 255, which is what they are in BAM.
        let missing = record.qualities().iter().copied().map(u64::from);
        let is_missing = observed.qualities.is_empty();
        let quality_sum = if is_missing { missing.sum() } else { observed.sums.sum };
        match Fragment::of(observed) {
            Fragment::First => {
                sums.first_fragments += 1;
                sums.total_first_length += bases;
                sums.quality_sum += quality_sum;
            }
            Fragment::Last => {
                sums.last_fragments += 1;
                sums.total_last_length += bases;
                sums.quality_sum += quality_sum;
            }
            Fragment::Other => {}
        }
        if record.has_flags(Flags::UNMAPPED) {
            sums.unmapped += 1;
            return;
        }
        sums.bases_mapped += bases;
        sums.mapping_quality_0 += u64::from(record.mapping_quality() == 0);
        if !is_pair_mapped(observed) {
            sums.mapped_single += 1;
            return;
        }
        sums.mapped_and_paired += 1;
        sums.properly_paired += u64::from(record.has_flags(Flags::PAIRED | Flags::PROPER_PAIR));
        let is_apart = record.reference_id() != record.mate_reference_id();
        sums.on_different_sequences += u64::from(is_apart);
        self.add_insert(observed);
    }

    /// Adds what is counted of every mapped record.
    fn add_alignment(&mut self, observed: &Observed<'_>) {
        let record = observed.record;
        self.sums.mismatches += observed.tags.edit_distance;
        self.sums.bases_mapped_cigar += observed.cigar_sums.aligned;
        let place = Position { reference: record.reference_id(), position: record.position() };
        let before = self.last.replace(place);
        self.is_unsorted |= before
            .is_some_and(|it| it.reference == place.reference && it.position > place.position);
    }

    fn add_insert(&mut self, observed: &Observed<'_>) {
        const INWARD: usize = 0;
        const OUTWARD: usize = 1;
        const OTHER: usize = 2;
        let record = observed.record;
        let size = record.template_length().unsigned_abs().min(LONGEST_INSERT_BP);
        if size == 0 && record.reference_id() != record.mate_reference_id() {
            return;
        }
        let is_first = record.has_flags(Flags::FIRST_OF_PAIR);
        let is_reverse = record.has_flags(Flags::REVERSE);
        let offset = i64::from(record.mate_position()) - i64::from(record.position());
        // Seen from the first read: is the last one to the right?
        let is_right = if is_first { offset > 0 } else { offset < 0 };
        let orientation = if is_reverse == record.has_flags(Flags::MATE_REVERSE) {
            OTHER
        } else if offset == 0 || is_right == (is_first != is_reverse) {
            INWARD
        } else {
            OUTWARD
        };
        self.inserts[size as usize][orientation] += 1;
    }

    pub(super) fn merge(&mut self, other: &Self) {
        let (sums, more) = (&mut self.sums, &other.sums);
        let pairs: [(&mut u64, u64); 21] = [
            (&mut sums.sequences, more.sequences),
            (&mut sums.total_length, more.total_length),
            (&mut sums.first_fragments, more.first_fragments),
            (&mut sums.last_fragments, more.last_fragments),
            (&mut sums.mapped_and_paired, more.mapped_and_paired),
            (&mut sums.mapped_single, more.mapped_single),
            (&mut sums.unmapped, more.unmapped),
            (&mut sums.properly_paired, more.properly_paired),
            (&mut sums.paired, more.paired),
            (&mut sums.duplicated, more.duplicated),
            (&mut sums.mapping_quality_0, more.mapping_quality_0),
            (&mut sums.qc_failed, more.qc_failed),
            (&mut sums.secondary, more.secondary),
            (&mut sums.supplementary, more.supplementary),
            (&mut sums.total_first_length, more.total_first_length),
            (&mut sums.total_last_length, more.total_last_length),
            (&mut sums.bases_mapped, more.bases_mapped),
            (&mut sums.bases_mapped_cigar, more.bases_mapped_cigar),
            (&mut sums.bases_duplicated, more.bases_duplicated),
            (&mut sums.quality_sum, more.quality_sum),
            (&mut sums.on_different_sequences, more.on_different_sequences),
        ];
        pairs.into_iter().for_each(|(sum, more)| *sum += more);
        sums.mismatches += more.mismatches;
        let (checksum, more) = (&mut self.checksum, other.checksum);
        checksum.names = checksum.names.wrapping_add(more.names);
        checksum.bases = checksum.bases.wrapping_add(more.bases);
        checksum.qualities = checksum.qualities.wrapping_add(more.qualities);
        let (longest, more) = (&mut self.longest, other.longest);
        longest.all = longest.all.max(more.all);
        longest.first = longest.first.max(more.first);
        longest.last = longest.last.max(more.last);
        self.is_unsorted |= other.is_unsorted;
        let inserts = self.inserts.as_flattened_mut().iter_mut().zip(other.inserts.as_flattened());
        inserts.for_each(|(sum, more)| *sum += more);
    }

    /// "is sorted". Each worker looks at the records that it was shown, in their order: that whole
    /// segments of sorted records follow each other in the wrong order is not seen.
    #[must_use]
    pub fn is_sorted(&self) -> bool {
        !self.is_unsorted
    }

    /// Pairs by orientation and their insert sizes. Each pair was counted twice.
    #[must_use]
    pub fn inserts(&self) -> InsertSummary {
        let pairs = |records: &[u64; 3]| records.map(|count| count / 2);
        let [inward, outward, other] = self
            .inserts
            .iter()
            .map(pairs)
            .fold([0; 3], |sum, it| [sum[0] + it[0], sum[1] + it[1], sum[2] + it[2]]);
        let sizes = || {
            let by_size = (0_u64..).zip(&self.inserts);
            by_size.map(|(size, records)| (size, pairs(records).iter().sum::<u64>()))
        };
        let mut total = inward + outward + other;
        let (mut main, mut sum, mut end) = (0, 0_u64, 0);
        for (size, count) in sizes() {
            if count > 0 {
                end = size + 1;
            }
            main += count;
            sum += size * count;
            if main as f64 / total as f64 > MAIN_SHARE {
                (end, total) = (size + 1, main);
                break;
            }
        }
        let of = total.max(1) as f64;
        let mean_bp = sum as f64 / of;
        let square = |(size, count): (u64, u64)| {
            let difference = size as f64 - mean_bp;
            count as f64 * difference * difference / of
        };
        // A sum of nothing is -0.0.
        let variance = sizes().take(end as usize).skip(1).map(square).fold(0.0, |sum, it| sum + it);
        let standard_deviation_bp = variance.sqrt();
        InsertSummary { mean_bp, standard_deviation_bp, inward, outward, other }
    }
}

/// Whether read and mate are mapped.
fn is_pair_mapped(observed: &Observed<'_>) -> bool {
    const LOOKED_AT: u16 = Flags::PAIRED | Flags::UNMAPPED | Flags::MATE_UNMAPPED;
    observed.record.flags() & LOOKED_AT == Flags::PAIRED
}
