//! What is to be done next of a lane: the state that the ingest workers share, without any thread
//! in it. Lanes side by side are in [`super::lanes`].
//!
//! A worker takes the task furthest down the line that is ready, so that memory drains before it
//! fills: emit, infer, then seed, with a fetch first whenever few batches are ready.
//!
//! Where there are more workers than cores, only as many emit as there are cores. A whole cohort
//! can be emitted all at once; if everybody did, nobody would be left in the engine, which may wait
//! for something else than a core. When emission lags by a cohort, everybody emits.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::num::NonZeroUsize;
use std::sync::Arc;

use seqloom_io::reads::{Fetch, InputBlock};
use seqloom_runtime::schedule::Fetches;

use crate::cohort::{Batch, ClosedCohort, CohortCutter, Cut, CutTotals, Pairing};
use crate::engine::{CohortEngine, Ordinals};
use crate::input::error::CohortError;
use crate::input::mates::BamTotals;

/// Batches emitted ahead of the oldest one in work, per worker: bounds what an ordered sink holds.
pub(super) const EMIT_AHEAD_PER_WORKER: u64 = 4;
/// Batches kept ready for seeding, per worker that is supplied.
pub(super) const READY_PER_WORKER: usize = 2;
/// Workers, per core, that input is kept ready for. More than these are in the engine or wait for a
/// core, and come for a batch one by one: input for each of them would only be memory.
pub(super) const SUPPLIED_PER_CORE: usize = 8;
/// Batches one block yields, roughly: only used to decide how many fetches to have in flight.
pub(super) const BATCHES_PER_BLOCK: usize = 3;
/// Blocks, per worker that is supplied, that may wait for a block before them that is still
/// being fetched: bounds what piles up while a worker is held up.
pub(super) const EARLY_BLOCKS_PER_WORKER: usize = 4;

/// Memory that candidates may hold between seeding and emission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldLimits {
    /// Held by all cohorts of the first lane together when a batch of a later cohort is seeded.
    pub ahead_bytes: u64,
    /// Held by one cohort, which must be whole before any of it can be emitted: more is an error.
    pub cohort_bytes: u64,
    /// Lanes that are ingested side by side.
    pub lanes: NonZeroUsize,
    /// Held by all of these but the first together.
    pub other_lanes_bytes: u64,
}

impl HeldLimits {
    /// For one lane after another.
    #[must_use]
    pub fn of_one_lane(ahead_bytes: u64, cohort_bytes: u64) -> Self {
        Self { ahead_bytes, cohort_bytes, lanes: NonZeroUsize::MIN, other_lanes_bytes: 0 }
    }
}

/// A batch whose candidates wait for their cohort's model, or for their turn to be emitted.
pub(super) struct Seeded<E: CohortEngine> {
    pub(super) batch: Batch,
    pub(super) candidates: E::Candidates,
    pub(super) held_bytes: u64,
}

