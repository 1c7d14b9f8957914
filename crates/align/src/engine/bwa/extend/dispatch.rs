//! The kernel of extension for the processor that runs it.

use super::super::lanes::instructions::{Dispatched, Kernel, KernelSet};
use super::super::settings::{Settings, has_gap};
use super::flank::{Extension, Flank};
use super::kernel::{self, LaneScratch};
use super::scalar::{ScalarScratch, extend_scalar};

/// Working memory of `LANES_8` lanes of 8 bits and `LANES_16` of 16.
#[derive(Debug, Default)]
struct KernelScratch<const LANES_8: usize, const LANES_16: usize> {
    bits8: LaneScratch<u8, LANES_8>,
    bits16: LaneScratch<i16, LANES_16>,
}

/// Flanks to extend over.
struct KernelCall<'a> {
    flanks: &'a [Flank<'a>],
    /// Whether all of them fit lanes of 8 bits.
    in_8_bits: bool,
    settings: &'a Settings,
    out: &'a mut Vec<Extension>,
}

impl<const LANES_8: usize, const LANES_16: usize> Kernel<KernelCall<'_>>
    for KernelScratch<LANES_8, LANES_16>
{
    #[inline(always)]
    fn run(&mut self, call: KernelCall<'_>) {
        let KernelCall { flanks, in_8_bits, settings, out } = call;
        match in_8_bits {
            true => kernel::extend(flanks, settings, &mut self.bits8, out),
            false => kernel::extend(flanks, settings, &mut self.bits16, out),
        }
    }
}

#[derive(Debug)]
struct ExtensionKernels;

impl KernelSet for ExtensionKernels {
    type Baseline = KernelScratch<16, 8>;
    type Avx2 = KernelScratch<32, 16>;
    type Avx512 = KernelScratch<64, 32>;
}

/// The kernels, with their memory.
#[derive(Debug)]
pub(super) struct Kernels {
    in_lanes: Dispatched<ExtensionKernels>,
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
        if !kernel::fits_lanes(settings) || has_gap(flank.query) {
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
        Self::of(Dispatched::of_lanes(usize::MAX))
    }

    /// For all that the processor has, the widest last.
    #[cfg(test)]
    pub(super) fn all() -> Vec<Self> {
        Dispatched::all().into_iter().map(Self::of).collect()
    }

    fn of(in_lanes: Dispatched<ExtensionKernels>) -> Self {
        Self { in_lanes, one: ScalarScratch::default() }
    }

    /// Lanes of a kernel.
    pub(super) fn lanes(&self, kind: KernelKind) -> usize {
        match kind {
            KernelKind::Bits8 => self.in_lanes.lanes,
            KernelKind::Bits16 => self.in_lanes.lanes / 2,
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
        if kind == KernelKind::Scalar {
            out.extend(flanks.iter().map(|flank| extend_scalar(flank, settings, &mut self.one)));
            return;
        }
        let in_8_bits = kind == KernelKind::Bits8;
        self.in_lanes.run(KernelCall { flanks, in_8_bits, settings, out });
    }
}
