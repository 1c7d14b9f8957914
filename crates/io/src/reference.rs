//! A reference in memory, in the order of a header.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use seqloom_format::bam::Reference;
use seqloom_format::fasta::{FastaError, FastaParser, FastaSink};
use seqloom_runtime::error::{Class, Place, RunError};

use crate::input::error::InputError;
use crate::text::for_each_chunk;

/// Memory that is allocated because a header says so; what is longer grows as it is read.
const MAX_RESERVED_BYTES: usize = 256 * 1024 * 1024;

/// Names that a message lists.
const MOST_LISTED: usize = 20;

/// Why a reference cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ReferenceError {
    /// The file cannot be read.
    #[error(transparent)]
    Source(#[from] InputError),
    /// It is no good FASTA.
    #[error("{}: {source}", path.display())]
    Fasta {
        /// The file.
        path: PathBuf,
        /// The problem and its place.
        source: FastaError,
    },
    /// A sequence is not as long as the header says.
    #[error(
        "{}: sequence {name} has {found} bases, but the reads' header says {expected}; is it \
         another reference?", path.display()
    )]
    Length {
        /// The file.
        path: PathBuf,
        /// The sequence.
        name: String,
        /// Bases in the file; where it is more than the header says, at least so many.
        found: u64,
        /// Bases by the header.
        expected: u32,
    },
    /// Sequences of the header are not in the file.
    #[error(
        "{}: sequences of the reads' header are missing {}; is it another reference?",
        path.display(), listed(names)
    )]
    Missing {
        /// The file.
        path: PathBuf,
        /// Their names, in the order of the header.
        names: Vec<String>,
    },
    /// Sequences that records are on are not in the file.
    #[error(
        "{}: sequences with records are missing {}; is it another reference?",
        path.display(), listed(names)
    )]
    Needed {
        /// The file.
        path: PathBuf,
        /// Their names, in the order of the header.
        names: Vec<String>,
    },
}

impl RunError for ReferenceError {
    fn class(&self) -> Class {
        match self {
            Self::Source(source) => source.class(),
            Self::Fasta { .. }
            | Self::Length { .. }
            | Self::Missing { .. }
            | Self::Needed { .. } => Class::Input,
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::Source(source) => source.place(),
            Self::Fasta { path, source } => fasta_place(path, source),
            Self::Length { path, .. } | Self::Missing { path, .. } | Self::Needed { path, .. } => {
                Place::of(path)
            }
        }
    }
}

/// Place of the error in the FASTA file at `path`.
#[must_use]
pub fn fasta_place(path: &Path, error: &FastaError) -> Place {
    Place {
        record: Some(error.record).filter(|record| *record > 0),
        name: Some(error.name.clone()).filter(|name| !name.is_empty()),
        ..Place::of(path).at_line(error.line).at_byte(error.byte)
    }
}

/// How many names there are, and the first of them.
fn listed(names: &[String]) -> String {
    let first = names[..names.len().min(MOST_LISTED)].join(", ");
    let more = if names.len() > MOST_LISTED { ", ..." } else { "" };
    format!("({}): {first}{more}", names.len())
}

/// Sequences of a header that a file holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Loaded {
    /// Bases (ASCII, as in the file) by the header's index; none of those that are missing.
    pub sequences: Vec<Vec<u8>>,
    /// Header's indices of sequences that are not in the file, ascending.
    pub missing: Vec<usize>,
}

/// Bases as they arrive, put where the header has their sequence.
struct Loading<'a> {
    references: &'a [Reference],
    by_name: HashMap<&'a [u8], usize>,
    sequences: Vec<Vec<u8>>,
    /// The sequence that is being read, if the header has it.
    current: Option<usize>,
}

impl Loading<'_> {
    /// A sequence whose length is not that of the header: its index.
    fn wrong(&self) -> Option<usize> {
        let lengths = self.references.iter().zip(&self.sequences);
        lengths
            .enumerate()
            .find(|(_, (it, bases))| !bases.is_empty() && bases.len() != it.length as usize)
            .map(|(index, _)| index)
    }
}

impl FastaSink for Loading<'_> {
    fn record(&mut self, name: &[u8], _comment: &[u8]) {
        self.current = self.by_name.get(name).copied();
        if let Some(index) = self.current {
            let length = self.references[index].length as usize;
            self.sequences[index].reserve_exact(length.min(MAX_RESERVED_BYTES));
        }
    }

    fn bases(&mut self, bases: &[u8]) {
        if let Some(index) = self.current {
            let sequence = &mut self.sequences[index];
            // One base too many is enough to decide.
            let most = self.references[index].length as usize + 1;
            if sequence.is_empty() {
                // Without it, memory is only requested bit by bit.
                let _ = sequence.try_reserve_exact(most);
            }
            let room = most.saturating_sub(sequence.len());
            sequence.extend_from_slice(&bases[..bases.len().min(room)]);
        }
    }
}

/// As [`load_found`], for who needs all sequences.
///
/// # Errors
/// As there; a sequence is missing.
pub fn load(path: &Path, references: &[Reference]) -> Result<Vec<Vec<u8>>, ReferenceError> {
    let Loaded { sequences, missing } = load_found(path, references)?;
    if missing.is_empty() {
        return Ok(sequences);
    }
    let names = missing.iter().map(|&index| references[index].name.clone()).collect();
    Err(ReferenceError::Missing { path: path.to_path_buf(), names })
}

