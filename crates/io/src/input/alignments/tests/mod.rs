//! Tests of the source as a whole; the helpers that they share.

mod cram;
mod files;
mod inputs;
mod synthetic;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::{
    AlignmentError, AlignmentFetch, AlignmentOptions, AlignmentScratch, AlignmentSource,
    BlockCheck, RecordBlock,
};
use crate::input::test_file::{TestFile, file};

fn options(block_bytes: usize) -> AlignmentOptions {
    AlignmentOptions { block_bytes, ..AlignmentOptions::default() }
}

/// All blocks of a source, taken by `threads` threads, by input and index.
fn fetch_all(
    source: &AlignmentSource,
    threads: usize,
) -> Result<BTreeMap<(usize, u64), Box<RecordBlock>>, AlignmentError> {
    let blocks = Mutex::new(BTreeMap::new());
    let failure = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut scratch = AlignmentScratch::default();
                while failure.lock().unwrap().is_none() {
                    match source.fetch(&mut scratch) {
                        Ok(AlignmentFetch::Block(block)) => {
                            let key = (block.input, block.index);
                            let before = blocks.lock().unwrap().insert(key, block);
                            assert!(before.is_none(), "block handed out twice");
                        }
                        Ok(AlignmentFetch::Busy) => std::thread::yield_now(),
                        Ok(AlignmentFetch::End) => return,
                        Err(error) => *failure.lock().unwrap() = Some(error),
                    }
                }
            });
        }
    });
    match failure.into_inner().unwrap() {
        Some(error) => Err(error),
        None => Ok(blocks.into_inner().unwrap()),
    }
}

/// What an input gave.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stream {
    bytes: Vec<u8>,
    records: u64,
    reread_blocks: u64,
    is_truncated: bool,
}

/// Record streams of all inputs, verified in order.
fn collect(source: &AlignmentSource, threads: usize) -> Result<Vec<Stream>, AlignmentError> {
    let mut blocks = fetch_all(source, threads)?;
    let mut streams = Vec::new();
    for input in 0..source.headers().len() {
        let mut check = BlockCheck::new(source, input);
        let mut bytes = Vec::new();
        let mut ended = false;
        for index in 0.. {
            let Some(mut block) = blocks.remove(&(input, index)) else { break };
            assert!(!ended, "a block after the last");
            check.accept(source, &mut block)?;
            bytes.extend_from_slice(&block.bytes);
            ended = block.last;
            source.recycle(block);
        }
        assert!(ended, "no last block");
        streams.push(Stream {
            bytes,
            records: check.records(),
            reread_blocks: check.reread_blocks(),
            is_truncated: check.truncation().is_some(),
        });
    }
    assert!(blocks.is_empty());
    Ok(streams)
}

fn read(path: &Path, options: AlignmentOptions, threads: usize) -> Result<Stream, AlignmentError> {
    let source = AlignmentSource::open(&[path.to_path_buf()], options)?;
    Ok(collect(&source, threads)?.remove(0))
}

/// The folder of test data, or `None` after saying so.
fn test_data() -> Option<PathBuf> {
    seqloom_testkit::skip::data("bam")
}

/// Every file under `folder` whose name ends in `suffix`, sorted.
fn files(folder: &Path, suffix: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, suffix));
        } else if path.to_string_lossy().ends_with(suffix) {
            found.push(path);
        }
    }
    found.sort();
    found
}
