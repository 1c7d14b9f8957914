//! bwa's algorithm: its records, byte for byte (ERRATA.md lists the differences).
//!
//! A batch of reads goes through stages, each a room of its own: [`seed`] finds exact matches,
//! [`chain`] puts those that lie together in chains, [`extend`] makes alignments of chains, which
//! [`regions`] puts in order. These are the candidates. From those of a cohort [`pair`] learns how
//! far mates lie apart; then, batch by batch ([`emission`]), [`rescue`] looks for lost mates,
//! [`pair`] chooses, [`cigar`] finds paths, and [`record`] writes. Reads of which
//! [`certified`] knows the region skip the first three.

mod batch;
pub mod certified;
mod chain;
mod cigar;
mod emission;
mod extend;
mod float;
mod lanes;
mod options;
mod order;
mod pair;
mod record;
mod reference;
mod regions;
mod rescue;
mod seed;
mod settings;

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Arc, OnceLock};

pub use batch::Candidates;
use emission::{Batch, BatchCodes, CohortModel, EmitScratch, Emitter};
use extend::{Basis, Extended, Extender, KnownChain};
pub use options::{BwaOptions, InsertSize, Preset};
use reference::Reference;
use settings::Settings;

use seed::Searches;

use crate::index::{
    FastTable, FastTableError, IndexError, IndexParts, IndexSource, Loaded, Starts,
};
use crate::search::rows::Rows;
use certified::{CertifiedPath, CertifiedReads, Known, MainChain, Tables, Work};

use super::{CohortEngine, EngineError, EngineReads, Read, RecordSink, SeededBatch};

/// Longest read that is aligned; longer ones are unmapped. Illumina reads are 1,000 times shorter.
const LONGEST_READ_BASES: usize = 65_536;

/// Strings with which searches begin have so many bases at most, where no table has their rows:
/// these are found in a few hundredths of a second, and fit the second cache.
const START_BASES: usize = 9;

/// A loaded index with its options.
pub struct BwaEngine {
    index: Loaded,
    names: Vec<Vec<u8>>,
    /// Threads that read its files.
    threads: NonZeroUsize,
    settings: Settings,
    insert_size: Option<InsertSize>,
    /// With which searches for seeds begin: of the table, or of our own once they are needed.
    starts: OnceLock<Arc<Starts>>,
    certified: Option<CertifiedPath>,
}

/// Working memory of one worker.
pub struct Scratch {
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
    /// Loads an index.
    ///
    /// # Errors
    /// A file cannot be read, or is not the one that was checked.
    pub fn load(source: IndexSource<'_>, options: &BwaOptions) -> Result<Self, IndexError> {
        let names =
            source.info.contigs.iter().map(|contig| contig.name.clone().into_bytes()).collect();
        Ok(Self {
            index: Loaded::read(source)?,
            names,
            threads: source.threads,
            settings: Settings::new(options),
            insert_size: options.insert_size,
            starts: OnceLock::new(),
            certified: None,
        })
    }

    /// Loads the table at `path`, and takes regions from it from now on where it can be shown what
    /// they are, and searches for the seeds of other reads by it. The records are the same. `reads`
    /// counts what becomes of the reads.
    ///
    /// # Errors
    /// Why no regions are taken.
    pub fn certify(&mut self, path: &Path, reads: Arc<CertifiedReads>) -> Result<(), NotCertified> {
        let parts = self.index.parts();
        let table = Arc::new(FastTable::read(path, parts.packed, parts.bases, self.threads)?);
        if table.starts().string_bases() <= self.settings.seeds.least_bases {
            self.starts = OnceLock::from(Arc::clone(table.starts()));
        }
        let scoring = self.settings.scoring().map_err(NotCertified::Options)?;
        self.certified = Some(CertifiedPath::new(table, scoring, reads));
        Ok(())
    }

