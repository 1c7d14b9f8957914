//! What the operations of a CIGAR add up to, found once for all counters.

use seqloom_format::bam::CigarOps;
use seqloom_format::bam::cigar::{DELETION, HARD_CLIP, INSERTION, PADDING, SKIP, SOFT_CLIP};

/// Totals of one CIGAR in bases, but for `gaps`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct CigarSums {
    /// Of the read, in M, I, = and X.
    pub(super) aligned: u64,
    pub(super) hard_clipped: u64,
    pub(super) soft_clipped: u64,
    /// Soft clips before the last operation that is no clip.
    pub(super) clipped_before: u64,
    /// Soft clips after the first operation that is no clip.
    pub(super) clipped_behind: u64,
    /// Insertions and deletions, each counted as one.
    pub(super) gaps: u64,
    /// Of the reference, in M, D, N, = and X.
    pub(super) span: i64,
}

impl CigarSums {
    #[inline]
    pub(super) fn of(cigar: CigarOps<'_>) -> Self {
        let mut sums = Self::default();
        let (mut is_inside, mut since_inside) = (false, 0);
        for (code, length) in cigar.codes() {
            let length = u64::from(length);
            match code {
                SOFT_CLIP => {
                    sums.soft_clipped += length;
                    sums.clipped_behind += if is_inside { length } else { 0 };
                    since_inside += length;
                    continue;
                }
                HARD_CLIP => {
                    sums.hard_clipped += length;
                    continue;
                }
                PADDING => {}
                INSERTION => {
                    sums.aligned += length;
                    sums.gaps += 1;
                }
                DELETION | SKIP => {
                    sums.span += length as i64;
                    sums.gaps += u64::from(code == DELETION);
                }
                _ => {
                    sums.aligned += length;
                    sums.span += length as i64;
                }
            }
            // Seen from the other end, every clip so far is after this operation.
            sums.clipped_before += std::mem::take(&mut since_inside);
            is_inside = true;
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use seqloom_format::bam::RecordRef;
    use seqloom_format::bam::cigar::{self, DIFFERENT, EQUAL, MATCH};

    /// A record on a reference with these operations and no bases.
    fn body(operations: &[(u8, u32)]) -> Vec<u8> {
        let mut body = crate::test_records::body("n", 0, 0, 5, 0);
        body.truncate(34);
        body[12..14].copy_from_slice(&(operations.len() as u16).to_le_bytes());
        let words = operations.iter().map(|(code, length)| length << 4 | u32::from(*code));
        body.extend(words.flat_map(u32::to_le_bytes));
        body
    }

    fn sum_of(operations: &[(u8, u32)], codes: &[u8]) -> u64 {
        let these = operations.iter().filter(|(code, _)| codes.contains(code));
        these.map(|(_, length)| u64::from(*length)).sum()
    }

    proptest! {
        #[test]
        fn sums_are_those_of_each_kind(
            operations in prop::collection::vec((0..9_u8, 0..1_u32 << 28), 0..12),
        ) {
            let body = body(&operations);
            let cigar = RecordRef::new(&body).unwrap().cigar();
            let is_clip = |(code, _): &(u8, u32)| cigar::is_clip(*code);
            let is_inside = |it: &(u8, u32)| !is_clip(it);
            let first = operations.iter().position(is_inside).unwrap_or(operations.len());
            let last = operations.iter().rposition(is_inside).unwrap_or(0);
            let is_gap = |(code, _): &&(u8, u32)| matches!(*code, INSERTION | DELETION);
            let expected = CigarSums {
                aligned: sum_of(&operations, &[MATCH, INSERTION, EQUAL, DIFFERENT]),
                hard_clipped: sum_of(&operations, &[HARD_CLIP]),
                soft_clipped: sum_of(&operations, &[SOFT_CLIP]),
                clipped_before: sum_of(&operations[..last], &[SOFT_CLIP]),
                clipped_behind: sum_of(&operations[first..], &[SOFT_CLIP]),
                gaps: operations.iter().filter(is_gap).count() as u64,
                span: cigar.reference_span(),
            };
            prop_assert_eq!(CigarSums::of(cigar), expected);
        }
    }
}
