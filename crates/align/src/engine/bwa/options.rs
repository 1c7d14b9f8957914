//! bwa's options, as the command has them.

use std::str::FromStr;

/// Options with bwa's letters; `None` is bwa's default.
#[derive(Debug, Clone, Default)]
pub struct BwaOptions {
    /// `-k`: minimum seed length.
    pub min_seed_length: Option<i32>,
    /// `-w`: band width.
    pub band_width: Option<i32>,
    /// `-c`: skip seeds with more occurrences.
    pub max_occurrences: Option<i32>,
    /// `-r`: a seed longer than this many least seeds is looked into for shorter ones.
    pub reseeding_factor: Option<f32>,
    /// `-y`: a match with fewer occurrences is a seed of the third round; 0 for no such round.
    pub third_round_occurrences: Option<i32>,
    /// `-W`: bases in the seeds of a chain, at the least.
    pub min_chain_weight: Option<i32>,
    /// `-D`: a chain, or a secondary alignment, below this share of an overlapping better one is
    /// dropped.
    pub drop_ratio: Option<f32>,
    /// `-d`: an extension ends where its score has fallen by more than this (z-drop).
    pub z_drop: Option<i32>,
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

/// bwa's `-x` presets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preset {
    /// Contigs of the same species: `-B 9 -O 16 -L 5`.
    Intractg,
    /// Noisy long reads of Pacific Biosciences: `-k 17 -W 40 -r 10 -B 1 -O 1 -E 1 -L 0`.
    Pacbio,
    /// Noisy long reads of Oxford Nanopore: `-k 14 -W 20 -r 10 -B 1 -O 1 -E 1 -L 0`.
    Ont2d,
}

/// bwa's `-I`: FR insert sizes in bp.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InsertSize {
    /// Mean of the distribution.
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
