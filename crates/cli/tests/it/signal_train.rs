//! `seqloom signal train` on simulated controls (`seqloom_testkit::nanopore` says what that can
//! show): the table of R9.4.1's CpG k-mers is found again, and what was trained calls reads of
//! another genome about as well as the table that the reads were made from. Reads drift and skip
//! k-mers, of which the model knows nothing.

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::path::Path;

use crate::common::{Run, folder, run, seqloom};
use seqloom_calling::Motif;
use seqloom_calling::pore_model::{ModelRequest, PoreModel, builtin, text, uncalled4};
use seqloom_calling::training;
use seqloom_testkit::nanopore::{Level, LevelOf, NanoporeOptions, NanoporeRun, simulate};
use seqloom_testkit::random::Random;
use seqloom_testkit::skip::{self, data};

/// The options of all reads here.
fn noisy(seed: u64, reads: usize) -> NanoporeOptions {
    NanoporeOptions {
        seed,
        reference_bases: 150_000,
        reads,
        skip_rate: 0.02,
        drift_pa: 1.0,
        ..NanoporeOptions::default()
    }
}

/// Makes reads in the folder `name` of `here`.
fn write(here: &Path, name: &str, options: &NanoporeOptions, level_of: LevelOf<'_>) -> NanoporeRun {
    let truth = simulate(options, level_of);
    let folder = here.join(name);
    fs::create_dir(&folder).unwrap();
    truth.write(&folder).unwrap();
    let line = "signal convert --quiet reads.slow5 -o reads.blow5";
    run(seqloom(line.split_whitespace()).current_dir(folder)).ok();
    truth
}

/// Both controls: of one genome, as they are in a folder each.
fn controls(here: &Path, options: &NanoporeOptions, level_of: LevelOf<'_>) {
    let bare = NanoporeOptions { site_rates: &[0.0], ..options.clone() };
    write(here, "bare", &bare, level_of);
    let read_seed = Some(options.seed + 100);
    let methylated = NanoporeOptions { site_rates: &[1.0], read_seed, ..bare };
    write(here, "methylated", &methylated, level_of);
}

fn train(here: &Path, rest: &str) -> Run {
    let line = format!(
        "signal train --reference bare/reference.fa --bam bare/reads.sam --reads bare/reads.fa \
         --signal bare/reads.blow5 --methylated-bam methylated/reads.sam \
         --methylated-reads methylated/reads.fa --methylated-signal methylated/reads.blow5 {rest}"
    );
    run(seqloom(line.split_whitespace()).current_dir(here))
}

/// Groups of sites that are called, and how many of them rightly.
#[derive(Debug)]
struct Calls {
    called: usize,
    right: usize,
}

impl Calls {
    fn share(&self) -> f64 {
        self.right as f64 / self.called as f64
    }
}

/// The calls of the reads in `here`, against the truth.
fn right(here: &Path, truth: &NanoporeRun, rest: &str) -> Calls {
    let line = format!(
        "signal methylation --quiet --bam reads.sam --reference reference.fa --reads reads.fa \
         --signal reads.blow5 {rest}"
    );
    let table = run(seqloom(line.split_whitespace()).current_dir(here)).ok().text();
    let mut states: HashMap<(&str, usize), bool> = HashMap::new();
    for read in &truth.reads {
        for &(group, state) in &read.methylated {
            states.insert((read.name.as_str(), truth.groups[group].sites[0]), state);
        }
    }
    let mut calls = Calls { called: 0, right: 0 };
    for line in table.lines().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        let start: usize = fields[2].parse().unwrap();
        // Groups that the read covers in part have no one state.
        let Some(state) = states.get(&(fields[4], start)) else { continue };
        let ratio: f64 = fields[5].parse().unwrap();
        calls.called += 1;
        calls.right += usize::from((ratio > 0.0) == *state);
    }
    calls
}

fn level(model: &PoreModel, kmer: &[u8]) -> Level {
    let rank = model.rank(kmer).unwrap();
    Level { mean_pa: model.level_mean_pa[rank] as f32, stdv_pa: model.level_stdv_pa[rank] as f32 }
}

/// A table of methylated k-mers: the bare ones of `nucleotides`, and what methylation does to them.
fn methylated_by(nucleotides: &PoreModel, effect_pa: impl Fn(&[u8]) -> f64) -> PoreModel {
    let mut model = training::start(nucleotides, Motif::Cpg).unwrap();
    let mut kmer = Vec::new();
    for rank in 0..model.rows() {
        kmer.clear();
        model.alphabet.append_kmer(rank, model.kmer_length, &mut kmer);
        model.level_mean_pa[rank] += effect_pa(&kmer);
    }
    model
}

