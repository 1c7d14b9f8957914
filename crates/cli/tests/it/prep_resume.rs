//! `prep --resume`: a run that is killed is resumed, and nobody sees it in the output.

use crate::common::{
    SOON, assert_same_bytes, folder, has, names_in, run, run_for, seqloom, signal, words,
};
use crate::prep::{Hard, hard, header};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A run is started again where it was too fast for the test; this often.
const ATTEMPTS: usize = 20;

/// Inputs, and what recalibration needs.
struct Data {
    hard: Hard,
    fasta: PathBuf,
    sites: PathBuf,
}

fn data(here: &Path, seed: u64, templates: usize) -> Data {
    let hard = hard(here, seed, templates, 4);
    let (fasta, sites) = (here.join("ref.fa"), here.join("sites.vcf"));
    let mut text = String::new();
    let mut state = seed;
    let mut first = String::new();
    for line in header(&hard.grouped).lines().filter(|line| line.starts_with("@SQ")) {
        let field = |name: &str| line.split(name).nth(1).unwrap().split('\t').next().unwrap();
        let length: usize = field("LN:").parse().unwrap();
        text += &format!(">{}\n", field("SN:"));
        for _ in 0..length {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            text.push(char::from(b"ACGT"[(state >> 62) as usize]));
        }
        text.push('\n');
        if first.is_empty() {
            first = field("SN:").to_owned();
        }
    }
    fs::write(&fasta, text).unwrap();
    let head = "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n";
    fs::write(&sites, format!("{head}{first}\t500\t.\tA\tC\t.\t.\t.\n")).unwrap();
    Data { hard, fasta, sites }
}

/// A kind of run: its input and options.
struct Kind {
    input: PathBuf,
    options: String,
}

fn kinds(data: &Data) -> [Kind; 3] {
    let marks = "-l 1 --mark-duplicates --tag-duplicates all";
    let recalibrates = format!(
        "--reference {} --known-sites {} --maximum-cycle-value 5000 \
         --read-group @RG\\tID:one\\tSM:s\\tPL:ILLUMINA",
        data.fasta.display(),
        data.sites.display()
    );
    [
        Kind {
            input: data.hard.grouped.clone(),
            options: format!("{marks} --sort coordinate --metrics all"),
        },
        // No record has the tag: templates at a place are a family.
        Kind {
            input: data.hard.sorted.clone(),
            options: format!("{marks} --sort queryname --barcode-tag ZZ --umi-distance 1"),
        },
        Kind {
            input: data.hard.grouped.clone(),
            options: format!("{marks} --sort coordinate-picard --metrics all {recalibrates}"),
        },
    ]
}

/// The command with everything that it writes in `out`.
fn command(kind: &Kind, out: &Path, more: &str) -> Command {
    fs::create_dir_all(out).unwrap();
    let mut command = seqloom(["prep", "--no-pg", "--md5"]);
    command.arg(&kind.input).args(kind.options.split_whitespace());
    command.args(more.split_whitespace());
    command.arg("-o").arg(out.join("out.bam")).arg("--metrics-dir").arg(out.join("metrics"));
    if kind.options.contains("--metrics") {
        command.arg("--html").arg(out.join("page.html"));
    }
    if kind.options.contains("--known-sites") {
        command.arg("--bqsr-report").arg(out.join("report.txt"));
    }
    command
}

/// Files that a run has written, below its folder.
fn results(out: &Path) -> Vec<PathBuf> {
    let metrics = out.join("metrics");
    let inner = names_in(&metrics).into_iter().map(|name| metrics.join(name));
    let names = names_in(out).into_iter().filter(|name| name != "metrics" && name != "run.json");
    names.map(|name| out.join(name)).chain(inner).collect()
}

