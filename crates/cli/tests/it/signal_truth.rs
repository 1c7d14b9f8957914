//! Methylation calls of reads whose methylation is known: simulated ones, see
//! `seqloom_testkit::nanopore` for what that can show and what not.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::{folder, run, seqloom};
use seqloom_calling::Motif;
use seqloom_calling::pore_model::builtin;
use seqloom_testkit::nanopore::{Level, NanoporeOptions, NanoporeRun, simulate};

/// From here on a call is confident.
const CONFIDENT: f64 = 2.0;

fn signal(line: &str, here: &Path) -> Command {
    let mut command = seqloom(["signal"]);
    command.args(line.split_whitespace()).current_dir(here);
    command
}

fn simulated() -> NanoporeRun {
    let model = builtin::r9_4_1_methylated(Motif::Cpg).unwrap();
    let level_of = |kmer: &[u8]| {
        let rank = model.rank(kmer).unwrap();
        Level {
            mean_pa: model.level_mean_pa[rank] as f32,
            stdv_pa: model.level_stdv_pa[rank] as f32,
        }
    };
    simulate(&NanoporeOptions::default(), &level_of)
}

/// Of each line of a table, the fields by the names of its columns.
fn rows(path: &Path) -> Vec<HashMap<String, String>> {
    let text = fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split('\t').collect();
    let row = |line: &str| {
        let fields = line.split('\t').map(str::to_owned);
        names.iter().map(|it| (*it).to_owned()).zip(fields).collect()
    };
    lines.map(row).collect()
}

#[test]
fn confident_calls_of_simulated_reads_are_right() {
    let here = folder();
    let truth = simulated();
    truth.write(here.path()).unwrap();
    run(&mut signal("view --quiet reads.slow5 --to blow5 -o reads.blow5", here.path())).ok();
    let call = "methylation --quiet --bam reads.sam --reference reference.fa --reads reads.fa \
        --signal reads.blow5 -o calls.tsv";
    run(&mut signal(call, here.path())).ok();
    let state: HashMap<(&str, usize), bool> = truth
        .reads
        .iter()
        .flat_map(|read| {
            let group = |&(group, state): &(usize, bool)| {
                ((read.name.as_str(), truth.groups[group].sites[0]), state)
            };
            read.methylated.iter().map(group)
        })
        .collect();
    let (mut called, mut confident, mut right) = (0, 0, 0);
    for row in rows(&here.path().join("calls.tsv")) {
        let start: usize = row["start"].parse().unwrap();
        // Groups that the read covers in part have no one state.
        let Some(state) = state.get(&(row["read_name"].as_str(), start)) else { continue };
        let ratio: f64 = row["log_lik_ratio"].parse().unwrap();
        called += 1;
        confident += u32::from(ratio.abs() > CONFIDENT);
        right += u32::from(ratio.abs() > CONFIDENT && (ratio > 0.0) == *state);
    }
    let said =
        format!("{} known, {called} called, {confident} confident, {right} right", state.len());
    assert!(called as usize * 10 >= state.len() * 8, "{said}");
    assert!(confident * 2 >= called, "{said}");
    assert!(right * 100 >= confident * 95, "{said}");
    frequencies_are_near_the_rates(&truth, here.path());
}

/// Groups that ten reads or more were called in are as methylated as their molecules were made.
fn frequencies_are_near_the_rates(truth: &NanoporeRun, here: &Path) {
    run(&mut signal("frequency --quiet -c 0 calls.tsv -o frequency.tsv", here)).ok();
    let rate_of: HashMap<usize, f64> =
        truth.groups.iter().map(|group| (group.sites[0], group.rate)).collect();
    let (mut groups, mut error) = (0, 0.0);
    for row in rows(&here.join("frequency.tsv")) {
        let number = |name: &str| row[name].parse::<f64>().unwrap();
        if number("called_sites") >= 10.0 * number("num_motifs_in_group") {
            // A group that all reads there see in part is another one to the caller.
            let Some(rate) = rate_of.get(&row["start"].parse().unwrap()) else { continue };
            groups += 1;
            // Half-methylated groups vary by chance: five reads of ten have a spread of 0.16.
            error += (number("methylated_frequency") - rate).abs();
        }
    }
    let mean = error / f64::from(groups);
    assert!(groups > 50 && mean < 0.15, "{groups} groups, {mean:.3} apart");
}
