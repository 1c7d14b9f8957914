//! Methylation calling by the structures of Gamaarachchi 2020 (thesis, chapter on nanopore I/O,
//! figures 1.1, 1.5, 1.9 and 1.11: time, processors kept busy, core-hours, components) and by ours,
//! with one set of kernels: what differs is how signal is read and who waits for whom.

mod nanopolish;
mod report;
mod structures;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use seqloom_signal::flow::inputs;
use seqloom_signal::store::{self, Cursor, DecodeScratch, FrameBatch, OpenOptions};

pub(crate) use report::recorded_components;
pub(crate) use structures::{Structure, StructureOptions, call};

use crate::evict::{self, evict};
use crate::experiment::{Counters, LabError, Run, TIMES, Work, chosen, output_of, perform};
use crate::latency::{
    self, DISK, FACTORS, LatencyLayer, Levels, Medium, chosen_media, refuse_static,
    refuse_unserved, served_by,
};
use crate::output::Results;
use crate::table::Table;

/// Columns of the table after [`TIMES`]: reads that were called, requests to the modelled storage
/// and seconds spent waiting for them, and seconds by component. All seconds are sums over workers;
/// those of `signal_s` are opening, reading and decoding. The last ones are missing in tables of
/// earlier versions: reading alignments and reference, and bytes that came from a disk.
pub(crate) const COUNTERS: [&str; 13] = [
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
    "bam_s",
    "fasta_s",
    "read_bytes",
];
/// Columns that were added later.
const LATER: usize = 3;

/// A structure and the format that it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Way {
    /// Its name in tables and on the command line.
    pub(crate) name: &'static str,
    /// Its words in the report.
    pub(crate) title: &'static str,
    /// Folder or file below that of the data.
    pub(crate) data: &'static str,
    /// Who calls.
    pub(crate) caller: Caller,
    /// What `--fast5-engine` says, of our own.
    pub(crate) engine: &'static str,
}

/// Who calls, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caller {
    /// A structure of the paper with our kernels.
    Structure(Structure),
    /// `seqloom signal methylation` itself.
    Flow,
    /// nanopolish, in one process of so many threads.
    Nanopolish,
    /// As many processes of nanopolish with one thread each, each with its share of the BAM: what
    /// users do who split their data.
    NanopolishSplit,
}

impl Caller {
    pub(crate) fn is_nanopolish(self) -> bool {
        matches!(self, Self::Nanopolish | Self::NanopolishSplit)
    }
}

