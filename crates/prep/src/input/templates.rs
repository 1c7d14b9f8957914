//! Framed records cut into templates: runs of one name, or every record by itself.

use crate::partition::collect::Grouping;

/// Size of the length before a record's body.
const LENGTH_BYTES: usize = 4;
/// Where in a body the length of the name is, and where the name (SAM specification 4.2).
const NAME_LENGTH_AT: usize = 8;
const NAME_AT: usize = 32;

/// The templates in a run of framed records, as slices of it.
#[derive(Debug, Clone)]
pub(crate) struct Templates<'a> {
    rest: &'a [u8],
    grouping: Grouping,
}

impl<'a> Templates<'a> {
    /// The templates of `bytes`, whole framed records.
    #[must_use]
    pub(crate) fn new(bytes: &'a [u8], grouping: Grouping) -> Self {
        Self { rest: bytes, grouping }
    }
}

impl<'a> Iterator for Templates<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let first = first_record(self.rest)?;
        let mut end = first.len();
        if self.grouping == Grouping::Templates {
            let name = name_of(first);
            while let Some(next) = first_record(&self.rest[end..]) {
                if name_of(next) != name {
                    break;
                }
                end += next.len();
            }
        }
        let (template, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(template)
    }
}

/// The first record, with its length.
fn first_record(bytes: &[u8]) -> Option<&[u8]> {
    let length = u32::from_le_bytes(*bytes.first_chunk::<LENGTH_BYTES>()?) as usize;
    bytes.get(..LENGTH_BYTES.checked_add(length)?)
}

/// Name of a framed record, with its NUL.
pub(super) fn name_of(record: &[u8]) -> &[u8] {
    let length = record.get(LENGTH_BYTES + NAME_LENGTH_AT).map_or(0, |&length| length.into());
    let start = LENGTH_BYTES + NAME_AT;
    record.get(start..start + length).unwrap_or_default()
}

/// Findings of a worker about a block of records, before its turn comes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Scan {
    /// Number of templates that start in the block, as if nothing were before and after it.
    pub(super) templates: u64,
    /// End of the first template, and start of the last one.
    pub(super) first_end: usize,
    pub(super) last_start: usize,
    /// Places of the first and the last record, [`place_of`].
    pub(super) first_place: u64,
    pub(super) last_place: u64,
    /// Number in the block of the first record that is before its predecessor.
    pub(super) unsorted_record: Option<u64>,
}

/// Surveys the records of one block.
pub(super) fn scan_block(bytes: &[u8], grouping: Grouping) -> Scan {
    let mut scan_block = Scan::default();
    let mut at = 0;
    for template in Templates::new(bytes, grouping) {
        scan_block.last_start = at;
        at += template.len();
        if scan_block.templates == 0 {
            scan_block.first_end = at;
        }
        scan_block.templates += 1;
    }
    let mut previous = 0;
    for (index, record) in (0_u64..).zip(Templates::new(bytes, Grouping::Records)) {
        let place = place_of(record);
        if index == 0 {
            scan_block.first_place = place;
        } else if place < previous && scan_block.unsorted_record.is_none() {
            scan_block.unsorted_record = Some(index);
        }
        previous = place;
    }
    scan_block.last_place = previous;
    scan_block
}

/// Where a framed record is in a file sorted by coordinate, ties left aside: reference and
/// position, records without a reference last.
fn place_of(record: &[u8]) -> u64 {
    let field = |at: usize| {
        let bytes = record.get(at..at + 4).and_then(|bytes| bytes.first_chunk());
        bytes.map_or(-1, |bytes| i32::from_le_bytes(*bytes))
    };
    let (reference, position) = (field(LENGTH_BYTES), field(LENGTH_BYTES + 4));
    // Position -1 (none) comes before 0.
    let position = position.wrapping_add(1).cast_unsigned();
    u64::from(reference.cast_unsigned()) << 32 | u64::from(position)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_records::body;

    fn records(names: &[(&str, i32, i32)]) -> Vec<u8> {
        let framed = |(name, reference, position): &(&str, i32, i32)| {
            let body = body(name, 0, *reference, *position, 9);
            [(body.len() as u32).to_le_bytes().as_slice(), &body].concat()
        };
        names.iter().flat_map(framed).collect()
    }

    #[test]
    fn templates_are_runs_of_a_name_or_single_records() {
        fn t(names: &[&str], expected: &[usize]) {
            let places: Vec<_> = names.iter().map(|name| (*name, 0, 0)).collect();
            let bytes = records(&places);
            let count = |template: &[u8]| Templates::new(template, Grouping::Records).count();
            let sizes: Vec<_> = Templates::new(&bytes, Grouping::Templates).map(count).collect();
            assert_eq!(sizes, expected, "{names:?}");
            assert_eq!(Templates::new(&bytes, Grouping::Records).count(), names.len());
        }
        t(&[], &[]);
        t(&["a"], &[1]);
        t(&["a", "a", "b", "a"], &[2, 1, 1]);
        t(&["a", "ab", "ab", "ab"], &[1, 3]);
    }

    #[test]
    fn a_scan_finds_edges_and_order() {
        assert_eq!(scan_block(b"", Grouping::Templates), Scan::default());
        let bytes = records(&[("a", 0, 5), ("a", 0, 5), ("b", 1, -1), ("c", 0, 9), ("d", 2, -1)]);
        let one = bytes.len() / 5;
        let found = scan_block(&bytes, Grouping::Templates);
        assert_eq!((found.templates, found.first_end, found.last_start), (4, 2 * one, 4 * one));
        assert_eq!(found.unsorted_record, Some(3));
        assert_eq!(found.last_place, 2 << 32);
        assert_eq!(
            scan_block(&records(&[("a", -1, -1)]), Grouping::Records).last_place,
            ((1 << 32) - 1) << 32
        );
        assert!(found.first_place < found.last_place);
    }

    #[test]
    fn damaged_bytes_end_the_run() {
        let bytes = records(&[("a", 0, 0)]);
        for cut in 0..bytes.len() {
            assert_eq!(Templates::new(&bytes[..cut], Grouping::Templates).count(), 0);
            scan_block(&bytes[..cut], Grouping::Records);
        }
    }
}
