//! The certified path of `align`: the same bytes with and without, and what is said where it is
//! off.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use seqloom_testkit::reads::ReadOptions;
use seqloom_testkit::skip::{self, slow_tests};

use crate::common::{READ_GROUP, folder, has, memory_floor, run, scratch, seqloom, words};
use crate::data::{
    Reads, Reference, align, chr20, chr20_start, ecoli, na12878, plasmodium, simulate, small,
    small_pairs, yeast,
};

/// Aligns with and without the path; says what part of the reads was spared a search.
#[track_caller]
fn the_same_bytes(reference: &Reference, reads: &[&Path], options: &str) -> f64 {
    let here = folder();
    let aligned = |name: &str, path: &str| {
        let (bam, json) = (here.path().join(name), here.path().join("run.json"));
        let mut command = seqloom(align(reference, reads));
        command.args(["--no-pg", "-R", READ_GROUP, "-o"]).arg(&bam).arg("--json").arg(&json);
        run(command.args(options.split_whitespace()).args(path.split_whitespace())).ok();
        let report: serde_json::Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
        (fs::read(&bam).unwrap(), report["certified_path"]["reads"].clone())
    };
    let (with, counts) = aligned("with.bam", "");
    let (without, none) = aligned("without.bam", "--no-certified-path");
    assert!(with == without, "the path shows with '{options}'");
    assert_eq!(none, serde_json::json!({}));
    let count = |name: &str| counts[name].as_u64().unwrap() as f64;
    let all: f64 = counts.as_object().unwrap().values().map(|n| n.as_u64().unwrap() as f64).sum();
    (count("certified") + count("chained")) / all
}

/// Runs to success, with `words` in a log line.
#[track_caller]
fn run_saying(command: &mut Command, words: &str) {
    let said = run(command).ok().stderr;
    assert!(said.contains(words), "no '{words}' in: {said}");
}

fn pairs(reads: &Reads) -> [&Path; 2] {
    [&reads.first, &reads.second]
}

/// In short cohorts most calls of the library have a few reads with bases among hundreds without,
/// which its arrays once had no room for.
#[test]
fn calls_with_few_reads_that_are_not_certified() {
    let here = folder();
    let text = fs::read_to_string(&small_pairs().interleaved).unwrap();
    let lines: Vec<_> = text.lines().collect();
    let path = here.path().join("some.fq");
    for first in (0..lines.len() / 4).step_by(8_000) {
        let some = lines[4 * first..].chunks(4).take(8_000).flatten();
        fs::write(&path, some.map(|line| format!("{line}\n")).collect::<String>()).unwrap();
        the_same_bytes(small(), &[&path], "-p -K 123457 -t 3");
    }
    // Without the path such calls come of reads that were cut to nothing.
    let cut = |(at, lines): (usize, &[&str])| {
        let [name, bases, plus, qualities] = lines else { panic!("four lines") };
        let length = if at % 700 < 4 { bases.len() } else { 0 };
        format!("{name}\n{}\n{plus}\n{}\n", &bases[..length], &qualities[..length])
    };
    fs::write(&path, lines.chunks(4).enumerate().map(cut).collect::<String>()).unwrap();
    the_same_bytes(small(), &[&path], "-p -K 20000 -t 3");
}

#[test]
fn options_make_no_difference_to_it() {
    let reads = small_pairs();
    for options in [
        "-t 1",
        "-t 7 -K 100000",
        "-t 2 -Y -M -C",
        "-t 2 -T 50 -U 9 -h 2,5 -c 2",
        "-t 2 -L 0,9",
        "-t 2 -B 3 -O 8,9 -E 2,1 -w 30",
        "-t 2 -I 400,60",
        "-t 2 -x intractg",
        "-t 2 -j --no-sort --no-mark-duplicates",
    ] {
        let share = the_same_bytes(small(), &pairs(reads), options);
        assert!(share > 0.3, "{options}: {share}");
    }
    let single: [&Path; 1] = [&reads.first];
    assert!(the_same_bytes(small(), &single, "-t 2") > 0.3);
    let interleaved: [&Path; 1] = [&reads.interleaved];
    assert!(the_same_bytes(small(), &interleaved, "-t 2 -p") > 0.3);
}