    /// Most memory that is taken beside a table and an index of so many bases.
    pub fn starts_bytes(bases: u64) -> u64 {
        Starts::size_bytes(Starts::bases_for(bases, START_BASES))
    }

    fn reference(&self) -> Reference<'_> {
        let IndexParts { packed, bases, .. } = self.index.parts();
        Reference { packed, bases, sequences: self.index.sequences(), names: &self.names }
    }

    /// Finds out what is known of the reads, which is then in `work`.
    fn certify_reads(&self, work: &mut Work, all: &[&Read<'_>]) {
        match &self.certified {
            Some(path) => path.certify(self.index.view(), all.iter().copied(), work),
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

    fn starts(&self) -> &Starts {
        self.starts.get_or_init(|| {
            let IndexParts { bases, .. } = self.index.parts();
            let most = START_BASES.min(self.settings.seeds.least_bases);
            Arc::new(Rows::new(self.index.parts()).starts(Starts::bases_for(bases, most)))
        })
    }

    /// Finds the seeds of the reads of which nothing is known.
    fn find_seeds(&self, all: &[&Read<'_>], certified: &Work, searches: &mut Searches) {
        let unknown = all.iter().enumerate().filter(|&(number, _)| certified.is_unknown(number));
        let seeds = self.settings.seeds;
        unknown.for_each(|(number, read)| searches.add(number, read.bases, seeds.least_bases));
        searches.find(seeds, &Tables::new(self.index.parts(), self.starts()));
    }

    /// Finds the regions of the reads whose region is not known.
    fn find_regions(
        &self,
        all: &[&Read<'_>],
        certified: &mut Work,
        searches: &mut Searches,
        extender: &mut Extender,
    ) {
        let (rows, reference) = (Rows::new(self.index.parts()), self.reference());
        let basis = Basis { settings: &self.settings, reference: &reference };
        let put_codes = |number: usize| {
            let bases: &[u8] = all[number].bases;
            move |out: &mut Vec<u8>| out.extend(bases.iter().map(|&letter| seed::code_of(letter)))
        };
        extender.clear(all.len());
        let Some(limits) = self.settings.chain_limits() else { return };
        let mut looked_up = certified.rows();
        for (read, chains) in certified.chained() {
            let known = |main: MainChain| KnownChain {
                chain: main.number,
                extended: self.extended(&main.region, chains.repetitive),
            };
            let known = read.main.map(known);
            extender.add(read.number, put_codes(read.number), chains, known, basis);
        }
        while let Some(some) = searches.chain_some(self.index.view(), &rows, limits, looked_up) {
            for (number, chains) in some {
                extender.add(number, put_codes(number), chains, None, basis);
            }
            looked_up = 0;
        }
        extender.extend(basis);
    }
}

impl CohortEngine for BwaEngine {
    type Scratch = Scratch;
    type Candidates = Candidates;
    type Model = CohortModel;

    fn scratch(&self) -> Result<Scratch, EngineError> {
        Ok(Scratch {
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
        let Scratch { certified, searches, extender, .. } = scratch;
        let all: Vec<_> = reads.pairs.iter().flatten().chain(&reads.singles).collect();
        self.certify_reads(certified, &all);
        searches.clear();
        self.find_seeds(&all, certified, searches);
        self.find_regions(&all, certified, searches, extender);
        let mut candidates = Candidates::of_pairs(2 * reads.pairs.len());
        for (number, known) in certified.known().iter().enumerate() {
            match known {
                Some(known) => candidates.push([self.extended(known, 0.0).region]),
                None => candidates.push(extender.found(number).iter().copied()),
            }
        }
        Ok(candidates.complete())
    }

    fn infer_cohort(&self, candidates: &[Candidates]) -> Result<CohortModel, EngineError> {
        let bases = self.reference().bases;
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
        let (settings, reference) = (&self.settings, &self.reference());
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
mod check_tests;
#[cfg(test)]
mod emission_tests;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod search_tests;
