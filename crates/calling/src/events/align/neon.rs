//! Eight cells at a time, four in a register, with NEON, which is part of aarch64. Roundings and
//! their order are those of `scalar`, and so is the choice between equal scores.
#![allow(unsafe_code)] // loads and stores, and functions that require NEON

use std::arch::aarch64::*;

use super::operands::Operands;
use super::rows::{self, EIGHTS, IMPOSSIBLE, Inputs};
use super::trace::{BandTrace, Trace};

/// Fills all bands.
pub(super) fn fill(operands: &Operands, trace: &mut Trace) -> Option<usize> {
    // SAFETY: every aarch64 has NEON, the only feature that the function requires.
    unsafe { fill_rows(operands, trace) }
}

#[target_feature(enable = "neon")]
fn fill_rows(operands: &Operands, trace: &mut Trace) -> Option<usize> {
    rows::fill(operands, trace, |inputs, row, trace| fill_band(inputs, row, trace))
}

#[inline]
#[target_feature(enable = "neon")]
fn load(values: &[f32], at: usize) -> float32x4_t {
    let values: &[f32] = &values[at..at + 4];
    // SAFETY: four numbers are there.
    unsafe { vld1q_f32(values.as_ptr()) }
}

#[inline]
#[target_feature(enable = "neon")]
fn store(cells: float32x4_t, values: &mut [f32], at: usize) {
    let values: &mut [f32] = &mut values[at..at + 4];
    // SAFETY: as in `load`.
    unsafe { vst1q_f32(values.as_mut_ptr(), cells) }
}

/// [`super::operands::moved`] of four cells.
#[inline]
#[target_feature(enable = "neon")]
fn moved(scores: float32x4_t, log_probability: float64x2_t, addends: float32x4_t) -> float32x4_t {
    let low = vaddq_f64(vcvt_f64_f32(vget_low_f32(scores)), log_probability);
    let high = vaddq_f64(vcvt_high_f64_f32(scores), log_probability);
    let low = vaddq_f64(low, vcvt_f64_f32(vget_low_f32(addends)));
    let high = vaddq_f64(high, vcvt_high_f64_f32(addends));
    vcvt_high_f32_f64(vcvt_f32_f64(low), high)
}

/// Four cells: their scores, and in each lane all bits where the path came from a stay, or from a
/// skip.
struct Four {
    cells: float32x4_t,
    stay: uint32x4_t,
    skip: uint32x4_t,
}

#[inline]
#[target_feature(enable = "neon")]
fn four_cells(inputs: &Inputs<'_>, at: usize) -> Four {
    let Inputs { parts: [levels, means, stdvs, peaks, walls], transitions, .. } = *inputs;
    let [to_step, to_stay, to_skip] =
        [transitions.step, transitions.stay, transitions.skip].map(|log| vdupq_n_f64(log));
    let distance = vdivq_f32(vsubq_f32(load(levels, at), load(means, at)), load(stdvs, at));
    let square = vmulq_f32(vmulq_f32(vdupq_n_f32(0.5), distance), distance);
    let emission = vsubq_f32(load(peaks, at), square);
    let step = moved(load(inputs.diagonal, at), to_step, emission);
    let stay = moved(load(inputs.up, at), to_stay, emission);
    let skip = moved(load(inputs.left, at), to_skip, load(walls, at));
    let is_stay = vcgeq_f32(stay, step);
    let best = vbslq_f32(is_stay, stay, step);
    let is_skip = vcgeq_f32(skip, best);
    Four { cells: vbslq_f32(is_skip, skip, best), stay: is_stay, skip: is_skip }
}

/// A bit of each of eight lanes.
#[inline]
#[target_feature(enable = "neon")]
fn bits(low: uint32x4_t, high: uint32x4_t) -> u8 {
    const BITS: [u32; 8] = [1, 2, 4, 8, 16, 32, 64, 128];
    // SAFETY: four numbers are there, twice.
    let of_lane = unsafe { [vld1q_u32(BITS.as_ptr()), vld1q_u32(BITS.as_ptr().add(4))] };
    vaddvq_u32(vorrq_u32(vandq_u32(low, of_lane[0]), vandq_u32(high, of_lane[1]))) as u8
}

/// One band.
#[inline]
#[target_feature(enable = "neon")]
fn fill_band(inputs: &Inputs<'_>, row: &mut [f32; EIGHTS * 8], trace: &mut BandTrace) {
    for at in 0..EIGHTS {
        let low = four_cells(inputs, 8 * at);
        let high = four_cells(inputs, 8 * at + 4);
        trace.stay[at] = bits(low.stay, high.stay);
        trace.skip[at] = bits(low.skip, high.skip);
        store(low.cells, row, 8 * at);
        let is_outside = at == EIGHTS - 1;
        let cells = if is_outside { vdupq_n_f32(IMPOSSIBLE) } else { high.cells };
        store(cells, row, 8 * at + 4);
    }
}
