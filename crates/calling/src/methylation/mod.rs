//! CpG methylation: log-likelihood ratios of groups of CpG sites, and what is made of them.

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

/// The call of one group of CpG sites in one read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CpgCall {
    /// Position of the first C of the group on the reference, 0-based.
    pub first: u64,
    /// Position of the last C.
    pub last: u64,
    /// CpG sites in the group.
    pub motif_count: u32,
    /// Natural log-likelihood of the events with all sites methylated.
    pub log_lik_methylated: f64,
    /// The same with no site methylated.
    pub log_lik_unmethylated: f64,
    /// Where the group and its flanks (k-1 bases before, k after the last C) begin in
    /// `AlignedRead::reference`.
    pub context_start: u32,
    /// Where they end.
    pub context_end: u32,
}
