//! BAM deflated by its records is read by every reader as what was written without compression:
//! samtools, htsjdk (Picard), noodles, pysam, and files as gzip by zlib, zlib-ng and ISA-L; of each
//! kind of data one file, and blocks of the fuzzer's records.

#[path = "../../../format/tests/hostile/bam_deflate_exercise.rs"]
mod bam_deflate_exercise;

use crate::common::{folder, has, limit, run, run_for, seqloom, words};
use seqloom_testkit::hostile::{self, HostileOptions};
use seqloom_testkit::random::Random;
use seqloom_testkit::referees::{self, PICARD, Picard, SAMTOOLS};
use seqloom_testkit::{python, skip};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Levels with an effort of their own, one of each.
const LEVELS: [u8; 3] = [1, 2, 6];

/// A kind of reads.
#[derive(Debug, Clone, Copy)]
struct Kind {
    name: &'static str,
    reads: usize,
    bases: usize,
    /// How many values qualities have.
    values: u64,
    /// In the order of their positions.
    is_sorted: bool,
    is_mapped: bool,
    /// Original qualities and alignment qualities, of as many letters as the read.
    has_strings: bool,
}

const SHORT: Kind = Kind {
    name: "binned",
    reads: 16_000,
    bases: 150,
    values: 4,
    is_sorted: true,
    is_mapped: true,
    has_strings: false,
};

const KINDS: [Kind; 6] = [
    SHORT,
    Kind { name: "forty", values: 40, ..SHORT },
    Kind { name: "unsorted", is_sorted: false, ..SHORT },
    Kind { name: "unaligned", is_sorted: false, is_mapped: false, bases: 251, ..SHORT },
    Kind { name: "original", values: 40, has_strings: true, ..SHORT },
    Kind { name: "long", reads: 300, bases: 9_000, values: 40, ..SHORT },
];

impl Kind {
    /// SAM of such reads of a small genome.
    fn sam(&self) -> String {
        let mut random = Random::new(self.reads as u64 ^ self.values);
        let genome: Vec<u8> = (0..60_000 + self.bases).map(|_| random.pick(b"ACGT")).collect();
        let mut starts: Vec<usize> = (0..self.reads).map(|_| random.index(60_000)).collect();
        if self.is_sorted {
            starts.sort_unstable();
        }
        let mut sam = format!("@HD\tVN:1.6\n@SQ\tSN:c\tLN:{}\n@RG\tID:g\tSM:s\n", genome.len());
        for (number, start) in starts.into_iter().enumerate() {
            let bases = String::from_utf8_lossy(&genome[start..start + self.bases]);
            let (tile, x) = (random.index(16), random.index(30_000));
            let name = format!("A00684:112:HKFWGDRXX:1:{}:{x}:{number}", 1101 + tile);
            let place = match self.is_mapped {
                true => format!("{}\tc\t{}\t60\t{}M", 16 * (x % 2), start + 1, self.bases),
                false => "4\t*\t0\t0\t*".to_owned(),
            };
            let qualities = self.qualities(&mut random);
            write!(sam, "{name}\t{place}\t*\t0\t0\t{bases}\t{qualities}\tRG:Z:g").unwrap();
            if self.has_strings {
                write!(sam, "\tOQ:Z:{}", self.qualities(&mut random)).unwrap();
            }
            writeln!(sam, "\tAS:i:{}\tNM:i:{}", self.bases - x % 7, x % 3).unwrap();
        }
        sam
    }

    /// Runs of one value where there are few.
    fn qualities(&self, random: &mut Random) -> String {
        let letters: Vec<u8> =
            (0..self.values).map(|it| b'#' + (it * 37 / self.values) as u8).collect();
        let mut letter = random.pick(&letters);
        let changes = if self.values < 10 { 12 } else { 70 };
        let next = |_| {
            if random.percent(changes) {
                letter = random.pick(&letters);
            }
            char::from(letter)
        };
        (0..self.bases).map(next).collect()
    }
}

/// Files of a kind, at level 0 and at those of [`LEVELS`], the former first.
struct Files(Vec<PathBuf>);

impl Files {
    fn made(here: &Path, name: &str, input: &Path) -> Self {
        let one = |level: u8| {
            let out = here.join(format!("{name}.{level}.bam"));
            let mut command = seqloom(["prep", "--quiet", "--no-pg", "--check-deflate", "-o"]);
            run(command.arg(&out).arg(input).args(["-l", &level.to_string()])).ok();
            out
        };
        Self([0].into_iter().chain(LEVELS).map(one).collect())
    }
}

