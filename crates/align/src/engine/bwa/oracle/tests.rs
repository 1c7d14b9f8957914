//! That the oracle's stages are what they are taken for.

use super::super::certified_tests::{Dice, plain_engine, turned};
use super::super::*;
use super::library::Scratch;
use super::*;
use seqloom_testkit::genome::{Contig, Genome};

fn codes(letters: &[u8]) -> Vec<u8> {
    letters.iter().map(|&letter| crate::index::CODE[usize::from(letter)]).collect()
}

/// An engine of one sequence, and its bases.
fn engine(bases: &[u8]) -> Compared {
    let genome = Genome { contigs: vec![Contig { name: "c".to_owned(), bases: bases.to_vec() }] };
    plain_engine(&genome, &BwaOptions::default())
}

#[test]
fn whole_reads_have_a_chain_and_a_region() {
    let bases = Dice(1).bases(3000);
    let engine = engine(&bases);
    let mut scratch = Scratch::new().unwrap();
    let reads = [codes(&bases[500..600]), codes(&turned(&bases[900..1000])), vec![4; 30], vec![]];
    scratch.make_room(&engine.library.index, &engine.library.options, 1000).unwrap();
    let chains =
        filtered_chains(&engine.library.index, &engine.library.options, &mut scratch, &reads[..3]);
    let longest = |chain: &FilteredChain| chain.seeds.iter().map(|seed| seed.length).max();
    let places = |read: &Vec<FilteredChain>| {
        read.iter().map(|chain| (chain.place, longest(chain).unwrap())).collect::<Vec<_>>()
    };
    let found: Vec<_> = chains.iter().map(places).collect();
    assert_eq!(found, [vec![(500, 100)], vec![(2 * 3000 - 1000, 100)], vec![]]);
    let regions =
        regions(&engine.library.index, &engine.library.options, &mut scratch, &reads[..3]);
    let scores: Vec<Vec<i32>> =
        regions.iter().map(|read| read.iter().map(|region| region.score).collect()).collect();
    assert_eq!(scores, [vec![100], vec![100], vec![]]);
}

#[test]
fn equal_weights_are_put_in_another_order() {
    assert_eq!(sorted_by_weight(&[1, 2, 3]), [2, 1, 0]);
    assert_eq!(sorted_by_weight(&[5, 5]), [0, 1]);
    // Three equal ones do not stay as they are.
    assert_ne!(sorted_by_weight(&[5, 5, 5]), [0, 1, 2]);
}

#[test]
fn a_seed_is_extended_over_a_read_that_matches() {
    let bases = Dice(2).bases(2000);
    let engine = engine(&bases);
    let read = codes(&bases[100..150]);
    let found = extended(&engine.library.options, [&read, &read], [100, 5, 20]);
    assert_eq!((found.score, found.read_end, found.whole_score), (70, 50, 70));
}
