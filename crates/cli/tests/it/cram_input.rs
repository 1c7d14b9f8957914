//! CRAM as input: `prep` of a CRAM is `prep` of the BAM with its records, and what is refused
//! before anything is read.

use crate::common::{assert_same_bytes, folder, has, run, run_into, seqloom, words};
use crate::cram::{Changes, make, records};
use crate::data::{align_small, small};
use crate::prep::{assert_same_records, hard, prep, prep_into};
use seqloom_testkit::referees::{self, SAMTOOLS};
use seqloom_testkit::skip;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Options of samtools' CRAM: version and profile, and whether its bases are in the FASTA alone.
const FORMATS: [(&str, bool); 9] = [
    ("3.0", true),
    ("3.1", true),
    ("3.0,level=1,seqs_per_slice=300", true),
    ("3.0,multi_seq_per_slice=1,seqs_per_slice=2000", true),
    ("3.1,use_fqz=1,seqs_per_slice=1000", true),
    ("3.1,use_fqz=1,seqs_per_slice=100000", true),
    ("3.0,embed_ref=1,seqs_per_slice=500", false),
    ("3.0,no_ref=1", false),
    ("3.0,store_md=1,store_nm=1,seqs_per_slice=700", true),
];

/// Has a release of samtools write a BAM as CRAM.
pub(crate) fn write_cram(samtools: &Path, format: &str, fasta: &Path, bam: &Path, cram: &Path) {
    let mut command = words(&samtools.display().to_string());
    command.args(["view", "--no-PG", "--output-fmt", &format!("cram,version={format}"), "-T"]);
    run(command.arg(fasta).arg("-o").arg(cram).arg(bam)).ok();
}

/// A command that a file is piped into.
pub(crate) fn fed(file: &Path, command: &Command) -> Command {
    let mut fed = Command::new("sh");
    fed.args(["-c", "file=$1; shift; cat \"$file\" | \"$@\"", "sh"]).arg(file);
    fed.arg(command.get_program()).args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        fed.current_dir(folder);
    }
    fed
}

/// The records of a file that `prep` made, tags in order.
fn lines(path: &Path) -> Vec<Vec<String>> {
    let fields = |line: String| {
        let mut fields: Vec<String> = line.split('\t').map(str::to_owned).collect();
        let tags = fields.len().min(11);
        fields[tags..].sort_unstable();
        fields
    };
    crate::prep::lines(path).into_iter().map(fields).collect()
}

/// `prep` with `options` of the CRAMs that both releases of samtools make of a BAM gives what
/// `prep` of the BAM gives, but for what is counted; and exactly what samtools reads of the CRAM.
fn compare(here: &Path, bam: &Path, fasta: &Path, options: &str) -> Changes {
    let path = |name: &str| here.join(name);
    let mut changes = Changes::default();
    prep_into(&path("expected.bam"), &[bam], options);
    let expected = lines(&path("expected.bam"));
    for version in SAMTOOLS {
        let Some(samtools) = referees::find("samtools", version) else { continue };
        for (format, needs_fasta) in FORMATS {
            let cram = path("x.cram");
            write_cram(&samtools, format, fasta, bam, &cram);
            let with = match needs_fasta {
                true => format!("{options} --reference {}", fasta.display()),
                false => options.to_owned(),
            };
            let out = path("out.bam");
            prep_into(&out, &[&cram], &with);
            // What samtools reads of it, as BAM.
            let theirs = path("theirs.bam");
            let mut view = words(&samtools.display().to_string());
            view.args(["view", "--no-PG", "-b", "-T"]).arg(fasta).arg("-o").arg(&theirs);
            run(view.arg(&cram)).ok();
            prep_into(&path("of-theirs.bam"), &[&theirs], options);
            let what = format!("{version} {format} {options}");
            let count = assert_same_records(&out, &path("of-theirs.bam"), &what);
            referees::compared(&referees::name_of(&samtools), count);
            // The BAM that it was made of.
            let read = lines(&out);
            assert_eq!(read.len(), expected.len(), "{what}");
            changes = Changes::default();
            for (mut read, mut expected) in read.into_iter().zip(expected.clone()) {
                changes.expect(&mut read, &mut expected);
                assert_eq!(read, expected, "{what}");
            }
        }
    }
    changes
}

