//! Seeds of long reads, which may occur by chance (`mem_flt_chained_seeds`).
//!
//! In a read of some 700 bases and more a short seed says little. bwa aligns each once more with
//! the bases around it, and drops those whose alignment scores too little. The others are ordered
//! by that score from then on.

use super::super::context::Context;
use super::super::float::{log, truncated};
use super::super::local::dispatch::{Kernels, ScoreWidth};
use super::super::local::kernel::{FullWindow, Scores, SequencePair};
use super::super::local::parts::MatrixParts;
use super::super::settings::Settings;
use super::Seed;

/// Seeds, and parts around them, of so many bases are taken as they are.
const LONG_BASES: i64 = 200;
/// Bases on either side of a seed that are aligned with it.
const FLANK_BASES: i64 = 50;

/// Working memory.
#[derive(Debug)]
pub(in super::super) struct LongReads {
    kernels: Kernels,
    pairs: Vec<FullWindow>,
    parts: MatrixParts,
}

impl LongReads {
    pub(in super::super) fn new() -> Self {
        Self { kernels: Kernels::new(), pairs: Vec::new(), parts: MatrixParts::default() }
    }

    /// What seeds of a read of so many bases are to score; `None` if it is short.
    pub(in super::super) fn least_score(&self, bases: usize, settings: &Settings) -> Option<i32> {
        let least = match settings.filter.least_weight {
            0 => f64::from(5.5_f32) * log(bases as f64),
            weight => f64::from(1.1_f32 * weight as f32),
        };
        if least > f64::from(0.05_f32 * bases as f32) {
            return None;
        }
        Some(truncated(f64::from(settings.matching) * least + 0.499))
    }

    /// Appends those seeds of a chain that score enough to `kept`, with their scores.
    pub(in super::super) fn keep(
        &mut self,
        codes: &[u8],
        seeds: &[Seed],
        least: i32,
        context: Context<'_>,
        kept: &mut Vec<Seed>,
    ) {
        let settings = context.settings;
        let scores = Scores { settings, least: i32::MAX, padding: 8 };
        for some in seeds.chunks(self.kernels.lanes(ScoreWidth::Bits16)) {
            self.pairs.clear();
            let aligned = some.iter().map(|seed| self.add_with_flanks(seed, codes, context));
            let aligned: Vec<bool> = aligned.collect();
            self.parts.clear();
            self.kernels.align(&self.pairs, &scores, ScoreWidth::Bits16, &mut self.parts);
            let mut best = (0..self.pairs.len()).map(|at| self.parts.first(at).score);
            for (&seed, is_aligned) in some.iter().zip(aligned) {
                let score = if is_aligned { best.next() } else { None };
                if score.is_none_or(|score| score >= least) {
                    let score = score.unwrap_or(seed.length * settings.matching);
                    kept.push(Seed { score, ..seed });
                }
            }
        }
    }

    /// Adds a seed with its flanks to what is aligned. False for one that is long enough.
    fn add_with_flanks(&mut self, seed: &Seed, codes: &[u8], context: Context<'_>) -> bool {
        let reference = context.reference;
        if i64::from(seed.length) >= LONG_BASES {
            return false;
        }
        let (start, end) = (i64::from(seed.read_start), i64::from(seed.read_start + seed.length));
        let (start, end) =
            ((start - FLANK_BASES).max(0), (end + FLANK_BASES).min(codes.len() as i64));
        let middle = (seed.reference_start + seed.reference_end()) >> 1;
        let bases = reference.bases as i64;
        let mut from = (seed.reference_start - FLANK_BASES).max(0);
        let mut to = (seed.reference_end() + FLANK_BASES).min(2 * bases);
        if from < bases && bases < to {
            (from, to) = if middle < bases { (from, bases) } else { (bases, to) };
        }
        if end - start >= LONG_BASES || to - from >= LONG_BASES {
            return false;
        }
        let span = reference.span(reference.sequence_at(middle), middle);
        let mut target = Vec::new();
        reference.append(from.max(span.start), to.min(span.end), &mut target);
        let query = codes[start as usize..end as usize].to_vec();
        self.pairs.push(FullWindow { sequences: SequencePair { query, target }, first_row: 0 });
        true
    }
}
