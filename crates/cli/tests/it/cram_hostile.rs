//! Damaged CRAM, and CRAM with false counters: refused with file, container and byte, and nothing
//! with a final name.

use crate::common::{folder, names_in, run, seqloom};
use crate::cram::make;
use crate::cram_input::fed;
use crate::data::{align_small, small};
use seqloom_cram::read::{ContainerHead, DEFINITION_BYTES};
use std::fs;
use std::ops::Range;
use std::path::Path;

/// Bytes of a container, and of its head.
struct Container {
    range: Range<usize>,
    head_bytes: usize,
}

/// All containers: that of the header first, the one that ends the file last.
fn containers(file: &[u8]) -> Vec<Container> {
    let (mut all, mut at) = (Vec::new(), DEFINITION_BYTES);
    while at < file.len() {
        let head = ContainerHead::parse(&file[at..]).unwrap().unwrap();
        let end = at + head.head_bytes + head.body_bytes;
        all.push(Container { range: at..end, head_bytes: head.head_bytes });
        at = end;
    }
    all
}

/// Where a number of ITF8 that begins at `at` ends.
fn after_number(file: &[u8], at: usize) -> usize {
    at + 1 + (file[at].leading_ones() as usize).min(4)
}

/// Makes the checksum right that follows `covered` and is over it.
fn set_checksum(file: &mut [u8], covered: Range<usize>) {
    let checksum = crc32fast::hash(&file[covered.clone()]);
    file[covered.end..covered.end + 4].copy_from_slice(&checksum.to_le_bytes());
}

/// The block that begins at `at`, without its checksum.
fn block(file: &[u8], at: usize) -> Range<usize> {
    let size_at = after_number(file, at + 2);
    let raw_at = after_number(file, size_at);
    let data_at = after_number(file, raw_at);
    let number = match file[size_at] {
        first @ 0..0x80 => usize::from(first),
        first @ 0x80..0xc0 => usize::from(first & 0x3f) << 8 | usize::from(file[size_at + 1]),
        _ => panic!("a block of more than 16 KiB"),
    };
    at..data_at + number
}

/// Runs `prep` of a file of these bytes, by its name and by a pipe, for one worker and three.
#[track_caller]
fn refused(here: &Path, file: &[u8], says: &[&str]) {
    let cram = here.join("bad.cram");
    fs::write(&cram, file).unwrap();
    for (input, threads) in [("bad.cram", "1"), ("bad.cram", "3"), ("-", "3")] {
        let out = here.join("out");
        fs::create_dir(&out).unwrap();
        let mut command = seqloom(["prep", input, "-t", threads, "-o", "out/x.bam", "--reference"]);
        command.arg(&small().ours).current_dir(here);
        if input == "-" {
            command = fed(&cram, &command);
        }
        let name = if input == "-" { "standard input" } else { "bad.cram" };
        let done = run(&mut command).fails_with(3).says(says);
        assert!(done.stderr.contains(name), "{}", done.stderr);
        assert_eq!(names_in(&out), [""; 0], "{}", done.stderr);
        fs::remove_dir(&out).unwrap();
    }
}

#[test]
fn damage_is_named_with_container_and_byte() {
    let here = folder();
    let good = fs::read(make(here.path(), "x.cram", &align_small(), "-t 2")).unwrap();
    let all = containers(&good);
    assert!(all.len() >= 4, "{}", all.len());
    let second = &all[2];
    let Range { start, end } = second.range;
    let place = format!("container 2, byte {start}: ");
    let refused = |file: &[u8], says: &[&str]| refused(here.path(), file, says);
    let changed = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut file = good.clone();
        change(&mut file);
        file
    };

    // Cut within a container, within its head, and between two.
    let cut = "truncated: the input ends within this container";
    for at in [end - 1, start + second.head_bytes, start + 3] {
        refused(&good[..at], &[&format!("{place}{cut}"), "--allow-truncated"]);
    }
    let missing = "truncated: the container that ends a complete file is missing";
    refused(&good[..end], &[&format!("container 3, byte {end}: {missing}")]);
    refused(&good[..DEFINITION_BYTES + 9], &["the header's container, byte 0: truncated"]);
    // Something follows.
    let last = all.last().unwrap().range.end;
    let twice = changed(&|file| file.extend_from_slice(&good));
    refused(&twice, &[&format!("byte {last}: data follow the container"), "samtools cat"]);

    // Checksums.
    let file = changed(&|file| file[start + 5] ^= 1);
    refused(&file, &[&format!("{place}the CRC of a container's header is not")]);
    let first_block = block(&good, start + second.head_bytes);
    let in_block = format!("container 2, byte {}: ", first_block.start);
    let file = changed(&|file| file[first_block.end - 1] ^= 1);
    refused(&file, &[&format!("{in_block}the CRC of a block is not"), "copy it again"]);

    // Another version.
    for (major, minor) in [(2, 1), (4, 0)] {
        let file = changed(&|file| file[4..6].copy_from_slice(&[major, minor]));
        refused(&file, &["byte 0: CRAM", &format!("{major}.{minor} is not read, 3.0 and 3.1 are")]);
    }
    // Another compressor than that of the bytes, and one that no version has.
    for (method, says, hint) in [
        (2, "bzip2 data are corrupt", "copy it again"),
        (3, "lzma data are corrupt", "copy it again"),
        (9, "method 9, which CRAM 3.1 does not have", "samtools view -u"),
    ] {
        let file = changed(&|file| {
            file[first_block.start] = method;
            set_checksum(file, first_block.clone());
        });
        refused(&file, &[&in_block, says, hint]);
    }
}