#[test]
fn prep_of_a_cram_is_prep_of_its_bam() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let bam = make(here.path(), "x0.bam", &align_small(), "-t 2");
    for options in ["--sort keep -l 1", "--mark-duplicates --sort queryname -l 1"] {
        let changes = compare(here.path(), &bam, &small().ours, options);
        assert_eq!(changes, Changes::default());
    }
}

/// A FASTA with the sequences of a header, and no base of any read.
pub(crate) fn fasta_of(header: &str, fasta: &Path) {
    let mut text = String::new();
    for line in header.lines().filter(|it| it.starts_with("@SQ")) {
        let field = |name: &str| line.split(name).nth(1).unwrap().split('\t').next().unwrap();
        let length: usize = field("LN:").parse().unwrap();
        let bases = "acgtN".repeat(length / 5 + 1);
        text += &format!(">{}\n{}\n", field("SN:"), &bases[..length]);
    }
    fs::write(fasta, text).unwrap();
}

#[test]
fn hard_records_are_those_of_the_bam_but_for_what_is_listed() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let hard = hard(here.path(), 6, 3_000, 4);
    let fasta = here.path().join("ref.fa");
    fasta_of(&crate::prep::header(&hard.grouped), &fasta);
    // What CRAM cannot hold at all is clipped first.
    let (grouped, sorted) = (here.path().join("grouped.bam"), here.path().join("sorted.bam"));
    prep_into(&grouped, &[&hard.grouped], "--clean-sam --sort keep");
    prep_into(&sorted, &[&hard.grouped], "--clean-sam --sort coordinate");
    for bam in [&grouped, &sorted] {
        let changes = compare(here.path(), bam, &fasta, "--sort coordinate -l 1");
        assert!(changes.made_tags > 0 && changes.cigars > 0, "{changes:?}");
    }
}

#[test]
fn bytes_are_the_same_for_all_threads_and_ways() {
    let here = folder();
    let path = |name: &str| here.path().join(name);
    let bam = make(here.path(), "x.bam", &align_small(), "-t 2");
    // Ours, and small containers of samtools.
    let mut crams = vec![make(here.path(), "ours.cram", &align_small(), "-t 2")];
    if has("samtools") {
        let samtools = referees::path_of("samtools");
        write_cram(&samtools, "3.1,seqs_per_slice=250", &small().ours, &bam, &path("small.cram"));
        crams.push(path("small.cram"));
    }
    let fasta = small().ours.display().to_string();
    let options = format!("--reference {fasta} --mark-duplicates --sort coordinate -l 1");
    prep_into(&path("of-bam.bam"), &[&bam], &options);
    for cram in &crams {
        let one = path("1.bam");
        prep_into(&one, &[cram], &format!("{options} -t 1"));
        for more in ["-t 2", "-t 7 -m 600M", "-t 64 -m 9G"] {
            let out = path("more.bam");
            prep_into(&out, &[cram], &format!("{options} {more}"));
            assert_same_bytes(&one, &out, more);
        }
        // By a pipe.
        let mut piped = seqloom(["prep", "--no-pg", "-", "-t", "2", "-o"]);
        piped.arg(path("piped.bam")).args(options.split_whitespace());
        run(&mut fed(cram, &piped)).ok();
        assert_same_bytes(&one, &path("piped.bam"), "piped");
        assert!(records_of(&one) == records_of(&path("of-bam.bam")));
    }
    // CRAM to CRAM: what is written is what was read.
    let again = path("again.cram");
    prep_into(&again, &[&crams[0]], &format!("--reference {fasta} --sort coordinate"));
    let names = |path: &Path| crate::prep::header(path).contains("M5:");
    assert!(!has("samtools") || names(&again));
    prep_into(&path("again.bam"), &[&again], &format!("--reference {fasta}"));
    prep_into(&path("once.bam"), &[&crams[0]], &format!("--reference {fasta}"));
    assert_same_bytes(&path("once.bam"), &path("again.bam"), "again");
    // Two inputs, one of them BAM.
    let options = format!("--reference {fasta} --sort coordinate -l 1 -t 2");
    prep_into(&path("both.bam"), &[&crams[0], &bam], &options);
    prep_into(&path("bams.bam"), &[&bam, &bam], &options);
    assert!(records_of(&path("both.bam")) == records_of(&path("bams.bam")));
}

/// Records with their tags in order; nothing without samtools.
fn records_of(path: &Path) -> Vec<Vec<String>> {
    if has("samtools") { lines(path) } else { Vec::new() }
}

