//! CRAM output: what samtools reads of it, the same bytes however it is made, and what is refused.

use crate::common::{assert_same_bytes, folder, run, run_into, seqloom, words};
use crate::data::{align_small, small};
use crate::prep::{hard, prep_into};
use seqloom_testkit::referees::{self, SAMTOOLS};
use seqloom_testkit::skip;
use std::fs;
use std::path::{Path, PathBuf};

/// What reading back may change, in records.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    /// NM or MD that a record did not have: samtools makes them of every mapped record.
    pub(crate) made_tags: usize,
    /// `=` and `X` of CIGARs, which become `M`; operations of one kind in a row, which become one.
    pub(crate) cigars: usize,
    /// CIGAR and MAPQ of unmapped records, which are lost, and the mates' reference of reads that
    /// are not paired.
    pub(crate) unmapped: usize,
}

impl Changes {
    /// Changes the fields of a record of a CRAM, and those of the BAM that it was made of, to what
    /// both have, and counts what that is; their tags are in order.
    pub(crate) fn expect(&mut self, read: &mut Vec<String>, expected: &mut [String]) {
        let has = |tag: &str| expected[11..].iter().any(|it| it.starts_with(tag));
        let (nm, md, count) = (has("NM:"), has("MD:"), read.len());
        read.retain(|it| (nm || !it.starts_with("NM:")) && (md || !it.starts_with("MD:")));
        self.made_tags += usize::from(read.len() < count);
        let flags: u16 = expected[1].parse().unwrap();
        let before = expected.to_vec();
        if flags & 4 != 0 {
            (expected[4], expected[5]) = ("0".to_owned(), "*".to_owned());
        }
        if flags & 1 == 0 {
            expected[6] = "*".to_owned();
            read[6] = "*".to_owned();
        }
        self.unmapped += usize::from(before != expected);
        let cigar = merged_cigar(&expected[5]);
        self.cigars += usize::from(cigar != expected[5]);
        expected[5] = cigar;
    }
}

/// Records as a release of samtools reads them, tags in order.
pub(crate) fn records(samtools: &Path, file: &Path, fasta: &Path) -> Vec<Vec<String>> {
    let mut command = words(&samtools.display().to_string());
    let read = run(command.args(["view", "-T"]).arg(fasta).arg(file)).ok();
    assert!(read.stderr.is_empty(), "{}", read.stderr);
    let fields = |line: &str| {
        let mut fields: Vec<String> = line.split('\t').map(str::to_owned).collect();
        let tags = fields.len().min(11);
        fields[tags..].sort_unstable();
        fields
    };
    read.text().lines().map(fields).collect()
}

/// A CIGAR as CRAM gives it back.
fn merged_cigar(cigar: &str) -> String {
    let (mut merged, mut length, mut open) = (String::new(), 0_u64, (0_u64, ' '));
    for letter in cigar.chars() {
        if let Some(digit) = letter.to_digit(10) {
            length = 10 * length + u64::from(digit);
            continue;
        }
        let letter = if matches!(letter, '=' | 'X') { 'M' } else { letter };
        if letter == open.1 {
            open.0 += length;
        } else {
            if open.0 > 0 {
                merged += &format!("{}{}", open.0, open.1);
            }
            open = (length, letter);
        }
        length = 0;
    }
    if open.0 > 0 { merged + &format!("{}{}", open.0, open.1) } else { cigar.to_owned() }
}

/// Compares a CRAM with the BAM of the same records, and, where samtools writes one of that BAM,
/// with that CRAM.
#[track_caller]
fn compare(cram: &Path, bam: &Path, fasta: &Path) -> Changes {
    let mut changes = Changes::default();
    for version in SAMTOOLS {
        let Some(samtools) = referees::find("samtools", version) else { continue };
        let (read, expected) = (records(&samtools, cram, fasta), records(&samtools, bam, fasta));
        assert_eq!(read.len(), expected.len());
        let theirs = cram.with_extension("theirs.cram");
        let mut write = words(&samtools.display().to_string());
        run(write.args(["view", "-C", "-T"]).arg(fasta).arg("-o").arg(&theirs).arg(bam)).ok();
        assert!(read == records(&samtools, &theirs, fasta), "{version}: not as of samtools' CRAM");
        changes = Changes::default();
        for (mut read, mut expected) in read.into_iter().zip(expected) {
            changes.expect(&mut read, &mut expected);
            assert_eq!(read, expected, "{version}");
        }
        let mut check = words(&samtools.display().to_string());
        run(check.arg("quickcheck").arg(cram)).ok();
        referees::compared(&referees::name_of(&samtools), 2);
    }
    changes
}

