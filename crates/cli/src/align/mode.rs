//! `--mode`: which algorithm places reads, and the options that belong to one of them.

use std::path::{Path, PathBuf};

use seqloom_align::engine::native::{
    Acceptance, MOST_MISMATCHES, NativeEngine, Orientation, PairOptions, Reported, SeedAcceptance,
    Strands, UngappedOptions,
};
use seqloom_align::index::IndexInfo;
use seqloom_io::sink::atomic::AtomicFileError;
use seqloom_terminal::UsageError;

use super::arguments::{AlignArguments, EngineChoice};
use super::outcomes::{self, Outcomes};

/// `--mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Mode {
    /// As bwa mem: gaps, clips, split reads
    Bwa,
    /// Every placement with a few mismatches and no gap, as Bowtie
    Ungapped,
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

/// `--orientation`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum OrientationArgument {
    /// Towards each other
    Fr,
    /// Away from each other
    Rf,
    /// Both the same way
    Ff,
}

/// The mode, and the options of `--mode ungapped`.
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
    /// Placements of a read that are reported, those with the fewest mismatches first [default: 1]
    #[arg(long, value_name = "N", conflicts_with = "all",
          value_parser = clap::value_parser!(u32).range(1..=65_536))]
    placements: Option<u32>,
    /// Report all placements
    #[arg(long)]
    all: bool,
    /// Leave reads with more placements unmapped; their XM tag is one more
    #[arg(long, value_name = "M", value_parser = clap::value_parser!(u32).range(1..=65_535))]
    max_placements: Option<u32>,
    /// Only placements with as few mismatches as any count
    #[arg(long)]
    best_stratum: bool,
    /// Strand of the reference that reads are placed on
    #[arg(long, value_name = "STRAND")]
    strand: Option<StrandArgument>,
    /// Cut so many bases off the 5' end of each read
    #[arg(long, value_name = "BASES")]
    trim5: Option<u16>,
    /// Cut so many bases off the 3' end of each read
    #[arg(long, value_name = "BASES")]
    trim3: Option<u16>,
    /// Least distance between the outer ends of mates, in bp [default: 0]
    #[arg(long, value_name = "BP", value_parser = clap::value_parser!(u32).range(..=1_000_000))]
    min_insert: Option<u32>,
    /// Greatest distance between the outer ends of mates, in bp [default: 250]
    #[arg(long, value_name = "BP", value_parser = clap::value_parser!(u32).range(..=1_000_000))]
    max_insert: Option<u32>,
    /// How mates lie to each other [default: fr]
    #[arg(long, value_name = "ORIENTATION")]
    orientation: Option<OrientationArgument>,
    /// Also write reads that have placements to FILE, as FASTQ or FASTA like the input; mates of
    /// two files to two, FILE with _1 and _2 in front of its suffix
    #[arg(long, value_name = "FILE", value_parser = reads_file)]
    aligned_reads: Option<PathBuf>,
    /// Also write reads that have none
    #[arg(long, value_name = "FILE", value_parser = reads_file)]
    unaligned_reads: Option<PathBuf>,
    /// Also write reads that have more than --max-placements; without this they are among those of
    /// --unaligned-reads
    #[arg(long, value_name = "FILE", value_parser = reads_file, requires = "max_placements")]
    frequent_reads: Option<PathBuf>,
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
        let some = Reported::AtMost(self.placements.unwrap_or(1));
        UngappedOptions {
            acceptance,
            reported: if self.all { Reported::All } else { some },
            max_placements: self.max_placements,
            best_stratum: self.best_stratum,
            strands: match self.strand {
                None | Some(StrandArgument::Both) => Strands::Both,
                Some(StrandArgument::Forward) => Strands::Forward,
                Some(StrandArgument::Reverse) => Strands::Reverse,
            },
            trim: [self.trim5, self.trim3].map(|bases| bases.unwrap_or(0).into()),
            pairs: PairOptions {
                orientation: match self.orientation {
                    None | Some(OrientationArgument::Fr) => Orientation::ForwardReverse,
                    Some(OrientationArgument::Rf) => Orientation::ReverseForward,
                    Some(OrientationArgument::Ff) => Orientation::Same,
                },
                min_insert_bp: self.min_insert.unwrap_or(0),
                max_insert_bp: self.max_insert.unwrap_or(250),
            },
        }
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
        paths.flat_map(|(name, paths)| paths.into_iter().map(move |path| (name, path))).collect()
    }

    /// What will note what becomes of the reads, in the modes where that is wanted.
    ///
    /// # Errors
    /// When a file of reads cannot be made.
    pub(super) fn outcomes(&self, is_two: bool) -> Result<Option<Outcomes>, AtomicFileError> {
        let create = || Outcomes::create(self.reads_files().map(|(_, path)| path), is_two);
        (self.mode == Mode::Ungapped).then(create).transpose()
    }

    /// Whether reads are held until their records are made.
    pub(super) fn keeps_reads(&self) -> bool {
        self.reads_files().iter().any(|(_, path)| path.is_some())
    }

    /// The first of these options that is given.
    fn given(&self) -> Option<&'static str> {
        let options = [
            ("--max-mismatches", self.max_mismatches.is_some()),
            ("--seed-mismatches", self.seed_mismatches.is_some()),
            ("--placements", self.placements.is_some()),
            ("--all", self.all),
            ("--max-placements", self.max_placements.is_some()),
            ("--best-stratum", self.best_stratum),
            ("--strand", self.strand.is_some()),
            ("--trim5", self.trim5.is_some()),
            ("--trim3", self.trim3.is_some()),
            ("--min-insert", self.min_insert.is_some()),
            ("--max-insert", self.max_insert.is_some()),
            ("--orientation", self.orientation.is_some()),
        ];
        let files = self.reads_files().map(|(name, path)| (name, path.is_some()));
        let mut all = options.into_iter().chain(files);
        all.find_map(|(name, is_given)| is_given.then_some(name))
    }

    /// The first option given that is of no use without mates.
    pub(super) fn given_for_mates(&self) -> Option<&'static str> {
        let options = [
            ("--min-insert", self.min_insert.is_some()),
            ("--max-insert", self.max_insert.is_some()),
            ("--orientation", self.orientation.is_some()),
        ];
        options.into_iter().find_map(|(name, is_given)| is_given.then_some(name))
    }

    /// Whether pairs are held until a cohort is complete.
    pub(super) fn holds_cohorts(&self) -> bool {
        self.mode == Mode::Bwa
    }

    /// Memory beside that of the index.
    pub(super) fn table_bytes(&self, index: &IndexInfo) -> u64 {
        match self.mode {
            Mode::Bwa => 0,
            Mode::Ungapped => NativeEngine::table_bytes(index.bases),
        }
    }
}

/// Refuses options of another mode, and those that contradict each other.
///
/// # Errors
/// [`UsageError`] that names the mode.
pub(super) fn check(arguments: &AlignArguments) -> Result<(), UsageError> {
    let (option, mode) = match arguments.mode.mode {
        Mode::Bwa => (arguments.mode.given(), "ungapped"),
        Mode::Ungapped if !matches!(arguments.algorithm.engine, EngineChoice::Bwa) => {
            return Err(UsageError("--engine is for --mode bwa".to_owned()));
        }
        Mode::Ungapped => (arguments.algorithm.given(), "bwa"),
    };
    if let Some(option) = option {
        return Err(UsageError(format!("{option} is an option of --mode {mode}")));
    }
    let PairOptions { min_insert_bp: least, max_insert_bp: most, .. } =
        arguments.mode.ungapped().pairs;
    if least > most {
        let text = format!("--min-insert {least} is more than --max-insert {most}");
        return Err(UsageError(text));
    }
    Ok(())
}
