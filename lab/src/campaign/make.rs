//! Files that runs need, made before anything is timed: references, indices, reads.
//!
//! Next to each is `NAME.made` with the commands that made it, after those of the files that they
//! name: one that the same commands made of the same files is not made again.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::process::run_together;
use seqloom_io::sidecars::with_suffix;

use super::definition::Experiment;
use super::plan::Plan;
use super::scope::{Scope, Site};

/// No index takes longer: a bound where none is requested.
const LIMIT: Duration = Duration::from_secs(7 * 24 * 3600);
/// Lines of what a program said that are kept.
const LAST_LINES: usize = 5;

/// Files that could not be made, and why.
pub(super) type Failed = BTreeMap<PathBuf, String>;

/// Files that are made, and how: see [`history`].
type Made = BTreeMap<PathBuf, String>;

/// Makes all files that a plan needs.
pub(super) fn make_all(
    experiment: &Experiment,
    plan: &Plan,
    site: &Site,
    stop: &(dyn Fn() -> bool + Sync),
    tell: &mut dyn FnMut(&str),
) -> Failed {
    let (mut failed, mut done) = (Failed::new(), Made::new());
    for configuration in &plan.configurations {
        let scope = Scope::new(experiment, configuration, site);
        for make in scope.files() {
            let (path, commands) = match (scope.path_of(make), scope.commands_of(make)) {
                (Ok(path), Ok(commands)) => (path, commands),
                (Err(error), _) | (_, Err(error)) => {
                    failed.insert(PathBuf::from(&make.file), error.to_string());
                    continue;
                }
            };
            if done.contains_key(&path) || failed.contains_key(&path) {
                continue;
            }
            let how = history(&commands, &done);
            let made = match &make.given {
                Some(_) if path.exists() => Ok(()),
                Some(_) => Err("there is no such file".to_owned()),
                None => make_one(&path, &commands, &how, stop, tell),
            };
            match made {
                Ok(()) => drop(done.insert(path, how)),
                Err(why) => drop(failed.insert(path, why)),
            }
        }
    }
    failed
}

/// Why a configuration lacks a file, if it does.
pub(super) fn lacks(scope: &Scope<'_>, failed: &Failed) -> Option<String> {
    scope.files().into_iter().find_map(|make| {
        let path = scope.path_of(make).unwrap_or_else(|_| PathBuf::from(&make.file));
        let why = failed.get(&path)?;
        Some(format!("{} cannot be made: {why}", path.display()))
    })
}

/// How a file is made: by these commands, a line each, after those that made what they name.
fn history(commands: &[Vec<String>], made: &Made) -> String {
    let lines: Vec<String> = commands.iter().map(|words| words.join(" ") + "\n").collect();
    let is_named = |path: &Path| {
        let path = path.to_string_lossy();
        commands.iter().flatten().any(|word| word.contains(&*path))
    };
    let inputs = made.iter().filter(|(path, _)| is_named(path)).map(|(_, how)| how.as_str());
    inputs.chain(lines.iter().map(String::as_str)).collect()
}

fn make_one(
    path: &Path,
    commands: &[Vec<String>],
    wanted: &str,
    stop: &(dyn Fn() -> bool + Sync),
    tell: &mut dyn FnMut(&str),
) -> Result<(), String> {
    let told = |error: std::io::Error| error.to_string();
    let stamp = with_suffix(path, ".made");
    if fs::read_to_string(&stamp).is_ok_and(|made| made == wanted) {
        return Ok(());
    }
    tell(&format!("making {}", path.display()));
    // That of other commands: should these fail, nobody has made what is there then.
    let _ = fs::remove_file(&stamp);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(told)?;
    }
    for words in commands {
        let log = with_suffix(path, ".log");
        let output = File::create(&log).map_err(told)?;
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).stdin(Stdio::null());
        command.stderr(output.try_clone().map_err(told)?).stdout(output);
        let ended = run_together(vec![command], LIMIT, stop).pop();
        let ended = ended.unwrap_or_else(|| Err(std::io::Error::other("not run")));
        let ended = ended.map_err(|error| format!("{}: {error}", words[0]))?;
        if !ended.status.success() {
            return Err(format!("{}: {}: {}", words[0], ended.status, last_lines(&log)));
        }
    }
    fs::write(&stamp, wanted).map_err(told)
}

/// The end of what a program said, in one line.
pub(super) fn last_lines(log: &Path) -> String {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].join(" / ").replace('\t', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make(path: &Path, script: &str) -> Result<(), String> {
        let commands = [["sh", "-c", script].map(str::to_owned).to_vec()];
        make_one(path, &commands, script, &|| false, &mut |_| {})
    }

    #[test]
    fn what_is_made_of_another_file_is_made_again_with_it() {
        let words = |line: &str| vec![line.split(' ').map(str::to_owned).collect::<Vec<_>>()];
        let of = |reads: &str| {
            let first = words(&format!("make /work/reads.fq --count {reads}"));
            let made = Made::from([
                (PathBuf::from("/work/reads.fq"), history(&first, &Made::new())),
                (PathBuf::from("/work/other"), "another\n".to_owned()),
            ]);
            history(&words("compress /work/reads.fq -o /work/reads.fq.gz"), &made)
        };
        let compressing = "compress /work/reads.fq -o /work/reads.fq.gz\n";
        assert_eq!(of("7"), format!("make /work/reads.fq --count 7\n{compressing}"));
        assert_ne!(of("7"), of("8"));
    }

    #[test]
    fn what_the_same_commands_made_is_not_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("below/file");
        let script = format!("echo x >> {}", path.display());
        make(&path, &script).unwrap();
        make(&path, &script).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "x\n");
        make(&path, &(script + "; true")).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "x\nx\n");
    }

    #[test]
    fn what_cannot_be_made_says_why_and_is_tried_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let script = format!("touch {0}; echo one; echo disk full >&2; exit 7", path.display());
        for _ in 0..2 {
            let why = make(&path, &script).unwrap_err();
            assert!(why.contains("7") && why.ends_with("one / disk full"), "{why}");
        }
        make(&path, "true").unwrap();
        make(&path, "false").unwrap_err();
        assert!(!with_suffix(&path, ".made").exists(), "what made it before did not make it");
        let commands = [vec!["/none/such".to_owned()]];
        let why = make_one(&path, &commands, "", &|| false, &mut |_| {}).unwrap_err();
        assert!(why.starts_with("/none/such: "), "{why}");
    }
}
