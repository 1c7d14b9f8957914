//! `align --resume`: killed at any moment, on a full disk, or with what it keeps damaged, the same
//! command goes on and makes the bytes of a run without it.

use crate::common::{SOON, finish, folder, limit, names_in, run, run_for, seqloom, signal, words};
use crate::data::{align_small, small_pairs};
use crate::faults::in_small_files;
use crate::shard::{OPTIONS, assert_same_run, one_process};
use crate::shard_faults::seed;
use crate::shard_same_bytes::sites;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Instant;

fn kills() -> usize {
    if seqloom_testkit::skip::slow_tests() { 200 } else { 20 }
}

/// A run without `--resume`, and the words of the same one with it.
struct Resumed {
    here: tempfile::TempDir,
    one: PathBuf,
    out: PathBuf,
    words: Vec<String>,
}

fn resumed() -> Resumed {
    let here = folder();
    let mut align = align_small();
    align.extend(["-K", "900000", "--known-sites"].map(str::to_owned));
    align.push(sites(here.path()));
    let folders = ["one", "many"].map(|name| here.path().join(name));
    folders.iter().for_each(|folder| fs::create_dir(folder).unwrap());
    let one = one_process(&align, &folders[0], "out");
    let out = folders[1].join("out.bam");
    let mut words = align;
    words.extend(OPTIONS.map(str::to_owned));
    words.extend(["--resume", "--resume-bases", "2M", "-o"].map(str::to_owned));
    words.push(out.display().to_string());
    words.push("--metrics-dir".to_owned());
    words.push(out.with_extension("metrics").display().to_string());
    Resumed { here, one, out, words }
}

impl Resumed {
    fn kept(&self) -> PathBuf {
        self.out.with_file_name(".out.bam.seqloom-resume")
    }

    fn start(&self, threads: &str) -> Child {
        let mut command = seqloom(&self.words);
        command.args(["-t", threads]).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// What says that tasks are done, by name, with what distinguishes a file from another of its
    /// name.
    fn done(&self) -> BTreeMap<PathBuf, (u64, i64)> {
        let run = self.kept().join("run");
        let folders = ["", "align", "mark", "count", "finish", "place"].map(|name| run.join(name));
        let there = folders.iter().filter(|folder| folder.is_dir());
        let names = there.flat_map(|it| names_in(it).into_iter().map(|name| it.join(name)));
        // A head without its plan is of no use to the next process.
        let names = names.filter(|path| !path.ends_with("plan.head.json"));
        let described = names.filter(|path| path.extension().is_some_and(|it| it == "json"));
        let file = |path: PathBuf| {
            let it = fs::metadata(&path).unwrap();
            (path, (it.ino(), it.mtime_nsec()))
        };
        described.map(file).collect()
    }

    #[track_caller]
    fn assert_output(&self, what: &str) {
        assert_same_run(&self.one, &self.out, what);
        assert!(!self.kept().exists(), "{what}");
    }

    fn remove_output(&self) {
        for name in ["out.bam", "out.bam.bai"] {
            fs::remove_file(self.out.with_file_name(name)).unwrap();
        }
    }
}

#[test]
fn the_same_bytes_as_without() {
    let resumed = resumed();
    finish(resumed.start("2"), limit()).ok();
    resumed.assert_output("not killed");
    assert_eq!(names_in(resumed.out.parent().unwrap()), ["out.bam", "out.bam.bai", "out.metrics"]);
}

#[test]
fn killed_at_any_moment() {
    let resumed = resumed();
    let mut random = seed("align --resume killed");
    let started = Instant::now();
    finish(resumed.start("2"), limit()).ok();
    let usual = started.elapsed();
    resumed.assert_output("not killed");
    let (mut killed, mut kept, mut repeated) = (0, 0, 0);
    while killed < kills() {
        resumed.remove_output();
        // Killed again and again, with less to do each time.
        loop {
            let before = resumed.done();
            let mut child = resumed.start(random.pick(&["1", "2", "7"]));
            std::thread::sleep(usual.mul_f64(random.unit() * 0.8));
            signal(&child, "KILL");
            let ended = child.wait().unwrap().success();
            if ended || resumed.out.exists() {
                break;
            }
            killed += 1;
            let after = resumed.done();
            kept += before.len();
            repeated += before.iter().filter(|(path, id)| after.get(*path) != Some(id)).count();
        }
        finish(resumed.start("2"), limit()).ok();
        resumed.assert_output(&format!("{killed} kills"));
    }
    eprintln!("{killed} kills; {kept} tasks were kept over them, {repeated} repeated");
    assert!(kept > 0, "no kill had anything after it");
    assert_eq!(repeated, 0);
}

#[test]
fn a_full_disk_keeps_what_is_done_and_what_is_damaged_is_made_again() {
    let resumed = resumed();
    let line = format!("{} {}", env!("CARGO_BIN_EXE_seqloom"), resumed.words.join(" "));
    let line = line.replace("@RG", "'@RG").replace("ILLUMINA", "ILLUMINA'");
    // Exchange files do not fit.
    let full = run_for(&mut in_small_files(100, &line), SOON).fails_with(4).says(&["align/0000"]);
    // Log lines are no messages to `says`.
    for word in ["out.bam.seqloom-resume", "goes on from there"] {
        assert!(full.stderr.contains(word), "{}", full.stderr);
    }
    assert_eq!(resumed.done().len(), 1, "the plan");
    // All but the last step: the metrics' folder is a file.
    let metrics = resumed.out.with_extension("metrics");
    fs::write(&metrics, "a file").unwrap();
    finish(resumed.start("2"), limit()).fails_with(4).says(&["out.metrics"]);
    let done = resumed.done();
    assert_eq!(
        done.len(),
        1 + 3 + 3 + 3 + 1 + 3 + 3,
        "plan, align, mark, count, table, finish, place: {done:?}"
    );
    fs::remove_file(&metrics).unwrap();
    let run_folder = resumed.kept().join("run");
    for name in ["finish/0001.parts", "finish/0000.bgzf", "place/0002", "mark/02", "table"] {
        let path = run_folder.join(name);
        let mut bytes = fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(&path, bytes).unwrap();
    }
    // A piece is read by the task that copies it alone.
    fs::remove_file(run_folder.join("place/0000.json")).unwrap();
    // What is read again for a damaged one is an exchange file, damaged itself.
    let path = run_folder.join("align/0001");
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let said = finish(resumed.start("2"), limit()).ok().stderr;
    for name in ["finish/0000.bgzf", "place/0002", "align/0001"] {
        let named = said.lines().any(|it| it.contains(name) && it.contains("making it again"));
        assert!(named, "{name}: {said}");
    }
    resumed.assert_output("after damage");
}

#[test]
fn what_a_killed_removal_left_is_no_run() {
    let resumed = resumed();
    // Complete but for its output, which a folder is in the way of.
    let metrics = resumed.out.with_extension("metrics");
    fs::write(&metrics, "a file").unwrap();
    finish(resumed.start("2"), limit()).fails_with(4).says(&["out.metrics"]);
    fs::remove_file(&metrics).unwrap();
    // The plan goes first; the others follow in any order.
    for name in ["plan.json", "align/0001", "count/0000.json"] {
        fs::remove_file(resumed.kept().join("run").join(name)).unwrap();
    }
    // Its plan had a head of other threads.
    finish(resumed.start("7"), limit()).ok();
    resumed.assert_output("after a removal that was killed");
}

#[test]
fn another_run_in_the_folder_is_refused() {
    let resumed = resumed();
    // Stopped, not ended: it has the folder.
    let mut first = resumed.start("2");
    while !resumed.kept().join("run/plan.json").exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
        assert!(first.try_wait().unwrap().is_none(), "it ended");
    }
    signal(&first, "STOP");
    run(&mut seqloom(&resumed.words)).fails_with(4).says(&["in use by another run"]);
    signal(&first, "KILL");
    first.wait().unwrap();
    let refused = |more: &[&str], what: &str| {
        let mut command = seqloom(&resumed.words);
        run(command.args(more)).fails_with(2).says(&["keeps a run that differs in its", what]);
    };
    refused(&["-l", "1"], "output options");
    refused(&["-T", "20"], "algorithm");
    refused(&["--duplicate-mode", "coordinate"], "duplicate options");
    refused(&["--picard-version", "2.27.5"], "duplicate options");
    // The same with other threads, memory and folders for temporary files goes on.
    let mut command = seqloom(&resumed.words);
    let tmp = resumed.here.path().display().to_string();
    run(command.args(["-t", "3", "-m", "4G", "--tmp-dir", &tmp])).ok();
    resumed.assert_output("with other options of the machine");
}

