//! The 64-bit key of a record: equal or in order wherever the records are, so that a sort looks at
//! the records themselves only where keys are equal.

use seqloom_format::bam::{Flags, RecordRef};

use super::SortOrder;

/// Set in the key of a record without reference.
const NO_COORDINATE_BIT: u64 = 1 << 63;
/// What counts of a record's without a coordinate place key where its position does not.
pub(super) const NO_COORDINATE_STRAND_MASK: u64 = NO_COORDINATE_BIT | 1;

/// Reference, position and strand of a record.
pub(super) fn place_key(record: &RecordRef<'_>) -> u64 {
    let reverse = record.has_flags(Flags::REVERSE);
    coordinate_key(record.reference_id(), record.position(), reverse)
}

/// Coordinate sort key of `samtools sort`: reference, position, strand; ties are broken by record
/// ordinal. Records without a reference come last, by position and strand among themselves (both
/// nought for usual ones, which so stay in input order).
///
/// Positions beyond the longest reference that SAM can describe (2^31 - 1 bp) are cut to it.
fn coordinate_key(reference_id: i32, position: i32, reverse: bool) -> u64 {
    // Position -1 (none) sorts before 0.
    let position = (i64::from(position) + 1).clamp(0, i64::from(i32::MAX)) as u64;
    let reference = u64::from(reference_id.cast_unsigned()).min(1 << 31);
    reference << 32 | position << 1 | u64::from(reverse)
}

/// Makes keys for a set of records.
///
/// Names of one run share long beginnings, so a key of a name is eight bytes after the beginning
/// that all names of the set share: every record must be shown to [`PrefixKeys::note`] before the
/// first key that is compared is made.
#[derive(Debug)]
pub(crate) struct PrefixKeys {
    order: SortOrder,
    /// Text of the first record noted, as far as all others start with it.
    shared: Option<Vec<u8>>,
    /// Text of the record in hand.
    text: Vec<u8>,
}

impl PrefixKeys {
    /// Keys for `order`.
    #[must_use]
    pub(crate) fn new(order: SortOrder) -> Self {
        Self { order, shared: None, text: Vec::new() }
    }

    /// Whether [`Self::note`] does anything.
    #[must_use]
    pub(crate) fn needs_notes(&self) -> bool {
        !self.order.is_key_whole()
    }

    /// Takes note of a record of the set.
    pub(crate) fn note(&mut self, record: &RecordRef<'_>) {
        if !self.read_text(record) {
            return;
        }
        let shared = self.shared.get_or_insert_with(|| self.text.clone());
        let same = shared.iter().zip(&self.text).take_while(|(a, b)| a == b).count();
        shared.truncate(same);
    }

    /// Writes the record's text to `self.text`; false where its place decides.
    fn read_text(&mut self, record: &RecordRef<'_>) -> bool {
        self.text.clear();
        self.order.append_text(record, &mut self.text);
        self.order.is_by_name() || !self.text.is_empty()
    }

    /// The key of a record of the set: where it is less than another's, the record comes first.
    #[must_use]
    pub(crate) fn key(&mut self, record: &RecordRef<'_>, ordinal: u64) -> u64 {
        match self.order {
            SortOrder::Keep => ordinal,
            SortOrder::Coordinate => place_key(record),
            SortOrder::CoordinatePicard if record.reference_id() >= 0 => place_key(record),
            SortOrder::CoordinatePicard => NO_COORDINATE_BIT | self.window(record) >> 1,
            SortOrder::QueryName | SortOrder::QueryNamePicard => self.window(record),
        }
    }

    /// Eight bytes of the record's text after the shared beginning; where it ends, zeros.
    fn window(&mut self, record: &RecordRef<'_>) -> u64 {
        self.read_text(record);
        let skipped_bytes = self.shared.as_ref().map_or(0, Vec::len);
        let text = self.text.get(skipped_bytes..).unwrap_or_default();
        let mut window = [0; 8];
        let len = text.len().min(8);
        window[..len].copy_from_slice(&text[..len]);
        u64::from_be_bytes(window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_order_reference_position_strand_and_put_those_without_a_place_last() {
        let keys = [
            coordinate_key(0, -1, false),
            coordinate_key(0, 0, false),
            coordinate_key(0, 0, true),
            coordinate_key(0, i32::MAX, true),
            coordinate_key(1, 0, false),
            coordinate_key(i32::MAX, i32::MAX, true),
            coordinate_key(-1, -1, false),
            coordinate_key(-1, -1, true),
            coordinate_key(-1, 0, false),
            coordinate_key(-1, i32::MAX, false),
        ];
        assert!(keys.is_sorted());
        assert!(keys.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
