//! The options of `--mode ungapped`: which mismatches a placement may have, as Bowtie's.

use std::path::PathBuf;

use seqloom_modes::ungapped::{Acceptance, MOST_MISMATCHES, SeedAcceptance, UngappedOptions};

use super::common_arguments::{Common, ONE, reads_file};
use super::mates_arguments::{MateArguments, UNGAPPED_INSERT};
use crate::options_given::first_given;

/// How many mismatches a placement may have, and where.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Without gaps (--mode ungapped, as Bowtie; docs/modes.md)")]
pub(super) struct UngappedArguments {
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
    /// Do not round qualities
    #[arg(long, requires = "seed_mismatches")]
    exact_qualities: bool,
    /// Leave reads with more placements unmapped; their XM tag is one more
    #[arg(long, value_name = "M", value_parser = clap::value_parser!(u32).range(1..=65_535))]
    max_placements: Option<u32>,
    /// Only placements with as few mismatches as any count
    #[arg(long)]
    best_stratum: bool,
    /// Also write reads that have more than --max-placements; without this they are among those of
    /// --unaligned-reads
    #[arg(long, value_name = "FILE", value_parser = reads_file, requires = "max_placements")]
    pub(super) frequent_reads: Option<PathBuf>,
}

impl UngappedArguments {
    /// The options of the engine.
    pub(super) fn options(&self, common: Common, mates: &MateArguments) -> UngappedOptions {
        let acceptance = match self.seed_mismatches {
            None => Acceptance::Mismatches(self.max_mismatches.unwrap_or(2)),
            Some(mismatches) => Acceptance::Seed(SeedAcceptance {
                bases: self.seed_length.unwrap_or(28).into(),
                mismatches,
                quality_ceiling: self.quality_ceiling.unwrap_or(70),
                rounds: !self.exact_qualities,
            }),
        };
        let Common { reported, strands, trim } = common;
        UngappedOptions {
            acceptance,
            reported: reported.unwrap_or(ONE),
            max_placements: self.max_placements,
            best_stratum: self.best_stratum,
            strands,
            trim,
            pairs: mates.pairs(UNGAPPED_INSERT),
        }
    }

    /// The first of these options that is given.
    pub(super) fn given(&self) -> Option<&'static str> {
        first_given([
            ("--max-mismatches", self.max_mismatches.is_some()),
            ("--seed-mismatches", self.seed_mismatches.is_some()),
            ("--max-placements", self.max_placements.is_some()),
            ("--best-stratum", self.best_stratum),
            ("--frequent-reads", self.frequent_reads.is_some()),
        ])
    }
}
