//! The diagonals on which seeds of a read are.

use super::seeds::Hit;
use crate::reference::{Reference, Segment};

/// Prefetch distance, in hits.
const AHEAD: usize = 4;

/// A place of a read's first base, on which seeds are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Diagonal<U> {
    pub(crate) start: i64,
    pub(crate) segment: Segment,
    /// Bases of the read in its seeds.
    pub(crate) covered: u32,
    /// A rare seed is on it.
    pub(crate) is_rare: bool,
    /// What the read is there without a gap, where that is known.
    pub(crate) ungapped: Option<U>,
}

/// Puts in `out` the diagonals of the hits of a read of `length` bases, which come by place;
/// `ungapped` says what the read is on the segment, where its first base is at that place.
#[inline(always)]
pub(crate) fn list<U>(
    reference: &Reference<'_>,
    hits: &[Hit],
    length: usize,
    mut ungapped: impl FnMut(Segment, i64) -> Option<U>,
    out: &mut Vec<Diagonal<U>>,
) {
    out.clear();
    for (at, hit) in hits.iter().enumerate() {
        if let Some(hit) = hits.get(at + AHEAD) {
            reference.prefetch(hit.start, length);
        }
        let [from, end] = [hit.from, hit.end].map(|base| hit.start + i64::from(base));
        let bases = u32::from(hit.end - hit.from);
        if let Some(last) = out.last_mut()
            && last.start == hit.start
            && end <= last.segment.end
            && from >= last.segment.start
        {
            last.is_rare |= hit.is_rare;
            last.covered = (last.covered + bases).min(length as u32);
            continue;
        }
        let Some(segment) = reference.segment(from, end) else { continue };
        let ungapped = ungapped(segment, hit.start);
        let Hit { start, is_rare, .. } = *hit;
        out.push(Diagonal { start, segment, covered: bases, is_rare, ungapped });
    }
}
