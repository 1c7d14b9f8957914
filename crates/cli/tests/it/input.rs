//! What is read and what is refused: the specimens of Cock et al. 2010 (Nucleic Acids Res 38:1767)
//! and damage of our own, each error naming the file and the record.

use crate::common::{SOON, folder, run_for, seqloom};
use crate::data::{align, small, small_pairs};
use seqloom_testkit::sam::Templates;
use std::fs;
use std::path::{Path, PathBuf};

/// The specimens that must be refused, and the record that is at fault.
const ERRORS: [(&str, &str); 22] = [
    ("diff_ids", "SLXA-B3_649_FC8437_R1_1_1_850_123"),
    ("double_qual", "SLXA-B3_649_FC8437_R1_1_1_850_123"),
    ("double_seq", "SLXA-B3_649_FC8437_R1_1_1_362_549"),
    ("long_qual", "SLXA-B3_649_FC8437_R1_1_1_362_549"),
    ("no_qual", "SLXA-B3_649_FC8437_R1_1_1_610_79"),
    ("qual_del", "SLXA-B3_649_FC8437_R1_1_1_362_549"),
    ("qual_escape", "SLXA-B3_649_FC8437_R1_1_1_183_714"),
    ("qual_null", "SLXA-B3_649_FC8437_R1_1_1_850_123"),
    ("qual_space", "SLXA-B3_649_FC8437_R1_1_1_362_549"),
    ("qual_tab", "SLXA-B3_649_FC8437_R1_1_1_183_714"),
    ("qual_unit_sep", "SLXA-B3_649_FC8437_R1_1_1_850_123"),
    ("qual_vtab", "SLXA-B3_649_FC8437_R1_1_1_610_79"),
    ("short_qual", "SLXA-B3_649_FC8437_R1_1_1_850_123"),
    ("spaces", "SLXA-B3_649_FC8437_R1_1_1_610_79"),
    ("tabs", "SLXA-B3_649_FC8437_R1_1_1_610_79"),
    ("trunc_at_plus", "SLXA-B3_649_FC8437_R1_1_1_183_714"),
    ("trunc_at_qual", "SLXA-B3_649_FC8437_R1_1_1_183_714"),
    ("trunc_at_seq", "SLXA-B3_649_FC8437_R1_1_1_183_714"),
    ("trunc_in_plus", "SLXA-B3_649_FC8437_R1_1_1_183_714"),
    ("trunc_in_qual", "SLXA-B3_649_FC8437_R1_1_1_183_714"),
    ("trunc_in_seq", "SLXA-B3_649_FC8437_R1_1_1_183_714"),
    ("trunc_in_title", "SLXA-B3_649_FC8437_R1_1_1_"),
];

/// Specimens in Phred+33: read as they are. The last record of `tricky` is wrapped.
const GOOD: [&str; 10] = [
    "example",
    "example_dos",
    "tricky",
    "sanger_93",
    "sanger_faked",
    "zero_length",
    "longreads_as_sanger",
    "misc_dna_as_sanger",
    "misc_dna_original_sanger",
    "sanger_full_range_as_sanger",
];

fn specimens() -> Option<PathBuf> {
    seqloom_testkit::skip::data("fastq_edge/biopython/Quality")
}

const STREAM: [&str; 7] =
    ["--no-pg", "--no-sort", "--no-mark-duplicates", "--output-format", "sam", "-o", "-"];

#[test]
fn bad_specimens_are_refused_by_record() {
    let Some(folder) = specimens() else { return };
    for t in ["1", "3"] {
        for (name, record) in ERRORS {
            let file = format!("error_{name}.fastq");
            let mut command = seqloom(align(small(), &[&folder.join(&file)]));
            let run = run_for(command.args(STREAM).args(["-t", t]), SOON);
            assert_eq!(run.code(), 3, "{name}: {}", run.stderr);
            run.says(&[&file, record, "record", "line"]);
        }
    }
}

