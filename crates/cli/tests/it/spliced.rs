//! `--mode spliced`: no worse than HISAT2 where the truth is known, with introns that are known and
//! with those that a first pass finds; its tags; what becomes of input that makes no sense.

use crate::by_score::STREAM;
use crate::common::{
    READ_GROUP, assert_same_bytes, folder, has, memory_floor, run, run_into, seqloom, words,
};
use crate::data::{Reference, align, small};
use crate::rna::{Case, placed, write_gtf};
use crate::ungapped::assert_valid;
use seqloom_testkit::random::Random;
use seqloom_testkit::sam::{SamRecord, flag};
use seqloom_testkit::transcripts::{Intron, introns};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn reads_over_introns_are_placed_no_worse_than_by_hisat2() {
    if !has("hisat2") {
        return;
    }
    let case = Case::small(1, 6000);
    for mates in [1, 2] {
        for [ours, theirs] in case.both(mates) {
            let what = format!("{mates} mates: {ours:?} {theirs:?}");
            // Two in a thousand are left to chance, of which a genome of random bases has more.
            let is_no_less = |ours: usize, theirs: usize| 1000 * ours >= 998 * theirs;
            assert!(is_no_less(ours.exact, theirs.exact), "{what}");
            assert!(is_no_less(ours.exact_over_introns, theirs.exact_over_introns), "{what}");
            assert!(ours.exact_over_introns > 0, "{what}");
            assert!(ours.share() >= theirs.share() - 0.003, "{what}");
            assert!(ours.wrong_though_sure <= theirs.wrong_though_sure + 2, "{what}");
        }
    }
}

#[test]
fn slow_reads_over_introns_are_placed_no_worse_than_by_hisat2_in_human() {
    if !seqloom_testkit::skip::slow_tests() || !has("hisat2") {
        return;
    }
    for case in [1, 2].into_iter().filter_map(|seed| Case::human(seed, 200_000)) {
        for mates in [1, 2] {
            for [ours, theirs] in case.both(mates) {
                let what = format!("{mates} mates: {ours:?} {theirs:?}");
                eprintln!("{what}");
                assert!(ours.exact >= theirs.exact, "{what}");
                assert!(ours.exact_over_introns >= theirs.exact_over_introns, "{what}");
                assert!(ours.right_introns >= theirs.right_introns, "{what}");
                assert!(ours.share() >= theirs.share(), "{what}");
                assert!(ours.wrong_though_sure <= theirs.wrong_though_sure + 3, "{what}");
            }
        }
    }
}

#[test]
fn what_becomes_of_a_read_does_not_depend_on_the_order_of_lanes() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let fasta = here.path().join("twice.fa");
    // Every read is in two places.
    let contig = &small().genome().contigs[0];
    let part = String::from_utf8(contig.bases[..60_000].to_vec()).unwrap();
    fs::write(&fasta, format!(">one\n{part}\n>two\n{part}\n")).unwrap();
    let reference = Reference::new("twice", &fasta);
    let mut random = Random::new(10);
    for lane in ["a", "b", "c"] {
        let read = |number: usize, random: &mut Random| {
            let (from, skipped) = (random.index(50_000), random.index(3000));
            let bases = [&part[from..from + 50], &part[from + 50 + skipped..from + 100 + skipped]];
            format!("@{lane}{number}\n{}\n+\n{}\n", bases.concat(), "F".repeat(100))
        };
        let text: String = (0..400).map(|number| read(number, &mut random)).collect();
        fs::write(here.path().join(format!("{lane}.fq")), text).unwrap();
    }
    let records = |lanes: [&str; 3]| {
        let row = |lane: &&str| format!("s,{lane}.fq,{lane}\n");
        let rows: String = lanes.iter().map(row).collect();
        let (sheet, bam) = (here.path().join("lanes.csv"), here.path().join("out.bam"));
        fs::write(&sheet, format!("sample,fastq_1,read_group\n{rows}")).unwrap();
        let mut command =
            seqloom(["align", "--mode", "spliced", "--no-mark-duplicates", "--input"]);
        run(command.arg(&sheet).arg(&reference.ours).arg("-o").arg(&bam)).ok();
        let text = run(words("samtools view").arg(&bam)).ok().stdout;
        let text = String::from_utf8(text).unwrap();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    };
    let forward = records(["a", "b", "c"]);
    assert!(forward.iter().filter(|it| it.contains("NH:i:2")).count() > 1000);
    assert_eq!(forward, records(["c", "a", "b"]));
}

