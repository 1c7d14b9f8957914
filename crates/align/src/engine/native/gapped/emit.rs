//! What was found of reads and of mates, to records.

use super::choice::{Alignment, Chosen, of_mismatch};
use super::fragment::template_length_of;
use super::mapq::{mapping_quality, of_mate};
use super::mates::Paired;
use super::record::{OfMate, Said};
use super::{GappedEngine, Scratch};
use crate::engine::Read;
use crate::engine::native::fields::{MATE_UNMAPPED, PROPER, SECONDARY};
use crate::engine::native::pairs::mate_flags;

/// What mates are to each other, as Bowtie 2's YT says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A pair as it should be.
    Concordant(Paired),
    /// Both placed, and nowhere else.
    Discordant,
    /// Each as it is.
    Mixed,
    /// Neither is said to be placed.
    Lost,
}

impl Kind {
    fn name(self) -> &'static [u8; 2] {
        match self {
            Self::Concordant(_) => b"CP",
            Self::Discordant => b"DP",
            Self::Mixed | Self::Lost => b"UP",
        }
    }

    /// Whether the placements are those of a pair.
    fn is_pair(self) -> bool {
        matches!(self, Self::Concordant(_) | Self::Discordant)
    }
}

/// A placement with its operations.
type Placement<'a> = (&'a Alignment, &'a [u32]);

