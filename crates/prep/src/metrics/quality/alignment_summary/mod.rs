//! Alignment summary (Picard 2.27.5 CollectAlignmentSummaryMetrics, default options, all reads
//! together).
//!
//! Counted: primary records, duplicates among them; QC-failed ones only as reads, and their
//! no-calls as bad cycles. Secondary and supplementary alignments are not. Mismatches are counted
//! with a reference only.

mod row;

use seqloom_format::bam::{Flags, RecordRef};
use seqloom_format::persist_fields;

pub use self::row::{AlignmentSummaryMetrics, Category};
use super::adapters::AdapterStarts;
use super::cycle_sums::count_at_least;
use super::histogram::Histogram;
use super::insert_size::PairOrientation;
use super::observed::{NO_CALL, Observed};
use crate::input::reference::ReferenceSequences;
use seqloom_format::bam::cigar::{DELETION, HARD_CLIP, INSERTION, PADDING, SKIP, SOFT_CLIP};

/// Mapping and base qualities from here on are high.
const HIGH_QUALITY: u8 = 20;
/// Pairs with a longer insert are chimeric.
const LONGEST_INSERT_BP: u32 = 100_000;
/// Cycles after this one are never bad: a bound of memory.
const MOST_CYCLES: usize = 1 << 17;

/// 4-bit code of each letter of a reference in either case: N's for `.`, that of `=` for what is no
/// IUPAC code, so that equal codes are equal bases (htsjdk SequenceUtil.basesEqual).
const REFERENCE_CODES: [u8; 256] = {
    let mut codes = [0; 256];
    let mut code = 1;
    while code < 16 {
        let letter = seqloom_format::bam::BASE_LETTERS[code] as usize;
        codes[letter] = code as u8;
        codes[letter | 0x20] = code as u8;
        code += 1;
    }
    codes[b'.' as usize] = NO_CALL;
    codes
};

/// Counts of the reads of one category.
#[derive(Debug, Clone, Default)]
struct ReadCounts {
    total_reads: u64,
    pf_reads: u64,
    pf_noise_reads: u64,
    adapter_reads: u64,
    aligned_reads: u64,
    aligned_in_pairs: u64,
    improper_pairs: u64,
    forward_reads: u64,
    /// Reads that could be chimeric, and those that are.
    chimera_candidates: u64,
    chimeras: u64,
    hard_clipped_bases: u64,
    soft_clipped_bases: u64,
    three_prime_clips: u64,
    three_prime_clipped_bases: u64,
    aligned_bases: u64,
    high_quality_reads: u64,
    high_quality_bases: u64,
    high_quality_q20_bases: u64,
    mismatches: u64,
    /// Insertions and deletions.
    gaps: u64,
    /// Mismatches per aligned read, 0 for reads of low mapping quality.
    high_quality_mismatches: Histogram,
    read_lengths: Histogram,
    aligned_lengths: Histogram,
    /// No-calls and mismatches by cycle, from 0.
    bad_bases: Vec<u64>,
}

/// Counts of all reads.
#[derive(Debug, Clone, Default)]
pub struct AlignmentSummaryCounts {
    first: ReadCounts,
    second: ReadCounts,
    unpaired: ReadCounts,
}

/// Lengths of the PF reads of pairs or without mates.
#[derive(Debug, Clone, Default)]
pub struct ReadLengths {
    /// Whole reads.
    pub total: Histogram,
    /// Those that are neither clipped nor unmapped.
    pub aligned: Histogram,
}

persist_fields!(ReadCounts {
    total_reads,
    pf_reads,
    pf_noise_reads,
    adapter_reads,
    aligned_reads,
    aligned_in_pairs,
    improper_pairs,
    forward_reads,
    chimera_candidates,
    chimeras,
    hard_clipped_bases,
    soft_clipped_bases,
    three_prime_clips,
    three_prime_clipped_bases,
    aligned_bases,
    high_quality_reads,
    high_quality_bases,
    high_quality_q20_bases,
    mismatches,
    gaps,
    high_quality_mismatches,
    read_lengths,
    aligned_lengths,
    bad_bases,
});
persist_fields!(AlignmentSummaryCounts { first, second, unpaired });