fn write_table(model: &PoreModel, path: &Path) {
    let mut text = b"#alphabet\tcpg\n".to_vec();
    for (rank, mean) in model.level_mean_pa.iter().enumerate() {
        model.alphabet.append_kmer(rank, model.kmer_length, &mut text);
        writeln!(text, "\t{mean:.5}\t{:.5}", model.level_stdv_pa[rank]).unwrap();
    }
    fs::write(path, text).unwrap();
}

/// Events of each k-mer, as the table has them.
fn events(table: &str) -> Vec<u32> {
    let rows = table.lines().filter(|line| !line.starts_with(['#', 'k']));
    rows.map(|line| line.rsplit('\t').next().unwrap().parse().unwrap()).collect()
}

/// Levels are those of the table: means to half a picoampere, deviations to 15 %, of 95 % of k-mers
/// with 50 events and more.
fn is_near(trained: &PoreModel, truth: &PoreModel, events: &[u32]) {
    let (mut kmers, mut means, mut stdvs) = (0, 0, 0);
    for rank in (0..truth.rows()).filter(|&rank| events[rank] >= 50) {
        let apart = trained.level_mean_pa[rank] - truth.level_mean_pa[rank];
        let ratio = trained.level_stdv_pa[rank] / truth.level_stdv_pa[rank];
        kmers += 1;
        means += usize::from(apart.abs() <= 0.5);
        stdvs += usize::from((ratio - 1.0).abs() <= 0.15);
    }
    let said = format!("of {kmers} k-mers {means} means and {stdvs} deviations are near");
    assert!(kmers > 6_000 && means * 100 >= kmers * 95 && stdvs * 100 >= kmers * 95, "{said}");
}

#[test]
fn the_table_of_r9_is_found_again_from_reads_that_were_made_from_it() {
    let here = folder();
    let truth = builtin::r9_4_1_methylated(Motif::Cpg).unwrap();
    let level_of = |kmer: &[u8]| level(&truth, kmer);
    controls(here.path(), &noisy(1, 480), &level_of);
    let held_out = write(here.path(), "held_out", &noisy(2, 40), &level_of);
    train(here.path(), "--quiet -o trained.model").ok();
    let table = fs::read_to_string(here.path().join("trained.model")).unwrap();
    let trained = text::parse(table.as_bytes(), &ModelRequest::default()).unwrap();
    is_near(&trained, &truth, &events(&table));
    let held_out = |rest| right(&here.path().join("held_out"), &held_out, rest);
    // The true table is that of the program.
    let with_truth = held_out("");
    let with_trained = held_out("--methylation-model ../trained.model");
    let said = format!("{with_truth:?} with the true table, {with_trained:?} with the trained one");
    assert_eq!(with_truth.called, with_trained.called);
    assert!(with_truth.called > 2_000 && with_truth.share() > 0.85, "{said}");
    assert!(with_trained.share() >= with_truth.share() - 0.01, "{said}");
}

/// What the letters of a methylated 9-mer do to it: by the places of M, more or less by the letter
/// before. Made up.
fn letters_pa(kmer: &[u8]) -> f64 {
    const BY_PLACE: [f64; 9] = [0.5, -1.0, 2.0, -4.0, 6.0, 5.0, -3.0, 1.5, 0.5];
    let of_place = |place: usize| match kmer.get(place.wrapping_sub(1)) {
        Some(b'A') => BY_PLACE[place] * 0.7,
        Some(b'T') => BY_PLACE[place] * 1.3,
        _ => BY_PLACE[place],
    };
    (0..kmer.len()).filter(|&place| kmer[place] == b'M').map(of_place).sum()
}

/// What methylation does to a 9-mer: what its letters do, and something of each k-mer's own that no
/// letter explains.
fn effect_pa(kmer: &[u8]) -> f64 {
    let mut random = Random::new(kmer.iter().fold(7, |seed, &it| seed * 31 + u64::from(it)));
    if kmer.contains(&b'M') { random.normal(letters_pa(kmer), 1.0) } else { 0.0 }
}

