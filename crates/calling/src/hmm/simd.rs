//! One body of each kernel, compiled for several sets of vector instructions; the widest that the
//! processor has is chosen at run time. All give the same bits.
#![allow(unsafe_code)]

use super::diagonals::{ViterbiScratch, fill_diagonals};
use super::forward::{Extent, LANES, Lanes, ScoreScratch, forward_lanes};
use super::{Clipping, Transitions};

/// Vectors that the kernels are compiled for, the widest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Width {
    Avx512,
    Avx2,
    /// Width that every processor of the kind has.
    Plain,
}

impl Width {
    /// Widths that this processor has, the widest first.
    pub(crate) fn available() -> impl Iterator<Item = Self> {
        [Self::Avx512, Self::Avx2, Self::Plain].into_iter().filter(|width| width.is_available())
    }

    /// Whether this processor has it.
    fn is_available(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => {
                is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            #[cfg(not(target_arch = "x86_64"))]
            Self::Avx512 | Self::Avx2 => false,
            Self::Plain => true,
        }
    }

    /// The widest that this processor has.
    fn widest() -> Self {
        Self::available().next().unwrap_or(Self::Plain)
    }
}

/// [`forward_lanes`] with the widest vectors.
pub(crate) fn forward(
    scratch: &mut ScoreScratch,
    extents: &[Extent; LANES],
    transitions: &Transitions,
    clipping: Clipping,
) -> Lanes {
    forward_with(Width::widest(), scratch, extents, transitions, clipping)
}

/// [`forward_lanes`] with these vectors; with plain ones where the processor lacks them.
pub(crate) fn forward_with(
    width: Width,
    scratch: &mut ScoreScratch,
    extents: &[Extent; LANES],
    transitions: &Transitions,
    clipping: Clipping,
) -> Lanes {
    match width {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the processor has AVX-512F and AVX-512DQ, as was checked just now.
        Width::Avx512 if width.is_available() => unsafe {
            forward_avx512(scratch, extents, transitions, clipping)
        },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the processor has AVX2 and FMA, as was checked just now.
        Width::Avx2 if width.is_available() => unsafe {
            forward_avx2(scratch, extents, transitions, clipping)
        },
        _ => forward_lanes(scratch, extents, transitions, clipping),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq")]
fn forward_avx512(
    scratch: &mut ScoreScratch,
    extents: &[Extent; LANES],
    transitions: &Transitions,
    clipping: Clipping,
) -> Lanes {
    forward_lanes(scratch, extents, transitions, clipping)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn forward_avx2(
    scratch: &mut ScoreScratch,
    extents: &[Extent; LANES],
    transitions: &Transitions,
    clipping: Clipping,
) -> Lanes {
    forward_lanes(scratch, extents, transitions, clipping)
}

/// [`fill_diagonals`] with the widest vectors.
pub(crate) fn fill(scratch: &mut ViterbiScratch, transitions: &Transitions) {
    fill_with(Width::widest(), scratch, transitions);
}

/// [`fill_diagonals`] with these vectors; with plain ones where the processor lacks them.
pub(crate) fn fill_with(width: Width, scratch: &mut ViterbiScratch, transitions: &Transitions) {
    match width {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the processor has AVX-512F and AVX-512VL, as was checked just now.
        Width::Avx512 if width.is_available() => unsafe { fill_avx512(scratch, transitions) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the processor has AVX2, as was checked just now.
        Width::Avx2 if width.is_available() => unsafe { fill_avx2(scratch, transitions) },
        _ => fill_diagonals(scratch, transitions),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl")]
fn fill_avx512(scratch: &mut ViterbiScratch, transitions: &Transitions) {
    fill_diagonals(scratch, transitions);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn fill_avx2(scratch: &mut ViterbiScratch, transitions: &Transitions) {
    fill_diagonals(scratch, transitions);
}
