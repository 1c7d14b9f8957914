//! Brings together what one record is called from: its reference, its bases, its signal.

use std::path::Path;
use std::sync::Arc;

use seqloom_format::bam::RecordRef;
use seqloom_format::signal::SignalRead;
use seqloom_io::{IndexedFastaError, TextError, TextScratch};
use seqloom_signal::flow::pass::Components;

use super::CallTimes;
use super::account::Skip;
use super::error::CallError;
use super::inputs::CallInputs;
use super::record::{aligned_pairs, sequenced_bases, shape};
use super::sequences::{FoundSequence, normalise};
use super::signals::{SignalProblem, SignalScratch};
use crate::aligned_read::AlignedBase;
use crate::hmm::kmers::lowest_base;

/// Why a record has no call.
#[derive(Debug)]
pub(super) enum NotCalled {
    /// It is skipped, and the run goes on.
    Skipped(Skip),
    /// The run fails.
    Failed(CallError),
}

impl From<Skip> for NotCalled {
    fn from(skip: Skip) -> Self {
        Self::Skipped(skip)
    }
}

impl From<IndexedFastaError> for NotCalled {
    fn from(error: IndexedFastaError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<TextError> for NotCalled {
    fn from(error: TextError) -> Self {
        Self::Failed(error.into())
    }
}

/// Buffers for what a read is called from.
#[derive(Default)]
pub(super) struct ReadScratch {
    pub(super) signals: SignalScratch,
    pub(super) signal: SignalRead,
    sequence_text: TextScratch,
    reference_text: TextScratch,
    pub(super) sequence: Vec<u8>,
    pub(super) reference: Vec<u8>,
    pub(super) pairs: Vec<AlignedBase>,
}

/// Inputs of the call of a record, but for those in the scratch.
pub(super) struct Gathered<'a> {
    pub(super) contig: &'a [u8],
    pub(super) start: u64,
    pub(super) signal_path: Arc<Path>,
}

impl CallInputs<'_> {
    /// Gathers what `record` is called from.
    pub(super) fn gather(
        &self,
        record: &RecordRef<'_>,
        scratch: &mut ReadScratch,
        times: &CallTimes,
        components: &Components,
    ) -> Result<Gathered<'_>, NotCalled> {
        let shape = shape(record)?;
        let fetch = || self.fetch_reference(record, shape.reference_bases, scratch);
        let contig = times.reference.time(fetch)?;
        times.sequences.time(|| self.fetch_sequence(record, scratch))?;
        if scratch.sequence.len() as u64 != shape.read_bases {
            return Err(Skip::SequenceLength.into());
        }
        aligned_pairs(record, self.hard_clips, &mut scratch.pairs);
        let ReadScratch { signals, signal, .. } = scratch;
        let signal_path =
            self.signals.fetch(signals, record.name(), components, signal).map_err(|problem| {
                match problem {
                    SignalProblem::Missing => Skip::NoSignal,
                    SignalProblem::Twice => Skip::SignalTwice,
                    SignalProblem::Unreadable(fault) => Skip::SignalUnreadable(fault),
                }
            })?;
        let start = u64::from(record.position().unsigned_abs());
        Ok(Gathered { contig, start, signal_path })
    }

    /// The reference from the first base of the alignment to the one after its last; its name.
    fn fetch_reference(
        &self,
        record: &RecordRef<'_>,
        span: u64,
        scratch: &mut ReadScratch,
    ) -> Result<&[u8], NotCalled> {
        let id = usize::try_from(record.reference_id()).unwrap_or(usize::MAX);
        let references = self.alignments.headers()[0].references();
        let name = references.get(id).map(|it| it.name.as_bytes()).unwrap_or_default();
        let contig = self.contigs.get(id).copied().flatten().ok_or(Skip::ContigMissing)?;
        let start = u64::from(record.position().unsigned_abs());
        let length_bp = self.reference.length_bp(contig);
        if start + span > length_bp {
            return Err(Skip::BehindContig.into());
        }
        let region = start..(start + span + 1).min(length_bp);
        let ReadScratch { reference_text, reference, .. } = scratch;
        self.reference.fetch(reference_text, contig, region, reference)?;
        reference.iter_mut().for_each(|base| *base = lowest_base(*base));
        Ok(name)
    }

    fn fetch_sequence(
        &self,
        record: &RecordRef<'_>,
        scratch: &mut ReadScratch,
    ) -> Result<(), NotCalled> {
        let ReadScratch { sequence_text, sequence, .. } = scratch;
        let Some(sequences) = self.sequences else {
            let is_clipped = shape(record).is_ok_and(|it| it.is_hard_clipped);
            if record.base_count() == 0 || is_clipped {
                return Err(Skip::HardClipped.into());
            }
            sequenced_bases(record, sequence);
            normalise(sequence);
            return Ok(());
        };
        match sequences.fetch(sequence_text, record.name(), sequence)? {
            FoundSequence::Bases => Ok(()),
            FoundSequence::Missing => Err(Skip::NoSequence.into()),
            FoundSequence::Twice => Err(Skip::SequenceTwice.into()),
        }
    }
}