/// Root mean square of what methylated levels with five events or more are off, in standard errors
/// of the mean of so many events.
fn standard_errors_off(trained: &PoreModel, truth: &PoreModel, events: &[u32]) -> f64 {
    let (mut squares, mut kmers, mut kmer) = (0.0, 0.0, Vec::new());
    for rank in (0..truth.rows()).filter(|&rank| events[rank] >= 5) {
        kmer.clear();
        truth.alphabet.append_kmer(rank, truth.kmer_length, &mut kmer);
        if kmer.contains(&b'M') {
            let apart = trained.level_mean_pa[rank] - truth.level_mean_pa[rank];
            squares += (apart / truth.level_stdv_pa[rank]).powi(2) * f64::from(events[rank]);
            kmers += 1.0;
        }
    }
    assert!(kmers > 50_000.0, "{kmers}");
    f64::sqrt(squares / kmers)
}

/// R10.4.1: levels are those of Uncalled4's 9-mers, methylation is made up, as there is no table of
/// it. There are 176,000 methylated 9-mers. Half the bases of these genomes begin one: controls of
/// 0.7 Mb have two of each, which says little of what is of a k-mer's own. A table must do as well
/// as one of all that letters explain, to one point, and levels be no further off, all in all, than
/// means of their events are. Controls of 2.8 Mb have eight of each, so that nine in ten would have
/// the five that training needs, were all as frequent: there, calls are those of the true table to
/// a point.
#[test]
fn a_table_of_r10_calls_reads_of_another_genome() {
    let Some(path) = data("nanopore/models/uncalled4/dna_r10.4.1_400bps_9mer.npz") else { return };
    let nucleotides =
        uncalled4::parse(&fs::read(&path).unwrap(), None, &ModelRequest::default()).unwrap();
    let truth = methylated_by(&nucleotides, effect_pa);
    let level_of = |kmer: &[u8]| level(&truth, kmer);
    let here = folder();
    let scale = if skip::slow_tests() { 4 } else { 1 };
    let r10 = |seed, reads, reference_bases| NanoporeOptions {
        kmer_length: 9,
        kit: "sqk-lsk114",
        sampling_rate_hz: 5000.0,
        dwell_samples: 12.5,
        reference_bases,
        ..noisy(seed, reads)
    };
    // Each base of the genome twice.
    controls(here.path(), &r10(3, scale * 200, scale * 350_000), &level_of);
    let held_out = write(here.path(), "held_out", &r10(4, 240, 1_400_000), &level_of);
    let given = format!("--kmer-model {}", path.display());
    train(here.path(), &format!("{given} --quiet -o trained.model")).ok();
    write_table(&truth, &here.path().join("true.model"));
    write_table(&methylated_by(&nucleotides, letters_pa), &here.path().join("letters.model"));
    let held_out = |table: &str| {
        let rest = format!("{given} --methylation-model ../{table}");
        right(&here.path().join("held_out"), &held_out, &rest)
    };
    let (with_truth, with_trained) = (held_out("true.model"), held_out("trained.model"));
    let with_letters = held_out("letters.model");
    let said = format!(
        "{with_truth:?} with the true table, {with_letters:?} with what letters explain, \
         {with_trained:?} with the trained one"
    );
    assert_eq!(with_truth.called, with_trained.called);
    assert!(with_truth.called > 20_000 && with_truth.share() > 0.85, "{said}");
    let needed = if skip::slow_tests() { with_truth } else { with_letters };
    assert!(with_trained.share() >= needed.share() - 0.01, "{said}");
    let table = fs::read_to_string(here.path().join("trained.model")).unwrap();
    let trained = text::parse(table.as_bytes(), &ModelRequest::default()).unwrap();
    let off = standard_errors_off(&trained, &truth, &events(&table));
    assert!(off < 1.0, "levels are {off} standard errors off");
}

/// Controls that are just enough.
fn few(here: &Path) {
    let truth = builtin::r9_4_1_methylated(Motif::Cpg).unwrap();
    let options = NanoporeOptions { reference_bases: 12_000, ..noisy(5, 14) };
    controls(here, &options, &|kmer| level(&truth, kmer));
}

#[test]
fn tables_are_the_same_on_any_number_of_threads() {
    let here = folder();
    few(here.path());
    let rest = "--quiet --rounds 2 --min-events 3";
    let with = |threads: usize| {
        let rest = format!("{rest} -t {threads} --json report.json -o -");
        let table = train(here.path(), &rest).ok().text();
        let report = fs::read_to_string(here.path().join("report.json")).unwrap();
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        assert_eq!(report["counts"]["records"], 28);
        assert_eq!(report["inputs"].as_array().unwrap().len(), 4);
        table
    };
    let expected = with(1);
    assert!(expected.starts_with("#ont_model_name\t"), "{}", &expected[..80]);
    assert!(expected.contains("\n#alphabet\tcpg\n") && expected.contains("2 rounds"));
    for threads in [2, 7] {
        assert!(with(threads) == expected, "-t {threads}");
    }
    // Another round and other events make another table.
    for other in ["--rounds 3 --min-events 3", "--rounds 2 --min-events 4"] {
        assert!(train(here.path(), &format!("--quiet {other} -o -")).ok().text() != expected);
    }
}

