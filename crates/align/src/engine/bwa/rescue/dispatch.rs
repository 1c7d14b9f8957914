//! The kernel for the processor that runs it.
//!
//! The code is one safe body, compiled for three sets of instructions; which one is chosen at run
//! time.
#![allow(unsafe_code)]

use super::super::settings::GAP;
use super::kernel::{self, Best, MOST_ROWS, Scores, Strings, Work};

/// Working memory for 8 and 16 bits, of `N` and `M` lanes.
#[derive(Debug, Default)]
struct Both<const N: usize, const M: usize> {
    small: Work<u8, N>,
    large: Work<i16, M>,
}

/// Working memory, of a kind that says what instructions the processor has.
#[derive(Debug)]
enum Width {
    Plain(Both<16, 8>),
    #[cfg(target_arch = "x86_64")]
    Avx2(Both<32, 16>),
    #[cfg(target_arch = "x86_64")]
    Avx512(Both<64, 32>),
}

/// The kernels, with their memory.
#[derive(Debug)]
pub(in super::super) struct Kernels(Width);

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
    /// The widest that the processor has.
    pub(in super::super) fn new() -> Self {
        let mut all = Self::all();
        all.pop().unwrap_or(Self(Width::Plain(Both::default())))
    }

    /// All that the processor has, the widest last.
    pub(super) fn all() -> Vec<Self> {
        let mut all = vec![Self(Width::Plain(Both::default()))];
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            all.push(Self(Width::Avx2(Both::default())));
        }
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
        {
            all.push(Self(Width::Avx512(Both::default())));
        }
        all
    }

    /// How many alignments go side by side.
    pub(in super::super) fn lanes(&self, bits: Bits) -> usize {
        let small = match &self.0 {
            Width::Plain(_) => 16,
            #[cfg(target_arch = "x86_64")]
            Width::Avx2(_) => 32,
            #[cfg(target_arch = "x86_64")]
            Width::Avx512(_) => 64,
        };
        if bits == Bits::Eight { small } else { small / 2 }
    }

    /// Aligns strings, as many as there are lanes at most; what each comes to is put behind `out`.
    pub(in super::super) fn align(
        &mut self,
        all: &[Strings],
        scores: &Scores<'_>,
        bits: Bits,
        out: &mut Vec<Best>,
    ) {
        let is_odd = |it: &Strings| it.target.len() > MOST_ROWS || it.query.contains(&GAP);
        if all.iter().any(is_odd) || scores.settings.mismatch_score > 0 {
            let one = |it: &Strings| kernel::align_one(it, scores, bits.most());
            out.extend(all.iter().map(one));
            return;
        }
        match (&mut self.0, bits) {
            (Width::Plain(work), Bits::Eight) => kernel::align(all, scores, &mut work.small, out),
            (Width::Plain(work), Bits::Sixteen) => kernel::align(all, scores, &mut work.large, out),
            // SAFETY: memory of this kind is made only where the processor has AVX2.
            #[cfg(target_arch = "x86_64")]
            (Width::Avx2(work), _) => unsafe { with_avx2(all, scores, work, bits, out) },
            // SAFETY: memory of this kind is made only where the processor has all of these.
            #[cfg(target_arch = "x86_64")]
            (Width::Avx512(work), _) => unsafe { with_avx512(all, scores, work, bits, out) },
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2(
    all: &[Strings],
    scores: &Scores<'_>,
    work: &mut Both<32, 16>,
    bits: Bits,
    out: &mut Vec<Best>,
) {
    match bits {
        Bits::Eight => kernel::align(all, scores, &mut work.small, out),
        Bits::Sixteen => kernel::align(all, scores, &mut work.large, out),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,avx512bw,avx512vl")]
fn with_avx512(
    all: &[Strings],
    scores: &Scores<'_>,
    work: &mut Both<64, 32>,
    bits: Bits,
    out: &mut Vec<Best>,
) {
    match bits {
        Bits::Eight => kernel::align(all, scores, &mut work.small, out),
        Bits::Sixteen => kernel::align(all, scores, &mut work.large, out),
    }
}
