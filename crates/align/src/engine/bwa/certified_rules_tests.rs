//! Genomes of which one rule of the certified path decides: without it, the regions of these reads
//! would not be those of the library's own search.

use seqloom_testkit::genome::{Contig, Genome};

use super::certified_tests::{Counts, Dice, compare, read, turned};
use super::*;
use crate::engine::bwa::certified::CertifiedOutcome;

/// Another base than `base`.
fn other(base: u8) -> u8 {
    if base == b'A' { b'C' } else { b'A' }
}

/// `bases` with others at `places`.
fn changed(mut bases: Vec<u8>, places: &[usize]) -> Vec<u8> {
    places.iter().for_each(|&at| bases[at] = other(bases[at]));
    bases
}

/// `read` within `spans`, which do not go on by chance; random bases elsewhere.
fn copy_of(dice: &mut Dice, read: &[u8], spans: &[[usize; 2]]) -> Vec<u8> {
    let mut copy = dice.bases(read.len());
    for &[start, end] in spans {
        copy[start..end].copy_from_slice(&read[start..end]);
        for beside in [start.wrapping_sub(1), end] {
            if let Some(base) = copy.get_mut(beside) {
                *base = other(read[beside]);
            }
        }
    }
    copy
}

/// Farther apart than regions that the library compares.
const FAR: usize = 25_000;

/// One sequence, of pieces with `between` random bases round each.
fn genome_of(dice: &mut Dice, pieces: &[Vec<u8>], between: usize) -> Genome {
    let mut bases = dice.bases(between);
    for piece in pieces {
        bases.extend(piece);
        bases.extend(dice.bases(between));
    }
    Genome { contigs: vec![Contig { name: "c".to_owned(), bases }] }
}

/// Compares the reads as they are and reverse-complemented, all of which are to be chained.
fn compare_chained(genome: &Genome, options: &BwaOptions, reads: &[Vec<u8>]) {
    let turned: Vec<_> = reads.iter().map(|bases| turned(bases)).collect();
    let all = [reads, &turned].concat();
    let counts = compare_all(genome, options, &all);
    assert_eq!(counts.of(CertifiedOutcome::Chained), all.len() as u64, "{counts:?}");
}

fn compare_all(genome: &Genome, options: &BwaOptions, reads: &[Vec<u8>]) -> Counts {
    let batches = reads.chunks(512).map(|batch| EngineReads {
        pairs: vec![],
        singles: batch.iter().map(|bases| read(bases)).collect(),
    });
    compare(genome, options, batches)
}

/// Of a seed that occurs more often than `-c`, every so-manieth row is taken, and no more of them;
/// the share of the read in such seeds is reported.
#[test]
fn regions_with_seeds_about_as_frequent_as_the_limit() {
    let mut dice = Dice(11);
    let (mut copies, mut starts, mut at) = (Vec::new(), Vec::new(), 150);
    for times in [1, 4, 5, 6, 9, 10, 11, 12, 15, 16, 26] {
        let unit = dice.bases(60);
        for _ in 0..times {
            copies.push(unit.clone());
            starts.push(at);
            at += 60 + 150;
        }
    }
    let genome = genome_of(&mut dice, &copies, 150);
    let bases = &genome.contigs[0].bases;
    // Two segments between mismatches are in the unit, and occur as often.
    let read = |&start: &usize| changed(bases[start - 45..][..150].to_vec(), &[50, 75, 100]);
    let reads: Vec<_> = starts[1..].iter().map(read).collect();
    let options = BwaOptions { max_occurrences: Some(5), ..BwaOptions::default() };
    compare_chained(&genome, &options, &reads);
}

/// What frequent seeds share of a read counts once, in whatever order they were found.
#[test]
fn regions_with_frequent_seeds_that_overlap() {
    let mut dice = Dice(12);
    let read = dice.bases(150);
    let mut pieces = vec![changed(read.clone(), &[80, 120, 145])];
    // Over the first mismatch two that overlap; between the others a segment, found before them.
    for span in [[50, 90], [70, 110], [121, 145]] {
        pieces.extend((0..7).map(|_| copy_of(&mut dice, &read, &[span])));
    }
    let genome = genome_of(&mut dice, &pieces, 100);
    let options = BwaOptions { max_occurrences: Some(5), ..BwaOptions::default() };
    compare_chained(&genome, &options, &[read]);
}

