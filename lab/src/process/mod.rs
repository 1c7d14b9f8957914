//! Other programs: how all experiments start them, and what each used.
//!
//! A program that is timed is a [`Group`]: it leads a process group of its own, so that one that is
//! stopped takes with it what it has started itself. [`run_together`] starts several at the same
//! moment, none of which outlives its time. What a program prints is read by [`printed`].

mod sys;

use std::io;
use std::num::NonZeroUsize;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use seqloom_runtime::failure::{Failure, lock};
use seqloom_runtime::machine::{Usage, usage_from};
use seqloom_runtime::pool::{self, Stopped};

/// From the call to the start of the programs: threads are there and asleep by then.
const SETTLE: Duration = Duration::from_millis(10);
/// SIGKILL, by which programs are stopped.
const KILLED: i32 = 9;

/// How a program ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ended {
    /// Its status.
    pub(crate) status: ExitStatus,
    /// From its start to its end.
    pub(crate) wall: Duration,
    /// What it used, and the children that it waited for.
    pub(crate) usage: Usage,
    /// Whether it was stopped because its time was over.
    pub(crate) out_of_time: bool,
}

/// A program under way with all that it starts; they are killed when it is dropped before its end.
#[derive(Debug)]
pub(crate) struct Group {
    child: Child,
    started: Instant,
    ended: Option<Ended>,
}

impl Group {
    /// Starts a program.
    ///
    /// # Errors
    /// It cannot be started.
    pub(crate) fn start(command: &mut Command) -> io::Result<Self> {
        let started = Instant::now();
        let child = command.process_group(0).spawn()?;
        Ok(Self { child, started, ended: None })
    }

    /// The number of the group, its own until its end is taken note of.
    #[must_use]
    pub(crate) fn number(&self) -> u32 {
        self.child.id()
    }

    /// Its standard input and output, where both were requested as pipes.
    pub(crate) fn take_pipes(&mut self) -> Option<(ChildStdin, ChildStdout)> {
        self.child.stdin.take().zip(self.child.stdout.take())
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn wait(&mut self) -> io::Result<Ended> {
        match self.end(false)? {
            Some(ended) => Ok(ended),
            None => Err(io::Error::other("a program that has ended has no status; this is a bug")),
        }
    }

    /// How it ended, if it has.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn try_wait(&mut self) -> io::Result<Option<Ended>> {
        self.end(true)
    }

    fn end(&mut self, at_once: bool) -> io::Result<Option<Ended>> {
        if self.ended.is_none()
            && let Some((status, used)) = sys::wait_with_usage(self.number(), at_once)?
        {
            let (status, wall) = (ExitStatus::from_raw(status), self.started.elapsed());
            let usage = usage_from(&used);
            self.ended = Some(Ended { status, wall, usage, out_of_time: false });
        }
        Ok(self.ended)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.ended.is_none() {
            // Having ended meanwhile is just as good.
            let _ = sys::kill_group(self.number());
            let _ = self.wait();
        }
    }
}

/// Runs a program to its end and gives what it prints; it has no input.
///
/// # Errors
/// It cannot be started.
pub(crate) fn printed(command: &mut Command) -> io::Result<Output> {
    command.stdin(Stdio::null()).output()
}

/// Programs under way, by the numbers of their groups.
#[derive(Debug, Default)]
struct UnderWay {
    groups: Vec<u32>,
    stopped: bool,
    out_of_time: bool,
}

/// Starts all programs at the same moment and waits for all of them.
///
/// Their time is over after `limit`, and when `stop` says so, which is called every 200 ms: then
/// all are killed, with what they have started.
///
/// # Errors
/// By program: it could not be started or waited for.
pub(crate) fn run_together(
    commands: Vec<Command>,
    limit: Duration,
    stop: &(dyn Fn() -> bool + Sync),
) -> Vec<io::Result<Ended>> {
    let Some(count) = NonZeroUsize::new(commands.len()) else { return Vec::new() };
    let ended: Vec<Mutex<Option<io::Result<Ended>>>> =
        commands.iter().map(|_| Mutex::new(None)).collect();
    let commands: Vec<Mutex<Command>> = commands.into_iter().map(Mutex::new).collect();
    let under_way = Mutex::new(UnderWay::default());
    let began = Instant::now();
    let work = |program: usize| {
        // A moment rather than a barrier: nobody waits for a thread that could not be started.
        std::thread::sleep(SETTLE.saturating_sub(began.elapsed()));
        let result = run_one(&mut lock(&commands[program]), &under_way);
        *lock(&ended[program]) = Some(result);
        Ok(())
    };
    let watch = || {
        let out_of_time = began.elapsed() > limit;
        if out_of_time || stop() {
            stop_all(&mut lock(&under_way), out_of_time);
        }
        Ok(())
    };
    let failure = Failure::<Stopped>::default();
    let outcome = pool::run(count, &failure, || {}, &watch, work);
    let lost = |error: &Stopped| io::Error::other(error.to_string());
    ended
        .into_iter()
        .map(|slot| {
            let slot = slot.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
            let none = || Err(outcome.as_ref().map_or_else(lost, |()| io::Error::other("not run")));
            slot.unwrap_or_else(none)
        })
        .collect()
}