/// Loads the sequences of a FASTA (plain, gzip, BGZF or zstd) that `references` name, in their
/// order: ASCII bases as in the file. What the header does not name is left out.
///
/// # Errors
/// The file cannot be read, is no FASTA, or holds a sequence of another length than the header's.
pub fn load_found(path: &Path, references: &[Reference]) -> Result<Loaded, ReferenceError> {
    let by_name = references.iter().enumerate().map(|(index, it)| (it.name.as_bytes(), index));
    let mut loading = Loading {
        references,
        by_name: by_name.collect(),
        sequences: vec![Vec::new(); references.len()],
        current: None,
    };
    let mut parser = FastaParser::new();
    let fasta_error = |source| ReferenceError::Fasta { path: path.to_path_buf(), source };
    for_each_chunk(path, |chunk| parser.push(chunk.text, &mut loading).map_err(fasta_error))?;
    parser.finish(&mut loading).map_err(fasta_error)?;
    if let Some(index) = loading.wrong() {
        return Err(ReferenceError::Length {
            path: path.to_path_buf(),
            name: references[index].name.clone(),
            found: loading.sequences[index].len() as u64,
            expected: references[index].length,
        });
    }
    let is_missing =
        |&index: &usize| loading.sequences[index].is_empty() && references[index].length > 0;
    let missing = (0..references.len()).filter(is_missing).collect();
    loading.sequences.iter_mut().for_each(Vec::shrink_to_fit);
    Ok(Loaded { sequences: loading.sequences, missing })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn references(lengths: &[(&str, u32)]) -> Vec<Reference> {
        let reference = |&(name, length): &(&str, u32)| Reference { name: name.into(), length };
        lengths.iter().map(reference).collect()
    }

    fn loaded(text: &[u8], lengths: &[(&str, u32)]) -> Result<Vec<Vec<u8>>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ref.fa");
        std::fs::write(&path, text).unwrap();
        let result = load(&path, &references(lengths));
        result.map_err(|error| error.to_string().replace(&path.display().to_string(), "FILE"))
    }

    const TEXT: &[u8] = b">a x\nACGT\nac\n>b\nNNN\n>c\nA\n";

    #[test]
    fn sequences_are_in_the_order_of_the_header() {
        let expected = vec![b"NNN".to_vec(), b"ACGTac".to_vec()];
        assert_eq!(loaded(TEXT, &[("b", 3), ("a", 6)]), Ok(expected));
        assert_eq!(loaded(TEXT, &[]), Ok(Vec::new()));
        assert_eq!(loaded(TEXT, &[("c", 1), ("d", 0)]), Ok(vec![b"A".to_vec(), Vec::new()]));
    }

    #[test]
    fn sequences_that_are_missing_are_reported() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ref.fa");
        std::fs::write(&path, TEXT).unwrap();
        let references = references(&[("x", 5), ("a", 6), ("empty", 0), ("y", 1)]);
        let found = load_found(&path, &references).unwrap();
        assert_eq!(found.missing, [0, 3]);
        assert_eq!(found.sequences, [&b""[..], b"ACGTac", b"", b""]);
    }

    #[test]
    fn compressed_sequences_are_read_and_cut_ones_refused() {
        use std::io::Write as _;
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(TEXT).unwrap();
        let gzip = gzip.finish().unwrap();
        assert_eq!(loaded(&gzip, &[("b", 3)]), Ok(vec![b"NNN".to_vec()]));
        let error = loaded(&gzip[..gzip.len() - 9], &[("b", 3)]).unwrap_err();
        assert!(error.contains("truncated"), "{error}");
        let mut bgzf = Vec::new();
        let mut compressor = seqloom_format::bgzf::BlockCompressor::new(1).unwrap();
        compressor.compress(TEXT, &mut bgzf).unwrap();
        let error = loaded(&bgzf, &[("b", 3)]).unwrap_err();
        assert!(error.contains("end-of-file"), "{error}");
        bgzf.extend_from_slice(&seqloom_format::bgzf::EOF_BLOCK);
        assert_eq!(loaded(&bgzf, &[("b", 3)]), Ok(vec![b"NNN".to_vec()]));
    }

    #[test]
    fn other_references_are_refused() {
        let t = |lengths: &[(&str, u32)], expected: &str| {
            let error = loaded(TEXT, lengths).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        };
        t(&[("a", 5)], "FILE: sequence a has 6 bases, but the reads' header says 5");
        t(
            &[("a", u32::MAX)],
            "FILE: sequence a has 6 bases, but the reads' header says 4294967295",
        );
        t(
            &[("x", 5), ("a", 6), ("y", 1)],
            "FILE: sequences of the reads' header are missing (2): x, y;",
        );
        let many: Vec<String> = (0..21).map(|n| format!("s{n}")).collect();
        let many: Vec<(&str, u32)> = many.iter().map(|name| (name.as_str(), 1)).collect();
        assert!(loaded(TEXT, &many).unwrap_err().contains("(21): s0, s1, s2"));
        assert!(loaded(TEXT, &many).unwrap_err().contains("s19, ...; "));
        assert!(loaded(b"ACGT", &[]).unwrap_err().starts_with("FILE: line 1"));
    }
}
