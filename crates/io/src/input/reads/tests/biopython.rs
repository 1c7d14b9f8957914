//! Biopython's FASTQ collection (Tests/Quality): every bad file is refused by the number and name
//! of its record, every good one reads as Biopython reads it. And sets with other offsets.

use std::path::PathBuf;

use super::{Read, bgzf, file, gzip, malformed, options, read_file, test_data};
use crate::input::malformed::Malformed;
use crate::input::reads::{ReadsError, SourceOptions};

const FOLDER: &str = "fastq_edge/biopython/Quality";

/// File, record, line, name, and a part of the message.
const BAD: &[(&str, u64, u64, Option<&str>, &str)] = &[
    ("error_diff_ids", 3, 11, Some("SLXA-B3_649_FC8437_R1_1_1_850_123"), "another name"),
    ("error_double_qual", 4, 13, None, "should start with '@', not with '+'"),
    ("error_double_seq", 4, 15, Some("SLXA-B3_649_FC8437_R1_1_1_362_549"), "'+', not '@'"),
    ("error_long_qual", 4, 16, Some("SLXA-B3_649_FC8437_R1_1_1_362_549"), "25 bases but 26"),
    ("error_no_qual", 1, 4, Some("SLXA-B3_649_FC8437_R1_1_1_610_79"), "25 bases but 0"),
    ("error_qual_del", 4, 16, Some("SLXA-B3_649_FC8437_R1_1_1_362_549"), "byte 0x7f among the q"),
    ("error_qual_escape", 5, 20, Some("SLXA-B3_649_FC8437_R1_1_1_183_714"), "byte 0x1b among"),
    ("error_qual_null", 1, 4, Some("SLXA-B3_649_FC8437_R1_1_1_850_123"), "byte 0x00 among"),
    ("error_qual_space", 4, 16, Some("SLXA-B3_649_FC8437_R1_1_1_362_549"), "a space among"),
    ("error_qual_tab", 5, 20, Some("SLXA-B3_649_FC8437_R1_1_1_183_714"), "a tab among"),
    ("error_qual_unit_sep", 3, 12, Some("SLXA-B3_649_FC8437_R1_1_1_850_123"), "byte 0x1f"),
    ("error_qual_vtab", 1, 4, Some("SLXA-B3_649_FC8437_R1_1_1_610_79"), "byte 0x0b"),
    ("error_short_qual", 3, 12, Some("SLXA-B3_649_FC8437_R1_1_1_850_123"), "25 bases but 24"),
    ("error_spaces", 1, 2, Some("SLXA-B3_649_FC8437_R1_1_1_610_79"), "a space among the bases"),
    ("error_tabs", 1, 2, Some("SLXA-B3_649_FC8437_R1_1_1_610_79"), "a tab among the bases"),
    ("error_trunc_at_plus", 5, 19, Some("SLXA-B3_649_FC8437_R1_1_1_183_714"), "an empty line"),
    ("error_trunc_at_qual", 5, 20, Some("SLXA-B3_649_FC8437_R1_1_1_183_714"), "ends within"),
    ("error_trunc_at_seq", 5, 19, Some("SLXA-B3_649_FC8437_R1_1_1_183_714"), "ends within"),
    ("error_trunc_in_plus", 5, 19, Some("SLXA-B3_649_FC8437_R1_1_1_183_714"), "ends within"),
    ("error_trunc_in_qual", 5, 20, Some("SLXA-B3_649_FC8437_R1_1_1_183_714"), "25 bases but 24"),
    ("error_trunc_in_seq", 5, 18, Some("SLXA-B3_649_FC8437_R1_1_1_183_714"), "ends within"),
    ("error_trunc_in_title", 5, 17, Some("SLXA-B3_649_FC8437_R1_1_1_"), "ends within"),
];

/// Files whose qualities have offset 64 and are seen to. The others of that kind (the full range up
/// to `~`; 125 bases of 48 to 56) are such as Phred+33 can have too: no reader can decide.
const OFFSET_64: &[&str] = &[
    "illumina_faked",
    "longreads_as_illumina",
    "longreads_as_solexa",
    "misc_dna_as_illumina",
    "misc_dna_as_solexa",
    "misc_rna_as_illumina",
    "misc_rna_as_solexa",
    "solexa_faked",
    "wrapping_as_illumina",
    "wrapping_as_solexa",
];

fn phred33() -> SourceOptions {
    SourceOptions { assume_phred33: true, ..options(100) }
}

#[test]
fn every_bad_file_is_refused_by_record() {
    let Some(folder) = test_data(FOLDER) else { return };
    for &(name, record, line, read, problem) in BAD {
        let path = folder.join(format!("{name}.fastq"));
        let bytes = std::fs::read(&path).unwrap();
        for content in [bytes.clone(), gzip(&bytes), bgzf(&bytes, &[50])] {
            let held = file(&content);
            for block_bytes in [1, 30, 1 << 16] {
                let found = malformed(read_file(&held.path, options(block_bytes), 2));
                let Malformed { name: found_name, problem: found_problem, .. } = &found;
                assert_eq!(found.record, record, "{name}: {found}");
                assert_eq!(found.place().line, Some(line), "{name}: {found}");
                assert_eq!(found_name.as_deref(), read, "{name}: {found}");
                assert!(found_problem.contains(problem), "{name}: {found}");
            }
        }
    }
    let bad = names(&folder).into_iter().filter(|name| name.starts_with("error_")).count();
    assert_eq!(bad, BAD.len(), "every error_* file is in the table");
}