/// Work for one worker.
pub(super) enum Task<'a, E: CohortEngine> {
    /// Fetch a block from the source.
    Fetch,
    /// Align a batch that needs no model.
    Align(Batch),
    /// Seed a batch; its cohort's model comes later.
    Seed(&'a E, Batch),
    /// Learn the model of a cohort.
    Infer(&'a E, ClosedCohort, Vec<Seeded<E>>),
    /// Emit a batch.
    Emit(&'a E, EmitTask<E>),
    /// Fail for what is wrong with the input after all batches so far, at this place in the
    /// output order.
    Fail(u64, CohortError),
}

/// A batch ready to be emitted.
pub(super) struct EmitTask<E: CohortEngine> {
    pub(super) seeded: Seeded<E>,
    pub(super) model: Arc<E::Model>,
    pub(super) ordinals: Ordinals,
}

/// A cohort whose batches are being seeded.
struct Gathering<E: CohortEngine> {
    seeded: Vec<Option<Seeded<E>>>,
    arrived: u64,
    held_bytes: u64,
    closed: Option<ClosedCohort>,
}

impl<E: CohortEngine> Default for Gathering<E> {
    fn default() -> Self {
        Self { seeded: Vec::new(), arrived: 0, held_bytes: 0, closed: None }
    }
}

/// How many work, and on how many cores.
#[derive(Debug, Clone, Copy)]
pub(super) struct Capacity {
    pub(super) workers: usize,
    /// Cores that the process may use.
    pub(super) cores: usize,
}

impl Capacity {
    /// Workers that emit at most, while others can seed.
    fn emitters(self) -> usize {
        self.workers.min(self.cores)
    }

    /// Workers that input is kept ready for.
    fn supplied(self) -> usize {
        self.workers.min(self.cores.saturating_mul(SUPPLIED_PER_CORE))
    }
}

/// What there is of a lane, or of several.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Load {
    /// Batches that are ready.
    pub(super) ready: usize,
    /// The same, and those of blocks that are being fetched.
    pub(super) coming: usize,
    /// Blocks that wait for one before them.
    pub(super) early: usize,
    /// Batches that are being emitted.
    pub(super) emitting: usize,
}

impl Load {
    pub(super) fn has_few_ready(&self, capacity: Capacity) -> bool {
        self.ready < capacity.supplied()
    }
}

/// The tasks of one lane that are ready, and those that wait for something.
pub(super) struct Scheduler<'a, E: CohortEngine> {
    cutter: CohortCutter<'a>,
    /// The engine, where batches wait for what it learns of their cohort.
    by_cohorts: Option<&'a E>,
    capacity: Capacity,
    limits: HeldLimits,
    ready: VecDeque<Batch>,
    cohorts: BTreeMap<u64, Gathering<E>>,
    emit: VecDeque<EmitTask<E>>,
    emitting: BTreeSet<u64>,
    /// Batches of the newest cohort whose model is known.
    newest_batches: u64,
    fetches: Fetches,
    seeding: usize,
    inferring: usize,
    held_bytes: u64,
    largest_batch_bytes: u64,
    /// Why nothing more can be cut. What was cut before it goes to the workers first: they
    /// may find something wrong with that, and the user is to read of the first thing.
    defect: Option<CohortError>,
    /// Somebody knows that the last batch is through.
    has_ended: bool,
}

impl<'a, E: CohortEngine> Scheduler<'a, E> {
    /// For an engine that works `by_cohorts`, or one that does not. Single reads have no insert
    /// sizes, so their batches wait for nothing.
    pub(super) fn new(
        cutter: CohortCutter<'a>,
        pairing: Pairing,
        by_cohorts: Option<&'a E>,
        capacity: Capacity,
        limits: HeldLimits,
    ) -> Self {
        Self {
            cutter,
            by_cohorts: by_cohorts.filter(|_| pairing != Pairing::Single),
            capacity,
            limits,
            ready: VecDeque::new(),
            cohorts: BTreeMap::new(),
            emit: VecDeque::new(),
            emitting: BTreeSet::new(),
            newest_batches: 0,
            fetches: Fetches::default(),
            seeding: 0,
            inferring: 0,
            held_bytes: 0,
            largest_batch_bytes: 0,
            defect: None,
            has_ended: false,
        }
    }

    pub(super) fn load(&self) -> Load {
        Load {
            ready: self.ready.len(),
            coming: self.ready.len() + BATCHES_PER_BLOCK * self.fetches.in_work(),
            early: self.cutter.early_blocks(),
            emitting: self.emitting.len(),
        }
    }

    /// Nothing is in work and nothing can be started any more. A cohort that is still open then is
    /// one whose reads never came: see [`Scheduler::cut_everything`].
    pub(super) fn is_over(&self) -> bool {
        (self.fetches.have_ended() || self.cutter.finished())
            && self.defect.is_none()
            && self.fetches.in_work() == 0
            && self.whole_cohort().is_none()
            && self.has_emitted_all()
    }

    /// Whatever has been cut is emitted.
    fn has_emitted_all(&self) -> bool {
        self.ready.is_empty() && self.nothing_ahead() && self.seeding == 0
    }

    /// No cohort is being inferred or emitted, so that no candidates are about to be given back.
    fn nothing_ahead(&self) -> bool {
        self.inferring == 0 && self.emit.is_empty() && self.emitting.is_empty()
    }

