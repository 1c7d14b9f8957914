//! Arguments of `seqloom columns`.

use std::io::IsTerminal;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use seqloom_columns::alignments::{Column, TagColumn};
use seqloom_columns::{Limits, TextType};
use seqloom_io::reads::MAX_RECORD_BYTES;
use seqloom_runtime::machine;
use seqloom_runtime::memory::ByteSize;
use seqloom_terminal::UsageError;

use crate::cram_input::max_container_bytes;
use crate::output::arguments::{memory_size, thread_count};
use crate::output::run::{beyond_address_space, default_memory, within_address_space};
use crate::prep::arguments::flag_bits;
use crate::read_names::ReadNameArguments;

/// Code, libraries, header, allocator slack.
const PROGRAM_BYTES: u64 = 48 << 20;
/// Per worker: what is being inflated and parsed.
const WORKER_BYTES: u64 = 8 << 20;
/// Rows of a batch where nothing is said: few enough that a batch is soon there.
const BATCH_ROWS: NonZeroUsize = NonZeroUsize::new(65_536).unwrap();

/// Kind of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Kind {
    /// BAM, CRAM, SAM
    Alignments,
    /// FASTQ, FASTA
    Reads,
    /// SLOW5, BLOW5, FAST5, POD5
    Signal,
}

/// The options of `seqloom columns`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Columns of alignments: name flag reference start end mapq cigar mate_reference mate_start
template_length sequence qualities, and, if requested, cigar_ops read_group tags. Positions are
0-based. Columns of reads: name comment sequence qualities. Columns of signal: read_id read_group
digitisation offset range sampling_rate sample_count samples, and the fields of the file.

The stream is in the order of the input and the same bytes whatever -t and -m are. Columns that
are not requested are not decoded.

Example:
  seqloom columns out.bam --columns name,start,mapq --tags NM:i --regions chr20:1-2,000,000 \\
    -o out.arrows
Exit codes: 0 ok, 1 failed, 2 usage, 3 malformed input, 4 output or disk.")]
pub(crate) struct ColumnsArguments {
    /// BAM, CRAM or SAM, FASTQ or FASTA, or raw signal; several inputs are concatenated; `-` is
    /// standard input
    #[arg(value_name = "FILE", required = true)]
    pub(super) inputs: Vec<PathBuf>,
    /// Output, an Arrow IPC stream; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub(super) output: PathBuf,
    /// What the input is [default: by its content; a pipe counts as alignments]
    #[arg(long, value_name = "KIND")]
    pub(super) kind: Option<Kind>,
    /// Columns, in this order [default: see below]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(super) columns: Option<Vec<String>>,
    /// Tags as columns of their own, each with its type: NM:i, RG:Z, ML:B:C
    #[arg(long, value_name = "TAG:TYPE,...", value_delimiter = ',',
          value_parser = TagColumn::from_str)]
    pub(super) tags: Vec<TagColumn>,
    /// Only records that reach into NAME, NAME:FIRST or NAME:FIRST-LAST (from 1), repeatable; read
    /// by an index where there is one
    #[arg(long, value_name = "REGION")]
    pub(super) regions: Vec<String>,
    /// FASTA of the reference that CRAM was written with
    #[arg(long, value_name = "FASTA")]
    pub(super) reference: Option<PathBuf>,
    /// Bits of FLAG that records must have, decimal or 0x
    #[arg(long, value_name = "BITS", default_value = "0", value_parser = flag_bits)]
    pub(super) require_flags: u16,
    /// Bits of FLAG that records must not have
    #[arg(long, value_name = "BITS", default_value = "0", value_parser = flag_bits)]
    pub(super) exclude_flags: u16,
    /// Least MAPQ
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) min_mapq: u8,
    /// Names, comments and tags of type Z as bytes, which need not be UTF-8
    #[arg(long)]
    pub(super) binary: bool,
    /// Take qualities of FASTQ for Phred+33 whatever they look like
    #[arg(long)]
    pub(super) assume_phred33: bool,
    #[command(flatten)]
    pub(super) read_names: ReadNameArguments,
    /// Most rows of a batch; one whose rows hold 8 MiB of the input has fewer
    #[arg(long, value_name = "N", default_value_t = BATCH_ROWS)]
    batch_rows: NonZeroUsize,
    /// Busy threads in total, 1 to 4096 [default: all cores this process may use]
    #[arg(short, long, short_alias = '@', value_name = "N", value_parser = thread_count)]
    threads: Option<NonZeroUsize>,
    /// Memory in total, such as 1G; the minimum is printed if SIZE is too small [default: three
    /// quarters of the machine's; no more is used than a few hundred MiB per thread]
    #[arg(short, long, value_name = "SIZE", value_parser = memory_size)]
    memory: Option<ByteSize>,
    /// Print errors only
    #[arg(long)]
    pub(super) quiet: bool,
}

