//! Ways for many threads to write their records: one file behind a lock, several such files, or one
//! file in order, where whoever finds the next piece writes it.
//!
//! What is written are records as in an uncompressed BAM stream, without a header, so that files
//! can be joined by putting one after the other.

mod measure;
mod report;

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use seqloom_align::Batch;
use seqloom_align::ingest::{BatchPart, BatchSink, LaneEnd};
use seqloom_format::PackedTemplates;
use seqloom_locks::{Guard, Kind, Lock, RawLock};
use seqloom_runtime::failure::lock;
use seqloom_runtime::order::Ordered;

use crate::digest::Records;
use crate::experiment::LabError;

pub(crate) use self::measure::Outputs;
pub(crate) use self::report::RESULTS;

/// Buffer of each file: what is held back until one `write` is worth its while.
const BUFFER_BYTES: usize = 256 * 1024;
/// What names of files begin with; the number follows.
const NAME: &str = "records-";
/// Nodes that locks are built for; threads run wherever they run.
const NODES: usize = 2;
/// A lock that is held for longer was held by a thread that lost its core: such holds are counted,
/// but their time is not the lock's.
const PREEMPTED_NS: u64 = 1_000_000;

/// How threads share the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strategy {
    /// One file, written under a lock.
    Locked,
    /// So many files, each with a lock; a thread keeps to one (Langmead 2018's striping).
    Striped(usize),
    /// One file, pieces in their order: whoever finds the next piece and nobody writing writes all
    /// that is ready. Nobody waits for its turn.
    Ordered,
}

impl FromStr for Strategy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':').unwrap_or((text, "")) {
            ("locked", "") => Ok(Self::Locked),
            ("ordered", "") => Ok(Self::Ordered),
            ("striped", files) => match files.parse() {
                Ok(files) if files > 0 => Ok(Self::Striped(files)),
                _ => Err("after striped: must come a number of files".to_owned()),
            },
            _ => Err("must be locked, striped:N or ordered".to_owned()),
        }
    }
}

impl std::fmt::Display for Strategy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Locked => f.write_str("locked"),
            Self::Striped(files) => write!(f, "striped:{files}"),
            Self::Ordered => f.write_str("ordered"),
        }
    }
}

/// A file cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {source}")]
pub(crate) struct SinkError {
    path: String,
    source: io::Error,
}

/// What threads did at the output, added up.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct OutputCounts {
    /// Times that a file was held.
    pub(crate) holds: u64,
    /// Times left out of `held_ns`, because the thread had lost its core.
    pub(crate) preempted: u64,
    /// Times that a lock was found taken.
    pub(crate) contended: u64,
    /// How long files were held.
    pub(crate) held_ns: u64,
    /// How long threads waited for a lock.
    pub(crate) wait_ns: u64,
}

impl OutputCounts {
    fn merge(&mut self, other: &Self) {
        self.holds += other.holds;
        self.preempted += other.preempted;
        self.contended += other.contended;
        self.held_ns += other.held_ns;
        self.wait_ns += other.wait_ns;
    }

    fn held(&mut self, since: Instant) {
        let ns = u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.holds += 1;
        if ns < PREEMPTED_NS {
            self.held_ns += ns;
        } else {
            self.preempted += 1;
        }
    }
}

type Target = BufWriter<File>;

/// The files of one run, written to by all its threads.
pub(crate) struct Files {
    strategy: Strategy,
    paths: Vec<PathBuf>,
    files: Vec<Lock<Target, Box<dyn RawLock>>>,
    ordered: Ordered<(Vec<u8>, u64)>,
    /// Relaxed: every number is given once.
    threads: AtomicUsize,
    /// Relaxed: a count for who watches.
    records: AtomicU64,
    counts: Arc<Mutex<OutputCounts>>,
}

/// One thread's place at the output. What it counted is added up when it is dropped.
pub(crate) struct Hand {
    file: usize,
    counts: OutputCounts,
    all: Arc<Mutex<OutputCounts>>,
}

impl Drop for Hand {
    fn drop(&mut self) {
        lock(&self.all).merge(&self.counts);
    }
}

