//! Methylation calling by the structures of Gamaarachchi 2020 (thesis, chapter on nanopore I/O,
//! figures 1.1, 1.5, 1.9 and 1.11: time, processors kept busy, core-hours, components) and by ours,
//! with one set of kernels: what differs is how signal is read and who waits for whom.

mod report;
mod structures;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use seqloom_signal::flow::inputs;
use seqloom_signal::store::{self, Cursor, DecodeScratch, FrameBatch, OpenOptions};

pub(crate) use structures::{Structure, StructureOptions, call};

use crate::experiment::{Counters, LabError, Run, TIMES, Work, chosen, output_of, perform};
use crate::latency::{
    self, FACTORS, LatencyLayer, Levels, chosen_storages, refuse_static, refuse_unserved, served_by,
};
use crate::output::Results;
use crate::table::Table;

/// Columns of the table after [`TIMES`]: reads that were called, requests to the modelled storage
/// and seconds spent waiting for them, and seconds by component. All seconds are sums over workers;
/// those of `signal_s` are opening, reading and decoding.
pub(crate) const COUNTERS: [&str; 10] = [
    "reads",
    "requests",
    "waited_s",
    "signal_s",
    "events_s",
    "abea_s",
    "scaling_s",
    "hmm_s",
    "format_s",
    "wait_s",
];

/// A structure and the format that it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Way {
    /// Its name in tables and on the command line.
    pub(crate) name: &'static str,
    /// Its words in the report.
    pub(crate) title: &'static str,
    /// Folder or file below that of the data.
    pub(crate) data: &'static str,
    /// A structure of the paper; none for `seqloom signal methylation` itself.
    pub(crate) structure: Option<Structure>,
    /// What `--fast5-engine` says.
    pub(crate) engine: &'static str,
}

/// All ways that are compared.
pub(crate) const WAYS: [Way; 4] = [
    Way {
        name: "one-at-a-time",
        title: "FAST5, reads under one lock",
        data: "single",
        structure: Some(Structure::OneAtATime),
        engine: "own",
    },
    Way {
        name: "batches",
        title: "FAST5, batches, processes read",
        data: "single",
        structure: Some(Structure::BatchesByProcesses),
        engine: "pool",
    },
    Way {
        name: "flow-fast5",
        title: "FAST5, our flow",
        data: "single",
        structure: None,
        engine: "own",
    },
    Way {
        name: "flow-blow5",
        title: "BLOW5, our flow",
        data: "reads.blow5",
        structure: None,
        engine: "own",
    },
];

/// What is run.
#[derive(Debug, Clone)]
pub(crate) struct Methylation {
    /// The product.
    pub(crate) seqloom: PathBuf,
    /// This program.
    pub(crate) program: PathBuf,
    /// The arguments that make this program one of the paper's structures.
    pub(crate) structure_arguments: Vec<String>,
    /// Folder of single-read FAST5 files.
    pub(crate) source: PathBuf,
    /// Their alignments, sorted by coordinate.
    pub(crate) bam: PathBuf,
    /// The reference.
    pub(crate) reference: PathBuf,
    /// Where data are made.
    pub(crate) work: PathBuf,
    /// Numbers of workers.
    pub(crate) workers: Vec<u32>,
    /// Reads of a batch.
    pub(crate) batch: u32,
    /// Names of ways, empty for all; of storages likewise.
    pub(crate) ways: Vec<String>,
    /// See `ways`.
    pub(crate) storages: Vec<String>,
    /// Repeats of each run; tables hold all, the report takes the fastest.
    pub(crate) repeats: u32,
}

impl latency::Way for Way {
    fn name(&self) -> &'static str {
        self.name
    }
}

impl Methylation {
    /// Makes the data and all runs; `progress` is called with what is done next.
    ///
    /// # Errors
    /// The data cannot be made, a run fails, or two ways call differently.
    pub(crate) fn run(&self, tell: &mut dyn FnMut(&str)) -> Result<Table, LabError> {
        refuse_static(&self.storages, &[&self.program, &self.seqloom])?;
        fs::create_dir_all(&self.work).map_err(LabError::file(&self.work))?;
        let work = self.work.canonicalize().map_err(LabError::file(&self.work))?;
        tell("data");
        self.prepare(&work)?;
        let layer = LatencyLayer::build(&work)?;
        let mut table = RESULTS.empty_table();
        let mut expected = None;
        for storage in chosen_storages(&self.storages) {
            for way in WAYS.iter().filter(|way| chosen(&self.ways, way.name)) {
                for &workers in &self.workers {
                    for _ in 0..self.repeats {
                        let levels = Levels { storage, way, workers };
                        tell(&levels.names().join(" "));
                        self.one(&layer, &levels, &work, &mut table)?;
                        check(&work, &mut expected, way)?;
                    }
                }
            }
        }
        Ok(table)
    }

