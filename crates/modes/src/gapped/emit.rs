//! What was found of reads and of mates, as their records say it.

use super::choice::{Chosen, of_mismatch};
use super::mapq::{mapping_quality, of_mate};
use super::mates::Paired;
use super::{GappedEngine, Scratch};
use crate::by_score::alignment::Alignment;
use crate::by_score::mates::Kind;
use crate::by_score::report::{Report, Which, Wording};
use crate::placer::{Out, Template};
use seqloom_align::UNSEARCHED;
use seqloom_align::engine::Read;

/// Why a read is not searched for: Bowtie 2's YF.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Filtered {
    /// Too many bases that are not A, C, G or T.
    Unknown,
    /// One base or none, or more than are searched for.
    Length,
    /// No alignment can have the least score.
    Score,
}

impl Filtered {
    fn tag(self) -> &'static [u8; 6] {
        match self {
            Self::Unknown => b"YFZNS\0",
            Self::Length => UNSEARCHED,
            Self::Score => b"YFZSC\0",
        }
    }
}

/// What Bowtie 2's tags and MAPQ are made of.
struct Bowtie2<'a> {
    engine: &'a GappedEngine,
    reads: &'a [Read<'a>],
    /// By read of the template.
    filtered: &'a [Option<Filtered>],
    chosen: &'a [Chosen],
    /// The scores of the primary placements.
    scores: [i32; 2],
    /// Of a concordant pair.
    paired: Option<Paired>,
}

impl Bowtie2<'_> {
    /// MAPQ of mate `mate` of a pair. A mate that is better by far elsewhere may be anywhere;
    /// another one is as sure as the pair is, where that has the better score by the lengths of
    /// the reads.
    fn mapping_quality_of_mate(&self, mate: usize, paired: Paired) -> u8 {
        if self.engine.placements() > 1 && paired.second.is_none() {
            return 255;
        }
        let (scoring, scores) = (&self.engine.options.scoring, self.scores);
        let bounds = [0, 1].map(|mate: usize| scoring.bounds(self.reads[mate].bases.len()));
        let range = |mate: usize| i64::from(bounds[mate].perfect - bounds[mate].minimum).max(1);
        let over = |mate: usize| i64::from(scores[mate] - bounds[mate].minimum);
        let of_pair = (over(0) + over(1)) * range(mate) / (range(0) + range(1));
        let score = scores[mate].max(bounds[mate].minimum + of_pair as i32);
        let is_doubtful = paired.are_doubtful[mate];
        let (score, distance) =
            if is_doubtful { (scores[mate], Some(0)) } else { (score, paired.distances[mate]) };
        of_mate(scoring.is_local, bounds[mate], score, (distance, of_mismatch(scoring)))
    }
}

impl Wording for Bowtie2<'_> {
    type Alignment = Alignment;

    const SECOND: &'static [u8; 2] = b"XS";

    fn second(&self, mate: usize) -> Option<i32> {
        self.chosen[mate].second
    }

    fn mapping_quality(&self, Which { mate, at }: Which, alignment: &Alignment) -> u8 {
        let is_known = self.engine.placements() == 1 || self.second(mate).is_some();
        match self.paired {
            Some(paired) if at == 0 => self.mapping_quality_of_mate(mate, paired),
            None if at == 0 && is_known => {
                let scoring = &self.engine.options.scoring;
                let bounds = scoring.bounds(self.reads[mate].bases.len());
                mapping_quality(scoring.is_local, bounds, alignment.score, self.second(mate))
            }
            _ => 255,
        }
    }

    fn unmapped_tags(&self, mate: usize) -> &'static [u8] {
        // A mate without a seed may still be found near the other one.
        let is_short = self.reads[mate].bases.len() < self.engine.shortest_read();
        match self.filtered[mate] {
            Some(Filtered::Score) | None if is_short => UNSEARCHED,
            Some(filtered) => filtered.tag(),
            None => b"",
        }
    }

    fn second_pair(&self) -> Option<i32> {
        self.paired?.second
    }
}

impl GappedEngine {
    /// Hands out the records of a template of the group at hand.
    pub(super) fn hand_out(
        &self,
        template: Template<'_>,
        scratch: &mut Scratch,
        out: &mut Out<'_>,
    ) {
        let Scratch { group, output, numbers, records, .. } = scratch;
        let Template { reads, number, .. } = template;
        let of_template = template.numbers();
        let chosen = &group.chosen[of_template.clone()];
        let paired = if reads.len() == 2 { group.paired[number / 2] } else { None };
        let is_alone = |it: &Chosen| it.alignments.len() == 1 && it.second.is_none();
        let kind = Kind::of(&self.options.mates, chosen, paired.is_some(), is_alone);
        let mut scores = [0; 2];
        for (mate, chosen) in chosen.iter().enumerate() {
            numbers[mate].clear();
            if kind != Kind::Lost {
                numbers[mate].extend(chosen.alignments.clone());
            }
            let primary = numbers[mate].first();
            scores[mate] = primary.map_or(0, |&it| output.alignments[it].score);
        }
        let filtered = &group.filtered[of_template.clone()];
        let wording = Bowtie2 { engine: self, reads, filtered, chosen, scores, paired };
        let report = Report { wording, kind, numbers, output, reference: self.reference(0) };
        report.hand_out(template, &group.reads.queries[of_template], records, out);
    }
}
