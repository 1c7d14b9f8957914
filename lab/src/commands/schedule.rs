//! `seqloom-lab schedule`: ways to share alignment out among threads, side by side; and
//! `seqloom-lab schedule-run`: one run of one of them.

use std::fs;
use std::io::BufRead;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use crate::experiment::LabError;
use crate::output::Fact;
use crate::schedule::{
    self, CHUNK_BASES, COUNTED, Configuration, Input, InsertSize, NO_COUNTERS, Outcome, READY,
    Schedule, Schedules, Subject,
};
use crate::sinks::Strategy;
use seqloom_locks::Kind;
use seqloom_runtime::{machine, placement};
use seqloom_terminal::error::SystemError;

use super::locks::kinds;
use super::print_counters;
use seqloom_terminal::{Console, UsageError, print};

/// Name of the command that is one run.
pub(super) const RUN: &str = "schedule-run";

/// Arguments of `seqloom-lab schedule`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  seqloom-lab schedule --out lab/runs/schedule")]
pub(crate) struct ScheduleArguments {
    /// Where table, plots and report go
    #[arg(long, value_name = "DIR", default_value = "out/lab/schedule")]
    pub(super) out: PathBuf,
    /// Run nothing: write the report of this folder once more from its table
    #[arg(long, value_name = "DIR")]
    pub(super) again: Option<PathBuf>,
    /// Where reads and records are made [default: a folder of the system's temporary folder]
    #[arg(long, value_name = "DIR")]
    pub(super) work: Option<PathBuf>,
    /// Reads of each run, which are made
    #[arg(long, value_name = "N", default_value_t = 200_000)]
    pub(super) reads: u64,
    /// The reads that are made are pairs
    #[arg(long)]
    pub(super) paired: bool,
    /// Reads of each run, of a file or of two of mates
    #[arg(long, value_name = "FASTQ", conflicts_with_all = ["reads", "paired"])]
    pub(super) input: Vec<PathBuf>,
    /// Index of their genome, as `align` takes it, for engines that align
    #[arg(long, value_name = "PREFIX")]
    pub(super) reference: Option<PathBuf>,
    /// Numbers of workers
    #[arg(
        long,
        value_name = "N,...",
        value_delimiter = ',',
        default_value = "1,2,4,8,16,32,64,128,256"
    )]
    pub(super) threads: Vec<u32>,
    /// Engines: null, fake:OPTIONS, bowtie, bowtie2, hisat (times per read of those); with an index
    /// bwa (single reads) and end-to-end
    #[arg(
        long,
        value_name = "ENGINE,...",
        value_delimiter = ',',
        default_value = "null,fake:spin=5us"
    )]
    pub(super) engines: Vec<String>,
    /// Only these schedules: pull, farm, farm-pinned, farm-interleaved, pipeline, multiprocess
    #[arg(long, value_name = "SCHEDULE,...", value_delimiter = ',')]
    pub(super) schedules: Vec<Schedule>,
    /// Repeats of all runs
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) repeats: u32,
    /// Begin nothing after so many minutes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(super) budget_minutes: Option<u64>,
}

/// Arguments of one run.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  \
    seqloom-lab schedule-run --schedule farm --engine fake --us-per-read 20 --threads 16 \\\n    \
    --reads-per-thread 10000")]
