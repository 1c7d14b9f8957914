//! `--mode`: which algorithm places reads, and the options that belong to one of them.

use std::path::{Path, PathBuf};

use seqloom_align::engine::native::gapped::{GappedEngine, GappedOptions, MOST_PLACEMENTS};
use seqloom_align::engine::native::spliced::{Intron, SplicedEngine, SplicedOptions};
use seqloom_align::engine::native::ungapped::{
    Acceptance, MOST_MISMATCHES, Reported, SeedAcceptance, Strands, UngappedEngine, UngappedOptions,
};
use seqloom_align::index::IndexInfo;
use seqloom_io::sink::atomic::AtomicFileError;
use seqloom_terminal::{Console, UsageError};

use super::gapped::GappedArguments;
use super::mates::{BY_SCORE_INSERT, MateArguments, UNGAPPED_INSERT};
use super::outcomes::{self, Outcomes, Wording};
use super::spliced::SplicedArguments;

/// `--mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Mode {
    /// As bwa mem: gaps, clips, split reads
    Bwa,
    /// Every placement with a few mismatches and no gap, as Bowtie
    Ungapped,
    /// The best placements of whole reads, with gaps, as Bowtie 2
    EndToEnd,
    /// The best placements of reads that may be clipped, as Bowtie 2 --local
    Local,
    /// The best placements of RNA reads, over introns, as HISAT2
    Spliced,
}

/// `--strand`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum StrandArgument {
    /// Both
    Both,
    /// The reference as it is
    Forward,
    /// Its reverse complement
    Reverse,
}

impl Mode {
    /// As it is given.
    fn name(self) -> &'static str {
        match self {
            Self::Bwa => "bwa",
            Self::Ungapped => "ungapped",
            Self::EndToEnd => "end-to-end",
            Self::Local => "local",
            Self::Spliced => "spliced",
        }
    }
}

/// Heading of the options that all modes but bwa's have.
const COMMON: &str = "Placements (all modes but bwa; docs/modes.md)";

/// The mode, and the options of those that are not bwa's.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Without gaps (--mode ungapped, as Bowtie; docs/modes.md)")]
pub(crate) struct ModeArguments {
    /// How reads are placed
    #[arg(long, value_name = "MODE", default_value = "bwa", help_heading = "Algorithm")]
    pub(crate) mode: Mode,
    /// Most mismatches of a placement, 0 to 4 [default: 2]
    #[arg(long, value_name = "V", conflicts_with = "seed_mismatches",
          value_parser = clap::value_parser!(u8).range(..=i64::from(MOST_MISMATCHES)))]
    max_mismatches: Option<u8>,
    /// In place of --max-mismatches: most mismatches in the first --seed-length bases, 0 to 3;
    /// further ones only as far as --quality-ceiling goes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(..=3))]
    seed_mismatches: Option<u8>,
    /// Bases of the seed, with --seed-mismatches [default: 28]
    #[arg(long, value_name = "BASES", requires = "seed_mismatches",
          value_parser = clap::value_parser!(u16).range(5..))]
    seed_length: Option<u16>,
    /// Greatest sum of the qualities of all mismatches, with --seed-mismatches; each counts as 0,
    /// 10, 20 or 30 [default: 70]
    #[arg(long, value_name = "SUM", requires = "seed_mismatches")]
    quality_ceiling: Option<u32>,
    /// Sum qualities as they are
    #[arg(long, requires = "seed_mismatches")]
    exact_qualities: bool,
    /// Placements of a read that are reported, the best first [default: 1]
    #[arg(long, help_heading = COMMON, value_name = "N", conflicts_with = "all",
          value_parser = clap::value_parser!(u32).range(1..=65_536))]
    placements: Option<u32>,
    /// Report all placements
    #[arg(long, help_heading = COMMON)]
    all: bool,
    /// Leave reads with more placements unmapped; their XM tag is one more
    #[arg(long, value_name = "M", value_parser = clap::value_parser!(u32).range(1..=65_535))]
    max_placements: Option<u32>,
    /// Only placements with as few mismatches as any count
    #[arg(long)]
    best_stratum: bool,
    /// Strand of the reference that reads are placed on
    #[arg(long, help_heading = COMMON, value_name = "STRAND")]
    strand: Option<StrandArgument>,
    /// Cut so many bases off the 5' end of each read
    #[arg(long, help_heading = COMMON, value_name = "BASES")]
    trim5: Option<u16>,
    /// Cut so many bases off the 3' end of each read
    #[arg(long, help_heading = COMMON, value_name = "BASES")]
    trim3: Option<u16>,
    /// Also write reads that have placements to FILE, as FASTQ or FASTA like the input; mates of
    /// two files to two, FILE with _1 and _2 in front of its suffix
    #[arg(long, help_heading = COMMON, value_name = "FILE", value_parser = reads_file)]
    aligned_reads: Option<PathBuf>,
    /// Also write reads that have none
    #[arg(long, help_heading = COMMON, value_name = "FILE", value_parser = reads_file)]
    unaligned_reads: Option<PathBuf>,
    /// Also write reads that have more than --max-placements; without this they are among those of
    /// --unaligned-reads
    #[arg(long, value_name = "FILE", value_parser = reads_file, requires = "max_placements")]
    frequent_reads: Option<PathBuf>,
    #[command(flatten)]
    mates: MateArguments,
    #[command(flatten)]
    gapped: GappedArguments,
    #[command(flatten)]
    spliced: SplicedArguments,
}

