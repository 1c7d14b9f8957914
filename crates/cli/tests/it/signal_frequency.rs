//! `seqloom signal frequency` against nanopolish's script, run live, and what it says of bad input.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::{SOON, finish, folder, has, run, seqloom, words};
use seqloom_testkit::skip::{data, skip};

/// Where Debian puts it.
const SCRIPT: &str = "/usr/lib/nanopolish/calculate_methylation_frequency.py";

const CALLS: &str = "nanopore/nanopolish_expected_ecoli/draft_reconstructed.call-methylation.tsv";

const HEADER: &str = "chromosome\tstrand\tstart\tend\tread_name\tlog_lik_ratio\t\
    log_lik_methylated\tlog_lik_unmethylated\tnum_calling_strands\tnum_motifs\tsequence\n";

fn frequency(line: &str) -> Command {
    let mut command = seqloom(["signal", "frequency"]);
    command.args(line.split_whitespace());
    command
}

/// The calls of the real data in three files: reads as they come, so that groups are in several.
fn three_files(calls: &Path, here: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string(calls).unwrap();
    let (header, rows) = text.split_once('\n').unwrap();
    let paths: Vec<PathBuf> = (0..3).map(|i| here.join(format!("{i}.tsv"))).collect();
    for (index, path) in paths.iter().enumerate() {
        let mut file = File::create(path).unwrap();
        writeln!(file, "{header}").unwrap();
        rows.lines().skip(index).step_by(3).for_each(|row| writeln!(file, "{row}").unwrap());
    }
    paths
}

#[test]
fn frequencies_are_those_of_nanopolish() {
    let Some(calls) = data(CALLS) else { return };
    if !Path::new(SCRIPT).exists() {
        return skip("nanopolish's scripts are not installed");
    }
    let here = folder();
    let files = three_files(&calls, here.path());
    let names: Vec<String> = files.iter().map(|it| it.display().to_string()).collect();
    let names = names.join(" ");
    for options in ["", "-s", "-c 0", "-c 2.75 -s"] {
        let expected = run(&mut words(&format!("python3 {SCRIPT} {options} {names}"))).ok();
        let found = run(&mut frequency(&format!("--quiet {options} {names}"))).ok();
        assert!(expected.stdout.len() > 10_000);
        assert!(found.stdout == expected.stdout, "{options}");
    }
}

#[test]
fn input_may_be_compressed_or_a_pipe() {
    let Some(calls) = data(CALLS) else { return };
    if !has("gzip") {
        return;
    }
    let here = folder();
    let plain = run(&mut frequency(&format!("--quiet {}", calls.display()))).ok();
    let packed = here.path().join("calls.tsv.gz");
    let gzip = run(&mut words(&format!("gzip -c {}", calls.display()))).ok();
    fs::write(&packed, &gzip.stdout).unwrap();
    let out = here.path().join("frequency.tsv");
    let line = format!("{} -o {}", packed.display(), out.display());
    run(&mut frequency(&line)).ok().says(&[]);
    assert!(fs::read(&out).unwrap() == plain.stdout);
    let mut piped = frequency("--quiet -");
    piped.stdin(File::open(&calls).unwrap()).stdout(Stdio::piped()).stderr(Stdio::piped());
    assert!(finish(piped.spawn().unwrap(), SOON).ok().stdout == plain.stdout);
}

#[test]
fn bad_input_is_named_and_leaves_no_output() {
    let here = folder();
    let (calls, out) = (here.path().join("calls.tsv"), here.path().join("out.tsv"));
    let t = |text: &str, code: i32, said: &[&str]| {
        fs::write(&calls, text).unwrap();
        let line = format!("{} -o {}", calls.display(), out.display());
        run(&mut frequency(&line)).fails_with(code).says(said);
        assert!(!out.exists());
    };
    t("", 3, &["calls.tsv: is empty"]);
    t("a\tb\n", 3, &["calls.tsv: line 1", "chromosome"]);
    let row = "c\t+\t5\t5\tr\tx\t-1\t-2\t1\t1\tACGTA\n";
    t(&format!("{HEADER}{row}"), 3, &["calls.tsv: line 2", "log_lik_ratio is \"x\""]);
    run(&mut frequency("/nowhere.tsv")).fails_with(3).says(&["/nowhere.tsv"]);
    run(&mut frequency("")).fails_with(2);
    run(&mut frequency("-c -1 x")).fails_with(2);
    run(&mut frequency("-c nan x")).fails_with(2).says(&["must be a number from 0 on"]);
    run(&mut frequency("--cutoff-style guppy x")).fails_with(2);
}
