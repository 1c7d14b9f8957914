//! Base alignment quality: where an alignment is uncertain.
//!
//! Source: Li H., "Improving SNP discovery by base alignment quality", Bioinformatics 27 (2011),
//! 1157-1158, with the constants of GATK 4.6.2: a banded hidden Markov model of the read along the
//! reference around it, its forward and backward probabilities, and from them, for each base, the
//! most likely place and the quality of that choice. Sums are made in GATK's order, so that bits
//! are the same.

use seqloom_format::bam::cigar::{DELETION, INSERTION, consumes_read};

use super::cigar::{self, Op};
use super::prepare::{NO_BASE, reference_code};
use super::{MAX_QUALITY, QUALITIES};

/// Probability that a gap goes on.
const GAP_EXTENSION: f64 = 0.1;
/// Half the width of the band, in bases.
const BAND_BASES: usize = 7;
/// Share of a wrong base that each of the three others has.
const MISMATCH_SHARE: f64 = 0.333_333_333_33;
/// Probability of any inserted base.
const INSERTED_BASE: f64 = 0.25;
/// Lower qualities count as this one.
const MIN_QUALITY: u8 = 4;
/// Most values of a read's lattice: 128 MB forward, and as many backward. Reads with deletions so
/// long that more were needed are not counted.
const MAX_VALUES: usize = 1 << 24;
/// Values of a cell: match, insertion, deletion.
const STATES: usize = 3;

/// Buffers of the model.
#[derive(Debug, Default)]
pub(super) struct BaqScratch {
    forward: Vec<f64>,
    backward: Vec<f64>,
    scales: Vec<f64>,
    window: Vec<u8>,
}

/// A read without its clips.
pub(super) struct Read<'a> {
    pub(super) ops: &'a [Op],
    pub(super) codes: &'a [u8],
    pub(super) qualities: &'a [u8],
    /// Reference position of the first aligned base.
    pub(super) start: i64,
}

/// The model with its parameters.
#[derive(Debug)]
pub(super) struct BaqModel {
    gap_open: f64,
    /// Probability of a base, by its quality, where it matches the reference and where not.
    emissions: [[f64; 2]; QUALITIES],
}

impl BaqModel {
    /// With a gap open penalty in Phred.
    pub(super) fn new(gap_open_penalty: f64) -> Self {
        let emissions = std::array::from_fn(|quality| {
            let quality = quality.max(usize::from(MIN_QUALITY));
            let error = 10_f64.powf(-(quality as f64) / 10.0);
            [1.0 - error, error * MISMATCH_SHARE]
        });
        Self { gap_open: 10_f64.powf(-gap_open_penalty / 10.0), emissions }
    }

    /// Appends, for each base, whether its alignment lowers its quality; false where that cannot be
    /// determined because the reference around the read is not all there.
    pub(super) fn uncertain(
        &self,
        read: &Read<'_>,
        reference: &[u8],
        scratch: &mut BaqScratch,
        uncertain: &mut Vec<bool>,
    ) -> bool {
        // Half a band, and what is inserted at the very ends, on either side.
        let margin = |op: Option<&Op>| {
            let inserted = op.filter(|op| op.0 == INSERTION).map_or(0, |op| i64::from(op.1));
            inserted + (BAND_BASES / 2) as i64
        };
        let first = (read.start - margin(read.ops.first())).max(0);
        let end = read.start + cigar::reference_span(read.ops) + margin(read.ops.last());
        let window = usize::try_from(first).ok().zip(usize::try_from(end).ok());
        let Some(window) = window.and_then(|(first, end)| reference.get(first..end)) else {
            return false;
        };
        scratch.window.clear();
        scratch.window.extend(window.iter().map(|&base| reference_code(base)));
        let lattice = Lattice::new(self, read, &scratch.window);
        if lattice.row.saturating_mul(read.codes.len() + 1) > MAX_VALUES {
            return false;
        }
        lattice.forward(&mut scratch.forward, &mut scratch.scales);
        lattice.backward(&mut scratch.backward, &scratch.scales);
        uncertain.resize(read.codes.len(), false);
        let (mut base, mut reference) = (0_usize, (read.start - first) as usize);
        for &(code, len) in read.ops {
            let len = len as usize;
            if consumes_read(code) && code != INSERTION {
                for offset in 0..len {
                    let state = lattice.best(base + offset, scratch);
                    let quality = read.qualities[base + offset];
                    let is_same = state.place == Some(reference + offset);
                    let aligned = if is_same { state.quality.min(quality) } else { MIN_QUALITY };
                    uncertain[base + offset] = aligned != quality;
                }
                reference += len;
            } else if code == DELETION {
                reference += len;
            }
            base += if consumes_read(code) { len } else { 0 };
        }
        true
    }
}

