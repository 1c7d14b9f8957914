//! Tasks that are killed, done twice at once, or find what others have left damaged: the same bytes
//! in the end, or an error with the name of what is wrong.

use crate::common::{SOON, finish, folder, names_in, run, run_for, seqloom, signal, words};
use crate::data::{align_small, small_pairs};
use crate::faults::{SmallDisk, in_small_files, preload};
use crate::shard::{Task, assert_same_run, do_all, gather, one_process, plan, shard, tasks};
use crate::shard_same_bytes::sites;
use seqloom_testkit::random::Random;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// Kills of each verb.
fn kills() -> usize {
    if seqloom_testkit::skip::slow_tests() { 200 } else { 10 }
}

/// What a run does.
const VERBS: [&str; 6] = ["align", "mark", "count", "table", "finish", "place"];

/// A seed that is printed, so that a failure can be had again.
pub(crate) fn seed(what: &str) -> Random {
    let given = std::env::var("SEQLOOM_SEED").ok().and_then(|it| it.parse().ok());
    let seed = given.unwrap_or_else(|| u64::from(std::process::id()));
    eprintln!("{what}: SEQLOOM_SEED={seed}");
    Random::new(seed)
}

/// A whole run, and what it consists of.
struct Done {
    here: tempfile::TempDir,
    run: PathBuf,
    one: PathBuf,
    tasks: Vec<Task>,
    /// Every file but descriptions, with its bytes.
    good: BTreeMap<PathBuf, Vec<u8>>,
}

/// All tasks done, with recalibration among them.
fn done() -> Done {
    let here = folder();
    let mut align = align_small();
    align.extend(["-K", "900000", "--known-sites"].map(str::to_owned));
    align.push(sites(here.path()));
    let one = one_process(&align, here.path(), "one");
    let run = here.path().join("run");
    plan(&run, (3, 3), &align);
    do_all(&run, "2", 3);
    let tasks = tasks(&run);
    let is_data = |path: &PathBuf| path.extension().is_none_or(|it| it != "json");
    let files = tasks.iter().flat_map(|task| task.files(&run)).filter(is_data);
    let good = files.map(|path| (path.clone(), fs::read(&path).unwrap())).collect();
    Done { here, run, one, tasks, good }
}

impl Done {
    fn of_verb(&self, verb: &str) -> Vec<&Task> {
        self.tasks.iter().filter(|task| task.verb == verb).collect()
    }

    fn remove(&self, task: &Task) {
        for path in task.files(&self.run) {
            let _ = fs::remove_file(path);
        }
    }

    /// Every file that has its name is whole.
    #[track_caller]
    fn assert_whole(&self, task: &Task, what: &str) {
        for path in task.files(&self.run).iter().filter(|path| path.exists()) {
            if let Some(good) = self.good.get(path) {
                assert!(fs::read(path).unwrap() == *good, "{what}: {}", path.display());
            }
        }
    }

    #[track_caller]
    fn assert_output(&self, what: &str) {
        let many = gather(&self.run, self.here.path(), "many");
        assert_same_run(&self.one, &many, what);
    }
}

