//! `seqloom-lab paper`: the figures and tables of a paper, measured here, on one page.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use seqloom_report::page::Page;

use crate::campaign::measured::Measured;
use crate::output::{Results, read_facts, read_table};
use crate::paper::catalogue::{self, MINUTES, PAPERS, Paper, State};
use crate::paper::gamaarachchi::{self, CALLING, READING};
use crate::paper::{Recorded, costanza, langmead, lenis, misale};
use crate::predict::published::Published;
use crate::prep_memory;
use crate::schedule::{self, Schedule};
use crate::signal_io;
use crate::{methylation, parsing};
use seqloom_runtime::machine;

use seqloom_runtime::pool::Interrupted;
use seqloom_terminal::{Console, UsageError, print, signals};

use super::methylation::MethylationArguments;
use super::parsing::ParsingArguments;
use super::prep_memory::PrepMemoryArguments;
use super::run::RunArguments;
use super::schedule::ScheduleArguments;
use super::signal_io::SignalIoArguments;

/// Arguments of `seqloom-lab paper`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    seqloom-lab paper --list\n  \
    seqloom-lab paper langmead2018 --published bowtie-scaling --figure 3\n  \
    seqloom-lab paper gamaarachchi2020 --source fast5_files/ --bam reads.bam --reference ref.fa\n  \
    seqloom-lab paper lenis2017\n  \
    seqloom-lab paper misale2014 --reads reads.fq --reference index\n  \
    seqloom-lab paper costanza2019 --bam grouped.bam --reference ref.dict\n  \
    seqloom-lab paper gamaarachchi2020 --measured lab/runs\n\n\
    What was measured stays in DIR: the same command resumes it.")]
pub(crate) struct PaperArguments {
    /// langmead2018, gamaarachchi2020, costanza2019, lenis2017 or misale2014
    #[arg(value_name = "NAME", required_unless_present = "list")]
    paper: Option<String>,
    /// This figure alone, with those that are shown together with it
    #[arg(long, value_name = "N", conflicts_with = "table")]
    figure: Option<String>,
    /// This table alone
    #[arg(long, value_name = "N")]
    table: Option<String>,
    /// Print the figures and tables: command, needs, time, whether they are measured, and why not
    #[arg(long)]
    list: bool,
    /// Where runs and the page go [default: out/lab/NAME]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Measure nothing: show the runs that this folder has
    #[arg(long, value_name = "DIR")]
    measured: Option<PathBuf>,
    /// Folder of published curves, with the table of peaks in it or next to it
    #[arg(long, value_name = "DIR")]
    published: Option<PathBuf>,
    /// Folder of single-read FAST5 files, each read once
    #[arg(long, value_name = "DIR")]
    source: Option<PathBuf>,
    /// Their alignments, sorted by coordinate, with the bases of the reads; for costanza2019 any
    /// alignments, grouped by name
    #[arg(long, value_name = "FILE")]
    bam: Option<PathBuf>,
    /// Their reference; for costanza2019 a .dict or BAM with the sequences of the new header, for
    /// --reads an index of their genome, as `align` takes it
    #[arg(long, value_name = "FASTA")]
    reference: Option<PathBuf>,
    /// Reads for misale2014, and for the locks of langmead2018 with an engine that aligns: a file
    /// of plain FASTQ, or two of mates
    #[arg(long, value_name = "FASTQ")]
    reads: Vec<PathBuf>,
    /// seqloom, built with --features system-allocator, for the allocators of costanza2019
    #[arg(long, value_name = "PROGRAM")]
    plain: Option<PathBuf>,
    /// Time after which nothing more is begun; what is missing then is not on the page
    #[arg(long, value_name = "N", default_value_t = MINUTES,
          value_parser = clap::value_parser!(u64).range(1..=100_000))]
    budget_minutes: u64,
    /// Tiny: shows that everything works, measures nothing
    #[arg(long)]
    smoke: bool,
}

