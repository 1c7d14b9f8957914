//! The flow: ingest to partitions, resolve duplicates, finish partitions in order. Each phase is
//! passed over where a run before this one has kept what it made.

use std::sync::atomic::Ordering;

use seqloom_format::state::State;
use seqloom_io::sink::output::Output;
use seqloom_io::spill::SpillFile;
use seqloom_prep::duplicates::{
    DuplicateMarks, DuplicateMode, DuplicateOptions, DuplicationCounters, LibraryTable,
    ResolveError, resolve_all,
};
use seqloom_prep::finish::{
    self, FinishOptions, FinishTrace, Finished, OutputTransform, StoredRecords, UnitPlan,
};
use seqloom_prep::input::TemplateNames;
use seqloom_prep::input::ingest::{self, IngestOptions, IngestTotals, IngestTrace};
use seqloom_prep::metrics::quality::{GatheredMetrics, GcWindows, MetricsVisitors, ReadGroupNames};
use seqloom_prep::partition::redistribute::{self, NameSample};
use seqloom_prep::partition::{
    Backing, ChunkStore, Collected, Collector, Destination, EndCollector, Grouping, PhaseResources,
    SavedCollection, SortOrder, StoreScratch, write_out,
};
use seqloom_prep::recalibrate::Applier;
use seqloom_runtime::memory::Ledger;

use super::arguments::DuplicateTags;
use super::checkpoints::{self, WrittenSoFar};
use super::job::Job;
use super::summary::ingest_stages;
use crate::output::progress::Phase;
use crate::output::resume::DamagedState;
use crate::output::resume::{Kept, Step};
use crate::output::summary::{Duplicates, Summary};

/// Runs the flow; the output is complete but has no name yet.
pub(super) fn prepare(
    job: &Job<'_>,
    output: &mut Output,
    kept: &mut Option<&mut Kept>,
) -> seqloom_terminal::Result<(IngestTotals, Summary)> {
    let spill = match kept {
        Some(kept) => kept.spill()?,
        None => SpillFile::create(&job.arguments.run.spill_folders(job.output.path()))?,
    };
    let backing = Backing { ledger: Ledger::new(job.plan.store_bytes), spill };
    let libraries = LibraryTable::new(&job.header)?;
    let trace = Trace::default();
    let mut flow = Flow { job, kept: kept.as_deref_mut(), backing: &backing };

    job.run.plan_phases(phases(job));
    let mut saved = checkpoints::ingested(&flow.kept, &backing)?;
    let names = saved.as_mut().map(|saved| std::mem::take(&mut saved.names)).unwrap_or_default();
    let collector = collector(job, &backing, &libraries, &names);
    let (collected, totals) = match saved {
        Some(saved) => (restored(collector, saved.collection)?, saved.totals),
        None => flow.collect(collector, &names, &trace.ingest)?,
    };
    job.run.end_phase("ingest");
    job.run.expect_records(totals.records);

    let Collected { placed, no_coordinate, no_reference, ends } = collected;
    // As Picard would mark the sorted file.
    let ends = if totals.unsorted.is_empty() { ends } else { ends.map(EndCollector::by_place) };
    if duplicate_options(job).umi_distance.is_some() {
        let bytes = DuplicateMarks::families_bytes(totals.templates);
        placed.spill_for(bytes, &mut StoreScratch::new()?)?;
    }
    let resolved = ends.map(|ends| flow.resolve(ends, &totals)).transpose()?;
    job.run.end_phase("resolve");

    // Orders by name: the names are known now.
    let no_coordinate = flow.redistribute(no_coordinate, &names, &totals)?;
    job.run.end_phase("redistribute");

    let stores = [&placed, &no_coordinate, &no_reference];
    let marks = resolved.as_ref().map(|(marks, _)| marks);
    let records = StoredRecords { stores: &stores, backing: &backing, marks };
    let applier = flow.recalibrate(&records)?;
    job.run.end_phase("recalibrate");

    let (written, metrics, gc_windows) =
        flow.finish(&records, applier.as_ref(), output, &trace.finish)?;
    let index = job.output.close(written.index, std::slice::from_mut(output))?;
    job.run.end_phase("finish");
    let duplicates = resolved.map(|(_, counters)| Duplicates::new(counters, &libraries));
    let finished = (written.finished, &trace.finish);
    let sorted = Summary::sorted(ingest_stages(&trace.ingest), finished, &backing);
    let read_groups = ReadGroupNames::of(&job.header).ids().collect();
    Ok((totals, Summary { duplicates, metrics, read_groups, gc_windows, index, ..sorted }))
}

