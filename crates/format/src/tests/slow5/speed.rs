//! How fast whole BLOW5 records are decoded, against slow5lib on the same file in the same run.

use std::fs;

use seqloom_testkit::skip;

use super::file::File;
use super::pyslow5::slow5lib;
use crate::signal::{SignalHeader, SignalRead};
use crate::slow5::binary::{self, Frame, RecordDecoder};
use crate::slow5::{Compression, RecordCompression, SignalCompression, header};

/// Nanoseconds of CPU that this thread has had.
fn cpu_ns() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}

/// Seconds to read the file and decode all its records so many times; samples of one time.
fn decode(path: &str, times: usize) -> (f64, usize) {
    let start = cpu_ns();
    let mut samples = 0;
    for _ in 0..times {
        samples = 0;
        let bytes = fs::read(path).unwrap();
        let (header, compression, mut at) = header::parse_binary(&bytes).unwrap().unwrap();
        let mut decoder = RecordDecoder::new(compression).unwrap();
        let mut read = SignalRead::default();
        loop {
            let rest = &bytes[at..];
            let frame =
                binary::parse_frame(&rest[..rest.len().min(8)], Some(rest.len() as u64)).unwrap();
            let Frame::Record { stored_bytes } = frame else { break };
            decoder.decode(&rest[8..8 + stored_bytes], &header, &mut read).unwrap();
            samples += read.samples.len();
            at += 8 + stored_bytes;
        }
    }
    ((cpu_ns() - start) as f64 / 1e9, samples)
}

/// Real reads of the test data, without auxiliary fields: most of a record is signal anyway.
fn real_reads() -> Option<File> {
    let folder = skip::data("nanopore/slow5tools_test/raw/degrade")?;
    let mut reads = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "blow5") {
            reads.extend(File::read(&fs::read(path).unwrap()).unwrap().reads);
        }
    }
    for (number, read) in reads.iter_mut().enumerate() {
        read.read_id = number.to_string().into_bytes();
        read.read_group = 0;
        read.auxiliary.clear();
    }
    let header = SignalHeader::default();
    Some(File { header, compression: None, reads, places: Vec::new() })
}

/// Compares times: only for a machine that has some.
#[test]
#[allow(clippy::print_stderr)] // the figures
fn slow_decoding_takes_less_time_than_slow5lib() {
    if !skip::slow_tests() {
        return;
    }
    let Some(file) = real_reads() else { return };
    let folder = tempfile::tempdir().unwrap();
    for record in [RecordCompression::Zlib, RecordCompression::Zstd] {
        for signal in [SignalCompression::SvbZd, SignalCompression::ExZd] {
            let bytes = file.write(Some(Compression { record, signal }));
            let path = folder.path().join("reads.blow5").to_str().unwrap().to_owned();
            fs::write(&path, &bytes).unwrap();
            // About 200 MB of samples.
            let times = 1 + 200_000_000 / file.samples_bytes();
            let (ours, samples) = decode(&path, times);
            let Some(theirs) = slow5lib(&[format!("decode\t{path}\t{times}")]) else { return };
            let theirs: f64 = theirs.split('\t').next().unwrap().parse().unwrap();
            let ns = 1e9 * ours / (times * samples) as f64;
            let ratio = theirs / ours;
            eprintln!("{record:?} {signal:?}: {ns:.2} ns a sample, {ratio:.2} times slow5lib");
            assert!(ratio > 1.2, "{record:?} {signal:?}: {ratio}");
        }
    }
}
