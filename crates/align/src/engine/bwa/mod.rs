//! bwa's algorithm, in process, through crate `bwa-mem3-sys`.
//!
//! Records equal bwa 0.7.17's (ERRATA.md lists the differences). Seeds and chains are ours where
//! the table of [`certified`](crate::certified) is there ([`seed`], [`chain`]), and all behind
//! regions is ([`emission`]); the crate's library extends chains, and searches without the table.
//! It is C++, prints, reads environment variables and may abort: see [`fence`](super::fence), and
//! [`index::check`](crate::index) for what is verified before it opens a file.

mod batch;
pub(crate) mod chain;
mod cigar;
mod emission;
mod extend;
mod extension;
mod float;
mod index;
mod lanes;
mod layout;
mod library;
mod options;
pub(crate) mod order;
mod pair;
mod record;
mod reference;
mod regions;
mod rescue;
mod seed;
mod settings;

use std::path::Path;
use std::sync::Arc;

pub use batch::Candidates;
use emission::{Batch, BatchCodes, CohortModel, EmitScratch, Emitter};
use extend::{Basis, Extended, Extender, KnownChain};
use index::{Index, Options};
use library::LibraryBatch;
pub use options::{BwaOptions, InsertSize, Preset};
use settings::Settings;

use seed::Searches;

use crate::certified::{
    CertifiedPath, CertifiedReads, ChainLimits, Known, LoadedIndex, MainChain, Tables, Work,
};
use crate::index::{FastTable, FastTableError};

use super::{CohortEngine, EngineError, EngineReads, RecordSink, SeededBatch, lockstep};

/// Longest read handed to the library; longer ones are unmapped. A noisy read of 200 kb makes it
/// abort, one of 100 kb does not but takes seconds; Illumina reads are 1,000 times shorter.
const LONGEST_READ_BASES: usize = 65_536;

/// A loaded index with its options.
pub struct BwaEngine {
    index: Index,
    options: Options,
    settings: Settings,
    insert_size: Option<InsertSize>,
    /// Our own search, in place of the library's.
    search: Option<OwnSearch>,
    certified: Option<CertifiedPath>,
}

/// What our own search is by.
struct OwnSearch {
    table: Arc<FastTable>,
    limits: ChainLimits,
}

/// Working memory of one worker.
pub struct Scratch {
    library: library::Scratch,
    certified: Work,
    searches: Searches,
    extender: Extender,
    /// Bases of the reads that are being emitted.
    batch_codes: BatchCodes,
    emission: EmitScratch,
}

