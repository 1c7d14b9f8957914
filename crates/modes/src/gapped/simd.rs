//! The kernel in the registers of AVX2 or of NEON, and the choice of placements compiled for what
//! goes with the former; the latter is part of aarch64.
#![allow(unsafe_code)]

use super::candidates::ScoredRead;
use super::choice::{ChoiceScratch, Chosen, Criteria};
use super::fragment::Question;
use super::kernel::LANES;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use super::kernel::{LOW, Lanes};
use super::mates::{Paired, Pairing};
use crate::by_score::alignment::{Alignment, Output};
use crate::by_score::seeds::Hit;
use crate::reference::Reference;

/// Lanes where no better ones are found at run time.
#[cfg(target_arch = "aarch64")]
type Plain = neon::Registers;
#[cfg(not(target_arch = "aarch64"))]
type Plain = [i16; LANES];

/// [`ChoiceScratch::choose`] with the best instructions of this processor; all give the same.
pub(super) fn choose(
    work: &mut ChoiceScratch,
    read: ScoredRead<'_>,
    reference: &Reference<'_>,
    (hits, criteria): (&[Hit], &Criteria),
    out: &mut Output<Alignment>,
) -> Chosen {
    #[cfg(target_arch = "x86_64")]
    if has_avx2() {
        // SAFETY: the processor has what is needed, as was checked just now.
        return unsafe { choose_with_avx2(work, read, reference, (hits, criteria), out) };
    }
    work.choose::<Plain>(read, reference, hits, criteria, out)
}

/// [`Pairing::choose`], likewise.
pub(super) fn choose_pair(
    work: &mut Pairing,
    question: &Question<'_>,
    out: &mut Output<Alignment>,
) -> ([Chosen; 2], Option<Paired>) {
    #[cfg(target_arch = "x86_64")]
    if has_avx2() {
        // SAFETY: as above.
        return unsafe { choose_pair_with_avx2(work, question, out) };
    }
    work.choose::<Plain>(question, out)
}

