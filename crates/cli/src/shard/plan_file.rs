//! `plan.json`: what a run is, written once and never changed.
//!
//! `plan.head.json`, which is there before the input has been scanned, is the same without what
//! the scan finds; `scan/SSSS.json` is a shard that was found. Both follow from options and input,
//! and so does the plan from its head: it is the head's digest that names a run.

use seqloom_align::{CohortRange, CohortStart};
use seqloom_io::reads::{FilePosition, RestartPoint};
use serde::{Deserialize, Serialize};

/// First field of the file, and the version of its meaning and of all other files.
pub(crate) const SCHEMA: &str = "seqloom shard plan 1";

/// The contents of `plan.json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlanFile {
    pub(crate) schema: String,
    /// Name and version of the program.
    pub(crate) program: String,
    /// Folder that `command` was given in: its paths are relative to that.
    pub(crate) folder: String,
    /// Words after `seqloom shard plan`.
    pub(crate) command: Vec<String>,
    /// SHA-256 of the header of the output, which is next to the plan.
    pub(crate) header_sha256: String,
    pub(crate) files: Vec<PlannedFile>,
    pub(crate) reads: u64,
    pub(crate) templates: u64,
    /// Threads that the plan was made for, and the memory that a shard needs with them.
    pub(crate) threads: usize,
    pub(crate) align_floor_bytes: u64,
    /// Parts of the read ends.
    pub(crate) parts: usize,
    /// Ranges of the output.
    pub(crate) ranges: usize,
    pub(crate) shards: Vec<PlannedShard>,
}

impl PlanFile {
    /// Whether it is `head` with what a scan has found.
    pub(crate) fn is_of(&self, head: &Self) -> bool {
        let Self { reads, templates, parts, ranges, .. } = *self;
        let shards = self.shards.clone();
        *self == Self { reads, templates, parts, ranges, shards, ..head.clone() }
    }
}

/// A file that is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlannedFile {
    pub(crate) path: String,
    /// As [`seqloom_io::Fingerprint`] has it.
    pub(crate) fingerprint: String,
}

/// A run of cohorts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlannedShard {
    pub(crate) cohort: u64,
    /// `null`: up to the end of the input.
    pub(crate) cohorts: Option<u64>,
    pub(crate) first_read: u64,
    pub(crate) first_template: u64,
    pub(crate) sequence: u64,
    pub(crate) reads: u64,
    pub(crate) templates: u64,
    pub(crate) places: Vec<PlannedPosition>,
    /// Numbers of mates, .1 and .2, are taken off names.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub(crate) has_numbers: bool,
}

/// A [`FilePosition`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlannedPosition {
    /// SHA-256 of the file that holds the [`RestartPoint`] which it is reached from.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) restart: Option<String>,
    raw: u64,
    raw_text: u64,
    text: u64,
    records: u64,
    lines: u64,
}

impl From<&FilePosition> for PlannedPosition {
    fn from(place: &FilePosition) -> Self {
        let FilePosition { raw, raw_text, text, records, lines } = *place;
        Self { restart: None, raw, raw_text, text, records, lines }
    }
}

impl From<&PlannedPosition> for FilePosition {
    fn from(place: &PlannedPosition) -> Self {
        let PlannedPosition { raw, raw_text, text, records, lines, .. } = *place;
        Self { raw, raw_text, text, records, lines }
    }
}

impl PlannedPosition {
    /// The last of `points`, which are in order, that is not after the place.
    pub(crate) fn point_in_front<'p>(
        &self,
        points: &'p [RestartPoint],
    ) -> Option<&'p RestartPoint> {
        points.iter().rev().find(|point| point.text() <= self.text)
    }

    /// The same place, reached from a point that is kept in a file of this digest.
    pub(crate) fn reached_from(&self, point: &RestartPoint, sha256: String) -> Self {
        let place = FilePosition::from(self).reached_from(point);
        Self { restart: Some(sha256), ..Self::from(&place) }
    }
}

