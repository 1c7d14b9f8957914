//! Runs of `align` in many processes: what their tests have in common.

use crate::common::{READ_GROUP, Run, assert_same_bytes, run, seqloom};
use seqloom_testkit::random::Random;
use serde_json::Value;
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Options of the tests' runs that make no trace of the command line.
pub(crate) const OPTIONS: [&str; 3] = ["--no-pg", "-R", READ_GROUP];

/// A task, as `shard tasks` lists it.
#[derive(Debug, Clone)]
pub(crate) struct Task {
    pub(crate) id: String,
    pub(crate) verb: String,
    pub(crate) arguments: Vec<String>,
    pub(crate) needs: Vec<String>,
}

impl Task {
    /// What follows `seqloom`.
    pub(crate) fn words(&self) -> Vec<String> {
        let verb = ["shard".to_owned(), self.verb.clone()];
        verb.into_iter().chain(self.arguments.clone()).collect()
    }

    /// What a task is expected to publish, its description last.
    pub(crate) fn files(&self, run: &Path) -> Vec<PathBuf> {
        let suffixes: &[&str] =
            if self.verb == "finish" { &[".bgzf", ".parts", ".json"] } else { &["", ".json"] };
        suffixes.iter().map(|suffix| run.join(format!("{}{suffix}", self.id))).collect()
    }
}

/// `shard VERB --run RUN ...`.
pub(crate) fn shard(verb: &str, folder: &Path, more: &[&str]) -> Run {
    run(seqloom(["shard", verb, "--run"]).arg(folder).args(more))
}

/// Plans a run of `align` with the arguments of [`crate::data::align`] (its first word left out),
/// whose read ends are marked in one part where it has one range, else in sixteen.
pub(crate) fn plan(folder: &Path, (shards, ranges): (usize, usize), align: &[String]) {
    let parts = if ranges == 1 { "1" } else { "16" };
    let (shards, ranges) = (shards.to_string(), ranges.to_string());
    let cuts = ["--shards", &shards, "--ranges", &ranges, "--parts", parts];
    let mut command = seqloom(["shard", "plan"]);
    command.args(cuts).arg("--run");
    run(command.arg(folder).args(OPTIONS).args(&align[1..])).ok();
}

/// All tasks of a run.
pub(crate) fn tasks(folder: &Path) -> Vec<Task> {
    let listed = shard("tasks", folder, &[]).ok();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let all = |value: &Value| value.as_array().unwrap().iter().map(text).collect();
    let task = |line: &str| {
        let task: Value = serde_json::from_str(line).unwrap();
        Task {
            id: text(&task["id"]),
            verb: text(&task["verb"]),
            arguments: all(&task["arguments"]),
            needs: all(&task["needs"]),
        }
    };
    listed.text().lines().map(task).collect()
}

/// Does all tasks, one after the other, in an order that `seed` picks among those that are ready.
pub(crate) fn do_all(folder: &Path, threads: &str, seed: u64) {
    let (mut open, mut done, mut random) = (tasks(folder), HashSet::new(), Random::new(seed));
    while !open.is_empty() {
        let is_ready = |task: &Task| task.needs.iter().all(|it| done.contains(it));
        let ready: Vec<usize> = (0..open.len()).filter(|&it| is_ready(&open[it])).collect();
        let task = open.swap_remove(ready[random.index(ready.len())]);
        run(seqloom(task.words()).args(["-t", threads])).ok();
        done.insert(task.id);
    }
}

/// Gathers into `folder/name.bam`, with metrics.
pub(crate) fn gather(run: &Path, folder: &Path, name: &str) -> PathBuf {
    let out = folder.join(format!("{name}.bam"));
    let metrics = folder.join(format!("{name}.metrics"));
    shard(
        "gather",
        run,
        &["-o", out.to_str().unwrap(), "--metrics-dir", metrics.to_str().unwrap()],
    )
    .ok();
    out
}

/// The same in one process.
pub(crate) fn one_process(align: &[String], folder: &Path, name: &str) -> PathBuf {
    let out = folder.join(format!("{name}.bam"));
    let metrics = folder.join(format!("{name}.metrics"));
    let mut command = seqloom(align);
    command.args(OPTIONS).arg("-o").arg(&out).arg("--metrics-dir").arg(metrics);
    run(&mut command).ok();
    out
}

/// Requires the same bytes of output and index, and the same metrics but for the command line.
#[track_caller]
pub(crate) fn assert_same_run(one: &Path, other: &Path, what: &str) {
    assert_same_bytes(one, other, what);
    for suffix in ["bam.bai", "bam.csi"] {
        let index = |bam: &Path| bam.with_extension(suffix);
        assert_eq!(index(one).exists(), index(other).exists(), "{what}: {suffix}");
        if index(one).exists() {
            assert_same_bytes(&index(one), &index(other), &format!("{what}: index"));
        }
    }
    let metrics = |bam: &Path| -> Vec<(String, Vec<String>)> {
        let folder = bam.with_extension("metrics");
        let stem = bam.file_stem().unwrap().to_str().unwrap().to_owned();
        let of = |name: String| {
            let text = fs::read_to_string(folder.join(&name)).unwrap();
            let lines = text.lines().filter(|line| !line.contains("seqloom ")).map(str::to_owned);
            (name.strip_prefix(&stem).unwrap().to_owned(), lines.collect())
        };
        // A kill between naming a file and renaming it over the old one leaves a hidden name.
        let names = crate::common::names_in(&folder).into_iter();
        names.filter(|name| !name.starts_with('.')).map(of).collect()
    };
    let (ours, theirs) = (metrics(one), metrics(other));
    assert!(ours.len() >= 2, "{what}: metrics are missing");
    assert_eq!(ours, theirs, "{what}");
}
