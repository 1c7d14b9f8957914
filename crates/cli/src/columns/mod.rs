//! `seqloom columns`: alignments, reads or raw signal as a stream of Arrow record batches.

mod arguments;
mod kind;

use std::path::PathBuf;
use std::sync::Arc;

use seqloom_columns::alignments::{Alignments, Region, Requested};
use seqloom_columns::reads::{self, ReadColumn, RequestedReads};
use seqloom_columns::{Destination, Limits, Totals, signal};
use seqloom_io::alignments::AlignmentOptions;
use seqloom_io::cram::InputBases;
use seqloom_io::reads::SourceOptions;
use seqloom_io::{Output, OutputError, Publication};
use seqloom_runtime::pool::Interrupted;
use seqloom_signal::flow::inputs::{ALL_SUFFIXES, find};
use seqloom_signal::store::OpenOptions;
use seqloom_terminal::host::Progress;
use seqloom_terminal::{Console, UsageError, signals};

pub(crate) use self::arguments::ColumnsArguments;
use self::arguments::Kind;
use crate::cram_input::{self, Held, waiting_bytes};
use crate::region;
use crate::same_file::refuse_same_file;

/// Runs the command.
pub(crate) fn run(arguments: &ColumnsArguments, console: &Console) -> seqloom_terminal::Result<()> {
    if arguments.quiet {
        console.be_quiet();
    }
    arguments.check()?;
    let inputs = arguments.inputs.iter().chain(&arguments.reference).map(PathBuf::as_path);
    refuse_same_file(inputs, [("-o", arguments.output.as_path())])?;
    let limits = arguments.limits(0)?;
    let job = Job { arguments, console, limits };
    let kind = match arguments.kind {
        Some(kind) => kind,
        None => kind::of(&arguments.inputs[0])?,
    };
    let (totals, output) = match kind {
        Kind::Alignments => job.alignments()?,
        Kind::Reads => job.reads()?,
        Kind::Signal => job.signal()?,
    };
    if let Some(file) = output.into_file() {
        let publication = Publication { outputs: vec![file], ..Publication::default() };
        publication.commit().map_err(OutputError::from)?;
    }
    let Totals { rows, batches } = totals;
    let seconds = console.wall().as_secs_f64();
    console.info(&format!("columns: {rows} rows in {batches} batches, {seconds:.1} s"));
    Ok(())
}

struct Job<'a> {
    arguments: &'a ColumnsArguments,
    console: &'a Console,
    limits: Limits,
}

impl Job<'_> {
    fn output(&self) -> Result<Output, OutputError> {
        signals::defer();
        Output::create(&self.arguments.output)
    }

    /// Shows how far it is, and looks whether a signal stops the run.
    fn watch(
        &self,
        (done_bytes, total_bytes): (u64, Option<u64>),
        records: u64,
    ) -> Result<(), Interrupted> {
        let share = total_bytes.map(|total| done_bytes as f64 / total.max(1) as f64);
        let phase = "columns";
        let progress = Progress { phase, done_bytes, total_bytes, records, share };
        self.console.report_progress(progress);
        signals::check()
    }

    fn alignments(&self) -> seqloom_terminal::Result<(Totals, Output)> {
        let arguments = self.arguments;
        let requested = Requested {
            columns: arguments.alignment_columns()?,
            tags: arguments.tags.clone(),
            text: arguments.text(),
            require_flags: arguments.require_flags,
            exclude_flags: arguments.exclude_flags,
            min_mapq: arguments.min_mapq,
        };
        let options = AlignmentOptions {
            free_blocks: self.limits.threads.get(),
            max_line_bytes: arguments.max_line_bytes(),
            max_container_bytes: arguments.max_container_bytes(),
            read_names: arguments.read_names.policy(),
            ..AlignmentOptions::default()
        };
        let mut alignments = Alignments::open(&arguments.inputs, options)?;
        let limits = self.refer(&mut alignments)?;
        if !arguments.regions.is_empty() {
            let parse = |text: &String| {
                let found = region::parse("--regions", text, alignments.header())?;
                let (start, end) = (found.start.cast_signed(), found.end.cast_signed());
                Ok(Region { reference_id: found.reference_id, start, end })
            };
            let regions = arguments.regions.iter().map(parse).collect::<Result<_, UsageError>>()?;
            for note in alignments.restrict(regions)? {
                self.console.info(&note);
            }
        }
        let mut output = self.output()?;
        let watch = |bytes, rows| self.watch(bytes, rows);
        let destination = Destination { limits: &limits, output: &mut output, watch: &watch };
        let totals = alignments.write(&requested, destination)?;
        Ok((totals, output))
    }

    /// Has inputs of CRAM refer to the reference; what is left of the memory then.
    fn refer(&self, alignments: &mut Alignments) -> seqloom_terminal::Result<Limits> {
        let (fasta, held) = (self.arguments.reference.as_deref(), Held::default());
        let (mut reference_bytes, mut container_bytes) = (0, 0);
        let mut shared: Option<(InputBases, PathBuf)> = None;
        alignments.each_source(|source| {
            // All have the same sequences; the slices have MD5s of their own.
            match &shared {
                Some((bases, fasta)) => source.refer(0, Arc::clone(bases), fasta),
                None => reference_bytes += cram_input::refer(source, fasta, &held)?,
            }
            shared = shared.take().or_else(|| source.referred(0));
            container_bytes = cram_input::container_bytes(source).max(container_bytes);
            seqloom_terminal::Result::Ok(())
        })?;
        let container_bytes = waiting_bytes(container_bytes, self.limits.threads);
        Ok(self.arguments.limits(reference_bytes + container_bytes)?)
    }

    fn reads(&self) -> seqloom_terminal::Result<(Totals, Output)> {
        let arguments = self.arguments;
        arguments.refuse_filters("reads")?;
        let columns = arguments.named(|| ReadColumn::ALL.to_vec())?;
        let options = SourceOptions {
            assume_phred33: arguments.assume_phred33,
            names: arguments.read_names.policy(),
            free_blocks: self.limits.threads.get(),
            max_text_bytes: arguments.max_line_bytes(),
            ..SourceOptions::default()
        };
        let mut output = self.output()?;
        let watch = |bytes, rows| self.watch(bytes, rows);
        let destination = Destination { limits: &self.limits, output: &mut output, watch: &watch };
        let requested = RequestedReads { columns: &columns, text: arguments.text() };
        let totals = reads::write(&arguments.inputs, &options, &requested, destination)?;
        Ok((totals, output))
    }

    fn signal(&self) -> seqloom_terminal::Result<(Totals, Output)> {
        let arguments = self.arguments;
        arguments.refuse_filters("signal")?;
        let inputs = find(&arguments.inputs, &ALL_SUFFIXES)?.paths;
        let options = OpenOptions::default();
        let requested = arguments.columns.as_deref();
        let mut output = self.output()?;
        let watch = |bytes, rows| self.watch(bytes, rows);
        let destination = Destination { limits: &self.limits, output: &mut output, watch: &watch };
        let totals = signal::write(&inputs, &options, requested, destination)?;
        Ok((totals, output))
    }
}
