//! Real files, good and bad, against samtools.

use std::path::{Path, PathBuf};

use seqloom_format::bam::Header;

use super::{AlignmentError, files, options, read, test_data};
use crate::input::alignments::AlignmentOptions;

/// Records of a file as samtools writes them, `None` where it refuses the file.
fn samtools(path: &Path) -> Option<Vec<u8>> {
    let output = seqloom_testkit::running::words("samtools")
        .args(["view", "-b", "-u", "--no-PG"])
        .arg(path)
        .output()
        .expect("samtools is installed");
    if !output.status.success() {
        return None;
    }
    let mut inflated = Vec::new();
    let mut rest = &output.stdout[..];
    let mut decompressor = seqloom_format::bgzf::BlockDecompressor::new();
    while !rest.is_empty() {
        let size = seqloom_format::bgzf::parse_block_header(rest).unwrap().block_bytes;
        decompressor.decompress(&rest[..size], &mut inflated).unwrap();
        rest = &rest[size..];
    }
    let (_, header_bytes) = Header::decode(&inflated).ok()?;
    Some(inflated.split_off(header_bytes))
}

/// Every SAM and BAM file of the test data, directories of that name left out.
fn inputs(folder: &Path) -> Vec<PathBuf> {
    let mut paths = files(folder, ".bam");
    paths.extend(files(folder, ".sam"));
    paths.retain(|path| path.is_file());
    paths
}

/// Path below `folder`.
fn below<'a>(path: &'a Path, folder: &Path) -> &'a str {
    path.strip_prefix(folder).unwrap().to_str().unwrap()
}

/// Good for samtools, refused here: CIGAR operation B, which no specification has; a reference
/// that the header does not have (samtools makes the read unmapped); an empty field in a header;
/// the name `chr1,chr3` of a sequence.
const REFUSED: [&str; 6] = [
    "htslib_test/colons.bam",
    "samtools_test/dat/view.003.expected.sam",
    "samtools_test/dat/view.003.sam",
    "samtools_test/merge/merge.bed.1.sam",
    "samtools_test/merge/merge.bed.2.sam",
    "samtools_test/mpileup/1read.sam",
];

#[test]
fn real_files_are_read_as_samtools_reads_them() {
    let Some(folder) = test_data() else { return };
    let (mut compared, mut bytes) = (0, 0);
    for path in inputs(&folder) {
        let name = below(&path, &folder);
        if name.contains("/failed/") {
            continue;
        }
        let theirs = samtools(&path);
        // Small enough for several chunks of a small file.
        for (block_bytes, threads) in [(1 << 20, 1), (4_000, 3)] {
            let options = AlignmentOptions { allow_truncated: true, ..options(block_bytes) };
            match (read(&path, options, threads), &theirs) {
                (Ok(ours), Some(theirs)) => {
                    assert!(&ours.bytes == theirs, "{name} differs");
                    compared += 1;
                    bytes += theirs.len();
                }
                (Ok(_), None) => panic!("samtools refuses {name}"),
                (Err(error), None) => assert!(error.to_string().contains(name), "{error}"),
                (Err(error), Some(_)) => assert!(REFUSED.contains(&name), "{error}"),
            }
        }
    }
    println!("{compared} readings, {bytes} bytes compared");
    assert!(compared > 1000, "{compared}");
}

/// Files of the specification's `failed/` that are accepted, as samtools 1.24 accepts them: headers
/// whose values nobody here reads, tags that are printable but not letter and digit, a field that
/// occurs twice, `nan` and `inf`.
const ACCEPTED: &str = "aux.fail-H2 aux.fail-f3 aux.fail-format4 aux.fail-tag hdr.HD1 hdr.HD2 \
     hdr.HD3 hdr.HD4 hdr.HD5 hdr.HD6 hdr.PG1 hdr.PG3 hdr.RG2 hdr.RG3 hdr.RG4 \
     hdr.RG5 hdr.SQ10 hdr.SQ11 hdr.SQ12 hdr.SQ13 hdr.SQ4 \
     hdr.SQ6 hdr.SQ9";

#[test]
fn files_that_should_fail_do() {
    let Some(folder) = test_data() else { return };
    let folder = folder.join("hts-specs_test/sam");
    let mut accepted = Vec::new();
    let mut refused = 0;
    for path in inputs(&folder.join("failed")) {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let Err(error) = read(&path, options(1 << 20), 1) else {
            assert!(samtools(&path).is_some(), "{name}");
            accepted.push(name.trim_end_matches(".sam").to_owned());
            continue;
        };
        let text = error.to_string();
        assert!(text.contains(path.to_str().unwrap()), "{text}");
        match error {
            AlignmentError::Malformed(error) => assert!(error.record > 0),
            AlignmentError::Header { .. } => assert!(text.contains("header line"), "{text}"),
            other => panic!("{other}"),
        }
        refused += 1;
    }
    assert_eq!(accepted.join(" "), ACCEPTED);
    assert!(refused > 50, "{refused}");
    for path in inputs(&folder.join("passed")) {
        read(&path, options(100), 2).unwrap();
    }
}

/// samtools' own bad files, and what is wrong with them.
#[test]
fn malformed_files_of_samtools_are_named() {
    let Some(folder) = test_data() else { return };
    for (name, expected) in [
        ("quickcheck/1.quickcheck.badeof.bam", "empty BGZF block"),
        ("quickcheck/2.quickcheck.badheader.bam", "byte 18 of the compressed file"),
    ] {
        let path = folder.join("samtools_test").join(name);
        let error = read(&path, options(1 << 20), 1).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains(name), "{error}");
    }
}

/// Long reads and single blocks: every cut of a few real files, by one to eight threads.
#[test]
fn real_files_are_read_alike_however_they_are_cut() {
    let Some(folder) = test_data() else { return };
    for name in [
        "nf-cmgg/Sample1.bam",
        "hts-specs_test/bam/passed/level-1.bam",
        "picard_2.27.5_expected/NA12878.20.21.unmapped.orig.md.bam",
        "htslib_test/range.bam",
    ] {
        let path = folder.join(name);
        let whole = read(&path, options(1 << 22), 1).unwrap();
        assert_eq!(Some(&whole.bytes), samtools(&path).as_ref());
        for (block_bytes, threads) in [(600, 8), (10_000, 2), (65_536, 3), (300_000, 5)] {
            let cut = read(&path, options(block_bytes), threads).unwrap();
            assert!(cut.bytes == whole.bytes, "{name} {block_bytes}");
            println!("{name} {block_bytes}: {} blocks read again", cut.reread_blocks);
        }
    }
}
