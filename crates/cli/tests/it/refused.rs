//! What is refused before any work is done, and leaves all files as they are.

use crate::common::{SOON, folder, has, json_number, names_in, run, run_for, seqloom};
use crate::data::{align_small, small, small_pairs};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder with a reference and its index, reads, aligned reads, sites, and a file `old`.
fn folder_of_inputs() -> tempfile::TempDir {
    let here = folder();
    let at = |name: &str| here.path().join(name);
    let from = small().ours.parent().unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, at(path.file_name().unwrap().to_str().unwrap())).unwrap();
    }
    fs::write(at("r.fq"), "@a\nACGT\n+\nIIII\n").unwrap();
    let header = "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:c\tLN:900\n@RG\tID:a\tSM:s\tPL:ILLUMINA\n";
    fs::write(at("in.sam"), header).unwrap();
    fs::write(at("sites.vcf"), "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\n").unwrap();
    fs::write(at("old"), "as it was").unwrap();
    here
}

/// Runs a line of words in `folder`.
fn in_folder(folder: &Path, line: &str) -> crate::common::Run {
    run_for(seqloom(line.split_whitespace()).current_dir(folder), SOON)
}

/// Contents of all files of a folder.
fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.is_file());
    let mut all: Vec<_> = files.map(|path| (path.clone(), fs::read(path).unwrap())).collect();
    all.sort();
    all
}

#[test]
fn outputs_that_are_inputs_or_one_another() {
    let here = folder_of_inputs();
    let before = contents(here.path());
    let sites = "--known-sites sites.vcf -R @RG\\tID:a\\tPL:ILLUMINA";
    for (line, name) in [
        ("align ref.fa r.fq -o r.fq", "-o r.fq"),
        ("align ref.fa r.fq old -o old", "-o old"),
        ("align ref.fa r.fq -o ref.fa", "-o ref.fa"),
        ("align ref.fa r.fq -o ref.fa.pac", "-o ref.fa.pac"),
        ("align ref.fa r.fq -o new --json ./r.fq", "--json ./r.fq"),
        (&format!("align ref.fa r.fq -o new {sites} --bqsr-report ref.fa"), "--bqsr-report"),
        (&format!("align ref.fa r.fq -o sites.vcf {sites}"), "-o sites.vcf"),
        ("prep in.sam -o in.sam", "-o in.sam"),
        ("prep in.sam in.sam -o new --json in.sam", "--json in.sam"),
        ("prep in.sam --set-tags NM --reference ref.fa -o ref.fa", "-o ref.fa"),
        ("prep in.sam --reference-dict old -o old", "-o old"),
    ] {
        let refused = in_folder(here.path(), line).fails_with(2);
        refused.says(&[name, "is also an input"]);
    }
    in_folder(here.path(), "align ref.fa r.fq -o new --json new").fails_with(2).says(&["both"]);
    assert!(contents(here.path()) == before);
}

/// An old output stays where one of the files next to the new one cannot be written.
#[test]
fn files_next_to_the_output_that_cannot_be_written() {
    let here = folder_of_inputs();
    let before = contents(here.path());
    let recalibrated = "--known-sites sites.vcf -R @RG\\tID:a\\tPL:ILLUMINA --bqsr-report";
    for line in [
        "align ref.fa r.fq -o old --json missing/x.json".to_owned(),
        "align ref.fa r.fq -o old --json .".to_owned(),
        "align ref.fa r.fq -o old --metrics-dir r.fq".to_owned(),
        format!("align ref.fa r.fq -o old {recalibrated} missing/x.txt"),
        "prep in.sam -o old --json missing/x.json".to_owned(),
        "prep in.sam -o old --metrics-dir r.fq".to_owned(),
    ] {
        // An engine that would take an hour is not run.
        let slow = if line.starts_with("align") { " --engine fake:spin=3600000000us" } else { "" };
        in_folder(here.path(), &format!("{line}{slow}")).fails_with(4);
    }
    assert!(contents(here.path()) == before);
}