impl ColumnsArguments {
    /// # Errors
    /// A stream for a terminal.
    pub(super) fn check(&self) -> Result<(), UsageError> {
        if self.output == Path::new("-") && std::io::stdout().is_terminal() {
            let text = "refusing to write columns to a terminal; use -o FILE or a pipe";
            return Err(UsageError(text.to_owned()));
        }
        Ok(())
    }

    /// Threads in total.
    pub(super) fn threads(&self) -> NonZeroUsize {
        self.threads.unwrap_or_else(machine::available_cores)
    }

    /// Shares out the memory, of which the inputs take `input_bytes` besides blocks.
    ///
    /// # Errors
    /// When it is too small.
    pub(super) fn limits(&self, input_bytes: u64) -> Result<Limits, UsageError> {
        let threads = self.threads();
        let (memory, space_limit) = self.memory_within(threads);
        let fixed_bytes = PROGRAM_BYTES + threads.get() as u64 * WORKER_BYTES + input_bytes;
        let least_bytes = fixed_bytes + Limits::least_bytes(threads);
        if memory.0 < least_bytes {
            return Err(match space_limit {
                Some(limit) => beyond_address_space(limit, least_bytes, threads),
                None => UsageError(format!(
                    "-m {memory} is too small: this run needs at least {} with {threads} threads",
                    ByteSize(least_bytes)
                )),
            });
        }
        let memory_bytes = memory.0 - fixed_bytes;
        Ok(Limits { threads, batch_rows: self.batch_rows, memory_bytes })
    }

    fn memory_within(&self, threads: NonZeroUsize) -> (ByteSize, Option<ByteSize>) {
        within_address_space(self.memory.unwrap_or_else(default_memory), threads)
    }

    /// Most that a container of CRAM inflates to.
    pub(super) fn max_container_bytes(&self) -> usize {
        let memory = self.memory.unwrap_or_else(default_memory);
        max_container_bytes(memory, self.threads())
    }

    /// Longest line of text: a sixteenth of the memory.
    pub(super) fn max_line_bytes(&self) -> usize {
        let memory = self.memory.unwrap_or_else(default_memory);
        usize::try_from(memory.0 / 16).unwrap_or(usize::MAX).min(MAX_RECORD_BYTES)
    }

    pub(super) fn text(&self) -> TextType {
        if self.binary { TextType::Binary } else { TextType::Utf8 }
    }

    /// The columns requested, or the usual ones.
    ///
    /// # Errors
    /// A name that there is not.
    pub(super) fn named<C: FromStr<Err = String>>(
        &self,
        usual: impl FnOnce() -> Vec<C>,
    ) -> Result<Vec<C>, UsageError> {
        let Some(names) = &self.columns else { return Ok(usual()) };
        let names = names.iter().filter(|name| !name.is_empty());
        names.map(|name| name.parse().map_err(UsageError)).collect()
    }

    /// # Errors
    /// A name that there is not.
    pub(super) fn alignment_columns(&self) -> Result<Vec<Column>, UsageError> {
        if self.assume_phred33 {
            return Err(UsageError("--assume-phred33 is for FASTQ".to_owned()));
        }
        self.named(Column::usual)
    }

    /// # Errors
    /// Options that only alignments have.
    pub(super) fn refuse_filters(&self, kind: &str) -> Result<(), UsageError> {
        let given = [
            ("--tags", !self.tags.is_empty()),
            ("--regions", !self.regions.is_empty()),
            ("--reference", self.reference.is_some()),
            ("--require-flags", self.require_flags != 0),
            ("--exclude-flags", self.exclude_flags != 0),
            ("--min-mapq", self.min_mapq != 0),
            ("--binary", self.binary && kind == "signal"),
            ("--assume-phred33", self.assume_phred33 && kind == "signal"),
            ("--mend-names", self.read_names.is_given() && kind == "signal"),
        ];
        match given.iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) => Err(UsageError(format!("{option} is of no use to {kind}"))),
            None => Ok(()),
        }
    }
}