pub(crate) struct RunArguments {
    /// How alignment is shared out: pull, farm, farm-pinned, farm-interleaved, pipeline,
    /// multiprocess
    #[arg(long)]
    schedule: Schedule,
    /// null, fake:OPTIONS, bowtie, bowtie2, hisat (times per read of those), bwa or end-to-end
    #[arg(long, default_value = "null")]
    engine: String,
    /// Time of an engine that does not align, per read
    #[arg(long, value_name = "US")]
    us_per_read: Option<f64>,
    /// That time is slept; else it is processor time
    #[arg(long)]
    sleep: bool,
    /// Workers
    #[arg(long, value_name = "N", default_value_t = machine::available_cores())]
    threads: NonZeroUsize,
    /// Reads that are made, for each worker
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    reads_per_thread: u64,
    /// Reads that are made, in all
    #[arg(long, value_name = "N", conflicts_with = "reads_per_thread")]
    reads: Option<u64>,
    /// The reads that are made are pairs
    #[arg(long)]
    paired: bool,
    /// Reads that are there; twice for pairs
    #[arg(long, value_name = "FASTQ", conflicts_with_all = ["reads", "reads_per_thread", "paired"])]
    input: Vec<PathBuf>,
    /// Index, as `align` takes it: for bwa and end-to-end, and for the sequences that other engines
    /// put reads on
    #[arg(long, value_name = "PREFIX")]
    reference: Option<PathBuf>,
    /// Insert size of pairs, as `-I` of `align`, which bwa needs here, and no other engine
    #[arg(long, value_name = "F[,F[,N[,N]]]")]
    insert_size: Option<InsertSize>,
    /// Bases that the pipeline reads at a time for each worker (BWA-MEM: 10,000,000)
    /// [default: 250,000]
    #[arg(long, value_name = "N")]
    chunk_bases: Option<u64>,
    /// Output: locked (one file), striped:N (files) or ordered (one file); processes have a file
    /// each
    #[arg(long, default_value = "locked")]
    strategy: Strategy,
    /// Lock of the output, which is never waited for where that is ordered [default: standard]
    #[arg(long)]
    lock: Option<String>,
    /// Folder of the records, which is kept [default: one that is not]
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Where reads are made [default: a folder of the system's temporary folder]
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
    /// Read the records back and add them up
    #[arg(long)]
    digest: bool,
    /// Templates before the input
    #[arg(long, hide = true, default_value_t = 0)]
    first_template: u64,
    /// Say when all is loaded, and wait for a line
    #[arg(long, hide = true)]
    wait: bool,
}

fn work(given: Option<&PathBuf>) -> PathBuf {
    given.cloned().unwrap_or_else(|| std::env::temp_dir().join("seqloom-lab-schedule"))
}

/// This program as one run.
fn again() -> Vec<String> {
    ["/proc/self/exe", RUN].map(str::to_owned).to_vec()
}

/// Runs the experiment and writes its report.
pub(super) fn run(
    arguments: &ScheduleArguments,
    console: &Console,
) -> seqloom_terminal::Result<()> {
    if let Some(folder) = &arguments.again {
        return Ok(schedule::RESULTS.write_again(folder)?);
    }
    let engines = engines(arguments)?;
    let mut facts = vec![Fact::new("machine", format!("{} cores", machine::available_cores()))];
    let asked =
        if arguments.schedules.is_empty() { &Schedule::ALL } else { &arguments.schedules[..] };
    let mut schedules = asked.to_vec();
    if let Err(error) = placement::permitted() {
        schedules.retain(|schedule| !schedule.is_placed());
        let text = format!("the kernel refuses to place memory ({error}): no pinned farms");
        facts.push(Fact::new("left out", text));
    }
    let input = if arguments.input.is_empty() {
        Input::Made { reads: arguments.reads.max(2), is_paired: arguments.paired }
    } else {
        Input::Files(arguments.input.clone())
    };
    let experiment = Schedules {
        run: again(),
        work: work(arguments.work.as_ref()),
        input,
        reference: arguments.reference.clone(),
        schedules,
        engines,
        threads: arguments.threads.clone(),
        repeats: arguments.repeats,
        deadline: arguments.budget_minutes.map(super::deadline),
    };
    let Outcome { table, counted, no_counters } = experiment.run(&mut |what| console.info(what))?;
    facts.extend(no_counters.map(|why| Fact::new(NO_COUNTERS, why)));
    let repeats = arguments.repeats;
    let (reads, words) = if arguments.input.is_empty() {
        let kind = if arguments.paired { "pairs" } else { "single" };
        let n = arguments.reads;
        (format!("{n} of 100 bases, {kind}"), format!("--reads {n}"))
    } else {
        let files: Vec<_> = arguments.input.iter().map(|it| it.display().to_string()).collect();
        let of = files.join(" and ");
        (
            format!("of {of}"),
            files.iter().map(|it| format!("--input {it}")).collect::<Vec<_>>().join(" "),
        )
    };
    let again = format!(
        "`make lab && target/release/seqloom-lab schedule {words} --repeats {repeats} --out DIR`"
    );
    let more = [
        ("reads", format!("{reads}; {repeats} repeats")),
        ("program", format!("seqloom {}", env!("CARGO_PKG_VERSION"))),
        ("again", again),
    ];
    facts.extend(more.map(|(name, text)| Fact::new(name, text)));
    schedule::RESULTS.write(&table, &facts, &arguments.out)?;
    if !counted.rows.is_empty() {
        let path = arguments.out.join(COUNTED);
        fs::write(&path, counted.to_tsv()).map_err(LabError::file(&path))?;
    }
    console.info(&format!("report in {}", arguments.out.display()));
    Ok(())
}

/// The engines that are requested, if they can run on these reads.
fn engines(arguments: &ScheduleArguments) -> Result<Vec<String>, UsageError> {
    let engines = names(&arguments.engines);
    for engine in &engines {
        let subject: Subject =
            engine.parse().map_err(|why| UsageError(format!("--engines: {why}")))?;
        if subject.aligns() && (arguments.reference.is_none() || arguments.input.is_empty()) {
            let text =
                format!("--engines: {engine} needs an index and reads: --reference, --input");
            return Err(UsageError(text));
        }
        if subject == Subject::Bwa && arguments.input.len() == 2 {
            let why = "--engines: bwa takes single reads here; `seqloom-lab schedule-run` takes \
                       pairs and their insert sizes";
            return Err(UsageError(why.to_owned()));
        }
    }
    Ok(engines)
}

/// Names of engines, of words between commas: options of an engine have commas between them, too.
fn names(words: &[String]) -> Vec<String> {
    let mut engines: Vec<String> = Vec::new();
    for word in words {
        let is_option = word.contains('=') && !word.contains(':');
        match engines.last_mut().filter(|engine| is_option && engine.contains(':')) {
            Some(engine) => *engine += &format!(",{word}"),
            None => engines.push(word.clone()),
        }
    }
    engines
}

/// Reads that are made for a run.
fn reads(arguments: &RunArguments) -> Result<u64, UsageError> {
    let threads = arguments.threads.get() as u64;
    let of_threads = || arguments.reads_per_thread.checked_mul(threads);
    let too_many = || UsageError("--reads-per-thread: too many reads for all threads".to_owned());
    arguments.reads.or_else(of_threads).ok_or_else(too_many)
}

/// Is one run of one schedule, and says what it took.
pub(super) fn run_one(arguments: &RunArguments) -> seqloom_terminal::Result<()> {
    let work = work(arguments.work.as_ref());
    let given = arguments.output.clone();
    let output = given.unwrap_or_else(|| work.join(format!("output-{}", std::process::id())));
    // What cannot be run is refused before reads are made.
    let mut configuration = configuration(arguments, output)?;
    let reads = reads(arguments)?;
    if configuration.inputs.is_empty() {
        configuration.inputs = schedule::made(&work, reads.max(2), arguments.paired)?;
    }
    let begin = || if arguments.wait { wait_for_a_line() } else { Ok(()) };
    let done = schedule::run_one(&configuration, &begin);
    if arguments.output.is_none() && configuration.output.exists() {
        std::fs::remove_dir_all(&configuration.output).map_err(SystemError::new)?;
    }
    Ok(print_counters(&done?)?)
}

/// What of an option would come to nothing with these others.
fn unused(arguments: &RunArguments, subject: &Subject) -> Option<&'static str> {
    let is_pipeline = arguments.schedule == Schedule::Pipeline;
    let is_bwa = matches!(subject, Subject::Bwa);
    let cases = [
        (
            arguments.chunk_bases.is_some() && !is_pipeline,
            "--chunk-bases is for the schedule pipeline",
        ),
        (arguments.insert_size.is_some() && !is_bwa, "--insert-size is for the engine bwa"),
        (
            arguments.lock.is_some() && arguments.strategy == Strategy::Ordered,
            "--lock is for the strategies locked and striped: nobody waits for it in order",
        ),
    ];
    cases.into_iter().find_map(|(is_unused, why)| is_unused.then_some(why))
}

