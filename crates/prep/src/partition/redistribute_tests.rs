//! Samples, splitters and the move itself.

use std::num::NonZeroUsize;

use super::*;
use crate::partition::store::Backing;
use crate::test_records::{backing, body};
use seqloom_testkit::random::Random;

/// Orders whose records are moved.
const ORDERS: [SortOrder; 3] =
    [SortOrder::QueryName, SortOrder::QueryNamePicard, SortOrder::CoordinatePicard];

fn name(random: &mut Random) -> String {
    format!("run:{}:{}", random.below(90), random.below(900))
}

#[test]
fn a_sample_is_the_names_with_the_smallest_hashes() {
    let mut random = Random::new(1);
    let names: Vec<String> = (0..9000).map(|_| name(&mut random)).collect();
    for max_names in [1, 100, 100_000] {
        let sample = NameSample::new(max_names);
        std::thread::scope(|scope| {
            for worker in 0..3 {
                let (sample, names) = (&sample, &names);
                let mine = names.iter().rev().skip(worker).step_by(3);
                // Some names are seen by two workers.
                let mine = mine.chain(names.iter().take(2000 * worker));
                scope.spawn(move || mine.for_each(|name| sample.add(name.as_bytes())));
            }
        });
        let hashed = |name: &String| (hash_of(name.as_bytes()), name.as_bytes().into());
        let all: BTreeSet<(u64, Box<[u8]>)> = names.iter().map(hashed).collect();
        let expected: BTreeSet<_> = all.into_iter().take(max_names).collect();
        assert!(sample.names.into_inner().unwrap() == expected, "{max_names}");
    }
}

#[test]
fn hashes_spread_names_that_hardly_differ() {
    let mut hashes: Vec<u64> = (0..4096).map(|i| hash_of(format!("read:{i}").as_bytes())).collect();
    hashes.sort_unstable();
    // Evenly over all of 64 bits: the median is near the middle.
    let middle = hashes[2048] as f64 / u64::MAX as f64;
    assert!((0.45..0.55).contains(&middle), "{middle}");
    assert_ne!(hash_of(b"a"), hash_of(b"a\0"));
    assert_ne!(hash_of(b""), hash_of(b"\0"));
}

#[test]
fn splitters_cut_equal_shares() {
    fn t(count: usize, partitions: usize, expected: &[usize]) {
        let texts: Vec<Vec<u8>> = (0..count).map(|i| vec![i as u8]).collect();
        let splitters = Splitters::new(texts.clone(), partitions);
        let mut sizes = vec![0; splitters.partitions()];
        texts.iter().for_each(|text| sizes[splitters.partition_of(text)] += 1);
        assert_eq!(sizes, expected, "{count} in {partitions}");
        let places = texts.iter().map(|text| splitters.partition_of(text));
        assert!(places.is_sorted());
    }
    t(0, 5, &[0]);
    t(1, 5, &[1]);
    t(3, 5, &[1, 1, 1]);
    t(10, 1, &[10]);
    t(10, 3, &[4, 3, 3]);
    t(200, 2, &[100, 100]);
    let splitters = Splitters::new((0..9).map(|i| vec![i]).collect(), 3);
    assert_eq!(splitters.partition_of(b""), 0);
    assert_eq!(splitters.partition_of(&[3]), 1);
    assert_eq!(splitters.partition_of(&[2, 9]), 0);
    assert_eq!(splitters.partition_of(&[255]), 2);
}

/// What is in each partition, whatever the order within.
fn contents(store: &ChunkStore<'_>, backing: &Backing) -> Vec<Vec<(u64, Vec<u8>)>> {
    let mut scratch = StoreScratch::new().unwrap();
    let mut partition = |partition| {
        let mut records = Vec::new();
        for chunk in store.take(partition) {
            let loaded = chunk.load(backing, &mut scratch).unwrap();
            records.extend(frames(&loaded.bytes).map(|(_, at, body)| (at, body.to_vec())));
        }
        records.sort_unstable();
        records
    };
    (0..store.partitions()).map(&mut partition).collect()
}

