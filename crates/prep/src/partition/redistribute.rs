//! Records from partitions by ordinal to others: by name, for sort orders by name, and by number,
//! where lanes were read side by side.
//!
//! How many templates are before a lane is not known before all have been counted, so the
//! records without a coordinate of each lane are by themselves first. Names cannot be partitioned
//! before they are known, so records are ordered by ordinal first, while a [`NameSample`] is taken
//! of them. The sample is a function of the names alone (those with the smallest hashes), and so
//! are the splitters cut from it and the partitions that they bound: neither threads nor memory nor
//! arrival reach the bytes of the output.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use seqloom_format::bam::{RecordError, RecordRef};
use seqloom_format::{MalformedState, Persist};
use seqloom_io::spill::SpillError;
use seqloom_runtime::error::{Class, Place, RunError};
use seqloom_runtime::failure::lock;
use seqloom_runtime::pool::{self, Stopped};

use crate::hash::mix;
use crate::partition::frame::{frame_of, frames, template_of};
use crate::partition::numbers::TemplateNumbers;
use crate::partition::order::SortOrder;
use crate::partition::order::natural;
use crate::partition::store::{ChunkStore, PhaseResources, StoreScratch};

/// Names in a sample, at most: sixteen to a partition keep partitions within some 25 % of their
/// mean (the spread of a sum of sixteen intervals). About 3 MB.
const MAX_SAMPLE_NAMES: usize = 32 << 10;
/// Partitions by name, at most: as many as a genome has bins.
const MAX_PARTITIONS: u64 = 2048;
/// Bytes of records for which a partition is made.
const PARTITION_BYTES: u64 = 1 << 20;

/// Why records could not be redistributed.
#[derive(Debug, thiserror::Error)]
pub enum RedistributeError {
    /// A chunk could not be spilled or read back.
    #[error(transparent)]
    Spill(#[from] SpillError),
    /// A record is malformed, which can only be damage.
    #[error("a stored record is damaged: {0}")]
    Record(#[from] RecordError),
    /// The workers were stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

impl RunError for RedistributeError {
    fn class(&self) -> Class {
        match self {
            Self::Spill(spill) => spill.class(),
            Self::Record(_) => Class::Damaged,
            Self::Stopped(stop) => stop.class(),
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::Spill(spill) => spill.place(),
            Self::Record(_) | Self::Stopped(_) => Place::default(),
        }
    }
}

/// The names with the smallest hashes of all that were added, each once. Shared by all workers.
#[derive(Debug)]
pub struct NameSample {
    max_names: usize,
    /// No name with a greater hash can enter any more. It only falls, and changes under the lock of
    /// `names`. Relaxed: who sees an older value takes the lock for nothing, and looks again there.
    max_hash: AtomicU64,
    names: Mutex<BTreeSet<(u64, Box<[u8]>)>>,
}

impl Default for NameSample {
    fn default() -> Self {
        Self::new(MAX_SAMPLE_NAMES)
    }
}

impl NameSample {
    /// An empty sample of at most `max_names` (at least one).
    fn new(max_names: usize) -> Self {
        let max_names = max_names.max(1);
        Self { max_names, max_hash: AtomicU64::new(u64::MAX), names: Mutex::default() }
    }

    /// Adds the name of a record. Costs its hash, but for the first names and about one in
    /// (names so far / sample size) after them.
    pub fn add(&self, name: &[u8]) {
        let hash = hash_of(name);
        if hash > self.max_hash.load(Ordering::Relaxed) {
            return;
        }
        let mut names = lock(&self.names);
        if names.len() == self.max_names && names.last().is_some_and(|last| last.0 < hash) {
            return;
        }
        names.insert((hash, name.into()));
        if names.len() > self.max_names {
            names.pop_last();
        }
        if names.len() == self.max_names
            && let Some((hash, _)) = names.last()
        {
            self.max_hash.store(*hash, Ordering::Relaxed);
        }
    }

    /// Texts of the names in `order`, sorted.
    fn texts(&self, order: SortOrder) -> Vec<Vec<u8>> {
        let mut texts = Vec::new();
        for (_, name) in lock(&self.names).iter() {
            match order {
                SortOrder::QueryName => {
                    let mut text = Vec::new();
                    natural::append_text(name, &mut text);
                    texts.push(text);
                }
                // Either strand.
                SortOrder::CoordinatePicard => {
                    texts.extend([0, 1].map(|strand| [&[strand], &name[..]].concat()));
                }
                _ => texts.push(name.to_vec()),
            }
        }
        texts.sort_unstable();
        texts.dedup();
        texts
    }
}

impl Persist for NameSample {
    fn save(&self, out: &mut Vec<u8>) {
        let names: Vec<(u64, Box<[u8]>)> = lock(&self.names).iter().cloned().collect();
        (self.max_names, self.max_hash.load(Ordering::Relaxed)).save(out);
        names.save(out);
    }

    fn load(bytes: &mut &[u8]) -> Result<Self, MalformedState> {
        let (max_names, max_hash) = <(usize, u64)>::load(bytes)?;
        let names = Vec::load(bytes)?.into_iter().collect();
        Ok(Self { max_names, max_hash: AtomicU64::new(max_hash), names: Mutex::new(names) })
    }
}

/// A hash that is the same everywhere: words of eight bytes, each mixed in.
fn hash_of(name: &[u8]) -> u64 {
    name.chunks(8).fold(name.len() as u64, |hash, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        mix(hash ^ u64::from_le_bytes(word))
    })
}

/// Bounds between partitions: the first text of every partition but the first.
#[derive(Debug)]
struct Splitters(Vec<Vec<u8>>);

impl Splitters {
    /// Splitters of at most `partitions` partitions of about equal shares of `texts`, which are
    /// sorted.
    fn new(texts: Vec<Vec<u8>>, partitions: usize) -> Self {
        let count = texts.len();
        let mut splitters = texts;
        let mut index = 0;
        splitters.retain(|_| {
            // Keep the first text of each share but the first share.
            let share = |i: usize| i * partitions / count;
            let is_first = index > 0 && share(index) != share(index - 1);
            index += 1;
            is_first
        });
        Self(splitters)
    }

    fn partitions(&self) -> usize {
        self.0.len() + 1
    }

    fn partition_of(&self, text: &[u8]) -> usize {
        self.0.partition_point(|splitter| &splitter[..] <= text)
    }
}

/// Moves all records of `from`, which are ordered by ordinal, to a store whose partitions follow
/// each other as names do in `order`: one by name, or [`SortOrder::CoordinatePicard`] for its
/// records without a reference. `names` has seen the name of every record. Memory and spilled data
/// are read chunk by chunk; what does not fit the ledger in its new place is spilled (again).
///
/// Records of one name share a partition, however many they are: the finish phase merges what is
/// too large for memory.
///
/// # Errors
/// The first failure of any worker.
pub(crate) fn by_name<'a>(
    from: ChunkStore<'a>,
    names: &NameSample,
    order: SortOrder,
    resources: &PhaseResources<'a, '_>,
) -> Result<ChunkStore<'a>, RedistributeError> {
    let sources = from.partitions();
    let bytes: u64 = (0..sources).map(|partition| from.bytes(partition)).sum();
    let partitions = (bytes / PARTITION_BYTES).clamp(1, MAX_PARTITIONS) as usize;
    let splitters = Splitters::new(names.texts(order), partitions);
    let to = ChunkStore::of_records(resources.backing, from.chunk_bytes());
    // Every new partition gets an open chunk as soon as its first record comes.
    let open_bytes = (splitters.partitions() * from.chunk_bytes()) as u64;
    from.spill_for(open_bytes, &mut StoreScratch::new()?)?;
    let placer = || ByName { order, splitters: &splitters, text: Vec::new() };
    move_all(&from, &to, placer, resources)?;
    Ok(to)
}