fn start(words: Vec<String>) -> Child {
    let mut command = seqloom(words);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// How long a task takes.
fn time_of(words: Vec<String>) -> Duration {
    let started = Instant::now();
    run(&mut seqloom(words)).ok();
    started.elapsed()
}

#[test]
fn killed_at_any_moment() {
    let done = done();
    let mut random = seed("killed_at_any_moment");
    for verb in VERBS {
        let tasks = done.of_verb(verb);
        done.remove(tasks[0]);
        let usual = time_of(tasks[0].words());
        let mut killed = 0;
        for attempt in 0..kills() {
            let task = tasks[random.index(tasks.len())];
            done.remove(task);
            let mut child = start(task.words());
            std::thread::sleep(usual.mul_f64(random.unit() * 1.1));
            signal(&child, "KILL");
            killed += usize::from(!child.wait().unwrap().success());
            let what = format!("{verb}, attempt {attempt}");
            done.assert_whole(task, &what);
            run(&mut seqloom(task.words())).ok();
            done.assert_whole(task, &what);
        }
        assert!(killed > 0, "{verb}: no process was killed while it worked");
    }
    let hidden = |folder: &str| {
        let names = names_in(&done.run.join(folder)).into_iter();
        names.filter(|name| name.starts_with('.')).collect::<Vec<_>>()
    };
    let folders = ["", "scan", "align", "mark", "count", "finish", "place"];
    assert_eq!(folders.map(hidden), folders.map(|_| Vec::<String>::new()));
    done.assert_output("after kills");
}

#[test]
fn plan_and_gather_killed_at_any_moment() {
    let done = done();
    let mut random = seed("plan_and_gather_killed");
    let out = done.here.path().join("killed.bam");
    let words = || {
        let mut words = ["shard", "gather", "--run"].map(str::to_owned).to_vec();
        words.extend([&done.run, Path::new("-o"), &out].map(|it| it.display().to_string()));
        words
    };
    let usual = time_of(words());
    let good = fs::read(&out).unwrap();
    let again = done.here.path().join("again");
    let mut plan_words =
        ["shard", "plan", "--shards", "3", "--ranges", "3", "--run"].map(str::to_owned).to_vec();
    plan_words.push(again.display().to_string());
    plan_words.extend(crate::shard::OPTIONS.map(str::to_owned));
    plan_words.extend(align_small().into_iter().skip(1));
    plan_words.extend(["-K", "900000"].map(str::to_owned));
    let usual_plan = time_of(plan_words.clone());
    let planned_again = fs::read(again.join("plan.json")).unwrap();
    for attempt in 0..kills() {
        let _ = fs::remove_file(&out);
        let mut child = start(words());
        std::thread::sleep(usual.mul_f64(random.unit() * 1.1));
        signal(&child, "KILL");
        child.wait().unwrap();
        assert!(!out.exists() || fs::read(&out).unwrap() == good, "attempt {attempt}");
        run(&mut seqloom(words())).ok();
        assert!(fs::read(&out).unwrap() == good, "attempt {attempt}");

        fs::remove_dir_all(&again).unwrap();
        let mut child = start(plan_words.clone());
        std::thread::sleep(usual_plan.mul_f64(random.unit() * 1.1));
        signal(&child, "KILL");
        child.wait().unwrap();
        run(&mut seqloom(plan_words.clone())).ok();
        assert!(fs::read(again.join("plan.json")).unwrap() == planned_again, "attempt {attempt}");
    }
}

#[test]
fn two_processes_at_once() {
    let done = done();
    for task in &done.tasks {
        done.remove(task);
        let both = [start(task.words()), start(task.words())];
        for child in both {
            finish(child, SOON).ok();
        }
        done.assert_whole(task, &task.id);
        // Killed between its file and its description: the next one verifies and describes it.
        fs::remove_file(task.files(&done.run).last().unwrap()).unwrap();
        run(&mut seqloom(task.words())).ok();
        done.assert_whole(task, &task.id);
    }
    done.assert_output("every task twice");
}

/// A plan that was changed, with the digest of what it is now: that of all lines after it.
fn sealed_again(plan: &str, here: &Path) -> String {
    let (digits, lines) = plan.split_once("\",\n").unwrap();
    let (head, path) = (&digits[..digits.len() - 64], here.join("lines"));
    fs::write(&path, lines).unwrap();
    let sum = run(words("sha256sum").arg(&path)).ok().text();
    format!("{head}{}\",\n{lines}", &sum[..64])
}

/// The tasks that read what `verb` writes.
fn readers(done: &Done, verb: &str) -> Vec<Vec<String>> {
    let tasks = |verb: &str| -> Vec<Vec<String>> {
        done.of_verb(verb).iter().map(|task| task.words()).collect()
    };
    match verb {
        "align" => [tasks("mark"), tasks("count"), tasks("finish")].concat(),
        "mark" => [tasks("count"), tasks("finish")].concat(),
        "count" => tasks("table"),
        "table" => tasks("finish"),
        "finish" => tasks("place"),
        _ => Vec::new(),
    }
}

#[test]
fn damage_is_named_or_makes_no_difference() {
    let done = done();
    let mut random = seed("damage_is_named");
    let out = done.here.path().join("damaged.bam");
    let gather_words: Vec<String> = ["shard", "gather", "--run", &done.run.display().to_string()]
        .into_iter()
        .chain(["-o", &out.display().to_string()])
        .map(str::to_owned)
        .collect();
    for attempt in 0..kills() {
        let verb = random.pick(&VERBS);
        let tasks = done.of_verb(verb);
        let task = tasks[random.index(tasks.len())];
        let files = task.files(&done.run);
        let file = &files[random.index(files.len())];
        let good = fs::read(file).unwrap();
        let mut bad = good.clone();
        if random.percent(30) {
            bad.truncate(random.index(good.len()));
        } else {
            let at = random.index(good.len());
            bad[at] ^= 1 << random.below(8);
        }
        fs::remove_file(file).unwrap();
        fs::write(file, &bad).unwrap();
        let what = format!("attempt {attempt}: {}", file.display());
        // Those that read it do so again: what they find is the same, or an error.
        let mut refused = 0;
        for words in readers(&done, verb).into_iter().chain([gather_words.clone()]) {
            let reader = done.tasks.iter().find(|it| it.words() == words);
            if let Some(reader) = reader {
                done.remove(reader);
            }
            let ended = run(&mut seqloom(words.clone()));
            if ended.code() != 0 {
                refused += 1;
                assert!([1, 2, 4].contains(&ended.code()), "{what}: {}", ended.stderr);
                let name = Path::new(&task.id).file_name().unwrap().to_str().unwrap();
                let named = ended.stderr.contains(&task.id) || ended.stderr.contains(name);
                let follows = ended.stderr.contains("is not done yet");
                assert!(named || follows, "{what}: {}", ended.stderr);
            }
            if let Some(reader) = reader {
                done.assert_whole(reader, &what);
            }
        }
        if refused == 0 {
            assert!(fs::read(&out).unwrap() == fs::read(&done.one).unwrap(), "{what}");
        }
        // Removed and done again, as the error says.
        let _ = fs::remove_file(&out);
        done.remove(task);
        for task in &done.tasks {
            run(&mut seqloom(task.words())).ok();
        }
    }
    done.assert_output("after damage");
}

#[test]
fn other_runs_and_changed_files_are_refused() {
    let here = folder();
    let reads = small_pairs();
    let mut align = align_small();
    let first = here.path().join("r1.fq");
    fs::copy(&reads.first, &first).unwrap();
    align[2] = first.display().to_string();
    align.extend(["-K", "900000"].map(str::to_owned));
    let run_folder = here.path().join("run");
    plan(&run_folder, (2, 2), &align);
    let path = run_folder.join("plan.json");
    let planned = fs::read_to_string(&path).unwrap();
    // Another plan in the same folder.
    let mut command = seqloom(["shard", "plan", "--shards", "3", "--run"]);
    run(command.arg(&run_folder).args(&align[1..])).fails_with(2).says(&["another run"]);
    // What is missing.
    shard("mark", &run_folder, &["--part", "0/16"]).fails_with(1).says(&["align/0000", "not done"]);
    shard("mark", &run_folder, &["--part", "0/8"])
        .fails_with(2)
        .says(&["parts of the read ends", "16, not 8"]);
    shard("finish", &run_folder, &["--range", "0/3"]).fails_with(2).says(&["ranges", "2, not 3"]);
    shard("align", &run_folder, &["--shard", "2"]).fails_with(2).says(&["no shard 2"]);
    shard("gather", &run_folder, &["-o", "x.bam"]).fails_with(1).says(&["not done"]);
    shard("count", &run_folder, &["--range", "0/2"]).fails_with(1);
    shard("place", &run_folder, &["--range", "1/2"]).fails_with(1).says(&["finish/", "not done"]);
    shard("tasks", here.path(), &[]).fails_with(2).says(&["plan.json"]);
    // A folder in place of the numbers of shards.
    let mut command = seqloom(["shard", "align", "--shard", "-", "--run"]);
    command.arg(&run_folder).stdin(fs::File::open(here.path()).unwrap());
    let ended = command.output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(3), "{said}");
    assert!(said.contains("standard input: cannot read"), "{said}");
    // Another version of the program, and another build: the plan is whole, for them.
    let version = concat!("seqloom ", env!("CARGO_PKG_VERSION"));
    let build = planned.split("(build ").nth(1).unwrap()[..16].to_owned();
    for (ours, theirs) in [(version, "seqloom 0.0.0"), (&build, "0123456789abcdef")] {
        let other = planned.replace(ours, theirs).replace("\"folder\"", "\"new_name\"");
        fs::write(&path, sealed_again(&other, here.path())).unwrap();
        let words = [theirs, ours, &build, "was begun by", "another run directory"];
        shard("align", &run_folder, &["--shard", "0"]).fails_with(2).says(&words);
        shard("tasks", &run_folder, &[]).fails_with(2).says(&words);
        let mut command = seqloom(["shard", "plan", "--shards", "2", "--run"]);
        run(command.arg(&run_folder).args(&align[1..])).fails_with(2).says(&words);
    }
    fs::write(&path, &planned).unwrap();
    // What another plan has made.
    shard("align", &run_folder, &["--shard", "0"]).ok();
    let other = here.path().join("other");
    plan(&other, (2, 3), &align);
    for name in ["align/0000", "align/0000.json"] {
        fs::copy(run_folder.join(name), other.join(name)).unwrap();
    }
    shard("align", &other, &["--shard", "0"]).fails_with(2).says(&["another run"]);
    // Other bytes under the name of a task that is not described.
    fs::remove_file(run_folder.join("align/0000.json")).unwrap();
    fs::write(run_folder.join("align/0000"), "something else").unwrap();
    let words = ["align/0000", "other bytes"];
    shard("align", &run_folder, &["--shard", "0"]).fails_with(1).says(&words);
    // Changed input: in place, with the size and the time that it had.
    let text = fs::read_to_string(&first).unwrap();
    let time = fs::metadata(&first).unwrap().modified().unwrap();
    fs::write(&first, text.replacen('A', "C", 1)).unwrap();
    fs::File::options().write(true).open(&first).unwrap().set_modified(time).unwrap();
    shard("align", &run_folder, &["--shard", "1"]).fails_with(2).says(&["r1.fq", "was"]);
}

