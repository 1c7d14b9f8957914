//! modBAM and bedMethyl against nanopolish's own modBAM, samtools, and pysam.
//!
//! nanopolish calls a few reads of E. coli, once as a table and once as tags. Our tags are made of
//! its table, so sites and probabilities must be its own; pysam reads them, and counts by site what
//! the tags say.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use seqloom_format::bam::{Flags, Header, RecordRef};
use seqloom_format::base_modifications::{Called, as_sequenced, decode_record};
use seqloom_format::bgzf::{BlockCompressor, EOF_BLOCK};
use seqloom_testkit::bam::{BamReader, BamRecord};
use seqloom_testkit::skip;

use crate::Motif;
use crate::aligned_read::{AlignedBase, AlignedRead};
use crate::methylation::GroupCall;
use crate::methylation::bedmethyl::{BedMethyl, push_outcomes};
use crate::methylation::frequency::{Cutoff, CutoffStyle};
use crate::methylation::modbam::{ModbamScratch, Tagging, tag_record};
use crate::methylation::sites::push_sites;
use crate::methylation::table::Columns;

const CONTIG: &str = "tig00000001";
/// Reads that nanopolish calls: a few each second.
const READS: usize = 10;
/// Below it an exponential is 0 in double precision: the natural logarithm of 2^-1075, half of the
/// least number above 0, rounded up.
const LEAST_LN: f64 = -745.13;

/// How many records became what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct TaggingCounts {
    /// Records with tags.
    tagged: u64,
    /// Sites in all of them.
    sites: u64,
    /// Records of which no site was called.
    not_called: u64,
    /// Called records without bases.
    no_bases: u64,
    /// Called records without a C at the sites.
    no_site: u64,
}

impl TaggingCounts {
    /// Counts one record.
    fn add(&mut self, tagging: Tagging) {
        match tagging {
            Tagging::Tagged { sites } => {
                self.tagged += 1;
                self.sites += sites as u64;
            }
            Tagging::NotCalled => self.not_called += 1,
            Tagging::NoBases => self.no_bases += 1,
            Tagging::NoSite => self.no_site += 1,
        }
    }
}

#[track_caller]
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

fn words(line: &str) -> Command {
    let mut words = line.split_whitespace();
    let mut command = Command::new(words.next().unwrap());
    command.args(words);
    command
}

fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    if !found {
        skip::skip(&format!("{program} is not installed"));
    }
    found
}

fn read_bam(path: &Path) -> (String, Vec<Vec<u8>>) {
    let mut reader = BamReader::open(path).unwrap();
    let (mut record, mut bodies) = (BamRecord::default(), Vec::new());
    while reader.read(&mut record).unwrap() {
        bodies.push(record.bytes.clone());
    }
    (reader.header, bodies)
}

fn write_bam(path: &Path, header: &str, bodies: &[Vec<u8>]) {
    let mut bytes = Header::parse(header.as_bytes()).unwrap().encode().unwrap();
    for body in bodies {
        bytes.extend_from_slice(&(body.len() as u32).to_le_bytes());
        bytes.extend_from_slice(body);
    }
    let (mut compressor, mut out) = (BlockCompressor::new(6).unwrap(), Vec::new());
    for block in bytes.chunks(65_000) {
        compressor.compress(block, &mut out).unwrap();
    }
    out.extend_from_slice(&EOF_BLOCK);
    fs::write(path, out).unwrap();
    run(&mut words(&format!("samtools index {}", path.display())));
}

/// What nanopolish makes of a few reads.
struct Data {
    motif: Motif,
    /// Header and records of the reads.
    header: String,
    bodies: Vec<Vec<u8>>,
    /// Calls by name of the read, in the order of the table.
    calls: HashMap<String, Vec<GroupCall>>,
    /// Names of reads and first sites of the calls both of whose likelihoods are 0 in double
    /// precision.
    vanished: HashSet<(String, u64)>,
    /// nanopolish's modBAM.
    tagged: PathBuf,
    /// FASTA of the reference, and its bases.
    fasta: PathBuf,
    reference: Vec<u8>,
}

