//! The process pool: FAST5 files read by child processes, so that what crashes or hangs while it
//! reads one costs one read and not the run.
//!
//! Gamaarachchi 2020 (thesis, chapter on nanopore I/O) reads FAST5 in a pool of processes because
//! libhdf5 serialises threads. This is that pool, with what it lacked there: a worker is this
//! program started once more, never a fork of a process with threads; it is handed one read at a
//! time, of whichever file is next, and keeps the file open while its reads are requested; nothing
//! that it answers is trusted; and it ends with its parent.
//!
//! No thread is made here. A thread that wants a read borrows a worker, talks to it, and gives it
//! back: `-t N` threads have N workers at most, one of each pair being asleep.
//!
//! Invariants: a worker that dies or is too slow loses the read that it works on and no other;
//! it is reaped at once, and replaced when the next one is requested; after
//! [`Fast5PoolOptions::max_deaths`] there is no replacement, and reads are lost one by one.

mod channel;
mod protocol;
mod sys;
#[cfg(test)]
mod tests;
mod worker;

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use seqloom_format::signal::{SignalHeader, SignalRead};
use seqloom_format::slow5::header;
use seqloom_runtime::failure::lock;

use crate::store::fast5::Fast5Options;
use channel::{Channel, ChannelError};
use protocol::{COMPRESSION, Names, Request};
pub use worker::{OpenByPath, WorkerError, WorkerOptions, run as run_worker};

/// How workers are started, and when one is given up.
#[derive(Debug, Clone)]
pub(crate) struct Fast5PoolOptions {
    /// The program that is a worker.
    pub(crate) program: PathBuf,
    /// What makes it one: its first arguments. After them come `--shared-descriptor N --parent N`.
    pub(crate) arguments: Vec<OsString>,
    /// How long an answer may take. Disks that stall are waited for; workers that hang are not.
    pub(crate) timeout: Duration,
    /// Workers that may die before no more are started: a machine on which all die is not a few bad
    /// files.
    pub(crate) max_deaths: u64,
}

/// An answer takes longer than this only where nothing works any more: the longest read there is
/// comes from a slow disk within seconds.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);

/// See [`Fast5PoolOptions::max_deaths`].
pub(crate) const DEFAULT_MAX_DEATHS: u64 = 100;

/// The workers that have nothing to do, and how to get more. Threads share it.
#[derive(Debug)]
pub struct Fast5Pool {
    options: Fast5PoolOptions,
    idle: Mutex<Vec<Worker>>,
    /// Relaxed: who sees a death late starts a worker more than the limit lets.
    deaths: AtomicU64,
    /// Opened so far. Relaxed: every number is given once.
    files: AtomicU64,
}

/// Why a worker gave nothing. The words are after the name of file and read.
#[derive(Debug, thiserror::Error)]
enum PoolError {
    /// The file or read is bad; the worker is in order.
    #[error("{0}")]
    Bad(String),
    /// The worker ended while it was at it.
    #[error("its worker process {}", ending(.0))]
    Died(ExitStatus),
    /// It was too slow, hung, or lied, and was killed.
    #[error("its worker process was stopped: {0}")]
    Stopped(ChannelError),
    /// No worker can be started.
    #[error("no worker process can be started: {0}")]
    Start(io::Error),
    /// Too many have died.
    #[error("{0} worker processes have died; no more are started")]
    GivenUp(u64),
}

/// How a process ended, in words.
fn ending(status: &ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(signal), _) => format!("was killed by signal {signal}"),
        (None, Some(code)) => format!("ended with exit code {code}"),
        (None, None) => "ended".to_owned(),
    }
}

/// One child process and the line to it.
struct Worker {
    child: Child,
    channel: Channel,
    /// Number of the file that it has open.
    file: Option<u64>,
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Worker({})", self.child.id())
    }
}

impl Drop for Worker {
    /// A worker keeps nothing that could be lost. What cannot be killed any more is gone already,
    /// and is only waited for.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Worker {
    fn start(options: &Fast5PoolOptions) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        let shared = sys::shared_memory()?;
        let mut command = Command::new(&options.program);
        let descriptor = sys::inherit(&mut command, &shared);
        command
            .args(&options.arguments)
            .args(["--shared-descriptor", &descriptor.to_string()])
            .args(["--parent", &std::process::id().to_string()])
            .stdin(Stdio::from(OwnedFd::from(theirs.try_clone()?)))
            .stdout(Stdio::from(OwnedFd::from(theirs)))
            // Whoever interrupts the program means it, not its workers: they end with it.
            .process_group(0);
        let channel = Channel::new(ours, shared, options.timeout)?;
        Ok(Self { child: command.spawn()?, channel, file: None })
    }

    /// Whether it still lives.
    fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Ends it, and says how it ended or why it was ended.
    fn end(mut self, error: ChannelError) -> PoolError {
        if matches!(error, ChannelError::Closed(_)) {
            // The line closes when the process ends, a moment before it can be waited for. One that
            // closed the line by itself would not end: hence the kill, which changes no status of
            // a process that is ending.
            let closed = self.child.try_wait().ok().flatten();
            let _ = self.child.kill();
            if let Some(status) = closed.or_else(|| self.child.wait().ok()) {
                return PoolError::Died(status);
            }
        }
        PoolError::Stopped(error)
    }
}

