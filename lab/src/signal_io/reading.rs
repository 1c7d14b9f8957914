//! One run: every read of some files once, in a shuffled order, by some workers.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use seqloom_format::signal::SignalRead;
use seqloom_format::slow5::index;
use seqloom_runtime::error::{Class, RunError};
use seqloom_runtime::failure::Failure;
use seqloom_runtime::pool::{self, Stopped};
use seqloom_signal::flow::inputs::{self, InputsError};
use seqloom_signal::store::{
    self, DecodeScratch, Fast5Engine, Frame, FrameBatch, OpenOptions, ReadError, SignalStore,
    StoreError, StoreFormat, index_path,
};

use super::{Way, raw};
use crate::random::SplitMix;

/// Begin of the shuffle: any number; the same one in all runs.
const SEED: u64 = 42;

/// What is read, and how.
pub(crate) struct ReadingOptions {
    /// The data folder.
    pub(crate) data: PathBuf,
    /// Format and reader.
    pub(crate) way: Way,
    /// The reader of FAST5.
    pub(crate) engine: Fast5Engine,
    /// Workers.
    pub(crate) threads: NonZeroUsize,
}

/// Why reads cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadingError {
    /// The files cannot be found.
    #[error(transparent)]
    Inputs(#[from] InputsError),
    /// A file cannot be opened or read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A read cannot be decoded.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A worker failed.
    #[error(transparent)]
    Worker(#[from] Stopped),
    /// Bytes of a file cannot be read.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// The index of a file is missing or bad.
    #[error("{0}")]
    Index(String),
}

impl RunError for ReadingError {
    fn class(&self) -> Class {
        match self {
            Self::Inputs(inputs) => inputs.class(),
            Self::Store(store) => store.class(),
            Self::Read(_) | Self::Index(_) => Class::Input,
            Self::Worker(panic) => panic.class(),
            Self::File { source, .. } => Class::of_input(source),
        }
    }
}

/// A read: where its file is, or the open file, and its place there.
#[derive(Clone)]
struct Request {
    file: File,
    frame: Frame,
}

#[derive(Clone)]
enum File {
    /// To be opened for this read, as a folder of single-read files must be.
    Path(Arc<Path>),
    Open(Arc<dyn SignalStore>),
}

/// What was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReadCounts {
    /// Reads.
    pub(crate) reads: u64,
    /// Samples of them.
    pub(crate) samples: u64,
}

/// Reads all.
///
/// # Errors
/// Any file or read that is not in order: times of part of the work compare with nothing.
pub(crate) fn read_all(options: &ReadingOptions) -> Result<ReadCounts, ReadingError> {
    if let Some(raw) = options.way.raw {
        let mut frames = indexed(&options.data.join(options.way.data))?;
        SplitMix::new(SEED).shuffle(&mut frames);
        raw::read(options, raw, &frames)?;
        return Ok(ReadCounts { reads: frames.len() as u64, samples: 0 });
    }
    let open = OpenOptions { fast5_engine: options.engine.clone(), ..OpenOptions::default() };
    let mut requests = requests(options, &open)?;
    SplitMix::new(SEED).shuffle(&mut requests);
    // Relaxed, all three: every number is given once, and counts are read when workers have ended.
    let next = AtomicUsize::new(0);
    let (reads, samples) = (AtomicU64::new(0), AtomicU64::new(0));
    let failure = Failure::<ReadingError>::default();
    let worker = |_| {
        let mut scratch = DecodeScratch::default();
        let (mut batch, mut read) = (FrameBatch::default(), SignalRead::default());
        while let Some(request) = requests.get(next.fetch_add(1, Ordering::Relaxed)) {
            if failure.stopped() {
                break;
            }
            one(request, &open, &mut scratch, &mut batch, &mut read)?;
            reads.fetch_add(1, Ordering::Relaxed);
            samples.fetch_add(read.samples.len() as u64, Ordering::Relaxed);
        }
        Ok(())
    };
    pool::run(options.threads, &failure, || (), &|| Ok(()), worker)?;
    Ok(ReadCounts { reads: reads.into_inner(), samples: samples.into_inner() })
}

fn one(
    request: &Request,
    options: &OpenOptions,
    scratch: &mut DecodeScratch,
    batch: &mut FrameBatch,
    read: &mut SignalRead,
) -> Result<(), ReadingError> {
    let opened;
    let store = match &request.file {
        File::Open(store) => store,
        File::Path(path) => {
            opened = store::open(path, options)?;
            &opened
        }
    };
    batch.frames.clear();
    batch.frames.push(request.frame);
    store.fetch(batch)?;
    read.clear();
    store.decode(scratch, batch, &batch.frames[0], read)?;
    Ok(())
}

fn requests(options: &ReadingOptions, open: &OpenOptions) -> Result<Vec<Request>, ReadingError> {
    let path = options.data.join(options.way.data);
    if path.is_dir() {
        let found = inputs::find(&[path], &inputs::ALL_SUFFIXES)?;
        let request =
            |path: PathBuf| Request { file: File::Path(Arc::from(path)), frame: Frame::default() };
        return Ok(found.paths.into_iter().map(request).collect());
    }
    let store = store::open(&path, open)?;
    let has_index = matches!(store.format(), StoreFormat::Slow5 | StoreFormat::Blow5(_));
    let frames = if has_index { indexed(&path)? } else { listed(store.as_ref())? };
    let request = |frame| Request { file: File::Open(store.clone()), frame };
    Ok(frames.into_iter().map(request).collect())
}

/// Places of the reads by the index next to the file.
fn indexed(path: &Path) -> Result<Vec<Frame>, ReadingError> {
    let path = index_path(path);
    let bad =
        |error: &dyn std::fmt::Display| ReadingError::Index(format!("{}: {error}", path.display()));
    let bytes = std::fs::read(&path).map_err(|error| bad(&error))?;
    let (_, entries) = index::parse(&bytes).map_err(|error| bad(&error))?;
    let frame = |entry: Result<index::Entry<'_>, _>| {
        let index::Entry { offset, size_bytes, .. } = entry.map_err(|error| bad(&error))?;
        Ok(Frame { offset, size_bytes, ..Frame::default() })
    };
    entries.map(frame).collect()
}

/// Numbers of the reads of a file that has a table of them.
fn listed(store: &dyn SignalStore) -> Result<Vec<Frame>, ReadingError> {
    let (mut cursor, mut batch) = (store::Cursor::default(), FrameBatch::default());
    let mut frames = Vec::new();
    while store.next(&mut cursor, &mut batch)? {
        frames.extend_from_slice(&batch.frames);
    }
    Ok(frames)
}
