//! Lanes and their schedulers under a simulated pool: workers that take and finish tasks in random
//! order. Nothing here runs at the same time; what is random is the order.

use super::super::scheduler::{
    BATCHES_PER_BLOCK, EARLY_BLOCKS_PER_WORKER, EMIT_AHEAD_PER_WORKER, READY_PER_WORKER,
    SUPPLIED_PER_CORE,
};
use super::*;
use crate::cohort::{BATCH_READS, Batch, CohortCutter, Pairing};
use crate::engine::{EngineError, EngineReads, RecordSink, SeededBatch};
use crate::input::error::CohortError;
use crate::test_input::{TestInput, TestRead};
use proptest::prelude::*;
use seqloom_io::reads::InputBlock;
use seqloom_testkit::random::Random;
use std::collections::BTreeSet;
use std::num::NonZeroUsize;

/// One limit for both.
fn both(bytes: u64) -> HeldLimits {
    HeldLimits::of_one_lane(bytes, bytes)
}

fn scheduler_of<'a>(
    input: &'a TestInput,
    (pairing, cohort_bases): (Pairing, u64),
    (capacity, limits): (Capacity, HeldLimits),
) -> Scheduler<'a, NoEngine> {
    let cutter = CohortCutter::new(&input.source, pairing, cohort_bases);
    Scheduler::new(cutter, pairing, Some(&NoEngine), capacity, limits)
}

/// One lane, of which `blocks` are there.
fn one_lane<'a>(
    input: &'a TestInput,
    (pairing, cohort_bases): (Pairing, u64),
    (capacity, limits): (Capacity, HeldLimits),
    blocks: impl IntoIterator<Item = InputBlock>,
) -> LaneScheduler<'a, NoEngine> {
    let mut scheduler = scheduler_of(input, (pairing, cohort_bases), (capacity, limits));
    blocks.into_iter().for_each(|block| scheduler.provided(block));
    LaneScheduler::new(vec![scheduler], capacity, limits)
}

/// An engine of which only the types are used.
struct NoEngine;

impl CohortEngine for NoEngine {
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
        _: SeededBatch<'_, Self>,
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

/// What a worker is at, and for which lane; a fetch has its block already, which comes late.
enum Work<'a> {
    Fetch(Option<InputBlock>),
    /// A fetch that finds everything claimed by others.
    Busy,
    Other(Task<'a, NoEngine>),
}

/// Memory of one read's candidates.
const READ_BYTES: u64 = 100;

struct Simulation<'a> {
    inputs: &'a [TestInput],
    lanes: LaneScheduler<'a, NoEngine>,
    workers: Vec<Option<(usize, Work<'a>)>>,
    random: Random,
    /// How each lane is.
    seen: Vec<Seen>,
    /// A lane that fails with a fetch, sooner or later.
    fails: Option<usize>,
    has_failed: bool,
    most_held_bytes: u64,
    most_held_other_lanes_bytes: u64,
    /// Most blocks of a lane that waited for one before them.
    most_early_blocks: usize,
}

/// What was seen of a lane.
#[derive(Default)]
struct Seen {
    /// Batches emitted, and being emitted, by sequence.
    emitted: BTreeSet<u64>,
    in_work: BTreeSet<u64>,
    next_emit: u64,
    next_cohort: u64,
    ends: u32,
}

/// How often a fetch finds nothing.
const BUSY_SHARE: f64 = 0.2;

impl<'a> Simulation<'a> {
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
                Some((lane, work)) => {
                    self.finish(lane, work);
                    waits.fill(false);
                    if self.random.chance(0.1) {
                        dawdler = self.random.index(workers);
                    }
                }
                None => match self.lanes.next_task() {
                    Ok((lane, task)) => self.workers[at] = Some((lane, self.start(lane, task))),
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
            self.look();
        }
    }

