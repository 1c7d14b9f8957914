//! `align` of unaligned CRAM is `align` of the BAM with its records, and what is refused.

use crate::common::{assert_same_bytes, folder, has, run, seqloom, words};
use crate::cram::make;
use crate::cram_input::{fed, write_cram};
use crate::data::{align, align_small, small, small_pairs, to_bam};
use crate::prep::with_sorted_tags;
use seqloom_testkit::referees::{self, SAMTOOLS};
use std::fs;
use std::path::Path;

/// What samtools reads of a CRAM, as BAM.
fn view(samtools: &Path, cram: &Path, bam: &Path) {
    let mut view = words(&samtools.display().to_string());
    run(view.args(["view", "--no-PG", "-b", "-o"]).arg(bam).arg(cram)).ok();
}

/// Records, tags in order.
fn records(bam: &Path) -> Vec<String> {
    crate::prep::lines(bam).iter().map(|line| with_sorted_tags(line)).collect()
}

#[test]
fn align_of_a_cram_is_align_of_its_bam() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let path = |name: &str| here.path().join(name);
    let bam = path("reads.bam");
    to_bam(&small_pairs().unaligned_sam, &bam);
    let aligned = |reads: &Path, name: &str, options: &str| {
        make(here.path(), name, &align(small(), &[reads]), options)
    };
    let of_bam = aligned(&bam, "of_bam.bam", "-t 2 -l 1");
    for version in SAMTOOLS {
        let Some(samtools) = referees::find("samtools", version) else { continue };
        for format in ["3.0", "3.1,seqs_per_slice=700", "3.1,use_fqz=1,seqs_per_slice=100000"] {
            let cram = path("x.cram");
            write_cram(&samtools, format, &small().ours, &bam, &cram);
            let theirs = path("theirs.bam");
            view(&samtools, &cram, &theirs);
            let expected = aligned(&theirs, "expected.bam", "-t 2 -l 1");
            for threads in ["1", "3"] {
                let out = aligned(&cram, "out.bam", &format!("-t {threads} -l 1"));
                assert_same_bytes(&expected, &out, &format!("{version} {format} {threads}"));
            }
            let (found, of_bam) = (records(&expected), records(&of_bam));
            assert!(found == of_bam, "{version} {format}: other records than of the BAM");
            referees::compared(&referees::name_of(&samtools), found.len());
        }
    }
    // By a pipe, and to CRAM.
    let (cram, piped) = (path("x.cram"), path("piped.bam"));
    let mut command = seqloom(align(small(), &[Path::new("-")]));
    command.args(["--no-pg", "-t", "2", "-l", "1", "-o"]).arg(&piped);
    run(&mut fed(&cram, &command)).ok();
    assert_same_bytes(&path("expected.bam"), &piped, "piped");
    let of = aligned(&path("theirs.bam"), "of.cram", "-t 2");
    assert_same_bytes(&of, &aligned(&cram, "out.cram", "-t 2"), "CRAM to CRAM");
    assert!(run(words("samtools flagstat").arg(&piped)).ok().text().contains("mapped"));
    let mut check = seqloom(["fastq", "check"]);
    let says = run(check.arg(&cram)).ok().text();
    assert!(says.contains("unaligned CRAM") && says.contains("others decode them"), "{says}");
}

#[test]
fn what_align_cannot_take_is_refused_by_name() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let path = |name: &str| here.path().join(name);
    let bam = path("reads.bam");
    to_bam(&small_pairs().unaligned_sam, &bam);
    let samtools = referees::path_of("samtools");
    let cram = path("x.cram");
    write_cram(&samtools, "3.0,seqs_per_slice=500", &small().ours, &bam, &cram);
    let whole = fs::read(&cram).unwrap();
    let refused = |reads: &[&Path], more: &[&str], code: i32, words: &[&str]| {
        let mut command = seqloom(align(small(), reads));
        run(command.args(more).arg("-o").arg(path("out.bam"))).fails_with(code).says(words);
        assert!(!path("out.bam").exists(), "{words:?}");
    };
    refused(&[&cram, &bam], &[], 3, &["x.cram: CRAM with a second input", "only input"]);
    // Cut within a container, and between two.
    fs::write(&cram, &whole[..whole.len() - 100]).unwrap();
    refused(&[&cram], &[], 3, &["x.cram: container", "truncated: the input ends within"]);
    fs::write(&cram, &whole[..whole.len() - 38]).unwrap();
    refused(&[&cram], &[], 3, &["x.cram: container", "the container that ends a complete file"]);
    // A changed byte, in the middle of a container of the middle.
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 1;
    fs::write(&cram, &damaged).unwrap();
    refused(&[&cram], &["-t", "3"], 3, &["x.cram: container ", ", byte ", "damaged"]);
    let mut other = whole.clone();
    other[4] = 2;
    fs::write(&cram, &other).unwrap();
    refused(&[&cram], &[], 3, &["x.cram: the header's container, byte 0: CRAM 2"]);
    // Reads that are aligned are differences from a reference, which is no part of `align`.
    let aligned = make(here.path(), "aligned.cram", &align_small(), "-t 2");
    refused(&[&aligned], &[], 3, &["aligned.cram: container 1", "samtools view -u -T FASTA"]);
    // A sheet and shards take FASTQ.
    fs::write(&cram, &whole).unwrap();
    fs::write(path("lanes.csv"), "sample,fastq_1\ns,x.cram\n").unwrap();
    let mut sheet = seqloom(["align", "--input", "lanes.csv", "-o", "out.bam"]);
    run(sheet.arg(&small().ours).current_dir(here.path()))
        .fails_with(2)
        .says(&["x.cram: a sheet has FASTQ, and this is CRAM"]);
    let mut shards = seqloom(["shard", "plan", "--run", "job"]);
    run(shards.arg(&small().ours).arg(&cram).current_dir(here.path()))
        .fails_with(2)
        .says(&["not CRAM", "samtools fastq"]);
}
