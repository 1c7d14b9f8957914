//! A place where a read may align: a local alignment without its path.

use crate::engine::bwa::settings::Settings;

/// No region, where the number of one is.
pub(in super::super) const NONE: i32 = -1;
/// In place of [`NONE`] for a secondary region that a pair made primary.
pub(in super::super) const WAS_SECONDARY: i32 = -2;
/// In place of a number: secondary to a region of the first round that is none of the second.
pub(in super::super) const OF_ALT: i32 = i32::MAX;

/// Where a read may align.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(in super::super) struct Region {
    /// First base of the reference, in doubled coordinates.
    pub(in super::super) reference_start: i64,
    /// One past its last base.
    pub(in super::super) reference_end: i64,
    /// Orders regions of one score.
    pub(in super::super) hash: u64,
    /// First base of the read.
    pub(in super::super) read_start: i32,
    /// One past its last base.
    pub(in super::super) read_end: i32,
    /// Sequence of the reference.
    pub(in super::super) sequence: i32,
    /// Best score of an extension, which may end before the read does.
    pub(in super::super) score: i32,
    /// Score of the region itself.
    pub(in super::super) true_score: i32,
    /// Score of the best region that competes, 0 if none does.
    pub(in super::super) sub: i32,
    /// Score of the ALT region before which this one gives way, 0 if there is none.
    pub(in super::super) alt_score: i32,
    /// Score of the second best alignment near this one, as rescue finds it.
    pub(in super::super) tandem_score: i32,
    /// Competitors with nearly this score.
    pub(in super::super) sub_count: i32,
    /// Band of the extension.
    pub(in super::super) band: i32,
    /// The region that this one is secondary to, among those of its kind; or [`NONE`],
    /// [`WAS_SECONDARY`], [`OF_ALT`].
    pub(in super::super) secondary: i32,
    /// The region that this one is secondary to, among all; or [`NONE`].
    pub(in super::super) secondary_of_all: i32,
    /// Share of the read in seeds that occur too often.
    pub(in super::super) repetitive: f32,
    /// On an ALT sequence.
    pub(in super::super) is_alt: bool,
}

impl Region {
    /// Bases of the read.
    pub(in super::super) fn read_span(&self) -> i32 {
        self.read_end - self.read_start
    }

    /// Bases of the reference.
    pub(in super::super) fn reference_span(&self) -> i64 {
        self.reference_end - self.reference_start
    }

    /// Whether two regions share so much of the read that only one of them can be true.
    pub(in super::super) fn competes_with(&self, other: &Self, settings: &Settings) -> bool {
        let start = self.read_start.max(other.read_start);
        let end = self.read_end.min(other.read_end);
        let shorter = self.read_span().min(other.read_span());
        end > start && (end - start) as f32 >= shorter as f32 * settings.mask_level
    }
}
