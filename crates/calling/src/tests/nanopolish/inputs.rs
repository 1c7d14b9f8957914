//! What callers are given: reads, their events, alignments and the reference.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use seqloom_testkit::bam::{BamReader, BamRecord};

use super::super::real_reads::{RealRead, aligned};
use crate::aligned_read::{AlignedBase, AlignedRead};
use crate::events::ReadEvents;

/// One record of the BAM file.
pub(crate) struct Alignment {
    pub(crate) name: Vec<u8>,
    pub(crate) contig: String,
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) is_reverse: bool,
    pub(crate) mapq: u8,
    pub(crate) pairs: Vec<AlignedBase>,
}

/// All that our side starts from.
pub(crate) struct Inputs {
    pub(crate) alignments: Vec<Alignment>,
    reads: Vec<RealRead>,
    events: Vec<ReadEvents>,
    contigs: HashMap<String, Vec<u8>>,
}

impl Inputs {
    /// `reads`, and their alignments in the file `bam` to the reference `fasta`.
    pub(crate) fn new(bam: &Path, fasta: &str, reads: Vec<RealRead>) -> Self {
        let alignments = alignments(bam, &reads);
        let events = aligned(&reads).into_iter().map(Result::unwrap).collect();
        Self { alignments, reads, events, contigs: contigs(fasta) }
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

/// The reference of the data set, FASTA.
pub(crate) fn draft(data: &Path) -> String {
    unpacked(&data.join("draft.reconstructed.fa.gz"))
}

/// The text of a file that gzip made.
pub(crate) fn unpacked(packed: &Path) -> String {
    let unpacked = Command::new("gzip").arg("-dc").arg(packed).output().unwrap();
    String::from_utf8(unpacked.stdout).unwrap()
}

fn contigs(fasta: &str) -> HashMap<String, Vec<u8>> {
    let mut contigs = HashMap::new();
    for record in fasta.split('>').skip(1) {
        let (head, lines) = record.split_once('\n').unwrap();
        let name = head.split_ascii_whitespace().next().unwrap().to_owned();
        let bases = lines.bytes().filter(|it| !it.is_ascii_whitespace());
        contigs.insert(name, bases.map(|base| base.to_ascii_uppercase()).collect());
    }
    contigs
}

/// The alignments that these reads have in a BAM file.
fn alignments(path: &Path, reads: &[RealRead]) -> Vec<Alignment> {
    let mut reader = BamReader::open(path).unwrap();
    let names: Vec<String> = reader.references.iter().map(|it| it.0.clone()).collect();
    let (mut record, mut alignments) = (BamRecord::default(), Vec::new());
    while reader.read(&mut record).unwrap() {
        let is_ours = reads.iter().any(|it| it.signal.read_id == record.name());
        if !is_ours || record.flag() & 4 != 0 {
            continue;
        }
        let (mut reference, mut read) = (0, 0);
        let mut pairs = Vec::new();
        for (length, operation) in record.cigar() {
            match operation {
                b'M' | b'=' | b'X' => {
                    let base = |at| AlignedBase { offset: reference + at, position: read + at };
                    pairs.extend((0..length).map(base));
                    (reference, read) = (reference + length, read + length);
                }
                b'D' => reference += length,
                b'I' | b'S' => read += length,
                // nanopolish forgets that bases clipped away are part of the read, so its positions
                // in hard-clipped alignments are off. To compare kernels they are made off here
                // too.
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
