//! What each phase keeps for those behind it, as [`Kept`] takes and gives it.

use seqloom_format::index::IndexBuilder;
use seqloom_format::state::State;
use seqloom_format::state_of_fields;
use seqloom_io::sink::output::Output;
use seqloom_prep::duplicates::{DuplicateMarks, DuplicationCounters};
use seqloom_prep::finish::Finished;
use seqloom_prep::input::ingest::IngestTotals;
use seqloom_prep::metrics::quality::GatheredMetrics;
use seqloom_prep::partition::redistribute::NameSample;
use seqloom_prep::partition::{Backing, SavedCollection, SavedStore};
use seqloom_prep::recalibrate::StoredCounts;

use crate::output::resume::DamagedState;
use crate::output::resume::{Kept, Step, WrittenUnits};

/// What is kept of ingest.
pub(super) struct Ingested {
    pub(super) collection: SavedCollection,
    pub(super) names: NameSample,
    pub(super) totals: IngestTotals,
}

/// How much is written, and what was counted of it.
pub(super) struct WrittenSoFar {
    /// Units of the finish phase.
    pub(super) units: usize,
    pub(super) finished: Finished,
    pub(super) index: Option<IndexBuilder>,
}

state_of_fields!(Ingested { collection, names, totals });
state_of_fields!(WrittenSoFar { units, finished, index });

fn load<T: State>(
    kept: &Option<&mut Kept>,
    step: Step,
    backing: &Backing,
) -> seqloom_terminal::Result<Option<T>> {
    let Some(kept) = kept else { return Ok(None) };
    let bytes = kept.load(step, backing)?;
    Ok(bytes.map(|bytes| T::from_state(&bytes)).transpose().map_err(DamagedState)?)
}

pub(super) fn ingested(
    kept: &Option<&mut Kept>,
    backing: &Backing,
) -> seqloom_terminal::Result<Option<Ingested>> {
    load(kept, Step::Ingest, backing)
}

pub(super) fn save_ingested(
    kept: &mut Kept,
    (collection, names, totals): (SavedCollection, &NameSample, &IngestTotals),
    backing: &Backing,
) -> seqloom_terminal::Result<()> {
    let mut state = collection.to_state();
    names.save(&mut state);
    totals.save(&mut state);
    kept.save(Step::Ingest, &state, backing)
}

/// The marks, charged to the ledger, and what was counted.
pub(super) fn resolved(
    kept: &Option<&mut Kept>,
    backing: &Backing,
) -> seqloom_terminal::Result<Option<(DuplicateMarks, DuplicationCounters)>> {
    let resolved: Option<(DuplicateMarks, DuplicationCounters)> =
        load(kept, Step::Resolve, backing)?;
    if let Some((marks, _)) = &resolved {
        backing.ledger.charge(marks.bytes());
    }
    Ok(resolved)
}

pub(super) fn save_resolved(
    kept: &mut Kept,
    (marks, counters): &(DuplicateMarks, DuplicationCounters),
    backing: &Backing,
) -> seqloom_terminal::Result<()> {
    let mut state = marks.to_state();
    counters.save(&mut state);
    kept.save(Step::Resolve, &state, backing)
}

pub(super) fn redistributed(
    kept: &Option<&mut Kept>,
    backing: &Backing,
) -> seqloom_terminal::Result<Option<SavedStore>> {
    load(kept, Step::Redistribute, backing)
}

/// Where what was counted for recalibration is.
pub(super) fn counts(
    kept: &Option<&mut Kept>,
    backing: &Backing,
) -> seqloom_terminal::Result<Option<StoredCounts>> {
    load(kept, Step::Recalibrate, backing)
}

pub(super) fn written(
    kept: &Option<&mut Kept>,
) -> seqloom_terminal::Result<Option<(WrittenSoFar, GatheredMetrics)>> {
    let state = kept.as_ref().and_then(|kept| kept.written());
    Ok(state.map(State::from_state).transpose().map_err(DamagedState)?)
}

pub(super) fn save_written(
    kept: &mut Kept,
    (written, metrics): (&WrittenSoFar, &GatheredMetrics),
    units: usize,
    output: &Output,
) -> seqloom_terminal::Result<()> {
    let mut state = written.to_state();
    metrics.save(&mut state);
    let units = WrittenUnits { written: written.units, all: units };
    kept.save_written(units, state, output)
}
