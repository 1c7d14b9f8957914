//! Bases of reads by name, from FASTA or FASTQ.
//!
//! The file is read once, to find where each read is (about 32 bytes of memory per read). Plain
//! and BGZF files are then read at these places, by all workers at once; of others (gzip, zstd,
//! pipes), which have no places to start from, the bases are kept, two in a byte.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use seqloom_format::SequenceSink;
use seqloom_format::bam::BASE_LETTERS;
use seqloom_io::sequences::{SequencesError, scan};
use seqloom_io::{SeekableText, TextError, TextScratch};
use seqloom_runtime::error::{Class, Place, RunError};
use seqloom_runtime::memory::ByteSize;
use seqloom_runtime::pool::{Interrupted, Watch};

use seqloom_signal::store::{Location, ReadIndex};

/// Bytes of one piece of packed bases.
const PIECE_BYTES: usize = 8 << 20;
/// Bases of one piece.
const PIECE_BASES: u64 = 2 * PIECE_BYTES as u64;

/// Why reads cannot be looked up.
#[derive(Debug, thiserror::Error)]
pub enum ReadSequencesError {
    /// The file cannot be read.
    #[error(transparent)]
    Text(#[from] TextError),
    /// It cannot be read or is malformed.
    #[error(transparent)]
    Scan(#[from] SequencesError),
    /// Bases or names are too many for the memory.
    #[error(
        "{}: names and bases of reads take more than {limit}; {hint}", path.display()
    )]
    Memory {
        /// The file.
        path: PathBuf,
        /// Memory that they may take.
        limit: ByteSize,
        /// What to do, in words that end the message.
        hint: &'static str,
    },
}

impl RunError for ReadSequencesError {
    fn class(&self) -> Class {
        match self {
            Self::Text(text) => text.class(),
            Self::Scan(scan) => scan.class(),
            Self::Memory { .. } => Class::Usage,
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::Text(text) => text.place(),
            Self::Scan(scan) => scan.place(),
            Self::Memory { path, .. } => Place::of(path),
        }
    }
}

/// Result of a search by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FoundSequence {
    /// The bases of its read.
    Bases,
    /// No read has this name.
    Missing,
    /// More than one has.
    Twice,
}

/// 4-bit codes of bases, a piece after the other.
#[derive(Debug, Default)]
struct PackedBases {
    pieces: Vec<Vec<u8>>,
    bases: u64,
}

impl PackedBases {
    fn push(&mut self, letter: u8) {
        let at = (self.bases % PIECE_BASES) as usize;
        if at == 0 {
            self.pieces.push(Vec::with_capacity(PIECE_BYTES));
        }
        self.bases += 1;
        let Some(piece) = self.pieces.last_mut() else { return };
        let code = CODES[usize::from(letter)];
        match piece.last_mut() {
            Some(last) if at % 2 == 1 => *last |= code,
            _ => piece.push(code << 4),
        }
    }

    fn append(&self, range: Range<u64>, out: &mut Vec<u8>) {
        out.extend(range.map(|index| {
            let piece = self.pieces.get((index / PIECE_BASES) as usize);
            let at = (index % PIECE_BASES) as usize;
            let byte = piece.and_then(|piece| piece.get(at / 2)).copied().unwrap_or(0xff);
            let code = if at.is_multiple_of(2) { byte >> 4 } else { byte & 0xf };
            BASE_LETTERS[usize::from(code)]
        }));
    }
}

/// Code of each letter; U counts as T, and what is no base as N.
const CODES: [u8; 256] = {
    let mut codes = [15; 256];
    let mut code = 1;
    while code < 16 {
        let letter = BASE_LETTERS[code];
        codes[letter as usize] = code as u8;
        codes[letter.to_ascii_lowercase() as usize] = code as u8;
        code += 1;
    }
    codes[b'U' as usize] = codes[b'T' as usize];
    codes[b'u' as usize] = codes[b'T' as usize];
    codes
};

/// The bases of every read, in the file or in memory.
#[derive(Debug)]
pub struct ReadSequences {
    index: ReadIndex,
    text: Option<SeekableText>,
    packed: PackedBases,
    twice: u64,
}

/// Lists reads while they are scanned.
struct Listing {
    index: ReadIndex,
    name: Vec<u8>,
    /// Bases are kept; else their places.
    packed: Option<PackedBases>,
    start: u64,
}

impl SequenceSink for Listing {
    fn begin(&mut self, name: &[u8]) {
        self.name.clear();
        self.name.extend_from_slice(name);
        self.start = self.packed.as_ref().map_or(0, |packed| packed.bases);
    }

    fn bases(&mut self, bases: &[u8]) {
        if let Some(packed) = &mut self.packed {
            bases.iter().for_each(|&letter| packed.push(letter));
        }
    }

    fn end(&mut self, text: Range<u64>) {
        let location = match &self.packed {
            Some(packed) => Location { offset: self.start, size_bytes: packed.bases - self.start },
            None => Location { offset: text.start, size_bytes: text.end - text.start },
        };
        self.index.push(&self.name, location);
    }
}

impl Listing {
    fn held_bytes(&self) -> u64 {
        let pieces = self.packed.as_ref().map_or(0, |packed| packed.pieces.len());
        self.index.held_bytes() + (pieces * PIECE_BYTES) as u64
    }
}

