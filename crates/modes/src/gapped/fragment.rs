//! What is required of two mates: where their placements are, and where the mate of one would be.

use super::candidates::ScoredRead;
use super::choice::{ChoiceScratch, Criteria, Found};
use crate::by_score::mates::MateOptions;
use crate::by_score::seeds::Hit;
use crate::reference::{Extent, Reference, Segment};

/// Two mates, and what is required of them.
#[derive(Clone, Copy)]
pub(super) struct Question<'a> {
    pub(super) reads: [ScoredRead<'a>; 2],
    pub(super) references: [Reference<'a>; 2],
    pub(super) hits: [&'a [Hit]; 2],
    pub(super) criteria: [Criteria; 2],
    /// Mates that are searched for at all.
    pub(super) are_searched: [bool; 2],
    pub(super) options: &'a MateOptions,
}

impl Question<'_> {
    fn bases(&self) -> u64 {
        self.references[0].genome.bases
    }

    fn length(&self, mate: usize) -> i64 {
        self.reads[mate].query.len() as i64
    }

    /// No placement of a mate with a gap is worth more.
    pub(super) fn ceiling(&self, mate: usize) -> i32 {
        self.reads[mate].scoring.most_with_gap(self.criteria[mate].bounds.perfect)
    }

    pub(super) fn wants_one(&self) -> bool {
        self.criteria[0].placements == 1
    }

    /// Whether another pair that is worth so much less is not worth to be known.
    pub(super) fn is_far(&self, distance: i32) -> bool {
        self.criteria.iter().all(|it| 2 * distance > it.bounds.perfect - it.bounds.minimum)
    }

    /// About where a group's read is.
    pub(super) fn group_extent(&self, mate: usize, work: &ChoiceScratch, group: usize) -> Extent {
        let group = &work.groups[group];
        Extent::of(group.segment, group.middle, self.length(mate), self.bases())
    }

    /// Where the read of a placement is, and whether that is exact.
    pub(super) fn found_extent(
        &self,
        mate: usize,
        work: &ChoiceScratch,
        found: &Found,
    ) -> (Extent, bool) {
        let segment = work.groups[found.group].segment;
        match found.diagonal {
            Some(at) => {
                let start = work.diagonals[at].start;
                (Extent::of(segment, start, self.length(mate), self.bases()), true)
            }
            None => (self.group_extent(mate, work, found.group), false),
        }
    }

    /// Where the mate of `mate`, which is at `anchor`, would be: a segment, and its first and last
    /// place there.
    pub(super) fn window(&self, mate: usize, anchor: Extent) -> Option<(Segment, [i64; 2])> {
        let pairs = &self.options.pairs;
        let of = |left: usize| {
            let strands = pairs.strands(left);
            let [own, other] = if left == mate { [0, 1] } else { [1, 0] };
            (strands[own] == anchor.is_reverse).then_some((left == mate, strands[other]))
        };
        let (is_left, is_reverse) = of(0).or_else(|| of(1))?;
        let most = i64::from(pairs.max_insert_bp);
        let beyond = if self.options.dovetail { self.length(1 - mate) } else { 0 };
        let Extent { start, end, .. } = anchor;
        let [from, to] =
            if is_left { [start - beyond, start + most] } else { [end - most, end + beyond] };
        let both = 2 * self.bases() as i64;
        let ends = if is_reverse { [both - to, both - from] } else { [from, to] };
        let segment = self.references[1 - mate].segment_of(anchor.sequence, is_reverse)?;
        Some((segment, ends.map(|it| it.clamp(segment.start, segment.end))))
    }
}
