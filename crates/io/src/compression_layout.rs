//! How a compressed file is put together: what says whether more than one thread can read it.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use flate2::bufread::GzDecoder;
use seqloom_format::bgzf::{self, BgzfError};
use seqloom_runtime::error::{Class, Place, RunError};

/// Bytes of text inflated at a time.
const STEP_BYTES: usize = 256 * 1024;

/// Why it could not be found out.
#[derive(Debug, thiserror::Error)]
pub enum LayoutError {
    /// Reading or inflating failed.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Error of the system, or of the decompressor.
        source: io::Error,
    },
    /// A BGZF block is damaged.
    #[error("{}, byte {byte}: {source}", path.display())]
    Block {
        /// The file.
        path: PathBuf,
        /// Offset of the block.
        byte: u64,
        /// The problem.
        source: BgzfError,
    },
}

impl RunError for LayoutError {
    fn class(&self) -> Class {
        match self {
            Self::Read { source, .. } => Class::of_input(source),
            Self::Block { .. } => Class::Input,
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::Read { path, .. } => Place::of(path),
            Self::Block { path, byte, .. } => Place::of(path).at_byte(*byte),
        }
    }
}

/// Members of a gzip file, each of which can be inflated without the others. Zeros may follow.
///
/// # Errors
/// Reading or inflating fails.
pub fn gzip_members(path: &Path) -> Result<u64, LayoutError> {
    let failed = |source| LayoutError::Read { path: path.to_path_buf(), source };
    let mut reader = BufReader::with_capacity(STEP_BYTES, File::open(path).map_err(failed)?);
    let mut text = vec![0; STEP_BYTES];
    let mut members = 0;
    while io::BufRead::fill_buf(&mut reader).map_err(failed)?.first().is_some_and(|it| *it != 0) {
        let mut member = GzDecoder::new(&mut reader);
        while member.read(&mut text).map_err(failed)? > 0 {}
        members += 1;
    }
    Ok(members)
}

/// Blocks of a BGZF file, and whether the last one is the empty one that ends a whole file.
///
/// # Errors
/// Reading fails, or a header is damaged.
pub fn bgzf_blocks(path: &Path) -> Result<(u64, bool), LayoutError> {
    let failed = |source| LayoutError::Read { path: path.to_path_buf(), source };
    let file = File::open(path).map_err(failed)?;
    let size = file.metadata().map_err(failed)?.len();
    let (mut byte, mut blocks, mut last_bytes) = (0, 0, 0);
    let mut head = vec![0; bgzf::MAX_BLOCK_BYTES];
    while byte < size {
        // Nearly all headers are 18 bytes; one may fill its block.
        let mut header = Err(BgzfError::Truncated { available_bytes: 0, needed_bytes: 0 });
        for want in [64, head.len()] {
            let some = want.min(usize::try_from(size - byte).unwrap_or(want));
            file.read_exact_at(&mut head[..some], byte).map_err(failed)?;
            header = bgzf::parse_block_header(&head[..some]);
            if !matches!(header, Err(BgzfError::Truncated { .. })) {
                break;
            }
        }
        let damaged = |source| LayoutError::Block { path: path.to_path_buf(), byte, source };
        last_bytes = header.map_err(damaged)?.block_bytes as u64;
        byte += last_bytes;
        blocks += 1;
    }
    Ok((blocks, last_bytes == bgzf::EOF_BLOCK.len() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn members_and_blocks_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file.gz");
        let mut bytes = Vec::new();
        for _ in 0..3 {
            let mut encoder =
                flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(b"text").unwrap();
            bytes.extend(encoder.finish().unwrap());
        }
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(gzip_members(&path).unwrap(), 3);
        std::fs::write(&path, [&bytes[..], &[0; 99]].concat()).unwrap();
        assert_eq!(gzip_members(&path).unwrap(), 3);
        assert!(bgzf_blocks(&path).is_err());
        std::fs::write(&path, &bytes[..bytes.len() - 3]).unwrap();
        assert!(gzip_members(&path).is_err());

        let mut compressor = bgzf::BlockCompressor::new(6).unwrap();
        let mut bytes = Vec::new();
        for _ in 0..4 {
            compressor.compress(b"some text", &mut bytes).unwrap();
        }
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(bgzf_blocks(&path).unwrap(), (4, false));
        bytes.extend(bgzf::EOF_BLOCK);
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(bgzf_blocks(&path).unwrap(), (5, true));
        assert_eq!(gzip_members(&path).unwrap(), 5);
    }
}
