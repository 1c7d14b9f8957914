//! The pipeline of `prep` as `align` and `prep` run it: from collected records to an output that is
//! complete but has no name yet.

use seqloom_io::Output;
use seqloom_prep::duplicates::LibraryTable;
use seqloom_prep::finish::FinishTrace;
use seqloom_prep::metrics::ReadGroupNames;
use seqloom_prep::pipeline::{
    self, Phase, PipelineCallbacks, PipelineInput, PipelineOutput, PipelineRequest,
};
use seqloom_report::run::StageReport;
use seqloom_terminal::Console;

use super::files::OutputFiles;
use super::resume::RunCheckpoints;
use super::summary::{Duplicates, Summary};
use crate::recalibration::warn_of_uncounted;

/// Context of a run of the pipeline.
pub(crate) struct PipelineRun<'a> {
    pub(crate) files: &'a OutputFiles<'a>,
    pub(crate) libraries: &'a LibraryTable,
    /// Time of ingest.
    pub(crate) stages: Vec<StageReport>,
    pub(crate) console: &'a Console,
}

impl PipelineRun<'_> {
    /// Runs all phases after ingest.
    ///
    /// # Errors
    /// The first failure of any of them.
    pub(crate) fn run<C: PipelineCallbacks<Error = seqloom_terminal::Error>>(
        self,
        input: PipelineInput<'_>,
        request: &PipelineRequest<'_>,
        (command, checkpoints): (&C, Option<&mut RunCheckpoints>),
        outputs: &mut [Output],
    ) -> seqloom_terminal::Result<Summary> {
        let (backing, trace) = (input.backing, FinishTrace::default());
        let PipelineOutput { finished, index, duplicates, recalibration, metrics, gc_windows } =
            pipeline::run(input, request, (command, checkpoints), outputs, &trace)?;
        let index = self.files.close(index, outputs)?;
        command.end_phase(Phase::Finish);
        let mut summary = Summary {
            duplicates: duplicates.map(|counters| Duplicates::new(counters, self.libraries)),
            metrics,
            read_groups: ReadGroupNames::of(request.output.header).ids().collect(),
            gc_windows,
            index,
            ..Summary::sorted(self.stages, (finished, &trace), backing)
        };
        if let Some(table) = recalibration {
            warn_of_uncounted(self.console, &table.uncounted_groups);
            summary.sidecars.extend(table.report);
            summary.recalibration = Some(table.rows);
        }
        Ok(summary)
    }
}
