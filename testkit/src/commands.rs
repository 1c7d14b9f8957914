//! `seqloom-testkit`: the test kit on the command line, for the demo and for people who compare.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use crate::compare::{CompareOptions, compare};
use crate::fastq::{Outputs, simulate_to_files};
use crate::genome::{Genome, GenomeOptions};
use crate::human::{HUMAN_BASES, HumanOptions, write_human};
use crate::index_check::{self, Proven};
use crate::reads::{ReadGroup, ReadOptions};
use crate::{Error, accuracy, sam, transcripts};

/// Makes test data and judges results.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make a genome like a small human one.
    Genome(GenomeArgs),
    /// Simulate reads with the truth in their names.
    Reads(Box<ReadsArgs>),
    /// Make transcripts of a genome, as sequences off which reads can be simulated.
    Transcripts {
        /// FASTA to read (plain).
        fasta: PathBuf,
        /// FASTA to write.
        #[arg(long)]
        sequences: PathBuf,
        /// Introns to write, as HISAT2's list of splice sites.
        #[arg(long)]
        sites: PathBuf,
        /// Seed.
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Compare a BAM with the truth in its read names.
    Accuracy {
        /// The BAM file.
        bam: PathBuf,
    },
    /// Prove that PREFIX.bwt.2bit.64 is the index of PREFIX.pac, without sorting.
    Index {
        /// Prefix of the index files.
        prefix: PathBuf,
        /// Threads.
        #[arg(short, long, default_value = "1")]
        threads: NonZeroUsize,
    },
    /// Compare two SAM (or BAM) files of the same reads in the same order.
    Compare(CompareArgs),
    /// Print the leaves of a JSON run report whose names contain one of the words.
    Report {
        /// The JSON file.
        json: PathBuf,
        /// Words; all leaves when there are none.
        words: Vec<String>,
    },
}

#[derive(Args)]
struct GenomeArgs {
    /// FASTA to write.
    fasta: PathBuf,
    /// Seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Total length in bp.
    #[arg(long, default_value_t = 2_000_000)]
    length: usize,
    /// Number of contigs.
    #[arg(long, default_value_t = 4)]
    contigs: usize,
    /// The sequences of a whole human assembly: chromosomes, ALT contigs, decoys, HLA alleles, with
    /// lower case, IUPAC codes and runs of N; also writes FASTA.alt.
    #[arg(long, conflicts_with_all = ["length", "contigs"])]
    human_like: bool,
    /// Bases in all of a human-like genome.
    #[arg(long, default_value_t = HUMAN_BASES, requires = "human_like")]
    bases: u64,
}

#[derive(Args)]
struct ReadsArgs {
    /// FASTA to read (plain).
    fasta: PathBuf,
    /// Read 1; `.gz` compresses.
    #[arg(long)]
    first: Option<PathBuf>,
    /// Read 2.
    #[arg(long)]
    second: Option<PathBuf>,
    /// Both reads in one file.
    #[arg(long)]
    interleaved: Option<PathBuf>,
    /// Unaligned SAM text.
    #[arg(long)]
    unaligned_sam: Option<PathBuf>,
    /// Seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Templates.
    #[arg(long, default_value_t = 10_000)]
    templates: u64,
    /// Single reads instead of pairs.
    #[arg(long)]
    single: bool,
    /// Read length, or shortest-longest.
    #[arg(long, default_value = "150")]
    length: String,
    /// Mean fragment length.
    #[arg(long, default_value_t = 400.0)]
    insert_mean: f64,
    /// Standard deviation of the fragment length.
    #[arg(long, default_value_t = 60.0)]
    insert_sd: f64,
    /// Share of duplicates.
    #[arg(long, default_value_t = 0.0)]
    duplicates: f64,
    /// Share of the duplicates that are optical.
    #[arg(long, default_value_t = 0.3)]
    optical: f64,
    /// Share of chimeras.
    #[arg(long, default_value_t = 0.01)]
    chimeras: f64,
    /// Share of fragments shorter than a read.
    #[arg(long, default_value_t = 0.01)]
    adapters: f64,
    /// Share of templates with random bases.
    #[arg(long, default_value_t = 0.01)]
    unmappable: f64,
    /// Read group as ID:LIBRARY:SAMPLE; repeatable.
    #[arg(long)]
    read_group: Vec<String>,
}

#[derive(Args)]
struct CompareArgs {
    /// First file; `-` for standard input.
    first: PathBuf,
    /// Second file.
    second: PathBuf,
    /// FLAG bits that are not compared (decimal, or hexadecimal after 0x).
    #[arg(long, default_value = "0")]
    ignore_flag: String,
    /// Tags to compare.
    #[arg(long, value_delimiter = ',', default_value = "NM,MD,AS,XS,SA,XA,MC")]
    tags: Vec<String>,
    /// Columns that are not compared.
    #[arg(long, value_delimiter = ',')]
    ignore_columns: Vec<String>,
    /// Examples to print.
    #[arg(long, default_value_t = 5)]
    examples: usize,
}

