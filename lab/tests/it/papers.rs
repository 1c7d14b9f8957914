//! `seqloom-lab paper` and `scale`: lists, pages of recorded runs, tiny runs that are resumed.

use crate::common::{SOON, folder, lab, names_in, run, run_for, seqloom};
use crate::data::{align, small, small_pairs};
use seqloom_testkit::skip::{data, skip};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn papers_are_listed_with_commands_and_what_is_not_at_hand() {
    let text = run_for(&mut lab(["paper", "--list"]), SOON).ok().text();
    for said in
        ["langmead2018: ", "misale2014: ", "--table 4", "not at hand", "one node", "150 minutes"]
    {
        assert!(text.contains(said), "{said}: {text}");
    }
    let one = run_for(&mut lab(["paper", "lenis2017", "--list"]), SOON).ok().text();
    assert!(one.starts_with("lenis2017: ") && !one.contains("misale"), "{one}");
    let t = |line: &str, said: &str| {
        let mut command = lab(["paper"]);
        run_for(command.args(line.split(' ')), SOON).fails_with(2).says(&[said]);
    };
    t("none2000", "langmead2018, gamaarachchi2020");
    t("misale2014", "--reads");
    t("misale2014 --reads x.fq", "--reference");
    t("misale2014 --table II", "--reads");
    t("costanza2019", "--bam");
    t("costanza2019 --table 2", "--bam");
    t("costanza2019 --bam x.bam --java Xmx2g", "NAME=OPTIONS");
    t("costanza2019 --measured /nowhere", "no runs of prep-memory");
    t("langmead2018 --figure 99", "Figure 1, Figure 3");
    t("langmead2018 --figure 1", "--reads");
    t("langmead2018 --figure 1 --locks none --reads x.fq --reference y", "no lock none");
    t("gamaarachchi2020 --figure 1.10", "--source");
    t("gamaarachchi2020 --measured /nowhere", "has no runs");
}

#[test]
fn recorded_runs_are_shown_without_measuring() {
    let here = folder();
    let mut command = lab(["paper", "gamaarachchi2020", "--figure", "1.1", "--measured"]);
    run(command.arg(runs()).arg("--out").arg(here.path())).ok();
    assert_eq!(names_in(here.path()), ["gamaarachchi2020.html", "gamaarachchi2020.json"]);
    let page = fs::read_to_string(here.path().join("gamaarachchi2020.html")).unwrap();
    assert!(page.contains("core-hours") && page.contains("<circle"), "{page}");
    assert!(page.contains("prefers-color-scheme:dark") && !page.contains("reading at random"));
    for (paper, words) in [
        ("costanza2019", ["elPrep in Go", "confidence interval"]),
        ("lenis2017", ["one memory node", "snap"]),
        ("misale2014", ["speed-up", "farm-pinned"]),
    ] {
        let mut command = lab(["paper", paper, "--measured"]);
        run(command.arg(runs()).arg("--out").arg(here.path())).ok();
        let page = fs::read_to_string(here.path().join(format!("{paper}.html"))).unwrap();
        for words in words {
            assert!(page.to_lowercase().contains(&words.to_lowercase()), "{words}: {page}");
        }
    }
}

/// The runs of this repository.
fn runs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("runs")
}

#[test]
fn a_tiny_page_of_misale_schedules_the_end_to_end_mode() {
    let (here, reads) = (folder(), small_pairs());
    let mut command = lab(["paper", "misale2014", "--smoke", "--reads"]);
    command.arg(&reads.first).arg("--reference").arg(&small().ours);
    run(command.arg("--out").arg(here.path())).ok();
    let read = |name: &str| fs::read_to_string(here.path().join(name)).unwrap();
    let page = read("misale2014.html");
    assert!(page.contains("end-to-end: speed-up") && page.contains("farm"), "{page}");
    // Counters, or that there are none.
    let has_counters = here.path().join("schedule/counters.tsv").is_file();
    assert_eq!(page.contains("No counters on this machine"), !has_counters, "{page}");
    let table = read("schedule/schedule.tsv");
    assert!(table.contains("farm\tend-to-end\t2\t"), "{table}");
}

