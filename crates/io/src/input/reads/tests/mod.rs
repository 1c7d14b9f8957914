//! Tests of the source as a whole; the helpers that they share.

mod biopython;
mod formats;
mod parallel;
mod pipes;
mod restart;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use seqloom_format::bgzf::{BlockCompressor, EOF_BLOCK};

use super::{BlockCheck, Fetch, FetchScratch, InputBlock, ReadSource};
use super::{ReadsError, SourceOptions};
use crate::input::malformed::Malformed;
use crate::input::test_file::{TestFile, file};

/// A read as tests compare it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Read {
    name: String,
    bases: String,
    qualities: String,
    extra: Vec<u8>,
}

fn read(name: &str, bases: &str, qualities: &str) -> Read {
    Read { name: name.into(), bases: bases.into(), qualities: qualities.into(), extra: Vec::new() }
}

fn reads_of(block: &InputBlock) -> Vec<Read> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let reads = &block.reads;
    (0..reads.reads.len())
        .map(|at| Read {
            name: text(reads.name(at)),
            bases: text(reads.bases(at)),
            qualities: text(reads.qualities(at)),
            extra: reads.extra(at).to_vec(),
        })
        .collect()
}

fn options(block_bytes: usize) -> SourceOptions {
    SourceOptions { block_bytes, keep_comments: true, ..SourceOptions::default() }
}

/// The files of a source: blocks that came before their turn, and the reads of those before.
struct Files {
    waiting: BTreeMap<(usize, u64), InputBlock>,
    checks: Vec<BlockCheck>,
    reads: Vec<Vec<Read>>,
    ended: Vec<bool>,
    failure: Option<ReadsError>,
}

impl Files {
    /// Takes a block, and accepts those whose turn it is.
    fn take(&mut self, source: &ReadSource, block: InputBlock) -> Result<(), ReadsError> {
        let file = block.file;
        let before = self.waiting.insert((file, block.index), block);
        assert!(before.is_none(), "block handed out twice");
        while let Some(mut block) = self.waiting.remove(&(file, self.checks[file].accepted())) {
            assert!(!self.ended[file], "a block after the last one");
            let own = reads_of(&block);
            self.checks[file].accept(source, &mut block)?;
            self.ended[file] = block.last;
            if block.records > 0 {
                self.reads[file].extend(own);
            }
        }
        Ok(())
    }
}

/// Reads of each file, taken by `threads` threads and verified in order.
fn collect(source: &ReadSource, threads: usize) -> Result<Vec<Vec<Read>>, ReadsError> {
    let files = source.files();
    let files = Mutex::new(Files {
        waiting: BTreeMap::new(),
        checks: (0..files).map(|file| BlockCheck::new(source, file)).collect(),
        reads: vec![Vec::new(); files],
        ended: vec![false; files],
        failure: None,
    });
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut scratch = FetchScratch::default();
                while files.lock().unwrap().failure.is_none() {
                    let fetched = source.fetch(&mut scratch);
                    // The failure is there before another thread's block can be accepted.
                    let mut files = files.lock().unwrap();
                    let outcome = match fetched {
                        Ok(Fetch::Block(block)) if files.failure.is_none() => {
                            files.take(source, *block)
                        }
                        Ok(Fetch::Block(_)) => Ok(()),
                        Ok(Fetch::Busy) => {
                            drop(files);
                            std::thread::yield_now();
                            continue;
                        }
                        Ok(Fetch::End) => return,
                        Err(error) => Err(error),
                    };
                    if let Err(error) = outcome {
                        files.failure.get_or_insert(error);
                    }
                }
            });
        }
    });
    let Files { waiting, checks, reads, ended, failure } = files.into_inner().unwrap();
    if let Some(failure) = failure {
        return Err(failure);
    }
    assert!(waiting.is_empty() && !ended.contains(&false), "no last block");
    for (check, reads) in checks.iter().zip(&reads) {
        assert_eq!(check.bases(), reads.iter().map(|it| it.bases.len() as u64).sum::<u64>());
        assert_eq!(check.records(), reads.len() as u64);
    }
    Ok(reads)
}

/// Reads of one file.
fn read_file(path: &Path, options: SourceOptions, threads: usize) -> Result<Vec<Read>, ReadsError> {
    let source = ReadSource::open(&[path.to_path_buf()], options)?;
    Ok(collect(&source, threads)?.remove(0))
}

fn read_bytes(content: &[u8], block_bytes: usize) -> Result<Vec<Read>, ReadsError> {
    let file = file(content);
    read_file(&file.path, options(block_bytes), 2)
}

fn malformed(result: Result<Vec<Read>, ReadsError>) -> Malformed {
    match result {
        Err(ReadsError::Malformed(malformed)) => *malformed,
        other => panic!("expected a malformed record, got {other:?}"),
    }
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// BGZF with blocks of the given payload sizes in turn (0: an empty block), and the EOF block.
fn bgzf(text: &[u8], sizes: &[usize]) -> Vec<u8> {
    let mut compressor = BlockCompressor::new(1).unwrap();
    let mut out = Vec::new();
    let mut rest = text;
    for &size in sizes.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (payload, after) = rest.split_at(size.min(rest.len()));
        compressor.compress(payload, &mut out).unwrap();
        rest = after;
    }
    out.extend_from_slice(&EOF_BLOCK);
    out
}

fn zstd(text: &[u8]) -> Vec<u8> {
    zstd::encode_all(text, 1).unwrap()
}

/// Runs `body`, failing if it takes longer than `limit`.
fn within<T: Send + 'static>(limit: Duration, body: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        let _ = sender.send(body());
    });
    match receiver.recv_timeout(limit) {
        Ok(value) => value,
        Err(std::sync::mpsc::RecvTimeoutError::Timeout) => panic!("not done within {limit:?}"),
        Err(_) => std::panic::resume_unwind(thread.join().unwrap_err()),
    }
}

/// The folder of test data, or `None` and a line that says so.
fn test_data(part: &str) -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("SEQLOOM_DATA") else {
        println!("skipped: SEQLOOM_DATA is not set");
        return None;
    };
    Some(PathBuf::from(folder).join(part))
}
