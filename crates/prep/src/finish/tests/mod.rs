//! The finish phase as a whole.

use super::*;
use crate::duplicates::{DuplicateMode, MarkedReads};
use crate::partition::collect::{Collected, Collector, Destination};
use crate::partition::genome_bins::GenomeBins;
use crate::partition::numbers::ORDINAL_BIN_TEMPLATES;
use crate::test_records::{backing, body, records, references};
use seqloom_format::PackedTemplates;
use seqloom_format::bam::set_duplicate;
use seqloom_format::bam_deflate::Settings;
use seqloom_format::bgzf::VirtualOffset;
use seqloom_format::index::{BinningScheme, IndexBuilder, IndexFragment};
use seqloom_testkit::random::Random;

mod hooks;

const LENGTHS: [u32; 3] = [3_000_000, 500, 200_000];
/// Ledger and chunk sizes: where nothing fits; where heaps are merged, several units at a time; and
/// where all is sorted in memory.
const MEMORY: [(u64, usize); 3] = [(0, 1000), (64 << 20, 4 << 10), (1 << 30, 1 << 20)];
const TEMPLATES: u64 = 75_000;
/// Stored, so that units are as large as their records.
const BAM: Encoding =
    Encoding::Bam { deflate: Settings::at_level(0), index: Some(BinningScheme::BAI) };
/// Where records are heaped, more than a unit is sorted or held in memory: they are merged, and
/// those of the second heap wait until the first is written.
const HEAPS: [i32; 2] = [1_000_000, 2_000_000];

/// Templates of one or two records: spread, heaped in two bins, and without a place.
fn templates() -> Vec<Vec<Vec<u8>>> {
    let mut random = Random::new(11);
    let mut template = |ordinal: u64| {
        let name = format!("t{ordinal}");
        let place = match random.below(10) {
            0 => (-1, -1),
            1..=5 => (0, HEAPS[0] + random.below(9) as i32),
            6..=8 => (0, HEAPS[1] + random.below(9) as i32),
            _ => (1 + random.below(2) as i32, random.below(500) as i32),
        };
        let flags = |random: &mut Random| 0x10 * random.below(2) as u16;
        let first = body(&name, flags(&mut random), place.0, place.1, 100);
        let second = random.chance(0.3).then(|| {
            let position = random.below(3_000_000) as i32;
            body(&name, 0x80 | flags(&mut random), 0, position, 90)
        });
        std::iter::once(first).chain(second).collect()
    };
    (0..TEMPLATES).map(&mut template).collect()
}

fn packed(first_template: u64, templates: &[Vec<Vec<u8>>]) -> PackedTemplates {
    let mut packed = PackedTemplates { first_template, ..PackedTemplates::default() };
    for template in templates {
        for body in template {
            packed.bytes.extend_from_slice(&(body.len() as u32).to_le_bytes());
            packed.bytes.extend_from_slice(body);
            packed.records += 1;
        }
        packed.ends.push(packed.bytes.len() as u32);
    }
    packed
}

#[derive(Debug, Clone, Copy)]
struct Setup {
    order: SortOrder,
    threads: usize,
    memory_bytes: u64,
    chunk_bytes: usize,
    encoding: Encoding,
    marks: bool,
    remove: bool,
    stripes: usize,
}

const SETUP: Setup = Setup {
    order: SortOrder::Coordinate,
    threads: 2,
    memory_bytes: 1 << 30,
    chunk_bytes: 64 << 10,
    encoding: BAM,
    marks: true,
    remove: false,
    stripes: 1,
};

fn is_marked(template: u64) -> bool {
    template % 7 == 3
}

fn marks() -> DuplicateMarks {
    let marks = DuplicateMarks::new(TEMPLATES, DuplicateMode::Query);
    for template in (0..TEMPLATES).filter(|&template| is_marked(template)) {
        marks.set(template, MarkedReads::Both);
    }
    marks
}

/// Who looks at records and changes them.
#[derive(Clone, Copy, Default)]
struct Hooks<'a> {
    visitor: Option<&'a dyn VisitorSource>,
    editor: Option<&'a dyn EditorSource>,
    observer: Option<&'a dyn VisitorSource>,
}

/// The bytes written, the index, and what was counted.
fn finish(templates: &[Vec<Vec<u8>>], setup: &Setup) -> (Vec<u8>, Vec<u8>, Finished) {
    finish_with(templates, setup, Hooks::default()).unwrap()
}

