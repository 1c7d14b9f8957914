//! The kernel for the processor that runs it.
//!
//! The code is one safe body, compiled for three sets of instructions; which one is chosen at run
//! time.
#![allow(unsafe_code)]

use super::super::lanes::instructions::Instructions;
use super::super::settings::{GAP, Settings};
use super::flank::{Extension, Flank};
use super::kernel::{self, LaneScratch};
use super::scalar::{ScalarScratch, extend_scalar};

/// Working memory of `LANES_8` lanes of 8 bits and `LANES_16` of 16.
#[derive(Debug, Default)]
struct KernelScratch<const LANES_8: usize, const LANES_16: usize> {
    bits8: LaneScratch<u8, LANES_8>,
    bits16: LaneScratch<i16, LANES_16>,
}

/// Working memory, by the instructions that the processor has.
#[derive(Debug)]
enum InstructionScratch {
    Baseline(KernelScratch<16, 8>),
    #[cfg(target_arch = "x86_64")]
    Avx2(KernelScratch<32, 16>),
    #[cfg(target_arch = "x86_64")]
    Avx512(KernelScratch<64, 32>),
}

/// The kernels, with their memory.
#[derive(Debug)]
pub(super) struct Kernels {
    scratch: InstructionScratch,
    /// Of 8 bits.
    lanes: usize,
    one: ScalarScratch,
}

/// Which kernel computes an extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum KernelKind {
    /// In lanes of 8 bits.
    Bits8,
    /// In lanes of 16 bits.
    Bits16,
    /// Without lanes.
    Scalar,
}

impl KernelKind {
    pub(super) fn of(flank: &Flank<'_>, settings: &Settings) -> Self {
        if !kernel::fits_lanes(settings) || flank.query.contains(&GAP) {
            Self::Scalar
        } else if flank.fits_8_bits(settings) {
            Self::Bits8
        } else if flank.fits_16_bits(settings) {
            Self::Bits16
        } else {
            Self::Scalar
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
        let scratch = match instructions {
            Instructions::Baseline => InstructionScratch::Baseline(KernelScratch::default()),
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => InstructionScratch::Avx2(KernelScratch::default()),
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 => InstructionScratch::Avx512(KernelScratch::default()),
        };
        Self { scratch, lanes: instructions.lanes(), one: ScalarScratch::default() }
    }

    /// Lanes of a kernel.
    pub(super) fn lanes(&self, kind: KernelKind) -> usize {
        match kind {
            KernelKind::Bits8 => self.lanes,
            KernelKind::Bits16 => self.lanes / 2,
            KernelKind::Scalar => 1,
        }
    }

    /// Extends one seed.
    pub(super) fn extend_scalar(&mut self, flank: &Flank<'_>, settings: &Settings) -> Extension {
        extend_scalar(flank, settings, &mut self.one)
    }

    /// Extends over flanks of one kind, as many as there are lanes at most; the results are
    /// appended to `out`.
    pub(super) fn extend(
        &mut self,
        flanks: &[Flank<'_>],
        kind: KernelKind,
        settings: &Settings,
        out: &mut Vec<Extension>,
    ) {
        match (&mut self.scratch, kind) {
            (_, KernelKind::Scalar) => {
                let one = &mut self.one;
                out.extend(flanks.iter().map(|flank| extend_scalar(flank, settings, one)));
            }
            (InstructionScratch::Baseline(scratch), KernelKind::Bits8) => {
                kernel::extend(flanks, settings, &mut scratch.bits8, out);
            }
            (InstructionScratch::Baseline(scratch), KernelKind::Bits16) => {
                kernel::extend(flanks, settings, &mut scratch.bits16, out);
            }
            // SAFETY: memory of this kind is made only where the processor has AVX2.
            #[cfg(target_arch = "x86_64")]
            (InstructionScratch::Avx2(scratch), _) => unsafe {
                with_avx2(flanks, kind, settings, scratch, out)
            },
            // SAFETY: memory of this kind is made only where the processor has all of these.
            #[cfg(target_arch = "x86_64")]
            (InstructionScratch::Avx512(scratch), _) => unsafe {
                with_avx512(flanks, kind, settings, scratch, out)
            },
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2(
    flanks: &[Flank<'_>],
    kind: KernelKind,
    settings: &Settings,
    scratch: &mut KernelScratch<32, 16>,
    out: &mut Vec<Extension>,
) {
    match kind {
        KernelKind::Bits8 => kernel::extend(flanks, settings, &mut scratch.bits8, out),
        _ => kernel::extend(flanks, settings, &mut scratch.bits16, out),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,avx512bw,avx512vl")]
fn with_avx512(
    flanks: &[Flank<'_>],
    kind: KernelKind,
    settings: &Settings,
    scratch: &mut KernelScratch<64, 32>,
    out: &mut Vec<Extension>,
) {
    match kind {
        KernelKind::Bits8 => kernel::extend(flanks, settings, &mut scratch.bits8, out),
        _ => kernel::extend(flanks, settings, &mut scratch.bits16, out),
    }
}
