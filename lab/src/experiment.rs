//! The frame of all experiments: runs one after the other, each timed from outside.

use std::io;
use std::process::{Command, ExitStatus};
use std::time::Instant;

use seqloom_io::OutputError;
use seqloom_runtime::error::{Class, RunError};
use seqloom_runtime::machine;

use crate::process;
use crate::table::{Row, Table};

/// What every run is measured by: time on the clock, time of processors (of the process and all
/// its children), processors kept busy on average.
pub(crate) const TIMES: [&str; 3] = ["wall_s", "cpu_s", "cores_busy"];

/// CPU utilisation: the share of the workers' time in which processors worked for them, in percent
/// (Gamaarachchi 2020, equation 1.1).
pub(crate) fn utilisation_percent(cpu_s: f64, wall_s: f64, workers: u32) -> f64 {
    100.0 * cpu_s / (wall_s * f64::from(workers)).max(1e-9)
}

/// What a run reports of itself, by name.
pub(crate) type Counters = Vec<(String, f64)>;

/// What a run does.
pub(crate) enum Work<'a> {
    /// A program. Its counters are the lines `counter`, name, value (tabs between) of its output.
    Program(Box<Command>),
    /// Code of this process.
    Code(Box<dyn FnMut() -> Result<Counters, String> + 'a>),
}

/// One run of a plan.
pub(crate) struct Run<'a> {
    /// The levels of the factors, in the table's order.
    pub(crate) factors: Vec<String>,
    /// What is done and timed.
    pub(crate) work: Work<'a>,
    /// What is looked up afterwards, untimed.
    pub(crate) after: Box<dyn FnMut() -> Counters + 'a>,
}

/// Why an experiment ended early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LabError {
    /// A program cannot be started.
    #[error("cannot start {program}: {source}")]
    Start {
        /// Its name.
        program: String,
        /// The system's error.
        source: io::Error,
    },
    /// A run failed.
    #[error("run {factors}: {why}")]
    Failed {
        /// Which.
        factors: String,
        /// What it said.
        why: String,
    },
    /// A file cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: String,
        /// The system's error.
        source: io::Error,
    },
    /// What is needed cannot be made.
    #[error("{0}")]
    Prepare(String),
    /// What a run says cannot be written.
    #[error(transparent)]
    Say(#[from] OutputError),
}

impl RunError for LabError {
    fn class(&self) -> Class {
        match self {
            Self::Start { .. } | Self::Failed { .. } | Self::File { .. } | Self::Prepare(_) => {
                Class::System
            }
            Self::Say(output) => output.class(),
        }
    }
}

impl LabError {
    /// For `map_err` of operations on a file.
    pub(crate) fn file(path: &std::path::Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.display().to_string();
        move |source| Self::File { path, source }
    }
}

/// Makes one run and adds it to the table, whose columns are [`TIMES`] and then counters by name;
/// one that the run does not report is 0.
///
/// # Errors
/// The run cannot be started or fails.
pub(crate) fn perform(run: &mut Run<'_>, table: &mut Table) -> Result<(), LabError> {
    let failed = |why: String| LabError::Failed { factors: run.factors.join(" "), why };
    let (cpu_before, started) = (cpu_s(), Instant::now());
    let mut counters = match &mut run.work {
        Work::Code(code) => code().map_err(failed)?,
        Work::Program(command) => {
            counters_of(&output_of(command, |status, said| failed(format!("{status}: {said}")))?)
        }
    };
    let wall_s = started.elapsed().as_secs_f64();
    let cpu_s = cpu_s() - cpu_before;
    counters.extend((run.after)());
    let told = |name: &String| counters.iter().find(|(of, _)| of == name).map(|(_, value)| *value);
    let measured = |name: &String| match name.as_str() {
        "wall_s" => wall_s,
        "cpu_s" => cpu_s,
        "cores_busy" => cpu_s / wall_s.max(1e-9),
        _ => told(name).unwrap_or(0.0),
    };
    let values = table.columns.iter().map(measured).collect();
    table.rows.push(Row { factors: run.factors.clone(), values });
    Ok(())
}

/// What a program prints that must not fail; where it does, `failed` is given its status and what
/// it said.
///
/// # Errors
/// It cannot be started; `failed`'s.
pub(crate) fn output_of(
    command: &mut Command,
    failed: impl FnOnce(ExitStatus, &str) -> LabError,
) -> Result<String, LabError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = process::printed(command);
    let output = output.map_err(|source| LabError::Start { program, source })?;
    if !output.status.success() {
        return Err(failed(output.status, String::from_utf8_lossy(&output.stderr).trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Processor time of this process and of all its children that have ended.
fn cpu_s() -> f64 {
    (machine::usage().cpu + machine::usage_of_children().cpu).as_secs_f64()
}

/// Whether a name is among those that were requested; all are where none was.
pub(crate) fn chosen(names: &[String], name: &str) -> bool {
    names.is_empty() || names.iter().any(|chosen| chosen == name)
}

/// What a program says of itself: its lines `counter`, name, value (tabs between).
pub(crate) fn counters_of(text: &str) -> Counters {
    let counter = |line: &str| {
        let (name, value) = line.strip_prefix("counter\t")?.split_once('\t')?;
        Some((name.to_owned(), value.parse().ok()?))
    };
    text.lines().filter_map(counter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(work: Work<'static>) -> Run<'static> {
        let after = || vec![("later".to_owned(), 7.0)];
        Run { factors: vec!["x".to_owned()], work, after: Box::new(after) }
    }

    #[test]
    fn programs_and_code_are_timed_and_counted() {
        let mut table = Table::new(&["what"], &["wall_s", "cpu_s", "reads", "later", "absent"]);
        let mut shell = Command::new("sh");
        shell.args(["-c", "sleep 0.05; printf 'noise\\ncounter\\treads\\t12\\n'"]);
        perform(&mut run(Work::Program(Box::new(shell))), &mut table).unwrap();
        let code = || {
            std::thread::sleep(std::time::Duration::from_millis(20));
            Ok(vec![("reads".to_owned(), 3.0)])
        };
        perform(&mut run(Work::Code(Box::new(code))), &mut table).unwrap();
        let [program, code] = &table.rows[..] else { unreachable!() };
        assert!(program.values[0] >= 0.05 && code.values[0] >= 0.02);
        assert_eq!(program.values[2..], [12.0, 7.0, 0.0]);
        assert_eq!(code.values[2..], [3.0, 7.0, 0.0]);
    }

    #[test]
    fn a_failed_run_says_why() {
        let mut table = Table::new(&["what"], &["wall_s"]);
        let mut shell = Command::new("sh");
        shell.args(["-c", "echo no disk >&2; exit 3"]);
        let error = perform(&mut run(Work::Program(Box::new(shell))), &mut table).unwrap_err();
        assert!(error.to_string().contains("no disk"), "{error}");
        let nothing = Work::Program(Box::new(Command::new("/none/such")));
        let error = perform(&mut run(nothing), &mut table).unwrap_err();
        assert!(matches!(error, LabError::Start { .. }), "{error}");
        assert!(table.rows.is_empty());
    }

    #[test]
    fn time_of_children_counts() {
        let mut table = Table::new(&["what"], &["cpu_s"]);
        let mut shell = Command::new("sh");
        shell.args(["-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"]);
        perform(&mut run(Work::Program(Box::new(shell))), &mut table).unwrap();
        assert!(table.rows[0].values[0] > 0.01, "{table:?}");
    }
}