    fn look(&mut self) {
        let held = self.lanes.all().iter().map(Scheduler::held_bytes);
        self.most_held_bytes = self.most_held_bytes.max(held.clone().sum());
        let first = self.lanes.open.first().copied().unwrap_or_default();
        self.most_held_other_lanes_bytes =
            self.most_held_other_lanes_bytes.max(held.skip(first + 1).sum());
        let early = self.lanes.all().iter().map(|lane| lane.load().early).max();
        self.most_early_blocks = self.most_early_blocks.max(early.unwrap_or_default());
        assert!(self.lanes.open.is_sorted());
        assert!(self.lanes.open.len() <= self.lanes.limits.lanes.get());
    }

    fn start(&mut self, lane: usize, task: Task<'a, NoEngine>) -> Work<'a> {
        match task {
            Task::Fetch if self.random.chance(BUSY_SHARE) => Work::Busy,
            Task::Fetch => Work::Fetch(self.inputs[lane].fetch()),
            Task::Emit(&NoEngine, task) => {
                self.start_emit(lane, &task.seeded.batch);
                let batch = &task.seeded.batch;
                // Ordinals as bwa has them: `(n_processed + singles) / 2` pairs come first.
                assert_eq!(*task.model, batch.cohort);
                assert!(task.ordinals.first_pair >= batch.pairs_before);
                Work::Other(Task::Emit(&NoEngine, task))
            }
            Task::Align(batch) => {
                self.start_emit(lane, &batch);
                Work::Other(Task::Align(batch))
            }
            other => Work::Other(other),
        }
    }

    fn start_emit(&mut self, lane: usize, batch: &Batch) {
        let seen = &mut self.seen[lane];
        assert_eq!(batch.sequence, seen.next_emit, "emitted in order");
        seen.next_emit += 1;
        seen.in_work.insert(batch.sequence);
        let oldest = *seen.in_work.first().unwrap();
        let window = EMIT_AHEAD_PER_WORKER * self.workers.len() as u64;
        assert!(batch.sequence < oldest + window, "an ordered sink would hold too much");
    }

    fn finish(&mut self, lane: usize, work: Work<'a>) {
        match work {
            Work::Fetch(_) if self.fails == Some(lane) && self.random.chance(0.3) => {
                self.has_failed = true;
                self.lanes.give_up(lane);
            }
            Work::Fetch(block) => self.finish_fetch(lane, fetch_of(block)),
            Work::Busy => self.finish_fetch(lane, Fetch::Busy),
            Work::Other(Task::Seed(&NoEngine, batch)) => {
                let held_bytes = READ_BYTES * batch.reads as u64;
                let seeded = Seeded { batch, candidates: (), held_bytes };
                assert_eq!(self.lanes.seeded(lane, seeded), None);
            }
            Work::Other(Task::Infer(&NoEngine, cohort, seeded)) => {
                let seen = &mut self.seen[lane];
                assert_eq!(cohort.cohort, seen.next_cohort, "inferred in order");
                seen.next_cohort += 1;
                let indices = seeded.iter().map(|seeded| seeded.batch.index_in_cohort);
                assert!(indices.eq(0..cohort.batches), "whole and in order");
                self.lanes.inferred(lane, cohort, &Arc::new(cohort.cohort), seeded);
            }
            Work::Other(Task::Emit(&NoEngine, task)) => {
                self.finish_emit(lane, task.seeded.batch.sequence, task.seeded.held_bytes);
            }
            Work::Other(Task::Align(batch)) => self.finish_emit(lane, batch.sequence, 0),
            Work::Other(Task::Fetch) => unreachable!("kept as Work::Fetch"),
            Work::Other(Task::Fail(_, error)) => panic!("{error}"),
        }
    }

    fn finish_fetch(&mut self, lane: usize, fetched: Fetch) {
        let has_ended = self.lanes.fetched(lane, fetched);
        self.seen[lane].ends += u32::from(has_ended);
    }

    fn finish_emit(&mut self, lane: usize, sequence: u64, held_bytes: u64) {
        let seen = &mut self.seen[lane];
        seen.in_work.remove(&sequence);
        assert!(seen.emitted.insert(sequence), "emitted once");
        let has_ended = self.lanes.emitted(lane, sequence, held_bytes);
        seen.ends += u32::from(has_ended);
    }
}

/// As many cores as workers, so that everybody may emit.
fn capacity(workers: usize) -> Capacity {
    Capacity { workers, cores: workers }
}

/// How a simulation is set up.
#[derive(Clone, Copy)]
struct Setup {
    pairing: Pairing,
    cohort_bases: u64,
    capacity: Capacity,
    /// Limit of the first lane's memory, and of what the others hold, in largest cohorts.
    limit_cohorts: [f64; 2],
    side_by_side: usize,
    fails: Option<usize>,
    seed: u64,
}

/// Runs the reads of all lanes, by file, through their schedulers.
fn simulate(lanes: &[Vec<&[TestRead]>], setup: Setup) {
    let Setup { pairing, cohort_bases, capacity, fails, seed, .. } = setup;
    let workers = capacity.workers;
    let inputs: Vec<_> = lanes.iter().map(|files| TestInput::new(files, 3000)).collect();
    // Reads have 10 bases or more, and the cohort ends with the pair that fills it.
    let cohort_bytes = (cohort_bases / 10 + 4) * READ_BYTES;
    let bytes = setup.limit_cohorts.map(|cohorts| (cohort_bytes as f64 * cohorts) as u64);
    let side_by_side = NonZeroUsize::new(setup.side_by_side).unwrap();
    let limits = HeldLimits { lanes: side_by_side, other_lanes_bytes: bytes[1], ..both(bytes[0]) };
    let cohorts = (pairing, cohort_bases);
    let scheduler = |input| scheduler_of(input, cohorts, (capacity, limits));
    let schedulers = inputs.iter().map(scheduler).collect();
    let mut simulation = Simulation {
        inputs: &inputs,
        lanes: LaneScheduler::new(schedulers, capacity, limits),
        workers: (0..workers).map(|_| None).collect(),
        random: Random::new(seed),
        seen: lanes.iter().map(|_| Seen::default()).collect(),
        fails,
        has_failed: false,
        most_held_bytes: 0,
        most_held_other_lanes_bytes: 0,
        most_early_blocks: 0,
    };
    simulation.run();
    let whole = if simulation.has_failed { fails.unwrap() } else { lanes.len() };
    assert_eq!(simulation.lanes.all().len(), whole);
    for (lane, scheduler) in simulation.lanes.all().iter().enumerate() {
        assert!(scheduler.cut_everything());
        assert_eq!(
            scheduler.totals().reads,
            lanes[lane].iter().map(|file| file.len() as u64).sum::<u64>()
        );
        let Seen { emitted, ends, .. } = &simulation.seen[lane];
        assert!(emitted.iter().copied().eq(0..emitted.len() as u64));
        assert_eq!((scheduler.held_bytes(), *ends), (0, 1), "{lane}");
    }
    let peak_held_bytes = simulation.lanes.peak_held_bytes();
    assert_eq!(peak_held_bytes, simulation.most_held_bytes);
    // Before the first batch of a lane is back nobody knows how much one holds.
    let unknown_bytes = (workers * (BATCH_READS + 1)) as u64 * READ_BYTES;
    let most_bytes = bytes[0] + bytes[1] + unknown_bytes;
    assert!(peak_held_bytes <= most_bytes, "{peak_held_bytes} held, {bytes:?} allowed");
    let other_lanes_bytes = simulation.most_held_other_lanes_bytes;
    assert!(
        other_lanes_bytes <= bytes[1] + unknown_bytes,
        "{other_lanes_bytes} held, {bytes:?} allowed"
    );
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
        let setup = Setup {
            pairing: Pairing::Single,
            cohort_bases,
            capacity,
            limit_cohorts: [limit_cohorts, 0.0],
            side_by_side: 1,
            fails: None,
            seed,
        };
        for pairing in [Pairing::Single, Pairing::Adjacent] {
            simulate(&[vec![&first]], Setup { pairing, ..setup });
        }
        let both = vec![&first[..], &second];
        simulate(&[both], Setup { pairing: Pairing::TwoFiles, ..setup });
    }