/// What this run has to do. Weights are shares of the wall time of 1,000,000 records with 2
/// threads, level 6.
fn phases(job: &Job<'_>) -> &'static [Phase] {
    match (needs_names(job.arguments.sort), job.arguments.recalibration.counts()) {
        (false, false) => &[("read", 25.0), ("keep", 0.0), ("duplicates", 5.0), ("write", 70.0)],
        (true, false) => {
            &[("read", 25.0), ("keep", 0.0), ("duplicates", 5.0), ("sort", 10.0), ("write", 60.0)]
        }
        (false, true) => &[
            ("read", 20.0),
            ("keep", 0.0),
            ("duplicates", 4.0),
            ("recalibrate", 30.0),
            ("write", 46.0),
        ],
        (true, true) => &[
            ("read", 20.0),
            ("keep", 0.0),
            ("duplicates", 4.0),
            ("sort", 8.0),
            ("recalibrate", 28.0),
            ("write", 40.0),
        ],
    }
}

/// Where the time goes.
#[derive(Default)]
struct Trace {
    ingest: IngestTrace,
    finish: FinishTrace,
}

/// What all phases share.
struct Flow<'a, 'j> {
    job: &'a Job<'j>,
    /// What a run before this one has kept, and this one will.
    kept: Option<&'a mut Kept>,
    backing: &'a Backing,
}

impl<'a> Flow<'a, '_> {
    /// All input to partitions.
    fn collect(
        &mut self,
        collector: Collector<'a>,
        names: &NameSample,
        trace: &IngestTrace,
    ) -> seqloom_terminal::Result<(Collected<'a>, IngestTotals)> {
        let (job, backing) = (self.job, self.backing);
        let watch = || job.watch("read", trace.records.load(Ordering::Relaxed));
        let together = (job.grouping == Grouping::Templates)
            .then(|| TemplateNames::new(backing, job.plan.chunk_bytes as usize));
        let options = IngestOptions {
            threads: job.run.threads,
            grouping: job.grouping,
            claim: job.claim,
            names: together.as_ref(),
            steps: &job.steps,
        };
        let totals = ingest::run(&job.source, &collector, &options, trace, &watch)?;
        job.missing.check()?;
        let collected = collector.into_collected();
        if let Some(kept) = &mut self.kept {
            let watch = || job.watch("keep", totals.records);
            write_out(&collected.stores(), job.run.threads, &watch)?;
            let saved = (collected.saved(), names, &totals);
            checkpoints::save_ingested(kept, saved, backing)?;
        }
        Ok((collected, totals))
    }

    /// Which records are duplicates, and what was counted of them.
    fn resolve(
        &mut self,
        ends: EndCollector<'_>,
        totals: &IngestTotals,
    ) -> seqloom_terminal::Result<(DuplicateMarks, DuplicationCounters)> {
        if let Some(resolved) = checkpoints::resolved(&self.kept, self.backing)? {
            return Ok(resolved);
        }
        let job = self.job;
        let watch = || job.watch("duplicates", totals.records);
        let resources = self.resources(&watch);
        let (options, mode) = (duplicate_options(job), mark_mode(job));
        let resolved = resolve_all(ends, totals.templates, mode, &options, &resources)
            .map_err(|error| name_inputs(error, job))?;
        if let Some(kept) = &mut self.kept {
            checkpoints::save_resolved(kept, &resolved, self.backing)?;
        }
        Ok(resolved)
    }

    /// Moves records that are sorted by name to where they will be sorted.
    fn redistribute(
        &mut self,
        no_coordinate: ChunkStore<'a>,
        names: &NameSample,
        totals: &IngestTotals,
    ) -> seqloom_terminal::Result<ChunkStore<'a>> {
        let (job, order) = (self.job, self.job.arguments.sort);
        if !needs_names(order) {
            return Ok(no_coordinate);
        }
        if let Some(saved) = checkpoints::redistributed(&self.kept, self.backing)? {
            let moved = ChunkStore::of_records(self.backing, job.plan.chunk_bytes as usize);
            moved.restore(saved).map_err(DamagedState)?;
            return Ok(moved);
        }
        let watch = || job.watch("sort", totals.records);
        let moved = redistribute::by_name(no_coordinate, names, order, &self.resources(&watch))?;
        if let Some(kept) = &mut self.kept {
            write_out(&[&moved], job.run.threads, &watch)?;
            kept.save(Step::Redistribute, &moved.saved().to_state(), self.backing)?;
        }
        Ok(moved)
    }

    /// What changes the qualities of records, if anything does.
    fn recalibrate(
        &mut self,
        records: &StoredRecords<'_>,
    ) -> seqloom_terminal::Result<Option<Applier>> {
        let job = self.job;
        let Some(asked) = &job.recalibration else { return Ok(None) };
        let counts = match checkpoints::counts(&self.kept, self.backing)? {
            Some(counts) => Some(counts),
            None => {
                let counts = asked.count(&job.header, &job.reference, records, &job.run)?;
                if let (Some(kept), Some(counts)) = (&mut self.kept, &counts) {
                    kept.save(Step::Recalibrate, &counts.to_state(), self.backing)?;
                }
                counts
            }
        };
        asked.applier(&job.header, (counts.as_ref(), self.backing), job.run.console)
    }

    /// Writes all records, from where a run before has ended; gives what was counted of all of
    /// them.
    fn finish(
        &mut self,
        records: &StoredRecords<'_>,
        applier: Option<&Applier>,
        output: &mut Output,
        trace: &FinishTrace,
    ) -> seqloom_terminal::Result<(WrittenSoFar, GatheredMetrics, Option<GcWindows>)> {
        let job = self.job;
        let watch = || job.watch("write", trace.records.load(Ordering::Relaxed));
        let tags = job.arguments.duplicates.tag_duplicates.into();
        let tells_families = job.arguments.duplicates.barcodes.umi_distance().is_some();
        let changes = OutputTransform {
            duplicates: records.marks.map(|marks| (marks, tags)),
            families: records.marks.filter(|_| tells_families),
            recalibration: applier,
            late: &job.late,
        };
        let reference = job.arguments.changes.reference.is_some().then_some(&*job.reference);
        let before = checkpoints::written(&self.kept)?;
        let metrics = MetricsVisitors::new(job.metrics, reference)
            .with_read_groups(ReadGroupNames::of(&job.header))
            .from_unit(before.as_ref().map_or(0, |(written, _)| written.units));
        let options = FinishOptions {
            threads: job.run.threads,
            order: job.arguments.sort,
            encoding: job.output.encoding(),
            references: job.header.references(),
            editor: (!changes.is_empty()).then_some(&changes),
            observer: (!job.metrics.is_empty()).then_some(&metrics),
            remove_duplicates: job.arguments.duplicates.remove_duplicates,
            trace,
            watch: &watch,
        };
        let mut written = match before {
            Some((written, counted)) => {
                metrics.add(&counted);
                written
            }
            None => start(job, output)?,
        };
        let plan = UnitPlan::new(records.stores);
        while written.units < plan.count() {
            let step_bytes = self.kept.as_ref().map_or(u64::MAX, |kept| kept.step_bytes());
            let units = plan.stretch(written.units, step_bytes);
            let (outputs, index) = (std::slice::from_mut(&mut *output), written.index.as_mut());
            let finished = finish::run(records, units, &options, outputs, index)?;
            written.finished.merge(&finished);
            written.units += units.count();
            if let Some(kept) = &mut self.kept {
                let state = (&written, &metrics.so_far());
                checkpoints::save_written(kept, state, plan.count(), output)?;
            }
        }
        let compared = reference.filter(|_| job.metrics.gc_bias);
        let gc_windows = compared.map(|it| GcWindows::count(it, job.run.threads)).transpose()?;
        Ok((written, metrics.into_metrics(), gc_windows))
    }

    fn resources<'w>(&self, watch: &'w dyn Fn() -> bool) -> PhaseResources<'a, 'w> {
        PhaseResources { backing: self.backing, threads: self.job.run.threads, watch }
    }
}