/// Lists, or measures what is missing and writes the page.
pub(super) fn run(arguments: &PaperArguments, console: &Console) -> seqloom_terminal::Result<()> {
    let Some(name) = &arguments.paper else {
        return Ok(print(&catalogue::list(&PAPERS.iter().collect::<Vec<_>>()))?);
    };
    let paper = catalogue::by_name(name).ok_or_else(|| {
        let names = PAPERS.map(|paper| paper.name).join(", ");
        UsageError(format!("there is no paper {name}: {names}"))
    })?;
    if arguments.list {
        return Ok(print(&catalogue::list(&[paper]))?);
    }
    let label = wanted(arguments, paper)?;
    let is_wanted = |other: &str| label.as_ref().is_none_or(|label| label == other);
    let out = arguments.out.clone().unwrap_or_else(|| Path::new("out/lab").join(paper.name));
    let (page, ended) = match paper.name {
        "langmead2018" => langmead(arguments, (paper, &is_wanted), &out, console)?,
        "gamaarachchi2020" => {
            (gamaarachchi(arguments, (paper, &is_wanted), &out, console)?, Ok(()))
        }
        "costanza2019" => (costanza(arguments, paper, &out, console)?, Ok(())),
        "lenis2017" => lenis(arguments, paper, &out, console)?,
        _ => (misale(arguments, (paper, &is_wanted), &out, console)?, Ok(())),
    };
    let write = |name: String, text: String| {
        let path = out.join(name);
        fs::create_dir_all(&out)
            .and_then(|()| fs::write(&path, text))
            .map_err(crate::experiment::LabError::file(&path))
            .map(|()| path)
    };
    let numbers = format!("{:#}\n", page.to_json());
    write(format!("{}.json", paper.name), numbers)?;
    let path = write(format!("{}.html", paper.name), page.to_html())?;
    console.info(&format!("page in {}", path.display()));
    ended
}

/// The label that is requested, if any.
fn wanted(arguments: &PaperArguments, paper: &Paper) -> Result<Option<String>, UsageError> {
    let label = match (&arguments.figure, &arguments.table) {
        (Some(number), _) => format!("Figure {number}"),
        (None, Some(number)) => format!("Table {number}"),
        (None, None) => return Ok(None),
    };
    let labels = || paper.items.iter().map(|item| item.label).collect::<Vec<_>>().join(", ");
    match paper.item(&label) {
        None => Err(UsageError(format!("there is no {label}; there are {}", labels()))),
        Some(item) if item.state == State::No => {
            Err(UsageError(format!("{label} is not measured here: {}", item.why)))
        }
        Some(_) => Ok(Some(label)),
    }
}

/// A campaign's measurements, and how its runs ended: what failed is not among them.
fn campaign(
    arguments: &PaperArguments,
    name: &str,
    out: &Path,
    console: &Console,
) -> seqloom_terminal::Result<(Option<Measured>, seqloom_terminal::Result<()>)> {
    let folder = arguments.measured.as_deref().unwrap_or(out).join(name);
    let mut ended = Ok(());
    if arguments.measured.is_none() {
        let run = RunArguments {
            experiment: name.to_owned(),
            out: Some(folder.clone()),
            work: None,
            repeats: None,
            threads: Vec::new(),
            set: Vec::new(),
            smoke: arguments.smoke,
            no_counters: true,
            budget_minutes: Some(arguments.budget_minutes),
            resume: true,
            dry_run: false,
        };
        ended = super::run::run(&run, console);
        if signals::interrupted() || !folder.is_dir() {
            return Err(ended.err().unwrap_or_else(|| Interrupted.into()));
        }
    }
    Ok((Measured::read(&folder)?, ended))
}

/// The page, and how the runs for it ended.
fn langmead(
    arguments: &PaperArguments,
    (paper, is_wanted): (&Paper, &dyn Fn(&str) -> bool),
    out: &Path,
    console: &Console,
) -> seqloom_terminal::Result<(Page, seqloom_terminal::Result<()>)> {
    let published = arguments.published.as_deref().map(Published::read).transpose()?;
    let (measured, ended) = campaign(arguments, "langmead", out, console)?;
    let (has_reads, name) = (!arguments.reads.is_empty(), "parsing");
    let parsing = if arguments.measured.is_some() {
        recorded(&arguments.measured.as_deref().unwrap_or(out).join(name), &parsing::RESULTS)?
    } else if has_reads && (is_wanted("Figure 3") || is_wanted("Figure 4")) {
        let measure = |folder| super::parsing::run(&parsings(arguments, folder)?, console);
        Some(runs(arguments, out, (name, &parsing::RESULTS), measure)?)
    } else {
        None
    };
    let sources = langmead::Sources {
        published: published.as_ref(),
        measured: measured.as_ref(),
        parsing: parsing.as_ref(),
    };
    Ok((sources.page(paper, is_wanted), ended))
}