/// All ways that are compared.
pub(crate) const WAYS: [Way; 6] = [
    Way {
        name: "one-at-a-time",
        title: "FAST5, reads under one lock",
        data: "single",
        caller: Caller::Structure(Structure::OneAtATime),
        engine: "own",
    },
    Way {
        name: "batches",
        title: "FAST5, batches, processes read",
        data: "single",
        caller: Caller::Structure(Structure::BatchesByProcesses),
        engine: "pool",
    },
    Way {
        name: "flow-fast5",
        title: "FAST5, our flow",
        data: "single",
        caller: Caller::Flow,
        engine: "own",
    },
    Way {
        name: "flow-blow5",
        title: "BLOW5, our flow",
        data: "reads.blow5",
        caller: Caller::Flow,
        engine: "own",
    },
    Way {
        name: "nanopolish",
        title: "nanopolish itself",
        data: "single",
        caller: Caller::Nanopolish,
        engine: "",
    },
    Way {
        name: "nanopolish-split",
        title: "nanopolish, a process for each worker",
        data: "single",
        caller: Caller::NanopolishSplit,
        engine: "",
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
    /// No run is begun later.
    pub(crate) deadline: Option<Instant>,
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
    pub(crate) fn run(&self, tell: &mut dyn FnMut(&str)) -> Result<Outcome, LabError> {
        refuse_static(&self.storages, &[&self.program, &self.seqloom])?;
        fs::create_dir_all(&self.work).map_err(LabError::file(&self.work))?;
        let work = self.work.canonicalize().map_err(LabError::file(&self.work))?;
        tell("data");
        self.prepare(&work)?;
        let layer = LatencyLayer::build(&work)?;
        let mut outcome = Outcome { table: RESULTS.empty_table(), left_out: Vec::new() };
        let ways = self.ways(&work, &mut outcome.left_out)?;
        let has_disk = evict::works_in(&work);
        if !has_disk && chosen(&self.storages, DISK) {
            outcome.left_out.push(format!("{DISK}: {} is in memory", work.display()));
        }
        outcome.left_out.iter().for_each(|what| tell(&format!("left out: {what}")));
        let mut expected = Expected::default();
        for medium in chosen_media(&self.storages).filter(|it| has_disk || *it != Medium::Disk) {
            for way in &ways {
                for &workers in &self.workers {
                    if self.deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                        tell("no time is left");
                        return Ok(outcome);
                    }
                    for _ in 0..self.repeats {
                        let levels = Levels { medium, way: *way, workers };
                        tell(&levels.names().join(" "));
                        self.one(&layer, &levels, &work, &mut outcome.table)?;
                        expected.check(&work, way)?;
                    }
                }
            }
        }
        Ok(outcome)
    }

    /// The ways that were chosen and can be run, with what nanopolish needs.
    fn ways(&self, work: &Path, left_out: &mut Vec<String>) -> Result<Vec<&'static Way>, LabError> {
        let mut ways: Vec<&Way> = WAYS.iter().filter(|way| chosen(&self.ways, way.name)).collect();
        if ways.iter().any(|way| way.caller.is_nanopolish()) {
            let is_slowed =
                chosen_media(&self.storages).any(|it| matches!(it, Medium::Modelled(_)));
            match nanopolish::obstacle(is_slowed) {
                Some(why) if self.ways.is_empty() => {
                    left_out.push(format!("nanopolish: {why}"));
                    ways.retain(|way| !way.caller.is_nanopolish());
                }
                Some(why) => return Err(LabError::Prepare(format!("nanopolish: {why}"))),
                None => self.prepare_nanopolish(work)?,
            }
        }
        Ok(ways)
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
        let Levels { medium, way, workers } = *levels;
        let (state, json, data) = (work.join("state"), work.join("run.json"), work.join("data"));
        let mut command = match way.caller {
            Caller::Nanopolish => self.nanopolish(workers, work),
            Caller::NanopolishSplit => self.nanopolish_split(workers, work)?,
            _ => self.command(way, workers, work),
        };
        layer.slow(&mut command, medium, &data, &state)?;
        if medium == Medium::Disk {
            evict(&data)?;
        }
        let before = evict::read_bytes();
        let after = || -> Counters {
            let mut counters = match way.caller {
                Caller::Flow => told(&json),
                Caller::Structure(_) => Counters::new(),
                Caller::Nanopolish | Caller::NanopolishSplit => nanopolish::called(work),
            };
            counters.extend(served_by(medium, &state));
            let read = evict::read_bytes().zip(before).map(|(now, before)| now - before);
            counters.extend(read.map(|bytes| ("read_bytes".to_owned(), bytes as f64)));
            counters
        };
        let factors = levels.names();
        let program = Work::Program(Box::new(command));
        perform(&mut Run { factors, work: program, after: Box::new(after) }, table)?;
        refuse_unserved(medium, table)
    }

    fn command(&self, way: &Way, workers: u32, work: &Path) -> Command {
        let is_own = matches!(way.caller, Caller::Structure(_));
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
    let same = ["events_s", "abea_s", "scaling_s", "hmm_s", "format_s", "wait_s", "bam_s"];
    counters.extend(same.map(|name| (name.to_owned(), seconds(name))));
    counters.push(("fasta_s".to_owned(), seconds("reference_s") + seconds("sequences_s")));
    counters
}

/// The tables of calls of the first runs, sorted: of our kernels, and of nanopolish.
#[derive(Default)]
struct Expected {
    ours: Option<Vec<u8>>,
    nanopolish: Option<Vec<u8>>,
}

impl Expected {
    /// All ways with our kernels make the same table, in some order, and so do all of nanopolish,
    /// whose last digits are its own.
    fn check(&mut self, work: &Path, way: &Way) -> Result<(), LabError> {
        let path = work.join("calls.tsv");
        let table = fs::read(&path).map_err(LabError::file(&path))?;
        let mut lines: Vec<&[u8]> = table.split(|&byte| byte == b'\n').collect();
        lines.sort_unstable();
        let sorted = lines.join(&b'\n');
        let is_other = way.caller.is_nanopolish();
        let expected = if is_other { &mut self.nanopolish } else { &mut self.ours };
        if *expected.get_or_insert_with(|| sorted.clone()) == sorted {
            Ok(())
        } else {
            Err(LabError::Prepare(format!("{} makes another table of calls", way.name)))
        }
    }
}

/// What runs came to.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) table: Table,
    /// What was not run, and why.
    pub(crate) left_out: Vec<String>,
}

/// What the experiment leaves behind.
pub(crate) const RESULTS: Results = Results {
    table: "methylation.tsv",
    factors: &FACTORS,
    columns: &[&TIMES, &COUNTERS],
    later: LATER,
    plots: report::plots,
    markdown: report::markdown,
};
