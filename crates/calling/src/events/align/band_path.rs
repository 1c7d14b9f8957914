//! The path of the band, which all kernels share: where each one is, what is set in it besides
//! what is computed, and the best end so far.

use super::BANDWIDTH;
use super::operands::{BandStart, Operands};
use super::trace::Trace;

/// Cell of band 0 that is before all events and k-mers, and of band 1 with one event trimmed.
pub(super) const MIDDLE: usize = BANDWIDTH / 2;

/// The position of each band. It begins with band 1; [`BandPath::next`] leads to band 2.
#[derive(Debug)]
pub(super) struct BandPath {
    band: usize,
    /// Event and k-mer of the first cell.
    event: i32,
    kmer: i32,
    best: f32,
    best_event: Option<usize>,
}

impl BandPath {
    #[inline(always)]
    pub(super) fn new() -> Self {
        let kmer = -1 - MIDDLE as i32;
        Self { band: 1, event: MIDDLE as i32, kmer, best: f32::NEG_INFINITY, best_event: None }
    }

    /// Goes to the next band, right (true) or down, by the scores at the two ends of this one: the
    /// rule of Suzuki and Kasahara. Bands that are impossible at both ends alternate.
    #[inline(always)]
    pub(super) fn next(&mut self, first: f32, last: f32, trace: &mut Trace) -> bool {
        self.band += 1;
        let impossible = first == f32::NEG_INFINITY && last == f32::NEG_INFINITY;
        let right = if impossible { self.band % 2 == 1 } else { first < last };
        self.kmer += i32::from(right);
        self.event += i32::from(!right);
        trace.first_events[self.band] = self.event;
        right
    }

    #[inline(always)]
    pub(super) fn start(&self, operands: &Operands) -> BandStart {
        operands.start(self.event, self.kmer)
    }

    /// The cell before the first k-mer, if it is in the band, and its score: so many events
    /// are trimmed.
    #[inline(always)]
    pub(super) fn trimmed(&self, operands: &Operands) -> Option<(usize, f32)> {
        let (cell, event) = self.cell_of(-1)?;
        let is_event = (0..operands.events as i32).contains(&event);
        Some((cell, if is_event { Operands::trimmed(event + 1) } else { f32::NEG_INFINITY }))
    }

    /// The cell of the last k-mer, if it is in the band.
    #[inline(always)]
    pub(super) fn last_kmer(&self, operands: &Operands) -> Option<usize> {
        let (cell, event) = self.cell_of(operands.kmers as i32 - 1)?;
        (0..operands.events as i32).contains(&event).then_some(cell)
    }

    /// Takes the score of the cell that [`BandPath::last_kmer`] gave.
    pub(super) fn end_at(&mut self, cell: usize, score: f32, operands: &Operands) {
        let event = self.event - cell as i32;
        let score = operands.ended(score, event);
        if score > self.best {
            (self.best, self.best_event) = (score, usize::try_from(event).ok());
        }
    }

    /// The event that is best to end with, if there is a path to the last k-mer.
    pub(super) fn best_event(&self) -> Option<usize> {
        self.best_event
    }

    #[inline(always)]
    fn cell_of(&self, kmer: i32) -> Option<(usize, i32)> {
        let cell = kmer - self.kmer;
        (0..BANDWIDTH as i32).contains(&cell).then_some((cell as usize, self.event - cell))
    }
}
