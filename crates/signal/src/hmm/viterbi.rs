//! The most likely way of events through k-mers.
//!
//! Logarithms in single precision, added and compared in nanopolish's order, so that ties fall alike.
//! Cells of one anti-diagonal depend on the two before it only, so a vector holds neighbours of a
//! diagonal: events are stored from the last to the first, which makes all that it reads contiguous.
//! All cells are kept and no pointers: the way back asks each cell on it once more where it came from.

use super::score::Levels;
use super::{LN_INVERSE_SQRT_TWO_PI, ScaledLevel, Transitions, background, simd};

/// An event on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathStep {
    /// Which event of the walk.
    pub event: u32,
    /// Which k-mer.
    pub kmer: u32,
    /// The event has no level, and stands at this k-mer only for its order.
    pub is_bad: bool,
}

/// Cells of all anti-diagonals for one state. Diagonal `d` holds the cells of event `e` and k-mer
/// `k` with `e + k = d`; two empty diagonals come before the first.
type Plane = Vec<f32>;

/// Buffers of [`align`], to be kept by the caller.
#[derive(Debug, Default)]
pub struct ViterbiScratch {
    /// Levels from the last event to the first.
    levels: Vec<f32>,
    means: Vec<f32>,
    stdvs: Vec<f32>,
    /// Logarithm of the greatest density of each k-mer.
    peaks: Vec<f32>,
    matched: Plane,
    bad: Plane,
    skipped: Plane,
}

const NEVER: f32 = f32::NEG_INFINITY;

/// Empty diagonals before the first.
const LEAD: usize = 2;

impl ViterbiScratch {
    /// Cells of one diagonal, with one empty cell on each side.
    #[inline(always)]
    fn stride(&self) -> usize {
        self.means.len() + 2
    }

    /// Place of a cell in the planes. `event` and `kmer` may be one below the first.
    fn cell(&self, event: usize, kmer: usize) -> usize {
        (event + kmer + LEAD) * self.stride() + kmer + 1
    }
}

/// Appends the most likely way to `path`, from the first event to the last; it starts with the first
/// event at the first k-mer and ends with the last event at the last one. Nothing if there are no
/// events or no k-mers, or if there is no such way.
pub fn align(
    scratch: &mut ViterbiScratch,
    levels: Levels<'_>,
    kmers: &[ScaledLevel],
    transitions: &Transitions,
    path: &mut Vec<PathStep>,
) {
    if levels.mean_pa.is_empty() || kmers.is_empty() {
        return;
    }
    load(scratch, levels, kmers);
    let logs = transitions.ln();
    simd::fill(scratch, &logs);
    trace_back(scratch, &logs, path);
}

fn load(scratch: &mut ViterbiScratch, levels: Levels<'_>, kmers: &[ScaledLevel]) {
    scratch.levels.clear();
    scratch.levels.extend_from_slice(levels.mean_pa);
    if !levels.backwards {
        scratch.levels.reverse();
    }
    scratch.means.clear();
    scratch.means.extend(kmers.iter().map(|kmer| kmer.mean_pa));
    scratch.stdvs.clear();
    scratch.stdvs.extend(kmers.iter().map(|kmer| kmer.stdv_pa));
    scratch.peaks.clear();
    scratch.peaks.extend(kmers.iter().map(|kmer| LN_INVERSE_SQRT_TWO_PI - kmer.log_stdv));
    let stride = scratch.stride();
    let cells = (scratch.levels.len() + kmers.len() - 1 + LEAD) * stride;
    for plane in [&mut scratch.matched, &mut scratch.bad, &mut scratch.skipped] {
        // What lies beside a diagonal is set when the diagonal is filled.
        plane.resize(cells, NEVER);
        plane[..LEAD * stride].fill(NEVER);
    }
}

/// Fills all diagonals. Inlined into one function for each set of vector instructions.
#[inline(always)]
pub(crate) fn fill_diagonals(scratch: &mut ViterbiScratch, logs: &Transitions) {
    let stride = scratch.stride();
    let ViterbiScratch { levels, means, stdvs, peaks, matched, bad, skipped } = scratch;
    let (events, kmers) = (levels.len(), means.len());
    for diagonal in 0..events + kmers - 1 {
        let first = (diagonal + 1).saturating_sub(events);
        let end = kmers.min(diagonal + 1);
        let model = (&means[first..end], &stdvs[first..end], &peaks[first..end]);
        let levels = &levels[events + first - diagonal - 1..];
        let base = (diagonal + LEAD) * stride;
        let (matched_before, matched) = matched.split_at_mut(base);
        let (bad_before, bad) = bad.split_at_mut(base);
        let (skipped_before, skipped) = skipped.split_at_mut(base);
        let before = [&*matched_before, &*bad_before, &*skipped_before];
        let after = [&mut matched[..stride], &mut bad[..stride], &mut skipped[..stride]];
        fill_diagonal(before, after, (first, end), levels, model, logs);
        if diagonal == 0 {
            // The start leads here only.
            let start = ((1.0 - background::ENTER).ln()) as f32;
            matched[1] = start + ln_density(levels[0], means[0], stdvs[0], peaks[0]);
        }
    }
}

