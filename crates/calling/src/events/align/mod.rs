//! Adaptive banded alignment of events to k-mers (ABEA): which k-mer of its own bases each event
//! of a read belongs to.
//!
//! Cell (e, k) is the best log-probability with event e on k-mer k. It comes from (e-1, k-1), a
//! step; from (e-1, k), a stay; or from (e, k-1), a skip without an event. Of each anti-diagonal
//! e + k only [`BANDWIDTH`] cells are computed; the band moves right or down depending on which of
//! its ends is better (Suzuki and Kasahara 2018). Events and k-mers are side by side in opposite
//! orders, so that a band reads all it needs from consecutive places.
//!
//! [`Kernel::Scalar`] is what the other kernels must equal, cell by cell: all of them compute the
//! same roundings in the same order, without fused operations, and these are nanopolish's: scores
//! are kept in 32 bits, and a cell's candidates are summed in 64 bits and rounded once. Of paths
//! that are equally good a stay goes before a step and a skip before both. Scores of long reads
//! have steps of 0.004, so that roundings decide often.

mod band_path;
mod banded;
#[cfg(target_arch = "aarch64")]
mod neon;
mod operands;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod rows;
mod scalar;
#[cfg(test)]
mod tests;
mod trace;
#[cfg(target_arch = "x86_64")]
mod x86;

pub(crate) use banded::{AlignedPair, BANDWIDTH, BandedInput, MAX_SKIPPED_KMERS, NoAlignment};
use operands::Operands;
use trace::Trace;

/// Kernel that computes the cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kernel {
    /// Sixteen cells at a time, a band kept in registers.
    Avx512,
    /// Eight cells at a time.
    Avx2,
    /// Eight cells at a time, on aarch64.
    Neon,
    /// One cell at a time.
    Scalar,
}

impl Kernel {
    /// Kernels that this machine has, the fastest first.
    pub(crate) fn available() -> impl Iterator<Item = Self> {
        let all = [Self::Avx512, Self::Avx2, Self::Neon, Self::Scalar];
        all.into_iter().filter(|kernel| kernel.is_available())
    }

    /// Whether this machine has it. Where it has not, [`Kernel::Scalar`] does its work.
    #[must_use]
    pub(crate) fn is_available(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => std::arch::is_x86_feature_detected!("avx512f"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => std::arch::is_x86_feature_detected!("avx2"),
            #[cfg(not(target_arch = "x86_64"))]
            Self::Avx512 | Self::Avx2 => false,
            Self::Neon => cfg!(target_arch = "aarch64"),
            Self::Scalar => true,
        }
    }

    /// The fastest that this machine has.
    #[must_use]
    pub(crate) fn best() -> Self {
        Self::available().next().unwrap_or(Self::Scalar)
    }

    /// Its name.
    #[cfg(feature = "bench")]
    #[must_use]
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Avx512 => "avx512",
            Self::Avx2 => "avx2",
            Self::Neon => "neon",
            Self::Scalar => "scalar",
        }
    }
}

/// Buffers of one caller.
#[derive(Debug, Default)]
pub(crate) struct AlignScratch {
    operands: Operands,
    trace: Trace,
}

/// Aligns events to k-mers. The pairs, in the order of both, replace those in `pairs`; k-mers
/// follow each other without gaps, and an event that is on several k-mers belongs to the first of
/// them.
///
/// # Errors
/// [`NoAlignment`]; `pairs` then holds nothing of use.
pub(crate) fn align(
    scratch: &mut AlignScratch,
    kernel: Kernel,
    input: BandedInput<'_>,
    pairs: &mut Vec<AlignedPair>,
) -> Result<(), NoAlignment> {
    let AlignScratch { operands, trace } = scratch;
    pairs.clear();
    operands.fill(input)?;
    let last_event = fill(kernel, operands, trace);
    trace::walk(operands, trace, last_event.ok_or(NoAlignment::Lost)?, pairs)
}

/// Fills all bands; the best event for the last k-mer, if there is a path to it.
fn fill(kernel: Kernel, operands: &Operands, trace: &mut Trace) -> Option<usize> {
    match kernel {
        #[cfg(target_arch = "x86_64")]
        Kernel::Avx512 | Kernel::Avx2 => x86::fill(kernel, operands, trace),
        #[cfg(target_arch = "aarch64")]
        Kernel::Neon => neon::fill(operands, trace),
        _ => scalar::fill(operands, trace),
    }
}