impl AlignmentSummaryCounts {
    pub(super) fn add(
        &mut self,
        observed: &Observed<'_>,
        reference: Option<&ReferenceSequences>,
        adapters: &AdapterStarts,
    ) {
        if !observed.is_primary() {
            return;
        }
        let counts = if !observed.has_flags(Flags::PAIRED) {
            &mut self.unpaired
        } else if observed.has_flags(Flags::FIRST_OF_PAIR) {
            &mut self.first
        } else {
            &mut self.second
        };
        counts.total_reads += 1;
        let is_passed = !observed.has_flags(Flags::QC_FAIL);
        let is_mapped = !observed.has_flags(Flags::UNMAPPED);
        if is_passed {
            counts.add_passed(observed, adapters);
        }
        if is_passed && is_mapped {
            counts.add_aligned(observed);
            let reference = reference.filter(|_| observed.record.reference_id() >= 0);
            counts
                .add_bases(observed, reference.map(|it| it.bases(observed.record.reference_id())));
        } else {
            counts.add_no_calls(observed);
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.first.merge(&other.first);
        self.second.merge(&other.second);
        self.unpaired.merge(&other.unpaired);
    }

    fn pair(&self) -> ReadCounts {
        let mut pair = self.first.clone();
        pair.merge(&self.second);
        pair
    }

    /// Rows in Picard's order: those of pairs where there are first reads, then that of unpaired
    /// reads where there are such or nothing else.
    #[must_use]
    pub fn rows(&self) -> Vec<AlignmentSummaryMetrics> {
        let mut rows = Vec::new();
        let has_pairs = self.first.total_reads > 0;
        if has_pairs {
            let first = self.first.metrics(Category::FirstOfPair);
            let second = self.second.metrics(Category::SecondOfPair);
            let bad_cycles = first.bad_cycles + second.bad_cycles;
            let pair = self.pair().metrics(Category::Pair);
            rows.extend([first, second, AlignmentSummaryMetrics { bad_cycles, ..pair }]);
        }
        if self.unpaired.total_reads > 0 || !has_pairs {
            rows.push(self.unpaired.metrics(Category::Unpaired));
        }
        rows
    }

    /// Read lengths of pairs.
    #[must_use]
    pub fn paired_lengths(&self) -> ReadLengths {
        let ReadCounts { read_lengths: total, aligned_lengths: aligned, .. } = self.pair();
        ReadLengths { total, aligned }
    }

    /// Lengths of reads without mates.
    #[must_use]
    pub fn unpaired_lengths(&self) -> ReadLengths {
        let ReadCounts { read_lengths: total, aligned_lengths: aligned, .. } =
            self.unpaired.clone();
        ReadLengths { total, aligned }
    }
}

/// Bases that are compared at a time.
const CHUNK: usize = 32;

/// Bytes that are not 0 where a base is not A, C, G or T, or is not the reference's. The letters'
/// low five bits are 1, 3, 7 and 20, and no other letter of a FASTA has those.
fn unlike(codes: &[u8; CHUNK], letters: &[u8; CHUNK]) -> [u64; CHUNK / 8] {
    let mut unlike = [0; CHUNK];
    for (index, unlike) in unlike.iter_mut().enumerate() {
        let (code, letter) = (codes[index], letters[index]);
        let less = code.wrapping_sub(1);
        let expected = code.wrapping_add(less).wrapping_add(if code == 8 { 5 } else { 0 });
        // A code of one bit is one base.
        *unlike = (expected ^ (letter & 0x1f)) | (code & less);
    }
    let (words, _) = unlike.as_chunks::<8>();
    std::array::from_fn(|word| u64::from_le_bytes(words[word]))
}

impl ReadCounts {
    /// A read that passed the filters of the sequencer.
    fn add_passed(&mut self, observed: &Observed<'_>, adapters: &AdapterStarts) {
        let record = observed.record;
        self.pf_reads += 1;
        self.pf_noise_reads += u64::from(observed.tags.is_noise);
        self.read_lengths.add(observed.codes.len() as u32);
        self.aligned_lengths.add(u32::try_from(observed.cigar_sums.aligned).unwrap_or(u32::MAX));
        self.hard_clipped_bases += observed.cigar_sums.hard_clipped;
        let is_mapped = !record.has_flags(Flags::UNMAPPED);
        if !is_mapped || record.mapping_quality() == 0 {
            let is_reverse = is_mapped && record.has_flags(Flags::REVERSE);
            let is_adapter = adapters.has_start_of(observed.codes.bytes(), is_reverse);
            self.adapter_reads += u64::from(is_adapter);
        }
    }

