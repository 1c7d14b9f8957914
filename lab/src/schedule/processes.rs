//! Processes: so many that each has 16 threads, each with its share of the input and a file of its
//! own to write. They share nothing but the page cache, and what is mapped from it.
//!
//! A process is this program again, which pulls ([`super::pull`]). It loads its engine, says
//! `ready`, and waits for a line before it begins, so that all begin together. When one fails the
//! others are killed.

use std::io::{BufRead, BufReader, Read, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use super::input::{self, Share};
use crate::experiment::{Counters, LabError, counters_of};
use crate::process::Group;

/// Threads of a process: what the paper's baseline has.
pub(crate) const THREADS_PER_PROCESS: usize = 16;
/// What a process says when its engine is loaded.
pub(crate) const READY: &str = "ready";
/// Time between two looks at the processes.
const INTERVAL: Duration = Duration::from_millis(5);
/// Counters of which the largest counts; all others are added up.
const LARGEST: [&str; 1] = ["align_us"];

/// A process at work.
struct Running {
    group: Group,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    errors: PathBuf,
}

/// Runs the whole input: `command` makes a process of so many threads with this share of the input,
/// whose output goes into a folder; these folders are returned.
pub(super) fn run(
    inputs: &[PathBuf],
    threads: NonZeroUsize,
    folder: &Path,
    command: &dyn Fn(&Share, NonZeroUsize, &Path) -> Command,
) -> Result<(Counters, Vec<PathBuf>), LabError> {
    let of_process = threads_of_processes(threads);
    let shares = input::cut(inputs, of_process.len(), &folder.join("shares"))?;
    let outputs: Vec<PathBuf> =
        (0..shares.len()).map(|at| folder.join(format!("process-{at}"))).collect();
    // None of them outlives this.
    let mut all = Vec::new();
    for ((share, &threads), output) in shares.iter().zip(&of_process).zip(&outputs) {
        all.push(start(command(share, threads, output), output)?);
    }
    all.iter_mut().try_for_each(Running::wait_until_ready)?;
    all.iter_mut().try_for_each(Running::go)?;
    wait(&mut all)?;
    let mut counters = Counters::new();
    for running in &mut all {
        add(&mut counters, running.counters()?);
    }
    Ok((counters, outputs))
}

/// Threads of each process: as many as there are, in shares that differ by one at most.
fn threads_of_processes(threads: NonZeroUsize) -> Vec<NonZeroUsize> {
    let threads = threads.get();
    let count = threads.div_ceil(THREADS_PER_PROCESS);
    let of = |process| threads * (process + 1) / count - threads * process / count;
    (0..count).filter_map(|process| NonZeroUsize::new(of(process))).collect()
}

fn start(mut command: Command, output: &Path) -> Result<Running, LabError> {
    std::fs::create_dir_all(output).map_err(LabError::file(output))?;
    let errors = output.join("errors");
    let file = std::fs::File::create(&errors).map_err(LabError::file(&errors))?;
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(file);
    let program = command.get_program().to_string_lossy().into_owned();
    let mut group =
        Group::start(&mut command).map_err(|source| LabError::Start { program, source })?;
    let (stdin, stdout) = group
        .take_pipes()
        .ok_or_else(|| LabError::Prepare("a process has no pipes; this is a bug".into()))?;
    Ok(Running { group, stdin, stdout: BufReader::new(stdout), errors })
}

impl Running {
    /// Its failure, in its own words.
    fn failed(&self, how: &str) -> LabError {
        let said = std::fs::read_to_string(&self.errors).unwrap_or_default();
        LabError::Failed { factors: "of a process".to_owned(), why: format!("{how}: {said}") }
    }

    fn wait_until_ready(&mut self) -> Result<(), LabError> {
        let mut line = String::new();
        let read = self.stdout.read_line(&mut line);
        if read.is_ok() && line.trim_end() == READY {
            return Ok(());
        }
        // Where it fails its pipe ends, and it has said why.
        let _ = self.group.wait();
        Err(self.failed("it did not get ready"))
    }

    fn go(&mut self) -> Result<(), LabError> {
        let told = self.stdin.write_all(b"go\n");
        told.map_err(|error| self.failed(&error.to_string()))
    }

    fn counters(&mut self) -> Result<Counters, LabError> {
        let mut text = String::new();
        let read = self.stdout.read_to_string(&mut text);
        read.map_err(|error| self.failed(&error.to_string()))?;
        Ok(counters_of(&text))
    }
}

/// Waits for all; the first that fails ends it. What they say fits their pipes.
fn wait(all: &mut [Running]) -> Result<(), LabError> {
    loop {
        let mut is_any_left = false;
        for running in &mut *all {
            match running.group.try_wait() {
                Ok(Some(ended)) if ended.status.success() => {}
                Ok(None) => is_any_left = true,
                Ok(Some(ended)) => return Err(running.failed(&ended.status.to_string())),
                Err(error) => return Err(running.failed(&error.to_string())),
            }
        }
        if !is_any_left {
            return Ok(());
        }
        std::thread::sleep(INTERVAL);
    }
}

fn add(all: &mut Counters, own: Counters) {
    for (name, value) in own {
        match all.iter_mut().find(|(of, _)| *of == name) {
            Some((_, sum)) if LARGEST.contains(&name.as_str()) => *sum = sum.max(value),
            Some((_, sum)) => *sum += value,
            None => all.push((name, value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn every_thread_is_in_one_process() {
        fn t(threads: usize, expected: &[usize]) {
            let of = threads_of_processes(NonZeroUsize::new(threads).unwrap());
            assert_eq!(of.iter().map(|n| n.get()).collect::<Vec<_>>(), expected);
        }
        t(1, &[1]);
        t(16, &[16]);
        t(17, &[8, 9]);
        t(48, &[16, 16, 16]);
    }

    fn run_shell(script: &str) -> Result<Counters, LabError> {
        let folder = tempfile::tempdir().unwrap();
        let inputs = input::made(folder.path(), 100, false).unwrap();
        let threads = NonZeroUsize::new(32).unwrap();
        let command = |share: &Share, threads: NonZeroUsize, _output: &Path| {
            let mut command = Command::new("bash");
            let first = share.first_template.to_string();
            command.args(["-c", script, "x", &first, &threads.to_string()]);
            command
        };
        run(&inputs, threads, folder.path(), &command).map(|(counters, _)| counters)
    }

    #[test]
    fn counters_of_all_processes_are_put_together() {
        let script = r#"echo ready; read go; [ "$go" = go ] || exit 1
            printf 'counter\talign_us\t%s\ncounter\treads\t%s\n' "$(($1 + 5))" "$2""#;
        let counters = run_shell(script).unwrap();
        assert_eq!(counters, [("align_us".to_owned(), 55.0), ("reads".to_owned(), 32.0)]);
    }

    #[test]
    fn one_that_fails_ends_all() {
        for when in ["", "echo ready; read go;"] {
            let started = Instant::now();
            let script = format!(
                "[ $1 = 0 ] && {{ echo ready; sleep 60; }}; {when} echo no disk >&2; exit 3"
            );
            let error = run_shell(&script).unwrap_err();
            assert!(error.to_string().contains("no disk"), "{error}");
            assert!(started.elapsed() < Duration::from_secs(30));
        }
    }
}
