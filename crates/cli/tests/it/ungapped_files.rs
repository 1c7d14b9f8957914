//! What `--mode ungapped` reads and writes besides records: qualities of another scale, FASTA,
//! files of reads, and the summary.

use crate::common::{folder, has, run, run_into, seqloom, words};
use crate::data::{align, small};
use crate::ungapped::{bowtie_index, reads};
use std::fs;
use std::path::Path;
use std::process::Command;

const STREAM: [&str; 4] = ["--no-sort", "--no-mark-duplicates", "--output-format", "sam"];

fn ungapped(files: &[&Path], options: &[&str]) -> Command {
    let mut command = seqloom(align(small(), files));
    command.args(["--mode", "ungapped", "--no-pg"]).args(options);
    command
}

/// SAM text of a run.
#[track_caller]
fn sam(files: &[&Path], options: &[&str]) -> Vec<u8> {
    run(ungapped(files, options).args(STREAM).args(["-o", "-"])).ok().stdout
}

fn bowtie(options: &str, files: &[&Path], out: &Path) -> Command {
    let mut command = words(&format!("bowtie-align-s --sam-nohead -S {options} -x"));
    command.arg(bowtie_index(small()));
    match files {
        [first, second] => command.arg("-1").arg(first).arg("-2").arg(second),
        _ => command.args(files),
    };
    command.arg(out);
    command
}

/// Rewrites a FASTQ file, line by line with its number.
fn rewritten(file: &Path, to: &Path, line: impl Fn(usize, &str) -> String) {
    let text = fs::read_to_string(file).unwrap();
    let lines = text.lines().enumerate().map(|(at, it)| line(at, it) + "\n");
    fs::write(to, lines.collect::<String>()).unwrap();
}

/// Header lines as instruments have them.
fn with_comments(file: &Path, to: &Path, mate: u8) {
    rewritten(file, to, |at, line| {
        if at % 4 == 0 { format!("{line}/{mate} {mate}:N:0:ACGT x") } else { line.to_owned() }
    });
}

#[test]
fn files_of_reads_are_bowtie_s() {
    if !has("bowtie-align-s") {
        return;
    }
    let here = folder();
    let path = |name: &str| here.path().join(name);
    let [plain, _] = reads(small(), (31, 4000), 36, None, here.path());
    let file = path("in.fq");
    with_comments(&plain, &file, 1);
    let theirs =
        bowtie("-v 1 -a -m 2 --al al.fq --un un.fq --max max.fq", &[&file], &path("b.sam"));
    run({ theirs }.current_dir(here.path())).ok();
    let theirs = bowtie("-v 1 -a -m 2 --un both.fq", &[&file], &path("b.sam"));
    run({ theirs }.current_dir(here.path())).ok();
    let read = |name: &str| fs::read(path(name)).unwrap();
    for threads in ["1", "7"] {
        let all = ["-t", threads, "--max-mismatches", "1", "--all", "--max-placements", "2"];
        let files = ["--aligned-reads", "--unaligned-reads", "--frequent-reads"].map(|option| {
            [option.to_owned(), path(&format!("our{option}.fq")).display().to_string()]
        });
        let files = files.as_flattened();
        let mut command = ungapped(&[&file], &all);
        run(command.args(files).arg("-o").arg(path("x.bam"))).ok();
        for (ours, theirs) in [
            ("our--aligned-reads.fq", "al.fq"),
            ("our--unaligned-reads.fq", "un.fq"),
            ("our--frequent-reads.fq", "max.fq"),
        ] {
            assert!(!read(theirs).is_empty());
            assert!(read(ours) == read(theirs), "{ours}, {threads} threads");
        }
        // Without a file of their own, frequent reads are among those without a placement.
        let mut command = ungapped(&[&file], &all);
        command.args(STREAM).arg("--unaligned-reads").arg(path("ours.fq"));
        run_into(command.args(["-o", "-"]), &path("x.sam")).ok();
        assert!(read("ours.fq") == read("both.fq"), "{threads} threads");
    }
}