#[test]
fn a_full_disk_leaves_what_was_done() {
    let done = done();
    for verb in ["align", "finish"] {
        let task = done.of_verb(verb)[1];
        done.remove(task);
        let line = format!("{} {}", env!("CARGO_BIN_EXE_seqloom"), task.words().join(" "));
        run_for(&mut in_small_files(100, &line), SOON).fails_with(4);
        assert!(task.files(&done.run).iter().all(|path| !path.exists()), "{verb}");
        run(&mut seqloom(task.words())).ok();
    }
    done.assert_output("after full disks");
}

/// Every verb on a file system that is really full, which only root may mount.
#[test]
fn a_disk_that_is_really_full() {
    let done = done();
    let at = done.here.path().join("disk");
    let Some(disk) = SmallDisk::mount(&at, "size=64m") else { return };
    run(words("cp -r").arg(&done.run).arg(&disk.0)).ok();
    let run_folder = disk.0.join("run");
    let filler = disk.0.join("filler");
    for verb in VERBS {
        let task = done.of_verb(verb)[0];
        let moved = task.words().into_iter().map(|word| {
            if Path::new(&word) == done.run { run_folder.display().to_string() } else { word }
        });
        let moved: Vec<String> = moved.collect();
        task.files(&run_folder).iter().for_each(|path| fs::remove_file(path).unwrap());
        // `dd` ends because nothing more fits.
        let _ = run(words("dd if=/dev/zero bs=64k").arg(format!("of={}", filler.display())));
        let name = task.id.rsplit('/').next().unwrap();
        let refused = run_for(&mut seqloom(moved.clone()), SOON).fails_with(4);
        // What is counted is spilled before it is published.
        match verb {
            "count" | "table" => refused.says(&["no space left for temporary files in", "disk"]),
            _ => refused.says(&[name, "No space left"]),
        };
        assert!(task.files(&run_folder).iter().all(|path| !path.exists()), "{verb}");
        fs::remove_file(&filler).unwrap();
        run(&mut seqloom(moved)).ok();
    }
    let many = gather(&run_folder, done.here.path(), "many");
    assert_same_run(&done.one, &many, "after full disks");
}

