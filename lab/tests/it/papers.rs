//! `seqloom-lab paper` and `scale`: lists, pages of recorded runs, tiny runs that are resumed.

use crate::common::{SOON, folder, lab, names_in, run, run_for};
use seqloom_testkit::skip::{data, skip};
use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn papers_are_listed_with_commands_and_what_is_not_at_hand() {
    let text = run_for(&mut lab(["paper", "--list"]), SOON).ok().text();
    for said in
        ["langmead2018: ", "misale2014: ", "--table 4", "not at hand", "one node", "150 minutes"]
    {
        assert!(text.contains(said), "{said}: {text}");
    }
    let one = run_for(&mut lab(["paper", "lenis2017", "--list"]), SOON).ok().text();
    assert!(one.starts_with("lenis2017: ") && !one.contains("misale"), "{one}");
    let t = |line: &str, said: &str| {
        let mut command = lab(["paper"]);
        run_for(command.args(line.split(' ')), SOON).fails_with(2).says(&[said]);
    };
    t("none2000", "langmead2018, gamaarachchi2020");
    t("lenis2017", "seqloom-lab run numa");
    t("langmead2018 --figure 99", "Figure 1, Figure 3");
    t("langmead2018 --figure 1", "not measured here");
    t("gamaarachchi2020 --figure 1.10", "--source");
    t("gamaarachchi2020 --measured /nowhere", "has no runs");
}

#[test]
fn recorded_runs_are_shown_without_measuring() {
    let here = folder();
    let runs = Path::new(env!("CARGO_MANIFEST_DIR")).join("runs");
    let mut command = lab(["paper", "gamaarachchi2020", "--figure", "1.1", "--measured"]);
    run(command.arg(runs).arg("--out").arg(here.path())).ok();
    assert_eq!(names_in(here.path()), ["gamaarachchi2020.html", "gamaarachchi2020.json"]);
    let page = fs::read_to_string(here.path().join("gamaarachchi2020.html")).unwrap();
    assert!(page.contains("core-hours") && page.contains("<circle"), "{page}");
    assert!(page.contains("prefers-color-scheme:dark") && !page.contains("reading at random"));
}

#[test]
fn a_tiny_page_of_langmead_is_made_and_resumed() {
    let program = Path::new(env!("CARGO_BIN_EXE_seqloom-lab"));
    if !program.with_file_name("seqloom-testkit").is_file() {
        skip("lab paper langmead2018: seqloom-testkit is not built beside seqloom");
        return;
    }
    let here = folder();
    let command = || {
        let mut command = lab(["paper", "langmead2018", "--smoke", "--out"]);
        command.arg(here.path());
        if let Some(published) = data("bowtie-scaling") {
            command.arg("--published").arg(published);
        }
        command
    };
    run(&mut command()).ok();
    let read = |name: &str| fs::read_to_string(here.path().join(name)).unwrap();
    let (page, runs) = (read("langmead2018.html"), read("langmead/runs.jsonl"));
    let numbers = read("langmead2018.json");
    assert!(page.contains("A smoke run") && page.contains("align --mode ungapped"), "{page}");
    assert!(page.contains("The model's band"), "{page}");
    run(&mut command()).ok();
    assert_eq!(read("langmead/runs.jsonl"), runs, "nothing was run once more");
    // The page also has the load that the machine had, which may be another now.
    assert_eq!(read("langmead2018.json"), numbers);
}

#[test]
fn a_tiny_page_of_gamaarachchi_reads_signal_from_a_modelled_storage() {
    let Some(singles) = data("nanopore/f5c_ecoli_2kb/ecoli_2kb_region/fast5_files") else { return };
    if !Command::new("cc").arg("--version").output().is_ok_and(|output| output.status.success()) {
        skip("no C compiler for the latency layer");
        return;
    }
    let here = folder();
    let source = here.path().join("source");
    fs::create_dir(&source).unwrap();
    for name in &names_in(&singles)[..4] {
        fs::copy(singles.join(name), source.join(name)).unwrap();
    }
    let out = here.path().join("out");
    let mut command = lab(["paper", "gamaarachchi2020", "--figure", "1.10", "--smoke", "--source"]);
    run(command.arg(source).arg("--out").arg(&out)).ok();
    let page = fs::read_to_string(out.join("gamaarachchi2020.html")).unwrap();
    assert!(page.contains("12 servers of 8 ms") && page.contains("own reader"), "{page}");
}

#[test]
fn scaling_is_planned_in_three_parts() {
    let here = folder();
    let mut command = lab(["scale", "--dry-run", "--smoke", "--threads", "1,2"]);
    let text = run_for(command.current_dir(here.path()), SOON).ok().text();
    for part in ["scale-weak: ", "scale-strong: ", "scale-index: "] {
        assert!(text.contains(part), "{text}");
    }
    assert_eq!(names_in(here.path()), [""; 0]);
}
