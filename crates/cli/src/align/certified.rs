//! Whether a run takes the certified path, and what came of it; the tables next to the index.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use seqloom_align::engine::bwa::{BwaEngine, CertifiedOutcome, CertifiedReads, WORKER_BYTES};
use seqloom_align::index::{FastTable, IndexInfo, IndexPaths};
use seqloom_report::run::CertifiedReport;
use seqloom_runtime::failure::lock;
use seqloom_runtime::memory::ByteSize;

use super::arguments::{AlignArguments, EngineChoice};
use super::memory::Demand;

fn with_searches(demand: Demand) -> Demand {
    let searches_bytes = demand.threads.get() as u64 * WORKER_BYTES;
    Demand { loaded_bytes: demand.loaded_bytes + searches_bytes, ..demand }
}

/// The certified path of one run.
#[derive(Debug, Clone)]
pub(crate) struct CertifiedRun {
    /// Its table, if it is to be loaded.
    table: Option<PathBuf>,
    reads: Arc<CertifiedReads>,
    /// Why the path is off.
    off_because: Arc<Mutex<Option<String>>>,
    /// Why the samples of `PREFIX.tsa`, which is there, are not used.
    samples_unused: Arc<Mutex<Option<String>>>,
}

impl CertifiedRun {
    /// The path is on if its table is there and fits `memory` besides all else, the `demand`.
    pub(super) fn plan(
        arguments: &AlignArguments,
        index: &IndexInfo,
        demand: Demand,
        memory: ByteSize,
    ) -> Self {
        let algorithm = &arguments.algorithm;
        let table = IndexPaths::new(&arguments.reference).fast();
        let index_bytes = index.memory_bytes + FastTable::size_bytes(index.bases);
        let needed = with_searches(Demand { index_bytes, ..demand }).floor_bytes();
        let needed = ByteSize(needed);
        let off_because = if !arguments.mode.mode.is_bwa() {
            Some("the mode is not bwa's".to_owned())
        } else if !matches!(algorithm.engine, EngineChoice::OfMode) {
            Some("the engine is not bwa".to_owned())
        } else if algorithm.no_certified_path {
            Some("--no-certified-path".to_owned())
        } else if !table.exists() {
            Some(format!("there is no {}; `seqloom index` makes it", table.display()))
        } else {
            (needed > memory).then(|| format!("its table needs -m {needed}"))
        };
        Self {
            table: off_because.is_none().then_some(table),
            reads: Arc::default(),
            off_because: Arc::new(Mutex::new(off_because)),
            samples_unused: Arc::default(),
        }
    }

    /// Memory of the table, for an index of so many bases.
    pub(super) fn table_bytes(&self, bases: u64) -> u64 {
        if self.table.is_some() { FastTable::size_bytes(bases) } else { 0 }
    }

    /// With the memory of its workers' searches.
    pub(super) fn with_searches(&self, demand: Demand) -> Demand {
        if self.table.is_some() { with_searches(demand) } else { demand }
    }

    /// Turns the path on in an engine that was loaded. The records are the same without it.
    pub(crate) fn turn_on(&self, engine: &mut BwaEngine) {
        *lock(&self.samples_unused) = engine.text_samples_unused().map(ToString::to_string);
        let Some(table) = &self.table else { return };
        if let Err(reason) = engine.certify(table, self.reads.clone()) {
            *lock(&self.off_because) = Some(reason.to_string());
        }
    }

    /// Why the samples of `PREFIX.tsa`, which is there, are not used, once the engine is loaded.
    pub(super) fn samples_unused(&self) -> Option<String> {
        lock(&self.samples_unused).clone()
    }

    /// Why the path is off, once the engine is loaded.
    pub(super) fn off_because(&self) -> Option<String> {
        lock(&self.off_because).clone()
    }

    /// For the JSON report.
    pub(super) fn report(&self) -> CertifiedReport {
        let off_because = self.off_because();
        let count = |verdict: CertifiedOutcome| (verdict.name(), self.reads.get(verdict));
        let reads = match off_because {
            None => CertifiedOutcome::ALL.into_iter().map(count).collect(),
            Some(_) => BTreeMap::new(),
        };
        CertifiedReport { off_because, reads }
    }

    /// Share of the reads that was not searched for.
    pub(super) fn share(&self) -> Option<f64> {
        let all: u64 =
            CertifiedOutcome::ALL.into_iter().map(|verdict| self.reads.get(verdict)).sum();
        let spared =
            self.reads.get(CertifiedOutcome::Certified) + self.reads.get(CertifiedOutcome::Chained);
        (all > 0).then(|| spared as f64 / all as f64)
    }
}
