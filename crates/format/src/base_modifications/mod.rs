//! Base modifications of a read: the tags MM, ML and MN.
//!
//! Source: SAM tags specification (samtools/hts-specs `SAMtags.tex`), section 1.7. Positions are
//! written as the numbers of like bases that are skipped, counted on the read *as it was
//! sequenced*: from the other end, on the complement, where the record is reverse-complemented.
//! Every position here is one of the read as sequenced; [`as_sequenced`] gives its bases.

mod decode;
mod encode;

pub use decode::{Called, decode, decode_record};
pub use encode::{append_modifications, probability_code};

use crate::bam::{BASE_LETTERS, Flags, RecordError, RecordRef};

/// Which strand has the modification, relative to the read as sequenced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ModStrand {
    /// `+`: the strand that was sequenced.
    Same,
    /// `-`: the other one.
    Opposite,
}

/// Meaning of bases that are skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum SkippedBases {
    /// `.`, or nothing: they are not modified.
    Unmodified,
    /// `?`: nothing.
    Unknown,
}

/// A kind of modification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ModCode {
    /// The specification's letter: `m` is 5-methylcytosine.
    Letter(u8),
    /// A number of ChEBI.
    Chebi(u32),
}

/// Subject of a list of positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModGroup {
    /// The base that is counted: one of `ACGTUN`, where `N` is any.
    pub(crate) base: u8,
    /// Strand of the modification.
    pub strand: ModStrand,
    /// Meaning of the bases between.
    pub(crate) skipped: SkippedBases,
}

impl ModGroup {
    /// A methylated `base` on the strand that was sequenced, nothing known of other bases. C goes
    /// with the code `m`, 5-methylcytosine; A with `a`, 6-methyladenine.
    #[must_use]
    pub const fn methylated(base: u8) -> Self {
        Self { base, strand: ModStrand::Same, skipped: SkippedBases::Unknown }
    }

    /// Whether `letter` of the read is one of the bases that are counted. `U` is `T` in BAM.
    #[must_use]
    pub fn counts(&self, letter: u8) -> bool {
        match self.base {
            b'N' => true,
            b'U' => matches!(letter, b'U' | b'T'),
            base => letter == base,
        }
    }
}

/// Problem of the tags of a record, or of values for them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModError {
    /// The text of MM does not follow its grammar.
    #[error("MM, byte {at}: expected {required}")]
    Syntax {
        /// Offset in the text.
        at: usize,
        /// Expected value.
        required: &'static str,
    },
    /// A position after the last base.
    #[error("MM, byte {at}: the read has {have} bases of that kind, fewer than are counted")]
    BeyondRead {
        /// Offset in the text.
        at: usize,
        /// Bases that the read has.
        have: usize,
    },
    /// ML has more or fewer values than MM has modifications.
    #[error("ML has {found} values, MM has {expected} modifications")]
    Probabilities {
        /// Modifications of MM.
        expected: usize,
        /// Values of ML.
        found: usize,
    },
    /// The read was cut after the tags were written.
    #[error("MN says that the read had {tagged} bases when MM was written; it has {found}")]
    OtherLength {
        /// Bases by MN.
        tagged: i64,
        /// Bases of the record.
        found: usize,
    },
    /// A tag of a type that it does not have.
    #[error("{tag} has the wrong type")]
    TagType {
        /// Name of the tag.
        tag: &'static str,
    },
    /// A position to be written that is not after the one before it, or not of the base.
    #[error("position {position} cannot be written: {why}")]
    BadPosition {
        /// On the read as sequenced.
        position: usize,
        /// The reason.
        why: &'static str,
    },
    /// The record is malformed.
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// Gives the bases of a record as they were sequenced, in letters: reverse-complemented where the
/// record is on the reverse strand.
pub fn as_sequenced(record: &RecordRef<'_>, bases: &mut Vec<u8>) {
    bases.clear();
    let codes = (0..record.base_count()).filter_map(|index| record.base_code(index));
    bases.extend(codes.map(|code| BASE_LETTERS[usize::from(code & 0xf)]));
    if record.has_flags(Flags::REVERSE) {
        bases.reverse();
        bases.iter_mut().for_each(|base| *base = complement(*base));
    }
}

/// The complement of an IUPAC letter; `=` and `N` are their own.
fn complement(letter: u8) -> u8 {
    match letter {
        b'A' => b'T',
        b'C' => b'G',
        b'G' => b'C',
        b'T' | b'U' => b'A',
        b'M' => b'K',
        b'K' => b'M',
        b'R' => b'Y',
        b'Y' => b'R',
        b'V' => b'B',
        b'B' => b'V',
        b'H' => b'D',
        b'D' => b'H',
        other => other,
    }
}

#[cfg(test)]
mod tests;
