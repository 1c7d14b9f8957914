//! The ways to take reads from a file by many threads: Langmead 2018's O, D, B and L, and the
//! product's source, which has no lock.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use seqloom_format::ReadBlock;
use seqloom_format::bgzf::{self, BlockDecompressor};
use seqloom_format::fastq::{Grammar, ParseOptions, Stop, TextRange, parse};
use seqloom_io::reads::{BlockCheck, Fetch, FetchScratch, InputBlock, ReadSource, SourceOptions};
use seqloom_locks::{Kind, Lock, RawLock};
use seqloom_runtime::failure::lock;

use super::feed::Feed;
use super::trace::Trace;

/// Reads that are taken at once by B: the paper's 32.
pub(crate) const BATCH: usize = 32;
/// Least text of a chunk of BGZF: as much as makes its compressed bytes, a quarter of that, reach
/// over a start of a block wherever they are. No way takes less than a block.
const BGZF_UNIT_BYTES: usize = 4 * bgzf::MAX_BLOCK_BYTES;
/// Nodes that locks are built for; the threads run wherever they run.
const NODES: usize = 2;
/// A lock that is held for longer was held by a thread that lost its core: such holds are counted,
/// but their time is not the lock's.
const PREEMPTED_NS: u64 = 1_000_000;

/// A way to take reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// O: parsed inside the lock.
    Original,
    /// D: found inside the lock, parsed outside.
    Deferred,
    /// B: [`BATCH`] found inside the lock, parsed outside.
    Batch,
    /// L: a block of known size read inside the lock, parsed outside. Needs padded files.
    Blocked,
    /// The source of `seqloom align`: chunks claimed without a lock.
    Source,
}

impl Way {
    /// All, in the paper's order.
    pub(crate) const ALL: [Self; 5] =
        [Self::Original, Self::Deferred, Self::Batch, Self::Blocked, Self::Source];

    /// Its name in tables.
    #[must_use]
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Original => "O",
            Self::Deferred => "D",
            Self::Batch => "B",
            Self::Blocked => "L",
            Self::Source => "source",
        }
    }
}

/// What a thread keeps and counts.
#[derive(Default)]
pub(super) struct Worker {
    /// What was taken last, by input file; of all but the source.
    blocks: Vec<ReadBlock>,
    /// What was taken last from the source.
    claimed: Option<Box<InputBlock>>,
    done: Vec<ReadBlock>,
    /// Time that locks were held.
    pub(super) held_ns: u64,
    /// Times that they were.
    pub(super) holds: u64,
    /// Times left out of `held_ns`, because the thread had lost its core.
    pub(super) preempted: u64,
    /// When it was at a lock, if that is traced.
    pub(super) trace: Option<Trace>,
    raw: Vec<u8>,
    inflate: BlockDecompressor,
    scratch: FetchScratch,
}

impl Worker {
    /// For `files` input files, with a trace of what it does from `traced_from` on.
    #[must_use]
    pub(super) fn new(files: usize, traced_from: Option<Instant>) -> Self {
        let blocks = (0..files).map(|_| ReadBlock::default()).collect();
        Self { blocks, trace: traced_from.map(Trace::new), ..Self::default() }
    }

    /// The reads that were taken last.
    pub(super) fn taken(&self) -> impl Iterator<Item = &ReadBlock> {
        let claimed = self.claimed.iter().map(|block| &block.reads);
        self.blocks.iter().chain(claimed)
    }

    fn held_since(&mut self, taken: Instant, clock_ns: u64) {
        let held = taken.elapsed();
        let ns = (held.as_nanos() as u64).saturating_sub(clock_ns);
        self.holds += 1;
        if let Some(trace) = &mut self.trace {
            trace.held(taken, held);
        }
        if ns > PREEMPTED_NS {
            self.preempted += 1;
        } else {
            self.held_ns += ns;
        }
    }
}

