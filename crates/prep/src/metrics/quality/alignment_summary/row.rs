//! A row of the table: what is counted of a category, and what Picard derives of it.

use super::ReadCounts;

/// A cycle is bad when this share of all reads has a no-call or a mismatch there.
const BAD_SHARE: f64 = 0.8;
/// Which reads a row is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Category {
    /// First reads of pairs.
    FirstOfPair,
    /// All other reads of pairs.
    SecondOfPair,
    /// All reads of pairs.
    Pair,
    /// Reads without a mate.
    Unpaired,
}

/// One row; fields are Picard's columns.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs)] // they are Picard's, which documents them
pub struct AlignmentSummaryMetrics {
    pub category: Category,
    pub total_reads: u64,
    pub pf_reads: u64,
    pub pct_pf_reads: f64,
    pub pf_noise_reads: u64,
    pub pf_reads_aligned: u64,
    pub pct_pf_reads_aligned: f64,
    pub pf_aligned_bases: u64,
    pub pf_hq_aligned_reads: u64,
    pub pf_hq_aligned_bases: u64,
    pub pf_hq_aligned_q20_bases: u64,
    pub pf_hq_median_mismatches: f64,
    pub pf_mismatch_rate: f64,
    pub pf_hq_error_rate: f64,
    pub pf_indel_rate: f64,
    pub mean_read_length: f64,
    pub sd_read_length: f64,
    pub median_read_length: f64,
    pub mad_read_length: f64,
    pub min_read_length: u32,
    pub max_read_length: u32,
    pub mean_aligned_read_length: f64,
    pub reads_aligned_in_pairs: u64,
    pub pct_reads_aligned_in_pairs: f64,
    pub pf_reads_improper_pairs: u64,
    pub pct_pf_reads_improper_pairs: f64,
    pub bad_cycles: u64,
    pub strand_balance: f64,
    pub pct_chimeras: f64,
    pub pct_adapter: f64,
    pub pct_softclip: f64,
    pub pct_hardclip: f64,
    pub avg_pos_3prime_softclip_length: f64,
}

impl ReadCounts {
    /// The row. Without PF reads all that is derived is 0, where Picard 2.27.5 ends with an error.
    pub(super) fn metrics(&self, category: Category) -> AlignmentSummaryMetrics {
        let counted = self.counted(category);
        if self.pf_reads == 0 {
            return counted;
        }
        let (aligned_reads, pf_reads) = (self.aligned_reads, self.pf_reads);
        let total_bases = self.read_lengths.sum();
        let bad = |&&count: &&u64| count as f64 / self.total_reads as f64 >= BAD_SHARE;
        let high_quality_mismatches = self.high_quality_mismatches.sum();
        AlignmentSummaryMetrics {
            pct_pf_reads: ratio(pf_reads, self.total_reads),
            pct_pf_reads_aligned: ratio(aligned_reads, pf_reads),
            pf_hq_median_mismatches: self.high_quality_mismatches.median(),
            pf_mismatch_rate: ratio(self.mismatches, self.aligned_bases),
            pf_hq_error_rate: quotient(high_quality_mismatches, self.high_quality_bases as f64),
            pf_indel_rate: ratio(self.gaps, self.aligned_bases),
            mean_read_length: self.read_lengths.mean(),
            sd_read_length: self.read_lengths.standard_deviation(),
            median_read_length: self.read_lengths.median(),
            mad_read_length: self.read_lengths.median_absolute_deviation(),
            min_read_length: self.read_lengths.smallest().unwrap_or(0),
            max_read_length: self.read_lengths.largest().unwrap_or(0),
            mean_aligned_read_length: self.aligned_lengths.mean(),
            pct_reads_aligned_in_pairs: ratio(self.aligned_in_pairs, aligned_reads),
            pct_pf_reads_improper_pairs: ratio(self.improper_pairs, aligned_reads),
            bad_cycles: self.bad_bases.iter().filter(bad).count() as u64,
            strand_balance: ratio(self.forward_reads, aligned_reads),
            pct_chimeras: ratio(self.chimeras, self.chimera_candidates),
            pct_adapter: ratio(self.adapter_reads, pf_reads),
            pct_softclip: quotient(self.soft_clipped_bases as f64, total_bases),
            pct_hardclip: quotient(self.hard_clipped_bases as f64, total_bases),
            avg_pos_3prime_softclip_length: ratio(
                self.three_prime_clipped_bases,
                self.three_prime_clips,
            ),
            ..counted
        }
    }

    /// The row with what is counted; all that is derived is 0.
    fn counted(&self, category: Category) -> AlignmentSummaryMetrics {
        AlignmentSummaryMetrics {
            category,
            total_reads: self.total_reads,
            pf_reads: self.pf_reads,
            pct_pf_reads: 0.0,
            pf_noise_reads: self.pf_noise_reads,
            pf_reads_aligned: self.aligned_reads,
            pct_pf_reads_aligned: 0.0,
            pf_aligned_bases: self.aligned_bases,
            pf_hq_aligned_reads: self.high_quality_reads,
            pf_hq_aligned_bases: self.high_quality_bases,
            pf_hq_aligned_q20_bases: self.high_quality_q20_bases,
            pf_hq_median_mismatches: 0.0,
            pf_mismatch_rate: 0.0,
            pf_hq_error_rate: 0.0,
            pf_indel_rate: 0.0,
            mean_read_length: 0.0,
            sd_read_length: 0.0,
            median_read_length: 0.0,
            mad_read_length: 0.0,
            min_read_length: 0,
            max_read_length: 0,
            mean_aligned_read_length: 0.0,
            reads_aligned_in_pairs: self.aligned_in_pairs,
            pct_reads_aligned_in_pairs: 0.0,
            pf_reads_improper_pairs: self.improper_pairs,
            pct_pf_reads_improper_pairs: 0.0,
            bad_cycles: 0,
            strand_balance: 0.0,
            pct_chimeras: 0.0,
            pct_adapter: 0.0,
            pct_softclip: 0.0,
            pct_hardclip: 0.0,
            avg_pos_3prime_softclip_length: 0.0,
        }
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    quotient(part as f64, whole as f64)
}

/// 0 where there is nothing to divide by.
fn quotient(part: f64, whole: f64) -> f64 {
    if whole == 0.0 { 0.0 } else { part / whole }
}
