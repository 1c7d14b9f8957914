//! What is kept of a campaign: a file of facts, and a line of JSON for each program that ran,
//! written when it has ended, so that a campaign that is ended early keeps what it has.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::host::Host;
use super::plan::{LeftOut, Purpose};
use super::told::Row;
use crate::experiment::LabError;

/// Version of these layouts; raised when a field changes its meaning or goes away.
pub(crate) const SCHEMA: u32 = 1;
/// The file of facts.
pub(crate) const FACTS: &str = "campaign.json";
/// The lines.
pub(crate) const RUNS: &str = "runs.jsonl";
/// The experiment, as its file states it.
pub(crate) const EXPERIMENT: &str = "experiment.toml";

/// Threads ready to run by usable cores, up to which a machine is quiet.
const QUIET_SHARE: f64 = 0.5;

/// Facts of a campaign.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Facts {
    /// [`SCHEMA`].
    pub(crate) schema: u32,
    /// Its name.
    pub(crate) experiment: String,
    /// Whether it was made small, to see that everything works: then nothing was measured.
    pub(crate) smoke: bool,
    /// What was set, by the command line or to make it small: name and words.
    pub(crate) settings: Vec<(String, Vec<String>)>,
    /// When it began, in UTC.
    pub(crate) began: String,
    /// When it ended; none when it was ended early.
    pub(crate) ended: Option<String>,
    /// The command line.
    pub(crate) command_line: Vec<String>,
    /// The machine.
    pub(crate) host: Host,
    /// By subject: what it says of its version.
    pub(crate) versions: BTreeMap<String, String>,
    /// Which counters of the kernel there are, in words.
    pub(crate) counters: String,
    /// Threads of others that were ready to run before the first run. Runs recorded earlier have
    /// the load average, in which the making of their own files counts.
    #[serde(alias = "load_average")]
    pub(crate) ready_threads: f64,
    /// Runs that were planned.
    pub(crate) planned_runs: usize,
    /// What is not run, and why.
    pub(crate) left_out: Vec<LeftOut>,
}

impl Facts {
    /// Whether others had more than half of the cores before the first run: then time on the clock
    /// says more of them than of what was run. A smoke run measures nothing anyway.
    pub(crate) fn is_busy(&self) -> bool {
        !self.smoke && self.ready_threads > QUIET_SHARE * self.host.usable_cores as f64
    }
}

/// A program that ran: one of the instances of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// Place of the run in the order of all.
    pub(crate) order: usize,
    /// From 1.
    pub(crate) repeat: u32,
    /// What the run was for.
    pub(crate) purpose: Purpose,
    /// Name of the subject.
    pub(crate) subject: String,
    /// A level for each factor, in the experiment's order.
    pub(crate) levels: Vec<String>,
    /// Which of the programs of the run, from 0.
    pub(crate) instance: u64,
    /// How many there were.
    pub(crate) instances: u64,
    /// Threads of the run.
    pub(crate) threads: u64,
    /// Reads that it was given.
    pub(crate) reads: u64,
    /// Why it failed, if it did.
    pub(crate) failure: Option<String>,
    /// From its start to its end.
    pub(crate) wall_s: f64,
    /// Time of processors.
    pub(crate) cpu_s: f64,
    /// Most resident memory, of its largest process. None where that is not above this program's
    /// own: what Linux keeps of a process begins with the memory of the one that started it.
    pub(crate) peak_rss_bytes: Option<u64>,
    /// Times a thread gave its core up.
    pub(crate) voluntary_switches: u64,
    /// Times a thread's core was taken away.
    pub(crate) involuntary_switches: u64,
    /// What it reported, and what `perf stat` did.
    pub(crate) told: BTreeMap<String, f64>,
    /// Rows of a table that it wrote.
    pub(crate) rows: Vec<Row>,
    /// Points of a curve that it wrote.
    pub(crate) curve: Vec<CurvePoint>,
}

