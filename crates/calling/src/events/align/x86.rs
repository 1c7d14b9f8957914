//! Eight and sixteen cells at a time, with AVX2 and AVX-512F where the machine has them.
//!
//! AVX2 keeps three bands in memory and reads them one cell further on or back, as the band moved.
//! AVX-512 keeps them in registers and shifts them. A cell's step came from the cell that was the
//! previous band's stay (after a move right) or skip (after a move down), so that only the last
//! band is ever shifted. Roundings and their order are those of `scalar`.
#![allow(unsafe_code)] // intrinsics of features that are looked for at run time

use std::arch::x86_64::{
    __m256, __m256d, __m512, __m512d, _CMP_GE_OQ, _mm_cvtss_f32, _mm_permute_ps, _mm256_add_pd,
    _mm256_blend_ps, _mm256_castpd_ps, _mm256_castps_pd, _mm256_castps256_ps128, _mm256_cmp_ps,
    _mm256_cvtpd_ps, _mm256_cvtps_pd, _mm256_div_ps, _mm256_extractf128_ps, _mm256_loadu_ps,
    _mm256_max_ps, _mm256_movemask_ps, _mm256_mul_ps, _mm256_set_m128, _mm256_set1_pd,
    _mm256_set1_ps, _mm256_storeu_ps, _mm256_sub_ps, _mm512_add_pd, _mm512_alignr_epi32,
    _mm512_castpd_ps, _mm512_castpd256_pd512, _mm512_castps_pd, _mm512_castps_si512,
    _mm512_castps512_ps128, _mm512_castps512_ps256, _mm512_castsi512_ps, _mm512_cmp_ps_mask,
    _mm512_cvtpd_ps, _mm512_cvtps_pd, _mm512_cvtss_f32, _mm512_div_ps, _mm512_extractf64x4_pd,
    _mm512_insertf64x4, _mm512_loadu_ps, _mm512_mask_blend_ps, _mm512_max_ps, _mm512_mul_ps,
    _mm512_set1_pd, _mm512_set1_ps, _mm512_storeu_ps, _mm512_sub_ps,
};

use super::band_path::{BandPath, MIDDLE};
use super::operands::{LANES, Operands, Transitions};
use super::rows::{self, EIGHTS, IMPOSSIBLE, Inputs, operands_of};
use super::trace::{BandTrace, Trace};
use super::{BANDWIDTH, Kernel, scalar};

/// Vectors of sixteen cells; the last one has four.
const SIXTEENS: usize = BANDWIDTH.div_ceil(16);

/// The cells of that one.
const TAIL: u16 = 0x000F;

const _: () = assert!(BANDWIDTH % 16 == 4 && SIXTEENS * 16 <= LANES);

/// Fills all bands with the kernel that the machine is to have.
pub(super) fn fill(kernel: Kernel, operands: &Operands, trace: &mut Trace) -> Option<usize> {
    match kernel {
        // SAFETY: the machine has AVX-512F, the only feature that the function requires.
        Kernel::Avx512 if kernel.is_available() => unsafe { fill_avx512(operands, trace) },
        // SAFETY: the machine has AVX2, the only feature that the function requires.
        Kernel::Avx2 if kernel.is_available() => unsafe { fill_avx2(operands, trace) },
        _ => scalar::fill(operands, trace),
    }
}

#[target_feature(enable = "avx2")]
fn load8(values: &[f32], at: usize) -> __m256 {
    let values: &[f32] = &values[at..at + 8];
    // SAFETY: eight numbers are there, and the load needs no alignment.
    unsafe { _mm256_loadu_ps(values.as_ptr()) }
}

#[target_feature(enable = "avx2")]
fn store8(cells: __m256, values: &mut [f32], at: usize) {
    let values: &mut [f32] = &mut values[at..at + 8];
    // SAFETY: as in `load8`.
    unsafe { _mm256_storeu_ps(values.as_mut_ptr(), cells) }
}

#[target_feature(enable = "avx512f")]
fn load16(values: &[f32], at: usize) -> __m512 {
    let values: &[f32] = &values[at..at + 16];
    // SAFETY: sixteen numbers are there, and the load needs no alignment.
    unsafe { _mm512_loadu_ps(values.as_ptr()) }
}

#[target_feature(enable = "avx512f")]
fn store16(cells: __m512, values: &mut [f32], at: usize) {
    let values: &mut [f32] = &mut values[at..at + 16];
    // SAFETY: as in `load16`.
    unsafe { _mm512_storeu_ps(values.as_mut_ptr(), cells) }
}

#[target_feature(enable = "avx2")]
fn fill_avx2(operands: &Operands, trace: &mut Trace) -> Option<usize> {
    rows::fill(operands, trace, |inputs, row, trace| band_avx2(inputs, row, trace))
}

