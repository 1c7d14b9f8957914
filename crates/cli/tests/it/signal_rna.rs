//! `seqloom signal eventalign` of direct RNA: simulated reads (`seqloom_testkit::nanopore`, levels of
//! nanopolish's own model), against the truth and against nanopolish.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use crate::common::{Run, folder, has, run, seqloom, words};
use seqloom_calling::pore_model::builtin;
use seqloom_testkit::nanopore::{CONTIG, Level, NanoporeOptions, NanoporeRun, simulate};

fn simulated() -> NanoporeRun {
    let model = builtin::r9_4_1_rna().unwrap();
    let level_of = |kmer: &[u8]| {
        let rank = model.rank(kmer).unwrap();
        Level {
            mean_pa: model.level_mean_pa[rank] as f32,
            stdv_pa: model.level_stdv_pa[rank] as f32,
        }
    };
    let options = NanoporeOptions {
        seed: 47,
        reference_bases: 8_000,
        reads: 30,
        read_bases: (700, 2_000),
        ..NanoporeOptions::rna()
    };
    simulate(&options, &level_of)
}

/// The command in `here`.
fn eventalign(here: &Path, rest: &str) -> Run {
    let line = format!(
        "signal eventalign --quiet --bam reads.sam --reference reference.fa --reads reads.fa {rest}"
    );
    run(seqloom(line.split_whitespace()).current_dir(here))
}

fn write(here: &Path) -> NanoporeRun {
    let truth = simulated();
    truth.write(here).unwrap();
    let line = "signal convert --quiet reads.slow5 -o reads.blow5";
    run(seqloom(line.split_whitespace()).current_dir(here)).ok();
    truth
}

#[test]
fn events_of_rna_are_at_their_kmers_whatever_the_threads() {
    let here = folder();
    let truth = write(here.path());
    let rest = "--signal reads.blow5 -n --signal-index";
    let table = eventalign(here.path(), &format!("{rest} -t 1")).ok().text();
    for threads in [2, 7] {
        assert!(eventalign(here.path(), &format!("{rest} -t {threads}")).ok().text() == table);
    }
    let by_name: HashMap<&str, _> = truth.reads.iter().map(|it| (it.name.as_str(), it)).collect();
    let (mut rows, mut near) = (0, 0);
    for line in table.lines().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        if fields[9] == "NNNNN" {
            continue;
        }
        assert_eq!(fields[0], CONTIG);
        let read = by_name[fields[3]];
        let number = |at: usize| fields[at].parse::<usize>().unwrap();
        let middle = (number(13) + number(14)) / 2;
        // K-mers stand in the order of the molecule, and their samples run the other way.
        let kmer = read.kmer_starts.partition_point(|&start| start > middle);
        let last = read.kmer_starts.len() - 1;
        let kmer = if read.is_reverse { last - kmer } else { kmer };
        rows += 1;
        near += usize::from((read.start + kmer).abs_diff(number(1)) <= 1);
    }
    assert!(rows > 40_000 && near * 100 >= rows * 95, "{near} of {rows}");
}

#[test]
fn events_of_rna_are_those_of_nanopolish() {
    if !has("nanopolish") || !has("samtools") {
        return;
    }
    let here = folder();
    write(here.path());
    let at = |line: &str| run(words(line).current_dir(here.path())).ok().text();
    let fast5 = "signal convert --quiet reads.slow5 -o fast5/reads.fast5";
    fs::create_dir(here.path().join("fast5")).unwrap();
    run(seqloom(fast5.split_whitespace()).current_dir(here.path())).ok();
    at("samtools view -b -o reads.bam reads.sam");
    at("samtools index reads.bam");
    at("nanopolish index -d fast5 reads.fa");
    for rest in ["--summary theirs.tsv", "--scale-events -n", "--sam"] {
        let theirs = at(&format!(
            "nanopolish eventalign -t 1 -r reads.fa -b reads.bam -g reference.fa {rest}"
        ));
        let rest = rest.replace("theirs", "ours");
        let ours = eventalign(here.path(), &format!("--signal fast5 {rest}")).ok().text();
        let lines = |text: &str| {
            let lines = text.lines().filter(|line| !line.starts_with('@'));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        let (ours, theirs) = (lines(&ours), lines(&theirs));
        for (line, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
            assert_eq!(ours, theirs, "{rest}: line {line}");
        }
        assert_eq!(ours.len(), theirs.len());
        assert!(ours.len() >= 30, "{}", ours.len());
    }
    let summary = |name: &str| fs::read_to_string(here.path().join(name)).unwrap();
    assert_eq!(summary("ours.tsv"), summary("theirs.tsv"));
}