/// A seed before the chain on the diagonal is within that chain's region. The library
/// extends it all the same, since the seed whose extension the region is was much shorter; and
/// what comes of it reaches out of the region, so that it stays. (The read after it is too short
/// for a gap that leads back to the diagonal.)
#[test]
fn regions_with_another_chain_near_the_known_one() {
    let mut dice = Dice(13);
    let mismatches = [18, 37, 70, 103, 136, 169];
    let mut read = dice.bases(184);
    // As far as base 54, the genome is the read from base 60 on.
    let shifted = changed(read[..54].to_vec(), &[18, 37]);
    read[60..114].copy_from_slice(&shifted);
    let place = changed(read.clone(), &mismatches);
    assert_eq!(place[..54], read[60..114]);
    // What is before it differs from the read before base 60 in one base.
    let in_front = changed(read[43..60].to_vec(), &[16]);
    let genome = genome_of(&mut dice, &[[in_front, place].concat()], 3000);
    compare_chained(&genome, &BwaOptions::default(), &[read]);
}

/// The library drops the chain on the diagonal, and extends two others that are far away.
#[test]
fn regions_with_a_known_chain_that_is_dropped() {
    let mut dice = Dice(14);
    let read = dice.bases(160);
    let place = changed(read.clone(), &[18, 37, 56, 103, 122, 141]);
    let heaviest = copy_of(&mut dice, &read, &[[0, 64], [96, 160]]);
    let second = copy_of(&mut dice, &read, &[[0, 50], [110, 160]]);
    let genome = genome_of(&mut dice, &[heaviest, place, second], FAR);
    compare_chained(&genome, &BwaOptions::default(), &[read]);
}

/// The longest segment of the diagonal is no seed, as it is in a longer match elsewhere.
#[test]
fn regions_with_a_longest_stretch_that_is_no_seed() {
    let mut dice = Dice(15);
    let read = dice.bases(150);
    let place = changed(read.clone(), &[19, 60, 95, 130]);
    let elsewhere = copy_of(&mut dice, &read, &[[10, 110]]);
    let genome = genome_of(&mut dice, &[place, elsewhere], FAR);
    compare_chained(&genome, &BwaOptions::default(), &[read]);
}

/// The region on the diagonal has the heaviest chain and not the first place among the regions:
/// one elsewhere scores as much and is before it, or scores more.
#[test]
fn regions_that_come_before_the_known_one() {
    for (here, elsewhere) in
        [(&[20, 30][..], &[60, 79][..]), (&[20, 30, 140, 145][..], &[40, 59, 78][..])]
    {
        let mut dice = Dice(16);
        let read = dice.bases(150);
        let pieces = [changed(read.clone(), elsewhere), changed(read.clone(), here)];
        let genome = genome_of(&mut dice, &pieces, FAR);
        compare_chained(&genome, &BwaOptions::default(), &[read]);
    }
}

/// What is off the diagonal reaches over the ends of a strand.
#[test]
fn regions_at_the_ends_of_strands() {
    let mut dice = Dice(17);
    let genome = genome_of(&mut dice, &[], 2000);
    let bases = &genome.contigs[0].bases;
    let reads = (0..40).flat_map(|from_end| {
        let ends = [from_end, bases.len() - 100 - from_end];
        ends.map(|start| bases[start..start + 100].to_vec())
    });
    let reads = reads.flat_map(|bases| [changed(bases.clone(), &[50, 70]), bases]);
    let reads = reads.flat_map(|bases| [turned(&bases), bases]).collect::<Vec<_>>();
    let counts = compare_all(&genome, &BwaOptions::default(), &reads);
    // Of 40 places at each end, 31 are too near.
    assert_eq!(counts.of(CertifiedOutcome::Certified), 2 * 4 * (40 - 31), "{counts:?}");
}

