//! What became of the qualities of records, and how many there are of each kind.

use std::collections::BTreeMap;

use seqloom_format::persist_fields;

/// Why a record keeps its qualities: GATK does not consider it well-formed, and would leave it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfit {
    /// It has no read group.
    NoReadGroup,
    /// Its alignment skips bases of the reference (N in the CIGAR): it is spliced.
    Spliced,
    /// It has no bases, or no qualities.
    NoQualities,
    /// Its CIGAR has other bases than the read.
    CigarOfOtherLength,
    /// It starts beyond the end of its sequence.
    BeyondSequence,
}

/// Outcome of [`Applier::apply`](super::Applier::apply).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applied {
    /// The record has new qualities.
    Recalibrated,
    /// Its read group is not in the table: its qualities are at most quantized.
    MissingReadGroup,
    /// The record is as it was.
    NotWellFormed(Unfit),
}

/// Records by what became of their qualities.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AppliedCounts {
    /// New qualities.
    pub recalibrated: u64,
    /// Of read groups that are not in the table, by what tables call them: PU, or ID where there is
    /// no PU.
    pub missing_read_groups: BTreeMap<String, u64>,
    /// As they were: see [`Unfit::NoReadGroup`].
    pub no_read_group: u64,
    /// [`Unfit::Spliced`].
    pub spliced: u64,
    /// [`Unfit::NoQualities`].
    pub no_qualities: u64,
    /// [`Unfit::CigarOfOtherLength`].
    pub cigar_of_other_length: u64,
    /// [`Unfit::BeyondSequence`].
    pub beyond_sequence: u64,
}

persist_fields!(AppliedCounts {
    recalibrated,
    missing_read_groups,
    no_read_group,
    spliced,
    no_qualities,
    cigar_of_other_length,
    beyond_sequence,
});

impl AppliedCounts {
    /// Counts a record that is as it was.
    pub(super) fn add_unfit(&mut self, unfit: Unfit) {
        *match unfit {
            Unfit::NoReadGroup => &mut self.no_read_group,
            Unfit::Spliced => &mut self.spliced,
            Unfit::NoQualities => &mut self.no_qualities,
            Unfit::CigarOfOtherLength => &mut self.cigar_of_other_length,
            Unfit::BeyondSequence => &mut self.beyond_sequence,
        } += 1;
    }

    /// Adds what was counted of other records.
    pub fn merge(&mut self, other: &Self) {
        self.recalibrated += other.recalibrated;
        for (name, records) in &other.missing_read_groups {
            *self.missing_read_groups.entry(name.clone()).or_default() += records;
        }
        self.no_read_group += other.no_read_group;
        self.spliced += other.spliced;
        self.no_qualities += other.no_qualities;
        self.cigar_of_other_length += other.cigar_of_other_length;
        self.beyond_sequence += other.beyond_sequence;
    }

    /// Records that are as they were, by why in words, those of which there are any.
    pub fn as_they_were(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let all = [
            ("spliced (N in the CIGAR)", self.spliced),
            ("without read group", self.no_read_group),
            ("without bases or qualities", self.no_qualities),
            ("with a CIGAR of another length", self.cigar_of_other_length),
            ("that start beyond the end of their sequence", self.beyond_sequence),
        ];
        all.into_iter().filter(|(_, records)| *records > 0)
    }
}
