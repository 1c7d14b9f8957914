//! Large parts of a file, read into memory by many threads: one alone reads half a gigabyte a
//! second, as each page is made when it is first written to.

use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

use bytemuck::Pod;
use crc32fast::Hasher;
use seqloom_runtime::placement::ask_for_huge_pages;
use seqloom_runtime::pool::{self, Interrupted, Stopped};

const _: () = assert!(cfg!(target_endian = "little"), "numbers are read as the files have them");

/// More threads read no faster.
const MOST_THREADS: NonZeroUsize = NonZeroUsize::new(16).expect("it is not 0");

/// Bytes that a thread reads and looks at before the next: the processor's cache holds them.
const STEP_BYTES: usize = 256 << 10;

/// Steps that a thread takes at a time: some huge pages.
const PIECE_STEPS: usize = 32;

/// A file whose parts are read in order.
#[derive(Debug, Clone)]
pub(super) struct Parts {
    file: Arc<File>,
    path: PathBuf,
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
    Io { path: PathBuf, source: io::Error },
    Stopped(Stopped),
}

impl From<Stopped> for PartError {
    fn from(stopped: Stopped) -> Self {
        Self::Stopped(stopped)
    }
}

/// Values of a step.
pub(super) const fn step_values<T>() -> usize {
    STEP_BYTES / size_of::<T>()
}

impl Parts {
    /// Of `file`, which is at `path`, from byte `at` on.
    pub(super) fn new(file: File, path: PathBuf, at: u64, readers: Readers) -> Self {
        let threads = readers.threads.min(MOST_THREADS);
        Self { file: file.into(), path, at, readers: Readers { threads, ..readers } }
    }

    fn failed(&self, source: io::Error) -> PartError {
        PartError::Io { path: self.path.clone(), source }
    }

    /// Reads values that are not taken: from the one `first` after the next on.
    pub(super) fn read_at<T: Pod>(&self, first: usize, values: &mut [T]) -> Result<(), PartError> {
        let at = self.at + (first * size_of::<T>()) as u64;
        self.file
            .read_exact_at(bytemuck::cast_slice_mut(values), at)
            .map_err(|source| self.failed(source))
    }

    /// Goes on after the next `bytes`.
    pub(super) fn skip(&mut self, bytes: usize) {
        self.at += bytes as u64;
    }

    /// The next `count` values.
    pub(super) fn take<T: Pod + Send>(&mut self, count: usize) -> Result<Vec<T>, PartError> {
        Ok(self.take_each(count, |_, _| Ok(()))?.0)
    }

    /// Likewise, and the CRC-32 of their bytes.
    pub(super) fn take_with_crc<T: Pod + Send>(
        &mut self,
        count: usize,
    ) -> Result<(Vec<T>, Hasher), PartError> {
        let (values, crcs) = self.take_each(count, |_, values| Ok(hasher(values)))?;
        Ok((values, combined(crcs)))
    }

    /// Likewise, and what `visit` gives for each step. It is called by the thread that has read the
    /// values, with the number of the first. All steps but the last have [`step_values`] values.
    pub(super) fn take_each<T: Pod + Send, R: Clone + Default + Send>(
        &mut self,
        count: usize,
        visit: impl Fn(usize, &mut [T]) -> Result<R, PartError> + Sync,
    ) -> Result<(Vec<T>, Vec<R>), PartError> {
        // The kernel's zeroes: nothing is written before the threads do.
        let mut values = bytemuck::allocation::try_zeroed_vec::<T>(count)
            .map_err(|()| self.failed(io::ErrorKind::OutOfMemory.into()))?;
        // They are read here and there: small pages would cost a miss more each time.
        ask_for_huge_pages(&mut values);
        let step = step_values::<T>();
        let mut results = vec![R::default(); count.div_ceil(step)];
        let pieces = values.chunks_mut(PIECE_STEPS * step).zip(results.chunks_mut(PIECE_STEPS));
        self.for_each(pieces.enumerate(), |(piece, (values, results))| {
            let steps = values.chunks_mut(step).zip(results);
            (piece * PIECE_STEPS..).zip(steps).try_for_each(|(number, (values, result))| {
                self.read_at(number * step, values)?;
                *result = visit(number * step, values)?;
                Ok(())
            })
        })?;
        self.skip(count * size_of::<T>());
        Ok((values, results))
    }

    /// What `visit` gives for each `step` of the next `count` values, which are neither kept nor
    /// taken.
    pub(super) fn visit<T: Pod, R: Clone + Default + Send>(
        &self,
        count: usize,
        step: usize,
        visit: impl Fn(&[T]) -> R + Sync,
    ) -> Result<Vec<R>, PartError> {
        let mut results = vec![R::default(); count.div_ceil(step)];
        let pieces = results.chunks_mut(PIECE_STEPS);
        self.for_each(pieces.enumerate(), |(piece, results)| {
            let mut buffer = vec![T::zeroed(); step];
            (piece * PIECE_STEPS..).zip(results).try_for_each(|(number, result)| {
                let values = &mut buffer[..step.min(count - number * step)];
                self.read_at(number * step, values)?;
                *result = visit(values);
                Ok(())
            })
        })?;
        Ok(results)
    }

    fn for_each<I: Iterator + Send>(
        &self,
        pieces: I,
        read: impl Fn(I::Item) -> Result<(), PartError> + Sync,
    ) -> Result<(), PartError> {
        let Readers { threads, watch } = self.readers;
        pool::for_each(threads, pieces, &watch, |_| Ok(()), |(): &mut (), piece| read(piece))?;
        Ok(())
    }
}

/// The CRC-32 of values' bytes.
pub(super) fn hasher<T: Pod>(values: &[T]) -> Hasher {
    let mut hasher = Hasher::new();
    hasher.update(bytemuck::cast_slice(values));
    hasher
}

/// The CRC-32 of one part after the other.
pub(super) fn combined(parts: impl IntoIterator<Item = Hasher>) -> Hasher {
    let mut all = Hasher::new();
    parts.into_iter().for_each(|part| all.combine(&part));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn parts_are_read_in_order_by_any_threads() {
        let mut file = tempfile::tempfile().unwrap();
        let numbers: Vec<u64> = (0..(3 * PIECE_STEPS * STEP_BYTES / 8) as u64 + 5).collect();
        file.write_all(b"head").unwrap();
        file.write_all(bytemuck::cast_slice(&numbers)).unwrap();
        file.write_all(b"tail").unwrap();
        for threads in [1, 2, 7, 400] {
            let threads = NonZeroUsize::new(threads).unwrap();
            let readers = Readers { threads, ..Readers::ONE };
            let mut parts = Parts::new(file.try_clone().unwrap(), PathBuf::new(), 4, readers);
            assert!(parts.take::<u64>(0).unwrap().is_empty());
            assert_eq!(parts.take::<u64>(2).unwrap(), [0, 1]);
            assert_eq!(parts.take::<u64>(numbers.len() - 2).unwrap(), numbers[2..]);
            let error = parts.take::<u8>(5).unwrap_err();
            let is_short = |error: &io::Error| error.kind() == io::ErrorKind::UnexpectedEof;
            assert!(
                matches!(&error, PartError::Io { source, .. } if is_short(source)),
                "{error:?}"
            );
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
        let error = Parts::new(file, PathBuf::new(), 0, readers).take::<u8>(4).unwrap_err();
        assert!(matches!(error, PartError::Stopped(Stopped::Interrupted(_))), "{error:?}");
    }
}
