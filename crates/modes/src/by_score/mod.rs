//! What the modes by score have in common, with gaps or over introns as well:
//!
//! * [`score`]: what alignments are worth.
//! * [`seeds`]: where strings of reads occur; [`Reads`] of a group are searched for at once.
//! * [`diagonals`]: on which of them a read's seeds are.
//! * [`alignment`]: placements with their operations, and where they are.
//! * [`mates`]: which placements are a pair, and what records say of the other mate.
//! * [`record`]: placements to BAM.
//! * [`report`]: what became of a template to its records.

pub(super) mod alignment;
pub(super) mod diagonals;
pub(super) mod mates;
pub(super) mod record;
pub(super) mod report;
pub(super) mod score;
pub(super) mod seeds;

use super::query::{Query, UNKNOWN};
use score::Scoring;
use seqloom_align::engine::Read;

/// The reads of a group as they are searched for.
#[derive(Debug, Default)]
pub(super) struct Reads {
    pub(super) queries: Vec<Query>,
    /// What mismatches cost, by base.
    pub(super) penalties: Vec<Vec<i16>>,
}

impl Reads {
    /// Takes reads in place of what was here.
    pub(super) fn take(&mut self, reads: &[Read<'_>], scoring: &Scoring) {
        let count = self.queries.len().max(reads.len());
        self.queries.resize_with(count, Query::default);
        self.penalties.resize_with(count, Vec::new);
        let all = self.queries.iter_mut().zip(&mut self.penalties);
        for ((query, penalties), read) in all.zip(reads) {
            query.take(read.bases, read.qualities);
            scoring.penalties(query, penalties);
        }
    }
}

/// Whether a read has more unknown bases than may be.
pub(super) fn is_unknown(query: &Query, scoring: &Scoring) -> bool {
    let unknown = query.codes().iter().filter(|&&code| code == UNKNOWN).count();
    unknown > scoring.unknown_at_most(query.len()) as usize
}