    #[test]
    fn lanes_side_by_side_are_each_as_alone_and_within_memory(
        seed in any::<u64>(),
        counts in prop::collection::vec(prop_oneof![0..3_usize, 0..4000_usize], 1..7),
        cohort_bases in prop_oneof![1..500_u64, 5_000..50_000_u64],
        workers in prop_oneof![Just(1_usize), 2..9_usize, Just(64)],
        side_by_side in 1..7_usize,
        limit_cohorts in [1.0..2.0_f64, 0.0..4.0_f64],
        fails in prop::option::of(0..7_usize),
    ) {
        let mut random = Random::new(seed);
        let files: Vec<_> = counts.iter().map(|count| reads(*count, &mut random)).collect();
        let capacity = Capacity { workers, cores: 1 + workers / 2 };
        let setup = |pairing| {
            let fails = fails.filter(|lane| *lane < files.len());
            Setup { pairing, cohort_bases, capacity, limit_cohorts, side_by_side, fails, seed }
        };
        let single: Vec<_> = files.iter().map(|file| vec![&file[..]]).collect();
        for pairing in [Pairing::Single, Pairing::Adjacent] {
            simulate(&single, setup(pairing));
        }
        let pairs: Vec<_> = files.iter().map(|file| vec![&file[..], file]).collect();
        simulate(&pairs, setup(Pairing::TwoFiles));
    }
}

