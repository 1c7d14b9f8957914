//! Bad luck of `prep`: an exit code that says why, no file with a final name, no temporary file.

use crate::common::{
    SOON, finish, folder, has, memory_floor, names_in, run, run_for, seqloom, signal,
};
use crate::faults::{SmallDisk, in_small_files, stops, writes_in};
use crate::prep::{hard, prep};
use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const MARK: [&str; 4] = ["--mark-duplicates", "--sort", "coordinate", "-t"];

/// The hard data, and a run of it that must spill, with temporary files in `spill`.
fn spilling(here: &Path, spill: &Path) -> Vec<String> {
    let data = hard(here, 801, 130_000, 4);
    let mut arguments = vec!["prep".to_owned(), data.grouped.display().to_string()];
    arguments.extend(MARK.map(str::to_owned));
    arguments.extend(["2", "--tmp-dir"].map(str::to_owned));
    arguments.push(spill.display().to_string());
    arguments.push("-o".into());
    arguments.push(here.join("results/x.bam").display().to_string());
    fs::create_dir_all(here.join("results")).unwrap();
    let floor = memory_floor(&arguments);
    arguments.extend(["-m".to_owned(), floor]);
    arguments
}

fn nothing_in(folder: &Path) {
    assert_eq!(names_in(folder), [""; 0]);
}

#[test]
fn full_disks() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let spill = here.path().join("spill");
    fs::create_dir(&spill).unwrap();
    let arguments = spilling(here.path(), &spill);
    let binary = env!("CARGO_BIN_EXE_seqloom");
    let line = format!("{binary} {}", arguments.join(" "));
    let spilled = run_for(&mut in_small_files(16, &line), SOON);
    spilled.fails_with(4).says(&["temporary file", "spill"]);
    nothing_in(&spill);
    nothing_in(&here.path().join("results"));
    // Enough memory to spill nothing: the output is what does not fit.
    let line =
        format!("{line} -m 4G").replacen(&format!("-m {}", arguments.last().unwrap()), "", 1);
    let out = here.path().join("results/x.bam");
    fs::write(&out, "old").unwrap();
    run_for(&mut in_small_files(500, &line), SOON).fails_with(4).says(&["x.bam"]);
    assert_eq!(fs::read(&out).unwrap(), b"old");
    assert_eq!(names_in(&here.path().join("results")), ["x.bam"]);
    // For real, where this process may mount.
    let Some(disk) = SmallDisk::mount(&here.path().join("disk"), "size=1m") else { return };
    let mut command = prep(&[Path::new(&arguments[1])]);
    command.args(["--sort", "queryname", "-o"]).arg(disk.0.join("x.bam"));
    run_for(&mut command, SOON).fails_with(4).says(&["x.bam", "No space left"]);
    nothing_in(&disk.0);
    let mut command = seqloom(&arguments);
    command.arg("--tmp-dir").arg(&disk.0);
    let text =
        arguments.join(" ").replace(&spill.display().to_string(), &disk.0.display().to_string());
    let run = run_for(Command::new("bash").arg("-c").arg(format!("{binary} {text}")), SOON);
    run.fails_with(4).says(&["no space left for temporary files", "disk"]);
    nothing_in(&disk.0);
}

#[test]
fn closed_and_full_standard_output() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let data = hard(here.path(), 802, 20_000, 4);
    for (format, order) in [("sam", "keep"), ("bam", "coordinate"), ("sam", "queryname")] {
        for read in [0, 5000] {
            let mut command = prep(&[&data.grouped]);
            command.args(["--output-format", format, "--sort", order, "-o", "-"]);
            let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            let mut stdout = child.stdout.take().unwrap();
            stdout.read_exact(&mut vec![0; read]).unwrap();
            drop(stdout);
            finish(child, SOON).ok().says(&[]);
        }
    }
    let mut command = prep(&[&data.grouped]);
    command.args(["-o", "-"]).stdin(Stdio::null()).stderr(Stdio::piped());
    command.stdout(OpenOptions::new().write(true).open("/dev/full").unwrap());
    finish(command.spawn().unwrap(), SOON).fails_with(4).says(&["No space left"]);
}

/// A run that waits for the rest of its input; results and temporary files go into one folder.
struct Waiting {
    child: Child,
    /// Held open: closing it would end the input.
    fifo: std::fs::File,
    results: PathBuf,
}

fn waiting(here: &Path, sam: &[u8]) -> Waiting {
    let fifo = here.join("fifo");
    let _ = fs::remove_file(&fifo);
    run(crate::common::words("mkfifo").arg(&fifo)).ok();
    let results = here.join("results");
    fs::create_dir_all(&results).unwrap();
    let mut command = prep(&[&fifo]);
    command.args(MARK).arg("2").arg("--tmp-dir").arg(&results);
    command.arg("-o").arg(results.join("x.bam")).stderr(Stdio::piped()).stdout(Stdio::piped());
    let child = command.spawn().unwrap();
    let mut fifo = OpenOptions::new().write(true).open(&fifo).unwrap();
    fifo.write_all(&sam[..sam.len() / 2]).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    Waiting { child, fifo, results }
}

#[test]
fn signals_while_input_is_awaited() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    hard(here.path(), 803, 3000, 4);
    let sam = fs::read(here.path().join("hard803.sam")).unwrap();
    for (name, code) in [("TERM", 143), ("INT", 130), ("KILL", 137)] {
        let w = waiting(here.path(), &sam);
        signal(&w.child, name);
        let run = finish(w.child, SOON);
        assert_eq!(run.code(), code, "{name}: {}", run.stderr);
        drop(w.fifo);
        nothing_in(&w.results);
    }
    // Input that ends within a line is an error.
    let w = waiting(here.path(), &sam);
    drop(w.fifo);
    finish(w.child, SOON).fails_with(3).says(&["fifo"]);
    nothing_in(&w.results);
}

/// Signals at times spread over a run, so that each phase gets some.
#[test]
fn signals_in_every_phase() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let spill = here.path().join("spill");
    fs::create_dir(&spill).unwrap();
    let mut arguments = spilling(here.path(), &spill);
    arguments.extend(["-l", "9"].map(str::to_owned));
    let started = std::time::Instant::now();
    run(&mut seqloom(&arguments)).ok();
    let whole = started.elapsed();
    let out = here.path().join("results");
    let expected = fs::read(out.join("x.bam")).unwrap();
    let mut ended = 0;
    let clear = || names_in(&out).iter().for_each(|it| fs::remove_file(out.join(it)).unwrap());
    for step in 1..8 {
        for (name, code) in [("TERM", 143), ("KILL", 137)] {
            clear();
            let mut command = seqloom(&arguments);
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            let child = command.spawn().unwrap();
            std::thread::sleep(whole * step / 8);
            signal(&child, name);
            let run = finish(child, SOON);
            nothing_in(&spill);
            if run.code() == 0 {
                assert_eq!(names_in(&out), ["x.bam", "x.bam.bai"]);
                continue;
            }
            assert_eq!(run.code(), code, "{name} at {step}/8: {}", run.stderr);
            // It may have had its results, and have been about to end.
            if !names_in(&out).is_empty() {
                let found = fs::read(out.join("x.bam")).unwrap();
                assert!(found == expected, "{name} at {step}/8: half a result");
            }
            ended += 1;
        }
    }
    assert!(ended >= 8, "only {ended} runs were still going");
    // While the output is written, for sure.
    clear();
    let ready = |child: &Child| writes_in(child, &out);
    stops(&mut seqloom(&arguments), ready, "TERM", 143);
    nothing_in(&out);
    nothing_in(&spill);
}
