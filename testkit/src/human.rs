//! A genome with the shape of a whole human assembly, written as it is made.
//!
//! The sequences are those of GRCh38 with its ALT contigs, decoys and HLA alleles (hs38DH) in
//! number, kind of name and proportion: 24 chromosomes of up to 249 Mbp and 3,342 small ones. Runs
//! of N are where that assembly has them (telomeres, short arms, heterochromatin, gaps), repeats
//! are in lower case, a few letters are other IUPAC codes, and the last sequence has one base. The
//! bases are random, with repeats at human rates (Lander et al. 2001, Nature 409:860): old families
//! 14 %, long interspersed repeats 16 %, short ones 10 %, tandem repeats 2 %, satellite arrays of
//! higher-order repeats 2 %, segmental duplications 5 %, isochores, CpG depletion.
//!
//! One chromosome is in memory at a time, and 100 Mbp of what others are copied from.

use crate::Error;
use crate::genome::{
    MASKED, Scattering, deplete_cpg, diverge, isochores, place, random_bases, scatter,
    scatter_tandems, subfamilies,
};
use crate::random::Random;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Bases of the whole assembly.
pub(crate) const HUMAN_BASES: u64 = 3_217_348_224;

/// The least that has room for every kind of sequence.
const LEAST_BASES: u64 = 100_000;

/// Names and lengths of GRCh38's chromosomes, and the share of N in one run of each: `b` at the
/// beginning (short arms), `m` in the middle, `e` at the end (heterochromatin).
const CHROMOSOMES: [(&str, u64, f64, u8); 24] = [
    ("1", 248_956_422, 0.074, b'm'),
    ("2", 242_193_529, 0.0, b'm'),
    ("3", 198_295_559, 0.0, b'm'),
    ("4", 190_214_555, 0.0, b'm'),
    ("5", 181_538_259, 0.0, b'm'),
    ("6", 170_805_979, 0.0, b'm'),
    ("7", 159_345_973, 0.0, b'm'),
    ("8", 145_138_636, 0.0, b'm'),
    ("9", 138_394_717, 0.12, b'm'),
    ("10", 133_797_422, 0.0, b'm'),
    ("11", 135_086_622, 0.0, b'm'),
    ("12", 133_275_309, 0.0, b'm'),
    ("13", 114_364_328, 0.143, b'b'),
    ("14", 107_043_718, 0.154, b'b'),
    ("15", 101_991_189, 0.17, b'b'),
    ("16", 90_338_345, 0.094, b'm'),
    ("17", 83_257_441, 0.0, b'm'),
    ("18", 80_373_285, 0.0, b'm'),
    ("19", 58_617_616, 0.0, b'm'),
    ("20", 64_444_167, 0.0, b'm'),
    ("21", 46_709_983, 0.14, b'b'),
    ("22", 50_818_468, 0.23, b'b'),
    ("X", 156_040_895, 0.0, b'm'),
    ("Y", 57_227_415, 0.586, b'e'),
];

/// Genes of which HLA alleles are given, and their chromosome.
const HLA_GENES: [&str; 6] = ["A", "B", "C", "DQA1", "DQB1", "DRB1"];
const HLA_CHROMOSOME: usize = 5;

/// What a small sequence is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Mitochondrion,
    Unlocalized,
    Unplaced,
    Alt,
    Virus,
    Decoy,
    Hla,
}

/// Kinds of small sequences in their order, how many there are, and their bases in all.
const SMALL: [(Kind, u64, u64); 7] = [
    (Kind::Mitochondrion, 1, 16_569),
    (Kind::Unlocalized, 42, 7_000_000),
    (Kind::Unplaced, 127, 4_485_000),
    (Kind::Alt, 261, 109_515_000),
    (Kind::Virus, 1, 171_823),
    (Kind::Hla, 525, 1_920_000),
    (Kind::Decoy, 2_385, 5_970_000),
];

/// Fewer of a kind are made where they would have fewer bases each than this.
const SMALL_BASES: u64 = 500;

/// What kind of genome to make.
#[derive(Debug, Clone)]
pub(crate) struct HumanOptions {
    /// Seed.
    pub(crate) seed: u64,
    /// Bases in all; [`HUMAN_BASES`] for the whole.
    pub(crate) bases: u64,
}

/// A small sequence to come.
#[derive(Debug, Clone)]
struct Small {
    kind: Kind,
    name: String,
    length: usize,
    /// Index of the chromosome that it is of, where it is of one.
    home: usize,
    /// HLA alleles of one gene are copies of one segment.
    gene: usize,
}

