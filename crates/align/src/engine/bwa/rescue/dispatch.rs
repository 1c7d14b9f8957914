//! The kernel for the processor that runs it.
//!
//! The code is one safe body, compiled for three sets of instructions; which one is chosen at run
//! time.
#![allow(unsafe_code)]

use super::super::lanes::instructions::Instructions;
use super::super::settings::GAP;
use super::band::{self, BandWork, Banded};
use super::bound::{self, BoundWork, Hit, Query};
use super::kernel::{self, MOST_ROWS, Scores, Whole, Work};
use super::parts::Parts;
use crate::search::text::Bases;

/// Working memory of all kernels, of `N` lanes of 8 bits, `M` of 16 and `L` of 64.
#[derive(Debug, Default)]
struct Both<const N: usize, const M: usize, const L: usize> {
    small: Work<u8, N>,
    large: Work<i16, M>,
    small_band: BandWork<u8, N>,
    large_band: BandWork<i16, M>,
    bound: BoundWork,
}

/// What is to be done.
enum Task<'a> {
    Whole(&'a [Whole], &'a Scores<'a>, Bits, &'a mut Parts),
    Band(&'a [Banded], &'a Scores<'a>, Bits, &'a mut Parts),
    Count(&'a Query, &'a Bases, &'a mut Vec<Hit>),
}

impl<const N: usize, const M: usize, const L: usize> Both<N, M, L> {
    #[inline(always)]
    fn run(&mut self, task: Task<'_>) {
        match task {
            Task::Whole(all, scores, Bits::Eight, out) => {
                kernel::align(all, scores, &mut self.small, out);
            }
            Task::Whole(all, scores, Bits::Sixteen, out) => {
                kernel::align(all, scores, &mut self.large, out);
            }
            Task::Band(all, scores, Bits::Eight, out) => {
                band::align(all, scores, &mut self.small_band, out);
            }
            Task::Band(all, scores, Bits::Sixteen, out) => {
                band::align(all, scores, &mut self.large_band, out);
            }
            Task::Count(query, window, out) => {
                bound::count::<L>(query, window, &mut self.bound, out);
            }
        }
    }
}

/// Working memory, of a kind that says what instructions the processor has.
#[derive(Debug)]
enum Width {
    Plain(Both<16, 8, 2>),
    #[cfg(target_arch = "x86_64")]
    Avx2(Both<32, 16, 4>),
    #[cfg(target_arch = "x86_64")]
    Avx512(Both<64, 32, 8>),
}

/// The kernels, with their memory.
#[derive(Debug)]
pub(in super::super) struct Kernels {
    width: Width,
    /// Of 8 bits.
    lanes: usize,
}

/// Bits of a score.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Bits {
    Eight,
    Sixteen,
}

impl Bits {
    /// The largest score.
    fn most(self) -> i32 {
        match self {
            Self::Eight => u8::MAX.into(),
            Self::Sixteen => i16::MAX.into(),
        }
    }
}

impl Kernels {
    /// For the widest instructions that the processor has.
    pub(in super::super) fn new() -> Self {
        Self::of_lanes(usize::MAX)
    }

    /// For the widest instructions that the processor has of those with `most` lanes at most.
    pub(super) fn of_lanes(most: usize) -> Self {
        Self::of(Instructions::of_lanes(most))
    }

    /// For all that the processor has, the widest last.
    #[cfg(test)]
    pub(super) fn all() -> Vec<Self> {
        Instructions::all().into_iter().map(Self::of).collect()
    }

    /// For instructions that the processor has.
    fn of(instructions: Instructions) -> Self {
        let width = match instructions {
            Instructions::Baseline => Width::Plain(Both::default()),
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => Width::Avx2(Both::default()),
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 => Width::Avx512(Both::default()),
        };
        Self { width, lanes: instructions.lanes() }
    }

    /// How many alignments go side by side.
    pub(in super::super) fn lanes(&self, bits: Bits) -> usize {
        if bits == Bits::Eight { self.lanes } else { self.lanes / 2 }
    }

    /// Aligns queries to whole windows, as many as there are lanes at most.
    pub(in super::super) fn align(
        &mut self,
        all: &[Whole],
        scores: &Scores<'_>,
        bits: Bits,
        out: &mut Parts,
    ) {
        let is_odd =
            |it: &Whole| it.strings.target.len() > MOST_ROWS || it.strings.query.contains(&GAP);
        if all.iter().any(is_odd) || scores.settings.mismatch_score > 0 {
            all.iter().for_each(|it| kernel::align_one(it, scores, bits.most(), out));
            return;
        }
        self.run(Task::Whole(all, scores, bits, out));
    }

    /// Aligns queries in bands, as many as there are lanes at most.
    pub(super) fn align_in_bands(
        &mut self,
        all: &[Banded],
        scores: &Scores<'_>,
        bits: Bits,
        out: &mut Parts,
    ) {
        self.run(Task::Band(all, scores, bits, out));
    }

    /// Counts words that a query and a window have in common.
    pub(super) fn count(&mut self, query: &Query, window: &Bases, out: &mut Vec<Hit>) {
        self.run(Task::Count(query, window, out));
    }

    fn run(&mut self, task: Task<'_>) {
        match &mut self.width {
            Width::Plain(work) => work.run(task),
            // SAFETY: memory of this kind is made only where the processor has AVX2.
            #[cfg(target_arch = "x86_64")]
            Width::Avx2(work) => unsafe { with_avx2(work, task) },
            // SAFETY: memory of this kind is made only where the processor has all of these.
            #[cfg(target_arch = "x86_64")]
            Width::Avx512(work) => unsafe { with_avx512(work, task) },
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2(work: &mut Both<32, 16, 4>, task: Task<'_>) {
    work.run(task);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,avx512bw,avx512vl")]
fn with_avx512(work: &mut Both<64, 32, 8>, task: Task<'_>) {
    work.run(task);
}
