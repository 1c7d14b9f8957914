//! The most likely way of events through k-mers.
//!
//! Logarithms in single precision, added and compared in nanopolish's order, so that ties fall
//! alike. Cells of one anti-diagonal depend on the two before it only, so a vector holds neighbours
//! of a diagonal: events are stored from the last to the first, which makes all that it reads
//! contiguous. All cells are kept and no pointers: the traceback reads each cell on it once more
//! where it came from.

pub(crate) use super::diagonals::ViterbiScratch;
use super::diagonals::{LANES, LEAD, NEVER, greater};
use super::score::Levels;
use super::{LN_INVERSE_SQRT_TWO_PI, ScaledLevel, Transitions, simd};

/// An event on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PathStep {
    /// Which event of the walk.
    pub(crate) event: u32,
    /// Which k-mer.
    pub(crate) kmer: u32,
    /// The event has no level, and is at this k-mer only for its order.
    pub(crate) is_bad: bool,
}

/// Appends the most likely way to `path`, from the first event to the last; it starts with the
/// first event at the first k-mer and ends with the last event at the last one. Nothing if there
/// are no events or no k-mers, or if there is no such way.
pub(crate) fn align(
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
    let ViterbiScratch { levels: events, means, stdvs, peaks, .. } = scratch;
    for numbers in [events, means, stdvs, peaks] {
        // Room for a vector.
        numbers.resize(numbers.len() + LANES, 1.0);
    }
    let stride = scratch.stride();
    let cells = (levels.mean_pa.len() + kmers.len() - 1 + LEAD) * stride;
    for plane in [&mut scratch.matched, &mut scratch.bad, &mut scratch.skipped] {
        // Old cells stay: each diagonal sets what the next ones read of it.
        plane.resize(plane.len().max(cells), NEVER);
        plane[..LEAD * stride].fill(NEVER);
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
    let (mut event, mut kmer) = (scratch.events() - 1, scratch.kmers() - 1);
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
