//! Running programs with a time limit, and asking what they left behind. For tests: what is not as
//! it must be is a panic.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::referees::{self, BOWTIE2, BWA, PICARD, Picard, SAMTOOLS};

/// No run of these tests takes this long unless it hangs; the long tests have more to do.
pub fn limit() -> Duration {
    let seconds = if std::env::var_os("SEQLOOM_SLOW").is_some() { 3600 } else { 300 };
    Duration::from_secs(seconds)
}
/// A run that must notice something and stop.
pub const SOON: Duration = Duration::from_secs(30);
/// What a program did.
#[derive(Debug)]
pub struct Run {
    /// How it ended.
    pub status: ExitStatus,
    /// What it wrote to standard output.
    pub stdout: Vec<u8>,
    /// What it wrote to standard error.
    pub stderr: String,
}

impl Run {
    /// Exit code as a shell shows it: 128 + signal for a killed program.
    pub fn code(&self) -> i32 {
        let signal = self.status.signal().map(|s| 128 + s);
        self.status.code().or(signal).expect("exited or killed")
    }

    /// Requires success.
    #[track_caller]
    pub fn ok(self) -> Run {
        self.fails_with(0)
    }

    /// Requires an exit code.
    #[track_caller]
    pub fn fails_with(self, code: i32) -> Run {
        assert_eq!(self.code(), code, "{}", self.stderr);
        self
    }

    /// Requires words in the messages, and that no panic reached the user. Log lines do not count:
    /// they quote the command line, and with it the names of all files.
    #[track_caller]
    pub fn says(self, words: &[&str]) -> Run {
        let messages: Vec<&str> = self.stderr.lines().filter(|l| !l.starts_with("[I ")).collect();
        let messages = messages.join("\n");
        for word in words {
            assert!(messages.contains(word), "no {word:?} in: {messages}");
        }
        assert!(!self.stderr.contains("panicked at"), "{}", self.stderr);
        self
    }

    /// Standard output as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }
}

/// A line of words as a command; paths must hold no blanks. The program is one of
/// [`crate::referees`], or one on the PATH.
pub fn words(line: &str) -> Command {
    let mut words = line.split_whitespace();
    let mut command = Command::new(referees::path_of(words.next().expect("a program")));
    command.args(words);
    command
}

/// Runs to the end, within [`limit`].
#[track_caller]
pub fn run(command: &mut Command) -> Run {
    run_for(command, limit())
}

/// Runs to the end; a program that does not end within `limit` is killed and the test fails.
#[track_caller]
pub fn run_for(command: &mut Command, limit: Duration) -> Run {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    finish(child, limit)
}

/// Runs to the end with standard output going into a file.
#[track_caller]
pub fn run_into(command: &mut Command, path: &Path) -> Run {
    let file = File::create(path).unwrap();
    command.stdin(Stdio::null()).stdout(file).stderr(Stdio::piped());
    finish(command.spawn().unwrap_or_else(|e| panic!("{command:?}: {e}")), limit())
}

/// Runs to the end with standard output going into a pipe that nobody reads any more.
#[track_caller]
pub fn run_to_nobody(command: &mut Command) -> Run {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    command.stdin(Stdio::null()).stdout(writer).stderr(Stdio::piped());
    finish(command.spawn().unwrap_or_else(|e| panic!("{command:?}: {e}")), limit())
}

/// Waits for a child, reading what it says meanwhile.
#[track_caller]
pub fn finish(mut child: Child, limit: Duration) -> Run {
    fn collect(from: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<Vec<u8>> {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            if let Some(mut from) = from {
                let _ = from.read_to_end(&mut bytes);
            }
            bytes
        })
    }
    let stdout = collect(child.stdout.take());
    let stderr = collect(child.stderr.take());
    let started = Instant::now();
    let (status, in_time) = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break (status, true);
        }
        if started.elapsed() > limit {
            child.kill().unwrap();
            break (child.wait().unwrap(), false);
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let stderr = String::from_utf8_lossy(&stderr.join().unwrap()).into_owned();
    assert!(in_time, "hung for {limit:?}: {stderr}");
    Run { status, stdout: stdout.join().unwrap(), stderr }
}

