//! Our own search and chains against the library's, chain by chain.

use seqloom_testkit::genome::{Contig, Genome};

use super::certified_tests::{Dice, Indexed, hostile_genome, reads_at, turned};
use super::oracle::{Compared, FilteredChain, filtered_chains, library, own_chains};
use super::*;
use crate::index::IndexPaths;

/// An engine that searches by itself, and working memory for it and for the library's search.
struct Bench {
    engine: Compared,
    library: library::Scratch,
    searches: Searches,
}

fn codes_of(read: &[u8]) -> Vec<u8> {
    let mut codes = Vec::new();
    seed::append_codes(read, &mut codes);
    codes
}

impl Bench {
    /// The rows with which searches begin are the table's.
    fn new(indexed: &Indexed, options: &BwaOptions) -> Self {
        let mut bench = Self::without_table(indexed, options);
        let table = IndexPaths::new(&indexed.prefix()).fast();
        // Whatever becomes of regions, there is a table.
        let _ = bench.engine.engine.certify(&table, Arc::default());
        bench
    }

    fn without_table(indexed: &Indexed, options: &BwaOptions) -> Self {
        let library = library::Scratch::new().unwrap();
        Self { engine: indexed.engine(options), library, searches: Searches::default() }
    }

    /// Compares the chains of all reads. Says how many there are.
    fn compare(&mut self, reads: &[Vec<u8>]) -> usize {
        let Self { engine, library, searches } = self;
        let mut count = 0;
        for reads in reads.chunks(library::KERNEL_READS) {
            let codes: Vec<Vec<u8>> = reads.iter().map(|read| codes_of(read)).collect();
            let bases = reads.iter().map(Vec::len).sum();
            library.make_room(&engine.library.index, &engine.library.options, bases).unwrap();
            let expected =
                filtered_chains(&engine.library.index, &engine.library.options, library, reads);
            let found = own_chains(engine, searches, reads, &codes);
            for (number, (expected, found)) in expected.iter().zip(&found).enumerate() {
                let read = String::from_utf8_lossy(&reads[number]);
                for (at, (expected, found)) in expected.iter().zip(found).enumerate() {
                    assert_eq!(found, expected, "chain {at} of read {number}: {read}");
                }
                assert_eq!(found.len(), expected.len(), "read {number}: {read}");
                count += found.len();
            }
        }
        count
    }
}

/// Options that chains follow from.
fn all_options() -> Vec<BwaOptions> {
    let options = BwaOptions::default;
    vec![
        options(),
        BwaOptions { max_occurrences: Some(1), ..options() },
        BwaOptions { max_occurrences: Some(5), band_width: Some(2), ..options() },
        BwaOptions { max_occurrences: Some(11), band_width: Some(0), ..options() },
        BwaOptions { band_width: Some(1000), mismatch_penalty: Some(9), ..options() },
        // No regions are shown with these.
        BwaOptions { gap_open: Some([1, 1]), ..options() },
    ]
}

/// Options that seeds follow from, for which the table's strings may be too long.
fn seed_options() -> Vec<BwaOptions> {
    let of = |[least, third]: [i32; 2], reseeding: f32| BwaOptions {
        min_seed_length: Some(least),
        third_round_occurrences: Some(third),
        reseeding_factor: Some(reseeding),
        ..BwaOptions::default()
    };
    vec![
        of([19, 20], 1.5),
        of([1, 20], 1.5),
        of([5, 3], 0.5),
        of([9, 1], 1.0),
        of([12, 0], 2.0),
        of([14, 20], 10.0),
        of([20, 2], 1.5),
        of([33, 20], 1.0),
        of([60, 500], 0.1),
    ]
}

fn scale(count: usize) -> usize {
    if std::env::var_os("SEQLOOM_SLOW").is_some() { 20 * count } else { count }
}

/// A read with some letters that are no bases.
fn with_others(dice: &mut Dice, mut read: Vec<u8>) -> Vec<u8> {
    for _ in 0..dice.below(4) {
        let at = dice.below(read.len());
        read[at] = b"NnRY-.*"[dice.below(7)];
    }
    if dice.below(3) == 0 {
        let (from, length) = (dice.below(read.len()), dice.below(40));
        let end = read.len().min(from + length);
        read[from..end].fill(b'N');
    }
    read
}