/// A file of reads, which is written as plain text.
fn reads_file(text: &str) -> Result<PathBuf, String> {
    let is_compressed = |suffix: &str| text.ends_with(suffix);
    if [".gz", ".bgz", ".zst"].into_iter().any(is_compressed) {
        return Err("reads are written as plain text; name a file without that suffix".to_owned());
    }
    if text == "-" {
        return Err("standard output is /dev/stdout here".to_owned());
    }
    Ok(text.into())
}

impl ModeArguments {
    /// The options of the ungapped mode.
    pub(super) fn ungapped(&self) -> UngappedOptions {
        let acceptance = match self.seed_mismatches {
            None => Acceptance::Mismatches(self.max_mismatches.unwrap_or(2)),
            Some(mismatches) => Acceptance::Seed(SeedAcceptance {
                bases: self.seed_length.unwrap_or(28).into(),
                mismatches,
                quality_ceiling: self.quality_ceiling.unwrap_or(70),
                rounds: !self.exact_qualities,
            }),
        };
        let (reported, strands, trim) = self.common();
        UngappedOptions {
            acceptance,
            reported,
            max_placements: self.max_placements,
            best_stratum: self.best_stratum,
            strands,
            trim,
            pairs: self.mates.pairs(UNGAPPED_INSERT),
        }
    }

    /// The options of the modes with gaps.
    pub(super) fn gapped(&self) -> GappedOptions {
        self.gapped.options(self.mode == Mode::Local, self.common(), self.mates.by_score())
    }

    /// The options of the mode that goes over introns.
    pub(super) fn spliced(&self) -> SplicedOptions {
        let (_, strands, trim) = self.common();
        let common = (self.placements, strands, trim);
        self.spliced.options(self.gapped.spliced_scoring(), common, &self.mates)
    }

    /// The introns that are known.
    ///
    /// # Errors
    /// When their file makes no sense.
    pub(super) fn introns(
        &self,
        index: &IndexInfo,
        console: &Console,
    ) -> anyhow::Result<Vec<Intron>> {
        self.spliced.introns(index, console)
    }

    /// Whether the input is read twice.
    pub(super) fn reads_twice(&self) -> bool {
        self.mode == Mode::Spliced && self.spliced.has_first_pass()
    }

    /// The file of known introns.
    pub(super) fn splice_sites(&self) -> Option<&Path> {
        self.spliced.splice_sites.as_deref()
    }

    /// The file of the introns that reads go over.
    pub(super) fn junctions(&self) -> Option<&Path> {
        self.spliced.junctions.as_deref()
    }

    /// What all modes but bwa's have.
    fn common(&self) -> (Reported, Strands, [usize; 2]) {
        let some = Reported::AtMost(self.placements.unwrap_or(1));
        let strands = match self.strand {
            None | Some(StrandArgument::Both) => Strands::Both,
            Some(StrandArgument::Forward) => Strands::Forward,
            Some(StrandArgument::Reverse) => Strands::Reverse,
        };
        let trim = [self.trim5, self.trim3].map(|bases| bases.unwrap_or(0).into());
        (if self.all { Reported::All } else { some }, strands, trim)
    }

    /// Files of reads, by outcome, with their options.
    fn reads_files(&self) -> [(&'static str, Option<&Path>); 3] {
        [
            ("--aligned-reads", self.aligned_reads.as_deref()),
            ("--unaligned-reads", self.unaligned_reads.as_deref()),
            ("--frequent-reads", self.frequent_reads.as_deref()),
        ]
    }

    /// Files of reads that are written, with what the command line calls each.
    pub(super) fn outputs(&self, is_two: bool) -> Vec<(&'static str, PathBuf)> {
        let files = self.reads_files().into_iter();
        let paths = files.filter_map(|(name, path)| Some((name, outcomes::paths(path?, is_two))));
        let each = |(name, paths): (_, Vec<_>)| paths.into_iter().map(move |path| (name, path));
        let junctions = self.junctions().map(|path| ("--junctions", path.to_owned()));
        paths.flat_map(each).chain(junctions).collect()
    }

    /// What will note what becomes of the reads, in the modes where that is wanted.
    ///
    /// # Errors
    /// When a file of reads cannot be made.
    pub(super) fn outcomes(&self, is_two: bool) -> Result<Option<Outcomes>, AtomicFileError> {
        let wording = match self.mode {
            Mode::Bwa => return Ok(None),
            Mode::Ungapped => Wording::Bowtie,
            Mode::EndToEnd | Mode::Local | Mode::Spliced => Wording::Bowtie2,
        };
        let files = self.reads_files().map(|(_, path)| path);
        Outcomes::create(files, is_two, wording).map(Some)
    }

    /// Whether reads are held until their records are made.
    pub(super) fn keeps_reads(&self) -> bool {
        self.reads_files().iter().any(|(_, path)| path.is_some())
    }

    /// The first option given of those that only `--mode ungapped` has.
    fn given_for_ungapped(&self) -> Option<&'static str> {
        let options = [
            ("--max-mismatches", self.max_mismatches.is_some()),
            ("--seed-mismatches", self.seed_mismatches.is_some()),
            ("--max-placements", self.max_placements.is_some()),
            ("--best-stratum", self.best_stratum),
            ("--frequent-reads", self.frequent_reads.is_some()),
        ];
        options.into_iter().find_map(|(name, is_given)| is_given.then_some(name))
    }