/// All kinds: simulated, hostile, and real where that is there.
fn all_kinds(here: &Path) -> Vec<Files> {
    let simulated = KINDS.iter().map(|kind| {
        let sam = here.join(format!("{}.sam", kind.name));
        fs::write(&sam, kind.sam()).unwrap();
        Files::made(here, kind.name, &sam)
    });
    let mut all: Vec<Files> = simulated.collect();
    let options = HostileOptions { records: 4_000, bad_names_percent: 0, bad_tags_percent: 0 };
    let hostile = here.join("in.bam");
    fs::write(&hostile, hostile::bam(&mut Random::new(5), &[("c", 90_000)], &options)).unwrap();
    all.push(Files::made(here, "hostile", &hostile));
    for (name, path) in [
        ("panel", "bam/nf-cmgg/Sample4.bam"),
        ("hiseq", "bam/htsjdk_testdata/samtools/cram/NA12878.20.21.unmapped.orig.bam"),
    ] {
        if let Some(path) = skip::data(path) {
            all.push(Files::made(here, name, &path));
        }
    }
    all
}

/// Digests by reader and file, from lines of both and the digest.
fn digests(command: &mut Command) -> BTreeMap<(String, PathBuf), String> {
    let text = run_for(command, 8 * limit()).ok().text();
    let line = |line: &str| {
        let [reader, file, digest] = line.split(' ').collect::<Vec<_>>().try_into().unwrap();
        ((reader.to_owned(), PathBuf::from(file)), digest.to_owned())
    };
    text.lines().map(line).collect()
}

/// The reader in Python, if its libraries are there.
fn by_python() -> Option<Command> {
    let mut command = Command::new(python::with("pysam, oxbow, isal, zlib_ng")?);
    command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/readers.py"));
    Some(command)
}

/// The reader in Java, if it is there.
fn by_java() -> Option<Command> {
    let mut command = Picard::find(PICARD[0])?.java(&["-Xmx2g"]);
    command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/Readers.java"));
    Some(command)
}

#[test]
fn every_reader_takes_every_kind_of_bam_for_what_it_is_uncompressed() {
    let here = folder();
    let all = all_kinds(here.path());
    let paths: Vec<&PathBuf> = all.iter().flat_map(|files| &files.0).collect();
    for mut command in [by_python(), by_java()].into_iter().flatten() {
        let found = digests(command.args(&paths));
        let readers: Vec<&String> = found.keys().map(|(reader, _)| reader).collect();
        assert!(readers.len() >= paths.len());
        for Files(files) in &all {
            for reader in &readers {
                let of = |file: &PathBuf| &found[&((*reader).clone(), file.clone())];
                let name = files[0].file_name().unwrap().to_str().unwrap();
                let is_simulated = KINDS.iter().any(|kind| name.starts_with(kind.name));
                assert!(!is_simulated || of(&files[0]) != "refused", "{reader}: {name}");
                for file in files {
                    assert_eq!(of(file), of(&files[0]), "{reader}: {}", file.display());
                }
            }
        }
    }
    for version in SAMTOOLS {
        let Some(samtools) = referees::find("samtools", version) else { continue };
        for Files(files) in &all {
            let view = |file: &PathBuf| {
                run(Command::new(&samtools).args(["view", "-h", "--no-PG"]).arg(file))
            };
            let expected = view(&files[0]).ok().stdout;
            assert!(!expected.is_empty());
            for file in &files[1..] {
                let what = format!("samtools {version}: {}", file.display());
                assert!(view(file).ok().stdout == expected, "{what}");
            }
        }
    }
}

/// Blocks of the fuzzer's records as a BGZF file, and what they must inflate to.
fn corpus(here: &Path, first_seed: u64, scripts: u64) -> [PathBuf; 2] {
    let (mut blocks, mut plain) = (Vec::new(), Vec::new());
    for seed in first_seed..first_seed + scripts {
        let mut random = Random::new(seed);
        let length = random.index(if seed % 8 == 0 { 2_000 } else { 120 });
        let script: Vec<u8> = (0..length).map(|_| random.next_u64() as u8).collect();
        for made in bam_deflate_exercise::bam_deflate(&script) {
            blocks.extend_from_slice(&made.block);
            plain.extend_from_slice(&made.payload);
        }
    }
    blocks.extend_from_slice(&seqloom_format::bgzf::EOF_BLOCK);
    let paths = ["blocks.gz", "blocks.plain"].map(|name| here.join(name));
    fs::write(&paths[0], blocks).unwrap();
    fs::write(&paths[1], plain).unwrap();
    paths
}

#[test]
fn every_reader_inflates_blocks_of_the_fuzzers_records() {
    let here = folder();
    let (runs, scripts) = if skip::slow_tests() { (50, 1_000) } else { (1, 100) };
    for number in 0..runs {
        let paths = corpus(here.path(), number * scripts, scripts);
        if let Some(mut command) = by_python() {
            let mut found = digests(command.args(&paths));
            let plain = found.remove(&("plain".to_owned(), paths[1].clone())).unwrap();
            if let Some(mut command) = by_java() {
                found.extend(digests(command.arg(&paths[0])));
            }
            for ((reader, _), digest) in found {
                assert_eq!(digest, plain, "{reader}, scripts from {}", number * scripts);
            }
        }
        if has("bgzip") {
            let inflated = run(words("bgzip -dc").arg(&paths[0])).ok().stdout;
            assert!(inflated == fs::read(&paths[1]).unwrap(), "scripts from {}", number * scripts);
        }
    }
}