/// Sends a signal by name.
pub fn signal(child: &Child, name: &str) {
    run(&mut words(&format!("kill -{name} {}", child.id()))).ok();
}

/// Whether a referee is installed; says so when the test is skipped for want of it. Of those that
/// [`crate::referees`] names the current version is requested.
pub fn has(program: &str) -> bool {
    match program {
        "picard" => return Picard::find(PICARD[0]).is_some(),
        "samtools" => return referees::find(program, SAMTOOLS[0]).is_some(),
        "bwa" => return referees::find(program, BWA[0]).is_some(),
        "bowtie2" => return referees::find(program, BOWTIE2[0]).is_some(),
        _ => {}
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    if !found {
        crate::skip::skip(&format!("{program} is not installed"));
    }
    found
}

/// What Picard's programs are given besides their own arguments.
pub const QUIETLY: &str = "USE_JDK_DEFLATER=true USE_JDK_INFLATER=true QUIET=true VERBOSITY=ERROR";

/// A command of the current Picard, which [`has`] has found. Debian's wrapper script splits its
/// arguments again, so the class is called.
#[track_caller]
pub fn picard(line: &str) -> Command {
    let mut command = Picard::find(PICARD[0]).expect("has(\"picard\") was called").command();
    command.args(line.split_whitespace()).args(QUIETLY.split_whitespace());
    command
}

/// Where the tests of one binary work, below the folder that cargo gives them.
#[derive(Debug)]
pub struct Folders {
    root: &'static str,
    name: &'static str,
    scratch: OnceLock<PathBuf>,
}

impl Folders {
    /// `root` is `CARGO_TARGET_TMPDIR`; `name` distinguishes binaries.
    #[must_use]
    pub const fn new(root: &'static str, name: &'static str) -> Self {
        Self { root, name, scratch: OnceLock::new() }
    }

    /// A folder that goes away with the test.
    pub fn folder(&self) -> tempfile::TempDir {
        tempfile::tempdir_in(self.scratch()).unwrap()
    }

    /// The folder of this run of the tests, emptied when the run starts.
    pub fn scratch(&self) -> &Path {
        self.scratch.get_or_init(|| {
            let path = Path::new(self.root).join(self.name);
            let _ = fs::remove_dir_all(&path);
            fs::create_dir_all(&path).unwrap();
            path
        })
    }

    /// A folder that outlives the run, and that all binaries share.
    pub fn cache(&self) -> PathBuf {
        let path = Path::new(self.root).join("cache");
        fs::create_dir_all(&path).unwrap();
        path
    }
}

/// Names in a folder, sorted.
pub fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Requires two files to hold the same bytes.
#[track_caller]
pub fn assert_same_bytes(a: &Path, b: &Path, what: &str) {
    let (x, y) = (fs::read(a).unwrap(), fs::read(b).unwrap());
    if x != y {
        let at = x.iter().zip(&y).position(|(x, y)| x != y).unwrap_or(x.len().min(y.len()));
        panic!("{what}: {} and {} bytes, differing from byte {at}", x.len(), y.len());
    }
}

/// The first number in a JSON document whose path contains all of `words`.
pub fn json_number(path: &Path, words: &[&str]) -> Option<f64> {
    fn walk(name: &str, value: &serde_json::Value, words: &[&str]) -> Option<f64> {
        match value {
            serde_json::Value::Object(map) => {
                map.iter().find_map(|(k, v)| walk(&format!("{name}.{k}"), v, words))
            }
            serde_json::Value::Array(list) => list.iter().find_map(|v| walk(name, v, words)),
            leaf if words.iter().all(|w| name.contains(w)) => leaf.as_f64(),
            _ => None,
        }
    }
    walk("", &serde_json::from_slice(&fs::read(path).unwrap()).unwrap(), words)
}
