//! Records of the BAM that were not called, counted by reason; each reason is explained once.

use std::collections::BTreeMap;

use super::KernelSkip;
use seqloom_signal::flow::Fault;

/// Why a record was not called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Skip {
    /// It has no place on the reference.
    Unmapped,
    /// It is a secondary alignment.
    Secondary,
    /// Its mapping quality is too low.
    LowMappingQuality,
    /// Its alignment skips reference bases (`N`), as spliced RNA does.
    Spliced,
    /// It has no alignment, or one that is not that of its bases.
    BadCigar,
    /// Its reference sequence is not in the FASTA.
    ContigMissing,
    /// It reaches past the end of its reference sequence.
    BehindContig,
    /// No read of its name is among the sequences.
    NoSequence,
    /// Several reads of its name are.
    SequenceTwice,
    /// The read has another length than the alignment says.
    SequenceLength,
    /// The record has not all of its bases, and no file of reads was given.
    HardClipped,
    /// No read of its name is among the signal.
    NoSignal,
    /// Several reads of its name are.
    SignalTwice,
    /// Its signal cannot be read.
    SignalUnreadable(Box<Fault>),
    /// The kernel makes nothing of it.
    Kernel(KernelSkip),
}

impl Skip {
    /// A word for the reason, for tables and JSON.
    #[must_use]
    pub(crate) fn key(&self) -> &'static str {
        match self {
            Self::Unmapped => "unmapped",
            Self::Secondary => "secondary",
            Self::LowMappingQuality => "low_mapq",
            Self::Spliced => "spliced",
            Self::BadCigar => "bad_cigar",
            Self::ContigMissing => "contig_missing",
            Self::BehindContig => "behind_contig",
            Self::NoSequence => "no_sequence",
            Self::SequenceTwice => "sequence_twice",
            Self::SequenceLength => "sequence_length",
            Self::HardClipped => "hard_clipped",
            Self::NoSignal => "no_signal",
            Self::SignalTwice => "signal_twice",
            Self::SignalUnreadable(_) => "signal_unreadable",
            Self::Kernel(skip) => skip.key,
        }
    }

    /// Its meaning, in words.
    #[must_use]
    pub(crate) fn text(&self) -> String {
        let text = match self {
            Self::Unmapped => "not aligned",
            Self::Secondary => "secondary alignment",
            Self::LowMappingQuality => "mapping quality below --min-mapq",
            Self::Spliced => "the alignment skips reference bases (N in the CIGAR)",
            Self::BadCigar => "the CIGAR is missing or does not fit the record's bases",
            Self::ContigMissing => "the reference sequence is not in the FASTA",
            Self::BehindContig => "the alignment ends past the end of its reference sequence",
            Self::NoSequence => "no read of this name in --reads",
            Self::SequenceTwice => "more than one read of this name in --reads",
            Self::SequenceLength => "the read is not as long as its alignment says",
            Self::HardClipped => "the record lacks bases of its read (hard clips); give --reads",
            Self::NoSignal => "no signal of this name in --signal",
            Self::SignalTwice => "more than one read of this name in --signal",
            Self::SignalUnreadable(_) => "the signal is unreadable",
            Self::Kernel(skip) => return skip.text.clone(),
        };
        text.to_owned()
    }

    /// Whether the record was not meant to be called: no calls are missed.
    #[must_use]
    pub(crate) fn is_filter(&self) -> bool {
        [Self::Unmapped, Self::Secondary, Self::LowMappingQuality].contains(self)
    }
}

/// Records skipped for one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// How many.
    pub records: u64,
    /// Meaning of the reason; of the first record, where it says more of that.
    pub text: String,
    /// Name of the first record.
    pub example: String,
    /// Whether records were not meant to be called.
    pub is_filter: bool,
}

/// Outcomes of all records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallAccount {
    /// Records that were called.
    pub called: u64,
    /// Bases of their reads.
    pub bases: u64,
    /// Samples of their signal.
    pub samples: u64,
    /// Skipped records by [`Skip::key`].
    pub skipped: BTreeMap<&'static str, Skipped>,
}

impl CallAccount {
    /// Books a skipped record.
    pub(crate) fn skip(&mut self, name: &[u8], skip: &Skip) {
        let entry = self.skipped.entry(skip.key()).or_insert_with(|| Skipped {
            records: 0,
            text: skip.text(),
            example: String::from_utf8_lossy(name).into_owned(),
            is_filter: skip.is_filter(),
        });
        entry.records += 1;
    }

    /// Adds those of other records.
    pub fn merge(&mut self, other: &Self) {
        self.called += other.called;
        self.bases += other.bases;
        self.samples += other.samples;
        for (&key, skipped) in &other.skipped {
            let entry = self.skipped.entry(key);
            entry.and_modify(|it| it.records += skipped.records).or_insert_with(|| skipped.clone());
        }
    }

    /// Records that were meant to be called and were not.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.skipped.values().filter(|it| !it.is_filter).map(|it| it.records).sum()
    }

    /// All records.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.called + self.skipped.values().map(|it| it.records).sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_counted_and_explained_by_their_first_record() {
        let mut account = CallAccount { called: 3, ..CallAccount::default() };
        account.skip(b"r1", &Skip::Unmapped);
        account.skip(b"r2", &Skip::NoSignal);
        account.skip(b"r3", &Skip::NoSignal);
        let found = &account.skipped["no_signal"];
        assert_eq!((found.records, found.example.as_str()), (2, "r2"));
        assert_eq!(found.text, "no signal of this name in --signal");
        assert_eq!((account.missed(), account.records()), (2, 6));
        let mut other =
            CallAccount { called: 1, bases: 10, samples: 100, ..CallAccount::default() };
        other.skip(b"r4", &Skip::NoSignal);
        other.merge(&account);
        assert_eq!((other.called, other.bases, other.samples, other.records()), (4, 10, 100, 8));
        let found = &other.skipped["no_signal"];
        assert_eq!((found.records, found.example.as_str()), (3, "r4"));
    }
}
