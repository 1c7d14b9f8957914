//! Bad luck: whatever happens, an exit code that says why, no incomplete file with a final name, no
//! temporary file left, and nothing hangs.

use crate::common::{
    SOON, finish, folder, memory_floor, names_in, run, run_for, seqloom, signal, words,
};
use crate::data::{align, align_small, pairs_with_duplicates, simulate, small, small_pairs};
use seqloom_testkit::genome::{Genome, GenomeOptions};
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// `align_small` as one line for a shell; paths hold nothing that a shell would change.
fn shell_line(extra: &str) -> String {
    format!("{} {} {extra}", env!("CARGO_BIN_EXE_seqloom"), align_small().join(" "))
}

/// A shell in which files cannot grow beyond `blocks` of 1 KiB, which is how a full disk looks
/// (EFBIG instead of ENOSPC) without the right to mount one.
pub(crate) fn in_small_files(blocks: u32, line: &str) -> Command {
    let mut shell = Command::new("bash");
    shell.arg("-c").arg(format!("trap '' XFSZ; ulimit -f {blocks}; exec {line}"));
    shell
}

#[test]
fn disk_full_while_writing() {
    let here = folder();
    let out = here.path().join("x.bam");
    let line = shell_line(&format!("-o {}", out.display()));
    let run = run_for(&mut in_small_files(500, &line), SOON);
    run.fails_with(4).says(&["x.bam"]);
    assert_eq!(names_in(here.path()), [""; 0]);
    // An older result stays what it was.
    fs::write(&out, "old").unwrap();
    run_for(&mut in_small_files(500, &line), SOON).fails_with(4);
    assert_eq!(names_in(here.path()), ["x.bam"]);
    assert_eq!(fs::read(&out).unwrap(), b"old");
}

/// Arguments of a run that must spill: at the floor of its memory, temporary files in `spill`.
fn spilling(folder: &Path, spill: &Path) -> Vec<String> {
    let reads = simulate(small(), &pairs_with_duplicates(60_000), &folder.join("work"));
    let mut arguments = align(small(), &[&reads.first, &reads.second]);
    arguments.extend(["-K", "500000", "-t", "2", "--tmp-dir"].map(str::to_owned));
    arguments.push(spill.display().to_string());
    arguments.push("-o".into());
    arguments.push(folder.join("x.bam").display().to_string());
    let floor = memory_floor(&arguments);
    arguments.extend(["-m".to_owned(), floor]);
    arguments
}

#[test]
fn disk_full_while_spilling() {
    let here = folder();
    let spill = here.path().join("spill");
    fs::create_dir_all(&spill).unwrap();
    let arguments = spilling(here.path(), &spill);
    let line = format!("{} {}", env!("CARGO_BIN_EXE_seqloom"), arguments.join(" "));
    let run = run_for(&mut in_small_files(64, &line), Duration::from_secs(90));
    run.fails_with(4).says(&["temporary file", "spill"]);
    assert_eq!(names_in(&spill), [""; 0]);
    assert_eq!(names_in(here.path()), ["spill", "work"]);
}

/// A file system of its own that holds `size`; `None` where this process may not mount.
pub(crate) struct SmallDisk(pub(crate) PathBuf);

impl SmallDisk {
    pub(crate) fn mount(at: &Path, options: &str) -> Option<SmallDisk> {
        fs::create_dir_all(at).unwrap();
        let mut mount = words(&format!("mount -t tmpfs -o {options} tmpfs"));
        let done = mount.arg(at).stderr(Stdio::null()).status().is_ok_and(|s| s.success());
        done.then(|| SmallDisk(at.to_owned()))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = words("umount").arg(&self.0).status();
    }
}

/// The same with a file system that is really full. Only root may mount one; the tests above cover
/// the handling without.
#[test]
fn disk_full_for_real() {
    let here = folder();
    let Some(disk) = SmallDisk::mount(&here.path().join("disk"), "size=1m") else { return };
    let out = disk.0.join("x.bam");
    let run = run_for(seqloom(align_small()).arg("-o").arg(&out), SOON);
    run.fails_with(4).says(&["x.bam", "No space left"]);
    assert_eq!(names_in(&disk.0), [""; 0]);
    drop(disk);
    let Some(disk) = SmallDisk::mount(&here.path().join("spill"), "size=64k") else { return };
    let run = run_for(&mut seqloom(spilling(here.path(), &disk.0)), Duration::from_secs(90));
    run.fails_with(4).says(&["no space left for temporary files", "spill"]);
    assert_eq!(names_in(&disk.0), [""; 0]);
    assert_eq!(names_in(here.path()), ["disk", "spill", "work"]);
}

