//! The structures that Gamaarachchi 2020 compares, round the kernels of this program: reads of
//! signal one at a time under a lock, and batches that are read by processes while the batch before
//! is worked on. Everything but the signal (records, bases, reference) is in memory beforehand.

use std::collections::HashMap;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use seqloom_calling::events::ReadOptions;
use seqloom_calling::flow::{
    CallTimes, Filter, HardClips, MethylationKernel, MethylationOutput, MethylationScratch,
    ReadInput, ReadKernel, aligned_pairs, normalise, sequenced_bases, shape,
};
use seqloom_calling::methylation::{CallOptions, TableFormat};
use seqloom_calling::pore_model::{ModelError, builtin};
use seqloom_calling::{AlignedBase, AlignedRead, Motif, lowest_base};
use seqloom_format::bam::{Flags, RecordRef, framed_records};
use seqloom_format::signal::SignalRead;
use seqloom_io::alignments::{
    AlignmentError, AlignmentFetch, AlignmentOptions, AlignmentScratch, AlignmentSource, BlockCheck,
};
use seqloom_io::{IndexedFasta, IndexedFastaError, TextScratch};
use seqloom_runtime::error::{Class, RunError};
use seqloom_runtime::failure::{Failure, lock};
use seqloom_runtime::monitor::Monitor;
use seqloom_runtime::pool::{self, Stopped};
use seqloom_runtime::trace::Stage;
use seqloom_signal::store::{
    self, Cursor, DecodeScratch, Fast5Engine, FrameBatch, OpenOptions, ReadError, StoreError,
};

use super::{Caller, Way};
use crate::experiment::Counters;

/// What is called, and how.
pub(crate) struct StructureOptions {
    /// Aligned reads.
    pub(crate) bam: PathBuf,
    /// Their reference.
    pub(crate) reference: PathBuf,
    /// Which file has which read: lines of name and path.
    pub(crate) index: PathBuf,
    /// The structure.
    pub(crate) way: Way,
    /// What reads FAST5.
    pub(crate) engine: Fast5Engine,
    /// Workers.
    pub(crate) threads: NonZeroUsize,
    /// Reads of a batch.
    pub(crate) batch: NonZeroUsize,
    /// Where the table goes; its lines are in no order.
    pub(crate) output: PathBuf,
}

