//! `seqloom signal eventalign` of RNA and of pores after R9: simulated reads
//! (`seqloom_testkit::nanopore`, levels of published models) against the truth, R9.4.1 RNA against
//! nanopolish, too; and models that are not for the reads.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{Run, folder, has, run, seqloom, words};
use seqloom_calling::pore_model::{ModelRequest, PoreModel, builtin, text, uncalled4};
use seqloom_testkit::nanopore::{CONTIG, Level, NanoporeOptions, NanoporeRun, simulate};
use seqloom_testkit::skip::data;

fn simulated(model: &PoreModel, options: NanoporeOptions) -> NanoporeRun {
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
        kmer_length: model.kmer_length,
        ..options
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

fn write(here: &Path, model: &PoreModel, options: NanoporeOptions) -> NanoporeRun {
    let truth = simulated(model, options);
    truth.write(here).unwrap();
    let line = "signal convert --quiet reads.slow5 -o reads.blow5";
    run(seqloom(line.split_whitespace()).current_dir(here)).ok();
    truth
}

/// Rows of a table by name and sample that are at the k-mer which was in the pore, or next to it.
fn near_the_truth(truth: &NanoporeRun, table: &str) {
    let by_name: HashMap<&str, _> = truth.reads.iter().map(|it| (it.name.as_str(), it)).collect();
    let (mut rows, mut near) = (0, 0);
    for line in table.lines().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        if fields[9].starts_with('N') {
            continue;
        }
        assert_eq!(fields[0], CONTIG);
        let read = by_name[fields[3]];
        let number = |at: usize| fields[at].parse::<usize>().unwrap();
        let (first, end) = (number(13), number(14));
        let middle = (first + end) / 2;
        let seconds = (end - first) as f64 / truth.options.sampling_rate_hz;
        assert_eq!(format!("{seconds:.5}"), fields[8], "{line}");
        // The samples of RNA run from the last k-mer to the first.
        let kmer = match truth.options.is_rna {
            true => read.kmer_starts.partition_point(|&start| start > middle),
            false => read.kmer_starts.partition_point(|&start| start <= middle) - 1,
        };
        let last = read.kmer_starts.len() - 1;
        let kmer = if read.is_reverse { last - kmer } else { kmer };
        rows += 1;
        near += usize::from((read.start + kmer).abs_diff(number(1)) <= 1);
    }
    let said = format!("{near} of {rows} events");
    assert!(rows > 30_000 && near * 100 >= rows * 95, "{said}");
}

/// The table of simulated reads is near the truth, and the same on any number of threads.
fn is_right(model: &PoreModel, options: NanoporeOptions, rest: &str) {
    let here = folder();
    let truth = write(here.path(), model, options);
    let rest = format!("--signal reads.blow5 -n --signal-index {rest}");
    let table = eventalign(here.path(), &format!("{rest} -t 1")).ok().text();
    for threads in [2, 7] {
        assert!(eventalign(here.path(), &format!("{rest} -t {threads}")).ok().text() == table);
    }
    near_the_truth(&truth, &table);
}

#[test]
fn events_of_rna_are_at_their_kmers() {
    let model = builtin::r9_4_1_rna().unwrap();
    is_right(&model, NanoporeOptions::rna(), "");
    // Where files of signal do not say what they are of.
    let faster =
        NanoporeOptions { sampling_rate_hz: 4000.0, dwell_samples: 57.0, ..NanoporeOptions::rna() };
    is_right(&model, faster, "--rna");
}

fn uncalled4(name: &str, stdv_pa: Option<f64>) -> Option<(PathBuf, PoreModel)> {
    let path = data("nanopore/models/uncalled4")?.join(name);
    let bytes = fs::read(&path).unwrap();
    Some((path, uncalled4::parse(&bytes, stdv_pa, &ModelRequest::default()).unwrap()))
}

#[test]
fn events_of_r10_are_at_their_kmers_at_4_and_5_khz() {
    let Some((path, model)) = uncalled4("dna_r10.4.1_400bps_9mer.npz", None) else { return };
    let rest = format!("--kmer-model {}", path.display());
    for (sampling_rate_hz, dwell_samples) in [(4000.0, 10.0), (5000.0, 12.5)] {
        let options = NanoporeOptions {
            kit: "sqk-lsk114",
            sampling_rate_hz,
            dwell_samples,
            ..NanoporeOptions::default()
        };
        is_right(&model, options, &rest);
    }
}

#[test]
fn events_of_rna004_are_at_their_kmers() {
    let options = NanoporeOptions {
        kit: "sqk-rna004",
        sampling_rate_hz: 4000.0,
        dwell_samples: 31.0,
        ..NanoporeOptions::rna()
    };
    if let Some(path) = data("nanopore/f5c_ecoli_2kb/rna004-models/rna004.nucleotide.5mer.model") {
        let model = text::parse(&fs::read(&path).unwrap(), &ModelRequest::default()).unwrap();
        is_right(&model, options, &format!("--kmer-model {}", path.display()));
    }
}