#[test]
fn real_reads_are_those_of_the_bam() {
    let file = "bam/htsjdk_testdata/samtools/cram/NA12878.20.21.unmapped.orig.bam";
    let gz = "refs/human_b37/chr20.b37.fa.gz";
    let (Some(original), Some(gz)) = (skip::data(file), skip::data(gz)) else { return };
    if !has("samtools") {
        return;
    }
    let here = folder();
    let fasta = here.path().join("20.fa");
    run_into(words("gzip -dc").arg(gz), &fasta).ok();
    // Of the header's sequences the FASTA has the one alone that the records are on.
    let bam = here.path().join("20.bam");
    let mut view = words("samtools view --no-PG -b -e");
    view.arg("rname == \"20\" || rname == \"*\"").arg("-o").arg(&bam);
    run(view.arg(&original)).ok();
    for version in SAMTOOLS {
        let Some(samtools) = referees::find("samtools", version) else { continue };
        let cram = here.path().join("x.cram");
        write_cram(&samtools, "3.0", &fasta, &bam, &cram);
        let out = here.path().join("out.bam");
        let options = format!("--sort coordinate -l 1 --reference {}", fasta.display());
        prep_into(&out, &[&cram], &options);
        let read = records(&samtools, &out, &fasta);
        let theirs = records(&samtools, &cram, &fasta);
        assert!(read == theirs, "{version}");
        referees::compared(&referees::name_of(&samtools), read.len());
    }
}

#[test]
fn what_cannot_be_read_is_refused_before_anything_is() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let path = |name: &str| here.path().join(name);
    let sequence = "ACGTTGCAAC".repeat(10);
    let record = |n: usize, name: &str| {
        format!("r{n}\t0\t{name}\t{}\t9\t20M\t*\t0\t0\t{}\t*\n", n + 1, &sequence[n..n + 20])
    };
    let mut text = "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:c\tLN:100\n@SQ\tSN:d\tLN:100\n".to_owned();
    text += &(0..5).map(|n| record(n, "c")).collect::<String>();
    text += &(0..5).map(|n| record(n, "d")).collect::<String>();
    fs::write(path("in.sam"), text).unwrap();
    let fasta = |name: &str, sequences: &[(&str, &str)]| {
        let text = sequences.iter().map(|(name, bases)| format!(">{name}\n{bases}\n"));
        fs::write(path(name), text.collect::<String>()).unwrap();
    };
    fasta("ref.fa", &[("c", &sequence), ("d", &sequence.to_lowercase())]);
    fasta("short.fa", &[("c", &sequence[..50]), ("d", &sequence)]);
    fasta("other.fa", &[("c", &sequence), ("d", &sequence.replace("TTG", "TAG"))]);
    fasta("one.fa", &[("c", &sequence)]);
    let samtools = referees::path_of("samtools");
    let write = |format: &str, name: &str| {
        write_cram(&samtools, format, &path("ref.fa"), &path("in.sam"), &path(name));
    };
    write("3.0,seqs_per_slice=3", "x.cram");
    write("2.1", "old.cram");
    let refused = |line: &str, code: i32, words: &[&str]| {
        for threads in ["-t 1", "-t 3"] {
            let line = format!("prep {line} -o out.bam {threads}");
            let mut command = seqloom(line.split_whitespace());
            run(command.current_dir(here.path())).fails_with(code).says(words);
            assert!(!path("out.bam").exists(), "{line}");
        }
    };
    refused("x.cram", 2, &["x.cram", "--reference FASTA"]);
    refused("x.cram --reference no.fa", 3, &["no.fa"]);
    refused("x.cram --reference short.fa", 3, &["short.fa: sequence c has 50 bases"]);
    refused("x.cram --reference other.fa", 3, &["other.fa: sequence d has the MD5", "another"]);
    refused("old.cram", 3, &["old.cram", "CRAM 2.1 is not read"]);
    // What only some records need is found with them.
    refused(
        "x.cram --reference one.fa",
        3,
        &["x.cram: container 3, byte ", "one.fa does not have sequence d", "another reference?"],
    );
    // Without M5 in the header the slices say it.
    let bare = |name: &str| {
        let mut reheader = words("samtools reheader -P -i -c");
        reheader.arg("sed s/.M5:[^[:space:]]*//").arg(path(name));
        run(&mut reheader).ok();
    };
    fs::copy(path("x.cram"), path("bare.cram")).unwrap();
    bare("bare.cram");
    refused(
        "bare.cram --reference other.fa",
        3,
        &["bare.cram: container ", "of sequence d are not"],
    );
    let mut fine = seqloom("prep x.cram --reference ref.fa -o fine.bam".split(' '));
    run(fine.current_dir(here.path())).ok();
    assert_eq!(crate::prep::lines(&path("fine.bam")).len(), 10);
    // Bases of this file are in it, or it has none.
    for format in ["3.0,embed_ref=1", "3.0,no_ref=1"] {
        write(format, "own.cram");
        let own = path("own.bam");
        run(prep(&[&path("own.cram")]).arg("-o").arg(&own)).ok();
        assert_eq!(crate::prep::lines(&own).len(), 10);
        fs::remove_file(own).unwrap();
    }
}

