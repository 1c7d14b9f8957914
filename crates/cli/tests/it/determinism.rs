//! The output is a function of the input and the options: the same bytes for every number of
//! threads, every memory cap, and every way in which the input comes.

use crate::common::{
    READ_GROUP, assert_same_bytes, finish, folder, has, json_number, memory_floor, run, run_into,
    seqloom, words,
};
use crate::data::{align, align_small, pairs_with_duplicates, simulate, small, small_pairs};
use seqloom_testkit::reads::ReadOptions;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn common(command: &mut Command, out: &Path) {
    command.args(["--no-pg", "-R", READ_GROUP, "-o"]).arg(out);
}

/// Aligns into `folder/name.bam`, without anything in the header that depends on the call.
fn bam(folder: &Path, name: &str, base: &[String], extra: &[&str]) -> PathBuf {
    let out = folder.join(format!("{name}.bam"));
    let mut command = seqloom(base);
    common(&mut command, &out);
    run(command.args(extra)).ok();
    out
}

/// A BAM and its index equal the first one.
#[track_caller]
fn same(first: &Path, other: &Path, what: &str) {
    assert_same_bytes(first, other, what);
    let index = |bam: &Path| bam.with_extension("bam.bai");
    assert_same_bytes(&index(first), &index(other), &format!("{what}: index"));
}

#[test]
fn threads() {
    let here = folder();
    for cohort in ["-K100000000", "-K1000000"] {
        let make = |t: &str| {
            let name = format!("t{t}{cohort}");
            bam(here.path(), &name, &align_small(), &["-t", t, cohort])
        };
        let one = make("1");
        for t in ["2", "7", "64"] {
            same(&one, &make(t), &format!("-t {t} {cohort}"));
        }
    }
}

#[test]
fn threads_without_sort_and_as_text() {
    let here = folder();
    let make = |t: &str, format: &str| {
        let out = here.path().join(format!("{t}.{format}"));
        let mut command = seqloom(align_small());
        command.args(["--no-pg", "--no-sort", "--no-mark-duplicates", "-K", "1000000"]);
        run_into(command.args(["--output-format", format, "-o", "-", "-t", t]), &out).ok();
        out
    };
    for format in ["sam", "bam"] {
        let one = make("1", format);
        assert!(fs::metadata(&one).unwrap().len() > 100_000);
        for t in ["2", "7", "64"] {
            assert_same_bytes(&one, &make(t, format), &format!("-t {t} {format}"));
        }
    }
}

#[test]
fn memory_from_the_floor_to_plenty() {
    let here = folder();
    let reads = simulate(small(), &pairs_with_duplicates(60_000), here.path());
    let mut base = align(small(), &[&reads.first, &reads.second]);
    base.extend(["-K", "500000", "--tmp-dir"].map(str::to_owned));
    base.push(here.path().display().to_string());
    let mut floor_arguments = base.clone();
    floor_arguments.extend(["-t", "2", "-o", "never.bam"].map(str::to_owned));
    let floor = memory_floor(&floor_arguments);
    let plenty = bam(here.path(), "plenty", &base, &["-m", "8G", "-t", "2"]);
    let json = here.path().join("floor.json");
    let report = ["-m", &floor, "-t", "2", "--json", json.to_str().unwrap()];
    let tight = bam(here.path(), "tight", &base, &report);
    same(&plenty, &tight, &format!("-m {floor}"));
    let spilled = json_number(&json, &["spill"]).expect("a spill count in the report");
    assert!(spilled > 0.0, "nothing was spilled at the floor of {floor}");
    let tight = bam(here.path(), "tight1", &base, &["-m", "16G", "-t", "1"]);
    same(&plenty, &tight, "-m 16G -t 1");
}

/// The reads of [`small_pairs`] in another compression; `None` when the program is missing.
fn compressed(folder: &Path, program: &str, arguments: &str) -> Option<Vec<PathBuf>> {
    if !has(program) {
        return None;
    }
    let make = |from: &PathBuf| {
        let suffix = if program == "zstd" { "zst" } else { "gz" };
        let name = from.file_name().unwrap().to_str().unwrap();
        let to = folder.join(format!("{program}.{name}.{suffix}"));
        run_into(words(&format!("{program} {arguments}")).arg(from), &to).ok();
        to
    };
    Some([&small_pairs().first, &small_pairs().second].map(make).to_vec())
}

