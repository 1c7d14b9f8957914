//! Comparisons in the registers of AVX2 and AVX-512, and the search compiled for what goes with
//! them.
//!
//! The searches are one safe body, generic over the way to compare; what is here are that way's
//! loads and instructions.
#![allow(unsafe_code)]

use super::compare::{Comparing, Plain};

/// [`Comparing::run`] with the best instructions of this processor; all give the same.
pub(super) fn run<D: Comparing>(deflater: &mut D, payload: &[u8]) -> Option<()> {
    #[cfg(target_arch = "x86_64")]
    {
        if let Some(avx512) = avx512::Avx512::found() {
            // SAFETY: `found` has seen all features that the function requires.
            return unsafe { run_with_avx512(deflater, payload, avx512) };
        }
        if let Some(avx2) = avx2::Avx2::found() {
            // SAFETY: `found` has seen all features that the function requires.
            return unsafe { run_with_avx2(deflater, payload, avx2) };
        }
    }
    deflater.run(payload, Plain)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,popcnt,lzcnt,bmi1,bmi2")]
fn run_with_avx2<D: Comparing>(deflater: &mut D, payload: &[u8], avx2: avx2::Avx2) -> Option<()> {
    deflater.run(payload, avx2)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,popcnt,lzcnt,bmi1,bmi2,avx512f,avx512bw")]
fn run_with_avx512<D: Comparing>(
    deflater: &mut D,
    payload: &[u8],
    avx512: avx512::Avx512,
) -> Option<()> {
    deflater.run(payload, avx512)
}

#[cfg(target_arch = "x86_64")]
pub(super) mod avx2 {
    use std::arch::x86_64::{
        __m256i, _mm_cvtsi32_si128, _mm256_and_si256, _mm256_andnot_si256, _mm256_castsi256_pd,
        _mm256_cmpeq_epi8, _mm256_cmpeq_epi64, _mm256_loadu_si256, _mm256_movemask_epi8,
        _mm256_movemask_pd, _mm256_or_si256, _mm256_set1_epi64x, _mm256_setzero_si256,
        _mm256_srl_epi64, _mm256_storeu_si256, _mm256_sub_epi64,
    };

    use super::super::compare::{Compare, Differences, Longest};
    use super::super::window::COLUMNS;

    /// Words of a register.
    const WORDS: usize = 4;
    /// Most slots, in registers.
    const MAX_REGISTERS: usize = 16;

    /// Proof that the processor has AVX2 and what is found with it; only [`Self::found`] makes one.
    #[derive(Clone, Copy)]
    pub(in super::super) struct Avx2(());

    impl Avx2 {
        /// Queries the processor.
        pub(in super::super) fn found() -> Option<Self> {
            let found = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("popcnt")
                && is_x86_feature_detected!("lzcnt")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2");
            found.then_some(Self(()))
        }

        #[inline(always)]
        fn load(self, bytes: &[u8; 32]) -> __m256i {
            // SAFETY: 32 bytes are there, the load needs no alignment, and the processor has AVX2,
            // or there would be no `self`.
            unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
        }

        #[inline(always)]
        fn words(self, words: &[u64; WORDS]) -> __m256i {
            // SAFETY: as in `load`.
            unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
        }

        #[inline(always)]
        fn or_of_words(self, register: __m256i) -> u64 {
            let mut words = [0_u64; WORDS];
            // SAFETY: as in `load`; 32 bytes are written to where 32 are.
            unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), register) };
            words[0] | words[1] | words[2] | words[3]
        }
    }

    impl Compare for Avx2 {
        #[inline(always)]
        fn equal(self, a: &[u8; COLUMNS], b: &[u8; COLUMNS]) -> u64 {
            let ([a_low, a_high], [b_low, b_high]) = (halves(a), halves(b));
            let mask = |a, b| {
                // SAFETY: the processor has AVX2, as in `load`.
                unsafe { _mm256_movemask_epi8(_mm256_cmpeq_epi8(self.load(a), self.load(b))) }
            };
            u64::from(mask(a_low, b_low) as u32) | u64::from(mask(a_high, b_high) as u32) << 32
        }

        #[inline(always)]
        fn starts<const K: usize, const MIN: u32>(self, differences: &Differences<K>) -> u64 {
            // SAFETY: the processor has AVX2, as in `load`.
            unsafe {
                let ones = _mm256_set1_epi64x(-1);
                let mut all = _mm256_setzero_si256();
                for words in differences.0.as_chunks::<WORDS>().0 {
                    let differ = self.words(words);
                    let mut ends = differ;
                    for column in 1..MIN {
                        let count = _mm_cvtsi32_si128(column as i32);
                        ends = _mm256_or_si256(ends, _mm256_srl_epi64(differ, count));
                    }
                    all = _mm256_or_si256(all, _mm256_andnot_si256(ends, ones));
                }
                self.or_of_words(all)
            }
        }

        #[inline(always)]
        fn longest<const K: usize>(self, differences: &Differences<K>, from: u32) -> Longest {
            const { assert!(K.is_multiple_of(WORDS) && K / WORDS <= MAX_REGISTERS) };
            // SAFETY: the processor has AVX2, as in `load`.
            unsafe {
                let zero = _mm256_setzero_si256();
                let count = _mm_cvtsi32_si128(from as i32);
                // The lowest set bit of each word is where its run ends.
                let (mut ends, mut any) = ([zero; MAX_REGISTERS], zero);
                for (end, words) in ends.iter_mut().zip(differences.0.as_chunks::<WORDS>().0) {
                    let differ = _mm256_srl_epi64(self.words(words), count);
                    *end = _mm256_and_si256(differ, _mm256_sub_epi64(zero, differ));
                    any = _mm256_or_si256(any, *end);
                }
                let length = 63 - self.or_of_words(any).leading_zeros();
                let farthest = _mm256_set1_epi64x(1_i64 << length);
                let mut slots = 0;
                for (register, end) in ends.iter().take(K / WORDS).enumerate() {
                    let is_farthest = _mm256_castsi256_pd(_mm256_cmpeq_epi64(*end, farthest));
                    slots |=
                        u64::from(_mm256_movemask_pd(is_farthest) as u32) << (WORDS * register);
                }
                Longest { length, slots }
            }
        }
    }

    /// Both halves of the columns.
    #[inline(always)]
    fn halves(columns: &[u8; COLUMNS]) -> [&[u8; 32]; 2] {
        const NONE: [u8; 32] = [0; 32];
        match columns.as_chunks::<32>().0 {
            [low, high] => [low, high],
            _ => [&NONE; 2],
        }
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) mod avx512 {
    use std::arch::x86_64::{
        __m512i, _mm_cvtsi32_si128, _mm512_and_si512, _mm512_andnot_si512, _mm512_cmpeq_epi8_mask,
        _mm512_cmpeq_epi64_mask, _mm512_loadu_si512, _mm512_or_si512, _mm512_reduce_or_epi64,
        _mm512_set1_epi64, _mm512_setzero_si512, _mm512_srl_epi64, _mm512_sub_epi64,
    };

    use super::super::compare::{Compare, Differences, Longest};
    use super::super::window::COLUMNS;
    use super::avx2::Avx2;

    /// Words of a register.
    const WORDS: usize = 8;
    /// Most slots, in registers.
    const MAX_REGISTERS: usize = 8;

    /// Proof that the processor has AVX-512 and what is found with it; only [`Self::found`] makes
    /// one.
    #[derive(Clone, Copy)]
    pub(in super::super) struct Avx512(Avx2);

    impl Avx512 {
        /// Queries the processor.
        pub(in super::super) fn found() -> Option<Self> {
            let found = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw");
            Avx2::found().filter(|_| found).map(Self)
        }

        #[inline(always)]
        fn load(self, bytes: &[u8; COLUMNS]) -> __m512i {
            // SAFETY: 64 bytes are there, the load needs no alignment, and the processor has
            // AVX-512, or there would be no `self`.
            unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
        }

        #[inline(always)]
        fn words(self, words: &[u64; WORDS]) -> __m512i {
            // SAFETY: as in `load`.
            unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
        }
    }

    impl Compare for Avx512 {
        #[inline(always)]
        fn equal(self, a: &[u8; COLUMNS], b: &[u8; COLUMNS]) -> u64 {
            // SAFETY: the processor has AVX-512, as in `load`.
            unsafe { _mm512_cmpeq_epi8_mask(self.load(a), self.load(b)) }
        }

        #[inline(always)]
        fn starts<const K: usize, const MIN: u32>(self, differences: &Differences<K>) -> u64 {
            if !K.is_multiple_of(WORDS) {
                return self.0.starts::<K, MIN>(differences);
            }
            // SAFETY: the processor has AVX-512, as in `load`.
            unsafe {
                let ones = _mm512_set1_epi64(-1);
                let mut all = _mm512_setzero_si512();
                for words in differences.0.as_chunks::<WORDS>().0 {
                    let differ = self.words(words);
                    let mut ends = differ;
                    for column in 1..MIN {
                        let count = _mm_cvtsi32_si128(column as i32);
                        ends = _mm512_or_si512(ends, _mm512_srl_epi64(differ, count));
                    }
                    all = _mm512_or_si512(all, _mm512_andnot_si512(ends, ones));
                }
                _mm512_reduce_or_epi64(all) as u64
            }
        }

        #[inline(always)]
        fn longest<const K: usize>(self, differences: &Differences<K>, from: u32) -> Longest {
            const { assert!(K / WORDS <= MAX_REGISTERS) };
            if !K.is_multiple_of(WORDS) {
                return self.0.longest(differences, from);
            }
            // SAFETY: the processor has AVX-512, as in `load`.
            unsafe {
                let zero = _mm512_setzero_si512();
                let count = _mm_cvtsi32_si128(from as i32);
                // The lowest set bit of each word is where its run ends.
                let (mut ends, mut any) = ([zero; MAX_REGISTERS], zero);
                for (end, words) in ends.iter_mut().zip(differences.0.as_chunks::<WORDS>().0) {
                    let differ = _mm512_srl_epi64(self.words(words), count);
                    *end = _mm512_and_si512(differ, _mm512_sub_epi64(zero, differ));
                    any = _mm512_or_si512(any, *end);
                }
                let length = 63 - (_mm512_reduce_or_epi64(any) as u64).leading_zeros();
                let farthest = _mm512_set1_epi64(1_i64 << length);
                let mut slots = 0;
                for (register, end) in ends.iter().take(K / WORDS).enumerate() {
                    let is_farthest = _mm512_cmpeq_epi64_mask(*end, farthest);
                    slots |= u64::from(is_farthest) << (WORDS * register);
                }
                Longest { length, slots }
            }
        }
    }
}
