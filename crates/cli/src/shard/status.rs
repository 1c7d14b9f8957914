//! `shard status`: what of a run is done, missing or damaged.

use seqloom_terminal::error::Bug;
use std::io::Write;
use std::path::PathBuf;

use serde::Serialize;

use super::folder::{Condition, RunFolder};
use super::task::ShardTask;
use super::tasks;
use crate::output::write_error;

/// Options of `shard status`.
#[derive(Debug, clap::Args)]
pub(crate) struct StatusArguments {
    /// The run directory
    #[arg(long = "run", value_name = "RUN")]
    folder: PathBuf,
    /// As JSON: a line for each task
    #[arg(long)]
    json: bool,
}

/// A line of the JSON output.
#[derive(Debug, Serialize)]
struct StatusLine {
    id: String,
    /// `done`, `missing` or `damaged`.
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    wall_seconds: Option<f64>,
    cpu_seconds: Option<f64>,
    peak_rss_bytes: Option<u64>,
    bytes: Option<u64>,
}

fn line(folder: &RunFolder, task: ShardTask) -> StatusLine {
    let mut line = StatusLine {
        id: task.name(),
        state: "missing",
        problem: None,
        wall_seconds: None,
        cpu_seconds: None,
        peak_rss_bytes: None,
        bytes: None,
    };
    match folder.condition(task) {
        Ok(Condition::Missing) => {}
        Ok(Condition::Done(it)) => {
            line.state = "done";
            line.wall_seconds = Some(it.wall_seconds);
            line.cpu_seconds = Some(it.cpu_seconds);
            line.peak_rss_bytes = Some(it.peak_rss_bytes);
            line.bytes = Some(it.files.iter().map(|file| file.bytes).sum());
        }
        Err(error) => {
            line.state = "damaged";
            line.problem = Some(error.to_string());
        }
    }
    line
}

/// Runs the command.
pub(super) fn run(arguments: &StatusArguments) -> seqloom_terminal::Result<()> {
    let folder = RunFolder::open_early(&arguments.folder)?;
    let tasks = tasks::all(&folder)?;
    let lines: Vec<StatusLine> = tasks.iter().map(|(task, _)| line(&folder, *task)).collect();
    let mut out = std::io::stdout().lock();
    let mut print =
        |text: String| writeln!(out, "{text}").map_err(write_error("standard output".as_ref()));
    if arguments.json {
        for line in &lines {
            print(serde_json::to_string(line).map_err(Bug::new)?)?;
        }
        return Ok(());
    }
    if !folder.is_planned {
        print("plan: the input is being scanned, or its scan was ended".to_owned())?;
    }
    for verb in ["align", "mark", "count", "table", "finish", "place"] {
        let of_verb = || lines.iter().filter(|it| it.id.split('/').next() == Some(verb));
        let count = |state: &str| of_verb().filter(|it| it.state == state).count();
        let all = of_verb().count();
        if all == 0 {
            continue;
        }
        let mut walls: Vec<f64> = of_verb().filter_map(|it| it.wall_seconds).collect();
        walls.sort_by(f64::total_cmp);
        let times = match (walls.get(walls.len() / 2), walls.last()) {
            (Some(median), Some(longest)) => {
                format!("; median {median:.1} s, longest {longest:.1} s")
            }
            _ => String::new(),
        };
        let (done, missing, damaged) = (count("done"), count("missing"), count("damaged"));
        print(format!(
            "{verb}: {done} of {all} done, {missing} missing, {damaged} damaged{times}"
        ))?;
    }
    for line in lines.iter().filter(|it| it.problem.is_some()) {
        let problem = line.problem.as_deref().unwrap_or_default();
        print(format!("{}: {problem}", line.id))?;
    }
    Ok(())
}
