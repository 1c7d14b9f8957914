//! Small genomes that are hard to align to in the ways the human one is.
//!
//! Shares follow the human genome roughly (Lander et al. 2001, Nature 409:860): short interspersed
//! repeats 10 %, long ones 16 %, older families 10 %, tandem repeats 2 %, segmental duplications
//! 5 %, isochores of differing GC content, CpG depletion, and one run of N per contig.

use crate::Error;
use crate::random::Random;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::ops::Range;
use std::path::Path;

/// A reference sequence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contig {
    /// Name, as in the FASTA header up to the first white space.
    pub name: String,
    /// Bases, ASCII.
    pub bases: Vec<u8>,
}

/// Reference sequences in file order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Genome {
    /// The sequences.
    pub contigs: Vec<Contig>,
}

/// What kind of genome to make.
#[derive(Debug, Clone)]
pub struct GenomeOptions {
    /// Seed.
    pub seed: u64,
    /// Total length over all contigs.
    pub length_bp: usize,
    /// Number of contigs, of decreasing length.
    pub contigs: usize,
}

impl Default for GenomeOptions {
    fn default() -> GenomeOptions {
        GenomeOptions { seed: 1, length_bp: 2_000_000, contigs: 4 }
    }
}

const LETTERS: [u8; 4] = *b"ACGT";
/// Set next to the two bits of a base that is part of a repeat and in lower case.
pub(crate) const MASKED: u8 = 4;
/// Shorter contigs than this are left without N run: nothing else would be left of them.
const N_RUN_FROM_BP: usize = 20_000;

impl Genome {
    /// Makes a genome. Equal options give equal bases.
    ///
    /// # Errors
    /// [`Error::Options`] when a contig would be shorter than 1 kbp or there is none.
    pub fn simulate(options: &GenomeOptions) -> Result<Genome, Error> {
        let GenomeOptions { seed, length_bp, contigs } = *options;
        if contigs == 0 || length_bp / (contigs * (contigs + 1) / 2) < 1000 {
            return Err(Error::Options(format!(
                "{length_bp} bp are too few for {contigs} contigs of at least 1,000 bp"
            )));
        }
        let mut random = Random::new(seed);
        let mut bases = isochores(&mut random, length_bp);
        scatter_families(&mut random, &mut bases);
        scatter_tandems(&mut random, &mut bases, 0);
        scatter_duplications(&mut random, &mut bases);
        deplete_cpg(&mut random, &mut bases);
        Ok(cut(&mut random, &bases, contigs))
    }

    /// Reads plain FASTA.
    ///
    /// # Errors
    /// The file cannot be read, or bases are before the first header.
    pub fn read_fasta(path: &Path) -> Result<Genome, Error> {
        let file = File::open(path).map_err(Error::file(path))?;
        let mut genome = Genome::default();
        for line in BufReader::new(file).split(b'\n') {
            let line = line.map_err(Error::file(path))?;
            let line = line.trim_ascii_end();
            if let Some(header) = line.strip_prefix(b">") {
                let word = header.split(u8::is_ascii_whitespace).next().unwrap_or_default();
                let name = String::from_utf8_lossy(word).into_owned();
                genome.contigs.push(Contig { name, bases: Vec::new() });
            } else if let Some(contig) = genome.contigs.last_mut() {
                contig.bases.extend(line.iter().map(u8::to_ascii_uppercase));
            } else if !line.is_empty() {
                return Err(Error::format(path.display().to_string(), "no '>' line at the start"));
            }
        }
        Ok(genome)
    }

    /// Writes FASTA, 80 bases a line.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_fasta(&self, path: &Path) -> Result<(), Error> {
        let write = || -> std::io::Result<()> {
            let mut out = BufWriter::new(File::create(path)?);
            for contig in &self.contigs {
                writeln!(out, ">{}", contig.name)?;
                for line in contig.bases.chunks(80) {
                    out.write_all(line)?;
                    out.write_all(b"\n")?;
                }
            }
            out.flush()
        };
        write().map_err(Error::file(path))
    }

    /// Bases in all contigs.
    #[must_use]
    pub fn length_bp(&self) -> usize {
        self.contigs.iter().map(|c| c.bases.len()).sum()
    }
}

/// One random base (2 bits) at a GC content.
fn base(random: &mut Random, gc: f64) -> u8 {
    let strong = random.chance(gc);
    let second = random.next_u64() >> 63 == 1;
    match (strong, second) {
        (false, false) => 0,
        (true, false) => 1,
        (true, true) => 2,
        (false, true) => 3,
    }
}