/// Records of random names in partitions by ordinal, redistributed.
fn redistributed(
    order: SortOrder,
    threads: usize,
    memory_bytes: u64,
    chunk_bytes: usize,
) -> Vec<Vec<(u64, Vec<u8>)>> {
    let backing = backing(memory_bytes);
    let from = ChunkStore::new(&backing, chunk_bytes);
    let names = NameSample::default();
    let (mut random, mut scratch) = (Random::new(7), StoreScratch::new().unwrap());
    for ordinal in 0..30_000_u64 {
        let name = name(&mut random);
        names.add(name.as_bytes());
        let body = body(&name, 0x4 | (0x10 * random.below(2) as u16), -1, -1, random.index(150));
        let (at, size) = (ordinal.to_le_bytes(), (body.len() as u32).to_le_bytes());
        from.append(ordinal as usize / 4000, &[&at, &size, &body], &mut scratch).unwrap();
    }
    let threads = NonZeroUsize::new(threads).unwrap();
    let resources = PhaseResources { backing: &backing, threads, watch: &|| Ok(()) };
    let to = by_name(from, &names, order, &resources).unwrap();
    let contents = contents(&to, &backing);
    drop(to);
    assert_eq!(backing.ledger.charged_bytes(), 0);
    contents
}

#[test]
fn partitions_follow_each_other_and_depend_on_records_only() {
    for order in ORDERS {
        let first = redistributed(order, 1, 1 << 30, 64 << 10);
        let mut ordinals: Vec<u64> = first.iter().flatten().map(|(ordinal, _)| *ordinal).collect();
        ordinals.sort_unstable();
        assert!(ordinals.into_iter().eq(0..30_000));
        assert!(first.iter().filter(|records| !records.is_empty()).count() >= 3, "{order:?}");
        let text = |body: &[u8]| {
            let mut text = Vec::new();
            order.append_text(&RecordRef::new(body).unwrap(), &mut text);
            text
        };
        let mut last = Vec::new();
        for records in first.iter().filter(|records| !records.is_empty()) {
            let texts = || records.iter().map(|(_, body)| text(body));
            assert!(texts().min().unwrap() > last, "equal names share a partition");
            last = texts().max().unwrap();
        }
        for (threads, memory_bytes, chunk_bytes) in
            [(2, 1 << 30, 3000), (3, 1 << 20, 4 << 10), (7, 0, 1000), (1, 300 << 10, 16 << 10)]
        {
            let other = redistributed(order, threads, memory_bytes, chunk_bytes);
            assert!(first == other, "{order:?}, {threads} threads, {memory_bytes} bytes");
        }
    }
}

#[test]
fn nothing_moves_to_nothing() {
    let backing = backing(1 << 20);
    let from = ChunkStore::new(&backing, 1000);
    let names = NameSample::default();
    let threads = NonZeroUsize::new(2).unwrap();
    let resources = PhaseResources { backing: &backing, threads, watch: &|| Ok(()) };
    let to = by_name(from, &names, SortOrder::QueryName, &resources).unwrap();
    assert_eq!(to.partitions(), 0);
}

#[test]
fn the_ledger_is_kept_while_full_memory_is_moved() {
    let (memory_bytes, chunk_bytes) = (4 << 20, 8 << 10);
    let backing = backing(memory_bytes);
    let from = ChunkStore::new(&backing, chunk_bytes);
    let names = NameSample::default();
    let mut scratch = StoreScratch::new().unwrap();
    for ordinal in 0..100_000_u64 {
        let name = format!("r{}", ordinal * 7919 % 100_000);
        names.add(name.as_bytes());
        let body = body(&name, 0x4, -1, -1, 100);
        let (at, size) = (ordinal.to_le_bytes(), (body.len() as u32).to_le_bytes());
        from.append(ordinal as usize / 10_000, &[&at, &size, &body], &mut scratch).unwrap();
    }
    let threads = NonZeroUsize::new(2).unwrap();
    let resources = PhaseResources { backing: &backing, threads, watch: &|| Ok(()) };
    let to = by_name(from, &names, SortOrder::QueryName, &resources).unwrap();
    assert!(to.partitions() >= 15, "{}", to.partitions());
    assert!(backing.ledger.peak_bytes() <= memory_bytes, "{}", backing.ledger.peak_bytes());
}