/// An output that holds the header alone.
fn start(job: &Job<'_>, output: &mut Output) -> seqloom_terminal::Result<WrittenSoFar> {
    job.output.write_header(&job.header, std::slice::from_mut(output))?;
    let references = job.header.references().len();
    let index = job.output.index_builder(references);
    Ok(WrittenSoFar { units: 0, finished: Finished::new(references), index })
}

/// The partitions that a run before has filled.
fn restored(
    collector: Collector<'_>,
    saved: SavedCollection,
) -> seqloom_terminal::Result<Collected<'_>> {
    let collected = collector.into_collected();
    collected.restore(saved).map_err(DamagedState)?;
    Ok(collected)
}

/// Says whose records an error means by their numbers, which run on over all inputs.
fn name_inputs(error: ResolveError, job: &Job<'_>) -> seqloom_terminal::Error {
    let is_about_records = matches!(error, ResolveError::Name(_));
    let error = seqloom_terminal::Error::from(error);
    if is_about_records { error.context(job.inputs()) } else { error }
}

/// Whether records that have no place on the reference are sorted by name.
fn needs_names(order: SortOrder) -> bool {
    order.is_by_name() || order == SortOrder::CoordinatePicard
}

fn duplicate_options(job: &Job<'_>) -> DuplicateOptions {
    DuplicateOptions {
        optical_distance_px: job.arguments.duplicates.optical_distance.0,
        umi_distance: job.arguments.duplicates.barcodes.umi_distance(),
        tells_optical: job.arguments.duplicates.tag_duplicates != DuplicateTags::None,
        ..DuplicateOptions::default()
    }
}

/// Where every record counts as a template, its mark is its own: one bit for each is enough.
fn mark_mode(job: &Job<'_>) -> DuplicateMode {
    match job.grouping {
        Grouping::Records => DuplicateMode::Query,
        Grouping::Templates => job.marks.unwrap_or_default(),
    }
}

fn collector<'a>(
    job: &'a Job<'_>,
    backing: &'a Backing,
    libraries: &'a LibraryTable,
    names: &'a NameSample,
) -> Collector<'a> {
    let chunk_bytes = job.plan.chunk_bytes as usize;
    let ends = job.marks.map(|mode| {
        let options = job.arguments.duplicates.read_ends(mode);
        let ends = EndCollector::new(backing, chunk_bytes, job.grouping, libraries, options);
        if job.arguments.inputs.len() > 1 { ends.by_place() } else { ends }
    });
    let order = job.arguments.sort;
    let names = needs_names(order).then_some(names);
    Collector::new(backing, chunk_bytes, Destination { order, bins: &job.bins, names }, ends)
}
