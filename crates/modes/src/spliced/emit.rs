//! What was found of reads and of mates, as their records say it.

use super::choice::{Chosen, Spliced};
use super::options::{LibraryStrand, StrandTag};
use super::pairs::{Pair, concordant};
use super::{Scratch, SplicedEngine};
use crate::by_score::mates::{Kind, OfMate};
use crate::by_score::report::{Report, Which, Wording};
use crate::fields::push_number;
use crate::placer::{Out, Template};
use crate::query::Query;
use seqloom_align::UNSEARCHED;

/// MAPQ of a read with one best placement, and with several, as HISAT2's.
const UNIQUE: u8 = 60;
const SEVERAL: u8 = 1;

/// What HISAT2's tags and MAPQ are made of.
struct Hisat2<'a> {
    engine: &'a SplicedEngine,
    /// By read of the template.
    queries: &'a [Query],
    chosen: &'a [Chosen],
    /// Its best placements, and how many of them are reported.
    best: [usize; 2],
    reported: [usize; 2],
}

impl Wording for Hisat2<'_> {
    type Alignment = Spliced;

    const SECOND: &'static [u8; 2] = b"ZS";

    fn second(&self, mate: usize) -> Option<i32> {
        self.chosen[mate].second
    }

    fn mapping_quality(&self, which: Which, _spliced: &Spliced) -> u8 {
        if self.best[which.mate] > 1 { SEVERAL } else { UNIQUE }
    }

    fn unmapped_tags(&self, mate: usize) -> &'static [u8] {
        let is_outside = self.queries[mate].len() < self.engine.shortest_read();
        if is_outside { UNSEARCHED } else { b"" }
    }

    fn push_tags(&self, Which { mate, .. }: Which, spliced: &Spliced, body: &mut Vec<u8>) {
        if let Some(is_transcript_reverse) = self.engine.is_transcript_reverse(spliced, mate) {
            let is_reverse = spliced.alignment.segment.is_reverse;
            let (tag, is_minus) = match self.engine.options.strand_tag {
                StrandTag::Genome => (b"XSA", is_transcript_reverse),
                StrandTag::Read => (b"TSA", is_transcript_reverse != is_reverse),
            };
            body.extend_from_slice(tag);
            body.push(if is_minus { b'-' } else { b'+' });
        }
        push_number(b"NH", self.reported[mate] as u32, body);
    }
}

impl SplicedEngine {
    /// Whether the transcript of mate `mate`, or of a single read (0), is on the reverse strand, by
    /// its introns or by how the library is.
    fn is_transcript_reverse(&self, spliced: &Spliced, mate: usize) -> Option<bool> {
        let is_reverse = spliced.alignment.segment.is_reverse;
        let is_second = mate == 1 && !self.options.mates.pairs.are_alike();
        match self.options.library {
            LibraryStrand::Unstranded => spliced.is_turned.map(|it| it != is_reverse),
            LibraryStrand::Forward => Some(is_reverse != is_second),
            LibraryStrand::Reverse => Some(is_reverse == is_second),
        }
    }

    /// Hands out what became of a template of the group at hand: in the first pass one record,
    /// which counts it, and its introns to those that are met.
    pub(super) fn hand_out(
        &self,
        template: Template<'_>,
        scratch: &mut Scratch,
        out: &mut Out<'_>,
    ) {
        let Scratch { group, output, numbers, records, met, .. } = scratch;
        let of_template = template.numbers();
        let chosen = &group.chosen[of_template.clone()];
        chosen.iter().for_each(|chosen| self.note(chosen, output, met));
        if self.introns.is_first_pass() {
            out.record(records.unmapped(&template.reads[0], b"", OfMate::NONE));
            return;
        }
        let pairs = match chosen {
            [one, other] => {
                concordant(&self.options.mates, [one, other], output, self.index.bases())
            }
            _ => Vec::new(),
        };
        let is_alone = |it: &Chosen| it.best == 1;
        let kind = Kind::of(&self.options.mates, chosen, !pairs.is_empty(), is_alone);
        let mut best = [0; 2];
        for (mate, chosen) in chosen.iter().enumerate() {
            let numbers = &mut numbers[mate];
            numbers.clear();
            match kind {
                Kind::Concordant => {
                    numbers.extend(pairs.iter().map(|it: &Pair| it.placements[mate]))
                }
                Kind::Lost => (),
                _ => numbers.extend(chosen.found.clone().take(chosen.best)),
            }
            best[mate] = numbers.len();
            numbers.truncate(self.options.placements);
        }
        let reported = [0, 1].map(|mate: usize| numbers[mate].len());
        let queries = &group.reads.queries[of_template];
        let wording = Hisat2 { engine: self, queries, chosen, best, reported };
        let report = Report { wording, kind, numbers, output, reference: self.reference(0) };
        report.hand_out(template, queries, records, out);
    }
}