#[test]
fn a_cohort_over_the_limit_is_reported_by_its_own_size() {
    let mut random = Random::new(7);
    let file = reads(3000, &mut random);
    let input = TestInput::new(&[&file, &file], 1 << 20);
    let limit_bytes = 5 * BATCH_READS as u64 * READ_BYTES;
    let blocks = std::iter::from_fn(|| input.fetch());
    let cohorts = (Pairing::TwoFiles, u64::MAX);
    let mut lanes = one_lane(&input, cohorts, (capacity(1), both(limit_bytes)), blocks);
    for index in 0..6 {
        let batch = loop {
            match lanes.next_task() {
                Ok((0, Task::Fetch)) => assert!(!lanes.fetched(0, Fetch::End)),
                Ok((0, Task::Seed(&NoEngine, batch))) => break batch,
                _ => panic!("nothing else can be done"),
            }
        };
        let held_bytes = READ_BYTES * batch.reads as u64;
        let reported = lanes.seeded(0, Seeded { batch, candidates: (), held_bytes });
        assert_eq!(reported, (index == 5).then_some(limit_bytes + BATCH_READS as u64 * READ_BYTES));
    }
}

#[test]
fn reads_that_never_come_are_no_reason_to_wait() {
    let mut random = Random::new(3);
    let file = reads(2000, &mut random);
    let input = TestInput::new(&[&file, &file], 3000);
    let mut blocks: Vec<_> = std::iter::from_fn(|| input.fetch()).collect();
    // The source loses its last block.
    blocks.pop();
    let cohorts = (Pairing::TwoFiles, 10_000);
    let mut lanes = one_lane(&input, cohorts, (capacity(1), both(u64::MAX)), blocks);
    let finished = loop {
        match lanes.next_task() {
            Ok((_, task)) => finish_virtually(&mut lanes, None, task),
            Err(idle) => break idle,
        }
    };
    assert_eq!(finished, Idle::Finished);
    assert!(!lanes.all()[0].cut_everything());
}

