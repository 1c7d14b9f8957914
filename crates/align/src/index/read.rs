//! Large parts of a file, read into memory by many threads: one alone reads half a gigabyte a
//! second, as each page is made when it is first written to.

use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::os::unix::fs::FileExt;

use bytemuck::Pod;
use seqloom_runtime::placement::ask_for_huge_pages;
use seqloom_runtime::pool::{self, Interrupted, Stopped};

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
    readers: Readers,
}

/// Who reads the files of an index.
#[derive(Debug, Clone, Copy)]
pub struct Readers {
    /// How many threads, at most.
    pub threads: NonZeroUsize,
    /// Whether they are to stop: a [`Watch`](pool::Watch) that any thread may call.
    pub watch: fn() -> Result<(), Interrupted>,
}

impl Readers {
    /// One thread, which nothing interrupts.
    pub const ONE: Self = Self { threads: NonZeroUsize::MIN, watch: || Ok(()) };
}

/// Why a part was not read.
#[derive(Debug)]
pub(super) enum PartError {
    Io(io::Error),
    Stopped(Stopped),
}

impl From<Stopped> for PartError {
    fn from(stopped: Stopped) -> Self {
        Self::Stopped(stopped)
    }
}

/// Values of a piece.
pub(super) const fn piece_values<T>() -> usize {
    PIECE_BYTES / size_of::<T>()
}

impl Parts {
    /// Of `file` from byte `at` on.
    pub(super) fn new(file: File, at: u64, readers: Readers) -> Self {
        let threads = readers.threads.min(MOST_THREADS);
        Self { file, at, readers: Readers { threads, ..readers } }
    }

    /// The value `bytes` after the next one.
    pub(super) fn peek<T: Pod>(&self, bytes: u64) -> Result<T, PartError> {
        let mut value = T::zeroed();
        let (at, place) = (self.at + bytes, bytemuck::bytes_of_mut(&mut value));
        self.file.read_exact_at(place, at).map_err(PartError::Io)?;
        Ok(value)
    }

    /// Goes on after the next `bytes`.
    pub(super) fn skip(&mut self, bytes: usize) {
        self.at += bytes as u64;
    }

    /// The next `count` values.
    pub(super) fn take<T: Pod + Send>(&mut self, count: usize) -> Result<Vec<T>, PartError> {
        self.take_each(count, |_, _| ())
    }

    /// Likewise; each piece is handed to `convert` by the thread that has read it, with the number
    /// of its first value. All but the last have [`piece_values`] values.
    pub(super) fn take_each<T: Pod + Send>(
        &mut self,
        count: usize,
        convert: impl Fn(usize, &mut [T]) + Sync,
    ) -> Result<Vec<T>, PartError> {
        // The kernel's zeroes: nothing is written before the threads do.
        let mut values = bytemuck::allocation::try_zeroed_vec::<T>(count)
            .map_err(|()| PartError::Io(io::ErrorKind::OutOfMemory.into()))?;
        // They are read here and there: small pages would cost a miss more each time.
        ask_for_huge_pages(&mut values);
        let (start, size) = (self.at, count * size_of::<T>());
        let pieces = values.chunks_mut(piece_values::<T>()).enumerate();
        let read = |(): &mut (), (number, piece): (usize, &mut [T])| {
            let first = number * piece_values::<T>();
            let at = start + (first * size_of::<T>()) as u64;
            let bytes: &mut [u8] = bytemuck::cast_slice_mut(piece);
            self.file.read_exact_at(bytes, at).map_err(PartError::Io)?;
            convert(first, piece);
            Ok::<_, PartError>(())
        };
        pool::for_each(self.readers.threads, pieces, &self.readers.watch, |_| Ok(()), read)?;
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
            let readers = Readers { threads, ..Readers::ONE };
            let mut parts = Parts::new(file.try_clone().unwrap(), 4, readers);
            assert!(parts.take::<u64>(0).unwrap().is_empty());
            assert_eq!(parts.take::<u64>(2).unwrap(), [0, 1]);
            assert_eq!(parts.take::<u64>(numbers.len() - 2).unwrap(), numbers[2..]);
            let error = parts.take::<u8>(5).unwrap_err();
            let is_short = |error: &io::Error| error.kind() == io::ErrorKind::UnexpectedEof;
            assert!(matches!(&error, PartError::Io(error) if is_short(error)), "{error:?}");
            assert_eq!(parts.take::<u8>(1).unwrap(), *b"t");
            parts.skip(1);
            assert_eq!(parts.take::<u8>(2).unwrap(), *b"il");
        }
    }

    #[test]
    fn an_interrupt_stops_reading() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"part").unwrap();
        let readers = Readers { watch: || Err(Interrupted), ..Readers::ONE };
        let error = Parts::new(file, 0, readers).take::<u8>(4).unwrap_err();
        assert!(matches!(error, PartError::Stopped(Stopped::Interrupted(_))), "{error:?}");
    }
}
