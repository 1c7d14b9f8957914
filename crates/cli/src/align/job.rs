//! One run of `align`, prepared: everything that can be known and refused before the engine is
//! loaded.

use std::cell::{Cell, RefCell};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use seqloom_align::cohort::Pairing;
use seqloom_align::emit::RecordTags;
use seqloom_align::index::IndexInfo;
use seqloom_align::ingest::{IngestOptions, IngestTrace};
use seqloom_align::input_tags::InputTags;
use seqloom_format::bam::{Header, Reference};
use seqloom_format::index::BinningScheme;
use seqloom_io::sink::output::Output;
use seqloom_io::source::{
    Compression, Container, Fetch, FetchScratch, InputBlock, ReadSource, SourceOptions,
};
use seqloom_prep::encode::Encoding;
use seqloom_prep::layout::GenomeBins;
use seqloom_runtime::machine;
use seqloom_runtime::memory::ByteSize;

use super::arguments::{AlignArguments, IndexKind, OutputFormat};
use super::header::{self, HeaderParts};
use super::plan::{Demand, MemoryPlan, mean_read_bases};
use crate::console::Console;
use crate::exit::UsageError;
use crate::signals;

/// Longest reference that BAI can index, in bp (SAM specification 5.2).
const BAI_LONGEST_BP: u32 = 1 << 29;
/// Blocks looked at for a read that tells the read length; empty reads may fill many.
const MAX_FIRST_BLOCKS: usize = 16;

/// See the module documentation.
pub(super) struct Job<'a> {
    pub(super) arguments: &'a AlignArguments,
    pub(super) console: &'a Console,
    pub(super) source: ReadSource,
    pub(super) header: Header,
    pub(super) threads: NonZeroUsize,
    pub(super) memory: ByteSize,
    pub(super) plan: MemoryPlan,
    pub(super) bins: GenomeBins,
    pub(super) ingest: IngestOptions,
    pub(super) trace: IngestTrace,
    /// Format of the index that will be written, if one will be.
    pub(super) index_format: Option<IndexFormat>,
    encoding_format: OutputFormat,
    phase_started: Cell<Instant>,
    phases: RefCell<Vec<(&'static str, Duration)>>,
}

/// A job, with what it uses up.
pub(super) struct Prepared<'a> {
    pub(super) job: Job<'a>,
    /// Blocks fetched to learn the read length.
    pub(super) first: Vec<InputBlock>,
    pub(super) output: Output,
}

/// BAI or CSI, with the bins it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IndexFormat {
    pub(super) is_csi: bool,
    pub(super) scheme: BinningScheme,
}

