//! The engine's phases: reads to records, and introns to the table of the run.

use super::choice::{Alignment, SKIP};
use super::found::Met;
use super::motif::{Kind, motif};
use super::options::LibraryStrand;
use super::record::{OfMate, Said};
use super::sites::Intron;
use super::{GROUP_READS, Incoming, Scratch, SplicedEngine};
use crate::engine::native::fields::SECONDARY;
use crate::engine::native::gapped::traceback::{DELETION, INSERTION, MATCH};
use crate::engine::native::placer::{Batch, Placer};
use crate::engine::{EngineError, Origin, Read, RecordSink};
use crate::search::text::Genome;

/// MAPQ of a read with one best placement, and with several, as HISAT2's.
pub(super) const UNIQUE: u8 = 60;
pub(super) const SEVERAL: u8 = 1;

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
            out(records.unmapped(read, OfMate::NONE));
            return;
        }
        let reference = self.reference(None);
        let reported = chosen.best.min(self.options.placements);
        let best = &output.alignments[chosen.found.clone()][..reported];
        for (at, alignment) in best.iter().enumerate() {
            let said = Said {
                flags: if at > 0 { SECONDARY } else { 0 },
                mapping_quality: if chosen.best > 1 { SEVERAL } else { UNIQUE },
                second: chosen.second,
                placements: reported as u32,
                is_transcript_reverse: self.is_transcript_reverse(alignment, 0),
                strand_tag: self.options.strand_tag,
                mate: OfMate::NONE,
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
        let ops = &output.ops[alignment.ops.clone()];
        let aligned = |op: &u32| if matches!(op & 15, MATCH | INSERTION) { op >> 4 } else { 0 };
        let all: u32 = ops.iter().map(aligned).sum();
        let (mut place, mut before) = (alignment.place, 0);
        for op in ops {
            let bases = i64::from(op >> 4);
            if op & 15 == SKIP {
                let ends = [place, place + bases];
                let has_motif = motif(genome, ends[0], ends[1]).kind != Kind::Other;
                let (intron, anchor) = (self.intron(alignment, ends), before.min(all - before));
                met.push(Met { intron, has_motif, anchor });
            }
            if matches!(op & 15, SKIP | MATCH | DELETION) {
                place += bases;
            }
            before += aligned(op);
        }
    }

    /// An intron of a placement, on the forward strand.
    fn intron(&self, alignment: &Alignment, [left, right]: [i64; 2]) -> Intron {
        let is_reverse = alignment.stretch.is_reverse;
        let [start, end] = alignment.forward([left, right], self.index.parts().bases);
        let is_turned = self.introns.sites().get(left, right).and_then(|it| it.is_turned);
        let is_turned = is_turned.or(alignment.is_turned);
        Intron {
            start: start as u64,
            end: end as u64,
            is_reverse: is_turned.map(|it| it != is_reverse),
        }
    }

    /// Whether the transcript of mate `mate`, or of a single read (0), is on the reverse strand, by
    /// its introns or by how the library is.
    pub(super) fn is_transcript_reverse(&self, alignment: &Alignment, mate: usize) -> Option<bool> {
        let is_reverse = alignment.stretch.is_reverse;
        let is_second = mate == 1 && !self.options.mates.pairs.are_alike();
        match self.options.library {
            LibraryStrand::Unstranded => alignment.is_turned.map(|it| it != is_reverse),
            LibraryStrand::Forward => Some(is_reverse != is_second),
            LibraryStrand::Reverse => Some(is_reverse == is_second),
        }
    }

    /// Hands out what became of a group of reads.
    fn emit_group(
        &self,
        (incoming, from): (Incoming<'_>, usize),
        scratch: &mut Scratch,
        sink: &mut dyn RecordSink,
    ) {
        let Incoming { reads, are_mates, .. } = incoming;
        for number in (0..reads.len()).step_by(if are_mates { 2 } else { 1 }) {
            let at = from + number;
            let origin = if are_mates { Origin::Pair(at / 2) } else { Origin::Single(at) };
            let mut out = |body: &[u8]| sink.record(origin, body);
            self.note(number, scratch);
            if are_mates {
                self.note(number + 1, scratch);
            }
            match (self.introns.is_first_pass(), are_mates) {
                (true, _) => out(scratch.records.unmapped(&reads[number], OfMate::NONE)),
                (false, false) => self.emit_single((number, &reads[number]), scratch, &mut out),
                (false, true) => {
                    let mates = [&reads[number], &reads[number + 1]];
                    self.emit_pair((number, mates), scratch, &mut out);
                }
            }
        }
    }
}

impl Placer for SplicedEngine {
    type Scratch = Scratch;

    const MODE: &str = "spliced";
    const SHORTEST_READ: usize = 0;

    fn trim(&self) -> [usize; 2] {
        self.options.trim
    }

    fn place_batch(
        &self,
        batch: &Batch<'_>,
        scratch: &mut Scratch,
        sink: &mut dyn RecordSink,
    ) -> Result<(), EngineError> {
        let (mates, singles) = batch.reads.split_at(2 * batch.pairs);
        for (all, are_mates) in [(mates, true), (singles, false)] {
            for (group, reads) in all.chunks(GROUP_READS).enumerate() {
                let from = group * GROUP_READS;
                let incoming = Incoming { reads, are_mates };
                self.place(incoming, scratch);
                self.emit_group((incoming, from), scratch, sink);
            }
        }
        self.introns.add(&mut scratch.met);
        Ok(())
    }
}
