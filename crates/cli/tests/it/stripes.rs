//! `--stripes`: one after the other the files are the one file, whoever wrote them; and there are
//! all of them or none.

use crate::common::{SOON, assert_same_bytes, folder, names_in, run, run_for, seqloom};
use crate::data::align_small;
use crate::faults::in_small_files;
use std::fs;
use std::path::{Path, PathBuf};

/// Aligns into `folder/name` without anything in the header that depends on the call.
fn aligned(folder: &Path, name: &str, extra: &str) -> PathBuf {
    let out = folder.join(name);
    let mut command = seqloom(align_small());
    command.args(["--no-pg", "-o"]).arg(&out).args(extra.split_whitespace());
    run(&mut command).ok();
    out
}

fn stripe_names(name: &str, stripes: usize) -> Vec<String> {
    (0..stripes).map(|stripe| format!("{name}.{stripe:02}")).collect()
}

/// The stripes of `out`, one after the other, in a file next to them.
fn joined(out: &Path, stripes: usize) -> PathBuf {
    let (folder, name) = (out.parent().unwrap(), out.file_name().unwrap().to_str().unwrap());
    let read = |stripe: String| fs::read(folder.join(stripe)).unwrap();
    let bytes: Vec<u8> = stripe_names(name, stripes).into_iter().flat_map(read).collect();
    let joined = folder.join(format!("joined.{name}"));
    fs::write(&joined, bytes).unwrap();
    joined
}

#[test]
fn stripes_after_each_other_are_the_one_file() {
    let here = folder();
    let one = aligned(here.path(), "one.bam", "-t 2");
    for (stripes, threads) in [(2, "1"), (3, "2"), (16, "7"), (16, "1")] {
        let name = format!("s{stripes}t{threads}.bam");
        let extra = format!("--stripes {stripes} -t {threads}");
        let out = aligned(here.path(), &name, &extra);
        assert_same_bytes(&one, &joined(&out, stripes), &extra);
        let index = |bam: &Path| bam.with_extension("bam.bai");
        assert_same_bytes(&index(&one), &index(&out), &format!("{extra}: index"));
        assert!(!out.exists(), "only its stripes are there");
    }
    // Each has something, but where one unit takes more than a share.
    let sizes: Vec<u64> = stripe_names("s3t2.bam", 3)
        .iter()
        .map(|name| fs::metadata(here.path().join(name)).unwrap().len())
        .collect();
    assert!(sizes.iter().all(|&size| size > 1000), "{sizes:?}");
}

#[test]
fn stripes_of_text_and_with_fewer_records() {
    let here = folder();
    for extra in ["--output-format sam", "--remove-duplicates -m 8G"] {
        let one = aligned(here.path(), "one", extra);
        let out = aligned(here.path(), "many", &format!("{extra} --stripes 5 -t 3"));
        assert_same_bytes(&one, &joined(&out, 5), extra);
    }
}

#[test]
fn without_sorting_stripes_hold_all_records_whoever_wrote_them() {
    let here = folder();
    let stream = "--no-sort --no-mark-duplicates -K 100000";
    let text = format!("{stream} --output-format sam");
    let one = fs::read_to_string(aligned(here.path(), "one.sam", &text)).unwrap();
    let out = aligned(here.path(), "many.sam", &format!("{text} --stripes 4 -t 3"));
    let many = fs::read_to_string(joined(&out, 4)).unwrap();
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert!(sorted(&one) == sorted(&many), "the same records");
    let header = |text: &str| text.lines().take_while(|line| line.starts_with('@')).count();
    assert_eq!(header(&one), header(&many));
    let first = aligned(here.path(), "t1.bam", &format!("{stream} --stripes 4 -t 1"));
    for threads in ["2", "7"] {
        let name = format!("t{threads}.bam");
        let other = aligned(here.path(), &name, &format!("{stream} --stripes 4 -t {threads}"));
        for stripe in 0..4 {
            let path = |out: &Path| PathBuf::from(format!("{}.{stripe:02}", out.display()));
            assert_same_bytes(&path(&first), &path(&other), &format!("-t {threads} {stripe}"));
        }
    }
}

#[test]
fn what_cannot_be_had_in_stripes_is_refused() {
    let here = folder();
    let out = here.path().join("x.bam");
    let refused = |extra: &str, words: &[&str]| {
        let mut command = seqloom(align_small());
        command.arg("-o").arg(&out).args(extra.split_whitespace());
        run_for(&mut command, SOON).fails_with(2).says(words);
    };
    refused("--stripes 0", &["--stripes"]);
    refused("--stripes 513", &["512"]);
    refused("--stripes 2 --md5", &["--md5"]);
    let mut command = seqloom(align_small());
    run_for(command.args(["--stripes", "2", "-o", "-"]), SOON).fails_with(2).says(&["-o"]);
    fs::write(&out, "old").unwrap();
    refused("--stripes 2", &["x.bam", "--write-index none"]);
    fs::write(here.path().join("x.bam.07"), "old").unwrap();
    refused("--stripes 2 --write-index none", &["x.bam.07"]);
    assert_eq!(names_in(here.path()), ["x.bam", "x.bam.07"]);
    fs::remove_file(here.path().join("x.bam.07")).unwrap();
    // Without an index a file of that name, and its index, are left alone.
    fs::write(here.path().join("x.bam.bai"), "its index").unwrap();
    aligned(here.path(), "x.bam", "--stripes 2 --write-index none");
    let all = ["x.bam", "x.bam.00", "x.bam.01", "x.bam.bai"];
    assert_eq!(names_in(here.path()), all);
    assert_eq!(fs::read(here.path().join("x.bam.bai")).unwrap(), b"its index");
    // As many stripes replace these.
    let before = fs::read(here.path().join("x.bam.01")).unwrap();
    aligned(here.path(), "x.bam", "--stripes 2 --write-index none -l 1");
    assert_eq!(names_in(here.path()), all);
    assert_ne!(fs::read(here.path().join("x.bam.01")).unwrap(), before);
    // Without such a file it is the index of stripes that are gone.
    fs::remove_file(&out).unwrap();
    aligned(here.path(), "x.bam", "--stripes 2 --write-index none");
    assert_eq!(names_in(here.path()), ["x.bam.00", "x.bam.01"]);
}

#[test]
fn a_run_that_fails_leaves_no_stripe() {
    let here = folder();
    let out = here.path().join("x.bam");
    let fails = |extra: &str, code: i32| {
        let mut command = seqloom(align_small());
        command.arg("-o").arg(&out).args(["--stripes", "4"]).args(extra.split_whitespace());
        run_for(&mut command, SOON).fails_with(code);
        assert_eq!(names_in(here.path()), [""; 0], "{extra}");
    };
    fails("--engine fake:fail-at=5000", 1);
    fails("--engine fake:panic-at=5000 -t 3", 1);
    let line = format!(
        "{} {} --stripes 2 -o {}",
        env!("CARGO_BIN_EXE_seqloom"),
        align_small().join(" "),
        out.display()
    );
    let run = run_for(&mut in_small_files(300, &line), SOON);
    run.fails_with(4).says(&["x.bam.0"]);
    assert_eq!(names_in(here.path()), [""; 0]);
    // Stripes of an earlier run stay what they were.
    aligned(here.path(), "x.bam", "--stripes 2");
    let names = ["x.bam.00", "x.bam.01", "x.bam.bai"];
    let read = || names.map(|name| fs::read(here.path().join(name)).unwrap());
    let before = read();
    run_for(&mut in_small_files(300, &line), SOON).fails_with(4);
    assert_eq!(names_in(here.path()), names);
    assert!(read() == before);
}
