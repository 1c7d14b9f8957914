//! bwa's algorithm, in process, through crate `bwa-mem3-rs`.
//!
//! Records equal bwa 0.7.17's (ERRATA.md lists the differences). The crate's C++ library prints,
//! reads environment variables and may abort: see [`fence`](super::fence), and
//! [`index::check`](crate::index) for what is verified before it opens a file.

use std::path::Path;
use std::str::FromStr;

use bwa_mem3_rs as crate_api;
use crate_api::{
    AlignScratch, AlnRegs, BwaIndex, IdBases, MemOpts, MemPeStat, Mode, PeOrient, PeOrientation,
    ReadBatch, ReadPair, RecordOrigin, SingleRead,
};

use super::{
    AlignmentEngine, EngineError, EngineReads, Ordinals, Origin, Read, RecordSink, lockstep,
};

/// Longest read handed to the library. A noisy read of 200 kb makes it abort, one of 100 kb does
/// not but takes seconds; Illumina reads are 1,000 times shorter.
const LONGEST_READ_BASES: usize = 65_536;

/// The library reports what it asked for; the heap holds more (rounding, headers). Measured with
/// glibc's: 1.17 times for 2x150, 1.21 for 2x50. With mimalloc it is less: runs at the floor of
/// `-m` peak at three quarters of it.
const HELD_PER_REPORTED_PERCENT: u64 = 130;

/// Options with bwa's letters; `None` is bwa's default.
#[derive(Debug, Clone, Default)]
pub struct BwaOptions {
    /// `-k`: minimum seed length.
    pub min_seed_length: Option<i32>,
    /// `-w`: band width.
    pub band_width: Option<i32>,
    /// `-c`: skip seeds with more occurrences.
    pub max_occurrences: Option<i32>,
    /// `-B`: mismatch penalty.
    pub mismatch_penalty: Option<i32>,
    /// `-O`: gap open penalties, deletion and insertion.
    pub gap_open: Option<[i32; 2]>,
    /// `-E`: gap extension penalties, deletion and insertion.
    pub gap_extend: Option<[i32; 2]>,
    /// `-L`: clipping penalties, 5' and 3'.
    pub clip_penalty: Option<[i32; 2]>,
    /// `-U`: penalty of an unpaired read pair.
    pub unpaired_penalty: Option<i32>,
    /// `-T`: minimum score to output.
    pub min_output_score: Option<i32>,
    /// `-h`: XA hits, primary and ALT.
    pub xa_hits: Option<[i32; 2]>,
    /// `-Y`: soft-clip supplementary alignments.
    pub soft_clip_supplementary: bool,
    /// `-M`: mark shorter split hits as secondary.
    pub mark_split_secondary: bool,
    /// `-x`: read type preset.
    pub preset: Option<Preset>,
    /// `-I`: insert-size distribution instead of the inferred one.
    pub insert_size: Option<InsertSize>,
}

/// bwa's `-x` presets, as far as the crate can set what they set. Those for long noisy reads are
/// not among them: they need `-W` (`min_chain_weight`), for which the crate has no setter, and its
/// own presets of these names leave out `-W` and `-L` and change `-r` and `-T`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preset {
    /// Contigs of the same species: `-B 9 -O 16 -L 5`.
    Intractg,
}

/// bwa's `-I`: FR insert sizes in bp.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InsertSize {
    /// Mean.
    pub mean_bp: f64,
    /// Standard deviation; bwa's default is 10 % of the mean.
    pub deviation_bp: f64,
    /// Largest; bwa's default is 4 deviations above the mean.
    pub max_bp: i32,
    /// Smallest; bwa's default is 4 deviations below the mean.
    pub min_bp: i32,
}

impl FromStr for InsertSize {
    type Err = String;

    /// `mean[,deviation[,max[,min]]]` with bwa's defaults: deviation 10 % of the mean, limits 4
    /// deviations away.
    fn from_str(text: &str) -> Result<Self, String> {
        let refuse = || "must be mean[,deviation[,max[,min]]]".to_owned();
        let values: Vec<f64> =
            text.split(',').map(str::parse).collect::<Result<_, _>>().map_err(|_| refuse())?;
        let [mean_bp, ref rest @ ..] = values[..] else { return Err(refuse()) };
        if rest.len() > 3 || !values.iter().all(|v| v.is_finite() && (0.0..1e9).contains(v)) {
            return Err(refuse());
        }
        let deviation_bp = rest.first().copied().unwrap_or(0.1 * mean_bp);
        let max_bp = rest.get(1).copied().unwrap_or(mean_bp + 4.0 * deviation_bp + 0.499);
        let min_bp = rest.get(2).copied();
        let min_bp = min_bp.unwrap_or((mean_bp - 4.0 * deviation_bp + 0.499).max(1.0));
        Ok(Self { mean_bp, deviation_bp, max_bp: max_bp as i32, min_bp: min_bp as i32 })
    }
}

/// A loaded index with its options.
pub struct BwaEngine {
    index: BwaIndex,
    options: MemOpts,
    insert_size: Option<InsertSize>,
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
        let shown = prefix.display().to_string();
        lockstep::fit_to_processor();
        let index = BwaIndex::load_with_threads(prefix, threads)
            .map_err(|e| EngineError::Load { prefix: shown.clone(), message: e.to_string() })?;
        // The library may attach to a shared-memory index of the same file name.
        let loaded = index.contigs().map(|(name, bases)| (name.to_owned(), bases as u64));
        if !loaded.eq(contigs.iter().cloned()) {
            let message = "its sequences differ from PREFIX.ann".to_owned();
            return Err(EngineError::WrongIndex { prefix: shown, message });
        }
        Ok(Self { index, options: library_options(options)?, insert_size: options.insert_size })
    }
}