/// Eight numbers in 64 bits.
#[inline]
#[target_feature(enable = "avx2")]
fn halves8(numbers: __m256) -> [__m256d; 2] {
    [
        _mm256_cvtps_pd(_mm256_castps256_ps128(numbers)),
        _mm256_cvtps_pd(_mm256_extractf128_ps::<1>(numbers)),
    ]
}

/// [`super::operands::moved`] of eight cells.
#[inline]
#[target_feature(enable = "avx2")]
fn moved8(scores: __m256, log_probability: __m256d, addends: [__m256d; 2]) -> __m256 {
    let [low, high] = halves8(scores);
    let low = _mm256_add_pd(_mm256_add_pd(low, log_probability), addends[0]);
    let high = _mm256_add_pd(_mm256_add_pd(high, log_probability), addends[1]);
    _mm256_set_m128(_mm256_cvtpd_ps(high), _mm256_cvtpd_ps(low))
}

/// One band.
#[inline]
#[target_feature(enable = "avx2")]
fn band_avx2(inputs: &Inputs<'_>, row: &mut [f32; EIGHTS * 8], trace: &mut BandTrace) {
    let Inputs { parts: [levels, means, stdvs, peaks, walls], transitions, .. } = *inputs;
    let [to_step, to_stay, to_skip] =
        [transitions.step, transitions.stay, transitions.skip].map(|log| _mm256_set1_pd(log));
    let half = _mm256_set1_ps(0.5);
    for at in 0..EIGHTS {
        let cell = at * 8;
        let distance = _mm256_div_ps(
            _mm256_sub_ps(load8(levels, cell), load8(means, cell)),
            load8(stdvs, cell),
        );
        let square = _mm256_mul_ps(_mm256_mul_ps(half, distance), distance);
        let emission = halves8(_mm256_sub_ps(load8(peaks, cell), square));
        let step = moved8(load8(inputs.diagonal, cell), to_step, emission);
        let stay = moved8(load8(inputs.up, cell), to_stay, emission);
        let skip = moved8(load8(inputs.left, cell), to_skip, halves8(load8(walls, cell)));
        let best = _mm256_max_ps(step, stay);
        trace.stay[at] = _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_GE_OQ>(stay, step)) as u8;
        trace.skip[at] = _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_GE_OQ>(skip, best)) as u8;
        let mut cells = _mm256_max_ps(best, skip);
        if at == EIGHTS - 1 {
            cells = _mm256_blend_ps::<0xF0>(cells, _mm256_set1_ps(IMPOSSIBLE));
        }
        store8(cells, row, cell);
    }
}

/// A band in registers.
type Band = [__m512; SIXTEENS];

#[target_feature(enable = "avx512f")]
fn fill_avx512(operands: &Operands, trace: &mut Trace) -> Option<usize> {
    let bands = operands.bands();
    trace.resize(bands);
    let impossible = _mm512_set1_ps(IMPOSSIBLE);
    let mut path = BandPath::new();
    let mut last = [impossible; SIXTEENS];
    set_cell(&mut last, MIDDLE, Operands::trimmed(1));
    // Of band 1: where its stays came from; it moved down, so that these are band 0 itself.
    let mut ups = [impossible; SIXTEENS];
    set_cell(&mut ups, MIDDLE, 0.0);
    let mut lefts = one_back(&ups);
    for band in 2..bands {
        let ends = _mm_permute_ps::<3>(_mm512_castps512_ps128(last[SIXTEENS - 1]));
        let right = path.next(_mm512_cvtss_f32(last[0]), _mm_cvtss_f32(ends), trace);
        let parts = operands_of(operands, &path)?;
        let cells;
        if right {
            let shifted = one_on(&last);
            cells = band_avx512(
                parts,
                operands.transitions,
                [&ups, &shifted, &last],
                &mut trace.bands[band],
            );
            (ups, lefts) = (shifted, last);
        } else {
            let shifted = one_back(&last);
            cells = band_avx512(
                parts,
                operands.transitions,
                [&lefts, &last, &shifted],
                &mut trace.bands[band],
            );
            (ups, lefts) = (last, shifted);
        }
        last = cells;
        if let Some((cell, score)) = path.trimmed(operands) {
            set_cell(&mut last, cell, score);
        }
        if let Some(cell) = path.last_kmer(operands) {
            let score = get_cell(&last, cell);
            path.end_at(cell, score, operands);
        }
    }
    path.best_event()
}

/// Sixteen numbers in 64 bits.
#[inline]
#[target_feature(enable = "avx512f")]
fn halves16(numbers: __m512) -> [__m512d; 2] {
    let high = _mm512_extractf64x4_pd::<1>(_mm512_castps_pd(numbers));
    [_mm512_cvtps_pd(_mm512_castps512_ps256(numbers)), _mm512_cvtps_pd(_mm256_castpd_ps(high))]
}

