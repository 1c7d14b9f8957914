//! The search compiled for the instructions that count and turn bits, which most processors have.
#![allow(unsafe_code)]

use super::options::Acceptance;
use super::placements::{self, Genome, Limits, PlacementScratch};
use crate::query::Query;

/// [`placements::find`] with the best instructions of this processor; all give the same.
pub(super) fn find(
    genome: Genome<'_>,
    requested: (Acceptance, Limits),
    queries: &[Query],
    work: &mut PlacementScratch,
) -> usize {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("popcnt")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
    {
        // SAFETY: the processor has all of these, as was checked just now.
        return unsafe { find_with_bits(genome, requested, queries, work) };
    }
    placements::find(genome, requested, queries, work)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,popcnt,lzcnt,bmi1,bmi2")]
fn find_with_bits(
    genome: Genome<'_>,
    requested: (Acceptance, Limits),
    queries: &[Query],
    work: &mut PlacementScratch,
) -> usize {
    placements::find(genome, requested, queries, work)
}