#[test]
fn changed_input_is_refused() {
    let here = folder();
    let reads = small_pairs();
    let first = here.path().join("r1.fq");
    fs::copy(&reads.first, &first).unwrap();
    let out = here.path().join("out.bam");
    let mut words = align_small();
    words[2] = first.display().to_string();
    words.extend(["-K", "900000", "--resume", "-o"].map(str::to_owned));
    words.push(out.display().to_string());
    words.push("--metrics-dir".to_owned());
    let metrics = here.path().join("metrics");
    fs::write(&metrics, "a file").unwrap();
    words.push(metrics.display().to_string());
    run(&mut seqloom(&words)).fails_with(4).says(&["metrics"]);
    let text = fs::read_to_string(&first).unwrap();
    fs::write(&first, text.replacen('A', "C", 1)).unwrap();
    run(&mut seqloom(&words)).fails_with(2).says(&["differs in its", "r1.fq"]);
    assert!(!out.exists());
}

#[test]
fn what_is_not_possible_is_refused_and_leaves_nothing() {
    let here = folder();
    let out = here.path().join("x.bam");
    let out = out.to_str().unwrap();
    let refused = |more: &[&str], what: &[&str]| {
        let mut command = seqloom(align_small());
        run(command.arg("--resume").args(more)).fails_with(2).says(what);
        assert_eq!(names_in(here.path()), [""; 0], "{more:?}");
    };
    refused(&["-o", "-"], &["regular file"]);
    refused(&["-o", "/dev/null"], &["regular file"]);
    refused(&["-o", out, "--stripes", "2"], &["--stripes", "--resume"]);
    refused(&["-o", out, "--html", "x.html"], &["--html", "--resume"]);
    refused(&["-o", out, "--mode", "ungapped"], &["--mode"]);
    refused(&["-o", out, "--no-sort", "--no-mark-duplicates"], &["--no-sort"]);
    refused(&["-o", out, "--output-format", "sam"], &["sam", "BAM"]);
    let mut command = words("bash -c");
    let reference = &align_small()[1];
    command.arg(format!(
        "cat {} | {} align --resume -o {out} {reference} -",
        small_pairs().first.display(),
        env!("CARGO_BIN_EXE_seqloom"),
    ));
    run(&mut command).fails_with(2).says(&["not a regular file"]);
    let broken = here.path().join("broken.fq");
    fs::write(&broken, "@a\nACGT\n+\nIII\n").unwrap();
    let mut command = seqloom(["align", "--resume", "-o", out, reference]);
    run(command.arg(&broken)).fails_with(3).says(&["broken.fq", "record 1"]);
    assert_eq!(names_in(here.path()), [Path::new("broken.fq").to_str().unwrap()]);
}