/// What is read, and how.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    /// How.
    pub(super) way: Way,
    /// One file, or two of a pair.
    pub(super) files: Vec<PathBuf>,
    /// Whether they are BGZF.
    pub(super) is_bgzf: bool,
    /// Bytes read at a time; of L's plain files: bytes of a block.
    pub(super) unit_bytes: usize,
    /// The lock, of all but the source.
    pub(super) lock: Kind,
    /// Whether it is kept when each thread waits for the lock and has it.
    pub(super) is_traced: bool,
}

/// Blocks of the source that came out of order, and the check that they join.
struct Order {
    checks: Vec<BlockCheck>,
    waiting: BTreeMap<(usize, u64), Box<InputBlock>>,
}

enum Reading {
    Locked(Box<Lock<Vec<Feed>, Box<dyn RawLock>>>),
    Source(Box<(ReadSource, Mutex<Order>)>),
}

/// A plan under way, shared by all threads.
pub(super) struct Strategy {
    way: Way,
    is_bgzf: bool,
    reading: Reading,
    /// Relaxed: who sees it late takes the lock once more and finds nothing.
    ended: AtomicBool,
    /// What a look at the clock costs, which is in every hold.
    clock_ns: u64,
}

impl Strategy {
    /// Opens the files.
    ///
    /// # Errors
    /// In words.
    pub(super) fn open(plan: &Plan) -> Result<Self, String> {
        let reading = if plan.way == Way::Source {
            let least_bytes = if plan.is_bgzf { BGZF_UNIT_BYTES } else { 1 };
            let block_bytes = plan.unit_bytes.max(least_bytes);
            // Qualities are not looked at: workers give the reads back before the check.
            let assume_phred33 = true;
            let options = SourceOptions { block_bytes, assume_phred33, ..SourceOptions::default() };
            let source = ReadSource::open(&plan.files, options).map_err(|e| e.to_string())?;
            let files = 0..source.files();
            let checks = files.map(|file| BlockCheck::new(&source, file)).collect();
            let order = Order { checks, waiting: BTreeMap::new() };
            Reading::Source(Box::new((source, Mutex::new(order))))
        } else {
            let open = |path: &PathBuf| Feed::open(path, plan.is_bgzf, plan.unit_bytes);
            let feeds: Result<Vec<Feed>, _> = plan.files.iter().map(open).collect();
            let feeds = feeds.map_err(|error| error.to_string())?;
            Reading::Locked(Box::new(Lock::new(plan.lock.build(NODES), feeds)))
        };
        let ended = AtomicBool::new(false);
        let Plan { way, is_bgzf, .. } = *plan;
        Ok(Self { way, is_bgzf, reading, ended, clock_ns: clock_ns() })
    }

    /// Takes and parses the next reads ([`Worker::taken`]); false at the end. The source gives
    /// blocks of one file at a time.
    ///
    /// # Errors
    /// In words: malformed input, or files of a pair that do not agree.
    pub(super) fn next(&self, worker: &mut Worker) -> Result<bool, String> {
        for block in &mut worker.blocks {
            block.bytes.clear();
            block.reads.clear();
        }
        match &self.reading {
            Reading::Locked(feeds) => self.next_locked(feeds, worker),
            Reading::Source(source) => self.next_claimed(&source.0, &source.1, worker),
        }
    }

    fn next_locked(
        &self,
        feeds: &Lock<Vec<Feed>, Box<dyn RawLock>>,
        worker: &mut Worker,
    ) -> Result<bool, String> {
        if self.ended.load(Ordering::Relaxed) {
            return Ok(false);
        }
        if let Some(trace) = &mut worker.trace {
            trace.wait();
        }
        let more = feeds.with(|feeds| {
            let taken = Instant::now();
            let mut more = 0;
            for (feed, block) in feeds.iter_mut().zip(&mut worker.blocks) {
                let took = match self.way {
                    Way::Original => feed.parse_one(block),
                    Way::Deferred => feed.copy_records(1, &mut block.bytes),
                    Way::Batch => feed.copy_records(BATCH, &mut block.bytes),
                    Way::Blocked | Way::Source => feed.copy_block(&mut block.bytes),
                };
                more += usize::from(took.map_err(|error| error.to_string())?);
            }
            worker.held_since(taken, self.clock_ns);
            Ok::<_, String>(more)
        })?;
        if more == 0 {
            self.ended.store(true, Ordering::Relaxed);
            return Ok(false);
        }
        if self.way != Way::Original {
            self.parse_outside(worker)?;
        }
        let mut counts = worker.blocks.iter().map(|block| block.reads.len());
        let first = counts.next();
        match counts.all(|count| Some(count) == first) {
            true => Ok(true),
            false => Err("the files of the pair are not in step".to_owned()),
        }
    }