fn lenis(
    arguments: &PaperArguments,
    paper: &Paper,
    out: &Path,
    console: &Console,
) -> seqloom_terminal::Result<(Page, seqloom_terminal::Result<()>)> {
    let (measured, ended) = campaign(arguments, "numa", out, console)?;
    Ok((lenis::page(paper, measured.as_ref()), ended))
}

/// The runs of an experiment in a folder of its name: made by `measure` where they are not there,
/// unless nothing is to be measured.
fn runs(
    arguments: &PaperArguments,
    out: &Path,
    (name, results): (&str, &Results),
    measure: impl FnOnce(PathBuf) -> seqloom_terminal::Result<()>,
) -> seqloom_terminal::Result<Recorded> {
    let folder = arguments.measured.as_deref().unwrap_or(out).join(name);
    if arguments.measured.is_none() && !folder.join(results.table).is_file() {
        measure(folder.clone())?;
    }
    let nothing = || UsageError(format!("{} has no runs of {name}", folder.display()));
    Ok(recorded(&folder, results)?.ok_or_else(nothing)?)
}

fn costanza(
    arguments: &PaperArguments,
    paper: &Paper,
    out: &Path,
    console: &Console,
) -> seqloom_terminal::Result<Page> {
    let name = "prep-memory";
    let measure = |folder| super::prep_memory::run(&preparation(arguments, folder)?, console);
    let runs = runs(arguments, out, (name, &prep_memory::RESULTS), measure)?;
    let folder = arguments.measured.as_deref().unwrap_or(out).join(name);
    let mut curves = prep_memory::empty_curves();
    let has_curves = folder.join(prep_memory::CURVES).is_file();
    if has_curves {
        read_table(&folder, prep_memory::CURVES, &mut curves)?;
    }
    Ok(costanza::page(paper, &runs, has_curves.then_some(&curves)))
}

fn misale(
    arguments: &PaperArguments,
    (paper, is_wanted): (&Paper, &dyn Fn(&str) -> bool),
    out: &Path,
    console: &Console,
) -> seqloom_terminal::Result<Page> {
    let measure = |folder| super::schedule::run(&schedules(arguments, folder)?, console);
    let runs = runs(arguments, out, ("schedule", &schedule::RESULTS), measure)?;
    Ok(misale::page(paper, &runs, is_wanted))
}

fn gamaarachchi(
    arguments: &PaperArguments,
    (paper, is_wanted): (&Paper, &dyn Fn(&str) -> bool),
    out: &Path,
    console: &Console,
) -> seqloom_terminal::Result<Page> {
    let folder = arguments.measured.as_deref().unwrap_or(out);
    let began = Instant::now();
    let budget = Duration::from_secs(60 * arguments.budget_minutes);
    let measures = |name: &str, labels: &[&str], results: &Results| {
        arguments.measured.is_none()
            && labels.iter().any(|label| is_wanted(label))
            && !folder.join(name).join(results.table).is_file()
            && began.elapsed() < budget
    };
    if measures("methylation", &CALLING, &methylation::RESULTS) {
        super::methylation::run(&calling(arguments, folder.join("methylation"))?, console)?;
    }
    if measures("signal-io", &READING, &signal_io::RESULTS) {
        super::signal_io::run(&reading(arguments, folder.join("signal-io"))?, console)?;
    }
    let sources = gamaarachchi::Sources {
        calling: recorded(&folder.join("methylation"), &methylation::RESULTS)?,
        reading: recorded(&folder.join("signal-io"), &signal_io::RESULTS)?,
    };
    if sources.calling.is_none() && sources.reading.is_none() {
        let text = format!("{} has no runs of methylation and signal-io", folder.display());
        return Err(UsageError(text).into());
    }
    Ok(sources.page(paper, is_wanted))
}

/// A table with its facts, where a folder has it.
fn recorded(folder: &Path, results: &Results) -> seqloom_terminal::Result<Option<Recorded>> {
    if !folder.join(results.table).is_file() {
        return Ok(None);
    }
    let mut table = results.empty_table();
    read_table(folder, results.table, &mut table)?;
    Ok(Some(Recorded { table, facts: read_facts(folder)? }))
}

/// What a smoke run takes of workers and storages.
const FEW_WORKERS: [u32; 2] = [1, 2];
const WORKERS: [u32; 6] = [1, 2, 4, 8, 16, 32];

fn few<T: Clone>(arguments: &PaperArguments, all: &[T], few: &[T]) -> Vec<T> {
    if arguments.smoke { few.to_vec() } else { all.to_vec() }
}

