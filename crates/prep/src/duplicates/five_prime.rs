//! Where the 5' end of a read is, clipped bases included.

use seqloom_format::bam::cigar::{consumes_reference, is_clip};
use seqloom_format::bam::{Flags, RecordRef};

/// Position of the first sequenced base of an alignment with its start and CIGAR, had it and all
/// clipped ones been aligned; 0-based, held within 32 bits.
pub(super) fn five_prime(
    start: i32,
    is_reverse: bool,
    cigar: impl Iterator<Item = (u8, u32)>,
) -> i32 {
    let (mut leading, mut trailing, mut span) = (0_i64, 0_i64, 0_i64);
    let mut aligned = false;
    for (code, length) in cigar {
        if is_clip(code) {
            trailing += i64::from(length);
        } else {
            trailing = 0;
            aligned = true;
        }
        if !aligned {
            leading += i64::from(length);
        }
        if consumes_reference(code) {
            span += i64::from(length);
        }
    }
    let start = i64::from(start);
    let position = if is_reverse { start + span - 1 + trailing } else { start - leading };
    position.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32
}

/// Unclipped 5' end of a record.
pub(super) fn unclipped_five_prime(record: &RecordRef<'_>) -> i32 {
    let is_reverse = record.has_flags(Flags::REVERSE);
    five_prime(record.position(), is_reverse, record.full_cigar().codes())
}
