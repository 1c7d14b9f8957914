//! Cutting into cohorts and batches: table tests and properties.

use super::*;
use crate::input::Mates;
use crate::test_input::{TestInput, TestRead};
use proptest::prelude::*;
use seqloom_format::ReadBlock;
use seqloom_testkit::random::Random;
use std::collections::BTreeSet;

/// A template: its name, and whether it is a pair.
type Template = (String, bool);

/// All that is known of a batch, in a form that can be compared.
#[derive(Debug, PartialEq, Eq)]
struct Expected {
    sequence: u64,
    cohort: u64,
    index_in_cohort: u64,
    first_read: u64,
    first_template: u64,
    pairs_before: u64,
    singles_before: u64,
    templates: Vec<Template>,
}

/// bwa's `bseq_read` (bwa.c): reads until their bases reach `-K` and their number is even.
fn bwa_chunks(reads: &[TestRead], cohort_bases: u64) -> Vec<&[TestRead]> {
    let (mut chunks, mut start, mut bases) = (Vec::new(), 0, 0);
    for (i, (_, length)) in reads.iter().enumerate() {
        bases += *length as u64;
        if (bases >= cohort_bases && (i + 1 - start).is_multiple_of(2)) || i + 1 == reads.len() {
            chunks.push(&reads[start..=i]);
            (start, bases) = (i + 1, 0);
        }
    }
    chunks
}

/// bwa's `bseq_classify`: neighbours with equal names, from the left.
fn bwa_templates(chunk: &[TestRead], pairing: Pairing) -> Vec<Template> {
    let mut templates = Vec::new();
    let mut i = 0;
    while i < chunk.len() {
        let is_pair = match pairing {
            Pairing::Single => false,
            Pairing::TwoFiles => true,
            Pairing::Adjacent => chunk.get(i + 1).is_some_and(|next| next.0 == chunk[i].0),
        };
        templates.push((chunk[i].0.clone(), is_pair));
        i += 1 + usize::from(is_pair);
    }
    templates
}

fn reads_of(templates: &[Template]) -> u64 {
    templates.iter().map(|(_, is_pair)| 1 + u64::from(*is_pair)).sum()
}

/// What the cutter must produce, the plain way.
fn model(
    reads: &[TestRead],
    pairing: Pairing,
    cohort_bases: u64,
) -> (Vec<Expected>, Vec<ClosedCohort>) {
    let (mut batches, mut closed) = (Vec::<Expected>::new(), Vec::new());
    let (mut first_read, mut first_template) = (0, 0);
    for (cohort, chunk) in (0..).zip(bwa_chunks(reads, cohort_bases)) {
        let templates = bwa_templates(chunk, pairing);
        let (mut pairs, mut singles, mut count) = (0, 0, 0);
        let cohort_first_read = first_read;
        let mut rest = &templates[..];
        while !rest.is_empty() {
            let full = |end: &usize| reads_of(&rest[..*end]) >= BATCH_READS as u64;
            let end = (1..=rest.len()).find(full).unwrap_or(rest.len());
            let (batch, after) = rest.split_at(end);
            batches.push(Expected {
                sequence: batches.len() as u64,
                cohort,
                index_in_cohort: count,
                first_read,
                first_template,
                pairs_before: pairs,
                singles_before: singles,
                templates: batch.to_vec(),
            });
            let new_pairs = batch.iter().filter(|(_, is_pair)| *is_pair).count() as u64;
            pairs += new_pairs;
            singles += batch.len() as u64 - new_pairs;
            first_read += reads_of(batch);
            first_template += batch.len() as u64;
            count += 1;
            rest = after;
        }
        closed.push(ClosedCohort {
            cohort,
            first_read: cohort_first_read,
            batches: count,
            singles,
            pairs,
        });
    }
    (batches, closed)
}

fn seen(batch: &Batch) -> Expected {
    let name =
        |(block, i): (&ReadBlock, usize)| String::from_utf8_lossy(block.name(i)).into_owned();
    let template = |(first, second): Mates<'_>| {
        if let Some(second) = second {
            assert_eq!(name(first), name(second));
        }
        (name(first), second.is_some())
    };
    let templates: Vec<_> = batch.templates().map(template).collect();
    let pairs = templates.iter().filter(|(_, is_pair)| *is_pair).count();
    assert_eq!(batch.reads as u64, reads_of(&templates));
    assert_eq!(batch.counts(), TemplateCounts { pairs, singles: templates.len() - pairs });
    Expected {
        sequence: batch.sequence,
        cohort: batch.cohort,
        index_in_cohort: batch.index_in_cohort,
        first_read: batch.first_read,
        first_template: batch.first_template,
        pairs_before: batch.pairs_before,
        singles_before: batch.singles_before,
        templates,
    }
}

