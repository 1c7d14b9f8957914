//! What the command line promises apart from the alignments: version, usage, hints, headers.

use crate::common::{
    READ_GROUP, SOON, folder, has, run, run_for, run_into, run_to_nobody, seqloom, words,
};
use crate::data::{align_small, small, small_pairs};
use std::fs;
use std::path::Path;

#[test]
fn version_is_one_line_on_stdout() {
    let run = run_for(&mut seqloom(["--version"]), SOON).ok();
    let text = run.text();
    assert_eq!(text.lines().count(), 1);
    assert!(text.starts_with("seqloom ") && text.contains(env!("CARGO_PKG_VERSION")), "{text}");
    assert_eq!(run.stderr, "");
}

#[test]
fn wrong_usage_is_exit_code_2() {
    let cases: [&[&str]; 6] = [
        &[],
        &["alin"],
        &["align"],
        &["align", "ref.fa", "r.fq", "-o", "x.bam", "--no-such-option"],
        &["align", "ref.fa", "r.fq", "-o", "x.bam", "-t", "0"],
        &["align", "ref.fa", "r.fq", "-o", "x.bam", "-R", "no read group"],
    ];
    for case in cases {
        let run = run_for(&mut seqloom(case), SOON);
        assert_eq!(run.code(), 2, "{case:?}: {}", run.stderr);
        assert!(!run.stderr.is_empty(), "{case:?}");
    }
    run_for(&mut seqloom(["alin"]), SOON).says(&["align"]);
    for command in ["align ref.fa r.fq", "prep in.bam", "index ref.fa"] {
        let words = command.split(' ').chain(["-m", "8"]);
        run_for(&mut seqloom(words), SOON).fails_with(2).says(&["8 bytes", "8G"]);
    }
}

#[test]
fn topology_that_nobody_reads_is_no_failure_and_a_full_disk_is() {
    for words in [&["topology"][..], &["topology", "--json"]] {
        run_to_nobody(&mut seqloom(words)).ok();
        run_into(&mut seqloom(words), Path::new("/dev/full")).fails_with(4).says(&["cannot write"]);
    }
}

#[test]
fn align_without_an_index_names_the_command_that_makes_it() {
    let here = folder();
    let fasta = here.path().join("plain.fa");
    fs::copy(&small().ours, &fasta).unwrap();
    let out = here.path().join("x.bam");
    let mut command = seqloom(["align"]);
    command.arg(&fasta).arg(&small_pairs().first).arg("-o").arg(&out);
    let run = run_for(&mut command, SOON).says(&["seqloom index", "plain.fa"]);
    assert_ne!(run.code(), 0);
    assert!(!out.exists());
}

#[test]
fn header_states_the_order_the_read_group_and_the_program() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let header = |extra: &[&str]| {
        let out = here.path().join("x.bam");
        run(seqloom(align_small()).args(["-R", READ_GROUP, "-o"]).arg(&out).args(extra)).ok();
        run(words("samtools view --no-PG -H").arg(&out)).ok().text()
    };
    let sorted = header(&[]);
    assert!(sorted.starts_with("@HD\t") && sorted.contains("SO:coordinate"), "{sorted}");
    assert!(sorted.contains("@RG\tID:a\tSM:s\tLB:l\tPL:ILLUMINA\n"), "{sorted}");
    let program = sorted.lines().find(|l| l.starts_with("@PG")).expect("a @PG line");
    assert!(program.contains("PN:seqloom") && program.contains("CL:"), "{program}");
    let unsorted = header(&["--no-sort", "--no-mark-duplicates"]);
    assert!(unsorted.contains("SO:unsorted") || unsorted.contains("SO:unknown"), "{unsorted}");
    assert!(!header(&["--no-pg"]).contains("@PG"));
}

#[test]
fn nothing_but_the_output_goes_to_stdout_and_no_progress_into_a_file() {
    let here = folder();
    let out = here.path().join("x.bam");
    let run = run(seqloom(align_small()).arg("-o").arg(&out)).ok();
    assert_eq!(run.stdout, b"");
    assert!(!run.stderr.contains('\r') && !run.stderr.contains('\x1b'), "{}", run.stderr);
}
