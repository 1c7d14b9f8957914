//! The files that are read: the same reads plain, in BGZF, and in blocks of whole reads.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use seqloom_format::bgzf::{self, BlockCompressor};
use seqloom_io::{Output, reblock};

use super::ways::Way;
use crate::experiment::LabError;
use crate::random::SplitMix;

/// Lines of a read.
const LINES: u64 = 4;
/// Bases of a read.
const READ_BP: usize = 100;
/// Text of a BGZF block of whole reads: below what a block holds, reads being of unequal length.
const BGZF_TEXT_BYTES: usize = 60 * 1024;

/// Which files are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Files {
    /// One, not compressed.
    Single,
    /// Two of a pair, not compressed.
    Paired,
    /// One of BGZF.
    Bgzf,
}

impl Files {
    /// All.
    pub(crate) const ALL: [Self; 3] = [Self::Single, Self::Paired, Self::Bgzf];

    /// Its name in tables.
    #[must_use]
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Paired => "paired",
            Self::Bgzf => "bgzf",
        }
    }
}

/// The reads of the files.
#[derive(Debug, Clone)]
pub(crate) enum Input {
    /// Random ones, which are made, so many in each of two files.
    Made(u64),
    /// Of plain FASTQ, one or two of a pair.
    Files(Vec<PathBuf>),
}

/// A folder of such files.
#[derive(Debug)]
pub(super) struct Data {
    folder: PathBuf,
    /// Files of plain text.
    mates: usize,
    /// Reads of each file.
    pub(super) reads: u64,
    /// Text of the first file in bytes.
    pub(super) text_bytes: u64,
    /// By unit: bytes of a padded block and reads in it.
    blocks: Vec<(usize, usize, usize)>,
}

impl Data {
    /// Files of the reads, and blocks for each of `units`.
    pub(super) fn make(folder: &Path, input: &Input, units: &[usize]) -> Result<Self, LabError> {
        fs::create_dir_all(folder).map_err(LabError::file(folder))?;
        let (mates, reads) = match input {
            Input::Made(reads) => (2, *reads),
            Input::Files(files) => (files.len(), 0),
        };
        let (folder, blocks) = (folder.to_path_buf(), Vec::new());
        let mut data = Self { folder, mates, reads, text_bytes: 0, blocks };
        for mate in 1..=mates {
            let path = data.plain(mate);
            let mut text = Vec::new();
            match input {
                Input::Made(reads) => {
                    simulate(*reads, mate, &mut text).map_err(LabError::file(&path))?;
                }
                Input::Files(files) => {
                    let file = &files[mate - 1];
                    text = fs::read(file).map_err(LabError::file(file))?;
                    data.reads = memchr::memchr_iter(b'\n', &text).count() as u64 / LINES;
                }
            }
            data.text_bytes = text.len() as u64;
            fs::write(&path, &text).map_err(LabError::file(&path))?;
            if mate == 1 {
                let path = data.folder.join("r.bgzf.gz");
                let bgzf = deflate(&text).map_err(|e| LabError::Prepare(e.to_string()))?;
                fs::write(&path, bgzf).map_err(LabError::file(&path))?;
            }
        }
        for &unit in units {
            data.block_up(unit).map_err(|error| LabError::Prepare(error.to_string()))?;
        }
        Ok(data)
    }

    fn plain(&self, mate: usize) -> PathBuf {
        self.folder.join(format!("r{mate}.fq"))
    }

    fn padded(&self, mate: usize, unit: usize) -> PathBuf {
        self.folder.join(format!("r{mate}.padded-{unit}.fq"))
    }

    fn aligned(&self, unit: usize) -> PathBuf {
        self.folder.join(format!("r.aligned-{unit}.gz"))
    }

