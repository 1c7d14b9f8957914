//! Ours: a BAM file sorted by the phases that a command strings together.

use std::num::NonZeroUsize;
use std::path::Path;

use seqloom_format::bam::{Header, RecordRef, Reference};
use seqloom_format::bam_deflate::Settings;
use seqloom_format::bgzf::{BlockCompressor, EOF_BLOCK};
use seqloom_io::Output;
use seqloom_io::spill::SpillFile;
use seqloom_runtime::memory::Ledger;
use seqloom_testkit::bam::{BamReader, BamRecord};

use crate::finish::encode::Encoding;
use crate::finish::{self, FinishOptions, FinishTrace, StoredRecords};
use crate::partition::genome_bins::{GenomeBins, RecordBin};
use crate::partition::order::SortOrder;
use crate::partition::redistribute::{NameSample, by_name};
use crate::partition::store::{Backing, ChunkStore, PhaseResources, StoreScratch};

/// How to sort.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setup {
    pub(crate) threads: usize,
    pub(crate) memory_bytes: u64,
    pub(crate) chunk_bytes: usize,
}

/// A BAM file in memory.
pub(crate) struct Input {
    references: Vec<Reference>,
    bodies: Vec<Vec<u8>>,
}

impl Input {
    pub(crate) fn read(path: &Path) -> Self {
        let mut reader = BamReader::open(path).unwrap();
        let reference =
            |(name, length): &(String, u32)| Reference { name: name.clone(), length: *length };
        let references = reader.references.iter().map(reference).collect();
        let mut bodies = Vec::new();
        let mut record = BamRecord::default();
        while reader.read(&mut record).unwrap() {
            bodies.push(record.bytes.clone());
        }
        Self { references, bodies }
    }
}

/// The records of a BAM file, without the bin field, which tools compute differently for records
/// without a coordinate.
pub(crate) fn records(path: &Path) -> Vec<Vec<u8>> {
    let mut bodies = Input::read(path).bodies;
    bodies.iter_mut().for_each(|body| body[10..12].fill(0));
    bodies
}

/// Records on their way.
struct Stores<'a> {
    placed: ChunkStore<'a>,
    by_ordinal: ChunkStore<'a>,
    unplaced_with_position: ChunkStore<'a>,
    names: NameSample,
}

/// Collects all records; workers take every n-th batch.
fn collect<'a>(input: &Input, order: SortOrder, setup: &Setup, backing: &'a Backing) -> Stores<'a> {
    let store = || ChunkStore::new(backing, setup.chunk_bytes);
    let (placed, by_ordinal, unplaced_with_position) = (store(), store(), store());
    let stores =
        Stores { placed, by_ordinal, unplaced_with_position, names: NameSample::default() };
    let bins = GenomeBins::new(&input.references);
    let batches: Vec<_> = input.bodies.chunks(300).zip((0..).step_by(300)).collect();
    std::thread::scope(|scope| {
        for worker in 0..setup.threads {
            let (stores, batches, bins) = (&stores, &batches, &bins);
            scope.spawn(move || {
                let mut scratch = StoreScratch::new().unwrap();
                for (bodies, first) in batches.iter().skip(worker).step_by(setup.threads) {
                    for (body, template) in bodies.iter().zip(*first..) {
                        put(stores, bins, order, template, body, &mut scratch);
                    }
                }
            });
        }
    });
    stores
}

fn put(
    stores: &Stores<'_>,
    bins: &GenomeBins,
    order: SortOrder,
    template: u64,
    body: &[u8],
    scratch: &mut StoreScratch,
) {
    let record = RecordRef::new(body).unwrap();
    let (ordinal, size) = ((template << 16).to_le_bytes(), (body.len() as u32).to_le_bytes());
    let (store, bin) = match bins.bin_of_record(order, template as usize >> 14, &record) {
        RecordBin::Placed(bin) => (&stores.placed, bin),
        RecordBin::ByOrdinal(bin) => {
            stores.names.add(record.name());
            (&stores.by_ordinal, bin)
        }
        RecordBin::UnplacedWithPosition(bin) => (&stores.unplaced_with_position, bin),
    };
    store.append(bin, &[&ordinal, &size, body], scratch).unwrap();
}

/// Writes `input` in `order` to `path`.
pub(crate) fn sort(input: &Input, order: SortOrder, setup: &Setup, path: &Path) {
    let spill = SpillFile::create(&[std::env::temp_dir()]).unwrap();
    let backing = Backing { ledger: Ledger::new(setup.memory_bytes), spill };
    let threads = NonZeroUsize::new(setup.threads).unwrap();
    let Stores { placed, mut by_ordinal, unplaced_with_position, names } =
        collect(input, order, setup, &backing);
    if order.is_by_name() || order == SortOrder::CoordinatePicard {
        let resources = PhaseResources { backing: &backing, threads, watch: &|| Ok(()) };
        by_ordinal = by_name(by_ordinal, &names, order, &resources).unwrap();
    }
    let mut output = Output::create(path).unwrap();
    let mut header = Header::from_references(input.references.clone());
    order.describe_in(&mut header);
    let mut block = Vec::new();
    let header = header.encode().unwrap();
    let mut compressor = BlockCompressor::new(1).unwrap();
    for part in header.chunks(60_000) {
        compressor.compress(part, &mut block).unwrap();
    }
    output.write(&block).unwrap();
    let options = FinishOptions {
        threads,
        order,
        encoding: Encoding::Bam { deflate: Settings::at_level(1), index: None },
        references: &input.references,
        referred: None,
        remove_duplicates: false,
        editor: None,
        visitor: None,
        trace: &FinishTrace::default(),
        watch: &|| Ok(()),
    };
    let stores = [&placed, &by_ordinal, &unplaced_with_position];
    let plan = finish::UnitPlan::new(&stores, finish::UNIT_BYTES);
    let stored = StoredRecords { stores: &stores, backing: &backing, marks: None };
    let outputs = std::slice::from_mut(&mut output);
    let finished = finish::run(&stored, plan.all(), &options, outputs, None).unwrap();
    assert_eq!(finished.records_written, input.bodies.len() as u64);
    assert_eq!(backing.ledger.charged_bytes(), 0);
    output.write(&EOF_BLOCK).unwrap();
    output.into_file().unwrap().commit().unwrap();
}
