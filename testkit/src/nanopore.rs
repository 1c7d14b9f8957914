//! Nanopore reads made from a seed: raw signal of molecules whose methylation is known.
//! **Synthetic**: what a pore model says a read would look like, not what a sequencer gives. A
//! caller that does well here may still do worse on real data; one that does badly here is wrong.
//!
//! A read is a segment of a random reference, on either strand. Sites close to each other share
//! their state, as callers assume; each group of sites has a rate of methylation, and each read is
//! methylated there or not by chance of that rate. Every k-mer of the molecule stays in the pore
//! for a random time; its samples are around one level, drawn for this stay, with noise on top. The
//! basecalls have errors, the alignment is the true one.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::Path;

use crate::random::Random;

/// The level of a k-mer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level {
    /// Its mean.
    pub mean_pa: f32,
    /// Its standard deviation.
    pub stdv_pa: f32,
}

/// Gives the level of a k-mer (letters `ACGT`, and `M` for a methylated C).
pub type LevelOf<'a> = &'a dyn Fn(&[u8]) -> Level;

/// What is simulated.
#[derive(Debug, Clone, PartialEq)]
pub struct NanoporeOptions {
    /// Equal seeds give equal runs.
    pub seed: u64,
    /// Seed of the reads, where theirs is not that of the genome.
    pub read_seed: Option<u64>,
    /// Bases of the reference.
    pub reference_bases: usize,
    /// Reads.
    pub reads: usize,
    /// Shortest and longest read, in bases of the reference.
    pub read_bases: (usize, usize),
    /// Letters of a k-mer.
    pub kmer_length: usize,
    /// Mean stay of a k-mer, in samples: 4,000 a second through 450 bases a second.
    pub dwell_samples: f64,
    /// Noise of a sample round the level of its stay, in picoampere.
    pub noise_pa: f64,
    /// Errors of the basecalls: substitutions, insertions and deletions, each, per base.
    pub error_rate: f64,
    /// Sites at most so far apart share their state.
    pub group_gap: usize,
    /// Shares of molecules that are methylated at a group of sites: each group has one of these.
    pub site_rates: &'static [f64],
    /// Share of k-mers that leave the pore before a sample is taken of them.
    pub skip_rate: f64,
    /// How much the current of a read drifts over 1,000 bases, in picoampere: the standard
    /// deviation of what its reads have.
    pub drift_pa: f64,
    /// `sequencing_kit` of the signal's header.
    pub kit: &'static str,
    /// Samples a second.
    pub sampling_rate_hz: f64,
    /// The molecules are direct RNA: signal begins at the 3' end, bases are U where the reference
    /// has T, nothing is methylated, and one read in ten is of the other strand by mistake.
    pub is_rna: bool,
}

impl Default for NanoporeOptions {
    fn default() -> Self {
        Self {
            seed: 1,
            read_seed: None,
            reference_bases: 20_000,
            reads: 40,
            read_bases: (2_000, 5_000),
            kmer_length: 6,
            dwell_samples: 8.9,
            noise_pa: 1.5,
            error_rate: 0.01,
            group_gap: 10,
            site_rates: &[0.0, 0.0, 0.5, 1.0, 1.0],
            skip_rate: 0.0,
            drift_pa: 0.0,
            kit: "sqk-lsk109",
            sampling_rate_hz: 4000.0,
            is_rna: false,
        }
    }
}

impl NanoporeOptions {
    /// Direct RNA through R9 pores: 3,012 samples a second, 70 bases a second, 5-mers.
    #[must_use]
    pub fn rna() -> Self {
        Self {
            kmer_length: 5,
            dwell_samples: 43.0,
            kit: "sqk-rna002",
            sampling_rate_hz: 3012.0,
            is_rna: true,
            ..Self::default()
        }
    }
}

/// A group of sites of the reference.
#[derive(Debug, Clone, PartialEq)]
pub struct TrueGroup {
    /// Positions of its C, ascending.
    pub sites: Vec<usize>,
    /// Share of molecules that are methylated there.
    pub rate: f64,
}

