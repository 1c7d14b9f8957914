//! The command's options in the library's structure.

use std::str::FromStr;

use bwa_mem3_sys as sys;

use super::index::Options;
use super::pair::insert_size::{InsertSizes, Model};
use crate::certified::{ChainLimits, LEAST_SEED, Scoring};

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

impl BwaOptions {
    /// The library's options: bwa's defaults, then the preset, then what was given.
    pub(super) fn library(&self) -> Result<Options, String> {
        let mut options = Options::new()?;
        options.change(|o| {
            if self.preset == Some(Preset::Intractg) {
                (o.b, o.o_del, o.o_ins, o.pen_clip5, o.pen_clip3) = (9, 16, 16, 5, 5);
            }
            o.flag |= sys::MEM_F_PE as i32;
            for (wanted, flag) in [
                (self.soft_clip_supplementary, sys::MEM_F_SOFTCLIP),
                (self.mark_split_secondary, sys::MEM_F_NO_MULTI),
            ] {
                if wanted {
                    o.flag |= flag as i32;
                }
            }
            set(&mut o.min_seed_len, self.min_seed_length);
            set(&mut o.w, self.band_width);
            set(&mut o.max_occ, self.max_occurrences);
            set(&mut o.b, self.mismatch_penalty);
            set(&mut o.pen_unpaired, self.unpaired_penalty);
            set(&mut o.T, self.min_output_score);
            set_two([&mut o.o_del, &mut o.o_ins], self.gap_open);
            set_two([&mut o.e_del, &mut o.e_ins], self.gap_extend);
            set_two([&mut o.pen_clip5, &mut o.pen_clip3], self.clip_penalty);
            set_two([&mut o.max_XA_hits, &mut o.max_XA_hits_alt], self.xa_hits);
        });
        Ok(options)
    }
}

impl Options {
    /// What our own search and chains follow from. `None` where only the library searches: the
    /// table of strings is made for the least seeds of bwa's default.
    pub(super) fn chain_limits(&self) -> Option<ChainLimits> {
        let o = self.get();
        let most_occurrences = u64::try_from(o.max_occ).ok().filter(|&most| most > 0)?;
        let band = o.w.into();
        (o.min_seed_len == LEAST_SEED).then_some(ChainLimits { band, most_occurrences })
    }

    /// Scores for the certified path.
    ///
    /// # Errors
    /// Why it shows nothing with these options.
    pub(super) fn scoring(&self) -> Result<Scoring, &'static str> {
        let o = self.get();
        if o.min_seed_len != LEAST_SEED {
            return Err("-k is not 19");
        }
        if o.max_occ < 1 {
            return Err("-c is below 1");
        }
        let scoring = Scoring {
            matching: o.a,
            mismatch: o.b,
            open_deletion: o.o_del,
            extend_deletion: o.e_del,
            open_insertion: o.o_ins,
            extend_insertion: o.e_ins,
            clip: [o.pen_clip5, o.pen_clip3],
            band: o.w,
            most_occurrences: o.max_occ.unsigned_abs().into(),
        };
        scoring.refusal().map_or(Ok(scoring), Err)
    }
}

fn set(option: &mut i32, value: Option<i32>) {
    *option = value.unwrap_or(*option);
}

fn set_two([first, second]: [&mut i32; 2], values: Option<[i32; 2]>) {
    set(first, values.map(|[value, _]| value));
    set(second, values.map(|[_, value]| value));
}

impl InsertSize {
    /// As bwa's `-I`: only FR pairs are proper.
    pub(super) fn model(self) -> Model {
        let unused = InsertSizes { failed: true, ..InsertSizes::default() };
        let proper = InsertSizes {
            low: self.min_bp,
            high: self.max_bp,
            failed: false,
            mean: self.mean_bp,
            deviation: self.deviation_bp,
        };
        [unused, proper, unused, unused]
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
