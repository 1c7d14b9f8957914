//! Valid files: by samtools quickcheck, by Picard ValidateSamFile, in the order and with the index
//! that samtools would have made, and with the counts it finds.

use crate::common::{READ_GROUP, folder, has, names_in, picard, run, run_into, seqloom, words};
use crate::data::{align_small, small, small_pairs};
use seqloom_testkit::bam::{BamReader, BamRecord};
use seqloom_testkit::random::Random;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn make(folder: &Path, name: &str, extra: &[&str]) -> PathBuf {
    let out = folder.join(name);
    let mut command = seqloom(align_small());
    run(command.args(["-R", READ_GROUP, "-o"]).arg(&out).args(extra)).ok();
    out
}

fn records(bam: &Path) -> Vec<Vec<u8>> {
    let mut reader = BamReader::open(bam).unwrap();
    let mut record = BamRecord::default();
    let mut out = Vec::new();
    while reader.read(&mut record).unwrap() {
        out.push(record.bytes.clone());
    }
    out
}

#[test]
fn quickcheck_accepts_every_kind_of_output() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    for (i, extra) in [
        &[][..],
        &["--no-sort", "--no-mark-duplicates"],
        &["--remove-duplicates"],
        &["-l", "0"],
        &["-l", "12"],
    ]
    .iter()
    .enumerate()
    {
        let bam = make(here.path(), &format!("{i}.bam"), extra);
        run(words("samtools quickcheck -v").arg(&bam)).ok();
    }
}

/// Kinds of errors (not warnings) that ValidateSamFile finds.
fn validation_errors(bam: &Path) -> BTreeSet<String> {
    let line =
        format!("ValidateSamFile I={} R={} MODE=SUMMARY", bam.display(), small().ours.display());
    let report = run(&mut picard(&line));
    let lines = report.text();
    let known =
        lines.contains("No errors found") || lines.contains("ERROR") || lines.contains("WARNING");
    assert!(known, "{lines}{}", report.stderr);
    let kind =
        |line: &str| line.strip_prefix("ERROR:").map(|l| l.split('\t').next().unwrap().into());
    lines.lines().filter_map(kind).collect()
}

#[test]
fn picard_finds_no_error_that_bwa_and_samtools_do_not_make() {
    let (true, true, true) = (has("picard"), has("bwa"), has("samtools")) else { return };
    let here = folder();
    let ours = validation_errors(&make(here.path(), "ours.bam", &[]));
    let (sam, bam) = (here.path().join("bwa.sam"), here.path().join("bwa.bam"));
    let mut bwa = words("bwa mem -t 2 -K 100000000 -R");
    bwa.arg(READ_GROUP).arg(small().bwa()).arg(&small_pairs().first).arg(&small_pairs().second);
    run_into(&mut bwa, &sam).ok();
    run(words("samtools sort -o").arg(&bam).arg(&sam)).ok();
    let theirs = validation_errors(&bam);
    let new: Vec<_> = ours.difference(&theirs).collect();
    assert!(new.is_empty(), "{new:?}");
}

#[test]
fn order_is_that_of_samtools_sort() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let fused = make(here.path(), "fused.bam", &["--no-mark-duplicates"]);
    let unsorted = make(here.path(), "unsorted.bam", &["--no-sort", "--no-mark-duplicates"]);
    let sorted = here.path().join("sorted.bam");
    run(words("samtools sort -o").arg(&sorted).arg(&unsorted)).ok();
    let (ours, theirs) = (records(&fused), records(&sorted));
    assert!(ours.len() > 2 * 20_000);
    assert_eq!(ours.len(), theirs.len());
    let differ = ours.iter().zip(&theirs).position(|(a, b)| a != b);
    assert_eq!(differ, None, "the first record in another place");
}

