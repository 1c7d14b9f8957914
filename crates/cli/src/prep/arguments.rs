//! Arguments of `seqloom prep`.

use std::path::{Path, PathBuf};

use seqloom_format::bam::Header;
use seqloom_format::bed::BedIntervals;
use seqloom_io::alignments::{AlignmentOptions, AlignmentSource};
use seqloom_prep::duplicates::{DuplicateMode, NamePattern, ReadEndOptions};
use seqloom_prep::finish::DuplicateTagging;
use seqloom_prep::partition::SortOrder;
use seqloom_prep::steps::{
    FixMatesOptions, MismatchTags, MoleculeOptions, ReadGroupMode, ReadGroupOptions, StepOptions,
    Strictness, read_group_line,
};
use seqloom_terminal::error::UnusableFile;

use crate::output::arguments::{
    DuplicateModeArgument, OpticalDistance, OutputArguments, PicardArgument, RunArguments,
};
use crate::output::barcodes::{BarcodeArguments, tag_name};
use crate::output::resume::{Part, ResumeArguments};
use crate::read_names::ReadNameArguments;
use crate::recalibration::RecalibrationArguments;

/// The options of `seqloom prep`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Steps are applied in this order, whatever the order of the options: filters, clean, reference,
mates, read group, NM/MD/UQ, duplicates, recalibration, sort, tags.

Examples:
  seqloom prep in.bam --mark-duplicates --sort coordinate -o out.bam
  bwa mem ref.fa r1.fq r2.fq | \
    seqloom prep - --mark-duplicates --duplicate-mode query --sort coordinate -o out.bam
  (bwa 0.7.17 does not write in the header that the reads of a template are together)

The output is the same bytes whatever -t and -m are.
Exit codes: 0 ok, 1 failed, 2 usage, 3 malformed input, 4 output or disk.")]
pub(crate) struct PrepArguments {
    /// BAM, CRAM or SAM; several inputs are concatenated; `-` is standard input
    #[arg(value_name = "IN", required = true)]
    pub(crate) inputs: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
    /// Order of the output: coordinate, queryname (as samtools sort), coordinate-picard,
    /// queryname-picard (as Picard SortSam, with its ties), or keep, that of the input
    #[arg(long, value_name = "ORDER", default_value = "keep", help_heading = "Output")]
    pub(crate) sort: SortOrder,
    #[command(flatten)]
    pub(crate) run: RunArguments,
    #[command(flatten)]
    pub(crate) resume: ResumeArguments,
    /// Accept truncated input; keep its complete records
    #[arg(long, help_heading = "Input")]
    pub(crate) allow_truncated: bool,
    #[command(flatten)]
    pub(crate) read_names: ReadNameArguments,
    #[command(flatten)]
    pub(crate) filters: FilterArguments,
    #[command(flatten)]
    pub(crate) changes: ChangeArguments,
    #[command(flatten)]
    pub(crate) duplicates: DuplicateArguments,
    #[command(flatten)]
    pub(crate) recalibration: RecalibrationArguments,
}

/// Which records stay.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Filters")]
pub(crate) struct FilterArguments {
    /// Leave out unmapped reads; `strict`: also those without a place (elPrep)
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true,
          default_missing_value = "plain")]
    filter_unmapped: Option<StrictArgument>,
    /// Leave out records that do not match exactly: by CIGAR, or `strict` by X0 X1 XM XO XG
    /// (elPrep)
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true,
          default_missing_value = "plain")]
    filter_inexact: Option<StrictArgument>,
    /// Least MAPQ
    #[arg(long, value_name = "N", default_value_t = 0)]
    min_mapq: u8,
    /// Bits of FLAG that records must have, decimal or 0x
    #[arg(long, value_name = "BITS", default_value = "0", value_parser = flag_bits)]
    require_flags: u16,
    /// Bits of FLAG that records must not have
    #[arg(long, value_name = "BITS", default_value = "0", value_parser = flag_bits)]
    exclude_flags: u16,
    /// BED; records that overlap none of its intervals are left out
    #[arg(long, value_name = "BED")]
    regions: Option<PathBuf>,
}

