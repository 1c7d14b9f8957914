//! Real BAM files for the tests of this crate, read in the plainest way.

use std::path::{Path, PathBuf};

use super::{Header, HeaderError};
use crate::bgzf::{BgzfError, BlockDecompressor, VirtualOffset, parse_block_header};

/// The folder with the BAM test data; `None`, said aloud, where there is none.
pub(crate) fn bam_folder() -> Option<PathBuf> {
    match std::env::var_os("SEQLOOM_DATA") {
        Some(data) => Some(Path::new(&data).join("bam")),
        None => {
            println!("skipped: SEQLOOM_DATA is not set");
            None
        }
    }
}

/// Every file under `folder` whose name ends in `suffix`, sorted.
pub(crate) fn files(folder: &Path, suffix: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, suffix));
        } else if path.to_string_lossy().ends_with(suffix) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Standard output of samtools, `None` where it fails.
pub(crate) fn samtools(arguments: &[&str], file: &Path) -> Option<Vec<u8>> {
    let output =
        seqloom_testkit::running::words("samtools").args(arguments).arg(file).output().unwrap();
    output.status.success().then_some(output.stdout)
}

/// A whole BAM file in memory.
pub(crate) struct TestBam {
    pub(crate) header: Header,
    /// Inflated bytes after the header: framed records.
    pub(crate) records: Vec<u8>,
    blocks: Blocks,
    header_bytes: usize,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    #[error(transparent)]
    Bgzf(#[from] BgzfError),
    #[error(transparent)]
    Header(#[from] HeaderError),
}

/// Start in the inflated file and in the file of each block, empty ones included.
pub(crate) type Blocks = Vec<(usize, u64)>;

/// Inflates every block of a BGZF file.
pub(crate) fn inflate_all(file: &[u8]) -> Result<(Vec<u8>, Blocks), BgzfError> {
    let mut inflated = Vec::new();
    let mut blocks = Vec::new();
    let mut offset = 0;
    let mut decompressor = BlockDecompressor::new();
    while offset < file.len() {
        let header = parse_block_header(&file[offset..])?;
        let end = (offset + header.block_bytes).min(file.len());
        blocks.push((inflated.len(), offset as u64));
        decompressor.decompress(&file[offset..end], &mut inflated)?;
        offset = end;
    }
    Ok((inflated, blocks))
}

impl TestBam {
    pub(crate) fn read(path: &Path) -> Result<Self, ReadError> {
        let file = std::fs::read(path).unwrap();
        let (mut inflated, blocks) = inflate_all(&file)?;
        let (header, header_bytes) = Header::decode(&inflated)?;
        inflated.drain(..header_bytes);
        Ok(Self { header, records: inflated, blocks, header_bytes })
    }

    /// Virtual offset of the byte at `offset` in `records`: in the first block that starts there
    /// where one does (as reading on after the byte before it finds it), else within one.
    pub(crate) fn virtual_offset(&self, offset: usize) -> VirtualOffset {
        let offset = offset + self.header_bytes;
        let after = self.blocks.partition_point(|&(start, _)| start < offset);
        let (start, block_offset) = match self.blocks.get(after) {
            Some(&(start, block_offset)) if start == offset => (start, block_offset),
            _ => self.blocks[after - 1],
        };
        VirtualOffset::new(block_offset, (offset - start) as u16).unwrap()
    }
}