/// Writes the genome to `fasta`, and the names of its ALT contigs to `FASTA.alt`. Equal options
/// give equal files.
///
/// # Errors
/// [`Error::Options`] for fewer bases than have room for all kinds; a file cannot be written.
pub(crate) fn write_human(options: &HumanOptions, fasta: &Path) -> Result<(), Error> {
    if options.bases < LEAST_BASES {
        let problem = format!("a genome like a human one has at least {LEAST_BASES} bases");
        return Err(Error::Options(problem));
    }
    let mut random = Random::new(options.seed ^ 0x4855_4D41_4E00_0001);
    let small = small_sequences(&mut random, options.bases);
    let rest = options.bases - small.iter().map(|s| s.length as u64).sum::<u64>();
    let file = File::create(fasta).map_err(Error::file(fasta))?;
    let mut out = BufWriter::with_capacity(1 << 20, file);
    let mut maker = Maker::new(random);
    let copies = maker
        .chromosomes(&small, rest, &mut out)
        .and_then(|copies| maker.small(&small, &copies, &mut out).map(|()| copies))
        .and_then(|copies| out.flush().map(|()| copies))
        .map_err(Error::file(fasta))?;
    let alt = alt_path(fasta);
    write_alt(&small, &copies, &alt).map_err(Error::file(&alt))
}

fn alt_path(fasta: &Path) -> PathBuf {
    let mut path = fasta.as_os_str().to_owned();
    path.push(".alt");
    path.into()
}

/// The small sequences of a genome of `bases` bases.
fn small_sequences(random: &mut Random, bases: u64) -> Vec<Small> {
    let mut small = Vec::new();
    for (kind, most, whole_bases) in SMALL {
        let total = scaled(whole_bases, bases);
        let count = (total / SMALL_BASES).clamp(2, most.max(2)).min(most);
        let weights: Vec<u64> = (0..count).map(|_| random.between(30, 170)).collect();
        for (i, length) in shares(total, &weights).into_iter().enumerate() {
            let home = if kind == Kind::Hla { HLA_CHROMOSOME } else { home(random) };
            let length = if kind == Kind::Decoy && i as u64 + 1 == count { 1 } else { length };
            let name = name(kind, i, CHROMOSOMES[home].0);
            let (length, gene) = (length.max(1) as usize, i % HLA_GENES.len());
            small.push(Small { kind, name, length, home, gene });
        }
    }
    small
}

/// A chromosome, the longer the likelier.
fn home(random: &mut Random) -> usize {
    let mut at = random.below(CHROMOSOMES.iter().map(|c| c.1).sum());
    let holds = |&(_, length, ..): &(_, u64, f64, u8)| {
        let here = at < length;
        at = at.saturating_sub(length);
        here
    };
    CHROMOSOMES.iter().position(holds).unwrap_or(0)
}

fn scaled(whole: u64, bases: u64) -> u64 {
    (u128::from(whole) * u128::from(bases) / u128::from(HUMAN_BASES)) as u64
}

/// `total` in parts in proportion to `weights`; they add up to it.
fn shares(total: u64, weights: &[u64]) -> Vec<u64> {
    let all = weights.iter().sum::<u64>().max(1);
    let (mut sum, mut before) = (0, 0);
    let share = |&weight: &u64| {
        sum += weight;
        let edge = (u128::from(total) * u128::from(sum) / u128::from(all)) as u64;
        edge - std::mem::replace(&mut before, edge)
    };
    weights.iter().map(share).collect()
}

/// Names as in hs38DH; the numbers are made up.
fn name(kind: Kind, i: usize, home: &str) -> String {
    match kind {
        Kind::Mitochondrion => "chrM".into(),
        Kind::Unlocalized => format!("chr{home}_KI{:06}v1_random", 270_706 + i),
        Kind::Unplaced => format!("chrUn_KI{:06}v1", 270_302 + i),
        Kind::Alt => format!("chr{home}_KI{:06}v1_alt", 270_762 + i),
        Kind::Virus => "chrEBV".into(),
        Kind::Decoy => format!("chrUn_JTFH0100{:04}v1_decoy", i + 1),
        Kind::Hla => {
            let (gene, allele) = (HLA_GENES[i % HLA_GENES.len()], i / HLA_GENES.len());
            let suffix = [":01:01", "", ":02", ":01:02N"][i % 4];
            format!("HLA-{gene}*{:02}:{:02}{suffix}", allele / 9 + 1, allele % 9 + 1)
        }
    }
}

/// Where a small sequence is copied from.
#[derive(Debug, Clone)]
struct Copied {
    /// Index in the small sequences.
    small: usize,
    /// First base in its home.
    position: usize,
    codes: Vec<u8>,
}