/// Steps on records.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Changes")]
pub(crate) struct ChangeArguments {
    /// Clip alignments past the end of their reference, MAPQ 0 for unmapped reads (Picard CleanSam)
    #[arg(long)]
    clean_sam: bool,
    /// Set mate fields and MC, MQ, ms (samtools fixmate -m); needs input grouped by name
    #[arg(long)]
    fix_mates: bool,
    /// SAM, .dict, BAM or CRAM whose sequences replace those of the header; records on others are
    /// left out
    #[arg(long, value_name = "FILE")]
    reference_dict: Option<PathBuf>,
    /// Read group line, such as '@RG\tID:a\tSM:s', or the ID of one that the header has
    #[arg(long, value_name = "LINE")]
    read_group: Option<String>,
    /// Which records get the read group
    #[arg(long, value_name = "MODE", default_value = "replace", requires = "read_group")]
    read_group_mode: ReadGroupArgument,
    /// FASTA of the reference, for CRAM, --set-tags, recalibration, alignment summary and GC bias
    #[arg(long, value_name = "FASTA")]
    pub(crate) reference: Option<PathBuf>,
    /// Tags to compute: NM, MD, UQ
    #[arg(long, value_name = "TAG,...", value_delimiter = ',', requires = "reference")]
    set_tags: Vec<SetTagArgument>,
    /// Tags to remove
    #[arg(long, value_name = "TAG,...", value_delimiter = ',', value_parser = tag_name)]
    remove_tags: Vec<[u8; 2]>,
    /// Tags to keep, all others being removed
    #[arg(long, value_name = "TAG,...", value_delimiter = ',', value_parser = tag_name)]
    keep_tags: Option<Vec<[u8; 2]>>,
}

/// How a filter decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum StrictArgument {
    /// By FLAG 0x4, or by CIGAR.
    Plain,
    /// By elPrep's stricter rule.
    Strict,
}

impl From<StrictArgument> for Strictness {
    fn from(argument: StrictArgument) -> Self {
        match argument {
            StrictArgument::Plain => Self::Plain,
            StrictArgument::Strict => Self::Strict,
        }
    }
}

/// `--read-group-mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ReadGroupArgument {
    /// All records; it becomes the only one (Picard, elPrep, samtools' overwrite_all).
    Replace,
    /// Records without one (samtools' orphan_only).
    Orphan,
}

impl From<ReadGroupArgument> for ReadGroupMode {
    fn from(argument: ReadGroupArgument) -> Self {
        match argument {
            ReadGroupArgument::Replace => Self::ReplaceAll,
            ReadGroupArgument::Orphan => Self::OrphanOnly,
        }
    }
}

/// `--set-tags`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum SetTagArgument {
    #[value(name = "NM")]
    Nm,
    #[value(name = "MD")]
    Md,
    #[value(name = "UQ")]
    Uq,
}

pub(crate) fn flag_bits(text: &str) -> Result<u16, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u16::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| "not a number of 16 bits".to_owned())
}

impl PrepArguments {
    /// The steps that need nothing but the header.
    ///
    /// # Errors
    /// A file that cannot be read, a read group line that is none.
    pub(super) fn step_options(&self) -> seqloom_terminal::Result<StepOptions> {
        let (filters, changes) = (&self.filters, &self.changes);
        let line_or_id = |text: &String| {
            let is_line = text.starts_with("@RG") || text.contains("ID:");
            if is_line { read_group_line(text) } else { Ok(text.clone().into_bytes()) }
        };
        let line_or_id = changes.read_group.as_ref().map(line_or_id).transpose()?;
        Ok(StepOptions {
            filter_unmapped: filters.filter_unmapped.map(Into::into),
            require_flags: filters.require_flags,
            exclude_flags: filters.exclude_flags,
            min_mapping_quality: filters.min_mapq,
            exact_match: filters.filter_inexact.map(Into::into),
            regions: filters.regions.as_deref().map(read_regions).transpose()?,
            clean_sam: changes.clean_sam,
            reference_dictionary: changes.reference_dict.as_deref().map(read_header).transpose()?,
            fix_mates: changes.fix_mates.then(FixMatesOptions::default),
            read_group: line_or_id.map(|line_or_id| ReadGroupOptions {
                line_or_id,
                mode: changes.read_group_mode.into(),
            }),
            molecule: self.duplicates.molecule(),
            remove_tags: changes.remove_tags.clone(),
            keep_tags: changes.keep_tags.clone(),
        })
    }

    /// All that the bytes of the output depend on: options, and files.
    pub(super) fn identity(&self) -> (Vec<Part>, Vec<PathBuf>) {
        // Whoever adds an option states here where it belongs.
        let Self {
            inputs,
            output,
            sort,
            run: _,
            resume: _,
            allow_truncated,
            read_names,
            filters,
            changes,
            duplicates,
            recalibration,
        } = self;
        let options = [
            ("inputs", format!("{inputs:?}")),
            ("output options", output.identity()),
            ("sort order", format!("{sort:?}")),
            ("input options", format!("{allow_truncated:?} {read_names:?}")),
            ("filters", format!("{filters:?}")),
            ("changes", format!("{changes:?}")),
            ("duplicate options", format!("{duplicates:?}")),
            ("recalibration options", format!("{recalibration:?}")),
        ];
        let mut files = inputs.clone();
        files.extend(filters.regions.clone());
        files.extend(changes.reference_dict.clone());
        files.extend(changes.reference.clone());
        files.extend(recalibration.files().cloned());
        (options.map(|(name, value)| Part { name: name.to_owned(), value }).into(), files)
    }

