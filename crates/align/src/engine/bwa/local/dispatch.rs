//! The kernels of local alignment for the processor that runs them.

use super::super::lanes::instructions::{Dispatched, Kernel, KernelSet};
use super::super::settings::has_gap;
use super::band::{self, BandScratch, BandedWindow};
use super::bound::{self, BoundScratch, DiagonalHit, QueryKmers};
use super::kernel::{self, FullWindow, LaneScratch, MOST_ROWS, Scores};
use super::parts::MatrixParts;
use crate::search::text::Bases;

/// Working memory of all kernels, of `LANES_8` lanes of 8 bits, or `FEW_8` where these suffice,
/// `LANES_16` of 16 and `WORDS` words of 64.
#[derive(Debug, Default)]
struct KernelScratch<
    const LANES_8: usize,
    const FEW_8: usize,
    const LANES_16: usize,
    const WORDS: usize,
> {
    bits8: LaneScratch<u8, LANES_8>,
    few_bits8: LaneScratch<u8, FEW_8>,
    bits16: LaneScratch<i16, LANES_16>,
    band_bits8: BandScratch<u8, LANES_8>,
    few_band_bits8: BandScratch<u8, FEW_8>,
    band_bits16: BandScratch<i16, LANES_16>,
    bound: BoundScratch,
}

/// A call of a kernel.
enum KernelCall<'a> {
    FullWindow(&'a [FullWindow], &'a Scores<'a>, ScoreWidth, &'a mut MatrixParts),
    Band(&'a [BandedWindow], &'a Scores<'a>, ScoreWidth, &'a mut MatrixParts),
    Count(&'a QueryKmers, &'a Bases, &'a mut Vec<DiagonalHit>),
}

impl<const LANES_8: usize, const FEW_8: usize, const LANES_16: usize, const WORDS: usize>
    Kernel<KernelCall<'_>> for KernelScratch<LANES_8, FEW_8, LANES_16, WORDS>
{
    #[inline(always)]
    fn run(&mut self, call: KernelCall<'_>) {
        match call {
            KernelCall::FullWindow(all, scores, ScoreWidth::Bits8, out) if all.len() <= FEW_8 => {
                kernel::align(all, scores, &mut self.few_bits8, out);
            }
            KernelCall::FullWindow(all, scores, ScoreWidth::Bits8, out) => {
                kernel::align(all, scores, &mut self.bits8, out);
            }
            KernelCall::FullWindow(all, scores, ScoreWidth::Bits16, out) => {
                kernel::align(all, scores, &mut self.bits16, out);
            }
            KernelCall::Band(all, scores, ScoreWidth::Bits8, out) if all.len() <= FEW_8 => {
                band::align(all, scores, &mut self.few_band_bits8, out);
            }
            KernelCall::Band(all, scores, ScoreWidth::Bits8, out) => {
                band::align(all, scores, &mut self.band_bits8, out);
            }
            KernelCall::Band(all, scores, ScoreWidth::Bits16, out) => {
                band::align(all, scores, &mut self.band_bits16, out);
            }
            KernelCall::Count(query, window, out) => {
                bound::count::<WORDS>(query, window, &mut self.bound, out);
            }
        }
    }
}

#[derive(Debug)]
struct LocalKernels;

impl KernelSet for LocalKernels {
    type Baseline = KernelScratch<16, 16, 8, 2>;
    type Avx2 = KernelScratch<32, 32, 16, 4>;
    type Avx512 = KernelScratch<64, 32, 32, 8>;
}

/// The kernels, with their memory.
#[derive(Debug)]
pub(in super::super) struct Kernels(Dispatched<LocalKernels>);

/// Bits of a score.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum ScoreWidth {
    Bits8,
    Bits16,
}

impl ScoreWidth {
    /// The largest score.
    fn most(self) -> i32 {
        match self {
            Self::Bits8 => u8::MAX.into(),
            Self::Bits16 => i16::MAX.into(),
        }
    }
}

impl Kernels {
    /// For the widest instructions that the processor has.
    pub(in super::super) fn new() -> Self {
        Self::of_lanes(usize::MAX)
    }

    /// For the widest instructions that the processor has of those with `most` lanes at most.
    pub(in super::super) fn of_lanes(most: usize) -> Self {
        Self(Dispatched::of_lanes(most))
    }

    /// For all that the processor has, the widest last.
    #[cfg(test)]
    pub(in super::super) fn all() -> Vec<Self> {
        Dispatched::all().into_iter().map(Self).collect()
    }

    /// Lanes of a kernel.
    pub(in super::super) fn lanes(&self, score_width: ScoreWidth) -> usize {
        if score_width == ScoreWidth::Bits8 { self.0.lanes } else { self.0.lanes / 2 }
    }

    /// Aligns queries to whole windows, as many as there are lanes at most.
    pub(in super::super) fn align(
        &mut self,
        all: &[FullWindow],
        scores: &Scores<'_>,
        score_width: ScoreWidth,
        out: &mut MatrixParts,
    ) {
        let is_odd =
            |it: &FullWindow| it.sequences.target.len() > MOST_ROWS || has_gap(&it.sequences.query);
        if all.iter().any(is_odd) || scores.settings.mismatch_score > 0 {
            all.iter().for_each(|it| kernel::align_scalar(it, scores, score_width.most(), out));
            return;
        }
        self.0.run(KernelCall::FullWindow(all, scores, score_width, out));
    }

    /// Aligns queries in bands, as many as there are lanes at most.
    pub(in super::super) fn align_in_bands(
        &mut self,
        all: &[BandedWindow],
        scores: &Scores<'_>,
        score_width: ScoreWidth,
        out: &mut MatrixParts,
    ) {
        self.0.run(KernelCall::Band(all, scores, score_width, out));
    }

    /// Counts k-mers that a query and a window have in common.
    pub(in super::super) fn count(
        &mut self,
        query: &QueryKmers,
        window: &Bases,
        out: &mut Vec<DiagonalHit>,
    ) {
        self.0.run(KernelCall::Count(query, window, out));
    }
}
