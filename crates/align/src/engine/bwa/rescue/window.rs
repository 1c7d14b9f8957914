//! Where a mate is searched for: which orientations, and which windows of the reference.

use super::super::pair::insert_size::Model;
use super::super::reference::Reference;
use super::super::regions::{MateDistance, Region};
use super::super::settings::Settings;

/// Where to search for the mate of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Window {
    /// In doubled coordinates.
    pub(in super::super) start: i64,
    /// One past its last base; on the same strand, and of the same sequence.
    pub(in super::super) end: i64,
    /// The mate is reverse-complemented.
    pub(in super::super) reversed: bool,
}

/// The orientations in which the mate of a read is to be searched for: those of which pairs are
/// made, and in which the mate has no region yet.
pub(in super::super) fn needed_orientations(
    anchor: &Region,
    mate: &[Region],
    model: &Model,
    bases: u64,
) -> [bool; 4] {
    let mut needed = model.map(|sizes| !sizes.failed);
    for region in mate {
        let places = [anchor.reference_start, region.reference_start];
        let MateDistance { orientation, distance } = MateDistance::of(bases, places);
        if model[orientation].holds(distance) {
            needed[orientation] = false;
        }
    }
    needed
}

/// The window for a mate of `length` bases in one orientation; `None` if it is too short, or of
/// another sequence.
pub(in super::super) fn window(
    anchor: &Region,
    orientation: usize,
    length: usize,
    model: &Model,
    reference: &Reference<'_>,
    settings: &Settings,
) -> Option<Window> {
    let reversed = orientation >> 1 != orientation & 1;
    let is_behind = orientation >> 1 == 0;
    let sizes = &model[orientation];
    let [low, high] = [i64::from(sizes.low), i64::from(sizes.high)];
    let [near, far] = if is_behind { [low, high] } else { [-high, -low] };
    let (mut start, mut end) = (anchor.reference_start + near, anchor.reference_start + far);
    // Sizes are between first bases; of a mate that is reverse-complemented it is the last on this
    // strand.
    if reversed {
        start -= length as i64;
    } else {
        end += length as i64;
    }
    let (start, end) = (start.max(0), end.min(2 * reference.bases as i64));
    if start >= end {
        return None;
    }
    let middle = (start + end) >> 1;
    let sequence = reference.sequence_at(middle);
    let span = reference.span(sequence, middle);
    let (start, end) = (start.max(span.start), end.min(span.end));
    let fits = sequence as i32 == anchor.sequence && end - start >= settings.least_seed.into();
    fits.then_some(Window { start, end, reversed })
}
