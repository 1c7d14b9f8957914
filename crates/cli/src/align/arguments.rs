//! Arguments of `seqloom align`. Single letters mean what they mean in `bwa mem`, except -o -t -m
//! -l.

use std::iter;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use seqloom_align::UmiSource;
use seqloom_align::engine::bwa::{BwaOptions, InsertSize, Preset};
use seqloom_align::engine::fake::FakeOptions;
use seqloom_align::index::IndexPaths;
use seqloom_format::bam::{Header, expand_escapes};
use seqloom_prep::duplicates::{DuplicateOptions, NamePattern, ReadEndOptions};

use super::mode::ModeArguments;
use super::numa::NumaArguments;
use crate::options_given::first_given;
use crate::output::arguments::{
    DuplicateModeArgument, OpticalDistance, OutputArguments, PicardArgument, RunArguments, bases,
};
use crate::output::barcodes::BarcodeArguments;
use crate::read_names::ReadNameArguments;
use crate::recalibration::{ReadGroupsFrom, RecalibrationArguments};

/// Bases per cohort, as in bwa pipelines that pin them.
pub(super) const DEFAULT_COHORT_BASES: u64 = 100_000_000;
/// Most bases per cohort: no run has so many, and sums over them are small numbers.
const MOST_COHORT_BASES: u64 = 1_000_000_000_000;

/// The options of `seqloom align`.
#[derive(Debug, clap::Args)]
#[command(
    disable_help_flag = true,
    after_help = "\
Examples:
  seqloom align -R '@RG\\tID:a\\tSM:s\\tLB:l' ref.fa R1.fq.gz R2.fq.gz -o out.bam
  seqloom align ref.fa --input lanes.csv -o out.bam
  seqloom align --no-sort --no-mark-duplicates --output-format sam ref.fa R1.fq R2.fq -o - | ...

The output is the same bytes whatever -t and -m are.
Letters of bwa mem that are not listed here do not exist: ERRATA.md says which and why.
Exit codes: 0 ok, 1 failed, 2 usage, 3 malformed input, 4 output or disk."
)]
pub(crate) struct AlignArguments {
    /// Prefix of the index: the FASTA that `seqloom index` was given
    #[arg(value_name = "REF")]
    pub(crate) reference: PathBuf,
    /// FASTQ (plain, gzip, BGZF, zstd), FASTA, or unaligned BAM or CRAM (aligned BAM, grouped by
    /// name, is aligned anew); `-` is standard input
    #[arg(value_name = "R1", required_unless_present = "sheet")]
    pub(crate) first: Option<PathBuf>,
    /// Mates, in the same order; refused where the numbers after names (/1, 1:N:0) say otherwise.
    /// .1 and .2 at the ends of names are taken off where the first pair has them
    #[arg(value_name = "R2")]
    pub(crate) second: Option<PathBuf>,
    /// Lanes in place of R1 and R2: CSV (commas, semicolons or tabs) with the columns sample and
    /// fastq_1, and as requested fastq_2, lane, library, platform, platform_unit, read_group, umi;
    /// file names are relative to the sheet. Each lane gets a read group, from the sheet or from
    /// Illumina's read names, and is aligned as if alone; lanes are read side by side, one for each
    /// thread at most, as -m has room
    #[arg(long = "input", value_name = "CSV", help_heading = "Input",
          conflicts_with_all = ["first", "second", "read_group", "append_comments"])]
    pub(crate) sheet: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) names: NamesArguments,

    #[command(flatten)]
    pub(crate) output: OutputArguments,
    /// Keep the order of the input and stream; needs --no-mark-duplicates
    #[arg(long, help_heading = "Output")]
    pub(crate) no_sort: bool,
    /// Write FILE.00, FILE.01, ... side by side, each a part of the output: `cat FILE.??` is the
    /// file (FILE.??? from 101 on). The index is that file's. With --no-sort batches go to them in
    /// turn
    #[arg(long, value_name = "N", default_value = "1", help_heading = "Output",
          value_parser = stripe_count)]
    pub(crate) stripes: NonZeroUsize,
    #[command(flatten)]
    pub(crate) run: RunArguments,
    /// Align in shards that are kept in a hidden folder next to the output: the same command goes
    /// on from there if it is killed; -t, -m and --tmp-dir may differ. The input is read twice
    #[arg(long, help_heading = "Machine")]
    pub(crate) resume: bool,
    /// Bases of a shard that is kept
    #[arg(long, value_name = "BASES", requires = "resume", hide = true,
          value_parser = bases)]
    pub(crate) resume_bases: Option<NonZeroU64>,
    #[command(flatten)]
    pub(crate) placement: NumaArguments,
    #[command(flatten)]
    pub(crate) input: InputArguments,
    #[command(flatten)]
    pub(crate) duplicates: DuplicateArguments,
    /// FASTA of the reference, for CRAM, recalibration, alignment summary and GC bias [default:
    /// REF]
    #[arg(long, value_name = "FASTA", help_heading = "Input")]
    pub(crate) reference_fasta: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) recalibration: RecalibrationArguments,
    #[command(flatten)]
    pub(crate) algorithm: AlgorithmArguments,
    #[command(flatten)]
    pub(crate) mode: ModeArguments,
    /// Print help
    #[arg(long, action = clap::ArgAction::Help)]
    help: Option<bool>,
}

