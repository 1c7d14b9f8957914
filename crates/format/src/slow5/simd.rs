//! Coding and decoding of samples with vector instructions: SSSE3 on x86-64, which every machine
//! of the last fifteen years has and which is looked for at run time; NEON on aarch64, of which it
//! is a part; elsewhere nothing is done here and the callers' plain loops do all.
//!
//! Every function does a part of the work, from the front, and returns how much; what it does is
//! what the plain loops would do. Sums are modulo 2^16, as a sample is.
#![allow(unsafe_code)]

/// Samples done from the front, a multiple of eight.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Done {
    pub(super) samples: usize,
    /// Bytes that they take.
    pub(super) data_bytes: usize,
}

/// Decodes svb-zd from the front: StreamVByte numbers of `keys` and `data` to differences to
/// samples, for as long as eight samples and sixteen bytes are left.
pub(super) fn decode_differences(keys: &[u8], data: &[u8], samples: &mut [i16]) -> Done {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("ssse3") {
        // SAFETY: the machine has SSSE3.
        return unsafe { x86::decode_differences(keys, data, samples) };
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: every aarch64 has NEON.
    return unsafe { neon::decode_differences(keys, data, samples) };
    #[cfg(not(target_arch = "aarch64"))]
    {
        let _ = (keys, data, samples);
        Done::default()
    }
}

/// Bytes that are written of eight coded samples, whatever of them counts.
pub(super) const WRITTEN_BYTES: usize = 16;

/// Encodes svb-zd from the front: samples, of which `previous` is the one before, to StreamVByte
/// numbers in `keys` and `data`, for as long as eight samples and [`WRITTEN_BYTES`] of room are
/// left and no difference needs 17 bits.
pub(super) fn encode_differences(
    samples: &[i16],
    previous: i16,
    keys: &mut [u8],
    data: &mut [u8],
) -> Done {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("ssse3") {
        // SAFETY: the machine has SSSE3.
        return unsafe { x86::encode_differences(samples, previous, keys, data) };
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: every aarch64 has NEON.
    return unsafe { neon::encode_differences(samples, previous, keys, data) };
    #[cfg(not(target_arch = "aarch64"))]
    {
        let _ = (samples, previous, keys, data);
        Done::default()
    }
}

/// Turns zigzag-coded differences of 16 bits into the samples they stand for, in place: sums from
/// `previous` on, shifted left by `shift` bits. Does a multiple of eight from the front and gives
/// their number and the sum after them, not shifted.
pub(super) fn accumulate(values: &mut [i16], previous: i16, shift: u32) -> (usize, i16) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("ssse3") {
        // SAFETY: the machine has SSSE3.
        return unsafe { x86::accumulate(values, previous, shift) };
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: every aarch64 has NEON.
    return unsafe { neon::accumulate(values, previous, shift) };
    #[cfg(not(target_arch = "aarch64"))]
    {
        let _ = (values, shift);
        (0, previous)
    }
}

/// Puts the first `count` of `bytes`, as 16-bit numbers, at the front of `out`. What is after
/// them in `out` may be overwritten.
pub(super) fn widen(bytes: &[u8], out: &mut [i16], count: usize) {
    // Whole chunks are copied where there is room, beyond `count` if need be: a loop with a count
    // of its own for every dozen bytes takes longer than what it does.
    const CHUNK: usize = 16;
    let mut at = 0;
    while at < count {
        let (from, to) = (&bytes[at..], &mut out[at..]);
        match (from.first_chunk::<CHUNK>(), to.first_chunk_mut::<CHUNK>()) {
            (Some(from), Some(to)) => *to = from.map(i16::from),
            _ => to.iter_mut().zip(&from[..(count - at).min(CHUNK)]).for_each(|(to, &from)| {
                *to = i16::from(from);
            }),
        }
        at += CHUNK;
    }
}

/// The difference that a number stands for, modulo 2^16.
pub(super) fn unzigzag(number: u32) -> i16 {
    ((number >> 1) ^ (number & 1).wrapping_neg()) as i16
}

/// What the forms for both processors have in common.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod codes {
    use super::unzigzag;

    /// For every set of eight numbers of one or two bytes (bit set: two): where in sixteen bytes
    /// each of the eight 16-bit lanes finds its bytes; 0x80 gives zero.
    pub(super) static SHUFFLES: [[u8; 16]; 256] = shuffles();

    const fn shuffles() -> [[u8; 16]; 256] {
        let mut table = [[0x80; 16]; 256];
        let mut codes = 0;
        while codes < 256 {
            let (mut lane, mut at) = (0, 0);
            while lane < 8 {
                table[codes][2 * lane] = at;
                at += 1;
                if codes >> lane & 1 == 1 {
                    table[codes][2 * lane + 1] = at;
                    at += 1;
                }
                lane += 1;
            }
            codes += 1;
        }
        table
    }

    /// For every set of eight lanes: which bytes of the eight make one string, in which a lane of
    /// the set keeps both of its bytes and another one its low byte.
    pub(super) static PACKS: [[u8; 16]; 256] = packs();

    const fn packs() -> [[u8; 16]; 256] {
        let mut table = [[0x80; 16]; 256];
        let mut codes = 0;
        while codes < 256 {
            let (mut lane, mut at) = (0, 0);
            while lane < 8 {
                table[codes][at] = 2 * lane;
                at += 1;
                if codes >> lane & 1 == 1 {
                    table[codes][at] = 2 * lane + 1;
                    at += 1;
                }
                lane += 1;
            }
            codes += 1;
        }
        table
    }

    /// The bits of a byte, put apart to the even bits of a word.
    pub(super) fn spread_bits(bits: u8) -> u16 {
        let bits = u16::from(bits);
        let bits = (bits | bits << 4) & 0x0F0F;
        let bits = (bits | bits << 2) & 0x3333;
        (bits | bits << 1) & 0x5555
    }

    /// The even bits of a word, put together.
    pub(super) fn even_bits(word: u16) -> usize {
        let mut bits = u32::from(word) & 0x5555;
        bits = (bits | bits >> 1) & 0x3333;
        bits = (bits | bits >> 2) & 0x0F0F;
        ((bits | bits >> 4) & 0xFF) as usize
    }

    /// Differences of eight numbers of any length, and the bytes they take.
    #[cold]
    pub(super) fn eight_numbers(key: u16, data: &[u8]) -> Option<([u8; 16], usize)> {
        let (mut differences, mut at) = ([0; 16], 0);
        for lane in 0..8 {
            let length = usize::from(key >> (2 * lane) & 3) + 1;
            let mut number = [0; 4];
            number[..length].copy_from_slice(data.get(at..at + length)?);
            let difference = unzigzag(u32::from_le_bytes(number));
            differences[2 * lane..2 * lane + 2].copy_from_slice(&difference.to_le_bytes());
            at += length;
        }
        Some((differences, at))
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::Done;
    use super::codes::{PACKS, SHUFFLES, eight_numbers, even_bits, spread_bits};

    /// As [`super::encode_differences`].
    #[target_feature(enable = "ssse3")]
    pub(super) fn encode_differences(
        samples: &[i16],
        previous: i16,
        keys: &mut [u8],
        data: &mut [u8],
    ) -> Done {
        let mut before = _mm_set1_epi16(previous); // of which only the last lane is looked at
        let (mut done, mut at) = (0, 0);
        let (groups, _) = samples.as_chunks::<8>();
        let (key_pairs, _) = keys.as_chunks_mut::<2>();
        for (group, key_pair) in groups.iter().zip(key_pairs) {
            let Some(room) = data[at..].first_chunk_mut::<16>() else { break };
            // SAFETY: eight values of two bytes can be read; the load needs no alignment.
            let lanes = unsafe { _mm_loadu_si128(group.as_ptr().cast()) };
            let earlier = _mm_alignr_epi8::<14>(lanes, before);
            let differences = _mm_sub_epi16(lanes, earlier);
            let fits = _mm_cmpeq_epi16(differences, _mm_subs_epi16(lanes, earlier));
            if _mm_movemask_epi8(fits) != 0xFFFF {
                break;
            }
            let doubled = _mm_add_epi16(differences, differences);
            let coded = _mm_xor_si128(doubled, _mm_srai_epi16::<15>(differences));
            let is_short = _mm_cmpeq_epi16(_mm_srli_epi16::<8>(coded), _mm_setzero_si128());
            let codes = !(_mm_movemask_epi8(_mm_packs_epi16(is_short, is_short)) as u8);
            let packed = _mm_shuffle_epi8(coded, load(&PACKS[usize::from(codes)]));
            // SAFETY: sixteen bytes can be written; the store needs no alignment.
            unsafe { _mm_storeu_si128(room.as_mut_ptr().cast(), packed) };
            *key_pair = spread_bits(codes).to_le_bytes();
            at += 8 + codes.count_ones() as usize;
            before = lanes;
            done += 8;
        }
        Done { samples: done, data_bytes: at }
    }

    /// Differences of eight zigzag-coded lanes.
    #[target_feature(enable = "ssse3")]
    fn unzigzag_lanes(coded: __m128i) -> __m128i {
        let sign = _mm_sub_epi16(_mm_setzero_si128(), _mm_and_si128(coded, _mm_set1_epi16(1)));
        _mm_xor_si128(_mm_srli_epi16::<1>(coded), sign)
    }

    /// Each lane the sum of itself and those before.
    #[target_feature(enable = "ssse3")]
    fn prefix_sums(lanes: __m128i) -> __m128i {
        let lanes = _mm_add_epi16(lanes, _mm_slli_si128::<2>(lanes));
        let lanes = _mm_add_epi16(lanes, _mm_slli_si128::<4>(lanes));
        _mm_add_epi16(lanes, _mm_slli_si128::<8>(lanes))
    }

    /// The last lane in all lanes.
    #[target_feature(enable = "ssse3")]
    fn broadcast_last(lanes: __m128i) -> __m128i {
        _mm_shuffle_epi8(lanes, _mm_set1_epi16(0x0F0E))
    }

    #[target_feature(enable = "ssse3")]
    fn load(from: &[u8; 16]) -> __m128i {
        // SAFETY: sixteen bytes can be read; the load needs no alignment.
        unsafe { _mm_loadu_si128(from.as_ptr().cast()) }
    }

    #[target_feature(enable = "ssse3")]
    fn store(to: &mut [i16; 8], lanes: __m128i) {
        // SAFETY: sixteen bytes can be written; the store needs no alignment.
        unsafe { _mm_storeu_si128(to.as_mut_ptr().cast(), lanes) }
    }

    /// As [`super::decode_differences`].
    #[target_feature(enable = "ssse3")]
    pub(super) fn decode_differences(keys: &[u8], data: &[u8], samples: &mut [i16]) -> Done {
        let mut previous = _mm_setzero_si128(); // the last sample, in all lanes
        let (mut done, mut at) = (0, 0);
        let (groups, _) = samples.as_chunks_mut::<8>();
        let (key_pairs, _) = keys.as_chunks::<2>();
        for (group, key_pair) in groups.iter_mut().zip(key_pairs) {
            let Some(bytes) = data[at..].first_chunk::<16>() else { break };
            let key = u16::from_le_bytes(*key_pair);
            let differences = if key & 0xAAAA == 0 {
                let codes = even_bits(key);
                at += 8 + codes.count_ones() as usize;
                unzigzag_lanes(_mm_shuffle_epi8(load(bytes), load(&SHUFFLES[codes])))
            } else {
                // A number of three or four bytes is rare: a jump over more than half the range.
                let Some((numbers, taken)) = eight_numbers(key, &data[at..]) else { break };
                at += taken;
                load(&numbers)
            };
            let sums = prefix_sums(differences);
            store(group, _mm_add_epi16(sums, previous));
            previous = _mm_add_epi16(previous, broadcast_last(sums));
            done += 8;
        }
        Done { samples: done, data_bytes: at }
    }

    /// As [`super::accumulate`].
    #[target_feature(enable = "ssse3")]
    pub(super) fn accumulate(values: &mut [i16], previous: i16, shift: u32) -> (usize, i16) {
        let mut sum = _mm_set1_epi16(previous);
        let shift = _mm_cvtsi32_si128(shift as i32);
        let (groups, _) = values.as_chunks_mut::<8>();
        for group in groups {
            // SAFETY: eight values of two bytes can be read; the load needs no alignment.
            let coded = unsafe { _mm_loadu_si128(group.as_ptr().cast()) };
            let sums = prefix_sums(unzigzag_lanes(coded));
            store(group, _mm_sll_epi16(_mm_add_epi16(sums, sum), shift));
            sum = _mm_add_epi16(sum, broadcast_last(sums));
        }
        (values.len() - values.len() % 8, _mm_extract_epi16::<0>(sum) as i16)
    }
}

#[cfg(target_arch = "aarch64")]
mod neon {
    use std::arch::aarch64::*;

    use super::Done;
    use super::codes::{PACKS, SHUFFLES, eight_numbers, even_bits, spread_bits};

    #[target_feature(enable = "neon")]
    fn load(from: &[u8; 16]) -> uint8x16_t {
        // SAFETY: sixteen bytes can be read; the load needs no alignment.
        unsafe { vld1q_u8(from.as_ptr()) }
    }

    #[target_feature(enable = "neon")]
    fn load_lanes(from: &[i16; 8]) -> int16x8_t {
        // SAFETY: eight values of two bytes can be read.
        unsafe { vld1q_s16(from.as_ptr()) }
    }

    #[target_feature(enable = "neon")]
    fn store(to: &mut [i16; 8], lanes: int16x8_t) {
        // SAFETY: eight values of two bytes can be written.
        unsafe { vst1q_s16(to.as_mut_ptr(), lanes) }
    }

    /// As [`super::encode_differences`].
    #[target_feature(enable = "neon")]
    pub(super) fn encode_differences(
        samples: &[i16],
        previous: i16,
        keys: &mut [u8],
        data: &mut [u8],
    ) -> Done {
        let bit_of_lane = bits_of_lanes();
        let mut before = vdupq_n_s16(previous); // of which only the last lane is looked at
        let (mut done, mut at) = (0, 0);
        let (groups, _) = samples.as_chunks::<8>();
        let (key_pairs, _) = keys.as_chunks_mut::<2>();
        for (group, key_pair) in groups.iter().zip(key_pairs) {
            let Some(room) = data[at..].first_chunk_mut::<16>() else { break };
            let lanes = load_lanes(group);
            let earlier = vextq_s16::<7>(before, lanes);
            let differences = vsubq_s16(lanes, earlier);
            let fits = vceqq_s16(differences, vqsubq_s16(lanes, earlier));
            if vminvq_u16(fits) != 0xFFFF {
                break;
            }
            let doubled = vaddq_s16(differences, differences);
            let coded = vreinterpretq_u16_s16(veorq_s16(doubled, vshrq_n_s16::<15>(differences)));
            let is_long = vcgtq_u16(coded, vdupq_n_u16(0xFF));
            let codes = vaddvq_u16(vandq_u16(is_long, bit_of_lane)) as u8;
            let packed = vqtbl1q_u8(vreinterpretq_u8_u16(coded), load(&PACKS[usize::from(codes)]));
            // SAFETY: sixteen bytes can be written.
            unsafe { vst1q_u8(room.as_mut_ptr(), packed) };
            *key_pair = spread_bits(codes).to_le_bytes();
            at += 8 + codes.count_ones() as usize;
            before = lanes;
            done += 8;
        }
        Done { samples: done, data_bytes: at }
    }

    /// In each lane the bit that a set of eight lanes has for it.
    #[target_feature(enable = "neon")]
    fn bits_of_lanes() -> uint16x8_t {
        const BITS: [u16; 8] = [1, 2, 4, 8, 16, 32, 64, 128];
        // SAFETY: eight values of two bytes can be read.
        unsafe { vld1q_u16(BITS.as_ptr()) }
    }

    /// Differences of eight zigzag-coded lanes.
    #[target_feature(enable = "neon")]
    fn unzigzag_lanes(coded: uint16x8_t) -> int16x8_t {
        let odd = vreinterpretq_s16_u16(vandq_u16(coded, vdupq_n_u16(1)));
        veorq_s16(vreinterpretq_s16_u16(vshrq_n_u16::<1>(coded)), vnegq_s16(odd))
    }

    /// Each lane the sum of itself and those before.
    #[target_feature(enable = "neon")]
    fn prefix_sums(lanes: int16x8_t) -> int16x8_t {
        let zero = vdupq_n_s16(0);
        let lanes = vaddq_s16(lanes, vextq_s16::<7>(zero, lanes));
        let lanes = vaddq_s16(lanes, vextq_s16::<6>(zero, lanes));
        vaddq_s16(lanes, vextq_s16::<4>(zero, lanes))
    }

    /// As [`super::decode_differences`].
    #[target_feature(enable = "neon")]
    pub(super) fn decode_differences(keys: &[u8], data: &[u8], samples: &mut [i16]) -> Done {
        let mut previous = vdupq_n_s16(0); // the last sample, in all lanes
        let (mut done, mut at) = (0, 0);
        let (groups, _) = samples.as_chunks_mut::<8>();
        let (key_pairs, _) = keys.as_chunks::<2>();
        for (group, key_pair) in groups.iter_mut().zip(key_pairs) {
            let Some(bytes) = data[at..].first_chunk::<16>() else { break };
            let key = u16::from_le_bytes(*key_pair);
            let differences = if key & 0xAAAA == 0 {
                let codes = even_bits(key);
                at += 8 + codes.count_ones() as usize;
                let coded = vqtbl1q_u8(load(bytes), load(&SHUFFLES[codes]));
                unzigzag_lanes(vreinterpretq_u16_u8(coded))
            } else {
                // A number of three or four bytes is rare: a jump over more than half the range.
                let Some((numbers, taken)) = eight_numbers(key, &data[at..]) else { break };
                at += taken;
                vreinterpretq_s16_u8(load(&numbers))
            };
            let sums = vaddq_s16(prefix_sums(differences), previous);
            store(group, sums);
            previous = vdupq_laneq_s16::<7>(sums);
            done += 8;
        }
        Done { samples: done, data_bytes: at }
    }

    /// As [`super::accumulate`].
    #[target_feature(enable = "neon")]
    pub(super) fn accumulate(values: &mut [i16], previous: i16, shift: u32) -> (usize, i16) {
        let mut sum = vdupq_n_s16(previous); // in all lanes
        let shift = vdupq_n_s16(shift as i16);
        let (groups, _) = values.as_chunks_mut::<8>();
        for group in groups {
            let coded = vreinterpretq_u16_s16(load_lanes(group));
            let sums = vaddq_s16(prefix_sums(unzigzag_lanes(coded)), sum);
            store(group, vshlq_s16(sums, shift));
            sum = vdupq_laneq_s16::<7>(sums);
        }
        (values.len() - values.len() % 8, vgetq_lane_s16::<0>(sum))
    }
}
