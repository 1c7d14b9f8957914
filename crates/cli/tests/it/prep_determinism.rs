//! The bytes that `prep` writes are a function of its input and options: not of threads, memory or
//! the form of the input.

use crate::common::{assert_same_bytes, folder, has, json_number, memory_floor, run_into, words};
use crate::prep::{Hard, hard, prep_into};
use std::path::{Path, PathBuf};

/// Input and options; duplicates by both modes, every order.
fn kinds(data: &Hard) -> Vec<(PathBuf, &'static str)> {
    let mark = [
        "--mark-duplicates --tag-duplicates all --sort coordinate",
        "--mark-duplicates --sort queryname",
        "--mark-duplicates --sort keep",
    ];
    let picard = ["--sort queryname-picard", "--sort coordinate-picard --remove-duplicates"];
    let grouped = mark.iter().chain(&picard).map(|options| (data.grouped.clone(), *options));
    let sorted = mark.iter().map(|options| (data.sorted.clone(), *options));
    grouped.chain(sorted).collect()
}

#[test]
fn threads_do_not_show() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let data = hard(here.path(), 601, 30_000, 4);
    let path = |name: &str| here.path().join(name);
    for (input, options) in kinds(&data) {
        prep_into(&path("one.bam"), &[&input], &format!("-l 1 -t 1 {options}"));
        for t in ["2", "7", "64"] {
            prep_into(&path("more.bam"), &[&input], &format!("-l 1 -t {t} -m 8G {options}"));
            let what = format!("-t {t} {options} {}", input.display());
            assert_same_bytes(&path("one.bam"), &path("more.bam"), &what);
        }
    }
}

/// Arguments of a run as text, for the question what memory it needs.
fn arguments(input: &Path, options: &str, out: &Path) -> Vec<String> {
    let mut all = vec!["prep".to_owned(), input.display().to_string()];
    all.extend(options.split_whitespace().map(str::to_owned));
    all.extend(["-o".to_owned(), out.display().to_string()]);
    all
}

#[test]
fn memory_does_not_show() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let data = hard(here.path(), 602, 120_000, 4);
    let path = |name: &str| here.path().join(name);
    let tmp = here.path().display();
    let mut spills = 0;
    for (input, options) in kinds(&data) {
        let options = format!("-l 1 -t 2 --tmp-dir {tmp} {options}");
        prep_into(&path("plenty.bam"), &[&input], &format!("-m 8G {options}"));
        let floor = memory_floor(&arguments(&input, &options, &path("never.bam")));
        let json = path("run.json");
        let tight = format!("-m {floor} {options} --json {}", json.display());
        prep_into(&path("tight.bam"), &[&input], &tight);
        let what = format!("-m {floor} {options} {}", input.display());
        assert_same_bytes(&path("plenty.bam"), &path("tight.bam"), &what);
        spills += usize::from(json_number(&json, &["spill"]).is_some_and(|bytes| bytes > 0.0));
    }
    assert!(spills >= 6, "only {spills} runs spilled");
}

#[test]
fn forms_of_input_do_not_show() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let data = hard(here.path(), 603, 30_000, 4);
    let path = |name: &str| here.path().join(name);
    for (input, options) in kinds(&data) {
        prep_into(&path("bam.bam"), &[&input], &format!("-l 1 {options}"));
        run_into(words("samtools view --no-PG -h").arg(&input), &path("in.sam")).ok();
        run_into(words("gzip -1c").arg(path("in.sam")), &path("in.sam.gz")).ok();
        run_into(words("samtools view --no-PG -u").arg(&input), &path("u.bam")).ok();
        for form in ["in.sam", "in.sam.gz", "u.bam"] {
            prep_into(&path("x.bam"), &[&path(form)], &format!("-l 1 -t 3 {options}"));
            let what = format!("{form} {options} {}", input.display());
            assert_same_bytes(&path("bam.bam"), &path("x.bam"), &what);
        }
    }
}
