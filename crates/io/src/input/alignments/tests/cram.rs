//! CRAM, of which the bytes are made here: files, slow pipes, containers to start at, cuts.

use std::collections::HashMap;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::time::Duration;

use seqloom_cram::read::{ContainerHead, ContainerPlace, DEFINITION_BYTES};
use seqloom_cram::{EOF_CONTAINER, Encoder, Numbering, Referred, Settings, Version, file_start};
use seqloom_format::bam::{RecordRef, framed_records};

use super::synthetic::record;
use super::{collect, fetch_all, file, options, read};
use crate::alignment_index::RecordStart;
use crate::input::alignments::{
    AlignmentError, AlignmentFormat, AlignmentOptions, AlignmentSource,
};

const HEADER: &str = "@HD\tVN:1.6\tSO:unsorted\n@SQ\tSN:c\tLN:1000\n@RG\tID:g\tSM:s\n";

/// Framed records, and the CRAM of them with `of_container` records in a container.
fn written(records: usize, of_container: usize) -> (Vec<u8>, Vec<u8>) {
    let text: Vec<u8> =
        (0..records).flat_map(|at| record(&format!("r{at}"), 40 + at % 30, b"")).collect();
    let mut cram = file_start(Version::V30, HEADER.as_bytes()).unwrap();
    let groups = HashMap::from([(b"g".to_vec(), 0)]);
    let sequences = vec![vec![b'A'; 1000]];
    let referred = Referred { sequences: &sequences, read_groups: &groups };
    let mut encoder = Encoder::new(
        Settings { version: Version::V30, level: 6, keeps_mismatch_tags: false },
        referred,
    );
    let mut containers = Vec::new();
    for (at, body) in framed_records(&text).enumerate() {
        encoder.push(&RecordRef::new(body.unwrap()).unwrap(), None, &mut containers).unwrap();
        if (at + 1) % of_container == 0 {
            encoder.finish_unit(&mut containers).unwrap();
        }
    }
    encoder.finish_unit(&mut containers).unwrap();
    let mut numbering = Numbering::new(false);
    for container in &containers {
        let offset = cram.len() as u64;
        numbering.push(container, offset, &mut cram);
    }
    cram.extend_from_slice(&EOF_CONTAINER);
    (text, cram)
}

/// Where containers begin, that of the header and that of the end included.
fn starts(cram: &[u8]) -> Vec<usize> {
    let (mut starts, mut at) = (Vec::new(), DEFINITION_BYTES);
    while at < cram.len() {
        starts.push(at);
        let head = ContainerHead::parse(&cram[at..]).unwrap().unwrap();
        at += head.head_bytes + head.body_bytes;
    }
    starts
}

#[test]
fn files_and_slow_pipes_give_the_records() {
    for (records, of_container) in [(0, 1), (1, 1), (900, 7), (2_000, 2_000)] {
        let (text, cram) = written(records, of_container);
        let file = file(&cram);
        for threads in [1, 3] {
            let stream = read(&file.path, options(1 << 20), threads).unwrap();
            assert!(stream.bytes == text, "{records} {of_container}");
            assert_eq!(stream.records, records as u64);
        }
        let (reader, mut writer) = std::io::pipe().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for part in cram.chunks(1_009) {
                    writer.write_all(part).unwrap();
                    std::thread::sleep(Duration::from_millis(1));
                }
            });
            let path = PathBuf::from(format!("/proc/self/fd/{}", reader.as_raw_fd()));
            let source = AlignmentSource::open(&[path], options(20_000)).unwrap();
            assert_eq!(source.format(0), AlignmentFormat::Cram);
            assert!(!source.can_start_anywhere(0) && !source.needs_reference(0));
            assert!(collect(&source, 3).unwrap().remove(0).bytes == text);
        });
    }
}

#[test]
fn a_file_is_read_from_any_container_on_or_not_at_all() {
    let (text, cram) = written(300, 100);
    let starts = starts(&cram);
    assert_eq!(starts.len(), 5);
    let file = file(&cram);
    let third: usize = framed_records(&text).take(200).map(|it| it.unwrap().len() + 4).sum();
    let from = |start: Option<(u64, u64)>| {
        let mut source =
            AlignmentSource::open(std::slice::from_ref(&file.path), options(1 << 20)).unwrap();
        assert!(source.can_start_anywhere(0));
        let place = |(byte, before)| RecordStart::Container(ContainerPlace { byte, before });
        source.start_at(0, start.map(place))?;
        Ok::<_, AlignmentError>(collect(&source, 2)?.remove(0))
    };
    assert!(from(Some((starts[3] as u64, 2))).unwrap().bytes == text[third..]);
    let none = from(None).unwrap();
    assert!(none.bytes.is_empty() && !none.is_truncated);
    let after = from(Some((cram.len() as u64, 3))).unwrap_err().to_string();
    assert!(after.contains("container 4") && after.contains("another file"), "{after}");
    let within = from(Some((starts[3] as u64 + 1, 2))).unwrap_err().to_string();
    assert!(within.contains(&format!("container 3, byte {}", starts[3] + 1)), "{within}");
}

#[test]
fn every_cut_is_found_and_what_is_before_it_is_there() {
    let (text, cram) = written(40, 10);
    let starts = starts(&cram);
    for cut in (starts[1]..cram.len()).step_by(3) {
        let file = file(&cram[..cut]);
        let error = read(&file.path, options(1 << 20), 2).unwrap_err().to_string();
        let container = starts.partition_point(|&start| start <= cut) - 1;
        let place = format!("container {container}, byte {}: truncated", starts[container]);
        assert!(error.contains(&place), "{cut} {error}");
        let allowed = AlignmentOptions { allow_truncated: true, ..options(1 << 20) };
        let stream = read(&file.path, allowed, 2).unwrap();
        assert_eq!(stream.records, 10 * (container as u64 - 1).min(4));
        assert!(stream.is_truncated && text.starts_with(&stream.bytes));
    }
}

#[test]
fn a_container_larger_than_allowed_is_refused_unless_the_first_is_alike() {
    let (text, cram) = written(400, 200);
    let limited = AlignmentOptions { max_container_bytes: 1, ..options(1 << 20) };
    let alike = file(&cram);
    assert!(read(&alike.path, limited, 1).unwrap().bytes == text);
    let (_, small) = written(1, 1);
    let first = &small[..small.len() - EOF_CONTAINER.len()];
    let starts = starts(&cram);
    let mixed = file(&[first, &cram[starts[1]..]].concat());
    let limited = AlignmentOptions { max_container_bytes: 20_000, ..options(1 << 20) };
    let error = read(&mixed.path, limited, 1).unwrap_err().to_string();
    assert!(error.contains("container 2") && error.contains("20000 bytes"), "{error}");
    let source =
        AlignmentSource::open(std::slice::from_ref(&mixed.path), options(1 << 20)).unwrap();
    assert_eq!(fetch_all(&source, 1).unwrap().len(), 4);
}