/// Number of the file that a name leads to.
fn file_number(path: &Path) -> u64 {
    std::os::unix::fs::MetadataExt::ino(&fs::metadata(path).unwrap())
}

#[test]
fn gather_names_what_was_placed() {
    let done = done();
    let placed = done.run.join("place/output");
    let gathered = |name: &str| gather(&done.run, done.here.path(), name);
    let first = gathered("first");
    assert_eq!(file_number(&first), file_number(&placed), "it was copied");
    assert_same_run(&done.one, &first, "placed");
    assert!(first.metadata().unwrap().len() > 400_000, "no range has a whole block");
    // The file has an owner now: another output is another file, and a task that is done again
    // leaves it alone, even if it finds a damaged piece.
    assert_ne!(file_number(&gathered("second")), file_number(&placed));
    let (place, finish) = (done.of_verb("place")[1], done.of_verb("finish")[1]);
    let piece = &finish.files(&done.run)[0];
    let good = fs::read(piece).unwrap();
    let mut bad = good.clone();
    bad[good.len() / 2] ^= 1;
    done.remove(place);
    fs::write(piece, &bad).unwrap();
    run(&mut seqloom(place.words())).fails_with(4).says(&["finish/0001", "SHA-256"]);
    assert_same_run(&done.one, &first, "a task done again");
    fs::write(piece, &good).unwrap();
    // Not all are done: pieces are copied.
    let _ = fs::remove_file(&first);
    assert_same_run(&done.one, &gathered("third"), "one task not done");
    run(&mut seqloom(place.words())).ok();
    let fourth = done.here.path().join("fourth.bam");
    shard("gather", &done.run, &["--md5", "--remove", "-o", fourth.to_str().unwrap()]).ok();
    assert!(!done.run.exists());
    assert!(fs::read(&fourth).unwrap() == fs::read(&done.one).unwrap());
    let sum = run(words("md5sum").arg(&fourth)).ok().text();
    let ours = fs::read_to_string(fourth.with_extension("bam.md5")).unwrap();
    assert_eq!(sum.split(' ').next().unwrap(), ours);
}

