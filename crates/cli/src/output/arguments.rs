//! Options that every command with BAM output has.

use std::iter;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use seqloom_cram::Version;
use seqloom_format::bam_deflate::{Method, Settings};
use seqloom_io::sidecars::{bam_indices, cram_indices};
use seqloom_prep::duplicates::{DuplicateMode, LocationSource, NamePattern, PicardVersion};
use seqloom_prep::metrics::MetricsRequest;
use seqloom_runtime::memory::{ByteSize, ParseSizeError};
use seqloom_terminal::UsageError;

use super::progress::ProgressKind;

/// Options of the output.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArguments {
    /// Output file, its index next to it; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,
    /// Format [default: by the suffix of the output file, else BAM]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) output_format: Option<OutputFormat>,
    /// Compression level of BAM and CRAM, 0 (none) to 12; 1 is fast
    #[arg(short = 'l', long, value_name = "N", default_value_t = 6,
          value_parser = clap::value_parser!(u8).range(0..=12))]
    pub(crate) level: u8,
    /// What deflates BAM at levels 1 to 6, to compare with
    #[arg(long, value_name = "METHOD", default_value = "records", hide = true)]
    deflate: DeflateArgument,
    /// Inflate each block of BAM again and compare
    #[arg(long, hide = true)]
    check_deflate: bool,
    /// Version of CRAM: files of 3.1 are smaller; Picard 3.5 and GATK 4.7 read both, Picard 2.27
    /// 3.0 alone [default: 3.0]
    #[arg(long, value_name = "VERSION", value_enum)]
    pub(crate) cram_version: Option<CramVersion>,
    /// Keep tags NM and MD in CRAM, which samtools, Picard 3.5 and GATK 4.7 make again from the
    /// reference and Picard 2.27 does not
    #[arg(long)]
    pub(crate) cram_keep_md: bool,
    /// Index written next to a sorted BAM file; next to a CRAM it is a .crai
    #[arg(long, value_name = "KIND", default_value = "auto")]
    pub(crate) write_index: IndexKind,
    /// Do not overwrite existing output files
    #[arg(long)]
    pub(crate) no_clobber: bool,
    /// Add no @PG line
    #[arg(long = "no-pg", alias = "no-PG")]
    pub(crate) no_pg: bool,
    /// Write the MD5 of the output into FILE.md5 next to it
    #[arg(long)]
    pub(crate) md5: bool,
    /// Folder for metrics: NAME.flagstat.txt, NAME.idxstats.txt and, where duplicates are marked,
    /// NAME.markdup.txt; NAME is that of the output without suffix, or seqloom for `-`. Metrics of
    /// this name that an older run has left there are removed
    #[arg(long, value_name = "DIR")]
    pub(crate) metrics_dir: Option<PathBuf>,
    /// Further metrics for --metrics-dir, as Picard and samtools count them: insert-size,
    /// alignment-summary (with mismatches where there is a FASTA), quality-yield,
    /// quality-by-cycle, quality-distribution, samtools-stats, or all
    #[arg(long, value_name = "KIND,...", value_delimiter = ',', hide_possible_values = true)]
    metrics: Vec<MetricsArgument>,
    /// Report of the run: options, counts, time and memory; with --html all its numbers, too
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Report with plots as one page that needs no network: reads, qualities, insert sizes, depth,
    /// GC bias (where there is a FASTA), duplicates, recalibration, and the run
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

/// How the run uses the machine.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Machine")]
pub(crate) struct RunArguments {
    /// Busy threads in total, 1 to 4096 [default: all cores this process may use]
    #[arg(short, long, short_alias = '@', value_name = "N", value_parser = thread_count)]
    pub(crate) threads: Option<NonZeroUsize>,
    /// Memory in total, such as 8G (K, M, G and T are powers of 1024); the minimum is printed if
    /// SIZE is too small [default: three quarters of the machine's, or of the cgroup's limit, or
    /// what `ulimit -v` leaves]
    #[arg(short, long, value_name = "SIZE", value_parser = memory_size)]
    pub(crate) memory: Option<ByteSize>,
    /// Folder for spilled data, repeatable [default: $TMPDIR, else the output's folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) tmp_dir: Vec<PathBuf>,
    /// Print errors only
    #[arg(long)]
    pub(crate) quiet: bool,
    /// Progress: auto (on a terminal, redrawn), plain (a line when a phase begins and once a
    /// minute) or off
    #[arg(long, value_name = "KIND", default_value = "auto", hide_possible_values = true)]
    pub(crate) progress: ProgressKind,
    /// Also write all log lines, of a quiet run too, to FILE as they come
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
}

