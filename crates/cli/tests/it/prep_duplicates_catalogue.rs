//! Duplicates of every alignment of the real data, with each Picard.

use crate::common::{SOON, folder, run_for, words};
use crate::prep::{has_referees, lines, picard_codes};
use crate::prep_duplicates::{TAGS, as_picard, case};
use seqloom_testkit::referees::{PICARD, Picard};
use seqloom_testkit::skip;
use std::path::{Path, PathBuf};

/// SAM and BAM files below a folder, sorted.
pub(crate) fn alignments_in(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            alignments_in(&path, found);
        } else if path.extension().is_some_and(|e| e == "sam" || e == "bam") {
            found.push(path);
        }
    }
}

/// Whether Picard's answer counts: input in which no name has more than two mapped primary records
/// (those are refused, see ERRATA), and which is sorted, or in which every name is in one place
/// with at most one primary record per read. (With two, Picard 2.27.5 keeps two entries of one
/// index in its list of duplicates, of which it takes one at each name, and misses others.)
fn is_regular(records: &[String], is_sorted: bool) -> bool {
    let mut primaries = std::collections::HashMap::<&str, usize>::new();
    let mut seen = std::collections::HashSet::new();
    let mut reads = std::collections::HashSet::new();
    let mut name = "";
    for line in records {
        let mut columns = line.split('\t');
        let this = columns.next().unwrap();
        let flag: u16 = columns.next().unwrap().parse().unwrap();
        if this != name && !seen.insert(this) && !is_sorted {
            return false;
        }
        name = this;
        if flag & 0x904 != 0 {
            continue;
        }
        let mapped = primaries.entry(this).or_default();
        *mapped += 1;
        if *mapped > 2 || !reads.insert((this, flag & 0xc1)) && !is_sorted {
            return false;
        }
    }
    true
}

/// Whether a file is one of hts-specs's that no program should read.
fn is_called_malformed(file: &Path) -> bool {
    file.parent().is_some_and(|folder| folder.ends_with("sam/failed"))
}

/// Whether a record has a tag of type H, which htsjdk makes an array of (ERRATA).
fn has_hex(line: &str) -> bool {
    line.split('\t').skip(11).any(|tag| tag.get(2..5) == Some(":H:"))
}

/// Whether a name has more than two mapped primary records.
fn has_crowded_name(records: &[String]) -> bool {
    let mut primaries = std::collections::HashMap::<&str, usize>::new();
    let fields = records.iter().map(|line| line.split('\t').collect::<Vec<_>>());
    for columns in fields.filter(|it| it[1].parse::<u16>().unwrap() & 0x904 == 0) {
        *primaries.entry(columns[0]).or_default() += 1;
    }
    primaries.values().any(|&count| count > 2)
}

/// The files that are left out of the comparison because of their names are refused by them.
#[test]
fn names_of_more_than_two_mapped_primary_records_are_refused() {
    let Some(inputs) = skip::data("bam/picard_testdata/sam") else { return };
    let here = folder();
    let mut files = Vec::new();
    alignments_in(&inputs, &mut files);
    let mut refused = 0;
    for file in &files {
        let text = crate::common::run(words("samtools view --no-PG -h").arg(file)).text();
        let is_sorted = text.lines().next().unwrap_or_default().contains("SO:coordinate");
        let records = text.lines().filter(|line| !line.starts_with('@')).map(str::to_owned);
        if has_crowded_name(&records.collect::<Vec<_>>()) {
            let ours =
                run_for(&mut case(file, !is_sorted, TAGS).command(here.path(), refused), SOON);
            ours.fails_with(3).says(&[&file.display().to_string(), "record"]);
            refused += 1;
        }
    }
    eprintln!("{refused} files refused");
    assert!(refused > 0);
}