impl PlannedShard {
    /// The part of the input that it is.
    pub(crate) fn range(&self) -> CohortRange {
        CohortRange {
            start: CohortStart {
                cohort: self.cohort,
                first_read: self.first_read,
                first_template: self.first_template,
                sequence: self.sequence,
                places: self.places.iter().map(FilePosition::from).collect(),
                has_numbers: self.has_numbers,
            },
            cohorts: self.cohorts,
        }
    }
}

/// How many cohorts a shard has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shares {
    /// So many shards of about as many cohorts each.
    Count(usize),
    /// So many cohorts in each but the last: known before the end is.
    Cohorts(usize),
}

impl Shares {
    /// Starts of shards of `cohorts`.
    fn edges(self, cohorts: usize) -> Vec<usize> {
        match self {
            Self::Count(count) => {
                let count = count.clamp(1, cohorts.max(1));
                (0..count).map(|shard| shard * cohorts / count).collect()
            }
            Self::Cohorts(each) => (0..cohorts.max(1)).step_by(each.max(1)).collect(),
        }
    }
}

/// End of a shard.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ShardEnd {
    /// The cohort after it, if the input does not end there.
    pub(crate) cohort: Option<u64>,
    /// Reads of the input before it.
    pub(crate) reads: u64,
    /// Templates of the input before it.
    pub(crate) templates: u64,
}

impl From<&CohortStart> for ShardEnd {
    fn from(next: &CohortStart) -> Self {
        let &CohortStart { cohort, first_read, first_template, .. } = next;
        Self { cohort: Some(cohort), reads: first_read, templates: first_template }
    }
}

/// The shard from `start` up to `end`.
pub(crate) fn shard(start: &CohortStart, end: ShardEnd) -> PlannedShard {
    PlannedShard {
        cohort: start.cohort,
        cohorts: end.cohort.map(|next| next - start.cohort),
        first_read: start.first_read,
        first_template: start.first_template,
        sequence: start.sequence,
        reads: end.reads - start.first_read,
        templates: end.templates - start.first_template,
        places: start.places.iter().map(PlannedPosition::from).collect(),
        has_numbers: start.has_numbers,
    }
}

/// Cuts the cohorts of an input up to its `end` into shards; one where there are no cohorts.
pub(crate) fn shards(starts: &[CohortStart], end: ShardEnd, shares: Shares) -> Vec<PlannedShard> {
    let nothing = [CohortStart::default()];
    let starts = if starts.is_empty() { &nothing[..] } else { starts };
    let edges = shares.edges(starts.len());
    let next = |index: usize| edges.get(index + 1).map_or(end, |&edge| (&starts[edge]).into());
    edges.iter().enumerate().map(|(index, &edge)| shard(&starts[edge], next(index))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_cover_all_cohorts() {
        let start = |cohort| {
            let first_read = 10 * cohort;
            CohortStart { cohort, first_read, first_template: first_read / 2, ..Default::default() }
        };
        let starts: Vec<_> = (0..7).map(start).collect();
        let end = ShardEnd { cohort: None, reads: 65, templates: 33 };
        for count in [1, 2, 3, 7, 9] {
            check(shards(&starts, end, Shares::Count(count)), count.min(7));
            check(shards(&starts, end, Shares::Cohorts(count)), 7_usize.div_ceil(count));
        }
        let end = ShardEnd { cohort: None, reads: 0, templates: 0 };
        for shares in [Shares::Count(5), Shares::Cohorts(5)] {
            assert_eq!(shards(&[], end, shares).len(), 1);
        }
    }

    fn check(shards: Vec<PlannedShard>, count: usize) {
        assert_eq!(shards.len(), count);
        assert_eq!(shards.iter().map(|it| it.reads).sum::<u64>(), 65);
        assert_eq!(shards.iter().map(|it| it.templates).sum::<u64>(), 33);
        for pair in shards.windows(2) {
            assert_eq!(pair[0].cohort + pair[0].cohorts.unwrap(), pair[1].cohort);
        }
        assert_eq!(shards.last().unwrap().cohorts, None);
    }
}