/// Moves all records of `from`, those without a coordinate of several lanes, which are ordered by
/// ordinal, to a store where they are ordered by their templates' numbers in the whole input: as if
/// the lanes had been one.
///
/// # Errors
/// The first failure of any worker.
pub(crate) fn by_number<'a>(
    from: ChunkStore<'a>,
    numbers: &TemplateNumbers,
    resources: &PhaseResources<'a, '_>,
) -> Result<ChunkStore<'a>, RedistributeError> {
    let to = ChunkStore::of_records(resources.backing, from.chunk_bytes());
    let placer = || ByNumber { numbers, open: None };
    move_all(&from, &to, placer, resources)?;
    Ok(to)
}

/// Destination of one worker's records.
trait RecordPlacer {
    /// The new partition of a record.
    fn place(&mut self, ordinal: u64, body: &[u8]) -> Result<usize, RecordError>;

    /// A partition has been moved, all of it to this store.
    fn moved(&mut self, _to: &ChunkStore<'_>) {}
}

struct ByName<'m> {
    order: SortOrder,
    splitters: &'m Splitters,
    text: Vec<u8>,
}

impl RecordPlacer for ByName<'_> {
    fn place(&mut self, _ordinal: u64, body: &[u8]) -> Result<usize, RecordError> {
        self.text.clear();
        self.order.append_text(&RecordRef::new(body)?, &mut self.text);
        Ok(self.splitters.partition_of(&self.text))
    }
}

struct ByNumber<'m> {
    numbers: &'m TemplateNumbers,
    /// First and last of the partitions that records came to.
    open: Option<(usize, usize)>,
}

impl RecordPlacer for ByNumber<'_> {
    fn place(&mut self, ordinal: u64, _body: &[u8]) -> Result<usize, RecordError> {
        let bin = self.numbers.ordinal_bin(template_of(ordinal));
        let (first, last) = self.open.unwrap_or((bin, bin));
        self.open = Some((first.min(bin), last.max(bin)));
        Ok(bin)
    }

    /// A bin of a lane goes to two, and there is no limit to their number: they must not keep an
    /// open chunk each.
    fn moved(&mut self, to: &ChunkStore<'_>) {
        if let Some((first, last)) = self.open.take() {
            (first..=last).for_each(|bin| to.close(bin));
        }
    }
}

/// Moves all records of one store to another, each where the `placer` of the worker says.
fn move_all<P: RecordPlacer + Send>(
    from: &ChunkStore<'_>,
    to: &ChunkStore<'_>,
    placer: impl Fn() -> P + Sync,
    resources: &PhaseResources<'_, '_>,
) -> Result<(), RedistributeError> {
    let &PhaseResources { backing, threads, watch } = resources;
    let worker = |_| Ok((placer(), StoreScratch::new()?));
    pool::for_each(threads, 0..from.partitions(), watch, worker, |(placer, scratch), source| {
        for chunk in from.take(source) {
            let loaded = chunk.load(backing, scratch)?;
            for (_, ordinal, body) in frames(&loaded.bytes) {
                let partition = placer.place(ordinal, body)?;
                to.append(partition, &[&frame_of(ordinal, body), body], scratch)?;
            }
        }
        placer.moved(to);
        Ok(())
    })
    .map(drop)
}

#[cfg(test)]
#[path = "redistribute_tests.rs"]
mod tests;