/// A simulated read.
#[derive(Debug, Clone, PartialEq)]
pub struct NanoporeRead {
    /// Its name: a UUID, as all programs want it, made from the seed.
    pub name: String,
    /// First aligned base of the reference.
    pub start: usize,
    /// Whether the molecule is the reverse strand.
    pub is_reverse: bool,
    /// CIGAR of the alignment.
    pub cigar: String,
    /// Basecalls, as sequenced.
    pub sequence: Vec<u8>,
    /// Raw samples.
    pub samples: Vec<i16>,
    /// Of each k-mer of the molecule, from its 5' end, the first sample.
    pub kmer_starts: Vec<usize>,
    /// Groups that the read covers whole, by number, and whether the molecule is methylated there.
    pub methylated: Vec<(usize, bool)>,
}

/// A simulated run.
#[derive(Debug, Clone, PartialEq)]
pub struct NanoporeRun {
    /// What it was made by.
    pub options: NanoporeOptions,
    /// The reference.
    pub reference: Vec<u8>,
    /// Its groups of sites.
    pub groups: Vec<TrueGroup>,
    /// Reads, in the order of their alignments.
    pub reads: Vec<NanoporeRead>,
}

/// Name of the only reference sequence.
pub const CONTIG: &str = "synthetic";

/// Samples are `(raw + OFFSET) * RANGE / DIGITISATION` picoampere.
const DIGITISATION: f64 = 8192.0;
const RANGE: f64 = 1467.61;
const OFFSET: f64 = 6.0;

/// Makes a run.
#[must_use]
pub fn simulate(options: &NanoporeOptions, level_of: LevelOf<'_>) -> NanoporeRun {
    let mut random = Random::new(options.seed);
    let reference = random_reference(options.reference_bases, &mut random);
    let mut groups = random_groups(&reference, options, &mut random);
    if options.is_rna {
        groups.clear();
    }
    let mut random = options.read_seed.map_or(random, Random::new);
    let mut reads: Vec<NanoporeRead> = (0..options.reads)
        .map(|_| random_read(options, &reference, &groups, level_of, &mut random))
        .collect();
    reads.sort_by_key(|read| read.start);
    NanoporeRun { options: options.clone(), reference, groups, reads }
}

/// Bases at random, with more sites than chance would give: one in 40 bases is made one.
fn random_reference(bases: usize, random: &mut Random) -> Vec<u8> {
    let mut reference: Vec<u8> = (0..bases).map(|_| random.pick(b"ACGT")).collect();
    for at in 0..bases.saturating_sub(1) {
        if random.below(40) == 0 {
            reference[at..at + 2].copy_from_slice(b"CG");
        }
    }
    reference
}

fn random_groups(
    reference: &[u8],
    options: &NanoporeOptions,
    random: &mut Random,
) -> Vec<TrueGroup> {
    let gap = options.group_gap;
    let mut groups: Vec<TrueGroup> = Vec::new();
    let sites = reference.windows(2).enumerate().filter(|(_, pair)| pair == b"CG");
    for (site, _) in sites {
        match groups.last_mut() {
            Some(group) if group.sites.last().is_some_and(|last| site - last <= gap) => {
                group.sites.push(site);
            }
            _ => {
                let rate = random.pick(options.site_rates);
                groups.push(TrueGroup { sites: vec![site], rate });
            }
        }
    }
    groups
}

fn random_read(
    options: &NanoporeOptions,
    reference: &[u8],
    groups: &[TrueGroup],
    level_of: LevelOf<'_>,
    random: &mut Random,
) -> NanoporeRead {
    let (least, most) = options.read_bases;
    let bases = (random.between(least as u64, most as u64) as usize).min(reference.len());
    let start = random.index(reference.len() - bases + 1);
    let end = start + bases;
    let is_reverse = random.percent(if options.is_rna { 10 } else { 50 });
    let mut molecule = reference[start..end].to_vec();
    let mut methylated = Vec::new();
    for (number, group) in groups.iter().enumerate() {
        let is_methylated = random.chance(group.rate);
        let is_whole = group.sites[0] >= start && group.sites.iter().all(|site| site + 2 <= end);
        if is_whole {
            methylated.push((number, is_methylated));
        }
        if is_whole && is_methylated {
            // The C of the strand that is sequenced: on the reverse one it pairs with the G.
            let shift = usize::from(is_reverse);
            group.sites.iter().for_each(|site| molecule[site - start + shift] = b'M');
        }
    }
    let (mut sequence, cigar) = basecalls(&reference[start..end], options.error_rate, random);
    if is_reverse {
        // M is where the G was: its complement is the methylated C itself.
        molecule = molecule.iter().rev().map(|&base| complement(base)).collect();
        sequence = sequence.iter().rev().map(|&base| complement(base)).collect();
    }
    let (samples, kmer_starts) = signal(options, &molecule, level_of, random);
    let name = uuid(random);
    NanoporeRead { name, start, is_reverse, cigar, sequence, samples, kmer_starts, methylated }
}

