//! `--mode`: which algorithm places reads, and the options that belong to one of them, a file each.

mod common_arguments;
mod gapped_arguments;
mod mates_arguments;
mod spliced_arguments;
mod ungapped_arguments;

use std::path::{Path, PathBuf};

use seqloom_align::engine::bwa::BwaEngine;
use seqloom_align::index::IndexInfo;
use seqloom_io::AtomicFileError;
use seqloom_modes::gapped::{GappedEngine, GappedOptions, MOST_PLACEMENTS, MateOptions};
use seqloom_modes::spliced::{Intron, SplicedEngine, SplicedOptions};
use seqloom_modes::ungapped::{UngappedEngine, UngappedOptions};
use seqloom_terminal::{Console, UsageError};

use self::common_arguments::CommonArguments;
use self::gapped_arguments::GappedArguments;
use self::mates_arguments::{MateArguments, UNGAPPED_INSERT};
use self::spliced_arguments::SplicedArguments;
use self::ungapped_arguments::UngappedArguments;
use crate::align::outcomes::{self, Outcomes, Wording};

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

impl Mode {
    /// Whether reads are placed as bwa mem does. That mode alone has the certified path, read
    /// structures, `--engine`, bwa's own options, shards, and cohorts whose insert sizes are
    /// inferred.
    pub(crate) fn is_bwa(self) -> bool {
        self == Self::Bwa
    }

    /// As it is given.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Bwa => "bwa",
            Self::Ungapped => "ungapped",
            Self::EndToEnd => "end-to-end",
            Self::Local => "local",
            Self::Spliced => "spliced",
        }
    }
}

/// The mode, and the options of those that are not bwa's.
#[derive(Debug, clap::Args)]
pub(crate) struct ModeArguments {
    /// How reads are placed
    #[arg(long, value_name = "MODE", default_value = "bwa", help_heading = "Algorithm")]
    pub(crate) mode: Mode,
    #[command(flatten)]
    ungapped: UngappedArguments,
    #[command(flatten)]
    common: CommonArguments,
    #[command(flatten)]
    mates: MateArguments,
    #[command(flatten)]
    gapped: GappedArguments,
    #[command(flatten)]
    spliced: SplicedArguments,
}

impl ModeArguments {
    /// The options of the ungapped mode.
    pub(super) fn ungapped(&self) -> UngappedOptions {
        self.ungapped.options(self.common.options(), &self.mates)
    }

    /// The options of the modes with gaps.
    pub(super) fn gapped(&self) -> GappedOptions {
        self.gapped.options(self.mode == Mode::Local, self.common.options(), &self.mates)
    }

    /// The options of the mode that goes over introns.
    pub(super) fn spliced(&self) -> SplicedOptions {
        self.spliced.options(&self.gapped, self.common.options(), &self.mates)
    }

    /// The introns that are known.
    ///
    /// # Errors
    /// When their file makes no sense.
    pub(super) fn introns(
        &self,
        index: &IndexInfo,
        console: &Console,
    ) -> seqloom_terminal::Result<Vec<Intron>> {
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

    /// Files of reads, by outcome, with their options.
    fn reads_files(&self) -> [(&'static str, Option<&Path>); 3] {
        [
            ("--aligned-reads", self.common.aligned_reads.as_deref()),
            ("--unaligned-reads", self.common.unaligned_reads.as_deref()),
            ("--frequent-reads", self.ungapped.frequent_reads.as_deref()),
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

    /// Notes outcomes of the reads, in the modes where that is requested.
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

    /// An option given that this mode does not have.
    fn given_elsewhere(&self) -> Option<Elsewhere> {
        let of =
            |option: Option<&'static str>, modes| option.map(|option| Elsewhere { option, modes });
        let ungapped = of(self.ungapped.given(), "ungapped");
        let by_score = self.gapped.given().or_else(|| self.mates.given_by_score());
        let gapped = of(by_score, "end-to-end, local and spliced");
        let in_common = self.common.given().or_else(|| self.mates.given());
        let common = of(in_common, "ungapped, end-to-end, local and spliced");
        let spliced = of(self.spliced.given(), "spliced");
        match self.mode {
            Mode::Bwa => ungapped.or(gapped).or(common).or(spliced),
            Mode::Ungapped => gapped.or(spliced),
            Mode::EndToEnd | Mode::Local => ungapped.or(spliced),
            Mode::Spliced => {
                let effort = of(self.gapped.given_effort(), "end-to-end and --mode local");
                let all = of(self.common.all.then_some("--all"), "ungapped, end-to-end and local");
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
        self.mode.is_bwa()
    }

    /// Memory besides that of the index.
    pub(super) fn table_bytes(&self, index: &IndexInfo) -> u64 {
        match self.mode {
            Mode::Bwa => BwaEngine::kmer_table_bytes(index.bases),
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
            if let Some(requested) =
                self.common.placements.filter(|&it| it as usize > MOST_PLACEMENTS)
            {
                let mode = self.mode.name();
                let text = format!(
                    "--placements {requested}: --mode {mode} takes {MOST_PLACEMENTS} at most"
                );
                return Err(UsageError(text));
            }
        }
        let usual =
            if self.mode == Mode::Ungapped { UNGAPPED_INSERT } else { MateOptions::MAX_INSERT_BP };
        self.mates.check(usual)
    }
}

/// An option of other modes, and their names.
struct Elsewhere {
    option: &'static str,
    modes: &'static str,
}