impl RunArguments {
    /// Files that are written, with their options.
    pub(crate) fn outputs(&self) -> impl Iterator<Item = (&str, &Path)> {
        self.log.iter().map(|path| ("--log", path.as_path()))
    }

    /// Folders of spilled data when the output is `output`.
    pub(crate) fn spill_folders(&self, output: &Path) -> Vec<PathBuf> {
        if !self.tmp_dir.is_empty() {
            return self.tmp_dir.clone();
        }
        if let Some(folder) = std::env::var_os("TMPDIR").filter(|folder| !folder.is_empty()) {
            return vec![folder.into()];
        }
        let own_folder = output.parent().filter(|p| !p.as_os_str().is_empty());
        vec![own_folder.map_or_else(|| PathBuf::from("."), PathBuf::from)]
    }
}

impl OutputArguments {
    /// What the bytes of the output and of its metrics depend on.
    pub(crate) fn identity(&self) -> String {
        let Self {
            output,
            output_format,
            level,
            deflate,
            check_deflate: _,
            cram_version,
            cram_keep_md,
            write_index,
            no_pg,
            md5,
            metrics_dir,
            metrics,
            json: _,
            html,
            no_clobber: _,
        } = self;
        let cram = (cram_version, cram_keep_md);
        let stream = (output, output_format, level, deflate, (cram, write_index), no_pg);
        // What is counted for the page has to be counted from the beginning.
        format!("{:?}", (stream, md5, metrics_dir, metrics, html.is_some()))
    }

    /// The version of CRAM.
    pub(crate) fn cram_version(&self) -> Version {
        match self.cram_version {
            None | Some(CramVersion::V30) => Version::V30,
            Some(CramVersion::V31) => Version::V31,
        }
    }

    /// How blocks of BAM are deflated.
    pub(crate) fn deflate(&self) -> Settings {
        let method = match self.deflate {
            DeflateArgument::Records => Method::Records,
            DeflateArgument::Libdeflate => Method::Libdeflate,
        };
        Settings { level: self.level, method, check: self.check_deflate }
    }

    /// Refuses metrics without a place to be put.
    ///
    /// # Errors
    /// `--metrics` without `--metrics-dir`.
    pub(crate) fn check_metrics(&self) -> Result<(), UsageError> {
        if self.metrics.is_empty() || self.metrics_dir.is_some() {
            return Ok(());
        }
        Err(UsageError("--metrics needs --metrics-dir, the folder that they go to".to_owned()))
    }

    /// The metrics that are counted as records are written: those for files, and those of the page.
    pub(crate) fn metrics_request(&self) -> MetricsRequest {
        let files = self.metrics_files();
        if self.html.is_none() {
            return files;
        }
        MetricsRequest {
            alignment_summary: files.alignment_summary,
            samtools_stats: files.samtools_stats,
            ..MetricsRequest::ALL
        }
    }

    /// The metrics that become files.
    pub(crate) fn metrics_files(&self) -> MetricsRequest {
        let has =
            |kind| self.metrics.contains(&kind) || self.metrics.contains(&MetricsArgument::All);
        MetricsRequest {
            insert_size: has(MetricsArgument::InsertSize),
            alignment_summary: has(MetricsArgument::AlignmentSummary),
            quality_yield: has(MetricsArgument::QualityYield),
            quality_by_cycle: has(MetricsArgument::QualityByCycle),
            quality_distribution: has(MetricsArgument::QualityDistribution),
            samtools_stats: has(MetricsArgument::SamtoolsStats),
            ..MetricsRequest::default()
        }
    }

    /// Files that are written, with their options.
    pub(crate) fn outputs(&self) -> impl Iterator<Item = (&str, &Path)> {
        let json = self.json.iter().map(|path| ("--json", path.as_path()));
        let html = self.html.iter().map(|path| ("--html", path.as_path()));
        iter::once(("-o", self.output.as_path())).chain(json).chain(html)
    }

    /// The format that the output's suffix says.
    fn suffix_format(&self) -> Option<OutputFormat> {
        let suffix = self.output.extension().and_then(|s| s.to_str()).unwrap_or_default();
        match suffix {
            "bam" => Some(OutputFormat::Bam),
            "sam" => Some(OutputFormat::Sam),
            _ => suffix.eq_ignore_ascii_case("cram").then_some(OutputFormat::Cram),
        }
    }

    /// The format requested, or that of the suffix.
    pub(crate) fn named_format(&self) -> OutputFormat {
        self.output_format.or(self.suffix_format()).unwrap_or(OutputFormat::Bam)
    }