#[test]
fn full_standard_output() {
    let line = "--no-sort --no-mark-duplicates --output-format sam -o - > /dev/full";
    let run = run_for(Command::new("bash").arg("-c").arg(shell_line(line)), SOON);
    run.fails_with(4).says(&["No space left"]);
}

#[test]
fn closed_standard_output_is_success() {
    for format in ["sam", "bam"] {
        for read in [0, 5000] {
            let mut command = seqloom(align_small());
            command.args(["--no-sort", "--no-mark-duplicates", "--output-format", format]);
            command.args(["-o", "-", "-K", "1000000"]);
            let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            let mut stdout = child.stdout.take().unwrap();
            let mut some = vec![0; read];
            stdout.read_exact(&mut some).unwrap();
            drop(stdout);
            finish(child, SOON).ok().says(&[]);
        }
    }
}

#[test]
fn folders_that_cannot_be_written() {
    let here = folder();
    let missing = here.path().join("missing/x.bam");
    let run = run_for(seqloom(align_small()).arg("-o").arg(&missing), SOON);
    run.fails_with(4).says(&["missing"]);
    assert_eq!(names_in(here.path()), [""; 0]);
    // Not even root may make files here.
    let run = run_for(seqloom(align_small()).args(["-o", "/proc/x.bam"]), SOON);
    run.fails_with(4).says(&["/proc"]);
    let locked = here.path().join("locked");
    fs::create_dir(&locked).unwrap();
    run_for(words("chmod 555").arg(&locked), SOON).ok();
    if File::create(locked.join("probe")).is_err() {
        let run = run_for(seqloom(align_small()).arg("-o").arg(locked.join("x.bam")), SOON);
        run.fails_with(4).says(&["locked"]);
    }
    if let Some(disk) = SmallDisk::mount(&here.path().join("read-only"), "ro,size=1m") {
        let run = run_for(seqloom(align_small()).arg("-o").arg(disk.0.join("x.bam")), SOON);
        run.fails_with(4).says(&["read-only", "Read-only file system"]);
        let mut command = seqloom(align_small());
        command.arg("-o").arg(here.path().join("x.bam")).arg("--tmp-dir").arg(&disk.0);
        run_for(&mut command, SOON).fails_with(4).says(&["read-only"]);
    }
    let mut command = seqloom(align_small());
    command.arg("-o").arg(here.path().join("x.bam")).args(["--metrics-dir", "/proc/metrics"]);
    run_for(&mut command, SOON).fails_with(4).says(&["/proc/metrics"]);
}

/// A run that waits for input that never comes, with some of it already in.
struct Waiting {
    child: Child,
    /// Held open: closing it would end the input.
    fifo: File,
    out: PathBuf,
    folder: tempfile::TempDir,
}

fn waiting() -> Waiting {
    let folder = folder();
    let fifo = folder.path().join("fifo");
    run(words("mkfifo").arg(&fifo)).ok();
    let results = folder.path().join("results");
    fs::create_dir(&results).unwrap();
    let out = results.join("x.bam");
    let mut command = seqloom(align(small(), &[&fifo]));
    command.args(["-p", "-K", "300000", "-t", "2", "--tmp-dir"]).arg(&results);
    command.arg("-o").arg(&out).stderr(Stdio::piped()).stdout(Stdio::piped());
    let child = command.spawn().unwrap();
    let mut fifo = OpenOptions::new().write(true).open(&fifo).unwrap();
    let text = fs::read(&small_pairs().interleaved).unwrap();
    fifo.write_all(&text[..text.len() / 2]).unwrap();
    std::thread::sleep(Duration::from_millis(700));
    Waiting { child, fifo, out, folder }
}

#[test]
fn signals_leave_nothing_behind() {
    for (name, code) in [("TERM", 143), ("INT", 130), ("KILL", 137)] {
        let w = waiting();
        signal(&w.child, name);
        let run = finish(w.child, SOON);
        assert_eq!(run.code(), code, "{name}: {}", run.stderr);
        drop(w.fifo);
        assert!(!w.out.exists());
        let left = names_in(&w.folder.path().join("results"));
        assert_eq!(left, [""; 0], "after {name}");
    }
}

