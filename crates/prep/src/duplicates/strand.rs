//! From which strand of its molecule a template was sequenced: what duplex UMIs are turned by, as
//! Picard MarkDuplicates does it with DUPLEX_UMI.

use seqloom_format::bam::{AuxValue, Flags, RecordError, RecordRef, cigar};

use super::five_prime::five_prime;

/// A strand of a molecule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strand {
    /// The first read starts before the second.
    Top,
    /// The second read starts before the first.
    Bottom,
}

/// Why the strand cannot be determined.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StrandError {
    /// The record is malformed.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The start of the mate is not known.
    #[error("it has no MC, the mate's CIGAR, which shows its strand (--fix-mates adds it)")]
    NoMateCigar,
}

impl Strand {
    /// Of a record of any kind; `None` where it or its mate is unmapped, or where it has none.
    ///
    /// # Errors
    /// Mates on one reference of which the record lacks the other's CIGAR.
    pub(crate) fn of(record: &RecordRef<'_>) -> Result<Option<Self>, StrandError> {
        let is_mated = record.has_flags(Flags::PAIRED);
        if !is_mated || record.flags() & (Flags::UNMAPPED | Flags::MATE_UNMAPPED) != 0 {
            return Ok(None);
        }
        let (own, mate) = (record.reference_id(), record.mate_reference_id());
        let is_before = if own == mate { starts_before(record)? } else { own < mate };
        let is_top = record.has_flags(Flags::FIRST_OF_PAIR) == is_before;
        Ok(Some(if is_top { Self::Top } else { Self::Bottom }))
    }
}

/// Whether the first sequenced base of a read is not after that of its mate on one reference.
fn starts_before(record: &RecordRef<'_>) -> Result<bool, StrandError> {
    let Some(AuxValue::String(text)) = record.find_aux(*b"MC")? else {
        return Err(StrandError::NoMateCigar);
    };
    let mut is_cigar = !text.is_empty();
    let ops = cigar::parse(text).map_while(|op| op.inspect_err(|_| is_cigar = false).ok());
    let mate_is_reverse = record.has_flags(Flags::MATE_REVERSE);
    let mate = five_prime(record.mate_position(), mate_is_reverse, ops);
    if !is_cigar {
        return Err(StrandError::NoMateCigar);
    }
    let is_reverse = record.has_flags(Flags::REVERSE);
    Ok(five_prime(record.position(), is_reverse, record.full_cigar().codes()) <= mate)
}
