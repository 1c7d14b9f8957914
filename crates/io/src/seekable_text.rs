//! The text of a plain or BGZF file at any place, by many threads at once: positional reads only,
//! no lock, no state but the caller's scratch.
//!
//! Where the blocks of a BGZF file are is read from the `.gzi` next to it, or found by walking from
//! block header to block header.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use seqloom_format::ReadAt;
use seqloom_format::bgzf::{self, BlockDecompressor};
use seqloom_format::fai::{BlockStart, IndexTextError, parse_gzi};
use seqloom_runtime::error::{Class, Place, RunError};

use crate::positioned::PositionedFile;
use crate::sidecars::with_suffix;

/// Bytes looked at for the header of a block: as much as gzip's largest extra field makes it.
const HEADER_BYTES: usize = 18;

/// Why text cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TextError {
    /// The file cannot be opened.
    #[error("cannot open {}: {source}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// It cannot be read.
    #[error("cannot read {}: byte {byte}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// From where.
        byte: u64,
        /// The system's error.
        source: io::Error,
    },
    /// It is compressed in a way that has no places to start from.
    #[error(
        "{}: compressed with {method}, which cannot be read at any place; compress it with bgzip",
        path.display()
    )]
    NotRandom {
        /// The file.
        path: PathBuf,
        /// Name of the compression.
        method: &'static str,
    },
    /// Its compressed data are damaged.
    #[error("{}: BGZF block at byte {byte}: {problem}", path.display())]
    Compressed {
        /// The file.
        path: PathBuf,
        /// Offset of the block.
        byte: u64,
        /// The problem.
        problem: String,
    },
    /// The `.gzi` is malformed.
    #[error("{}: {source}", path.display())]
    Index {
        /// The index.
        path: PathBuf,
        /// The problem.
        source: IndexTextError,
    },
    /// The `.gzi` is another file's.
    #[error("{}: not the index of its file: {problem}; make it again with bgzip -r",
            path.display())]
    OtherIndex {
        /// The index.
        path: PathBuf,
        /// How that shows.
        problem: String,
    },
}

impl RunError for TextError {
    fn class(&self) -> Class {
        match self {
            Self::Open { source, .. } | Self::Read { source, .. } => Class::of_input(source),
            Self::NotRandom { .. }
            | Self::Compressed { .. }
            | Self::Index { .. }
            | Self::OtherIndex { .. } => Class::Input,
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::Read { path, byte, .. } | Self::Compressed { path, byte, .. } => {
                Place::of(path).at_byte(*byte)
            }
            Self::Open { path, .. }
            | Self::NotRandom { path, .. }
            | Self::Index { path, .. }
            | Self::OtherIndex { path, .. } => Place::of(path),
        }
    }
}

/// Buffers of one thread.
#[derive(Default)]
pub struct TextScratch {
    raw: Vec<u8>,
    inflated: Vec<u8>,
    inflate: BlockDecompressor,
    /// Which block of which file is in `inflated`.
    held: Option<(Arc<Path>, usize)>,
}

impl std::fmt::Debug for TextScratch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TextScratch").field("held", &self.held).finish_non_exhaustive()
    }
}

/// Blocks of a BGZF file; the last entry is the end of file and text.
#[derive(Debug)]
struct Blocks {
    starts: Vec<BlockStart>,
    /// The index they were read from; what is wrong with a block is then perhaps its fault.
    index: Option<PathBuf>,
}

/// A plain or BGZF file of text. Its size is that at the time it was opened.
#[derive(Debug)]
pub struct SeekableText {
    path: Arc<Path>,
    file: PositionedFile,
    blocks: Option<Blocks>,
}

impl SeekableText {
    /// Opens `path`; its first bytes decide what it is.
    ///
    /// # Errors
    /// [`TextError`].
    pub fn open(path: &Path) -> Result<Self, TextError> {
        let failed = |source| TextError::Open { path: path.to_owned(), source };
        let file = PositionedFile::open(path).map_err(failed)?;
        let mut text = Self { path: Arc::from(path), file, blocks: None };
        let mut magic = [0; HEADER_BYTES];
        let seen = text.file.size_bytes().min(magic.len() as u64) as usize;
        text.read_raw(&mut magic[..seen], 0)?;
        let not_random = |method| TextError::NotRandom { path: path.to_owned(), method };
        match &magic[..seen] {
            [0x1f, 0x8b, ..] if bgzf::parse_block_header(&magic[..seen]).is_ok() => {
                text.blocks = Some(text.find_blocks()?);
            }
            [0x1f, 0x8b, ..] => return Err(not_random("gzip")),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => return Err(not_random("zstd")),
            _ => {}
        }
        Ok(text)
    }

    /// Path of the file.
    #[must_use]
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes of the text.
    #[must_use]
    pub fn text_bytes(&self) -> u64 {
        let blocks = self.blocks.as_ref();
        blocks
            .and_then(|it| it.starts.last())
            .map_or_else(|| self.file.size_bytes(), |end| end.text)
    }