fn complement(base: u8) -> u8 {
    match base {
        b'A' => b'T',
        b'C' => b'G',
        b'G' => b'C',
        b'T' => b'A',
        other => other,
    }
}

fn uuid(random: &mut Random) -> String {
    let (high, low) = (random.next_u64(), random.next_u64());
    format!(
        "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xfff,
        low >> 48 & 0xfff,
        low & 0xffff_ffff_ffff
    )
}

/// Bases with errors, and the CIGAR that they have on the true ones. Both ends are without errors.
fn basecalls(truth: &[u8], error_rate: f64, random: &mut Random) -> (Vec<u8>, String) {
    const SAFE_END: usize = 20;
    let (mut bases, mut ops): (Vec<u8>, Vec<(char, usize)>) = (Vec::new(), Vec::new());
    let mut push = |op: char| match ops.last_mut() {
        Some((last, length)) if *last == op => *length += 1,
        _ => ops.push((op, 1)),
    };
    for (at, &base) in truth.iter().enumerate() {
        let is_safe = at < SAFE_END || at + SAFE_END >= truth.len();
        let draw = if is_safe { 1.0 } else { random.unit() / error_rate };
        if draw < 1.0 && !is_safe {
            push('D');
        } else if draw < 2.0 && !is_safe {
            bases.push(random.pick(b"ACGT"));
            push('M');
        } else {
            bases.push(base);
            push('M');
            if draw < 3.0 && !is_safe {
                bases.push(random.pick(b"ACGT"));
                push('I');
            }
        }
    }
    let cigar = ops.iter().fold(String::new(), |mut text, (op, length)| {
        let _ = write!(text, "{length}{op}");
        text
    });
    (bases, cigar)
}

/// Raw samples of a molecule, and the first of each of its k-mers. Each read has a scale and a
/// shift of its own.
fn signal(
    options: &NanoporeOptions,
    molecule: &[u8],
    level_of: LevelOf<'_>,
    random: &mut Random,
) -> (Vec<i16>, Vec<usize>) {
    // No k-mer is faster than this: shorter stays are not seen by any event detection.
    let least_samples: u64 = if options.is_rna { 8 } else { 3 };
    let (scale, shift) = (random.uniform(0.95, 1.05), random.normal(0.0, 4.0));
    let (mut samples, mut starts) = (Vec::new(), Vec::new());
    let mut kmers: Vec<&[u8]> = molecule.windows(options.kmer_length).collect();
    if options.is_rna {
        kmers.reverse();
    }
    let slope = if options.drift_pa > 0.0 { random.normal(0.0, options.drift_pa) } else { 0.0 };
    for (place, kmer) in kmers.into_iter().enumerate() {
        starts.push(samples.len());
        if options.skip_rate > 0.0 && random.chance(options.skip_rate) {
            continue;
        }
        let shift = shift + slope * place as f64 / 1000.0;
        let Level { mean_pa, stdv_pa } = level_of(kmer);
        let level = random.normal(mean_pa.into(), stdv_pa.into());
        // Two exponential stays, one after the other: seldom short, at times long.
        let half = (options.dwell_samples - least_samples as f64) / 2.0;
        let stay = -half * ((1.0 - random.unit()).ln() + (1.0 - random.unit()).ln());
        for _ in 0..least_samples + stay.round() as u64 {
            let pa = scale * random.normal(level, options.noise_pa) + shift;
            samples.push((pa * DIGITISATION / RANGE - OFFSET).round() as i16);
        }
    }
    if options.is_rna {
        starts.reverse();
    }
    (samples, starts)
}

