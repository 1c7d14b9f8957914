//! The memory of a program and of all that it starts, looked at from outside.
//!
//! Resident memory of all processes of a group is summed every few milliseconds; pages that two of
//! them share count twice. What a process has between two looks is not seen, but for what the
//! system itself keeps of the largest. The group, which a terminal's Ctrl-C does not reach, never
//! goes on without whoever watches it.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::experiment::LabError;
use crate::process::Group;

/// Time between two looks: a thousandth of a run of ten seconds.
const INTERVAL: Duration = Duration::from_millis(5);
/// Looks between two searches for processes of the group: a search reads about every process that
/// the machine has, which at every look would take a third of a core.
const SEARCH_EVERY: u32 = 20;
/// Field of `/proc/PID/stat` after the name: process group; resident pages.
const GROUP_FIELD: usize = 2;
const PAGES_FIELD: usize = 21;
/// Bytes of a page, on every machine that the product runs on.
const PAGE_BYTES: u64 = 4096;

/// The memory of a run at one moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sample {
    /// Since its start.
    pub(crate) seconds: f64,
    /// Resident memory of all its processes together.
    pub(crate) bytes: u64,
}

/// What a run took.
#[derive(Debug, Clone)]
pub(crate) struct Watched {
    /// How it ended.
    pub(crate) status: ExitStatus,
    /// Time on the clock.
    pub(crate) wall_s: f64,
    /// Time of processors.
    pub(crate) cpu_s: f64,
    /// Most resident memory of all its processes together.
    pub(crate) peak_bytes: u64,
    /// What that was at each look.
    pub(crate) samples: Vec<Sample>,
}

/// Runs a program whose output and errors go nowhere but where the command says. Once `stop` says
/// so, which is called at every look, it is killed with all that it started.
///
/// # Errors
/// It cannot be started; [`io::ErrorKind::Interrupted`] when it was stopped.
pub(crate) fn watch(command: &mut Command, stop: &dyn Fn() -> bool) -> io::Result<Watched> {
    let mut group = Group::start(command.stdin(Stdio::null()))?;
    let (mut samples, mut members, began) = (Vec::new(), Vec::new(), Instant::now());
    let mut looks = 0..;
    let ended = loop {
        if let Some(ended) = group.try_wait()? {
            break ended;
        }
        if stop() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        if looks.next().is_some_and(|look: u32| look.is_multiple_of(SEARCH_EVERY)) {
            members = processes();
        }
        let bytes = group_bytes(group.number(), &mut members);
        samples.push(Sample { seconds: began.elapsed().as_secs_f64(), bytes });
        std::thread::sleep(INTERVAL);
    };
    let (wall_s, cpu_s) = (ended.wall.as_secs_f64(), ended.usage.cpu.as_secs_f64());
    let peak_bytes = samples.iter().map(|sample| sample.bytes).max().unwrap_or(0);
    Ok(Watched { status: ended.status, wall_s, cpu_s, peak_bytes, samples })
}

/// As [`watch`], for a program that must not fail; what it prints is kept in files of `folder`.
///
/// # Errors
/// It cannot be started, it fails, or it was stopped; `what` names it.
pub(crate) fn watch_in(
    folder: &Path,
    command: &mut Command,
    what: &str,
    stop: &dyn Fn() -> bool,
) -> Result<Watched, LabError> {
    let errors = folder.join("errors.txt");
    let file = |path: &Path| fs::File::create(path).map_err(LabError::file(path));
    command.stdout(file(&folder.join("output.txt"))?).stderr(file(&errors)?);
    let program = command.get_program().to_string_lossy().into_owned();
    let failed = |why: String| LabError::Failed { factors: what.to_owned(), why };
    let watched = watch(command, stop).map_err(|source| match source.kind() {
        io::ErrorKind::Interrupted => failed("stopped".to_owned()),
        _ => LabError::Start { program, source },
    })?;
    if watched.status.success() {
        return Ok(watched);
    }
    let why = fs::read_to_string(&errors).unwrap_or_default();
    Err(failed(format!("{}: {}", watched.status, why.trim())))
}

/// All processes that there are.
fn processes() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Resident memory of those processes that are of the group; the others are taken out.
fn group_bytes(group: u32, members: &mut Vec<u32>) -> u64 {
    let mut pages = 0;
    members.retain(|process| {
        let stat = fs::read_to_string(format!("/proc/{process}/stat"));
        let found = stat.ok().and_then(|stat| pages_in(&stat, group));
        pages += found.unwrap_or(0);
        found.is_some()
    });
    pages * PAGE_BYTES
}

/// Resident pages of a process, by its line of `stat`, if it is of the group.
fn pages_in(stat: &str, group: u32) -> Option<u64> {
    // The name may hold spaces and brackets; it ends at the last one.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let is_of_group = fields.get(GROUP_FIELD)?.parse() == Ok(group);
    fields.get(PAGES_FIELD).filter(|_| is_of_group)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_all_processes_is_seen() {
        // Two processes side by side, each with 64 MiB in a variable.
        let hog = "x=$(head -c 67108864 /dev/zero | tr '\\0' x); sleep 0.3";
        let mut command = Command::new("bash");
        command.args(["-c", r#"bash -c "$0" & bash -c "$0"; wait"#, hog]);
        let watched = watch(&mut command, &|| false).unwrap();
        assert!(watched.status.success());
        assert!(watched.peak_bytes > 100 << 20, "{watched:?}");
        assert!(watched.samples.is_sorted_by(|a, b| a.seconds < b.seconds));
        assert!(watched.samples.iter().any(|sample| sample.bytes < 50 << 20), "before they grew");
        assert!(watched.wall_s >= 0.3 && watched.cpu_s > 0.0, "{watched:?}");
    }

    #[test]
    fn what_is_stopped_ends_with_all_that_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let (begun, late) = (folder.path().join("begun"), folder.path().join("late"));
        let script = "(touch \"$0\"; sleep 1; touch \"$1\") & wait";
        let mut command = Command::new("sh");
        command.args(["-c", script]).arg(&begun).arg(&late);
        let error = watch(&mut command, &|| begun.exists()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Interrupted);
        std::thread::sleep(Duration::from_millis(1300));
        assert!(!late.exists(), "its child went on");
    }

    #[test]
    fn names_with_brackets_do_not_matter() {
        let stat = |group: u32| {
            let rest = vec!["0"; 18].join(" ");
            format!("12 (a) b (c)) S 1 {group} {rest} 77 0 0")
        };
        assert_eq!(pages_in(&stat(5), 5), Some(77));
        assert_eq!(pages_in(&stat(6), 5), None);
        assert_eq!(pages_in("nonsense", 5), None);
    }
}
