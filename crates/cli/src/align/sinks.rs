//! Where batches go: into partitions to be sorted, or straight to the output in input order.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use seqloom_align::Batch;
use seqloom_align::ingest::{BatchPart, BatchSink, LaneEnd};
use seqloom_format::PackedTemplates;
use seqloom_format::bam::{RecordError, RecordRef, Reference, framed_records};
use seqloom_io::{Output, OutputError};
use seqloom_prep::finish::{EncodeError, EncodedUnit, Encoder, Encoding};
use seqloom_prep::metrics::{TalliedRecord, Tally};
use seqloom_prep::partition::{CollectError, Collector, StoreScratch};
use seqloom_runtime::error::{Class, Place, RunError};
use seqloom_runtime::failure::lock;
use seqloom_runtime::monitor::Monitor;
use seqloom_runtime::order::Ordered;

/// Records of a lane to partitions, which those of other lanes share.
pub(crate) struct SortedSink<'a> {
    collector: &'a Collector<'a>,
    lane: usize,
}

impl<'a> SortedSink<'a> {
    pub(crate) fn new(collector: &'a Collector<'a>, lane: usize) -> Self {
        Self { collector, lane }
    }
}

impl BatchSink for SortedSink<'_> {
    type Error = CollectError;
    type Scratch = StoreScratch;

    fn scratch(&self) -> Result<StoreScratch, CollectError> {
        Ok(StoreScratch::new()?)
    }

    fn accept(
        &self,
        scratch: &mut StoreScratch,
        _: &Batch,
        templates: &PackedTemplates,
        _: BatchPart,
    ) -> Result<(), CollectError> {
        self.collector.collect_of_lane(self.lane, templates, scratch).map(|_| ())
    }

    fn end(&self, end: LaneEnd) {
        if end == LaneEnd::Complete {
            self.collector.end_lane(self.lane);
        }
    }
}

/// Why a batch could not be streamed.
#[derive(Debug, thiserror::Error)]
pub(super) enum StreamError {
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error(transparent)]
    Encode(#[from] EncodeError),
    #[error(transparent)]
    Output(#[from] OutputError),
}

impl RunError for StreamError {
    fn class(&self) -> Class {
        match self {
            Self::Record(_) => Class::Bug,
            Self::Encode(encode) => encode.class(),
            Self::Output(output) => output.class(),
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::Record(_) => Place::default(),
            Self::Encode(encode) => encode.place(),
            Self::Output(output) => output.place(),
        }
    }
}

/// Records to the output, batch by batch in input order; in turn to its stripes, where there are
/// several.
pub(super) struct StreamSink<'a> {
    encoding: Encoding,
    references: &'a [Reference],
    stripes: Vec<Stripe<'a>>,
    /// Of what is written, not of what waits to be.
    tally: Mutex<Tally>,
    /// Workers wait here until a batch of many records is next.
    turn: Monitor<()>,
    /// Relaxed: who waits looks under the lock of `turn`, which is taken after this is set.
    stopped: AtomicBool,
}

/// One file, and what waits for its turn in it.
struct Stripe<'a> {
    ordered: Ordered<(EncodedUnit, Tally)>,
    output: Mutex<&'a mut Output>,
}

/// What is written, and where it goes.
struct Encoded<'s, 'a> {
    stripe: &'s Stripe<'a>,
    /// In the stripe.
    place: u64,
    item: (EncodedUnit, Tally),
}

impl<'a> StreamSink<'a> {
    pub(super) fn new(
        encoding: Encoding,
        references: &'a [Reference],
        outputs: &'a mut [Output],
    ) -> Self {
        let stripe = |output| Stripe { ordered: Ordered::default(), output: Mutex::new(output) };
        Self {
            encoding,
            references,
            stripes: outputs.iter_mut().map(stripe).collect(),
            tally: Mutex::new(Tally::new(references.len())),
            turn: Monitor::new(()),
            stopped: AtomicBool::new(false),
        }
    }

    /// Counts of the records written.
    pub(super) fn into_tally(self) -> Tally {
        self.tally.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Where the batch at `sequence` goes, and its place there. A function of the batch's number:
    /// what a stripe holds is a function of the input.
    fn stripe_of(&self, sequence: u64) -> (&Stripe<'a>, u64) {
        let stripes = self.stripes.len() as u64;
        (&self.stripes[(sequence % stripes) as usize], sequence / stripes)
    }

    /// A batch, or a part of one, as it is written.
    fn encode(
        &self,
        encoder: &mut Encoder<'a>,
        sequence: u64,
        templates: &PackedTemplates,
    ) -> Result<Encoded<'_, 'a>, StreamError> {
        let mut tally = Tally::new(self.references.len());
        for body in framed_records(&templates.bytes) {
            let record = RecordRef::new(body?)?;
            encoder.push(&record, None)?;
            tally.add(&TalliedRecord::from(&record));
        }
        let (stripe, place) = self.stripe_of(sequence);
        Ok(Encoded { stripe, place, item: (encoder.finish_unit()?, tally) })
    }

    /// Gives back the memory of what is written.
    fn write(
        &self,
        stripe: &Stripe<'_>,
        (unit, tally): (EncodedUnit, Tally),
    ) -> Result<Vec<u8>, StreamError> {
        lock(&stripe.output).write(&unit.bytes)?;
        lock(&self.tally).merge(&tally);
        Ok(unit.bytes)
    }
}

impl<'a> BatchSink for StreamSink<'a> {
    type Error = StreamError;
    type Scratch = Encoder<'a>;

    fn scratch(&self) -> Result<Encoder<'a>, StreamError> {
        Ok(Encoder::new(self.encoding, self.references, None)?)
    }

    /// With some of a batch, waits until all earlier batches are written, so that what is not held
    /// need not be.
    fn accept(
        &self,
        encoder: &mut Encoder<'a>,
        batch: &Batch,
        templates: &PackedTemplates,
        part: BatchPart,
    ) -> Result<(), StreamError> {
        let Encoded { stripe, place, item } = self.encode(encoder, batch.sequence, templates)?;
        if part == BatchPart::Last {
            stripe.ordered.deposit(place, item, |item| {
                encoder.recycle(self.write(stripe, item)?);
                Ok::<_, StreamError>(())
            })?;
            self.turn.wake_all();
            return Ok(());
        }
        let is_next = self.turn.wait_for(|()| {
            let is_next = stripe.ordered.committed() == place;
            (is_next || self.stopped.load(Ordering::Relaxed)).then_some(is_next)
        });
        // A run that has failed keeps nothing of what it has written.
        if is_next {
            encoder.recycle(self.write(stripe, item)?);
        }
        Ok(())
    }

    fn end(&self, end: LaneEnd) {
        if end == LaneEnd::Failed {
            self.stopped.store(true, Ordering::Relaxed);
            self.turn.wake_all();
        }
    }
}
