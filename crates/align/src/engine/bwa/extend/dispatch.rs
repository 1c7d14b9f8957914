//! The kernel for the processor that runs it.
//!
//! The code is one safe body, compiled for three sets of instructions; which one is chosen at run
//! time.
#![allow(unsafe_code)]

use super::super::lanes::instructions::Instructions;
use super::super::settings::{GAP, Settings};
use super::kernel::{self, Work};
use super::one::{OneWork, extend_one};
use super::side::{Extension, Side};

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
pub(super) struct Kernels {
    width: Width,
    /// Of 8 bits.
    lanes: usize,
    one: OneWork,
}

/// How an extension is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Size {
    /// In lanes of 8 bits.
    Small,
    /// In lanes of 16 bits.
    Medium,
    /// By itself.
    Large,
}

impl Size {
    pub(super) fn of(side: &Side<'_>, settings: &Settings) -> Self {
        if !kernel::fits_lanes(settings) || side.query.contains(&GAP) {
            Self::Large
        } else if side.is_small(settings) {
            Self::Small
        } else if side.is_medium(settings) {
            Self::Medium
        } else {
            Self::Large
        }
    }
}

impl Kernels {
    /// For the widest instructions that the processor has.
    pub(super) fn new() -> Self {
        Self::of(Instructions::of_lanes(usize::MAX))
    }

    /// For all that the processor has, the widest last.
    #[cfg(test)]
    pub(super) fn all() -> Vec<Self> {
        Instructions::all().into_iter().map(Self::of).collect()
    }

    /// For instructions that the processor has.
    fn of(instructions: Instructions) -> Self {
        let width = match instructions {
            Instructions::Baseline => Width::Plain(Both::default()),
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => Width::Avx2(Both::default()),
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 => Width::Avx512(Both::default()),
        };
        Self { width, lanes: instructions.lanes(), one: OneWork::default() }
    }

    /// How many extensions of a size go side by side.
    pub(super) fn lanes(&self, size: Size) -> usize {
        match size {
            Size::Small => self.lanes,
            Size::Medium => self.lanes / 2,
            Size::Large => 1,
        }
    }

    /// Extends one seed.
    pub(super) fn extend_one(&mut self, side: &Side<'_>, settings: &Settings) -> Extension {
        extend_one(side, settings, &mut self.one)
    }

    /// Extends seeds of one size, as many as there are lanes at most; what each comes to is put
    /// behind `out`.
    pub(super) fn extend(
        &mut self,
        sides: &[Side<'_>],
        size: Size,
        settings: &Settings,
        out: &mut Vec<Extension>,
    ) {
        match (&mut self.width, size) {
            (_, Size::Large) => {
                let one = &mut self.one;
                out.extend(sides.iter().map(|side| extend_one(side, settings, one)));
            }
            (Width::Plain(work), Size::Small) => {
                kernel::extend(sides, settings, &mut work.small, out);
            }
            (Width::Plain(work), Size::Medium) => {
                kernel::extend(sides, settings, &mut work.large, out);
            }
            // SAFETY: memory of this kind is made only where the processor has AVX2.
            #[cfg(target_arch = "x86_64")]
            (Width::Avx2(work), _) => unsafe { with_avx2(sides, size, settings, work, out) },
            // SAFETY: memory of this kind is made only where the processor has all of these.
            #[cfg(target_arch = "x86_64")]
            (Width::Avx512(work), _) => unsafe { with_avx512(sides, size, settings, work, out) },
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2(
    sides: &[Side<'_>],
    size: Size,
    settings: &Settings,
    work: &mut Both<32, 16>,
    out: &mut Vec<Extension>,
) {
    match size {
        Size::Small => kernel::extend(sides, settings, &mut work.small, out),
        _ => kernel::extend(sides, settings, &mut work.large, out),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,avx512bw,avx512vl")]
fn with_avx512(
    sides: &[Side<'_>],
    size: Size,
    settings: &Settings,
    work: &mut Both<64, 32>,
    out: &mut Vec<Extension>,
) {
    match size {
        Size::Small => kernel::extend(sides, settings, &mut work.small, out),
        _ => kernel::extend(sides, settings, &mut work.large, out),
    }
}