/// Requires the same files with the same bytes; of metrics all but the command line.
#[track_caller]
fn assert_same_results(ours: &Path, theirs: &Path, what: &str) {
    let below = |out: &Path| -> Vec<PathBuf> {
        results(out).iter().map(|it| it.strip_prefix(out).unwrap().to_owned()).collect()
    };
    assert_eq!(below(ours), below(theirs), "{what}");
    for name in below(ours) {
        if name.ends_with("page.html") {
            let page = |out: &Path| crate::report_html::counted(&out.join(&name));
            assert_eq!(page(ours), page(theirs), "{what}: {}", name.display());
        } else if name.starts_with("metrics") {
            let text = |out: &Path| -> Vec<String> {
                let text = fs::read_to_string(out.join(&name)).unwrap();
                let is_count = |line: &&str| !line.contains("seqloom prep");
                text.lines().filter(is_count).map(str::to_owned).collect()
            };
            assert_eq!(text(ours), text(theirs), "{what}: {}", name.display());
        } else {
            let what = format!("{what}: {}", name.display());
            assert_same_bytes(&ours.join(&name), &theirs.join(&name), &what);
        }
    }
}

fn kept(out: &Path) -> PathBuf {
    out.join(".out.bam.seqloom-resume")
}

/// How far a run has come, as its manifest says in its first line.
fn stage(out: &Path) -> Option<String> {
    let mut start = [0; 128];
    let mut file = fs::File::open(kept(out).join("manifest")).ok()?;
    let count = file.read(&mut start).ok()?;
    let line = start[..count].split(|&byte| byte == b'\n').next()?;
    let text = String::from_utf8_lossy(line).into_owned();
    Some(text.strip_prefix("resume by seqloom ")?.rsplit_once(": ")?.1.to_owned())
}

/// How far a stage is: by step, then by units of output.
fn rank(stage: &str) -> (usize, usize) {
    let mut words = stage.split(' ');
    let step = words.next().unwrap();
    let steps = ["ingest", "resolve", "redistribute", "recalibrate", "finish"];
    let units = words.next().map_or(0, |units| units.parse().unwrap());
    (steps.iter().position(|it| *it == step).unwrap(), units)
}

fn spawn(command: &mut Command) -> Child {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Starts a run and kills it as soon as `is_there` says so; gives how far it had come. Started
/// again where it was through before.
#[track_caller]
fn kill_when(
    kind: &Kind,
    out: &Path,
    more: &str,
    is_there: &dyn Fn(Option<&str>) -> bool,
) -> Option<String> {
    for _ in 0..ATTEMPTS {
        let _ = fs::remove_dir_all(out);
        let mut child = spawn(&mut command(kind, out, &format!("--resume {more}")));
        let started = Instant::now();
        loop {
            if kept(out).join("lock").exists() && is_there(stage(out).as_deref()) {
                signal(&child, "KILL");
                let killed = !child.wait().unwrap().success();
                if killed {
                    return stage(out);
                }
                break;
            }
            if child.try_wait().unwrap().is_some() {
                break;
            }
            assert!(started.elapsed() < SOON, "it never came there");
        }
    }
    panic!("it was too fast {ATTEMPTS} times");
}

/// Resumes a run; gives after what, by its own account, and the bytes of input it has read.
#[track_caller]
fn go_on(kind: &Kind, out: &Path, more: &str) -> (Option<String>, f64) {
    let json = out.join("run.json");
    let more = format!("--resume {more} --json {}", json.display());
    run_for(&mut command(kind, out, &more), SOON).ok();
    assert!(!kept(out).exists(), "something is left");
    let report: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
    let after = report["continued_behind"].as_str().map(str::to_owned);
    (after, report["bytes"]["read"].as_f64().unwrap())
}

#[test]
fn a_run_that_is_killed_is_gone_on_with_from_every_step() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let data = data(here.path(), 901, 40_000);
    let (plain, out) = (here.path().join("plain"), here.path().join("out"));
    for kind in kinds(&data) {
        let _ = fs::remove_dir_all(&plain);
        run(&mut command(&kind, &plain, "-t 2")).ok();
        let mut steps = vec!["ingest", "resolve"];
        if kind.options.contains("queryname") || kind.options.contains("picard") {
            steps.push("redistribute");
        }
        if kind.options.contains("--known-sites") {
            steps.push("recalibrate");
        }
        steps.extend(["finish 1", "finish 4"]);
        for step in steps {
            let what = format!("{} killed after {step}", kind.options);
            let reached = |now: Option<&str>| now.is_some_and(|now| rank(now) >= rank(step));
            let stage = kill_when(&kind, &out, "-t 2 -m 2G --resume-step 1", &reached).unwrap();
            let (after, read) = go_on(&kind, &out, "-t 3 -m 1G");
            assert_eq!(after.as_deref(), stage.split(' ').next(), "{what}");
            assert_eq!(read, 0.0, "{what}: the input was read again");
            assert_same_results(&out, &plain, &what);
        }
        // Before there is anything to go on from.
        let stage = kill_when(&kind, &out, "-t 2", &|now| now.is_none());
        let (after, read) = go_on(&kind, &out, "-t 1");
        assert!(stage.is_some() || (after.is_none() && read > 0.0), "{after:?}");
        assert_same_results(&out, &plain, "killed in ingest");
    }
}