/// Makes sequences; holds what repeats in all of them.
struct Maker {
    random: Random,
    old: Vec<Vec<u8>>,
    long: Vec<Vec<u8>>,
    short: Vec<Vec<u8>>,
    satellites: Vec<Vec<u8>>,
    /// Segments of finished chromosomes.
    pool: Vec<Vec<u8>>,
}

/// Segments that a chromosome adds to the pool, and the most that it holds.
const POOLED: usize = 24;
const POOL: usize = 480;

impl Maker {
    fn new(mut random: Random) -> Self {
        let r = &mut random;
        let old = (0..300)
            .map(|_| {
                let length = r.between(150, 2500) as usize;
                random_bases(r, length, 0.41)
            })
            .collect();
        let long = random_bases(r, 6000, 0.42);
        let long = subfamilies(r, &long, &[0.0, 0.02, 0.04, 0.07, 0.10, 0.13]);
        let short = random_bases(r, 300, 0.6);
        let short = subfamilies(r, &short, &[0.0, 0.01, 0.02, 0.03, 0.05, 0.08]);
        let satellites = (0..3)
            .map(|_| {
                let unit = random_bases(r, 171, 0.38);
                (0..12).flat_map(|_| diverge(r, &unit, 0.25)).collect()
            })
            .collect();
        Self { random, old, long, short, satellites, pool: Vec::new() }
    }

    /// Writes the chromosomes, `bases` in all; returns what small sequences are copies of.
    fn chromosomes(
        &mut self,
        small: &[Small],
        bases: u64,
        out: &mut impl Write,
    ) -> std::io::Result<Vec<Copied>> {
        let mut copies = Vec::new();
        let lengths = shares(bases, &CHROMOSOMES.map(|chromosome| chromosome.1));
        for (index, length) in lengths.into_iter().enumerate() {
            let mut codes = self.codes(length as usize);
            self.satellite_array(&mut codes);
            self.duplications(&mut codes);
            deplete_cpg(&mut self.random, &mut codes);
            let (name, _, share, place) = CHROMOSOMES[index];
            let runs = n_runs(&mut self.random, codes.len(), share, place);
            self.keep_copies(index, small, &codes, &mut copies);
            self.keep_pool(&codes);
            let letters = self.letters(codes, &runs);
            write_sequence(&format!("chr{name}"), "  AC:made-up  rl:Chromosome", &letters, out)?;
        }
        copies.sort_by_key(|copy| copy.small);
        Ok(copies)
    }

    /// Isochores with interspersed and tandem repeats.
    fn codes(&mut self, length: usize) -> Vec<u8> {
        let r = &mut self.random;
        let mut codes = isochores(r, length);
        let families = [
            (&self.old, 14, 0.08..0.30, false),
            (&self.long, 16, 0.005..0.18, true),
            (&self.short, 10, 0.01..0.16, false),
        ];
        for (families, percent, divergence, truncate) in families {
            let total_bp = length * percent / 100;
            let how = Scattering { total_bp, divergence, truncate, mark: MASKED };
            scatter(r, &mut codes, families, how);
        }
        scatter_tandems(r, &mut codes, MASKED);
        codes
    }

    /// A centromere: copies of one higher-order repeat, 2 % of the chromosome.
    fn satellite_array(&mut self, codes: &mut [u8]) {
        let r = &mut self.random;
        let unit = &self.satellites[r.index(self.satellites.len())];
        let (start, length) = (codes.len() * 4 / 10, codes.len() / 50);
        let mut array = &mut codes[start..start + length];
        while !array.is_empty() {
            let d = r.uniform(0.005, 0.03);
            let copy = diverge(r, unit, d);
            let length = copy.len().min(array.len());
            let (here, rest) = array.split_at_mut(length);
            here.iter_mut().zip(copy).for_each(|(to, code)| *to = code | MASKED);
            array = rest;
        }
    }

    /// Segmental duplications, 5 %, of the same chromosome and of those before.
    fn duplications(&mut self, codes: &mut [u8]) {
        let r = &mut self.random;
        let mut covered = 0;
        while covered < codes.len() / 20 {
            let mut source = if self.pool.is_empty() || r.chance(0.5) {
                segment(r, codes, 5_000, 120_000)
            } else {
                self.pool[r.index(self.pool.len())].clone()
            };
            source.truncate(codes.len() / 20);
            let d = r.uniform(0.005, 0.06);
            let copy = diverge(r, &source, d);
            covered += place(r, codes, copy, 0).max(1);
        }
    }