#[test]
fn what_is_not_where_it_was_placed_is_named() {
    let done = done();
    let placed = done.run.join("place/output");
    let out = done.here.path().join("out.bam");
    let gather = || shard("gather", &done.run, &["-o", out.to_str().unwrap()]);
    let same = || fs::read(&out).unwrap() == fs::read(&done.one).unwrap();
    let good = fs::read(&placed).unwrap();
    // Somebody removed it, and a task was done again: the others' bytes are not there.
    fs::remove_file(&placed).unwrap();
    gather().ok();
    assert!(same(), "copied");
    let task = done.of_verb("place")[2];
    done.remove(task);
    run(&mut seqloom(task.words())).ok();
    gather().fails_with(4).says(&["place/0000", "does not hold", "run place/0000 again"]);
    assert!(same(), "as it was");
    assert_eq!(names_in(done.here.path()).iter().filter(|it| it.starts_with('.')).count(), 0);
    for (bytes, name) in [(&good[..good.len() / 2], "place/000"), (&[], "place/0000")] {
        fs::write(&placed, bytes).unwrap();
        gather().fails_with(4).says(&[name, "does not hold"]);
    }
    for task in done.of_verb("place") {
        done.remove(task);
        run(&mut seqloom(task.words())).ok();
    }
    // What is past the end is no part of it.
    let longer = [&fs::read(&placed).unwrap()[..], &[1; 300_000]].concat();
    fs::write(&placed, longer).unwrap();
    gather().ok();
    assert!(same(), "longer");
    assert_eq!(file_number(&out), file_number(&placed));
}

#[test]
fn an_output_on_another_file_system_is_a_copy() {
    let done = done();
    let Some(disk) = SmallDisk::mount(&done.here.path().join("disk"), "size=64m") else { return };
    let many = gather(&done.run, &disk.0, "many");
    assert_same_run(&done.one, &many, "on another file system");
    let mut command = seqloom(["shard", "gather", "-o", "-", "--run"]);
    let out = run(command.arg(&done.run)).ok();
    assert!(out.stdout == fs::read(&done.one).unwrap(), "standard output");
}

