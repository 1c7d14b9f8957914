//! Input for tests: reads by name and length, and the source that reads them from temporary files.

use std::path::PathBuf;

use seqloom_format::bam::Header;
use seqloom_format::sam::{ReferenceNames, parse_record};
use seqloom_io::reads::{Fetch, FetchScratch, InputBlock, ReadSource, SourceOptions};
use tempfile::TempDir;

/// A read: its name and number of bases.
pub(crate) type TestRead = (String, usize);

/// FASTQ files in a folder of their own, opened; the folder goes with it.
pub(crate) struct TestInput {
    pub(crate) source: ReadSource,
    pub(crate) paths: Vec<PathBuf>,
    _folder: TempDir,
}

impl TestInput {
    /// One file per element of `files`, read in blocks of `block_bytes`.
    pub(crate) fn new(files: &[&[TestRead]], block_bytes: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let paths: Vec<PathBuf> =
            (1..=files.len()).map(|i| folder.path().join(format!("{i}.fq"))).collect();
        for (path, reads) in paths.iter().zip(files) {
            let record = |(name, bases): &TestRead| {
                format!("@{name}\n{}\n+\n{}\n", "G".repeat(*bases), "I".repeat(*bases))
            };
            std::fs::write(path, reads.iter().map(record).collect::<String>()).unwrap();
        }
        let options = SourceOptions { block_bytes, ..SourceOptions::default() };
        Self { source: ReadSource::open(&paths, options).unwrap(), paths, _folder: folder }
    }

    /// A BAM file of SAM text, read in blocks of `block_bytes`.
    pub(crate) fn bam(text: &str, block_bytes: usize) -> Self {
        let lines = || text.split_inclusive('\n');
        let head: String = lines().filter(|line| line.starts_with('@')).collect();
        let header = Header::parse(head.as_bytes()).unwrap();
        let names = ReferenceNames::new(header.references());
        let mut bytes = header.encode().unwrap();
        for line in lines().filter(|line| !line.starts_with('@')) {
            let mut body = Vec::new();
            parse_record(line.trim_end().as_bytes(), &names, &mut body).unwrap();
            bytes.extend((body.len() as u32).to_le_bytes());
            bytes.extend(body);
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("in.bam");
        std::fs::write(&path, bytes).unwrap();
        let options = SourceOptions { block_bytes, ..SourceOptions::default() };
        let paths = vec![path];
        Self { source: ReadSource::open(&paths, options).unwrap(), paths, _folder: folder }
    }

    /// The next block, `None` at the end.
    pub(crate) fn fetch(&self) -> Option<InputBlock> {
        match self.source.fetch(&mut FetchScratch::default()).unwrap() {
            Fetch::Block(block) => Some(*block),
            Fetch::Busy => panic!("nobody else fetches"),
            Fetch::End => None,
        }
    }
}