impl NanoporeRun {
    /// Writes `reference.fa`, `reads.fa`, `reads.sam` (sorted by coordinate) and `reads.slow5`.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        let bases = String::from_utf8_lossy(&self.reference);
        fs::write(folder.join("reference.fa"), format!(">{CONTIG}\n{bases}\n"))?;
        fs::write(folder.join("reads.fa"), self.fasta())?;
        fs::write(folder.join("reads.sam"), self.sam())?;
        fs::write(folder.join("reads.slow5"), self.slow5())
    }

    fn fasta(&self) -> String {
        self.reads.iter().fold(String::new(), |mut text, read| {
            let mut bases = String::from_utf8_lossy(&read.sequence).into_owned();
            if self.options.is_rna {
                bases = bases.replace('T', "U");
            }
            let _ = writeln!(text, ">{}\n{bases}", read.name);
            text
        })
    }

    fn sam(&self) -> String {
        let mut text = format!(
            "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:{CONTIG}\tLN:{}\n@CO\tsynthetic reads\n",
            self.reference.len()
        );
        for read in &self.reads {
            let mut bases = read.sequence.clone();
            if read.is_reverse {
                bases.reverse();
                bases.iter_mut().for_each(|base| *base = complement(*base));
            }
            let _ = writeln!(
                text,
                "{}\t{}\t{CONTIG}\t{}\t60\t{}\t*\t0\t0\t{}\t*\tNM:i:0",
                read.name,
                if read.is_reverse { 16 } else { 0 },
                read.start + 1,
                read.cigar,
                String::from_utf8_lossy(&bases)
            );
        }
        text
    }

    fn slow5(&self) -> String {
        let experiment = if self.options.is_rna { "rna" } else { "genomic_dna" };
        let NanoporeOptions { kit, sampling_rate_hz: rate, .. } = self.options;
        let mut text = format!(
            "#slow5_version\t0.2.0\n#num_read_groups\t1\n@asic_id\tsynthetic\n\
            @experiment_type\t{experiment}\n@run_id\tsynthetic\n@sequencing_kit\t{kit}\n\
            #char*\tuint32_t\tdouble\tdouble\tdouble\tdouble\tuint64_t\tint16_t*\n\
            #read_id\tread_group\tdigitisation\toffset\trange\tsampling_rate\tlen_raw_signal\t\
            raw_signal\n"
        );
        for read in &self.reads {
            let samples: Vec<String> = read.samples.iter().map(i16::to_string).collect();
            let _ = writeln!(
                text,
                "{}\t0\t{DIGITISATION}\t{OFFSET}\t{RANGE}\t{rate}\t{}\t{}",
                read.name,
                samples.len(),
                samples.join(",")
            );
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Levels that can be read back: A 60, C 70, G 80, M 90, T 100 of the middle letter.
    fn level_of(kmer: &[u8]) -> Level {
        let at = b"ACGMT".iter().position(|&it| it == kmer[1]).unwrap();
        Level { mean_pa: 60.0 + 10.0 * at as f32, stdv_pa: 0.1 }
    }

    fn options() -> NanoporeOptions {
        NanoporeOptions {
            reference_bases: 600,
            reads: 30,
            read_bases: (200, 300),
            kmer_length: 3,
            noise_pa: 0.01,
            ..NanoporeOptions::default()
        }
    }

    #[test]
    fn equal_seeds_give_equal_runs() {
        let run = simulate(&options(), &level_of);
        assert_eq!(run, simulate(&options(), &level_of));
        assert_ne!(run, simulate(&NanoporeOptions { seed: 2, ..options() }, &level_of));
        let others = simulate(&NanoporeOptions { read_seed: Some(2), ..options() }, &level_of);
        assert_eq!((&others.reference, &others.groups), (&run.reference, &run.groups));
        assert_ne!(others.reads, run.reads);
    }

    #[test]
    fn alignments_fit_reads_and_reference() {
        let run = simulate(&options(), &level_of);
        let sam = run.sam();
        for (read, line) in run.reads.iter().zip(sam.lines().skip(3)) {
            let fields: Vec<&str> = line.split('\t').collect();
            let (mut at, mut place, mut digits) = (0, read.start, String::new());
            let (mut same, mut aligned) = (0, 0);
            for letter in read.cigar.chars() {
                if letter.is_ascii_digit() {
                    digits.push(letter);
                    continue;
                }
                let length: usize = digits.parse().unwrap();
                digits.clear();
                if letter == 'M' {
                    let bases = &fields[9].as_bytes()[at..at + length];
                    let truth = &run.reference[place..place + length];
                    same += bases.iter().zip(truth).filter(|(a, b)| a == b).count();
                    aligned += length;
                }
                at += if letter == 'D' { 0 } else { length };
                place += if letter == 'I' { 0 } else { length };
            }
            assert_eq!(at, read.sequence.len());
            assert!(same * 100 >= aligned * 95 && same <= aligned);
        }
        assert!(
            run.reads.iter().any(|it| it.is_reverse) && run.reads.iter().any(|it| !it.is_reverse)
        );
    }

    #[test]
    fn methylated_molecules_have_another_signal() {
        let run = simulate(&options(), &level_of);
        let (mut with, mut without) = (0, 0);
        for read in &run.reads {
            // Scale and shift are of the read, so levels are compared with its own extremes.
            let pa = |raw: &i16| (f64::from(*raw) + OFFSET) * RANGE / DIGITISATION;
            let (low, high) = read
                .samples
                .iter()
                .map(pa)
                .fold((f64::MAX, f64::MIN), |it, pa| (it.0.min(pa), it.1.max(pa)));
            let share = |raw: &i16| (pa(raw) - low) / (high - low);
            let is_marked = |raw: &i16| (0.72..0.78).contains(&share(raw));
            let marked = read.samples.iter().any(is_marked);
            assert_eq!(marked, read.methylated.iter().any(|it| it.1), "{}", read.name);
            with += usize::from(marked);
            without += read.methylated.iter().filter(|it| !it.1).count();
        }
        assert!(with > 10 && without > 10);
    }

    #[test]
    fn kmers_that_are_skipped_have_no_samples_and_reads_drift() {
        let options = NanoporeOptions { skip_rate: 0.1, drift_pa: 5.0, ..options() };
        let run = simulate(&options, &level_of);
        let stays = |read: &NanoporeRead| {
            let next = read.kmer_starts[1..].iter().zip(&read.kmer_starts);
            next.map(|(next, start)| next - start).collect::<Vec<_>>()
        };
        let all: Vec<usize> = run.reads.iter().flat_map(stays).collect();
        let skipped = all.iter().filter(|stay| **stay == 0).count();
        assert!((all.len() / 12..all.len() / 8).contains(&skipped), "{skipped} of {}", all.len());
        let steady = simulate(&NanoporeOptions { drift_pa: 0.0, ..options }, &level_of);
        assert_ne!(steady.reads[0].samples, run.reads[0].samples);
        // All of a genome without methylation, and all of one with it.
        for rate in [0.0, 1.0] {
            let site_rates = if rate == 0.0 { &[0.0] } else { &[1.0] };
            let run = simulate(&NanoporeOptions { site_rates, ..self::options() }, &level_of);
            let states = run.reads.iter().flat_map(|read| &read.methylated);
            assert!(states.clone().count() > 50);
            assert!(states.clone().all(|(_, state)| *state == (rate == 1.0)));
        }
    }

    #[test]
    fn files_are_written() {
        let folder = tempfile::tempdir().unwrap();
        let run = simulate(&options(), &level_of);
        run.write(folder.path()).unwrap();
        let slow5 = fs::read_to_string(folder.path().join("reads.slow5")).unwrap();
        assert_eq!(slow5.lines().count(), 8 + run.reads.len());
        let fasta = fs::read_to_string(folder.path().join("reads.fa")).unwrap();
        assert_eq!(fasta.lines().count(), 2 * run.reads.len());
    }
}