impl AlignArguments {
    /// The reads' files, where no sheet names them.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = &PathBuf> {
        self.first.iter().chain(&self.second)
    }

    /// Makes the paths of inputs absolute that are relative to `folder`; standard input stays.
    pub(crate) fn rebase(&mut self, folder: &Path) {
        let paths = iter::once(&mut self.reference).chain(&mut self.first);
        let paths = paths.chain(&mut self.second).chain(&mut self.reference_fasta);
        paths.filter(|path| path.as_os_str() != "-").for_each(|path| *path = folder.join(&*path));
        self.recalibration.rebase(folder);
    }

    /// Named options that the bytes of the output depend on; files are the caller's.
    pub(crate) fn identity(&self) -> Vec<(&'static str, String)> {
        // Whoever adds an option states here where it belongs.
        let Self {
            reference,
            first,
            second,
            sheet,
            names,
            output,
            no_sort,
            stripes,
            run: _,
            resume: _,
            resume_bases,
            placement,
            input,
            duplicates,
            reference_fasta,
            recalibration,
            algorithm,
            mode,
            help: _,
        } = self;
        vec![
            ("reference", format!("{:?}", (reference, reference_fasta))),
            ("inputs", format!("{:?}", (first, second, sheet, names))),
            ("output options", output.identity()),
            ("form of the output", format!("{:?}", (no_sort, stripes, resume_bases))),
            ("placement", format!("{placement:?}")),
            ("input options", format!("{input:?}")),
            ("duplicate options", format!("{duplicates:?}")),
            ("recalibration options", format!("{recalibration:?}")),
            ("algorithm", format!("{:?}", (algorithm, mode))),
        ]
    }

    /// The FASTA that recalibration and metrics compare reads with.
    pub(crate) fn fasta(&self) -> &Path {
        self.reference_fasta.as_ref().unwrap_or(&self.reference)
    }

    /// Source of the read groups.
    pub(crate) fn read_groups_from(&self) -> ReadGroupsFrom<'_> {
        self.sheet.as_deref().map_or(ReadGroupsFrom::Option, ReadGroupsFrom::Sheet)
    }

    /// All files that are read besides reads.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let index = IndexPaths::new(&self.reference);
        let mut files: Vec<PathBuf> = index.all().into();
        files.push(self.fasta().to_owned());
        files.extend(self.sheet.clone());
        files.extend(self.recalibration.files().cloned());
        files.extend(self.mode.splice_sites().map(Path::to_owned));
        files
    }
}

/// Read groups by the names of reads, or by a sheet.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Input")]
pub(crate) struct NamesArguments {
    /// Derive the read group from Illumina's read names: ID FLOWCELL.LANE, PU
    /// FLOWCELL.LANE.BARCODE. Its sample is that of --sample
    #[arg(long, requires = "sample", conflicts_with_all = ["read_group", "sheet"])]
    pub(crate) rg_from_names: bool,
    /// The sample of --rg-from-names (SM), or the one of the sheet to align where it has several
    #[arg(long, value_name = "NAME", value_parser = field_value)]
    pub(crate) sample: Option<String>,
    /// The library of --rg-from-names (LB)
    #[arg(long, value_name = "NAME", requires = "rg_from_names", value_parser = field_value)]
    pub(crate) library: Option<String>,
}