/// Batches, cohorts, and how much that is.
type Outcome = (Vec<Expected>, Vec<ClosedCohort>, CutTotals);

/// Cuts `files`, whose blocks come in an order that `seed` decides.
fn cut(
    files: &[&[TestRead]],
    pairing: Pairing,
    cohort_bases: u64,
    block_bytes: usize,
    seed: u64,
) -> Result<Outcome, CohortError> {
    let input = TestInput::new(files, block_bytes);
    let mut cutter = CohortCutter::new(&input.source, pairing, cohort_bases);
    let mut blocks: Vec<_> = std::iter::from_fn(|| input.fetch()).collect();
    let mut random = Random::new(seed);
    let (mut batches, mut closed) = (Vec::new(), Vec::new());
    while !blocks.is_empty() {
        assert!(!cutter.finished());
        let block = blocks.swap_remove(random.index(blocks.len()));
        cutter.push(block, |cut| match cut {
            Cut::Batch(batch) => {
                // Batches of a cohort come before it is closed, and no other cohort between.
                assert_eq!(batch.cohort, closed.len() as u64);
                batches.push(seen(&batch));
            }
            Cut::Closed(cohort) => closed.push(cohort),
        })?;
    }
    assert!(cutter.finished());
    assert_eq!(cutter.early_blocks(), 0);
    Ok((batches, closed, cutter.totals()))
}

fn compare(files: &[&[TestRead]], pairing: Pairing, k: u64, block_bytes: usize, seed: u64) {
    let in_bwas_order: Vec<TestRead> = match files {
        [first, second] => {
            first.iter().zip(*second).flat_map(|(a, b)| [a.clone(), b.clone()]).collect()
        }
        _ => files[0].to_vec(),
    };
    let (batches, closed, totals) = cut(files, pairing, k, block_bytes, seed).unwrap();
    let (expected_batches, expected_closed) = model(&in_bwas_order, pairing, k);
    let templates = expected_batches.iter().map(|batch| batch.templates.len() as u64).sum();
    assert_eq!(batches, expected_batches);
    assert_eq!(closed, expected_closed);
    assert_eq!(totals, CutTotals { reads: in_bwas_order.len() as u64, templates });
}

/// Names such that neighbours are now and then equal, up to three in a row.
fn reads(count: usize, longest: usize, random: &mut Random) -> Vec<TestRead> {
    let mut name = 0;
    let mut read = |random: &mut Random| {
        name += u64::from(random.chance(0.6));
        (format!("r{name}"), random.between(1, longest as u64) as usize)
    };
    (0..count).map(|_| read(random)).collect()
}

fn mates(first: &[TestRead], longest: usize, random: &mut Random) -> Vec<TestRead> {
    let mate = |(name, _): &TestRead| (name.clone(), random.between(1, longest as u64) as usize);
    first.iter().map(mate).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn batches_are_those_of_bwas_chunks(
        seed in any::<u64>(),
        count in prop_oneof![0..40_usize, 500..530_usize, 0..2000_usize],
        longest in 1..30_usize,
        k in prop_oneof![1..200_u64, 1..20_000_u64, Just(u64::MAX)],
        block_bytes in prop_oneof![1..300_usize, 1000..60_000_usize],
    ) {
        let mut random = Random::new(seed);
        // Blocks without a record are many when they are small: keep the test short.
        let block_bytes = block_bytes.max(count / 4);
        let first = reads(count, longest, &mut random);
        compare(&[&first], Pairing::Single, k, block_bytes, seed);
        compare(&[&first], Pairing::Adjacent, k, block_bytes, seed);
        let second = mates(&first, longest, &mut random);
        compare(&[&first, &second], Pairing::TwoFiles, k, block_bytes, seed);
    }
}

/// `names`, each read with `bases` bases.
fn named(names: impl IntoIterator<Item = usize>, bases: usize) -> Vec<TestRead> {
    names.into_iter().map(|name| (format!("r{name}"), bases)).collect()
}

#[test]
fn a_pair_across_the_edge_of_a_batch_stays_a_pair_across_that_of_a_cohort_it_does_not() {
    // One single read first: pairs start at odd places.
    let reads = named([0].into_iter().chain((1..=400).flat_map(|pair| [pair, pair])), 10);
    compare(&[&reads], Pairing::Adjacent, u64::MAX, 4000, 1);
    let (batches, ..) = cut(&[&reads], Pairing::Adjacent, u64::MAX, 4000, 1).unwrap();
    assert_eq!(reads_of(&batches[0].templates), 513);
    let (batches, ..) = cut(&[&reads], Pairing::Adjacent, 100, 4000, 1).unwrap();
    assert_eq!(batches[0].templates.last().unwrap(), &("r5".to_owned(), false));
    assert_eq!(batches[1].templates[0], ("r5".to_owned(), false));
}

