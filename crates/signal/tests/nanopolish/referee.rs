//! nanopolish in a folder of its own, and what it reads: alignments and the reference.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use seqloom_signal::aligned_read::AlignedRead;
use seqloom_signal::event::ReadEvents;
use seqloom_testkit::bam::{BamReader, BamRecord};
use seqloom_testkit::skip;
use tempfile::TempDir;

use crate::support::{RealRead, aligned, folder, reads};

/// Reads that are compared when no slow tests were asked for.
const FEW: usize = 6;

/// One record of the BAM file.
pub(crate) struct Alignment {
    pub(crate) name: Vec<u8>,
    pub(crate) contig: String,
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) is_reverse: bool,
    pub(crate) mapq: u8,
    pub(crate) pairs: Vec<(u32, u32)>,
}

/// All that both sides start from.
pub(crate) struct Referee {
    folder: TempDir,
    pub(crate) reads: Vec<RealRead>,
    pub(crate) events: Vec<ReadEvents>,
    pub(crate) alignments: Vec<Alignment>,
    contigs: HashMap<String, Vec<u8>>,
}

impl Referee {
    /// The referee with a few reads or with all of them; None after saying why not.
    pub(crate) fn new(all: bool) -> Option<Self> {
        let data = folder()?;
        for program in ["nanopolish", "samtools"] {
            if Command::new(program).arg("--version").output().is_err() {
                skip::skip(&format!("{program} is not installed"));
                return None;
            }
        }
        let scratch = tempfile::tempdir().unwrap();
        let mut reads = reads(&data);
        reads.truncate(if all { usize::MAX } else { FEW });
        prepare(&data, scratch.path(), &reads);
        let events = aligned(&reads).into_iter().map(Result::unwrap).collect();
        let contigs = contigs(&scratch.path().join("draft.fa"));
        let alignments = alignments(&scratch.path().join("reads.bam"));
        Some(Self { folder: scratch, reads, events, alignments, contigs })
    }

    /// What nanopolish prints for these arguments, after those that name its inputs.
    pub(crate) fn nanopolish(&self, command: &str, arguments: &[&str]) -> String {
        let inputs = ["-t", "1", "-b", "reads.bam", "-g", "draft.fa", "-r", "reads.fasta"];
        let mut process = Command::new("nanopolish");
        process.arg(command).args(inputs).args(arguments);
        process.current_dir(self.folder.path()).stderr(Stdio::null());
        String::from_utf8(process.output().unwrap().stdout).unwrap()
    }

    /// A file that it wrote.
    pub(crate) fn written(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap()
    }

    /// The read of an alignment.
    pub(crate) fn read(&self, alignment: &Alignment) -> (&RealRead, &ReadEvents) {
        let at = self.reads.iter().position(|it| it.signal.read_id == alignment.name).unwrap();
        (&self.reads[at], &self.events[at])
    }

    /// An alignment as kernels want it.
    pub(crate) fn aligned<'a>(&'a self, alignment: &'a Alignment) -> AlignedRead<'a> {
        let contig = &self.contigs[&alignment.contig];
        let end = (alignment.end as usize + 1).min(contig.len());
        AlignedRead {
            name: &alignment.name,
            contig: alignment.contig.as_bytes(),
            start: alignment.start,
            is_reverse: alignment.is_reverse,
            sequence: &self.read(alignment).0.bases,
            reference: &contig[alignment.start as usize..end],
            pairs: &alignment.pairs,
        }
    }
}

fn run(folder: &Path, program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).current_dir(folder).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {errors}");
}

/// Copies the inputs to `scratch`, alignments of `reads` only, and has them indexed.
fn prepare(data: &Path, scratch: &Path, reads: &[RealRead]) {
    std::os::unix::fs::symlink(data.join("fast5_files"), scratch.join("fast5_files")).unwrap();
    fs::copy(data.join("reads.fasta"), scratch.join("reads.fasta")).unwrap();
    let packed = data.join("draft.reconstructed.fa.gz");
    let draft = Command::new("gzip").arg("-dc").arg(packed).output().unwrap();
    fs::write(scratch.join("draft.fa"), draft.stdout).unwrap();
    let names: Vec<String> = reads.iter().map(RealRead::name).collect();
    fs::write(scratch.join("names"), names.join("\n")).unwrap();
    let bam = data.join("reads.sorted.bam");
    let bam = bam.to_str().unwrap();
    run(scratch, "samtools", &["view", "-b", "-F", "4", "-N", "names", "-o", "reads.bam", bam]);
    run(scratch, "samtools", &["index", "reads.bam"]);
    run(scratch, "nanopolish", &["index", "-d", "fast5_files", "reads.fasta"]);
}

fn contigs(path: &Path) -> HashMap<String, Vec<u8>> {
    let mut contigs = HashMap::new();
    for record in fs::read_to_string(path).unwrap().split('>').skip(1) {
        let (head, lines) = record.split_once('\n').unwrap();
        let name = head.split_ascii_whitespace().next().unwrap().to_owned();
        let bases = lines.bytes().filter(|it| !it.is_ascii_whitespace());
        contigs.insert(name, bases.map(|base| base.to_ascii_uppercase()).collect());
    }
    contigs
}

fn alignments(path: &Path) -> Vec<Alignment> {
    let mut reader = BamReader::open(path).unwrap();
    let names: Vec<String> = reader.references.iter().map(|it| it.0.clone()).collect();
    let (mut record, mut alignments) = (BamRecord::default(), Vec::new());
    while reader.read(&mut record).unwrap() {
        let (mut reference, mut read) = (0, 0);
        let mut pairs = Vec::new();
        for (length, operation) in record.cigar() {
            match operation {
                b'M' | b'=' | b'X' => {
                    pairs.extend((0..length).map(|at| (reference + at, read + at)));
                    (reference, read) = (reference + length, read + length);
                }
                b'D' => reference += length,
                b'I' | b'S' => read += length,
                // nanopolish forgets that bases clipped away are part of the read, so its positions in
                // hard-clipped alignments are off. To compare kernels they are made off here too.
                b'H' => {}
                _ => panic!("an operation that these reads do not have"),
            }
        }
        let start = u64::try_from(record.position()).unwrap();
        alignments.push(Alignment {
            name: record.name().to_vec(),
            contig: names[record.reference() as usize].clone(),
            start,
            end: start + u64::from(reference),
            is_reverse: record.flag() & 16 != 0,
            mapq: record.mapq(),
            pairs,
        });
    }
    alignments
}