#[test]
fn what_is_wrong_with_the_input_is_reported_after_all_pairs_before_it() {
    let mut random = Random::new(5);
    let long = reads(2000, &mut random);
    let short = &long[..1990];
    for round in 0..60 {
        let files: [&[TestRead]; 2] = if round % 2 == 0 { [&long, short] } else { [short, &long] };
        let input = TestInput::new(&files, 3000 + 500 * round);
        let cohorts = (Pairing::TwoFiles, u64::MAX);
        let mut lanes = one_lane(&input, cohorts, (capacity(3), both(u64::MAX)), []);
        let (mut out, mut seeded) = (Vec::new(), 0);
        let (sequence, error) = loop {
            match lanes.next_task() {
                Ok((_, Task::Fetch)) => out.push(fetch_of(input.fetch())),
                Ok((_, Task::Fail(sequence, error))) => break (sequence, error),
                Ok((_, task)) => {
                    seeded += 1;
                    finish_virtually(&mut lanes, None, task);
                }
                Err(idle) => {
                    assert_eq!(idle, Idle::Wait);
                    let back = out.swap_remove(random.index(out.len()));
                    assert!(!lanes.fetched(0, back));
                }
            }
        };
        assert!(matches!(error, CohortError::UnequalCounts { records: 1990, .. }), "{error}");
        let batches = 1990_u64.div_ceil(BATCH_READS as u64 / 2);
        assert_eq!((sequence, seeded), (batches, batches), "round {round}");
        assert!(out.is_empty(), "what was on its way was waited for");
    }
}

#[test]
fn others_have_what_the_first_lane_leaves() {
    let file = pairs_for(8);
    let inputs = [0, 1, 2].map(|_| TestInput::new(&[&file, &file], 1 << 20));
    let capacity = capacity(4);
    let bytes = BATCH_READS as u64;
    let two = NonZeroUsize::new(2).unwrap();
    let limits = HeldLimits { lanes: two, other_lanes_bytes: 2 * bytes, ..both(u64::MAX) };
    let mut lanes = Vec::new();
    for input in &inputs {
        let cohorts = (Pairing::TwoFiles, bytes * 10 * 4);
        let mut scheduler = scheduler_of(input, cohorts, (capacity, limits));
        std::iter::from_fn(|| input.fetch()).for_each(|it| scheduler.provided(it));
        lanes.push(scheduler);
    }
    let mut lanes = LaneScheduler::new(lanes, capacity, limits);
    let seed = |lanes: &mut LaneScheduler<'_, NoEngine>, from: usize| {
        let Ok((lane, Task::Seed(&NoEngine, batch))) = lanes.next_task() else {
            panic!("nothing to seed")
        };
        assert_eq!(lane, from);
        lanes.seeded(lane, Seeded { batch, candidates: (), held_bytes: bytes });
    };
    // All of the first lane's first cohort, whose model is due before anything else.
    (0..4).for_each(|_| seed(&mut lanes, 0));
    let Ok((0, Task::Infer(&NoEngine, cohort, seeded))) = lanes.next_task() else {
        panic!("no model due")
    };
    (0..4).for_each(|_| seed(&mut lanes, 0));
    // The first has nothing left; the second has until its memory is used up; the third is closed.
    (0..2).for_each(|_| seed(&mut lanes, 1));
    assert_eq!(lanes.next_task().err(), Some(Idle::Wait));
    assert_eq!(lanes.open, [0, 1]);
    // The second fails: the first goes on to its end.
    lanes.give_up(1);
    lanes.inferred(0, cohort, &Arc::new(0), seeded);
    let mut ends = 0;
    while let Ok((0, task)) = lanes.next_task() {
        match task {
            Task::Emit(&NoEngine, task) => {
                let batch = &task.seeded.batch;
                ends += u32::from(lanes.emitted(0, batch.sequence, task.seeded.held_bytes));
            }
            task => finish_virtually(&mut lanes, None, task),
        }
    }
    assert_eq!((lanes.next_task().err(), ends), (Some(Idle::Finished), 1));
    assert!(!lanes.emitted(1, 0, 0) && !lanes.fetched(2, Fetch::End));
}