/// Most likely state of a base.
struct Best {
    /// Index in the window, `None` for an insertion.
    place: Option<usize>,
    quality: u8,
}

/// One read along its window of the reference. Rows are bases of the read (from 1), columns those
/// of the window (from 1); a row holds the columns of the band round its diagonal.
struct Lattice<'a> {
    model: &'a BaqModel,
    read: &'a Read<'a>,
    window: &'a [u8],
    band: usize,
    row: usize,
    /// Transitions between match, insertion and deletion, from row to column.
    transitions: [[f64; 3]; 3],
    /// From a match and from an insertion to the end.
    to_end: f64,
    start_match: f64,
    start_insertion: f64,
}

impl<'a> Lattice<'a> {
    fn new(model: &'a BaqModel, read: &'a Read<'a>, window: &'a [u8]) -> Self {
        let (bases, columns) = (read.codes.len(), window.len());
        let band = bases.max(columns).min(BAND_BASES).max(bases.abs_diff(columns));
        let to_end = 1.0 / (2 * bases + 2) as f64;
        let (open, extend) = (model.gap_open, GAP_EXTENSION);
        let transitions = [
            [(1.0 - open - open) * (1.0 - to_end), open * (1.0 - to_end), open * (1.0 - to_end)],
            [(1.0 - extend) * (1.0 - to_end), extend * (1.0 - to_end), 0.0],
            [1.0 - extend, 0.0, extend],
        ];
        Self {
            model,
            read,
            window,
            band,
            row: (2 * band + 1) * STATES + 2 * STATES,
            transitions,
            to_end,
            start_match: (1.0 - open) / columns as f64,
            start_insertion: open / columns as f64,
        }
    }

    fn bases(&self) -> usize {
        self.read.codes.len()
    }

    /// Columns of the band in a row.
    fn columns(&self, row: usize) -> std::ops::RangeInclusive<usize> {
        let first = row.saturating_sub(self.band).max(1);
        first..=self.window.len().min(row + self.band)
    }

    /// Index of a cell in its row.
    fn at(&self, row: usize, column: usize) -> usize {
        (column + 1 - row.saturating_sub(self.band)) * STATES
    }

    /// Whether the cell of a column is in the band of the last row.
    fn is_in_band(&self, row: usize, column: usize) -> bool {
        let left = row.saturating_sub(self.band);
        column >= left && column - left < 2 * self.band + 1
    }

    /// Probability of base `row` at a column.
    fn emission(&self, row: usize, column: usize) -> f64 {
        let (reference, code) = (self.window[column - 1], self.read.codes[row - 1]);
        if reference >= NO_BASE || code >= NO_BASE {
            return 1.0;
        }
        let quality = self.read.qualities[row - 1].min(MAX_QUALITY);
        self.model.emissions[usize::from(quality)][usize::from(reference != code)]
    }

