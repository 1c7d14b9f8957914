//! One body of each kernel, compiled for several sets of vector instructions; the widest that the
//! processor has is chosen at run time. All give the same bits.
#![allow(unsafe_code)]

use super::score::{Extent, LANES, Lanes, ScoreScratch, forward_lanes};
use super::viterbi::{ViterbiScratch, fill_diagonals};
use super::{Clipping, Transitions};

/// [`forward_lanes`] with the widest vectors.
pub(crate) fn forward(
    scratch: &mut ScoreScratch,
    extents: &[Extent; LANES],
    transitions: &Transitions,
    clipping: Clipping,
) -> Lanes {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq") {
            // SAFETY: the processor has AVX-512F and AVX-512DQ, as was asked just now.
            return unsafe { forward_avx512(scratch, extents, transitions, clipping) };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the processor has AVX2 and FMA, as was asked just now.
            return unsafe { forward_avx2(scratch, extents, transitions, clipping) };
        }
    }
    forward_lanes(scratch, extents, transitions, clipping)
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
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl") {
            // SAFETY: the processor has AVX-512F and AVX-512VL, as was asked just now.
            return unsafe { fill_avx512(scratch, transitions) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2, as was asked just now.
            return unsafe { fill_avx2(scratch, transitions) };
        }
    }
    fill_diagonals(scratch, transitions);
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