fn fetch_of(block: Option<InputBlock>) -> Fetch {
    block.map_or(Fetch::End, |block| Fetch::Block(Box::new(block)))
}

/// A lane of two cores and eight workers, with a whole number of cohorts of `cohort_batches`
/// batches before it, all cut.
fn cut_cohorts(input: &TestInput, cohort_batches: u64) -> LaneScheduler<'_, NoEngine> {
    let cohort_bases = cohort_batches * BATCH_READS as u64 * 10;
    let capacity = Capacity { workers: 8, cores: 2 };
    let blocks = std::iter::from_fn(|| input.fetch());
    one_lane(input, (Pairing::TwoFiles, cohort_bases), (capacity, both(u64::MAX)), blocks)
}

/// Pairs of ten bases for so many batches.
fn pairs_for(batches: usize) -> Vec<TestRead> {
    (0..batches * BATCH_READS / 2).map(|i| (format!("r{i}"), 10)).collect()
}

/// Takes a task, which must be one of seeding, and finishes it.
fn seed_one(lanes: &mut LaneScheduler<'_, NoEngine>) -> u64 {
    let Ok((0, Task::Seed(&NoEngine, batch))) = lanes.next_task() else {
        panic!("nothing to seed")
    };
    let sequence = batch.sequence;
    lanes.seeded(0, Seeded { batch, candidates: (), held_bytes: 1 });
    sequence
}

/// Takes a task, which must be one of emission; the sequence of its batch.
fn start_emit(lanes: &mut LaneScheduler<'_, NoEngine>) -> u64 {
    let Ok((0, Task::Emit(&NoEngine, task))) = lanes.next_task() else { panic!("nothing to emit") };
    task.seeded.batch.sequence
}

fn infer_one(lanes: &mut LaneScheduler<'_, NoEngine>) {
    let Ok((0, Task::Infer(&NoEngine, cohort, seeded))) = lanes.next_task() else {
        panic!("no model due")
    };
    lanes.inferred(0, cohort, &Arc::new(0), seeded);
}

#[test]
fn as_many_emit_as_there_are_cores_while_the_others_seed() {
    let file = pairs_for(8);
    let input = TestInput::new(&[&file, &file], 1 << 20);
    let mut lanes = cut_cohorts(&input, 4);
    (0..4).for_each(|sequence| assert_eq!(seed_one(&mut lanes), sequence));
    infer_one(&mut lanes);
    assert_eq!([start_emit(&mut lanes), start_emit(&mut lanes)], [0, 1]);
    // The other six workers go on with the next cohort, and learn its model.
    (4..8).for_each(|sequence| assert_eq!(seed_one(&mut lanes), sequence));
    infer_one(&mut lanes);
    assert_eq!(lanes.next_task().err(), Some(Idle::Wait));
    lanes.emitted(0, 1, 1);
    assert_eq!(start_emit(&mut lanes), 2);
    assert_eq!(lanes.next_task().err(), Some(Idle::Wait));
}

#[test]
fn everybody_emits_when_emission_lags() {
    let file = pairs_for(20);
    let input = TestInput::new(&[&file, &file], 1 << 20);
    let mut lanes = cut_cohorts(&input, 4);
    for cohort in 0..4 {
        (0..4).for_each(|batch| assert_eq!(seed_one(&mut lanes), 4 * cohort + batch));
        infer_one(&mut lanes);
        // From now on both cores are taken by emission.
        if cohort == 0 {
            assert_eq!([start_emit(&mut lanes), start_emit(&mut lanes)], [0, 1]);
        }
    }
    // Fourteen wait: more than a cohort of four and a batch for each of eight workers.
    assert_eq!([start_emit(&mut lanes), start_emit(&mut lanes)], [2, 3]);
    assert_eq!(seed_one(&mut lanes), 16);
}

