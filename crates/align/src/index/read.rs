//! Large parts of a file, read into memory by many threads: one alone reads half a gigabyte a
//! second, as each page is made when it is first written to.

use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::os::unix::fs::FileExt;

use bytemuck::Pod;
use seqloom_runtime::placement::ask_for_huge_pages;
use seqloom_runtime::pool::{self, Stopped};

const _: () = assert!(cfg!(target_endian = "little"), "numbers are read as the files have them");

/// More threads read no faster.
const MOST_THREADS: NonZeroUsize = NonZeroUsize::new(16).expect("it is not 0");

/// Bytes that a thread reads at a time: some huge pages.
const PIECE_BYTES: usize = 8 << 20;

/// A file whose parts are read in order.
#[derive(Debug)]
pub(super) struct Parts {
    file: File,
    at: u64,
    threads: NonZeroUsize,
}

/// Why a thread stopped.
struct Failed(io::Error);

impl From<Stopped> for Failed {
    fn from(stopped: Stopped) -> Self {
        Self(io::Error::other(stopped))
    }
}

impl Parts {
    /// Of `file` from byte `at` on, by `threads` at most.
    pub(super) fn new(file: File, at: u64, threads: NonZeroUsize) -> Self {
        Self { file, at, threads: threads.min(MOST_THREADS) }
    }

    /// The next `count` values.
    pub(super) fn take<T: Pod>(&mut self, count: usize) -> io::Result<Vec<T>> {
        // The kernel's zeroes: nothing is written before the threads do.
        let mut values = bytemuck::allocation::try_zeroed_vec::<T>(count)
            .map_err(|()| io::Error::from(io::ErrorKind::OutOfMemory))?;
        // They are read here and there: small pages would cost a miss more each time.
        ask_for_huge_pages(&mut values);
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut values);
        let (start, size) = (self.at, bytes.len());
        let pieces = (start..).step_by(PIECE_BYTES).zip(bytes.chunks_mut(PIECE_BYTES));
        let read = |(): &mut (), (at, piece): (u64, &mut [u8])| {
            self.file.read_exact_at(piece, at).map_err(Failed)
        };
        pool::for_each(self.threads, pieces, &|| Ok(()), |_| Ok(()), read)
            .map_err(|Failed(error)| error)?;
        self.at += size as u64;
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn parts_are_read_in_order_by_any_threads() {
        let mut file = tempfile::tempfile().unwrap();
        let numbers: Vec<u64> = (0..(3 * PIECE_BYTES / 8) as u64 + 5).collect();
        file.write_all(b"head").unwrap();
        file.write_all(bytemuck::cast_slice(&numbers)).unwrap();
        file.write_all(b"tail").unwrap();
        for threads in [1, 2, 7, 400] {
            let threads = NonZeroUsize::new(threads).unwrap();
            let mut parts = Parts::new(file.try_clone().unwrap(), 4, threads);
            assert!(parts.take::<u64>(0).unwrap().is_empty());
            assert_eq!(parts.take::<u64>(2).unwrap(), [0, 1]);
            assert_eq!(parts.take::<u64>(numbers.len() - 2).unwrap(), numbers[2..]);
            let error = parts.take::<u8>(5).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
            assert_eq!(parts.take::<u8>(4).unwrap(), *b"tail");
        }
    }
}
