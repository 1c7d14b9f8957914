//! The hot path of `align` allocates no memory per read outside the engine: a run of as many
//! batches with twice the reads in each allocates hardly more often. The allocator of this program
//! counts.
//!
//! So it is with regions, by the certified path and without it.
//!
//! The flow is that of `seqloom align`, stage by stage, with the engine that does not align (which
//! allocates per batch): ingest, duplicates, sorting, BAM.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use seqloom_align::engine::bwa::{BwaEngine, BwaOptions, CertifiedOutcome, CertifiedReads};
use seqloom_align::engine::fake::{FakeEngine, FakeOptions};
use seqloom_align::engine::{CohortEngine, EngineReads, Read};
use seqloom_align::index::{self, BuildOptions, IndexPaths};
use seqloom_align::ingest::{
    self, BatchPart, BatchSink, HeldLimits, IngestOptions, IngestTrace, LaneEnd, LaneInput,
};
use seqloom_align::{Batch, Pairing, RecordTags};
use seqloom_format::PackedTemplates;
use seqloom_format::bam::{Header, Reference};
use seqloom_format::bam_deflate::Settings;
use seqloom_format::index::{BinningScheme, IndexBuilder};
use seqloom_io::Output;
use seqloom_io::reads::{ReadSource, SourceOptions};
use seqloom_io::spill::SpillFile;
use seqloom_prep::duplicates::{
    BarcodeTags, DuplicateMode, DuplicateOptions, LibraryTable, LocationSource, PicardVersion,
    ReadEndOptions, resolve_all,
};
use seqloom_prep::finish::{
    self, Encoding, FinishOptions, FinishTrace, OutputIndex, StoredRecords, UNIT_BYTES, UnitPlan,
};
use seqloom_prep::partition::{
    Backing, CollectError, Collected, Collector, Destination, EndCollector, GenomeBins, Grouping,
    PhaseResources, SortOrder, StoreScratch,
};
use seqloom_runtime::memory::Ledger;
use seqloom_runtime::placement::Plan;
use seqloom_testkit::genome::{Genome, GenomeOptions};
use seqloom_testkit::reads::{ReadOptions, Simulator, Template};

/// How often memory was allocated, or for more of it.
static CALLS: AtomicU64 = AtomicU64::new(0);

struct CountingAllocator;

// SAFETY: everything is the system's allocator's; counting does not touch memory.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        CALLS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        CALLS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(at, layout, size) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const BATCHES: u64 = 400;
const READ_BASES: u64 = 100;
/// Allocations for a read more. One for each of fifty reads would show; what remains are blocks
/// of input, chunks and units, of a thousand reads and more, and buffers that grow once more.
const MOST_PER_READ: f64 = 0.02;

/// Records to partitions, as `align` has it.
struct Sink<'a>(Collector<'a>);

impl BatchSink for Sink<'_> {
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
        self.0.collect(templates, scratch).map(|_| ())
    }

    fn end(&self, _: LaneEnd) {}
}

/// Two files of pairs; every tenth pair has the name, and so the place, of an earlier one.
fn write_pairs(folder: &Path, pairs: u64) -> Vec<PathBuf> {
    let count = READ_BASES as usize;
    let (bases, qualities) = ("ACGTA".repeat(count / 5), "I".repeat(count));
    let mut text = String::new();
    for pair in 0..pairs {
        let name = if pair % 10 == 9 { pair / 2 } else { pair };
        write!(text, "@m:1:f:1:1:{name:08}:1\n{bases}\n+\n{qualities}\n").unwrap();
    }
    let paths = ["1.fq", "2.fq"].map(|name| folder.join(name));
    paths.iter().for_each(|path| std::fs::write(path, &text).unwrap());
    paths.to_vec()
}

/// One worker; a cohort is a batch, so that all runs have as many of either.
fn ingest_options(batch_reads: u64) -> IngestOptions {
    IngestOptions {
        threads: NonZeroUsize::MIN,
        cores: NonZeroUsize::MIN,
        cohort_bases: batch_reads * READ_BASES,
        held_limits: HeldLimits::of_one_lane(64 << 20, 64 << 20),
        placement: Plan::none(1),
    }
}

