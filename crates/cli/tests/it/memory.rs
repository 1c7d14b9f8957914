//! `-m` is the memory of the whole process: the peak of the resident set stays below it.

use crate::common::{SOON, cache, folder, limit, memory_floor, seqloom};
use crate::data::{align, chr20, pairs_with_duplicates, simulate, small};
use seqloom_testkit::reads::ReadOptions;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Runs `seqloom` and shows `look` what the kernel says of its state, every few milliseconds until
/// the process is gone.
#[track_caller]
fn watched(arguments: &[String], limit: Duration, look: impl FnMut(&str)) {
    let status = watch(seqloom(arguments).stdin(Stdio::null()), limit, look).0;
    assert!(status.success(), "{arguments:?}: {status}");
}

/// Likewise, whatever comes of it; with what is said.
#[track_caller]
fn watch(
    command: &mut Command,
    limit: Duration,
    mut look: impl FnMut(&str),
) -> (ExitStatus, String) {
    let mut errors = tempfile::tempfile_in(crate::common::scratch()).unwrap();
    command.stdout(Stdio::null()).stderr(errors.try_clone().unwrap());
    let mut child = command.spawn().unwrap();
    let status_file = format!("/proc/{}/status", child.id());
    let started = Instant::now();
    let status = loop {
        look(&fs::read_to_string(&status_file).unwrap_or_default());
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if started.elapsed() > limit {
            child.kill().unwrap();
            panic!("hung for {limit:?}");
        }
        std::thread::sleep(Duration::from_millis(3));
    };
    let mut said = String::new();
    errors.rewind().unwrap();
    errors.read_to_string(&mut said).unwrap();
    (status, said)
}