#[test]
fn the_second_and_the_third_kill_change_nothing() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let data = data(here.path(), 902, 40_000);
    let (plain, out) = (here.path().join("plain"), here.path().join("out"));
    for (kind, seed) in kinds(&data).iter().zip(0..) {
        let _ = (fs::remove_dir_all(&plain), fs::remove_dir_all(&out));
        let started = Instant::now();
        run(&mut command(kind, &plain, "-t 2")).ok();
        let (mut wall, mut state) = (started.elapsed(), seed + 7_u64);
        let mut kills = kill_until_it_ends(kind, &out, wall, &mut state);
        // A machine with other work may have been slower then than now.
        while kills < 2 {
            wall /= 2;
            assert!(wall > Duration::from_millis(1), "killed only {kills} times");
            fs::remove_dir_all(&out).unwrap();
            kills = kill_until_it_ends(kind, &out, wall, &mut state);
        }
        assert!(!kept(&out).exists(), "something is left");
        assert_same_results(&out, &plain, &format!("{} killed {kills} times", kind.options));
    }
}

/// Resumes a run, which is killed again, until one gets to its end; how often it was killed.
fn kill_until_it_ends(kind: &Kind, out: &Path, wall: Duration, state: &mut u64) -> u32 {
    for kills in 0..40 {
        let threads = kills % 3 + 1;
        let more = format!("--resume --resume-step 1 -t {threads}");
        let mut child = spawn(&mut command(kind, out, &more));
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        // Later and later, so that it ends.
        let share = (*state >> 40) as f64 / f64::from(1 << 24) + f64::from(kills) / 8.0;
        std::thread::sleep(wall.mul_f64(share));
        signal_if_there(&mut child);
        if child.wait().unwrap().success() {
            return kills;
        }
    }
    panic!("it never ended");
}

fn signal_if_there(child: &mut Child) {
    if child.try_wait().unwrap().is_none() {
        child.kill().unwrap();
    }
}

/// A FIFO in the place of a file holds a run where it wants to write that.
fn held_at(kind: &Kind, out: &Path, name: &str) -> Child {
    fs::create_dir_all(out).unwrap();
    run(words("mkfifo").arg(out.join(name))).ok();
    let child = spawn(&mut command(kind, out, "--resume -t 2"));
    // That the FIFO is open for writing shows where it can be opened without waiting for a reader:
    // not at all. What shows is that the run does not come further.
    std::thread::sleep(Duration::from_millis(300));
    child
}

