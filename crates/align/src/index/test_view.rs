//! An index of sequences without what is searched, for tests.

use super::{IndexParts, IndexView, Sequence};

/// The index of sequences one after the other, but for what is searched.
pub(crate) fn view_of(sequences: &[Sequence]) -> IndexView<'_> {
    let parts = IndexParts {
        bases: sequences.last().map_or(0, |last| last.end),
        first_rows: [0; 5],
        sentinel_row: 0,
        superblocks: &[],
        blocks: &[],
        samples_low: &[],
        samples_high: &[],
        sample_shift: 0,
        row_stride_log2: 0,
        packed: &[],
    };
    IndexView { parts, sequences }
}

/// Three sequences, the second of which is an ALT one.
pub(crate) const SEQUENCES: [Sequence; 3] = [
    Sequence { start: 0, end: 200, is_alt: false },
    Sequence { start: 200, end: 330, is_alt: true },
    Sequence { start: 330, end: 700, is_alt: false },
];
