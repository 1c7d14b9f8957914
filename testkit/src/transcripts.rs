//! Transcripts of a genome, with introns where it happens to have their ends, for reads over
//! introns.

use crate::error::Error;
use crate::genome::{Contig, Genome};
use crate::random::Random;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// Where an intron is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Intron {
    /// Number of its contig.
    pub contig: usize,
    /// Its first base, from 0.
    pub start: usize,
    /// The first one after it.
    pub end: usize,
}

/// A transcript: its contig, strand and exons, and how much there is of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Transcript {
    /// Number of its contig.
    pub contig: usize,
    /// It is on the reverse strand.
    pub is_reverse: bool,
    /// Their first base and the first one after each, in the order of the forward strand.
    pub exons: Vec<[usize; 2]>,
    /// How often it is read next to others.
    pub weight: f64,
}

/// How introns begin and end on the forward strand, of transcripts there and on the other one: as
/// most do, not with GT-AG alone.
const ENDS: [[[&[u8]; 2]; 2]; 2] =
    [[[b"GTAA", b"GTGA"], [b"CAG", b"TAG"]], [[b"CTG", b"CTA"], [b"TTAC", b"TCAC"]]];

/// Fewest bases of a transcript.
const LEAST_BASES: usize = 320;

/// Transcripts of a genome.
#[must_use]
pub fn transcripts(genome: &Genome, seed: u64) -> Vec<Transcript> {
    let mut random = Random::new(seed);
    let mut all = Vec::new();
    for (contig, it) in genome.contigs.iter().enumerate() {
        let bases = it.bases.to_ascii_uppercase();
        let mut at = 1000;
        while at + 30_000 < bases.len() {
            let is_reverse = random.percent(50);
            let (exons, end) = exons(&bases, at, ENDS[usize::from(is_reverse)], &mut random);
            at = end + random.between(300, 3000) as usize;
            let text = exons.iter().flat_map(|it| &bases[it[0]..it[1]]);
            if text.clone().all(|base| *base != b'N') && text.count() >= LEAST_BASES {
                all.push(Transcript { contig, is_reverse, exons, weight: 1.0 });
            }
        }
    }
    all
}

/// Some exons from `at` on, and where the next one would begin.
fn exons(
    bases: &[u8],
    at: usize,
    ends: [[&[u8]; 2]; 2],
    random: &mut Random,
) -> (Vec<[usize; 2]>, usize) {
    let next = |wanted: [&[u8]; 2], from: usize| {
        let is_one = |it: &[u8]| wanted.iter().any(|one| it.starts_with(one));
        Some(from + bases.get(from..)?.windows(4).position(is_one)?)
    };
    let (mut exons, mut start) = (Vec::new(), at);
    for _ in 0..random.between(2, 7) {
        let Some(end) = next(ends[0], start + random.between(45, 250) as usize) else { break };
        exons.push([start, end]);
        let Some(last) = next(ends[1], end + random.between(60, 2500) as usize) else { break };
        start = last + ends[1][0].len();
    }
    (exons, start)
}

/// All introns, and whether they are on the reverse strand.
#[must_use]
pub fn introns(all: &[Transcript]) -> BTreeMap<Intron, bool> {
    let of = |it: &Transcript| {
        let (contig, is_reverse) = (it.contig, it.is_reverse);
        let intron = |two: &[[usize; 2]]| Intron { contig, start: two[0][1], end: two[1][0] };
        it.exons.windows(2).map(|two| (intron(two), is_reverse)).collect::<Vec<_>>()
    };
    all.iter().flat_map(of).collect()
}

/// Writes HISAT2's list of splice sites.
///
/// # Errors
/// When the file cannot be written.
pub fn write_sites(genome: &Genome, all: &[Transcript], path: &Path) -> Result<(), Error> {
    let mut text = String::new();
    for (Intron { contig, start, end }, is_reverse) in introns(all) {
        let (name, strand) = (&genome.contigs[contig].name, if is_reverse { '-' } else { '+' });
        let _ = writeln!(text, "{name}\t{}\t{end}\t{strand}", start - 1);
    }
    std::fs::write(path, text).map_err(Error::file(path))
}

/// The sequences of transcripts, as the forward strand has them.
#[must_use]
pub fn spliced(genome: &Genome, all: &[Transcript]) -> Genome {
    let contig = |(number, it): (usize, &Transcript)| {
        let bases = &genome.contigs[it.contig].bases;
        let bases = it.exons.iter().flat_map(|exon| &bases[exon[0]..exon[1]]).copied().collect();
        Contig { name: format!("t{number}"), bases }
    };
    Genome { contigs: all.iter().enumerate().map(contig).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::genome::GenomeOptions;

    #[test]
    fn introns_have_the_ends_of_their_strand_and_exons_are_what_is_between() {
        let options = GenomeOptions { seed: 3, length_bp: 200_000, contigs: 2 };
        let genome = Genome::simulate(&options).unwrap();
        let all = transcripts(&genome, 1);
        assert!(all.len() > 10 && all.iter().any(|it| it.is_reverse));
        assert_eq!(all, transcripts(&genome, 1));
        for (Intron { contig, start, end }, is_reverse) in introns(&all) {
            let bases = genome.contigs[contig].bases.to_ascii_uppercase();
            let ends = [&bases[start..start + 2], &bases[end - 2..end]];
            assert_eq!(ends, if is_reverse { [b"CT", b"AC"] } else { [b"GT", b"AG"] });
        }
        let texts = spliced(&genome, &all);
        for (it, text) in all.iter().zip(&texts.contigs) {
            let bases: usize = it.exons.iter().map(|exon| exon[1] - exon[0]).sum();
            assert_eq!(text.bases.len(), bases);
            let first = it.exons[0];
            assert!(text.bases.starts_with(&genome.contigs[it.contig].bases[first[0]..first[1]]));
        }
    }
}
