//! Calls of `nanopolish call-methylation` and of f5c.

use std::collections::BTreeMap;
use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;

use seqloom_testkit::skip;

use super::super::real_reads::{folder, reads};
use super::inputs::{Alignment, Inputs, draft};
use super::referee::{ALIGNMENTS, Referee};
use crate::Motif;
use crate::aligned_read::AlignedSignal;
use crate::hmm::kmers::lowest_base;
use crate::methylation::call::{CallOptions, CallScratch, call_read};
use crate::pore_model::builtin;

/// Contig, strand, first and last C, read, sites, bases: what must be equal.
type Key = String;

/// Ratio, and the likelihoods with and without methylation.
type Scores = [f64; 3];

/// Calls by key; a read with several alignments can have several.
type Calls = BTreeMap<Key, Vec<Scores>>;

/// nanopolish leaves out what is mapped with a lower quality.
fn is_called(alignment: &Alignment) -> bool {
    alignment.mapq >= 20
}

fn theirs(referee: &Referee, motif: Motif) -> Calls {
    let mut calls = Calls::new();
    for line in referee.nanopolish("call-methylation", &["-q", motif.name()]).lines().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        let key = [&fields[..5], &fields[9..11]].concat().join(" ");
        let scores = [5, 6, 7].map(|at| fields[at].parse().unwrap());
        calls.entry(key).or_default().push(scores);
    }
    calls
}

fn ours(inputs: &Inputs, motif: Motif) -> Calls {
    let model = builtin::r9_4_1_methylated(motif).unwrap();
    let (mut scratch, mut found) = (CallScratch::default(), Vec::new());
    let mut calls = Calls::new();
    for alignment in &inputs.alignments {
        let events = inputs.read(alignment).1;
        let read = inputs.aligned(alignment);
        found.clear();
        let options = CallOptions::of(motif);
        call_read(
            &mut scratch,
            AlignedSignal { read: &read, events },
            &model,
            &options,
            &mut found,
        );
        for call in &found {
            let span = call.context_start as usize..call.context_end as usize;
            let context: Vec<u8> = read.reference[span].iter().copied().map(lowest_base).collect();
            let key = [
                alignment.contig.as_str(),
                if alignment.is_reverse { "-" } else { "+" },
                &call.first.to_string(),
                &call.last.to_string(),
                std::str::from_utf8(&alignment.name).unwrap(),
                &call.motif_count.to_string(),
                std::str::from_utf8(&context).unwrap(),
            ]
            .join(" ");
            let ratio = call.log_lik_methylated - call.log_lik_unmethylated;
            let scores = [ratio, call.log_lik_methylated, call.log_lik_unmethylated];
            calls.entry(key).or_default().push(scores);
        }
    }
    calls
}

/// Compares calls that have the same keys; says how many there are.
fn compare(mut theirs: Calls, mut ours: Calls) -> u32 {
    let only_theirs: Vec<_> = theirs.keys().filter(|key| !ours.contains_key(*key)).collect();
    let only_ours: Vec<_> = ours.keys().filter(|key| !theirs.contains_key(*key)).collect();
    assert!(only_theirs.is_empty() && only_ours.is_empty(), "{only_theirs:?} {only_ours:?}");
    let (mut count, mut differences, mut greatest, mut sums) = (0, 0.0, 0.0_f64, 0.0_f64);
    for (key, theirs) in &mut theirs {
        let ours = ours.get_mut(key).unwrap();
        assert_eq!(theirs.len(), ours.len(), "{key}");
        theirs.sort_by(|a, b| a[1].total_cmp(&b[1]));
        ours.sort_by(|a, b| a[1].total_cmp(&b[1]));
        for (theirs, ours) in theirs.iter().zip(ours) {
            let difference = (ours[0] - theirs[0]).abs();
            let allowed = 0.02 + 0.1 * theirs[0].abs();
            assert!(difference <= allowed, "{key}: {ours:?} instead of {theirs:?}");
            let is_flip = theirs[0].abs() > 2.0 && (ours[0] > 0.0) != (theirs[0] > 0.0);
            assert!(!is_flip, "{key}: {ours:?} instead of {theirs:?}");
            count += 1;
            // Their ratio has two decimals: what rounding does is not ours.
            differences += (difference - 0.005).max(0.0);
            greatest = greatest.max(difference);
            sums = sums.max((ours[1] - theirs[1]).abs());
        }
    }
    let mean = differences / f64::from(count);
    println!("{count} calls, ratios: mean {mean:.6}, greatest {greatest:.4}; sums: {sums:.4}");
    assert!(mean <= 0.001, "{mean}");
    count
}

fn compare_with_nanopolish(all: bool) {
    let Some(mut referee) = Referee::new(all) else { return };
    referee.inputs.alignments.retain(is_called);
    for (motif, few, many) in [
        (Motif::Cpg, 300, 16_000),
        (Motif::Gpc, 300, 16_000),
        (Motif::Dam, 40, 2_000),
        (Motif::Dcm, 20, 1_000),
    ] {
        print!("{motif}: ");
        let count = compare(theirs(&referee, motif), ours(&referee.inputs, motif));
        assert!(count > if all { many } else { few }, "{motif}: {count}");
    }
}

#[test]
fn calls_are_those_of_nanopolish() {
    compare_with_nanopolish(false);
}

#[test]
fn slow_all_calls_are_those_of_nanopolish() {
    if skip::slow_tests() {
        compare_with_nanopolish(true);
    }
}

/// The bases of the reference that f5c's tests used which are known; it is N elsewhere.
const KNOWN: RangeInclusive<u64> = 191_106..=209_252;

/// The calls that f5c's tests expect where the reference is known. They have no strand.
fn expected_of_f5c(data: &Path) -> Calls {
    let mut calls = Calls::new();
    for line in fs::read_to_string(data.join("meth.exp")).unwrap().lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let is_known = [1, 2].iter().all(|&at| KNOWN.contains(&fields[at].parse().unwrap()));
        if fields[0] == "tig00000001" && is_known {
            let key = [&fields[..4], &fields[8..10]].concat().join(" ");
            let scores = [4, 5, 6].map(|at| fields[at].parse().unwrap());
            calls.entry(key).or_default().push(scores);
        }
    }
    calls
}

/// A key without its strand, as f5c has them.
fn without_strand(key: &str) -> Key {
    let mut fields: Vec<&str> = key.split(' ').collect();
    fields.remove(1);
    fields.join(" ")
}

/// f5c ran for all alignments, secondary ones and those of the lowest quality too.
#[test]
fn all_calls_are_those_that_f5c_expects() {
    let Some(data) = folder() else { return };
    let inputs = Inputs::new(&data.join(ALIGNMENTS), &draft(&data), reads(&data));
    let ours = ours(&inputs, Motif::Cpg).into_iter();
    let ours = ours.map(|(key, scores)| (without_strand(&key), scores)).collect();
    assert_eq!(compare(expected_of_f5c(&data), ours), 16_998);
}