#[test]
fn damage_ends_the_move() {
    let backing = backing(1 << 20);
    let from = ChunkStore::new(&backing, 1000);
    let frame = [&0_u64.to_le_bytes()[..], &4_u32.to_le_bytes(), b"body"].concat();
    from.append(0, &[&frame], &mut StoreScratch::new().unwrap()).unwrap();
    let names = NameSample::default();
    let threads = NonZeroUsize::new(2).unwrap();
    let resources = PhaseResources { backing: &backing, threads, watch: &|| Ok(()) };
    let outcome = by_name(from, &names, SortOrder::QueryName, &resources);
    assert!(matches!(outcome, Err(RedistributeError::Record(_))), "{outcome:?}");
}

/// Records without a coordinate of lanes with so many templates, collected in any order and moved:
/// as they are when all are of one lane.
#[test]
fn records_of_lanes_come_to_be_as_those_of_one() {
    use crate::partition::collect::{Collector, Destination};
    use crate::partition::genome_bins::GenomeBins;
    use crate::partition::numbers::Numbering;

    let bins = GenomeBins::new(&[]);
    let t = |lanes: &[u64], memory_bytes: u64| {
        let backing = backing(memory_bytes);
        let numbers = TemplateNumbers::new(lanes);
        let collect = |numbering: Numbering, templates: &[(u64, u64)]| {
            let destination = Destination::by_coordinate(&bins);
            let collector = Collector::new(&backing, 256, destination, None).numbered(numbering);
            let mut scratch = StoreScratch::new().unwrap();
            for (number, ordinal) in templates {
                let body = body(&format!("r{number}"), 4, -1, -1, 8);
                let framed = [&(body.len() as u32).to_le_bytes(), &body[..]].concat();
                let template = std::iter::once((*ordinal, &framed[..]));
                assert_eq!(collector.collect_each(template, &mut scratch).unwrap(), 1);
            }
            (0..numbering.lanes()).for_each(|lane| collector.end_lane(lane));
            collector.into_collected().by_ordinal
        };
        let numbering = Numbering::of_lanes(lanes.len());
        let mut ordinals: Vec<u64> = Vec::new();
        for (lane, templates) in lanes.iter().enumerate() {
            ordinals.extend((0..*templates).map(|it| numbering.first_ordinal(lane) + it));
        }
        let mut of_lanes: Vec<(u64, u64)> = (0..).zip(ordinals).collect();
        let of_one: Vec<(u64, u64)> =
            of_lanes.iter().map(|(number, _)| (*number, *number)).collect();
        of_lanes.sort_by_key(|(number, _)| mix(*number));
        let expected = collect(Numbering::of_lanes(1), &of_one);
        let from = collect(numbering, &of_lanes);
        let threads = NonZeroUsize::new(3).unwrap();
        let resources = PhaseResources { backing: &backing, threads, watch: &|| Ok(()) };
        let moved = by_number(from, &numbers, &resources).unwrap();
        assert_eq!(moved.partitions(), expected.partitions());
        let bodies = |store| -> Vec<Vec<Vec<u8>>> {
            let of_partition =
                |records: Vec<(u64, Vec<u8>)>| records.into_iter().map(|(_, body)| body).collect();
            contents(store, &backing).into_iter().map(of_partition).collect()
        };
        assert_eq!(bodies(&moved), bodies(&expected));
        assert_eq!(backing.ledger.charged_bytes(), 0);
    };
    let bin = crate::partition::numbers::ORDINAL_BIN_TEMPLATES;
    t(&[5], 1 << 20);
    t(&[0, 3, 0, 2], 1 << 20);
    t(&[bin - 1, bin + 1, 1], 1 << 30);
    t(&[7, bin, 100, bin / 2], 64 << 10);
}