/// The file, or BAM of it where samtools reads other flags than its text has: records without
/// RNAME, POS or CIGAR are unmapped to samtools and to us, to Picard they are what FLAG says
/// (ERRATA).
fn as_samtools_reads(file: &Path, records: &[String], folder: &Path, number: usize) -> PathBuf {
    if file.extension().is_none_or(|it| it != "sam") {
        return file.to_owned();
    }
    let flag = |line: &str| line.split('\t').nth(1).map(str::to_owned);
    let text = String::from_utf8_lossy(&std::fs::read(file).unwrap()).into_owned();
    let written = text.lines().filter(|line| !line.starts_with('@')).map(flag);
    if written.eq(records.iter().map(|line| flag(line))) {
        return file.to_owned();
    }
    let bam = folder.join(format!("{number}.input.bam"));
    let converted = crate::common::run(words("samtools view --no-PG -b -o").arg(&bam).arg(file));
    // What samtools refuses is for the others to refuse.
    if converted.code() == 0 { bam } else { file.to_owned() }
}

/// Runs us and this version of Picard on all files that Picard can judge.
#[track_caller]
fn files_equal_picard_of(version: &str, files: &[PathBuf]) -> Compared {
    let Some(picard) = Picard::find(version) else { return Compared::default() };
    let here = folder();
    let mut cases = Vec::new();
    for file in files {
        let text = crate::common::run(words("samtools view --no-PG -h").arg(file)).text();
        let is_sorted = text.lines().next().unwrap_or_default().contains("SO:coordinate");
        let records = text.lines().filter(|line| !line.starts_with('@'));
        let records: Vec<_> = records.map(str::to_owned).collect();
        if is_regular(&records, is_sorted) && !records.iter().any(|line| has_hex(line)) {
            let input = as_samtools_reads(file, &records, here.path(), cases.len());
            cases.push(case(&input, !is_sorted, TAGS));
        }
    }
    let commands: Vec<String> =
        cases.iter().enumerate().map(|(i, case)| case.picard_line(here.path(), i)).collect();
    let codes = picard_codes(&picard, &commands);
    let (mut compared, mut records, mut refused) = (0, 0, Vec::new());
    for (i, (case, code)) in cases.iter().zip(codes).enumerate() {
        let ours = run_for(case.command(here.path(), i).args(as_picard(version)), SOON);
        match (code, ours.code()) {
            (0, 0) => {
                case.compare(here.path(), i, &picard);
                compared += 1;
                records += lines(&here.path().join(format!("{i}.ours.bam"))).len();
            }
            (0, 3) => refused.push((case.input.clone(), ours.stderr)),
            (0, _) => panic!("{}: {}", case.input.display(), ours.stderr),
            // Files that are not sorted as they say, and what Picard alone refuses.
            _ => {}
        }
    }
    let all = files.len();
    eprintln!("Picard {version}: {records} records of {compared} of {all} files compared");
    Compared { files: compared, refused }
}

/// What came of a comparison of files.
#[derive(Default)]
struct Compared {
    files: usize,
    /// Files that Picard takes and we refuse, and what we say.
    refused: Vec<(PathBuf, String)>,
}

#[test]
fn test_inputs_of_picard_equal_each_picard() {
    let (true, Some(inputs)) = (has_referees(), skip::data("bam/picard_testdata/sam")) else {
        return;
    };
    let mut files = Vec::new();
    alignments_in(&inputs, &mut files);
    assert!(files.len() > 150, "{}", files.len());
    for version in PICARD {
        let Compared { files, refused } = files_equal_picard_of(version, &files);
        assert!(files > 150, "{version}: {files} files compared");
        assert!(refused.is_empty(), "{version}: {refused:?}");
    }
}

#[test]
fn slow_alignments_of_the_catalogue_equal_each_picard() {
    if !skip::slow_tests() || !has_referees() {
        return;
    }
    let mut files = Vec::new();
    for folder in ["bam", "reads", "fastq_edge", "nanopore"] {
        let Some(folder) = skip::data(folder) else { return };
        alignments_in(&folder, &mut files);
    }
    // Those that the specification calls malformed are read by each program in its own way: htsjdk
    // drops tags such as F0:f:nan.
    files.retain(|file| !is_called_malformed(file));
    for version in PICARD {
        let Compared { files, refused } = files_equal_picard_of(version, &files);
        assert!(files > 400, "{version}: {files} files compared");
        // Malformed files of the specification, which we are stricter with.
        for (file, said) in refused {
            eprintln!("refused: {}: {said}", file.display());
        }
    }
}
