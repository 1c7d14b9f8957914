//! How fast reads of raw signal are had at random from files of each format, by how many workers,
//! from disks of how much latency: the comparison of Gamaarachchi 2020 (thesis, chapter on nanopore
//! I/O, figures 1.10 and 1.12 to 1.15), with the formats and readers that came since.
//!
//! Each run is a process of its own that reads every read once, in a shuffled order, with some
//! number of workers, each of which takes the next read when it is done with one.

mod prepare;
mod raw;
mod reading;
mod report;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

pub(crate) use prepare::Volume;
pub(crate) use reading::{ReadCounts, ReadingOptions, read_all};

use crate::evict::{self, evict};
use crate::experiment::{Counters, LabError, Run, TIMES, Work, chosen, perform};
use crate::latency::{
    self, DISK, FACTORS, LatencyLayer, Levels, Medium, chosen_media, refuse_static,
    refuse_unserved, served_by,
};
use crate::output::Results;
use crate::table::Table;

/// Columns of the table after [`TIMES`]: reads and samples that were read, requests to the
/// modelled storage, and seconds spent waiting for them, summed over workers; and, which tables of
/// earlier versions lack, bytes that came from a disk.
pub(crate) const COUNTERS: [&str; 5] = ["reads", "samples", "requests", "waited_s", "read_bytes"];
/// Columns that were added later.
const LATER: usize = 1;

/// A format and what reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Way {
    /// Its name in tables and on the command line.
    pub(crate) name: &'static str,
    /// Its words in the report.
    pub(crate) title: &'static str,
    /// Folder or file below that of the data.
    pub(crate) data: &'static str,
    /// What `--fast5-engine` says; nothing for formats that are not FAST5.
    pub(crate) engine: Option<&'static str>,
    /// Whether libhdf5 is needed.
    pub(crate) needs_library: bool,
    /// How bytes are read that nobody looks into, if that is all that is done.
    pub(crate) raw: Option<Raw>,
}

/// How bytes of records are read that nobody looks into: what the storage can give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Raw {
    /// By as many threads as workers.
    Threads,
    /// By one thread, with as many requests at a time as workers, through io_uring.
    Uring,
}

const fn way(
    name: &'static str,
    title: &'static str,
    data: &'static str,
    engine: Option<&'static str>,
) -> Way {
    Way { name, title, data, engine, needs_library: false, raw: None }
}

const fn raw_way(name: &'static str, title: &'static str, raw: Raw) -> Way {
    Way { raw: Some(raw), ..way(name, title, "reads.blow5", None) }
}

const fn library_way(
    name: &'static str,
    title: &'static str,
    data: &'static str,
    engine: &'static str,
) -> Way {
    Way { name, title, data, engine: Some(engine), needs_library: true, raw: None }
}

/// All ways that are compared.
pub(crate) const WAYS: [Way; 12] = [
    library_way("fast5-library", "FAST5, threads and libhdf5", "single", "library"),
    library_way("fast5-library-pool", "FAST5, processes and libhdf5", "single", "library-pool"),
    way("fast5-pool", "FAST5, processes and own reader", "single", Some("pool")),
    way("fast5-own", "FAST5, threads and own reader", "single", Some("own")),
    library_way("multi-library", "multi-FAST5, threads and libhdf5", "reads.fast5", "library"),
    library_way("multi-pool", "multi-FAST5, processes and libhdf5", "reads.fast5", "library-pool"),
    way("multi-own", "multi-FAST5, threads and own reader", "reads.fast5", Some("own")),
    way("slow5", "SLOW5", "reads.slow5", None),
    way("blow5", "BLOW5", "reads.blow5", None),
    way("pod5", "POD5", "reads.pod5", None),
    raw_way("bytes-threads", "bytes of BLOW5 records, threads", Raw::Threads),
    raw_way("bytes-uring", "bytes of BLOW5 records, io_uring", Raw::Uring),
];

/// What is run.
#[derive(Debug, Clone)]
pub(crate) struct SignalIo {
    /// The program that is its own subject: called with `arguments`, then with a way and so on.
    pub(crate) program: PathBuf,
    /// The arguments that make it read, before `--data`, `--way`, `--threads`.
    pub(crate) arguments: Vec<String>,
    /// Folder of single-read FAST5 files that the data are made of.
    pub(crate) source: PathBuf,
    /// Where data are made; it may hold those of an earlier run.
    pub(crate) work: PathBuf,
    /// blue-crab, which makes the POD5 file; without it POD5 is left out.
    pub(crate) blue_crab: Option<PathBuf>,
    /// How often the source is copied.
    pub(crate) copies: u32,
    /// Numbers of workers.
    pub(crate) workers: Vec<u32>,
    /// Names of ways, empty for all; of storages likewise.
    pub(crate) ways: Vec<String>,
    /// See `ways`.
    pub(crate) storages: Vec<String>,
    /// Whether the program has libhdf5.
    pub(crate) has_library: bool,
    /// Repeats of each run; tables hold all, the report takes the fastest.
    pub(crate) repeats: u32,
    /// No run is begun later.
    pub(crate) deadline: Option<Instant>,
}