/// [`super::operands::moved`] of sixteen cells.
#[inline]
#[target_feature(enable = "avx512f")]
fn moved16(scores: __m512, log_probability: __m512d, addends: [__m512d; 2]) -> __m512 {
    let [low, high] = halves16(scores);
    let low = _mm512_add_pd(_mm512_add_pd(low, log_probability), addends[0]);
    let high = _mm512_add_pd(_mm512_add_pd(high, log_probability), addends[1]);
    let low = _mm512_castpd256_pd512(_mm256_castps_pd(_mm512_cvtpd_ps(low)));
    let high = _mm256_castps_pd(_mm512_cvtpd_ps(high));
    _mm512_castpd_ps(_mm512_insertf64x4::<1>(low, high))
}

/// One band, from the cells that a step, a stay and a skip come from.
#[inline]
#[target_feature(enable = "avx512f")]
fn band_avx512(
    [levels, means, stdvs, peaks, walls]: [&[f32; LANES]; 5],
    transitions: Transitions,
    [diagonal, up, left]: [&Band; 3],
    trace: &mut BandTrace,
) -> Band {
    let [to_step, to_stay, to_skip] =
        [transitions.step, transitions.stay, transitions.skip].map(|log| _mm512_set1_pd(log));
    let half = _mm512_set1_ps(0.5);
    let mut cells = [_mm512_set1_ps(IMPOSSIBLE); SIXTEENS];
    for at in 0..SIXTEENS {
        let cell = at * 16;
        let distance = _mm512_div_ps(
            _mm512_sub_ps(load16(levels, cell), load16(means, cell)),
            load16(stdvs, cell),
        );
        let square = _mm512_mul_ps(_mm512_mul_ps(half, distance), distance);
        let emission = halves16(_mm512_sub_ps(load16(peaks, cell), square));
        let step = moved16(diagonal[at], to_step, emission);
        let stay = moved16(up[at], to_stay, emission);
        let skip = moved16(left[at], to_skip, halves16(load16(walls, cell)));
        let best = _mm512_max_ps(step, stay);
        let stay_bits = _mm512_cmp_ps_mask::<_CMP_GE_OQ>(stay, step).to_le_bytes();
        let skip_bits = _mm512_cmp_ps_mask::<_CMP_GE_OQ>(skip, best).to_le_bytes();
        trace.stay[2 * at..2 * at + 2].copy_from_slice(&stay_bits);
        trace.skip[2 * at..2 * at + 2].copy_from_slice(&skip_bits);
        cells[at] = _mm512_max_ps(best, skip);
    }
    let tail = &mut cells[SIXTEENS - 1];
    *tail = _mm512_mask_blend_ps(TAIL, _mm512_set1_ps(IMPOSSIBLE), *tail);
    cells
}

/// The cells one further on.
#[inline]
#[target_feature(enable = "avx512f")]
fn one_on(band: &Band) -> Band {
    let mut out = [_mm512_set1_ps(IMPOSSIBLE); SIXTEENS];
    for at in 0..SIXTEENS {
        let next = if at + 1 < SIXTEENS { band[at + 1] } else { _mm512_set1_ps(IMPOSSIBLE) };
        out[at] = _mm512_castsi512_ps(_mm512_alignr_epi32::<1>(
            _mm512_castps_si512(next),
            _mm512_castps_si512(band[at]),
        ));
    }
    out
}

/// The cells one back.
#[inline]
#[target_feature(enable = "avx512f")]
fn one_back(band: &Band) -> Band {
    let mut out = [_mm512_set1_ps(IMPOSSIBLE); SIXTEENS];
    for at in 0..SIXTEENS {
        let before = if at > 0 { band[at - 1] } else { _mm512_set1_ps(IMPOSSIBLE) };
        out[at] = _mm512_castsi512_ps(_mm512_alignr_epi32::<15>(
            _mm512_castps_si512(band[at]),
            _mm512_castps_si512(before),
        ));
    }
    out
}

/// Sets one cell; rare.
#[cold]
#[target_feature(enable = "avx512f")]
fn set_cell(band: &mut Band, cell: usize, score: f32) {
    let mut values = [0.0; 16];
    let part = &mut band[cell / 16];
    store16(*part, &mut values, 0);
    values[cell % 16] = score;
    *part = load16(&values, 0);
}

/// One cell; rare.
#[cold]
#[target_feature(enable = "avx512f")]
fn get_cell(band: &Band, cell: usize) -> f32 {
    let mut values = [0.0; 16];
    store16(band[cell / 16], &mut values, 0);
    values[cell % 16]
}
