//! CRAM by many processes, and by one that is continued, has the bytes of one process.

use crate::common::{assert_same_bytes, folder, run, seqloom};
use crate::cram::make;
use crate::data::{align_small, small};
use crate::shard::{OPTIONS, do_all, plan, shard, tasks};
use crate::shard_same_bytes::sites;
use std::fs;
use std::path::Path;

/// `align` of the tests' reads, in cohorts that are small enough for shards.
fn align(more: &[&str]) -> Vec<String> {
    let mut align = align_small();
    align.extend(["-K", "300000"].iter().chain(more).map(|&it| it.to_owned()));
    align
}

/// In one process, with the read group of shards.
fn one(folder: &Path, align: &[String]) -> std::path::PathBuf {
    let options = OPTIONS[1..].iter().map(|&it| it.to_owned());
    let words: Vec<String> = align.iter().cloned().chain(options).collect();
    make(folder, "one.cram", &words, "-t 2")
}

#[track_caller]
fn assert_same(one: &Path, other: &Path, what: &str) {
    let index = |cram: &Path| cram.with_extension("cram.crai");
    assert_same_bytes(one, other, what);
    assert_same_bytes(&index(one), &index(other), &format!("{what}: index"));
}

#[test]
fn shards_make_the_bytes_of_one_process() {
    let here = folder();
    let sites = sites(here.path());
    let recalibrated = ["--known-sites", sites.as_str(), "--metrics", "all", "--cram-keep-md"];
    for options in [&[][..], &["--remove-duplicates", "-l", "1"], &recalibrated] {
        let of_one = [options, &["--metrics-dir", here.path().to_str().unwrap()]].concat();
        let one = one(here.path(), &align(&of_one));
        let mut planned = align(options);
        planned.extend(["--output-format", "cram"].map(str::to_owned));
        for (seed, form) in (1..).zip([(1, 1), (2, 3), (7, 16)]) {
            let run_folder = here.path().join("run");
            plan(&run_folder, form, &planned);
            assert!(tasks(&run_folder).iter().all(|task| task.verb != "place"));
            do_all(&run_folder, "2", seed);
            let many = here.path().join("many.cram");
            let metrics = here.path().join("many");
            let to = ["-o", many.to_str().unwrap(), "--metrics-dir", metrics.to_str().unwrap()];
            shard("gather", &run_folder, &to).ok();
            assert_same(&one, &many, &format!("{options:?} {form:?}"));
            fs::remove_dir_all(&run_folder).unwrap();
        }
    }
}

#[test]
fn a_run_that_is_continued_makes_the_bytes_of_one_that_is_not() {
    let here = folder();
    let one = one(here.path(), &align(&[]));
    let out = here.path().join("resumed.cram");
    let mut command = seqloom(align(&["--resume", "--resume-bases", "2M"]));
    run(command.args(OPTIONS).args(["-t", "2", "-o"]).arg(&out)).ok();
    assert_same(&one, &out, "resumed");
    assert!(!here.path().join(".resumed.cram.seqloom-resume").exists());
}

#[test]
fn what_a_plan_of_cram_cannot_be_is_refused_by_name() {
    let here = folder();
    let run_folder = here.path().join("run");
    let fasta = here.path().join("copy.fa");
    fs::copy(&small().ours, &fasta).unwrap();
    let reference = ["--reference-fasta", fasta.to_str().unwrap(), "--output-format", "cram"];
    plan(&run_folder, (2, 2), &align(&reference));
    do_all(&run_folder, "2", 1);
    let out = here.path().join("out.bam");
    let gather = |out: &Path| shard("gather", &run_folder, &["-o", out.to_str().unwrap()]);
    gather(&out).fails_with(2).says(&["out.bam: the plan of this run is of CRAM"]);
    shard("place", &run_folder, &["--range", "0/2"])
        .fails_with(2)
        .says(&["`seqloom shard place` is for BAM"]);
    // A damaged piece, in what is before containers and in one; and one that was cut.
    let piece = run_folder.join("finish/0001.bgzf");
    let good = fs::read(&piece).unwrap();
    let out = out.with_extension("cram");
    for change in 0..3 {
        let mut bytes = good.clone();
        match change {
            0 => bytes[3] = 0xff,
            1 => bytes[good.len() / 2] ^= 1,
            _ => bytes.truncate(good.len() - 1),
        }
        fs::write(&piece, &bytes).unwrap();
        let run = gather(&out);
        assert_ne!(run.code(), 0, "{change}");
        run.says(&["finish/0001"]);
        assert!(!out.exists());
    }
    fs::write(&piece, &good).unwrap();
    gather(&out).ok();
    // Pieces refer to the FASTA of the plan.
    let other = here.path().join("other");
    plan(&other, (1, 1), &align(&reference));
    let all = tasks(&other);
    let (last, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|it| it.verb == "finish");
    others.iter().for_each(|task| drop(run(&mut seqloom(task.words())).ok()));
    fs::remove_file(&fasta).unwrap();
    run(&mut seqloom(last[0].words())).fails_with(2).says(&["copy.fa"]);
}
