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
use extension::{KnownChains, ToExtend};
use index::{Index, Options};
use layout::{OnlyExtension, Region};
use library::LibraryBatch;
pub use options::{BwaOptions, InsertSize, Preset};
use settings::Settings;

use chain::build::Chains;
use seed::Searches;

use crate::certified::{
    CertifiedPath, CertifiedReads, ChainLimits, Chained, Known, LoadedIndex, MainChain, Tables,
    Work,
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
    /// Bases of the reads that are being emitted.
    batch_codes: BatchCodes,
    emission: EmitScratch,
    /// Bases of a read, as codes.
    codes: Vec<u8>,
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

    /// The region that the library would have found, in a read of which the share `repetitive` lies
    /// in seeds that occur too often.
    fn region(&self, known: &Known, repetitive: f32) -> Region {
        let start = known.place as i64 + known.bases[0] as i64;
        let bases = (known.bases[1] - known.bases[0]) as i64;
        let extension = OnlyExtension {
            score: known.best,
            true_score: known.taken,
            band: self.options.get().w,
            seed_length: known.seed_bases as i32,
            seed_cover: known.seed_cover as i32,
            seed_occurrences: known.seed_occurrences,
            repetitive,
        };
        let read = known.bases.map(|base| base as i32);
        Region::only([start, start + bases], read, known.sequence as i32, extension)
    }

    fn to_extend<'a>(&self, read: Chained, chains: &'a mut Chains) -> ToExtend<'a> {
        let known = |main: MainChain| (main.place, self.region(&main.region, chains.repetitive));
        let known = read.main.map(known);
        ToExtend { at: read.number, chained: Some(KnownChains { chains, known }) }
    }

    /// The regions of a batch by our own search. Those that are known never get to the library,
    /// which extends the chains of the others.
    fn find_by(
        &self,
        search: &OwnSearch,
        scratch: &mut Scratch,
        reads: &EngineReads<'_>,
    ) -> Result<Candidates, String> {
        let Scratch { library, certified, searches, codes, .. } = scratch;
        let all: Vec<_> = reads.pairs.iter().flatten().chain(&reads.singles).collect();
        let is_known = |&at: &usize| certified.known()[at].is_some();
        // Numbers of the reads that the library has, in the batch, and the other way round.
        let left: Vec<usize> = (0..all.len()).filter(|at| !is_known(at)).collect();
        let mut number_of = vec![0; all.len()];
        let mut found =
            LibraryBatch::without_bases(&self.index, &self.options, library, left.len())?;
        searches.clear();
        for (number, &at) in left.iter().enumerate() {
            number_of[at] = number;
            if certified.is_unknown(at) {
                codes.clear();
                codes.extend(all[at].bases.iter().map(|&letter| seed::code_of(letter)));
                searches.add(number, all[at].bases);
            } else {
                certified.codes(at, codes);
            }
            found.put_bases(number, codes)?;
        }
        let tables = Tables::new(self.index.parts(), &search.table);
        searches.find(&tables);
        let mut rows = certified.rows();
        let to_extend = |(read, chains): (Chained, _)| {
            let number = number_of[read.number];
            self.to_extend(Chained { number, ..read }, chains)
        };
        let mut chained: Vec<_> = certified.chained().map(to_extend).collect();
        loop {
            let mut to_extend: Vec<ToExtend<'_>> = std::mem::take(&mut chained);
            let some = searches.chain_some(self.loaded(), &tables, search.limits, rows);
            let is_last = some.is_none();
            let searched = some.into_iter().flatten().filter(|(_, chains)| !chains.is_empty());
            to_extend.extend(searched.map(|(at, chains)| ToExtend {
                at,
                chained: Some(KnownChains { chains, known: None }),
            }));
            found.extend(&self.index, &self.options, library, &mut to_extend)?;
            if is_last {
                break;
            }
            rows = 0;
        }
        let mut candidates = Candidates::of_pairs(2 * reads.pairs.len());
        for (known, number) in certified.known().iter().zip(number_of) {
            match known {
                Some(known) => candidates.push([(&self.region(known, 0.0)).into()]),
                None => candidates.push(found.found(number).iter().map(regions::Region::from)),
            }
        }
        Ok(candidates.complete())
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
            codes: Vec::new(),
            batch_codes: BatchCodes::default(),
            emission: EmitScratch::default(),
        })
    }

    fn seed_extend(
        &self,
        scratch: &mut Scratch,
        reads: &EngineReads<'_>,
    ) -> Result<Candidates, EngineError> {
        let found = if let Some(search) = &self.search {
            self.certify_reads(&mut scratch.certified, reads);
            self.find_by(search, scratch, reads)
        } else {
            self.find_all(&mut scratch.library, reads)
        };
        found.map_err(EngineError::Failed)
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