#[test]
fn no_reads_no_batches() {
    for pairing in [Pairing::Single, Pairing::Adjacent] {
        assert_eq!(
            cut(&[&[]], pairing, 100, 1000, 1).unwrap(),
            (vec![], vec![], CutTotals::default())
        );
    }
    let two = cut(&[&[], &[]], Pairing::TwoFiles, 100, 1000, 1).unwrap();
    assert_eq!(two, (vec![], vec![], CutTotals::default()));
}

#[test]
fn files_of_unequal_length_are_an_error_as_soon_as_it_shows() {
    fn t(counts: [usize; 2], shorter: &str, records: u64) {
        let files = counts.map(|count| named(0..count, 20));
        for seed in 0..20 {
            let error = cut(&[&files[0], &files[1]], Pairing::TwoFiles, 1000, 700, seed);
            let Err(CohortError::UnequalCounts { shorter: path, records: seen, .. }) = error else {
                panic!("{error:?}")
            };
            assert!(path.ends_with(shorter), "{path}");
            assert_eq!(seen, records);
        }
    }
    t([10, 11], "1.fq", 10);
    t([11, 10], "2.fq", 10);
    t([0, 1], "1.fq", 0);
    t([256, 257], "1.fq", 256);
    t([700, 300], "2.fq", 300);

    // The rest of the longer file is not waited for.
    let (long, short) = (named(0..2000, 20), named(0..100, 20));
    let input = TestInput::new(&[&long, &short], 700);
    let mut cutter = CohortCutter::new(&input.source, Pairing::TwoFiles, u64::MAX);
    let blocks: Vec<_> = std::iter::from_fn(|| input.fetch()).collect();
    let (first, second): (Vec<_>, Vec<_>) = blocks.into_iter().partition(|b| b.file == 0);
    second.into_iter().for_each(|block| cutter.push(block, |_| ()).unwrap());
    let needed = first.into_iter().take_while(|block| {
        block.index < 30 && cutter.early_blocks() == 0 && block.reads.reads.len() < 100
    });
    let outcome: Result<Vec<()>, _> =
        needed.collect::<Vec<_>>().into_iter().map(|b| cutter.push(b, |_| ())).collect();
    assert!(matches!(outcome, Err(CohortError::UnequalCounts { records: 100, .. })));
}

#[test]
fn a_malformed_file_ends_where_its_last_good_block_does_in_whatever_order_blocks_come() {
    for damaged in [0, 1] {
        let mut files = [named(0..2000, 20), named(0..2000, 20)];
        files[damaged][1500].0 = "no\nrecord".to_owned();
        let mut random = Random::new(damaged as u64);
        let mut seen = BTreeSet::new();
        for _ in 0..40 {
            let input = TestInput::new(&[&files[0], &files[1]], 4000);
            let mut blocks: Vec<_> = std::iter::from_fn(|| input.fetch()).collect();
            let mut cutter = CohortCutter::new(&input.source, Pairing::TwoFiles, u64::MAX);
            let mut batches = Vec::new();
            let error = loop {
                let block = blocks.swap_remove(random.index(blocks.len()));
                if let Err(error) = cutter.push(block, |cut| batches.extend(Some(cut))) {
                    break error;
                }
            };
            assert!(matches!(error, CohortError::Source(_)), "{error}");
            let reads: usize = batches
                .iter()
                .map(|cut| if let Cut::Batch(batch) = cut { batch.reads } else { 0 })
                .sum();
            assert!((2000..=3000).contains(&reads), "{reads}");
            seen.insert((reads, cutter.next_sequence()));
        }
        assert_eq!(seen.len(), 1, "{seen:?}");
    }
}

#[test]
fn mates_out_of_step_are_named_and_reads_too_long_have_no_bases() {
    let (first, mut second) = (named(0..300, 20), named(0..300, 20));
    second[280].0 = "other".to_owned();
    second[290].1 = 21;
    let input = TestInput::new(&[&first, &second], 100_000);
    let mut cutter = CohortCutter::new(&input.source, Pairing::TwoFiles, u64::MAX);
    let mut batches = Vec::new();
    while let Some(block) = input.fetch() {
        cutter.push(block, |cut| batches.extend(Some(cut))).unwrap();
    }
    let [Cut::Batch(whole), Cut::Batch(bad), Cut::Closed(_)] = &batches[..] else { panic!() };
    let all = whole.engine_reads(20, None);
    assert_eq!((all.reads.pairs.len(), all.long_reads.len()), (256, 0));
    let error = bad.check_mates().unwrap_err();
    assert!(matches!(&error, CohortError::NamesDiffer { record: 281, .. }), "{error}");
    assert!(error.to_string().contains("1.fq") && error.to_string().contains("'other'"));
    let none = whole.engine_reads(19, None);
    assert!(none.reads.pairs.iter().flatten().all(|read| read.bases.is_empty()));
    assert_eq!(none.long_reads.len(), 512);
    assert!(none.long_reads.is_sorted_by_key(|it| it.place));
    assert!(none.long_reads.iter().all(|it| it.read.bases.len() == 20));
}