    /// Padded files with blocks of at most `unit` bytes, both mates in step, and BGZF of whole
    /// reads.
    fn block_up(&mut self, unit: usize) -> Result<(), reblock::ReblockError> {
        let largest = |records| -> Result<usize, reblock::ReblockError> {
            let mut most = 0;
            for mate in 1..=self.mates {
                most = most.max(reblock::measure(&self.plain(mate), records)?.largest_block_bytes);
            }
            Ok(most)
        };
        let record = largest(1)?.max(1);
        let count = (unit / record).max(1);
        let block_bytes = largest(count)?;
        for mate in 1..=self.mates {
            let mut output = Output::create(&self.padded(mate, unit))?;
            reblock::pad(&self.plain(mate), &mut output, block_bytes, count)?;
            commit(output)?;
        }
        let mut output = Output::create(&self.aligned(unit))?;
        let in_block = (unit.min(BGZF_TEXT_BYTES) / record).max(1);
        reblock::bgzf_blocks(&self.plain(1), &mut output, in_block, LEVEL)?;
        commit(output)?;
        self.blocks.push((unit, block_bytes, count));
        Ok(())
    }

    /// The kinds of files that there are.
    pub(super) fn kinds(&self) -> impl Iterator<Item = Files> + use<> {
        let mates = self.mates;
        Files::ALL.into_iter().filter(move |&files| files != Files::Paired || mates == 2)
    }

    /// The files for a way, and what it reads at a time.
    pub(super) fn paths(&self, files: Files, way: Way, unit: usize) -> (Vec<PathBuf>, usize) {
        let blocked = way == Way::Blocked;
        let of = |mate| if blocked { self.padded(mate, unit) } else { self.plain(mate) };
        let paths = match files {
            Files::Single => vec![of(1)],
            Files::Paired => vec![of(1), of(2)],
            Files::Bgzf if blocked => vec![self.aligned(unit)],
            Files::Bgzf => vec![self.folder.join("r.bgzf.gz")],
        };
        let block = self.blocks.iter().find(|block| block.0 == unit);
        let block_bytes = block.map_or(unit, |block| block.1);
        (paths, if blocked && files != Files::Bgzf { block_bytes } else { unit })
    }

    /// Reads of a padded block of `unit` bytes at most.
    pub(super) fn reads_per_block(&self, unit: usize) -> usize {
        self.blocks.iter().find(|block| block.0 == unit).map_or(1, |block| block.2)
    }
}

/// Level of the compressed files, bgzip's.
const LEVEL: u8 = 6;

fn commit(output: Output) -> Result<(), seqloom_io::OutputError> {
    Ok(output.into_file().map_or(Ok(()), |file| file.commit())?)
}

/// BGZF as bgzip makes it: blocks end anywhere.
fn deflate(text: &[u8]) -> Result<Vec<u8>, bgzf::BgzfError> {
    let mut compressor = BlockCompressor::new(LEVEL)?;
    let mut out = Vec::new();
    for payload in text.chunks(bgzf::MAX_PAYLOAD_BYTES) {
        compressor.compress(payload, &mut out)?;
    }
    out.extend_from_slice(&bgzf::EOF_BLOCK);
    Ok(out)
}

/// Writes reads as a sequencer names them, of random bases and of qualities that repeat (as real
/// ones do, or they would not compress).
pub(crate) fn simulate(reads: u64, mate: usize, out: &mut impl Write) -> io::Result<()> {
    let mut random = SplitMix::new(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(mate as u64));
    let mut next = || random.next();
    let mut text = Vec::with_capacity(2 * READ_BP + 64);
    for read in 0..reads {
        text.clear();
        let (tile, x) = (1101 + read / 50_000, 1000 + (read * 7) % 30_000);
        writeln!(text, "@SIM:1:FLOW:1:{tile}:{x}:{read} {mate}:N:0:ATCACG")?;
        text.extend((0..READ_BP).map(|_| b"ACGT"[(next() >> 62) as usize]));
        text.extend_from_slice(b"\n+\n");
        let mut quality = b'F';
        text.extend((0..READ_BP).map(|_| {
            if next() >> 60 == 0 {
                quality = b"F:,#"[(next() >> 62) as usize];
            }
            quality
        }));
        text.push(b'\n');
        out.write_all(&text)?;
    }
    Ok(())
}