impl Files {
    /// Makes the files in a folder, which is made if need be. Those of an earlier run there are
    /// taken away: it may have had more of them.
    ///
    /// # Errors
    /// The folder or a file cannot be made, or an old one not be taken away.
    pub(crate) fn create(folder: &Path, strategy: Strategy, kind: Kind) -> Result<Self, LabError> {
        fs::create_dir_all(folder).map_err(LabError::file(folder))?;
        for old in files_in(folder)? {
            fs::remove_file(&old).map_err(LabError::file(&old))?;
        }
        let count = if let Strategy::Striped(files) = strategy { files } else { 1 };
        let paths: Vec<PathBuf> = (0..count).map(|at| folder.join(format!("{NAME}{at}"))).collect();
        let open = |path: &PathBuf| -> Result<_, LabError> {
            let file = File::create(path).map_err(LabError::file(path))?;
            Ok(Lock::new(kind.build(NODES), BufWriter::with_capacity(BUFFER_BYTES, file)))
        };
        let files = paths.iter().map(open).collect::<Result<_, _>>()?;
        Ok(Self {
            strategy,
            paths,
            files,
            ordered: Ordered::default(),
            threads: AtomicUsize::new(0),
            records: AtomicU64::new(0),
            counts: Arc::default(),
        })
    }

    /// Records written so far; what waits for its turn is not.
    #[must_use]
    pub(crate) fn records(&self) -> u64 {
        self.records.load(Ordering::Relaxed)
    }

    /// Batches written so far, where they are written in order.
    #[must_use]
    pub(crate) fn written_in_order(&self) -> u64 {
        self.ordered.committed()
    }

    /// What threads did that are done.
    #[must_use]
    pub(crate) fn counts(&self) -> OutputCounts {
        *lock(&self.counts)
    }

    /// Writes what is held back, and gives the files' names.
    ///
    /// # Errors
    /// A file cannot be written.
    pub(crate) fn finish(self) -> Result<Vec<PathBuf>, SinkError> {
        for (file, path) in self.files.into_iter().zip(&self.paths) {
            let flushed = file.into_inner().into_inner().map_err(io::IntoInnerError::into_error);
            flushed.map_err(failed(path))?;
        }
        Ok(self.paths)
    }

    /// Takes the lock of a file.
    fn lock(&self, hand: &mut Hand) -> Guard<'_, Target, Box<dyn RawLock>> {
        let file = &self.files[hand.file];
        if let Some(guard) = file.try_lock() {
            return guard;
        }
        hand.counts.contended += 1;
        let asked = Instant::now();
        let guard = file.lock();
        hand.counts.wait_ns += u64::try_from(asked.elapsed().as_nanos()).unwrap_or(u64::MAX);
        guard
    }

    /// Takes the piece that is at `sequence` in the order of the output.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn take(
        &self,
        hand: &mut Hand,
        sequence: u64,
        templates: &PackedTemplates,
    ) -> Result<(), SinkError> {
        if self.strategy != Strategy::Ordered {
            return self.write(hand, &templates.bytes, templates.records);
        }
        // What is not next in line has to be kept, so the bytes are copied.
        let piece = (templates.bytes.clone(), templates.records);
        self.ordered.deposit(sequence, piece, |(bytes, records)| self.write(hand, &bytes, records))
    }

    fn write(&self, hand: &mut Hand, bytes: &[u8], records: u64) -> Result<(), SinkError> {
        let mut guard = self.lock(hand);
        let since = Instant::now();
        guard.write_all(bytes).map_err(failed(&self.paths[hand.file]))?;
        drop(guard);
        hand.counts.held(since);
        self.records.fetch_add(records, Ordering::Relaxed);
        Ok(())
    }
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> SinkError {
    let path = path.display().to_string();
    move |source| SinkError { path, source }
}

impl BatchSink for Files {
    type Error = SinkError;
    type Scratch = Hand;

    fn scratch(&self) -> Result<Hand, SinkError> {
        let thread = self.threads.fetch_add(1, Ordering::Relaxed);
        let file = thread % self.files.len().max(1);
        Ok(Hand { file, counts: OutputCounts::default(), all: self.counts.clone() })
    }

    fn accept(
        &self,
        hand: &mut Hand,
        batch: &Batch,
        templates: &PackedTemplates,
        _: BatchPart,
    ) -> Result<(), SinkError> {
        self.take(hand, batch.sequence, templates)
    }

    fn end(&self, _: LaneEnd) {}
}

