//! bwa's algorithm: its records, byte for byte (ERRATA.md lists the differences).
//!
//! The stages, each a module of its own, with the functions of bwa that they follow:
//!
//! | module | from | to | bwa |
//! |---|---|---|---|
//! | [`seed`] | reads | seeds: SMEMs, reseeding, third round | `mem_collect_intv` |
//! | [`chain`] | seeds | chains | `mem_chain` |
//! | [`chain`], `filter` | chains | those to be extended | `mem_chain_flt` |
//! | [`chain`], `long_reads` | their seeds | those that align | `mem_flt_chained_seeds` |
//! | [`extend`] | chains | regions: banded extension of seeds | `mem_chain2aln` |
//! | [`regions`] | regions | sorted, without redundant ones | `mem_sort_dedup_patch` |
//! | [`pair`] | regions of a cohort | its insert-size model | `mem_pestat` |
//! | [`rescue`] | regions of a batch | those of rescued mates, too | `mem_matesw` |
//! | [`regions`], `mark` | regions of a read | which are primary | `mem_mark_primary_se` |
//! | [`pair`] | regions of two mates | the best pair, MAPQs | `mem_pair`, `mem_sam_pe` |
//! | [`regions`], `mapq` | a region | its MAPQ as a single read | `mem_approx_mapq_se` |
//! | [`cigar`] | a region | its CIGAR, MD and NM | `mem_reg2aln` |
//! | [`record`], `xa` | secondary regions | the tag XA | `mem_gen_alt` |
//! | [`record`] | alignments | BAM records | `mem_aln2sam` |
//!
//! `filter` and `long_reads` are called by [`extend`], as it takes a read's chains. The regions of
//! a batch are its candidates ([`Candidates`]); from rescue on all is in [`emission`]. Reads whose
//! region follows from the reference alone ([`certified`]) skip [`seed`] to [`extend`]; those
//! whose chains alone do skip [`seed`] and the building of chains. Positions are in *doubled
//! coordinates* (see [`regions`]).

mod candidates;
mod certified;
mod chain;
mod cigar;
mod context;
mod differences;
mod emission;
mod extend;
mod float;
mod lanes;
mod local;
mod options;
mod order;
mod pair;
mod record;
mod reference;
mod regions;
mod rescue;
mod searches;
mod seed;
mod settings;

use std::path::Path;
use std::sync::{Arc, OnceLock};

pub use candidates::Candidates;
pub use certified::{CertifiedOutcome, CertifiedReads, WORKER_BYTES};
use context::Context;
use emission::{BatchCodes, CohortModel, EmitScratch, Emitter, SeededReads};
use extend::{ExtendedSeed, Extender, KnownChain};
pub use options::{BwaOptions, InsertSize, Preset};
use reference::Reference;
use settings::Settings;

use searches::Searches;
use seed::SearchIndex;

use crate::index::{
    FastTable, IndexError, IndexParts, IndexSource, KmerTable, Loaded, Readers, TableError,
};
use crate::search::rows::Rows;
use certified::{CertifiedPath, CertifiedScratch, KnownRegion, MainChain, Scoring};
use chain::occurrences::ChainLimits;

use super::{CohortEngine, EngineError, EngineReads, Read, RecordSink, SeededBatch};

/// Longest read that is aligned; longer ones are unmapped. Illumina reads are 1,000 times shorter.
const LONGEST_READ_BASES: usize = 65_536;

/// Longest k-mers of the engine's own k-mer table, used where no `PREFIX.fast` has one: it is made
/// in a few hundredths of a second, and fits the second cache.
const KMER_BASES: usize = 9;

/// A loaded index with its options.
pub struct BwaEngine {
    index: Loaded,
    names: Vec<Vec<u8>>,
    /// Who reads its files.
    readers: Readers,
    settings: Settings,
    insert_size: Option<InsertSize>,
    /// Where searches for seeds start: `PREFIX.fast`'s, or one made on first use.
    kmer_table: OnceLock<Arc<KmerTable>>,
    certified: Option<CertifiedPath>,
}

/// Working memory of one worker.
pub struct Scratch {
    certified: CertifiedScratch,
    searches: Searches,
    extender: Extender,
    /// Bases of the reads that are being emitted.
    batch_codes: BatchCodes,
    emission: EmitScratch,
}

impl Scratch {
    /// Rescues mates with so many lanes of 8 bits at most: 64 with AVX-512, 32 with AVX2, else 16.
    /// What comes out is the same; for measurements.
    pub fn limit_lanes(&mut self, most: usize) {
        self.emission.limit_lanes(most);
    }
}