fn library_options(options: &BwaOptions) -> Result<MemOpts, EngineError> {
    let mut o = MemOpts::new().map_err(|e| EngineError::Failed(e.to_string()))?;
    if options.preset == Some(Preset::Intractg) {
        o = o.with_mode(Mode::Intractg);
    }
    o.set_pe(true)
        .set_soft_clip_supplementary(options.soft_clip_supplementary)
        .set_mark_split_secondary(options.mark_split_secondary);
    type Setter = fn(&mut MemOpts, i32) -> &mut MemOpts;
    let scalars: [(Option<i32>, Setter); 6] = [
        (options.min_seed_length, MemOpts::set_min_seed_len),
        (options.band_width, MemOpts::set_band_width),
        (options.max_occurrences, MemOpts::set_max_occurrences),
        (options.mismatch_penalty, MemOpts::set_mismatch_penalty),
        (options.unpaired_penalty, MemOpts::set_unpaired_penalty),
        (options.min_output_score, MemOpts::set_minimum_score),
    ];
    for (value, set) in scalars {
        if let Some(value) = value {
            set(&mut o, value);
        }
    }
    if let Some([deletion, insertion]) = options.gap_open {
        o.set_gap_open(deletion, insertion);
    }
    if let Some([deletion, insertion]) = options.gap_extend {
        o.set_gap_extend(deletion, insertion);
    }
    if let Some([five, three]) = options.clip_penalty {
        o.set_clip_penalty(five, three);
    }
    if let Some([primary, alt]) = options.xa_hits {
        o.set_xa_max_hits(primary, alt);
    }
    Ok(o)
}

impl AlignmentEngine for BwaEngine {
    type Scratch = AlignScratch;
    type Candidates = AlnRegs;
    type Model = MemPeStat;

    fn scratch(&self) -> Result<AlignScratch, EngineError> {
        AlignScratch::new().map_err(failed)
    }

    fn seed_extend(
        &self,
        scratch: &mut AlignScratch,
        reads: &EngineReads<'_>,
    ) -> Result<AlnRegs, EngineError> {
        let pairs: Vec<_> = reads.pairs.iter().map(library_pair).collect();
        let singles: Vec<_> = reads.singles.iter().map(library_single).collect();
        let batch = ReadBatch { pairs: &pairs, singles: &singles };
        crate_api::seed_extend(&self.index, &self.options, scratch, &batch).map_err(failed)
    }

    fn infer_cohort(&self, candidates: &[AlnRegs]) -> Result<MemPeStat, EngineError> {
        match self.insert_size {
            Some(given) => given_model(given).map_err(failed),
            None => MemPeStat::infer_cohort(&self.index, &self.options, candidates).map_err(failed),
        }
    }

    fn emit(
        &self,
        scratch: &mut AlignScratch,
        candidates: AlnRegs,
        model: Option<&MemPeStat>,
        ordinals: Ordinals,
        sink: &mut dyn RecordSink,
    ) -> Result<(), EngineError> {
        let ids =
            IdBases { first_single_id: ordinals.first_single, first_pair_id: ordinals.first_pair };
        let mut sink = LibrarySink(sink);
        crate_api::pair_emit(&self.index, &self.options, scratch, candidates, model, ids, &mut sink)
            .map_err(failed)
    }

    fn held_bytes(&self, candidates: &AlnRegs) -> u64 {
        candidates.heap_bytes() as u64 * HELD_PER_REPORTED_PERCENT / 100
    }

    fn longest_read_bases(&self) -> usize {
        LONGEST_READ_BASES
    }
}

/// As bwa's `-I`: only FR pairs are proper.
fn given_model(given: InsertSize) -> crate_api::Result<MemPeStat> {
    let mut model = MemPeStat::zero()?;
    let unused = PeOrient { failed: true, ..PeOrient::default() };
    for orientation in [PeOrientation::Ff, PeOrientation::Rf, PeOrientation::Rr] {
        model.set_orientation(orientation, unused);
    }
    let proper = PeOrient {
        low: given.min_bp,
        high: given.max_bp,
        failed: false,
        avg: given.mean_bp,
        std: given.deviation_bp,
    };
    model.set_orientation(PeOrientation::Fr, proper);
    Ok(model)
}

fn failed(error: crate_api::Error) -> EngineError {
    EngineError::Failed(error.to_string())
}

fn library_single<'a>(read: &Read<'a>) -> SingleRead<'a> {
    SingleRead { name: read.name, seq: read.bases, qual: read.qualities }
}

fn library_pair<'a>([first, second]: &[Read<'a>; 2]) -> ReadPair<'a> {
    ReadPair {
        name_r1: first.name,
        seq_r1: first.bases,
        qual_r1: first.qualities,
        name_r2: second.name,
        seq_r2: second.bases,
        qual_r2: second.qualities,
    }
}

struct LibrarySink<'a>(&'a mut dyn RecordSink);

impl crate_api::RecordSink for LibrarySink<'_> {
    fn emit(&mut self, origin: RecordOrigin, body: &[u8]) {
        let origin = match origin {
            RecordOrigin::Pair(index) => Origin::Pair(index),
            RecordOrigin::Single(index) => Origin::Single(index),
        };
        self.0.record(origin, body);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn insert_size_has_bwas_defaults() {
        let given: InsertSize = "400".parse().unwrap();
        assert_eq!((given.deviation_bp, given.max_bp, given.min_bp), (40.0, 560, 240));
        let given: InsertSize = "400,50,900,100".parse().unwrap();
        assert_eq!((given.deviation_bp, given.max_bp, given.min_bp), (50.0, 900, 100));
        for bad in ["", "x", "1,2,3,4,5", "-3"] {
            assert!(bad.parse::<InsertSize>().is_err(), "{bad}");
        }
    }
}
