//! FAST5 read by a pool of processes: the same reads, and what a worker that is killed, hangs or is
//! left alone costs.

use crate::common::{SOON, finish, folder, names_in, run, run_for, seqloom, signal, words};
use crate::faults::SmallDisk;
use seqloom_testkit::skip::data;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A multi-read FAST5 of ten reads.
fn ten_reads() -> Option<PathBuf> {
    data("nanopore/pod5-file-format/test_data/multi_fast5_zip.fast5")
}

fn command(line: &str) -> Command {
    let mut command = seqloom(["signal"]);
    command.args(line.split_whitespace());
    command
}

fn read_ids(path: &Path) -> Vec<String> {
    let text = run(&mut command(&format!("skim --quiet --rid {}", path.display()))).ok().text();
    text.lines().map(str::to_owned).collect()
}

fn fast5_files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            fast5_files(&path, found);
        } else if path.extension().is_some_and(|suffix| suffix == "fast5") {
            found.push(path);
        }
    }
}

/// What is reported of the input: all but log lines.
fn reported(stderr: &str) -> Vec<&str> {
    stderr.lines().filter(|line| !line.starts_with("[I ")).collect()
}

#[test]
fn a_pool_reads_every_file_as_threads_do() {
    let Some(root) = data("nanopore") else { return };
    let mut files = Vec::new();
    fast5_files(&root, &mut files);
    assert!(files.len() > 100);
    let mut bad = 0;
    for file in &files {
        let view = |engine: &str| {
            let line = "view --to slow5 -t 2 --fast5-engine";
            run(command(&format!("{line} {engine}")).arg(file))
        };
        let (own, pool) = (view("own"), view("pool"));
        assert_eq!(own.code(), pool.code(), "{}: {}", file.display(), pool.stderr);
        assert!(own.stdout == pool.stdout, "{}", file.display());
        assert_eq!(reported(&own.stderr), reported(&pool.stderr), "{}", file.display());
        bad += usize::from(own.code() != 0);
    }
    assert!(bad > 5, "bad files are among them: {bad}");
}

#[test]
fn many_files_by_a_pool_of_any_size_are_the_same() {
    let here = folder();
    let Some(singles) = data("nanopore/f5c_ecoli_2kb/ecoli_2kb_region/fast5_files") else { return };
    let Some(multi) = ten_reads() else { return };
    let convert = |engine: &str, threads: u32| {
        let out = here.path().join(format!("{engine}{threads}.blow5"));
        let line = format!(
            "convert --allow -t {threads} --fast5-engine {engine} {} {} -o {}",
            singles.display(),
            multi.display(),
            out.display()
        );
        run(&mut command(&line)).ok();
        fs::read(out).unwrap()
    };
    let own = convert("own", 2);
    assert!([1, 3, 16].into_iter().all(|threads| convert("pool", threads) == own));
}

/// A conversion of ten reads by a pool, one worker of which is held in the middle of the sixth.
struct Held {
    here: tempfile::TempDir,
    child: Child,
    source: PathBuf,
    ids: Vec<String>,
    worker: u32,
}

impl Held {
    fn start(more: &str) -> Option<Self> {
        let (here, source) = (folder(), ten_reads()?);
        let ids = read_ids(&source);
        let marker = here.path().join("held");
        let out = here.path().join("x.slow5");
        let line = format!(
            "convert -t 2 --fast5-engine pool {more} {} -o {}",
            source.display(),
            out.display()
        );
        let mut command = command(&line);
        command.env("SEQLOOM_FAST5_HOLD", format!("{}={}", ids[5], marker.display()));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        let started = Instant::now();
        let worker = loop {
            let text = fs::read_to_string(&marker).unwrap_or_default();
            if let Some(number) = text.strip_suffix('\n') {
                break number.parse().unwrap();
            }
            assert!(started.elapsed() < SOON, "no worker came to the read");
            std::thread::sleep(Duration::from_millis(5));
        };
        Some(Self { here, child, source, ids, worker })
    }

