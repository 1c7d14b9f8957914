//! Mates that a reader finds in the same slice: their fields are not stored.
//!
//! A reader makes mate fields and TLEN of two such records from each other. Implementations agree
//! on that where both are mapped to one reference and the first one is strictly further left; all
//! other records keep their fields.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use seqloom_format::bam::{Flags, RecordRef};

/// Source of a record's mate fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mate {
    /// They are stored.
    Stored,
    /// From the record after this one, with so many between them.
    Behind(i32),
    /// From a record before this one, which says so.
    InFront,
}

/// Replaces `mates` by those of `records`, which end at `ends`.
pub(crate) fn find(records: &[RecordRef<'_>], ends: &[i64], mates: &mut Vec<Mate>) {
    mates.clear();
    mates.resize(records.len(), Mate::Stored);
    let mut waiting: HashMap<&[u8], usize> = HashMap::new();
    for (index, record) in records.iter().enumerate() {
        let is_primary = record.flags() & (Flags::SECONDARY | Flags::SUPPLEMENTARY) == 0;
        if !is_primary || !record.has_flags(Flags::PAIRED) {
            continue;
        }
        match waiting.entry(record.name()) {
            Entry::Vacant(entry) => {
                entry.insert(index);
            }
            Entry::Occupied(entry) => {
                let first = entry.remove();
                let end = ends[first].max(ends[index]);
                if are_mates(&records[first], record, end) {
                    mates[first] = Mate::Behind((index - first - 1) as i32);
                    mates[index] = Mate::InFront;
                }
            }
        }
    }
}

/// Whether a reader makes from each of them what the other one says; `end` is the template's.
fn are_mates(left: &RecordRef<'_>, right: &RecordRef<'_>, end: i64) -> bool {
    let unmapped = Flags::UNMAPPED | Flags::MATE_UNMAPPED;
    let speaks_of = |one: &RecordRef<'_>, other: &RecordRef<'_>| {
        one.mate_reference_id() == other.reference_id()
            && one.mate_position() == other.position()
            && one.has_flags(Flags::MATE_REVERSE) == other.has_flags(Flags::REVERSE)
    };
    let length = end - i64::from(left.position());
    (left.flags() | right.flags()) & unmapped == 0
        && left.reference_id() == right.reference_id()
        && (0..right.position()).contains(&left.position())
        && speaks_of(left, right)
        && speaks_of(right, left)
        && i64::from(left.template_length()) == length
        && i64::from(right.template_length()) == -length
}