/// What does not go together is refused by name, with the table that is needed.
#[test]
fn models_that_are_not_for_the_reads_are_refused() {
    let here = folder();
    let rna = builtin::r9_4_1_rna().unwrap();
    let few = |options: NanoporeOptions| NanoporeOptions { reads: 3, ..options };
    let truth = simulated(&rna, few(NanoporeOptions::rna()));
    truth.write(here.path()).unwrap();
    let refuse = |signal: &str, rest: &str, words: &[&str]| {
        let rest = format!("--signal {signal} {rest} -o out.tsv");
        eventalign(here.path(), &rest).fails_with(3).says(words);
        assert!(!here.path().join("out.tsv").exists(), "{words:?}");
    };
    let slow5 = fs::read_to_string(here.path().join("reads.slow5")).unwrap();
    let with = |name: &str, from: &str, to: &str| {
        assert!(slow5.contains(from));
        fs::write(here.path().join(name), slow5.replace(from, to)).unwrap();
    };
    // Kits without a table.
    with("rna004.slow5", "sqk-rna002", "sqk-rna004");
    refuse("rna004.slow5", "", &["RNA004", "--kmer-model", "rna004.nucleotide.5mer.model"]);
    with("r10.slow5", "@experiment_type\trna", "@flow_cell_product_code\tFLO-MIN114");
    refuse("r10.slow5", "", &["R10 DNA", "--kmer-model", "dna_r10.4.1_400bps_9mer.npz"]);
    // The other molecule.
    with(
        "dna.slow5",
        "@experiment_type\trna\n@run_id\tsynthetic\n@sequencing_kit\tsqk-rna002",
        "@experiment_type\tgenomic_dna\n@run_id\tsynthetic\n@sequencing_kit\tsqk-lsk109",
    );
    refuse("dna.slow5", "--rna", &["R9 DNA", "--rna says"]);
    // Damaged tables.
    let table = |from: &str, to: &str| {
        let mut text = String::from("#kit\tr9.4_70bps\n#k\t5\n#alphabet\tu_to_t_rna\n");
        for rank in 0..rna.rows() {
            let mut kmer = Vec::new();
            rna.alphabet.append_kmer(rank, 5, &mut kmer);
            let kmer = String::from_utf8(kmer).unwrap();
            let (mean, stdv) = (rna.level_mean_pa[rank], rna.level_stdv_pa[rank]);
            text += &format!("{kmer}\t{mean}\t{stdv}\n");
        }
        assert!(text.contains(from));
        fs::write(here.path().join("table.model"), text.replace(from, to)).unwrap();
    };
    let given = "--kmer-model table.model";
    table("#k\t5", "#k\t5");
    refuse("dna.slow5", given, &["table.model", "the model is for R9 RNA", "R9 DNA is needed"]);
    let own = eventalign(here.path(), "--signal reads.slow5").ok().text();
    assert_eq!(eventalign(here.path(), &format!("--signal reads.slow5 {given}")).ok().text(), own);
    table("GGGGG\t", "#GGGGG\t");
    refuse("reads.slow5", given, &["table.model", "1 of 1024 5-mers", "'GGGGG'"]);
    table("GGGGG\t", "GGGGG\tnan\t");
    refuse("reads.slow5", given, &["table.model", "'nan'"]);
    table("#k\t5", "#k\t6");
    refuse("reads.slow5", given, &["table.model", "not 6 letters"]);
    // DNA's model for RNA, and a model without deviations.
    if let Some(models) = data("nanopore/models/nanopolish/etc/r9-models") {
        let dna = models.join("r9.4_450bps.nucleotide.6mer.template.model");
        let rest = format!("--kmer-model {}", dna.display());
        refuse("reads.slow5", &rest, &["the model is for R9 DNA", "R9 RNA is needed"]);
    }
    if let Some((path, _)) = uncalled4("rna004_130bps_9mer.npz", Some(3.0)) {
        let rest = format!("--kmer-model {}", path.display());
        refuse("rna004.slow5", &rest, &["current.stdv", "--level-stdv"]);
        refuse("reads.slow5", &format!("{rest} --level-stdv 3"), &["RNA004", "R9 RNA is needed"]);
    }
}

#[test]
fn events_of_rna_are_those_of_nanopolish() {
    if !has("nanopolish") || !has("samtools") {
        return;
    }
    let here = folder();
    write(here.path(), &builtin::r9_4_1_rna().unwrap(), NanoporeOptions::rna());
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
