//! The options of `--mode spliced`: introns, strands, and HISAT2's scheme of scores.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use seqloom_align::index::IndexInfo;
use seqloom_io::known_introns;
use seqloom_modes::Reported;
use seqloom_modes::gapped::MateOptions;
use seqloom_modes::spliced::{Intron, IntronOptions, LibraryStrand, SplicedOptions, StrandTag};
use seqloom_terminal::{Console, UsageError};

use super::common_arguments::Common;
use super::gapped_arguments::{GappedArguments, TwoPenalties};
use super::mates_arguments::MateArguments;
use crate::options_given::first_given;

/// Placements of a read that are reported where nothing is said: HISAT2's.
const PLACEMENTS: usize = 5;
/// Fewest bases on both sides of a new intron, of one that is not GT-AG, and for assemblers.
const ANCHORS: [u16; 2] = [8, 16];
const ASSEMBLY_ANCHORS: [u16; 2] = [12, 20];

/// `--library-strand`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum LibraryArgument {
    /// Reads are on either strand
    Unstranded,
    /// A single read, or the first mate, is as the transcript is
    Forward,
    /// It is its reverse complement
    Reverse,
}

/// `--strand-tag`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum StrandTagArgument {
    /// XS:A, the strand of the genome
    Xs,
    /// TS:A, relative to the read
    Ts,
}

/// Which introns are known, which may be found, and what they cost.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Over introns (--mode spliced, as HISAT2; docs/modes.md)")]
pub(super) struct SplicedArguments {
    /// Known introns: GTF, or HISAT2's list of splice sites, recognised by content
    #[arg(long, value_name = "FILE")]
    pub(super) splice_sites: Option<PathBuf>,
    /// Fewest bases of an intron [default: 20]
    #[arg(long, value_name = "BP", value_parser = clap::value_parser!(u32).range(16..=1000))]
    min_intron: Option<u32>,
    /// Most bases of an intron [default: 500000]
    #[arg(long, value_name = "BP", value_parser = clap::value_parser!(u32).range(16..=10_000_000))]
    max_intron: Option<u32>,
    /// Also write the introns that reads go over to FILE: BED, with "known" or "novel" as their
    /// names and the number of reads as their scores
    #[arg(long, value_name = "FILE")]
    pub(super) junctions: Option<PathBuf>,
    /// Read the input once: do not collect novel introns before reads are placed
    #[arg(long)]
    one_pass: bool,
    /// Place reads without introns
    #[arg(long, conflicts_with_all = ["splice_sites", "min_intron", "max_intron", "junctions"])]
    no_spliced: bool,
    /// Penalty of a novel non-canonical intron (not GT-AG) [default: 12]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i16).range(0..=100))]
    other_intron_penalty: Option<i16>,
    /// Penalty of a clipped base at quality 40 or more, and at less [default: 2,1]
    #[arg(long, value_name = "MAX,MIN")]
    clip_penalties: Option<TwoPenalties>,
    /// How the library determines the strand of the transcript [default: unstranded]
    #[arg(long, value_name = "STRAND")]
    library_strand: Option<LibraryArgument>,
    /// Tag with the strand of the transcript [default: xs]
    #[arg(long, value_name = "TAG")]
    strand_tag: Option<StrandTagArgument>,
    /// Report alignments for transcript assemblers, as HISAT2's --dta does: novel introns need
    /// longer anchors
    #[arg(long)]
    for_assembly: bool,
}

impl SplicedArguments {
    /// The options of the engine.
    pub(super) fn options(
        &self,
        gapped: &GappedArguments,
        common: Common,
        mates: &MateArguments,
    ) -> SplicedOptions {
        let [anchor_bases, other_anchor_bases] =
            if self.for_assembly { ASSEMBLY_ANCHORS } else { ANCHORS };
        let (least_bp, most_bp) = self.lengths().into_inner();
        SplicedOptions {
            scoring: gapped.spliced_scoring(),
            clip: self.clip_penalties.map_or([2, 1], |it| it.0),
            introns: IntronOptions {
                are_requested: !self.no_spliced,
                novel: true,
                least_bp,
                most_bp,
                other_penalty: self.other_intron_penalty.unwrap_or(12),
                anchor_bases,
                other_anchor_bases,
            },
            placements: match common.reported {
                Some(Reported::AtMost(requested)) => requested as usize,
                // `--all` is refused.
                Some(Reported::All) | None => PLACEMENTS,
            },
            strands: common.strands,
            trim: common.trim,
            mates: self.mates(mates),
            library: match self.library_strand {
                None | Some(LibraryArgument::Unstranded) => LibraryStrand::Unstranded,
                Some(LibraryArgument::Forward) => LibraryStrand::Forward,
                Some(LibraryArgument::Reverse) => LibraryStrand::Reverse,
            },
            strand_tag: match self.strand_tag {
                None | Some(StrandTagArgument::Xs) => StrandTag::Genome,
                Some(StrandTagArgument::Ts) => StrandTag::Read,
            },
        }
    }