#[test]
fn index_answers_as_that_of_samtools() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let bam = make(here.path(), "x.bam", &[]);
    let ours = here.path().join("x.bam.bai");
    assert!(ours.exists(), "{:?}", names_in(here.path()));
    let theirs = here.path().join("theirs.bai");
    run(words("samtools index").arg(&bam).arg(&theirs)).ok();
    let lengths: Vec<(String, u64)> =
        small().genome().contigs.iter().map(|c| (c.name.clone(), c.bases.len() as u64)).collect();
    let mut random = Random::new(77);
    let mut hits = 0;
    // A hundred regions a call: samtools answers them one after the other.
    for _ in 0..10 {
        let mut regions = Vec::new();
        for _ in 0..100 {
            let (name, length) = &lengths[random.index(lengths.len())];
            let width = 1 << random.below(17);
            let start = random.between(1, *length);
            regions.push(format!("{name}:{start}-{}", start + width));
        }
        let answer = |index: &Path| {
            let mut view = words("samtools view -X");
            run(view.arg(&bam).arg(index).args(&regions)).ok().stdout
        };
        let (a, b) = (answer(&ours), answer(&theirs));
        hits += b.iter().filter(|&&c| c == b'\n').count();
        assert!(a == b, "one of {regions:?}");
    }
    assert!(hits > 10_000, "{hits}");
    for (name, _) in &lengths {
        let answer = |index: &Path| {
            run(words("samtools view -X -c").arg(&bam).arg(index).arg(name)).ok().stdout
        };
        assert_eq!(answer(&ours), answer(&theirs), "{name}");
    }
    let placed = run(words("samtools idxstats").arg(&bam)).ok().stdout;
    fs::rename(&theirs, &ours).unwrap();
    assert_eq!(placed, run(words("samtools idxstats").arg(&bam)).ok().stdout);
}

#[test]
fn flagstat_and_idxstats_are_those_of_samtools() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let metrics = here.path().join("metrics");
    let bam = make(here.path(), "x.bam", &["--metrics-dir", metrics.to_str().unwrap()]);
    for kind in ["flagstat", "idxstats"] {
        let names = names_in(&metrics);
        let name = names.iter().find(|n| n.contains(kind));
        let name = name.unwrap_or_else(|| panic!("no {kind} in {names:?}"));
        let ours = fs::read_to_string(metrics.join(name)).unwrap();
        let mut samtools = words("samtools");
        let theirs = run(samtools.arg(kind).arg(&bam)).ok().text();
        assert_eq!(ours, theirs, "{kind}");
    }
}

#[test]
fn every_read_comes_out_once() {
    let here = folder();
    let names = |bam: &Path| {
        let mut reader = BamReader::open(bam).unwrap();
        let mut record = BamRecord::default();
        let mut names = Vec::new();
        while reader.read(&mut record).unwrap() {
            if record.is_primary() {
                names.push((record.name().to_vec(), record.flag() & 0xC0));
            }
        }
        names.sort_unstable();
        names
    };
    let text = fs::read_to_string(&small_pairs().first).unwrap();
    let reads = text.lines().step_by(4).map(|l| l.as_bytes()[1..].to_vec());
    let mut expected: Vec<(Vec<u8>, u16)> =
        reads.flat_map(|name| [(name.clone(), 0x40), (name, 0x80)]).collect();
    expected.sort_unstable();
    assert!(names(&make(here.path(), "sorted.bam", &[])) == expected);
    let unsorted = make(here.path(), "unsorted.bam", &["--no-sort", "--no-mark-duplicates"]);
    assert!(names(&unsorted) == expected);
}

#[test]
fn long_references_get_a_csi_index() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let bam = make(here.path(), "x.bam", &["--write-index=csi"]);
    let csi = here.path().join("x.bam.csi");
    assert!(csi.exists(), "{:?}", names_in(here.path()));
    let name = &small().genome().contigs[0].name;
    let region = format!("{name}:100000-150000");
    let theirs = here.path().join("theirs.csi");
    run(words("samtools index -c").arg(&bam).arg(&theirs)).ok();
    let answer =
        |index: &Path| run(words("samtools view -X").arg(&bam).arg(index).arg(&region)).ok().stdout;
    assert!(answer(&csi) == answer(&theirs));
    assert!(!answer(&csi).is_empty());
}
