//! Options that `methylation`, `eventalign` and `train` have in common.

use std::path::{Path, PathBuf};

use seqloom_calling::flow::{Filter, HardClips, Region};
use seqloom_runtime::memory::ByteSize;

use super::arguments::RunArguments;
use crate::output::arguments::memory_size;

/// Inputs of a call, and how it runs.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct CallArguments {
    /// Aligned reads, sorted by coordinate: BAM, CRAM or SAM
    #[arg(short, long, value_name = "FILE")]
    pub(super) bam: PathBuf,
    /// Reference that they are aligned to: FASTA, plain or BGZF; read by region
    #[arg(short = 'g', long, visible_alias = "genome", value_name = "FASTA")]
    pub(super) reference: PathBuf,
    /// The reads as they were basecalled: FASTA or FASTQ [default: their bases in the BAM]
    #[arg(short, long, value_name = "FILE")]
    pub(super) reads: Option<PathBuf>,
    /// Their signal: SLOW5, BLOW5, FAST5 or POD5 files, or folders of them
    #[arg(short, long, value_name = "FILE", required = true, num_args = 1..)]
    pub(super) signal: Vec<PathBuf>,
    /// Output file; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub(super) output: PathBuf,
    #[command(flatten)]
    alignments: AlignmentArguments,
    /// Pore model of the four bases: text as nanopolish, f5c and ONT have it, or Uncalled4's .npz
    /// [default: nanopolish's for R9.4.1: 6-mers of DNA, 5-mers of RNA]
    #[arg(long, value_name = "FILE")]
    pub(super) kmer_model: Option<PathBuf>,
    /// Standard deviation of all levels, in picoampere, for a --kmer-model that has none
    #[arg(long, value_name = "PA", requires = "kmer_model", value_parser = deviation)]
    pub(super) level_stdv: Option<f64>,
    /// Memory of the whole process [default: three quarters of what there is]
    #[arg(short, long, value_name = "SIZE", help_heading = "Run", value_parser = memory_size)]
    pub(super) memory: Option<ByteSize>,
    /// Report of the run: counts, reads that were not called, time and memory
    #[arg(long, value_name = "FILE", help_heading = "Run")]
    pub(super) json: Option<PathBuf>,
    #[command(flatten)]
    pub(super) run: RunArguments,
}

impl CallArguments {
    /// The region, as it was given.
    pub(super) fn region(&self) -> Option<&str> {
        self.alignments.region.as_deref()
    }

    /// The model of the four bases that was given.
    pub(super) fn kmer_model(&self) -> Option<&Path> {
        self.kmer_model.as_deref()
    }

    /// Records that are called.
    pub(super) fn filter(&self, region: Option<Region>) -> Filter {
        let AlignmentArguments { min_mapq, secondary, .. } = self.alignments;
        Filter { min_mapping_quality: min_mapq, region, has_secondary: secondary }
    }

    /// How hard clips are taken.
    pub(super) fn hard_clips(&self) -> HardClips {
        match self.alignments.forget_hard_clips {
            true => HardClips::Forgotten,
            false => HardClips::Counted,
        }
    }
}

fn deviation(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|it: &f64| it.is_normal() && *it > 0.0);
    number.ok_or_else(|| "must be a number above 0".to_owned())
}

/// Which alignments are called.
#[derive(Debug, Clone, clap::Args)]
struct AlignmentArguments {
    /// Only this region of the reference; positions count from 1, both ends are part of it. A BAM
    /// that has an index is read from where it begins
    #[arg(short = 'w', long, value_name = "NAME[:FIRST-LAST]")]
    region: Option<String>,
    /// Lowest mapping quality
    #[arg(long, value_name = "N", default_value_t = 20)]
    min_mapq: u8,
    /// Call secondary alignments, too
    #[arg(long)]
    secondary: bool,
    /// Do not count bases that are clipped off a record: signal of another part of the read is
    /// taken for it, as nanopolish and f5c take it. For comparisons with them
    #[arg(long)]
    forget_hard_clips: bool,
}