/// A read with the genome round its place. Part of it is in it once more, as the read or as the
/// genome has it; and pieces of it are close by.
fn read_amid_pieces(dice: &mut Dice) -> [Vec<u8>; 2] {
    let length = [60, 100, 150, 200, 260][dice.below(5)];
    let mut read = dice.bases(length);
    let again = 20 + dice.below(length / 2 - 20);
    let [from, to] = [0, 1].map(|_| dice.below(length - again));
    let is_repeated = dice.below(3) > 0;
    if is_repeated {
        read.copy_within(from..from + again, to);
    }
    let mut place = read.clone();
    (0..dice.below(6)).for_each(|_| dice.substitute(&mut place));
    if is_repeated && dice.below(2) == 0 {
        read[to..to + again].copy_from_slice(&place[from..from + again]);
    }
    let mut around = [Vec::new(), Vec::new()];
    for _ in 0..dice.below(7) {
        let side = &mut around[dice.below(2)];
        let start = dice.below(length - 20);
        let end = start + 20 + dice.below(length - start - 19);
        let mut copy = read[start..end].to_vec();
        (0..dice.below(3)).for_each(|_| dice.substitute(&mut copy));
        let beside = [0, 1, 5, 40][dice.below(4)];
        side.extend(dice.bases(beside));
        side.extend(if dice.below(4) == 0 { turned(&copy) } else { copy });
    }
    let [in_front, behind] = around;
    [read, [in_front, place, behind].concat()]
}

#[test]
fn regions_amid_pieces_of_the_read() {
    let options = BwaOptions::default;
    let all = [
        options(),
        BwaOptions { band_width: Some(10), ..options() },
        BwaOptions { max_occurrences: Some(2), ..options() },
        BwaOptions { preset: Some(Preset::Intractg), ..options() },
    ];
    let rounds = if std::env::var_os("SEQLOOM_SLOW").is_some() { 25 } else { 1 };
    for (seed, options) in (1..).zip(all.iter().cycle().take(4 * rounds)) {
        let mut dice = Dice(seed);
        let made: Vec<_> = (0..600).map(|_| read_amid_pieces(&mut dice)).collect();
        let [reads, places] =
            [0, 1].map(|at| made.iter().map(|it| it[at].clone()).collect::<Vec<_>>());
        let genome = genome_of(&mut dice, &places, 60);
        let reads = [reads.iter().map(|bases| turned(bases)).collect(), reads].concat();
        let counts = compare_all(&genome, options, &reads);
        assert!(counts.of(CertifiedOutcome::Chained) > 200, "{options:?} {counts:?}");
    }
}

/// Arrays of a short unit with a few mismatches, each between pieces of its own, some of them
/// twice; and reads across their borders, with two mismatches at most.
#[test]
fn regions_in_tandem_arrays() {
    let rounds = if std::env::var_os("SEQLOOM_SLOW").is_some() { 40 } else { 4 };
    for seed in 1..=rounds {
        let mut dice = Dice(1000 + seed);
        let mut pieces: Vec<Vec<u8>> = Vec::new();
        for _ in 0..60 {
            let period = 8 + dice.below(20);
            let unit = dice.bases(period);
            let copies = 3 + dice.below(8);
            let mut array = unit.repeat(copies);
            (0..dice.below(6)).for_each(|_| dice.substitute(&mut array));
            let piece = [dice.bases(60), array, dice.bases(60)].concat();
            let mut again = piece.clone();
            (0..dice.below(8)).for_each(|_| dice.substitute(&mut again));
            if dice.below(3) == 0 {
                again.drain(60..60 + period);
            }
            pieces.push(piece);
            if dice.below(2) == 0 {
                pieces.push(again);
            }
        }
        let genome = genome_of(&mut dice, &pieces, 300);
        let text = genome.contigs[0].bases.clone();
        let mut reads = Vec::new();
        let mut start = 0;
        for piece in &pieces {
            start += 300;
            for _ in 0..20 {
                let length = [60, 90, 106, 150][dice.below(4)];
                let from = start + dice.below(piece.len() + length) - length;
                let mut bases = text[from..from + length].to_vec();
                (0..dice.below(3)).for_each(|_| dice.substitute(&mut bases));
                reads.push(if dice.below(2) == 0 { turned(&bases) } else { bases });
            }
            start += piece.len();
        }
        let counts = compare_all(&genome, &BwaOptions::default(), &reads);
        assert!(counts.of(CertifiedOutcome::Chained) > reads.len() as u64 / 20, "{counts:?}");
    }
}
