//! `seqloom fastq pad`: files whose blocks of equal size hold equal numbers of reads.

use std::path::PathBuf;

use seqloom_io::Output;
use seqloom_io::reblock::{self, Measured, ReblockError, Rewritten};
use seqloom_runtime::machine;
use seqloom_terminal::{Console, UsageError};

use crate::same_file::refuse_same_file;

/// Size of a block that is aimed at, as in Langmead 2018.
const BLOCK_BYTES: usize = 12 * 1024;
/// Text of a BGZF block that is aimed at: 65,280 bytes fit.
const BGZF_TEXT_BYTES: usize = 60 * 1024;

/// Arguments of `seqloom fastq pad`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Blocks of --block-bytes bytes hold --reads-per-block reads each; the \
    padding is blanks at the end of the header line of a block's last read. Aligners that read \
    such \
    blocks in one step (L-parsing, Langmead 2018) need the same two numbers. seqloom itself needs \
    no padding.\n\nExample:\n  seqloom fastq pad R1.fq R2.fq -o P1.fq --output2 P2.fq")]
pub(crate) struct PadArguments {
    /// FASTQ of four lines a read, plain or compressed; a file that can be read twice
    #[arg(value_name = "R1")]
    first: PathBuf,
    /// Its mates: padded with the same numbers
    #[arg(value_name = "R2", requires = "output2")]
    second: Option<PathBuf>,
    /// Padded R1 (not compressed; with --bgzf in BGZF)
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Padded R2
    #[arg(long, value_name = "FILE", requires = "second")]
    output2: Option<PathBuf>,
    /// Reads of a block [default: as many as make blocks of about 12 KiB, with --bgzf 60 KiB]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    reads_per_block: Option<u32>,
    /// Bytes of a block [default: the size of the largest one]
    #[arg(long, value_name = "B", conflicts_with = "bgzf")]
    block_bytes: Option<usize>,
    /// Write BGZF with whole reads in each block, without padding
    #[arg(long)]
    bgzf: bool,
    /// Compression level of --bgzf, 0 (none) to 12
    #[arg(short = 'l', long, value_name = "LEVEL", default_value_t = 6, requires = "bgzf",
          value_parser = clap::value_parser!(u8).range(0..=12))]
    level: u8,
}

/// Runs the command.
pub(super) fn run(arguments: &PadArguments, console: &Console) -> seqloom_terminal::Result<()> {
    let inputs: Vec<&PathBuf> =
        [Some(&arguments.first), arguments.second.as_ref()].into_iter().flatten().collect();
    let paths = [Some(&arguments.output), arguments.output2.as_ref()].into_iter().flatten();
    if inputs.iter().any(|path| path.as_os_str() == "-") {
        let what = "pad reads its input twice: give a file, not standard input";
        return Err(UsageError(what.to_owned()).into());
    }
    let outputs = [("-o", Some(&arguments.output)), ("--output2", arguments.output2.as_ref())];
    let given = outputs.into_iter().filter_map(|(label, path)| Some((label, path?.as_path())));
    refuse_same_file(inputs.iter().map(|path| path.as_path()), given)?;
    let reads_per_block = match arguments.reads_per_block {
        Some(reads) => reads as usize,
        None => {
            let aim = if arguments.bgzf { BGZF_TEXT_BYTES } else { BLOCK_BYTES };
            (aim / measure_all(&inputs, 1)?.largest_block_bytes.max(1)).max(1)
        }
    };
    let measure = measure_all(&inputs, reads_per_block)?;
    let block_bytes = arguments.block_bytes.unwrap_or(measure.largest_block_bytes);
    let mut outputs = Vec::new();
    for (input, path) in inputs.iter().zip(paths) {
        let mut output = Output::create(path)?;
        let done = if arguments.bgzf {
            reblock::bgzf_blocks(input, &mut output, reads_per_block, arguments.level)?
        } else {
            reblock::pad(input, &mut output, block_bytes, reads_per_block)?
        };
        outputs.push((path, output, done));
    }
    for (path, output, done) in outputs {
        if let Some(file) = output.into_file() {
            file.commit()?;
        }
        let shape = match arguments.bgzf {
            true => String::new(),
            false => format!(" of {block_bytes} bytes"),
        };
        console.info(&format!(
            "pad: {}: {} reads in {} blocks{shape}, {reads_per_block} reads to a block{}",
            path.display(),
            done.records,
            done.blocks,
            growth(&done, arguments.bgzf)
        ));
        if !arguments.bgzf {
            let cpu_s = machine::usage().cpu.as_secs_f64() / inputs.len() as f64;
            console.info(&payoff(&done, cpu_s));
        }
    }
    Ok(())
}

/// The largest block and the number of reads of all files, which must agree on the latter.
fn measure_all(inputs: &[&PathBuf], reads_per_block: usize) -> Result<Measured, ReblockError> {
    let mut all: Option<Measured> = None;
    for path in inputs {
        let found = reblock::measure(path, reads_per_block)?;
        all = match all {
            Some(first) if first.records != found.records => {
                let paths = (inputs[0].clone(), (*path).clone());
                let (first, second) = (first.records, found.records);
                return Err(ReblockError::Unequal { paths, first, second });
            }
            Some(first) if first.largest_block_bytes >= found.largest_block_bytes => Some(first),
            _ => Some(found),
        };
    }
    Ok(all.unwrap_or_default())
}

fn percent(before: u64, after: u64) -> f64 {
    100.0 * (after as f64 / before.max(1) as f64 - 1.0)
}

fn growth(done: &Rewritten, bgzf: bool) -> String {
    let (text, written) = (done.text_bytes, done.written_bytes);
    if bgzf {
        return format!("; {text} bytes of text in {written} bytes");
    }
    let (before, after) = done.gzip_sample_bytes;
    format!(
        "; {text} bytes became {written} ({:+.1} %, {:+.1} % under gzip, measured on the \
        beginning)",
        percent(text, written),
        percent(before, after)
    )
}

/// After how many runs padding pays, if a run is limited by what is done under the input's lock.
fn payoff(done: &Rewritten, cpu_s: f64) -> String {
    let saved_s = done.line_scan.as_secs_f64();
    let runs = (cpu_s / saved_s.max(1e-9)).ceil();
    format!(
        "pad: took {cpu_s:.2} s of a core; a reader that knows the blocks need not find line \
        ends under its \
         lock, {saved_s:.3} s a run: where that lock is the limit, padding pays after \
         {runs:.0} runs"
    )
}
