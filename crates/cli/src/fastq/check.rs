//! `seqloom fastq check`: what a file is, how reading it scales, and what to do about it.

use std::path::{Path, PathBuf};
use std::time::Instant;

use seqloom_io::compression_layout::{self, LayoutError};
use seqloom_io::reads::{
    BlockCheck, Compression, Fetch, FetchScratch, InputFormat, ReadFormat, ReadSource,
    SourceOptions,
};
use seqloom_terminal::print;

/// Time of an engine per read for which a limit is reported, in microseconds: a short-read aligner.
const ENGINE_US: f64 = 50.0;

/// Arguments of `seqloom fastq check`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Reads each file once, to its end, with one thread.\nExit code 3 if a file \
    is malformed.\n\nExample:\n  seqloom fastq check sample_R1.fastq.gz sample_R2.fastq.gz"
)]
pub(crate) struct CheckArguments {
    /// FASTQ (or FASTA, unaligned BAM or CRAM), plain, gzip, BGZF or zstd
    #[arg(value_name = "FILE", required = true)]
    inputs: Vec<PathBuf>,
}

/// Findings of a file.
struct Found {
    format: InputFormat,
    file_bytes: u64,
    reads: u64,
    bases: u64,
    shortest_bp: u64,
    longest_bp: u64,
    wall_s: f64,
    /// Members of gzip, or blocks of BGZF.
    units: u64,
    has_eof_block: bool,
}

/// Runs the command.
pub(super) fn run(arguments: &CheckArguments) -> seqloom_terminal::Result<()> {
    for path in &arguments.inputs {
        let found = look(path)?;
        print(&format!("{}\n", describe(path, &found)))?;
    }
    Ok(())
}

fn look(path: &Path) -> seqloom_terminal::Result<Found> {
    let started = Instant::now();
    let source = ReadSource::open(&[path.to_path_buf()], SourceOptions::default())?;
    let mut check = BlockCheck::new(&source, 0);
    let mut scratch = FetchScratch::default();
    let (mut shortest_bp, mut longest_bp) = (u64::MAX, 0);
    loop {
        // One worker alone gets the blocks in their order.
        match source.fetch(&mut scratch)? {
            Fetch::Block(mut block) => {
                check.accept(&source, &mut block)?;
                for read in &block.reads.reads {
                    let length = u64::from(read.bases.len);
                    (shortest_bp, longest_bp) = (shortest_bp.min(length), longest_bp.max(length));
                }
                source.recycle(block.reads);
            }
            Fetch::Busy => {}
            Fetch::End => break,
        }
    }
    let wall_s = started.elapsed().as_secs_f64();
    let mut format = source.format(0);
    let (units, has_eof_block) = match (format.compression, source.total_bytes()) {
        (Compression::Gzip, Some(_)) => (compression_layout::gzip_members(path)?, false),
        (Compression::Bgzf, Some(_)) => match compression_layout::bgzf_blocks(path) {
            Err(LayoutError::Block { .. }) => {
                // All of it was read: something else follows BGZF, and it is gzip as a whole.
                format.compression = Compression::Gzip;
                (compression_layout::gzip_members(path)?, false)
            }
            found => found?,
        },
        _ => (0, false),
    };
    Ok(Found {
        format,
        file_bytes: source.total_bytes().unwrap_or_else(|| source.bytes_read()),
        reads: check.records(),
        bases: check.bases(),
        shortest_bp: shortest_bp.min(longest_bp),
        longest_bp,
        wall_s,
        units,
        has_eof_block,
    })
}

fn describe(path: &Path, found: &Found) -> String {
    let Found { format, file_bytes, reads, bases, units, .. } = *found;
    let what = match format.reads {
        ReadFormat::Fastq => "FASTQ, four lines a read",
        ReadFormat::WrappedFastq => "FASTQ with wrapped lines",
        ReadFormat::Fasta => "FASTA",
        ReadFormat::Bam => "unaligned BAM",
        ReadFormat::Cram => "unaligned CRAM",
    };
    let compression = match format.compression {
        Compression::Plain => "not compressed".to_owned(),
        Compression::Gzip if units == 1 => "gzip, 1 member".to_owned(),
        Compression::Gzip if units == 0 => "gzip".to_owned(),
        Compression::Gzip => format!("gzip, {units} members"),
        Compression::Bgzf => {
            let end = if found.has_eof_block || units == 0 { "" } else { ", no block at its end" };
            format!("BGZF, {units} blocks{end}")
        }
        Compression::Zstd => "zstd".to_owned(),
    };
    let mean = bases as f64 / reads.max(1) as f64;
    let (shortest, longest) = (found.shortest_bp, found.longest_bp);
    format!(
        "{}\n  what     {what}; {compression}\n  size     {file_bytes} bytes, {reads} reads, \
         {bases} bases\n  lengths  {shortest} to {longest} bp, mean {mean:.1}\n{}",
        path.display(),
        scaling(path, found)
    )
}

/// How reading scales, and what to do about it.
fn scaling(path: &Path, found: &Found) -> String {
    let name = path.display();
    let (can, advice) = match (found.format.reads, found.format.compression) {
        (ReadFormat::Fastq, Compression::Plain | Compression::Bgzf) if path != Path::new("-") => {
            let inflate = match found.format.compression {
                Compression::Bgzf => "inflates and parses its own chunk",
                _ => "parses its own chunk",
            };
            return format!(
                "  scaling  with the threads: each {inflate} of the file, without a lock\n  \
                advice   none needed"
            );
        }
        (ReadFormat::WrappedFastq, _) => (
            "one thread at a time finds where reads end",
            format!("unwrap it once: `seqtk seq -l0 {name} | bgzip -c > unwrapped.fq.gz`"),
        ),
        (ReadFormat::Cram, _) => {
            ("one thread at a time reads containers, and others decode them", "none".to_owned())
        }
        (ReadFormat::Fasta | ReadFormat::Bam, _) => {
            ("one thread at a time cuts the input into reads", "none".to_owned())
        }
        (_, Compression::Gzip) => (
            "one thread at a time inflates",
            format!("re-block it once: `gzip -dc {name} | bgzip -@ 8 -c > reblocked.fq.gz`"),
        ),
        (_, Compression::Zstd) => (
            "one thread at a time inflates",
            format!("re-block it once: `zstd -dc {name} | bgzip -@ 8 -c > reblocked.fq.gz`"),
        ),
        _ => ("one thread at a time reads the pipe", "give the file itself".to_owned()),
    };
    let rate = found.reads as f64 / found.wall_s.max(1e-9);
    let threads = (rate * ENGINE_US / 1e6).max(1.0);
    format!(
        "  scaling  limited: {can}, {rate:.0} reads/s here with nothing else to do; more than \
         about {threads:.0} threads at {ENGINE_US:.0} us a read would wait\n  advice   {advice}"
    )
}