#[test]
fn files_of_mates_are_two_and_all_reads_are_in_one_of_them() {
    let here = folder();
    let path = |name: &str| here.path().join(name);
    let plain = reads(small(), (32, 1500), 36, Some(180), here.path());
    let [first, second] = [path("in_1.fq"), path("in_2.fq")];
    with_comments(&plain[0], &first, 1);
    with_comments(&plain[1], &second, 2);
    let options =
        ["--max-mismatches", "1", "--max-placements", "1", "--aligned-reads", "--unaligned-reads"];
    let run_with = |files: &[&Path], name: &str, more: &[&str]| {
        let [al, un] = ["al", "un"].map(|it| path(&format!("{name}-{it}.fq")));
        let mut command = ungapped(files, &options[..5]);
        command.arg(al).arg(options[5]).arg(un).args(more);
        run(command.arg("-o").arg(path("x.bam"))).ok();
    };
    run_with(&[&first, &second], "two", &["-t", "7"]);
    for (mate, file) in [(1, &first), (2, &second)] {
        let text = |kind: &str| fs::read_to_string(path(&format!("two-{kind}_{mate}.fq"))).unwrap();
        let records = |text: String| -> Vec<String> {
            let lines: Vec<&str> = text.lines().collect();
            lines.chunks(4).map(|four| four.join("\n")).collect()
        };
        let (al, un) = (records(text("al")), records(text("un")));
        assert!(!al.is_empty() && !un.is_empty());
        let mut aligned = al.iter().peekable();
        let mut unaligned = un.iter().peekable();
        for record in records(fs::read_to_string(file).unwrap()) {
            let from = [&mut aligned, &mut unaligned].map(|it| it.next_if(|it| **it == record));
            assert_eq!(from.iter().flatten().count(), 1, "{record}");
        }
        assert!(aligned.next().is_none() && unaligned.next().is_none());
    }
    // Mates next to each other stay so.
    let interleave = |first: &Path, second: &Path| -> String {
        let mates = [first, second].map(|file| fs::read_to_string(file).unwrap());
        let [one, two] = mates.each_ref().map(|text| text.lines().collect::<Vec<_>>());
        let both = one.chunks(4).zip(two.chunks(4));
        both.map(|(first, second)| [first, second].concat().join("\n") + "\n").collect()
    };
    fs::write(path("both.fq"), interleave(&first, &second)).unwrap();
    run_with(&[&path("both.fq")], "one", &["-p"]);
    for kind in ["al", "un"] {
        let [one, two] = [1, 2].map(|mate| path(&format!("two-{kind}_{mate}.fq")));
        let text = fs::read_to_string(path(&format!("one-{kind}.fq"))).unwrap();
        assert!(text == interleave(&one, &two), "{kind}");
    }
}

