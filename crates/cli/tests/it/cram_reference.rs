//! The FASTA of a CRAM: what of it is read, what that takes, and what is refused.

use crate::common::{assert_same_bytes, folder, has, run, seqloom, words};
use crate::cram_input::write_cram;
use crate::prep::{assert_same_records, prep_into};
use seqloom_testkit::random::Random;
use seqloom_testkit::referees;
use std::fs;
use std::path::Path;

/// A name and bases.
type Sequence = (&'static str, String);

fn sequence(name: &'static str, count: usize, random: &mut Random) -> Sequence {
    (name, (0..count).map(|_| random.pick(&['A', 'C', 'G', 'T'])).collect())
}

/// Bases in lines, of which some are in lower case.
fn write_fasta(path: &Path, sequences: &[Sequence]) {
    let mut text = String::new();
    for (name, bases) in sequences {
        text += &format!(">{name} of a test\n");
        for (number, line) in bases.as_bytes().chunks(61).enumerate() {
            let line = std::str::from_utf8(line).unwrap();
            text += &if number % 3 == 1 { line.to_lowercase() } else { line.to_owned() };
            text.push('\n');
        }
    }
    fs::write(path, text).unwrap();
}

/// Reads of 100 bases with a mismatch and a deletion, every `step` bases of all sequences.
fn records(sequences: &[Sequence], step: usize) -> Vec<String> {
    let mut records = Vec::new();
    for (name, bases) in sequences {
        for start in (0..bases.len().saturating_sub(120)).step_by(step) {
            let mut read = format!("{}{}", &bases[start..][..50], &bases[start + 70..][..50]);
            read.replace_range(40..41, if &read[40..41] == "A" { "C" } else { "A" });
            let place = start + 1;
            let cigar = "50M20D50M";
            records.push(format!(
                "{name}.{place}\t0\t{name}\t{place}\t9\t{cigar}\t*\t0\t0\t{read}\t*\n"
            ));
        }
    }
    records
}

fn write_sam(path: &Path, order: &str, sequences: &[Sequence], records: &[String]) {
    let mut text = format!("@HD\tVN:1.6\tSO:{order}\n");
    for (name, bases) in sequences {
        text += &format!("@SQ\tSN:{name}\tLN:{}\n", bases.len());
    }
    fs::write(path, text + &records.concat()).unwrap();
}

#[test]
fn records_are_the_same_whether_the_fasta_is_read_in_parts_or_as_a_whole() {
    if !has("samtools") || !has("bgzip") {
        return;
    }
    let here = folder();
    let path = |name: &str| here.path().join(name);
    let mut random = Random::new(44);
    let lengths = [("c", 2_300_000), ("d", 300_000), ("e", 70), ("f", 5_000)];
    let sequences = lengths.map(|(name, count)| sequence(name, count, &mut random));
    write_fasta(&path("whole.fa"), &sequences);
    write_fasta(&path("parts.fa"), &sequences);
    write_fasta(&path("blocks.fa"), &sequences);
    run(words("bgzip -i").arg(path("blocks.fa"))).ok();
    run(words("samtools faidx").arg(path("parts.fa"))).ok();
    run(words("samtools faidx").arg(path("blocks.fa.gz"))).ok();
    let mut records = records(&sequences, 900);
    write_sam(&path("sorted.sam"), "coordinate", &sequences, &records);
    for index in (1..records.len()).rev() {
        records.swap(index, random.index(index + 1));
    }
    write_sam(&path("mixed.sam"), "unsorted", &sequences, &records);
    let samtools = referees::path_of("samtools");
    for (sam, format) in [
        ("sorted.sam", "3.0"),
        ("sorted.sam", "3.1,seqs_per_slice=100"),
        ("sorted.sam", "3.0,multi_seq_per_slice=1"),
        ("mixed.sam", "3.0"),
    ] {
        write_cram(&samtools, format, &path("parts.fa"), &path(sam), &path("x.cram"));
        let mut view = words("samtools view --no-PG -b -T");
        view.arg(path("parts.fa")).arg("-o").arg(path("theirs.bam")).arg(path("x.cram"));
        run(&mut view).ok();
        prep_into(&path("expected.bam"), &[&path("theirs.bam")], "--sort keep");
        for fasta in ["whole.fa", "parts.fa", "blocks.fa.gz"] {
            let options = format!("--sort keep --reference {}", path(fasta).display());
            prep_into(&path("out.bam"), &[&path("x.cram")], &options);
            let what = format!("{sam} {format} {fasta}");
            let count = assert_same_records(&path("out.bam"), &path("expected.bam"), &what);
            assert_eq!(count, records.len(), "{what}");
        }
        for threads in ["1", "3"] {
            let options =
                format!("--sort keep -t {threads} --reference {}", path("parts.fa").display());
            prep_into(&path(&format!("{threads}.bam")), &[&path("x.cram")], &options);
        }
        assert_same_bytes(&path("1.bam"), &path("3.bam"), "threads");
    }
    assert!(!path("whole.fa.fai").exists(), "an index is written that nobody requested");
}

#[test]
fn a_genome_of_which_little_is_needed_does_not_have_to_be_in_memory() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let path = |name: &str| here.path().join(name);
    let mut random = Random::new(45);
    let mut large = sequence("large", 1_000_000, &mut random);
    large.1 = large.1.repeat(150);
    let sequences = [large];
    write_fasta(&path("parts.fa"), &sequences);
    let mut records = records(&sequences, 40_000_000);
    records.truncate(3);
    write_sam(&path("in.sam"), "coordinate", &sequences, &records);
    let samtools = referees::path_of("samtools");
    write_cram(&samtools, "3.0", &path("parts.fa"), &path("in.sam"), &path("x.cram"));
    fs::rename(path("parts.fa.fai"), path("kept.fai")).unwrap();
    let line = "prep x.cram --reference parts.fa -t 1 -m 130M -o out.bam";
    let prep = || {
        let mut command = seqloom(line.split(' '));
        command.current_dir(here.path());
        command
    };
    run(&mut prep()).fails_with(2).says(&["-m"]);
    fs::rename(path("kept.fai"), path("parts.fa.fai")).unwrap();
    run(&mut prep()).ok();
    assert_eq!(crate::prep::lines(&path("out.bam")).len(), 3);
}

