//! bwa's options as the stages read them: defaults, preset and what was given.

use super::float::{log, truncated};
use super::options::{BwaOptions, Preset};

/// Score of a base that is not known.
pub(super) const UNKNOWN_SCORE: i32 = -1;

/// The code of the letter `-` in a read.
pub(super) const GAP: u8 = 5;

/// Whether there is a [`GAP`], the highest code, among some codes.
pub(super) fn has_gap(codes: &[u8]) -> bool {
    // All are looked at, many at once: there hardly ever is one.
    codes.iter().fold(0, |most, &code| most.max(code)) == GAP
}

/// Options by what they mean, with bwa's letters where it has any.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Settings {
    /// Score of a match.
    pub(super) matching: i32,
    /// Penalty of a mismatch (`-B`).
    pub(super) mismatch: i32,
    /// Score of a mismatch in alignments: 8 bits in bwa, so that `-B 200` is another.
    pub(super) mismatch_score: i32,
    /// Penalties of gaps.
    pub(super) gaps: GapPenalties,
    /// Penalties of clipped ends, 5' and 3' (`-L`).
    pub(super) clip_penalties: [i32; 2],
    /// An extension ends where its score has fallen by more than this below the best (z-drop).
    pub(super) z_drop: i32,
    /// Of a seed that occurs more often, only so many places are taken (`-c`).
    pub(super) most_occurrences: i32,
    /// Which seeds there are.
    pub(super) seeds: SeedOptions,
    /// Which chains are extended.
    pub(super) filter: FilterOptions,
    /// Penalty of an unpaired read pair (`-U`).
    pub(super) unpaired_penalty: i32,
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
    /// The share of a region's score below which another is not listed in XA.
    pub(super) xa_ratio: f32,
    /// The most hits in the XA of a record, and where one is on an ALT sequence (`-h`).
    pub(super) most_xa_hits: [i32; 2],
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
pub(super) struct GapPenalties {
    pub(super) open_deletion: i32,
    pub(super) extend_deletion: i32,
    pub(super) open_insertion: i32,
    pub(super) extend_insertion: i32,
}

/// bwa's options of the filter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct FilterOptions {
    /// Lighter chains are dropped at once (`-W`).
    pub(super) least_weight: i32,
    /// Share of the shorter of two spans from which they overlap each other (`mask_level`).
    pub(super) overlap: f32,
    /// Share of a weight below which another is much lighter (`-D`).
    pub(super) drop: f32,
    /// And by how much at the least, in bases.
    pub(super) lighter: i32,
    /// Spans so long do not count as lying over each other (`max_chain_gap`).
    pub(super) greatest_gap: i32,
    /// So many chains that overlap others are kept (`max_chain_extend`).
    pub(super) most_over_others: i32,
}

/// Options of bwa's three rounds of seeding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SeedOptions {
    /// Bases of the shortest seed (`-k`).
    pub(super) least_bases: usize,
    /// Seeds of round 1 with so many bases are looked into again by round 2 (`-r`) ...
    pub(super) reseeded_bases: usize,
    /// ... if they occur no more often than this (`split_width`).
    pub(super) reseeded_up_to: u64,
    /// A match that occurs less often than this is a seed of round 3 (`-y`); 0 for no such round.
    pub(super) third_below: u64,
}

/// What presets change.
#[derive(Debug, Clone, Copy)]
struct Defaults {
    least_seed: i32,
    least_weight: i32,
    reseeding_factor: f32,
    mismatch: i32,
    gap_open: i32,
    clip: i32,
}

impl Defaults {
    fn of(preset: Option<Preset>) -> Self {
        let usual = Self {
            least_seed: 19,
            least_weight: 0,
            reseeding_factor: 1.5,
            mismatch: 4,
            gap_open: 6,
            clip: 5,
        };
        let noisy = Self { reseeding_factor: 10.0, mismatch: 1, gap_open: 1, clip: 0, ..usual };
        match preset {
            None => usual,
            Some(Preset::Intractg) => Self { mismatch: 9, gap_open: 16, ..usual },
            Some(Preset::Pacbio) => Self { least_seed: 17, least_weight: 40, ..noisy },
            Some(Preset::Ont2d) => Self { least_seed: 14, least_weight: 20, ..noisy },
        }
    }
}