#[test]
fn a_kill_while_names_are_given_leaves_the_run_to_be_gone_on_with() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let data = data(here.path(), 903, 8_000);
    let (plain, out) = (here.path().join("plain"), here.path().join("out"));
    let [first, _, recalibrating] = kinds(&data);
    for (kind, fifo, expected) in
        [(first, "out.bam.md5", "resolve"), (recalibrating, "report.txt", "recalibrate")]
    {
        let _ = (fs::remove_dir_all(&plain), fs::remove_dir_all(&out));
        run(&mut command(&kind, &plain, "-t 2")).ok();
        let started = Instant::now();
        let mut child = held_at(&kind, &out, fifo);
        let bytes = |path: PathBuf| fs::metadata(path).map_or(0, |it| it.len());
        let whole = bytes(plain.join("out.bam"));
        let there = |out: &Path| match fifo {
            "report.txt" => stage(out).as_deref() == Some("recalibrate"),
            _ => bytes(kept(out).join("output")) == whole,
        };
        while !there(&out) {
            assert!(started.elapsed() < SOON, "it never came to {fifo}");
            std::thread::sleep(Duration::from_millis(5));
        }
        // Nobody else may touch what it keeps.
        let second = run_for(&mut command(&kind, &out, "--resume"), SOON);
        second.fails_with(4).says(&["seqloom-resume", "in use"]);
        assert!(child.try_wait().unwrap().is_none(), "it waits for the FIFO");
        child.kill().unwrap();
        child.wait().unwrap();
        fs::remove_file(out.join(fifo)).unwrap();
        if fifo == "out.bam.md5" {
            // All is written, nothing has its name: the first step from there is this one.
            fs::rename(kept(&out).join("output"), out.join("out.bam")).unwrap();
        }
        let (after, read) = go_on(&kind, &out, "");
        assert_eq!((after.as_deref(), read), (Some(expected), 0.0), "{fifo}");
        assert_same_results(&out, &plain, fifo);
    }
}

/// What another build has left is refused with both named, and stays.
fn of_another_build(kind: &Kind, out: &Path) {
    let manifest = kept(out).join("manifest");
    let bytes = fs::read(&manifest).unwrap();
    let content = &bytes[..bytes.len() - 4];
    let at = content.windows(7).position(|it| it == b"(build ").unwrap() + 7;
    let ours = String::from_utf8(content[at..at + 16].to_vec()).unwrap();
    // The rest is nonsense to this build: layouts may be others.
    let line = format!("resume by seqloom 0.1.0 (build {}): ingest\n", "0".repeat(16));
    for theirs in [line.as_bytes(), b"seqloom resume 3 ingest\n"] {
        let mut other = [theirs, b"other layouts"].concat();
        let mut checksum = flate2::Crc::new();
        checksum.update(&other);
        other.extend(checksum.sum().to_le_bytes());
        fs::write(&manifest, &other).unwrap();
        let refused = run_for(&mut command(kind, out, "--resume"), SOON).fails_with(2);
        let words = [&ours[..], "was begun by", "go on with that program, or remove the folder"];
        let refused = refused.says(&words);
        assert!(theirs[0] == b's' || refused.stderr.contains("(build 0000000000000000)"));
        assert_eq!(fs::read(&manifest).unwrap(), other);
    }
    fs::write(&manifest, &bytes).unwrap();
}

#[test]
fn another_run_and_damage_are_distinguished() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let data = data(here.path(), 904, 40_000);
    let (plain, out) = (here.path().join("plain"), here.path().join("out"));
    let [kind, _, _] = kinds(&data);
    run(&mut command(&kind, &plain, "-t 2")).ok();
    let behind_ingest = |now: Option<&str>| now.is_some();
    kill_when(&kind, &out, "-t 2", &behind_ingest);
    // Another run: nothing is thrown away.
    for (more, word) in [
        ("--level 2", "output options"),
        ("--min-mapq 3", "filters"),
        ("--remove-duplicates", "duplicate options"),
        ("--picard-version 2.27.5", "duplicate options"),
        ("--allow-truncated", "input options"),
    ] {
        let mut other = Kind { input: kind.input.clone(), options: kind.options.clone() };
        if more.starts_with("--level") {
            other.options = other.options.replace("-l 1", "");
        }
        let refused = run_for(&mut command(&other, &out, &format!("--resume {more}")), SOON);
        refused.fails_with(2).says(&["differs in its", word, "remove the folder"]);
    }
    of_another_build(&kind, &out);
    let bytes = fs::read(&kind.input).unwrap();
    fs::write(&kind.input, &bytes).unwrap();
    let touched = run_for(&mut command(&kind, &out, "--resume"), SOON);
    touched.fails_with(2).says(&["differs in its file", "hard904"]);

    // Damage: reported, and restarted.
    type Damage<'a> = (&'a str, &'a dyn Fn(&Path));
    let damages: [Damage<'_>; 3] = [
        ("manifest", &|path| fs::write(path, b"resume by seqloom: ingest\nnonsense").unwrap()),
        ("manifest", &|path| {
            let mut bytes = fs::read(path).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            fs::write(path, bytes).unwrap();
        }),
        ("spill", &|path| fs::write(path, b"short").unwrap()),
    ];
    for (name, damage) in damages {
        kill_when(&kind, &out, "-t 2", &behind_ingest);
        damage(&kept(&out).join(name));
        let again = run_for(&mut command(&kind, &out, "--resume"), SOON).ok();
        assert!(again.stderr.contains("beginning anew"), "{name}: {}", again.stderr);
        assert_same_results(&out, &plain, name);
        assert!(!kept(&out).exists());
    }
    // Bytes of the spill file itself: seen when they are read, and never written.
    kill_when(&kind, &out, "-t 2", &behind_ingest);
    let spill = kept(&out).join("spill");
    let mut bytes = fs::read(&spill).unwrap();
    bytes.iter_mut().for_each(|byte| *byte ^= 0x55);
    fs::write(&spill, bytes).unwrap();
    let refused = run_for(&mut command(&kind, &out, "--resume"), SOON);
    refused.fails_with(4).says(&["damaged"]);
    assert!(!out.join("out.bam").exists());
    // The output as far as it was written is missing: it is written once more.
    let stage = kill_when(&kind, &out, "-t 2 --resume-step 1", &|now| {
        now.is_some_and(|now| now.starts_with("finish"))
    });
    assert!(stage.unwrap().starts_with("finish"));
    fs::remove_file(kept(&out).join("output")).unwrap();
    let (after, _) = go_on(&kind, &out, "");
    assert_eq!(after.as_deref(), Some("resolve"));
    assert_same_results(&out, &plain, "output lost");
}