/// A point of a curve: two numbers in the file of runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(from = "[f64; 2]", into = "[f64; 2]")]
pub(crate) struct CurvePoint {
    /// To the right.
    pub(crate) x: f64,
    /// The share within it.
    pub(crate) share: f64,
}

impl From<[f64; 2]> for CurvePoint {
    fn from([x, share]: [f64; 2]) -> Self {
        Self { x, share }
    }
}

impl From<CurvePoint> for [f64; 2] {
    fn from(at: CurvePoint) -> Self {
        [at.x, at.share]
    }
}

#[cfg(test)]
impl Record {
    /// A run of `subject` with these levels, on its own, of the first repeat.
    pub(super) fn example(subject: &str, levels: &[&str]) -> Self {
        Self {
            order: 0,
            repeat: 1,
            purpose: Purpose::Measured,
            subject: subject.to_owned(),
            levels: levels.iter().map(|level| (*level).to_owned()).collect(),
            instance: 0,
            instances: 1,
            threads: 2,
            reads: 0,
            failure: None,
            wall_s: 1.0,
            cpu_s: 1.0,
            peak_rss_bytes: None,
            voluntary_switches: 0,
            involuntary_switches: 0,
            told: BTreeMap::new(),
            rows: Vec::new(),
            curve: Vec::new(),
        }
    }
}

/// The file of lines, open.
#[derive(Debug)]
pub(super) struct Log(File);

impl Log {
    /// Begins anew, with lines of runs that were made before.
    pub(super) fn create(folder: &Path, lines: &str) -> Result<Self, LabError> {
        let path = folder.join(RUNS);
        let file = OpenOptions::new().create(true).write(true).truncate(true).open(&path);
        let with_lines = file.and_then(|mut file| file.write_all(lines.as_bytes()).map(|()| file));
        Ok(Self(with_lines.map_err(LabError::file(&path))?))
    }

    pub(super) fn add(&mut self, record: &Record) -> Result<(), LabError> {
        let line = serde_json::to_string(record).map_err(std::io::Error::from);
        let written = line.and_then(|line| self.0.write_all((line + "\n").as_bytes()));
        written.map_err(LabError::file(Path::new(RUNS)))
    }
}

/// Writes the facts.
pub(super) fn write_facts(folder: &Path, facts: &Facts) -> Result<(), LabError> {
    let path = folder.join(FACTS);
    let text = serde_json::to_string_pretty(facts).map_err(std::io::Error::from);
    let written = text.and_then(|text| std::fs::write(&path, text + "\n"));
    written.map_err(LabError::file(&path))
}

/// Reads what is kept of a campaign: its experiment's text, facts, and records.
///
/// # Errors
/// A file cannot be read, or is of another form.
pub(super) fn read(folder: &Path) -> Result<(String, Facts, Vec<Record>), LabError> {
    let text = |name: &str| {
        let path = folder.join(name);
        std::fs::read_to_string(&path).map_err(LabError::file(&path))
    };
    let bad = |name: &str, line: usize, error: serde_json::Error| {
        LabError::Prepare(format!("{}, line {line}: {error}", folder.join(name).display()))
    };
    let facts: Facts =
        serde_json::from_str(&text(FACTS)?).map_err(|error| bad(FACTS, error.line(), error))?;
    if facts.schema != SCHEMA {
        let what = format!("has layout {}, this program reads {SCHEMA}", facts.schema);
        return Err(LabError::Prepare(format!("{}: {what}", folder.join(FACTS).display())));
    }
    let runs = text(RUNS)?;
    // A line that was being written when the program was ended is none.
    let whole = runs.rfind('\n').map_or("", |end| &runs[..=end]);
    let record = |(at, line)| serde_json::from_str(line).map_err(|error| bad(RUNS, at + 1, error));
    let records = whole.lines().enumerate().map(record).collect::<Result<_, _>>()?;
    Ok((text(EXPERIMENT)?, facts, records))
}