/// The run, without reads where they have to be made.
fn configuration(arguments: &RunArguments, output: PathBuf) -> Result<Configuration, UsageError> {
    let subject = subject(arguments)?;
    if let Some(why) = unused(arguments, &subject) {
        return Err(UsageError(why.to_owned()));
    }
    let lock = kinds(arguments.lock.as_slice())?;
    Ok(Configuration {
        schedule: arguments.schedule,
        subject,
        reference: arguments.reference.clone(),
        insert_size: arguments.insert_size,
        threads: arguments.threads,
        inputs: arguments.input.clone(),
        first_template: arguments.first_template,
        chunk_bases: arguments.chunk_bases.unwrap_or(CHUNK_BASES),
        strategy: arguments.strategy,
        lock: lock.and_then(|kinds| kinds.first().copied()).unwrap_or(Kind::Standard),
        output,
        digest: arguments.digest,
        again: again_with(arguments),
    })
}

fn subject(arguments: &RunArguments) -> Result<Subject, UsageError> {
    let subject: Subject =
        arguments.engine.parse().map_err(|why| UsageError(format!("--engine: {why}")))?;
    if arguments.us_per_read.is_none() && !arguments.sleep {
        return Ok(subject);
    }
    let time = arguments.us_per_read.map(|us| Duration::try_from_secs_f64(us / 1e6)).transpose();
    let time = time.map_err(|error| UsageError(format!("--us-per-read: {error}")))?;
    let refuse = "--us-per-read and --sleep are for engines that do not align";
    subject.taking(time, arguments.sleep).ok_or_else(|| UsageError(refuse.to_owned()))
}

