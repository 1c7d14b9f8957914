//! What was found of reads, to records.

use super::choice::Alignment;
use super::options::LibraryStrand;
use super::record::Said;
use super::{GROUP_READS, LONGEST_READ, Scratch, SplicedEngine};
use crate::engine::copied_reads::CopiedReads;
use crate::engine::native::checked;
use crate::engine::native::fields::SECONDARY;
use crate::engine::{
    AlignmentEngine, EngineError, EngineReads, Ordinals, Origin, Read, RecordSink,
};

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
                self.emit_single((number, read), scratch, &mut out);
            }
        }
        Ok(())
    }

    fn held_bytes(&self, candidates: &CopiedReads) -> u64 {
        candidates.held_bytes()
    }

    fn longest_read_bases(&self) -> usize {
        LONGEST_READ + self.options.trim.iter().sum::<usize>()
    }
}
