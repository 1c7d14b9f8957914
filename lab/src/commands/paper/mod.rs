//! `seqloom-lab paper`: the figures and tables of a paper, measured here, on one page.

mod experiments;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use seqloom_report::page::Page;

use crate::campaign::measured::Measured;
use crate::experiment::LabError;
use crate::output::{Results, read_facts, read_table};
use crate::paper::catalogue::{self, MINUTES, PAPERS, Paper};
use crate::paper::gamaarachchi::{self, CALLING, READING};
use crate::paper::{Recorded, costanza, langmead, lenis, misale};
use crate::predict::published::Published;
use crate::prep_memory::JavaOptions;
use crate::{methylation, parsing, prep_memory, schedule, signal_io};

use seqloom_runtime::pool::Interrupted;
use seqloom_terminal::{Console, UsageError, print, signals};

use super::run::RunArguments;

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
    /// Locks of the input for langmead2018, of which Figure 1 has the first
    #[arg(
        long,
        value_name = "LOCK,...",
        value_delimiter = ',',
        default_value = "tinythread,tbb-spin,standard,mcs"
    )]
    locks: Vec<String>,
    /// seqloom, built with --features system-allocator, for the allocators of costanza2019
    #[arg(long, value_name = "PROGRAM")]
    plain: Option<PathBuf>,
    /// Levels of GOGC for elPrep, for costanza2019
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    gogc: Vec<String>,
    /// Options of Java for Picard, for costanza2019, in place of -Xmx4g, under a name; may be given
    /// several times
    #[arg(long, value_name = "NAME=OPTIONS")]
    java: Vec<JavaOptions>,
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
    let out = arguments.out.clone().unwrap_or_else(|| Path::new("out/lab").join(paper.name));
    let label = wanted(arguments, paper)?;
    let making = Making { arguments, paper, label, out, console, began: Instant::now() };
    let (page, ended) = match paper.name {
        "langmead2018" => making.langmead()?,
        "gamaarachchi2020" => (making.gamaarachchi()?, Ok(())),
        "costanza2019" => (making.costanza()?, Ok(())),
        "lenis2017" => making.lenis()?,
        _ => (making.misale()?, Ok(())),
    };
    let out = &making.out;
    let write = |name: String, text: String| {
        let path = out.join(name);
        fs::create_dir_all(out)
            .and_then(|()| fs::write(&path, text))
            .map_err(LabError::file(&path))
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
        Some(_) => Ok(Some(label)),
    }
}

/// How runs ended: what failed is not among the measurements.
type Outcome = seqloom_terminal::Result<()>;

/// A page that is made.
struct Making<'a> {
    arguments: &'a PaperArguments,
    paper: &'static Paper,
    /// What alone is requested.
    label: Option<String>,
    out: PathBuf,
    console: &'a Console,
    began: Instant,
}