/// A library that takes things away from programs it is loaded into: `link(2)` where NO_LINK is
/// set, listings of folders below the one that NO_LIST names. `None` without a C compiler.
fn shim(folder: &Path) -> Option<PathBuf> {
    const TEXT: &str = r#"
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int linkat(int a, const char *from, int b, const char *to, int flags) {
    if (getenv("NO_LINK")) { errno = EPERM; return -1; }
    return ((int (*)(int, const char *, int, const char *, int))dlsym(RTLD_NEXT, "linkat"))(
        a, from, b, to, flags);
}
int link(const char *from, const char *to) {
    if (getenv("NO_LINK")) { errno = EPERM; return -1; }
    return ((int (*)(const char *, const char *))dlsym(RTLD_NEXT, "link"))(from, to);
}
static int hidden(const char *name) {
    const char *folder = getenv("NO_LIST");
    return folder && strncmp(folder, name, strlen(folder)) == 0;
}
DIR *opendir(const char *name) {
    if (hidden(name)) { errno = ESTALE; return 0; }
    return ((DIR *(*)(const char *))dlsym(RTLD_NEXT, "opendir"))(name);
}
"#;
    preload(folder, TEXT)
}

#[test]
fn a_folder_without_links_is_refused_by_name() {
    let done = done();
    let Some(shim) = shim(done.here.path()) else { return };
    for verb in VERBS {
        let task = done.of_verb(verb)[0];
        done.remove(task);
        let mut command = seqloom(task.words());
        let refused = run(command.env("LD_PRELOAD", &shim).env("NO_LINK", "1"));
        refused.fails_with(4).says(&["link", &task.id]);
        assert!(task.files(&done.run).iter().all(|path| !path.exists()), "{verb}");
        run(&mut seqloom(task.words())).ok();
    }
    let new = done.here.path().join("new");
    let mut command = seqloom(["shard", "plan", "--run"]);
    command.arg(&new).args(&align_small()[1..]);
    let refused = run(command.env("LD_PRELOAD", &shim).env("NO_LINK", "1"));
    refused.fails_with(4).says(&["link", "plan.header"]);
    done.assert_output("after a folder without links");
}

/// Listings may be late, and other nodes' clocks wrong: neither is looked at.
#[test]
fn stale_listings_and_wrong_clocks_do_no_harm() {
    let done = done();
    let Some(shim) = shim(done.here.path()) else { return };
    // A name that only a listing would show, and times of long ago and of another century.
    fs::write(done.run.join("align/.0009.x.part"), "left by nobody").unwrap();
    let mut years = [1_000_000_000, 4_000_000_000].into_iter().cycle();
    for task in &done.tasks {
        for path in task.files(&done.run) {
            let time = std::time::UNIX_EPOCH + Duration::from_secs(years.next().unwrap());
            fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        }
    }
    for verb in VERBS {
        let task = done.of_verb(verb)[0];
        let mut again = seqloom(task.words());
        let again = run(again.env("LD_PRELOAD", &shim).env("NO_LIST", &done.run)).ok();
        assert!(again.stderr.contains("done already"), "{}", again.stderr);
        done.remove(task);
        let mut command = seqloom(task.words());
        run(command.env("LD_PRELOAD", &shim).env("NO_LIST", &done.run)).ok();
        done.assert_whole(task, verb);
    }
    done.assert_output("with wrong clocks");
}

