//! The command's options in the library's structure, and the settings that follow from it.

use bwa_mem3_sys as sys;

use super::super::options::{BwaOptions, Preset};
use super::super::settings::{GapPenalties, Settings};
use super::index::Options;
use crate::engine::bwa::settings::{FilterOptions, SeedOptions};

impl BwaOptions {
    /// The library's options: bwa's defaults, then the preset, then what was given.
    pub(in super::super) fn library(&self) -> Result<Options, String> {
        let mut options = Options::new()?;
        options.change(|o| {
            match self.preset {
                None => {}
                Some(Preset::Intractg) => {
                    (o.b, o.o_del, o.o_ins, o.pen_clip5, o.pen_clip3) = (9, 16, 16, 5, 5);
                }
                Some(noisy) => {
                    (o.b, o.o_del, o.o_ins, o.pen_clip5, o.pen_clip3) = (1, 1, 1, 0, 0);
                    o.split_factor = 10.0;
                    (o.min_seed_len, o.min_chain_weight) = match noisy {
                        Preset::Pacbio => (17, 40),
                        _ => (14, 20),
                    };
                }
            }
            o.split_factor = self.reseeding_factor.unwrap_or(o.split_factor);
            o.drop_ratio = self.drop_ratio.unwrap_or(o.drop_ratio);
            o.max_mem_intv =
                self.third_round_occurrences.map_or(o.max_mem_intv, |below| below as u64);
            set(&mut o.min_chain_weight, self.min_chain_weight);
            set(&mut o.zdrop, self.z_drop);
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

impl Settings {
    /// Of the library's options.
    pub(in super::super) fn of(o: &sys::mem_opt_t) -> Self {
        let has = |flag: u32| o.flag & flag as i32 != 0;
        Self {
            matching: o.a,
            mismatch: o.b,
            mismatch_score: o.mat[1].into(),
            gaps: GapPenalties {
                open_deletion: o.o_del,
                extend_deletion: o.e_del,
                open_insertion: o.o_ins,
                extend_insertion: o.e_ins,
            },
            clip_penalties: [o.pen_clip5, o.pen_clip3],
            z_drop: o.zdrop,
            most_occurrences: o.max_occ,
            seeds: SeedOptions {
                least_bases: o.min_seed_len.max(1) as usize,
                reseeded_bases: (f64::from(o.min_seed_len as f32 * o.split_factor) + 0.499)
                    as usize,
                reseeded_up_to: o.split_width as u64,
                third_below: o.max_mem_intv,
            },
            filter: FilterOptions {
                least_weight: o.min_chain_weight,
                overlap: o.mask_level,
                drop: o.drop_ratio,
                lighter: o.min_seed_len << 1,
                greatest_gap: o.max_chain_gap,
                most_over_others: o.max_chain_extend,
            },
            unpaired_penalty: o.pen_unpaired,
            band: o.w,
            least_score: o.T,
            least_seed: o.min_seed_len,
            chain_gap: o.max_chain_gap,
            most_rescues: o.max_matesw.max(0) as usize,
            largest_insert: o.max_ins,
            mask_level: o.mask_level,
            redundant_level: o.mask_level_redun,
            drop_ratio: o.drop_ratio,
            xa_ratio: o.XA_drop_ratio,
            most_xa_hits: [o.max_XA_hits, o.max_XA_hits_alt],
            quality_length: o.mapQ_coef_len,
            quality_factor: o.mapQ_coef_fac,
            soft_clips: has(sys::MEM_F_SOFTCLIP),
            marks_secondary: has(sys::MEM_F_NO_MULTI),
        }
    }
}

fn set(option: &mut i32, value: Option<i32>) {
    *option = value.unwrap_or(*option);
}

fn set_two([first, second]: [&mut i32; 2], values: Option<[i32; 2]>) {
    set(first, values.map(|[value, _]| value));
    set(second, values.map(|[_, value]| value));
}

#[test]
fn settings_are_those_of_the_library() {
    let options = BwaOptions::default;
    let all = [
        options(),
        BwaOptions { preset: Some(Preset::Intractg), ..options() },
        BwaOptions { preset: Some(Preset::Intractg), gap_open: Some([7, 8]), ..options() },
        BwaOptions { min_seed_length: Some(23), max_occurrences: Some(7), ..options() },
        BwaOptions { mismatch_penalty: Some(200), gap_extend: Some([2, 3]), ..options() },
        BwaOptions { clip_penalty: Some([1, 2]), band_width: Some(9), ..options() },
        BwaOptions { unpaired_penalty: Some(3), min_output_score: Some(4), ..options() },
        BwaOptions { xa_hits: Some([1, 2]), soft_clip_supplementary: true, ..options() },
        BwaOptions { mark_split_secondary: true, ..options() },
        BwaOptions { preset: Some(Preset::Pacbio), ..options() },
        BwaOptions { preset: Some(Preset::Ont2d), gap_extend: Some([2, 2]), ..options() },
        BwaOptions { reseeding_factor: Some(2.3), third_round_occurrences: Some(0), ..options() },
        BwaOptions { min_chain_weight: Some(30), drop_ratio: Some(0.7), ..options() },
        BwaOptions { z_drop: Some(10), ..options() },
    ];
    for options in all {
        let library = options.library().unwrap();
        assert_eq!(Settings::new(&options), Settings::of(library.get()), "{options:?}");
    }
}