#[test]
fn counters_that_lie_are_named() {
    let here = folder();
    let good = fs::read(make(here.path(), "x.cram", &align_small(), "-t 2")).unwrap();
    let all = containers(&good);
    let second = &all[2];
    let start = second.range.start;
    let place = format!("container 2, byte {start}: ");
    // Reference, start, span, records, ...
    let mut at = start + 4;
    for _ in 0..3 {
        at = after_number(&good, at);
    }
    let records = at..after_number(&good, at);
    let head = start..start + second.head_bytes - 4;
    let changed = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut file = good.clone();
        change(&mut file);
        set_checksum(&mut file, head.clone());
        file
    };
    let one_more = changed(&|file| file[records.end - 1] ^= 1);
    refused(here.path(), &one_more, &[&place, "number of a container's records says"]);
    let none = changed(&|file| file[records.clone()].fill(0x80));
    refused(here.path(), &none, &[&place]);
    // Sizes: longer than there is, negative, and as large as can be.
    let size =
        |bytes: u32| changed(&|file| file[start..start + 4].copy_from_slice(&bytes.to_le_bytes()));
    refused(here.path(), &size(0x00ff_ffff), &[&place, "truncated: the input ends within"]);
    refused(here.path(), &size(u32::MAX), &[&place, "size is negative"]);
    refused(here.path(), &size(i32::MAX as u32), &[&place]);
    // A slice of more records than its series have, and one on a sequence that is not there.
    let compression = block(&good, start + second.head_bytes);
    let slice = block(&good, compression.end + 4);
    let data = {
        let size_at = after_number(&good, slice.start + 2);
        let raw_at = after_number(&good, size_at);
        after_number(&good, raw_at)
    };
    let in_slice = format!("container 2, byte {}: ", slice.start);
    let of_slice = |change: &dyn Fn(&mut [u8])| {
        let mut file = good.clone();
        change(&mut file[data..]);
        set_checksum(&mut file, slice.clone());
        file
    };
    let reference = of_slice(&|slice| slice[0] = 0x7f);
    refused(here.path(), &reference, &[&in_slice]);
    let mut count_at = data;
    for _ in 0..3 {
        count_at = after_number(&good, count_at);
    }
    let more = of_slice(&|slice| slice[count_at - data] |= 0x3f);
    refused(here.path(), &more, &["container 2, byte "]);
}

#[test]
fn what_is_whole_of_a_cut_file_is_read_where_that_is_allowed() {
    let here = folder();
    let good = fs::read(make(here.path(), "x.cram", &align_small(), "-t 2")).unwrap();
    let second = containers(&good)[2].range.clone();
    let out = here.path().join("out.sam");
    let reference = small().ours.display().to_string();
    let read = |bytes: &[u8], threads: &str| {
        fs::write(here.path().join("cut.cram"), bytes).unwrap();
        let mut command =
            seqloom(["prep", "--no-pg", "--allow-truncated", "-t", threads, "cut.cram"]);
        command.args(["--reference", &reference, "-o"]).arg(&out).current_dir(here.path());
        let done = run(&mut command).ok();
        (fs::read_to_string(&out).unwrap(), done.stderr)
    };
    let (whole, _) = read(&good, "1");
    for end in [second.start, second.start + 7, second.end - 1] {
        for threads in ["1", "3"] {
            let (some, says) = read(&good[..end], threads);
            assert!(whole.starts_with(&some) && some.len() < whole.len());
            assert!(some.lines().any(|line| !line.starts_with('@')));
            assert!(
                says.contains("cut.cram") && says.contains(&second.start.to_string()),
                "{says}"
            );
        }
    }
}