/// Starts a run, waits until `ready`, sends the signal and requires a prompt end that says so.
#[track_caller]
pub(crate) fn stops(command: &mut Command, ready: impl Fn(&Child) -> bool, name: &str, code: i32) {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let started = Instant::now();
    while !ready(&child) {
        assert!(started.elapsed() < SOON, "{command:?} never got there");
        std::thread::sleep(Duration::from_millis(5));
    }
    signal(&child, name);
    // Standard output is not read before the end: it stays as full as it is.
    let mut child = child;
    let sent = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if sent.elapsed() > SOON {
            child.kill().unwrap();
            panic!("{name} did not stop {command:?}");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let run = finish(child, SOON).fails_with(code);
    run.says(&[&format!("stopped by signal {}", code - 128)]);
}

/// Whether the process sleeps: it has done what it can.
fn is_asleep(child: &Child) -> bool {
    std::thread::sleep(Duration::from_millis(300));
    let line = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    line.rsplit(')').next().unwrap().trim_start().starts_with('S')
}

#[test]
fn signals_end_what_waits_for_somebody_else() {
    let here = folder();
    let (a, b) = (here.path().join("a"), here.path().join("b"));
    run(words("mkfifo").args([&a, &b])).ok();
    let out = here.path().join("x.bam");
    for (name, code) in [("TERM", 143), ("INT", 130)] {
        // Input that nobody writes.
        for inputs in [&[a.as_path()][..], &[&a, &b], &[&small_pairs().first, &b]] {
            let mut command = seqloom(align(small(), inputs));
            stops(command.arg("-o").arg(&out), is_asleep, name, code);
        }
        // Output that nobody opens.
        stops(seqloom(align_small()).arg("-o").arg(&a), is_asleep, name, code);
    }
    // Output that nobody reads: the writer is stuck in a system call until its time is up.
    let mut command = seqloom(align_small());
    command.args(["--no-sort", "--no-mark-duplicates", "--output-format", "sam", "-o", "-"]);
    stops(command.args(["-K", "300000"]), is_asleep, "TERM", 143);
    assert_eq!(names_in(here.path()), ["a", "b"]);
}

/// Whether the run has begun to write a file in `folder`. Such files have no name yet, which the
/// kernel calls deleted.
pub(crate) fn writes_in(child: &Child, folder: &Path) -> bool {
    let Ok(entries) = fs::read_dir(format!("/proc/{}/fd", child.id())) else { return false };
    entries.flatten().any(|entry| {
        let is_ours = |path: PathBuf| {
            path.starts_with(folder) && path.to_string_lossy().ends_with(" (deleted)")
        };
        let ours = fs::read_link(entry.path()).is_ok_and(is_ours);
        ours && fs::metadata(entry.path()).is_ok_and(|it| it.len() > 0)
    })
}

#[test]
fn signals_while_the_output_is_written() {
    let here = folder();
    let out = here.path().join("x.bam");
    let mut command = seqloom(align_small());
    command.args(["--engine", "fake", "-l", "12", "-t", "1"]);
    command.arg("--tmp-dir").arg(here.path()).arg("-o").arg(&out);
    let ready = |child: &Child| writes_in(child, here.path());
    for (name, code) in [("TERM", 143), ("INT", 130)] {
        stops(&mut command, ready, name, code);
        assert_eq!(names_in(here.path()), [""; 0]);
    }
}

/// Without `/proc` a file cannot get its name later, as on file systems that know no nameless
/// files: it has a temporary one from the start, which must go. Only root may hide `/proc`.
#[test]
fn signals_where_files_have_names_from_the_start() {
    let here = folder();
    let hidden = |line: &str| {
        let mut shell = Command::new("unshare");
        shell.args(["--mount", "sh", "-c"]);
        shell.arg(format!("mount -t tmpfs none /proc && exec {line}"));
        shell
    };
    if !hidden("true").stderr(Stdio::null()).status().is_ok_and(|s| s.success()) {
        return;
    }
    let out = here.path().join("x.bam");
    let line = shell_line(&format!("--engine fake -l 12 -t 1 -m 4G -o {}", out.display()));
    let has_name = |_: &Child| {
        let size = |name: &String| fs::metadata(here.path().join(name)).map_or(0, |it| it.len());
        names_in(here.path()).iter().any(|name| size(name) > 0)
    };
    for (name, code) in [("TERM", 143), ("INT", 130)] {
        stops(&mut hidden(&line), has_name, name, code);
        assert_eq!(names_in(here.path()), [""; 0]);
    }
    run(&mut hidden(&line)).ok();
    assert_eq!(names_in(here.path()), ["x.bam", "x.bam.bai"]);
}

#[test]
fn signals_while_an_index_is_built() {
    let here = folder();
    let fasta = here.path().join("ref.fa");
    let options = GenomeOptions { seed: 5, length_bp: 8_000_000, contigs: 2 };
    Genome::simulate(&options).unwrap().write_fasta(&fasta).unwrap();
    let mut command = seqloom([Path::new("index"), &fasta]);
    // The packed bases are written before the suffixes are sorted.
    let ready = |child: &Child| writes_in(child, here.path());
    for (name, code) in [("TERM", 143), ("INT", 130)] {
        stops(&mut command, ready, name, code);
        assert_eq!(names_in(here.path()), ["ref.fa"]);
    }
    command.args(["-t", "2", "-m"]).arg(memory_floor(&[
        "index".to_owned(),
        "-t2".to_owned(),
        fasta.display().to_string(),
    ]));
    for (name, code) in [("TERM", 143), ("INT", 130), ("KILL", 137)] {
        if name == "KILL" {
            let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            while !ready(&child) {
                std::thread::sleep(Duration::from_millis(5));
            }
            child.kill().unwrap();
            child.wait().unwrap();
        } else {
            stops(&mut command, ready, name, code);
        }
        assert_eq!(names_in(here.path()), ["ref.fa"]);
    }
}

#[test]
fn waiting_input_that_ends_is_an_error_or_a_result_but_never_a_hang() {
    let w = waiting();
    drop(w.fifo);
    // Cut at an arbitrary byte: the last record is incomplete.
    finish(w.child, SOON).fails_with(3).says(&["fifo"]);
    assert!(!w.out.exists());
}

#[test]
fn engine_failures_and_panics_end_the_run() {
    for t in ["1", "2", "8"] {
        for (engine, word) in [("fake:fail-at=20", "to fail"), ("fake:panic-at=20", "to panic")] {
            let here = folder();
            let out = here.path().join("x.bam");
            let mut command = seqloom(align_small());
            command.args(["--engine", engine, "-t", t, "--tmp-dir"]).arg(here.path());
            let run = run_for(command.arg("-o").arg(&out), SOON);
            assert_eq!(run.code(), 1, "{engine} -t {t}: {}", run.stderr);
            assert!(run.stderr.contains(word), "{}", run.stderr);
            assert_eq!(names_in(here.path()), [""; 0], "{engine} -t {t}");
        }
    }
}

#[test]
fn missing_inputs_are_named() {
    let here = folder();
    let out = here.path().join("x.bam");
    let missing = here.path().join("absent.fq");
    let run = run_for(seqloom(align(small(), &[&missing])).arg("-o").arg(&out), SOON);
    let run = run.says(&["absent.fq"]);
    assert!([1, 3].contains(&run.code()), "{}", run.code());
    assert_eq!(names_in(here.path()), [""; 0]);
}

#[test]
fn damaged_indices_are_refused_before_the_engine_sees_them() {
    let here = folder();
    let fasta = here.path().join("ref.fa");
    let source = small().ours.parent().unwrap();
    let files = names_in(source);
    let restore = || {
        for name in &files {
            fs::copy(source.join(name), here.path().join(name)).unwrap();
        }
    };
    restore();
    let out = here.path().join("x.bam");
    let align = || {
        let mut command = seqloom(["align"]);
        run_for(command.arg(&fasta).arg(&small_pairs().first).arg("-o").arg(&out), SOON)
    };
    align().ok();
    fs::remove_file(&out).unwrap();
    for suffix in ["pac", "ann", "amb", "bwt.2bit.64"] {
        let name = format!("ref.fa.{suffix}");
        let path = here.path().join(&name);
        let whole = fs::read(&path).unwrap();
        let damages: [Vec<u8>; 3] =
            [Vec::new(), whole[..whole.len() / 2].to_vec(), vec![b'?'; whole.len()]];
        for (i, damaged) in damages.iter().enumerate() {
            // Any bytes are bases in a .pac of the right length.
            if suffix == "pac" && i == 2 {
                continue;
            }
            fs::write(&path, damaged).unwrap();
            let run = align().says(&[&name]);
            assert!([1, 3].contains(&run.code()), "{name} damage {i}: {}", run.code());
            assert!(!out.exists());
        }
        fs::remove_file(&path).unwrap();
        assert_ne!(align().says(&["seqloom index"]).code(), 0, "{name} missing");
        restore();
    }
}

#[test]
fn an_interrupted_index_leaves_no_final_name() {
    let here = folder();
    let fasta = here.path().join("ref.fa");
    fs::copy(&small().ours, &fasta).unwrap();
    let line = format!("{} index {}", env!("CARGO_BIN_EXE_seqloom"), fasta.display());
    run_for(&mut in_small_files(200, &line), SOON).fails_with(4);
    let left = names_in(here.path());
    assert!(!left.iter().any(|n| n.contains("bwt.2bit.64")), "{left:?}");
    assert!(!left.iter().any(|n| n.contains("tmp")), "{left:?}");
}

/// A library that programs can be loaded with (LD_PRELOAD), of a text in C, in a folder. `None`,
/// and the test is skipped, without a C compiler.
pub(crate) fn preload(folder: &Path, text: &str) -> Option<PathBuf> {
    let (source, library) = (folder.join("shim.c"), folder.join("shim.so"));
    fs::write(&source, text).unwrap();
    let mut cc = words("cc -shared -fPIC -o");
    let made = cc.arg(&library).arg(&source).arg("-ldl").status().is_ok_and(|it| it.success());
    if !made {
        seqloom_testkit::skip::skip("there is no C compiler");
    }
    made.then_some(library)
}