#[test]
fn chains_at_copies_are_those_of_the_library() {
    for (seed, options) in (300..).zip(all_options()) {
        let mut dice = Dice(seed);
        let (genome, spots) = hostile_genome(&mut dice);
        let mut bench = Bench::new(&Indexed::new(&genome), &options);
        let reads = reads_at(&mut dice, &genome, &spots, scale(2000));
        let others: Vec<_> =
            reads.iter().take(600).map(|read| with_others(&mut dice, read.clone())).collect();
        assert!(bench.compare(&reads) > reads.len(), "{options:?}");
        assert!(bench.compare(&others) > 300, "{options:?}");
    }
}

#[test]
fn chains_of_other_seeds_are_those_of_the_library() {
    for (seed, options) in (350..).zip(seed_options()) {
        let mut dice = Dice(seed);
        let (genome, spots) = hostile_genome(&mut dice);
        let indexed = Indexed::new(&genome);
        let reads = reads_at(&mut dice, &genome, &spots, scale(300));
        let others: Vec<_> =
            reads.iter().take(100).map(|read| with_others(&mut dice, read.clone())).collect();
        for mut bench in [Bench::new(&indexed, &options), Bench::without_table(&indexed, &options)]
        {
            assert!(bench.compare(&reads) > reads.len() / 2, "{options:?}");
            assert!(bench.compare(&others) > others.len() / 4, "{options:?}");
        }
    }
}

/// In tandem repeats chains begin at one place, many of them, and weigh the same.
#[test]
fn chains_in_tandem_repeats_are_those_of_the_library() {
    for seed in 1..=scale(4) as u64 {
        let mut dice = Dice(400 + seed);
        let (mut text, mut reads) = (dice.bases(300), Vec::new());
        for period in (1..=40).chain([60, 75, 149, 150, 151]) {
            let unit = dice.bases(period);
            let length = 60 + dice.below(600);
            let mut tandem: Vec<u8> = unit.iter().copied().cycle().take(length).collect();
            (0..dice.below(4)).for_each(|_| dice.substitute(&mut tandem));
            let start = text.len();
            text.extend(&tandem);
            text.extend(dice.bases(100));
            for _ in 0..12 {
                let from = start - 100 + dice.below(length + 100);
                let end = (from + [50, 100, 150, 250, 400][dice.below(5)]).min(text.len());
                let mut read = text[from..end].to_vec();
                (0..dice.below(4)).for_each(|_| dice.substitute(&mut read));
                reads.push(if dice.below(2) == 0 { turned(&read) } else { read });
            }
        }
        // A piece of one repeat next to a piece of another, and some that come again in the read.
        for at in 0..200 {
            let (one, other) = (reads[at].clone(), reads[at + 200].clone());
            reads.push([&one[..one.len() / 2], &other[..], &one[..]].concat());
        }
        let contigs = vec![Contig { name: "c".to_owned(), bases: text }];
        let indexed = Indexed::new(&Genome { contigs });
        for options in all_options() {
            let count = Bench::new(&indexed, &options).compare(&reads);
            assert!(count > reads.len(), "{options:?}: {count}");
        }
    }
}

/// Reads of all lengths, of one letter, of none, and from genomes hardly longer than a seed.
#[test]
fn chains_of_odd_reads_are_those_of_the_library() {
    for (seed, length) in [(1, 20), (2, 25), (3, 100), (4, 700), (5, 150_000)] {
        let mut dice = Dice(500 + seed);
        let text = dice.bases(length);
        let genome = Genome {
            contigs: vec![
                Contig { name: "c".to_owned(), bases: text.clone() },
                Contig { name: "d".to_owned(), bases: dice.bases(19 + length / 7) },
            ],
        };
        let mut bench = Bench::new(&Indexed::new(&genome), &BwaOptions::default());
        let mut reads = vec![vec![], b"N".to_vec(), vec![b'N'; 150], vec![b'A'; 150]];
        for length in (1..=45).chain([249, 250, 499, 500, 501, 698, 699, 700, 701, 5000]) {
            let from = dice.below(text.len());
            let piece = &text[from..(from + length).min(text.len())];
            let read: Vec<u8> = piece.iter().copied().cycle().take(length).collect();
            let mut noisy = read.clone();
            (0..length / 15).for_each(|_| dice.substitute(&mut noisy));
            // Over the end of the strand.
            let over = [&text[text.len().saturating_sub(length)..], &turned(&text)].concat();
            reads.extend([turned(&read), with_others(&mut dice, read), noisy, over]);
            reads.push(dice.bases(length));
        }
        bench.compare(&reads);
    }
}

