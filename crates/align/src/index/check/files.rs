//! Files of an index, looked at without holding them: `.pac`, and parts of any.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use super::{IndexError, io_error};
use crate::index::IndexPaths;
use crate::index::packed::{cg_bases, cumulative_counts, pac_bytes};

/// Bytes of `.pac` read at a time.
const READ_BYTES: usize = 1 << 20;

/// Symbols of two neighbouring suffixes that are compared to see their order.
pub(super) const COMPARED_SYMBOLS: u64 = 64;

/// An open file of known size: reads inside it only.
pub(super) struct Sized {
    file: File,
    pub(super) path: PathBuf,
}

impl Sized {
    pub(super) fn open(path: PathBuf) -> Result<(Self, u64), IndexError> {
        let file = File::open(&path).map_err(io_error(&path))?;
        let size_bytes = file.metadata().map_err(io_error(&path))?.len();
        Ok((Self { file, path }, size_bytes))
    }

    pub(super) fn damaged(&self, problem: impl Into<String>) -> IndexError {
        IndexError::Damaged { path: self.path.clone(), problem: problem.into() }
    }

    pub(super) fn read(&self, at: u64, buffer: &mut [u8]) -> Result<(), IndexError> {
        self.file.read_exact_at(buffer, at).map_err(io_error(&self.path))
    }

    /// `N` little-endian 64-bit numbers at `at`.
    pub(super) fn numbers<const N: usize>(&self, at: u64) -> Result<[u64; N], IndexError> {
        let mut bytes = [[0; 8]; N];
        self.read(at, bytes.as_flattened_mut())?;
        Ok(bytes.map(u64::from_le_bytes))
    }
}

/// `.pac`, its size checked.
pub(super) struct Pac {
    pub(super) file: Sized,
    pub(super) bases: u64,
}

impl Pac {
    pub(super) fn open(paths: &IndexPaths, bases: u64) -> Result<Self, IndexError> {
        let (file, size_bytes) = Sized::open(paths.pac())?;
        let expected = pac_bytes(bases);
        if size_bytes != expected {
            let problem = format!("{size_bytes} bytes; {bases} bases take {expected}");
            return Err(file.damaged(problem));
        }
        let mut tail = [0; 2];
        file.read(expected - 2, &mut tail)?;
        if u64::from(tail[1]) != bases % 4 || (bases.is_multiple_of(4) && tail[0] != 0) {
            return Err(file.damaged(format!("its last byte does not say {} bases", bases % 4)));
        }
        if !bases.is_multiple_of(4) && u64::from(tail[0].trailing_zeros()) < 2 * (4 - bases % 4) {
            return Err(file.damaged("bits set after the last base"));
        }
        Ok(Self { file, bases })
    }

    /// Symbol counts of `T`, from all bases.
    pub(super) fn cumulative_counts(&self) -> Result<[u64; 5], IndexError> {
        let mut cg = 0;
        let mut packed = (&self.file.file).take(self.bases.div_ceil(4));
        let mut buffer = vec![0; READ_BYTES];
        loop {
            match packed.read(&mut buffer) {
                Ok(0) => return Ok(cumulative_counts(self.bases, cg)),
                Ok(n) => cg += cg_bases(&buffer[..n]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(io_error(&self.file.path)(error)),
            }
        }
    }

    /// At most [`COMPARED_SYMBOLS`]` + 1` symbols of `T` from `at`, fewer at its end.
    pub(super) fn symbols(&self, at: u64) -> Result<Vec<u8>, IndexError> {
        let end = (at + COMPARED_SYMBOLS + 1).min(2 * self.bases);
        // The same places on the forward strand: one piece, or one on each side of the middle.
        let mirror = |place: u64| 2 * self.bases - place;
        let (forward, reverse) = if end <= self.bases {
            (at..end, 0..0)
        } else if at >= self.bases {
            (0..0, mirror(end)..mirror(at))
        } else {
            (at..self.bases, mirror(end)..self.bases)
        };
        let mut symbols = self.forward(forward)?;
        symbols.extend(self.forward(reverse)?.iter().rev().map(|code| 3 - code));
        Ok(symbols)
    }

    fn forward(&self, range: std::ops::Range<u64>) -> Result<Vec<u8>, IndexError> {
        if range.is_empty() {
            return Ok(Vec::new());
        }
        let first_byte = range.start / 4;
        let mut bytes = vec![0; (range.end.div_ceil(4) - first_byte) as usize];
        self.file.read(first_byte, &mut bytes)?;
        let code = |at: u64| (bytes[(at / 4 - first_byte) as usize] >> (6 - 2 * (at % 4))) & 3;
        Ok(range.map(code).collect())
    }
}