/// Runs the command line that this process was given.
pub fn run() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Genome(args) => genome(&args),
        Command::Reads(args) => reads(&args),
        Command::Transcripts { fasta, sequences, sites, seed } => {
            make_transcripts(&fasta, [&sequences, &sites], seed)
        }
        Command::Accuracy { bam } => accuracy::of_bam(&bam).map(|a| {
            print!("{a}");
            true
        }),
        Command::Index { prefix, threads } => index_check::prove(&prefix, threads).map(|proven| {
            let Proven { rows, stride, samples, text_samples } = proven;
            println!(
                "{rows} rows are the text's; {samples} samples, every {stride}th row; \
                     {text_samples} of .tsa"
            );
            true
        }),
        Command::Compare(args) => compare_files(&args),
        Command::Report { json, words } => report(&json, &words),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("seqloom-testkit: {error}");
            ExitCode::from(2)
        }
    }
}

fn genome(args: &GenomeArgs) -> Result<bool, Error> {
    let GenomeArgs { seed, length, contigs, human_like, bases, .. } = *args;
    if human_like {
        write_human(&HumanOptions { seed, bases }, &args.fasta)?;
        return Ok(true);
    }
    let genome = Genome::simulate(&GenomeOptions { seed, length_bp: length, contigs })?;
    genome.write_fasta(&args.fasta)?;
    Ok(true)
}

fn reads(args: &ReadsArgs) -> Result<bool, Error> {
    let length = |text: &str| {
        text.parse().map_err(|_| Error::Options(format!("{}: not a read length", args.length)))
    };
    let (min, max) = args.length.split_once('-').unwrap_or((&args.length, &args.length));
    let options = ReadOptions {
        seed: args.seed,
        templates: args.templates,
        paired: !args.single,
        length_min_bp: length(min)?,
        length_max_bp: length(max)?,
        insert_mean_bp: args.insert_mean,
        insert_sd_bp: args.insert_sd,
        duplicate_share: args.duplicates,
        optical_share: args.optical,
        chimera_share: args.chimeras,
        adapter_share: args.adapters,
        unmappable_share: args.unmappable,
        read_groups: args.read_group.iter().map(|g| read_group(g)).collect::<Result<_, _>>()?,
        ..ReadOptions::default()
    };
    let genome = Genome::read_fasta(&args.fasta)?;
    let outputs = Outputs {
        first: args.first.as_deref(),
        second: args.second.as_deref(),
        interleaved: args.interleaved.as_deref(),
        unaligned_sam: args.unaligned_sam.as_deref(),
    };
    simulate_to_files(&genome, &options, outputs)?;
    Ok(true)
}

fn make_transcripts(
    fasta: &Path,
    [sequences, sites]: [&Path; 2],
    seed: u64,
) -> Result<bool, Error> {
    let genome = Genome::read_fasta(fasta)?;
    let all = transcripts::transcripts(&genome, seed);
    transcripts::spliced(&genome, &all).write_fasta(sequences)?;
    transcripts::write_sites(&genome, &all, sites)?;
    Ok(true)
}

fn read_group(text: &str) -> Result<ReadGroup, Error> {
    let parts: Vec<&str> = text.split(':').collect();
    let [id, library, sample] = parts[..] else {
        return Err(Error::Options(format!("{text}: a read group is ID:LIBRARY:SAMPLE")));
    };
    Ok(ReadGroup { id: id.into(), library: library.into(), sample: sample.into() })
}

fn compare_files(args: &CompareArgs) -> Result<bool, Error> {
    let mask = args.ignore_flag.strip_prefix("0x");
    let mask = mask.map_or_else(|| args.ignore_flag.parse(), |hex| u16::from_str_radix(hex, 16));
    let tag = |text: &String| {
        <[u8; 2]>::try_from(text.as_bytes())
            .map_err(|_| Error::Options(format!("{text}: a tag has two letters")))
    };
    let options = CompareOptions {
        ignore_flag: mask
            .map_err(|_| Error::Options(format!("{}: not a FLAG", args.ignore_flag)))?,
        tags: args.tags.iter().filter(|t| !t.is_empty()).map(tag).collect::<Result<_, _>>()?,
        ignore_columns: args.ignore_columns.clone(),
        examples: args.examples,
    };
    let (first, second) = (sam::open_text(&args.first)?, sam::open_text(&args.second)?);
    let result = compare(first, second, &options)?;
    print!("{result}");
    Ok(result.is_equal())
}

fn report(path: &Path, words: &[String]) -> Result<bool, Error> {
    let text = std::fs::read(path).map_err(Error::file(path))?;
    let value: serde_json::Value = serde_json::from_slice(&text)
        .map_err(|e| Error::format(path.display().to_string(), e.to_string()))?;
    print_leaves("", &value, words);
    Ok(true)
}

fn print_leaves(name: &str, value: &serde_json::Value, words: &[String]) {
    let below = |key: &str| if name.is_empty() { key.to_owned() } else { format!("{name}.{key}") };
    match value {
        serde_json::Value::Object(map) => {
            map.iter().for_each(|(key, v)| print_leaves(&below(key), v, words));
        }
        serde_json::Value::Array(list) => {
            list.iter()
                .enumerate()
                .for_each(|(i, v)| print_leaves(&below(&i.to_string()), v, words));
        }
        leaf if words.is_empty() || words.iter().any(|w| name.contains(w.as_str())) => {
            println!("{name}\t{leaf}");
        }
        _ => {}
    }
}
