//! Read groups and libraries of a header: who may be whose duplicate.

use seqloom_format::bam::{Header, ReadGroup};
use seqloom_runtime::error::{Class, RunError};

/// The library of records without a read group, and of read groups without LB (as in Picard).
pub(crate) const UNKNOWN_LIBRARY: &str = "Unknown Library";

/// The header has more read groups than there are indices for.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("the header has {0} read groups; at most 65534 are supported")]
pub struct TooManyReadGroups(usize);

impl RunError for TooManyReadGroups {
    fn class(&self) -> Class {
        Class::Input
    }
}

/// A read group as found in the header.
#[derive(Debug, Clone, PartialEq, Eq)]
struct KnownReadGroup {
    id: Box<[u8]>,
    /// Index in header order.
    index: u16,
    library: u16,
}

/// Library and read group of a record, as indices of a [`LibraryTable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GroupIndex {
    pub(crate) library: u16,
    /// In header order.
    pub(crate) read_group: u16,
}

/// The read groups of a header and the libraries they belong to; built once, then only read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LibraryTable {
    /// Sorted by ID.
    read_groups: Vec<KnownReadGroup>,
    /// Sorted by name; "Unknown Library" is always one of them.
    libraries: Vec<String>,
    /// Whether `libraries[i]` is named (or implied) by a read group of the header.
    in_header: Vec<bool>,
    unknown: u16,
    constant: bool,
}

impl LibraryTable {
    /// The libraries of a header's read groups; read groups of equal LB are one library.
    ///
    /// # Errors
    /// More read groups than 65,534.
    pub fn new(header: &Header) -> Result<Self, TooManyReadGroups> {
        let groups = header.read_groups();
        let count = groups.len();
        if count > usize::from(u16::MAX) - 1 {
            return Err(TooManyReadGroups(count));
        }
        let unknown_library = UNKNOWN_LIBRARY.as_bytes();
        let name = |library: &[u8]| String::from_utf8_lossy(library).into_owned();
        let named = |group: &ReadGroup<'_>| name(group.library.unwrap_or(unknown_library));
        let mut libraries: Vec<String> = groups.iter().map(named).collect();
        libraries.push(UNKNOWN_LIBRARY.to_owned());
        libraries.sort_unstable();
        libraries.dedup();
        // At most 65,535 libraries, so an index fits.
        let index_of = |name: &str| libraries.partition_point(|l| l.as_str() < name) as u16;
        let mut in_header = vec![false; libraries.len()];
        let mut read_groups = Vec::with_capacity(count);
        for (group, index) in groups.iter().zip(0_u16..) {
            let library = index_of(&named(group));
            in_header[usize::from(library)] = true;
            read_groups.push(KnownReadGroup { id: group.id.into(), index, library });
        }
        read_groups.sort_unstable_by(|a, b| a.id.cmp(&b.id)); // the header's IDs are unique
        let unknown = index_of(UNKNOWN_LIBRARY);
        Ok(Self { read_groups, libraries, in_header, unknown, constant: count == 0 })
    }

    /// States that every record carries the header's only read group, because the caller wrote it;
    /// then tags are not read. No effect where the header has several read groups.
    #[must_use]
    pub fn every_record_has_the_only_read_group(mut self) -> Self {
        self.constant |= self.read_groups.len() == 1;
        self
    }

    /// The library of every record, where that is known without looking at its tags.
    pub(crate) fn constant_library(&self) -> Option<u16> {
        let first = self.read_groups.first().map_or(self.unknown, |group| group.library);
        self.constant.then_some(first)
    }

    /// Library and read group of a record's RG value.
    ///
    /// As in Picard a record without RG has read group 0, one with an RG that the header lacks has
    /// the number of read groups; both have the unknown library.
    pub(crate) fn resolve(&self, read_group: Option<&[u8]>) -> GroupIndex {
        let unknown = |read_group| GroupIndex { library: self.unknown, read_group };
        let Some(id) = read_group else { return unknown(0) };
        match self.read_groups.binary_search_by(|group| group.id.as_ref().cmp(id)) {
            Ok(at) => {
                let KnownReadGroup { library, index, .. } = self.read_groups[at];
                GroupIndex { library, read_group: index }
            }
            // Fewer than 65,535 read groups.
            Err(_) => unknown(self.read_groups.len() as u16),
        }
    }

    /// Names of the libraries in index order, which is the order of names; each with whether the
    /// header has it.
    pub fn libraries(&self) -> impl ExactSizeIterator<Item = (&str, bool)> {
        self.libraries.iter().map(String::as_str).zip(self.in_header.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "@HD\tVN:1.6\n@RG\tID:b\tLB:two\n@RG\tID:a\tSM:s\tLB:one\n\
                          @RG\tID:c\tLB:two\n@RG\tID:d\n@CO\t@RG\tID:x\n";

    fn table(header: &str) -> LibraryTable {
        LibraryTable::new(&Header::parse(header.as_bytes()).unwrap()).unwrap()
    }

    #[test]
    fn equal_libraries_are_one_and_missing_ones_are_unknown() {
        let table = table(HEADER);
        let libraries: Vec<_> = table.libraries().collect();
        assert_eq!(libraries, [(UNKNOWN_LIBRARY, true), ("one", true), ("two", true)]);
        let t = |id: Option<&[u8]>, library, read_group| {
            assert_eq!(table.resolve(id), GroupIndex { library, read_group }, "{id:?}");
        };
        t(Some(b"b"), 2, 0);
        t(Some(b"a"), 1, 1);
        t(Some(b"c"), 2, 2);
        t(Some(b"d"), 0, 3);
        t(Some(b"x"), 0, 4);
        t(None, 0, 0);
        assert_eq!(table.constant_library(), None);
        assert_eq!(table.every_record_has_the_only_read_group().constant_library(), None);
    }

    #[test]
    fn no_read_group_is_a_constant_unknown_library() {
        let table = table("@SQ\tSN:x\tLN:1\n");
        assert_eq!(table.constant_library(), Some(0));
        assert_eq!(table.libraries().collect::<Vec<_>>(), [(UNKNOWN_LIBRARY, false)]);
    }

    #[test]
    fn a_single_read_group_is_trusted_only_on_request() {
        let table = table("@RG\tID:a\tLB:z\n");
        assert_eq!(table.constant_library(), None);
        let table = table.every_record_has_the_only_read_group();
        assert_eq!(table.constant_library(), Some(1));
    }

    #[test]
    fn more_read_groups_than_indices() {
        let lines = |n| (0..n).map(|i| format!("@RG\tID:{i}\tLB:{i}\n")).collect::<String>();
        assert_eq!(table(&lines(65_534)).libraries().len(), 65_535);
        let header = Header::parse(lines(65_535).as_bytes()).unwrap();
        assert_eq!(LibraryTable::new(&header), Err(TooManyReadGroups(65_535)));
    }
}
