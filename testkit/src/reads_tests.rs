//! Simulated reads: the same for a seed, with their truth.

use super::*;
use crate::genome::GenomeOptions;
use std::collections::{HashMap, HashSet};

fn genome() -> Genome {
    let options = GenomeOptions { seed: 5, length_bp: 200_000, contigs: 2 };
    Genome::simulate(&options).unwrap()
}

fn all(genome: &Genome, options: &ReadOptions) -> Vec<Template> {
    let mut simulator = Simulator::new(genome, options).unwrap();
    let mut out = Vec::new();
    while let Some(t) = simulator.next_template() {
        out.push(t.clone());
    }
    out
}

#[test]
fn truth_in_the_name_is_where_the_bases_are() {
    let genome = genome();
    let options = ReadOptions {
        templates: 2000,
        error_first: 0.0,
        error_last: 0.0,
        indel_rate: 0.0,
        insert_sd_bp: 30.0,
        adapter_share: 0.0,
        chimera_share: 0.2,
        duplicate_share: 0.2,
        ..ReadOptions::default()
    };
    let mut two = 0;
    for t in all(&genome, &options) {
        for (end, read) in t.reads.iter().enumerate() {
            let origins = truth::origins(&t.name, end == 1).unwrap();
            two += usize::from(origins.len() == 2);
            let name = String::from_utf8_lossy(&t.name);
            let fits = |o: &Origin, part: &[u8]| shows(&genome, *o, part);
            let bases = &read.bases;
            match &origins[..] {
                [] => {}
                [one] => assert!(fits(one, bases), "{name}"),
                [one, two] => {
                    let mut breaks = 1..bases.len();
                    let here = |k| fits(one, &bases[..k]) && fits(two, &bases[k..]);
                    assert!(breaks.any(here), "{name}");
                }
                _ => panic!("{name}: a fragment has at most two pieces"),
            }
        }
    }
    assert!(two > 100, "{two}");
}

/// `part` is in the genome where `origin` says.
fn shows(genome: &Genome, origin: Origin, part: &[u8]) -> bool {
    let from = origin.position as usize;
    let Some(place) = genome.contigs[origin.contig as usize].bases.get(from..from + part.len())
    else {
        return false;
    };
    if origin.reverse {
        place.iter().rev().map(|&b| complement(b)).eq(part.iter().copied())
    } else {
        place == part
    }
}

#[test]
fn is_a_function_of_its_options_and_names_are_unique() {
    let genome = genome();
    let options = ReadOptions { templates: 3000, duplicate_share: 0.3, ..ReadOptions::default() };
    let a = all(&genome, &options);
    let b = all(&genome, &options);
    assert!(a.iter().zip(&b).all(|(a, b)| a.name == b.name && a.reads == b.reads));
    let names: HashSet<_> = a.iter().map(|t| t.name.clone()).collect();
    assert_eq!(names.len(), 3000);
    for t in &a {
        assert_eq!(t.name.iter().filter(|&&b| b == b':').count(), 6);
        assert!(t.name.len() <= 254);
    }
}

#[test]
fn duplicates_and_optical_ones_occur_in_their_shares() {
    let genome = genome();
    let options = ReadOptions {
        templates: 20_000,
        duplicate_share: 0.2,
        optical_share: 0.5,
        ..ReadOptions::default()
    };
    let mut sets: HashMap<Vec<u8>, Vec<Place>> = HashMap::new();
    for t in all(&genome, &options) {
        let f: Vec<&[u8]> = t.name.split(|&b| b == b':').collect();
        let number = |i: usize| std::str::from_utf8(f[i]).unwrap().parse().unwrap();
        let place = Place { lane: number(3), tile: number(4), x: number(5), y: number(6) };
        sets.entry([f[1], b":", f[2]].concat()).or_default().push(place);
    }
    let near = |a: &Place, b: &Place| {
        a.tile == b.tile && a.x.abs_diff(b.x) <= 100 && a.y.abs_diff(b.y) <= 100
    };
    let duplicates: usize = sets.values().map(|s| s.len() - 1).sum();
    let optical = sets.values().flat_map(|s| s[1..].iter().map(|p| near(p, &s[0])));
    let optical = optical.filter(|&n| n).count();
    assert!((3600..4800).contains(&duplicates), "{duplicates}");
    assert!((1200..2400).contains(&optical), "{optical}");
    assert!(sets.values().any(|s| s.len() >= 5));
}

#[test]
fn single_reads_short_reads_and_read_groups() {
    let genome = genome();
    let group = |id: &str, library: &str| ReadGroup {
        id: id.into(),
        library: library.into(),
        sample: "s".into(),
    };
    let options = ReadOptions {
        templates: 500,
        paired: false,
        length_min_bp: 1,
        length_max_bp: 60,
        read_groups: vec![group("a", "l1"), group("b", "l1"), group("c", "l2")],
        ..ReadOptions::default()
    };
    let reads = all(&genome, &options);
    assert!(reads.iter().all(|t| t.reads[1].bases.is_empty()));
    assert!(reads.iter().all(|t| (1..=60).contains(&t.reads[0].bases.len())));
    assert!(reads.iter().all(|t| t.reads[0].bases.len() == t.reads[0].qualities.len()));
    let groups: HashSet<_> = reads.iter().map(|t| t.read_group).collect();
    assert_eq!(groups.len(), 3);
    let bad = ReadOptions { length_min_bp: 0, ..options };
    assert!(Simulator::new(&genome, &bad).is_err());
}
