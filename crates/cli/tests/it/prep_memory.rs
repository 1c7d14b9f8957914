//! `-m` is the memory of the whole process for `prep`, too, and does not show in the bytes.

use crate::common::{assert_same_bytes, folder, has, memory_floor};
use crate::cram_input::{fasta_of, write_cram};
use crate::memory::{peak_bytes, size_bytes};
use crate::prep::{hard, prep_into};
use std::path::Path;

/// Runs with a cap, unless it is below the floor, and compares with what there is without.
#[track_caller]
fn stays_below(here: &Path, input: &Path, options: &str, caps: &[u64]) {
    let plenty = here.join("plenty.bam");
    prep_into(&plenty, &[input], &format!("-m 16G {options}"));
    let out = here.join("capped.bam");
    let mut base = vec!["prep".to_owned(), "--no-pg".to_owned(), input.display().to_string()];
    base.extend(options.split_whitespace().map(str::to_owned));
    base.extend(["--tmp-dir".to_owned(), here.display().to_string()]);
    base.extend(["-o".to_owned(), out.display().to_string()]);
    let floor = size_bytes(&memory_floor(&base));
    for &cap in caps {
        let cap = cap.max(floor);
        let mut capped = base.clone();
        capped.extend(["-m".to_owned(), cap.to_string()]);
        let peak = peak_bytes(&capped, 4 * crate::common::limit());
        eprintln!("{options} -m {cap}: peak {peak}");
        assert!(peak <= cap, "{options} -m {cap}: the peak was {peak}");
        assert_same_bytes(&plenty, &out, &format!("{options} -m {cap}"));
    }
}

const OPTIONS: [&str; 3] = [
    "-l 1 --mark-duplicates --sort coordinate",
    "-l 1 --mark-duplicates --sort queryname",
    "-l 1 --mark-duplicates --sort keep",
];

#[test]
fn two_hundred_thousand_records_stay_below_the_floor() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let data = hard(here.path(), 701, 110_000, 4);
    assert!(data.records >= 200_000, "{}", data.records);
    for (threads, options) in ["2", "2", "16"].iter().zip(OPTIONS) {
        for input in [&data.grouped, &data.sorted] {
            stays_below(here.path(), input, &format!("-t {threads} {options}"), &[0]);
        }
    }
}

#[test]
fn containers_of_cram_stay_below_the_floor() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let path = |name: &str| here.path().join(name);
    let data = hard(here.path(), 703, 60_000, 4);
    prep_into(&path("clean.bam"), &[&data.grouped], "--clean-sam --sort coordinate -l 1");
    fasta_of(&crate::prep::header(&data.grouped), &path("ref.fa"));
    let samtools = seqloom_testkit::referees::path_of("samtools");
    let reference = format!("--reference {}", path("ref.fa").display());
    // Of 10,000 records a container, and of all.
    for format in ["3.0", "3.1,use_fqz=1,seqs_per_slice=100000"] {
        write_cram(&samtools, format, &path("ref.fa"), &path("clean.bam"), &path("x.cram"));
        for (threads, options) in [("2", OPTIONS[0]), ("7", OPTIONS[2])] {
            let options = format!("-t {threads} {options} {reference}");
            stays_below(here.path(), &path("x.cram"), &options, &[0]);
        }
    }
}

#[test]
fn slow_two_million_records_under_half_a_gibibyte() {
    if !seqloom_testkit::skip::slow_tests() || !has("samtools") {
        return;
    }
    let here = tempfile::tempdir_in(crate::common::cache()).unwrap();
    let data = hard(here.path(), 702, 1_120_000, 4);
    assert!(data.records >= 2_000_000, "{}", data.records);
    for options in OPTIONS {
        for input in [&data.grouped, &data.sorted] {
            stays_below(here.path(), input, &format!("-t 2 {options}"), &[512 << 20]);
        }
    }
}