fn data(here: &Path, motif: Motif, reads: usize) -> Option<Data> {
    let folder = skip::data("nanopore/f5c_ecoli_2kb/ecoli_2kb_region")?;
    if !has("nanopolish") || !has("samtools") || !has("gzip") {
        return None;
    }
    let path = |name: &str| here.join(name);
    let shown = |name: &str| path(name).display().to_string();
    fs::copy(folder.join("reads.fasta"), path("reads.fasta")).unwrap();
    let gzip = words("gzip -dc").arg(folder.join("draft.reconstructed.fa.gz")).output().unwrap();
    fs::write(path("draft.fa"), &gzip.stdout).unwrap();
    let (header, mut bodies) = read_bam(&folder.join("reads.sorted.bam"));
    // Only reads whose calls can be determined by their names, and on the part of the reference
    // there is.
    let name = |body: &[u8]| RecordRef::new(body).unwrap().name().to_vec();
    let names: Vec<Vec<u8>> = bodies.iter().map(|body| name(body)).collect();
    bodies.retain(|body| {
        let record = RecordRef::new(body).unwrap();
        let is_once = names.iter().filter(|it| *it == record.name()).count() == 1;
        is_once && record.position() >= 195_000 && record.reference_end() < 209_000
    });
    bodies.truncate(reads);
    write_bam(&path("reads.bam"), &header, &bodies);
    let fast5 = folder.join("fast5_files").display().to_string();
    run(&mut words(&format!("nanopolish index -d {fast5} {}", shown("reads.fasta"))));
    let call = format!(
        "nanopolish call-methylation -q {} -r {} -b {} -g {}",
        motif.name(),
        shown("reads.fasta"),
        shown("reads.bam"),
        shown("draft.fa")
    );
    let table = run(&mut words(&call));
    // It stops with an assertion for other motifs.
    if motif == Motif::Cpg {
        run(&mut words(&format!("{call} -o {}", shown("tagged.bam"))));
    }
    let text = String::from_utf8(gzip.stdout).unwrap();
    let record = text.split('>').find(|it| it.split_whitespace().next() == Some(CONTIG)).unwrap();
    let reference = record.lines().skip(1).collect::<String>().into_bytes();
    Some(Data {
        motif,
        header,
        bodies,
        calls: calls_of(&table),
        vanished: vanished(&table),
        tagged: path("tagged.bam"),
        fasta: path("draft.fa"),
        reference,
    })
}

fn calls_of(table: &str) -> HashMap<String, Vec<GroupCall>> {
    let mut lines = table.lines();
    let columns = Columns::parse(lines.next().unwrap().as_bytes()).unwrap();
    let mut calls: HashMap<String, Vec<GroupCall>> = HashMap::new();
    for line in lines {
        let row = columns.row(line.as_bytes()).unwrap();
        assert_eq!(row.chromosome, CONTIG.as_bytes());
        let call = GroupCall {
            first: row.start,
            last: row.end,
            motif_count: row.motif_count,
            log_lik_methylated: row.log_lik_ratio,
            log_lik_unmethylated: 0.0,
            context_start: 0,
            context_end: 0,
        };
        calls.entry(String::from_utf8(row.read_name.to_vec()).unwrap()).or_default().push(call);
    }
    calls
}

fn vanished(table: &str) -> HashSet<(String, u64)> {
    let of_line = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let [methylated, not] = [6, 7].map(|at| fields[at].parse::<f64>().unwrap());
        let key = (fields[4].to_owned(), fields[2].parse().unwrap());
        (methylated < LEAST_LN && not < LEAST_LN).then_some(key)
    };
    table.lines().skip(1).filter_map(of_line).collect()
}

