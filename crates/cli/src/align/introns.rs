//! The two passes of `--mode spliced`: the first looks for introns, the second places reads by
//! them.

use std::convert::Infallible;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use seqloom_align::Batch;
use seqloom_align::index::IndexInfo;
use seqloom_align::ingest::{
    self, Aligner, BatchPart, BatchSink, Batches, IngestTrace, LaneEnd, LaneInput,
};
use seqloom_format::PackedTemplates;
use seqloom_io::{AtomicFile, OutputError, SpooledInput};
use seqloom_modes::spliced::{IntronTable, SplicedEngine};

use super::arguments::AlignArguments;
use super::engine::source;
use super::job::{Job, OpenedJob};
use super::lanes::{LaneSpec, LaneSpecs};
use super::load_and_align::{AlignedJob, load_and_align};
use super::opened::{OpenLanes, Start};
use crate::output::write_error;

/// Inputs of the first pass: the lanes, and the files that pipes are kept in meanwhile.
pub(super) struct FirstPass {
    lanes: Vec<LaneSpec>,
    _kept: Vec<SpooledInput>,
}

impl FirstPass {
    /// What a run has to read twice, if it has: pipes among its inputs are replaced by files.
    ///
    /// # Errors
    /// When a pipe cannot be kept.
    pub(super) fn of(
        arguments: &AlignArguments,
        inputs: &mut LaneSpecs,
    ) -> seqloom_terminal::Result<Option<Self>> {
        if !arguments.mode.reads_twice() {
            return Ok(None);
        }
        let folders = arguments.run.spill_folders(&arguments.output.output);
        let mut kept = Vec::new();
        for path in inputs.lanes.iter_mut().flat_map(|lane| &mut lane.files) {
            if let Some(input) = SpooledInput::of(path, &folders)? {
                *path = input.path().to_owned();
                kept.push(input);
            }
        }
        Ok(Some(Self { lanes: inputs.lanes.clone(), _kept: kept }))
    }
}

/// Takes records that nobody wants.
struct NoRecords;

impl BatchSink for NoRecords {
    type Error = Infallible;
    type Scratch = ();

    fn scratch(&self) -> Result<(), Infallible> {
        Ok(())
    }

    fn accept(
        &self,
        (): &mut (),
        _: &Batch,
        _: &PackedTemplates,
        _: BatchPart,
    ) -> Result<(), Infallible> {
        Ok(())
    }

    fn end(&self, _: LaneEnd) {}
}

/// Places reads over introns.
///
/// # Errors
/// Errors of any run, and of the file of junctions.
pub(super) fn align<'a>(
    opened: OpenedJob<'a>,
    index: &IndexInfo,
    first_pass: Option<FirstPass>,
) -> seqloom_terminal::Result<AlignedJob<'a>> {
    let (arguments, console) = (opened.job.arguments, opened.job.run.console);
    let table = Arc::new(IntronTable::new(arguments.mode.introns(index, console)?));
    let load = |threads| {
        let source = source(arguments, index, threads);
        Ok(SplicedEngine::load(source, arguments.mode.spliced(), table.clone())?)
    };
    let before = |aligner: &_, job: &Job<'_>| {
        let Some(FirstPass { lanes, _kept }) = first_pass else {
            table.settle(index.bases);
            return Ok(());
        };
        look(aligner, job, OpenLanes::open(arguments, lanes, index, Start::Beginning)?)?;
        let found = table.settle(index.bases);
        console.info(&format!("align: {found} introns found that are not known"));
        job.run.end_phase("introns");
        Ok(())
    };
    let mut aligned = load_and_align(load, Batches, opened, before)?;
    if let Some(path) = arguments.mode.junctions() {
        aligned.files.push(write_junctions(path, index, &table)?);
    }
    Ok(aligned)
}

/// Goes through the whole input, and throws away what comes of it.
fn look<A: Aligner>(aligner: &A, job: &Job<'_>, opened: OpenLanes) -> seqloom_terminal::Result<()> {
    job.run.plan_phases(&[("introns", 1.0)]);
    let trace = IngestTrace::default();
    let OpenLanes { lanes, first, .. } = opened;
    let input = |(lane, first)| {
        let lane: &super::opened::OpenLane = lane;
        LaneInput { first, ..LaneInput::whole(&lane.source, lane.pairing, &NoRecords) }
    };
    let inputs = lanes.iter().zip(first).map(input).collect();
    let bytes = || {
        let read = lanes.iter().map(|lane| lane.source.bytes_read()).sum();
        (read, lanes.iter().map(|lane| lane.source.total_bytes()).sum())
    };
    // Relaxed: a count to be shown.
    let watch = || job.run.watch("introns", bytes(), trace.records.load(Ordering::Relaxed));
    ingest::run(inputs, aligner, &job.ingest, &trace, &watch)?;
    Ok(())
}

/// Writes the introns that reads go over, with how many do, as BED.
fn write_junctions(
    path: &Path,
    index: &IndexInfo,
    table: &IntronTable,
) -> seqloom_terminal::Result<AtomicFile> {
    let mut text = String::new();
    let mut contigs = index.contigs.iter();
    let (mut contig, mut start) = (contigs.next(), 0);
    for (intron, evidence) in table.met() {
        while let Some(it) = contig.filter(|it| start + u64::from(it.length) <= intron.start) {
            start += u64::from(it.length);
            contig = contigs.next();
        }
        let Some(contig) = contig else { break };
        let kind = if evidence.is_known { "known" } else { "novel" };
        let strand = match intron.is_reverse {
            Some(false) => '+',
            Some(true) => '-',
            None => '.',
        };
        let (from, end) = (intron.start - start, intron.end - start);
        let (name, reads) = (&contig.name, evidence.reads);
        text.push_str(&format!("{name}\t{from}\t{end}\t{kind}\t{reads}\t{strand}\n"));
    }
    let file = AtomicFile::create(path)?;
    let written: Result<(), OutputError> =
        file.file().write_all(text.as_bytes()).map_err(write_error(path));
    written?;
    Ok(file)
}