    /// The regions that records must overlap.
    pub(super) fn regions(&self) -> Option<&Path> {
        self.filters.regions.as_deref()
    }

    /// The tags that are computed from the reference, if any.
    pub(super) fn mismatch_tags(&self) -> Option<MismatchTags> {
        let has = |tag| self.changes.set_tags.contains(&tag);
        let (nm, md, uq) =
            (has(SetTagArgument::Nm), has(SetTagArgument::Md), has(SetTagArgument::Uq));
        (nm || md || uq).then_some(MismatchTags { nm, md, uq })
    }
}

fn read_regions(path: &Path) -> seqloom_terminal::Result<BedIntervals> {
    let text = std::fs::read(path).map_err(|error| UnusableFile::read(path, &error))?;
    Ok(BedIntervals::parse(&text).map_err(|error| UnusableFile::new(path, error))?)
}

/// The header of a SAM, .dict, BAM or CRAM file.
fn read_header(path: &Path) -> seqloom_terminal::Result<Header> {
    let source = AlignmentSource::open(&[path.to_owned()], AlignmentOptions::default())?;
    Ok(source.headers().first().cloned().unwrap_or_default())
}

/// How duplicates are marked.
#[derive(Debug, clap::Args)]
#[command(
    next_help_heading = "Duplicates (as Picard MarkDuplicates)",
    group = clap::ArgGroup::new("marking")
        .args(["mark_duplicates", "remove_duplicates"])
        .multiple(true)
)]
pub(crate) struct DuplicateArguments {
    /// Set or clear the duplicate flag of every record
    #[arg(long)]
    pub(crate) mark_duplicates: bool,
    /// Leave duplicates out
    #[arg(long)]
    pub(crate) remove_duplicates: bool,
    /// As Picard marks reads grouped by name (query) or sorted (coordinate) [default: by the order
    /// that the input's header states; required where it states none, as in that of bwa 0.7.17]
    #[arg(long, value_name = "MODE", requires = "marking")]
    pub(crate) duplicate_mode: Option<DuplicateModeArgument>,
    /// Largest distance of optical duplicates in pixels (2500 for patterned flow cells), or `off`
    #[arg(long, value_name = "N", default_value = "100", requires = "marking")]
    pub(crate) optical_distance: OpticalDistance,
    /// Where names have tile, x and y: a regular expression that whole names match, with three
    /// groups [default: the last three of 5 or 7 fields between colons]
    #[arg(long, value_name = "REGEX", requires = "marking")]
    pub(crate) read_name_regex: Option<NamePattern>,
    /// Mark as this release of Picard: 3.5.0 takes x and y of read names in 32 bits, and mates of
    /// one read group; 2.27.5 takes x and y in 16 bits, and mates by name alone
    #[arg(long, value_name = "VERSION", default_value = "3.5.0", requires = "marking")]
    pub(crate) picard_version: PicardArgument,
    /// Set tag DT of duplicates: LB (library) or SQ (optical)
    #[arg(long, value_name = "WHICH", default_value = "none", requires = "marking")]
    pub(crate) tag_duplicates: DuplicateTags,
    #[command(flatten)]
    pub(crate) barcodes: BarcodeArguments,
    /// Write "REFERENCE:POSITION/" of the molecule into TAG, and the strand, A or B, with
    /// --duplex-umi
    #[arg(long, value_name = "TAG", value_parser = tag_name, requires = "barcode_tag")]
    molecular_identifier_tag: Option<[u8; 2]>,
}

impl DuplicateArguments {
    /// Which tag names the molecule of a record, if any.
    fn molecule(&self) -> Option<MoleculeOptions> {
        let is_duplex = self.barcodes.tags().is_duplex;
        self.molecular_identifier_tag.map(|tag| MoleculeOptions { tag, is_duplex })
    }

    /// How read ends are built.
    pub(super) fn read_ends(&self, mode: DuplicateMode) -> ReadEndOptions {
        ReadEndOptions {
            mode,
            locations: self.optical_distance.locations(self.read_name_regex.as_ref()),
            barcodes: self.barcodes.tags(),
            picard: self.picard_version.into(),
        }
    }
}

/// `--tag-duplicates`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum DuplicateTags {
    /// No tags; those of the input are removed.
    None,
    /// SQ on optical duplicates.
    Optical,
    /// SQ on optical duplicates, LB on all others.
    All,
}

impl From<DuplicateTags> for DuplicateTagging {
    fn from(argument: DuplicateTags) -> Self {
        match argument {
            DuplicateTags::None => Self::None,
            DuplicateTags::Optical => Self::Optical,
            DuplicateTags::All => Self::All,
        }
    }
}
