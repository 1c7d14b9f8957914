//! Where a read may align, and what becomes of several such places.
//!
//! A region is a local alignment without its path: an interval of the read, one of the reference,
//! and scores. Places are in *doubled* coordinates: the forward strand of all sequences, then its
//! reverse complement, so that a position past the middle is on the reverse strand.

pub(super) mod mapq;
pub(super) mod mark;
pub(super) mod merge;
pub(super) mod redundant;
pub(super) mod rescued;

use super::settings::Settings;

/// No region, where the number of one is.
pub(super) const NONE: i32 = -1;
/// In place of [`NONE`] for a secondary region that a pair made primary.
pub(super) const WAS_SECONDARY: i32 = -2;
/// In place of a number: secondary to a region of the first round that is none of the second.
pub(super) const OF_ALT: i32 = i32::MAX;

/// Where a read may align.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Region {
    /// First base of the reference, in doubled coordinates.
    pub(super) reference_start: i64,
    /// One past its last base.
    pub(super) reference_end: i64,
    /// Orders regions of one score.
    pub(super) hash: u64,
    /// First base of the read.
    pub(super) read_start: i32,
    /// One past its last base.
    pub(super) read_end: i32,
    /// Sequence of the reference.
    pub(super) sequence: i32,
    /// Best score of an extension, which may end before the read does.
    pub(super) score: i32,
    /// Score of the region itself.
    pub(super) true_score: i32,
    /// Score of the best region that competes, 0 if none does.
    pub(super) sub: i32,
    /// Score of the ALT region before which this one gives way, 0 if there is none.
    pub(super) alt_score: i32,
    /// Score of the second best alignment near this one, as rescue finds it.
    pub(super) tandem_score: i32,
    /// Competitors with nearly this score.
    pub(super) sub_count: i32,
    /// Band of the extension.
    pub(super) band: i32,
    /// The region that this one is secondary to, among those of its kind; or [`NONE`],
    /// [`WAS_SECONDARY`], [`OF_ALT`].
    pub(super) secondary: i32,
    /// The region that this one is secondary to, among all; or [`NONE`].
    pub(super) secondary_of_all: i32,
    /// Share of the read in seeds that occur too often.
    pub(super) repetitive: f32,
    /// On an ALT sequence.
    pub(super) is_alt: bool,
}

impl Region {
    /// Bases of the read.
    pub(super) fn read_span(&self) -> i32 {
        self.read_end - self.read_start
    }

    /// Bases of the reference.
    pub(super) fn reference_span(&self) -> i64 {
        self.reference_end - self.reference_start
    }

    /// Whether two regions share so much of the read that only one of them can be true.
    pub(super) fn competes_with(&self, other: &Self, settings: &Settings) -> bool {
        let start = self.read_start.max(other.read_start);
        let end = self.read_end.min(other.read_end);
        let shorter = self.read_span().min(other.read_span());
        end > start && (end - start) as f32 >= shorter as f32 * settings.mask_level
    }
}

/// The orientation of two reads: FF, FR, RF or RR, and how far apart their first bases are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MateDistance {
    /// Index into a model: 0 to 3 for FF, FR, RF and RR.
    pub(super) orientation: usize,
    pub(super) distance: i64,
}

impl MateDistance {
    /// Of reads that begin at two places of a reference of `bases`.
    pub(super) fn of(bases: u64, [first, second]: [i64; 2]) -> Self {
        let bases = bases as i64;
        let same_strand = (first >= bases) == (second >= bases);
        let second = if same_strand { second } else { 2 * bases - 1 - second };
        let strand = usize::from(!same_strand);
        let order = if second > first { 0 } else { 3 };
        Self { orientation: strand ^ order, distance: (second - first).abs() }
    }
}
