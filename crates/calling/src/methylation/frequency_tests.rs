//! Cut-offs, groups and errors by example, and f5c's own expectation.

use std::fs;

use seqloom_testkit::skip;

use super::*;
use crate::methylation::table::TableFormat;

const HEADER: &str = "chromosome\tstrand\tstart\tend\tread_name\tlog_lik_ratio\t\
    log_lik_methylated\tlog_lik_unmethylated\tnum_calling_strands\tnum_motifs\tsequence\n";

fn options(style: CutoffStyle, splits_groups: bool) -> FrequencyOptions {
    let splits_groups = splits_groups.then_some(Motif::Cpg);
    let cutoff = Cutoff { style, threshold: style.default_threshold() };
    FrequencyOptions { cutoff, splits_groups }
}

/// The table without its header line.
fn text_of_all(frequencies: Frequencies) -> String {
    let mut out = Vec::new();
    frequencies
        .write(|piece| {
            out.extend_from_slice(piece);
            Ok::<_, ()>(())
        })
        .unwrap();
    let text = String::from_utf8(out).unwrap();
    text.split_once('\n').unwrap().1.to_owned()
}

/// `sequence start end ratio sites text`
fn row(line: &str) -> String {
    let f: Vec<&str> = line.split(' ').collect();
    let [name, start, end, ratio, sites, text] = f[..] else { panic!("{line}") };
    format!("{name}\t+\t{start}\t{end}\tr\t{ratio}\t-1\t-2\t1\t{sites}\t{text}\n")
}

fn counted(options: FrequencyOptions, tables: &[&[&str]]) -> Result<Frequencies, FrequencyError> {
    let folder = tempfile::tempdir().unwrap();
    let mut frequencies = Frequencies::new(options);
    for (index, lines) in tables.iter().enumerate() {
        let path = folder.path().join(format!("{index}.tsv"));
        let rows: String = lines.iter().map(|line| row(line)).collect();
        fs::write(&path, format!("{HEADER}{rows}")).unwrap();
        frequencies.read(&path)?;
    }
    Ok(frequencies)
}

#[test]
fn groups_are_counted() {
    let t = |style, splits, tables: &[&[&str]], expected: &[&str]| {
        let found = counted(options(style, splits), tables).unwrap();
        let expected: String = expected.iter().map(|l| l.replace(' ', "\t") + "\n").collect();
        assert_eq!(text_of_all(found), expected);
    };
    let nanopolish = CutoffStyle::Nanopolish;
    t(nanopolish, false, &[], &[]);
    t(nanopolish, false, &[&[]], &[]);
    // The threshold counts per site, and a ratio at the threshold counts.
    let group = ["c 5 9 4.0 2 ACGACGA", "c 5 9 -3.99 2 ACGACGA", "c 5 9 -4.1 2 ACGACGA"];
    t(nanopolish, false, &[&group], &["c 5 9 2 4 2 0.500 ACGACGA"]);
    t(CutoffStyle::F5c, false, &[&group], &["c 5 9 2 6 2 0.333 ACGACGA"]);
    // Sorted by the bytes of the name, then by numbers; several files; the first text stays.
    let (one, two) = (["b 10 10 3 1 ACG", "b 9 9 -3 1 CGA"], ["b 10 10 -3 1 XXX", "B 1 1 9 1 CG"]);
    t(
        nanopolish,
        false,
        &[&one, &two],
        &["B 1 1 1 1 1 1.000 CG", "b 9 9 1 1 0 0.000 CGA", "b 10 10 1 2 1 0.500 ACG"],
    );
    t(nanopolish, false, &[&["c 1 1 0 0 CG"]], &[]);
    // Positions of split groups count from the first CG of the text.
    t(
        nanopolish,
        true,
        &[&["c 5 9 5 2 ACGTACGA", "c 5 5 2 1 ACGTA", "c 5 5 1.9 1 ACGTA"]],
        &["c 5 5 1 2 2 1.000 split-group", "c 9 9 1 1 1 1.000 split-group"],
    );
    t(nanopolish, true, &[&["c 5 9 5 2 AAAA"]], &[]);
    t(
        nanopolish,
        true,
        &[&["c 5 6 5 2 CGCG"]],
        &["c 5 5 1 1 1 1.000 split-group", "c 7 7 1 1 1 1.000 split-group"],
    );
}

#[test]
fn the_header_follows_the_first_input() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.tsv");
    let t = |name: &str, expected: &str| {
        fs::write(&path, HEADER.replace("num_motifs", name)).unwrap();
        let mut frequencies = Frequencies::new(options(CutoffStyle::F5c, false));
        frequencies.read(&path).unwrap();
        let mut out = Vec::new();
        let collect = |piece: &[u8]| {
            out.extend_from_slice(piece);
            Ok::<_, ()>(())
        };
        frequencies.write(collect).unwrap();
        assert!(String::from_utf8(out).unwrap().contains(expected));
    };
    t("num_motifs", "\tnum_motifs_in_group\t");
    t("num_cpgs", "\tnum_cpgs_in_group\t");
}

#[test]
fn malformed_tables_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.tsv");
    let t = |text: &str, expected: &str| {
        fs::write(&path, text).unwrap();
        let error = Frequencies::new(options(CutoffStyle::F5c, false)).read(&path).unwrap_err();
        let error = error.to_string().replace(&path.display().to_string(), "FILE");
        assert!(error.starts_with(expected), "{error}");
    };
    t("", "FILE: is empty");
    t("c\t5\n", "FILE: line 1 has no column chromosome");
    t(&format!("{HEADER}{}c\t5", row("c 1 1 3 1 CG")), "FILE: line 3 has 2 fields where");
    t(&format!("{HEADER}\n"), "FILE: line 2 has 1 fields where");
    let missing = Frequencies::new(options(CutoffStyle::F5c, false)).read(Path::new("/none"));
    assert!(matches!(missing, Err(FrequencyError::Source(_))));
}

/// f5c's own expectation, made by `f5c meth-freq -c 2.5` of the calls next to it.
#[test]
fn frequencies_are_those_of_f5c() {
    let Some(folder) = skip::data("nanopore/f5c_ecoli_2kb/ecoli_2kb_region") else { return };
    let calls = tempfile::NamedTempFile::new().unwrap();
    let rows = fs::read_to_string(folder.join("meth.exp")).unwrap();
    fs::write(calls.path(), format!("{}{rows}", TableFormat::F5c.header())).unwrap();
    for (splits, expected) in [(false, "freq.exp"), (true, "freq-s.exp")] {
        let mut frequencies = Frequencies::new(options(CutoffStyle::F5c, splits));
        frequencies.read(calls.path()).unwrap();
        assert_eq!(frequencies.rows(), 20_630);
        let expected = fs::read_to_string(folder.join(expected)).unwrap();
        let (_, expected) = expected.split_once('\n').unwrap();
        assert_eq!(text_of_all(frequencies), expected);
    }
}
