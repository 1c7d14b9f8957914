//! bwa's algorithm, in process, through crate `bwa-mem3-sys`.
//!
//! Records equal bwa 0.7.17's (ERRATA.md lists the differences). The crate's C++ library prints,
//! reads environment variables and may abort: see [`fence`](super::fence), and
//! [`index::check`](crate::index) for what is verified before it opens a file.

mod extension;
mod index;
mod layout;
mod library;
mod options;

use std::path::Path;
use std::sync::Arc;

use extension::{KnownChains, ToExtend};
use index::{Index, Options};
use layout::{OnlyExtension, Region};
pub(crate) use library::Candidates;
use library::Model;
pub use options::{BwaOptions, InsertSize, Preset};

use crate::certified::{
    CertifiedPath, CertifiedReads, Chained, Chains, Known, LoadedIndex, MainChain, Work,
};
use crate::index::{FastTable, FastTableError};

use super::{AlignmentEngine, EngineError, EngineReads, Ordinals, RecordSink, lockstep};

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
    insert_size: Option<InsertSize>,
    certified: Option<CertifiedPath>,
}

/// Working memory of one worker.
pub struct Scratch {
    library: library::Scratch,
    certified: Work,
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
        let settings = options.library().map_err(EngineError::Failed)?;
        let insert_size = options.insert_size;
        Ok(Self { index, options: settings, insert_size, certified: None })
    }

    /// Loads the table at `path`, and takes regions from it from now on where it can be shown what
    /// they are. The records are the same. `reads` counts what becomes of the reads.
    ///
    /// # Errors
    /// Why that is not done.
    pub fn certify(&mut self, path: &Path, reads: Arc<CertifiedReads>) -> Result<(), NotCertified> {
        let scoring = self.options.scoring().map_err(NotCertified::Options)?;
        let parts = self.index.parts();
        let table = FastTable::read(path, parts.packed, parts.bases)?;
        self.certified = Some(CertifiedPath::new(table, scoring, reads));
        Ok(())
    }

    /// Whether something is known of a read, which is then in `work`.
    fn certify_reads(&self, work: &mut Work, reads: &EngineReads<'_>) -> bool {
        let Some(path) = &self.certified else { return false };
        let index = LoadedIndex { parts: self.index.parts(), sequences: self.index.sequences() };
        let all: Vec<_> = reads.pairs.iter().flatten().chain(&reads.singles).collect();
        let count = all.len();
        path.certify(index, all.into_iter(), work);
        !(0..count).all(|at| work.is_unknown(at))
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

    /// The regions of a batch of which some are known. Its reads go in without bases and get them
    /// afterwards, so that their places in it stay, with those regions that are known; the library
    /// finds the others, from their chains where these are known.
    fn find_some(
        &self,
        scratch: &mut Scratch,
        reads: &EngineReads<'_>,
    ) -> Result<Candidates, String> {
        let certified = &mut scratch.certified;
        let library = &mut scratch.library;
        let mut found = Candidates::without_bases(&self.index, &self.options, library, reads)?;
        let mut to_extend = Vec::new();
        for (at, read) in reads.pairs.iter().flatten().chain(&reads.singles).enumerate() {
            if certified.is_unknown(at) {
                to_extend.extend(found.put_searched(at, read)?);
                continue;
            }
            certified.codes(at, &mut scratch.codes);
            found.put_bases(at, &scratch.codes, read.qualities)?;
            if let Some(known) = &certified.known()[at] {
                found.put_region(at, self.region(known, 0.0))?;
            }
        }
        let chained = certified.chained().map(|(read, chains)| self.to_extend(read, chains));
        to_extend.extend(chained);
        found.extend(&self.index, &self.options, library, &mut to_extend)?;
        Ok(found)
    }
}

impl AlignmentEngine for BwaEngine {
    type Scratch = Scratch;
    type Candidates = Candidates;
    type Model = Model;

    fn scratch(&self) -> Result<Scratch, EngineError> {
        let library = library::Scratch::new().map_err(EngineError::Failed)?;
        Ok(Scratch { library, certified: Work::default(), codes: Vec::new() })
    }

    fn seed_extend(
        &self,
        scratch: &mut Scratch,
        reads: &EngineReads<'_>,
    ) -> Result<Candidates, EngineError> {
        if self.certify_reads(&mut scratch.certified, reads) {
            self.find_some(scratch, reads)
        } else {
            Candidates::find(&self.index, &self.options, &mut scratch.library, reads)
        }
        .map_err(EngineError::Failed)
    }

    fn infer_cohort(&self, candidates: &[Candidates]) -> Result<Model, EngineError> {
        match self.insert_size {
            Some(given) => Ok(given.model()),
            None => Candidates::infer(&self.index, &self.options, candidates)
                .map_err(EngineError::Failed),
        }
    }

    fn emit(
        &self,
        scratch: &mut Scratch,
        candidates: Candidates,
        model: Option<&Model>,
        ordinals: Ordinals,
        sink: &mut dyn RecordSink,
    ) -> Result<(), EngineError> {
        candidates
            .emit(&self.index, &self.options, &mut scratch.library, model, ordinals, sink)
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
