//! One run of one configuration.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;

use seqloom_align::engine::CohortEngine;
use seqloom_align::engine::bwa::{BwaEngine, BwaOptions, InsertSize};
use seqloom_align::engine::fake::FakeEngine;
use seqloom_align::index::{self, IndexInfo, IndexSource, Readers};
use seqloom_locks::Kind;
use seqloom_modes::gapped::{GappedEngine, GappedOptions};
use seqloom_runtime::placement::{self, IndexPlacement, PinLevel, PinOrder, Plan, Wishes};
use seqloom_runtime::topology::{Limits, Topology};
use seqloom_runtime::{machine, pool};

use super::aligning::{Job, ScheduleError, Told};
use super::engines::{ByBatches, Metered, Subject};
use super::input::{Share, open};
use super::processes::THREADS_PER_PROCESS;
use super::{Schedule, farm, pipeline, processes, pull};
use crate::experiment::{Counters, LabError};
use crate::sinks::{Files, Strategy, files_in, records_in};

/// Contigs of the engine that does not align, where there is no reference.
const CONTIG_BP: u64 = 3_000_000;

/// What is run.
#[derive(Debug, Clone)]
pub(crate) struct Configuration {
    /// How alignment is shared out.
    pub(crate) schedule: Schedule,
    /// The engine.
    pub(crate) subject: Subject,
    /// An index: for bwa, and for the sequences that the other engines put reads on.
    pub(crate) reference: Option<PathBuf>,
    /// Insert sizes of pairs, which bwa needs here.
    pub(crate) insert_size: Option<InsertSize>,
    /// Workers.
    pub(crate) threads: NonZeroUsize,
    /// Reads: one file, or two of a pair.
    pub(crate) inputs: Vec<PathBuf>,
    /// Templates before these reads, where they are a part of something.
    pub(crate) first_template: u64,
    /// Bases that a pipeline reads at a time for each worker.
    pub(crate) chunk_bases: u64,
    /// How the output is shared.
    pub(crate) strategy: Strategy,
    /// The lock of the output.
    pub(crate) lock: Kind,
    /// Folder of the output.
    pub(crate) output: PathBuf,
    /// Whether the records are read back and added up.
    pub(crate) digest: bool,
    /// Program and arguments that make it one run, for processes.
    pub(crate) again: Vec<String>,
}

/// Runs it, after everything is loaded and `begin` has returned.
///
/// # Errors
/// What cannot be opened, loaded or placed; the first error of any worker.
pub(crate) fn run_one(
    configuration: &Configuration,
    begin: &dyn Fn() -> Result<(), LabError>,
) -> Result<Counters, LabError> {
    let c = configuration;
    if c.schedule == Schedule::Multiprocess && c.threads.get() > THREADS_PER_PROCESS {
        begin()?;
        return by_processes(c);
    }
    let index = c.reference.as_deref().map(index::check).transpose().map_err(prepare)?;
    let plan = plan(c, index.as_ref().map_or(0, |index| index.memory_bytes))?;
    match (&c.subject, &index, &c.reference) {
        (Subject::Fake(options), index, _) => {
            let lengths = index.as_ref().map_or(vec![CONTIG_BP], |index| {
                index.contigs.iter().map(|contig| contig.length.into()).collect()
            });
            in_process(c, &FakeEngine::new(options.clone(), lengths), &plan, begin)
        }
        (Subject::Bwa, Some(index), Some(reference)) => {
            let engine = load_bwa(c, reference, index, &plan)?;
            in_process(c, &engine, &plan, begin)
        }
        (Subject::EndToEnd, Some(index), Some(reference)) => {
            let options = GappedOptions::new(false);
            let load = |source: IndexSource<'_>| GappedEngine::load(source, options);
            let engine = ByBatches(load_engine(c, (reference, index), &plan, load)?);
            in_process(c, &engine, &plan, begin)
        }
        (Subject::Bwa, ..) => Err(no_reference("bwa")),
        (Subject::EndToEnd, ..) => Err(no_reference("end-to-end")),
    }
}

fn no_reference(engine: &str) -> LabError {
    LabError::Prepare(format!("{engine} needs a reference"))
}

fn prepare(error: impl std::fmt::Display) -> LabError {
    LabError::Prepare(error.to_string())
}

/// Where workers and the index go.
fn plan(c: &Configuration, index_bytes: u64) -> Result<Plan, LabError> {
    let index = match c.schedule {
        Schedule::FarmPinned => IndexPlacement::Default,
        Schedule::FarmInterleaved => IndexPlacement::Interleave,
        _ => return Ok(Plan::none(c.threads.get())),
    };
    placement::permitted().map_err(|error| {
        LabError::Prepare(format!("the kernel refuses to place memory here: {error}"))
    })?;
    let root = Path::new("/");
    let topology = Topology::read(root).map_err(prepare)?;
    let limits = Limits::of_this_process(root, &topology);
    let pin = Some((PinLevel::Core, PinOrder::Compact));
    let wishes = Wishes { index, pin, ..Wishes::default() };
    Plan::new((&topology, &limits), &wishes, c.threads.get(), index_bytes, |_| true)
        .map_err(prepare)
}