fn finish_with(
    templates: &[Vec<Vec<u8>>],
    setup: &Setup,
    hooks: Hooks<'_>,
) -> Result<(Vec<u8>, Vec<u8>, Finished), FinishError> {
    let backing = backing(setup.memory_bytes);
    let references = references(&LENGTHS);
    let bins = GenomeBins::new(&references);
    let collector =
        Collector::new(&backing, setup.chunk_bytes, Destination::by_coordinate(&bins), None);
    // Workers take batches in any order.
    let batches: Vec<_> = (0..).step_by(256).zip(templates.chunks(256)).collect();
    std::thread::scope(|scope| {
        for worker in 0..setup.threads {
            let (collector, batches) = (&collector, &batches);
            scope.spawn(move || {
                let mut scratch = StoreScratch::new().unwrap();
                for (first, batch) in batches.iter().skip(worker).step_by(setup.threads) {
                    collector.collect(&packed(*first, batch), &mut scratch).unwrap();
                }
            });
        }
    });
    let Collected { placed, by_ordinal, unplaced_with_position, .. } = collector.into_collected();
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<_> = (0..setup.stripes).map(|i| folder.path().join(i.to_string())).collect();
    let mut outputs: Vec<_> = paths.iter().map(|path| Output::create(path).unwrap()).collect();
    let builder = IndexBuilder::new(BinningScheme::BAI, references.len());
    let mut index = OutputIndex::Bins(builder);
    let marks = setup.marks.then(marks);
    let threads = NonZeroUsize::new(setup.threads).unwrap();
    let stores = [&placed, &by_ordinal, &unplaced_with_position];
    let stored = StoredRecords { stores: &stores, backing: &backing, marks: marks.as_ref() };
    if let Some(visitor) = hooks.visitor {
        let seen = &AtomicU64::new(0);
        let options = CountingPassOptions { threads, records: seen, watch: &|| Ok(()) };
        counting_pass(&stored, &options, visitor)?;
        let all: usize = templates.iter().map(Vec::len).sum();
        assert_eq!(seen.load(Ordering::Relaxed), all as u64);
    }
    let options = FinishOptions {
        threads,
        order: setup.order,
        encoding: setup.encoding,
        references: &references,
        referred: None,
        remove_duplicates: setup.remove,
        editor: hooks.editor,
        visitor: hooks.observer,
        trace: &FinishTrace::default(),
        watch: &|| Ok(()),
    };
    let plan = UnitPlan::new(&stores, UNIT_BYTES);
    let finished = run(&stored, plan.all(), &options, &mut outputs, Some(&mut index))?;
    assert_eq!(backing.ledger.charged_bytes(), 0);
    let mut bytes = Vec::new();
    for (output, path) in outputs.into_iter().zip(paths) {
        output.into_file().unwrap().commit().unwrap();
        bytes.extend(std::fs::read(path).unwrap());
    }
    let end = VirtualOffset::new(bytes.len() as u64, 0).unwrap();
    let OutputIndex::Bins(builder) = index else { unreachable!() };
    Ok((bytes, builder.finish_bai(end).unwrap(), finished))
}

/// The records as they must be written.
fn expected(templates: &[Vec<Vec<u8>>], setup: &Setup) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for (template, bodies) in (0u64..).zip(templates) {
        for body in bodies {
            let record = RecordRef::new(body).unwrap();
            // None, -1, is after all others.
            let place = (record.reference_id() as u32, record.position());
            let key = (place, record.has_flags(Flags::REVERSE));
            let mut body = body.clone();
            if setup.marks {
                set_duplicate(&mut body, is_marked(template));
            }
            if !(setup.remove && is_marked(template)) {
                all.push((key, all.len(), body));
            }
        }
    }
    all.sort();
    all.into_iter().map(|(.., body)| body).collect()
}

#[test]
fn records_are_sorted_flagged_and_indexed() {
    let templates = templates();
    for remove in [false, true] {
        let setup = Setup { remove, ..SETUP };
        let (bytes, index, finished) = finish(&templates, &setup);
        let written = records(&bytes);
        let expected = expected(&templates, &setup);
        assert!(written.iter().map(|(_, body)| body).eq(&expected), "sorted and flagged");
        let records: usize = templates.iter().map(Vec::len).sum();
        assert_eq!(finished.records_written, expected.len() as u64);
        assert_eq!(finished.records_removed, (records - expected.len()) as u64);
        assert_eq!(finished.records_removed > 0, remove);

        // The index that one pass over the file makes.
        let mut fragment = IndexFragment::new(BinningScheme::BAI);
        for (start, body) in &written {
            fragment.push_record(&RecordRef::new(body).unwrap(), *start).unwrap();
        }
        let mut builder = IndexBuilder::new(BinningScheme::BAI, LENGTHS.len());
        builder.append(&fragment, 0).unwrap();
        let end = VirtualOffset::new(bytes.len() as u64, 0).unwrap();
        assert!(builder.finish_bai(end).unwrap() == index);
    }
}