    /// The first option given of those that all modes but bwa's have.
    fn given_in_common(&self) -> Option<&'static str> {
        let options = [
            ("--placements", self.placements.is_some()),
            ("--all", self.all),
            ("--strand", self.strand.is_some()),
            ("--trim5", self.trim5.is_some()),
            ("--trim3", self.trim3.is_some()),
        ];
        let files = self.reads_files().map(|(name, path)| (name, path.is_some()));
        let mut all = options.into_iter().chain(files);
        let given = all.find_map(|(name, is_given)| is_given.then_some(name));
        given.or_else(|| self.mates.given())
    }

    /// An option given that this mode does not have.
    fn given_elsewhere(&self) -> Option<Elsewhere> {
        let of =
            |option: Option<&'static str>, modes| option.map(|option| Elsewhere { option, modes });
        let ungapped = of(self.given_for_ungapped(), "ungapped");
        let by_score = self.gapped.given().or_else(|| self.mates.given_by_score());
        let gapped = of(by_score, "end-to-end, local and spliced");
        let common = of(self.given_in_common(), "ungapped, end-to-end, local and spliced");
        let spliced = of(self.spliced.given(), "spliced");
        match self.mode {
            Mode::Bwa => ungapped.or(gapped).or(common).or(spliced),
            Mode::Ungapped => gapped.or(spliced),
            Mode::EndToEnd | Mode::Local => ungapped.or(spliced),
            Mode::Spliced => {
                let effort = of(self.gapped.given_effort(), "end-to-end and --mode local");
                let all = of(self.all.then_some("--all"), "ungapped, end-to-end and local");
                ungapped.or(effort).or(all)
            }
        }
    }

    /// The first option given that is of no use without mates.
    pub(super) fn given_for_mates(&self) -> Option<&'static str> {
        self.mates.given().or_else(|| self.mates.given_by_score())
    }

    /// Whether reads and pairs of which nothing is placed get no record.
    pub(super) fn drops_unaligned(&self) -> bool {
        self.gapped.drop_unaligned
    }

    /// Whether pairs are held until a cohort is complete.
    pub(super) fn holds_cohorts(&self) -> bool {
        self.mode == Mode::Bwa
    }

    /// Memory beside that of the index.
    pub(super) fn table_bytes(&self, index: &IndexInfo) -> u64 {
        match self.mode {
            Mode::Bwa => 0,
            Mode::Ungapped => UngappedEngine::table_bytes(index.bases),
            Mode::EndToEnd | Mode::Local => GappedEngine::table_bytes(index.bases),
            Mode::Spliced => SplicedEngine::table_bytes(index.bases),
        }
    }

    /// Refuses options of another mode, and those that contradict each other.
    ///
    /// # Errors
    /// [`UsageError`] that names the mode.
    pub(super) fn check(&self) -> Result<(), UsageError> {
        if let Some(Elsewhere { option, modes }) = self.given_elsewhere() {
            return Err(UsageError(format!("{option} is an option of --mode {modes}")));
        }
        if self.mode == Mode::Spliced {
            self.spliced.check()?;
        }
        if matches!(self.mode, Mode::EndToEnd | Mode::Local | Mode::Spliced) {
            self.gapped.check(self.mode == Mode::Local)?;
            if let Some(wanted) = self.placements.filter(|&it| it as usize > MOST_PLACEMENTS) {
                let mode = self.mode.name();
                let text =
                    format!("--placements {wanted}: --mode {mode} takes {MOST_PLACEMENTS} at most");
                return Err(UsageError(text));
            }
        }
        let usual = if self.mode == Mode::Ungapped { UNGAPPED_INSERT } else { BY_SCORE_INSERT };
        self.mates.check(usual)
    }
}

/// An option of other modes, and their names.
struct Elsewhere {
    option: &'static str,
    modes: &'static str,
}
