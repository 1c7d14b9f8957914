//! Methylation: log-likelihood ratios of groups of sites of a motif, and what is made of them.

pub(crate) mod bedmethyl;
pub(crate) mod call;
pub(crate) mod frequency;
pub(crate) mod groups;
pub(crate) mod modbam;
pub(crate) mod sites;
pub(crate) mod table;
mod tallies;

pub use bedmethyl::BedMethyl;
pub use call::CallOptions;
pub use frequency::{Cutoff, CutoffStyle, Frequencies, FrequencyError, FrequencyOptions};
pub use modbam::{ModbamError, ModbamScratch, tag_record};
pub use table::{Columns, TableError, TableFormat, append_row};

/// The call of one group of sites in one read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GroupCall {
    /// Position of the first base of the first site on the reference, 0-based.
    pub first: u64,
    /// Position of the first base of the last site.
    pub last: u64,
    /// Sites in the group.
    pub motif_count: u32,
    /// Natural log-likelihood of the events with all sites methylated.
    pub log_lik_methylated: f64,
    /// Log-likelihood with no site methylated.
    pub log_lik_unmethylated: f64,
    /// Where the group and its flanks (k-1 bases before, k after the first base of
    /// the last site) begin in
    /// `AlignedRead::reference`.
    pub context_start: u32,
    /// End of the group with its flanks.
    pub context_end: u32,
}
