//! Tables to read: in memory, or with their rows by covariate in temporary data, where there may be
//! too many of them for memory. Whoever reads one is shown the rows of one quality at a time.

use std::io;

use seqloom_format::bam::Header;
use seqloom_format::{MalformedState, Persist, persist_fields};
use seqloom_io::spill::{Content, SpillError, SpillExtent};
use seqloom_runtime::error::{Class, Place, RunError};

use super::counts::{EventRow, add_rows};
use super::read_groups::ReadGroups;
use super::table::{Arguments, Covariate, CovariateRow, RecalibrationTable, covariate_rows};
use super::{Counter, Event, QUALITIES};
use crate::partition::{Backing, StoreScratch};

/// Why a table cannot be read, or not be written.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// Temporary data cannot be written or read back.
    #[error(transparent)]
    Spill(#[from] SpillError),
    /// Stored bytes are not a row.
    #[error(transparent)]
    Malformed(#[from] MalformedState),
    /// A report cannot be written.
    #[error(transparent)]
    Write(#[from] io::Error),
}

impl RunError for TableError {
    fn class(&self) -> Class {
        match self {
            Self::Spill(spill) => spill.class(),
            Self::Malformed(_) => Class::Damaged,
            Self::Write(_) => Class::Output,
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::Spill(spill) => spill.place(),
            Self::Malformed(_) | Self::Write(_) => Place::default(),
        }
    }
}

/// Place of the cells of one quality of a read group.
#[derive(Debug, Clone)]
struct StoredRow {
    /// By its index in the header.
    group: u32,
    quality: u8,
    extent: SpillExtent,
}

persist_fields!(StoredRow { group, quality, extent });

/// Counts of all reads, in temporary data.
#[derive(Debug, Clone, Default)]
pub struct StoredCounts {
    /// By group and quality.
    rows: Vec<StoredRow>,
}

persist_fields!(StoredCounts { rows });

/// One quality of a read group, of which something was counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountedQuality {
    /// Index of the read group in the header.
    pub group: u32,
    /// Reported quality, on the Phred scale.
    pub quality: u8,
    /// Its counts, as bytes.
    pub cells: Box<[u8]>,
}

persist_fields!(CountedQuality { group, quality, cells });

impl CountedQuality {
    /// Adds what was counted elsewhere of the same quality and read group.
    ///
    /// # Errors
    /// Bytes that are none of counts.
    pub fn add(&mut self, other: &Self) -> Result<(), MalformedState> {
        let mut rows = Vec::<EventRow>::from_state(&self.cells)?;
        add_rows(&mut rows, Persist::from_state(&other.cells)?);
        self.cells = rows.to_state().into();
        Ok(())
    }
}

impl StoredCounts {
    /// Adds a quality of which nothing has been added.
    ///
    /// # Errors
    /// Temporary data cannot be written.
    pub fn push(
        &mut self,
        counted: &CountedQuality,
        backing: &Backing,
        scratch: &mut StoreScratch,
    ) -> Result<(), SpillError> {
        let &CountedQuality { group, quality, ref cells } = counted;
        let extent = scratch.write(backing, (cells, Content::Bytes))?;
        let at = self.rows.partition_point(|row| (row.group, row.quality) <= (group, quality));
        self.rows.insert(at, StoredRow { group, quality, extent });
        Ok(())
    }

    /// Reads all back, by group and quality.
    pub fn read<'a>(
        &'a self,
        backing: &'a Backing,
    ) -> impl Iterator<Item = Result<CountedQuality, SpillError>> + 'a {
        let mut scratch = None;
        self.rows.iter().map(move |row| {
            let scratch = match &mut scratch {
                Some(scratch) => scratch,
                none => none.insert(StoreScratch::new()?),
            };
            let mut cells = Vec::new();
            scratch.read(backing, row.extent, &mut cells)?;
            let &StoredRow { group, quality, .. } = row;
            Ok(CountedQuality { group, quality, cells: cells.into() })
        })
    }

    /// The rows of a group.
    fn of_group(&self, group: u32) -> &[StoredRow] {
        let first = self.rows.partition_point(|row| row.group < group);
        let end = self.rows.partition_point(|row| row.group <= group);
        &self.rows[first..end]
    }
}