    fn forward(&self, cells: &mut Vec<f64>, scales: &mut Vec<f64>) {
        let m = &self.transitions;
        cells.clear();
        cells.resize((self.bases() + 1) * self.row, 0.0);
        scales.clear();
        scales.push(1.0);
        cells[self.at(0, 0)] = 1.0;
        for row in 1..=self.bases() {
            let (before, from) = cells.split_at_mut(row * self.row);
            let (before, now) = (&before[(row - 1) * self.row..], &mut from[..self.row]);
            let columns = self.columns(row);
            let mut sum = 0.0;
            for column in columns.clone() {
                let at = self.at(row, column);
                let emission = self.emission(row, column);
                if row == 1 {
                    now[at] = emission * self.start_match;
                    now[at + 1] = INSERTED_BASE * self.start_insertion;
                    sum += now[at] + now[at + 1];
                    continue;
                }
                let diagonal = self.at(row - 1, column - 1);
                let above = self.at(row - 1, column);
                let left = self.at(row, column - 1);
                now[at] = emission
                    * (m[0][0] * before[diagonal]
                        + m[1][0] * before[diagonal + 1]
                        + m[2][0] * before[diagonal + 2]);
                now[at + 1] =
                    INSERTED_BASE * (m[0][1] * before[above] + m[1][1] * before[above + 1]);
                now[at + 2] = m[0][2] * now[left] + m[2][2] * now[left + 2];
                sum += now[at] + now[at + 1] + now[at + 2];
            }
            scales.push(sum);
            let band = self.at(row, *columns.start())..self.at(row, *columns.end()) + STATES;
            let inverse = 1.0 / sum;
            for cell in &mut now[band] {
                *cell = if row == 1 { *cell / sum } else { *cell * inverse };
            }
        }
        let last = &cells[self.bases() * self.row..];
        let mut sum = 0.0;
        for column in (1..=self.window.len()).filter(|&it| self.is_in_band(self.bases(), it)) {
            let at = self.at(self.bases(), column);
            sum += last[at] * self.to_end + last[at + 1] * self.to_end;
        }
        scales.push(sum);
    }

    fn backward(&self, cells: &mut Vec<f64>, scales: &[f64]) {
        let (m, bases) = (&self.transitions, self.bases());
        cells.clear();
        cells.resize((bases + 1) * self.row, 0.0);
        let last = &mut cells[bases * self.row..];
        for column in (1..=self.window.len()).filter(|&it| self.is_in_band(bases, it)) {
            let at = self.at(bases, column);
            last[at] = self.to_end / scales[bases] / scales[bases + 1];
            last[at + 1] = last[at];
        }
        for row in (1..bases).rev() {
            let (from, after) = cells.split_at_mut((row + 1) * self.row);
            let (now, after) = (&mut from[row * self.row..], &after[..self.row]);
            let columns = self.columns(row);
            let with_deletion = if row > 1 { 1.0 } else { 0.0 };
            for column in columns.clone().rev() {
                let at = self.at(row, column);
                let diagonal = self.at(row + 1, column + 1);
                let below = self.at(row + 1, column);
                let right = self.at(row, column + 1);
                let emission = match column < self.window.len() {
                    true => self.emission(row + 1, column + 1) * after[diagonal],
                    false => 0.0 * after[diagonal],
                };
                now[at] = emission * m[0][0]
                    + INSERTED_BASE * m[0][1] * after[below + 1]
                    + m[0][2] * now[right + 2];
                now[at + 1] = emission * m[1][0] + INSERTED_BASE * m[1][1] * after[below + 1];
                now[at + 2] = (emission * m[2][0] + m[2][2] * now[right + 2]) * with_deletion;
            }
            let band = self.at(row, *columns.start())..self.at(row, *columns.end()) + STATES;
            let inverse = 1.0 / scales[row];
            now[band].iter_mut().for_each(|cell| *cell *= inverse);
        }
    }

    /// The most likely state of a base (from 0).
    fn best(&self, base: usize, scratch: &BaqScratch) -> Best {
        let row = base + 1;
        let forward = &scratch.forward[row * self.row..];
        let backward = &scratch.backward[row * self.row..];
        let (mut sum, mut most, mut place) = (0.0, 0.0, None);
        for column in self.columns(row) {
            let at = self.at(row, column);
            for (state, is_match) in [(at, true), (at + 1, false)] {
                let probability = forward[state] * backward[state];
                sum += probability;
                if probability > most {
                    most = probability;
                    place = is_match.then_some(column - 1);
                }
            }
        }
        most /= sum;
        // 4.343 and 0.499 stand for 10 / ln(10) and rounding.
        let quality = (-4.343 * (1.0 - most).ln() + 0.499) as i32;
        let quality = if quality > 100 { 99 } else { quality.max(MIN_QUALITY.into()) as u8 };
        Best { place, quality }
    }
}