    /// Refuses a name that another format than that of a plan has.
    ///
    /// # Errors
    /// It has.
    pub(crate) fn check_suffix(&self, planned: OutputFormat) -> Result<(), UsageError> {
        match self.suffix_format() {
            Some(named) if named != planned => Err(UsageError(format!(
                "{}: the plan of this run is of {}; `seqloom shard plan --output-format cram` \
                 plans CRAM, and BAM is the default",
                self.output.display(),
                planned.name()
            ))),
            _ => Ok(()),
        }
    }

    /// Whether the output is CRAM.
    pub(crate) fn is_cram(&self) -> bool {
        self.named_format() == OutputFormat::Cram
    }

    /// Paths where readers look for an index of the output.
    pub(crate) fn indices(&self) -> Vec<PathBuf> {
        match self.named_format() {
            OutputFormat::Cram => cram_indices(&self.output).into(),
            OutputFormat::Bam | OutputFormat::Sam => bam_indices(&self.output).into(),
        }
    }

    /// The format requested, or that of the suffix.
    ///
    /// # Errors
    /// BAM and CRAM to a terminal, and what they have not.
    pub(crate) fn format(&self) -> Result<OutputFormat, UsageError> {
        use std::io::IsTerminal;
        let format = self.named_format();
        let to_stdout = self.output == Path::new("-");
        if to_stdout && format != OutputFormat::Sam && std::io::stdout().is_terminal() {
            let text = "refusing to write BAM or CRAM to a terminal; use -o FILE or a pipe";
            return Err(UsageError(text.to_owned()));
        }
        self.check_cram_options(format)?;
        Ok(format)
    }

    /// Refuses SAM, for `who`, that writes BAM and CRAM alone.
    ///
    /// # Errors
    /// The option or the output that says otherwise.
    pub(crate) fn refuse_sam(&self, who: &str) -> Result<(), UsageError> {
        let what = match (self.named_format(), self.output_format) {
            (OutputFormat::Bam | OutputFormat::Cram, _) => return Ok(()),
            (OutputFormat::Sam, Some(_)) => "--output-format sam".to_owned(),
            (OutputFormat::Sam, None) => self.output.display().to_string(),
        };
        Err(UsageError(format!("{what}: {who} writes BAM or CRAM, not SAM")))
    }

    /// Refuses options that only CRAM has, or that it has not.
    ///
    /// # Errors
    /// The first of them.
    pub(crate) fn check_cram_options(&self, format: OutputFormat) -> Result<(), UsageError> {
        let options = [
            ("--cram-version", self.cram_version.is_some()),
            ("--cram-keep-md", self.cram_keep_md),
        ];
        let given = options.into_iter().find(|(_, is_given)| *is_given);
        if let Some((option, _)) = given.filter(|_| format != OutputFormat::Cram) {
            return Err(UsageError(format!("{option} needs CRAM output")));
        }
        let wants_bins = matches!(self.write_index, IndexKind::Bai | IndexKind::Csi);
        if wants_bins && format == OutputFormat::Cram {
            let text = "--write-index: the index of a CRAM is a .crai; leave it out, or say none";
            return Err(UsageError(text.to_owned()));
        }
        Ok(())
    }
}

/// Refuses a name that CRAM would have.
///
/// # Errors
/// It is one.
#[cfg(feature = "signal")]
pub(crate) fn refuse_cram(output: &Path) -> Result<(), UsageError> {
    if output.extension().is_none_or(|suffix| !suffix.eq_ignore_ascii_case("cram")) {
        return Ok(());
    }
    Err(UsageError(format!(
        "{}: this command writes no CRAM; pipe to samtools: - | samtools view -C -T REF",
        output.display()
    )))
}

/// Most threads that can be requested: more than any machine has cores, and few enough for sums
/// over them to be small numbers.
const MOST_THREADS: usize = 4096;

/// A number of threads.
pub(crate) fn thread_count(text: &str) -> Result<NonZeroUsize, String> {
    let refused = || format!("threads are 1 to {MOST_THREADS}");
    let count = text.parse::<NonZeroUsize>().map_err(|_| refused())?;
    if count.get() <= MOST_THREADS { Ok(count) } else { Err(refused()) }
}

/// A size of memory; what is less than any program takes was meant to have a letter.
pub(crate) fn memory_size(text: &str) -> Result<ByteSize, String> {
    let size: ByteSize = text.parse().map_err(|error: ParseSizeError| error.to_string())?;
    let has_letter = text.ends_with(|letter: char| letter.is_ascii_alphabetic());
    match size.0 {
        0..=0xf_ffff if has_letter => Err("no run works with less than 1M".to_owned()),
        bytes @ 0..=0xf_ffff => Err(format!("that is {bytes} bytes; did you mean {text}G?")),
        _ => Ok(size),
    }
}

