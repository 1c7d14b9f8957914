//! A shard starts at any cohort of any form of input: all shards together are the run.

use crate::common::{folder, has, run, run_into, seqloom, words};
use crate::data::{Reads, align, pairs_with_duplicates, simulate, small, small_pairs};
use crate::shard::{assert_same_run, do_all, gather, one_process, plan, shard};
use seqloom_testkit::random::Random;
use seqloom_testkit::reads::ReadOptions;
use std::path::{Path, PathBuf};

fn check(files: &[&Path], options: &[&str], shards: usize) {
    let here = folder();
    let mut align = align(small(), files);
    align.extend(options.iter().map(|&it| it.to_owned()));
    let one = one_process(&align, here.path(), "one");
    let run = here.path().join("run");
    plan(&run, (shards, 2), &align);
    do_all(&run, "3", shards as u64);
    let many = gather(&run, here.path(), "many");
    assert_same_run(&one, &many, &format!("{files:?} {options:?} {shards}"));
}

fn files(reads: &Reads) -> [&Path; 2] {
    [&reads.first, &reads.second]
}

#[test]
fn cohorts_of_any_size() {
    let mut random = Random::new(5);
    for shards in [3, 5, 11] {
        let bases = random.between(40_000, 400_000).to_string();
        check(&files(small_pairs()), &["-K", &bases], shards);
    }
}

#[test]
fn one_file_and_mates_next_to_each_other() {
    let reads = small_pairs();
    check(&[&reads.first], &["-K", "70000"], 4);
    check(&[&reads.interleaved], &["-K", "123457", "-p"], 5);
    check(&[&reads.first], &["-K", "70000", "-p", "-C"], 3);
}

/// A file in another compression.
fn compressed(from: &Path, folder: &Path, program: &str) -> PathBuf {
    let name = from.file_name().unwrap().to_str().unwrap();
    let to = folder.join(format!("{}.{name}.z", program.replace(' ', "")));
    run_into(words(program).arg(from), &to).ok();
    to
}

#[test]
fn compressed_in_blocks_and_in_one_piece() {
    let here = folder();
    let reads = small_pairs();
    for program in ["gzip -1c", "gzip -9c", "bgzip -c", "zstd -qc"] {
        if !has(program.split(' ').next().unwrap()) {
            continue;
        }
        let made = files(reads).map(|file| compressed(file, here.path(), program));
        check(&[&made[0], &made[1]], &["-K", "250000"], 6);
        check(&[&made[0], &reads.second], &["-K", "510000"], 3);
    }
}

/// gzip is inflated from the restart point before a shard; a damaged one is found out.
#[test]
fn gzip_is_read_from_its_middle() {
    let here = folder();
    let reads = small_pairs();
    let [first, second] = files(reads).map(|file| std::fs::read(file).unwrap());
    let gzip = |text: &[u8], level: &str, name: &str| {
        let (from, to) = (here.path().join("part"), here.path().join(name));
        std::fs::write(&from, text).unwrap();
        run_into(words("gzip").arg(level).arg("-c").arg(&from), &to).ok();
        to
    };
    let one_member = gzip(&first, "-6", "r1.gz");
    // Members that end anywhere, one of them empty.
    let third = second.len() / 3;
    let members = [&second[..third], &[], &second[third..third + 5_000], &second[third + 5_000..]];
    let members = members.iter().zip(["-1", "-6", "-9", "-5"]);
    let bytes = members.map(|(text, level)| std::fs::read(gzip(text, level, "member")).unwrap());
    let many_members = here.path().join("r2.gz");
    std::fs::write(&many_members, bytes.collect::<Vec<_>>().concat()).unwrap();
    let mut align = align(small(), &[&one_member, &many_members]);
    align.extend(["-K", "250000"].map(str::to_owned));
    let one = one_process(&align, here.path(), "one");
    let run_folder = here.path().join("run");
    align.extend(["--restart-step", "64K"].map(str::to_owned));
    plan(&run_folder, (6, 2), &align);
    let planned = std::fs::read_to_string(run_folder.join("plan.json")).unwrap();
    let planned: serde_json::Value = serde_json::from_str(&planned).unwrap();
    for (shard, planned) in planned["shards"].as_array().unwrap().iter().enumerate().skip(1) {
        for (lane, place) in planned["places"].as_array().unwrap().iter().enumerate() {
            assert!(place["raw"].as_u64().unwrap() > 0, "{place}");
            let passed = place["text"].as_u64().unwrap() - place["raw_text"].as_u64().unwrap();
            assert!(passed < 1_500_000, "{place}");
            assert!(run_folder.join(format!("scan/{shard:04}.{lane}")).exists());
        }
    }
    // A damaged point is named; the plan made again is the same, and makes it again.
    let point = run_folder.join("scan/0003.1");
    let good = std::fs::read(&point).unwrap();
    let mut bad = good.clone();
    bad[good.len() / 2] ^= 4;
    std::fs::write(&point, &bad).unwrap();
    let shard_3 = || shard("align", &run_folder, &["--shard", "3"]);
    shard_3().fails_with(4).says(&["scan/0003.1", "plan.json", "run plan again"]);
    std::fs::remove_file(&point).unwrap();
    shard_3().fails_with(4).says(&["scan/0003.1"]);
    let plan_text = std::fs::read(run_folder.join("plan.json")).unwrap();
    std::fs::remove_file(run_folder.join("plan.json")).unwrap();
    plan(&run_folder, (6, 2), &align);
    assert!(std::fs::read(run_folder.join("plan.json")).unwrap() == plan_text);
    assert!(std::fs::read(&point).unwrap() == good);
    do_all(&run_folder, "3", 4);
    let many = gather(&run_folder, here.path(), "many");
    assert_same_run(&one, &many, "from restart points");
}