/// The stream of `columns` of a file, and what was said.
fn columns(file: &Path, options: &str) -> (Vec<u8>, String) {
    let mut command = seqloom(["columns"]);
    let done = run(command.arg(file).args(options.split_whitespace())).ok();
    (done.stdout, done.stderr)
}

#[test]
fn columns_of_a_cram_are_those_of_its_bam() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let path = |name: &str| here.path().join(name);
    let bam = make(here.path(), "x.bam", &align_small(), "-t 2");
    let samtools = referees::path_of("samtools");
    write_cram(&samtools, "3.1,seqs_per_slice=300", &small().ours, &bam, &path("x.cram"));
    let ours = make(here.path(), "ours.cram", &align_small(), "-t 2");
    run(words("samtools index").arg(path("x.cram"))).ok();
    let name = crate::prep::lines(&bam)[0].split('\t').nth(2).unwrap().to_owned();
    let reference = format!("--reference {}", small().ours.display());
    // A BAM of the CRAM has its header, which is in the stream; and few rows are in a batch, as the
    // sizes of records may differ.
    let tags = "--tags MD:Z,RG:Z,AS:i --batch-rows 3000";
    let of = path("of.bam");
    for cram in [&path("x.cram"), &ours] {
        let mut view = words("samtools view --no-PG -b -T");
        run(view.arg(&small().ours).arg("-o").arg(&of).arg(cram)).ok();
        for (regions, is_indexed) in [
            (String::new(), false),
            (format!("--regions {name}:20,001-20,400"), true),
            (format!("--regions {name}:30,000-31,000 --regions {name}:5000-5100"), true),
            (format!("--regions {name}:1-1"), true),
        ] {
            let expected = columns(&of, &format!("{regions} {tags} --quiet")).0;
            for threads in [1, 3] {
                let options = format!("{regions} {tags} {reference} -t {threads}");
                let (found, says) = columns(cram, &options);
                assert!(found == expected, "{} {options}", cram.display());
                assert!(!is_indexed || !says.contains("has no index"), "{says}");
            }
        }
    }
    let mut piped = seqloom(["columns", "-", "--quiet", "--reference"]);
    piped.arg(&small().ours).args(tags.split(' '));
    let expected = columns(&of, &format!("{tags} --quiet")).0;
    assert!(run(&mut fed(&ours, &piped)).ok().stdout == expected);
    // An index that is none, or another file's.
    fs::write(path("x.cram.crai"), "0\t1\t2\n").unwrap();
    let regions = format!("{name}:1-9");
    let mut bad = seqloom(["columns", "--regions", &regions, "-o", "out", "--reference"]);
    run(bad.arg(&small().ours).arg(path("x.cram")).current_dir(here.path()))
        .fails_with(3)
        .says(&["x.cram.crai: line 1 is not six numbers", "samtools index"]);
    let size = fs::metadata(path("x.cram")).unwrap().len();
    fs::write(path("x.cram.crai"), format!("0\t1\t99999\t{size}\t9\t99\n")).unwrap();
    let mut other = seqloom(["columns", "--regions", &regions, "-o", "out", "--reference"]);
    run(other.arg(&small().ours).arg(path("x.cram")).current_dir(here.path()))
        .fails_with(3)
        .says(&["x.cram: container 1", "its index is of another file"]);
    assert!(!path("out").exists());
    // Which needs its reference.
    let mut bare = seqloom(["columns", "-o", "out"]);
    run(bare.arg(path("x.cram")).current_dir(here.path()))
        .fails_with(2)
        .says(&["x.cram", "--reference FASTA"]);
}
