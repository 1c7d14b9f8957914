//! `nanopolish call-methylation`.

use std::collections::BTreeMap;

use seqloom_signal::hmm::kmers::lowest_base;
use seqloom_signal::methylation::call::{CallOptions, CallScratch, call_read};
use seqloom_signal::pore_model::builtin;
use seqloom_testkit::skip;

use crate::referee::Referee;

/// Contig, strand, first and last C, read, sites, bases: what must be equal.
type Key = String;

/// Ratio, and the likelihoods with and without methylation.
type Scores = [f64; 3];

/// Calls by key; a read with several alignments can have several.
type Calls = BTreeMap<Key, Vec<Scores>>;

fn theirs(referee: &Referee) -> Calls {
    let mut calls = Calls::new();
    for line in referee.nanopolish("call-methylation", &[]).lines().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        let key = [&fields[..5], &fields[9..11]].concat().join(" ");
        let scores = [5, 6, 7].map(|at| fields[at].parse().unwrap());
        calls.entry(key).or_default().push(scores);
    }
    calls
}

fn ours(referee: &Referee) -> Calls {
    let model = builtin::r9_4_1_cpg().unwrap();
    let (mut scratch, mut found) = (CallScratch::default(), Vec::new());
    let mut calls = Calls::new();
    for alignment in referee.alignments.iter().filter(|it| it.mapq >= 20) {
        let events = referee.read(alignment).1;
        let read = referee.aligned(alignment);
        found.clear();
        let options = CallOptions::default();
        call_read(&mut scratch, &read, events, &model, &options, &mut found);
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

fn compare(all: bool) {
    let Some(referee) = Referee::new(all) else { return };
    let (mut theirs, mut ours) = (theirs(&referee), ours(&referee));
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
    assert!(count > if all { 16_000 } else { 300 }, "{count}");
}

#[test]
fn calls_are_those_of_nanopolish() {
    compare(false);
}

#[test]
fn slow_all_calls_are_those_of_nanopolish() {
    if skip::slow_tests() {
        compare(true);
    }
}