/// Templates of all batches, or the first error that an engine's reads have.
fn cut_all(files: &[&[TestRead]], pairing: Pairing) -> Result<Vec<Template>, CohortError> {
    // Blocks of a few reads: the first of one file are there before those of the other.
    let input = TestInput::new(files, 300);
    let mut cutter = CohortCutter::new(&input.source, pairing, u64::MAX);
    let mut batches = Vec::new();
    while let Some(block) = input.fetch() {
        cutter.push(block, |cut| batches.extend(Some(cut)))?;
    }
    let mut templates = Vec::new();
    for batch in &batches {
        let Cut::Batch(batch) = batch else { continue };
        batch.check_mates()?;
        templates.extend(seen(batch).templates);
    }
    Ok(templates)
}

#[test]
fn numbers_of_mates_are_taken_off_names_where_the_first_pair_has_them() {
    let numbered = |number: &str| -> Vec<TestRead> {
        (0..600).map(|i| (format!("SRR1.{i}{number}"), 20)).collect()
    };
    let expected: Vec<Template> = (0..600).map(|i| (format!("SRR1.{i}"), true)).collect();
    let (first, second) = (numbered(".1"), numbered(".2"));
    assert_eq!(cut_all(&[&first, &second], Pairing::TwoFiles).unwrap(), expected);
    let interleaved: Vec<TestRead> =
        first.iter().zip(&second).flat_map(|(a, b)| [a.clone(), b.clone()]).collect();
    assert_eq!(cut_all(&[&interleaved], Pairing::Adjacent).unwrap(), expected);
    // Single reads have no mates: their names stay.
    let single = cut_all(&[&interleaved[..2]], Pairing::Single).unwrap();
    assert_eq!(single, [("SRR1.0.1".to_owned(), false), ("SRR1.0.2".to_owned(), false)]);
    let plain = numbered("");
    assert_eq!(cut_all(&[&plain, &plain], Pairing::TwoFiles).unwrap(), expected);
}

#[test]
fn mates_out_of_step_are_named_by_their_whole_names_where_numbers_are_taken_off() {
    let numbered = |number: &str| -> Vec<TestRead> {
        (0..600).map(|i| (format!("SRR1.{i}{number}"), 20)).collect()
    };
    let (first, second) = (numbered(".1"), numbered(".2"));
    let t = |at: usize, one: &str, two: &str, words: &str| {
        let (mut first, mut second) = (first.clone(), second.clone());
        (first[at].0, second[at].0) = (one.to_owned(), two.to_owned());
        let error = cut_all(&[&first, &second], Pairing::TwoFiles).unwrap_err().to_string();
        let record = if at == 0 { 2 } else { at + 1 };
        let expected = format!("2.fq: record {record}: ");
        assert!(error.contains(&expected) && error.contains(words), "{error}");
    };
    let missing = "'SRR1.300' and 'SRR1.300' do not end in .1 and .2";
    t(300, "SRR1.300", "SRR1.300", missing);
    t(300, "SRR1.300.1", "SRR1.300", "'SRR1.300.1' and 'SRR1.300' do not end in .1 and .2");
    t(7, "SRR1.7.1", "SRR1.8.2", "'SRR1.7.1' and 'SRR1.8.2' have different names");
    t(7, "SRR1.7.2", "SRR1.7.1", "say that they are reads 2 and 1");
    // What the first pair does not have is part of every name.
    t(0, "SRR1.0", "SRR1.0", "'SRR1.1.1' and 'SRR1.1.2' have different names");
    // Files out of step by one read look so once.
    let (plain, shifted): (Vec<TestRead>, Vec<TestRead>) =
        (1..50).map(|i| ((format!("SRR1.{i}"), 9), (format!("SRR1.{}", i + 1), 9))).unzip();
    let error = cut_all(&[&plain, &shifted], Pairing::TwoFiles).unwrap_err();
    assert!(matches!(&error, CohortError::NamesDiffer { record: 2, .. }), "{error}");
}