impl GappedEngine {
    /// Hands out the records of read `number` of a group.
    pub(super) fn emit_single(
        &self,
        (number, read): (usize, &Read<'_>),
        scratch: &mut Scratch,
        out: &mut dyn FnMut(&[u8]),
    ) {
        let Scratch { reads: group, output, records, .. } = scratch;
        let chosen = &group.chosen[number];
        if chosen.alignments.is_empty() {
            out(records.unmapped(read, group.filtered[number], OfMate::NONE));
            return;
        }
        let (scored, _) = self.asked(group, number, 0);
        let reference = self.reference(None);
        for (at, alignment) in output.alignments[chosen.alignments.clone()].iter().enumerate() {
            let said = Said {
                flags: if at > 0 { SECONDARY } else { 0 },
                mapping_quality: self.mapping_quality((at, read), alignment.score, chosen.second),
                second: chosen.second,
                mate: OfMate::NONE,
            };
            let ops = &output.ops[alignment.ops.clone()];
            out(records.placed((read, scored), &reference, (alignment, ops), said));
        }
    }

    /// MAPQ of placement number `at` of a read, where the score of another one is as given.
    fn mapping_quality(
        &self,
        (at, read): (usize, &Read<'_>),
        score: i32,
        second: Option<i32>,
    ) -> u8 {
        let is_known = self.placements() == 1 || second.is_some();
        if at > 0 || !is_known {
            return 255;
        }
        let scoring = &self.options.scoring;
        mapping_quality(scoring.is_local, scoring.bounds(read.bases.len()), score, second)
    }

    /// MAPQ of mate `mate` of a pair. A mate that is better by far elsewhere may be anywhere;
    /// another one is as sure as the pair is, where that has the better score by the lengths of
    /// the reads.
    fn mapping_quality_of_mate(
        &self,
        mate: usize,
        reads: [&Read<'_>; 2],
        scores: [i32; 2],
        paired: Paired,
    ) -> u8 {
        if self.placements() > 1 && paired.second.is_none() {
            return 255;
        }
        let scoring = &self.options.scoring;
        let bounds = reads.map(|read| scoring.bounds(read.bases.len()));
        let range = |mate: usize| i64::from(bounds[mate].perfect - bounds[mate].minimum).max(1);
        let over = |mate: usize| i64::from(scores[mate] - bounds[mate].minimum);
        let of_pair = (over(0) + over(1)) * range(mate) / (range(0) + range(1));
        let score = scores[mate].max(bounds[mate].minimum + of_pair as i32);
        let is_doubtful = paired.are_doubtful[mate];
        let (score, distance) =
            if is_doubtful { (scores[mate], Some(0)) } else { (score, paired.distances[mate]) };
        of_mate(scoring.is_local, bounds[mate], score, (distance, of_mismatch(scoring)))
    }

    /// What mates are to each other.
    fn kind(&self, chosen: [&Chosen; 2], paired: Option<Paired>) -> Kind {
        if let Some(paired) = paired {
            return Kind::Concordant(paired);
        }
        let options = &self.options.mates;
        let is_alone = |it: &Chosen| it.alignments.len() == 1 && it.second.is_none();
        match () {
            () if options.discordant && chosen.into_iter().all(is_alone) => Kind::Discordant,
            () if options.mixed => Kind::Mixed,
            () => Kind::Lost,
        }
    }

    /// Hands out the records of a pair, whose mates are reads `number` and the next of their group.
    pub(super) fn emit_pair(
        &self,
        (number, reads): (usize, [&Read<'_>; 2]),
        scratch: &mut Scratch,
        out: &mut dyn FnMut(&[u8]),
    ) {
        let Scratch { reads: group, output, records, .. } = scratch;
        let chosen = [&group.chosen[number], &group.chosen[number + 1]];
        let kind = self.kind(chosen, group.paired[number / 2]);
        let alignments = chosen.map(|it| {
            let all = &output.alignments[it.alignments.clone()];
            if kind == Kind::Lost { &[] } else { all }
        });
        let placement = |alignment| -> Placement<'_> { of(alignment, &output.ops) };
        let score = |mate: usize| alignments[mate].first().map_or(0, |it| it.score);
        for mate in 0..2 {
            let (read, other) = (reads[mate], alignments[1 - mate]);
            let filtered = group.filtered[number + mate];
            if alignments[mate].is_empty() {
                let of_mate = self.of_mate(mate, kind, [None, other.first().map(placement)]);
                out(records.unmapped(read, filtered, of_mate));
            }
            let (scored, _) = self.asked(group, number + mate, 0);
            let reference = self.reference(Some(mate));
            for (at, alignment) in alignments[mate].iter().enumerate() {
                let is_concordant = matches!(kind, Kind::Concordant(_));
                let other = if is_concordant { other.get(at) } else { other.first() };
                let own = placement(alignment);
                let mapping_quality = match kind {
                    Kind::Concordant(paired) if at == 0 => {
                        let scores = [score(0), score(1)];
                        self.mapping_quality_of_mate(mate, reads, scores, paired)
                    }
                    Kind::Concordant(_) => 255,
                    _ => self.mapping_quality((at, read), alignment.score, chosen[mate].second),
                };
                let said = Said {
                    flags: if at > 0 { SECONDARY } else { 0 },
                    mapping_quality,
                    second: chosen[mate].second,
                    mate: self.of_mate(mate, kind, [Some(own), other.map(placement)]),
                };
                out(records.placed((read, scored), &reference, own, said));
            }
        }
    }

    /// What a record of mate `mate` says of the other one; their placements, its own first.
    fn of_mate<'a>(
        &self,
        mate: usize,
        kind: Kind,
        [own, other]: [Option<Placement<'a>>; 2],
    ) -> OfMate<'a> {
        let is_reverse = other.is_some_and(|it| it.0.stretch.is_reverse);
        let mut flags = mate_flags(mate, is_reverse);
        if other.is_none() {
            flags |= MATE_UNMAPPED;
        }
        let mut second_pair = None;
        if let Kind::Concordant(paired) = kind {
            flags |= PROPER;
            second_pair = paired.second;
        }
        let both = own.zip(other).filter(|_| kind.is_pair());
        let bases = self.index.parts().bases;
        let length = both.map(|(own, other)| {
            template_length_of(mate, [own, other].map(|(it, ops)| it.extent(ops, bases)))
        });
        OfMate {
            flags,
            placement: other,
            template_length: length.unwrap_or(0),
            score: both.map(|(_, other)| other.0.score),
            second_pair,
            kind: kind.name(),
        }
    }
}

fn of<'a>(alignment: &'a Alignment, ops: &'a [u32]) -> Placement<'a> {
    (alignment, &ops[alignment.ops.clone()])
}
