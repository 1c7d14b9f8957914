//! The scheduler under a simulated pool: workers that take and finish tasks in random order.
//! Nothing here runs at the same time; what is random is the order.

use super::*;
use crate::cohort::BATCH_READS;
use crate::engine::{EngineError, EngineReads, RecordSink};
use crate::test_input::{TestInput, TestRead};
use proptest::prelude::*;
use seqloom_testkit::random::Random;

/// One limit for both.
fn both(bytes: u64) -> HeldLimits {
    HeldLimits { ahead_bytes: bytes, cohort_bytes: bytes }
}

/// An engine of which only the types are used.
struct NoEngine;

impl AlignmentEngine for NoEngine {
    type Scratch = ();
    type Candidates = ();
    type Model = u64;

    fn scratch(&self) -> Result<(), EngineError> {
        Ok(())
    }

    fn seed_extend(&self, (): &mut (), _: &EngineReads<'_>) -> Result<(), EngineError> {
        Ok(())
    }

    fn infer_cohort(&self, _: &[()]) -> Result<u64, EngineError> {
        Ok(0)
    }

    fn emit(
        &self,
        (): &mut (),
        (): (),
        _: Option<&u64>,
        _: Ordinals,
        _: &mut dyn RecordSink,
    ) -> Result<(), EngineError> {
        Ok(())
    }

    fn held_bytes(&self, (): &()) -> u64 {
        0
    }

    fn longest_read_bases(&self) -> usize {
        usize::MAX
    }
}

/// What a worker is at; a fetch has its block already, which comes late.
enum Work {
    Fetch(Option<InputBlock>),
    /// A fetch that finds everything claimed by others.
    Busy,
    Other(Task<NoEngine>),
}

/// Memory of one read's candidates.
const READ_BYTES: u64 = 100;

struct Simulation<'a> {
    input: &'a TestInput,
    scheduler: Scheduler<'a, NoEngine>,
    workers: Vec<Option<Work>>,
    random: Random,
    /// Batches emitted, and being emitted, by sequence.
    emitted: BTreeSet<u64>,
    in_work: BTreeSet<u64>,
    next_emit: u64,
    next_cohort: u64,
    most_held_bytes: u64,
    /// Most blocks that waited for one in front of them.
    most_early_blocks: usize,
}

/// How often a fetch finds nothing.
const BUSY_SHARE: f64 = 0.2;

