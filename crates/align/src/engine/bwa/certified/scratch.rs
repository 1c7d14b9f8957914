//! A worker's memory of the certified path, and whether the worker goes on trying it.

use super::report::CertifiedOutcome;
use super::{ChainedRead, DiagonalRead, KnownRegion, LENGTHS};
use crate::engine::Read;
use crate::engine::bwa::chain::occurrences::Occurrences;
use crate::engine::bwa::chain::{Chains, ReadChains};
use crate::engine::bwa::seed::{SeedInterval, Smem};
use crate::search::text::Bases;

/// Batches in a row without gain after which a worker stops trying.
const PATIENCE_BATCHES: u32 = 4;
/// Batches after which it tries again.
const PAUSE_BATCHES: u32 = 64;
/// Share of reads that must be certified, one in so many.
const LEAST_SHARE: usize = 16;

/// Working memory of one worker.
#[derive(Debug, Default)]
pub(crate) struct CertifiedScratch {
    pub(super) reads: Vec<Bases>,
    pub(super) window: Bases,
    pub(super) mismatches: Vec<usize>,
    pub(super) diagonals: Vec<DiagonalRead>,
    /// SMEMs over mismatches, each with its read's number; in order.
    pub(super) crossing: Vec<(usize, Smem)>,
    /// Of each search for such matches.
    pub(super) smems: Vec<Vec<Smem>>,
    /// The first `diagonals.len()` are of these reads.
    pub(super) seeds: Vec<Vec<SeedInterval>>,
    pub(super) occurrences: Occurrences,
    /// Of the reads of `chained`.
    pub(super) chains: Chains,
    pub(super) chained: Vec<ChainedRead>,
    pub(super) active: Vec<usize>,
    /// Per read.
    pub(super) verdicts: Vec<CertifiedOutcome>,
    pub(super) known: Vec<Option<KnownRegion>>,
    without_gain: u32,
    pub(super) pause: u32,
}

impl CertifiedScratch {
    /// Per read of the batch: its region, if that is known.
    pub(crate) fn known(&self) -> &[Option<KnownRegion>] {
        &self.known
    }

    /// Begins a batch of so many reads of which nothing is known.
    pub(crate) fn reset(&mut self, reads: usize) {
        self.known.clear();
        self.known.resize(reads, None);
        self.verdicts.clear();
        self.verdicts.resize(reads, CertifiedOutcome::Untried);
        self.chained.clear();
    }

    pub(super) fn take<'r>(&mut self, reads: impl ExactSizeIterator<Item = &'r Read<'r>>) {
        if self.reads.len() < reads.len() {
            self.reads.resize_with(reads.len(), Bases::default);
        }
        self.verdicts.clear();
        self.diagonals.clear();
        let verdicts = reads.zip(&mut self.reads).map(|(read, packed)| {
            match LENGTHS.contains(&read.bases.len()) && packed.take_read(read.bases) {
                true => CertifiedOutcome::Unplaced,
                false => CertifiedOutcome::Unfit,
            }
        });
        self.verdicts.extend(verdicts);
    }

    pub(super) fn take_diagonal(&mut self, diagonal: DiagonalRead) {
        self.verdicts[diagonal.number] = CertifiedOutcome::Chained;
        self.diagonals.push(diagonal);
    }

    /// Pauses after too many batches of which hardly a read was certified.
    pub(super) fn pause_without_gain(&mut self) {
        let certified = (0..self.verdicts.len()).filter(|&at| !self.is_unknown(at)).count();
        let gained = certified * LEAST_SHARE >= self.verdicts.len();
        self.without_gain = if gained { 0 } else { self.without_gain + 1 };
        if self.without_gain == PATIENCE_BATCHES {
            (self.without_gain, self.pause) = (0, PAUSE_BATCHES);
        }
    }

    /// Reads whose chains are known.
    pub(crate) fn chained(&self) -> impl Iterator<Item = (ChainedRead, ReadChains<'_>)> {
        self.chained.iter().copied().zip(self.chains.reads())
    }

    /// How many rows were looked up for reads whose chains are known.
    pub(crate) fn rows(&self) -> u64 {
        if self.chained.is_empty() { 0 } else { self.occurrences.rows() }
    }

    /// Whether the engine is to search for read `at`.
    pub(crate) fn is_unknown(&self, at: usize) -> bool {
        !matches!(self.verdicts[at], CertifiedOutcome::Certified | CertifiedOutcome::Chained)
    }
}
