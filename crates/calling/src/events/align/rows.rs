//! Bands as rows in memory, of which three are kept: what kernels have in common that read them one
//! cell further on or back, as the band moved.

use super::BANDWIDTH;
use super::band_path::{BandPath, MIDDLE};
use super::operands::{LANES, Operands, Transitions};
use super::trace::{BandTrace, Trace};

pub(super) const IMPOSSIBLE: f32 = f32::NEG_INFINITY;
/// Vectors of eight cells in a band; the last one is half full.
pub(super) const EIGHTS: usize = BANDWIDTH.div_ceil(8);
const WIDTH: usize = EIGHTS * 8;

const _: () = assert!(BANDWIDTH % 8 == 4 && WIDTH <= LANES);

/// Place of a row's first cell; what is before it and after the last one is impossible.
const FIRST: usize = 8;

#[repr(align(32))]
#[derive(Clone, Copy)]
struct Row([f32; FIRST + WIDTH + 8]);

impl Row {
    /// As many cells as a band has, from `place` on.
    #[inline(always)]
    fn cells(&self, place: usize) -> Option<&[f32; WIDTH]> {
        self.0.get(place..)?.first_chunk()
    }
}

/// What the cells of one band are computed from. Of those before, each is where the cell finds it.
#[derive(Clone, Copy)]
pub(super) struct Inputs<'a> {
    /// Levels, means, standard deviations, peaks, walls.
    pub(super) parts: [&'a [f32; LANES]; 5],
    pub(super) transitions: Transitions,
    /// The cells that a step comes from.
    pub(super) diagonal: &'a [f32; WIDTH],
    /// Cells that a stay comes from.
    pub(super) up: &'a [f32; WIDTH],
    /// Cells that a skip comes from.
    pub(super) left: &'a [f32; WIDTH],
}

/// Operands of one band: levels, means, standard deviations, peaks, walls.
#[inline(always)]
pub(super) fn operands_of<'a>(
    operands: &'a Operands,
    path: &BandPath,
) -> Option<[&'a [f32; LANES]; 5]> {
    let start = path.start(operands);
    Some([
        operands.levels_pa.get(start.event..)?.first_chunk()?,
        operands.means_pa.get(start.kmer..)?.first_chunk()?,
        operands.stdvs_pa.get(start.kmer..)?.first_chunk()?,
        operands.peaks.get(start.kmer..)?.first_chunk()?,
        operands.walls.get(start.kmer..)?.first_chunk()?,
    ])
}

/// Fills all bands, each by `fill_band`, which makes cells from [`BANDWIDTH`] on impossible; the
/// best event for the last k-mer, if there is a path to it.
#[inline(always)]
pub(super) fn fill(
    operands: &Operands,
    trace: &mut Trace,
    fill_band: impl Fn(&Inputs<'_>, &mut [f32; WIDTH], &mut BandTrace),
) -> Option<usize> {
    let bands = operands.bands();
    trace.resize(bands);
    let mut rows = [Row([IMPOSSIBLE; FIRST + WIDTH + 8]); 3];
    rows[0].0[FIRST + MIDDLE] = 0.0;
    rows[1].0[FIRST + MIDDLE] = Operands::trimmed(1);
    let mut path = BandPath::new();
    let mut moved_right = false;
    let [diagonal, before, row] = &mut rows;
    let (mut diagonal, mut before, mut row) = (diagonal, before, row);
    for band in 2..bands {
        let right = path.next(before.0[FIRST], before.0[FIRST + BANDWIDTH - 1], trace);
        let shift = usize::from(right);
        let inputs = Inputs {
            parts: operands_of(operands, &path)?,
            transitions: operands.transitions,
            diagonal: diagonal.cells(FIRST - 1 + usize::from(moved_right) + shift)?,
            up: before.cells(FIRST + shift)?,
            left: before.cells(FIRST - 1 + shift)?,
        };
        let cells = row.0.get_mut(FIRST..)?.first_chunk_mut()?;
        fill_band(&inputs, cells, &mut trace.bands[band]);
        if let Some((cell, score)) = path.trimmed(operands) {
            row.0[FIRST + cell] = score;
        }
        if let Some(cell) = path.last_kmer(operands) {
            path.end_at(cell, row.0[FIRST + cell], operands);
        }
        moved_right = right;
        (diagonal, before, row) = (before, row, diagonal);
    }
    path.best_event()
}
