//! Many processes make the bytes that one makes: whatever the number of shards, ranges and threads
//! and the order of the tasks.

use crate::common::{folder, run, seqloom};
use crate::data::{align_small, small};
use crate::shard::{Task, assert_same_run, do_all, gather, one_process, plan, shard, tasks};
use std::fs;
use std::path::Path;

/// A run with these options in one process, and in many with each of `forms`: shards, ranges,
/// threads.
fn check(options: &[&str], forms: &[(usize, usize, &str)]) {
    let here = folder();
    let mut align = align_small();
    align.extend(options.iter().map(|&it| it.to_owned()));
    let report = here.path().join("report.txt");
    let report_of = || fs::read_to_string(&report).ok();
    if options.contains(&"--known-sites") {
        align.extend(["--bqsr-report".to_owned(), report.display().to_string()]);
    }
    // The output's name is in metrics, too.
    let folders = ["one", "many"].map(|name| here.path().join(name));
    folders.iter().for_each(|folder| fs::create_dir(folder).unwrap());
    let one = one_process(&align, &folders[0], "out");
    let reported = report_of();
    for (seed, &(shards, ranges, threads)) in (1..).zip(forms) {
        let what = format!("{options:?}, {shards} shards, {ranges} ranges, {threads} threads");
        let run = here.path().join("run");
        plan(&run, (shards, ranges), &align);
        assert_eq!(tasks(&run).iter().filter(|it| it.verb == "align").count(), shards, "{what}");
        do_all(&run, threads, seed);
        let many = gather(&run, &folders[1], "out");
        assert_same_run(&one, &many, &what);
        assert_eq!(report_of(), reported, "{what}");
        assert!(run.exists());
        fs::remove_dir_all(&run).unwrap();
    }
}

#[test]
fn shards_ranges_and_threads() {
    let mut forms = Vec::new();
    for shards in [1, 2, 7] {
        for ranges in [1, 3, 16] {
            forms.extend(["1", "2", "7"].map(|threads| (shards, ranges, threads)));
        }
    }
    check(&["-K", "300000"], &forms);
}

#[test]
fn coordinate_mode_removal_and_csi() {
    let forms = [(2, 3, "2"), (7, 16, "7")];
    check(&["-K", "300000", "--duplicate-mode", "coordinate"], &forms);
    let removes = ["-K", "300000", "--remove-duplicates", "--write-index", "csi", "-l", "1"];
    check(&removes, &forms);
    check(&["-K", "500000", "--no-mark-duplicates", "--write-index", "none"], &forms);
    check(&["-K", "500000", "--optical-distance", "off"], &forms[..1]);
    check(&["-K", "500000", "--picard-version", "2.27.5"], &forms[..1]);
}

/// A VCF with a site on each sequence of the reference.
pub(crate) fn sites(folder: &Path) -> String {
    let fasta = fs::read_to_string(&small().ours).unwrap();
    let names = fasta.lines().filter_map(|line| line.strip_prefix('>'));
    let site = |name: &str| {
        let name = name.split_whitespace().next().unwrap();
        format!("{name}\t500\t.\tA\tC\t.\t.\t.\n")
    };
    let head = "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n";
    let path = folder.join("sites.vcf");
    fs::write(&path, format!("{head}{}", names.map(site).collect::<String>())).unwrap();
    path.display().to_string()
}

#[test]
fn recalibration() {
    let here = folder();
    let sites = sites(here.path());
    let forms = [(1, 1, "1"), (2, 3, "2"), (7, 16, "7")];
    check(&["-K", "300000", "--known-sites", &sites], &forms);
    check(&["-K", "300000", "--known-sites", &sites, "--bqsr-report-only"], &forms[1..2]);
    // A report that is there already.
    let mut align = align_small();
    let report = here.path().join("given.txt").display().to_string();
    align.extend(["--known-sites", &sites, "--bqsr-report", &report].map(str::to_owned));
    one_process(&align, here.path(), "first");
    check(&["-K", "300000", "--apply-bqsr", &report], &forms[1..2]);
}