/// The table of what was counted, without its rows by covariate.
#[derive(Debug)]
pub struct CountedTable<'a> {
    table: RecalibrationTable,
    /// The index in the header of each read group of the table.
    groups: Vec<u32>,
    counts: &'a StoredCounts,
    backing: &'a Backing,
    units: u64,
}

impl<'a> CountedTable<'a> {
    /// Of counts that are stored in `backing`, with the options and the header of `counter`.
    ///
    /// # Errors
    /// The counts cannot be read back.
    pub fn new(
        counter: &Counter<'_>,
        counts: &'a StoredCounts,
        backing: &'a Backing,
    ) -> Result<Self, TableError> {
        let names = counter.group_names();
        let mut groups: Vec<u32> = counts.rows.iter().map(|row| row.group).collect();
        groups.dedup();
        groups.retain(|&group| (group as usize) < names.len());
        // In the order of their names, as in a report.
        groups.sort_by_key(|&group| &names[group as usize]);
        let units = counter.options().error_units();
        let sorted = groups.iter().map(|&group| names[group as usize].clone()).collect();
        let mut table = RecalibrationTable::empty(Arguments::new(counter.options()), sorted);
        let mut scratch = StoreScratch::new()?;
        for (index, &group) in groups.iter().enumerate() {
            for row in counts.of_group(group) {
                let cells = read(row, backing, &mut scratch)?;
                table.add_quality(index, row.quality, &cells, units);
            }
        }
        table.close();
        Ok(Self { table, groups, counts, backing, units })
    }

    /// To read it.
    #[must_use]
    pub fn view(&self) -> TableView<'_> {
        TableView { table: &self.table, stored: Some(self) }
    }
}

fn read(
    row: &StoredRow,
    backing: &Backing,
    scratch: &mut StoreScratch,
) -> Result<Vec<EventRow>, TableError> {
    let mut bytes = Vec::new();
    scratch.read(backing, row.extent, &mut bytes)?;
    Ok(Persist::from_state(&bytes)?)
}

/// Read access to a table, wherever its rows are.
#[derive(Debug, Clone, Copy)]
pub struct TableView<'a> {
    /// Without its rows by covariate, where `stored` has them.
    pub(super) table: &'a RecalibrationTable,
    stored: Option<&'a CountedTable<'a>>,
}

impl RecalibrationTable {
    /// To read it.
    #[must_use]
    pub fn view(&self) -> TableView<'_> {
        TableView { table: self, stored: None }
    }
}

impl TableView<'_> {
    /// Read groups of a header that the table does not have: of which no base was counted. By what
    /// tables call them: PU, or ID where there is no PU.
    #[must_use]
    pub fn missing_read_groups(&self, header: &Header) -> Vec<String> {
        let has = |name: &String| {
            let number = self.table.read_groups.iter().position(|it| it == name);
            number.is_some_and(|it| self.table.by_group.contains_key(&(it, Event::Mismatch)))
        };
        ReadGroups::new(header).names().iter().filter(|name| !has(name)).cloned().collect()
    }

    /// Shows the rows by covariate of a read group, by its index in the table: those of one quality
    /// at a time, the qualities in order.
    pub(super) fn for_each_quality(
        &self,
        group: usize,
        mut show: impl FnMut(&[CovariateRow]) -> Result<(), TableError>,
    ) -> Result<(), TableError> {
        let Some(stored) = self.stored else {
            return (0..QUALITIES as u8).try_for_each(|quality| {
                let rows = self.table.rows_of(group, quality);
                if rows.is_empty() { Ok(()) } else { show(&rows) }
            });
        };
        let mut scratch = StoreScratch::new()?;
        for row in stored.counts.of_group(stored.groups[group]) {
            let cells = read(row, stored.backing, &mut scratch)?;
            show(&covariate_rows(row.quality, &cells, stored.units))?;
        }
        Ok(())
    }
}

impl RecalibrationTable {
    /// The rows by covariate of a quality of a read group, which the table has in memory.
    fn rows_of(&self, group: usize, quality: u8) -> Vec<CovariateRow> {
        let first = (group, quality, Covariate::Context(0), Event::Deletion);
        let rows = self.by_covariate.range(first..);
        let rows = rows.take_while(|(key, _)| (key.0, key.1) == (group, quality));
        rows.map(|(&(_, quality, covariate, event), &datum)| CovariateRow {
            quality,
            covariate,
            event,
            datum,
        })
        .collect()
    }
}
