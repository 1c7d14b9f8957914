//! What every `signal` command does around its passes: progress, the account of what was lost, the
//! output, and the closing words.

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use seqloom_format::signal::SignalHeader;
use seqloom_io::{AtomicFile, Output, OutputError, Publication};
use seqloom_report::run::core_hours;
use seqloom_runtime::failure::lock;
use seqloom_runtime::machine;
use seqloom_runtime::pool::Interrupted;
use seqloom_signal::flow::pass::{self, BatchSource, Components, PassOptions, Stage, Tally};
use seqloom_signal::flow::{Account, Fault, file_fault};
use seqloom_signal::operations::Encoding;
use seqloom_signal::store::{self, Fast5Engine, OpenOptions, SignalStore, StoreError, index_path};
use seqloom_terminal::{Console, signals};

use super::arguments::RunArguments;
use super::error::{LostReads, PassError, StrictFault};
use crate::output::write_error;

/// Most faults that are reported one by one; all are counted, and `--lost` has them all.
const MAX_TOLD: u64 = 100;

/// One pass of a command over its files: threads, progress, and what was lost.
pub(super) struct Pass<'a> {
    console: &'a Console,
    pub(super) threads: NonZeroUsize,
    strict: bool,
    reports: bool,
    lost_path: Option<PathBuf>,
    /// Relaxed: exactly one caller gets `false`; the list is under its lock.
    lost_is_staged: AtomicBool,
    pub(super) components: Components,
    /// How inputs are opened.
    pub(super) options: OpenOptions,
    account: Mutex<Account>,
    /// Lines of the file of `--lost`.
    lost: Mutex<Vec<u8>>,
    // Relaxed, all three: counts to be shown, whole when the workers have ended.
    reported: AtomicU64,
    reads: AtomicU64,
    written_bytes: AtomicU64,
    own_components: Mutex<Vec<(&'static str, f64)>>,
}

/// Time since the start.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spent {
    pub(super) wall_s: f64,
    /// Of all cores.
    pub(super) cpu_s: f64,
}

impl<'a> Pass<'a> {
    /// Takes the signals over: from here on there may be something to tidy up.
    pub(super) fn new(run: &RunArguments, console: &'a Console) -> Self {
        if run.quiet {
            console.be_quiet();
        }
        signals::defer();
        Self {
            console,
            threads: run.threads(),
            strict: run.strict,
            reports: run.report,
            lost_path: run.lost.clone(),
            lost_is_staged: AtomicBool::new(false),
            components: Components::default(),
            options: OpenOptions { fast5_engine: run.fast5.engine(), ..OpenOptions::default() },
            account: Mutex::default(),
            lost: Mutex::default(),
            reported: AtomicU64::new(0),
            reads: AtomicU64::new(0),
            written_bytes: AtomicU64::new(0),
            own_components: Mutex::default(),
        }
    }

    /// Runs one pass; `what` is the word for it in the progress line.
    pub(super) fn run<B: BatchSource, S: Stage>(
        &self,
        what: &str,
        source: B,
        stage: &S,
        commit: impl FnMut(&mut S::Output) -> Result<(), PassError> + Send,
    ) -> Result<(), PassError> {
        let watch = || self.watch(what);
        let (threads, components) = (self.threads, &self.components);
        pass::run(&PassOptions { threads, components, watch: &watch }, source, stage, commit)
    }

    /// Draws progress, and looks whether a signal stops the run.
    pub(super) fn watch(&self, what: &str) -> Result<(), Interrupted> {
        let reads = self.reads.load(Ordering::Relaxed);
        let cpu_s = machine::usage().cpu.as_secs_f64();
        let cores = cpu_s / self.console.wall().as_secs_f64().max(1e-3);
        self.console.progress(&format!("{what}: {reads} reads, {cores:.1} cores busy"));
        signals::check()
    }

    /// Counts a read that was worked on.
    pub(super) fn count_read(&self) {
        self.reads.fetch_add(1, Ordering::Relaxed);
        lock(&self.account).reads += 1;
    }

    /// Time so far.
    pub(super) fn spent(&self) -> Spent {
        // Processes of a pool are counted when they have ended.
        if let Fast5Engine::Pool(pool) = &self.options.fast5_engine {
            pool.end_idle();
        }
        let cpu = machine::usage().cpu + machine::usage_of_children().cpu;
        Spent { wall_s: self.console.wall().as_secs_f64(), cpu_s: cpu.as_secs_f64() }
    }