impl Settings {
    /// bwa's defaults, then the preset, then what was given.
    pub(super) fn new(options: &BwaOptions) -> Self {
        let preset = Defaults::of(options.preset);
        let mismatch = options.mismatch_penalty.unwrap_or(preset.mismatch);
        let open = options.gap_open.unwrap_or([preset.gap_open; 2]);
        let extend = options.gap_extend.unwrap_or([1; 2]);
        let least_seed = options.min_seed_length.unwrap_or(preset.least_seed);
        let reseeding = options.reseeding_factor.unwrap_or(preset.reseeding_factor);
        let drop_ratio = options.drop_ratio.unwrap_or(0.5);
        let chain_gap = 10_000;
        let quality_length: f32 = 50.0;
        Self {
            matching: 1,
            mismatch,
            mismatch_score: (-mismatch as i8).into(),
            gaps: GapPenalties {
                open_deletion: open[0],
                extend_deletion: extend[0],
                open_insertion: open[1],
                extend_insertion: extend[1],
            },
            clip_penalties: options.clip_penalty.unwrap_or([preset.clip; 2]),
            z_drop: options.z_drop.unwrap_or(100),
            most_occurrences: options.max_occurrences.unwrap_or(500),
            seeds: SeedOptions {
                least_bases: least_seed.max(1) as usize,
                reseeded_bases: truncated(f64::from(least_seed as f32 * reseeding) + 0.499)
                    as usize,
                reseeded_up_to: 10,
                third_below: options.third_round_occurrences.unwrap_or(20).max(0) as u64,
            },
            filter: FilterOptions {
                least_weight: options.min_chain_weight.unwrap_or(preset.least_weight),
                overlap: 0.5,
                drop: drop_ratio,
                lighter: least_seed << 1,
                greatest_gap: chain_gap,
                most_over_others: 1 << 30,
            },
            unpaired_penalty: options.unpaired_penalty.unwrap_or(17),
            band: options.band_width.unwrap_or(100),
            least_score: options.min_output_score.unwrap_or(30),
            least_seed,
            chain_gap,
            most_rescues: 50,
            largest_insert: 10_000,
            mask_level: 0.5,
            redundant_level: 0.95,
            drop_ratio,
            xa_ratio: 0.8,
            most_xa_hits: options.xa_hits.unwrap_or([5, 200]),
            quality_length,
            quality_factor: truncated(log(f64::from(quality_length))),
            soft_clips: options.soft_clip_supplementary,
            marks_secondary: options.mark_split_secondary,
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
    /// table has after the row of the base: the score of the next one against A.
    pub(super) fn score(&self, code: u8, base: u8) -> i32 {
        if code == base {
            self.matching
        } else if code < 4 || (code == GAP && base < 3) {
            self.mismatch_score
        } else {
            UNKNOWN_SCORE
        }
    }

    /// Score of two sequences of one length, base by base.
    pub(super) fn score_of(&self, codes: &[u8], bases: &[u8]) -> i32 {
        // Two plain counts, for which the compiler has instructions of many bases at once.
        let unknown = codes.iter().filter(|&&code| code > 3).count();
        if unknown > 0 {
            return codes.iter().zip(bases).map(|(&code, &base)| self.score(code, base)).sum();
        }
        let matches = codes.iter().zip(bases).filter(|(code, base)| code == base).count();
        matches as i32 * self.matching + (codes.len() - matches) as i32 * self.mismatch_score
    }

    /// Whether nothing but a match adds to a score.
    pub(super) fn only_matches_score(&self) -> bool {
        let gaps = &self.gaps;
        let opened = gaps.open_deletion.min(gaps.open_insertion);
        // Scores have 8 bits: a mismatch of high penalty may be worth something.
        let of_mismatch = self.score(0, 1);
        opened.min(gaps.extend_deletion).min(gaps.extend_insertion) >= 0
            && of_mismatch <= 0
            && self.matching > 0
    }

    /// What a competitor scores that was not looked for: the shortest seed.
    pub(super) fn unseen_score(&self) -> i32 {
        self.least_seed * self.matching
    }
}