/// Name, bases and qualities as Cock et al. define them: bases go on to the `+`, qualities until
/// they are as many, whatever their lines start with.
fn expected(path: &Path) -> Vec<[String; 3]> {
    let text = fs::read_to_string(path).unwrap();
    let mut lines = text.lines().peekable();
    let mut records = Vec::new();
    while let Some(title) = lines.next() {
        let name = title[1..].split_whitespace().next().unwrap().to_owned();
        let (mut bases, mut qualities) = (String::new(), String::new());
        while let Some(line) = lines.next_if(|l| !l.starts_with('+')) {
            bases += &line.to_uppercase();
        }
        lines.next().expect("a line with +");
        // A record without bases has an empty line of qualities all the same.
        qualities += lines.next().unwrap();
        while qualities.len() < bases.len() {
            qualities += lines.next().expect("qualities for every base");
        }
        let star = |s: String| if s.is_empty() { "*".to_owned() } else { s };
        records.push([name, star(bases), star(qualities)]);
    }
    records
}

#[test]
fn good_specimens_are_read_as_they_are() {
    let Some(folder) = specimens() else { return };
    for name in GOOD {
        let path = folder.join(format!("{name}.fastq"));
        let mut command = seqloom(align(small(), &[&path]));
        let run = run_for(command.args(STREAM), SOON).ok();
        let mut templates = Templates::new(&run.stdout[..], name);
        let mut seen = Vec::new();
        while templates.advance().unwrap() {
            for r in templates.records().unwrap() {
                // A specimen that happened to align would need reversing: none is that long a
                // match of a simulated genome.
                assert_eq!(r.flag, 4, "{name}");
                let text = |i: usize| String::from_utf8_lossy(r.columns[i]).into_owned();
                seen.push([text(0), text(9), text(10)]);
            }
        }
        let known: Vec<[String; 3]> = expected(&path)
            .into_iter()
            .map(|[name, bases, qualities]| {
                let bases = bases.chars().map(|c| if "ACGT*".contains(c) { c } else { 'N' });
                [name, bases.collect(), qualities]
            })
            .collect();
        assert_eq!(seen, known, "{name}");
    }
}

#[test]
fn wrapped_specimens_are_read_or_refused_as_such() {
    let Some(folder) = specimens() else { return };
    let (wrapped, plain) = ("wrapping_original_sanger.fastq", "wrapping_as_sanger.fastq");
    let mut command = seqloom(align(small(), &[&folder.join(wrapped)]));
    let run = run_for(command.args(STREAM), SOON);
    if run.code() == 3 {
        run.says(&[wrapped, "line"]);
        return;
    }
    let mut command = seqloom(align(small(), &[&folder.join(plain)]));
    let flat = run_for(command.args(STREAM), SOON).ok();
    assert_eq!(run.ok().text(), flat.text());
}

#[test]
fn other_quality_scales_are_refused() {
    let here = folder();
    let text = fs::read_to_string(&small_pairs().first).unwrap();
    let shift = |(i, line): (usize, &str)| {
        let up = |b: u8| char::from((b + 31).min(126));
        if i % 4 == 3 { line.bytes().map(up).collect() } else { line.to_owned() }
    };
    let shifted: Vec<String> = text.lines().take(40_000).enumerate().map(shift).collect();
    let path = here.path().join("phred64.fq");
    fs::write(&path, shifted.join("\n") + "\n").unwrap();
    let run = run_for(seqloom(align(small(), &[&path])).args(STREAM), SOON);
    run.fails_with(3).says(&["phred64.fq", "64"]);
}

/// Damage done to one file of a pair: what it is, the damage, and a word the message must have.
type Damage = (&'static str, fn(&mut Vec<String>), &'static str);

