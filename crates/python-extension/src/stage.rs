//! The stage that decodes reads and gives them away.

use seqloom_format::signal::SignalRead;
use seqloom_signal::flow::Fault;
use seqloom_signal::flow::pass::{Stage, StoredRead, Work};
use seqloom_signal::store::{DecodeScratch, FrameBatch, SignalStore};

/// A read, or why there is none.
pub(crate) type Outcome = Result<SignalRead, Box<Fault>>;

/// Decodes stored reads to `SignalRead`s.
pub(crate) struct Decode;

impl Stage for Decode {
    type Scratch = DecodeScratch;
    type Output = Vec<Outcome>;

    fn scratch(&self) -> DecodeScratch {
        DecodeScratch::default()
    }

    fn process(&self, scratch: &mut DecodeScratch, work: &Work, output: &mut Vec<Outcome>) {
        output.clear();
        if let Some(store) = &work.store {
            decode(store.as_ref(), &work.batch, scratch, output);
        }
    }
}

/// Appends the reads of a batch, in order, and what could not be framed after them.
pub(crate) fn decode(
    store: &dyn SignalStore,
    batch: &FrameBatch,
    scratch: &mut DecodeScratch,
    output: &mut Vec<Outcome>,
) {
    for frame in &batch.frames {
        let mut read = SignalRead::default();
        let outcome = store.decode(scratch, batch, frame, &mut read).map_err(|error| {
            Box::new(StoredRead { store, batch, frame }.fault(scratch, &mut read, &error))
        });
        output.push(outcome.map(|()| read));
    }
    output.extend(batch.faults.iter().map(|fault| Err(Box::new(fault.clone()))));
}