/// Whether the processor has AVX2 and what is found with it.
#[cfg(target_arch = "x86_64")]
pub(super) fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("popcnt")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,popcnt,lzcnt,bmi1,bmi2")]
fn choose_with_avx2(
    work: &mut ChoiceScratch,
    read: ScoredRead<'_>,
    reference: &Reference<'_>,
    (hits, criteria): (&[Hit], &Criteria),
    out: &mut Output<Alignment>,
) -> Chosen {
    work.choose::<avx2::Registers>(read, reference, hits, criteria, out)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,popcnt,lzcnt,bmi1,bmi2")]
fn choose_pair_with_avx2(
    work: &mut Pairing,
    question: &Question<'_>,
    out: &mut Output<Alignment>,
) -> ([Chosen; 2], Option<Paired>) {
    work.choose::<avx2::Registers>(question, out)
}

/// Two registers of 16 lanes. Only what runs after `has_avx2` has said yes makes any.
#[cfg(target_arch = "x86_64")]
pub(super) mod avx2 {
    use super::{LANES, LOW, Lanes};
    use std::arch::x86_64::{
        __m256i, _mm256_adds_epi16, _mm256_alignr_epi8, _mm256_blendv_epi8, _mm256_cmpeq_epi16,
        _mm256_loadu_si256, _mm256_max_epi16, _mm256_permute2x128_si256, _mm256_set1_epi16,
        _mm256_storeu_si256, _mm256_subs_epi16,
    };

    /// See the module.
    #[derive(Clone, Copy)]
    pub(in super::super) struct Registers(__m256i, __m256i);

    /// An instruction on both registers.
    macro_rules! both {
        ($instruction:ident, $a:expr, $b:expr) => {{
            let (a, b) = ($a, $b);
            // SAFETY: the processor has AVX2, or there would be no registers.
            unsafe { Registers($instruction(a.0, b.0), $instruction(a.1, b.1)) }
        }};
    }

    impl Lanes for Registers {
        #[inline(always)]
        fn splat(value: i16) -> Self {
            // SAFETY: as above.
            unsafe { Self(_mm256_set1_epi16(value), _mm256_set1_epi16(value)) }
        }

        #[inline(always)]
        fn load(of: &[i16], at: usize) -> Self {
            let Some(lanes) = of[at..].first_chunk::<LANES>() else { return Self::splat(0) };
            let first = lanes.as_ptr();
            // SAFETY: as above; 32 lanes are read from where 32 are.
            unsafe {
                Self(
                    _mm256_loadu_si256(first.cast()),
                    _mm256_loadu_si256(first.add(LANES / 2).cast()),
                )
            }
        }

        #[inline(always)]
        fn store(self) -> [i16; LANES] {
            let mut lanes = [0; LANES];
            let first = lanes.as_mut_ptr();
            // SAFETY: as above; 32 lanes are written to where 32 are.
            unsafe {
                _mm256_storeu_si256(first.cast(), self.0);
                _mm256_storeu_si256(first.add(LANES / 2).cast(), self.1);
            }
            lanes
        }

        #[inline(always)]
        fn add(self, other: Self) -> Self {
            both!(_mm256_adds_epi16, self, other)
        }

        #[inline(always)]
        fn sub(self, other: Self) -> Self {
            both!(_mm256_subs_epi16, self, other)
        }

        #[inline(always)]
        fn max(self, other: Self) -> Self {
            both!(_mm256_max_epi16, self, other)
        }

        #[inline(always)]
        fn pick(self, other: Self, then: Self, otherwise: Self) -> Self {
            let equal = both!(_mm256_cmpeq_epi16, self, other);
            // SAFETY: as above.
            unsafe {
                Self(
                    _mm256_blendv_epi8(otherwise.0, then.0, equal.0),
                    _mm256_blendv_epi8(otherwise.1, then.1, equal.1),
                )
            }
        }

        #[inline(always)]
        fn shifted_down(self) -> Self {
            // SAFETY: as above.
            unsafe {
                let middle = _mm256_permute2x128_si256::<0x21>(self.0, self.1);
                let end = _mm256_permute2x128_si256::<0x21>(self.1, _mm256_set1_epi16(LOW));
                Self(_mm256_alignr_epi8::<2>(middle, self.0), _mm256_alignr_epi8::<2>(end, self.1))
            }
        }

        #[inline(always)]
        fn shifted_up(self) -> Self {
            // SAFETY: as above.
            unsafe {
                let front = _mm256_permute2x128_si256::<0x21>(_mm256_set1_epi16(LOW), self.0);
                let middle = _mm256_permute2x128_si256::<0x21>(self.0, self.1);
                Self(
                    _mm256_alignr_epi8::<14>(self.0, front),
                    _mm256_alignr_epi8::<14>(self.1, middle),
                )
            }
        }
    }
}

/// Four registers of 8 lanes.
#[cfg(target_arch = "aarch64")]
pub(super) mod neon {
    use super::{LANES, LOW, Lanes};
    use std::arch::aarch64::*;

    /// See the module.
    #[derive(Clone, Copy)]
    pub(in super::super) struct Registers([int16x8_t; 4]);

    /// An instruction on all registers.
    macro_rules! all {
        ($instruction:ident, $a:expr, $b:expr) => {{
            let (Registers([a, b, c, d]), Registers([e, f, g, h])) = ($a, $b);
            // SAFETY: every aarch64 has NEON.
            let registers = unsafe {
                [$instruction(a, e), $instruction(b, f), $instruction(c, g), $instruction(d, h)]
            };
            Registers(registers)
        }};
    }

    impl Lanes for Registers {
        #[inline(always)]
        fn splat(value: i16) -> Self {
            // SAFETY: as above.
            unsafe { Self([vdupq_n_s16(value); 4]) }
        }

        #[inline(always)]
        fn load(of: &[i16], at: usize) -> Self {
            let Some(lanes) = of[at..].first_chunk::<LANES>() else { return Self::splat(0) };
            let first = lanes.as_ptr();
            // SAFETY: as above; 32 lanes are read from where 32 are.
            unsafe { Self([0, 8, 16, 24].map(|lane| vld1q_s16(first.add(lane)))) }
        }

        #[inline(always)]
        fn store(self) -> [i16; LANES] {
            let mut lanes = [0; LANES];
            for (eight, register) in lanes.as_chunks_mut::<8>().0.iter_mut().zip(self.0) {
                // SAFETY: as above; 8 lanes are written to where 8 are.
                unsafe { vst1q_s16(eight.as_mut_ptr(), register) };
            }
            lanes
        }

        #[inline(always)]
        fn add(self, other: Self) -> Self {
            all!(vqaddq_s16, self, other)
        }

        #[inline(always)]
        fn sub(self, other: Self) -> Self {
            all!(vqsubq_s16, self, other)
        }

        #[inline(always)]
        fn max(self, other: Self) -> Self {
            all!(vmaxq_s16, self, other)
        }

        #[inline(always)]
        fn pick(self, other: Self, then: Self, otherwise: Self) -> Self {
            let ([a, b, c, d], [e, f, g, h]) = (self.0, other.0);
            let pick = |a, b, register: usize| {
                // SAFETY: as above.
                unsafe { vbslq_s16(vceqq_s16(a, b), then.0[register], otherwise.0[register]) }
            };
            Self([pick(a, e, 0), pick(b, f, 1), pick(c, g, 2), pick(d, h, 3)])
        }

        #[inline(always)]
        fn shifted_down(self) -> Self {
            let [a, b, c, d] = self.0;
            // SAFETY: as above.
            unsafe {
                let end = vextq_s16::<1>(d, vdupq_n_s16(LOW));
                let middle = [vextq_s16::<1>(a, b), vextq_s16::<1>(b, c), vextq_s16::<1>(c, d)];
                Self([middle[0], middle[1], middle[2], end])
            }
        }

        #[inline(always)]
        fn shifted_up(self) -> Self {
            let [a, b, c, d] = self.0;
            // SAFETY: as above.
            unsafe {
                let front = vextq_s16::<7>(vdupq_n_s16(LOW), a);
                let rest = [vextq_s16::<7>(a, b), vextq_s16::<7>(b, c), vextq_s16::<7>(c, d)];
                Self([front, rest[0], rest[1], rest[2]])
            }
        }
    }
}

#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64")))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn registers_do_as_arrays(
            a in proptest::array::uniform32(any::<i16>()),
            b in proptest::array::uniform32(0_i16..4),
        ) {
            fn all<L: Lanes>(a: [i16; LANES], b: [i16; LANES]) -> [[i16; LANES]; 8] {
                let (x, y) = (L::load(&a, 0), L::load(&b, 0));
                let picked = x.max(y).pick(x, y, L::splat(7));
                [
                    x.add(y), x.sub(y), x.max(y), picked,
                    x.shifted_down(), x.shifted_up(), y.pick(L::splat(2), x, y), L::load(&a, 1),
                ].map(L::store)
            }
            #[cfg(target_arch = "x86_64")]
            if has_avx2() {
                prop_assert_eq!(all::<avx2::Registers>(a, b), all::<[i16; LANES]>(a, b));
            }
            #[cfg(target_arch = "aarch64")]
            prop_assert_eq!(all::<neon::Registers>(a, b), all::<[i16; LANES]>(a, b));
        }
    }
}