/// Metrics have no room in the end: nothing has got its name.
#[test]
fn metrics_without_room_leave_the_old_output() {
    let here = folder();
    let out = here.path().join("x.bam");
    fs::write(&out, "as it was").unwrap();
    let json = here.path().join("x.json");
    // The report is a device that is full: it shows when it is written, after all records.
    std::os::unix::fs::symlink("/dev/full", &json).unwrap();
    let mut command = seqloom(align_small());
    command.arg("-o").arg(&out).arg("--json").arg(&json).arg("--metrics-dir").arg(here.path());
    run(&mut command).fails_with(4).says(&["x.json"]);
    assert_eq!(fs::read(&out).unwrap(), b"as it was");
    assert_eq!(names_in(here.path()), ["x.bam", "x.json"]);
}

#[test]
fn recalibration_that_the_header_does_not_allow() {
    let here = folder_of_inputs();
    let at = |name: &str| here.path().join(name);
    fs::write(at("none.sam"), "@HD\tVN:1.6\n@SQ\tSN:c\tLN:900\n").unwrap();
    fs::write(at("plain.sam"), "@HD\tVN:1.6\n@SQ\tSN:c\tLN:900\n@RG\tID:a\n").unwrap();
    fs::write(at("c.fa"), format!(">c\n{}\n", "A".repeat(900))).unwrap();
    let align = "align ref.fa r.fq -o new --engine fake:spin=3600000000us --known-sites sites.vcf";
    let prep = "--known-sites sites.vcf --reference c.fa -o new";
    for (line, words) in [
        (align.to_owned(), ["no @RG line", "--read-group"]),
        (format!("{align} -R @RG\\tID:a"), ["(PL)", "--read-group"]),
        (format!("prep none.sam {prep}"), ["no @RG line", "--read-group"]),
        (format!("prep plain.sam {prep}"), ["(PL)", "--read-group"]),
        (format!("prep in.sam {prep} --maximum-cycle-value 0"), ["largest cycle", "65536"]),
    ] {
        in_folder(here.path(), &line).fails_with(2).says(&words);
    }
    // A FASTA that is not the index's is found out before anything is aligned.
    let with_group = format!("{align} -R @RG\\tID:a\\tPL:ILLUMINA --reference-fasta");
    in_folder(here.path(), &format!("{with_group} missing.fa")).fails_with(3).says(&["missing.fa"]);
    in_folder(here.path(), &format!("{with_group} c.fa")).fails_with(3).says(&["c.fa"]);
    assert!(!at("new").exists());
}

#[test]
fn a_missing_input_or_index_is_reported_as_one() {
    let here = folder_of_inputs();
    for (line, missing) in [
        ("align none.fa r.fq -o new", "none.fa"),
        ("align ref.fa none.fq -o new --engine fake", "none.fq"),
        ("prep none.bam --sort coordinate -o new", "none.bam"),
        ("prep in.sam --regions none.bed -o new", "none.bed"),
        ("signal convert none.slow5 -o new.blow5", "none.slow5"),
        ("index none.fa", "none.fa"),
    ] {
        let ran = in_folder(here.path(), &format!("{line} --error-fd 1")).fails_with(3);
        let error: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
        let error = &error["error"];
        assert_eq!(error["class"], "missing-input", "{line}: {error}");
        assert_eq!(error["exit_code"], 3, "{line}: {error}");
        assert!(error["file"].as_str().unwrap().ends_with(missing), "{line}: {error}");
    }
}

