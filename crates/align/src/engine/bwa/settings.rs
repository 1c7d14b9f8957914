//! What the stages behind the regions read of bwa's options.

use bwa_mem3_sys as sys;

use super::chain::filter::FilterOptions;

/// Score of a base that is not known.
pub(super) const UNKNOWN_SCORE: i32 = -1;

/// The code of the letter `-` in a read.
pub(super) const GAP: u8 = 5;

/// Options by what they mean; bwa's names are in [`Settings::of`].
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Settings {
    /// Score of a match.
    pub(super) matching: i32,
    /// Price of a mismatch (`-B`).
    pub(super) mismatch: i32,
    /// Score of a mismatch in alignments: 8 bits in bwa, so that `-B 200` is another.
    pub(super) mismatch_score: i32,
    /// Prices of gaps.
    pub(super) gaps: GapPrices,
    /// Prices of clipped ends, 5' and 3' (`-L`).
    pub(super) clips: [i32; 2],
    /// An extension ends where its score has fallen by more than this below the best (z-drop).
    pub(super) drop: i32,
    /// Which chains are extended.
    pub(super) filter: FilterOptions,
    /// Price of a pair that is none (`-U`).
    pub(super) unpaired: i32,
    /// Band of extensions (`-w`).
    pub(super) band: i32,
    /// The lowest score that is written (`-T`).
    pub(super) least_score: i32,
    /// Bases of the shortest seed (`-k`).
    pub(super) least_seed: i32,
    /// The largest gap between seeds of a chain.
    pub(super) chain_gap: i32,
    /// Anchors of a mate from which the other is searched for, at most.
    pub(super) most_rescues: usize,
    /// The largest insert size that counts.
    pub(super) largest_insert: i32,
    /// The share of the shorter one by which two regions overlap that compete.
    pub(super) mask_level: f32,
    /// The share by which two regions overlap that are one.
    pub(super) redundant_level: f32,
    /// The share of a region's score below which a secondary one is dropped.
    pub(super) drop_ratio: f32,
    /// The share of a region's score below which another is no alternative.
    pub(super) alternative_ratio: f32,
    /// The most alternatives of a record, and where one lies on an ALT sequence (`-h`).
    pub(super) most_alternatives: [i32; 2],
    /// From this length on a MAPQ falls with the length.
    pub(super) quality_length: f32,
    /// How it falls: the logarithm of that length, as an integer.
    pub(super) quality_factor: i32,
    /// Supplementary records keep their clipped bases (`-Y`).
    pub(super) soft_clips: bool,
    /// Split hits are secondary, not supplementary (`-M`).
    pub(super) marks_secondary: bool,
}

/// What gaps cost: to open one, and for each of its bases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GapPrices {
    pub(super) open_deletion: i32,
    pub(super) extend_deletion: i32,
    pub(super) open_insertion: i32,
    pub(super) extend_insertion: i32,
}

impl Settings {
    /// Of bwa's options.
    pub(super) fn of(o: &sys::mem_opt_t) -> Self {
        let has = |flag: u32| o.flag & flag as i32 != 0;
        Self {
            matching: o.a,
            mismatch: o.b,
            mismatch_score: o.mat[1].into(),
            gaps: GapPrices {
                open_deletion: o.o_del,
                extend_deletion: o.e_del,
                open_insertion: o.o_ins,
                extend_insertion: o.e_ins,
            },
            clips: [o.pen_clip5, o.pen_clip3],
            drop: o.zdrop,
            filter: FilterOptions {
                least_weight: o.min_chain_weight,
                overlap: o.mask_level,
                drop: o.drop_ratio,
                lighter: o.min_seed_len << 1,
                greatest_gap: o.max_chain_gap,
                most_over_others: o.max_chain_extend,
            },
            unpaired: o.pen_unpaired,
            band: o.w,
            least_score: o.T,
            least_seed: o.min_seed_len,
            chain_gap: o.max_chain_gap,
            most_rescues: o.max_matesw.max(0) as usize,
            largest_insert: o.max_ins,
            mask_level: o.mask_level,
            redundant_level: o.mask_level_redun,
            drop_ratio: o.drop_ratio,
            alternative_ratio: o.XA_drop_ratio,
            most_alternatives: [o.max_XA_hits, o.max_XA_hits_alt],
            quality_length: o.mapQ_coef_len,
            quality_factor: o.mapQ_coef_fac,
            soft_clips: has(sys::MEM_F_SOFTCLIP),
            marks_secondary: has(sys::MEM_F_NO_MULTI),
        }
    }

    /// Two scores no further apart than this are of one event.
    pub(super) fn one_event(&self) -> i32 {
        let gaps = &self.gaps;
        (self.matching + self.mismatch)
            .max(gaps.open_deletion + gaps.extend_deletion)
            .max(gaps.open_insertion + gaps.extend_insertion)
    }

    /// The best score of two bases.
    pub(super) fn best_score(&self) -> i32 {
        self.matching.max(self.mismatch_score).max(UNKNOWN_SCORE)
    }

    /// Score of two bases, of which that of the reference is known. To [`GAP`] bwa gives what its
    /// table has behind the row of the base: the score of the next one against A.
    pub(super) fn score(&self, code: u8, base: u8) -> i32 {
        if code == base {
            self.matching
        } else if code < 4 || (code == GAP && base < 3) {
            self.mismatch_score
        } else {
            UNKNOWN_SCORE
        }
    }

    /// Score of two strings of one length, base by base.
    pub(super) fn score_of(&self, codes: &[u8], bases: &[u8]) -> i32 {
        codes.iter().zip(bases).map(|(&code, &base)| self.score(code, base)).sum()
    }

    /// What a competitor scores that was not looked for: the shortest seed.
    pub(super) fn unseen_score(&self) -> i32 {
        self.least_seed * self.matching
    }
}