#[test]
fn folders_for_spilled_data_are_found_again_and_left_empty() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let data = data(here.path(), 905, 40_000);
    let (plain, out) = (here.path().join("plain"), here.path().join("out"));
    let spill = [here.path().join("spill1"), here.path().join("spill2")];
    spill.iter().for_each(|folder| fs::create_dir(folder).unwrap());
    let folders = spill.each_ref().map(|it| format!("--tmp-dir {}", it.display())).join(" ");
    let [kind, _, _] = kinds(&data);
    run(&mut command(&kind, &plain, "-t 2")).ok();
    kill_when(&kind, &out, &format!("-t 2 {folders}"), &|now| now.is_some());
    assert!(spill.iter().all(|folder| names_in(folder).len() == 1));
    // The folders are those that the first run was given.
    let (after, read) = go_on(&kind, &out, "-t 1");
    assert!(after.is_some() && read == 0.0, "{after:?}");
    assert_same_results(&out, &plain, "two folders");
    spill.iter().for_each(|folder| assert_eq!(names_in(folder), [""; 0]));
}

#[test]
fn what_cannot_be_read_or_written_twice_is_refused() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let data = hard(here.path(), 906, 50, 1);
    let input = data.grouped.display().to_string();
    let out = here.path().join("x.bam").display().to_string();
    let fifo = here.path().join("fifo");
    run(words("mkfifo").arg(&fifo)).ok();
    for (input, out, word) in
        [(input.as_str(), "-", "regular file"), (input.as_str(), "/dev/null", "regular file")]
    {
        let run = run_for(&mut seqloom(["prep", "--resume", input, "-o", out]), SOON);
        run.fails_with(2).says(&[word]);
    }
    let line = format!("cat {input} | {} prep --resume - -o {out}", env!("CARGO_BIN_EXE_seqloom"));
    let piped = run_for(Command::new("bash").arg("-c").arg(line), SOON);
    piped.fails_with(2).says(&["--resume", "read again"]);
    assert!(!names_in(here.path()).iter().any(|name| name.contains("resume")));
    // A run that fails before there is anything to keep leaves nothing.
    let missing = run_for(
        seqloom(["prep", "--resume", "--duplicate-mode", "query", "--mark-duplicates"]).args([
            here.path().join("missing.bam").display().to_string(),
            "-o".into(),
            out,
        ]),
        SOON,
    );
    missing.fails_with(3);
    assert!(!names_in(here.path()).iter().any(|name| name.contains("resume")));
}
