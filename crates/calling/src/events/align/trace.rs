//! Where each cell's path came from, two bits a cell, and the way back through them.

use super::banded::{
    AlignedPair, BANDWIDTH, MAX_SKIPPED_KMERS, MIN_MEAN_LOG_EMISSION, NoAlignment,
};
use super::operands::Operands;

/// Both bits of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CellTrace {
    pub(super) stay: bool,
    pub(super) skip: bool,
}

/// Of the cells of one band, a bit each, from the first cell on. Bits from [`BANDWIDTH`] on mean
/// nothing.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, align(32))]
pub(super) struct BandTrace {
    /// The path came from a stay rather than from a step.
    pub(super) stay: [u8; 16],
    /// The path came from a skip, whatever the other bit says.
    pub(super) skip: [u8; 16],
}

impl BandTrace {
    /// Sets both bits of a cell that has none yet.
    pub(super) fn set(&mut self, cell: usize, stay: bool, skip: bool) {
        self.stay[cell / 8] |= u8::from(stay) << (cell % 8);
        self.skip[cell / 8] |= u8::from(skip) << (cell % 8);
    }

    /// Bits of a cell.
    pub(super) fn get(&self, cell: usize) -> CellTrace {
        let bit = |bits: &[u8; 16]| bits[cell / 8] >> (cell % 8) & 1 == 1;
        CellTrace { stay: bit(&self.stay), skip: bit(&self.skip) }
    }
}

/// Of all bands.
#[derive(Debug, Default)]
pub(super) struct Trace {
    pub(super) bands: Vec<BandTrace>,
    /// Event of the first cell of each band.
    pub(super) first_events: Vec<i32>,
}

impl Trace {
    /// Makes room for all bands; what is in them is of an earlier read.
    pub(super) fn resize(&mut self, bands: usize) {
        self.bands.resize(bands, BandTrace::default());
        self.first_events.resize(bands, 0);
    }
}

/// Walks back from `last_event` on the last k-mer, and gives the pairs in their order.
pub(super) fn walk(
    operands: &Operands,
    trace: &Trace,
    last_event: usize,
    pairs: &mut Vec<AlignedPair>,
) -> Result<(), NoAlignment> {
    let (mut event, mut kmer) = (last_event, operands.kmers - 1);
    let (mut emission_sum, mut skipped, mut most_skipped) = (0.0, 0, 0);
    loop {
        pairs.push(AlignedPair { kmer: kmer as u32, event: event as u32 });
        emission_sum += f64::from(operands.log_emission(event, kmer));
        let band = event + kmer + 2;
        // A path stays in the band; were it to leave, the traces would not be those of one table.
        let cell = usize::try_from(i64::from(trace.first_events[band]) - event as i64)
            .ok()
            .filter(|&cell| cell < BANDWIDTH)
            .ok_or(NoAlignment::Lost)?;
        let CellTrace { stay, skip: is_skip } = trace.bands[band].get(cell);
        skipped = if is_skip { skipped + 1 } else { 0 };
        most_skipped = skipped.max(most_skipped);
        let is_stay = stay && !is_skip;
        let before =
            (event.checked_sub(usize::from(!is_skip))).zip(kmer.checked_sub(usize::from(!is_stay)));
        let Some(before) = before else { break };
        (event, kmer) = before;
    }
    pairs.reverse();
    if emission_sum / (pairs.len() as f64) < MIN_MEAN_LOG_EMISSION {
        return Err(NoAlignment::Unlikely);
    }
    if kmer != 0 {
        return Err(NoAlignment::NotSpanned);
    }
    if most_skipped > MAX_SKIPPED_KMERS {
        return Err(NoAlignment::Gap);
    }
    Ok(())
}