    fn within_window(&self, sequence: u64) -> bool {
        let ahead = EMIT_AHEAD_PER_WORKER * self.capacity.workers as u64;
        self.emitting.first().is_none_or(|&oldest| sequence < oldest + ahead)
    }

    /// A batch to emit, where `emitting` are being emitted by all.
    pub(super) fn next_emit(&mut self, emitting: usize) -> Option<Task<'a, E>> {
        let sequence = self.emit.front()?.seeded.batch.sequence;
        let enough_emit = emitting >= self.capacity.emitters() && !self.emission_lags();
        if enough_emit || !self.within_window(sequence) {
            return None;
        }
        self.emitting.insert(sequence);
        Some(Task::Emit(self.by_cohorts?, self.emit.pop_front()?))
    }

    /// More waits to be emitted than the newest cohort and a batch per worker: seeding is faster.
    fn emission_lags(&self) -> bool {
        self.emit.len() as u64 > self.newest_batches + self.capacity.workers as u64
    }

    /// Cohorts are inferred one by one and in order, so that batches are emitted in order.
    pub(super) fn next_infer(&mut self) -> Option<Task<'a, E>> {
        if self.inferring > 0 {
            return None;
        }
        let closed = self.whole_cohort()?;
        let gathered = self.cohorts.remove(&closed.cohort)?;
        self.inferring += 1;
        let seeded = gathered.seeded.into_iter().flatten().collect();
        Some(Task::Infer(self.by_cohorts?, closed, seeded))
    }

    /// The oldest cohort, if all of it is seeded.
    fn whole_cohort(&self) -> Option<ClosedCohort> {
        let (_, first) = self.cohorts.first_key_value()?;
        first.closed.filter(|closed| closed.batches == first.arrived)
    }

    /// The next batch to seed where no lane is ahead.
    pub(super) fn next_seed_of_first(&mut self) -> Option<Task<'a, E>> {
        let batch = self.ready.front()?;
        // The oldest cohort must be seeded whole before anything of it can be emitted; all else
        // only in the memory that is left, which grows when what is ahead has been emitted.
        let oldest = self.cohorts.first_key_value().is_none_or(|(&c, _)| c == batch.cohort);
        let expected_bytes = self.expected_bytes() + self.largest_batch_bytes;
        let must_go_on = oldest && self.nothing_ahead();
        self.seed_next(must_go_on || expected_bytes <= self.limits.ahead_bytes)
    }

    /// The next batch to seed of A lane other than the first, where all these may hold so much
    /// more.
    pub(super) fn next_seed_of_other(&mut self, rest_bytes: Option<u64>) -> Option<Task<'a, E>> {
        self.seed_next(rest_bytes.is_some_and(|rest| self.largest_batch_bytes <= rest))
    }

    fn seed_next(&mut self, may_hold_more: bool) -> Option<Task<'a, E>> {
        let batch = self.ready.front()?;
        let Some(engine) = self.by_cohorts else {
            if !self.within_window(batch.sequence) {
                return None;
            }
            self.emitting.insert(batch.sequence);
            return self.ready.pop_front().map(Task::Align);
        };
        if !may_hold_more {
            return None;
        }
        self.seeding += 1;
        self.cohorts.entry(batch.cohort).or_default();
        self.ready.pop_front().map(|batch| Task::Seed(engine, batch))
    }

    /// What is held, and will be once all that is being seeded is.
    pub(super) fn expected_bytes(&self) -> u64 {
        self.held_bytes + self.seeding as u64 * self.largest_batch_bytes
    }

    /// A fetch, if one may find something and there is no more than `load`.
    pub(super) fn next_fetch(&mut self, load: &Load) -> Option<Task<'a, E>> {
        let requested = READY_PER_WORKER * self.capacity.supplied() + BATCHES_PER_BLOCK;
        // Whatever an early block waits for is being fetched, so that a fetch is sure to end.
        let early_at_most = EARLY_BLOCKS_PER_WORKER * self.capacity.supplied();
        let has_more = self.fetches.may_start() && !self.cutter.finished();
        let wants_more = has_more && load.early < early_at_most && load.coming < requested;
        wants_more.then(|| {
            self.fetches.start();
            Task::Fetch
        })
    }

    /// The defect of the input, when all batches before it have been handed out.
    pub(super) fn next_failure(&mut self) -> Option<Task<'a, E>> {
        if !self.ready.is_empty() || self.fetches.in_work() > 0 {
            return None;
        }
        let defect = self.defect.take()?;
        Some(Task::Fail(self.cutter.next_sequence(), defect))
    }

    /// A fetch is back.
    pub(super) fn fetched(&mut self, fetched: Fetch) {
        if let Some(block) = self.fetches.finish(fetched) {
            self.provided(*block);
        }
    }

    /// A block is there.
    pub(super) fn provided(&mut self, block: InputBlock) {
        let (ready, cohorts) = (&mut self.ready, &mut self.cohorts);
        let alone = self.by_cohorts.is_none();
        let pushed = self.cutter.push(block, |cut| match cut {
            Cut::Batch(batch) => ready.push_back(*batch),
            Cut::Closed(_) if alone => {}
            Cut::Closed(closed) => {
                cohorts.entry(closed.cohort).or_default().closed = Some(closed);
            }
        });
        if let Err(defect) = pushed {
            self.defect.get_or_insert(defect);
            self.fetches.end();
        }
    }

    /// Whether every read of the input has been cut into batches.
    pub(super) fn cut_everything(&self) -> bool {
        self.cutter.finished()
    }

    /// A batch has been seeded. What its cohort holds, if that is more than may be held at all.
    pub(super) fn seeded(&mut self, seeded: Seeded<E>) -> Option<u64> {
        self.seeding -= 1;
        self.hold(seeded.held_bytes);
        let gathering = self.cohorts.get_mut(&seeded.batch.cohort)?;
        let index = seeded.batch.index_in_cohort as usize;
        if gathering.seeded.len() <= index {
            gathering.seeded.resize_with(index + 1, || None);
        }
        gathering.arrived += 1;
        gathering.held_bytes += seeded.held_bytes;
        gathering.seeded[index] = Some(seeded);
        Some(gathering.held_bytes).filter(|&held_bytes| held_bytes > self.limits.cohort_bytes)
    }

    fn hold(&mut self, bytes: u64) {
        self.held_bytes += bytes;
        self.largest_batch_bytes = self.largest_batch_bytes.max(bytes);
    }

    /// A cohort's model is known: its batches can be emitted.
    pub(super) fn inferred(
        &mut self,
        cohort: ClosedCohort,
        model: &Arc<E::Model>,
        seeded: Vec<Seeded<E>>,
    ) {
        self.inferring -= 1;
        self.newest_batches = cohort.batches;
        for seeded in seeded {
            // bwa numbers the single reads of a cohort first, then its pairs.
            let ordinals = Ordinals {
                first_single: cohort.first_read + seeded.batch.singles_before,
                first_pair: (cohort.first_read + cohort.singles) / 2 + seeded.batch.pairs_before,
            };
            self.emit.push_back(EmitTask { seeded, model: model.clone(), ordinals });
        }
    }

    /// A batch has been emitted, which gives back what it held.
    pub(super) fn emitted(&mut self, sequence: u64, held_bytes: u64) {
        self.emitting.remove(&sequence);
        self.held_bytes -= held_bytes;
    }

    /// Whether the last batch is through; `true` once.
    pub(super) fn has_just_ended(&mut self) -> bool {
        let is_through = self.cut_everything() && self.cohorts.is_empty() && self.has_emitted_all();
        is_through && !std::mem::replace(&mut self.has_ended, true)
    }

    /// What candidates hold.
    pub(super) fn held_bytes(&self) -> u64 {
        self.held_bytes
    }

    /// What was found in BAM input.
    pub(super) fn bam_totals(&self) -> BamTotals {
        self.cutter.bam_totals()
    }

    /// Reads and templates of the input.
    pub(super) fn totals(&self) -> CutTotals {
        self.cutter.totals()
    }
}
