//! One cell at a time.

use super::BANDWIDTH;
use super::operands::{FIRST_EVENT, FIRST_KMER, Operands, log_emission};
use super::trace::{BandTrace, Trace};

/// A band's scores with an impossible cell on either side.
type Row = [f32; BANDWIDTH + 2];

/// Fills all bands; the best event for the last k-mer, if there is a path to it.
pub(super) fn fill(operands: &Operands, trace: &mut Trace) -> Option<usize> {
    let bands = operands.bands();
    trace.resize(bands);
    let mut rows = [[f32::NEG_INFINITY; BANDWIDTH + 2]; 3];
    // Band 0: nothing is aligned yet. Band 1: the first event is trimmed.
    let middle = BANDWIDTH / 2;
    rows[0][1 + middle] = 0.0;
    rows[1][1 + middle] = Operands::trimmed(1);
    let (mut event, mut kmer) = (FIRST_EVENT + 1, FIRST_KMER);
    let mut moved_right = false;
    let (mut best, mut best_event) = (f32::NEG_INFINITY, None);
    for band in 2..bands {
        let [diagonal, before, row] = &mut rows;
        let right = moves_right(band, before[1], before[BANDWIDTH]);
        if right {
            kmer += 1
        } else {
            event += 1
        }
        let moves = [moved_right, right];
        trace.bands[band] = fill_band(operands, [event, kmer], moves, [diagonal, before], row);
        trace.first_events[band] = event;
        if let Some(cell) = cell_of(-1, kmer) {
            let trimmed = event - cell as i32;
            let is_event = (0..operands.events as i32).contains(&trimmed);
            row[1 + cell] =
                if is_event { Operands::trimmed(trimmed + 1) } else { f32::NEG_INFINITY };
        }
        if let Some(cell) = cell_of(operands.kmers as i32 - 1, kmer) {
            let at = event - cell as i32;
            let score = operands.ended(row[1 + cell], at);
            if (0..operands.events as i32).contains(&at) && score > best {
                (best, best_event) = (score, Some(at as usize));
            }
        }
        moved_right = right;
        rows.rotate_left(1);
    }
    best_event
}

/// The rule of Suzuki and Kasahara; bands that are impossible at both ends alternate.
pub(super) fn moves_right(band: usize, first: f32, last: f32) -> bool {
    if first == f32::NEG_INFINITY && last == f32::NEG_INFINITY {
        band % 2 == 1
    } else {
        first < last
    }
}

/// Which cell of a band that begins with `first` is that of `kmer`.
pub(super) fn cell_of(kmer: i32, first: i32) -> Option<usize> {
    usize::try_from(kmer - first).ok().filter(|&cell| cell < BANDWIDTH)
}

fn fill_band(
    operands: &Operands,
    [event, kmer]: [i32; 2],
    [moved_right, right]: [bool; 2],
    [diagonal, before]: [&Row; 2],
    row: &mut Row,
) -> BandTrace {
    let start = operands.start(event, kmer);
    let levels_pa = &operands.levels_pa[start.event..][..BANDWIDTH];
    let part = |values: &'_ [f32]| -> [f32; BANDWIDTH] {
        std::array::from_fn(|cell| values[start.kmer + cell])
    };
    let (means, factors) = (part(&operands.means_pa), part(&operands.factors));
    let (peaks, skips) = (part(&operands.peaks), part(&operands.skips));
    let (up, left) = (usize::from(right) + 1, usize::from(right));
    let diagonal_shift = usize::from(moved_right) + usize::from(right);
    let mut trace = BandTrace::default();
    for cell in 0..BANDWIDTH {
        let emission = log_emission(levels_pa[cell], means[cell], factors[cell], peaks[cell]);
        let step = diagonal[cell + diagonal_shift] + (operands.transitions.step + emission);
        let stay = before[cell + up] + (operands.transitions.stay + emission);
        let skip = before[cell + left] + skips[cell];
        let best = if stay >= step { stay } else { step };
        trace.stay |= u128::from(stay >= step) << cell;
        trace.skip |= u128::from(skip >= best) << cell;
        row[1 + cell] = if skip >= best { skip } else { best };
    }
    trace
}