/// How the input is read.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Input")]
pub(crate) struct InputArguments {
    /// Read group line, such as '@RG\tID:a\tSM:s\tLB:l' (`\t` is expanded); replaces those of
    /// unaligned BAM or CRAM
    #[arg(short = 'R', long, value_name = "LINE", value_parser = read_group_line)]
    pub(crate) read_group: Option<String>,
    /// Mates are next to each other in one file; reads without a neighbour of their name are single
    #[arg(short = 'p', long)]
    pub(crate) interleaved: bool,
    /// Append FASTQ comments, which must hold SAM tags, to the records
    #[arg(short = 'C', long)]
    pub(crate) append_comments: bool,
    /// Put UMIs into the tags RX and QX: of read names (after the last `:`, or a `_` there), of
    /// comments (the last field of the first word, or the one with the number N), or of the bases
    /// of reads, by read structures as in fgbio (M a UMI, S skipped, T aligned, + all that is
    /// left). A part with an r before it, as BCL Convert writes them, is reverse-complemented
    #[arg(long, value_name = "name|comment[:N]|read1:8M+T[,read2:...]")]
    pub(crate) umi: Option<UmiSource>,
    /// Text in names or comments that precedes the UMI, such as UMI_ of fastp: the UMI is all that
    /// follows its last occurrence
    #[arg(long, value_name = "TEXT", value_parser = field_value)]
    pub(crate) umi_prefix: Option<String>,
    /// Bases per cohort, which is bwa's chunk: reads that share an insert-size estimate. Up to
    /// 1000000000000; part of the result, as in bwa
    #[arg(short = 'K', long, value_name = "BASES", default_value_t = DEFAULT_COHORT_BASES,
          value_parser = clap::value_parser!(u64).range(1..=MOST_COHORT_BASES))]
    pub(crate) cohort_bases: u64,
    /// Take qualities as Phred+33 even where they look like Phred+64
    #[arg(long, conflicts_with = "phred64")]
    pub(crate) assume_phred33: bool,
    /// Qualities of FASTQ are Phred+64 (Illumina 1.3 to 1.7); the output has them as Phred+33
    #[arg(long)]
    pub(crate) phred64: bool,
    #[command(flatten)]
    pub(crate) read_names: ReadNameArguments,
}

/// How duplicates are marked.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Duplicates")]
pub(crate) struct DuplicateArguments {
    /// Leave duplicates unmarked
    #[arg(long, conflicts_with = "remove_duplicates")]
    pub(crate) no_mark_duplicates: bool,
    /// Leave duplicates out
    #[arg(long)]
    pub(crate) remove_duplicates: bool,
    /// As Picard marks reads grouped by name (query) or sorted (coordinate)
    #[arg(
        long,
        value_name = "MODE",
        default_value = "query",
        conflicts_with = "no_mark_duplicates"
    )]
    pub(crate) duplicate_mode: DuplicateModeArgument,
    /// Largest distance of optical duplicates in pixels (2500 for patterned flow cells), or `off`
    #[arg(long, value_name = "N", default_value = "100", conflicts_with = "no_mark_duplicates")]
    pub(crate) optical_distance: OpticalDistance,
    /// Where names have tile, x and y: a regular expression that whole names match, with three
    /// groups [default: the last three of 5 or 7 fields between colons]
    #[arg(long, value_name = "REGEX", conflicts_with = "no_mark_duplicates")]
    pub(crate) read_name_regex: Option<NamePattern>,
    /// Mark as this release of Picard: 3.5.0 takes x and y of read names in 32 bits, and mates of
    /// one read group; 2.27.5 takes x and y in 16 bits, and mates by name alone
    #[arg(
        long,
        value_name = "VERSION",
        default_value = "3.5.0",
        conflicts_with = "no_mark_duplicates"
    )]
    pub(crate) picard_version: PicardArgument,
    #[command(flatten)]
    pub(crate) barcodes: BarcodeArguments,
}

impl DuplicateArguments {
    /// How read ends are built.
    pub(crate) fn read_ends(&self) -> ReadEndOptions {
        ReadEndOptions {
            mode: self.duplicate_mode.into(),
            locations: self.optical_distance.locations(self.read_name_regex.as_ref()),
            barcodes: self.barcodes.tags(),
            picard: self.picard_version.into(),
        }
    }

    /// How duplicates are found among them.
    pub(crate) fn options(&self) -> DuplicateOptions {
        DuplicateOptions {
            optical_distance_px: self.optical_distance.0,
            umi_distance: self.barcodes.umi_distance(),
            ..DuplicateOptions::default()
        }
    }
}