#[test]
fn another_reference_is_refused_where_parts_of_it_are_read() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let path = |name: &str| here.path().join(name);
    let mut random = Random::new(46);
    let mut sequences =
        [("c", 20_000), ("d", 20_000)].map(|(name, count)| sequence(name, count, &mut random));
    write_fasta(&path("ref.fa"), &sequences);
    write_sam(&path("in.sam"), "coordinate", &sequences, &records(&sequences, 100));
    let samtools = referees::path_of("samtools");
    for (name, format) in [("one", "3.0,seqs_per_slice=50"), ("many", "3.0,multi_seq_per_slice=1")]
    {
        let cram = path(&format!("{name}.cram"));
        write_cram(&samtools, format, &path("ref.fa"), &path("in.sam"), &cram);
    }
    // No read is on its first and last bases.
    let last = sequences[1].1.pop().unwrap();
    sequences[1].1.push(if last == 'A' { 'C' } else { 'A' });
    write_fasta(&path("end.fa"), &sequences);
    sequences[1].1.replace_range(10_000..10_004, "ACGT");
    write_fasta(&path("other.fa"), &sequences);
    sequences[1].1.truncate(9_000);
    write_fasta(&path("short.fa"), &sequences);
    write_fasta(&path("one.fa"), &sequences[..1]);
    for fasta in ["end.fa", "other.fa", "short.fa", "one.fa"] {
        run(words("samtools faidx").arg(path(fasta))).ok();
    }
    fs::copy(path("ref.fa"), path("stale.fa")).unwrap();
    fs::copy(path("short.fa.fai"), path("stale.fa.fai")).unwrap();
    let refused = |cram: &str, fasta: &str, words: &[&str]| {
        let line = format!("prep {cram}.cram --reference {fasta}.fa -t 2 -o out.bam");
        let mut command = seqloom(line.split(' '));
        run(command.current_dir(here.path())).fails_with(3).says(words);
        assert!(!path("out.bam").exists(), "{line}");
    };
    let other = "of sequence d are not those that the file was written with";
    refused("one", "other", &["one.cram: container 6, byte ", "other.fa: bases", other]);
    refused("many", "other", &["many.cram: container 1, byte ", "other.fa: bases 1 to", other]);
    // Where slices have no MD5 it is that of all of a sequence.
    refused("many", "end", &["many.cram: container 1, byte ", "end.fa: bases 1 to 20000", other]);
    for cram in ["one", "many"] {
        refused(cram, "short", &["short.fa: sequence d has 9000 bases", "20000"]);
        refused(cram, "one", &[".cram: container ", "one.fa does not have sequence d"]);
        refused(cram, "stale", &["stale.fa.fai: not the index of its file"]);
    }
    // Bases that nobody needs are not looked at.
    let mut fine = seqloom("prep one.cram --reference end.fa -o fine.bam".split(' '));
    run(fine.current_dir(here.path())).ok();
}

#[test]
fn a_container_that_needs_bases_where_the_first_one_does_not_is_read_or_named() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let path = |name: &str| here.path().join(name);
    let sequences = [sequence("c", 20_000, &mut Random::new(47))];
    write_fasta(&path("ref.fa"), &sequences);
    let mapped = records(&sequences, 100);
    let unmapped: Vec<String> = (0..60)
        .map(|number| format!("u{number}\t4\t*\t0\t0\t*\t*\t0\t0\tACGTN\tFFFFF\n"))
        .collect();
    write_sam(&path("unmapped.sam"), "unsorted", &sequences, &unmapped);
    write_sam(&path("mapped.sam"), "unsorted", &sequences, &mapped);
    let samtools = referees::path_of("samtools");
    let write = |format: &str, sam: &str, cram: &str| {
        write_cram(&samtools, format, &path("ref.fa"), &path(sam), &path(cram));
    };
    write("3.0", "unmapped.sam", "unmapped.cram");
    write("3.0,embed_ref=1", "mapped.sam", "embedded.cram");
    write("3.0", "mapped.sam", "mapped.cram");
    for first in ["unmapped", "embedded"] {
        let mut cat = words("samtools cat --no-PG -o");
        cat.arg(path("x.cram")).arg(path(&format!("{first}.cram"))).arg(path("mapped.cram"));
        run(&mut cat).ok();
        let mut prep = seqloom("prep x.cram -o out.bam -t 2".split(' '));
        run(prep.current_dir(here.path())).fails_with(3).says(&[
            "x.cram: container 2, byte ",
            "the bases of sequence c are needed",
            "--reference",
        ]);
        assert!(!path("out.bam").exists(), "{first}");
        let options = format!("--sort keep --reference {}", path("ref.fa").display());
        prep_into(&path("read.bam"), &[&path("x.cram")], &options);
        let parts = [path(&format!("{first}.cram")), path("mapped.cram")];
        prep_into(&path("parts.bam"), &[&parts[0], &parts[1]], &options);
        let count = assert_same_records(&path("read.bam"), &path("parts.bam"), first);
        assert!(count > mapped.len());
    }
}
