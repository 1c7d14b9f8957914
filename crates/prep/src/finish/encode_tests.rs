//! Encoding of units: blocks, index entries, text.

use super::*;
use crate::test_records::{body, records, references};
use proptest::prelude::*;
use seqloom_testkit::random::Random;

const BAM: Encoding =
    Encoding::Bam { deflate: Settings::at_level(1), index: Some(BinningScheme::BAI) };

/// Encodes as one unit; drained whenever `drains` says so.
fn encode(bodies: &[Vec<u8>], mut drains: impl FnMut() -> bool) -> (Vec<u8>, IndexFragment) {
    let references = references(&[1 << 28]);
    let mut encoder = Encoder::new(BAM, &references, None).unwrap();
    let mut bytes = Vec::new();
    for body in bodies {
        encoder.push(&RecordRef::new(body).unwrap(), None).unwrap();
        if drains() {
            assert!(encoder.drain(&mut bytes).is_empty());
            assert_eq!(encoder.pending_bytes(), 0);
        }
    }
    let unit = encoder.finish_unit().unwrap();
    bytes.extend_from_slice(&unit.bytes);
    (bytes, unit.index.unwrap())
}

/// What one unit's index entries must be.
fn check_index(bytes: &[u8], fragment: &IndexFragment) {
    use seqloom_format::index::IndexBuilder;
    let end = VirtualOffset::new(bytes.len() as u64, 0).unwrap();
    let bai = |fragment: &IndexFragment| {
        let mut builder = IndexBuilder::new(BinningScheme::BAI, 1);
        builder.append(fragment, 0).unwrap();
        builder.finish_bai(end).unwrap()
    };
    let mut again = IndexFragment::new(BinningScheme::BAI);
    for (start, body) in records(bytes) {
        again.push_record(&RecordRef::new(&body).unwrap(), start).unwrap();
    }
    assert!(bai(&again) == bai(fragment));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn records_come_back_and_are_indexed_where_they_start(
        seed in any::<u64>(),
        count in 0..400_usize,
        longest in prop_oneof![Just(200_usize), Just(200_000)],
        drain_share in prop_oneof![Just(0.0), 0.0..1.0_f64],
    ) {
        let mut random = Random::new(seed);
        let count = if longest > 200 { count.min(20) } else { count };
        let mut position = 0;
        let bodies: Vec<_> = (0..count)
            .map(|i| {
                position += random.below(5000) as i32;
                body(&format!("r{i}"), 0, 0, position, random.index(longest))
            })
            .collect();
        let (bytes, fragment) = encode(&bodies, || random.chance(drain_share));
        let written: Vec<_> = records(&bytes).into_iter().map(|(_, body)| body).collect();
        prop_assert!(written == bodies);
        check_index(&bytes, &fragment);
        // Draining is how bytes are handed on, not what they are.
        prop_assert!(encode(&bodies, || false).0 == bytes);
    }
}

#[test]
fn a_record_larger_than_a_block_starts_one_and_ends_in_another() {
    // 40,000 bases take 60,000 bytes: two do not fit one block, 100,000 bases need three.
    let bodies = [("a", 10), ("b", 100_000), ("c", 40_000), ("d", 40_000), ("e", 1)];
    let bodies = bodies.map(|(name, bases)| body(name, 0, 0, 7, bases));
    let (bytes, fragment) = encode(&bodies, || false);
    let starts: Vec<_> = records(&bytes).into_iter().map(|(start, _)| start).collect();
    assert_eq!(starts[0], VirtualOffset::default());
    // The rest of a long record shares its block with the next one, if that fits there.
    let in_block = starts.iter().map(|start| start.offset_in_block()).collect::<Vec<_>>();
    assert_eq!(in_block[1], 0);
    check_index(&bytes, &fragment);
}

#[test]
fn units_start_blocks_of_their_own_and_know_nothing_of_each_other() {
    let references = references(&[1 << 28]);
    let mut encoder = Encoder::new(BAM, &references, None).unwrap();
    let one = body("one", 0x400, 0, 7, 100);
    let unit = |encoder: &mut Encoder<'_>, duplicate| {
        encoder.push(&RecordRef::new(&one).unwrap(), duplicate).unwrap();
        encoder.finish_unit().unwrap().bytes
    };
    let first = unit(&mut encoder, None);
    assert_eq!(first, unit(&mut encoder, None));
    assert_eq!(records(&unit(&mut encoder, Some(true)))[0].1, one);
    let cleared = records(&unit(&mut encoder, Some(false)));
    assert_eq!(RecordRef::new(&cleared[0].1).unwrap().flags(), 0);
    assert!(encoder.finish_unit().unwrap().bytes.is_empty());
}

#[test]
fn memory_that_comes_back_brings_nothing_along() {
    let references = references(&[1 << 28]);
    let one = body("one", 0x400, 0, 7, 100);
    for encoding in [BAM, Encoding::Sam] {
        let mut encoder = Encoder::new(encoding, &references, None).unwrap();
        let mut unit = |used: Option<Vec<u8>>| {
            encoder.recycle(used.unwrap_or_default());
            encoder.push(&RecordRef::new(&one).unwrap(), None).unwrap();
            // That of a unit under way stays.
            encoder.recycle(b"other".to_vec());
            encoder.finish_unit().unwrap().bytes
        };
        let first = unit(None);
        assert!(!first.is_empty());
        assert_eq!(unit(Some(b"used".to_vec())), first);
        assert_eq!(unit(None), first);
    }
}
