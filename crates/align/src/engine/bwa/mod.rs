//! bwa's algorithm, in process, through crate `bwa-mem3-sys`.
//!
//! Records equal bwa 0.7.17's (ERRATA.md lists the differences). Regions are the crate's, but for
//! those of [`certified`](crate::certified); all behind them is ours, see [`emission`]. The crate's
//! C++ library prints, reads environment variables and may abort: see [`fence`](super::fence), and
//! [`index::check`](crate::index) for what is verified before it opens a file.

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

use emission::{Batch, BatchCodes, CohortModel, EmitScratch, Emitter};
use extension::{KnownChains, ToExtend};
use index::{Index, Options};
use layout::{OnlyExtension, Region};
pub(crate) use library::Candidates;
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

/// The library reports what it asked for; the heap holds more (rounding, headers). Measured with
/// glibc's: 1.17 times for 2x150, 1.21 for 2x50. With mimalloc it is less: runs at the floor of
/// `-m` peak at three quarters of it.
const HELD_PER_REPORTED_PERCENT: u64 = 130;

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

    /// The regions of a batch by our own search. Its reads go in without bases, so that their places
    /// in it stay, with those regions that are known; the others get their bases, and the library
    /// finds their regions from their chains.
    fn find_by(
        &self,
        search: &OwnSearch,
        scratch: &mut Scratch,
        reads: &EngineReads<'_>,
    ) -> Result<Candidates, String> {
        let Scratch { library, certified, searches, codes, .. } = scratch;
        let mut found = Candidates::without_bases(&self.index, &self.options, library, reads)?;
        searches.clear();
        for (at, read) in reads.pairs.iter().flatten().chain(&reads.singles).enumerate() {
            if let Some(known) = &certified.known()[at] {
                found.put_region(at, self.region(known, 0.0))?;
                continue;
            }
            if certified.is_unknown(at) {
                codes.clear();
                codes.extend(read.bases.iter().map(|&letter| seed::code_of(letter)));
                searches.add(at, read.bases);
            } else {
                certified.codes(at, codes);
            }
            found.put_bases(at, codes, None)?;
        }
        let tables = Tables::new(self.index.parts(), &search.table);
        searches.find(&tables);
        let mut rows = certified.rows();
        let chained = certified.chained().map(|(read, chains)| self.to_extend(read, chains));
        let mut chained: Vec<_> = chained.collect();
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
                return Ok(found);
            }
            rows = 0;
        }
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
            Candidates::find(&self.index, &self.options, &mut scratch.library, reads)
        };
        let found = found.and_then(|mut found| found.drop_bases().map(|()| found));
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
        let batch = Batch { regions: &candidates, reads, codes: &scratch.batch_codes };
        Emitter { settings, reference, ordinals }
            .emit(&batch, model, &mut scratch.emission, sink)
            .map_err(EngineError::Failed)
    }

    fn held_bytes(&self, candidates: &Candidates) -> u64 {
        candidates.heap_bytes() as u64 * HELD_PER_REPORTED_PERCENT / 100
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