#[test]
fn options_that_would_change_nothing() {
    let here = folder_of_inputs();
    let before = contents(here.path());
    for line in [
        "prep in.sam -o new --tag-duplicates all",
        "prep in.sam -o new --barcode-tag RX",
        "prep in.sam -o new --optical-distance 5",
        "prep in.sam -o new --picard-version 2.27.5",
        "prep in.sam -o new --mark-duplicates --picard-version 2.28",
        "prep in.sam -o new --read-name-regex (.)(.)(.)",
        "prep in.sam -o new --mark-duplicates --read-name-regex (.)(.)",
        "prep in.sam -o new --mark-duplicates --optical-distance off --read-name-regex (.)(.)(.)",
        "prep in.sam -o new --mark-duplicates --duplex-umi",
        "prep in.sam -o new --mark-duplicates --molecular-identifier-tag MI",
        "prep in.sam -o new --barcode-tag RX --duplex-umi",
        "prep in.sam -o new --duplicate-mode coordinate",
        "prep in.sam -o new --quantize-quals 4",
        "prep in.sam -o new --static-quantized-quals 10,20",
        "prep in.sam -o new --emit-original-quals",
        "prep in.sam -o new --use-original-qualities",
        "prep in.sam -o new --maximum-cycle-value 600",
        "prep in.sam -o new.sam --write-index bai",
        "prep in.sam -o new.bam --sort queryname --write-index csi",
        "align ref.fa r.fq -o new --quantize-quals 4",
        "align ref.fa r.fq -o new --no-mark-duplicates --duplicate-mode coordinate",
        "align ref.fa r.fq -o new --no-mark-duplicates --optical-distance 5",
        "align ref.fa r.fq -o new --no-mark-duplicates --picard-version 3.5.0",
        "align ref.fa r.fq -o new --optical-distance off --read-name-regex (.)(.)(.)",
        "align ref.fa r.fq -o new.sam --write-index bai",
        "align ref.fa r.fq -o new --no-sort --no-mark-duplicates --write-index csi",
        // Nor can these be meant.
        "align ref.fa - - -o new",
        "prep in.sam -o new --read-group b",
    ] {
        let refused = in_folder(here.path(), line);
        assert_eq!(refused.code(), 2, "{line}: {}", refused.stderr);
    }
    assert!(contents(here.path()) == before);
}

#[test]
fn cram_is_refused_where_it_is_not_read_or_written() {
    let here = folder_of_inputs();
    fs::write(here.path().join("x.cram"), b"CRAM\x03\x00aaaaaaaaaaaaaaaaaaaaaaaa").unwrap();
    crate::shard::plan(&here.path().join("run"), (2, 1), &align_small());
    let before = contents(here.path());
    let methylation =
        "signal methylation --bam in.sam --reference ref.fa --signal old --modbam new.cram";
    for (line, reported) in [
        ("align ref.fa r.fq -o new.sam --resume", "new.sam: align --resume writes BAM or CRAM"),
        ("prep in.sam -o new.CRAM", "CRAM output needs --reference FASTA"),
        ("shard gather --run run -o new.cram", "new.cram: the plan of this run is of BAM"),
        ("shard gather --run run -o new.sam", "new.sam: the plan of this run is of BAM"),
        (methylation, "new.cram: this command writes no CRAM"),
    ] {
        in_folder(here.path(), line).fails_with(2).says(&[reported]);
    }
    for line in ["align ref.fa x.cram -o new", "prep x.cram -o new", "columns x.cram -o new"] {
        in_folder(here.path(), line).fails_with(3).says(&["x.cram: the header's container"]);
    }
    assert!(contents(here.path()) == before);
}

/// What README shows runs, with the bwa that there is.
#[test]
fn the_pipe_of_the_readme() {
    if !has("bwa") {
        return;
    }
    let readme = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md"));
    let readme = readme.unwrap().replace("\\\n", " ");
    let line = readme.lines().find(|line| line.starts_with("bwa mem ")).expect("an example");
    let reads = small_pairs();
    let line = line
        .replace("ref.fa", &small().bwa().display().to_string())
        .replace("r1.fq", &reads.first.display().to_string())
        .replace("r2.fq", &reads.second.display().to_string())
        .replace("seqloom", env!("CARGO_BIN_EXE_seqloom"));
    let here = folder();
    run(Command::new("bash").args(["-o", "pipefail", "-c", &line]).current_dir(here.path())).ok();
    assert_eq!(names_in(here.path()), ["out.bam", "out.bam.bai"]);
    let mut again = seqloom(["prep", "out.bam", "-o", "again.bam", "--json", "x.json"]);
    run(again.current_dir(here.path())).ok();
    let report = here.path().join("x.json");
    assert!(json_number(&report, &["duplicate_records"]).unwrap() > 0.0);
}
