//! Exchange files: what one process has collected of its part of the input, for the processes that
//! find duplicates and finish the output.
//!
//! ```text
//! magic | pieces, partition by partition, store by store | table | where the table is, its CRC32
//! ```
//!
//! Pieces are those of a spill file, so that a reader has them as spilled chunks of its own stores:
//! nothing is copied, and a worker reads a piece when its unit is due. Within a partition records
//! are in the order of their ordinals and read ends in that of their bytes, and pieces are cut by
//! size alone: *the bytes of the file depend on what was collected and on nothing else*.
//!
//! A partition is put in order in memory: the largest bin of the part must fit.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use seqloom_format::{Persist, persist_fields};
use seqloom_io::spill::{Content, SpillError, SpillExtent, SpillFile, SpillScratch};
use seqloom_io::{Output, OutputError};
use seqloom_runtime::admission::AdmissionControl;
use seqloom_runtime::error::{Class, Place, RunError};
use seqloom_runtime::failure::lock;
use seqloom_runtime::memory::Ledger;
use seqloom_runtime::order::Ordered;
use seqloom_runtime::pool::Stopped;

use crate::duplicates::metrics::DuplicationCounters;
use crate::duplicates::read_end::ReadEndOptions;
use crate::duplicates::{FragmentEnd, LibraryTable, PairEnds, PairedEndMarker};
use crate::partition::collect::{Collected, EndCollector, Grouping, SavedCollection};
use crate::partition::frame::frames;
use crate::partition::store::{
    Backing, ChunkStore, HeldChunk, PhaseResources, SavedPartition, SavedStore, StoreScratch,
};

/// First bytes of a file.
const MAGIC: &[u8; 19] = b"seqloom exchange 2\n";
/// Last bytes of a file.
const END: &[u8; 8] = b"exchend\n";
/// Raw bytes after which a piece ends, at the next record.
const PIECE_BYTES: usize = 1 << 20;
/// After the table: its offset, size and CRC32, and the last bytes.
const FOOTER_BYTES: usize = 8 + 8 + 4 + END.len();
/// Partitions in work, per worker.
const IN_FLIGHT_PER_WORKER: usize = 2;

/// Why an exchange file could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum ExchangeError {
    /// A chunk could not be read back or compressed.
    #[error(transparent)]
    Spill(#[from] SpillError),
    /// The file could not be written.
    #[error(transparent)]
    Write(#[from] OutputError),
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// It is not as it was written.
    #[error("{} is damaged: {problem}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What shows that it is damaged.
        problem: &'static str,
    },
    /// The workers were stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

impl RunError for ExchangeError {
    fn class(&self) -> Class {
        match self {
            Self::Spill(spill) => spill.class(),
            Self::Write(output) => output.class(),
            Self::Read { .. } => Class::Output,
            Self::Damaged { .. } => Class::Damaged,
            Self::Stopped(stop) => stop.class(),
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::Spill(spill) => spill.place(),
            Self::Write(output) => output.place(),
            Self::Read { path, .. } | Self::Damaged { path, .. } => Place::of(path),
            Self::Stopped(_) => Place::default(),
        }
    }
}

/// Counts of the part's reads and records.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PartTotals {
    /// Reads of the part.
    pub reads: u64,
    /// Templates of the part.
    pub templates: u64,
    /// Records made of them.
    pub records: u64,
    /// Reads that were not searched for, as they are too short.
    pub reads_too_short: u64,
    /// Reads that are not searched for because they are too long.
    pub reads_too_long: u64,
}

persist_fields!(PartTotals { reads, templates, records, reads_too_short, reads_too_long });

/// The table at the end of a file.
struct Contents {
    totals: PartTotals,
    collection: SavedCollection,
}

persist_fields!(Contents { totals, collection });

/// How the entries of a store are distinguished.
#[derive(Debug, Clone, Copy)]
enum EntryLayout {
    /// Framed records.
    Framed,
    /// Of this many bytes each.
    Fixed(usize),
}

impl EntryLayout {
    fn content(self) -> Content {
        match self {
            Self::Framed => Content::Records,
            Self::Fixed(_) => Content::Bytes,
        }
    }
}

/// A partition that is to be written.
struct PackTask<'s, 'a> {
    store: &'s ChunkStore<'a>,
    entries: EntryLayout,
    /// Among all stores.
    store_index: usize,
    partition: usize,
    bytes: u64,
}