impl Simulation<'_> {
    /// Lets the workers run until all have left. One of them, a different one now and then,
    /// finishes nothing before all others wait for it.
    fn run(&mut self) {
        let workers = self.workers.len();
        let [mut left, mut waits] = [vec![false; workers], vec![false; workers]];
        let mut dawdler = self.random.index(workers);
        while !left.iter().all(|&left| left) {
            let at = self.random.index(workers);
            let others_wait = (0..workers).all(|i| i == at || left[i] || waits[i]);
            if left[at] || (at == dawdler && self.workers[at].is_some() && !others_wait) {
                continue;
            }
            match self.workers[at].take() {
                Some(work) => {
                    self.finish(work);
                    waits.fill(false);
                    if self.random.chance(0.1) {
                        dawdler = self.random.index(workers);
                    }
                }
                None => match self.scheduler.next_task() {
                    Ok(task) => self.workers[at] = Some(self.start(task)),
                    Err(Idle::Finished) => left[at] = true,
                    Err(Idle::Wait) => {
                        assert!(
                            self.workers.iter().any(Option::is_some),
                            "all wait for each other"
                        );
                        waits[at] = true;
                    }
                },
            }
            self.most_held_bytes = self.most_held_bytes.max(self.scheduler.held_bytes);
            let early = self.scheduler.cutter.early_blocks();
            self.most_early_blocks = self.most_early_blocks.max(early);
        }
    }

    fn start(&mut self, task: Task<NoEngine>) -> Work {
        match task {
            Task::Fetch if self.random.chance(BUSY_SHARE) => Work::Busy,
            Task::Fetch => Work::Fetch(self.input.fetch()),
            Task::Emit(task) => {
                self.start_emit(&task.seeded.batch);
                let batch = &task.seeded.batch;
                // Ordinals as bwa has them: `(n_processed + singles) / 2` pairs are in front.
                assert_eq!(*task.model, batch.cohort);
                assert!(task.ordinals.first_pair >= batch.pairs_before);
                Work::Other(Task::Emit(task))
            }
            Task::SeedAndEmit(batch) => {
                self.start_emit(&batch);
                Work::Other(Task::SeedAndEmit(batch))
            }
            other => Work::Other(other),
        }
    }

    fn start_emit(&mut self, batch: &Batch) {
        assert_eq!(batch.sequence, self.next_emit, "emitted in order");
        self.next_emit += 1;
        self.in_work.insert(batch.sequence);
        let oldest = *self.in_work.first().unwrap();
        let window = EMIT_AHEAD_PER_WORKER * self.workers.len() as u64;
        assert!(batch.sequence < oldest + window, "an ordered sink would hold too much");
    }

    fn finish(&mut self, work: Work) {
        match work {
            Work::Fetch(block) => self.scheduler.fetched(fetch_of(block)).unwrap(),
            Work::Busy => self.scheduler.fetched(Fetch::Busy).unwrap(),
            Work::Other(Task::Seed(batch)) => {
                let held_bytes = READ_BYTES * batch.reads as u64;
                let too_large = self.scheduler.seeded(Seeded { batch, candidates: (), held_bytes });
                assert_eq!(too_large, None);
            }
            Work::Other(Task::Infer(cohort, seeded)) => {
                assert_eq!(cohort.cohort, self.next_cohort, "inferred in order");
                self.next_cohort += 1;
                let indices = seeded.iter().map(|seeded| seeded.batch.index_in_cohort);
                assert!(indices.eq(0..cohort.batches), "whole and in order");
                self.scheduler.inferred(cohort, &Arc::new(cohort.cohort), seeded);
            }
            Work::Other(Task::Emit(task)) => {
                self.finish_emit(task.seeded.batch.sequence, task.seeded.held_bytes);
            }
            Work::Other(Task::SeedAndEmit(batch)) => self.finish_emit(batch.sequence, 0),
            Work::Other(Task::Fetch) => unreachable!("kept as Work::Fetch"),
        }
    }

    fn finish_emit(&mut self, sequence: u64, held_bytes: u64) {
        self.in_work.remove(&sequence);
        assert!(self.emitted.insert(sequence), "emitted once");
        self.scheduler.emitted(sequence, held_bytes);
    }
}

/// As many cores as workers, so that everybody may emit.
fn capacity(workers: usize) -> Capacity {
    Capacity { workers, cores: workers }
}

/// Runs `reads` through a scheduler; `limit_cohorts` is the memory limit in largest cohorts.
fn simulate(
    files: &[&[TestRead]],
    pairing: Pairing,
    cohort_bases: u64,
    capacity: Capacity,
    limit_cohorts: f64,
    seed: u64,
) {
    let workers = capacity.workers;
    let input = TestInput::new(files, 3000);
    // Reads have 10 bases or more, and the cohort ends with the pair that fills it.
    let cohort_bytes = (cohort_bases / 10 + 4) * READ_BYTES;
    let held_limit_bytes = (cohort_bytes as f64 * limit_cohorts) as u64;
    let cutter = CohortCutter::new(&input.source, pairing, cohort_bases);
    let mut simulation = Simulation {
        input: &input,
        scheduler: Scheduler::new(cutter, pairing, capacity, both(held_limit_bytes)),
        workers: (0..workers).map(|_| None).collect(),
        random: Random::new(seed),
        emitted: BTreeSet::new(),
        in_work: BTreeSet::new(),
        next_emit: 0,
        next_cohort: 0,
        most_held_bytes: 0,
        most_early_blocks: 0,
    };
    simulation.run();
    let scheduler = &simulation.scheduler;
    assert!(scheduler.cut_everything());
    let (reads, _, peak_held_bytes) = scheduler.totals();
    assert_eq!(reads, files.iter().map(|file| file.len() as u64).sum::<u64>());
    assert!(simulation.emitted.iter().copied().eq(0..simulation.emitted.len() as u64));
    assert_eq!(scheduler.held_bytes, 0);
    assert_eq!(peak_held_bytes, simulation.most_held_bytes);
    // Before the first batch is back nobody knows how much one holds.
    let unknown_bytes = (workers * (BATCH_READS + 1)) as u64 * READ_BYTES;
    let most_bytes = held_limit_bytes + unknown_bytes;
    assert!(peak_held_bytes <= most_bytes, "{peak_held_bytes} held, {held_limit_bytes} allowed");
    let supplied = workers.min(SUPPLIED_PER_CORE * capacity.cores);
    let most_fetches = (READY_PER_WORKER * supplied).div_ceil(BATCHES_PER_BLOCK) + 1;
    let most_early = EARLY_BLOCKS_PER_WORKER * supplied + most_fetches.min(workers);
    assert!(simulation.most_early_blocks < most_early);
}