fn stop_all(under_way: &mut UnderWay, out_of_time: bool) {
    under_way.out_of_time |= out_of_time && !under_way.groups.is_empty();
    under_way.stopped = true;
    for &group in &under_way.groups {
        // One that has ended meanwhile is just as good.
        let _ = sys::kill_group(group);
    }
}

/// Starts one program and waits for it.
fn run_one(command: &mut Command, under_way: &Mutex<UnderWay>) -> io::Result<Ended> {
    if lock(under_way).stopped {
        return Err(io::ErrorKind::Interrupted.into());
    }
    let mut group = Group::start(command)?;
    let number = group.number();
    {
        let mut under_way = lock(under_way);
        under_way.groups.push(number);
        if under_way.stopped {
            // As in `stop_all`; whatever comes of it, the program is waited for below.
            let _ = sys::kill_group(number);
        }
    }
    sys::await_end(number)?;
    // Its number is its own until it is waited for, which nobody does while groups are stopped.
    let mut under_way = lock(under_way);
    under_way.groups.retain(|other| *other != number);
    let ended = group.wait()?;
    let out_of_time = under_way.out_of_time && ended.status.signal() == Some(KILLED);
    Ok(Ended { out_of_time, ..ended })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::{Path, PathBuf};

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    const LONG: Duration = Duration::from_secs(60);

    /// A folder of a test's own.
    fn folder(test: &str) -> PathBuf {
        let name = format!("seqloom-process-{test}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn programs_run_side_by_side_and_each_is_accounted_for() {
        let folder = folder("together");
        // The first waits for what the last one makes, which one after the other never ends.
        let there = folder.join("there").display().to_string();
        let waits = format!("until [ -e {there} ]; do sleep 0.1; done; sleep 0.6");
        let busy = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
        let makes = format!("touch {there}; exit 3");
        let commands = vec![shell(&waits), shell(busy), shell(&makes)];
        let ended = run_together(commands, LONG, &|| false);
        let ended: Vec<Ended> = ended.into_iter().map(Result::unwrap).collect();
        std::fs::remove_dir_all(folder).unwrap();
        assert_eq!(
            ended.iter().map(|e| e.status.code()).collect::<Vec<_>>(),
            [Some(0), Some(0), Some(3)]
        );
        assert!(ended[0].wall >= Duration::from_millis(600));
        assert!(ended[1].usage.cpu > 4 * ended[0].usage.cpu, "{ended:?}");
        assert!(ended.iter().all(|e| e.usage.peak_rss_bytes > 0 && !e.out_of_time), "{ended:?}");
        assert!(ended[0].usage.voluntary_switches > 0, "it slept: {ended:?}");
    }

    #[test]
    fn what_takes_too_long_is_ended_with_its_children() {
        let folder = folder("late");
        let child = folder.join("child");
        let script = format!("sleep 600 & echo $! > {}; wait", child.display());
        let limit = Duration::from_secs(3);
        let ended = run_together(vec![shell(&script), shell("true")], limit, &|| false);
        let [slow, quick] = &ended[..] else { unreachable!() };
        assert!(slow.as_ref().unwrap().out_of_time && !quick.as_ref().unwrap().out_of_time);
        let process = std::fs::read_to_string(&child).unwrap();
        let status = Path::new("/proc").join(process.trim()).join("status");
        let lives =
            || std::fs::read_to_string(&status).is_ok_and(|text| !text.contains("State:\tZ"));
        let began = Instant::now();
        while lives() {
            assert!(began.elapsed() < LONG, "its child went on");
            std::thread::sleep(Duration::from_millis(10));
        }
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_stop_and_a_missing_program_are_reported() {
        let stopped = run_together(vec![shell("sleep 30")], LONG, &|| true);
        assert!(!stopped[0].as_ref().unwrap().status.success());
        let missing =
            run_together(vec![Command::new("/none/such"), shell("true")], LONG, &|| false);
        assert_eq!(missing[0].as_ref().unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(missing[1].as_ref().unwrap().status.success());
        assert!(run_together(Vec::new(), LONG, &|| false).is_empty());
    }
}