/// A record as the kernels see it.
fn with_aligned<T>(data: &Data, body: &[u8], then: impl FnOnce(&AlignedRead<'_>) -> T) -> T {
    let record = RecordRef::new(body).unwrap();
    let start = record.position() as usize;
    let (mut sequence, mut pairs) = (Vec::new(), Vec::new());
    as_sequenced(&record, &mut sequence);
    let (mut offset, mut at) = (0, 0);
    for (op, length) in record.full_cigar() {
        match op {
            b'M' | b'=' | b'X' => {
                let base = |step| AlignedBase { offset: offset + step, position: at + step };
                pairs.extend((0..length).map(base));
                offset += length;
                at += length;
            }
            b'D' => offset += length,
            b'I' | b'S' => at += length,
            _ => {}
        }
    }
    then(&AlignedRead {
        name: record.name(),
        contig: CONTIG.as_bytes(),
        start: start as u64,
        is_reverse: record.has_flags(Flags::REVERSE),
        sequence: &sequence,
        reference: &data.reference[start..=start + offset as usize],
        pairs: &pairs,
    })
}

/// Our tags, made of the calls of nanopolish's table that are to be kept.
fn tagged(data: &Data, keep: impl Fn(&str, &GroupCall) -> bool) -> (Vec<Vec<u8>>, TaggingCounts) {
    let (mut scratch, mut counts) = (ModbamScratch::default(), TaggingCounts::default());
    let mut bodies = data.bodies.clone();
    for body in &mut bodies {
        let name = String::from_utf8(RecordRef::new(body).unwrap().name().to_vec()).unwrap();
        let calls = data.calls.get(&name).map(Vec::as_slice).unwrap_or_default();
        let calls: Vec<GroupCall> = calls.iter().filter(|it| keep(&name, it)).copied().collect();
        let mut sites = Vec::new();
        with_aligned(data, body, |read| push_sites(data.motif, read, &calls, &mut sites));
        counts.add(tag_record(data.motif, body, &sites, &mut scratch).unwrap());
    }
    (bodies, counts)
}

fn decoded(body: &[u8]) -> Vec<Called> {
    let (mut bases, mut called) = (Vec::new(), Vec::new());
    decode_record(&RecordRef::new(body).unwrap(), &mut bases, &mut called).unwrap();
    called
}

#[test]
fn tags_are_those_of_nanopolish() {
    let here = tempfile::tempdir().unwrap();
    let Some(data) = data(here.path(), Motif::Cpg, READS) else { return };
    let (ours, counts) = tagged(&data, |_, _| true);
    let (_, theirs) = read_bam(&data.tagged);
    assert_eq!((ours.len(), theirs.len()), (READS, READS));
    assert!(counts.tagged >= 8 && counts.sites > 1000, "{counts:?}");
    let mut equal = 0;
    for (ours, theirs) in ours.iter().zip(&theirs) {
        let (ours, theirs) = (decoded(ours), decoded(theirs));
        let place = |it: &Called| (it.position, it.group, it.code);
        let places = |called: &[Called]| called.iter().map(place).collect::<Vec<_>>();
        assert_eq!(places(&ours), places(&theirs));
        for (ours, theirs) in ours.iter().zip(&theirs) {
            // Theirs are in 255 parts, of ratios that are not rounded to two decimals.
            let apart = ours.probability.unwrap().abs_diff(theirs.probability.unwrap());
            assert!(apart <= 2, "{ours:?} {theirs:?}");
            equal += u64::from(apart == 0);
        }
    }
    assert!(equal * 2 > counts.sites, "{equal} of {}", counts.sites);
    samtools_takes_them(&data, &ours, counts, here.path());
    pysam_counts_the_same(&data, &ours, here.path());
}

#[test]
fn tags_of_other_motifs_are_read_by_samtools_and_pysam() {
    for motif in [Motif::Gpc, Motif::Dam, Motif::Dcm] {
        let here = tempfile::tempdir().unwrap();
        let Some(data) = data(here.path(), motif, READS) else { return };
        let (ours, counts) = tagged(&data, |_, _| true);
        assert!(counts.tagged >= 8 && counts.sites > 100, "{counts:?}");
        samtools_takes_them(&data, &ours, counts, here.path());
        pysam_counts_the_same(&data, &ours, here.path());
    }
}

/// nanopolish divides the exponentials of the likelihoods, and where both are 0 it writes 0.
/// Everywhere else its probabilities are ours.
#[test]
fn slow_sites_that_differ_are_those_whose_likelihoods_vanish() {
    if !skip::slow_tests() {
        return;
    }
    let here = tempfile::tempdir().unwrap();
    let Some(data) = data(here.path(), Motif::Cpg, usize::MAX) else { return };
    let (_, theirs) = read_bam(&data.tagged);
    let has_vanished =
        |name: &str, call: &GroupCall| data.vanished.contains(&(name.to_owned(), call.first));
    let mut sites = [0, 0];
    let mut apart = [0, 0];
    for vanish in [false, true] {
        let (ours, _) = tagged(&data, |name, call| has_vanished(name, call) == vanish);
        assert_eq!(ours.len(), theirs.len());
        for (ours, theirs) in ours.iter().zip(&theirs) {
            let theirs: HashMap<_, _> =
                decoded(theirs).iter().map(|it| (it.position, it.probability.unwrap())).collect();
            for ours in decoded(ours) {
                let theirs = theirs[&ours.position];
                assert!(!vanish || theirs == 0, "{ours:?} {theirs}");
                sites[usize::from(vanish)] += 1;
                let is_apart = ours.probability.unwrap().abs_diff(theirs) > 2;
                apart[usize::from(vanish)] += u32::from(is_apart);
            }
        }
    }
    println!("{sites:?} sites, {apart:?} apart");
    assert!(sites[0] > 20_000, "{sites:?}");
    assert_eq!(apart[0], 0, "{apart:?}");
    assert!(apart[1] > 5, "{apart:?}");
}

fn samtools_takes_them(data: &Data, bodies: &[Vec<u8>], counts: TaggingCounts, here: &Path) {
    let path = here.join("ours.bam");
    write_bam(&path, &data.header, bodies);
    let shown = path.display();
    assert_eq!(run(&mut words(&format!("samtools view -c {shown}"))).trim(), READS.to_string());
    run(&mut words(&format!("samtools quickcheck {shown}")));
    let pileup = run(&mut words(&format!("samtools mpileup -M -Q 0 -B -A -x -d 0 {shown}")));
    let code = char::from(data.motif.code());
    let forward = pileup.matches(&format!("[+{code}")).count() as u64;
    let reverse = pileup.matches(&format!("[-{code}")).count() as u64;
    assert_eq!(forward + reverse, counts.sites, "{forward} {reverse}");
}

/// A threshold at the edge of a value of ML (240 and 16 of 256), so that what passes can be
/// determined from tags: ln(15).
const EDGE: f64 = 2.708_050_201_102_21;

fn pysam_counts_the_same(data: &Data, bodies: &[Vec<u8>], here: &Path) {
    let Some(python) = seqloom_testkit::python::with_module("pysam") else { return };
    let cutoff = Cutoff { style: CutoffStyle::F5c, threshold: EDGE };
    let (mut table, mut out) = (BedMethyl::new(data.motif), Vec::new());
    for body in &data.bodies {
        with_aligned(data, body, |read| {
            let name = String::from_utf8(read.name.to_vec()).unwrap();
            let calls = data.calls.get(&name).map(Vec::as_slice).unwrap_or_default();
            let (mut sites, mut outcomes) = (Vec::new(), Vec::new());
            push_sites(data.motif, read, calls, &mut sites);
            push_outcomes(data.motif, read, &sites, &cutoff, &mut outcomes);
            table.add(read, &outcomes, &mut out);
        });
    }
    table.finish(&mut out);
    let ours = String::from_utf8(out).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tests/modbam_referee.py");
    write_bam(&here.join("ours.bam"), &data.header, bodies);
    let mut referee = Command::new(python);
    referee.arg(script).arg(here.join("ours.bam")).arg(&data.fasta).args([
        "240",
        "16",
        data.motif.name(),
    ]);
    let theirs = run(&mut referee);
    // CCWGG is once in 512 bases, GATC once in 256.
    let least = match data.motif {
        Motif::Cpg | Motif::Gpc => 500,
        Motif::Dam => 60,
        Motif::Dcm => 30,
    };
    let sites = ours.lines().count();
    assert!(sites > least, "{}: {sites} sites", data.motif);
    for (line, (ours, theirs)) in ours.lines().zip(theirs.lines()).enumerate() {
        assert_eq!(ours, theirs, "line {line}");
    }
    assert_eq!(ours, theirs);
}