#[test]
fn real_genomes_with_reads_of_many_lengths() {
    let templates = if slow_tests() { 300_000 } else { 10_000 };
    for reference in [ecoli(), chr20()].into_iter().flatten() {
        for (length, error) in [(76, 0.001), (100, 0.01), (150, 0.002), (250, 0.02), (150, 0.05)] {
            let options = ReadOptions {
                seed: length as u64,
                templates,
                length_min_bp: length,
                length_max_bp: length,
                error_first: error / 2.0,
                error_last: 2.0 * error,
                chimera_share: 0.03,
                ..ReadOptions::default()
            };
            let here = folder();
            let reads = simulate(reference, &options, here.path());
            let share = the_same_bytes(reference, &pairs(&reads), "-t 2");
            eprintln!("{length} bases, {error} errors a base: {share:.3} spared");
            assert!(share > if error < 0.05 { 0.2 } else { 0.0 }, "{length}, {error}: {share}");
        }
    }
}

/// What sequencers and libraries may give; each with so many reads a template.
fn kinds_of_reads() -> [ReadOptions; 8] {
    let default = ReadOptions::default;
    let of =
        |length, options| ReadOptions { length_min_bp: length, length_max_bp: length, ..options };
    [
        default(),
        of(100, ReadOptions { insert_mean_bp: 500.0, insert_sd_bp: 200.0, ..default() }),
        of(76, ReadOptions { error_first: 0.0005, error_last: 0.002, ..default() }),
        of(250, ReadOptions { error_first: 0.01, error_last: 0.05, ..default() }),
        // Mates of unlike lengths.
        ReadOptions { length_min_bp: 40, length_max_bp: 150, ..default() },
        of(125, ReadOptions { paired: false, ..default() }),
        // Mates that overlap, and many that show the adapter.
        ReadOptions { insert_mean_bp: 180.0, adapter_share: 0.2, ..default() },
        // Inserts and orientations outside of every model, and many gaps.
        ReadOptions { chimera_share: 0.2, indel_rate: 0.003, ..default() },
    ]
}

/// 21.6 million reads as a long test, and twelve thousand else.
#[test]
fn reads_of_many_kinds_of_many_genomes() {
    let slow = slow_tests();
    let templates = if slow { 360_000 } else { 2_000 };
    let genomes = [yeast(), plasmodium(), ecoli(), chr20()];
    for (number, reference) in genomes.into_iter().enumerate() {
        let Some(reference) = reference else { continue };
        for (kind, options) in kinds_of_reads().into_iter().enumerate() {
            // Elsewhere two kinds of reads of two genomes.
            if !slow && (number > 1 || kind % 4 != number) {
                continue;
            }
            let seed = (10 * number + kind) as u64;
            let options = ReadOptions { templates, seed, ..options };
            let here = folder();
            let reads = simulate(reference, &options, here.path());
            let of_run = pairs(&reads);
            let of_run = if options.paired { &of_run[..] } else { &of_run[..1] };
            let share = the_same_bytes(reference, of_run, "-t 2");
            eprintln!("genome {number}, reads {kind}: {share:.3} spared");
            assert!(share > 0.2, "genome {number}, reads {kind}: {share}");
        }
    }
}

