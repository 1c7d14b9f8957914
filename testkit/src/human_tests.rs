//! A genome like a human one: the same for a seed, with what is requested.

use super::*;
use crate::genome::Genome;
use std::collections::HashSet;

#[test]
fn the_whole_has_the_shape_of_the_assembly() {
    let chromosomes: u64 = CHROMOSOMES.iter().map(|c| c.1).sum();
    let small: u64 = SMALL.iter().map(|kind| kind.2).sum();
    assert_eq!(chromosomes + small, HUMAN_BASES);
    let all = small_sequences(&mut Random::new(1), HUMAN_BASES);
    assert_eq!(all.len(), 3_342);
    let names: HashSet<&str> = all.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names.len(), all.len());
    let lengths = shares(HUMAN_BASES - small, &CHROMOSOMES.map(|c| c.1));
    assert_eq!(lengths[0], 248_956_422);
    let random = &mut Random::new(1);
    let unknown: usize = CHROMOSOMES
        .iter()
        .map(|c| n_runs(random, c.1 as usize, c.2, c.3).iter().map(Range::len).sum::<usize>())
        .sum();
    assert!((148_000_000..154_000_000).contains(&unknown), "{unknown}");
}

#[test]
fn a_small_one_has_everything_that_the_whole_has() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let options = HumanOptions { seed: 1, bases: 1_000_000 };
    write_human(&options, &path("a.fa")).unwrap();
    write_human(&options, &path("b.fa")).unwrap();
    let text = std::fs::read(path("a.fa")).unwrap();
    assert_eq!(text, std::fs::read(path("b.fa")).unwrap());
    let genome = Genome::read_fasta(&path("a.fa")).unwrap();
    assert_eq!(genome.length_bp(), 1_000_000);
    assert_eq!(genome.contigs[0].name, "chr1");
    assert_eq!(genome.contigs[23].name, "chrY");
    assert_eq!(genome.contigs.last().unwrap().bases.len(), 1);
    let names: HashSet<&str> = genome.contigs.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names.len(), genome.contigs.len());
    let hla: Vec<&&str> = names.iter().filter(|name| name.starts_with("HLA-")).collect();
    assert!(!hla.is_empty() && hla.iter().all(|name| name.contains('*') && name.contains(':')));
    let sequence: Vec<u8> = text
        .split(|&b| b == b'\n')
        .filter(|line| !line.starts_with(b">"))
        .flatten()
        .copied()
        .collect();
    let count = |letters: &[u8]| sequence.iter().filter(|b| letters.contains(b)).count();
    let share = |letters: &[u8]| count(letters) as f64 / 1e6;
    assert!(count(b"RYKMSWBDHVrymk") > 20);
    assert!((0.03..0.10).contains(&share(b"N")), "{}", share(b"N"));
    assert!((0.25..0.55).contains(&share(b"acgt")), "{}", share(b"acgt"));
    let alt = std::fs::read_to_string(path("a.fa.alt")).unwrap();
    let alt: Vec<&str> = alt.lines().skip(1).map(|l| l.split('\t').next().unwrap()).collect();
    let is_alt = |name: &&&str| name.ends_with("_alt") || name.starts_with("HLA-");
    assert_eq!(alt.len(), names.iter().filter(is_alt).count());
    assert!(alt.iter().all(|name| names.contains(name)));
}

#[test]
fn refuses_what_is_too_small() {
    let options = HumanOptions { seed: 1, bases: 99_999 };
    assert!(write_human(&options, Path::new("/nowhere/a.fa")).is_err());
}
