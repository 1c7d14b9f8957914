//! Read groups of a header as recalibration names them.

use std::collections::HashMap;

use seqloom_format::bam::{AuxValue, Header, RecordError, RecordRef};

/// A read group, by its ID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReadGroup {
    /// Index into [`ReadGroups::names`].
    pub(super) name: usize,
    pub(super) has_platform: bool,
}

/// Read groups by ID. Tables name them by platform unit, or by ID where there is none, so that
/// several may share a name.
#[derive(Debug, Clone, Default)]
pub(super) struct ReadGroups {
    names: Vec<String>,
    by_id: HashMap<Vec<u8>, ReadGroup>,
}

impl ReadGroups {
    pub(super) fn new(header: &Header) -> Self {
        let mut groups = Self::default();
        for group in header.read_groups() {
            let name = String::from_utf8_lossy(group.platform_unit.unwrap_or(group.id));
            let known = groups.names.iter().position(|it| *it == name);
            let name = known.unwrap_or_else(|| {
                groups.names.push(name.into_owned());
                groups.names.len() - 1
            });
            let has_platform = group.platform.is_some();
            groups.by_id.insert(group.id.to_vec(), ReadGroup { name, has_platform });
        }
        groups
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    pub(super) fn has_any_platform(&self) -> bool {
        self.by_id.values().any(|group| group.has_platform)
    }

    pub(super) fn find(&self, id: &[u8]) -> Option<ReadGroup> {
        self.by_id.get(id).copied()
    }
}

/// The read group of the record before: records of one group often follow each other.
#[derive(Debug, Clone, Default)]
pub(super) struct LastGroup {
    id: Vec<u8>,
    group: Option<ReadGroup>,
}

impl LastGroup {
    /// The group with this ID.
    pub(super) fn find(&mut self, id: &[u8], groups: &ReadGroups) -> Option<ReadGroup> {
        if self.group.is_none() || self.id != id {
            self.id.clear();
            self.id.extend_from_slice(id);
            self.group = groups.find(id);
        }
        self.group
    }
}

/// ID of a record's read group.
pub(super) fn read_group<'a>(record: &RecordRef<'a>) -> Result<Option<&'a [u8]>, RecordError> {
    Ok(record.find_aux(*b"RG")?.as_ref().and_then(AuxValue::as_string))
}