/// A partition as it is written: extents count from the start of `packed`.
struct Packed {
    task: usize,
    packed: Vec<u8>,
    extents: Vec<SpillExtent>,
}

/// The file as far as it is written.
struct Written<'a> {
    out: &'a mut Output,
    /// By store.
    stores: Vec<Vec<SavedPartition>>,
}

/// Writes all that was collected to `out`, which is empty; so are the stores afterwards.
///
/// # Errors
/// The first failure of any worker.
pub fn write(
    collected: &Collected<'_>,
    totals: PartTotals,
    out: &mut Output,
    resources: &PhaseResources<'_, '_>,
) -> Result<(), ExchangeError> {
    let &PhaseResources { backing, threads, watch } = resources;
    let tasks = tasks(collected);
    out.write(MAGIC)?;
    let stores = collected.stores().iter().map(|_| Vec::new()).collect();
    let written = Mutex::new(Written { out, stores });
    let control = AdmissionControl::new(&backing.ledger, IN_FLIGHT_PER_WORKER * threads.get());
    let ordered = Ordered::default();
    // Chunks read back, their entries in order, and what does not compress.
    let cost = |ticket: u64| tasks.get(usize::try_from(ticket).ok()?).map(|it| 4 * it.bytes);
    let worker = |_| Ok(PackScratch::new()?);
    control.run(threads, watch, cost, worker, |scratch, pass| {
        let index = pass.ticket() as usize;
        let packed = pack(index, &tasks[index], backing, scratch)?;
        ordered.deposit(pass.ticket(), (packed, pass), |(packed, pass)| {
            lock(&written).append(packed, &tasks)?;
            drop(pass);
            Ok::<_, ExchangeError>(())
        })
    })?;
    let Written { out, stores } =
        written.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut stores = stores.into_iter();
    let collection = collected.saved_as(|_| SavedStore(stores.next().unwrap_or_default()));
    let table = Contents { totals, collection }.to_state();
    Ok(end_file(out, &table)?)
}

fn end_file(out: &mut Output, table: &[u8]) -> Result<(), OutputError> {
    let mut footer = (out.written_bytes(), table.len() as u64).to_state();
    crc32fast::hash(table).save(&mut footer);
    footer.extend_from_slice(END);
    out.write(table)?;
    out.write(&footer)
}

fn tasks<'s, 'a>(collected: &'s Collected<'a>) -> Vec<PackTask<'s, 'a>> {
    use EntryLayout::Framed;
    let umi_form = collected.ends.as_ref().map(EndCollector::umi_form);
    let fixed = |form: usize| EntryLayout::Fixed(umi_form.map_or(form, |it| it.entry_bytes(form)));
    let ends = [PairEnds::BYTES, FragmentEnd::BYTES, PairedEndMarker::BYTES].map(fixed);
    let entries = [Framed; 3].into_iter().chain(ends);
    let stores = collected.stores().into_iter().zip(entries).enumerate();
    let of_store = |(store_index, (store, entries)): (usize, (&'s ChunkStore<'a>, EntryLayout))| {
        let task = move |partition: usize| {
            let bytes = store.bytes(partition);
            PackTask { store, entries, store_index, partition, bytes }
        };
        (0..store.partitions()).map(task).filter(|task| task.bytes > 0)
    };
    stores.flat_map(of_store).collect()
}

impl Written<'_> {
    fn append(&mut self, packed: Packed, tasks: &[PackTask<'_, '_>]) -> Result<(), ExchangeError> {
        let offset = self.out.written_bytes();
        self.out.write(&packed.packed)?;
        let PackTask { store_index, partition, bytes, .. } = tasks[packed.task];
        let chunks = packed.extents.iter().map(|extent| extent.moved_by(offset)).collect();
        self.stores[store_index].push(SavedPartition { partition, bytes, chunks });
        Ok(())
    }
}

/// Working memory of one worker.
struct PackScratch {
    store: StoreScratch,
    spill: SpillScratch,
    /// The piece at hand.
    piece: Vec<u8>,
}

impl PackScratch {
    fn new() -> Result<Self, SpillError> {
        Ok(Self { store: StoreScratch::new()?, spill: SpillScratch::new()?, piece: Vec::new() })
    }
}