impl ReadSequences {
    /// Reads `path` through (`-` is standard input); names and bases may take `limit` of memory.
    ///
    /// # Errors
    /// [`ReadSequencesError`]; the [`Interrupted`] of `watch` in it.
    pub fn open(
        path: &Path,
        limit: ByteSize,
        watch: Watch<'_>,
    ) -> Result<Self, ReadSequencesError> {
        let text = match SeekableText::open(path) {
            _ if path == Path::new("-") => None,
            Ok(text) => Some(text),
            Err(TextError::NotRandom { .. }) => None,
            Err(TextError::Open { source, .. }) if source.kind() == io::ErrorKind::Unsupported => {
                None
            }
            Err(error) => return Err(error.into()),
        };
        let packed = text.is_none().then(PackedBases::default);
        let mut listing =
            Listing { index: ReadIndex::default(), name: Vec::new(), packed, start: 0 };
        let fits = |listing: &Listing| listing.held_bytes() <= limit.0;
        // What does not fit is refused below.
        let look = |listing: &Listing| if fits(listing) { watch() } else { Err(Interrupted) };
        let scanned = scan(path, &mut listing, look);
        if !fits(&listing) {
            let hint = match &listing.packed {
                Some(_) => "raise -m, or compress the file with bgzip",
                None => "raise -m",
            };
            return Err(ReadSequencesError::Memory { path: path.to_owned(), limit, hint });
        }
        scanned?;
        let Listing { mut index, packed, .. } = listing;
        let (twice, _) = index.sort_marking_twice();
        Ok(Self { index, text, packed: packed.unwrap_or_default(), twice })
    }

    /// Number of names.
    #[must_use]
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// Names that more than one read has.
    #[must_use]
    pub fn twice(&self) -> u64 {
        self.twice
    }

    /// Bytes of memory that names, places and bases take.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        self.index.held_bytes() + (self.packed.pieces.len() * PIECE_BYTES) as u64
    }

    /// Replaces `out` by the bases of the read called `name`: upper case, T for U.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(crate) fn fetch(
        &self,
        scratch: &mut TextScratch,
        name: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<FoundSequence, TextError> {
        out.clear();
        let Some(location) = self.index.find(name) else { return Ok(FoundSequence::Missing) };
        if location == ReadIndex::TWICE {
            return Ok(FoundSequence::Twice);
        }
        let Location { offset, size_bytes } = location;
        match &self.text {
            None => self.packed.append(offset..offset + size_bytes, out),
            Some(text) => {
                text.read(scratch, offset, size_bytes as usize, out)?;
                out.retain(|byte| !matches!(byte, b'\n' | b'\r'));
                normalise(out);
            }
        }
        Ok(FoundSequence::Bases)
    }
}

/// Bases in upper case, T for U.
pub fn normalise(bases: &mut [u8]) {
    for base in bases {
        *base = match base.to_ascii_uppercase() {
            b'U' => b'T',
            other => other,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const TEXT: &[u8] = b"@r1 x\nACGTN\n+\nIIIII\n@r2\nacuRg\nT\n+\nIIIIII\n>r3\nA\n@\n";

    fn zstd(text: &[u8]) -> Vec<u8> {
        zstd::encode_all(text, 1).unwrap()
    }

    fn bgzf(text: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut compressor = seqloom_format::bgzf::BlockCompressor::new(1).unwrap();
        for piece in text.chunks(9) {
            compressor.compress(piece, &mut out).unwrap();
        }
        out.extend_from_slice(&seqloom_format::bgzf::EOF_BLOCK);
        out
    }

    fn open(path: &Path, limit: u64) -> Result<ReadSequences, ReadSequencesError> {
        ReadSequences::open(path, ByteSize(limit), &|| Ok(()))
    }

    #[test]
    fn reads_are_found_in_every_container() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("reads");
        let good = &TEXT[..TEXT.len() - 2];
        let twice = [good, b">r1\nC\n"].concat();
        for bytes in [twice.clone(), zstd(&twice), bgzf(&twice)] {
            fs::write(&path, bytes).unwrap();
            let reads = open(&path, 1 << 30).unwrap();
            assert_eq!((reads.len(), reads.twice(), reads.is_empty()), (3, 1, false));
            let (mut scratch, mut out) = (TextScratch::default(), Vec::new());
            let mut t = |name: &[u8], found, bases: &[u8]| {
                assert_eq!(reads.fetch(&mut scratch, name, &mut out).unwrap(), found);
                assert_eq!(out, bases);
            };
            t(b"r2", FoundSequence::Bases, b"ACTRGT");
            t(b"r3", FoundSequence::Bases, b"A");
            t(b"r1", FoundSequence::Twice, b"");
            t(b"r", FoundSequence::Missing, b"");
        }
    }

    #[test]
    fn what_does_not_fit_or_is_malformed_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("reads");
        fs::write(&path, zstd(&TEXT[..20])).unwrap();
        let error = open(&path, 1000).unwrap_err().to_string();
        assert!(error.contains("bgzip"), "{error}");
        fs::write(&path, TEXT).unwrap();
        let error = open(&path, 1 << 30).unwrap_err().to_string();
        assert!(error.contains("line 12"), "{error}");
        assert!(open(&folder.path().join("none"), 1 << 30).is_err());
        let stopped = ReadSequences::open(&path, ByteSize(1 << 30), &|| Err(Interrupted));
        assert!(stopped.is_err());
    }

    #[test]
    fn packed_bases_come_back() {
        let mut packed = PackedBases::default();
        b"ACGTUNacgtuxRYKM".iter().for_each(|&letter| packed.push(letter));
        let mut out = Vec::new();
        packed.append(0..16, &mut out);
        assert_eq!(out, b"ACGTTNACGTTNRYKM");
        out.clear();
        packed.append(3..6, &mut out);
        assert_eq!(out, b"TTN");
    }
}