impl<'a> Job<'a> {
    /// Opens the input and the output and shares out the memory.
    pub(super) fn prepare(
        arguments: &'a AlignArguments,
        index: &IndexInfo,
        console: &'a Console,
    ) -> anyhow::Result<Prepared<'a>> {
        let format = output_format(arguments)?;
        let is_sorted = !arguments.output.no_sort;
        let source = open_source(arguments)?;
        let pairing = pairing(arguments, &source);
        let first = fetch_first(&source)?;
        let command_line = command_line();
        let built = header::build(&HeaderParts {
            index,
            read_group: arguments.input.read_group.as_deref(),
            input: source.header(),
            sorted: is_sorted,
            command_line: (!arguments.output.no_pg).then_some(command_line.as_str()),
        })?;
        let threads = arguments.run.threads.unwrap_or_else(machine::available_cores);
        let memory = arguments.run.memory.unwrap_or_else(default_memory);
        let bins = GenomeBins::new(built.header.references());
        let input = input_tags(arguments, &source);
        let plan = Demand {
            index_bytes: index.memory_bytes,
            threads,
            pairing,
            cohort_bases: arguments.input.cohort_bases,
            read_bases: mean_read_bases(&first),
            input_bases_at_most: input_bases_at_most(&source),
            keeps_input: input.wanted(),
            bins: if is_sorted { bins.count() } else { 0 },
            marks_duplicates: !arguments.duplicates.no_mark_duplicates,
        }
        .plan(memory)?;
        let output = Output::create(&arguments.output.output)?;
        signals::defer();
        let indexable = is_sorted && format == OutputFormat::Bam && output.is_regular_file();
        let index_format =
            index_format(arguments.output.write_index, built.header.references(), indexable)?;
        let ingest = IngestOptions {
            threads,
            cohort_bases: arguments.input.cohort_bases,
            pairing,
            tags: RecordTags { read_group: built.read_group, input },
            held_limits: plan.held,
        };
        let job = Self {
            arguments,
            console,
            source,
            header: built.header,
            threads,
            memory,
            plan,
            bins,
            ingest,
            trace: IngestTrace::default(),
            index_format,
            encoding_format: format,
            phase_started: Cell::new(Instant::now()),
            phases: RefCell::default(),
        };
        Ok(Prepared { job, first, output })
    }

    pub(super) fn is_sorted(&self) -> bool {
        !self.arguments.output.no_sort
    }

    pub(super) fn marks_duplicates(&self) -> bool {
        !self.arguments.duplicates.no_mark_duplicates
    }

    pub(super) fn encoding(&self) -> Encoding {
        match self.encoding_format {
            OutputFormat::Bam => Encoding::Bam {
                level: self.arguments.output.level,
                index: self.index_format.map(|format| format.scheme),
            },
            OutputFormat::Sam => Encoding::Sam,
        }
    }

    /// Says what is about to happen.
    pub(super) fn announce(&self) {
        let inputs: Vec<_> =
            (0..self.source.lanes()).map(|i| self.source.path(i).display().to_string()).collect();
        self.console.info(&format!(
            "align: {} threads, {} of memory, {} to {}",
            self.threads,
            self.memory,
            inputs.join(" + "),
            self.arguments.output.output.display()
        ));
    }

    /// Books the wall time since the last phase ended.
    pub(super) fn end_phase(&self, name: &'static str) {
        let now = Instant::now();
        self.phases.borrow_mut().push((name, now - self.phase_started.replace(now)));
    }

    /// Wall time in seconds of the phases so far.
    pub(super) fn phase_seconds(&self) -> Vec<(&'static str, f64)> {
        self.phases.borrow().iter().map(|(name, time)| (*name, time.as_secs_f64())).collect()
    }

    /// Draws progress; `false` when a signal asks to stop.
    pub(super) fn watch(&self, phase: &str, records: u64) -> bool {
        let share = match self.source.total_bytes() {
            Some(total) if total > 0 => {
                format!("{:.0} % read, ", 100.0 * self.source.bytes_read() as f64 / total as f64)
            }
            _ => String::new(),
        };
        let usage = machine::usage();
        let cores = usage.cpu.as_secs_f64() / self.console.wall().as_secs_f64().max(1e-3);
        let memory = ByteSize(usage.peak_rss_bytes);
        self.console.progress(&format!(
            "{phase}: {share}{records} records, {cores:.1} cores busy, {memory} peak"
        ));
        !signals::interrupted()
    }
}

/// The command line as @PG shows it.
pub(super) fn command_line() -> String {
    std::env::args().collect::<Vec<_>>().join(" ")
}

fn default_memory() -> ByteSize {
    ByteSize(machine::available_memory_bytes() / 4 * 3)
}

fn output_format(arguments: &AlignArguments) -> anyhow::Result<OutputFormat> {
    let suffix = arguments.output.output.extension().and_then(|s| s.to_str()).unwrap_or_default();
    match (arguments.output.output_format, suffix) {
        (Some(format), _) => Ok(format),
        (None, "sam") => Ok(OutputFormat::Sam),
        (None, "cram") => Err(UsageError(
            "CRAM is not written; pipe to samtools: -o - | samtools view -C -T REF -o out.cram"
                .to_owned(),
        )
        .into()),
        (None, _) => Ok(OutputFormat::Bam),
    }
}

