//! `PREFIX.fast`: what spares the certified path its searches (`docs/certified-path.md`).
//!
//! Two tables of `T`, the forward strand and its reverse complement:
//!
//! * **starts**: for each k-mer of `k` bases, how many suffixes of `T` and its sentinel are
//!   smaller, which is the first row of those that begin with it. A search starts `k` bases in.
//!   `k` is the largest with `4^k <= bases / 8` (`bases` of one strand), so it takes at most half
//!   a byte a base.
//! * **repeated**: one bit for each place of the forward strand: whether the [`SEED_BASES`] bases
//!   there occur twice or more in `T`.
//!
//! The file, little-endian:
//!
//! | at | bytes | what |
//! |---|---|---|
//! | 0 | 8 | `SLFAST1\n` |
//! | 8 | 8 | bases of the forward strand |
//! | 16 | 4 | CRC-32 of the packed forward strand, as in `.pac` |
//! | 20 | 4 | `k` |
//! | 24 | 4 | [`SEED_BASES`] |
//! | 28 | 4 | number of carries |
//! | 32 | 4 | CRC-32 of all that follows the header |
//! | 36 | 28 | zero |
//! | 64 | 8 each | carries: the first k-mers whose row reaches 2^32, 2 * 2^32, ... |
//! | | 4 each | the low 32 bits of the rows of all `4^k` k-mers, then of their end |
//! | | 8 each | the repeated bits, the first in the lowest bit |

mod make;
mod repeats;

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

use super::kmer_table::{KmerTable, short_suffixes, symbol};
use super::read::{Parts, Readers, combined};
use super::table_error::TableError;

pub(crate) use repeats::Repeats;

/// Bases of the k-mers whose repeats are flagged: bwa's least seed length.
pub(crate) const SEED_BASES: usize = 19;

/// Bases of the k-mers whose rows are in the table, at most.
const MOST_KMER_BASES: usize = 15;

const MAGIC: &[u8; 8] = b"SLFAST1\n";
const HEADER_BYTES: usize = 64;

/// Bytes read or written at a time.
const CHUNK_BYTES: usize = 1 << 20;

/// The tables of one genome.
#[derive(Debug, PartialEq, Eq)]
pub struct FastTable {
    packed_crc: u32,
    kmer_table: Arc<KmerTable>,
    repeats: Repeats,
}

impl FastTable {
    /// Size of the tables of a genome of so many bases, in a file and, nearly, in memory.
    #[must_use]
    pub fn size_bytes(bases: u64) -> u64 {
        let (kmer_table, carries) =
            ((1 << (2 * KmerTable::bases_for(bases, MOST_KMER_BASES))) + 1, (2 * bases + 1) >> 32);
        HEADER_BYTES as u64 + 8 * carries + 4 * kmer_table + Repeats::size_bytes(bases)
    }

    /// The first rows of k-mers.
    #[must_use]
    pub(crate) fn kmer_table(&self) -> &Arc<KmerTable> {
        &self.kmer_table
    }

    /// The flags of repeated k-mers.
    #[inline]
    #[must_use]
    pub(crate) fn repeats(&self) -> &Repeats {
        &self.repeats
    }

    /// CRC-32 of the packed forward strand.
    pub(super) fn packed_crc(&self) -> u32 {
        self.packed_crc
    }

    /// The flags alone; the memory of the other table is given back.
    pub(super) fn into_repeats(self) -> Repeats {
        self.repeats
    }

    /// Reads `path`, the table of the genome whose packed forward strand is `packed`, with this
    /// CRC-32.
    ///
    /// # Errors
    /// There is none, or it is not of this version and this genome, or damaged.
    pub(crate) fn read(
        path: &Path,
        packed: &[u8],
        packed_crc: u32,
        bases: u64,
        readers: Readers,
    ) -> Result<Self, TableError> {
        let failed = |source| TableError::Read { path: path.to_owned(), source };
        let mut file =
            File::open(path).map_err(|error| TableError::opening(path.to_owned(), error))?;
        let size = file.metadata().map_err(failed)?.len();
        let version = || TableError::Version(path.to_owned());
        let mut header = [0; HEADER_BYTES];
        file.read_exact(&mut header).map_err(|_| version())?;
        let word = |at| u32::from_le_bytes([0, 1, 2, 3].map(|i: usize| header[at + i]));
        let kmer_bases = word(20) as usize;
        if &header[..8] != MAGIC || word(24) as usize != SEED_BASES {
            return Err(version());
        }
        let same_bases = header[8..16] == bases.to_le_bytes();
        if !same_bases
            || word(16) != packed_crc
            || kmer_bases != KmerTable::bases_for(bases, MOST_KMER_BASES)
        {
            return Err(TableError::Foreign(path.to_owned()));
        }
        let damaged = || TableError::Damaged(path.to_owned());
        let kmer_table = (1 << (2 * kmer_bases)) + 1;
        let repeated = bases.div_ceil(64) as usize;
        let carries = word(28) as usize;
        if size != (HEADER_BYTES + 8 * carries + 4 * kmer_table + 8 * repeated) as u64 {
            return Err(damaged());
        }
        let mut body = Parts::new(file, path.to_owned(), HEADER_BYTES as u64, readers);
        let (carries, carries_crc) = body.take_with_crc(carries)?;
        let (rows, rows_crc) = body.take_with_crc(kmer_table)?;
        let (repeated, repeated_crc) = body.take_with_crc(repeated)?;
        if combined([carries_crc, rows_crc, repeated_crc]).finalize() != word(32) {
            return Err(damaged());
        }
        let short = short_suffixes(2 * bases, kmer_bases, |at| symbol(packed, bases, at));
        let kmer_table = Arc::new(KmerTable::new(kmer_bases, carries, rows.into(), short));
        Ok(Self { packed_crc, kmer_table, repeats: Repeats::new(bases, repeated.into()) })
    }

    /// Writes the file. It is gone through twice, for the checksum comes before it.
    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut crc = crc32fast::Hasher::new();
        self.body(&mut |bytes| {
            crc.update(bytes);
            Ok(())
        })?;
        let mut header = [0; HEADER_BYTES];
        header[..8].copy_from_slice(MAGIC);
        header[8..16].copy_from_slice(&self.repeats.bases().to_le_bytes());
        let words = [
            self.packed_crc,
            self.kmer_table.kmer_bases() as u32,
            SEED_BASES as u32,
            self.kmer_table.carries().len() as u32,
            crc.finalize(),
        ];
        for (at, word) in words.iter().enumerate() {
            header[16 + 4 * at..20 + 4 * at].copy_from_slice(&word.to_le_bytes());
        }
        out.write_all(&header)?;
        self.body(&mut |bytes| out.write_all(bytes))
    }

    fn body(&self, out: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        write_numbers(self.kmer_table.carries(), u64::to_le_bytes, out)?;
        write_numbers(self.kmer_table.rows(), u32::to_le_bytes, out)?;
        write_numbers(self.repeats.flags(), u64::to_le_bytes, out)
    }
}

fn write_numbers<T: Copy, const N: usize>(
    numbers: &[T],
    bytes_of: fn(T) -> [u8; N],
    out: &mut dyn FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let mut buffer = Vec::with_capacity(CHUNK_BYTES);
    for chunk in numbers.chunks(CHUNK_BYTES / N) {
        buffer.clear();
        buffer.extend(chunk.iter().flat_map(|&number| bytes_of(number)));
        out(&buffer)?;
    }
    Ok(())
}

#[cfg(test)]
pub(super) mod tests;
