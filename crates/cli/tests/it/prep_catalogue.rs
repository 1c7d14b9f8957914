//! `prep` of every alignment of the real data: what samtools reads, in its orders, with its mates
//! fixed and its numbers.

use crate::common::{Run, SOON, folder, has, run, run_for, words};
use crate::prep::{compared_with_samtools, prep, with_tags};
use crate::prep_duplicates_catalogue::alignments_in;
use seqloom_testkit::planted::{changed_number, changed_texts};
use seqloom_testkit::skip;
use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

/// What is done to a file: our options, and what samtools is called with.
const WAYS: [(&str, &str); 4] = [
    ("", "view --no-PG"),
    ("--sort coordinate", "sort --no-PG -O sam"),
    ("--sort queryname", "sort --no-PG -O sam -n"),
    ("--fix-mates", "fixmate --no-PG -O sam -m"),
];

/// Lines of SAM without the header, tags being sets.
fn records(sam: &str) -> Vec<String> {
    let records = sam.lines().filter(|line| !line.starts_with('@'));
    records.map(|line| with_tags(line, |_| true)).collect()
}

/// What `samtools` writes of a file to standard output.
fn samtools(arguments: &str, input: &Path) -> Run {
    let mut command = words(&format!("samtools {arguments}"));
    command.arg(input);
    if arguments.starts_with("fixmate") {
        command.arg("-");
    }
    run_for(&mut command, SOON)
}

/// What came of the files: how many were compared by each way, and what we refuse.
#[derive(Default)]
struct Outcome {
    files: BTreeMap<&'static str, usize>,
    refused: Vec<String>,
    /// Changes that were made to what is ours and seen by the comparison.
    planted: usize,
}

impl Outcome {
    fn of_way(&mut self, here: &Path, file: &Path, (ours, theirs): (&'static str, &str)) {
        let mut input = file.to_owned();
        if theirs.starts_with("fixmate") {
            input = here.join("by_name.bam");
            let mut sort = words("samtools sort --no-PG -n -o");
            if run(sort.arg(&input).arg(file)).code() != 0 {
                return;
            }
        }
        let theirs = samtools(theirs, &input);
        if theirs.code() != 0 {
            return;
        }
        let out = here.join("ours.sam");
        let mut command = prep(&[&input]);
        command.args(ours.split_whitespace()).arg("-o").arg(&out);
        let done = run_for(&mut command, SOON);
        if done.code() == 3 {
            self.refused.push(format!("{} {ours}: {}", file.display(), done.stderr));
            return;
        }
        done.ok();
        let text = fs::read_to_string(&out).unwrap();
        let (ours_are, theirs_are) = (records(&text), records(&theirs.text()));
        assert_eq!(ours_are, theirs_are, "{} {ours}", file.display());
        for (field, text) in changed_texts(&text) {
            assert_ne!(records(&text), theirs_are, "{field} {} {ours}", file.display());
            self.planted += 1;
        }
        compared_with_samtools(ours_are.len());
        *self.files.entry(ours).or_default() += 1;
    }

    /// The numbers of flagstat, idxstats and stats.
    fn of_numbers(&mut self, here: &Path, file: &Path) {
        let (out, metrics) = (here.join("ours.bam"), here.join("metrics"));
        let mut command = prep(&[file]);
        command.args(["--sort", "coordinate", "--metrics", "samtools-stats", "-o"]).arg(&out);
        // Without an index samtools counts the records; some files can have none, as they have
        // records past the end of their sequence.
        command.args(["--write-index", "none", "--metrics-dir"]).arg(&metrics);
        if run_for(&mut command, SOON).code() != 0 {
            return;
        }
        for name in ["flagstat", "idxstats", "stats"] {
            let lines = |text: &str| -> Vec<String> {
                text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
            };
            let ours =
                lines(&fs::read_to_string(metrics.join(format!("ours.{name}.txt"))).unwrap());
            let mut theirs = lines(&samtools(name, &out).ok().text());
            if name == "stats" {
                // We have some of its sections.
                let section = |line: &String| line.split('\t').next().map(str::to_owned);
                let sections: HashSet<_> = ours.iter().map(section).collect();
                theirs.retain(|line| sections.contains(&section(line)));
            }
            assert_eq!(ours, theirs, "{}: {name}", file.display());
            if let Some(changed) = changed_number(&ours.join("\n")) {
                assert_ne!(lines(&changed), theirs, "{}: {name}", file.display());
                self.planted += 1;
            }
        }
        *self.files.entry("numbers").or_default() += 1;
    }
}

#[track_caller]
fn equals_samtools(files: &[PathBuf]) -> Outcome {
    let mut outcome = Outcome::default();
    for file in files {
        if samtools("view -c", file).code() != 0 {
            continue;
        }
        let here = folder();
        WAYS.into_iter().for_each(|way| outcome.of_way(here.path(), file, way));
        outcome.of_numbers(here.path(), file);
    }
    let Outcome { files: compared, planted, .. } = &outcome;
    eprintln!("{} files: {compared:?}; {planted} planted changes seen", files.len());
    assert!(*planted > files.len());
    outcome
}

#[test]
fn alignments_of_samtools_tests_equal_samtools() {
    let (true, Some(inputs)) = (has("samtools"), skip::data("bam/samtools_test/fixmate")) else {
        return;
    };
    let mut files = Vec::new();
    alignments_in(&inputs, &mut files);
    let Outcome { files, refused, .. } = equals_samtools(&files);
    assert!(files.len() == 5 && files.values().all(|&count| count > 10), "{files:?}");
    // A sequence longer than BAM can hold.
    assert!(refused.iter().all(|it| it.contains("is not a length")), "{refused:?}");
}

#[test]
fn slow_alignments_of_the_catalogue_equal_samtools() {
    if !skip::slow_tests() || !has("samtools") {
        return;
    }
    let mut files = Vec::new();
    for folder in ["bam", "reads", "nanopore"] {
        let Some(folder) = skip::data(folder) else { return };
        alignments_in(&folder, &mut files);
    }
    let Outcome { files, refused, .. } = equals_samtools(&files);
    assert!(files.len() == 5 && files.values().all(|&count| count > 800), "{files:?}");
    assert!(refused.len() < 300, "{refused:?}");
}