/// Loads a partition, puts it in order and compresses it in pieces.
fn pack(
    index: usize,
    task: &PackTask<'_, '_>,
    backing: &Backing,
    scratch: &mut PackScratch,
) -> Result<Packed, ExchangeError> {
    let PackScratch { store, spill, piece } = scratch;
    let chunks = task.store.take(task.partition).into_iter();
    let load = |chunk: crate::partition::store::Chunk| chunk.load(backing, store);
    let loaded = chunks.map(load).collect::<Result<Vec<_>, _>>()?;
    let mut packed = Packed { task: index, packed: Vec::new(), extents: Vec::new() };
    let content = task.entries.content();
    piece.clear();
    for entry in in_order(&loaded, task.entries) {
        piece.extend_from_slice(entry);
        if piece.len() >= PIECE_BYTES {
            packed.extents.push(SpillExtent::pack((piece, content), spill, &mut packed.packed)?);
            piece.clear();
        }
    }
    if !piece.is_empty() {
        packed.extents.push(SpillExtent::pack((piece, content), spill, &mut packed.packed)?);
    }
    Ok(packed)
}

/// The entries of a partition in an order that their bytes alone decide.
fn in_order(loaded: &[HeldChunk], entries: EntryLayout) -> Vec<&[u8]> {
    match entries {
        EntryLayout::Fixed(bytes) => {
            let chunks = loaded.iter().flat_map(|it| it.bytes.chunks_exact(bytes));
            let mut all: Vec<&[u8]> = chunks.collect();
            all.sort_unstable();
            all
        }
        EntryLayout::Framed => {
            let records = loaded.iter().flat_map(|it| {
                let whole = |(at, ordinal, body): (usize, u64, &[u8])| {
                    let end = at + crate::partition::frame::FRAME_BYTES + body.len();
                    (ordinal, &it.bytes[at..end])
                };
                frames(&it.bytes).map(whole)
            });
            let mut all: Vec<(u64, &[u8])> = records.collect();
            all.sort_unstable_by_key(|(ordinal, _)| *ordinal);
            all.into_iter().map(|(_, record)| record).collect()
        }
    }
}

/// An opened exchange file.
pub struct Exchange {
    path: PathBuf,
    file: File,
    contents: Contents,
}

impl Exchange {
    /// Opens a file and reads its table. Pieces are checked when they are read.
    ///
    /// # Errors
    /// A file that cannot be read, or is not as it was written.
    pub fn open(path: &Path) -> Result<Self, ExchangeError> {
        let failed = |source| ExchangeError::Read { path: path.to_owned(), source };
        let damaged =
            |problem: &'static str| ExchangeError::Damaged { path: path.to_owned(), problem };
        let file = File::open(path).map_err(failed)?;
        let size = file.metadata().map_err(failed)?.len();
        let Some(footer_at) = size.checked_sub(FOOTER_BYTES as u64) else {
            return Err(damaged("it is too short"));
        };
        let (mut magic, mut footer) = ([0; MAGIC.len()], [0; FOOTER_BYTES]);
        file.read_exact_at(&mut footer, footer_at).map_err(failed)?;
        file.read_exact_at(&mut magic, 0).map_err(failed)?;
        if &magic != MAGIC || !footer.ends_with(END) {
            return Err(damaged("it does not start and end as such a file"));
        }
        let mut rest = &footer[..];
        let place = <((u64, u64), u32)>::load(&mut rest);
        let Ok(((offset, bytes), checksum)) = place else { return Err(damaged("its footer")) };
        if offset.checked_add(bytes) != Some(footer_at) {
            return Err(damaged("its table is not where it should be"));
        }
        let mut table = vec![0; bytes as usize];
        file.read_exact_at(&mut table, offset).map_err(failed)?;
        if crc32fast::hash(&table) != checksum {
            return Err(damaged("the checksum of its table differs"));
        }
        let contents = Contents::from_state(&table);
        let contents = contents.map_err(|_| damaged("its table is malformed"))?;
        Ok(Self { path: path.to_owned(), file, contents })
    }

    /// Counts of the part's reads and records.
    #[must_use]
    pub fn totals(&self) -> PartTotals {
        self.contents.totals
    }
}

/// The exchange files of all parts, in the order of the parts.
pub struct Exchanges(Vec<Exchange>);

impl Exchanges {
    /// Of these files.
    #[must_use]
    pub fn new(exchanges: Vec<Exchange>) -> Self {
        Self(exchanges)
    }