/// bwa's algorithm.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Algorithm (as in bwa mem)")]
pub(crate) struct AlgorithmArguments {
    /// Minimum seed length [default: 19]
    #[arg(short = 'k', long, value_name = "N",
          value_parser = clap::value_parser!(i32).range(1..=1000))]
    min_seed_length: Option<i32>,
    /// Band width [default: 100]
    #[arg(short = 'w', long, value_name = "N",
          value_parser = clap::value_parser!(i32).range(1..=100_000))]
    band_width: Option<i32>,
    /// Skip seeds with more than N occurrences [default: 500]
    #[arg(short = 'c', long, value_name = "N", value_parser = clap::value_parser!(i32).range(1..))]
    max_occurrences: Option<i32>,
    /// Look for shorter seeds in those longer than -k times F [default: 1.5]
    #[arg(short = 'r', long, value_name = "F", value_parser = parse_share)]
    reseeding_factor: Option<f32>,
    /// Third round of seeds: those with fewer than N occurrences, 0 for no such round [default: 20]
    #[arg(short = 'y', long, value_name = "N", value_parser = clap::value_parser!(i32).range(0..))]
    third_round_occurrences: Option<i32>,
    /// Drop chains of which seeds cover fewer than N bases [default: 0]
    #[arg(short = 'W', long, value_name = "N", value_parser = clap::value_parser!(i32).range(0..))]
    min_chain_weight: Option<i32>,
    /// Drop chains, and secondary alignments, below this share of an overlapping better one
    /// [default: 0.5]
    #[arg(short = 'D', long, value_name = "F", value_parser = parse_share)]
    drop_ratio: Option<f32>,
    /// End an extension where its score has fallen by more than N [default: 100]
    #[arg(short = 'd', long, value_name = "N", value_parser = clap::value_parser!(i32).range(0..))]
    z_drop: Option<i32>,
    /// Mismatch penalty [default: 4]
    #[arg(short = 'B', long, value_name = "N",
          value_parser = clap::value_parser!(i32).range(0..=100))]
    mismatch_penalty: Option<i32>,
    /// Gap open penalty, of deletions and insertions [default: 6,6]
    #[arg(short = 'O', long, value_name = "N[,N]")]
    gap_open: Option<OneOrTwo>,
    /// Gap extension penalty [default: 1,1]
    #[arg(short = 'E', long, value_name = "N[,N]")]
    gap_extend: Option<OneOrTwo>,
    /// Clipping penalty at the 5' and the 3' end [default: 5,5]
    #[arg(short = 'L', long, value_name = "N[,N]")]
    clip_penalty: Option<OneOrTwo>,
    /// Penalty of an unpaired read pair [default: 17]
    #[arg(short = 'U', long, value_name = "N",
          value_parser = clap::value_parser!(i32).range(0..=10_000))]
    unpaired_penalty: Option<i32>,
    /// Minimum score to output [default: 30]
    #[arg(short = 'T', long, value_name = "N",
          value_parser = clap::value_parser!(i32).range(0..=10_000))]
    min_output_score: Option<i32>,
    /// List other hits in XA if there are at most N (on ALT contigs: the second N); help is --help
    /// [default: 5,200]
    #[arg(short = 'h', long, value_name = "N[,N]")]
    xa_hits: Option<OneOrTwo>,
    /// Soft-clip supplementary alignments
    #[arg(short = 'Y', long)]
    soft_clip_supplementary: bool,
    /// Mark shorter split hits as secondary (for old Picard)
    #[arg(short = 'M', long)]
    mark_split_secondary: bool,
    /// Preset of the read type, which changes the defaults above: intractg (contigs of the same
    /// species), pacbio or pbref, ont2d (noisy long reads)
    #[arg(short = 'x', long, value_name = "TYPE")]
    preset: Option<PresetArgument>,
    /// Insert size of FR pairs: mean[,deviation[,max[,min]]] [default: inferred per cohort]
    #[arg(short = 'I', long, value_name = "F[,F[,N[,N]]]")]
    insert_size: Option<InsertSize>,
    /// Treat ALT contigs as part of the primary assembly (ignore REF.alt)
    #[arg(short = 'j', long)]
    pub(crate) ignore_alt: bool,
    /// Search for every read, as before there was the certified path (for comparisons)
    #[arg(long, hide = true)]
    pub(crate) no_certified_path: bool,
    /// Engine: `bwa`; where tests and the laboratory have built the program, `fake:OPTIONS`, too,
    /// which does not align
    #[arg(long, value_name = "ENGINE", default_value = "bwa", hide = true)]
    pub(crate) engine: EngineChoice,
}