#[test]
fn compression_of_the_input() {
    let here = folder();
    let plain = bam(here.path(), "plain", &align_small(), &["-t", "3"]);
    let check = |name: &str, files: &[&Path]| {
        for t in ["1", "4"] {
            let made = bam(here.path(), name, &align(small(), files), &["-t", t]);
            same(&plain, &made, &format!("{name} -t {t}"));
        }
    };
    let gzip = compressed(here.path(), "gzip", "-1c").unwrap();
    check("gzip", &[&gzip[0], &gzip[1]]);
    check("mixed", &[&gzip[0], &small_pairs().second]);
    if let Some(bgzip) = compressed(here.path(), "bgzip", "-c") {
        check("bgzf", &[&bgzip[0], &bgzip[1]]);
        check("bgzf-and-gzip", &[&bgzip[0], &gzip[1]]);
        // Two BGZF files after each other: an empty end block in the middle.
        let joined = |file: &PathBuf| {
            let half = file.with_extension("joined.gz");
            let text = run(words("bgzip -dc").arg(file)).ok().stdout;
            let lines: Vec<&[u8]> = text.split_inclusive(|&b| b == b'\n').collect();
            let middle = lines.len() / 8 * 4;
            let mut out = File::create(&half).unwrap();
            for part in [&lines[..middle], &lines[middle..]] {
                let path = file.with_extension("part");
                fs::write(&path, part.concat()).unwrap();
                out.write_all(&run(words("bgzip -c").arg(&path)).ok().stdout).unwrap();
            }
            half
        };
        check("concatenated", &[&joined(&bgzip[0]), &joined(&bgzip[1])]);
    }
    if let Some(zstd) = compressed(here.path(), "zstd", "-qc") {
        check("zstd", &[&zstd[0], &zstd[1]]);
    }
}

#[test]
fn standard_input_and_interleaving() {
    let here = folder();
    let plain = bam(here.path(), "plain", &align_small(), &[]);
    let interleaved = align(small(), &[&small_pairs().interleaved]);
    let made = bam(here.path(), "interleaved", &interleaved, &["-p"]);
    same(&plain, &made, "-p");
    let out = here.path().join("stdin.bam");
    let mut command = seqloom(align(small(), &[Path::new("-")]));
    common(&mut command, &out);
    command.arg("-p").stdin(File::open(&small_pairs().interleaved).unwrap());
    finish(command.stderr(Stdio::piped()).spawn().unwrap(), crate::common::limit()).ok();
    same(&plain, &out, "standard input");
    let mut cat = words("cat");
    let mut cat = cat.arg(&small_pairs().interleaved).stdout(Stdio::piped()).spawn().unwrap();
    let out = here.path().join("pipe.bam");
    let mut command = seqloom(align(small(), &[Path::new("-")]));
    common(&mut command, &out);
    command.arg("-p").stdin(cat.stdout.take().unwrap());
    finish(command.stderr(Stdio::piped()).spawn().unwrap(), crate::common::limit()).ok();
    cat.wait().unwrap();
    same(&plain, &out, "pipe");
}

/// One writer feeds both FIFOs, a record here and a record there: whoever waits for one of them
/// while the other is full waits for ever.
#[test]
fn two_fifos_with_one_writer() {
    let here = folder();
    let plain = bam(here.path(), "plain", &align_small(), &[]);
    for t in ["1", "3"] {
        let fifos = ["a", "b"].map(|n| here.path().join(format!("fifo-{n}-{t}")));
        run(words("mkfifo").args(&fifos)).ok();
        let out = here.path().join("fifo.bam");
        let mut command = seqloom(align(small(), &[&fifos[0], &fifos[1]]));
        common(&mut command, &out);
        let child = command.args(["-t", t]).stderr(Stdio::piped()).spawn().unwrap();
        let writer = std::thread::spawn(move || {
            let mut ends = fifos.map(|f| OpenOptions::new().write(true).open(f).unwrap());
            let files = [&small_pairs().first, &small_pairs().second];
            let mut lines = files.map(|f| BufReader::new(File::open(f).unwrap()).lines());
            while let Some(record) = next_records(&mut lines) {
                for (end, text) in ends.iter_mut().zip(record) {
                    if end.write_all(text.as_bytes()).is_err() {
                        return;
                    }
                }
            }
        });
        finish(child, crate::common::limit()).ok();
        writer.join().unwrap();
        same(&plain, &out, &format!("FIFOs -t {t}"));
    }
}

type Lines = std::io::Lines<BufReader<File>>;

/// The next record of both files, or `None` at the end.
fn next_records(lines: &mut [Lines; 2]) -> Option<[String; 2]> {
    let mut out = [String::new(), String::new()];
    for (lines, out) in lines.iter_mut().zip(&mut out) {
        for _ in 0..4 {
            out.push_str(&lines.next()?.unwrap());
            out.push('\n');
        }
    }
    Some(out)
}

#[test]
fn slow_three_default_cohorts() {
    if !seqloom_testkit::skip::slow_tests() {
        return;
    }
    let here = folder();
    let options =
        ReadOptions { length_min_bp: 150, length_max_bp: 150, ..pairs_with_duplicates(750_000) };
    let reads = simulate(small(), &options, here.path());
    let base = align(small(), &[&reads.first, &reads.second]);
    let one = bam(here.path(), "t1", &base, &["-t", "1"]);
    for t in ["2", "7", "64"] {
        let other = bam(here.path(), "other", &base, &["-t", t]);
        same(&one, &other, &format!("-t {t}, three cohorts"));
    }
}
