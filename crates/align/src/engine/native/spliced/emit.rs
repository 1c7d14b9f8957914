//! What was found of reads, to records.

use super::choice::{Alignment, SKIP};
use super::found::Met;
use super::motif::{Kind, motif};
use super::options::LibraryStrand;
use super::record::Said;
use super::sites::Intron;
use super::{GROUP_READS, LONGEST_READ, Scratch, SplicedEngine};
use crate::engine::copied_reads::CopiedReads;
use crate::engine::native::checked;
use crate::engine::native::fields::SECONDARY;
use crate::engine::native::gapped::traceback::{DELETION, MATCH};
use crate::engine::{
    AlignmentEngine, EngineError, EngineReads, Ordinals, Origin, Read, RecordSink,
};
use crate::search::text::Genome;

/// MAPQ of a read with one best placement, and with several, as HISAT2's.
const UNIQUE: u8 = 60;
const SEVERAL: u8 = 1;

impl SplicedEngine {
    /// Hands out the records of read `number` of a group.
    fn emit_single(
        &self,
        (number, read): (usize, &Read<'_>),
        scratch: &mut Scratch,
        out: &mut dyn FnMut(&[u8]),
    ) {
        let Scratch { reads: group, output, records, .. } = scratch;
        let chosen = &group.chosen[number];
        if chosen.best == 0 {
            out(records.unmapped(read));
            return;
        }
        let reference = self.reference();
        let reported = chosen.best.min(self.options.placements);
        let best = &output.alignments[chosen.found.clone()][..reported];
        for (at, alignment) in best.iter().enumerate() {
            let said = Said {
                flags: if at > 0 { SECONDARY } else { 0 },
                mapping_quality: if chosen.best > 1 { SEVERAL } else { UNIQUE },
                second: chosen.second,
                placements: reported as u32,
                is_transcript_reverse: self.is_transcript_reverse(alignment),
                strand_tag: self.options.strand_tag,
            };
            let ops = &output.ops[alignment.ops.clone()];
            out(records.placed((read, &group.queries[number]), &reference, (alignment, ops), said));
        }
    }

    /// Notes the introns of the best placement of a read, if that is the only one.
    fn note(&self, number: usize, scratch: &mut Scratch) {
        let Scratch { reads: group, output, met, .. } = scratch;
        let chosen = &group.chosen[number];
        if chosen.best != 1 {
            return;
        }
        let alignment = &output.alignments[chosen.found.start];
        let parts = self.index.parts();
        let genome = Genome { packed: parts.packed, bases: parts.bases };
        let mut place = alignment.place;
        for op in &output.ops[alignment.ops.clone()] {
            let bases = i64::from(op >> 4);
            if op & 15 == SKIP {
                let found = motif(genome, place, place + bases);
                let has_motif = found.kind != Kind::Other;
                met.push(Met {
                    intron: self.intron(alignment, [place, place + bases]),
                    has_motif,
                });
            }
            if matches!(op & 15, SKIP | MATCH | DELETION) {
                place += bases;
            }
        }
    }

    /// An intron of a placement, on the forward strand.
    fn intron(&self, alignment: &Alignment, [left, right]: [i64; 2]) -> Intron {
        let both = 2 * self.index.parts().bases as i64;
        let is_reverse = alignment.stretch.is_reverse;
        let [start, end] = if is_reverse { [both - right, both - left] } else { [left, right] };
        let is_turned = self.introns.sites().get(left, right).and_then(|it| it.is_turned);
        let is_turned = is_turned.or(alignment.is_turned);
        Intron {
            start: start as u64,
            end: end as u64,
            is_reverse: is_turned.map(|it| it != is_reverse),
        }
    }

    /// Whether the transcript of a read is on the reverse strand, by its introns or by how the
    /// library is.
    fn is_transcript_reverse(&self, alignment: &Alignment) -> Option<bool> {
        let is_reverse = alignment.stretch.is_reverse;
        match self.options.library {
            LibraryStrand::Unstranded => alignment.is_turned.map(|it| it != is_reverse),
            LibraryStrand::Forward => Some(is_reverse),
            LibraryStrand::Reverse => Some(!is_reverse),
        }
    }
}

impl AlignmentEngine for SplicedEngine {
    type Scratch = Scratch;
    type Candidates = CopiedReads;
    type Model = ();

    const NEEDS_COHORTS: bool = false;
    const MANY_RECORDS: bool = true;

    fn scratch(&self) -> Result<Scratch, EngineError> {
        Ok(Scratch::default())
    }

    fn seed_extend(
        &self,
        _scratch: &mut Scratch,
        reads: &EngineReads<'_>,
    ) -> Result<CopiedReads, EngineError> {
        Ok(CopiedReads::of(reads))
    }

    fn infer_cohort(&self, _candidates: &[CopiedReads]) -> Result<(), EngineError> {
        Ok(())
    }

    fn emit(
        &self,
        scratch: &mut Scratch,
        candidates: CopiedReads,
        _model: Option<&()>,
        ordinals: Ordinals,
        sink: &mut dyn RecordSink,
    ) -> Result<(), EngineError> {
        if candidates.pairs() > 0 {
            let text = "--mode spliced takes single reads; these are mates";
            return Err(EngineError::Option(text.to_owned()));
        }
        let take = |read| checked(read, self.options.trim, 0, "spliced");
        let reads: Vec<_> = candidates.reads().map(take).collect::<Result<_, _>>()?;
        for (group, reads) in reads.chunks(GROUP_READS).enumerate() {
            let from = group * GROUP_READS;
            self.place(reads, ordinals.first_single + from as u64, scratch);
            for (number, read) in reads.iter().enumerate() {
                let mut out = |body: &[u8]| sink.record(Origin::Single(from + number), body);
                self.note(number, scratch);
                if self.introns.is_first_pass() {
                    out(scratch.records.unmapped(read));
                } else {
                    self.emit_single((number, read), scratch, &mut out);
                }
            }
        }
        self.introns.add(&mut scratch.met);
        Ok(())
    }

    fn held_bytes(&self, candidates: &CopiedReads) -> u64 {
        candidates.held_bytes()
    }

    fn longest_read_bases(&self) -> usize {
        LONGEST_READ + self.options.trim.iter().sum::<usize>()
    }
}