    /// A read that passed and is mapped.
    fn add_aligned(&mut self, observed: &Observed<'_>) {
        let record = observed.record;
        self.add_clips(observed);
        self.aligned_reads += 1;
        let is_paired = record.has_flags(Flags::PAIRED);
        self.improper_pairs += u64::from(is_paired && !record.has_flags(Flags::PROPER_PAIR));
        self.forward_reads += u64::from(!record.has_flags(Flags::REVERSE));
        let is_high = record.mapping_quality() >= HIGH_QUALITY;
        self.high_quality_reads += u64::from(is_high);
        let is_pair_mapped = is_paired && !record.has_flags(Flags::MATE_UNMAPPED);
        self.aligned_in_pairs += u64::from(is_pair_mapped);
        let is_split = observed.tags.is_split;
        let (is_candidate, is_chimeric) = if is_pair_mapped {
            let mate = observed.tags.mate_mapping_quality;
            let is_candidate = mate.is_none_or(|it| it >= HIGH_QUALITY.into() && is_high);
            (is_candidate, is_split || is_chimeric_pair(record))
        } else {
            (is_high, is_split)
        };
        self.chimera_candidates += u64::from(is_candidate);
        self.chimeras += u64::from(is_candidate && is_chimeric);
    }

    /// Soft clips, and those at the 3' end of the read: all that follow anything but a clip.
    fn add_clips(&mut self, observed: &Observed<'_>) {
        let sums = &observed.cigar_sums;
        let is_reverse = observed.has_flags(Flags::REVERSE);
        let three_prime = if is_reverse { sums.clipped_before } else { sums.clipped_behind };
        self.soft_clipped_bases += sums.soft_clipped;
        self.three_prime_clips += u64::from(three_prime > 0);
        self.three_prime_clipped_bases += three_prime;
    }

    /// Compares what is aligned; stops where the reference or the read ends.
    fn add_bases(&mut self, observed: &Observed<'_>, reference: Option<&[u8]>) {
        let is_high = observed.record.mapping_quality() >= HIGH_QUALITY;
        let is_reverse = observed.has_flags(Flags::REVERSE);
        let (mut read_at, mut reference_at) = (0_usize, observed.record.position().max(0) as usize);
        let (mut aligned, mut q20, mut mismatches) = (0, 0, 0);
        for (code, len) in observed.cigar.codes() {
            let len = len as usize;
            match code {
                INSERTION | SOFT_CLIP => read_at += len,
                DELETION | SKIP => reference_at += len,
                HARD_CLIP | PADDING => {}
                _ => {
                    let bases = observed.codes.bytes().get(read_at..).unwrap_or_default();
                    let bases = &bases[..len.min(bases.len())];
                    let facing = reference.map(|it| it.get(reference_at..).unwrap_or_default());
                    let bases =
                        &bases[..facing.map_or(bases.len(), |it| it.len().min(bases.len()))];
                    aligned += bases.len() as u64;
                    if is_high {
                        let qualities =
                            observed.qualities.bytes().get(read_at..).unwrap_or_default();
                        let qualities = &qualities[..bases.len().min(qualities.len())];
                        let is_all = qualities.len() == observed.qualities.len();
                        let counted = || count_at_least(qualities, HIGH_QUALITY);
                        q20 += if is_all { observed.sums.q20 } else { counted() };
                    }
                    mismatches +=
                        self.add_bad_bases(bases, facing, is_reverse, observed.codes.len());
                    read_at += len;
                    reference_at += len;
                }
            }
        }
        self.gaps += observed.cigar_sums.gaps;
        self.aligned_bases += aligned;
        self.mismatches += mismatches;
        if is_high {
            self.high_quality_bases += aligned;
            self.high_quality_q20_bases += q20;
        }
        self.high_quality_mismatches.add(if is_high { mismatches as u32 } else { 0 });
    }

