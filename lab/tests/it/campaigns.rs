//! `seqloom-lab run` and `report`: the experiments that come with the program, made tiny.

use crate::common::{Run, SOON, folder, lab, names_in, run, run_for, run_into, run_to_nobody};
use seqloom_testkit::skip::skip;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Experiments that need this program alone.
const OWN: [&str; 4] = ["locks", "parsing", "output", "schedule"];
/// Those that make genomes and reads, and call other aligners where they are installed.
const WITH_OTHERS: [&str; 11] = [
    "numa",
    "oversubscription",
    "read-length",
    "ungapped",
    "by-score",
    "spliced",
    "langmead",
    "compressed-output",
    "scale-weak",
    "scale-strong",
    "scale-index",
];

fn smoke(experiment: &str, out: &Path) -> Run {
    let mut command = lab(["run", experiment, "--smoke", "--out"]);
    run(command.arg(out))
}

/// The folder holds what it should, and the report can be made again.
fn check(experiment: &str, out: &Path) {
    let read = |name: &str| fs::read_to_string(out.join(name)).unwrap();
    let results: Value = serde_json::from_str(&read("results.json")).unwrap();
    assert_eq!(results["campaign"]["experiment"], experiment);
    assert!(results["campaign"]["ended"].is_string(), "{experiment}");
    let rows = results["summary"].as_array().unwrap();
    assert!(!rows.is_empty());
    for row in rows {
        assert_eq!(row["failed_repeats"], 0.0, "{experiment}: {row}");
        assert!(row["wall_s"].as_f64().unwrap() > 0.0, "{experiment}: {row}");
    }
    let made = ["report.html", "runs.tsv", "summary.tsv", "results.json"];
    let before = made.map(read);
    made.iter().for_each(|name| fs::remove_file(out.join(name)).unwrap());
    run(lab(["report"]).arg(out)).ok();
    assert_eq!(made.map(read), before, "{experiment}");
    assert_eq!(names_in(&out.join("work/runs")), [""; 0], "runs leave nothing behind");
}

#[test]
fn experiments_of_this_program_alone_run_and_are_reported() {
    let here = folder();
    for experiment in OWN {
        let out = here.path().join(experiment);
        smoke(experiment, &out).ok();
        check(experiment, &out);
    }
}

#[test]
fn experiments_with_other_aligners_run_with_those_that_are_there() {
    let program = Path::new(env!("CARGO_BIN_EXE_seqloom-lab"));
    if !program.with_file_name("seqloom-testkit").is_file() {
        skip("lab run with other aligners: seqloom-testkit is not built beside seqloom");
        return;
    }
    let here = folder();
    for experiment in WITH_OTHERS {
        let out = here.path().join(experiment);
        smoke(experiment, &out).ok();
        check(experiment, &out);
    }
}

#[test]
fn every_experiment_can_be_looked_at_before_it_is_run() {
    let here = folder();
    for experiment in OWN.into_iter().chain(WITH_OTHERS) {
        let mut command = lab(["run", experiment, "--dry-run", "--threads", "1,2"]);
        let text = run_for(command.current_dir(here.path()), SOON).ok().text();
        assert!(text.starts_with(&format!("{experiment}: ")), "{text}");
        assert!(text.contains("run 1 ") || text.contains("left out: "), "{text}");
        assert!(text.ends_with(" configurations are left out\n"), "{text}");
    }
    assert_eq!(names_in(here.path()), [""; 0]);
}

#[test]
fn what_is_no_experiment_is_wrong_usage() {
    let here = folder();
    let file = here.path().join("x.toml");
    fs::write(&file, "name = \"x\"\ntitle = 3\n").unwrap();
    let mut broken = lab(["run"]);
    run_for(broken.arg(&file), SOON).fails_with(2).says(&["x.toml, line 2", "title = 3"]);
    let unknown = lab(["run", "colours"]);
    run_for(&mut { unknown }, SOON)
        .fails_with(2)
        .says(&["no experiment of that name", "read-length"]);
    let mut set = lab(["run", "locks", "--set", "colour=red"]);
    run_for(&mut set, SOON).fails_with(2).says(&["there is no colour", "threads"]);
}

#[test]
fn results_that_nobody_reads_are_no_failure_and_a_full_disk_is() {
    let here = folder();
    let work = here.path().join("work").display().to_string();
    let one = ["schedule-run", "--schedule", "pull", "--engine", "null", "--work", &work];
    for (arguments, more) in [
        (&["predict", "--threads", "16"][..], &[][..]),
        (&["run", "locks", "--dry-run"], &[]),
        (&one, &["--reads", "100"]),
        (&one, &["--reads", "100", "--wait"]),
    ] {
        let command = || {
            let mut command = lab(arguments);
            command.args(more).current_dir(here.path());
            command
        };
        run_to_nobody(&mut command()).ok();
        run_into(&mut command(), Path::new("/dev/full")).fails_with(4).says(&["cannot write"]);
    }
}
