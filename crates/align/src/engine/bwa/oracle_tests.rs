//! That the oracle's stages are what they are taken for.

use super::certified_tests::{Dice, plain_engine, turned};
use super::library::{Model, Scratch};
use super::oracle::*;
use super::*;
use seqloom_testkit::genome::{Contig, Genome};

fn codes(letters: &[u8]) -> Vec<u8> {
    letters.iter().map(|&letter| crate::index::CODE[usize::from(letter)]).collect()
}

/// An engine of one sequence, and its bases.
fn engine(bases: &[u8]) -> BwaEngine {
    let genome = Genome { contigs: vec![Contig { name: "c".to_owned(), bases: bases.to_vec() }] };
    plain_engine(&genome, &BwaOptions::default())
}

#[test]
fn whole_reads_have_a_chain_and_a_region() {
    let bases = Dice(1).bases(3000);
    let engine = engine(&bases);
    let mut scratch = Scratch::new().unwrap();
    let reads = [codes(&bases[500..600]), codes(&turned(&bases[900..1000])), vec![4; 30], vec![]];
    scratch.make_room(&engine.index, &engine.options, 1000).unwrap();
    let chains = filtered_chains(&engine.index, &engine.options, &mut scratch, &reads[..3]);
    let longest = |chain: &FilteredChain| chain.seeds.iter().map(|seed| seed.length).max();
    let places = |read: &Vec<FilteredChain>| {
        read.iter().map(|chain| (chain.place, longest(chain).unwrap())).collect::<Vec<_>>()
    };
    let found: Vec<_> = chains.iter().map(places).collect();
    assert_eq!(found, [vec![(500, 100)], vec![(2 * 3000 - 1000, 100)], vec![]]);
    let regions = regions(&engine.index, &engine.options, &mut scratch, &reads[..3]);
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
fn alignments_of_a_read_with_itself() {
    let bases = Dice(2).bases(2000);
    let engine = engine(&bases);
    let (options, read) = (&engine.options, codes(&bases[100..150]));
    let found = extended(options, [&read, &read], [100, 5, 20]);
    assert_eq!((found.score, found.read_end, found.whole_score), (70, 50, 70));
    let found = local(options, [&read, &read], XBYTE | XSUBO | XSTART | 19);
    assert_eq!((found.score, found.read_first, found.read_last), (50, 0, 49));
    assert_eq!(global(options, [&read, &read], 10), Global { score: 50, cigar: vec![50 << 4] });
    let found = described(&engine.index, options, &read, [100, 150], 10).unwrap();
    assert_eq!((found.distance, &found.difference[..]), (0, &b"50"[..]));
    // Both strands.
    assert_eq!(described(&engine.index, options, &read, [1990, 2040], 10), None);
}

#[test]
fn regions_are_sorted_marked_and_paired() {
    let bases = Dice(3).bases(5000);
    let engine = engine(&bases);
    let (index, options) = (&engine.index, &engine.options);
    let mut scratch = Scratch::new().unwrap();
    scratch.make_room(index, options, 1000).unwrap();
    let mates = [codes(&bases[500..600]), codes(&turned(&bases[800..900]))];
    let mut found = regions(index, options, &mut scratch, &mates);
    for (mate, read) in found.iter_mut().zip(&mates) {
        mate.push(mate[0]);
        sort_by_end(mate);
        sort_by_score(mate);
        sort_dedup_patch(index, options, Some(read), mate);
        assert_eq!(mate.len(), 1);
        sort_dedup_patch(index, options, None, mate);
        assert_eq!(mark_primary(options, mate, 0), 1);
        assert_eq!(mapping_quality(options, &mate[0]), 60);
    }
    let model: Model = "400,50".parse::<InsertSize>().unwrap().model();
    let pair = paired(index, options, &model, [&found[0], &found[1]], 0, [1, 1]);
    assert_eq!((pair.regions, pair.count), ([0, 0], 0));
    assert!(pair.score > 190, "{pair:?}");
}