/// Why the certified path is off.
#[derive(Debug, thiserror::Error)]
pub enum NotCertified {
    /// Its table cannot be used.
    #[error(transparent)]
    Table(#[from] FastTableError),
    /// Nothing is shown for these options.
    #[error("{0}")]
    Options(&'static str),
}

impl BwaEngine {
    /// Loads the index at `prefix`, which [`crate::index::check`] has found whole, with `threads`
    /// threads, and verifies that `contigs` is what was loaded.
    ///
    /// # Errors
    /// When the library refuses the index or loads another one.
    pub fn load(
        prefix: &Path,
        contigs: &[(String, u64)],
        options: &BwaOptions,
        threads: usize,
    ) -> Result<Self, EngineError> {
        lockstep::fit_to_processor();
        let index = Index::load(prefix, contigs, threads).map_err(|message| EngineError::Load {
            prefix: prefix.display().to_string(),
            message,
        })?;
        let insert_size = options.insert_size;
        let options = options.library().map_err(EngineError::Failed)?;
        let settings = Settings::of(options.get());
        Ok(Self { index, options, settings, insert_size, search: None, certified: None })
    }

    /// Loads the table at `path`, and takes regions from it from now on where it can be shown what
    /// they are, and searches for the seeds of other reads by it. The records are the same. `reads`
    /// counts what becomes of the reads.
    ///
    /// # Errors
    /// Why no regions are taken.
    pub fn certify(&mut self, path: &Path, reads: Arc<CertifiedReads>) -> Result<(), NotCertified> {
        let parts = self.index.parts();
        let table = Arc::new(FastTable::read(path, parts.packed, parts.bases)?);
        self.search = self
            .options
            .chain_limits()
            .map(|limits| OwnSearch { table: Arc::clone(&table), limits });
        let scoring = self.options.scoring().map_err(NotCertified::Options)?;
        self.certified = Some(CertifiedPath::new(table, scoring, reads));
        Ok(())
    }

    fn loaded(&self) -> LoadedIndex<'_> {
        LoadedIndex { parts: self.index.parts(), sequences: self.index.sequences() }
    }

    /// Finds out what is known of the reads, which is then in `work`.
    fn certify_reads(&self, work: &mut Work, reads: &EngineReads<'_>) {
        let all: Vec<_> = reads.pairs.iter().flatten().chain(&reads.singles).collect();
        match &self.certified {
            Some(path) => path.certify(self.loaded(), all.into_iter(), work),
            None => work.know_nothing(all.len()),
        }
    }

    /// The region that bwa would have found, in a read of which the share `repetitive` lies in
    /// seeds that occur too often.
    fn extended(&self, known: &Known, repetitive: f32) -> Extended {
        let start = known.place as i64 + known.bases[0] as i64;
        let region = regions::Region {
            reference_start: start,
            reference_end: start + (known.bases[1] - known.bases[0]) as i64,
            read_start: known.bases[0] as i32,
            read_end: known.bases[1] as i32,
            sequence: known.sequence as i32,
            score: known.best,
            true_score: known.taken,
            band: self.settings.band,
            repetitive,
            ..regions::Region::default()
        };
        Extended { region, seed_bases: known.seed_bases as i32 }
    }

    /// The regions of a batch by our own search. Those that are known are taken as they are, and
    /// the chains of the other reads are extended.
    fn find_by(
        &self,
        search: &OwnSearch,
        scratch: &mut Scratch,
        reads: &EngineReads<'_>,
    ) -> Candidates {
        let Scratch { certified, searches, extender, .. } = scratch;
        let all: Vec<_> = reads.pairs.iter().flatten().chain(&reads.singles).collect();
        let reference = self.index.reference();
        let basis = Basis { settings: &self.settings, reference: &reference };
        searches.clear();
        extender.clear(all.len());
        for (number, read) in all.iter().enumerate() {
            if certified.is_unknown(number) {
                searches.add(number, read.bases);
            }
        }
        let tables = Tables::new(self.index.parts(), &search.table);
        searches.find(&tables);
        let put_codes = |number: usize| {
            let bases: &[u8] = all[number].bases;
            move |out: &mut Vec<u8>| out.extend(bases.iter().map(|&letter| seed::code_of(letter)))
        };
        let mut rows = certified.rows();
        for (read, chains) in certified.chained() {
            let known = |main: MainChain| KnownChain {
                chain: main.number,
                extended: self.extended(&main.region, chains.repetitive),
            };
            let known = read.main.map(known);
            extender.add(read.number, put_codes(read.number), chains, known, basis);
        }
        while let Some(some) = searches.chain_some(self.loaded(), &tables, search.limits, rows) {
            for (number, chains) in some {
                extender.add(number, put_codes(number), chains, None, basis);
            }
            rows = 0;
        }
        extender.extend(basis);
        let mut candidates = Candidates::of_pairs(2 * reads.pairs.len());
        for (number, known) in certified.known().iter().enumerate() {
            match known {
                Some(known) => candidates.push([self.extended(known, 0.0).region]),
                None => candidates.push(extender.found(number).iter().copied()),
            }
        }
        candidates.complete()
    }
}

impl BwaEngine {
    /// The regions of a batch by the library's search.
    fn find_all(
        &self,
        library: &mut library::Scratch,
        reads: &EngineReads<'_>,
    ) -> Result<Candidates, String> {
        let found = LibraryBatch::find(&self.index, &self.options, library, reads)?;
        let paired = 2 * reads.pairs.len();
        let mut candidates = Candidates::of_pairs(paired);
        for at in 0..paired + reads.singles.len() {
            candidates.push(found.found(at).iter().map(regions::Region::from));
        }
        Ok(candidates.complete())
    }
}

impl CohortEngine for BwaEngine {
    type Scratch = Scratch;
    type Candidates = Candidates;
    type Model = CohortModel;

    fn scratch(&self) -> Result<Scratch, EngineError> {
        let library = library::Scratch::new().map_err(EngineError::Failed)?;
        Ok(Scratch {
            library,
            certified: Work::default(),
            searches: Searches::default(),
            extender: Extender::new(),
            batch_codes: BatchCodes::default(),
            emission: EmitScratch::default(),
        })
    }

    fn seed_extend(
        &self,
        scratch: &mut Scratch,
        reads: &EngineReads<'_>,
    ) -> Result<Candidates, EngineError> {
        if let Some(search) = &self.search {
            self.certify_reads(&mut scratch.certified, reads);
            return Ok(self.find_by(search, scratch, reads));
        }
        self.find_all(&mut scratch.library, reads).map_err(EngineError::Failed)
    }

    fn infer_cohort(&self, candidates: &[Candidates]) -> Result<CohortModel, EngineError> {
        let bases = self.index.reference().bases;
        Ok(match self.insert_size {
            Some(given) => CohortModel::new(given.model(), &self.settings),
            None => CohortModel::learned(candidates, bases, &self.settings),
        })
    }

    fn emit(
        &self,
        scratch: &mut Scratch,
        seeded: SeededBatch<'_, Self>,
        sink: &mut dyn RecordSink,
    ) -> Result<(), EngineError> {
        let SeededBatch { reads, candidates, model, ordinals } = seeded;
        let (settings, reference) = (&self.settings, &self.index.reference());
        scratch.batch_codes.take(reads);
        let batch = Batch { candidates: &candidates, reads, codes: &scratch.batch_codes };
        Emitter { settings, reference, ordinals }
            .emit(&batch, model, &mut scratch.emission, sink)
            .map_err(EngineError::Failed)
    }

    fn held_bytes(&self, candidates: &Candidates) -> u64 {
        candidates.held_bytes()
    }

    fn longest_read_bases(&self) -> usize {
        LONGEST_READ_BASES
    }
}

#[cfg(test)]
mod certified_rules_tests;
#[cfg(test)]
mod certified_tests;
#[cfg(test)]
mod emission_tests;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod oracle_emit;
#[cfg(test)]
mod oracle_tests;
#[cfg(test)]
mod search_tests;