/// Logarithm of the density of an event at a k-mer.
#[inline(always)]
fn ln_density(level: f32, mean: f32, stdv: f32, peak: f32) -> f32 {
    let deviation = (level - mean) / stdv;
    peak + -0.5 * deviation * deviation
}

#[inline(always)]
fn greater(one: f32, other: f32) -> f32 {
    if one > other { one } else { other }
}

/// Fills the cells from k-mer `first` to below `end` of the diagonal that `after` begins with, from
/// the planes before it.
#[inline(always)]
fn fill_diagonal(
    before: [&[f32]; 3],
    after: [&mut [f32]; 3],
    (first, end): (usize, usize),
    levels: &[f32],
    (means, stdvs, peaks): (&[f32], &[f32], &[f32]),
    logs: &Transitions,
) {
    let count = end - first;
    let [matched, bad, skipped] = after;
    let stride = matched.len();
    let one_back = before[0].len() - stride + first;
    let two_back = one_back - stride;
    // The event before at this k-mer; this event at the k-mer before; the event before there.
    let [same_m, same_b] = [0, 1].map(|p| &before[p][one_back + 1..][..count]);
    let [left_m, left_b, left_k] = [0, 1, 2].map(|p| &before[p][one_back..][..count]);
    let [prev_m, prev_b, prev_k] = [0, 1, 2].map(|p| &before[p][two_back..][..count]);
    let levels = &levels[..count];
    let (means, stdvs, peaks) = (&means[..count], &stdvs[..count], &peaks[..count]);
    let cells = 1 + first..1 + end;
    let out_m = &mut matched[cells.clone()];
    let out_b = &mut bad[cells.clone()];
    let out_k = &mut skipped[cells];
    for at in 0..count {
        let from_match = greater(logs.stay + same_m[at], logs.next + prev_m[at]);
        let from_bad = greater(logs.bad_left + same_b[at], logs.bad_left + prev_b[at]);
        let from_skip = logs.skip_left + prev_k[at];
        let best = greater(greater(from_match, from_bad), from_skip);
        out_m[at] = best + ln_density(levels[at], means[at], stdvs[at], peaks[at]);
        out_b[at] = greater(logs.bad + same_m[at], logs.bad_again + same_b[at]);
        let from_event = greater(logs.skip + left_m[at], logs.bad_left + left_b[at]);
        out_k[at] = greater(from_event, logs.skip_again + left_k[at]);
    }
    for plane in [matched, bad, skipped] {
        plane[first] = NEVER;
        plane[end + 1] = NEVER;
    }
}

/// States of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Matched,
    Bad,
    Skipped,
}

/// Follows the best way back from the last event at the last k-mer.
fn trace_back(scratch: &ViterbiScratch, logs: &Transitions, path: &mut Vec<PathStep>) {
    let begin = path.len();
    let (mut event, mut kmer) = (scratch.levels.len() - 1, scratch.means.len() - 1);
    let mut state = State::Matched;
    loop {
        if state != State::Skipped {
            let is_bad = state == State::Bad;
            path.push(PathStep { event: event as u32, kmer: kmer as u32, is_bad });
        }
        let Some((from, moved)) = origin(scratch, logs, event, kmer, state) else { break };
        event -= usize::from(state != State::Skipped);
        kmer -= usize::from(moved);
        state = from;
    }
    path[begin..].reverse();
}

/// The state before, and whether it is in the block before. Of equals, the last in nanopolish's
/// order. None where the way begins.
fn origin(
    scratch: &ViterbiScratch,
    logs: &Transitions,
    event: usize,
    kmer: usize,
    state: State,
) -> Option<(State, bool)> {
    let ViterbiScratch { matched, bad, skipped, .. } = scratch;
    if event == 0 && (state != State::Skipped || kmer == 0) {
        return None;
    }
    // Cells one k-mer to the left are there even for the first: they are never reached.
    let left = scratch.cell(event, kmer) - scratch.stride() - 1;
    let (same, prev) = match event {
        0 => (left, left),
        _ => (scratch.cell(event - 1, kmer), scratch.cell(event - 1, kmer) - scratch.stride() - 1),
    };
    let ways: [(f32, State, bool); 5] = match state {
        State::Matched => [
            (logs.stay + matched[same], State::Matched, false),
            (logs.next + matched[prev], State::Matched, true),
            (logs.bad_left + bad[same], State::Bad, false),
            (logs.bad_left + bad[prev], State::Bad, true),
            (logs.skip_left + skipped[prev], State::Skipped, true),
        ],
        State::Bad => [
            (logs.bad + matched[same], State::Matched, false),
            (NEVER, State::Matched, true),
            (logs.bad_again + bad[same], State::Bad, false),
            (NEVER, State::Bad, true),
            (NEVER, State::Skipped, true),
        ],
        State::Skipped => [
            (NEVER, State::Matched, false),
            (logs.skip + matched[left], State::Matched, true),
            (NEVER, State::Bad, false),
            (logs.bad_left + bad[left], State::Bad, true),
            (logs.skip_again + skipped[left], State::Skipped, true),
        ],
    };
    let best = ways.iter().map(|way| way.0).fold(NEVER, greater);
    let way = ways.iter().rev().find(|way| way.0 == best)?;
    (best > NEVER).then_some((way.1, way.2))
}

#[cfg(test)]
#[path = "viterbi_tests.rs"]
mod tests;
