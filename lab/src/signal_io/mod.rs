//! How fast reads of raw signal are had at random from files of each format, by how many workers,
//! from disks of how much latency: the comparison of Gamaarachchi 2020 (thesis, chapter on nanopore
//! I/O, figures 1.10 and 1.12 to 1.15), with the formats and readers that came since.
//!
//! Each run is a process of its own that reads every read once, in a shuffled order, with some
//! number of workers, each of which takes the next read when it is done with one.

mod prepare;
mod reading;
mod report;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) use prepare::Volume;
pub(crate) use reading::{ReadCounts, ReadingOptions, read_all};

use crate::experiment::{LabError, Run, TIMES, Work, chosen, perform};
use crate::latency::{
    self, FACTORS, LatencyLayer, Levels, chosen_storages, refuse_static, refuse_unserved, served_by,
};
use crate::output::Results;
use crate::table::Table;

/// Columns of the table after [`TIMES`]: reads and samples that were read, requests to the
/// modelled storage, and seconds spent waiting for them, summed over workers.
pub(crate) const COUNTERS: [&str; 4] = ["reads", "samples", "requests", "waited_s"];

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
}

const fn way(
    name: &'static str,
    title: &'static str,
    data: &'static str,
    engine: Option<&'static str>,
) -> Way {
    Way { name, title, data, engine, needs_library: false }
}

const fn library_way(
    name: &'static str,
    title: &'static str,
    data: &'static str,
    engine: &'static str,
) -> Way {
    Way { name, title, data, engine: Some(engine), needs_library: true }
}

/// All ways that are compared.
pub(crate) const WAYS: [Way; 10] = [
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
    pub(crate) fn run(&self, tell: &mut dyn FnMut(&str)) -> Result<(Table, Volume), LabError> {
        refuse_static(&self.storages, &[&self.program])?;
        fs::create_dir_all(&self.work).map_err(LabError::file(&self.work))?;
        let work = self.work.canonicalize().map_err(LabError::file(&self.work))?;
        let data = work.join("data");
        tell("data");
        let volume = prepare::prepare(&self.source, &data, self.copies, self.blue_crab.as_deref())?;
        let layer = LatencyLayer::build(&work)?;
        let mut table = RESULTS.empty_table();
        for storage in chosen_storages(&self.storages) {
            for way in WAYS.iter().filter(|way| self.takes(way, &data)) {
                for &workers in &self.workers {
                    for _ in 0..self.repeats {
                        let levels = Levels { storage, way, workers };
                        tell(&levels.names().join(" "));
                        self.one(&layer, &levels, &work, &mut table)?;
                    }
                }
            }
        }
        Ok((table, volume))
    }

    fn takes(&self, way: &Way, data: &Path) -> bool {
        chosen(&self.ways, way.name)
            && (self.has_library || !way.needs_library)
            && data.join(way.data).exists()
    }

    fn one(
        &self,
        layer: &LatencyLayer,
        levels: &Levels<'_, Way>,
        work: &Path,
        table: &mut Table,
    ) -> Result<(), LabError> {
        let Levels { storage, way, workers } = *levels;
        let (data, state) = (work.join("data"), work.join("state"));
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).arg("--data").arg(&data);
        command.args(["--way", way.name, "--threads", &workers.to_string()]);
        layer.slow(&mut command, storage, &data, &state)?;
        let after = || served_by(storage, &state);
        let factors = levels.names();
        let work = Work::Program(Box::new(command));
        perform(&mut Run { factors, work, after: Box::new(after) }, table)?;
        refuse_unserved(storage, table)
    }
}

/// What the experiment leaves behind.
pub(crate) const RESULTS: Results = Results {
    table: "signal-io.tsv",
    factors: &FACTORS,
    columns: &[&TIMES, &COUNTERS],
    plots: report::plots,
    markdown: report::markdown,
};