/// A whole run, sorted; what it writes.
fn out(case: &Case, name: &str, mates: usize, options: &[&str]) -> PathBuf {
    let path = case.path(name);
    let mut command = seqloom(align(small(), &case.inputs(mates)));
    command.args(["--mode", "spliced", "--no-pg", "-R", READ_GROUP, "-o"]).arg(&path);
    run(command.args(options)).ok();
    path
}

#[test]
fn the_same_bytes_for_any_threads_and_memory_over_introns() {
    let case = Case::small(2, 3000);
    for mates in [1, 2] {
        let mut arguments = align(small(), &case.inputs(mates));
        arguments.extend(["--mode", "spliced", "-o", "-"].map(str::to_owned));
        let floor = memory_floor(&arguments);
        let base = out(&case, "base.bam", mates, &["-t1"]);
        for other in
            [["-t2", "-m4G"], ["-t7", "-m4G"], ["-t64", "-m8G"], ["-t1", &format!("-m{floor}")]]
        {
            let path = out(&case, "other.bam", mates, &other);
            assert_same_bytes(&base, &path, &format!("{mates} mates {other:?}"));
        }
    }
}

#[test]
fn a_pipe_is_read_twice() {
    let case = Case::small(3, 1000);
    let base = out(&case, "base.bam", 1, &[]);
    let path = case.path("piped.bam");
    let mut ours = seqloom(align(small(), &[Path::new("-")]));
    ours.args(["--mode", "spliced", "--no-pg", "-R", READ_GROUP, "-o"]).arg(&path);
    let mut command = Command::new("sh");
    command.args(["-c", r#"reads=$1; shift; cat "$reads" | "$@""#, "sh"]).arg(&case.files[0]);
    run(command.arg(ours.get_program()).args(ours.get_args())).ok();
    assert_same_bytes(&base, &path, "a pipe");
}

#[test]
fn records_over_introns_are_valid() {
    let (true, true) = (has("picard"), has("samtools")) else { return };
    let case = Case::small(4, 3000);
    for mates in [1, 2] {
        let bam = out(&case, "valid.bam", mates, &["--placements", "3"]);
        assert_valid(&bam, case.here.path(), &format!("{mates} mates"));
    }
}

#[test]
fn gtf_and_splice_sites_say_the_same() {
    let case = Case::small(5, 1500);
    let gtf = case.path("genes.gtf");
    write_gtf(small(), &case.transcripts, &gtf);
    let [gtf, sites] = [&gtf, &case.sites].map(|it| it.display().to_string());
    let by_sites = out(&case, "sites.bam", 2, &["--splice-sites", &sites]);
    let by_gtf = out(&case, "gtf.bam", 2, &["--splice-sites", &gtf]);
    assert_same_bytes(&by_sites, &by_gtf, "GTF");
}

#[test]
fn junctions_are_those_of_the_records_with_their_strands() {
    let case = Case::small(6, 2000);
    let bed = case.path("junctions.bed");
    let bed_name = bed.display().to_string();
    let sam = case.path("all.sam");
    let mut command = seqloom(align(small(), &case.inputs(1)));
    command.args(["--mode", "spliced", "--junctions", &bed_name]).args(STREAM).args(["-o", "-"]);
    run_into(&mut command, &sam).ok();
    let contigs = &small().genome().contigs;
    let mut counts: BTreeMap<Intron, usize> = BTreeMap::new();
    for it in placed(small(), &sam).iter().filter(|it| it.mapq == 60) {
        let truth = it.truth.as_ref().unwrap();
        for [start, end] in &truth.introns {
            let intron = Intron { contig: truth.contig, start: *start, end: *end };
            *counts.entry(intron).or_default() += 1;
        }
    }
    let text = fs::read_to_string(&bed).unwrap();
    let truth = introns(&case.transcripts);
    let (mut found, mut right_strands) = (BTreeMap::new(), 0);
    for line in text.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let contig = contigs.iter().position(|it| it.name == fields[0]).unwrap();
        let [start, end] = [1, 2].map(|at: usize| fields[at].parse().unwrap());
        let intron = Intron { contig, start, end };
        assert_eq!(fields[3], "novel");
        found.insert(intron, fields[4].parse::<usize>().unwrap());
        if let Some(is_reverse) = truth.get(&intron) {
            assert_eq!(fields[5], if *is_reverse { "-" } else { "+" }, "{line}");
            right_strands += 1;
        }
    }
    assert_eq!(found, counts);
    let known: BTreeSet<_> = truth.keys().collect();
    assert!(right_strands * 10 > known.len() * 8, "{right_strands} of {}", known.len());
}

#[test]
fn strands_are_said_as_the_library_is() {
    let case = Case::small(7, 300);
    let t = |options: &[&str], expected: fn(u16, &str) -> Option<&'static str>| {
        let sam = case.path("strands.sam");
        let mut command = seqloom(align(small(), &case.inputs(2)));
        command.args(["--mode", "spliced"]).args(options).args(STREAM).args(["-o", "-"]);
        run_into(&mut command, &sam).ok();
        let text = fs::read(&sam).unwrap();
        let lines = text.split(|&byte| byte == b'\n').filter(|line| !line.starts_with(b"@"));
        for record in lines.filter_map(SamRecord::parse) {
            let cigar = std::str::from_utf8(record.columns[5]).unwrap();
            if record.flag & flag::UNMAPPED == 0 {
                let tag = record.tag(*b"XS").map(|it| String::from_utf8_lossy(it).into_owned());
                let is_there = tag.as_deref().map(|it| if it.ends_with('+') { "+" } else { "-" });
                let requested = expected(record.flag, cigar);
                let is_alike = requested.is_none_or(|it| Some(it) == is_there);
                assert!(is_alike, "{options:?} {} {cigar} {tag:?}", record.flag);
            }
        }
    };
    t(&["--library-strand", "forward"], |flags, _| {
        let is_alike = (flags & flag::REVERSE != 0) == (flags & flag::SECOND != 0);
        Some(if is_alike { "+" } else { "-" })
    });
    t(&["--library-strand", "reverse"], |flags, _| {
        let is_alike = (flags & flag::REVERSE != 0) == (flags & flag::SECOND != 0);
        Some(if is_alike { "-" } else { "+" })
    });
}