/// Allocations of each phase of a run of [`BATCHES`] batches of `batch_reads` reads.
fn count(batch_reads: u64) -> [(&'static str, u64); 3] {
    let folder = tempfile::tempdir().unwrap();
    let files = write_pairs(folder.path(), BATCHES * batch_reads / 2);
    let threads = NonZeroUsize::MIN;
    let references =
        [5_000_000, 300_000].map(|length| Reference { name: format!("c{length}"), length });
    let lengths: Vec<u64> = references.iter().map(|r| r.length.into()).collect();
    let header = Header::from_references(references.to_vec());
    let bins = GenomeBins::new(header.references());
    let libraries = LibraryTable::new(&header).unwrap();
    let spill = SpillFile::create(&[folder.path().to_owned()]).unwrap();
    let backing = Backing { ledger: Ledger::new(1 << 30), spill };
    let ends = ReadEndOptions {
        mode: DuplicateMode::Query,
        locations: LocationSource::Illumina,
        barcodes: BarcodeTags::default(),
        picard: PicardVersion::default(),
    };
    let ends = EndCollector::new(&backing, 64 << 10, Grouping::Templates, &libraries, ends);
    let destination = Destination::by_coordinate(&bins);
    let sink = Sink(Collector::new(&backing, 64 << 10, destination, Some(ends)));
    let source = ReadSource::open(&files, SourceOptions::default()).unwrap();
    let engine = FakeEngine::new(FakeOptions::default(), lengths);
    let options = ingest_options(batch_reads);
    let trace = IngestTrace::default();
    let mut last = CALLS.load(Ordering::SeqCst);
    let mut since = || {
        let now = CALLS.load(Ordering::SeqCst);
        now - std::mem::replace(&mut last, now)
    };

    let tags = RecordTags { read_group: Some(b"a".to_vec()), ..RecordTags::default() };
    let lanes = vec![LaneInput { tags, ..LaneInput::whole(&source, Pairing::TwoFiles, &sink) }];
    let totals = ingest::run(lanes, &engine, &options, &trace, &|| Ok(())).unwrap().totals;
    let ingest = since();
    assert_eq!(totals.reads, BATCHES * batch_reads);

    let Collected { placed, by_ordinal, unplaced_with_position, ends } = sink.0.into_collected();
    let (mode, options) = (DuplicateMode::Query, DuplicateOptions::default());
    let ends = ends.unwrap();
    since();
    let resources = PhaseResources { backing: &backing, threads, watch: &|| Ok(()) };
    let resolved = resolve_all(ends, totals.templates, mode, &options, &resources);
    let (marks, _) = resolved.unwrap();
    let resolve = since();

    let scheme = BinningScheme::BAI;
    let mut outputs = [Output::create(&folder.path().join("x.bam")).unwrap()];
    let mut index = OutputIndex::Bins(IndexBuilder::new(scheme, header.references().len()));
    let stores = [&placed, &by_ordinal, &unplaced_with_position];
    let plan = UnitPlan::new(&stores, UNIT_BYTES);
    let stored = StoredRecords { stores: &stores, backing: &backing, marks: Some(&marks) };
    let options = FinishOptions {
        threads,
        order: SortOrder::Coordinate,
        encoding: Encoding::Bam { deflate: Settings::at_level(1), index: Some(scheme) },
        references: header.references(),
        referred: None,
        remove_duplicates: true,
        editor: None,
        visitor: None,
        trace: &FinishTrace::default(),
        watch: &|| Ok(()),
    };
    since();
    let finished =
        finish::run(&stored, plan.all(), &options, &mut outputs, Some(&mut index)).unwrap();
    let finish = since();
    assert_eq!(finished.records_written + finished.records_removed, totals.records);
    assert!(finished.records_removed > totals.records / 20, "{finished:?}");
    [("ingest", ingest), ("resolve", resolve), ("finish", finish)]
}

/// One test at a time counts.
static COUNTING: Mutex<()> = Mutex::new(());

/// Allocations for a read more on the certified path, of a batch at a time: vectors that grow once
/// more show.
const MOST_PER_READ_OF_BATCH: f64 = 0.1;

fn pair(template: &Template) -> [Read<'_>; 2] {
    template.reads.each_ref().map(|read| Read {
        name: &template.name,
        bases: &read.bases,
        qualities: Some(&read.qualities),
    })
}

#[test]
fn a_read_on_the_certified_path_allocates_no_memory() {
    let _alone = COUNTING.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let fasta = folder.path().join("genome.fa");
    let options = GenomeOptions { seed: 4, length_bp: 400_000, contigs: 1 };
    let genome = Genome::simulate(&options).unwrap();
    genome.write_fasta(&fasta).unwrap();
    let plan = index::plan(&fasta, &BuildOptions::default(), &|_, _| ()).unwrap();
    index::build(plan, &fasta, &|_, _| ()).unwrap();
    let info = index::check(&fasta).unwrap();
    let mut engine =
        BwaEngine::load(index::IndexSource::new(&fasta, &info), &BwaOptions::default()).unwrap();
    let counts = Arc::<CertifiedReads>::default();
    engine.certify(&IndexPaths::new(&fasta).fast(), counts.clone()).unwrap();

    let options = ReadOptions { templates: 256, ..ReadOptions::default() };
    let mut simulator = Simulator::new(&genome, &options).unwrap();
    let templates = std::iter::from_fn(|| simulator.next_template().cloned());
    let templates: Vec<Template> = templates.collect();
    let mut scratch = engine.scratch().unwrap();
    let mut count = |templates: &[Template]| {
        let reads = EngineReads { pairs: templates.iter().map(pair).collect(), singles: vec![] };
        let before = CALLS.load(Ordering::SeqCst);
        drop(engine.seed_extend(&mut scratch, &reads).unwrap());
        CALLS.load(Ordering::SeqCst) - before
    };
    count(&templates);
    let (few, many) = (count(&templates[..64]), count(&templates));
    let per_read = (many as f64 - few as f64) / (2.0 * 192.0);
    eprintln!("certified path: {few} allocations, then {many}: {per_read:.4} for a read more");
    assert!(per_read < MOST_PER_READ_OF_BATCH, "{few}, then {many}");
    assert!(
        counts.get(CertifiedOutcome::Chained) > 50 && counts.get(CertifiedOutcome::Certified) > 200
    );
}

#[test]
fn a_read_allocates_no_memory() {
    let _alone = COUNTING.lock().unwrap_or_else(PoisonError::into_inner);
    let allocations = CALLS.load(Ordering::SeqCst);
    drop(std::hint::black_box(vec![0u8; 100]));
    assert!(CALLS.load(Ordering::SeqCst) > allocations, "allocations are counted");
    let (few, many) = (count(256), count(512));
    let reads = (BATCHES * 256) as f64;
    for ((phase, few), (_, many)) in few.into_iter().zip(many) {
        let per_read = (many as f64 - few as f64) / reads;
        eprintln!("{phase}: {few} allocations, then {many}: {per_read:.4} for a read more");
        assert!(per_read < MOST_PER_READ, "{phase}: {few}, then {many}");
    }
}