/// The index next to a CRAM is as samtools makes it.
fn check_index(cram: &Path) {
    let lines = |path: &Path| run(words("gzip -dc -S .crai").arg(path)).ok().text();
    let ours = cram.with_extension("cram.crai");
    for version in SAMTOOLS {
        let Some(samtools) = referees::find("samtools", version) else { continue };
        let theirs = cram.with_extension("theirs.crai");
        let mut index = words(&samtools.display().to_string());
        run(index.arg("index").arg(cram).arg(&theirs)).ok();
        assert_eq!(lines(&ours), lines(&theirs));
    }
}

/// Makes `folder/name` by a command without @PG, and nothing that depends on the call.
pub(crate) fn make(folder: &Path, name: &str, base: &[String], options: &str) -> PathBuf {
    let out = folder.join(name);
    let mut command = seqloom(base);
    run(command.args(["--no-pg", "-o"]).arg(&out).args(options.split_whitespace())).ok();
    out
}

#[test]
fn aligned_reads_are_the_records_of_the_bam() {
    let here = folder();
    let base = align_small();
    let bam = make(here.path(), "x.bam", &base, "-t 2");
    let cram = make(here.path(), "x.cram", &base, "-t 2");
    assert_eq!(compare(&cram, &bam, &small().ours), Changes::default());
    check_index(&cram);
    let size = |path: &Path| fs::metadata(path).unwrap().len();
    assert!(size(&cram) < size(&bam));
    assert!(!here.path().join("x.cram.bai").exists());
}

#[test]
fn version_3_1_has_the_same_records_in_fewer_bytes() {
    let here = folder();
    let base = align_small();
    let bam = make(here.path(), "x.bam", &base, "-t 2");
    let older = make(here.path(), "3.0.cram", &base, "-t 2 --cram-version 3.0");
    let usual = make(here.path(), "usual.cram", &base, "-t 2");
    assert_same_bytes(&older, &usual, "3.0");
    let cram = make(here.path(), "x.cram", &base, "-t 2 --cram-version 3.1");
    assert_eq!(fs::read(&cram).unwrap()[..6], *b"CRAM\x03\x01");
    assert_eq!(compare(&cram, &bam, &small().ours), Changes::default());
    check_index(&cram);
    let size = |path: &Path| fs::metadata(path).unwrap().len();
    assert!(size(&cram) < size(&older), "{} and {}", size(&cram), size(&older));
    for options in ["-t 1", "-t 7 -l 6"] {
        let other =
            make(here.path(), "other.cram", &base, &format!("{options} --cram-version 3.1"));
        assert_same_bytes(&cram, &other, options);
    }
    // It is read back as it was, and written again.
    let again = here.path().join("again.cram");
    let reference = small().ours.display();
    let options = format!("--sort coordinate --reference {reference} --cram-version 3.1");
    prep_into(&again, &[&cram], &options).ok();
    assert_same_bytes(&cram, &again, "again");
    for level in [0, 1, 3, 9] {
        let other = format!("-t 2 --cram-version 3.1 -l {level}");
        let other = make(here.path(), "level.cram", &base, &other);
        assert_eq!(compare(&other, &bam, &small().ours), Changes::default());
    }
}

#[test]
fn bytes_are_the_same_for_all_threads_and_ways() {
    let here = folder();
    let base = align_small();
    let one = make(here.path(), "1.cram", &base, "-t 1");
    let index = |cram: &Path| cram.with_extension("cram.crai");
    let same = |other: &Path, what: &str| {
        assert_same_bytes(&one, other, what);
        assert_same_bytes(&index(&one), &index(other), what);
    };
    for options in ["-t 2", "-t 7 -m 1500M", "-t 64 -m 9G"] {
        same(&make(here.path(), "more.cram", &base, options), options);
    }
    // By its format and not by its name, and to a pipe, which has no index.
    let named = make(here.path(), "named", &base, "-t 2 --output-format cram");
    assert_same_bytes(&one, &named, "by format");
    let piped = here.path().join("piped");
    let mut command = seqloom(&base);
    run_into(command.args(["--no-pg", "--output-format", "cram", "-o", "-"]), &piped).ok();
    assert_same_bytes(&one, &piped, "to a pipe");
    assert!(!here.path().join("piped.crai").exists());
    // prep of the same records.
    let bam = make(here.path(), "x.bam", &base, "-t 2");
    let reference = small().ours.display().to_string();
    let options = |more: &str| format!("--sort coordinate --reference {reference} {more}");
    let by_prep = |name: &str, more: &str| {
        let out = here.path().join(name);
        prep_into(&out, &[&bam], &options(more)).ok();
        same(&out, more);
    };
    by_prep("p1.cram", "-t 1");
    by_prep("p7.cram", "-t 7 -m 600M");
    by_prep("p64.cram", "-t 64 -m 9G");
    by_prep("steps.cram", "-t 2 --resume --resume-step 1M");
}

