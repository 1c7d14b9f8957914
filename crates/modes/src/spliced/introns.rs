//! The introns that a placement goes over, and what a read says of them.

use super::SplicedEngine;
use super::choice::{Chosen, Spliced};
use super::found::Met;
use super::motif::{Kind, motif};
use super::sites::Intron;
use crate::by_score::alignment::{INSERTION, MATCH, Output, Placement, SKIP, span};
use crate::reference::{Extent, Segment};

/// An intron that a placement goes over, in places of `T`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Over {
    segment: Segment,
    left: i64,
    right: i64,
    /// Bases of the read before it, without those that are clipped.
    before: u32,
}

impl Over {
    /// Where it is, in a genome of so many bases.
    pub(super) fn extent(&self, bases: u64) -> Extent {
        Extent::of(self.segment, self.left, self.right - self.left, bases)
    }
}

/// Bases of the read in an operation, but for those that are clipped.
fn aligned(op: &u32) -> u32 {
    if matches!(op & 15, MATCH | INSERTION) { op >> 4 } else { 0 }
}

/// The introns of a placement.
pub(super) fn introns(placement: Placement<'_>) -> impl Iterator<Item = Over> {
    let Placement { segment, place, ops, .. } = placement;
    let (mut right, mut before) = (place, 0);
    ops.iter().filter_map(move |op| {
        let left = right;
        right += i64::from(span(std::slice::from_ref(op)));
        let over = Over { segment, left, right, before };
        before += aligned(op);
        (op & 15 == SKIP).then_some(over)
    })
}

impl SplicedEngine {
    /// Notes the introns of the best placement of a read, if that is the only one.
    pub(super) fn note(&self, chosen: &Chosen, output: &Output<Spliced>, met: &mut Vec<Met>) {
        if chosen.best != 1 {
            return;
        }
        let spliced = &output.alignments[chosen.found.start];
        let placement = spliced.alignment.with(&output.ops);
        let genome = self.reference(0).genome;
        let all: u32 = placement.ops.iter().map(aligned).sum();
        met.extend(introns(placement).map(|over| Met {
            intron: self.intron(spliced, over),
            has_motif: motif(genome, over.left, over.right).kind != Kind::Other,
            anchor: over.before.min(all - over.before),
        }));
    }

    /// An intron of a placement, on the forward strand.
    fn intron(&self, spliced: &Spliced, over: Over) -> Intron {
        let Extent { is_reverse, start, end, .. } = over.extent(self.index.bases());
        let known = self.introns.sites().get(over.left, over.right);
        let is_turned = known.and_then(|it| it.is_turned).or(spliced.is_turned);
        Intron {
            start: start as u64,
            end: end as u64,
            is_reverse: is_turned.map(|it| it != is_reverse),
        }
    }
}