/// A number of bases, with a unit of ten: `500M`.
pub(crate) fn bases(text: &str) -> Result<NonZeroU64, String> {
    let (digits, unit) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1_000),
        Some((at, 'M')) => (&text[..at], 1_000_000),
        Some((at, 'G')) => (&text[..at], 1_000_000_000),
        _ => (text, 1),
    };
    let number: Option<u64> = digits.parse().ok();
    let bases = number.and_then(|it| it.checked_mul(unit)).and_then(NonZeroU64::new);
    bases.ok_or_else(|| "must be a number of bases, such as 500M or 2G".to_owned())
}

/// `--metrics`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum MetricsArgument {
    InsertSize,
    AlignmentSummary,
    QualityYield,
    QualityByCycle,
    QualityDistribution,
    SamtoolsStats,
    All,
}

/// `--deflate`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum DeflateArgument {
    /// By what a record is, where that is worth it.
    Records,
    /// libdeflate alone.
    Libdeflate,
}

/// Output formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum OutputFormat {
    /// Compressed, indexable.
    Bam,
    /// Text.
    Sam,
    /// By differences from the reference, indexable.
    Cram,
}

impl OutputFormat {
    fn name(self) -> &'static str {
        match self {
            Self::Bam => "BAM",
            Self::Sam => "SAM",
            Self::Cram => "CRAM",
        }
    }
}

/// Versions of CRAM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum CramVersion {
    /// Known to all readers.
    #[value(name = "3.0")]
    V30,
    /// Smaller.
    #[value(name = "3.1")]
    V31,
}

/// Index formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum IndexKind {
    /// BAI, or CSI when a sequence is longer than 512 Mbp.
    Auto,
    /// BAI.
    Bai,
    /// CSI.
    Csi,
    /// No index.
    None,
}

/// `--duplicate-mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum DuplicateModeArgument {
    /// Every record follows its template.
    Query,
    /// Only primary mapped records are marked.
    Coordinate,
}

impl From<DuplicateModeArgument> for DuplicateMode {
    fn from(mode: DuplicateModeArgument) -> Self {
        match mode {
            DuplicateModeArgument::Query => Self::Query,
            DuplicateModeArgument::Coordinate => Self::Coordinate,
        }
    }
}

/// `--picard-version`: the releases compared with that mark other duplicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum PicardArgument {
    /// x and y of read names in 32 bits, mates within a read group.
    #[value(name = "3.5.0")]
    V3_5,
    /// x and y of read names in 16 bits, mates by name alone.
    #[value(name = "2.27.5")]
    V2_27,
}

impl From<PicardArgument> for PicardVersion {
    fn from(version: PicardArgument) -> Self {
        match version {
            PicardArgument::V3_5 => Self::V3_5,
            PicardArgument::V2_27 => Self::V2_27,
        }
    }
}

/// A number of pixels, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OpticalDistance(pub(crate) Option<u32>);

impl OpticalDistance {
    /// How places on the flow cell are read from names: by `pattern` where one is given.
    pub(crate) fn locations(self, pattern: Option<&NamePattern>) -> LocationSource {
        match (self.0, pattern) {
            (None, _) => LocationSource::None,
            (Some(_), None) => LocationSource::Illumina,
            (Some(_), Some(pattern)) => LocationSource::Pattern(pattern.clone()),
        }
    }

    /// Refuses a pattern where no place is requested.
    pub(crate) fn check(self, pattern: Option<&NamePattern>) -> Result<(), UsageError> {
        match (self.0, pattern) {
            (None, Some(_)) => Err(UsageError(
                "--optical-distance off looks at no name; leave --read-name-regex out".to_owned(),
            )),
            _ => Ok(()),
        }
    }
}

impl FromStr for OpticalDistance {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "off" {
            return Ok(Self(None));
        }
        let pixels = text.parse().map_err(|_| "neither a number of pixels nor 'off'".to_owned())?;
        Ok(Self(Some(pixels)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bases_have_decimal_units() {
        let t = |text: &str| bases(text).ok().map(NonZeroU64::get);
        assert_eq!([t("2G"), t("500M"), t("7k"), t("12")], {
            [Some(2_000_000_000), Some(500_000_000), Some(7_000), Some(12)]
        });
        assert_eq!([t(""), t("0"), t("G"), t("-1"), t("1.5G"), t("99999999999G")], [None; 6]);
    }
}