pub(crate) fn random_bases(random: &mut Random, length_bp: usize, gc: f64) -> Vec<u8> {
    (0..length_bp).map(|_| base(random, gc)).collect()
}

pub(crate) fn isochores(random: &mut Random, length_bp: usize) -> Vec<u8> {
    let mut bases = Vec::with_capacity(length_bp);
    while bases.len() < length_bp {
        let length = random.between(20_000, 200_000) as usize;
        let gc = random.normal(0.41, 0.05).clamp(0.25, 0.65);
        let length = length.min(length_bp - bases.len());
        bases.extend((0..length).map(|_| base(random, gc)));
    }
    bases
}

/// A copy with `divergence` of its bases changed: nine of ten changes substitute, the rest insert
/// or delete one to three bases.
pub(crate) fn diverge(random: &mut Random, source: &[u8], divergence: f64) -> Vec<u8> {
    let mut out = Vec::with_capacity(source.len() + 16);
    let mut skip = 0;
    for &b in source {
        if skip > 0 {
            skip -= 1;
        } else if !random.chance(divergence) {
            out.push(b);
        } else if random.chance(0.9) {
            out.push((b + 1 + random.below(3) as u8) & 3);
        } else if random.chance(0.5) {
            skip = random.index(3);
        } else {
            out.push(b);
            out.extend((0..=random.index(3)).map(|_| base(random, 0.41)));
        }
    }
    out
}

/// Writes `copy`, or its reverse complement, over a random place, every base with `mark`.
pub(crate) fn place(random: &mut Random, bases: &mut [u8], mut copy: Vec<u8>, mark: u8) -> usize {
    copy.truncate(bases.len() / 2);
    if random.chance(0.5) {
        copy.reverse();
        copy.iter_mut().for_each(|b| *b = 3 - *b);
    }
    let start = random.index(bases.len() - copy.len());
    let there = &mut bases[start..start + copy.len()];
    there.iter_mut().zip(&copy).for_each(|(to, code)| *to = code | mark);
    copy.len()
}

fn scatter_families(random: &mut Random, bases: &mut [u8]) {
    let total = bases.len();
    for _ in 0..40 {
        let length = random.between(150, 2500) as usize;
        let family = random_bases(random, length, 0.41);
        scatter(random, bases, &[family], Scattering::of(total / 400, 0.08..0.30));
    }
    let long = random_bases(random, 6000, 0.42);
    let long = subfamilies(random, &long, &[0.0, 0.02, 0.04, 0.07, 0.10]);
    let how = Scattering { truncate: true, ..Scattering::of(total * 16 / 100, 0.001..0.15) };
    scatter(random, bases, &long, how);
    let short = random_bases(random, 300, 0.6);
    let short = subfamilies(random, &short, &[0.0, 0.01, 0.02, 0.03, 0.05]);
    scatter(random, bases, &short, Scattering::of(total / 10, 0.001..0.14));
}

pub(crate) fn subfamilies(
    random: &mut Random,
    consensus: &[u8],
    divergences: &[f64],
) -> Vec<Vec<u8>> {
    divergences.iter().map(|&d| diverge(random, consensus, d)).collect()
}

/// How copies are scattered.
#[derive(Debug, Clone)]
pub(crate) struct Scattering {
    /// Bases that they cover.
    pub(crate) total_bp: usize,
    /// Of a copy.
    pub(crate) divergence: Range<f64>,
    /// Most are cut at the front, as reverse transcription does.
    pub(crate) truncate: bool,
    /// What their bases are marked with.
    pub(crate) mark: u8,
}

impl Scattering {
    /// Whole copies without a mark.
    fn of(total_bp: usize, divergence: Range<f64>) -> Self {
        Self { total_bp, divergence, truncate: false, mark: 0 }
    }
}

/// Scatters copies of `families`.
pub(crate) fn scatter(
    random: &mut Random,
    bases: &mut [u8],
    families: &[Vec<u8>],
    how: Scattering,
) {
    let mut covered = 0;
    while covered < how.total_bp {
        let mut source = &families[random.index(families.len())][..];
        if how.truncate && random.chance(0.9) {
            source = &source[random.index(source.len() - 80)..];
        }
        let d = random.uniform(how.divergence.start, how.divergence.end);
        let copy = diverge(random, source, d);
        covered += place(random, bases, copy, how.mark).max(1);
    }
}

pub(crate) fn scatter_tandems(random: &mut Random, bases: &mut [u8], mark: u8) {
    let mut covered = 0;
    while covered < bases.len() * 2 / 100 {
        let unit = random.between(1, 40) as usize;
        let unit = random_bases(random, unit, 0.41);
        let length = random.between(30, 400) as usize;
        let array: Vec<u8> = unit.iter().copied().cycle().take(length).collect();
        let d = random.uniform(0.0, 0.1);
        let copy = diverge(random, &array, d);
        covered += place(random, bases, copy, mark).max(1);
    }
}