    /// Adds to components of which only this command has any; they are in the report before the
    /// others.
    pub(super) fn add_components(&self, seconds: Vec<(&'static str, f64)>) {
        let mut own = lock(&self.own_components);
        for (name, seconds) in seconds {
            match own.iter_mut().find(|(own, _)| *own == name) {
                Some((_, own)) => *own += seconds,
                None => own.push((name, seconds)),
            }
        }
    }

    /// Books what a batch read and lost.
    pub(super) fn book(&self, tally: &Tally) -> Result<(), PassError> {
        self.reads.fetch_add(tally.reads, Ordering::Relaxed);
        lock(&self.account).reads += tally.reads;
        tally.faults.iter().try_for_each(|fault| self.lose(fault))
    }

    /// Books one fault.
    pub(super) fn lose(&self, fault: &Fault) -> Result<(), PassError> {
        if self.strict {
            return Err(StrictFault(fault.clone()).into());
        }
        lock(&self.account).book(fault);
        if self.lost_path.is_some() {
            let id = fault.read_id.as_ref().map_or("*".into(), |id| String::from_utf8_lossy(id));
            let offset = fault.offset.map_or_else(|| "*".to_owned(), |offset| offset.to_string());
            let (path, reason) = (fault.path.display(), &fault.reason);
            lock(&self.lost).extend(format!("{path}\t{id}\t{offset}\t{reason}\n").into_bytes());
        }
        match self.reported.fetch_add(1, Ordering::Relaxed) {
            MAX_TOLD => self.console.error("seqloom: more like this; they are counted"),
            reported if reported < MAX_TOLD => self.console.error(&format!("seqloom: {fault}")),
            _ => {}
        }
        Ok(())
    }

    /// Books a file that cannot be opened.
    pub(super) fn lose_file(&self, error: StoreError) -> Result<(), PassError> {
        self.lose(&file_fault(error))
    }

    /// Opens a file.
    pub(super) fn open(&self, path: &Path) -> Result<Arc<dyn SignalStore>, StoreError> {
        let store = self.components.open.time(|| store::open(path, &self.options))?;
        self.report_changed(store.as_ref());
        Ok(store)
    }

    /// Says which header attributes of a file are not as it has them.
    pub(super) fn report_changed(&self, store: &dyn SignalStore) {
        for name in store.changed_attributes() {
            self.warn(&format!(
                "{}: header attribute {name:?} has a tab or a line break, for which SLOW5 has no \
                 place; it is read with blanks there",
                store.path().display()
            ));
        }
    }

    /// Whether anything was lost so far.
    pub(super) fn is_lossy(&self) -> bool {
        lock(&self.account).is_lossy()
    }

    /// Reads that were worked on so far.
    pub(super) fn reads(&self) -> u64 {
        lock(&self.account).reads
    }

    /// Faults booked so far.
    pub(super) fn faults(&self) -> u64 {
        self.reported.load(Ordering::Relaxed)
    }

    /// Reads counted so far were only looked for.
    pub(super) fn forget_reads(&self) {
        lock(&self.account).reads = 0;
        self.reads.store(0, Ordering::Relaxed);
    }

    /// Says how many files were passed over.
    pub(super) fn tell_apple_double(&self, files: u64) {
        if files > 0 {
            self.warn(&format!("{files} files named ._* are left out (AppleDouble, no signal)"));
        }
    }

    /// A log line.
    pub(super) fn info(&self, text: &str) {
        self.console.info(text);
    }

    /// A warning.
    pub(super) fn warn(&self, text: &str) {
        self.console.warn(text);
    }

    /// The list of `--lost`, complete but for its name, for who publishes it with the last output;
    /// `None` where none is requested, or it was taken before.
    pub(super) fn stage_lost(&self) -> Result<Option<AtomicFile>, PassError> {
        let Some(path) = &self.lost_path else { return Ok(None) };
        if self.lost_is_staged.swap(true, Ordering::Relaxed) {
            return Ok(None);
        }
        let file = AtomicFile::create(path).map_err(OutputError::from)?;
        let mut text = b"file\tread_id\tbyte\treason\n".to_vec();
        text.extend_from_slice(&lock(&self.lost));
        file.file().write_all(&text).map_err(write_error(path))?;
        Ok(Some(file))
    }

    /// Gives their names to what was made, and with it to the list of `--lost`.
    pub(super) fn publish(&self, mut made: Publication) -> Result<(), PassError> {
        made.sidecars.extend(self.stage_lost()?);
        Ok(made.commit().map_err(OutputError::from)?)
    }

    /// Says that reads were worked on; an error when anything was lost.
    pub(super) fn finish(self, what: &str) -> seqloom_terminal::Result<()> {
        let done = format!("{what}: {} reads", self.reads());
        self.finish_saying(&done)
    }

    /// Says what was done, and in what time; an error when anything was lost.
    pub(super) fn finish_saying(self, done: &str) -> seqloom_terminal::Result<()> {
        self.publish(Publication::default())?;
        let account = *lock(&self.account);
        let spent = self.spent();
        let Spent { wall_s, cpu_s } = spent;
        let reads = account.reads;
        self.console.info(&format!("{done} in {wall_s:.2} s, {cpu_s:.2} s of CPU"));
        if self.reports {
            self.report(spent, reads);
        }
        if account.is_lossy() { Err(LostReads(account).into()) } else { Ok(()) }
    }

    /// The columns of Gamaarachchi 2020 (thesis, chapter on nanopore I/O): a name and a value a
    /// line. Components are summed over threads and are waiting as well as working.
    fn report(&self, Spent { wall_s, cpu_s }: Spent, reads: u64) {
        let threads = self.threads.get();
        let utilisation = 100.0 * cpu_s / (wall_s * threads as f64).max(1e-9);
        let mut rows = vec![
            ("threads", threads.to_string()),
            ("reads", reads.to_string()),
            ("written_bytes", self.written_bytes.load(Ordering::Relaxed).to_string()),
            ("peak_rss_bytes", machine::usage().peak_rss_bytes.to_string()),
            ("wall_s", format!("{wall_s:.3}")),
            ("cpu_s", format!("{cpu_s:.3}")),
            ("cpu_utilisation_percent", format!("{utilisation:.1}")),
            ("cpu_hours", format!("{:.6}", cpu_s / 3600.0)),
            ("core_hours", format!("{:.6}", core_hours(threads, wall_s))),
        ];
        for (name, seconds) in self.component_seconds() {
            rows.push((name, format!("{seconds:.3}")));
        }
        for (name, value) in rows {
            self.console.error(&format!("report\t{name}\t{value}"));
        }
    }

    /// Seconds of each component, summed over threads.
    pub(super) fn component_seconds(&self) -> Vec<(&'static str, f64)> {
        let components = &self.components;
        // Some formats read while they decode, and records are inflated while they are decoded.
        let inner_s = self.options.reading.seconds();
        let inflate_s = components.inflate.seconds();
        let mut seconds = lock(&self.own_components).clone();
        seconds.extend([
            ("open_s", components.open.seconds()),
            ("read_s", components.read.seconds() + inner_s),
            ("inflate_s", inflate_s),
            ("decode_s", (components.decode.seconds() - inner_s - inflate_s).max(0.0)),
            ("encode_s", components.encode.seconds()),
            ("write_s", components.write.seconds()),
        ]);
        seconds
    }

    /// Counts bytes of an output that is complete.
    pub(super) fn wrote(&self, bytes: u64) {
        self.written_bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// One SLOW5 or BLOW5 output, written front to back.
pub(super) struct RecordSink {
    output: Output,
    path: PathBuf,
    encoding: Encoding,
}

impl RecordSink {
    /// Opens the output and writes its header.
    pub(super) fn create(
        path: &Path,
        encoding: Encoding,
        header: &SignalHeader,
    ) -> Result<Self, PassError> {
        let header = encoding.header(header)?;
        let mut output = Output::create(path)?;
        output.write(&header)?;
        Ok(Self { output, path: path.to_owned(), encoding })
    }

    /// Appends whole records.
    pub(super) fn write(&mut self, records: &[u8]) -> Result<(), PassError> {
        Ok(self.output.write(records)?)
    }

    /// Ends the file and gives it its name, with the list of what was lost: nothing can be any
    /// more. An index next to it was another file's.
    pub(super) fn publish(self, pass: &Pass<'_>) -> Result<(), PassError> {
        pass.publish(self.finish(pass)?)
    }

    /// Ends one file of several and gives it its name.
    pub(super) fn publish_part(self, pass: &Pass<'_>) -> Result<(), PassError> {
        Ok(self.finish(pass)?.commit().map_err(OutputError::from)?)
    }

    fn finish(mut self, pass: &Pass<'_>) -> Result<Publication, PassError> {
        self.output.write(self.encoding.end())?;
        pass.wrote(self.output.written_bytes());
        Ok(publication(self.output, &self.path))
    }
}

/// A complete output, still without its name; an index next to it was another file's.
pub(super) fn publication(output: Output, path: &Path) -> Publication {
    let stale = if output.is_regular_file() { vec![index_path(path)] } else { Vec::new() };
    Publication { outputs: output.into_file().into_iter().collect(), stale, ..Default::default() }
}