impl AlgorithmArguments {
    /// The first of these options that is given.
    pub(super) fn given(&self) -> Option<&'static str> {
        first_given([
            ("-k", self.min_seed_length.is_some()),
            ("-w", self.band_width.is_some()),
            ("-c", self.max_occurrences.is_some()),
            ("-r", self.reseeding_factor.is_some()),
            ("-y", self.third_round_occurrences.is_some()),
            ("-W", self.min_chain_weight.is_some()),
            ("-D", self.drop_ratio.is_some()),
            ("-d", self.z_drop.is_some()),
            ("-B", self.mismatch_penalty.is_some()),
            ("-O", self.gap_open.is_some()),
            ("-E", self.gap_extend.is_some()),
            ("-L", self.clip_penalty.is_some()),
            ("-U", self.unpaired_penalty.is_some()),
            ("-T", self.min_output_score.is_some()),
            ("-h", self.xa_hits.is_some()),
            ("-Y", self.soft_clip_supplementary),
            ("-M", self.mark_split_secondary),
            ("-x", self.preset.is_some()),
            ("-I", self.insert_size.is_some()),
            ("-j", self.ignore_alt),
            ("--no-certified-path", self.no_certified_path),
        ])
    }

    /// The options of the bwa engine.
    pub(crate) fn bwa_options(&self) -> BwaOptions {
        let both = |values: Option<OneOrTwo>| values.map(|v| v.0);
        BwaOptions {
            min_seed_length: self.min_seed_length,
            band_width: self.band_width,
            max_occurrences: self.max_occurrences,
            reseeding_factor: self.reseeding_factor,
            third_round_occurrences: self.third_round_occurrences,
            min_chain_weight: self.min_chain_weight,
            drop_ratio: self.drop_ratio,
            z_drop: self.z_drop,
            mismatch_penalty: self.mismatch_penalty,
            gap_open: both(self.gap_open),
            gap_extend: both(self.gap_extend),
            clip_penalty: both(self.clip_penalty),
            unpaired_penalty: self.unpaired_penalty,
            min_output_score: self.min_output_score,
            xa_hits: both(self.xa_hits),
            soft_clip_supplementary: self.soft_clip_supplementary,
            mark_split_secondary: self.mark_split_secondary,
            preset: self.preset.map(|preset| preset.0),
            insert_size: self.insert_size,
        }
    }
}

/// A fraction above 0, as bwa takes it.
fn parse_share(text: &str) -> Result<f32, String> {
    let refuse = || "must be a number above 0 and below 1000".to_owned();
    let value: f32 = text.parse().map_err(|_| refuse())?;
    if value > 0.0 && value < 1000.0 { Ok(value) } else { Err(refuse()) }
}

/// `-x`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PresetArgument(Preset);

impl FromStr for PresetArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "intractg" => Ok(Self(Preset::Intractg)),
            "pacbio" | "pbref" => Ok(Self(Preset::Pacbio)),
            "ont2d" => Ok(Self(Preset::Ont2d)),
            _ => Err("presets are intractg, pacbio, pbref and ont2d".to_owned()),
        }
    }
}

/// One value for two things, or two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct OneOrTwo([i32; 2]);

impl FromStr for OneOrTwo {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refuse = || "neither a number nor two numbers with a comma".to_owned();
        let number = |part: &str| part.parse().ok().filter(|n| (0..=100_000).contains(n));
        let (first, second) = text.split_once(',').unwrap_or((text, text));
        Ok(Self([number(first).ok_or_else(refuse)?, number(second).ok_or_else(refuse)?]))
    }
}

/// More files than these would be of no use, and a process may not have many more open.
const MOST_STRIPES: usize = 512;

fn stripe_count(text: &str) -> Result<NonZeroUsize, String> {
    let count = text.parse().ok().filter(|count: &NonZeroUsize| count.get() <= MOST_STRIPES);
    count.ok_or_else(|| format!("must be a number from 1 to {MOST_STRIPES}"))
}

/// `-R` as it was typed, if it is a read group.
fn read_group_line(text: &str) -> Result<String, String> {
    let expanded = expand_escapes(text);
    let parsed = Header::default().add_read_group(expanded.as_bytes());
    parsed.map(|_| text.to_owned()).map_err(|error| error.to_string())
}

/// Value of a field of a header line.
fn field_value(text: &str) -> Result<String, String> {
    if text.is_empty() || text.contains(char::is_control) {
        return Err("a name without control characters".to_owned());
    }
    Ok(text.to_owned())
}

/// `--engine`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EngineChoice {
    /// The engine of `--mode`.
    OfMode,
    /// Does not align, for tests and the laboratory.
    Fake(FakeOptions),
}

impl FromStr for EngineChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':').unwrap_or((text, "")) {
            ("bwa", "") => Ok(Self::OfMode),
            ("fake", options) => {
                options.parse().map(Self::Fake).map_err(|error| format!("{error}"))
            }
            _ => Err("must be 'bwa'".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_stands_for_two() {
        assert_eq!("6".parse(), Ok(OneOrTwo([6, 6])));
        assert_eq!("6,5".parse(), Ok(OneOrTwo([6, 5])));
        assert!("6,5,4".parse::<OneOrTwo>().is_err());
        assert!("-1".parse::<OneOrTwo>().is_err());
    }
}