    /// Appends the `bytes` bytes of text from `offset` to `out`.
    ///
    /// # Errors
    /// [`TextError`]; [`io::ErrorKind::UnexpectedEof`] in it when there are fewer. `out` then
    /// holds what there was.
    pub fn read(
        &self,
        scratch: &mut TextScratch,
        offset: u64,
        bytes: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), TextError> {
        let end = offset.checked_add(bytes as u64).filter(|&end| end <= self.text_bytes());
        let Some(end) = end else {
            let source = io::Error::from(io::ErrorKind::UnexpectedEof);
            return Err(TextError::Read { path: self.path.to_path_buf(), byte: offset, source });
        };
        let Some(blocks) = &self.blocks else {
            let start = out.len();
            out.resize(start + bytes, 0);
            return self.read_raw(&mut out[start..], offset);
        };
        // The last block that starts at or before the offset: empty ones before it do
        // not matter.
        let mut block = blocks.starts.partition_point(|it| it.text <= offset).saturating_sub(1);
        let mut at = offset;
        while at < end {
            self.inflate(scratch, blocks, block)?;
            let block_start = blocks.starts[block].text;
            let from = (at - block_start) as usize;
            let upto = ((end - block_start).min(scratch.inflated.len() as u64)) as usize;
            out.extend_from_slice(scratch.inflated.get(from..upto).unwrap_or_default());
            at = block_start + upto as u64;
            block += 1;
        }
        Ok(())
    }

    fn read_raw(&self, out: &mut [u8], byte: u64) -> Result<(), TextError> {
        let failed = |source| TextError::Read { path: self.path.to_path_buf(), byte, source };
        self.file.read_exact_at(out, byte).map_err(failed)
    }

    /// Has the text of a block in `scratch`.
    fn inflate(
        &self,
        scratch: &mut TextScratch,
        blocks: &Blocks,
        block: usize,
    ) -> Result<(), TextError> {
        if scratch.held.as_ref().is_some_and(|(of, it)| *it == block && Arc::ptr_eq(of, &self.path))
        {
            return Ok(());
        }
        scratch.held = None;
        scratch.inflated.clear();
        let (start, end) = (blocks.starts[block], blocks.starts[block + 1]);
        scratch.raw.resize((end.raw - start.raw) as usize, 0);
        self.read_raw(&mut scratch.raw, start.raw)?;
        let inflated = scratch
            .inflate
            .decompress(&scratch.raw, &mut scratch.inflated)
            .map_err(|error| error.to_string())
            .and_then(|bytes| {
                let expected = end.text - start.text;
                let is_right = bytes as u64 == expected;
                is_right
                    .then_some(())
                    .ok_or_else(|| format!("the block has {bytes} bytes of text, not {expected}"))
            });
        inflated
            .map_err(|problem| self.block_error(blocks.index.as_deref(), start.raw, problem))?;
        scratch.held = Some((self.path.clone(), block));
        Ok(())
    }

    fn block_error(&self, index: Option<&Path>, byte: u64, problem: String) -> TextError {
        match index {
            Some(index) => TextError::OtherIndex {
                path: index.to_owned(),
                problem: format!("byte {byte}: {problem}"),
            },
            None => TextError::Compressed { path: self.path.to_path_buf(), byte, problem },
        }
    }

