//! Real files, good and bad, against samtools.

use std::path::{Path, PathBuf};
use std::process::Command;

use seqloom_format::bam::Header;

use super::{files, options, read, test_data};
use crate::alignments::AlignmentOptions;

/// Records of a file as samtools writes them, `None` where it refuses the file.
fn samtools(path: &Path) -> Option<Vec<u8>> {
    let output = Command::new("samtools")
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
/// that the header does not have (samtools makes the read unmapped); an empty field in a header.
const REFUSED: [&str; 5] = [
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
        // Small enough for several stretches of a small file.
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