impl Fast5Pool {
    /// A pool whose workers are this program, called with `command`, a hidden command of it.
    #[must_use]
    pub fn of_this_program(command: &str, timeout: Duration) -> Self {
        Self::new(Fast5PoolOptions {
            // Not the name of the file, which may be another program by now.
            program: PathBuf::from("/proc/self/exe"),
            arguments: vec![OsString::from(command)],
            timeout,
            max_deaths: DEFAULT_MAX_DEATHS,
        })
    }

    /// A pool without workers; they are started when they are requested.
    #[must_use]
    pub(crate) fn new(options: Fast5PoolOptions) -> Self {
        let (deaths, files) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { options, idle: Mutex::default(), deaths, files }
    }

    /// Workers that have died or were ended so far.
    #[must_use]
    pub(crate) fn deaths(&self) -> u64 {
        self.deaths.load(Ordering::Relaxed)
    }

    /// Ends the workers that have nothing to do, so that what they used is counted.
    pub fn end_idle(&self) {
        lock(&self.idle).clear();
    }

    /// A worker: one that has the file open, else any that is idle, else a new one.
    fn borrow(&self, file: u64) -> Result<Worker, PoolError> {
        loop {
            let mut idle = lock(&self.idle);
            let found = idle.iter().position(|worker| worker.file == Some(file));
            let at = found.or_else(|| idle.len().checked_sub(1));
            let Some(at) = at else { break };
            let mut worker = idle.swap_remove(at);
            drop(idle);
            if worker.is_alive() {
                return Ok(worker);
            }
            // It died while it had nothing to do: that costs no read.
            self.deaths.fetch_add(1, Ordering::Relaxed);
        }
        let deaths = self.deaths();
        if deaths > self.options.max_deaths {
            return Err(PoolError::GivenUp(deaths));
        }
        Worker::start(&self.options).map_err(PoolError::Start)
    }

    /// Has a worker do something for a file. One that fails at it is not used again.
    fn with_worker<T>(
        &self,
        file: u64,
        work: impl FnOnce(&mut Worker) -> Result<T, ChannelError>,
    ) -> Result<T, PoolError> {
        let mut worker = self.borrow(file)?;
        let outcome = work(&mut worker);
        match outcome {
            Ok(done) => {
                lock(&self.idle).push(worker);
                Ok(done)
            }
            Err(ChannelError::Failed(reason)) => {
                lock(&self.idle).push(worker);
                Err(PoolError::Bad(reason))
            }
            Err(error) => {
                self.deaths.fetch_add(1, Ordering::Relaxed);
                Err(worker.end(error))
            }
        }
    }
}

/// A FAST5 file that workers read.
pub(crate) struct PooledFile {
    pool: Arc<Fast5Pool>,
    /// Its number in the pool.
    number: u64,
    path: PathBuf,
    options: Fast5Options,
    header: SignalHeader,
    /// The header as it travels.
    header_bytes: Vec<u8>,
    names: Names,
}

impl PooledFile {
    /// Has a worker open a file. A worker that dies over it is replaced once: the file's reads are
    /// not to be lost because somebody killed a process.
    ///
    /// # Errors
    /// Problem of the file, or of the pool.
    pub(crate) fn open(
        pool: &Arc<Fast5Pool>,
        path: &Path,
        options: Fast5Options,
    ) -> Result<Self, String> {
        let number = pool.files.fetch_add(1, Ordering::Relaxed);
        let request = Request::Open { path: path.as_os_str().as_bytes(), options };
        let open = || {
            pool.with_worker(number, |worker| {
                worker.file = None;
                let opened = worker.channel.open(&request)?;
                worker.file = Some(number);
                Ok(opened)
            })
        };
        let opened = match open() {
            Err(PoolError::Died(_)) => open(),
            other => other,
        };
        let (header, names) = opened.map_err(|error| error.to_string())?;
        let mut header_bytes = Vec::new();
        header::append_binary(&header, COMPRESSION, &mut header_bytes)
            .map_err(|error| error.to_string())?;
        let (pool, path) = (pool.clone(), path.to_owned());
        Ok(Self { pool, number, path, options, header, header_bytes, names })
    }

    /// Header of all reads.
    pub(crate) fn header(&self) -> &SignalHeader {
        &self.header
    }

    /// How many reads it has.
    pub(crate) fn reads(&self) -> usize {
        self.names.len()
    }

    /// The id of a read by the name of its group; empty when there is no such read.
    pub(crate) fn read_id(&self, index: usize) -> &[u8] {
        self.names.get(index)
    }

    /// Has a worker read one read.
    ///
    /// # Errors
    /// Problem of the read, or of the worker.
    pub(crate) fn read(&self, index: usize, read: &mut SignalRead) -> Result<(), String> {
        let outcome = self.pool.with_worker(self.number, |worker| {
            if worker.file != Some(self.number) {
                worker.file = None;
                let path = self.path.as_os_str().as_bytes();
                let (options, header) = (self.options, &self.header_bytes[..]);
                worker.channel.attach(&Request::Attach { path, options, header })?;
                worker.file = Some(self.number);
            }
            worker.channel.read(index as u64, &self.header, read)
        });
        outcome.map_err(|error| {
            read.clear();
            error.to_string()
        })
    }
}
