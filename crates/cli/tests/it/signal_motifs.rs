//! `seqloom signal methylation --motif` and `eventalign --sam` as users run them, against
//! nanopolish: calls, tags and counts of each motif, models for another one, events as SAM.

use std::fs;

use crate::common::{has, run, seqloom, words};
use crate::signal_methylation::{assert_same, calls, ecoli};
use seqloom_testkit::skip::data;

#[test]
fn calls_of_each_motif_are_those_of_nanopolish_on_any_number_of_threads() {
    let Some(set) = ecoli() else { return };
    if !has("nanopolish") {
        return;
    }
    let few = set.few(|_, _| ());
    for (motif, base, code, least) in [
        ("cpg", 'C', 'm', 300),
        ("gpc", 'C', 'm', 300),
        ("dam", 'A', 'a', 20),
        ("dcm", 'C', 'm', 10),
    ] {
        let theirs = set.nanopolish(&format!("call-methylation -q {motif}"), &few);
        let rest = format!("--motif {motif} --forget-hard-clips");
        let ours = set.methylation(&few, &set.fast5(), &rest).ok().text();
        let (ours, theirs) = (calls(&ours), calls(&theirs));
        assert!(theirs.len() >= least, "{motif}: {}", theirs.len());
        assert_same(&ours, &theirs);
        let with = |threads| {
            let (bam, bed) = (set.at("mod.bam"), set.at("mod.bed"));
            let outputs = format!("--modbam {} --bedmethyl {}", bam.display(), bed.display());
            let rest = format!("-q {motif} -t {threads} {outputs}");
            let table = set.methylation(&few, &set.fast5(), &rest).ok().stdout;
            let view = run(&mut words(&format!("samtools view {}", bam.display()))).ok().text();
            (table, view, fs::read_to_string(bed).unwrap())
        };
        let expected = with(1);
        let (tag, bed) = (format!("MM:Z:{base}+{code}?"), &expected.2);
        assert_eq!(expected.1.matches(&tag).count(), expected.1.matches("MM:Z").count());
        assert!(expected.1.contains(&tag), "{motif}");
        assert!(bed.lines().all(|line| line.split('\t').nth(3) == Some(&code.to_string())));
        assert!(bed.lines().count() >= least / 10, "{motif}: {bed}");
        for threads in [2, 7] {
            assert!(with(threads) == expected, "{motif} -t {threads}");
        }
    }
}

#[test]
fn a_model_of_another_motif_is_refused() {
    let Some(set) = ecoli() else { return };
    let Some(models) = data("nanopore/models/nanopolish/etc/r9-models") else { return };
    let few = set.few(|_, _| ());
    let gpc = models.join("r9.4_450bps.gpc.6mer.template.model").display().to_string();
    let refuse = |rest: &str, words: &[&str]| {
        set.methylation(&few, &set.fast5(), rest).fails_with(3).says(words);
    };
    let said = ["methylation in GC", "that in GATC is called", "'#alphabet dam' is needed"];
    refuse(&format!("-q dam --methylation-model {gpc}"), &said);
    refuse(&format!("--methylation-model {gpc}"), &["that in CG is called"]);
    let (built_in, given) = (
        set.methylation(&few, &set.fast5(), "-q gpc").ok().stdout,
        set.methylation(&few, &set.fast5(), &format!("-q gpc --methylation-model {gpc}")).ok(),
    );
    assert_eq!(built_in.len(), given.stdout.len());
    // A table for another pore is one that does not come with the program.
    let five = models.join("r9.4_450bps.nucleotide.5mer.template.model").display().to_string();
    set.methylation(&few, &set.fast5(), &format!("-q dcm --kmer-model {five}"))
        .fails_with(2)
        .says(&["methylated CCWGG", "all 5-mers of A, C, G, T and M", "--methylation-model"]);
}

#[test]
fn groups_of_any_motif_are_split() {
    let here = crate::common::folder();
    let table = here.path().join("calls.tsv");
    let header = "chromosome\tstrand\tstart\tend\tread_name\tlog_lik_ratio\tlog_lik_methylated\t\
        log_lik_unmethylated\tnum_calling_strands\tnum_motifs\tsequence\n";
    let row = "c\t+\t100\t106\tr\t9.00\t-1.00\t-10.00\t1\t2\tAAAAAGATCCGATCAA\n";
    fs::write(&table, format!("{header}{row}")).unwrap();
    let line = |rest: &str| format!("signal frequency --quiet {rest} {}", table.display());
    let starts = |rest: &str| {
        let text = run(&mut seqloom(line(rest).split_whitespace())).ok().text();
        let start = |line: &str| line.split('\t').nth(1).unwrap().to_owned();
        text.lines().skip(1).map(start).collect::<Vec<_>>()
    };
    assert_eq!(starts("-s -q dam"), ["100", "105"]);
    assert_eq!(starts("-s"), ["100"]);
    run(&mut seqloom(line("-q dam").split_whitespace())).fails_with(2).says(&["--split-groups"]);
}

#[test]
fn events_are_written_as_sam_as_nanopolish_writes_them() {
    let Some(set) = ecoli() else { return };
    let few = set.few(|_, _| ());
    let sam = |rest: &str| {
        let (signal, reads) = (set.fast5(), set.reads());
        let rest = format!("--reads {} --min-mapq 0 --forget-hard-clips {rest}", reads.display());
        set.line("eventalign", &few, &signal, &rest)
    };
    let expected = sam("--sam -t 1").ok().text();
    for threads in [2, 7] {
        let same = expected.lines().filter(|line| !line.starts_with("@PG"));
        let found = sam(&format!("--sam -t {threads}")).ok().text();
        assert!(found.lines().filter(|line| !line.starts_with("@PG")).eq(same), "-t {threads}");
    }
    let records = |text: &str| {
        let records = text.lines().filter(|line| !line.starts_with('@'));
        records.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(records(&expected).len(), 9);
    let path = set.at("events.sam");
    fs::write(&path, &expected).unwrap();
    let count = run(&mut words(&format!("samtools view -c {}", path.display()))).ok().text();
    assert_eq!(count.trim(), "9");
    sam("--sam --samples").fails_with(2).says(&["--samples"]);
    if has("nanopolish") {
        assert_eq!(records(&expected), records(&set.nanopolish("eventalign --sam", &few)));
    }
}