    /// Bases of an intron.
    fn lengths(&self) -> RangeInclusive<u32> {
        self.min_intron.unwrap_or(20)..=self.max_intron.unwrap_or(500_000)
    }

    /// Which mates are a pair: they may be further from each other by an intron.
    fn mates(&self, mates: &MateArguments) -> MateOptions {
        let mut options = mates.by_score();
        if !self.no_spliced {
            options.pairs.max_insert_bp += self.lengths().end();
        }
        options
    }

    /// Whether the input is gone through for introns before reads are placed.
    pub(super) fn has_first_pass(&self) -> bool {
        !self.one_pass && !self.no_spliced
    }

    /// The introns that are known.
    ///
    /// # Errors
    /// When their file makes no sense, or is of another reference.
    pub(super) fn introns(
        &self,
        index: &IndexInfo,
        console: &Console,
    ) -> seqloom_terminal::Result<Vec<Intron>> {
        let Some(path) = &self.splice_sites else { return Ok(Vec::new()) };
        let sequences = index.contigs.iter().map(|it| (it.name.as_str(), it.length));
        let read = known_introns::read(path, sequences)?;
        let mut starts = Vec::with_capacity(index.contigs.len());
        let mut before = 0;
        for contig in &index.contigs {
            starts.push(before);
            before += u64::from(contig.length);
        }
        if read.elsewhere > 0 {
            console.info(&format!(
                "align: {}: {} rows are on sequences that the index does not have",
                path.display(),
                read.elsewhere
            ));
        }
        let lengths = self.lengths();
        let is_requested =
            |it: &&known_introns::KnownIntron| lengths.contains(&(it.end - it.start));
        let (known, count) = (read.introns.iter().filter(is_requested), read.introns.len());
        let introns: Vec<Intron> = known
            .map(|it| Intron {
                start: starts[it.sequence as usize] + u64::from(it.start),
                end: starts[it.sequence as usize] + u64::from(it.end),
                is_reverse: it.is_reverse,
            })
            .collect();
        let used = introns.len();
        console.info(&format!(
            "align: {}: {count} introns, {used} of a length that is allowed",
            path.display()
        ));
        Ok(introns)
    }

    /// The first of these options that is given.
    pub(super) fn given(&self) -> Option<&'static str> {
        first_given([
            ("--splice-sites", self.splice_sites.is_some()),
            ("--min-intron", self.min_intron.is_some()),
            ("--max-intron", self.max_intron.is_some()),
            ("--junctions", self.junctions.is_some()),
            ("--one-pass", self.one_pass),
            ("--no-spliced", self.no_spliced),
            ("--other-intron-penalty", self.other_intron_penalty.is_some()),
            ("--clip-penalties", self.clip_penalties.is_some()),
            ("--library-strand", self.library_strand.is_some()),
            ("--strand-tag", self.strand_tag.is_some()),
            ("--for-assembly", self.for_assembly),
        ])
    }

    /// Refuses numbers without a meaning.
    ///
    /// # Errors
    /// [`UsageError`] that names the option.
    pub(super) fn check(&self) -> Result<(), UsageError> {
        let (least, most) = self.lengths().into_inner();
        if least > most {
            let text = format!("--min-intron {least} is more than --max-intron {most}");
            return Err(UsageError(text));
        }
        if let Some(TwoPenalties([most, least])) =
            self.clip_penalties.filter(|it| it.0[1] > it.0[0])
        {
            return Err(UsageError(format!(
                "--clip-penalties: {least} at low quality is more than {most} at quality 40"
            )));
        }
        Ok(())
    }
}