    /// Copies the files, makes one BLOW5 file of them, and lists which file has which read.
    fn prepare(&self, work: &Path) -> Result<(), LabError> {
        let found = inputs::find(std::slice::from_ref(&self.source), &["fast5"]);
        let paths = found.map_err(|error| LabError::Prepare(error.to_string()))?.paths;
        let data = work.join("data");
        if data.exists() {
            fs::remove_dir_all(&data).map_err(LabError::file(&data))?;
        }
        let single = data.join("single");
        fs::create_dir_all(&single).map_err(LabError::file(&single))?;
        let mut index = String::new();
        for (number, path) in paths.iter().enumerate() {
            let to = single.join(format!("{number:05}.fast5"));
            fs::copy(path, &to).map_err(LabError::file(&to))?;
            index += &format!("{}\t{}\n", read_id(&to)?, to.display());
        }
        let path = work.join("index.tsv");
        fs::write(&path, index).map_err(LabError::file(&path))?;
        let blow5 = data.join("reads.blow5");
        self.program(&["signal", "convert", "--quiet", "--allow"], &[single.as_path()], &blow5)?;
        self.program(&["signal", "index", "--quiet"], &[blow5.as_path()], Path::new(""))
    }

    fn program(&self, words: &[&str], inputs: &[&Path], output: &Path) -> Result<(), LabError> {
        let mut command = Command::new(&self.seqloom);
        command.args(words).args(inputs);
        if output != Path::new("") {
            command.arg("-o").arg(output);
        }
        let failed = |_, said: &str| LabError::Prepare(format!("{}: {said}", words.join(" ")));
        output_of(&mut command, failed).map(|_| ())
    }

    fn one(
        &self,
        layer: &LatencyLayer,
        levels: &Levels<'_, Way>,
        work: &Path,
        table: &mut Table,
    ) -> Result<(), LabError> {
        let Levels { storage, way, workers } = *levels;
        let (state, json) = (work.join("state"), work.join("run.json"));
        let mut command = self.command(way, workers, work);
        layer.slow(&mut command, storage, &work.join("data"), &state)?;
        let is_flow = way.structure.is_none();
        let after = || -> Counters {
            let mut counters = if is_flow { told(&json) } else { Counters::new() };
            counters.extend(served_by(storage, &state));
            counters
        };
        let factors = levels.names();
        let work = Work::Program(Box::new(command));
        perform(&mut Run { factors, work, after: Box::new(after) }, table)?;
        refuse_unserved(storage, table)
    }

    fn command(&self, way: &Way, workers: u32, work: &Path) -> Command {
        let is_own = way.structure.is_some();
        let mut command = Command::new(if is_own { &self.program } else { &self.seqloom });
        if is_own {
            command.args(&self.structure_arguments).args(["--way", way.name]);
            command.arg("--index").arg(work.join("index.tsv"));
            command.args(["--batch", &self.batch.to_string()]);
        } else {
            command.args(["signal", "methylation", "--quiet"]);
            command.arg("--signal").arg(work.join("data").join(way.data));
            command.arg("--json").arg(work.join("run.json"));
        }
        command.arg("--bam").arg(&self.bam).arg("--reference").arg(&self.reference);
        command.args(["--threads", &workers.to_string()]).arg("-o").arg(work.join("calls.tsv"));
        command
    }
}

/// The read that a file of one has.
fn read_id(path: &Path) -> Result<String, LabError> {
    let bad =
        |error: &dyn std::fmt::Display| LabError::Prepare(format!("{}: {error}", path.display()));
    let store = store::open(path, &OpenOptions::default()).map_err(|error| bad(&error))?;
    let (mut cursor, mut batch) = (Cursor::default(), FrameBatch::default());
    store.next(&mut cursor, &mut batch).map_err(|error| bad(&error))?;
    let [frame] = &batch.frames[..] else { return Err(bad(&"is no file of one read")) };
    let mut id = Vec::new();
    let read = store.read_id(&mut DecodeScratch::default(), &batch, frame, &mut id);
    read.map_err(|error| bad(&error))?;
    Ok(String::from_utf8_lossy(&id).into_owned())
}

/// What `--json` reports of a run of the product.
fn told(json: &Path) -> Counters {
    let text = fs::read(json).unwrap_or_default();
    let report: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
    let seconds = |name: &str| report["component_seconds"][name].as_f64().unwrap_or(0.0);
    let mut counters = vec![
        ("reads".to_owned(), report["counts"]["called"].as_f64().unwrap_or(0.0)),
        ("signal_s".to_owned(), seconds("open_s") + seconds("read_s") + seconds("decode_s")),
    ];
    let same = ["events_s", "abea_s", "scaling_s", "hmm_s", "format_s", "wait_s"];
    counters.extend(same.map(|name| (name.to_owned(), seconds(name))));
    counters
}

/// All ways make the same table, in some order.
fn check(work: &Path, expected: &mut Option<Vec<u8>>, way: &Way) -> Result<(), LabError> {
    let path = work.join("calls.tsv");
    let table = fs::read(&path).map_err(LabError::file(&path))?;
    let mut lines: Vec<&[u8]> = table.split(|&byte| byte == b'\n').collect();
    lines.sort_unstable();
    let sorted = lines.join(&b'\n');
    match expected {
        Some(expected) if *expected != sorted => {
            Err(LabError::Prepare(format!("{} makes another table of calls", way.name)))
        }
        Some(_) => Ok(()),
        None => {
            *expected = Some(sorted);
            Ok(())
        }
    }
}

/// What the experiment leaves behind.
pub(crate) const RESULTS: Results = Results {
    table: "methylation.tsv",
    factors: &FACTORS,
    columns: &[&TIMES, &COUNTERS],
    plots: report::plots,
    markdown: report::markdown,
};
