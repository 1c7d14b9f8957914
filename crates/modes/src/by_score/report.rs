//! What became of a template to its records: as many for each mate as placements of it are
//! reported, or one that says that there is none.

use super::alignment::{Aligned, Output};
use super::mates::{Kind, OfMate};
use super::record::{Records, Said};
use crate::fields::SECONDARY;
use crate::placer::{Out, Template};
use crate::query::Query;
use crate::reference::Reference;

/// Of mate 0 or 1, or of a single read (0), which of its placements.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Which {
    pub(crate) mate: usize,
    /// 0 is the primary one.
    pub(crate) at: usize,
}

/// How a mode says what it found.
pub(crate) trait Wording {
    /// What it knows of a placement.
    type Alignment: Aligned;

    /// The tag of the best score elsewhere.
    const SECOND: &'static [u8; 2];

    /// Best score elsewhere of a mate.
    fn second(&self, mate: usize) -> Option<i32>;

    /// MAPQ of a placement.
    fn mapping_quality(&self, which: Which, alignment: &Self::Alignment) -> u8;

    /// Tags of a mate that has no placement.
    fn unmapped_tags(&self, _mate: usize) -> &'static [u8] {
        b""
    }

    /// The score of another pair.
    fn second_pair(&self) -> Option<i32> {
        None
    }

    /// Tags of a placement after those that all modes have.
    fn push_tags(&self, _which: Which, _alignment: &Self::Alignment, _body: &mut Vec<u8>) {}
}

/// What became of a template.
pub(crate) struct Report<'a, W: Wording> {
    pub(crate) wording: W,
    pub(crate) kind: Kind,
    /// By mate: the placements that are reported, by their numbers in `output`. Those of a
    /// concordant pair are side by side.
    pub(crate) numbers: &'a [Vec<usize>; 2],
    pub(crate) output: &'a Output<W::Alignment>,
    pub(crate) reference: Reference<'a>,
}

impl<'a, W: Wording> Report<'a, W> {
    /// Hands out the records of the template, whose reads are these queries.
    pub(crate) fn hand_out(
        &self,
        template: Template<'_>,
        queries: &[Query],
        records: &mut Records,
        out: &mut Out<'_>,
    ) {
        for (mate, (read, query)) in template.reads.iter().zip(queries).enumerate() {
            let numbers = &self.numbers[mate];
            if numbers.is_empty() {
                let of_mate = self.of_mate(Which { mate, at: 0 }, None);
                out.record(records.unmapped(read, self.wording.unmapped_tags(mate), of_mate));
            }
            for (at, &number) in numbers.iter().enumerate() {
                let (which, alignment) = (Which { mate, at }, &self.output.alignments[number]);
                let said = Said {
                    placement: self.output.placement(number),
                    flags: if at > 0 { SECONDARY } else { 0 },
                    mapping_quality: self.wording.mapping_quality(which, alignment),
                    second: self.wording.second(mate),
                    second_tag: W::SECOND,
                    mate: self.of_mate(which, Some(number)),
                };
                let body = records.placed((read, query), &self.reference, &said);
                self.wording.push_tags(which, alignment, body);
                out.record(body);
            }
        }
    }

    /// What the record of a placement, or of none, says of the other mate.
    fn of_mate(&self, which: Which, number: Option<usize>) -> OfMate<'a> {
        let Which { mate, at } = which;
        if self.kind == Kind::Single {
            return OfMate::NONE;
        }
        let others = &self.numbers[1 - mate];
        let other = if self.kind == Kind::Concordant { others.get(at) } else { others.first() };
        let placements = [number, other.copied()].map(|it| Some(self.output.placement(it?)));
        let bases = self.reference.genome.bases;
        let of_mate = OfMate::of(mate, self.kind, placements, bases);
        of_mate.with_second_pair(self.wording.second_pair())
    }
}