/// Refuses options that make no sense together, before anything is opened.
///
/// # Errors
/// [`UsageError`].
pub(super) fn check_options(arguments: &AlignArguments) -> anyhow::Result<()> {
    use std::io::IsTerminal;
    let format = output_format(arguments)?;
    let refuse = |text: &str| Err(UsageError(text.to_owned()).into());
    if arguments.output.no_sort && !arguments.duplicates.no_mark_duplicates {
        return refuse(
            "--no-sort streams records as they are made, before duplicates are known; \
             add --no-mark-duplicates",
        );
    }
    if arguments.second.is_some() && arguments.input.interleaved {
        return refuse("-p takes one file with mates next to each other, not two files");
    }
    let to_stdout = arguments.output.output == Path::new("-");
    if to_stdout && format == OutputFormat::Bam && std::io::stdout().is_terminal() {
        return refuse("refusing to write BAM to a terminal; use -o FILE or a pipe");
    }
    Ok(())
}

fn open_source(arguments: &AlignArguments) -> anyhow::Result<ReadSource> {
    let inputs: Vec<PathBuf> =
        std::iter::once(&arguments.first).chain(&arguments.second).cloned().collect();
    let options = SourceOptions {
        keep_comments: arguments.input.append_comments,
        assume_phred33: arguments.input.assume_phred33,
        ..SourceOptions::default()
    };
    Ok(ReadSource::open(&inputs, options)?)
}

fn is_bam(source: &ReadSource) -> bool {
    matches!(source.format(0).container, Container::Bam)
}

/// Unaligned BAM says itself which reads are mates.
fn pairing(arguments: &AlignArguments, source: &ReadSource) -> Pairing {
    if source.lanes() == 2 {
        Pairing::TwoFiles
    } else if arguments.input.interleaved || is_bam(source) {
        Pairing::Adjacent
    } else {
        Pairing::Single
    }
}

fn input_tags(arguments: &AlignArguments, source: &ReadSource) -> InputTags {
    if is_bam(source) {
        InputTags::Fields
    } else if arguments.input.append_comments {
        InputTags::Comments
    } else {
        InputTags::Drop
    }
}

/// A bound of the bases in uncompressed files: in FASTQ each has its quality.
fn input_bases_at_most(source: &ReadSource) -> Option<u64> {
    let is_plain = |lane| source.format(lane).compression == Compression::Plain;
    let bytes = source.total_bytes().filter(|_| (0..source.lanes()).all(is_plain))?;
    Some(match source.format(0).container {
        Container::Fastq | Container::WrappedFastq => bytes / 2,
        Container::Fasta | Container::Bam => bytes,
    })
}

/// The first block of reads, and what came on the way to it.
fn fetch_first(source: &ReadSource) -> anyhow::Result<Vec<InputBlock>> {
    let mut scratch = FetchScratch::default();
    let mut blocks = Vec::new();
    loop {
        match source.fetch(&mut scratch)? {
            Fetch::Block(block) => {
                let found = block.bases > 0 || block.defect.is_some();
                blocks.push(*block);
                if found || blocks.len() == MAX_FIRST_BLOCKS {
                    return Ok(blocks);
                }
            }
            Fetch::Busy => {}
            Fetch::End => return Ok(blocks),
        }
    }
}

fn index_format(
    kind: IndexKind,
    references: &[Reference],
    indexable: bool,
) -> Result<Option<IndexFormat>, UsageError> {
    let longest_bp = references.iter().map(|r| r.length).max().unwrap_or(0);
    let fits_bai = longest_bp <= BAI_LONGEST_BP;
    let bai = IndexFormat { is_csi: false, scheme: BinningScheme::BAI };
    let csi = IndexFormat { is_csi: true, scheme: BinningScheme::csi(longest_bp) };
    match kind {
        IndexKind::None => Ok(None),
        _ if !indexable => Ok(None),
        IndexKind::Bai if !fits_bai => Err(UsageError(
            "BAI cannot index sequences longer than 512 Mbp; use --write-index csi".to_owned(),
        )),
        IndexKind::Bai => Ok(Some(bai)),
        IndexKind::Csi => Ok(Some(csi)),
        IndexKind::Auto => Ok(Some(if fits_bai { bai } else { csi })),
    }
}