fn required(file: Option<&PathBuf>, name: &str) -> Result<PathBuf, UsageError> {
    file.cloned().ok_or_else(|| {
        UsageError(format!("{name} is required, or --measured DIR with runs that are there"))
    })
}

fn calling(arguments: &PaperArguments, out: PathBuf) -> Result<MethylationArguments, UsageError> {
    Ok(MethylationArguments {
        source: Some(required(arguments.source.as_ref(), "--source")?),
        bam: Some(required(arguments.bam.as_ref(), "--bam")?),
        reference: Some(required(arguments.reference.as_ref(), "--reference")?),
        again: None,
        work: Some(out.join("work")),
        out,
        workers: few(arguments, &WORKERS, &FEW_WORKERS),
        batch: 32,
        ways: Vec::new(),
        storages: few(arguments, &[], &["raid".to_owned()]),
        repeats: 1,
    })
}

fn reading(arguments: &PaperArguments, out: PathBuf) -> Result<SignalIoArguments, UsageError> {
    Ok(SignalIoArguments {
        source: Some(required(arguments.source.as_ref(), "--source")?),
        again: None,
        work: Some(out.join("work")),
        out,
        copies: if arguments.smoke { 1 } else { 2 },
        workers: few(arguments, &WORKERS, &FEW_WORKERS),
        ways: few(arguments, &[], &["fast5-own".to_owned(), "blow5".to_owned()]),
        storages: few(arguments, &[], &["raid".to_owned()]),
        repeats: if arguments.smoke { 1 } else { 2 },
        blue_crab: None,
    })
}

/// Runs of each way: those of the paper.
const PREPARATIONS: u32 = 30;

fn preparation(
    arguments: &PaperArguments,
    out: PathBuf,
) -> Result<PrepMemoryArguments, UsageError> {
    Ok(PrepMemoryArguments {
        input: required(arguments.bam.as_ref(), "--bam")?,
        reference_dict: required(arguments.reference.as_ref(), "--reference")?,
        plain: arguments.plain.clone(),
        work: Some(out.join("work")),
        out,
        threads: machine::available_cores(),
        memory: None,
        repeats: if arguments.smoke { 2 } else { PREPARATIONS },
        tool_repeats: None,
        ways: few(arguments, &[], &[prep_memory::SHIPPED.to_owned()]),
        budget_minutes: Some(arguments.budget_minutes),
        remark: None,
    })
}

/// One thread, and twice as many up to all cores.
fn threads() -> Vec<u32> {
    let cores = machine::available_cores().get() as u32;
    let mut threads: Vec<u32> = (0..).map(|power| 1 << power).take_while(|n| n < &cores).collect();
    threads.push(cores);
    threads
}

/// The paper's locks in our words.
const LOCKS: [&str; 4] = ["tinythread", "tbb-spin", "standard", "mcs"];

fn parsings(arguments: &PaperArguments, out: PathBuf) -> Result<ParsingArguments, UsageError> {
    let names = |locks: &[&str]| locks.iter().map(|&lock| lock.to_owned()).collect::<Vec<_>>();
    Ok(ParsingArguments {
        again: None,
        work: Some(out.join("work")),
        out,
        reads: 0,
        input: arguments.reads.clone(),
        reference: Some(required(arguments.reference.as_ref(), "--reference")?),
        units: vec![12_288],
        locks: few(arguments, &names(&LOCKS), &names(&LOCKS[2..3])),
        threads: few(arguments, &threads(), &FEW_WORKERS),
        repeats: if arguments.smoke { 1 } else { 3 },
        budget_minutes: Some(arguments.budget_minutes),
    })
}

fn schedules(arguments: &PaperArguments, out: PathBuf) -> Result<ScheduleArguments, UsageError> {
    Ok(ScheduleArguments {
        again: None,
        work: Some(out.join("work")),
        out,
        reads: 0,
        paired: false,
        input: match arguments.reads.first() {
            Some(_) => arguments.reads.clone(),
            None => vec![required(None, "--reads")?],
        },
        reference: Some(required(arguments.reference.as_ref(), "--reference")?),
        threads: few(arguments, &threads(), &FEW_WORKERS),
        engines: vec!["end-to-end".to_owned()],
        schedules: few(arguments, &[], &[Schedule::Pull, Schedule::Farm]),
        repeats: if arguments.smoke { 1 } else { 5 },
        budget_minutes: Some(arguments.budget_minutes),
    })
}
