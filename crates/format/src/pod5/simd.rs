//! StreamVByte for 16-bit numbers, eight samples at a time, with SSSE3 where the machine has it.
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
    let _ = (keys, data, out);
    Progress::default()
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m128i, _mm_add_epi16, _mm_and_si128, _mm_extract_epi16, _mm_loadu_si128, _mm_set1_epi16,
        _mm_setzero_si128, _mm_shuffle_epi8, _mm_slli_si128, _mm_srli_epi16, _mm_storeu_si128,
        _mm_sub_epi16, _mm_xor_si128,
    };

    use super::Progress;

    /// For each key byte, from which byte of the data each byte of the eight lanes comes; the high
    /// byte of a one-byte code from none, which gives 0.
    static SHUFFLES: [[u8; 16]; 256] = shuffles();

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