#[test]
fn damaged_pairs_are_refused() {
    let here = folder();
    let read = |p: &Path| fs::read_to_string(p).unwrap().lines().map(str::to_owned).collect();
    let second: Vec<String> = read(&small_pairs().second);
    let damages: [Damage; 6] = [
        ("one record fewer", |l| l.truncate(l.len() - 4), "record"),
        ("one record missing inside", |l| drop(l.drain(4000..4004)), "SIM"),
        ("names out of step", |l| l.swap(8000, 8004), "SIM"),
        ("ends inside a record", |l| l.truncate(l.len() - 2), "record"),
        ("quality too short", |l| l[4003].truncate(20), "SIM100"),
        ("no quality line", |l| drop(l.remove(4003)), "SIM100"),
    ];
    for t in ["1", "4"] {
        for (what, damage, word) in &damages {
            let mut lines = second.clone();
            damage(&mut lines);
            let path = here.path().join("damaged.fq");
            fs::write(&path, lines.join("\n") + "\n").unwrap();
            let out = here.path().join("x.bam");
            let mut command = seqloom(align(small(), &[&small_pairs().first, &path]));
            let run = run_for(command.args(["-t", t, "-o"]).arg(&out), SOON);
            assert_eq!(run.code(), 3, "{what}, -t {t}: {}", run.stderr);
            run.says(&["damaged.fq", word]);
            assert!(!out.exists(), "{what}: a file with the final name");
        }
    }
}

#[test]
fn truncated_compressed_files_are_refused() {
    let here = folder();
    for (program, suffix) in [("gzip", "gz"), ("bgzip", "bgz.gz"), ("zstd", "zst")] {
        if !crate::common::has(program) {
            continue;
        }
        let whole = here.path().join(format!("whole.fq.{suffix}"));
        let mut pack = crate::common::words(&format!("{program} -c"));
        crate::common::run_into(pack.arg(&small_pairs().first), &whole).ok();
        let bytes = fs::read(&whole).unwrap();
        for keep in [bytes.len() / 2, bytes.len() - 40] {
            let cut = here.path().join(format!("cut.fq.{suffix}"));
            fs::write(&cut, &bytes[..keep]).unwrap();
            let out = here.path().join("x.bam");
            let mut command = seqloom(align(small(), &[&cut]));
            let run = run_for(command.arg("-o").arg(&out), SOON);
            assert_eq!(run.code(), 3, "{program} {keep}: {}", run.stderr);
            run.says(&["cut.fq"]);
            assert!(!out.exists());
        }
    }
}

#[test]
fn empty_input_gives_an_empty_valid_file() {
    let here = folder();
    let (empty, out) = (here.path().join("empty.fq"), here.path().join("x.bam"));
    let none = here.path().join("none.fq");
    fs::write(&empty, "").unwrap();
    fs::write(&none, "").unwrap();
    run_for(seqloom(align(small(), &[&empty, &none])).arg("-o").arg(&out), SOON).ok();
    let mut reader = seqloom_testkit::bam::BamReader::open(&out).unwrap();
    assert_eq!(reader.references.len(), 3);
    assert!(!reader.read(&mut seqloom_testkit::bam::BamRecord::default()).unwrap());
}

#[test]
fn bad_references_are_refused() {
    let here = folder();
    let fasta = here.path().join("bad.fa");
    let cases: [(&str, &[u8], &str); 5] = [
        ("empty", b"", "bad.fa"),
        ("no header", b"ACGTACGT\n", "bad.fa"),
        ("duplicate names", b">a\nACGTACGT\n>a\nACGTACGT\n", "a"),
        ("no letters", b">a\nACGT1234\n", "a"),
        ("no bases", b">a\n>b\n", "bad.fa"),
    ];
    for (what, text, word) in cases {
        fs::write(&fasta, text).unwrap();
        let run = run_for(&mut seqloom([Path::new("index"), &fasta]), SOON);
        assert_eq!(run.code(), 3, "{what}: {}", run.stderr);
        run.says(&[word]);
        assert_eq!(crate::common::names_in(here.path()), ["bad.fa"], "{what}");
    }
    let packed = here.path().join("cut.fa.gz");
    let mut gzip = crate::common::words("gzip -c");
    crate::common::run_into(gzip.arg(&small().ours), &packed).ok();
    let bytes = fs::read(&packed).unwrap();
    fs::write(&packed, &bytes[..bytes.len() / 2]).unwrap();
    let run = run_for(&mut seqloom([Path::new("index"), &packed]), SOON);
    run.fails_with(3).says(&["cut.fa.gz"]);
}