    fn parse_outside(&self, worker: &mut Worker) -> Result<(), String> {
        for block in &mut worker.blocks {
            if self.way == Way::Blocked && self.is_bgzf {
                std::mem::swap(&mut worker.raw, &mut block.bytes);
                block.bytes.clear();
                let inflated = worker.inflate.decompress(&worker.raw, &mut block.bytes);
                inflated.map_err(|error| error.to_string())?;
            }
            let range = TextRange { from: 0, limit: block.bytes.len(), at_eof: true };
            let parsed = parse(Grammar::FourLine, block, range, ParseOptions::default());
            if let Stop::Defect(defect) = parsed.stop {
                return Err(format!("record {}: {}", defect.record, defect.kind));
            }
        }
        Ok(())
    }

    fn next_claimed(
        &self,
        source: &ReadSource,
        order: &Mutex<Order>,
        worker: &mut Worker,
    ) -> Result<bool, String> {
        self.confirm(source, order, worker)?;
        loop {
            match source.fetch(&mut worker.scratch).map_err(|error| error.to_string())? {
                Fetch::Block(block) => {
                    worker.claimed = Some(block);
                    return Ok(true);
                }
                Fetch::Busy => std::thread::yield_now(),
                Fetch::End => return Ok(false),
            }
        }
    }

    /// Has the block that the worker is done with checked in its turn, as `align` does before
    /// anything of it counts. This is all that is done under a lock.
    fn confirm(
        &self,
        source: &ReadSource,
        order: &Mutex<Order>,
        worker: &mut Worker,
    ) -> Result<(), String> {
        let Some(mut block) = worker.claimed.take() else { return Ok(()) };
        if let Some(trace) = &mut worker.trace {
            trace.wait();
        }
        let mut order = lock(order);
        let taken = Instant::now();
        let file = block.file;
        // The engine is done with the reads. A thread without a core would have the blocks of all
        // others wait for its own, and with their reads they are many times the caches.
        worker.done.push(std::mem::take(&mut block.reads));
        order.waiting.insert((file, block.index), block);
        loop {
            let Order { checks, waiting } = &mut *order;
            let next = (file, checks[file].accepted());
            let Some(mut block) = waiting.remove(&next) else { break };
            checks[file].accept(source, &mut block).map_err(|error| error.to_string())?;
        }
        worker.held_since(taken, self.clock_ns);
        drop(order);
        worker.done.drain(..).for_each(|reads| source.recycle(reads));
        Ok(())
    }

    /// After all workers are done: how many reads each file had.
    ///
    /// # Errors
    /// In words: blocks that were never confirmed.
    pub(super) fn finish(self) -> Result<Vec<u64>, String> {
        let Reading::Source(source) = self.reading else { return Ok(Vec::new()) };
        let order = source.1.into_inner().unwrap_or_else(PoisonError::into_inner);
        match order.waiting.len() {
            0 => Ok(order.checks.iter().map(BlockCheck::records).collect()),
            left => Err(format!("{left} blocks were never confirmed")),
        }
    }
}

/// Nanoseconds of one look at the clock.
fn clock_ns() -> u64 {
    const LOOKS: u32 = 1000;
    let started = Instant::now();
    for _ in 0..LOOKS {
        std::hint::black_box(Instant::now());
    }
    started.elapsed().as_nanos() as u64 / u64::from(LOOKS)
}