/// What runs came to.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) table: Table,
    pub(crate) volume: Volume,
    /// What was not run, and why.
    pub(crate) left_out: Vec<String>,
}

impl Way {
    fn is_uring(&self) -> bool {
        self.raw == Some(Raw::Uring)
    }
}

impl latency::Way for Way {
    fn name(&self) -> &'static str {
        self.name
    }
}

impl SignalIo {
    /// Makes the data and all runs; `progress` is called with what is done next.
    ///
    /// # Errors
    /// The data cannot be made, or a run fails.
    pub(crate) fn run(&self, tell: &mut dyn FnMut(&str)) -> Result<Outcome, LabError> {
        refuse_static(&self.storages, &[&self.program])?;
        fs::create_dir_all(&self.work).map_err(LabError::file(&self.work))?;
        let work = self.work.canonicalize().map_err(LabError::file(&self.work))?;
        let data = work.join("data");
        tell("data");
        let volume = prepare::prepare(&self.source, &data, self.copies, self.blue_crab.as_deref())?;
        let layer = LatencyLayer::build(&work)?;
        let (has_disk, no_uring) = (evict::works_in(&work), raw::obstacle());
        let left_out = self.left_out(&work, has_disk, no_uring.as_deref());
        left_out.iter().for_each(|what| tell(&format!("left out: {what}")));
        let mut outcome = Outcome { table: RESULTS.empty_table(), volume, left_out };
        for medium in chosen_media(&self.storages).filter(|it| has_disk || *it != Medium::Disk) {
            // The library that models storages does not see the requests of io_uring.
            let has_uring = no_uring.is_none() && !matches!(medium, Medium::Modelled(_));
            let takes = |way: &&Way| self.takes(way, &data) && (has_uring || !way.is_uring());
            for way in WAYS.iter().filter(takes) {
                for &workers in &self.workers {
                    if self.deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                        tell("no time is left");
                        return Ok(outcome);
                    }
                    for _ in 0..self.repeats {
                        let levels = Levels { medium, way, workers };
                        tell(&levels.names().join(" "));
                        self.one(&layer, &levels, &work, &mut outcome.table)?;
                    }
                }
            }
        }
        Ok(outcome)
    }

    fn takes(&self, way: &Way, data: &Path) -> bool {
        chosen(&self.ways, way.name)
            && (self.has_library || !way.needs_library)
            && data.join(way.data).exists()
    }

    /// What is not run, and why.
    fn left_out(&self, work: &Path, has_disk: bool, no_uring: Option<&str>) -> Vec<String> {
        let mut all = Vec::new();
        if !has_disk && chosen(&self.storages, DISK) {
            all.push(format!("{DISK}: {} is in memory", work.display()));
        }
        for way in WAYS.iter().filter(|way| way.is_uring() && chosen(&self.ways, way.name)) {
            all.extend(no_uring.map(|why| format!("{}: {why}", way.name)));
        }
        all
    }

    fn one(
        &self,
        layer: &LatencyLayer,
        levels: &Levels<'_, Way>,
        work: &Path,
        table: &mut Table,
    ) -> Result<(), LabError> {
        let Levels { medium, way, workers } = *levels;
        let (data, state) = (work.join("data"), work.join("state"));
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).arg("--data").arg(&data);
        command.args(["--way", way.name, "--threads", &workers.to_string()]);
        layer.slow(&mut command, medium, &data, &state)?;
        if medium == Medium::Disk {
            evict(&data)?;
        }
        let before = evict::read_bytes();
        let after = || -> Counters {
            let read = evict::read_bytes().zip(before).map(|(now, before)| now - before);
            let read = read.map(|bytes| ("read_bytes".to_owned(), bytes as f64));
            served_by(medium, &state).into_iter().chain(read).collect()
        };
        let factors = levels.names();
        let work = Work::Program(Box::new(command));
        perform(&mut Run { factors, work, after: Box::new(after) }, table)?;
        refuse_unserved(medium, table)
    }
}

/// What the experiment leaves behind.
pub(crate) const RESULTS: Results = Results {
    table: "signal-io.tsv",
    factors: &FACTORS,
    columns: &[&TIMES, &COUNTERS],
    later: LATER,
    plots: report::plots,
    markdown: report::markdown,
};