    /// Of all parts together.
    #[must_use]
    pub fn totals(&self) -> PartTotals {
        let mut sum = PartTotals::default();
        for part in self.0.iter().map(Exchange::totals) {
            sum.reads += part.reads;
            sum.templates += part.templates;
            sum.records += part.records;
            sum.reads_too_short += part.reads_too_short;
            sum.reads_too_long += part.reads_too_long;
        }
        sum
    }

    /// Counts of the read ends, made while they were collected.
    #[must_use]
    pub fn counters(&self, libraries: &LibraryTable) -> DuplicationCounters {
        let mut sum = DuplicationCounters::new(libraries.libraries().len());
        for ends in self.0.iter().filter_map(|it| it.contents.collection.ends.as_ref()) {
            sum.merge(&ends.counters);
        }
        sum
    }

    /// Memory and spill file; chunks are read from the exchange files.
    ///
    /// # Errors
    /// A folder that cannot be written to.
    pub fn backing(&self, ledger: Ledger, folders: &[PathBuf]) -> Result<Backing, ExchangeError> {
        let source = |it: &Exchange| match it.file.try_clone() {
            Ok(file) => Ok((it.path.clone(), file)),
            Err(source) => Err(ExchangeError::Read { path: it.path.clone(), source }),
        };
        let sources = self.0.iter().map(source).collect::<Result<Vec<_>, _>>()?;
        Ok(Backing { ledger, spill: SpillFile::with_sources(folders, sources)? })
    }

    /// The records of all parts: those with a place, without one, and without a reference; of each
    /// store those partitions that are `requested`.
    ///
    /// # Errors
    /// A file that is damaged.
    pub fn records<'a>(
        &self,
        backing: &'a Backing,
        chunk_bytes: usize,
        requested: impl Fn(usize, usize) -> bool,
    ) -> Result<[ChunkStore<'a>; 3], ExchangeError> {
        let stores = std::array::from_fn(|_| ChunkStore::of_records(backing, chunk_bytes));
        for (source, it) in self.0.iter().enumerate() {
            let SavedCollection { placed, by_ordinal, unplaced_with_position, .. } =
                &it.contents.collection;
            let saved = [placed, by_ordinal, unplaced_with_position].into_iter().enumerate();
            for (store, (index, saved)) in stores.iter().zip(saved) {
                restore(store, saved, (source, it), backing, |it| requested(index, it))?;
            }
        }
        Ok(stores)
    }

    /// The read ends of some partitions.
    ///
    /// # Errors
    /// A file that is damaged.
    pub fn ends<'a>(
        &self,
        (backing, chunk_bytes): (&'a Backing, usize),
        (libraries, options): (&'a LibraryTable, ReadEndOptions),
        requested: impl Fn(usize) -> bool,
    ) -> Result<EndCollector<'a>, ExchangeError> {
        let collector =
            EndCollector::new(backing, chunk_bytes, Grouping::Templates, libraries, options);
        for (source, it) in self.0.iter().enumerate() {
            let Some(ends) = &it.contents.collection.ends else { continue };
            let EndCollector { pairs, fragments, markers, .. } = &collector;
            let saved = [&ends.pairs, &ends.fragments, &ends.markers];
            for (store, saved) in [pairs, fragments, markers].into_iter().zip(saved) {
                restore(store, saved, (source, it), backing, &requested)?;
            }
        }
        Ok(collector)
    }
}

/// Adds the partitions that are requested, as chunks of source number `source`.
fn restore(
    store: &ChunkStore<'_>,
    saved: &SavedStore,
    (source, exchange): (usize, &Exchange),
    backing: &Backing,
    requested: impl Fn(usize) -> bool,
) -> Result<(), ExchangeError> {
    let foreign = |extent: &SpillExtent| backing.spill.in_source(source, *extent);
    let partition = |it: &SavedPartition| SavedPartition {
        partition: it.partition,
        bytes: it.bytes,
        chunks: it.chunks.iter().map(foreign).collect(),
    };
    let requested = saved.0.iter().filter(|it| requested(it.partition)).map(partition).collect();
    store.restore(SavedStore(requested)).map_err(|_| ExchangeError::Damaged {
        path: exchange.path.clone(),
        problem: "its table names a partition that no store has",
    })
}
