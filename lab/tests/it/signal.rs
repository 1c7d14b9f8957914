//! `seqloom-lab signal-io`, the whole experiment, small.

use crate::common::{folder, lab, names_in, run};
use seqloom_testkit::skip::{data, skip};
use std::fs;
use std::process::Command;

#[test]
fn the_lab_measures_and_reports() {
    let here = folder();
    let Some(singles) = data("nanopore/f5c_ecoli_2kb/ecoli_2kb_region/fast5_files") else { return };
    let source = here.path().join("source");
    fs::create_dir(&source).unwrap();
    for name in &names_in(&singles)[..6] {
        fs::copy(singles.join(name), source.join(name)).unwrap();
    }
    if !Command::new("cc").arg("--version").output().is_ok_and(|output| output.status.success()) {
        skip("no C compiler for the latency layer");
        return;
    }
    let (out, work) = (here.path().join("out"), here.path().join("work"));
    let mut command = lab(["signal-io", "--copies", "4", "--workers", "1,4"]);
    command.args(["--storages", "raid,cached", "--ways", "fast5-own,fast5-pool,slow5,blow5"]);
    command.arg("--source").arg(source).arg("--out").arg(&out).arg("--work").arg(&work);
    run(&mut command).ok();
    assert_eq!(
        names_in(&out),
        ["README.md", "cached.svg", "facts.tsv", "raid.svg", "signal-io.tsv"]
    );
    let table = fs::read_to_string(out.join("signal-io.tsv")).unwrap();
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(rows.len(), 1 + 2 * 4 * 2);
    let at = |name: &str| rows[0].iter().position(|column| *column == name).unwrap();
    let (reads, requests, wall) = (at("reads"), at("requests"), at("wall_s"));
    for row in &rows[1..] {
        assert_eq!(row[reads], rows[1][reads], "{row:?}");
        let requests: u64 = row[requests].parse().unwrap();
        assert_eq!(requests > 0, row[0] == "raid", "{row:?}");
        // No run is faster than its requests, spread over its workers.
        let wall_s: f64 = row[wall].parse().unwrap();
        let workers: f64 = row[2].parse().unwrap();
        assert!(wall_s >= requests as f64 * 0.008 / workers.min(12.0) * 0.99, "{row:?}");
    }
    let report = fs::read_to_string(out.join("README.md")).unwrap();
    assert!(report.contains("| raid | BLOW5 |"), "{report}");
    fs::remove_file(out.join("README.md")).unwrap();
    run(lab(["signal-io", "--again"]).arg(&out)).ok();
    assert_eq!(fs::read_to_string(out.join("README.md")).unwrap(), report);
}