#[test]
fn a_tiny_page_of_costanza_prepares_reads_in_turn() {
    let (here, reads) = (folder(), small_pairs());
    let path = |name: &str| here.path().join(name);
    let grouped = path("grouped.bam");
    let mut command = seqloom(align(small(), &[&reads.first, &reads.second]));
    command.args(["--no-sort", "--no-mark-duplicates", "-t", "2", "-o"]).arg(&grouped);
    run(&mut command).ok();
    let mut command = lab(["paper", "costanza2019", "--smoke", "--bam"]);
    command.arg(&grouped).arg("--reference").arg(&grouped);
    run(command.arg("--out").arg(here.path())).ok();
    let page = fs::read_to_string(path("costanza2019.html")).unwrap();
    assert!(page.contains("Memory over time") && page.contains("elPrep in C++17"), "{page}");
    let table = fs::read_to_string(path("prep-memory/prep-memory.tsv")).unwrap();
    assert_eq!(table.lines().count(), 3, "{table}");
}

#[test]
fn a_tiny_page_of_lenis_runs_placements() {
    let program = Path::new(env!("CARGO_BIN_EXE_seqloom-lab"));
    if !program.with_file_name("seqloom-testkit").is_file() {
        skip("lab paper lenis2017: seqloom-testkit is not built beside seqloom");
        return;
    }
    let here = folder();
    run(lab(["paper", "lenis2017", "--smoke", "--out"]).arg(here.path())).ok();
    let page = fs::read_to_string(here.path().join("lenis2017.html")).unwrap();
    assert!(page.contains("A smoke run") && page.contains("The verdict"), "{page}");
    assert!(page.contains("default, 1 instance"), "{page}");
}

#[test]
fn a_tiny_page_of_langmead_is_made_and_resumed() {
    let program = Path::new(env!("CARGO_BIN_EXE_seqloom-lab"));
    if !program.with_file_name("seqloom-testkit").is_file() {
        skip("lab paper langmead2018: seqloom-testkit is not built beside seqloom");
        return;
    }
    let here = folder();
    let reads = small_pairs();
    let command = || {
        let mut command = lab(["paper", "langmead2018", "--smoke", "--out"]);
        command.arg(here.path()).arg("--reads").arg(&reads.first);
        command.arg("--reference").arg(&small().ours).args(["--locks", "standard,mcs"]);
        if let Some(published) = data("bowtie-scaling") {
            command.arg("--published").arg(published);
        }
        command
    };
    run(&mut command()).ok();
    let read = |name: &str| fs::read_to_string(here.path().join(name)).unwrap();
    let (page, runs) = (read("langmead2018.html"), read("langmead/runs.jsonl"));
    let numbers = read("langmead2018.json");
    assert!(page.contains("A smoke run") && page.contains("align --mode ungapped"), "{page}");
    assert!(page.contains("The model's band"), "{page}");
    assert!(page.contains("gives its reads to align --mode end-to-end"), "{page}");
    // Every way has the numbers of its threads, and the locked ones a line for each thread.
    for way in ["O, standard", "L, standard", "source"] {
        assert!(page.contains(&format!("{way}: threads that wait")), "{way}: {page}");
    }
    let traced = read("timeline/threads.tsv");
    assert!(traced.contains("O\tstandard\t2\tholding\t"), "{traced}");
    assert!(read("parsing/README.md").contains("second, align --mode end-to-end: single"));
    run(&mut command()).ok();
    assert_eq!(read("langmead/runs.jsonl"), runs, "nothing was run once more");
    // The page also has the load that the machine had, which may be another now.
    assert_eq!(read("langmead2018.json"), numbers);
}