    /// Keeps segments of chromosome `index` that small sequences are copies of.
    fn keep_copies(
        &mut self,
        index: usize,
        small: &[Small],
        codes: &[u8],
        copies: &mut Vec<Copied>,
    ) {
        for (at, it) in small.iter().enumerate().filter(|(_, it)| it.home == index) {
            if !matches!(it.kind, Kind::Alt | Kind::Hla) {
                continue;
            }
            let length = it.length.min(codes.len() / 2);
            let most = codes.len() - length;
            let position = match it.kind {
                Kind::Hla => most.min(codes.len() / 8 * (it.gene + 1)),
                _ => self.random.index(most),
            };
            let codes = codes[position..position + length].iter().map(|code| code & 3).collect();
            copies.push(Copied { small: at, position, codes });
        }
    }

    fn keep_pool(&mut self, codes: &[u8]) {
        for _ in 0..POOLED {
            let segment = segment(&mut self.random, codes, 5_000, 120_000);
            if self.pool.len() < POOL {
                self.pool.push(segment);
            } else {
                let at = self.random.index(POOL);
                self.pool[at] = segment;
            }
        }
    }

    /// Letters of `codes`, masked ones in lower case, with runs of N and some other IUPAC codes.
    fn letters(&mut self, mut codes: Vec<u8>, runs: &[Range<usize>]) -> Vec<u8> {
        codes.iter_mut().for_each(|code| *code = b"ACGTacgt"[usize::from(*code & 7)]);
        for _ in 0..2 + codes.len() / 3_000_000 {
            let at = self.random.index(codes.len());
            codes[at] = self.random.pick(b"RYKMSWBDHVrymk");
        }
        runs.iter().for_each(|run| codes[run.clone()].fill(b'N'));
        codes
    }

    /// Writes the small sequences.
    fn small(
        &mut self,
        small: &[Small],
        copies: &[Copied],
        out: &mut impl Write,
    ) -> std::io::Result<()> {
        let mut copies = copies.iter().peekable();
        for (at, it) in small.iter().enumerate() {
            let mut codes = match copies.next_if(|copy| copy.small == at) {
                Some(copy) => {
                    let d = self.random.uniform(0.001, 0.01);
                    diverge(&mut self.random, &copy.codes, d)
                }
                None => Vec::new(),
            };
            // Insertions and deletions move the end.
            let missing = it.length.saturating_sub(codes.len());
            codes.extend(isochores(&mut self.random, missing));
            codes.truncate(it.length);
            let letters: Vec<u8> =
                codes.iter().map(|code| b"ACGTacgt"[usize::from(code & 7)]).collect();
            write_sequence(&it.name, "", &letters, out)?;
        }
        Ok(())
    }
}

/// A copy of a random segment of `shortest` to `longest` bases, without its case.
fn segment(random: &mut Random, codes: &[u8], shortest: u64, longest: u64) -> Vec<u8> {
    let length = (random.between(shortest, longest) as usize).min(codes.len() / 4);
    let start = random.index(codes.len() - length);
    codes[start..start + length].iter().map(|code| code & 3).collect()
}

/// Where a chromosome has no known bases: its ends, one long run, and gaps of up to 50 kbp.
fn n_runs(random: &mut Random, length: usize, share: f64, place: u8) -> Vec<Range<usize>> {
    let end = (length / 100).min(10_000);
    let long = (length as f64 * share) as usize;
    let start = match place {
        b'b' => 0,
        b'e' => length - long,
        _ => length / 2,
    };
    let gap = (length / 200).min(50_000);
    let mut runs = vec![0..end, length - end..length, start..start + long];
    for _ in 0..=length / 40_000_000 {
        let at = random.index(length - gap);
        runs.push(at..at + gap);
    }
    runs
}

fn write_sequence(
    name: &str,
    comment: &str,
    letters: &[u8],
    out: &mut impl Write,
) -> std::io::Result<()> {
    writeln!(out, ">{name}{comment}")?;
    for line in letters.chunks(80) {
        out.write_all(line)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// The lines of a SAM file that say which sequences are ALT, and where they belong.
fn write_alt(small: &[Small], copies: &[Copied], path: &Path) -> std::io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    writeln!(out, "@HD\tVN:1.6\tSO:unsorted")?;
    for copy in copies {
        let it = &small[copy.small];
        let (home, position, length) = (CHROMOSOMES[it.home].0, copy.position + 1, it.length);
        writeln!(out, "{}\t0\tchr{home}\t{position}\t60\t{length}M\t*\t0\t0\t*\t*", it.name)?;
    }
    out.flush()
}

#[cfg(test)]
#[path = "human_tests.rs"]
mod tests;