fn scatter_duplications(random: &mut Random, bases: &mut [u8]) {
    let longest = (bases.len() / 50).max(1001);
    let mut covered = 0;
    while covered < bases.len() * 5 / 100 {
        let length = random.between(1000, longest as u64) as usize;
        let length = length.min(bases.len() / 4);
        let start = random.index(bases.len() - length);
        let source = bases[start..start + length].to_vec();
        let d = random.uniform(0.0, 0.015);
        let copy = diverge(random, &source, d);
        covered += place(random, bases, copy, 0).max(1);
    }
}

pub(crate) fn deplete_cpg(random: &mut Random, bases: &mut [u8]) {
    for i in 1..bases.len() {
        if bases[i - 1] & 3 == 1 && bases[i] & 3 == 2 && random.chance(0.75) {
            if random.chance(0.5) {
                bases[i - 1] |= 3;
            } else {
                bases[i] &= MASKED;
            }
        }
    }
}

/// Cuts into contigs `chr1..` whose lengths go as n, n-1, ..., 1, each with a run of N.
fn cut(random: &mut Random, bases: &[u8], contigs: usize) -> Genome {
    let parts = contigs * (contigs + 1) / 2;
    let mut genome = Genome::default();
    let mut start = 0;
    for i in 0..contigs {
        let length = bases.len() * (contigs - i) / parts;
        let end = if i + 1 == contigs { bases.len() } else { start + length };
        let mut letters: Vec<u8> =
            bases[start..end].iter().map(|&b| LETTERS[usize::from(b & 3)]).collect();
        if letters.len() >= N_RUN_FROM_BP {
            let run = letters.len() / 100;
            let at = if i == 0 { 0 } else { random.index(letters.len() - run) };
            letters[at..at + run].fill(b'N');
        }
        genome.contigs.push(Contig { name: format!("chr{}", i + 1), bases: letters });
        start = end;
    }
    genome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_a_function_of_its_options() {
        let options = GenomeOptions { seed: 3, length_bp: 100_000, contigs: 3 };
        let a = Genome::simulate(&options).unwrap();
        assert_eq!(a, Genome::simulate(&options).unwrap());
        assert_ne!(a, Genome::simulate(&GenomeOptions { seed: 4, ..options }).unwrap());
        assert_eq!(a.length_bp(), 100_000);
        let names: Vec<_> = a.contigs.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names, ["chr1", "chr2", "chr3"]);
        assert!(a.contigs.iter().flat_map(|c| &c.bases).all(|b| b"ACGTN".contains(b)));
        assert!(a.contigs[0].bases.contains(&b'N'));
    }

    #[test]
    fn has_repeats() {
        let genome = Genome::simulate(&GenomeOptions::default()).unwrap();
        let mut seen = std::collections::HashMap::<&[u8], u32>::new();
        for contig in &genome.contigs {
            for word in contig.bases.windows(32).filter(|w| !w.contains(&b'N')) {
                *seen.entry(word).or_default() += 1;
            }
        }
        let repeated: u64 = seen.values().filter(|&&n| n > 1).map(|&n| u64::from(n)).sum();
        let share = repeated as f64 / genome.length_bp() as f64;
        assert!((0.04..0.5).contains(&share), "{share}");
    }

    #[test]
    fn refuses_what_is_too_small() {
        for (length_bp, contigs) in [(0, 1), (999, 1), (5000, 0), (5000, 3)] {
            let options = GenomeOptions { seed: 1, length_bp, contigs };
            assert!(Genome::simulate(&options).is_err(), "{length_bp} {contigs}");
        }
        for (length_bp, contigs) in [(1000, 1), (6000, 3), (30_000, 2)] {
            let options = GenomeOptions { seed: 1, length_bp, contigs };
            assert_eq!(Genome::simulate(&options).unwrap().length_bp(), length_bp);
        }
    }

    #[test]
    fn fasta_round_trip() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("g.fa");
        let options = GenomeOptions { seed: 3, length_bp: 50_001, contigs: 2 };
        let genome = Genome::simulate(&options).unwrap();
        genome.write_fasta(&path).unwrap();
        assert_eq!(Genome::read_fasta(&path).unwrap(), genome);
        std::fs::write(&path, "ACGT\n>x\n").unwrap();
        assert!(Genome::read_fasta(&path).is_err());
    }
}