/// Real reads have errors that no model has.
#[test]
fn real_reads() {
    let plain = |reference: &Reference, file: &str, options: &str| {
        let Some(reads) = skip::data(file) else { return };
        let share = the_same_bytes(reference, &[&reads], options);
        eprintln!("{file}: {share:.3} spared");
    };
    if let Some(yeast) = yeast() {
        // 36 bases are too short for it.
        let file = "reads/htseq_yeast_rnaseq/yeast_RNASeq_excerpt_sequence.txt";
        plain(yeast, file, "-t 2 --phred64");
    }
    if let Some(ecoli) = ecoli() {
        plain(ecoli, "reads/hiseqX_phix150_seqkit/Illimina1.8.fq.gz", "-t 2");
        let files = ["ecoli_1K_1.fq.gz", "ecoli_1K_2.fq.gz"];
        let files = files.map(|file| skip::data(&format!("reads/spades_ecoli_1K/{file}")));
        if let [Some(first), Some(second)] = files {
            let share = the_same_bytes(ecoli, &[&first, &second], "-t 2");
            eprintln!("spades_ecoli_1K: {share:.3} spared");
            assert!(share > 0.5, "{share}");
        }
    }
    let (true, true) = (has("samtools"), has("picard")) else { return };
    let (Some(reference), Some(bam)) = (chr20_start(), na12878()) else { return };
    let here = folder();
    let (first, second) = (here.path().join("1.fq"), here.path().join("2.fq"));
    let mut split = words("samtools fastq -n -0 /dev/null -s /dev/null");
    run(split.arg("-1").arg(&first).arg("-2").arg(&second).arg(&bam)).ok();
    let share = the_same_bytes(reference, &[&first, &second], "-t 2");
    eprintln!("NA12878: {share:.3} spared");
    assert!(share > 0.2, "{share}");
}

/// The small reference copied, so that its table can be changed.
fn copied(folder: &Path) -> PathBuf {
    let source = &small().ours;
    for suffix in ["", ".pac", ".ann", ".amb", ".fast", ".bwt.2bit.64"] {
        let from = format!("{}{suffix}", source.display());
        fs::copy(from, folder.join(format!("ref.fa{suffix}"))).unwrap();
    }
    folder.join("ref.fa")
}

#[test]
fn a_table_that_cannot_be_used_is_named() {
    let here = folder();
    let fasta = copied(here.path());
    let table = here.path().join("ref.fa.fast");
    let whole = fs::read(&table).unwrap();
    let aligned = |says: &str| {
        let bam = here.path().join("x.bam");
        let mut command = seqloom(["align", "--no-pg", "-t", "2"]);
        command.arg(&fasta).args(pairs(small_pairs())).arg("-o").arg(&bam);
        run_saying(&mut command, says);
        fs::read(&bam).unwrap()
    };
    let expected = aligned("were certified");
    let mut bent = whole.clone();
    bent[whole.len() / 2] ^= 4;
    let mut newer = whole.clone();
    newer[6] = b'9';
    let mut foreign = whole.clone();
    foreign[17] ^= 1;
    let damages: [(&[u8], &str); 5] = [
        (&bent, "is damaged"),
        (&whole[..whole.len() - 1], "is damaged"),
        (&newer, "is not a table of this version"),
        (&foreign, "belongs to another index"),
        (b"", "is not a table of this version"),
    ];
    for (bytes, says) in damages {
        fs::write(&table, bytes).unwrap();
        assert!(aligned(says) == expected, "{says}");
    }
    fs::remove_file(&table).unwrap();
    assert!(aligned("there is no") == expected);
    run(seqloom(["index", "--no-fast-table"]).arg(&fasta)).ok();
    assert!(!table.exists());
}

#[test]
fn memory_without_room_for_the_table_aligns_without_it() {
    // A small genome's table would fit what the floor is rounded up by.
    let Some(reference) = chr20() else { return };
    let arguments = align(reference, &pairs(small_pairs()));
    let floor = memory_floor(&arguments);
    let bam = scratch().join("certified-floor.bam");
    let mut command = seqloom(&arguments);
    command.args(["-m", &floor, "-o"]).arg(&bam);
    run_saying(&mut command, "without the certified path: its table needs -m");
    run(words("samtools quickcheck").arg(&bam)).ok();
}

#[test]
fn options_without_a_proof_turn_it_off() {
    for (options, why) in [("-k 17", "-k is not 19"), ("-B 6", "a gap costs no more")] {
        let here = folder();
        let mut command = seqloom(align(small(), &pairs(small_pairs())));
        command.args(options.split_whitespace()).arg("-o").arg(here.path().join("x.bam"));
        run_saying(&mut command, &format!("without the certified path: {why}"));
    }
}
