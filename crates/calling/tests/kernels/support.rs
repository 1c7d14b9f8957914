//! The real reads that kernels are tested on: 112 of E. coli, R9.4, from f5c's tests.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use seqloom_calling::events::read::{
    BasecalledRead, ReadOptions, ReadScratch, SkipReason, align_read,
};
use seqloom_calling::events::{ReadEvents, Scaling};
use seqloom_calling::pore_model::{PoreModel, builtin};
use seqloom_format::signal::SignalRead;
use seqloom_signal::store::{Cursor, DecodeScratch, FrameBatch, OpenOptions, open};
use seqloom_testkit::skip;

/// A read's signal and bases.
pub(crate) struct RealRead {
    pub(crate) signal: SignalRead,
    pub(crate) bases: Vec<u8>,
}

impl RealRead {
    pub(crate) fn name(&self) -> String {
        String::from_utf8_lossy(&self.signal.read_id).into_owned()
    }
}

/// The folder of the data set, or `None` after saying that the test is skipped.
pub(crate) fn folder() -> Option<PathBuf> {
    skip::data("nanopore/f5c_ecoli_2kb/ecoli_2kb_region")
}

/// All reads below `folder`, in the order of their names.
pub(crate) fn reads(folder: &Path) -> Vec<RealRead> {
    let fasta = fs::read_to_string(folder.join("reads.fasta")).unwrap();
    let mut bases = HashMap::new();
    for record in fasta.split('>').filter(|record| !record.is_empty()) {
        let (head, lines) = record.split_once('\n').unwrap();
        let name = head.split_ascii_whitespace().next().unwrap();
        let letters: Vec<u8> = lines.bytes().filter(|it| !it.is_ascii_whitespace()).collect();
        bases.insert(name.as_bytes().to_vec(), letters);
    }
    let mut reads = Vec::new();
    for entry in fs::read_dir(folder.join("fast5_files")).unwrap() {
        let store = open(&entry.unwrap().path(), &OpenOptions::default()).unwrap();
        let (mut cursor, mut batch) = (Cursor::default(), FrameBatch::default());
        let mut scratch = DecodeScratch::default();
        while store.next(&mut cursor, &mut batch).unwrap() {
            for frame in &batch.frames {
                let mut signal = SignalRead::default();
                store.decode(&mut scratch, &batch, frame, &mut signal).unwrap();
                let bases = bases.remove(&signal.read_id).unwrap();
                reads.push(RealRead { signal, bases });
            }
        }
    }
    reads.sort_by(|a, b| a.signal.read_id.cmp(&b.signal.read_id));
    assert_eq!(reads.len(), 112);
    reads
}

/// The reads through [`align_read`].
pub(crate) fn aligned(reads: &[RealRead]) -> Vec<Result<ReadEvents, SkipReason>> {
    let model = model();
    let mut scratch = ReadScratch::default();
    let options = ReadOptions::dna();
    let mut align = |read: &RealRead| {
        let mut out = ReadEvents::default();
        let basecalled = BasecalledRead { signal: &read.signal, sequence: &read.bases };
        align_read(&mut scratch, basecalled, &model, &options, &mut out)?;
        Ok(out)
    };
    reads.iter().map(&mut align).collect()
}

pub(crate) fn model() -> PoreModel {
    builtin::r9_4_1_nucleotide().unwrap()
}

/// Shift, scale and var.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scalings(pub(crate) [f64; 3]);

impl From<Scaling> for Scalings {
    fn from(it: Scaling) -> Self {
        Self([it.shift_pa, it.scale, it.var])
    }
}

/// Scalings by the name of the read, from a summary of nanopolish or f5c.
pub(crate) fn scalings(summary: &str) -> HashMap<String, Scalings> {
    let mut lines = summary.lines();
    let columns: Vec<&str> = lines.next().unwrap().split('\t').collect();
    let column = |name| columns.iter().position(|&it| it == name).unwrap();
    let wanted = ["shift", "scale", "var"].map(column);
    let row = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        (fields[column("read_name")].into(), Scalings(wanted.map(|it| fields[it].parse().unwrap())))
    };
    lines.map(row).collect()
}

/// Ours are theirs to all three digits.
pub(crate) fn assert_same(pairs: &[(Scalings, Scalings)]) {
    for (ours, theirs) in pairs {
        let is_same = ours.0.iter().zip(theirs.0).all(|(a, b)| (a - b).abs() < 0.000_501);
        assert!(is_same, "{ours:?}, not {theirs:?}");
    }
}