#[test]
fn every_good_file_reads_as_biopython_reads_it() {
    let Some(folder) = test_data(FOLDER) else { return };
    let mut count = 0;
    for name in names(&folder).iter().filter(|name| !name.starts_with("error_")) {
        let path = folder.join(format!("{name}.fastq"));
        let text = String::from_utf8(std::fs::read(&path).unwrap()).unwrap();
        let expected = plain_reader(&text);
        assert_eq!(read_file(&path, phred33(), 2).unwrap(), expected, "{name}");
        let held = file(&gzip(text.as_bytes()));
        assert_eq!(read_file(&held.path, phred33(), 1).unwrap(), expected, "{name} gzip");
        count += 1;
    }
    assert_eq!(count, 37);
    for compressed in ["example.fastq.gz", "example.fastq.bgz", "example_dos.fastq.bgz"] {
        let expected = read_file(&folder.join("example.fastq"), phred33(), 1).unwrap();
        assert_eq!(read_file(&folder.join(compressed), phred33(), 1).unwrap(), expected);
    }
}

#[test]
fn offset_64_is_refused_and_offset_33_never() {
    let Some(folder) = test_data(FOLDER) else { return };
    for name in names(&folder).iter().filter(|name| !name.starts_with("error_")) {
        let result = read_file(&folder.join(format!("{name}.fastq")), options(4096), 1);
        match OFFSET_64.contains(&name.as_str()) {
            true => assert!(matches!(result, Err(ReadsError::PhredOffset { .. })), "{name}"),
            false => assert!(result.is_ok(), "{name}: {:?}", result.err()),
        }
    }
}

#[test]
fn real_sets_are_distinguished() {
    let Some(folder) = test_data("reads") else { return };
    let open = |name: &str| read_file(&folder.join(name), options(1 << 16), 2);
    let refused = open("adapterremoval/reads_q64.fq.gz");
    assert!(matches!(refused, Err(ReadsError::PhredOffset { encoding: "Phred+64", .. })));
    for name in ["reads_1", "reads_2", "demux_1", "demux_2", "mixed_1", "mixed_2", "interleaved"] {
        assert!(open(&format!("adapterremoval/{name}.fq.gz")).is_ok(), "{name}");
    }
}

/// Stems of the FASTQ files in `folder`.
fn names(folder: &PathBuf) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .filter_map(|entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            name.strip_suffix(".fastq").map(String::from)
        })
        .collect();
    names.sort();
    names
}

/// As Biopython's `FastqGeneralIterator`, without its checks: lines, one after the other.
fn plain_reader(text: &str) -> Vec<Read> {
    let mut lines = text.lines().map(|line| line.trim_end_matches('\r')).peekable();
    let mut reads = Vec::new();
    while let Some(title) = lines.next() {
        let (name, comment) = title[1..].split_once([' ', '\t']).unwrap_or((&title[1..], ""));
        let mut bases = String::new();
        while !lines.peek().unwrap().starts_with('+') {
            bases += lines.next().unwrap();
        }
        lines.next();
        let mut qualities = lines.next().unwrap_or("").to_string();
        while qualities.len() < bases.len() {
            qualities += lines.next().unwrap();
        }
        let extra = comment.as_bytes().to_vec();
        let name = name.strip_suffix("/1").unwrap_or(name).to_string();
        reads.push(Read { name, bases, qualities, extra });
    }
    reads
}

/// samtools makes unaligned BAM of a pair of files; it must read as the files do.
#[test]
fn unaligned_bam_of_samtools_reads_as_the_fastq_it_was_made_of() {
    let Some(folder) = test_data("reads/bowtie2_lambda") else { return };
    let [first, second] = ["reads_1.fq.gz", "reads_2.fq.gz"].map(|name| folder.join(name));
    let scratch = tempfile::tempdir().unwrap();
    let bam = scratch.path().join("unaligned");
    let status = seqloom_testkit::running::words("samtools")
        .args(["import", "-O", "bam", "-R", "g", "-1"])
        .args([&first, &PathBuf::from("-2"), &second, &PathBuf::from("-o"), &bam])
        .status()
        .unwrap();
    assert!(status.success());
    let plain = SourceOptions { block_bytes: 30_000, ..SourceOptions::default() };
    let mates = [first, second].map(|path| read_file(&path, plain.clone(), 2).unwrap());
    let interleaved = mates[0].iter().zip(&mates[1]).flat_map(|(one, two)| [one, two]);
    let reads = read_file(&bam, plain, 2).unwrap();
    assert_eq!(reads.len(), 2 * mates[0].len());
    for (read, expected) in reads.iter().zip(interleaved) {
        assert_eq!(read.extra, b"RGZg\0");
        assert_eq!(&Read { extra: Vec::new(), ..read.clone() }, expected);
    }
}