impl Making<'_> {
    fn is_wanted(&self, label: &str) -> bool {
        self.label.as_ref().is_none_or(|wanted| wanted == label)
    }

    fn is_any_wanted(&self, labels: &[&str]) -> bool {
        labels.iter().any(|label| self.is_wanted(label))
    }

    /// Minutes that are left of the page's time, rounded up; none where it is over.
    fn minutes_left(&self) -> Option<u64> {
        let budget = Duration::from_secs(60 * self.arguments.budget_minutes);
        let left = budget.checked_sub(self.began.elapsed()).filter(|left| !left.is_zero())?;
        Some(left.as_secs().div_ceil(60).max(1))
    }

    /// The folder of an experiment's runs.
    fn folder(&self, name: &str) -> PathBuf {
        self.arguments.measured.as_deref().unwrap_or(&self.out).join(name)
    }

    /// A campaign's measurements, and how its runs ended.
    fn campaign(&self, name: &str) -> seqloom_terminal::Result<(Option<Measured>, Outcome)> {
        let (folder, mut ended) = (self.folder(name), Ok(()));
        if let (None, Some(minutes)) = (&self.arguments.measured, self.minutes_left()) {
            let run = RunArguments {
                experiment: name.to_owned(),
                out: Some(folder.clone()),
                work: None,
                repeats: None,
                threads: Vec::new(),
                set: Vec::new(),
                smoke: self.arguments.smoke,
                no_counters: true,
                budget_minutes: Some(minutes),
                resume: true,
                dry_run: false,
            };
            ended = super::run::run(&run, self.console);
            if signals::interrupted() || !folder.is_dir() {
                return Err(ended.err().unwrap_or_else(|| Interrupted.into()));
            }
        }
        Ok((Measured::read(&folder)?, ended))
    }

    /// The runs of an experiment in a folder of its name: made by `measure` in the minutes that
    /// are left, where they are not there, unless nothing is to be measured.
    fn runs(
        &self,
        (name, results): (&str, &Results),
        measure: impl FnOnce(PathBuf, u64) -> Outcome,
    ) -> seqloom_terminal::Result<Option<Recorded>> {
        let folder = self.folder(name);
        if self.arguments.measured.is_none()
            && !folder.join(results.table).is_file()
            && let Some(minutes) = self.minutes_left()
        {
            measure(folder.clone(), minutes)?;
        }
        recorded(&folder, results)
    }

    /// The same, where there must be runs.
    fn required_runs(
        &self,
        of: (&str, &Results),
        measure: impl FnOnce(PathBuf, u64) -> Outcome,
    ) -> seqloom_terminal::Result<Recorded> {
        let nothing =
            || UsageError(format!("{} has no runs of {}", self.folder(of.0).display(), of.0));
        Ok(self.runs(of, measure)?.ok_or_else(nothing)?)
    }

    /// The page, and how the runs for it ended.
    fn langmead(&self) -> seqloom_terminal::Result<(Page, Outcome)> {
        let Self { arguments, console, .. } = *self;
        let published = arguments.published.as_deref().map(Published::read).transpose()?;
        let timeline = if self.is_wanted(langmead::TIME_LINE) && self.aligns(langmead::TIME_LINE) {
            let measure = |folder: PathBuf, minutes| self.timeline(&folder, minutes);
            self.runs(("timeline", &parsing::TIMELINE), measure)?
        } else {
            None
        };
        let mut threads = parsing::empty_threads();
        if timeline.is_some() {
            read_table(&self.folder("timeline"), parsing::THREADS, &mut threads)?;
        }
        let parsing = if self.is_any_wanted(&langmead::READING) && self.aligns("") {
            let measure =
                |folder, minutes| super::parsing::run(&self.parsings(folder, minutes)?, console);
            self.runs(("parsing", &parsing::RESULTS), measure)?
        } else {
            None
        };
        let is_alone = self.label.as_deref() == Some(langmead::TIME_LINE);
        let (measured, ended) = if is_alone { (None, Ok(())) } else { self.campaign("langmead")? };
        let (compressed, ended_too) = match self.label {
            None => self.campaign("compressed-output")?,
            Some(_) => (None, Ok(())),
        };
        let sources = langmead::Sources {
            published: published.as_ref(),
            measured: measured.as_ref(),
            compressed: compressed.as_ref(),
            parsing: parsing.as_ref(),
            timeline: timeline.as_ref().map(|counts| (counts, &threads)),
        };
        Ok((sources.page(self.paper, &|label| self.is_wanted(label)), ended.and(ended_too)))
    }

    /// Whether there is something to align, or runs of it; where the label `alone` is requested,
    /// there has to be.
    fn aligns(&self, alone: &str) -> bool {
        let has_reads = !self.arguments.reads.is_empty();
        has_reads || self.arguments.measured.is_some() || self.label.as_deref() == Some(alone)
    }

    /// Traces the ways to read, with the first of the locks.
    fn timeline(&self, folder: &Path, minutes: u64) -> Outcome {
        let arguments = self.parsings(folder.to_owned(), minutes)?;
        super::parsing::trace(&arguments, self.console)
    }

    fn lenis(&self) -> seqloom_terminal::Result<(Page, Outcome)> {
        let (measured, ended) = self.campaign("numa")?;
        Ok((lenis::page(self.paper, measured.as_ref()), ended))
    }

    fn costanza(&self) -> seqloom_terminal::Result<Page> {
        let name = "prep-memory";
        let measure = |folder, minutes| {
            super::prep_memory::run(&self.preparation(folder, minutes)?, self.console)
        };
        let runs = self.required_runs((name, &prep_memory::RESULTS), measure)?;
        let folder = self.folder(name);
        let mut curves = prep_memory::empty_curves();
        let has_curves = folder.join(prep_memory::CURVES).is_file();
        if has_curves {
            read_table(&folder, prep_memory::CURVES, &mut curves)?;
        }
        Ok(costanza::page(self.paper, &runs, has_curves.then_some(&curves)))
    }

    fn misale(&self) -> seqloom_terminal::Result<Page> {
        let measure =
            |folder, minutes| super::schedule::run(&self.schedules(folder, minutes)?, self.console);
        let runs = self.required_runs(("schedule", &schedule::RESULTS), measure)?;
        let (folder, mut counted) = (self.folder("schedule"), schedule::empty_counted());
        if folder.join(schedule::COUNTED).is_file() {
            read_table(&folder, schedule::COUNTED, &mut counted)?;
        }
        Ok(misale::page(self.paper, &runs, &counted, &|label| self.is_wanted(label)))
    }

    fn gamaarachchi(&self) -> seqloom_terminal::Result<Page> {
        let (mut calling, mut reading) = (None, None);
        if self.is_any_wanted(&CALLING) {
            let measure = |folder, minutes| {
                super::methylation::run(&self.calling(folder, minutes)?, self.console)
            };
            calling = self.runs(("methylation", &methylation::RESULTS), measure)?;
        }
        if self.is_any_wanted(&READING) {
            let measure = |folder, minutes| {
                super::signal_io::run(&self.reading(folder, minutes)?, self.console)
            };
            reading = self.runs(("signal-io", &signal_io::RESULTS), measure)?;
        }
        if calling.is_none() && reading.is_none() {
            let folder = self.folder("");
            let text = format!("{} has no runs of methylation and signal-io", folder.display());
            return Err(UsageError(text).into());
        }
        let sources = gamaarachchi::Sources { calling, reading };
        Ok(sources.page(self.paper, &|label| self.is_wanted(label)))
    }
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
