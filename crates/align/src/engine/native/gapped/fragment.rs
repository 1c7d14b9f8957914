//! Where reads are, which mates are a pair, and where the mate of a read would be.

use super::candidates::ScoredRead;
use super::choice::{Alignment, Found, Wanted, Work};
use super::options::MateOptions;
use super::record::span;
use super::seeds::Hit;
use super::traceback::CLIP;
use super::window::{Reference, Stretch};
use crate::engine::native::pairs::template_length;

/// Two mates, and what is asked of them.
#[derive(Clone, Copy)]
pub(super) struct Question<'a> {
    pub(super) reads: [ScoredRead<'a>; 2],
    pub(super) references: [Reference<'a>; 2],
    pub(super) hits: [&'a [Hit]; 2],
    pub(super) wanted: [Wanted; 2],
    /// Mates that are searched for at all.
    pub(super) are_searched: [bool; 2],
    pub(super) options: &'a MateOptions,
}

/// Where a whole read is, with what is clipped, on the forward strand of all sequences.
#[derive(Debug, Clone, Copy)]
pub(in crate::engine::native) struct Extent {
    pub(in crate::engine::native) sequence: u32,
    pub(in crate::engine::native) is_reverse: bool,
    pub(in crate::engine::native) ends: [i64; 2],
}

impl MateOptions {
    /// Whether mates that are here are a pair; one whose ends are not known for sure is given
    /// `slack`.
    pub(in crate::engine::native) fn is_pair(
        &self,
        [first, second]: [Extent; 2],
        slack: i64,
    ) -> bool {
        let Some(left) = self.pairs.left_mate([first.is_reverse, second.is_reverse]) else {
            return false;
        };
        let [a, b] = if left == 0 { [first.ends, second.ends] } else { [second.ends, first.ends] };
        let span = a[1].max(b[1]) - a[0].min(b[0]);
        let is_near = first.sequence == second.sequence
            && span + slack >= self.pairs.min_insert_bp.into()
            && span <= i64::from(self.pairs.max_insert_bp) + slack;
        if slack > 0 || !is_near {
            return is_near;
        }
        let is_ordered = a[0] <= b[0] && a[1] <= b[1];
        let overlap = a[0] < b[1] && b[0] < a[1];
        let contains =
            |outer: [i64; 2], inner: [i64; 2]| outer[0] <= inner[0] && inner[1] <= outer[1];
        (is_ordered || self.dovetail && overlap)
            && (self.contain || !contains(a, b) && !contains(b, a))
            && (self.overlap || !overlap)
    }
}

/// TLEN of mate `mate`, of mates that lie so, its own extent first; 0 on two sequences.
pub(in crate::engine::native) fn template_length_of(mate: usize, [own, other]: [Extent; 2]) -> i32 {
    let [first, second] = if mate == 0 { [own, other] } else { [other, own] };
    if first.sequence != second.sequence {
        return 0;
    }
    let are_reverse = [first.is_reverse, second.is_reverse];
    template_length(mate, [first.ends, second.ends], are_reverse)
}

/// The extent of a read of `length` bases whose first one is at `start` of `T`.
fn extent(stretch: Stretch, start: i64, length: i64, bases: i64) -> Extent {
    let forward = if stretch.is_reverse { 2 * bases - start - length } else { start };
    Extent {
        sequence: stretch.sequence,
        is_reverse: stretch.is_reverse,
        ends: [forward, forward + length],
    }
}

impl Alignment {
    /// Where its read is. `ops` are its operations, `bases` those of the genome.
    pub(super) fn extent(&self, ops: &[u32], bases: u64) -> Extent {
        let clip =
            |op: Option<&u32>| op.filter(|&op| op & 15 == CLIP).map_or(0, |op| i64::from(op >> 4));
        let span = i64::from(span(ops));
        let (lead, trail) = (clip(ops.first()), clip(ops.last()));
        extent(self.stretch, self.place - lead, lead + span + trail, bases as i64)
    }
}

impl Question<'_> {
    fn bases(&self) -> i64 {
        self.references[0].genome.bases as i64
    }

    fn length(&self, mate: usize) -> i64 {
        self.reads[mate].query.len() as i64
    }

    /// No placement of a mate with a gap is worth more.
    pub(super) fn ceiling(&self, mate: usize) -> i32 {
        self.reads[mate].scoring.most_with_gap(self.wanted[mate].bounds.perfect)
    }

    pub(super) fn wants_one(&self) -> bool {
        self.wanted[0].placements == 1
    }

    /// Whether another pair that is worth so much less is not worth to be known.
    pub(super) fn is_far(&self, distance: i32) -> bool {
        self.wanted.iter().all(|it| 2 * distance > it.bounds.perfect - it.bounds.minimum)
    }

    /// About where a group's read is.
    pub(super) fn group_extent(&self, mate: usize, work: &Work, group: usize) -> Extent {
        let group = &work.groups[group];
        extent(group.stretch, group.middle, self.length(mate), self.bases())
    }

    /// Where the read of a placement is, and whether that is exact.
    pub(super) fn found_extent(&self, mate: usize, work: &Work, found: &Found) -> (Extent, bool) {
        let stretch = work.groups[found.group].stretch;
        match found.diagonal {
            Some(at) => {
                let start = work.diagonals[at].start;
                (extent(stretch, start, self.length(mate), self.bases()), true)
            }
            None => (self.group_extent(mate, work, found.group), false),
        }
    }

    /// Where the mate of `mate`, which is at `anchor`, would be: a stretch, and its first and last
    /// place there.
    pub(super) fn window(&self, mate: usize, anchor: Extent) -> Option<(Stretch, [i64; 2])> {
        let pairs = &self.options.pairs;
        let of = |left: usize| {
            let strands = pairs.strands(left);
            let [own, other] = if left == mate { [0, 1] } else { [1, 0] };
            (strands[own] == anchor.is_reverse).then_some((left == mate, strands[other]))
        };
        let (is_left, is_reverse) = of(0).or_else(|| of(1))?;
        let most = i64::from(pairs.max_insert_bp);
        let beyond = if self.options.dovetail { self.length(1 - mate) } else { 0 };
        let [start, end] = anchor.ends;
        let [from, to] =
            if is_left { [start - beyond, start + most] } else { [end - most, end + beyond] };
        let bases = self.bases();
        let ends = if is_reverse { [2 * bases - to, 2 * bases - from] } else { [from, to] };
        let stretch = self.references[1 - mate].stretch_of(anchor.sequence, is_reverse)?;
        Some((stretch, ends.map(|it| it.clamp(stretch.start, stretch.end))))
    }
}