/// Long reads, whose seeds are aligned once more.
#[test]
fn chains_of_long_reads_are_those_of_the_library() {
    let mut dice = Dice(600);
    let (genome, spots) = hostile_genome(&mut dice);
    let text: Vec<u8> = genome.contigs.iter().flat_map(|c| c.bases.iter().copied()).collect();
    let mut bench = Bench::new(&Indexed::new(&genome), &BwaOptions::default());
    let mut reads = Vec::new();
    for _ in 0..scale(60) {
        let length = [650, 700, 720, 1000, 3000, 20_000][dice.below(6)];
        let [start, _] = spots[dice.below(spots.len())];
        let from = start.saturating_sub(length / 2).min(text.len() - length);
        let mut read = text[from..from + length].to_vec();
        let errors = dice.below(length / 5);
        (0..errors).for_each(|_| dice.substitute(&mut read));
        if dice.below(2) == 0 {
            read = with_others(&mut dice, read);
        }
        reads.push(if dice.below(2) == 0 { turned(&read) } else { read });
    }
    // Longest that is handed on.
    let longest: Vec<u8> = text.iter().copied().cycle().take(LONGEST_READ_BASES).collect();
    reads.push(longest);
    assert!(bench.compare(&reads) > reads.len());
}

/// Chains of one ALT and other sequences, and sequences of the length of a seed.
#[test]
fn chains_in_alternate_and_short_sequences_are_those_of_the_library() {
    let mut dice = Dice(700);
    let main = dice.bases(6000);
    let contig = |(number, bases)| Contig { name: format!("s{number}"), bases };
    let mut sequences = vec![main.clone()];
    for length in [19, 20, 21, 40, 150, 400, 401] {
        let from = dice.below(main.len() - length);
        let mut copy = main[from..from + length].to_vec();
        (0..dice.below(3)).for_each(|_| dice.substitute(&mut copy));
        sequences.push(copy);
        sequences.push(dice.bases(length));
    }
    let genome = Genome { contigs: sequences.iter().cloned().enumerate().map(contig).collect() };
    let indexed = Indexed::new(&genome);
    let names: String = (1..sequences.len()).step_by(2).map(|at| format!("s{at}\n")).collect();
    std::fs::write(indexed.prefix().with_extension("fa.alt"), names).unwrap();
    let text: Vec<u8> = sequences.concat();
    let mut bench = Bench::new(&indexed, &BwaOptions::default());
    let reads: Vec<_> = (0..scale(3000))
        .map(|_| {
            let length = [30, 60, 100, 150, 300][dice.below(5)];
            let from = dice.below(text.len() - length);
            let mut read = text[from..from + length].to_vec();
            (0..dice.below(5)).for_each(|_| dice.substitute(&mut read));
            if dice.below(2) == 0 { turned(&read) } else { read }
        })
        .collect();
    assert!(bench.engine.index.sequences().iter().any(|sequence| sequence.is_alt));
    assert!(bench.compare(&reads) > reads.len());
}

#[test]
fn chains_of_a_read_of_many_rows_are_made_alone() {
    let mut dice = Dice(800);
    let unit = dice.bases(300);
    let mut text = Vec::new();
    for _ in 0..600 {
        let mut copy = unit.clone();
        (0..dice.below(3)).for_each(|_| dice.substitute(&mut copy));
        text.extend(copy);
        text.extend(dice.bases(30));
    }
    let genome = Genome { contigs: vec![Contig { name: "c".to_owned(), bases: text }] };
    let mut bench = Bench::new(&Indexed::new(&genome), &BwaOptions::default());
    let reads: Vec<_> = (0..40).map(|at| unit[at..at + 250].to_vec()).collect();
    bench.compare(&reads);
    // Of one read more than are looked up together.
    bench.compare(&[unit.repeat(12)]);
}

/// Whatever is found for a read, others of its batch have no part in it.
#[test]
fn chains_are_those_of_reads_alone() {
    let mut dice = Dice(900);
    let (genome, spots) = hostile_genome(&mut dice);
    let mut bench = Bench::new(&Indexed::new(&genome), &BwaOptions::default());
    let reads = reads_at(&mut dice, &genome, &spots, 200);
    let chains = |bench: &mut Bench, reads: &[Vec<u8>]| -> Vec<Vec<FilteredChain>> {
        let codes: Vec<Vec<u8>> = reads.iter().map(|read| codes_of(read)).collect();
        own_chains(&bench.engine, &mut bench.searches, reads, &codes)
    };
    let together = chains(&mut bench, &reads);
    let alone = reads.iter().flat_map(|read| chains(&mut bench, std::slice::from_ref(read)));
    assert_eq!(together, alone.collect::<Vec<_>>());
}
