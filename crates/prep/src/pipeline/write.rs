//! Records on their way into an output: what is changed in them, what is counted of them.

use std::collections::HashMap;
use std::num::NonZeroUsize;

use seqloom_cram::Referred;
use seqloom_format::bam::Header;
use seqloom_io::Output;
use seqloom_runtime::pool::Watch;

use crate::finish::{
    self, DuplicateTagging, Encoding, FinishError, FinishOptions, FinishTrace, Finished, Fragments,
    OutputIndex, OutputTransform, StoredRecords, Units,
};
use crate::input::ReferenceSequences;
use crate::metrics::quality::{GatheredMetrics, MetricsRequest, MetricsVisitors, ReadGroupNames};
use crate::partition::SortOrder;
use crate::recalibrate::Applier;
use crate::steps::Steps;

/// What an output is to be.
pub struct OutputRequest<'a> {
    /// Its header.
    pub header: &'a Header,
    /// How many workers.
    pub threads: NonZeroUsize,
    /// Order of the records.
    pub order: SortOrder,
    /// What records become.
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
}

/// See the module documentation.
pub struct Writing<'a> {
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
    /// Nothing written yet. Qualities become what `applier` says; metrics compare records with
    /// `reference`.
    #[must_use]
    pub fn new(
        request: &'a OutputRequest<'a>,
        records: &'a StoredRecords<'a>,
        (applier, reference): (Option<&'a Applier>, Option<&'a ReferenceSequences>),
        trace: &'a FinishTrace,
        watch: Watch<'a>,
    ) -> Self {
        let changes = OutputTransform {
            duplicates: records.marks.zip(request.tagging),
            families: records.marks.filter(|_| request.writes_families),
            recalibration: applier,
            late: request.late,
        };
        let names = ReadGroupNames::of(request.header);
        let metrics = MetricsVisitors::new(request.metrics, reference).with_read_groups(names);
        let groups = request.header.read_groups();
        let read_groups = groups.iter().map(|it| it.id.to_vec()).zip(0..).collect();
        Self { request, records, changes, metrics, sequences: None, read_groups, trace, watch }
    }

    /// With the bases that CRAM refers to, in upper case.
    #[must_use]
    pub fn referring_to(self, bases: Option<&'a ReferenceSequences>) -> Self {
        Self { sequences: bases.map(ReferenceSequences::sequences), ..self }
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
    ///
    /// # Errors
    /// The first failure of any worker.
    pub fn piece(
        &self,
        units: Units<'_>,
        output: &mut Output,
    ) -> Result<(Finished, Fragments), FinishError> {
        finish::run_piece(self.records, units, &self.options(), output)
    }

    /// What was counted so far.
    pub(super) fn so_far(&self) -> GatheredMetrics {
        self.metrics.so_far()
    }

    /// Counts.
    #[must_use]
    pub fn into_metrics(self) -> GatheredMetrics {
        self.metrics.into_metrics()
    }
}