#[test]
fn neither_threads_nor_memory_nor_chunks_reach_the_bytes() {
    let templates = templates();
    let (bytes, index, _) = finish(&templates, &SETUP);
    for heap in HEAPS {
        let in_heap =
            |body: &&Vec<u8>| (0..9).contains(&(RecordRef::new(body).unwrap().position() - heap));
        let heap_bytes: usize = templates.iter().flatten().filter(in_heap).map(Vec::len).sum();
        assert!(heap_bytes > DRAIN_BYTES);
    }
    for threads in [1, 2, 7] {
        for (memory_bytes, chunk_bytes) in MEMORY {
            let setup = Setup { threads, memory_bytes, chunk_bytes, ..SETUP };
            let (other_bytes, other_index, _) = finish(&templates, &setup);
            assert!(other_bytes == bytes, "{threads} threads, {memory_bytes} bytes");
            assert!(other_index == index, "{threads} threads, {memory_bytes} bytes");
        }
    }
}

#[test]
fn stripes_after_each_other_are_what_one_output_is() {
    let templates = templates();
    let (bytes, index, _) = finish(&templates, &SETUP);
    for (stripes, threads) in [(2, 1), (3, 2), (7, 7), (100, 3)] {
        for (memory_bytes, chunk_bytes) in MEMORY {
            let setup = Setup { stripes, threads, memory_bytes, chunk_bytes, ..SETUP };
            let (striped, striped_index, finished) = finish(&templates, &setup);
            assert!(striped == bytes, "{stripes} stripes, {memory_bytes} bytes");
            assert!(striped_index == index, "{stripes} stripes, {memory_bytes} bytes");
            assert_eq!(finished.records_written, records(&bytes).len() as u64);
        }
    }
}

#[test]
fn text_is_the_same_records() {
    let templates = templates();
    let setup = Setup { encoding: Encoding::Sam, marks: false, memory_bytes: 0, ..SETUP };
    let (bytes, ..) = finish(&templates, &setup);
    let mut text = Vec::new();
    for body in expected(&templates, &setup) {
        seqloom_format::sam::append_record(&body, &references(&LENGTHS), &mut text).unwrap();
    }
    assert!(bytes == text);
}

#[test]
fn records_without_a_coordinate_stay_in_input_order_across_bins() {
    let count = 2 * ORDINAL_BIN_TEMPLATES + 5;
    let templates: Vec<_> =
        (0..count).map(|i| vec![body(&format!("u{i}"), 0x4, -1, -1, 10)]).collect();
    let setup = Setup { marks: false, memory_bytes: 0, threads: 3, ..SETUP };
    let (bytes, ..) = finish(&templates, &setup);
    assert!(records(&bytes).into_iter().map(|(_, body)| body).eq(templates.into_iter().flatten()));
}

#[test]
fn nothing_in_nothing_out() {
    let (bytes, _, finished) = finish(&[], &SETUP);
    assert!(bytes.is_empty());
    assert_eq!(finished.records_written, 0);
}

#[test]
fn a_failing_output_stops_all_and_leaves_no_worker_waiting() {
    let templates = templates();
    for ((memory_bytes, _), stripes) in MEMORY.into_iter().zip([1, 2, 9]) {
        let backing = backing(memory_bytes);
        let references = references(&LENGTHS);
        let bins = GenomeBins::new(&references);
        let collector = Collector::new(&backing, 1 << 16, Destination::by_coordinate(&bins), None);
        let mut scratch = StoreScratch::new().unwrap();
        collector.collect(&packed(0, &templates), &mut scratch).unwrap();
        let Collected { placed, by_ordinal, unplaced_with_position, .. } =
            collector.into_collected();
        let full = || Output::create(std::path::Path::new("/dev/full")).unwrap();
        let options = FinishOptions {
            threads: NonZeroUsize::new(5).unwrap(),
            order: SortOrder::Coordinate,
            encoding: BAM,
            references: &references,
            referred: None,
            remove_duplicates: false,
            editor: None,
            visitor: None,
            trace: &FinishTrace::default(),
            watch: &|| Ok(()),
        };
        let stores = [&placed, &by_ordinal, &unplaced_with_position];
        let plan = UnitPlan::new(&stores, UNIT_BYTES);
        let stored = StoredRecords { stores: &stores, backing: &backing, marks: None };
        let mut outputs: Vec<_> = (0..stripes).map(|_| full()).collect();
        let outcome = run(&stored, plan.all(), &options, &mut outputs, None);
        assert!(matches!(outcome, Err(FinishError::Output(_))), "{outcome:?}");
    }
}