/// This program as a run with the same engine, for processes.
fn again_with(arguments: &RunArguments) -> Vec<String> {
    let mut words = again();
    let mut add = |name: &str, value: Option<String>| {
        words.extend(value.into_iter().flat_map(|value| [name.to_owned(), value]));
    };
    add("--engine", Some(arguments.engine.clone()));
    add("--us-per-read", arguments.us_per_read.map(|us| us.to_string()));
    add("--reference", arguments.reference.as_ref().map(|path| path.display().to_string()));
    let insert_size = |size: InsertSize| {
        format!("{},{},{},{}", size.mean_bp, size.deviation_bp, size.max_bp, size.min_bp)
    };
    add("--insert-size", arguments.insert_size.map(insert_size));
    if arguments.sleep {
        words.push("--sleep".to_owned());
    }
    words
}

/// Says that all is loaded, and waits until it may begin.
fn wait_for_a_line() -> Result<(), LabError> {
    print(&format!("{READY}\n"))?;
    let heard = std::io::stdin().lock().read_line(&mut String::new());
    match heard {
        Ok(bytes) if bytes > 0 => Ok(()),
        Ok(_) => Err(LabError::Prepare("nobody says that it may begin".to_owned())),
        Err(error) => Err(LabError::Prepare(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_an_engine_may_have_commas() {
        fn t(text: &str, expected: &[&str]) {
            let words: Vec<String> = text.split(',').map(str::to_owned).collect();
            assert_eq!(names(&words), expected, "{text}");
        }
        t("null,fake:spin=5us", &["null", "fake:spin=5us"]);
        t("fake:spin=5us,stall=3us,bowtie", &["fake:spin=5us,stall=3us", "bowtie"]);
        t("fake:spin=5us,fake:sleep=1us", &["fake:spin=5us", "fake:sleep=1us"]);
        t("null,spin=5us", &["null", "spin=5us"]);
        t("fake:spin=5us,colour=3", &["fake:spin=5us,colour=3"]);
    }
}