    /// Counts mismatches and no-calls of one aligned block by cycle; gives the mismatches. As in
    /// Picard cycles are counted from the start of the block, not of the read.
    fn add_bad_bases(
        &mut self,
        bases: &[u8],
        facing: Option<&[u8]>,
        is_reverse: bool,
        read_length: usize,
    ) -> u64 {
        let mut mismatches = 0;
        let Some(facing) = facing else {
            for (index, _) in bases.iter().enumerate().filter(|&(_, &code)| code == NO_CALL) {
                self.add_bad_base(index, is_reverse, read_length);
            }
            return mismatches;
        };
        let facing = &facing[..bases.len()];
        let mut add = |index: usize| {
            let is_mismatch = bases[index] != REFERENCE_CODES[usize::from(facing[index])];
            if is_mismatch || bases[index] == NO_CALL {
                self.add_bad_base(index, is_reverse, read_length);
            }
            mismatches += u64::from(is_mismatch);
        };
        let (many, some) = (bases.as_chunks::<CHUNK>().0, facing.as_chunks::<CHUNK>().0);
        let Some(last) = bases.last_chunk::<CHUNK>().zip(facing.last_chunk::<CHUNK>()) else {
            (0..bases.len()).for_each(add);
            return mismatches;
        };
        // Some of the last ones are looked at twice, so that no rest is left to be compared one by
        // one.
        let last = (bases.len() - CHUNK, last);
        let mut end = 0;
        for (at, (codes, letters)) in (0..).step_by(CHUNK).zip(many.iter().zip(some)).chain([last])
        {
            let unlike = unlike(codes, letters);
            if unlike != [0; CHUNK / 8] {
                for (word_at, mut word) in (at..).step_by(8).zip(unlike) {
                    while word != 0 {
                        let byte = word.trailing_zeros() / 8;
                        word &= !(0xff << (8 * byte));
                        let index = word_at + byte as usize;
                        if index >= end {
                            add(index);
                        }
                    }
                }
            }
            end = at + CHUNK;
        }
        mismatches
    }

    /// Counts the no-calls of a read that is unmapped or did not pass.
    fn add_no_calls(&mut self, observed: &Observed<'_>) {
        let is_reverse = observed.has_flags(Flags::REVERSE);
        self.add_bad_bases(observed.codes.bytes(), None, is_reverse, observed.codes.len());
    }

    fn add_bad_base(&mut self, index: usize, is_reverse: bool, read_length: usize) {
        let cycle = if is_reverse { read_length - 1 - index } else { index };
        if cycle >= MOST_CYCLES {
            return;
        }
        if cycle >= self.bad_bases.len() {
            self.bad_bases.resize((cycle + 1).next_power_of_two(), 0);
        }
        self.bad_bases[cycle] += 1;
    }

    fn merge(&mut self, other: &Self) {
        let sums: [(&mut u64, u64); 20] = [
            (&mut self.total_reads, other.total_reads),
            (&mut self.pf_reads, other.pf_reads),
            (&mut self.pf_noise_reads, other.pf_noise_reads),
            (&mut self.adapter_reads, other.adapter_reads),
            (&mut self.aligned_reads, other.aligned_reads),
            (&mut self.aligned_in_pairs, other.aligned_in_pairs),
            (&mut self.improper_pairs, other.improper_pairs),
            (&mut self.forward_reads, other.forward_reads),
            (&mut self.chimera_candidates, other.chimera_candidates),
            (&mut self.chimeras, other.chimeras),
            (&mut self.hard_clipped_bases, other.hard_clipped_bases),
            (&mut self.soft_clipped_bases, other.soft_clipped_bases),
            (&mut self.three_prime_clips, other.three_prime_clips),
            (&mut self.three_prime_clipped_bases, other.three_prime_clipped_bases),
            (&mut self.aligned_bases, other.aligned_bases),
            (&mut self.high_quality_reads, other.high_quality_reads),
            (&mut self.high_quality_bases, other.high_quality_bases),
            (&mut self.high_quality_q20_bases, other.high_quality_q20_bases),
            (&mut self.mismatches, other.mismatches),
            (&mut self.gaps, other.gaps),
        ];
        sums.into_iter().for_each(|(sum, more)| *sum += more);
        self.high_quality_mismatches.merge(&other.high_quality_mismatches);
        self.read_lengths.merge(&other.read_lengths);
        self.aligned_lengths.merge(&other.aligned_lengths);
        if self.bad_bases.len() < other.bad_bases.len() {
            self.bad_bases.resize(other.bad_bases.len(), 0);
        }
        self.bad_bases.iter_mut().zip(&other.bad_bases).for_each(|(sum, more)| *sum += more);
    }
}

/// Whether two mapped mates are too far apart or do not face each other.
fn is_chimeric_pair(record: &RecordRef<'_>) -> bool {
    record.template_length().unsigned_abs() > LONGEST_INSERT_BP
        || record.reference_id() != record.mate_reference_id()
        || PairOrientation::of(record) != PairOrientation::Fr
}

#[cfg(test)]
mod tests;