/// Why reads could not be called.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StructureError {
    /// The BAM cannot be read.
    #[error(transparent)]
    Alignments(#[from] AlignmentError),
    /// The reference cannot be read.
    #[error(transparent)]
    Reference(#[from] IndexedFastaError),
    /// A file of signal cannot be opened or read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A read cannot be decoded.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A pore model is damaged.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A file cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// This way is another program's.
    #[error("{0} is not one of these structures")]
    Way(&'static str),
    /// A worker failed.
    #[error(transparent)]
    Worker(#[from] Stopped),
}

impl RunError for StructureError {
    fn class(&self) -> Class {
        match self {
            Self::Alignments(alignments) => alignments.class(),
            Self::Reference(reference) => reference.class(),
            Self::Store(store) => store.class(),
            Self::Read(_) | Self::Model(_) => Class::Input,
            Self::File { source, .. } => Class::of_input(source),
            Self::Way(_) => Class::Usage,
            Self::Worker(panic) => panic.class(),
        }
    }
}

/// A read with all but its signal.
struct LabRead {
    /// Its record, without its length.
    body: Vec<u8>,
    contig: String,
    start: u64,
    sequence: Vec<u8>,
    reference: Vec<u8>,
    pairs: Vec<AlignedBase>,
    path: PathBuf,
}

/// Everything that workers share.
struct Lab {
    reads: Vec<LabRead>,
    kernel: MethylationKernel,
    open: OpenOptions,
    times: CallTimes,
    /// Opening a file of signal, reading and decoding it.
    signal: Stage,
    /// Waiting for the lock round that, or for a batch.
    wait: Stage,
    called: AtomicU64,
    table: Mutex<Vec<u8>>,
}

/// Calls all reads; what that took, by component, in seconds summed over workers.
///
/// # Errors
/// Any file or read that is not in order: times of part of the work compare with nothing.
pub(crate) fn call(options: &StructureOptions) -> Result<Counters, StructureError> {
    let lab = prepare(options)?;
    match options.way.caller {
        Caller::Structure(Structure::OneAtATime) => one_at_a_time(&lab, options)?,
        Caller::Structure(Structure::BatchesByProcesses) => batches_by_processes(&lab, options)?,
        Caller::Flow | Caller::Nanopolish | Caller::NanopolishSplit => {
            return Err(StructureError::Way(options.way.name));
        }
    }
    let table = lock(&lab.table);
    let write = fs::write(&options.output, table.as_slice());
    write.map_err(file(&options.output))?;
    let seconds = [
        ("signal_s", &lab.signal),
        ("events_s", &lab.times.events),
        ("abea_s", &lab.times.align),
        ("scaling_s", &lab.times.scaling),
        ("hmm_s", &lab.times.hmm),
        ("format_s", &lab.times.format),
        ("wait_s", &lab.wait),
        ("bam_s", &lab.times.bam),
        ("fasta_s", &lab.times.reference),
    ];
    // Relaxed: the workers have ended.
    let mut counters = vec![("reads".to_owned(), lab.called.load(Ordering::Relaxed) as f64)];
    counters.extend(seconds.map(|(name, stage)| (name.to_owned(), stage.seconds())));
    Ok(counters)
}

/// A structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Structure {
    /// Threads share a batch, and read signal one at a time: what the lock of libhdf5 makes of
    /// nanopolish.
    OneAtATime,
    /// Processes read a batch while threads work on the one before: f5c with `--iop`.
    BatchesByProcesses,
}

fn file(path: &Path) -> impl FnOnce(std::io::Error) -> StructureError {
    let path = path.display().to_string();
    move |source| StructureError::File { path, source }
}

fn prepare(options: &StructureOptions) -> Result<Lab, StructureError> {
    let kernel = MethylationKernel {
        nucleotides: builtin::r9_4_1_nucleotide()?,
        methylated: builtin::r9_4_1_methylated(Motif::Cpg)?,
        read: ReadOptions::dna(),
        call: CallOptions::default(),
        format: TableFormat::default(),
        region: None,
        has_record: false,
        outcomes: None,
    };
    let text = fs::read_to_string(&options.index).map_err(file(&options.index))?;
    let paths: HashMap<&[u8], &str> = text
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .map(|(name, path)| (name.as_bytes(), path))
        .collect();
    let table = Mutex::new(kernel.format.header().as_bytes().to_vec());
    let times = CallTimes::default();
    Ok(Lab {
        reads: lab_reads(options, &paths, &times)?,
        kernel,
        open: OpenOptions { fast5_engine: options.engine.clone(), ..OpenOptions::default() },
        times,
        signal: Stage::default(),
        wait: Stage::default(),
        called: AtomicU64::new(0),
        table,
    })
}

/// The reads that `seqloom signal methylation` calls of the same BAM, in its order.
fn lab_reads(
    options: &StructureOptions,
    paths: &HashMap<&[u8], &str>,
    times: &CallTimes,
) -> Result<Vec<LabRead>, StructureError> {
    let inputs = std::slice::from_ref(&options.bam);
    let source = AlignmentSource::open(inputs, AlignmentOptions::default())?;
    let fasta = IndexedFasta::open(&options.reference)?;
    let (mut scratch, mut check) = (AlignmentScratch::default(), BlockCheck::new(&source, 0));
    let mut reads = Vec::new();
    loop {
        match times.bam.time(|| source.fetch(&mut scratch))? {
            AlignmentFetch::End => return Ok(reads),
            AlignmentFetch::Busy => {}
            AlignmentFetch::Block(mut block) => {
                check.accept(&source, &mut block)?;
                for body in framed_records(&block.bytes).flatten() {
                    let read = times.reference.time(|| lab_read(body, &source, &fasta, paths))?;
                    reads.extend(read);
                }
                source.recycle(block);
            }
        }
    }
}

fn lab_read(
    body: &[u8],
    source: &AlignmentSource,
    fasta: &IndexedFasta,
    paths: &HashMap<&[u8], &str>,
) -> Result<Option<LabRead>, StructureError> {
    const FILTER: Filter = Filter { min_mapping_quality: 20, region: None, has_secondary: false };
    let Ok(record) = RecordRef::new(body) else { return Ok(None) };
    let Ok(shape) = shape(&record) else { return Ok(None) };
    let is_called = FILTER.refuses(&record).is_none()
        && !shape.is_hard_clipped
        && record.base_count() as u64 == shape.read_bases;
    let id = usize::try_from(record.reference_id()).unwrap_or(usize::MAX);
    let contig = source.headers()[0].references().get(id).map(|it| it.name.clone());
    let (Some(contig), Some(path), true) = (contig, paths.get(record.name()), is_called) else {
        return Ok(None);
    };
    let Some(number) = fasta.find(contig.as_bytes()) else { return Ok(None) };
    let start = u64::from(record.position().unsigned_abs());
    let end = (start + shape.reference_bases + 1).min(fasta.length_bp(number));
    let (mut sequence, mut reference, mut pairs) = (Vec::new(), Vec::new(), Vec::new());
    fasta.fetch(&mut TextScratch::default(), number, start..end, &mut reference)?;
    reference.iter_mut().for_each(|base| *base = lowest_base(*base));
    sequenced_bases(&record, &mut sequence);
    normalise(&mut sequence);
    aligned_pairs(&record, HardClips::Counted, &mut pairs);
    let (body, path) = (body.to_vec(), PathBuf::from(path));
    Ok(Some(LabRead { body, contig, start, sequence, reference, pairs, path }))
}

/// What a worker keeps.
#[derive(Default)]
struct Worker {
    decode: DecodeScratch,
    batch: FrameBatch,
    kernel: MethylationScratch,
    output: MethylationOutput,
}

impl Lab {
    /// Opens a read's file, as a folder of single-read files wants it, and reads it.
    fn fetch(&self, number: usize, worker: &mut Worker) -> Result<SignalRead, StructureError> {
        let Worker { decode, batch, .. } = worker;
        let store = store::open(&self.reads[number].path, &self.open)?;
        let (mut cursor, mut read) = (Cursor::default(), SignalRead::default());
        if store.next(&mut cursor, batch)?
            && let Some(frame) = batch.frames.first()
        {
            store.decode(decode, batch, frame, &mut read)?;
        }
        Ok(read)
    }

    /// Calls a read and appends its lines.
    fn work_on(&self, number: usize, signal: &SignalRead, worker: &mut Worker) {
        let read = &self.reads[number];
        let Ok(record) = RecordRef::new(&read.body) else { return };
        let aligned = AlignedRead {
            name: record.name(),
            contig: read.contig.as_bytes(),
            start: read.start,
            is_reverse: record.has_flags(Flags::REVERSE),
            sequence: &read.sequence,
            reference: &read.reference,
            pairs: &read.pairs,
        };
        let (ordinal, signal_path) = (number as u64, read.path.as_path());
        let input = ReadInput { aligned, signal, signal_path, ordinal, record };
        let Worker { kernel, output, .. } = worker;
        // A read that cannot be called costs that read, as in the product.
        if self.kernel.call(kernel, &input, &self.times, output).is_ok() {
            // Relaxed: a count.
            self.called.fetch_add(1, Ordering::Relaxed);
            lock(&self.table).extend_from_slice(&output.text);
        }
    }
}

fn one_at_a_time(lab: &Lab, options: &StructureOptions) -> Result<(), StructureError> {
    let library_lock = Mutex::new(());
    let count = lab.reads.len();
    for first in (0..count).step_by(options.batch.get()) {
        let next = AtomicUsize::new(first);
        let end = (first + options.batch.get()).min(count);
        let failure = Failure::<StructureError>::default();
        // The end of this call is the barrier between batches.
        pool::run(
            options.threads,
            &failure,
            || (),
            &|| Ok(()),
            |_| {
                let mut worker = Worker::default();
                loop {
                    // Relaxed: every number is given once; reads were listed before.
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= end || failure.stopped() {
                        return Ok(());
                    }
                    let guard = lab.wait.time(|| lock(&library_lock));
                    let signal = lab.signal.time(|| lab.fetch(number, &mut worker))?;
                    drop(guard);
                    lab.work_on(number, &signal, &mut worker);
                }
            },
        )?;
    }
    Ok(())
}

/// Which batch is read and which is worked on.
struct Batches {
    size: usize,
    reads: usize,
    /// The next read to be read.
    next_to_read: usize,
    /// The next read to be worked on, and how many are.
    next_to_work: usize,
    worked: usize,
    signals: Vec<Option<SignalRead>>,
}

impl Batches {
    /// One after the last read of the batch that has this one.
    fn end_of(&self, number: usize) -> usize {
        ((number / self.size + 1) * self.size).min(self.reads)
    }

    /// A read to read: of the batch that is worked on, or of the next one. `Some(None)`: no more.
    fn next_read(&mut self) -> Option<Option<usize>> {
        if self.next_to_read == self.reads {
            return Some(None);
        }
        let ahead = self.worked / self.size + 1;
        (self.next_to_read / self.size <= ahead).then(|| {
            self.next_to_read += 1;
            Some(self.next_to_read - 1)
        })
    }

    /// A read to work on: its whole batch is read, and the batch before is done.
    fn next_work(&mut self) -> Option<Option<(usize, SignalRead)>> {
        if self.next_to_work == self.reads {
            return Some(None);
        }
        let number = self.next_to_work;
        let is_next_done = self.worked >= number / self.size * self.size;
        let rest = &self.signals[number..self.end_of(number)];
        let is_read = rest.iter().all(Option::is_some);
        if !is_next_done || !is_read {
            return None;
        }
        self.next_to_work += 1;
        Some(Some((number, self.signals[number].take().unwrap_or_default())))
    }
}

/// As many threads again wait for the processes that read: they take no processor.
fn batches_by_processes(lab: &Lab, options: &StructureOptions) -> Result<(), StructureError> {
    let reads = lab.reads.len();
    let batches = Monitor::new(Batches {
        size: options.batch.get(),
        reads,
        next_to_read: 0,
        next_to_work: 0,
        worked: 0,
        signals: (0..reads).map(|_| None).collect(),
    });
    let failure = Failure::<StructureError>::default();
    let readers = options.threads.get();
    let both = NonZeroUsize::new(2 * readers).unwrap_or(options.threads);
    let wake = || batches.wake_all();
    pool::run(both, &failure, wake, &|| Ok(()), |index| {
        let mut worker = Worker::default();
        loop {
            if index < readers {
                let next = batches.wait_for(|it| stopped_or(&failure, || it.next_read()));
                let Some(number) = next else { return Ok(()) };
                let signal = lab.signal.time(|| lab.fetch(number, &mut worker))?;
                batches.update(|it| it.signals[number] = Some(signal));
            } else {
                let next = lab
                    .wait
                    .time(|| batches.wait_for(|it| stopped_or(&failure, || it.next_work())));
                let Some((number, signal)) = next else { return Ok(()) };
                lab.work_on(number, &signal, &mut worker);
                batches.update(|it| it.worked += 1);
            }
            // Readers and workers wait for different things.
            batches.wake_all();
        }
    })
}

/// Nothing more to do where the run has failed.
fn stopped_or<T>(
    failure: &Failure<StructureError>,
    look: impl FnOnce() -> Option<Option<T>>,
) -> Option<Option<T>> {
    if failure.stopped() { Some(None) } else { look() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_worked_on_once_it_is_read_and_the_one_before_is_done() {
        let mut batches = Batches {
            size: 2,
            reads: 5,
            next_to_read: 0,
            next_to_work: 0,
            worked: 0,
            signals: vec![None; 5],
        };
        let work_on = |it: &mut Batches| it.next_work().map(|found| found.map(|(at, _)| at));
        // Two batches may be read ahead.
        for number in 0..4 {
            assert_eq!(batches.next_read(), Some(Some(number)));
        }
        assert_eq!(batches.next_read(), None);
        // One of each is read, which is no batch.
        batches.signals[0] = Some(SignalRead::default());
        batches.signals[2] = Some(SignalRead::default());
        assert_eq!(work_on(&mut batches), None);
        batches.signals[1] = Some(SignalRead::default());
        batches.signals[3] = Some(SignalRead::default());
        assert_eq!(work_on(&mut batches), Some(Some(0)));
        assert_eq!(work_on(&mut batches), Some(Some(1)));
        // The next batch is read, but this one is not done.
        batches.worked = 1;
        assert_eq!(work_on(&mut batches), None);
        batches.worked = 2;
        assert_eq!(work_on(&mut batches), Some(Some(2)));
        assert_eq!(batches.next_read(), Some(Some(4)));
        assert_eq!(batches.next_read(), Some(None));
        assert_eq!(work_on(&mut batches), Some(Some(3)));
        batches.signals[4] = Some(SignalRead::default());
        batches.worked = 4;
        assert_eq!(work_on(&mut batches), Some(Some(4)));
        assert_eq!(work_on(&mut batches), Some(None));
    }
}