/// Why the certified path is off.
#[derive(Debug, thiserror::Error)]
pub enum NotCertified {
    /// Its table cannot be used.
    #[error(transparent)]
    Table(#[from] TableError),
    /// It does not hold for these options.
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
            readers: source.readers,
            settings: Settings::new(options),
            insert_size: options.insert_size,
            kmer_table: OnceLock::new(),
            certified: None,
        })
    }

    /// Loads the table at `path`: from now on the certified path is tried on each read, and
    /// searches for the seeds of other reads start from its k-mers. The records are the same.
    /// `reads` counts the verdicts.
    ///
    /// # Errors
    /// Why the certified path stays off.
    pub fn certify(&mut self, path: &Path, reads: Arc<CertifiedReads>) -> Result<(), NotCertified> {
        let (IndexParts { packed, bases, .. }, crc) = (self.index.parts(), self.index.packed_crc());
        let table = Arc::new(FastTable::read(path, packed, crc, bases, self.readers)?);
        if table.kmer_table().kmer_bases() <= self.settings.seeds.least_bases {
            self.kmer_table = OnceLock::from(Arc::clone(table.kmer_table()));
        }
        let scoring = Scoring::of(&self.settings).map_err(NotCertified::Options)?;
        self.certified = Some(CertifiedPath::new(table, scoring, reads));
        Ok(())
    }

    /// Why the samples of `PREFIX.tsa`, which is there, are not used. The records are the same.
    pub fn text_samples_unused(&self) -> Option<&TableError> {
        self.index.text_samples_unused()
    }

    /// Memory of the engine's own k-mer table, for a reference of so many bases.
    pub fn kmer_table_bytes(bases: u64) -> u64 {
        KmerTable::size_bytes(KmerTable::bases_for(bases, KMER_BASES))
    }

    fn reference(&self) -> Reference<'_> {
        let IndexParts { packed, bases, .. } = self.index.parts();
        Reference { packed, bases, sequences: self.index.sequences(), names: &self.names }
    }

    /// Certifies what reads it can; the regions are then in `scratch`.
    fn certify_reads(&self, scratch: &mut CertifiedScratch, all: &[&Read<'_>]) {
        match &self.certified {
            Some(path) => path.certify(self.index.view(), all.iter().copied(), scratch),
            None => scratch.reset(all.len()),
        }
    }

    /// What bwa would have found.
    fn extended(&self, known: &KnownRegion) -> ExtendedSeed {
        let start = known.position as i64 + known.bases[0] as i64;
        ExtendedSeed {
            reference_start: start,
            reference_end: start + (known.bases[1] - known.bases[0]) as i64,
            read_start: known.bases[0] as i32,
            read_end: known.bases[1] as i32,
            sequence: known.sequence as i32,
            score: known.score,
            true_score: known.true_score,
            band: self.settings.band,
            seed_bases: known.seed_bases as i32,
        }
    }

    fn kmer_table(&self) -> &KmerTable {
        self.kmer_table.get_or_init(|| {
            let IndexParts { bases, .. } = self.index.parts();
            let most = KMER_BASES.min(self.settings.seeds.least_bases);
            Arc::new(Rows::new(self.index.parts()).kmer_table(KmerTable::bases_for(bases, most)))
        })
    }

    /// Finds the seeds of the reads that are not certified.
    fn find_seeds(&self, all: &[&Read<'_>], certified: &CertifiedScratch, searches: &mut Searches) {
        let unknown = all.iter().enumerate().filter(|&(number, _)| certified.is_unknown(number));
        let seeds = self.settings.seeds;
        unknown.for_each(|(number, read)| searches.add(number, read.bases, seeds.least_bases));
        searches.find(seeds, &SearchIndex::new(self.index.parts(), self.kmer_table()));
    }

    /// Finds the regions of the reads that are not certified.
    fn find_regions(
        &self,
        all: &[&Read<'_>],
        certified: &mut CertifiedScratch,
        searches: &mut Searches,
        extender: &mut Extender,
    ) {
        let (rows, reference) = (Rows::new(self.index.parts()), self.reference());
        let context = Context { settings: &self.settings, reference: &reference };
        let append_codes = |number: usize| {
            let bases: &[u8] = all[number].bases;
            move |out: &mut Vec<u8>| seed::append_codes(bases, out)
        };
        extender.clear(all.len());
        let Some(limits) = ChainLimits::of(&self.settings) else { return };
        let mut looked_up = certified.rows();
        for (read, chains) in certified.chained() {
            let known = |main: MainChain| KnownChain {
                chain: main.number,
                extended: self.extended(&main.region),
            };
            let known = read.main.map(known);
            extender.add(read.number, append_codes(read.number), chains, known, context);
        }
        while let Some(some) = searches.chain_some(self.index.view(), &rows, limits, looked_up) {
            for (number, chains) in some {
                extender.add(number, append_codes(number), chains, None, context);
            }
            looked_up = 0;
        }
        extender.extend(context);
    }
}

impl CohortEngine for BwaEngine {
    type Scratch = Scratch;
    type Candidates = Candidates;
    type Model = CohortModel;

    fn scratch(&self) -> Result<Scratch, EngineError> {
        Ok(Scratch {
            certified: CertifiedScratch::default(),
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
        let regions = certified.known().iter().flatten().count() + extender.count();
        let mut candidates = Candidates::with_capacity(2 * reads.pairs.len(), all.len(), regions);
        for (number, known) in certified.known().iter().enumerate() {
            match known {
                Some(known) => candidates.push(&[self.extended(known).region(0.0)]),
                None => candidates.push(extender.found(number)),
            }
        }
        Ok(candidates)
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
        let batch = SeededReads { candidates: &candidates, reads, codes: &scratch.batch_codes };
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
