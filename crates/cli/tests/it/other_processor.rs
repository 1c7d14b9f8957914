//! A program for aarch64, where `make arm64` has left one that is newer than the sources: run by
//! QEMU's user emulation, it writes the same bytes. All of the digests are compared in the long
//! tests (`tests/arm64.sh`).

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::{folder, run, seqloom};
use seqloom_testkit::fastq::{Outputs, simulate_to_files};
use seqloom_testkit::genome::{Genome, GenomeOptions};
use seqloom_testkit::reads::ReadOptions;
use seqloom_testkit::skip::skip;

/// The emulator and the program, or why there is none.
fn emulated() -> Result<[String; 2], String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let mut script = Command::new(root.join("tests/arm64.sh"));
    let found = run(script.arg("where").env("CARGO_TARGET_DIR", target));
    if found.code() != 0 {
        return Err(found.stderr.trim().to_owned());
    }
    let lines: Vec<String> = found.text().lines().map(str::to_owned).collect();
    Ok(lines.try_into().unwrap())
}

#[test]
fn aarch64_writes_the_same_bytes() {
    let [emulator, program] = match emulated() {
        Ok(found) => found,
        Err(reason) => return skip(&format!("QEMU of aarch64: {reason}")),
    };
    let here = folder();
    let genome =
        Genome::simulate(&GenomeOptions { length_bp: 100_000, ..GenomeOptions::default() });
    let genome = genome.unwrap();
    genome.write_fasta(&here.path().join("ref.fa")).unwrap();
    let options = ReadOptions { templates: 2_000, duplicate_share: 0.2, ..ReadOptions::default() };
    let at = |name: &str| here.path().join(name);
    let (first, second) = (at("R1.fq.gz"), at("R2.fq.gz"));
    let outputs = Outputs { first: Some(&first), second: Some(&second), ..Outputs::default() };
    simulate_to_files(&genome, &options, outputs).unwrap();
    run(seqloom(["index", "ref.fa"]).current_dir(here.path())).ok();

    let align = "align --no-pg -t 2 ref.fa R1.fq.gz R2.fq.gz -o";
    let prep = "prep --no-pg -t 2 aligned.sam --mark-duplicates --sort coordinate -o";
    let sam = "align --no-pg -t 2 --no-sort --no-mark-duplicates --output-format sam ref.fa \
               R1.fq.gz R2.fq.gz -o aligned.sam";
    run(seqloom(sam.split_whitespace()).current_dir(here.path())).ok();
    for (command, name) in [(align, "align"), (prep, "prep")] {
        let (here_made, there_made) = (format!("{name}-here.bam"), format!("{name}-there.bam"));
        let words = |out: &str| -> Vec<String> {
            command.split_whitespace().chain([out]).map(str::to_owned).collect()
        };
        run(seqloom(words(&here_made)).current_dir(here.path())).ok();
        let mut there = Command::new(&emulator);
        there.arg(&program).args(words(&there_made)).current_dir(here.path());
        run(&mut there).ok();
        for suffix in ["", ".bai"] {
            let read = |name: &str| fs::read(at(&format!("{name}{suffix}"))).unwrap();
            assert!(read(&here_made) == read(&there_made), "{name}: another {suffix}");
        }
    }
}