#[test]
fn what_cannot_be_trained_on_is_refused_by_name() {
    let here = folder();
    few(here.path());
    let refuse = |rest: &str, class: i32, words: &[&str]| {
        let line = format!(
            "signal train --quiet --reference bare/reference.fa --reads bare/reads.fa \
             --methylated-reads methylated/reads.fa -o out.model {rest}"
        );
        run(seqloom(line.split_whitespace()).current_dir(here.path()))
            .fails_with(class)
            .says(words);
        assert!(!here.path().join("out.model").exists(), "{rest}");
    };
    let bare = "--bam bare/reads.sam --signal bare/reads.blow5";
    let methylated = "--methylated-bam methylated/reads.sam --methylated-signal";
    let both = format!("{bare} {methylated} methylated/reads.blow5");
    refuse(bare, 2, &["--methylated-bam", "--methylated-signal"]);
    let same = "--methylated-bam methylated/../bare/reads.sam --methylated-signal bare/reads.blow5";
    refuse(&format!("{bare} {same}"), 2, &["are one file", "the control without methylation"]);
    let stream = format!("--bam - --signal bare/reads.blow5 {methylated} methylated/reads.blow5");
    refuse(&stream, 2, &["--bam -", "each round reads it anew"]);
    refuse(&format!("{bare} --methylated-bam no.bam --methylated-signal no.blow5"), 3, &["no.b"]);
    refuse(&format!("{both} --rounds 0"), 2, &["--rounds"]);
    refuse(&format!("{both} --min-events 1"), 2, &["--min-events"]);
    refuse(&format!("{both} --motif gcg"), 2, &["--motif"]);
    refuse(&format!("{both} -m 148000K -t 2"), 2, &["the model, its sums", "is the least"]);
    let too_many = ["k-mers without a methylated base have 60000 events or more", "are needed"];
    refuse(&format!("{both} --min-events 60000"), 3, &too_many);
    // Signal of the wrong reads, molecules and chemistries.
    let swapped = format!("{bare} {methylated} bare/reads.blow5");
    refuse(&swapped, 3, &["none of 14 records could be called", "no signal of this name"]);
    let with = |name: &str, from: &str, to: &str| {
        let slow5 = fs::read_to_string(here.path().join("methylated/reads.slow5")).unwrap();
        assert!(slow5.contains(from));
        fs::write(here.path().join(name), slow5.replace(from, to)).unwrap();
        format!("{bare} {methylated} {name}")
    };
    let rna = with("rna.slow5", "sqk-lsk109", "sqk-rna002");
    refuse(&rna, 3, &["rna.slow5", "R9 RNA", "methylation is trained of DNA only"]);
    let r10 = with("r10.slow5", "sqk-lsk109", "sqk-lsk114");
    refuse(&r10, 3, &["r10.slow5", "R10 DNA", "--kmer-model"]);
    // Tables of the four bases.
    let nucleotides = builtin::r9_4_1_nucleotide().unwrap();
    let table = here.path().join("table.model");
    let model = |from: &str, to: &str| {
        write_table(&nucleotides, &table);
        let text = fs::read_to_string(&table).unwrap().replace("#alphabet\tcpg\n", "");
        assert!(text.contains(from));
        fs::write(&table, text.replace(from, to)).unwrap();
    };
    let given = format!("{both} --kmer-model table.model");
    model("ACGTAC\t", "#ACGTAC\t");
    refuse(&given, 3, &["table.model", "1 of 4096 6-mers", "'ACGTAC'"]);
    model("ACGTAC\t", "ACGTAC\tnan\t");
    refuse(&given, 3, &["table.model", "'nan'"]);
    model("ACGTAC\t", "ACGTAC\t");
    refuse(&format!("{r10} --kmer-model table.model"), 3, &["--signal is R9 DNA", "R10 DNA"]);
    write_table(&builtin::r9_4_1_methylated(Motif::Cpg).unwrap(), &table);
    refuse(&given, 3, &["table.model", "Methylated", "Nucleotide"]);
}