/// An engine with its index, loaded by a thread that sits where the plan says.
fn load_engine<E: Send, Error: std::fmt::Display>(
    c: &Configuration,
    (prefix, info): (&Path, &IndexInfo),
    plan: &Plan,
    load: impl Fn(IndexSource<'_>) -> Result<E, Error> + Sync,
) -> Result<E, LabError> {
    let source =
        IndexSource { prefix, info, readers: Readers { threads: c.threads, ..Readers::ONE } };
    let load = || {
        plan.take_loader_slot(0).map_err(prepare)?;
        load(source).map_err(prepare)
    };
    let loaded = placement::with_pages(plan.small_pages, || pool::run_one(load));
    loaded.map_err(prepare)?
}

fn load_bwa(
    c: &Configuration,
    reference: &Path,
    index: &IndexInfo,
    plan: &Plan,
) -> Result<BwaEngine, LabError> {
    if c.inputs.len() == 2 && c.insert_size.is_none() {
        let why = "pairs need their insert sizes: no model is learned between the steps here";
        return Err(LabError::Prepare(why.to_owned()));
    }
    let options = BwaOptions { insert_size: c.insert_size, ..BwaOptions::default() };
    let load = |source: IndexSource<'_>| BwaEngine::load(source, &options);
    load_engine(c, (reference, index), plan, load)
}

fn in_process<E: CohortEngine>(
    c: &Configuration,
    engine: &E,
    plan: &Plan,
    begin: &dyn Fn() -> Result<(), LabError>,
) -> Result<Counters, LabError> {
    let (source, pairing) = open(&c.inputs)?;
    let sink = Files::create(&c.output, c.strategy, c.lock)?;
    let engine = Metered::new(engine, c.first_template);
    begin()?;
    let before = machine::usage();
    let (threads, chunk_bases) = (c.threads, c.chunk_bases);
    let job = Job {
        source: &source,
        engine: &engine,
        sink: &sink,
        pairing,
        threads,
        placement: plan,
        chunk_bases,
    };
    // As in `align`, where workers' memory is in small pages.
    let told = placement::with_pages(true, || flow(c.schedule, &job));
    let told = told.map_err(|why| LabError::Failed {
        factors: c.schedule.to_string(),
        why: why.to_string(),
    })?;
    let (after, meters, output) = (machine::usage(), engine.meters(), sink.counts());
    let records = sink.records();
    let paths = sink.finish().map_err(prepare)?;
    let us = |time: std::time::Duration| time.as_micros() as f64;
    let counters = [
        ("align_us", us(meters.slowest)),
        ("reads", meters.reads as f64),
        ("records", records as f64),
        ("threads_all", c.schedule.threads(c.threads) as f64),
        ("engine_busy_us", us(meters.busy)),
        ("master_busy_us", told.master_busy_ns as f64 / 1e3),
        ("flow_cpu_s", (after.cpu - before.cpu).as_secs_f64()),
        ("sleeps", told.sleeps as f64),
        ("output_held_ns", output.held_ns as f64),
        ("output_wait_ns", output.wait_ns as f64),
        ("output_holds", output.holds as f64),
        ("contended_rmws", (output.contended + told.steals) as f64),
        ("voluntary_switches", (after.voluntary_switches - before.voluntary_switches) as f64),
        ("involuntary_switches", (after.involuntary_switches - before.involuntary_switches) as f64),
        ("peak_rss_bytes", after.peak_rss_bytes as f64),
    ];
    let mut counters: Counters =
        counters.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    if c.digest {
        counters.push(("digest".to_owned(), records_in(&paths)?.counter()));
    }
    Ok(counters)
}

/// The schedule, over a job.
pub(super) fn flow<E: CohortEngine>(
    schedule: Schedule,
    job: &Job<'_, E>,
) -> Result<Told, ScheduleError> {
    match schedule {
        Schedule::Farm | Schedule::FarmPinned | Schedule::FarmInterleaved => farm::run(job),
        Schedule::Pipeline => pipeline::run(job),
        // A process of 16 threads pulls.
        Schedule::Pull | Schedule::Multiprocess => pull::run(job),
    }
}

fn by_processes(c: &Configuration) -> Result<Counters, LabError> {
    let command = |share: &Share, threads: NonZeroUsize, output: &Path| {
        let mut words = c.again.iter();
        let mut command = Command::new(words.next().map_or("", String::as_str));
        command.args(words).args(["--schedule", "pull", "--wait"]);
        command.args(["--threads", &threads.to_string()]);
        command.args(["--strategy", &c.strategy.to_string()]);
        if c.strategy != Strategy::Ordered {
            command.args(["--lock", c.lock.name()]);
        }
        command.args(["--first-template", &share.first_template.to_string()]);
        command.arg("--output").arg(output);
        share.files.iter().for_each(|file| {
            command.arg("--input").arg(file);
        });
        command
    };
    let (mut counters, folders) = processes::run(&c.inputs, c.threads, &c.output, &command)?;
    counters.retain(|(name, _)| name != "digest");
    if c.digest {
        let paths = folders.iter().map(|folder| files_in(folder));
        let paths = paths.collect::<Result<Vec<_>, _>>()?.concat();
        counters.push(("digest".to_owned(), records_in(&paths)?.counter()));
    }
    let shares = c.output.join("shares");
    fs::remove_dir_all(&shares).map_err(LabError::file(&shares))?;
    Ok(counters)
}
