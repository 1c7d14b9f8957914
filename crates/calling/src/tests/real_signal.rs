//! The real reads that kernels are tested and measured on: 112 of E. coli, R9.4, from f5c's tests.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

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
