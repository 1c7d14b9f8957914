//! The options that all modes but bwa's have.

use std::path::PathBuf;

use seqloom_modes::{Reported, Strands};

use crate::options_given::first_given;

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

/// How many placements are reported, on which strands, and what is trimmed before.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Placements (all modes but bwa; docs/modes.md)")]
pub(super) struct CommonArguments {
    /// Placements of a read that are reported, the best first [default: 1]
    #[arg(long, value_name = "N", conflicts_with = "all",
          value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub(super) placements: Option<u32>,
    /// Report all placements
    #[arg(long)]
    pub(super) all: bool,
    /// Strand of the reference that reads are placed on
    #[arg(long, value_name = "STRAND")]
    strand: Option<StrandArgument>,
    /// Trim this many bases from the 5' end of each read
    #[arg(long, value_name = "BASES")]
    trim5: Option<u16>,
    /// Trim this many bases from the 3' end of each read
    #[arg(long, value_name = "BASES")]
    trim3: Option<u16>,
    /// Also write reads that have placements to FILE, as FASTQ or FASTA like the input; mates of
    /// two files to two, FILE with _1 and _2 before its suffix
    #[arg(long, value_name = "FILE", value_parser = reads_file)]
    pub(super) aligned_reads: Option<PathBuf>,
    /// Also write reads without placements to FILE
    #[arg(long, value_name = "FILE", value_parser = reads_file)]
    pub(super) unaligned_reads: Option<PathBuf>,
}

/// Where nothing is said, the best placement.
pub(super) const ONE: Reported = Reported::AtMost(1);

/// Options of the engines.
#[derive(Debug, Clone, Copy)]
pub(super) struct Common {
    /// Placements that are reported, if that is said.
    pub(super) reported: Option<Reported>,
    pub(super) strands: Strands,
    /// Bases cut off at the 5' and the 3' end.
    pub(super) trim: [usize; 2],
}

/// A file of reads, which is written as plain text.
pub(super) fn reads_file(text: &str) -> Result<PathBuf, String> {
    let is_compressed = |suffix: &str| text.ends_with(suffix);
    if [".gz", ".bgz", ".zst"].into_iter().any(is_compressed) {
        return Err("reads are written as plain text; name a file without that suffix".to_owned());
    }
    if text == "-" {
        return Err("standard output is /dev/stdout here".to_owned());
    }
    Ok(text.into())
}

impl CommonArguments {
    /// Options that all engines have.
    pub(super) fn options(&self) -> Common {
        let all = self.all.then_some(Reported::All);
        Common {
            reported: all.or(self.placements.map(Reported::AtMost)),
            strands: match self.strand {
                None | Some(StrandArgument::Both) => Strands::Both,
                Some(StrandArgument::Forward) => Strands::Forward,
                Some(StrandArgument::Reverse) => Strands::Reverse,
            },
            trim: [self.trim5, self.trim3].map(|bases| bases.unwrap_or(0).into()),
        }
    }

    /// The first of these options that is given.
    pub(super) fn given(&self) -> Option<&'static str> {
        first_given([
            ("--placements", self.placements.is_some()),
            ("--all", self.all),
            ("--strand", self.strand.is_some()),
            ("--trim5", self.trim5.is_some()),
            ("--trim3", self.trim3.is_some()),
            ("--aligned-reads", self.aligned_reads.is_some()),
            ("--unaligned-reads", self.unaligned_reads.is_some()),
        ])
    }
}
