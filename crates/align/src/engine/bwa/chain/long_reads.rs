//! Seeds of long reads, which may lie where they do by chance (`mem_flt_chained_seeds`).
//!
//! In a read of some 700 bases and more a short seed says little. bwa aligns each once more with
//! the bases around it, and drops those whose alignment scores too little. The others are ordered
//! by that score from then on.

use super::super::extend::Basis;
use super::super::float::{log, truncated};
use super::super::rescue::dispatch::{Bits, Kernels};
use super::super::rescue::kernel::{Scores, Strings, Whole};
use super::super::rescue::parts::Parts;
use super::super::settings::Settings;
use super::build::PlacedSeed;

/// Seeds, and parts around them, of so many bases are taken as they are.
const LONG_BASES: i64 = 200;
/// Bases on either side of a seed that are aligned with it.
const BESIDE_BASES: i64 = 50;

/// Working memory.
#[derive(Debug)]
pub(in super::super) struct LongReads {
    kernels: Kernels,
    strings: Vec<Whole>,
    parts: Parts,
}

impl LongReads {
    pub(in super::super) fn new() -> Self {
        Self { kernels: Kernels::new(), strings: Vec::new(), parts: Parts::default() }
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

    /// Puts those seeds of a chain that score enough behind `kept`, with their scores.
    pub(in super::super) fn keep(
        &mut self,
        codes: &[u8],
        seeds: &[PlacedSeed],
        least: i32,
        basis: Basis<'_>,
        kept: &mut Vec<PlacedSeed>,
    ) {
        let settings = basis.settings;
        let scores = Scores { settings, least: i32::MAX, padding: 8 };
        for some in seeds.chunks(self.kernels.lanes(Bits::Sixteen)) {
            self.strings.clear();
            let aligned = some.iter().map(|seed| self.take_around(seed, codes, basis));
            let aligned: Vec<bool> = aligned.collect();
            self.parts.clear();
            self.kernels.align(&self.strings, &scores, Bits::Sixteen, &mut self.parts);
            let mut best = (0..self.strings.len()).map(|at| self.parts.first(at).score);
            for (&seed, is_aligned) in some.iter().zip(aligned) {
                let score = if is_aligned { best.next() } else { None };
                if score.is_none_or(|score| score >= least) {
                    let score = score.unwrap_or(seed.length * settings.matching);
                    kept.push(PlacedSeed { score, ..seed });
                }
            }
        }
    }

    /// Takes the bases around a seed. False for one that is long enough.
    fn take_around(&mut self, seed: &PlacedSeed, codes: &[u8], basis: Basis<'_>) -> bool {
        let reference = basis.reference;
        if i64::from(seed.length) >= LONG_BASES {
            return false;
        }
        let (start, end) = (i64::from(seed.base), i64::from(seed.base + seed.length));
        let (start, end) =
            ((start - BESIDE_BASES).max(0), (end + BESIDE_BASES).min(codes.len() as i64));
        let middle = (seed.place + seed.place_end()) >> 1;
        let bases = reference.bases as i64;
        let mut from = (seed.place - BESIDE_BASES).max(0);
        let mut to = (seed.place_end() + BESIDE_BASES).min(2 * bases);
        if from < bases && bases < to {
            (from, to) = if middle < bases { (from, bases) } else { (bases, to) };
        }
        if end - start >= LONG_BASES || to - from >= LONG_BASES {
            return false;
        }
        let span = reference.span(reference.sequence_at(middle), middle);
        let mut target = Vec::new();
        reference.put(from.max(span.start), to.min(span.end), &mut target);
        let query = codes[start as usize..end as usize].to_vec();
        self.strings.push(Whole { strings: Strings { query, target }, first_row: 0 });
        true
    }
}