#[test]
fn the_summary_is_bowtie_s_and_multiqc_reads_it() {
    if !has("bowtie-align-s") {
        return;
    }
    let here = folder();
    let path = |name: &str| here.path().join(name);
    let [single, _] = reads(small(), (33, 2000), 36, None, here.path());
    let mates = reads(small(), (34, 1000), 50, Some(180), here.path());
    let [first, second] = &mates;
    for (name, files, ours, theirs) in [
        ("one", &[&*single][..], "--max-mismatches 2 --all", "-v 2 -a"),
        ("few", &[&*single], "--max-mismatches 1 --max-placements 1", "-v 1 -m 1"),
        ("two", &[&**first, &**second], "--max-mismatches 0 --all", "-v 0 -a"),
        (
            "none",
            &[&*single],
            "--max-mismatches 0 --strand reverse --trim5 20 --all",
            "-v 0 -5 20 --nofw -a",
        ),
    ] {
        let theirs = run(&mut bowtie(theirs, files, &path("b.sam"))).ok().stderr;
        let ours: Vec<&str> = ours.split_whitespace().collect();
        let mut command = ungapped(files, &ours);
        command.arg("--metrics-dir").arg(path("metrics")).arg("--log").arg(path("run.log"));
        run(command.arg("-o").arg(path(&format!("{name}.bam")))).ok();
        let lines = fs::read_to_string(path(&format!("metrics/{name}.counts.txt"))).unwrap();
        let is_warning = |line: &&str| !line.starts_with('#') && !line.contains("lignments");
        let theirs: Vec<&str> = theirs.lines().filter(|line| !is_warning(line)).collect();
        assert_eq!(lines.lines().collect::<Vec<_>>(), theirs, "{name}");
        let log = fs::read_to_string(path("run.log")).unwrap();
        assert!(lines.lines().all(|line| log.contains(line)), "{name}: {log}");
    }
    let multiqc = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv/bin/multiqc");
    if !multiqc.exists() {
        seqloom_testkit::skip::skip("MultiQC is not installed in .venv");
        return;
    }
    let mut report = Command::new(multiqc);
    report.args(["--no-ansi", "--no-report", "-m", "bowtie1", "--data-format", "tsv", "-o"]);
    run(report.arg(path("qc")).arg(path("metrics"))).ok();
    let table = fs::read_to_string(path("qc/multiqc_data/multiqc_bowtie1.txt"));
    let table = table.or_else(|_| fs::read_to_string(path("qc/multiqc_data/multiqc_bowtie1.tsv")));
    let table = table.unwrap();
    for sample in ["one", "few", "two", "none"] {
        let row = table.lines().find(|line| line.starts_with(&format!("{sample}\t")));
        let reads = if sample == "two" { "1000" } else { "2000" };
        assert!(row.is_some_and(|row| row.contains(reads)), "{sample}: {table}");
    }
    assert!(table.lines().next().unwrap().contains("multimapped"), "{table}");
}

#[test]
fn phred64_is_read_as_such() {
    let here = folder();
    let path = |name: &str| here.path().join(name);
    let [file, _] = reads(small(), (35, 500), 36, None, here.path());
    let up = |byte: u8| char::from((byte + 31).min(b'~'));
    let shift = |at: usize, line: &str| {
        if at % 4 == 3 { line.bytes().map(up).collect() } else { line.to_owned() }
    };
    rewritten(&file, &path("64.fq"), shift);
    let options = ["--seed-mismatches", "2", "--all"];
    let with = [&options[..], &["--phred64"]].concat();
    assert!(sam(&[&file], &options) == sam(&[&path("64.fq")], &with));
    // bwa's algorithm as well.
    let of = |file: &Path, more: &[&str]| {
        let mut command = seqloom(align(small(), &[file]));
        run(command.args(STREAM).args(["--no-pg", "-o", "-"]).args(more)).ok().stdout
    };
    assert!(of(&file, &[]) == of(&path("64.fq"), &["--phred64"]));
    let refused = |file: &Path, code: u8, expected: &[&str]| {
        let mut command = ungapped(&[file], &with);
        run(command.arg("-o").arg(path("x.bam"))).fails_with(code.into()).says(expected);
        assert!(!path("x.bam").exists());
    };
    refused(&file, 3, &["'", "among the qualities, which Phred+64 does not have", "line 4"]);
    fs::write(path("x.fa"), ">r\nACGTACGTACGTACGTACGT\n").unwrap();
    refused(&path("x.fa"), 2, &["--phred64 is for FASTQ"]);
}

