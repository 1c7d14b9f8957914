//! Recalibration as a run requests it: where its table comes from, and what is made of that before
//! records are written.

use std::io::{BufWriter, Write as _};
use std::path::Path;

use seqloom_format::bam::Header;
use seqloom_io::{AtomicFile, OutputError};
use seqloom_runtime::error::{Class, Place, RunError};

use super::apply::{Applier, ApplierError, ApplyOptions};
use super::count::Counter;
use super::known_sites::KnownSites;
use super::passes::count_stored;
use super::rows::QualityRows;
use super::table::RecalibrationTable;
use super::view::{CountedTable, StoredCounts, TableError, TableView};
use super::{RecalibrationOptions, report};
use crate::finish::hooks::HookError;
use crate::finish::{CountingPassOptions, FinishError, StoredRecords};
use crate::input::ReferenceSequences;
use crate::partition::Backing;

/// The source of the table, and the options by which it is applied.
pub struct RecalibrationRequest<'a> {
    /// Source of the table.
    pub source: TableSource<'a>,
    /// File of the report, if one is requested.
    pub report: Option<&'a Path>,
    /// How the table is applied; `None` leaves qualities as they are.
    pub applying: Option<ApplyOptions>,
}

/// Source of a table.
pub enum TableSource<'a> {
    /// Covariates of the records themselves.
    Counted {
        /// How they are counted.
        options: RecalibrationOptions,
        /// Sites that are left out.
        known_sites: &'a KnownSites,
    },
    /// A report, or several that were gathered.
    Given(&'a RecalibrationTable),
}

/// Results of recalibration, made before records are written.
#[derive(Default)]
pub struct RecalibrationOutput {
    /// Sets qualities, where these are changed.
    pub(crate) applier: Option<Applier>,
    /// The report, if one is requested; it has no name yet.
    pub report: Option<AtomicFile>,
    /// Sums of the table.
    pub rows: QualityRows,
    /// Read groups of the header of which no base was counted, where qualities stay.
    pub uncounted_groups: Vec<String>,
}

/// Why a table cannot be made or used.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// Its options, or its rows.
    #[error(transparent)]
    Table(#[from] ApplierError),
    /// The report cannot be written.
    #[error(transparent)]
    Report(#[from] OutputError),
}

impl RunError for RequestError {
    fn class(&self) -> Class {
        match self {
            Self::Table(table) => table.class(),
            Self::Report(report) => report.class(),
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::Table(table) => table.place(),
            Self::Report(report) => report.place(),
        }
    }
}

impl RecalibrationRequest<'_> {
    /// Counts covariates of all records; `None` where the table is given.
    ///
    /// # Errors
    /// A record that cannot be counted.
    pub fn count(
        &self,
        header: &Header,
        reference: &ReferenceSequences,
        records: &StoredRecords<'_>,
        pass: &CountingPassOptions<'_>,
    ) -> Result<Option<StoredCounts>, FinishError> {
        let TableSource::Counted { options, known_sites } = &self.source else { return Ok(None) };
        let counter = Counter::new(options, header, reference, known_sites);
        Ok(Some(count_stored(&counter.map_err(HookError::from)?, records, pass)?))
    }

    /// Writes the report and makes what applies the table; `counts` are those of
    /// [`RecalibrationRequest::count`].
    pub(crate) fn output(
        &self,
        header: &Header,
        (counts, backing): (&StoredCounts, &Backing),
    ) -> Result<RecalibrationOutput, RequestError> {
        match &self.source {
            TableSource::Counted { options, known_sites } => {
                let none = ReferenceSequences::default();
                let counter = Counter::new(options, header, &none, known_sites);
                let counter = counter.map_err(ApplierError::from)?;
                let table = CountedTable::new(&counter, counts, backing);
                self.output_of(header, table.map_err(ApplierError::from)?.view())
            }
            TableSource::Given(table) => self.output_of(header, table.view()),
        }
    }

    fn output_of(
        &self,
        header: &Header,
        table: TableView<'_>,
    ) -> Result<RecalibrationOutput, RequestError> {
        let mut output = RecalibrationOutput::default();
        if let Some(path) = self.report {
            let file = AtomicFile::create(path).map_err(OutputError::from)?;
            write_report(table, &file)?;
            output.report = Some(file);
        }
        output.rows = QualityRows::of(table).map_err(ApplierError::from)?;
        match &self.applying {
            Some(options) => output.applier = Some(Applier::new(table, options, header)?),
            None => output.uncounted_groups = table.missing_read_groups(header),
        }
        Ok(output)
    }
}

/// Writes the report of a table.
///
/// # Errors
/// The table cannot be read, or the file not be written.
pub fn write_report(table: TableView<'_>, file: &AtomicFile) -> Result<(), RequestError> {
    let mut out = BufWriter::new(file.file());
    let written = report::write_to(table, &mut out).and_then(|()| Ok(out.flush()?));
    written.map_err(|error| match error {
        TableError::Write(source) => {
            OutputError::Write { path: file.final_path().to_owned(), source }.into()
        }
        error => ApplierError::from(error).into(),
    })
}
