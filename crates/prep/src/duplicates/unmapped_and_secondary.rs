//! Records of one template that are apart, where families are marked for all of them: secondary and
//! supplementary records and unmapped mates have no ends, and take the family of those that have.

use super::DuplicateMarks;
use super::entry::{Decoder, Encoder, ordinal_bytes};
use super::mate::hash_128;
use crate::hash::spread;

/// A record of input that is sorted by coordinate, by the name of its template.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Relative {
    /// Hash of name and read group, in which names of single reads may be those of another's.
    name: [u64; 2],
    /// Number of the record in the input.
    record: u64,
}

impl Relative {
    /// Size of the serialised form.
    pub(crate) const BYTES: usize = 22;

    pub(crate) fn new(name: &[u8], read_group: u16, record: u64) -> Self {
        Self { name: hash_128(&[name, &read_group.to_le_bytes()]), record }
    }

    /// Partition of `partitions` that all records of this name go to.
    pub(crate) fn partition_of(&self, partitions: usize) -> usize {
        spread(self.name[0], partitions)
    }

    /// The serialised form.
    pub(crate) fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut out = Encoder::<{ Self::BYTES }>::new();
        out.put(self.name[0].to_le_bytes());
        out.put(self.name[1].to_le_bytes());
        out.put(ordinal_bytes(self.record));
        out.bytes
    }

    /// The entry of a serialised form.
    pub(crate) fn from_bytes(bytes: &[u8; Self::BYTES]) -> Self {
        let mut input = Decoder { bytes, at: 0 };
        let name = std::array::from_fn(|_| u64::from_le_bytes(input.take()));
        Self { name, record: input.ordinal() }
    }
}

/// Gives all records of a name the family of those that have one, the earliest if there are more.
/// The partition holds all records of each of its names; the list is sorted in place.
pub(crate) fn share_families(relatives: &mut [Relative], marks: &DuplicateMarks) {
    relatives.sort_unstable();
    for of_name in relatives.chunk_by(|a, b| a.name == b.name) {
        marks.share_family(of_name.iter().map(|relative| relative.record));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::duplicates::{DuplicateMode, MarkSink};

    #[test]
    fn records_of_a_name_have_its_earliest_family() {
        let marks = DuplicateMarks::new(10, DuplicateMode::Query).telling_families().unwrap();
        for (record, first) in [(1, 1), (4, 2), (5, 1), (6, 6)] {
            (&marks).put_in_family(record, first);
        }
        let named = |name: &str, read_group, record| {
            let relative = Relative::new(name.as_bytes(), read_group, record);
            assert_eq!(Relative::from_bytes(&relative.to_bytes()), relative);
            assert!(relative.partition_of(7) < 7);
            relative
        };
        let mut relatives = [
            named("a", 0, 9),
            named("a", 0, 4),
            named("a", 0, 5),
            named("a", 0, 0),
            named("a", 1, 6),
            named("a", 1, 7),
            named("b", 0, 3),
            named("c", 0, 1),
        ];
        share_families(&mut relatives, &marks);
        let families: Vec<_> = (0..10).map(|record| marks.family(record)).collect();
        let (one, six) = (Some(1), Some(6));
        assert_eq!(families, [one, one, None, None, one, one, six, six, None, one]);
    }
}
