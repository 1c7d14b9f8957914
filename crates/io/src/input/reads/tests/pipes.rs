//! FIFOs: never block on one of two, and never take one without a writer for an empty file.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Read, bgzf, collect, gzip, options, read, within, zstd};
use crate::input::reads::{ReadSource, ReadsError, SourceOptions};

const LIMIT: Duration = Duration::from_secs(30);

fn make_fifo(path: &Path) {
    let status = std::process::Command::new("mkfifo").arg(path).status().unwrap();
    assert!(status.success());
}

fn two_fifos() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (folder.path().join("1"), folder.path().join("2"));
    make_fifo(&first);
    make_fifo(&second);
    (folder, first, second)
}

fn mates(count: usize, mate: u8) -> String {
    (0..count).map(|at| format!("@r{at}/{mate}\nACGTACGTAC\n+\nIIIIIIIIII\n")).collect()
}

fn expected(count: usize) -> Vec<Read> {
    (0..count).map(|at| read(&format!("r{at}"), "ACGTACGTAC", "IIIIIIIIII")).collect()
}

/// Writes to both FIFOs from one thread: `lead` bytes to the first, then `step` bytes to each in
/// turn, so that whoever reads must take what is there.
fn write_both(paths: [PathBuf; 2], content: [Vec<u8>; 2], lead: usize, step: usize) {
    std::thread::spawn(move || {
        let open = |path: &PathBuf| File::options().write(true).open(path).unwrap();
        let [mut first, mut second] = [open(&paths[0]), open(&paths[1])];
        let [one, two] = content;
        let mut at = [lead.min(one.len()), 0];
        first.write_all(&one[..at[0]]).unwrap();
        while at[0] < one.len() || at[1] < two.len() {
            let upto = [(at[0] + step).min(one.len()), (at[1] + step).min(two.len())];
            first.write_all(&one[at[0]..upto[0]]).unwrap();
            second.write_all(&two[at[1]..upto[1]]).unwrap();
            at = upto;
        }
    });
}

fn read_both(
    content: [Vec<u8>; 2],
    lead: usize,
    step: usize,
    threads: usize,
    options: SourceOptions,
) -> Result<Vec<Vec<Read>>, ReadsError> {
    within(LIMIT, move || {
        let (_folder, first, second) = two_fifos();
        write_both([first.clone(), second.clone()], content, lead, step);
        let source = ReadSource::open(&[first, second], options)?;
        assert_eq!(source.total_bytes(), None);
        collect(&source, threads)
    })
}

#[test]
fn one_writer_feeds_two_fifos() {
    const COUNT: usize = 60_000;
    let texts = || [mates(COUNT, 1).into_bytes(), mates(COUNT, 2).into_bytes()];
    for (lead, step) in [(0, 64 * 1024), (1 << 20, 64 * 1024), (usize::MAX, 1 << 20)] {
        for threads in [1, 3] {
            let files = read_both(texts(), lead, step, threads, options(30_000)).unwrap();
            assert!(files == [expected(COUNT), expected(COUNT)], "lead {lead}");
        }
    }
}

#[test]
fn compressed_fifos_are_read_too() {
    const COUNT: usize = 30_000;
    let (one, two) = (mates(COUNT, 1).into_bytes(), mates(COUNT, 2).into_bytes());
    for content in
        [[gzip(&one), zstd(&two)], [bgzf(&one, &[10_000]), two.clone()], [one.clone(), gzip(&two)]]
    {
        let files = read_both(content, 200_000, 5_000, 2, options(10_000)).unwrap();
        assert!(files == [expected(COUNT), expected(COUNT)]);
    }
}

#[test]
fn a_fifo_waits_for_its_writer() {
    let reads = within(LIMIT, || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("late");
        make_fifo(&path);
        let writer = path.clone();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            let mut file = File::options().write(true).open(writer).unwrap();
            for line in mates(50, 1).split_inclusive('\n') {
                file.write_all(line.as_bytes()).unwrap();
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let source = ReadSource::open(&[path], options(100)).unwrap();
        collect(&source, 2).unwrap().remove(0)
    });
    assert_eq!(reads, expected(50));
}

#[test]
fn a_fifo_closed_without_data_is_empty() {
    let reads = within(LIMIT, || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("empty");
        make_fifo(&path);
        let writer = path.clone();
        std::thread::spawn(move || drop(File::options().write(true).open(writer).unwrap()));
        let source = ReadSource::open(&[path], options(100)).unwrap();
        collect(&source, 1).unwrap().remove(0)
    });
    assert_eq!(reads, Vec::new());
}

/// A writer that never turns to the second FIFO ends in an error that says so: at open as long as
/// the second has given nothing, later in `fetch`.
#[test]
fn too_far_apart_is_an_error() {
    let small = || SourceOptions {
        max_skew_bytes: 200_000,
        skew_patience: Duration::from_millis(200),
        ..options(10_000)
    };
    let texts = || [mates(60_000, 1).into_bytes(), mates(60_000, 2).into_bytes()];
    let early = read_both(texts(), usize::MAX, 1000, 2, small());
    assert!(matches!(early, Err(ReadsError::Skew { .. })), "{:?}", early.err());
    let late = within(LIMIT, move || {
        let (_folder, first, second) = two_fifos();
        let paths = [first.clone(), second.clone()];
        std::thread::spawn(move || {
            let open = |path: &PathBuf| File::options().write(true).open(path).unwrap();
            let [mut first, mut second] = [open(&paths[0]), open(&paths[1])];
            let [one, two] = texts();
            for part in 0..100_000 / 10_000 {
                let range = part * 10_000..(part + 1) * 10_000;
                first.write_all(&one[range.clone()]).unwrap();
                second.write_all(&two[range]).unwrap();
            }
            let _ = first.write_all(&one[100_000..]);
        });
        let source = ReadSource::open(&[first, second], small())?;
        collect(&source, 2)
    });
    assert!(matches!(late, Err(ReadsError::Skew { .. })), "{:?}", late.err());
}

/// A pipe given as a path, as shells do for `<(command)`; its writer may be gone already.
#[test]
fn pipe_by_descriptor_path() {
    use std::os::fd::AsRawFd;
    let reads = within(LIMIT, || {
        let (reader, mut writer) = std::io::pipe().unwrap();
        writer.write_all(mates(20, 1).as_bytes()).unwrap();
        drop(writer);
        let path = PathBuf::from(format!("/dev/fd/{}", reader.as_raw_fd()));
        let source = ReadSource::open(&[path], options(100)).unwrap();
        collect(&source, 1).unwrap().remove(0)
    });
    assert_eq!(reads, expected(20));
}