/// Text by `gzip` or `bgzip`.
fn packed(program: &str, text: &str, here: &Path) -> Vec<u8> {
    let (plain, file) = (here.join("plain"), here.join("packed"));
    fs::write(&plain, text).unwrap();
    let mut pack = crate::common::words(&format!("{program} -c"));
    crate::common::run_into(pack.arg(&plain), &file).ok();
    fs::read(file).unwrap()
}

#[test]
fn bgzf_and_gzip_joined_by_cat_are_read_as_zcat_reads_them() {
    if !crate::common::has("bgzip") {
        return;
    }
    let here = folder();
    let text = fs::read_to_string(&small_pairs().first).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let third = lines.len() / 12 * 4;
    let parts = [&lines[..third], &lines[third..2 * third], &lines[2 * third..]];
    let parts = parts.map(|lines| lines.concat());
    let out = |name: &str| here.path().join(name);
    let stream = |file: &Path, t: &str, to: &Path| {
        let mut command = seqloom(align(small(), &[file]));
        run_for(command.args(["--no-pg", "-K", "500000", "-t", t, "-o"]).arg(to), SOON).ok();
    };
    stream(&small_pairs().first, "2", &out("plain.bam"));
    for programs in
        [["gzip", "bgzip", "gzip"], ["bgzip", "gzip", "bgzip"], ["bgzip", "bgzip", "gzip"]]
    {
        let members = programs.iter().zip(&parts).map(|(it, text)| packed(it, text, here.path()));
        let file = out("joined.fq.gz");
        fs::write(&file, members.collect::<Vec<_>>().concat()).unwrap();
        for t in ["1", "4"] {
            stream(&file, t, &out("joined.bam"));
            let what = format!("{programs:?} -t {t}");
            crate::common::assert_same_bytes(&out("plain.bam"), &out("joined.bam"), &what);
        }
        let mut check = seqloom([Path::new("fastq"), Path::new("check"), &file]);
        let reported = run_for(&mut check, SOON).ok().text();
        let words = [format!("{} reads", lines.len() / 4), "gzip, ".to_owned()];
        assert!(words.iter().all(|it| reported.contains(it)), "{reported}");
    }
}

#[test]
fn what_follows_the_end_of_compressed_reads_is_named() {
    if !crate::common::has("bgzip") {
        return;
    }
    let here = folder();
    let text = "@a\nACGT\n+\nIIII\n".repeat(50);
    for program in ["gzip", "bgzip"] {
        let whole = packed(program, &text, here.path());
        let file = here.path().join("more.fq.gz");
        let at = whole.len();
        for (more, what) in
            [(&b"@b\nACGT\n"[..], "text that is not compressed"), (b"BZh9", "bzip2")]
        {
            fs::write(&file, [&whole[..], more].concat()).unwrap();
            let advice = format!("`head -c {at} FILE`");
            let run = run_for(seqloom(align(small(), &[&file])).args(STREAM), SOON);
            let byte = format!("byte {at} of the compressed file");
            run.fails_with(3).says(&["more.fq.gz", &byte, what, "after the end", &advice]);
        }
        fs::write(&file, [&whole[..], &[0; 512]].concat()).unwrap();
        run_for(seqloom(align(small(), &[&file])).args(STREAM), SOON).ok();
    }
}