    fn find_blocks(&self) -> Result<Blocks, TextError> {
        let index = with_suffix(&self.path, ".gzi");
        let mut starts = vec![BlockStart { raw: 0, text: 0 }];
        let mut blocks = Blocks { starts: Vec::new(), index: None };
        match std::fs::read(&index) {
            Ok(bytes) => {
                let malformed = |source| TextError::Index { path: index.clone(), source };
                starts = parse_gzi(&bytes).map_err(malformed)?;
                blocks.index = Some(index);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(TextError::Open { path: index, source }),
        }
        // The index does not say where the last block ends; without one there is all to be found.
        blocks.starts = starts;
        self.walk(&mut blocks)?;
        Ok(blocks)
    }

    /// Walks from the last known block to the end of the file.
    fn walk(&self, blocks: &mut Blocks) -> Result<(), TextError> {
        let size = self.file.size_bytes();
        let Some(mut at) = blocks.starts.last().copied() else { return Ok(()) };
        if at.raw > size {
            let problem = format!("a block at byte {} of a file of {size}", at.raw);
            return Err(self.block_error(blocks.index.as_deref(), at.raw, problem));
        }
        let mut head = vec![0; HEADER_BYTES];
        while at.raw < size {
            at = self.next_block(at, size, &mut head).map_err(|error| match error {
                TextError::Compressed { byte, problem, .. } => {
                    self.block_error(blocks.index.as_deref(), byte, problem)
                }
                error => error,
            })?;
            blocks.starts.push(at);
        }
        Ok(())
    }

    /// Offset of the block after the one at `at`.
    fn next_block(
        &self,
        at: BlockStart,
        size: u64,
        head: &mut Vec<u8>,
    ) -> Result<BlockStart, TextError> {
        let failed = |problem: String| self.block_error(None, at.raw, problem);
        let mut needed = HEADER_BYTES;
        let header = loop {
            head.resize((size - at.raw).min(needed as u64) as usize, 0);
            self.read_raw(head, at.raw)?;
            match bgzf::parse_block_header(head) {
                Ok(header) => break header,
                Err(bgzf::BgzfError::Truncated { needed_bytes, .. }) if head.len() == needed => {
                    needed = needed_bytes;
                }
                Err(error) => return Err(failed(error.to_string())),
            }
        };
        let raw = at.raw + header.block_bytes as u64;
        if raw > size {
            return Err(failed("truncated: the file ends within it".to_owned()));
        }
        let mut inflated = [0; 4];
        self.read_raw(&mut inflated, raw - 4)?;
        let inflated = u32::from_le_bytes(inflated);
        if inflated as usize > bgzf::MAX_BLOCK_BYTES {
            return Err(failed(format!("it claims {inflated} bytes of text")));
        }
        Ok(BlockStart { raw, text: at.text + u64::from(inflated) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use seqloom_format::bgzf::{BlockCompressor, EOF_BLOCK};
    use std::fs;

    fn compressed(text: &[u8], block_bytes: usize) -> (Vec<u8>, Vec<u8>) {
        let mut compressor = BlockCompressor::new(1).unwrap();
        let (mut out, mut starts) = (Vec::new(), Vec::new());
        for (number, piece) in text.chunks(block_bytes).enumerate() {
            if number > 0 {
                starts.extend([out.len() as u64, (number * block_bytes) as u64]);
            }
            compressor.compress(piece, &mut out).unwrap();
        }
        out.extend_from_slice(&EOF_BLOCK);
        let count = starts.len() as u64 / 2;
        let gzi = std::iter::once(count).chain(starts).flat_map(u64::to_le_bytes).collect();
        (out, gzi)
    }

    fn read(path: &Path, from: usize, bytes: usize) -> Result<Vec<u8>, TextError> {
        let (text, mut out) = (SeekableText::open(path)?, Vec::new());
        text.read(&mut TextScratch::default(), from as u64, bytes, &mut out)?;
        Ok(out)
    }

    #[test]
    fn what_is_not_there_or_no_text_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        fs::write(&path, b"abc").unwrap();
        assert_eq!(read(&path, 1, 2).unwrap(), b"bc");
        assert_eq!(read(&path, 3, 0).unwrap(), b"");
        assert!(matches!(read(&path, 2, 2), Err(TextError::Read { byte: 2, .. })));
        assert!(matches!(read(&path, usize::MAX, 2), Err(TextError::Read { .. })));
        for (bytes, method) in [(&b"\x1f\x8b\x08\0\0\0"[..], "gzip"), (b"\x28\xb5\x2f\xfd", "zstd")]
        {
            fs::write(&path, bytes).unwrap();
            let error = read(&path, 0, 0).unwrap_err();
            assert!(matches!(error, TextError::NotRandom { method: it, .. } if it == method));
        }
    }

    #[test]
    fn an_index_of_another_file_is_found_out() {
        let folder = tempfile::tempdir().unwrap();
        let (path, index) = (folder.path().join("t"), folder.path().join("t.gzi"));
        let text: Vec<u8> = (0..9000_u32).map(|i| b'a' + (i * 7 % 26) as u8).collect();
        let (bytes, gzi) = compressed(&text, 1000);
        fs::write(&path, &bytes).unwrap();
        fs::write(&index, &gzi).unwrap();
        assert_eq!(read(&path, 990, 2000).unwrap(), &text[990..2990]);
        let (_, other) = compressed(&text, 999);
        fs::write(&index, &other).unwrap();
        assert!(matches!(read(&path, 990, 2000), Err(TextError::OtherIndex { .. })));
        fs::write(&index, b"x").unwrap();
        assert!(matches!(read(&path, 0, 1), Err(TextError::Index { .. })));
        fs::remove_file(&index).unwrap();
        fs::write(&path, &bytes[..bytes.len() - 40]).unwrap();
        assert!(matches!(read(&path, 0, 1), Err(TextError::Compressed { .. })));
    }

    proptest! {
        #[test]
        fn every_chunk_is_read_as_it_was_written(
            length in 0_usize..3000,
            block_bytes in 1_usize..700,
            ranges in prop::collection::vec((0_usize..3000, 0_usize..3000), 1..6),
            has_index: bool,
        ) {
            let text: Vec<u8> = (0..length).map(|i| b'a' + (i * 31 % 26) as u8).collect();
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("t");
            let (bytes, gzi) = compressed(&text, block_bytes);
            fs::write(&path, bytes).unwrap();
            if has_index {
                fs::write(folder.path().join("t.gzi"), gzi).unwrap();
            }
            let (file, mut scratch) = (SeekableText::open(&path).unwrap(), TextScratch::default());
            prop_assert_eq!(file.text_bytes(), length as u64);
            for (a, b) in ranges {
                let (a, b) = (a.min(b).min(length), a.max(b).min(length));
                let mut out = b"x".to_vec();
                file.read(&mut scratch, a as u64, b - a, &mut out).unwrap();
                prop_assert_eq!(&out[1..], &text[a..b]);
            }
        }
    }
}