#[test]
fn metrics() {
    let here = folder();
    let forms = [(1, 1, "1"), (2, 3, "2"), (7, 16, "7")];
    check(&["-K", "300000", "--metrics", "all"], &forms);
    let sites = sites(here.path());
    let both = ["--known-sites", &sites, "--metrics", "alignment-summary,samtools-stats"];
    check(&[&["-K", "300000"][..], &both].concat(), &forms[1..2]);
    let run_folder = here.path().join("run");
    let mut align = align_small();
    align.extend(["-K", "1000000", "--metrics", "insert-size"].map(str::to_owned));
    plan(&run_folder, (2, 2), &align);
    do_all(&run_folder, "2", 5);
    let out = here.path().join("out.bam");
    let gathered = shard("gather", &run_folder, &["-o", out.to_str().unwrap()]);
    gathered.fails_with(2).says(&["--metrics needs --metrics-dir"]);
    assert!(!out.exists());
    // Some metrics compare records with a FASTA: with the one of the plan.
    let fasta = here.path().join("copy.fa");
    fs::copy(&small().ours, &fasta).unwrap();
    let run_folder = here.path().join("compared");
    let options = ["--metrics", "all", "--reference-fasta", fasta.to_str().unwrap()];
    align.truncate(align.len() - 2);
    align.extend(options.map(str::to_owned));
    plan(&run_folder, (1, 1), &align);
    let is_last = |task: &Task| ["finish", "place"].contains(&task.verb.as_str());
    let (last, others): (Vec<_>, Vec<_>) = tasks(&run_folder).into_iter().partition(is_last);
    others.iter().for_each(|task| drop(run(&mut seqloom(task.words())).ok()));
    fs::remove_file(&fasta).unwrap();
    run(&mut seqloom(last[0].words())).fails_with(2).says(&["copy.fa"]);
}

#[test]
fn tasks_that_are_done_are_not_done_again_and_gather_is_repeatable() {
    let here = folder();
    let run_folder = here.path().join("run");
    let mut align = align_small();
    align.extend(["-K", "1000000"].map(str::to_owned));
    plan(&run_folder, (2, 2), &align);
    plan(&run_folder, (2, 2), &align);
    do_all(&run_folder, "2", 1);
    for task in tasks(&run_folder) {
        let again = run(&mut seqloom(task.words())).ok();
        assert!(again.stderr.contains("done already"), "{}: {}", task.id, again.stderr);
    }
    let first = gather(&run_folder, here.path(), "first");
    let second = gather(&run_folder, here.path(), "second");
    assert_same_run(&first, &second, "gather again");
    let status = shard("status", &run_folder, &["--json"]).ok().text();
    assert_eq!(
        status.lines().filter(|it| it.contains("\"state\":\"done\"")).count(),
        2 + 16 + 2 + 2
    );
    let out = here.path().join("third.bam");
    shard("gather", &run_folder, &["--remove", "-o", out.to_str().unwrap()]).ok();
    assert!(!run_folder.exists());
}

#[test]
fn one_process_does_the_shards_and_parts_that_it_is_given() {
    use std::io::Write;
    use std::process::Stdio;
    let here = folder();
    let run_folder = here.path().join("run");
    let mut align = align_small();
    align.extend(["-K", "500000"].map(str::to_owned));
    let one = one_process(&align, here.path(), "one");
    plan(&run_folder, (4, 3), &align);
    let mut command = seqloom(["shard", "align", "--shard", "-", "--run"]);
    command.arg(&run_folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"2\n0\nx\n9\n2\n").unwrap();
    let answers = crate::common::finish(child, crate::common::limit()).ok().text();
    let answers: Vec<serde_json::Value> =
        answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let codes: Vec<_> = answers.iter().map(|it| it["exit_code"].as_u64().unwrap()).collect();
    assert_eq!(codes, [0, 0, 2, 2, 0], "{answers:?}");
    shard("align", &run_folder, &["--shard", "1-3"]).ok();
    shard("mark", &run_folder, &["--part", "3/16"]).ok();
    let marked = shard("mark", &run_folder, &["--part", "0-15/16"]).ok().stderr;
    for part in 0..16 {
        let end = if part == 3 { "already" } else { "" };
        assert!(marked.contains(&format!("mark/{part:02} is done {end}").trim_end().to_owned()));
        assert!(run_folder.join(format!("mark/{part:02}.json")).exists());
    }
    do_all(&run_folder, "2", 9);
    let many = gather(&run_folder, here.path(), "many");
    assert_same_run(&one, &many, "a process for several shards");
}