    /// The run is over: the sixth read is missing, is named, and no other is.
    fn one_is_lost(self, words: &[&str]) {
        let name = self.source.file_name().unwrap().to_str().unwrap().to_owned();
        let ran = finish(self.child, SOON).fails_with(3).says(words);
        ran.says(&[&name, &format!("read {}", self.ids[5]), "9 reads read; lost: 1 reads"]);
        let mut expected = self.ids.clone();
        expected.remove(5);
        let out = self.here.path().join("x.slow5");
        assert_eq!(read_ids(&out), expected);
        // What is there is what the own reader reads.
        let lines = |path: &Path| -> Vec<String> {
            let text = run(&mut command(&format!("view --quiet {}", path.display()))).ok().text();
            text.lines().filter(|line| !line.contains(&self.ids[5])).map(str::to_owned).collect()
        };
        let whole = self.here.path().join("whole.slow5");
        let line = format!("convert {} -o {}", self.source.display(), whole.display());
        run(&mut command(&line)).ok();
        assert_eq!(lines(&out), lines(&whole));
        gone(self.worker);
    }
}

fn is_there(process: u32) -> bool {
    // A process that nobody has waited for yet is a zombie: gone but for its name.
    let state = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    state.rsplit(')').next().is_some_and(|rest| {
        let state = rest.trim_start();
        !state.is_empty() && !state.starts_with(['Z', 'X'])
    })
}

fn gone(process: u32) {
    let started = Instant::now();
    while is_there(process) {
        assert!(started.elapsed() < SOON, "process {process} is still there");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_worker_killed_in_the_middle_of_a_read_loses_that_read_only() {
    let Some(held) = Held::start("") else { return };
    run(&mut words(&format!("kill -KILL {}", held.worker))).ok();
    held.one_is_lost(&["its worker process was killed by signal 9"]);
    let Some(held) = Held::start("") else { return };
    run(&mut words(&format!("kill -ABRT {}", held.worker))).ok();
    held.one_is_lost(&["its worker process was killed by signal 6"]);
}

#[test]
fn a_worker_that_hangs_loses_that_read_only() {
    let Some(held) = Held::start("--fast5-timeout 1") else { return };
    held.one_is_lost(&["there was no answer within 1 s"]);
}

#[test]
fn strict_runs_end_with_nothing_written_when_a_worker_is_killed() {
    let Some(held) = Held::start("--strict") else { return };
    run(&mut words(&format!("kill -KILL {}", held.worker))).ok();
    finish(held.child, SOON).fails_with(3).says(&["--strict", "signal 9"]);
    assert_eq!(names_in(held.here.path()), ["held"]);
}

#[test]
fn workers_end_with_their_parent_whatever_they_are_doing() {
    // The parent is killed; it is interrupted; its workers hang meanwhile.
    for (name, code) in [("KILL", 137), ("INT", 130), ("TERM", 143)] {
        let Some(held) = Held::start("") else { return };
        assert!(is_there(held.worker));
        signal(&held.child, name);
        finish(held.child, SOON).fails_with(code);
        gone(held.worker);
        assert_eq!(names_in(held.here.path()), ["held"], "{name}");
    }
}

#[test]
fn a_disk_that_is_really_full_ends_a_conversion_without_a_file() {
    let here = folder();
    let Some(source) = ten_reads() else { return };
    let Some(disk) = SmallDisk::mount(&here.path().join("disk"), "size=256k") else { return };
    for engine in ["own", "pool"] {
        let out = disk.0.join("x.blow5");
        let line = format!(
            "convert --fast5-engine {engine} -c none -s none {} -o {}",
            source.display(),
            out.display()
        );
        let ran = run_for(&mut command(&line), SOON);
        ran.fails_with(4).says(&["x.blow5", "No space left"]);
        assert_eq!(names_in(&disk.0), [""; 0]);
    }
}

#[test]
fn a_worker_that_nobody_calls_ends_at_once() {
    let ran = run_for(
        &mut seqloom(["__fast5-worker", "--shared-descriptor", "0", "--parent", "1"]),
        SOON,
    );
    ran.fails_with(1);
}
