//! One cell at a time: what the other kernels must equal, and what runs where they cannot.

use super::BANDWIDTH;
use super::band_path::{BandPath, MIDDLE};
use super::operands::{Operands, log_emission, moved};
use super::trace::{BandTrace, Trace};

/// A band's scores with an impossible cell on either side.
type Row = [f32; BANDWIDTH + 2];

/// Fills all bands; the best event for the last k-mer, if there is a path to it.
pub(super) fn fill(operands: &Operands, trace: &mut Trace) -> Option<usize> {
    let bands = operands.bands();
    trace.resize(bands);
    let mut rows = [[f32::NEG_INFINITY; BANDWIDTH + 2]; 3];
    rows[0][1 + MIDDLE] = 0.0;
    rows[1][1 + MIDDLE] = Operands::trimmed(1);
    let mut path = BandPath::new();
    let mut moved_right = false;
    for band in 2..bands {
        let [diagonal, before, row] = &mut rows;
        let right = path.next(before[1], before[BANDWIDTH], trace);
        let moves = [moved_right, right];
        trace.bands[band] = fill_band(operands, &path, moves, [diagonal, before], row);
        if let Some((cell, score)) = path.trimmed(operands) {
            row[1 + cell] = score;
        }
        if let Some(cell) = path.last_kmer(operands) {
            path.end_at(cell, row[1 + cell], operands);
        }
        moved_right = right;
        rows.rotate_left(1);
    }
    path.best_event()
}

fn fill_band(
    operands: &Operands,
    path: &BandPath,
    [moved_right, right]: [bool; 2],
    [diagonal, before]: [&Row; 2],
    row: &mut Row,
) -> BandTrace {
    let start = path.start(operands);
    let levels_pa = &operands.levels_pa[start.event..][..BANDWIDTH];
    let means_pa = &operands.means_pa[start.kmer..][..BANDWIDTH];
    let stdvs_pa = &operands.stdvs_pa[start.kmer..][..BANDWIDTH];
    let peaks = &operands.peaks[start.kmer..][..BANDWIDTH];
    let walls = &operands.walls[start.kmer..][..BANDWIDTH];
    let transitions = &operands.transitions;
    // A row's cell is one after its place; see `Row`.
    let (up, left) = (usize::from(right) + 1, usize::from(right));
    let diagonal = &diagonal[usize::from(moved_right) + usize::from(right)..][..BANDWIDTH];
    // Two loops: compilers make vectors of the first one.
    let (mut is_stay, mut is_skip) = ([false; BANDWIDTH], [false; BANDWIDTH]);
    let (up, left) = (&before[up..][..BANDWIDTH], &before[left..][..BANDWIDTH]);
    let row = &mut row[1..=BANDWIDTH];
    for cell in 0..BANDWIDTH {
        let emission = log_emission(levels_pa[cell], means_pa[cell], stdvs_pa[cell], peaks[cell]);
        let step = moved(diagonal[cell], transitions.step, emission);
        let stay = moved(up[cell], transitions.stay, emission);
        let skip = moved(left[cell], transitions.skip, walls[cell]);
        let best = if stay >= step { stay } else { step };
        (is_stay[cell], is_skip[cell]) = (stay >= step, skip >= best);
        row[cell] = if skip >= best { skip } else { best };
    }
    let mut trace = BandTrace::default();
    for cell in 0..BANDWIDTH {
        trace.set(cell, is_stay[cell], is_skip[cell]);
    }
    trace
}