/// Shards are aligned while the input is scanned: all that `plan` has published by then is there,
/// and the plan itself is not.
#[test]
fn shards_can_be_aligned_before_the_plan_is_there() {
    let here = folder();
    let mut align = align_small();
    align.extend(["-K", "300000"].map(str::to_owned));
    let one = one_process(&align, here.path(), "one");
    let run_folder = here.path().join("run");
    let mut command = seqloom(["shard", "plan", "--shard-bases", "1M", "--ranges", "2", "--run"]);
    command.arg(&run_folder).args(crate::shard::OPTIONS).args(&align[1..]);
    run(&mut command).ok();
    let all = tasks(&run_folder);
    let shards = all.iter().filter(|task| task.verb == "align").count();
    assert!(shards > 3, "{shards}");
    let (path, away) = (run_folder.join("plan.json"), here.path().join("plan.json"));
    fs::rename(&path, &away).unwrap();
    let last = run_folder.join(format!("scan/{:04}.json", shards - 1));
    let last_away = here.path().join("last.json");
    fs::rename(&last, &last_away).unwrap();
    let early = tasks(&run_folder);
    assert_eq!(early.len(), shards - 1);
    run(&mut seqloom(early[1].words())).ok();
    assert!(shard("status", &run_folder, &[]).ok().text().contains("being scanned"));
    shard("mark", &run_folder, &["--part", "0/16"]).fails_with(1).says(&["plan", "not done"]);
    let number = (shards - 1).to_string();
    shard("align", &run_folder, &["--shard", &number]).fails_with(1).says(&["scan/", "not done"]);
    // The scan goes on while a process waits for numbers of shards.
    let mut command = seqloom(["shard", "align", "--shard", "-", "--run"]);
    command.arg(&run_folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut input, b"0\n").unwrap();
    while !run_folder.join("align/0000.json").exists() {
        std::thread::sleep(Duration::from_millis(10));
        assert!(child.try_wait().unwrap().is_none(), "it ended");
    }
    fs::rename(&last_away, &last).unwrap();
    std::io::Write::write_all(&mut input, format!("{number}\n").as_bytes()).unwrap();
    drop(input);
    finish(child, SOON).ok();
    assert!(run_folder.join(format!("align/{:04}.json", shards - 1)).exists());
    fs::rename(&away, &path).unwrap();
    do_all(&run_folder, "2", 4);
    let many = gather(&run_folder, here.path(), "many");
    assert_same_run(&one, &many, "begun before the plan");
}

#[test]
fn a_plan_that_is_not_as_it_was_written_is_refused() {
    let here = folder();
    let run_folder = here.path().join("run");
    plan(&run_folder, (1, 2), &align_small());
    do_all(&run_folder, "2", 6);
    let out = here.path().join("x.bam");
    let mut random = seed("a_plan_that_is_not_as_it_was_written");
    for name in ["plan.json", "plan.head.json"] {
        let path = run_folder.join(name);
        let planned = fs::read(&path).unwrap();
        for _ in 0..20 {
            let mut changed = planned.clone();
            changed[random.index(planned.len())] ^= 1 << random.below(8);
            fs::write(&path, changed).unwrap();
            let gathered = shard("gather", &run_folder, &["-o", out.to_str().unwrap()]);
            gathered.fails_with(2).says(&[name, "SHA-256"]);
            shard("finish", &run_folder, &["--range", "0/2"]).fails_with(2).says(&[name]);
        }
        fs::write(&path, planned).unwrap();
    }
    let header = run_folder.join("plan.header");
    let whole = fs::read(&header).unwrap();
    let mut changed = whole.clone();
    changed[0] ^= 1;
    fs::write(&header, changed).unwrap();
    let words = ["plan.header", "is damaged", "run `seqloom shard plan` again"];
    shard("gather", &run_folder, &["-o", out.to_str().unwrap()]).fails_with(4).says(&words);
    fs::write(&header, whole).unwrap();
    // That of another run is as it was written.
    let other = here.path().join("other");
    plan(&other, (2, 2), &[&align_small()[..], &["-K".to_owned(), "900000".to_owned()]].concat());
    fs::copy(other.join("plan.json"), run_folder.join("plan.json")).unwrap();
    shard("tasks", &run_folder, &[]).fails_with(2).says(&["plan.json", "plan.head.json"]);
    assert!(!out.exists());
}

#[test]
fn a_plan_without_room_is_made_later() {
    let here = folder();
    let run_folder = here.path().join("run");
    let mut line =
        format!("{} shard plan --run {}", env!("CARGO_BIN_EXE_seqloom"), run_folder.display());
    align_small()[1..].iter().for_each(|word| line += &format!(" {word}"));
    run_for(&mut in_small_files(0, &line), SOON).fails_with(4).says(&["plan.header"]);
    assert!(!run_folder.join("plan.json").exists());
    plan(&run_folder, (1, 1), &align_small());
}