fn noted_peak_bytes(status: &str) -> u64 {
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let kib = line.and_then(|l| l.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

/// The highest resident set that the kernel noted.
#[track_caller]
pub(crate) fn peak_bytes(arguments: &[String], limit: Duration) -> u64 {
    let mut peak = 0;
    watched(arguments, limit, |status| {
        peak = peak.max(noted_peak_bytes(status));
    });
    assert!(peak > 0);
    peak
}

/// A size as the command line takes it: a number and perhaps k, M or G, binary.
pub(crate) fn size_bytes(text: &str) -> u64 {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match text[digits.len()..].chars().next().map(|c| c.to_ascii_lowercase()) {
        None => 1,
        Some('k') => 1 << 10,
        Some('m') => 1 << 20,
        Some('g') => 1 << 30,
        Some(other) => panic!("{text}: unknown suffix {other}"),
    };
    digits.parse::<u64>().unwrap() * factor
}

#[track_caller]
fn stays_below(base: &[String], threads: &str, folder: &Path) {
    let mut arguments = base.to_vec();
    arguments.extend(["-t", threads, "--tmp-dir"].map(str::to_owned));
    arguments.push(folder.display().to_string());
    arguments.push("-o".into());
    arguments.push(folder.join("x.bam").display().to_string());
    let floor = size_bytes(&memory_floor(&arguments));
    for cap in [floor, 2 * floor] {
        let mut capped = arguments.clone();
        capped.extend(["-m".to_owned(), cap.to_string()]);
        let peak = peak_bytes(&capped, 4 * limit());
        eprintln!("-t {threads} -m {cap}: peak {peak}");
        assert!(peak <= cap, "-t {threads} -m {cap}: the peak was {peak}");
    }
}

#[test]
fn small_runs_stay_below_their_cap() {
    let here = folder();
    let reads = simulate(small(), &pairs_with_duplicates(60_000), here.path());
    let mut base = align(small(), &[&reads.first, &reads.second]);
    base.extend(["-K", "1000000"].map(str::to_owned));
    for threads in ["2", "16"] {
        stays_below(&base, threads, here.path());
    }
}

/// Two files of pairs for the engine that does not align.
fn write_pairs(folder: &Path, pairs: usize) -> [PathBuf; 2] {
    let (bases, qualities) = ("ACGTA".repeat(20), "I".repeat(100));
    let mut text = String::new();
    for pair in 0..pairs {
        writeln!(text, "@read.{pair:07}\n{bases}\n+\n{qualities}").unwrap();
    }
    let paths = ["a.fq", "b.fq"].map(|name| folder.join(name));
    paths.iter().for_each(|path| fs::write(path, &text).unwrap());
    paths
}

/// A batch is held up while it is emitted: the others align and read ahead as far as they may. All
/// of the input would be 280 MB, the floor is less.
#[test]
fn one_stalled_worker_does_not_break_the_cap() {
    let here = folder();
    let files = write_pairs(here.path(), 600_000);
    let mut base = align(small(), &[&files[0], &files[1]]);
    let engine = "--engine fake:stall-at=20000,stall=3000000us -K 200000 -l 1";
    base.extend(engine.split(' ').map(str::to_owned));
    stays_below(&base, "4", here.path());
}

/// Bytes of a line that nobody wrote on purpose: more than the longest BAM record, 256 MiB.
const LONG_LINE_BYTES: usize = 300_000_000;

/// Writes `head`, a line's bytes without end, and `tail`.
fn write_long(path: &Path, head: &str, tail: &str) {
    let mut file = File::create(path).unwrap();
    file.write_all(head.as_bytes()).unwrap();
    let part = [b'A'; 1_000_000];
    (0..LONG_LINE_BYTES / part.len()).for_each(|_| file.write_all(&part).unwrap());
    file.write_all(tail.as_bytes()).unwrap();
}

/// Refused by name, below `cap`; with the file, compressed, through a pipe.
#[track_caller]
fn long_line_is_refused(command: &[&str], file: &Path, cap: u64, words: &[&str]) {
    let zipped = file.with_extension("gz");
    let out = File::create(&zipped).unwrap();
    let gzip = Command::new("gzip").args(["-1", "-c"]).arg(file).stdout(out).status().unwrap();
    assert!(gzip.success());
    for (how, input) in [("file", file), ("gzip", &*zipped), ("pipe", Path::new("-"))] {
        let mut writer = Command::new("cat").arg(file).stdout(Stdio::piped()).spawn().unwrap();
        let pipe = writer.stdout.take().unwrap();
        let mut program = seqloom(command.iter().map(|&word| match word {
            "INPUT" => input.as_os_str(),
            word => std::ffi::OsStr::new(word),
        }));
        let mut peak = 0;
        let (status, said) = watch(program.stdin(pipe), SOON, |status| {
            peak = peak.max(noted_peak_bytes(status));
        });
        // It holds the pipe's other end.
        drop(program);
        let _ = writer.wait();
        eprintln!("{command:?} {how}: peak {peak}");
        assert_eq!(status.code(), Some(3), "{how}: {said}");
        let name = if how == "pipe" { "standard input" } else { input.to_str().unwrap() };
        for word in words.iter().chain([&name]) {
            assert!(said.contains(word), "{how}: no {word:?} in {said}");
        }
        assert!(peak <= cap, "{command:?} {how}: the peak was {peak} of {cap}");
    }
    fs::remove_file(file).unwrap();
}

#[test]
fn long_lines_are_refused_before_they_are_held() {
    let here = folder();
    let at = |name: &str| here.path().join(name);
    let (reference, out) = (small().ours.display().to_string(), at("out.bam"));
    let (out, cap) = (out.to_str().unwrap(), 160 << 20);
    let good: String = (0..3000).map(|i| format!("@r{i}\nACGT\n+\nIIII\n")).collect();
    write_long(&at("a.fq"), &format!("{good}@giant x\n"), "\n+\nI\n");
    let align = ["align", &reference, "INPUT", "-t", "2", "-m", "160M", "-o", out];
    let words = ["record 3001 (giant)", "line 12001", "longer than 4194304 bytes"];
    long_line_is_refused(&align, &at("a.fq"), cap, &words);
    // A name without end, and qualities.
    write_long(&at("b.fq"), &format!("{good}@giant"), "\nA\n+\nI\n");
    long_line_is_refused(&align, &at("b.fq"), cap, &["record 3001 (giantAAAA", "longer than"]);
    write_long(&at("c.fq"), &format!("{good}@giant\nA\n+\n"), "\n");
    long_line_is_refused(&align, &at("c.fq"), cap, &["record 3001 (giant)", "longer than"]);
    write_long(&at("d.fq"), &format!("{good}@giant x\n"), "\n+\nI\n");
    let check = ["fastq", "check", "INPUT"];
    let words = ["record 3001 (giant)", "longer than 67108864 bytes"];
    long_line_is_refused(&check, &at("d.fq"), 100 << 20, &words);

    let header = "@HD\tVN:1.6\tSO:unsorted\n@SQ\tSN:c\tLN:900\n";
    let good: String =
        (0..3000).map(|i| format!("r{i}\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII\n")).collect();
    let giant = format!("{header}{good}giant\t4\t*\t0\t0\t*\t*\t0\t0\t");
    let prep = ["prep", "INPUT", "-t", "2", "-m", "160M", "-o", out];
    write_long(&at("a.sam"), &giant, "\t*\n");
    let words = ["record 3001 (giant)", "line 3003", "longer than 10485760 bytes", "-m"];
    long_line_is_refused(&prep, &at("a.sam"), cap, &words);
    write_long(&at("b.sam"), &format!("{header}@CO\t"), &format!("\n{good}"));
    let words = ["header line 3", "longer than 8388608 bytes"];
    long_line_is_refused(&prep, &at("b.sam"), cap, &words);
    assert!(!Path::new(out).exists());
}

/// Where the system hands out huge pages unasked, sixteen workers' memory was 670 MB of 540.
#[test]
fn workers_have_small_pages() {
    let own = fs::read_to_string("/proc/self/status").unwrap();
    if !own.lines().any(|line| line.starts_with("THP_enabled:") && line.ends_with('1')) {
        seqloom_testkit::skip::skip("huge pages cannot be had here");
        return;
    }
    let here = folder();
    let files = write_pairs(here.path(), 2000);
    let sorted = here.path().join("x.bam").display().to_string();
    let mut align = align(small(), &[&files[0], &files[1]]);
    align.extend(["--engine", "fake:spin=100us", "-o", &sorted].map(str::to_owned));
    let prepared = here.path().join("y.bam").display().to_string();
    let prep = ["prep", &sorted, "-l", "12", "-o", &prepared].map(str::to_owned);
    for command in [&align[..], &prep] {
        let mut small_seen = false;
        watched(command, limit(), |status| {
            let line = status.lines().find_map(|l| l.strip_prefix("THP_enabled:"));
            small_seen |= line.is_some_and(|line| line.trim() == "0");
        });
        assert!(small_seen, "{command:?}");
    }
}

#[test]
fn slow_a_million_pairs_stay_below_their_cap() {
    if !seqloom_testkit::skip::slow_tests() {
        return;
    }
    let Some(reference) = chr20() else { return };
    let here = tempfile::tempdir_in(cache()).unwrap();
    let options =
        ReadOptions { length_min_bp: 150, length_max_bp: 150, ..pairs_with_duplicates(1_000_000) };
    let reads = simulate(reference, &options, here.path());
    let base = align(reference, &[&reads.first, &reads.second]);
    for threads in ["2", "16"] {
        stays_below(&base, threads, here.path());
    }
}