#[test]
fn introns_of_another_reference_are_refused() {
    let case = Case::small(8, 10);
    let name = &small().genome().contigs[0].name;
    let file = case.path("some.txt");
    let command = |text: &str| {
        fs::write(&file, text).unwrap();
        let mut command = seqloom(align(small(), &case.inputs(1)));
        command.args(["--mode", "spliced", "-o"]).arg(case.path("none.bam"));
        command.arg("--splice-sites").arg(&file);
        command
    };
    let t = |text: &str, says: &[&str]| {
        run(&mut command(text)).fails_with(3).says(says);
        assert!(!case.path("none.bam").exists());
    };
    t("chrX\t5\t100\t+\n", &["some.txt", "another reference", "chrX"]);
    t(&format!("{name}\t5\t999999999\t+\n"), &["some.txt: line 1", "which has"]);
    let row = format!("{name}\t5\t100\t+\n{name}\t50\t20\t+\n");
    t(&row, &["some.txt: line 2", "before its start"]);
    t("one two\n", &["some.txt: line 1", "1 fields"]);
    let exon = |start: usize, end: usize| {
        format!("{name}\t.\texon\t{start}\t{end}\t.\t+\t.\ttranscript_id \"t\";\n")
    };
    t(&(exon(10, 100) + &exon(90, 200)), &["some.txt: line 2", "overlaps the one of line 1"]);
    let gff3 = ["some.txt: line 1", "GFF3", "gffread -T"];
    t("##gff-version 3\n", &gff3);
    t(&format!("{name}\t.\texon\t1\t9\t.\t+\t.\tID=e1;Parent=t\n"), &gff3);
    let genes = format!("{name}\t.\tgene\t1\t9\t.\t+\t.\tgene_id \"g\";\n");
    t(&genes, &["some.txt: GTF without a row whose feature is exon"]);
    // Some rows of another one are counted.
    let both = format!("{name}\t5\t100\t+\nchrX\t5\t100\t+\n");
    let said = run(&mut command(&both)).ok().stderr;
    assert!(said.contains("1 rows are on sequences"), "{said}");
}

#[test]
fn options_of_other_modes_are_refused_over_introns() {
    let case = Case::small(9, 1);
    let t = |options: &[&str], says: &str| {
        let mut command = seqloom(align(small(), &case.inputs(1)));
        let refused = run(command.args(options).args(["-o", "-"]));
        assert_eq!(refused.code(), 2, "{options:?}");
        refused.says(&[says]);
    };
    t(&["--max-intron", "100"], "--max-intron is an option of --mode spliced");
    t(&["--mode", "local", "--junctions", "x"], "--junctions is an option of --mode spliced");
    t(&["--mode", "spliced", "--effort", "fast"], "--effort is an option of");
    t(&["--mode", "spliced", "--all"], "--all is an option of");
    t(&["--mode", "spliced", "--match-bonus", "3"], "--match-bonus");
    t(&["--mode", "spliced", "--min-intron", "90", "--max-intron", "80"], "is more than");
    t(&["--mode", "spliced", "--clip-penalties", "1,2"], "--clip-penalties");
    t(&["--mode", "spliced", "--no-spliced", "--one-pass", "--min-intron", "30"], "--no-spliced");
}