#[test]
fn fasta_is_placed_as_fastq_is() {
    let here = folder();
    let path = |name: &str| here.path().join(name);
    let [file, _] = reads(small(), (36, 1000), 50, None, here.path());
    let text = fs::read_to_string(&file).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let fasta = |four: &[&str]| {
        format!(">{} of FASTA\n{}\n{}\n", &four[0][1..], &four[1][..20], &four[1][20..])
    };
    fs::write(path("x.fa"), lines.chunks(4).map(fasta).collect::<String>()).unwrap();
    let options = ["--max-mismatches", "2", "--all"];
    let columns = |sam: &[u8], quality: &str| -> Vec<String> {
        let text = String::from_utf8_lossy(sam).into_owned();
        let record = |line: &str| {
            let mut columns: Vec<&str> = line.split('\t').collect();
            assert!(quality.is_empty() || columns[10] == quality);
            columns.remove(10);
            // Which of two equal placements is primary may depend on qualities.
            columns[1] = if columns[1] == "4" { "4" } else { "" };
            columns.join("\t")
        };
        let mut records: Vec<_> =
            text.lines().filter(|it| !it.starts_with('@')).map(record).collect();
        records.sort();
        records
    };
    let plain = columns(&sam(&[&file], &options), "");
    let unaligned = path("un.fa").display().to_string();
    let more = [&options[..], &["--unaligned-reads", &unaligned]].concat();
    assert!(plain == columns(&sam(&[&path("x.fa")], &more), "*"));
    let unaligned = fs::read_to_string(unaligned).unwrap();
    let first = unaligned.lines().next().unwrap();
    assert!(first.starts_with('>') && first.ends_with(" of FASTA"), "{first}");
    // Without qualities all count as good ones, as Bowtie has it.
    let seeds = ["--seed-mismatches", "2", "--all"];
    let good = |at: usize, line: &str| {
        if at % 4 == 3 { "I".repeat(line.len()) } else { line.to_owned() }
    };
    rewritten(&file, &path("good.fq"), good);
    let [a, b] = [path("good.fq"), path("x.fa")].map(|it| columns(&sam(&[&it], &seeds), ""));
    assert!(a == b);
}

#[test]
fn files_and_options_that_make_no_sense_are_refused() {
    let here = folder();
    let [file, _] = reads(small(), (37, 10), 36, None, here.path());
    let t = |options: &str, expected: &str| {
        let options: Vec<&str> = options.split_whitespace().collect();
        let mut command = ungapped(&[&file], &options);
        run(command.current_dir(here.path()).args(["-o", "x.bam"])).fails_with(2).says(&[expected]);
    };
    t("--unaligned-reads un.fq.gz", "plain text");
    t("--unaligned-reads -", "/dev/stdout");
    t("--unaligned-reads x.bam", "-o and --unaligned-reads are both");
    t("--aligned-reads a.fq --unaligned-reads a.fq", "are both");
    t("--frequent-reads f.fq", "--max-placements");
    t("--min-insert 300", "--min-insert 300 is more than --max-insert 250");
    t("--max-insert 300", "--max-insert is for mates");
    t("--phred64 --assume-phred33", "cannot be used");
    let input = file.display().to_string();
    t(&format!("--unaligned-reads {input}"), "--unaligned-reads");
    let mut command = seqloom(align(small(), &[&file]));
    command.args(["--unaligned-reads", "un.fq", "-o", "-"]);
    run(&mut command).fails_with(2).says(&["--unaligned-reads is an option of --mode ungapped"]);
}

#[test]
fn colour_space_is_named() {
    let here = folder();
    let file = here.path().join("x.csfastq");
    fs::write(&file, "@r\nT0123012301230123012\n+\nIIIIIIIIIIIIIIIIIIII\n").unwrap();
    let run = run(ungapped(&[&file], &[]).arg("-o").arg(here.path().join("x.bam")));
    run.fails_with(3).says(&["x.csfastq", "'0' among the bases", "colour space"]);
}

#[test]
fn a_full_disk_leaves_no_file_of_reads() {
    let here = folder();
    let [file, _] = reads(small(), (38, 4000), 36, None, here.path());
    let mut command = ungapped(&[&file], &["--unaligned-reads", "/dev/full"]);
    let run = run(command.arg("-o").arg(here.path().join("x.bam")));
    run.fails_with(4).says(&["/dev/full"]);
    assert!(!here.path().join("x.bam").exists());
}
