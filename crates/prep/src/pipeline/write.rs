//! Records on their way into an output: what is changed in them, what is counted of them.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use seqloom_cram::Referred;
use seqloom_format::bam::Header;
use seqloom_io::Output;
use seqloom_io::reference::ReferenceError;
use seqloom_io::spill::SpillError;
use seqloom_runtime::pool::Watch;

use super::reference::ReferenceRequest;
use crate::finish::{
    self, DuplicateTagging, Encoding, FinishError, FinishOptions, FinishTrace, Finished, Fragments,
    OutputIndex, OutputTransform, StoredRecords, Units,
};
use crate::input::ReferenceSequences;
use crate::metrics::quality::{GatheredMetrics, MetricsRequest, MetricsVisitors, ReadGroupNames};
use crate::partition::SortOrder;
use crate::recalibrate::{RecalibrationOutput, RecalibrationRequest, RequestError, StoredCounts};
use crate::steps::Steps;

/// Options of an output.
pub struct OutputRequest<'a> {
    /// Its header.
    pub header: &'a Header,
    /// How many workers.
    pub threads: NonZeroUsize,
    /// Order of the records.
    pub order: SortOrder,
    /// Its format.
    pub encoding: Encoding,
    /// Leave duplicates out.
    pub remove_duplicates: bool,
    /// Which duplicates get a DT tag, in place of those of the input; `None` leaves these.
    pub tagging: Option<DuplicateTagging>,
    /// Write families of UMIs in tags MI.
    pub writes_families: bool,
    /// Steps that come last.
    pub late: &'a Steps,
    /// Metrics to count.
    pub metrics: MetricsRequest,
    /// Bases of the reference.
    pub reference: ReferenceRequest<'a>,
    /// How qualities are recalibrated, if they are.
    pub recalibration: Option<RecalibrationRequest<'a>>,
}

/// Bases and table, made before records are written.
pub(super) struct WriteInputs {
    /// The bases, where anything needs them.
    bases: Option<Arc<ReferenceSequences>>,
    pub(super) recalibration: Option<RecalibrationOutput>,
}

impl WriteInputs {
    /// Loads the bases, and makes the table of what `count` gives.
    pub(super) fn of<E>(
        request: &OutputRequest<'_>,
        records: &StoredRecords<'_>,
        count: impl FnOnce(&ReferenceSequences) -> Result<Option<StoredCounts>, E>,
    ) -> Result<Self, E>
    where
        E: From<SpillError> + From<ReferenceError> + From<RequestError>,
    {
        let bases = request.reference.load::<E>(request.header.references(), records)?;
        let Some(requested) = &request.recalibration else {
            return Ok(Self { bases, recalibration: None });
        };
        let none = ReferenceSequences::default();
        let counts = count(bases.as_deref().unwrap_or(&none))?.unwrap_or_default();
        let output = requested.output(request.header, (&counts, records.backing))?;
        Ok(Self { bases, recalibration: Some(output) })
    }

    /// The bases, if metrics compare records with them.
    pub(super) fn compared(&self, request: &OutputRequest<'_>) -> Option<&ReferenceSequences> {
        self.bases.as_deref().filter(|_| request.reference.uses.metrics)
    }

    /// The bases, if CRAM refers to them.
    fn referred(&self, request: &OutputRequest<'_>) -> Option<&ReferenceSequences> {
        self.bases.as_deref().filter(|_| request.reference.uses.cram)
    }
}

/// Edits and counts the records that are written to one output.
pub(super) struct Writing<'a> {
    request: &'a OutputRequest<'a>,
    records: &'a StoredRecords<'a>,
    changes: OutputTransform<'a>,
    metrics: MetricsVisitors<'a>,
    /// Bases that CRAM refers to.
    sequences: Option<&'a [Vec<u8>]>,
    /// The header's read groups, by their identifiers.
    read_groups: HashMap<Vec<u8>, i32>,
    trace: &'a FinishTrace,
    watch: Watch<'a>,
}

impl<'a> Writing<'a> {
    /// Nothing written yet.
    pub(super) fn new(
        request: &'a OutputRequest<'a>,
        records: &'a StoredRecords<'a>,
        inputs: &'a WriteInputs,
        trace: &'a FinishTrace,
        watch: Watch<'a>,
    ) -> Self {
        let changes = OutputTransform {
            duplicates: records.marks.zip(request.tagging),
            families: records.marks.filter(|_| request.writes_families),
            recalibration: inputs.recalibration.as_ref().and_then(|it| it.applier.as_ref()),
            late: request.late,
        };
        let names = ReadGroupNames::of(request.header);
        let compared = inputs.compared(request);
        let metrics = MetricsVisitors::new(request.metrics, compared).with_read_groups(names);
        let sequences = inputs.referred(request).map(ReferenceSequences::sequences);
        let groups = request.header.read_groups();
        let read_groups = groups.iter().map(|it| it.id.to_vec()).zip(0..).collect();
        Self { request, records, changes, metrics, sequences, read_groups, trace, watch }
    }

    /// Goes on at a unit, with what was counted of those before it.
    pub(super) fn continued_at(self, unit: usize, counted: &GatheredMetrics) -> Self {
        let metrics = self.metrics.starting_at_unit(unit);
        metrics.add(counted);
        Self { metrics, ..self }
    }

    fn options(&self) -> FinishOptions<'_> {
        let Self { request, .. } = self;
        FinishOptions {
            threads: request.threads,
            order: request.order,
            encoding: request.encoding,
            references: request.header.references(),
            referred: self
                .sequences
                .map(|sequences| Referred { sequences, read_groups: &self.read_groups }),
            remove_duplicates: request.remove_duplicates,
            editor: (!self.changes.is_empty()).then_some(&self.changes),
            visitor: (!request.metrics.is_empty()).then_some(&self.metrics),
            trace: self.trace,
            watch: self.watch,
        }
    }

    /// Writes some units after what `outputs` hold: see [`finish::run`].
    pub(super) fn units(
        &self,
        units: Units<'_>,
        outputs: &mut [Output],
        index: Option<&mut OutputIndex>,
    ) -> Result<Finished, FinishError> {
        finish::run(self.records, units, &self.options(), outputs, index)
    }

    /// Writes some units as a piece of an output that other processes make the rest of: see
    /// [`finish::run_piece`].
    pub(super) fn piece(
        &self,
        units: Units<'_>,
        output: &mut Output,
    ) -> Result<(Finished, Fragments), FinishError> {
        finish::run_piece(self.records, units, &self.options(), output)
    }

    /// The counts so far.
    pub(super) fn so_far(&self) -> GatheredMetrics {
        self.metrics.so_far()
    }

    /// The counts of all workers, merged.
    pub(super) fn into_metrics(self) -> GatheredMetrics {
        self.metrics.into_metrics()
    }
}
