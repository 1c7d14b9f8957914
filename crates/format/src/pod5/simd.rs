//! StreamVByte for 16-bit numbers, eight samples at a time: with SSSE3 where an x86-64 has it, with
//! NEON on aarch64, of which it is a part.
//!
//! A key byte picks a shuffle that spreads the bytes of eight codes over eight 16-bit lanes;
//! zigzag and sums follow in the lanes. `svb16` has the plain decoder that this must equal and
//! that finishes what is left: the last samples, whose data could not be read sixteen bytes at a
//! time.
#![allow(unsafe_code)] // intrinsics of a feature that is looked for at run time

/// How far a decoder has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Progress {
    /// Samples that are done; a multiple of 8.
    pub(super) samples: usize,
    /// Bytes of data they took.
    pub(super) data_bytes: usize,
    /// The last of them, 0 before the first.
    pub(super) last: u16,
}

/// Decodes as many of the samples as it can, from the start; the caller does the rest.
pub(super) fn decode(keys: &[u8], data: &[u8], out: &mut [i16]) -> Progress {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("ssse3") {
        // SAFETY: the machine has SSSE3, the only feature that the function requires.
        return unsafe { x86::decode(keys, data, out) };
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: every aarch64 has NEON, the only feature that the function requires.
    return unsafe { neon::decode(keys, data, out) };
    #[cfg(not(target_arch = "aarch64"))]
    {
        let _ = (keys, data, out);
        Progress::default()
    }
}

/// For each key byte, from which byte of the data each byte of the eight lanes comes; the high
/// byte of a one-byte code from none, which gives 0.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
static SHUFFLES: [[u8; 16]; 256] = shuffles();

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
const fn shuffles() -> [[u8; 16]; 256] {
    let mut table = [[0x80_u8; 16]; 256];
    let mut key = 0;
    while key < 256 {
        let (mut lane, mut from) = (0, 0);
        while lane < 8 {
            table[key][2 * lane] = from;
            from += 1;
            if key >> lane & 1 == 1 {
                table[key][2 * lane + 1] = from;
                from += 1;
            }
            lane += 1;
        }
        key += 1;
    }
    table
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m128i, _mm_add_epi16, _mm_and_si128, _mm_extract_epi16, _mm_loadu_si128, _mm_set1_epi16,
        _mm_setzero_si128, _mm_shuffle_epi8, _mm_slli_si128, _mm_srli_epi16, _mm_storeu_si128,
        _mm_sub_epi16, _mm_xor_si128,
    };

    use super::{Progress, SHUFFLES};

    fn load(bytes: &[u8; 16]) -> __m128i {
        // SAFETY: sixteen bytes are there, and the load needs no alignment. SSE2 is part of x86-64.
        unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
    }

    fn store(lanes: __m128i, out: &mut [i16; 8]) {
        // SAFETY: as in `load`.
        unsafe { _mm_storeu_si128(out.as_mut_ptr().cast(), lanes) }
    }

    #[target_feature(enable = "ssse3")]
    pub(super) fn decode(keys: &[u8], data: &[u8], out: &mut [i16]) -> Progress {
        let (ones, last_lane) = (_mm_set1_epi16(1), _mm_set1_epi16(0x0F0E));
        let mut sums = _mm_setzero_si128();
        let mut data_bytes = 0;
        let mut groups = 0;
        for (group, &key) in out.as_chunks_mut::<8>().0.iter_mut().zip(keys) {
            let Some(codes) = data.get(data_bytes..).and_then(|rest| rest.first_chunk()) else {
                break;
            };
            let codes = _mm_shuffle_epi8(load(codes), load(&SHUFFLES[usize::from(key)]));
            let signs = _mm_sub_epi16(_mm_setzero_si128(), _mm_and_si128(codes, ones));
            let mut steps = _mm_xor_si128(_mm_srli_epi16::<1>(codes), signs);
            steps = _mm_add_epi16(steps, _mm_slli_si128::<2>(steps));
            steps = _mm_add_epi16(steps, _mm_slli_si128::<4>(steps));
            steps = _mm_add_epi16(steps, _mm_slli_si128::<8>(steps));
            sums = _mm_add_epi16(steps, _mm_shuffle_epi8(sums, last_lane));
            store(sums, group);
            data_bytes += 8 + key.count_ones() as usize;
            groups += 1;
        }
        let last = _mm_extract_epi16::<7>(sums) as u16;
        Progress { samples: 8 * groups, data_bytes, last }
    }
}

#[cfg(target_arch = "aarch64")]
mod neon {
    use std::arch::aarch64::*;

    use super::{Progress, SHUFFLES};

    #[target_feature(enable = "neon")]
    fn load(bytes: &[u8; 16]) -> uint8x16_t {
        // SAFETY: sixteen bytes are there, and the load needs no alignment.
        unsafe { vld1q_u8(bytes.as_ptr()) }
    }

    #[target_feature(enable = "neon")]
    fn store(lanes: int16x8_t, out: &mut [i16; 8]) {
        // SAFETY: eight values of two bytes can be written.
        unsafe { vst1q_s16(out.as_mut_ptr(), lanes) }
    }

    #[target_feature(enable = "neon")]
    pub(super) fn decode(keys: &[u8], data: &[u8], out: &mut [i16]) -> Progress {
        let (ones, zero) = (vdupq_n_u16(1), vdupq_n_s16(0));
        let mut last = zero; // in all lanes
        let mut data_bytes = 0;
        let mut groups = 0;
        for (group, &key) in out.as_chunks_mut::<8>().0.iter_mut().zip(keys) {
            let Some(codes) = data.get(data_bytes..).and_then(|rest| rest.first_chunk()) else {
                break;
            };
            let codes = vqtbl1q_u8(load(codes), load(&SHUFFLES[usize::from(key)]));
            let codes = vreinterpretq_u16_u8(codes);
            let odd = vreinterpretq_s16_u16(vandq_u16(codes, ones));
            let halves = vreinterpretq_s16_u16(vshrq_n_u16::<1>(codes));
            let mut steps = veorq_s16(halves, vnegq_s16(odd));
            steps = vaddq_s16(steps, vextq_s16::<7>(zero, steps));
            steps = vaddq_s16(steps, vextq_s16::<6>(zero, steps));
            steps = vaddq_s16(steps, vextq_s16::<4>(zero, steps));
            let sums = vaddq_s16(steps, last);
            store(sums, group);
            last = vdupq_laneq_s16::<7>(sums);
            data_bytes += 8 + key.count_ones() as usize;
            groups += 1;
        }
        let last = vgetq_lane_s16::<0>(last) as u16;
        Progress { samples: 8 * groups, data_bytes, last }
    }
}
