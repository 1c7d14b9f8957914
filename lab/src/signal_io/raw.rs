//! Bytes of a file at random, which nobody looks into: by threads, and through io_uring with so
//! many requests at a time. What a storage can give to readers that do nothing else.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use io_uring::{IoUring, opcode, types};
use seqloom_runtime::failure::Failure;
use seqloom_runtime::pool;
use seqloom_signal::store::Frame;

use super::Raw;
use super::reading::{ReadingError, ReadingOptions};

/// Why io_uring cannot be used here, if it cannot: kernels and containers may refuse it.
pub(super) fn obstacle() -> Option<String> {
    IoUring::new(1).err().map(|error| format!("the kernel refuses io_uring: {error}"))
}

/// Reads the records of the file of these options in this order.
///
/// # Errors
/// The file cannot be read, or ends within a record.
pub(super) fn read(
    options: &ReadingOptions,
    raw: Raw,
    frames: &[Frame],
) -> Result<(), ReadingError> {
    let path = options.data.join(options.way.data);
    let failed =
        |source: io::Error| ReadingError::File { path: path.display().to_string(), source };
    let file = File::open(&path).map_err(failed)?;
    match raw {
        Raw::Threads => by_threads(options, &path, &file, frames),
        Raw::Uring => through_uring(&file, frames, options.threads.get()).map_err(failed),
    }
}

fn by_threads(
    options: &ReadingOptions,
    path: &Path,
    file: &File,
    frames: &[Frame],
) -> Result<(), ReadingError> {
    // Relaxed: every number is given once.
    let next = AtomicUsize::new(0);
    let failure = Failure::<ReadingError>::default();
    let worker = |_| {
        let mut bytes = Vec::new();
        while let Some(frame) = frames.get(next.fetch_add(1, Ordering::Relaxed)) {
            if failure.stopped() {
                break;
            }
            bytes.resize(frame.size_bytes as usize, 0);
            let failed = |source| ReadingError::File { path: path.display().to_string(), source };
            file.read_exact_at(&mut bytes, frame.offset).map_err(failed)?;
        }
        Ok(())
    };
    pool::run(options.threads, &failure, || (), &|| Ok(()), worker)?;
    Ok(())
}

/// A record that is being read.
#[derive(Default)]
struct Slot {
    bytes: Vec<u8>,
    offset: u64,
    /// Bytes that are there.
    done: usize,
}

impl Slot {
    fn begin(&mut self, frame: &Frame) {
        self.bytes.resize(frame.size_bytes as usize, 0);
        (self.offset, self.done) = (frame.offset, 0);
    }
}

/// Reads all records with up to `depth` requests at a time.
fn through_uring(file: &File, frames: &[Frame], depth: usize) -> io::Result<()> {
    let depth = depth.clamp(1, 1024);
    let mut ring = IoUring::new(depth.next_power_of_two() as u32)?;
    let mut slots: Vec<Slot> = (0..depth).map(|_| Slot::default()).collect();
    let done = serve(&mut ring, &mut slots, file, frames);
    if let Err(Stranded { in_flight, error }) = done {
        if in_flight > 0 {
            // The kernel may still write to what is in flight: it stays for as long as the process.
            std::mem::forget(slots);
        }
        return Err(error);
    }
    Ok(())
}

/// An error, and how many requests the kernel has not answered.
struct Stranded {
    in_flight: usize,
    error: io::Error,
}

fn serve(
    ring: &mut IoUring,
    slots: &mut [Slot],
    file: &File,
    frames: &[Frame],
) -> Result<(), Stranded> {
    let mut frames = frames.iter();
    let (mut in_flight, mut failed) = (0, None);
    for (number, slot) in slots.iter_mut().enumerate() {
        let Some(frame) = frames.next() else { break };
        slot.begin(frame);
        request(ring, slot, number, file).map_err(|error| Stranded { in_flight, error })?;
        in_flight += 1;
    }
    while in_flight > 0 {
        match ring.submit_and_wait(1) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                return Err(Stranded { in_flight, error });
            }
            _ => {}
        }
        let answers: Vec<(usize, i32)> =
            ring.completion().map(|entry| (entry.user_data() as usize, entry.result())).collect();
        for (number, result) in answers {
            in_flight -= 1;
            let slot = &mut slots[number];
            match result {
                0 => failed = Some(io::ErrorKind::UnexpectedEof.into()),
                error if error < 0 => failed = Some(io::Error::from_raw_os_error(-error)),
                bytes => slot.done += bytes as usize,
            }
            if slot.done == slot.bytes.len() {
                let Some(frame) = frames.next() else { continue };
                slot.begin(frame);
            }
            // After an error what is in flight is waited for, and nothing more requested.
            if failed.is_none() {
                request(ring, slot, number, file).map_err(|error| Stranded { in_flight, error })?;
                in_flight += 1;
            }
        }
    }
    failed.map_or(Ok(()), |error| Err(Stranded { in_flight, error }))
}

/// Requests what a slot lacks.
fn request(ring: &mut IoUring, slot: &mut Slot, number: usize, file: &File) -> io::Result<()> {
    let rest = &mut slot.bytes[slot.done..];
    let entry =
        opcode::Read::new(types::Fd(file.as_raw_fd()), rest.as_mut_ptr(), rest.len() as u32)
            .offset(slot.offset + slot.done as u64)
            .build()
            .user_data(number as u64);
    // SAFETY: the bytes are a slot's own, which is not touched before the kernel has answered, and
    // which `through_uring` drops after all answers alone; the file is open for as long.
    unsafe { ring.submission().push(&entry) }.map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_whole_by_any_number_of_requests() {
        if let Some(why) = obstacle() {
            seqloom_testkit::skip::skip(&why);
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        let bytes: Vec<u8> = (0..100_000_u32).map(|n| (n % 251) as u8).collect();
        std::fs::write(&path, &bytes).unwrap();
        let file = File::open(&path).unwrap();
        let frame = |n: u64| Frame { offset: 997 * n, size_bytes: 1 + 13 * n, ..Frame::default() };
        let frames: Vec<Frame> = (0..90).map(frame).collect();
        for depth in [1, 3, 64, 500] {
            through_uring(&file, &frames, depth).unwrap();
        }
        // Of one request at a time the last record is what the slot has.
        let mut ring = IoUring::new(1).unwrap();
        let mut slots = [Slot::default()];
        assert!(serve(&mut ring, &mut slots, &file, &frames).is_ok());
        let last = 997 * 89;
        assert_eq!(slots[0].bytes, bytes[last..last + 1 + 13 * 89]);
        let beyond = [Frame { offset: 99_999, size_bytes: 2, ..Frame::default() }];
        let error = through_uring(&file, &beyond, 4).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }
}