/// The files of records that a folder has.
///
/// # Errors
/// The folder cannot be read.
pub(crate) fn files_in(folder: &Path) -> Result<Vec<PathBuf>, LabError> {
    let entries = fs::read_dir(folder).map_err(LabError::file(folder))?;
    let is_number = |rest: &str| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit());
    let names = |entry: &fs::DirEntry| {
        entry.file_name().to_str().and_then(|name| name.strip_prefix(NAME)).is_some_and(is_number)
    };
    let paths = entries.flatten().filter(names).map(|entry| entry.path());
    Ok(paths.collect())
}

/// The records in these files, one file after the other.
///
/// # Errors
/// A file cannot be read, or holds something else.
pub(crate) fn records_in(paths: &[PathBuf]) -> Result<Records, LabError> {
    let mut records = Records::default();
    for path in paths {
        let bytes = fs::read(path).map_err(LabError::file(path))?;
        let bad = |error| LabError::Prepare(format!("{}: {error}", path.display()));
        records.add(&bytes).map_err(bad)?;
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strategies_have_names() {
        for text in ["locked", "striped:4", "ordered"] {
            assert_eq!(text.parse::<Strategy>().unwrap().to_string(), text);
        }
        for bad in ["", "striped", "striped:0", "locked:2", "sorted"] {
            assert!(bad.parse::<Strategy>().is_err(), "{bad}");
        }
    }

    #[test]
    fn files_of_an_earlier_run_are_not_this_ones() {
        let folder = tempfile::tempdir().unwrap();
        let other = folder.path().join("records-of-mine");
        fs::write(&other, "kept").unwrap();
        for (strategy, files) in [(Strategy::Striped(4), 4), (Strategy::Locked, 1)] {
            let made = Files::create(folder.path(), strategy, Kind::Standard).unwrap();
            assert_eq!(made.finish().unwrap().len(), files);
            assert_eq!(files_in(folder.path()).unwrap().len(), files, "{strategy}");
        }
        assert!(other.exists());
    }

    fn piece(records: &[u8]) -> PackedTemplates {
        let bytes = records.iter().flat_map(|&record| [1, 0, 0, 0, record]).collect();
        PackedTemplates { bytes, records: records.len() as u64, ..PackedTemplates::default() }
    }

    #[test]
    fn pieces_arrive_whole_and_ordered_ones_in_order() {
        let folder = tempfile::tempdir().unwrap();
        for strategy in [Strategy::Locked, Strategy::Striped(2), Strategy::Ordered] {
            for kind in [Kind::Standard, Kind::McsParking] {
                let files = Files::create(folder.path(), strategy, kind).unwrap();
                let mut hands = [files.scratch().unwrap(), files.scratch().unwrap()];
                for sequence in [2, 0, 1] {
                    let number = sequence as u8;
                    let hand = &mut hands[sequence as usize % 2];
                    files.take(hand, sequence, &piece(&[number, number + 10])).unwrap();
                }
                assert_eq!(files.records(), 6);
                drop(hands);
                assert_eq!(files.counts().holds, 3);
                let paths = files.finish().unwrap();
                let found: Vec<u8> = paths
                    .iter()
                    .flat_map(|path| fs::read(path).unwrap())
                    .skip(4)
                    .step_by(5)
                    .collect();
                let expected = match strategy {
                    Strategy::Locked => [2, 12, 0, 10, 1, 11],
                    // The first hand has even numbers.
                    Strategy::Striped(_) => [2, 12, 0, 10, 1, 11],
                    Strategy::Ordered => [0, 10, 1, 11, 2, 12],
                };
                assert_eq!(found, expected, "{strategy}");
                assert_eq!(records_in(&paths).unwrap().count, 6);
            }
        }
    }

    #[test]
    fn a_full_disk_is_an_error() {
        let full = Path::new("/dev/full");
        let file = || BufWriter::with_capacity(1, File::create(full).unwrap());
        let folder = tempfile::tempdir().unwrap();
        for strategy in [Strategy::Locked, Strategy::Ordered] {
            let mut files = Files::create(folder.path(), strategy, Kind::Standard).unwrap();
            files.files = vec![Lock::new(Kind::Standard.build(1), file())];
            files.paths = vec![full.to_owned()];
            let mut hand = files.scratch().unwrap();
            let error = files.take(&mut hand, 0, &piece(&[1, 2])).unwrap_err();
            assert!(error.to_string().starts_with("/dev/full: "), "{error}");
        }
    }
}
