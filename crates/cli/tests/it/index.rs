//! `seqloom index` within `-m`: the same files for every size and thread count, no more memory than
//! allowed, and the plan said before the start.

use std::fs;
use std::path::Path;

use seqloom_testkit::genome::{Genome, GenomeOptions};

use crate::common::{folder, limit, memory_floor, run, seqloom};
use crate::memory::{peak_bytes, size_bytes};

const SUFFIXES: [&str; 5] = ["pac", "ann", "amb", "fast", "bwt.2bit.64"];

/// The files of an index.
fn files(prefix: &Path) -> Vec<Vec<u8>> {
    let read = |suffix| fs::read(format!("{}.{suffix}", prefix.display())).unwrap();
    SUFFIXES.into_iter().map(read).collect()
}

fn line(fasta: &Path, prefix: &Path, threads: &str) -> Vec<String> {
    let words = ["index", "-t", threads, "-p"].map(str::to_owned);
    let paths = [prefix, fasta].map(|path| path.display().to_string());
    words.into_iter().chain(paths).collect()
}

/// Builds with room for one piece, then with `-m` at its least and somewhat above, and compares.
fn assert_the_same_within_every_cap(fasta: &Path, folder: &Path, threads: &[&str]) {
    let whole = folder.join("whole");
    let said = run(&mut seqloom(line(fasta, &whole, "2"))).ok().stderr;
    assert!(said.contains("in one piece"), "{said}");
    let expected = files(&whole);
    for threads in threads {
        let prefix = folder.join("blocks");
        let least = size_bytes(&memory_floor(&line(fasta, &prefix, threads)));
        for cap in [least, least + least / 8] {
            let mut arguments = line(fasta, &prefix, threads);
            arguments.extend(["-m".to_owned(), cap.to_string()]);
            let peak = peak_bytes(&arguments, limit());
            eprintln!("-t {threads} -m {cap}: peak {peak}");
            assert!(peak <= cap, "-t {threads} -m {cap}: the peak was {peak}");
            assert!(files(&prefix) == expected, "-t {threads} -m {cap}");
            for suffix in SUFFIXES {
                fs::remove_file(format!("{}.{suffix}", prefix.display())).unwrap();
            }
        }
    }
}

#[test]
fn any_cap_gives_the_same_index_and_is_kept() {
    let here = folder();
    let fasta = here.path().join("ref.fa");
    let options = GenomeOptions { seed: 5, length_bp: 10_000_000, contigs: 3 };
    Genome::simulate(&options).unwrap().write_fasta(&fasta).unwrap();
    assert_the_same_within_every_cap(&fasta, here.path(), &["1", "2", "4"]);
}

#[test]
fn slow_chr20_is_the_same_within_every_cap() {
    if !seqloom_testkit::skip::slow_tests() {
        return;
    }
    let Some(fasta) = seqloom_testkit::skip::data("refs/human_b37/chr20.b37.fa.gz") else { return };
    let here = folder();
    assert_the_same_within_every_cap(&fasta, here.path(), &["1", "2", "7"]);
}

#[test]
fn the_plan_is_said_before_the_start_and_a_refusal_names_the_least() {
    let here = folder();
    let fasta = here.path().join("ref.fa");
    let options = GenomeOptions { seed: 6, length_bp: 8_000_000, contigs: 1 };
    Genome::simulate(&options).unwrap().write_fasta(&fasta).unwrap();
    let arguments = line(&fasta, &here.path().join("x"), "1");
    // Whether the bases fit packed or not.
    let least = memory_floor(&arguments);
    let refused = run(seqloom(&arguments).args(["-m", "50M"])).fails_with(2);
    refused.says(&[&format!("at least {least}"), &format!("give -m {least}")]);
    let blocks = run(seqloom(&arguments).args(["-m", &least])).ok().stderr;
    let plan = blocks.find("sorts suffixes in blocks, ").unwrap();
    assert!(plan < blocks.find("wrote").unwrap(), "{blocks}");
    assert!(blocks[plan..].contains(&format!("passes; needs {least} of memory")), "{blocks}");
    let whole = run(seqloom(&arguments).args(["-m", "1G"])).ok().stderr;
    assert!(whole.contains("sorts suffixes in one piece"), "{whole}");
}