#[test]
fn hard_records_come_back_but_for_what_is_listed() {
    let here = folder();
    let hard = hard(here.path(), 5, 4_000, 4);
    let fasta = here.path().join("ref.fa");
    let mut text = String::new();
    for line in crate::prep::header(&hard.grouped).lines().filter(|it| it.starts_with("@SQ")) {
        let field = |name: &str| line.split(name).nth(1).unwrap().split('\t').next().unwrap();
        let length: usize = field("LN:").parse().unwrap();
        text +=
            &format!(">{}\n{}\n", field("SN:"), "acgtN".repeat(length / 5 + 1).split_at(length).0);
    }
    fs::write(&fasta, text).unwrap();
    for order in ["coordinate", "queryname", "keep"] {
        let options = format!("--clean-sam --sort {order} --reference {}", fasta.display());
        let (bam, cram) = (here.path().join("x.bam"), here.path().join("x.cram"));
        prep_into(&bam, &[&hard.grouped], &options).ok();
        prep_into(&cram, &[&hard.grouped], &options).ok();
        let changes = compare(&cram, &bam, &fasta);
        assert!(changes.made_tags > 0, "{changes:?}");
        assert_eq!(cram.with_extension("cram.crai").exists(), order == "coordinate");
        // With the tags kept nothing else changes.
        prep_into(&cram, &[&hard.grouped], &format!("{options} --cram-keep-md -l 1")).ok();
        assert_eq!(compare(&cram, &bam, &fasta), changes);
    }
}

#[test]
fn real_reads_come_back() {
    let file = "bam/htsjdk_testdata/samtools/cram/NA12878.20.21.unmapped.orig.bam";
    let gz = "refs/human_b37/chr20.b37.fa.gz";
    let (Some(original), Some(gz)) = (skip::data(file), skip::data(gz)) else { return };
    let here = folder();
    let fasta = here.path().join("20.fa");
    run_into(words("gzip -dc").arg(gz), &fasta).ok();
    let dictionary = here.path().join("x.dict");
    let sequence = crate::prep::header(&original);
    let sequence = sequence.lines().find(|line| line.contains("SN:20\t")).unwrap();
    fs::write(&dictionary, format!("@HD\tVN:1.6\n{sequence}\n")).unwrap();
    let (reference, dictionary) = (fasta.display(), dictionary.display());
    let options =
        format!("--reference-dict {dictionary} --reference {reference} --sort coordinate");
    let (bam, cram) = (here.path().join("x.bam"), here.path().join("x.cram"));
    prep_into(&bam, &[&original], &options).ok();
    prep_into(&cram, &[&original], &options).ok();
    let changes = compare(&cram, &bam, &fasta);
    assert_eq!(changes.cigars, 0);
    check_index(&cram);
}

/// A reference for real reads whose own is not at hand: the bases that they have where they are
/// aligned, N elsewhere.
fn reference_of(bam: &Path, fasta: &Path) {
    let header = crate::prep::header(bam);
    let field = |line: &str, tag: &str| {
        let value = line.split('\t').find_map(|field| field.strip_prefix(tag));
        value.unwrap().to_owned()
    };
    let mut sequences: Vec<(String, Vec<u8>)> = header
        .lines()
        .filter(|line| line.starts_with("@SQ"))
        .map(|line| (field(line, "SN:"), vec![b'N'; field(line, "LN:").parse().unwrap()]))
        .collect();
    for line in crate::prep::lines(bam) {
        let fields: Vec<&str> = line.split('\t').collect();
        let name = fields[2];
        let Some((_, bases)) = sequences.iter_mut().find(|it| it.0 == name) else { continue };
        let (mut at, mut read) = (fields[3].parse::<usize>().unwrap() - 1, 0);
        let operations = fields[5].split_inclusive(|letter: char| letter.is_ascii_alphabetic());
        for operation in operations.filter(|it| *it != "*") {
            let (count, letter) = operation.split_at(operation.len() - 1);
            let count: usize = count.parse().unwrap();
            if letter == "M" {
                bases[at..at + count].copy_from_slice(&fields[9].as_bytes()[read..read + count]);
            }
            at += if matches!(letter, "M" | "D" | "N") { count } else { 0 };
            read += if matches!(letter, "M" | "I" | "S") { count } else { 0 };
        }
    }
    let text = |(name, bases): &(String, Vec<u8>)| [b">", name.as_bytes(), b"\n", bases].concat();
    fs::write(fasta, sequences.iter().map(text).collect::<Vec<_>>().join(&b'\n')).unwrap();
}