#[test]
fn a_tiny_page_of_gamaarachchi_reads_signal_from_a_modelled_storage() {
    let Some(singles) = data("nanopore/f5c_ecoli_2kb/ecoli_2kb_region/fast5_files") else { return };
    if !Command::new("cc").arg("--version").output().is_ok_and(|output| output.status.success()) {
        skip("no C compiler for the latency layer");
        return;
    }
    let here = folder();
    let source = here.path().join("source");
    fs::create_dir(&source).unwrap();
    for name in &names_in(&singles)[..4] {
        fs::copy(singles.join(name), source.join(name)).unwrap();
    }
    let out = here.path().join("out");
    let mut command = lab(["paper", "gamaarachchi2020", "--figure", "1.10", "--smoke", "--source"]);
    run(command.arg(source).arg("--out").arg(&out)).ok();
    let page = fs::read_to_string(out.join("gamaarachchi2020.html")).unwrap();
    assert!(page.contains("12 servers of 8 ms") && page.contains("own reader"), "{page}");
    // The modelled array serves 1,500 requests a second, and nothing reaches more.
    let numbers = fs::read_to_string(out.join("gamaarachchi2020.json")).unwrap();
    let numbers: serde_json::Value = serde_json::from_str(&numbers).unwrap();
    let rows = numbers["requests"]["rows"].as_array().unwrap();
    let modelled: Vec<_> = rows.iter().filter(|row| row[3] == "requests").collect();
    assert_eq!(modelled.len(), 3 * 2, "{rows:?}");
    for row in modelled {
        assert_eq!(row[5], 1500.0, "{row}");
        assert!((0.0..=1500.0).contains(&row[4].as_f64().unwrap()), "{row}");
    }
    // Bytes that came from a disk, where there is one below the folder.
    let table = fs::read_to_string(out.join("signal-io/signal-io.tsv")).unwrap();
    let facts = fs::read_to_string(out.join("signal-io/facts.tsv")).unwrap();
    let from_disk = |line: &&str| line.starts_with("disk\t") && !line.ends_with("\t0");
    let count = table.lines().filter(from_disk).count();
    let ways = if facts.contains("bytes-uring") { 3 } else { 4 };
    let expected = if facts.contains("is in memory") { 0 } else { ways * 2 };
    assert_eq!(count, expected, "{table}{facts}");
}

#[test]
fn a_tiny_page_of_gamaarachchi_has_nanopolish_itself() {
    const NEEDS: [&str; 4] = ["nanopolish", "samtools", "cc", "gzip"];
    let Some(region) = data("nanopore/f5c_ecoli_2kb/ecoli_2kb_region") else { return };
    let answers = |program: &&str| Command::new(program).arg("--version").output().is_ok();
    if !NEEDS.iter().all(answers) {
        skip("lab paper gamaarachchi2020 with nanopolish: nanopolish, samtools or cc is missing");
        return;
    }
    let here = folder();
    let path = |name: &str| here.path().join(name);
    fs::create_dir(path("source")).unwrap();
    let singles = region.join("fast5_files");
    for name in &names_in(&singles)[..8] {
        fs::copy(singles.join(name), path("source").join(name)).unwrap();
    }
    let mut gzip = Command::new("gzip");
    let text = gzip.arg("-dc").arg(region.join("draft.reconstructed.fa.gz")).output();
    fs::write(path("draft.fa"), text.unwrap().stdout).unwrap();
    let made = Command::new("samtools").arg("faidx").arg(path("draft.fa")).status();
    assert!(made.unwrap().success());
    let mut command = lab(["paper", "gamaarachchi2020", "--figure", "1.11", "--smoke", "--source"]);
    command.arg(path("source")).arg("--bam").arg(region.join("reads.sorted.bam"));
    command.arg("--reference").arg(path("draft.fa")).arg("--out").arg(path("out"));
    run(&mut command).ok();
    let page = fs::read_to_string(path("out/gamaarachchi2020.html")).unwrap();
    assert!(page.contains("nanopolish itself, here"), "{page}");
    // Stacked, with BAM and FASTA, of what reports its components.
    assert!(page.contains("components, FAST5, our flow") && page.contains("</i>FASTA<"), "{page}");
    assert!(!page.contains("components, nanopolish"), "{page}");
    let table = fs::read_to_string(path("out/methylation/methylation.tsv")).unwrap();
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split('\t').collect()).collect();
    let at = |name: &str| rows[0].iter().position(|column| *column == name).unwrap();
    for way in ["nanopolish", "nanopolish-split"] {
        let of_way = |row: &&Vec<&str>| row[0] == "raid" && row[1] == way;
        let found: Vec<_> = rows.iter().filter(of_way).collect();
        assert_eq!(found.len(), 2, "{table}");
        for row in found {
            // It reads its signal through the modelled storage, and calls reads that have signal.
            assert!(row[at("requests")].parse::<u64>().unwrap() >= 8, "{row:?}");
            assert!((1..=8).contains(&row[at("reads")].parse::<u64>().unwrap()), "{row:?}");
        }
    }
}

#[test]
fn scaling_is_planned_in_three_parts() {
    let here = folder();
    let mut command = lab(["scale", "--dry-run", "--smoke", "--threads", "1,2"]);
    let text = run_for(command.current_dir(here.path()), SOON).ok().text();
    for part in ["scale-weak: ", "scale-strong: ", "scale-index: "] {
        assert!(text.contains(part), "{text}");
    }
    assert_eq!(names_in(here.path()), [""; 0]);
}