#[test]
fn reads_of_any_length_without_qualities_and_in_lines() {
    let here = folder();
    let options = ReadOptions {
        paired: false,
        templates: 3_000,
        length_min_bp: 30,
        length_max_bp: 900,
        ..pairs_with_duplicates(0)
    };
    let reads = simulate(small(), &options, here.path());
    let text = std::fs::read_to_string(&reads.first).unwrap();
    let (mut fasta, mut wrapped) = (String::new(), String::new());
    for record in text.lines().collect::<Vec<_>>().chunks(4) {
        fasta += &format!(">{}\n{}\n", &record[0][1..], record[1]);
        let fold = |line: &str| {
            let parts: Vec<_> = line.as_bytes().chunks(60).collect();
            String::from_utf8(parts.join(&b'\n')).unwrap()
        };
        wrapped += &format!("{}\n{}\n+\n{}\n", record[0], fold(record[1]), fold(record[3]));
    }
    for (name, text) in [("r.fa", fasta), ("wrapped.fq", wrapped)] {
        let path = here.path().join(name);
        std::fs::write(&path, text).unwrap();
        check(&[&path], &["-K", "90000"], 5);
    }
}

#[test]
fn what_cannot_be_cut_is_refused_by_name() {
    let here = folder();
    let run_folder = here.path().join("run");
    let reads = small_pairs();
    let refused = |more: &[&str], words: &[&str]| {
        let mut command = seqloom(["shard", "plan", "--run"]);
        command.arg(&run_folder).arg(&small().ours).args(more);
        run(&mut command).fails_with(2).says(words);
        assert!(!run_folder.join("plan.json").exists());
    };
    let first = reads.first.to_str().unwrap();
    refused(&["-"], &["- is not a regular file"]);
    refused(&[first, "-o", "x.bam"], &["-o belongs to `seqloom shard gather`"]);
    refused(&[first, "--json", "x"], &["--json"]);
    refused(&[first, "--metrics-dir", "x"], &["--metrics-dir"]);
    refused(&[first, "--md5"], &["--md5"]);
    refused(&[first, "--resume"], &["--resume"]);
    refused(&[first, "--html", "x.html"], &["--html"]);
    refused(&[first, "--mode", "ungapped"], &["--mode"]);
    refused(&[first, "--stripes", "2"], &["--stripes"]);
    refused(&[first, "--no-sort", "--no-mark-duplicates"], &["--no-sort"]);
    refused(&[first, "--output-format", "sam"], &["--output-format sam"]);
    let sheet = here.path().join("lanes.csv");
    std::fs::write(&sheet, format!("sample,fastq_1\ns,{first}\n")).unwrap();
    refused(&["--input", sheet.to_str().unwrap()], &["--input"]);
    if has("samtools") {
        let bam = here.path().join("reads.bam");
        crate::data::to_bam(&reads.unaligned_sam, &bam);
        refused(&[bam.to_str().unwrap()], &["reads.bam", "not BAM"]);
    }
    let broken = here.path().join("broken.fq");
    std::fs::write(&broken, "@a\nACGT\n+\nIII\n").unwrap();
    let mut command = seqloom(["shard", "plan", "--run"]);
    command.arg(&run_folder).arg(&small().ours).arg(&broken);
    run(&mut command).fails_with(3).says(&["broken.fq", "record 1"]);
    // No reads at all are a run, too.
    let empty = here.path().join("empty.fq");
    std::fs::write(&empty, "").unwrap();
    check(&[&empty], &[], 1);
}