#[test]
fn panels_come_back() {
    let samples = if skip::slow_tests() { 1..=5 } else { 4..=4 };
    for sample in samples {
        let Some(original) = skip::data(&format!("bam/nf-cmgg/Sample{sample}.bam")) else { return };
        let here = folder();
        let [fasta, bam] = ["x.fa", "x.bam"].map(|name| here.path().join(name));
        reference_of(&original, &fasta);
        prep_into(&bam, &[&original], "--sort coordinate -l 0").ok();
        for version in ["3.0", "3.1"] {
            let cram = here.path().join(format!("{version}.cram"));
            let options = format!("--reference {} --cram-version {version}", fasta.display());
            prep_into(&cram, &[&original], &format!("--sort coordinate {options}")).ok();
            assert_eq!(compare(&cram, &bam, &fasta).cigars, 0);
            check_index(&cram);
        }
    }
}

#[test]
fn what_cram_cannot_be_is_refused_before_anything_is_written() {
    let here = folder();
    let path = |name: &str| here.path().join(name);
    fs::write(path("in.sam"), "@SQ\tSN:c\tLN:8\nr\t0\tc\t1\t9\t4M\t*\t0\t0\tACGT\t*\n").unwrap();
    fs::write(path("ref.fa"), ">c\nACGTACGT\n").unwrap();
    fs::write(path("short.fa"), ">c\nACGT\n").unwrap();
    fs::write(path("other.fa"), ">d\nACGTACGT\n").unwrap();
    let stated = "00000000000000000000000000000001";
    fs::write(path("m5.sam"), format!("@SQ\tSN:c\tLN:8\tM5:{stated}\n")).unwrap();
    let refused = |line: &str, code: i32, words: &[&str]| {
        let mut command = seqloom(line.split_whitespace());
        run(command.current_dir(here.path())).fails_with(code).says(words);
        assert!(!path("x.cram").exists(), "{line}");
    };
    refused("prep in.sam -o x.cram", 2, &["CRAM output needs --reference FASTA"]);
    refused("prep in.sam -o x.cram --reference no.fa", 3, &["no.fa"]);
    let other = "is it another reference?";
    refused(
        "prep in.sam -o x.cram --reference short.fa",
        3,
        &["short.fa: sequence c has 4", other],
    );
    refused(
        "prep in.sam -o x.cram --reference other.fa",
        3,
        &["other.fa", "missing (1): c", other],
    );
    refused("prep m5.sam -o x.cram --reference ref.fa", 3, &["ref.fa: sequence c", stated, other]);
    refused("prep in.sam -o x.cram --reference ref.fa --write-index bai", 2, &[".crai"]);
    refused("prep in.sam -o x.bam --cram-keep-md", 2, &["--cram-keep-md needs CRAM output"]);
    refused("prep in.sam -o x.bam --cram-version 3.1", 2, &["--cram-version needs CRAM output"]);
    let align = align_small().join(" ");
    for (options, word) in [
        ("-o x.cram --no-sort --no-mark-duplicates", "--no-sort"),
        ("-o x.cram --stripes 2", "--stripes"),
    ] {
        refused(&format!("{align} {options}"), 2, &[word]);
    }
    // A record that readers would refuse, found as it is written.
    fs::write(path("past.sam"), "@SQ\tSN:c\tLN:8\nr\t0\tc\t7\t9\t2M3D2M\t*\t0\t0\tACGT\t*\n")
        .unwrap();
    refused("prep past.sam -o x.cram --reference ref.fa", 3, &["record r: it begins or deletes"]);
    let mut fine = seqloom(["prep", "in.sam", "-o", "x.cram", "--reference", "ref.fa"]);
    run(fine.current_dir(here.path())).ok();
    assert!(path("x.cram").exists());
}