/// Processor time of a batch, in seconds: as its input, while it is seeded, and to be emitted.
const FETCH_SECONDS: f64 = 0.4e-3;
const SEED_SECONDS: f64 = 0.2e-3;
const EMIT_SECONDS: f64 = 0.9e-3;
/// Events closer together than so many seconds are at the same time.
const TICK: f64 = 1e-9;

/// What a worker of the virtual machine is at.
enum Busy<'a> {
    /// Until it is so late, then the rest of seeding.
    Asleep(f64, Batch),
    /// Needs so much of a core still.
    Computing(f64, Task<'a, NoEngine>),
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
    let limits = both(cohort_batches * BATCH_READS as u64 * READ_BYTES * 2);
    let mut lanes = one_lane(input, (Pairing::TwoFiles, cohort_bases), (capacity, limits), None);
    let mut workers: Vec<Option<Busy<'_>>> = (0..capacity.workers).map(|_| None).collect();
    let (mut now, mut models) = (0.0, Vec::new());
    loop {
        for worker in workers.iter_mut().filter(|worker| worker.is_none()) {
            *worker = match lanes.next_task().map(|(_, task)| task) {
                Ok(Task::Seed(&NoEngine, batch)) => Some(Busy::Asleep(now + sleep, batch)),
                Ok(Task::Fetch) => {
                    let batches = BLOCK_READS as f64 / BATCH_READS as f64;
                    Some(Busy::Computing(FETCH_SECONDS * batches, Task::Fetch))
                }
                Ok(task @ Task::Emit(..)) => Some(Busy::Computing(EMIT_SECONDS, task)),
                Ok(task) => Some(Busy::Computing(0.0, task)),
                Err(_) => break,
            };
        }
        let computing = |worker: &Option<Busy<'_>>| matches!(worker, Some(Busy::Computing(..)));
        let runnable = workers.iter().filter(|worker| computing(worker)).count();
        let share = (capacity.cores as f64 / runnable.max(1) as f64).min(1.0);
        let until = |busy: &Busy<'_>| match busy {
            Busy::Asleep(end, _) => end - now,
            Busy::Computing(rest, _) => rest / share,
        };
        let Some(step) = workers.iter().flatten().map(until).reduce(f64::min) else { break };
        now += step;
        for worker in &mut workers {
            *worker = match worker.take() {
                Some(Busy::Asleep(end, batch)) if end <= now + TICK => {
                    Some(Busy::Computing(SEED_SECONDS, Task::Seed(&NoEngine, batch)))
                }
                Some(Busy::Computing(rest, task)) if rest / share <= step + TICK => {
                    if matches!(task, Task::Infer(..)) {
                        models.push(now);
                    }
                    finish_virtually(&mut lanes, Some(input), task);
                    None
                }
                Some(Busy::Computing(rest, task)) => {
                    Some(Busy::Computing(rest - step * share, task))
                }
                other => other,
            };
        }
    }
    assert!(lanes.all()[0].cut_everything());
    (models[models.len() - 1] - models[0], cohort_batches * (models.len() as u64 - 1))
}

/// Finishes a task of the only lane, or the first one; without an input there is nothing more.
fn finish_virtually(
    lanes: &mut LaneScheduler<'_, NoEngine>,
    input: Option<&TestInput>,
    task: Task<'_, NoEngine>,
) {
    match task {
        Task::Fetch => {
            let fetched = fetch_of(input.and_then(TestInput::fetch));
            lanes.fetched(0, fetched);
        }
        Task::Seed(&NoEngine, batch) => {
            let held_bytes = READ_BYTES * batch.reads as u64;
            lanes.seeded(0, Seeded { batch, candidates: (), held_bytes });
        }
        Task::Infer(&NoEngine, cohort, seeded) => lanes.inferred(0, cohort, &Arc::new(0), seeded),
        Task::Emit(&NoEngine, task) => {
            lanes.emitted(0, task.seeded.batch.sequence, task.seeded.held_bytes);
        }
        Task::Align(_) => unreachable!("reads are paired"),
        Task::Fail(_, error) => panic!("{error}"),
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
