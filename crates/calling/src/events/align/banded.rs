//! What a banded alignment is made of and what it becomes, with its limits.

use crate::events::Scaling;
use crate::pore_model::PoreModel;

/// Cells of a band.
pub(crate) const BANDWIDTH: usize = 100;
/// The mean log-probability of events on their k-mers below which an alignment is none.
pub(crate) const MIN_MEAN_LOG_EMISSION: f64 = -5.0;
/// Most k-mers that may be skipped in a row.
pub(crate) const MAX_SKIPPED_KMERS: u32 = 50;
/// Log-probability of an event before or after the bases.
pub(super) const LOG_TRIM: f64 = -4.605_170_185_988_091;

/// An event on a k-mer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AlignedPair {
    /// K-mer of the read.
    pub(crate) kmer: u32,
    /// Event of the read.
    pub(crate) event: u32,
}

/// Why an alignment is none. Each is "no alignment" to nanopolish and f5c.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub(crate) enum NoAlignment {
    /// There is nothing to align, or more than 2^31 of it.
    #[error("no events or no k-mers, or too many of them")]
    Nothing,
    /// A level or the scaling is infinite or no number.
    #[error("a level is not finite")]
    NotFinite,
    /// No path to the last k-mer stayed in the band.
    #[error("the band lost the last k-mer")]
    Lost,
    /// Events do not look like their k-mers.
    #[error("the mean log-probability of events is below -5")]
    Unlikely,
    /// The path does not begin with the first k-mer.
    #[error("the first k-mers have no events")]
    NotSpanned,
    /// Too many k-mers in a row are without events.
    #[error("more than 50 k-mers in a row are skipped")]
    Gap,
}

/// Input: events, by their mean levels, to be aligned to the k-mers of `ranks`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BandedInput<'a> {
    /// Mean level of each event, in picoampere.
    pub(crate) event_means_pa: &'a [f32],
    /// The read's k-mers, by their ranks in the model.
    pub(crate) ranks: &'a [u32],
    /// Their levels.
    pub(crate) model: &'a PoreModel,
    /// From levels of the model to those of the read.
    pub(crate) scaling: &'a Scaling,
}