fn reads(count: usize, random: &mut Random) -> Vec<TestRead> {
    let mut name = 0;
    (0..count)
        .map(|_| {
            name += u64::from(random.chance(0.6));
            (format!("r{name}"), random.between(10, 20) as usize)
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_batch_is_emitted_once_and_in_order_within_memory(
        seed in any::<u64>(),
        count in 0..15_000_usize,
        cohort_bases in prop_oneof![1..500_u64, 5_000..100_000_u64],
        workers in prop_oneof![Just(1_usize), 2..9_usize, Just(64)],
        cores in 1..9_usize,
        limit_cohorts in 1.0..3.0_f64,
    ) {
        let mut random = Random::new(seed);
        let first = reads(count, &mut random);
        let capacity = Capacity { workers, cores };
        let second: Vec<_> = first.iter().rev().cloned().collect();
        for pairing in [Pairing::Single, Pairing::Adjacent] {
            simulate(&[&first], pairing, cohort_bases, capacity, limit_cohorts, seed);
        }
        let both = [&first[..], &second];
        simulate(&both, Pairing::TwoFiles, cohort_bases, capacity, limit_cohorts, seed);
    }
}

#[test]
fn a_cohort_over_the_limit_is_told_by_its_own_size() {
    let mut random = Random::new(7);
    let file = reads(3000, &mut random);
    let input = TestInput::new(&[&file, &file], 1 << 20);
    let cutter = CohortCutter::new(&input.source, Pairing::TwoFiles, u64::MAX);
    let limit_bytes = 5 * BATCH_READS as u64 * READ_BYTES;
    let mut scheduler =
        Scheduler::<NoEngine>::new(cutter, Pairing::TwoFiles, capacity(1), both(limit_bytes));
    while let Some(block) = input.fetch() {
        scheduler.provided(block).unwrap();
    }
    for index in 0..6 {
        let batch = loop {
            match scheduler.next_task() {
                Ok(Task::Fetch) => scheduler.fetched(Fetch::End).unwrap(),
                Ok(Task::Seed(batch)) => break batch,
                _ => panic!("nothing else can be done"),
            }
        };
        let held_bytes = READ_BYTES * batch.reads as u64;
        let told = scheduler.seeded(Seeded { batch, candidates: (), held_bytes });
        assert_eq!(told, (index == 5).then_some(limit_bytes + BATCH_READS as u64 * READ_BYTES));
    }
}

#[test]
fn reads_that_never_come_are_no_reason_to_wait() {
    let mut random = Random::new(3);
    let file = reads(2000, &mut random);
    let input = TestInput::new(&[&file, &file], 3000);
    let cutter = CohortCutter::new(&input.source, Pairing::TwoFiles, 10_000);
    let mut scheduler =
        Scheduler::<NoEngine>::new(cutter, Pairing::TwoFiles, capacity(1), both(u64::MAX));
    let mut blocks: Vec<_> = std::iter::from_fn(|| input.fetch()).collect();
    // The source loses its last block.
    blocks.pop();
    blocks.into_iter().for_each(|block| scheduler.provided(block).unwrap());
    let finished = loop {
        match scheduler.next_task() {
            Ok(Task::Fetch) => scheduler.fetched(Fetch::End).unwrap(),
            Ok(Task::Seed(batch)) => {
                scheduler.seeded(Seeded { batch, candidates: (), held_bytes: 1 });
            }
            Ok(Task::Infer(cohort, seeded)) => scheduler.inferred(cohort, &Arc::new(0), seeded),
            Ok(Task::Emit(task)) => scheduler.emitted(task.seeded.batch.sequence, 1),
            Ok(Task::SeedAndEmit(_)) => unreachable!("reads are paired"),
            Err(idle) => break idle,
        }
    };
    assert_eq!(finished, Idle::Finished);
    assert!(!scheduler.cut_everything());
}

fn fetch_of(block: Option<InputBlock>) -> Fetch {
    block.map_or(Fetch::End, |block| Fetch::Block(Box::new(block)))
}

/// A scheduler of two cores and eight workers, with a whole number of cohorts of `cohort_batches`
/// batches in front of it, all cut.
fn cut_cohorts(input: &TestInput, cohort_batches: u64) -> Scheduler<'_, NoEngine> {
    let cohort_bases = cohort_batches * BATCH_READS as u64 * 10;
    let cutter = CohortCutter::new(&input.source, Pairing::TwoFiles, cohort_bases);
    let capacity = Capacity { workers: 8, cores: 2 };
    let mut scheduler =
        Scheduler::<NoEngine>::new(cutter, Pairing::TwoFiles, capacity, both(u64::MAX));
    while let Some(block) = input.fetch() {
        scheduler.provided(block).unwrap();
    }
    scheduler.start_fetch();
    scheduler.fetched(Fetch::End).unwrap();
    scheduler
}

/// Pairs of ten bases for so many batches.
fn pairs_for(batches: usize) -> Vec<TestRead> {
    (0..batches * BATCH_READS / 2).map(|i| (format!("r{i}"), 10)).collect()
}

/// Takes a task, which must be one of seeding, and finishes it.
fn seed_one(scheduler: &mut Scheduler<'_, NoEngine>) -> u64 {
    let Ok(Task::Seed(batch)) = scheduler.next_task() else { panic!("nothing to seed") };
    let sequence = batch.sequence;
    scheduler.seeded(Seeded { batch, candidates: (), held_bytes: 1 });
    sequence
}

/// Takes a task, which must be one of emission; the sequence of its batch.
fn start_emit(scheduler: &mut Scheduler<'_, NoEngine>) -> u64 {
    let Ok(Task::Emit(task)) = scheduler.next_task() else { panic!("nothing to emit") };
    task.seeded.batch.sequence
}

fn infer_one(scheduler: &mut Scheduler<'_, NoEngine>) {
    let Ok(Task::Infer(cohort, seeded)) = scheduler.next_task() else { panic!("no model due") };
    scheduler.inferred(cohort, &Arc::new(0), seeded);
}

#[test]
fn as_many_emit_as_there_are_cores_while_the_others_seed() {
    let file = pairs_for(8);
    let input = TestInput::new(&[&file, &file], 1 << 20);
    let mut scheduler = cut_cohorts(&input, 4);
    (0..4).for_each(|sequence| assert_eq!(seed_one(&mut scheduler), sequence));
    infer_one(&mut scheduler);
    assert_eq!([start_emit(&mut scheduler), start_emit(&mut scheduler)], [0, 1]);
    // The other six workers go on with the next cohort, and learn its model.
    (4..8).for_each(|sequence| assert_eq!(seed_one(&mut scheduler), sequence));
    infer_one(&mut scheduler);
    assert_eq!(scheduler.next_task().err(), Some(Idle::Wait));
    scheduler.emitted(1, 1);
    assert_eq!(start_emit(&mut scheduler), 2);
    assert_eq!(scheduler.next_task().err(), Some(Idle::Wait));
}

#[test]
fn everybody_emits_when_emission_lags() {
    let file = pairs_for(20);
    let input = TestInput::new(&[&file, &file], 1 << 20);
    let mut scheduler = cut_cohorts(&input, 4);
    for cohort in 0..4 {
        (0..4).for_each(|batch| assert_eq!(seed_one(&mut scheduler), 4 * cohort + batch));
        infer_one(&mut scheduler);
        // From now on both cores are taken by emission.
        if cohort == 0 {
            assert_eq!([start_emit(&mut scheduler), start_emit(&mut scheduler)], [0, 1]);
        }
    }
    // Fourteen wait: more than a cohort of four and a batch for each of eight workers.
    assert_eq!([start_emit(&mut scheduler), start_emit(&mut scheduler)], [2, 3]);
    assert_eq!(seed_one(&mut scheduler), 16);
}

/// Processor time of a batch, in seconds: as its input, while it is seeded, and to be emitted.
const FETCH_SECONDS: f64 = 0.4e-3;
const SEED_SECONDS: f64 = 0.2e-3;
const EMIT_SECONDS: f64 = 0.9e-3;
/// Events closer together than so many seconds are at the same time.
const TICK: f64 = 1e-9;

/// What a worker of the virtual machine is at.
enum Busy {
    /// Until it is so late, then the rest of seeding.
    Asleep(f64, Batch),
    /// Needs so much of a core still.
    Computing(f64, Task<NoEngine>),
}

/// Threads that sleep in the engine and share cores for all else, in virtual time. The seconds
/// between the models of the first and of the last cohort, and the batches of that time.
fn virtual_time(
    input: &TestInput,
    cohort_batches: u64,
    capacity: Capacity,
    sleep: f64,
) -> (f64, u64) {
    let cohort_bases = cohort_batches * BATCH_READS as u64;
    let cutter = CohortCutter::new(&input.source, Pairing::TwoFiles, cohort_bases);
    let limits = both(cohort_batches * BATCH_READS as u64 * READ_BYTES * 2);
    let mut scheduler = Scheduler::<NoEngine>::new(cutter, Pairing::TwoFiles, capacity, limits);
    let mut workers: Vec<Option<Busy>> = (0..capacity.workers).map(|_| None).collect();
    let (mut now, mut models) = (0.0, Vec::new());
    loop {
        for worker in workers.iter_mut().filter(|worker| worker.is_none()) {
            *worker = match scheduler.next_task() {
                Ok(Task::Seed(batch)) => Some(Busy::Asleep(now + sleep, batch)),
                Ok(Task::Fetch) => {
                    let batches = BLOCK_READS as f64 / BATCH_READS as f64;
                    Some(Busy::Computing(FETCH_SECONDS * batches, Task::Fetch))
                }
                Ok(task @ Task::Emit(_)) => Some(Busy::Computing(EMIT_SECONDS, task)),
                Ok(task) => Some(Busy::Computing(0.0, task)),
                Err(_) => break,
            };
        }
        let computing = |worker: &Option<Busy>| matches!(worker, Some(Busy::Computing(..)));
        let runnable = workers.iter().filter(|worker| computing(worker)).count();
        let share = (capacity.cores as f64 / runnable.max(1) as f64).min(1.0);
        let until = |busy: &Busy| match busy {
            Busy::Asleep(end, _) => end - now,
            Busy::Computing(rest, _) => rest / share,
        };
        let Some(step) = workers.iter().flatten().map(until).reduce(f64::min) else { break };
        now += step;
        for worker in &mut workers {
            *worker = match worker.take() {
                Some(Busy::Asleep(end, batch)) if end <= now + TICK => {
                    Some(Busy::Computing(SEED_SECONDS, Task::Seed(batch)))
                }
                Some(Busy::Computing(rest, task)) if rest / share <= step + TICK => {
                    if matches!(task, Task::Infer(..)) {
                        models.push(now);
                    }
                    finish_virtually(&mut scheduler, input, task);
                    None
                }
                Some(Busy::Computing(rest, task)) => {
                    Some(Busy::Computing(rest - step * share, task))
                }
                other => other,
            };
        }
    }
    assert!(scheduler.cut_everything());
    (models[models.len() - 1] - models[0], cohort_batches * (models.len() as u64 - 1))
}

fn finish_virtually(
    scheduler: &mut Scheduler<'_, NoEngine>,
    input: &TestInput,
    task: Task<NoEngine>,
) {
    match task {
        Task::Fetch => scheduler.fetched(fetch_of(input.fetch())).unwrap(),
        Task::Seed(batch) => {
            let held_bytes = READ_BYTES * batch.reads as u64;
            scheduler.seeded(Seeded { batch, candidates: (), held_bytes });
        }
        Task::Infer(cohort, seeded) => scheduler.inferred(cohort, &Arc::new(0), seeded),
        Task::Emit(task) => scheduler.emitted(task.seeded.batch.sequence, task.seeded.held_bytes),
        Task::SeedAndEmit(_) => unreachable!("reads are paired"),
    }
}

/// Reads of one block of one file.
const BLOCK_READS: usize = 2300;

/// Half of what two cores can carry is offered by 16 to 512 threads, and nearly all of it is done:
/// cohort after cohort, without the beginning and the end of the input.
#[test]
fn sleeping_threads_achieve_what_they_offer() {
    const COHORT_BATCHES: u64 = 1953;
    let file: Vec<TestRead> = vec![("r".to_owned(), 1); 4 * COHORT_BATCHES as usize * 256];
    for workers in [16, 64, 256, 512] {
        let input = TestInput::new(&[&file, &file], BLOCK_READS * 9);
        let capacity = Capacity { workers, cores: 2 };
        let own = FETCH_SECONDS + SEED_SECONDS + EMIT_SECONDS;
        // Two cores carry 2 / own batches a second.
        let sleep = workers as f64 * own - own;
        let (seconds, batches) = virtual_time(&input, COHORT_BATCHES, capacity, sleep);
        let offered = batches as f64 * (sleep + own) / workers as f64;
        eprintln!("{workers} threads: {:.3} of the offered load", offered / seconds);
        assert!(offered / seconds >= 0.95, "{workers} threads: {offered} of {seconds} s");
    }
}
