//! What a run in shards takes on many machines: every task of one run is timed on the machine at
//! hand, and the times, scaled to another input, are put on 1 to 64 nodes by a list.
//!
//! It is a prediction: what is not known of those machines is assumed at three levels, which make
//! its bands.

mod predict;
mod report;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::experiment::{LabError, output_of};
use crate::output::Results;
use crate::table::{Row, Table};
use crate::watch::{Watched, watch_in};

/// Factors of the table: what was done, and to which part.
pub(crate) const FACTORS: [&str; 2] = ["verb", "task"];

/// Columns of the table; `reads` are those of the whole input, `output_bytes` what was published.
pub(crate) const COLUMNS: [&str; 4] = ["wall_s", "cpu_s", "output_bytes", "reads"];

/// Table, report.
pub(crate) const RESULTS: Results = Results {
    table: "shard.tsv",
    factors: &FACTORS,
    columns: &[&COLUMNS],
    later: 0,
    plots: |_| Vec::new(),
    markdown: report::markdown,
};

/// A run whose tasks are timed.
#[derive(Debug, Clone)]
pub(crate) struct ShardExperiment {
    /// The product.
    pub(crate) program: PathBuf,
    /// Prefix of the index.
    pub(crate) reference: PathBuf,
    /// Reads that can be read from their middle on: plain or BGZF.
    pub(crate) reads: [PathBuf; 2],
    /// The same reads as gzip, whose scan is timed, too.
    pub(crate) gzip: Option<[PathBuf; 2]>,
    /// Bases of a cohort.
    pub(crate) cohort_bases: u64,
    /// Shards and ranges of the run.
    pub(crate) parts: (usize, usize),
    /// Threads of each task.
    pub(crate) threads: usize,
    /// Where run directories and the output go.
    pub(crate) work: PathBuf,
}

impl ShardExperiment {
    /// Does all tasks of the run, one after the other. Once `stop` says so, the one under way is
    /// killed.
    ///
    /// # Errors
    /// A task cannot be started, fails or is stopped.
    pub(crate) fn run(
        &self,
        tell: &mut dyn FnMut(&str),
        stop: &dyn Fn() -> bool,
    ) -> Result<Table, LabError> {
        fs::create_dir_all(&self.work).map_err(LabError::file(&self.work))?;
        let mut table = RESULTS.empty_table();
        if let Some(gzip) = &self.gzip {
            tell("scan of gzip");
            let run = self.fresh("gzip")?;
            let watched = watch_in(&self.work, &mut self.plan(&run, gzip), "plan of gzip", stop)?;
            table.rows.push(row("scan-gzip", "plan", watched, [size_of_all(gzip)?, reads(&run)?]));
        }
        let run = self.fresh("run")?;
        tell("plan");
        let watched = watch_in(&self.work, &mut self.plan(&run, &self.reads), "plan", stop)?;
        let reads = reads(&run)?;
        table.rows.push(row("plan", "plan", watched, [0.0, reads]));
        for task in self.tasks(&run)? {
            tell(&task.id);
            let mut command = Command::new(&self.program);
            command.args(["shard", &task.verb]).args(&task.arguments);
            command.args(["-t", &self.threads.to_string()]);
            let watched = watch_in(&self.work, &mut command, &task.id, stop)?;
            let bytes = published_bytes(&run, &task.id)?;
            table.rows.push(row(&task.verb, &task.id, watched, [bytes, reads]));
        }
        tell("gather");
        let out = self.work.join("out.bam");
        let mut command = Command::new(&self.program);
        command.args(["shard", "gather", "--run"]).arg(&run).arg("-o").arg(&out);
        let watched = watch_in(&self.work, &mut command, "gather", stop)?;
        let bytes = size_of_all(&[out])?;
        table.rows.push(row("gather", "gather", watched, [bytes, reads]));
        Ok(table)
    }

    /// A run directory that is not there yet.
    fn fresh(&self, name: &str) -> Result<PathBuf, LabError> {
        let folder = self.work.join(name);
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(LabError::file(&folder)(error))
            }
            _ => Ok(folder),
        }
    }

    fn plan(&self, run: &Path, reads: &[PathBuf; 2]) -> Command {
        let (shards, ranges) = self.parts;
        let mut command = Command::new(&self.program);
        command.args(["shard", "plan", "--no-pg", "--run"]).arg(run);
        command.args(["--shards", &shards.to_string(), "--ranges", &ranges.to_string()]);
        command.args(["-K", &self.cohort_bases.to_string(), "-t", &self.threads.to_string()]);
        command.arg(&self.reference).args(reads);
        command
    }

    fn tasks(&self, run: &Path) -> Result<Vec<Task>, LabError> {
        let mut command = Command::new(&self.program);
        command.args(["shard", "tasks", "--run"]).arg(run);
        let text = output_of(&mut command, |_, said| LabError::Prepare(said.to_owned()))?;
        let tasks: Option<Vec<Task>> = text.lines().map(Task::parse).collect();
        tasks.ok_or_else(|| LabError::Prepare("`shard tasks` printed no tasks".to_owned()))
    }
}

/// A task as `shard tasks` lists it.
struct Task {
    id: String,
    verb: String,
    arguments: Vec<String>,
}

impl Task {
    fn parse(line: &str) -> Option<Self> {
        let task: Value = serde_json::from_str(line).ok()?;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let arguments = task["arguments"].as_array()?.iter().map(text).collect::<Option<_>>()?;
        Some(Self { id: text(&task["id"])?, verb: text(&task["verb"])?, arguments })
    }
}

fn row(verb: &str, task: &str, watched: Watched, [bytes, reads]: [f64; 2]) -> Row {
    let factors = vec![verb.to_owned(), task.to_owned()];
    Row { factors, values: vec![watched.wall_s, watched.cpu_s, bytes, reads] }
}

fn size_of_all(files: &[PathBuf]) -> Result<f64, LabError> {
    let size = |path: &PathBuf| fs::metadata(path).map_err(LabError::file(path));
    files.iter().map(|path| Ok(size(path)?.len() as f64)).sum()
}

fn json(path: &Path) -> Result<Value, LabError> {
    let text = fs::read_to_string(path).map_err(LabError::file(path))?;
    let bad = |error| LabError::Prepare(format!("{}: {error}", path.display()));
    serde_json::from_str(&text).map_err(bad)
}

/// Reads of a planned run.
fn reads(run: &Path) -> Result<f64, LabError> {
    let plan = json(&run.join("plan.json"))?;
    let bad = || LabError::Prepare("the plan states no reads".to_owned());
    plan["reads"].as_f64().ok_or_else(bad)
}

/// What a task says that it published.
fn published_bytes(run: &Path, task: &str) -> Result<f64, LabError> {
    let described = json(&run.join(format!("{task}.json")))?;
    let files = described["files"].as_array().into_iter().flatten();
    Ok(files.filter_map(|file| file["bytes"].as_f64()).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_read_from_lines() {
        let line = r#"{"id":"mark/00","verb":"mark","arguments":["--run","r"],"needs":[]}"#;
        let task = Task::parse(line).unwrap();
        assert_eq!((task.id.as_str(), task.verb.as_str()), ("mark/00", "mark"));
        assert_eq!(task.arguments, ["--run", "r"]);
        assert!(Task::parse("{}").is_none() && Task::parse("x").is_none());
    }
}
