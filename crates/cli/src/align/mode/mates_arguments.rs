//! The options of mates, in the modes that are not bwa's.

use seqloom_modes::gapped::MateOptions;
use seqloom_modes::{Orientation, PairOptions};
use seqloom_terminal::UsageError;

use crate::options_given::first_given;

/// Greatest distance between the outer ends of mates where none is given: Bowtie's.
pub(super) const UNGAPPED_INSERT: u32 = 250;

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

/// Which pairs of mates are concordant, and how they are reported.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Mates (all modes but bwa; docs/modes.md)")]
pub(super) struct MateArguments {
    /// Least distance between the outer ends of mates, in bp [default: 0]
    #[arg(long, value_name = "BP", value_parser = clap::value_parser!(u32).range(..=1_000_000))]
    min_insert: Option<u32>,
    /// Greatest distance between the outer ends of mates, in bp [default: 250 without gaps, else
    /// 500]
    #[arg(long, value_name = "BP", value_parser = clap::value_parser!(u32).range(..=1_000_000))]
    max_insert: Option<u32>,
    /// How mates are oriented to each other [default: fr]
    #[arg(long, value_name = "ORIENTATION")]
    orientation: Option<OrientationArgument>,
    /// By score: report no unpaired alignments of paired reads
    #[arg(long)]
    no_mixed: bool,
    /// By score: report no discordant pairs
    #[arg(long)]
    no_discordant: bool,
    /// By score: mates may extend past each other in a concordant pair
    #[arg(long)]
    dovetail: bool,
    /// By score: a pair is not concordant where one mate contains the other
    #[arg(long)]
    no_contain: bool,
    /// By score: a pair is not concordant where its mates overlap
    #[arg(long, conflicts_with = "dovetail")]
    no_overlap: bool,
}

impl MateArguments {
    /// Which placements make a pair, where `most` is the greatest distance if none is given.
    pub(super) fn pairs(&self, most: u32) -> PairOptions {
        PairOptions {
            orientation: match self.orientation {
                None | Some(OrientationArgument::Fr) => Orientation::ForwardReverse,
                Some(OrientationArgument::Rf) => Orientation::ReverseForward,
                Some(OrientationArgument::Ff) => Orientation::Same,
            },
            min_insert_bp: self.min_insert.unwrap_or(0),
            max_insert_bp: self.max_insert.unwrap_or(most),
        }
    }

    /// What the modes by score make of mates.
    pub(super) fn by_score(&self) -> MateOptions {
        MateOptions {
            pairs: self.pairs(MateOptions::MAX_INSERT_BP),
            dovetail: self.dovetail,
            contain: !self.no_contain,
            overlap: !self.no_overlap,
            mixed: !self.no_mixed,
            discordant: !self.no_discordant,
        }
    }

    /// The first option given that all modes but bwa's have.
    pub(super) fn given(&self) -> Option<&'static str> {
        first_given([
            ("--min-insert", self.min_insert.is_some()),
            ("--max-insert", self.max_insert.is_some()),
            ("--orientation", self.orientation.is_some()),
        ])
    }

    /// The first option given that only the modes by score have.
    pub(super) fn given_by_score(&self) -> Option<&'static str> {
        first_given([
            ("--no-mixed", self.no_mixed),
            ("--no-discordant", self.no_discordant),
            ("--dovetail", self.dovetail),
            ("--no-contain", self.no_contain),
            ("--no-overlap", self.no_overlap),
        ])
    }

    /// Refuses distances without a meaning, where `most` is the greatest if none is given.
    ///
    /// # Errors
    /// [`UsageError`] that names the option.
    pub(super) fn check(&self, most: u32) -> Result<(), UsageError> {
        let PairOptions { min_insert_bp: least, max_insert_bp: most, .. } = self.pairs(most);
        if least > most {
            let text = format!("--min-insert {least} is more than --max-insert {most}");
            return Err(UsageError(text));
        }
        Ok(())
    }
}
