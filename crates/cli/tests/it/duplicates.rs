//! The same duplicates as Picard MarkDuplicates, and the same metrics.

use crate::common::{folder, has, names_in, picard, run, seqloom, words};
use crate::data::{
    Reference, align, chr20_start, na12878, pairs_with_duplicates, simulate, small, small_pairs,
    to_bam,
};
use seqloom_testkit::bam::{BamReader, BamRecord};
use seqloom_testkit::planted::changed_number;
use seqloom_testkit::reads::ReadOptions;
use seqloom_testkit::sam::flag;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// What identifies a record, duplicates flag apart: name, FLAG, place and CIGAR.
type Key = (Vec<u8>, u16, i32, i32, Vec<(u32, u8)>);

/// Which of the records with a key are marked.
type Marks = HashMap<Key, Vec<bool>>;

fn marks(bam: &Path) -> Marks {
    let mut reader = BamReader::open(bam).unwrap();
    let mut record = BamRecord::default();
    let mut marks = Marks::new();
    while reader.read(&mut record).unwrap() {
        let key = (
            record.name().to_vec(),
            record.flag() & !flag::DUPLICATE,
            record.reference(),
            record.position(),
            record.cigar().collect(),
        );
        marks.entry(key).or_default().push(record.flag() & flag::DUPLICATE != 0);
    }
    marks.values_mut().for_each(|m| m.sort_unstable());
    marks
}

/// Lines of the metrics table and of the histogram of a file in Picard's layout.
fn tables(path: &Path) -> (Vec<String>, Vec<String>) {
    let text = fs::read_to_string(path).unwrap();
    let section = |mark: &str| {
        let lines = text.lines().skip_while(|l| !l.starts_with(mark)).skip(1);
        lines.take_while(|l| !l.is_empty()).map(str::to_owned).collect::<Vec<_>>()
    };
    (section("## METRICS CLASS"), section("## HISTOGRAM"))
}

/// The duplicate metrics in a metrics folder.
fn metrics_file(folder: &Path) -> PathBuf {
    let is_metrics = |name: &String| {
        let text = fs::read_to_string(folder.join(name)).unwrap_or_default();
        text.contains("picard.sam.DuplicationMetrics")
    };
    let name = names_in(folder).into_iter().find(is_metrics);
    folder.join(name.expect("a file of duplicate metrics"))
}

/// Records that only one side has, or marks otherwise.
fn differing<'a>(ours: &'a Marks, theirs: &'a Marks) -> Vec<&'a Key> {
    let mut keys: Vec<&Key> = ours.keys().chain(theirs.keys()).collect();
    keys.sort_unstable();
    keys.dedup();
    keys.retain(|&key| ours.get(key) != theirs.get(key));
    keys
}

struct Checked {
    records: usize,
    duplicates: usize,
    rows: Vec<String>,
}

/// Marks by seqloom in one go and by Picard from seqloom's unsorted output, and compares.
#[track_caller]
fn equals_picard(reference: &Reference, reads: &[&Path], mode: &str, distance: u32) -> Checked {
    let here = folder();
    let path = |name: &str| here.path().join(name);
    let base = align(reference, reads);
    let mut fused = seqloom(&base);
    fused.args(["--duplicate-mode", mode, "--optical-distance", &distance.to_string()]);
    fused.arg("--metrics-dir").arg(path("metrics")).arg("-o").arg(path("fused.bam"));
    run(&mut fused).ok();
    let mut unsorted = seqloom(&base);
    unsorted.args(["--no-sort", "--no-mark-duplicates", "-o"]).arg(path("unsorted.bam"));
    run(&mut unsorted).ok();
    let (input, order) = if mode == "query" {
        (path("unsorted.bam"), "queryname")
    } else {
        run(words("samtools sort -o").arg(path("sorted.bam")).arg(path("unsorted.bam"))).ok();
        (path("sorted.bam"), "coordinate")
    };
    let line = format!(
        "MarkDuplicates I={} O={} M={} ASSUME_SORT_ORDER={order} \
         OPTICAL_DUPLICATE_PIXEL_DISTANCE={distance} ADD_PG_TAG_TO_READS=false \
         VALIDATION_STRINGENCY=LENIENT",
        input.display(),
        path("picard.bam").display(),
        path("picard.txt").display()
    );
    run(&mut picard(&line)).ok();
    let (ours, theirs) = (marks(&path("fused.bam")), marks(&path("picard.bam")));
    let differ = differing(&ours, &theirs);
    let names: Vec<_> = differ.iter().map(|k| String::from_utf8_lossy(&k.0)).take(5).collect();
    assert!(differ.is_empty(), "{mode}: {} records differ, as {names:?}", differ.len());
    let mut changed = ours.clone();
    let mark = changed.values_mut().flatten().next().unwrap();
    *mark = !*mark;
    assert_eq!(differing(&changed, &theirs).len(), 1, "a planted change");
    let (rows, histogram) = tables(&metrics_file(&path("metrics")));
    let (picard_rows, picard_histogram) = tables(&path("picard.txt"));
    assert_eq!(rows, picard_rows, "{mode}: metrics rows");
    let changed = changed_number(&rows.join("\n")).unwrap();
    assert_ne!(changed, picard_rows.join("\n"), "a planted change");
    assert_eq!(histogram, picard_histogram, "{mode}: histogram");
    let all = || ours.values().flatten();
    Checked { records: all().count(), duplicates: all().filter(|d| **d).count(), rows }
}

/// Sum of a metrics column over the libraries.
fn sum(rows: &[String], column: &str) -> u64 {
    let at = rows[0].split('\t').position(|c| c == column).unwrap();
    rows[1..].iter().map(|r| r.split('\t').nth(at).unwrap().parse::<u64>().unwrap()).sum()
}

/// Pairs of several libraries and read groups, as unaligned BAM.
fn grouped_pairs(folder: &Path) -> PathBuf {
    let bam = folder.join("grouped.bam");
    to_bam(&small_pairs().unaligned_sam, &bam);
    bam
}

#[track_caller]
fn is_worth_comparing(checked: &Checked) {
    assert!(checked.duplicates * 10 >= checked.records, "{} duplicates", checked.duplicates);
    assert!(sum(&checked.rows, "READ_PAIR_OPTICAL_DUPLICATES") > 100, "{:?}", checked.rows);
    assert!(sum(&checked.rows, "UNPAIRED_READ_DUPLICATES") > 0, "{:?}", checked.rows);
    assert_eq!(checked.rows.len(), 4, "three libraries: {:?}", checked.rows);
}

#[test]
fn query_mode_equals_picard() {
    let (true, true) = (has("picard"), has("samtools")) else { return };
    let here = folder();
    let bam = grouped_pairs(here.path());
    is_worth_comparing(&equals_picard(small(), &[&bam], "query", 100));
}

#[test]
fn coordinate_mode_equals_picard() {
    let (true, true) = (has("picard"), has("samtools")) else { return };
    let here = folder();
    let bam = grouped_pairs(here.path());
    is_worth_comparing(&equals_picard(small(), &[&bam], "coordinate", 100));
}

#[test]
fn another_optical_distance_and_no_read_group() {
    let (true, true) = (has("picard"), has("samtools")) else { return };
    let here = folder();
    let bam = grouped_pairs(here.path());
    let near = equals_picard(small(), &[&bam], "query", 10);
    let far = equals_picard(small(), &[&bam], "query", 2500);
    let optical = |c: &Checked| sum(&c.rows, "READ_PAIR_OPTICAL_DUPLICATES");
    assert!(optical(&near) < optical(&far));
}

#[test]
fn single_reads_equal_picard() {
    let (true, true) = (has("picard"), has("samtools")) else { return };
    let here = folder();
    let options = ReadOptions { paired: false, ..pairs_with_duplicates(20_000) };
    let reads = simulate(small(), &options, here.path());
    let bam = here.path().join("single.bam");
    to_bam(&reads.unaligned_sam, &bam);
    for mode in ["query", "coordinate"] {
        let checked = equals_picard(small(), &[&bam], mode, 100);
        assert!(checked.duplicates * 10 >= checked.records, "{}", checked.duplicates);
    }
}

#[test]
fn na12878_equals_picard() {
    let (true, true) = (has("picard"), has("samtools")) else { return };
    let (Some(reference), Some(bam)) = (chr20_start(), na12878()) else { return };
    for mode in ["query", "coordinate"] {
        let checked = equals_picard(reference, &[&bam], mode, 100);
        assert!(checked.duplicates > 0);
        assert!(checked.rows.len() >= 3, "two libraries: {:?}", checked.rows);
    }
}

#[test]
fn removing_duplicates_leaves_the_others() {
    let here = folder();
    let out = |name: &str, extra: &[&str]| {
        let path = here.path().join(name);
        let mut command = seqloom(crate::data::align_small());
        run(command.args(["--no-pg", "-o"]).arg(&path).args(extra)).ok();
        marks(&path)
    };
    let marked = out("marked.bam", &[]);
    let removed = out("removed.bam", &["--remove-duplicates"]);
    let unmarked = out("unmarked.bam", &["--no-mark-duplicates"]);
    let keep = |(key, marks): (&Key, &Vec<bool>)| {
        let left: Vec<bool> = marks.iter().copied().filter(|d| !d).collect();
        (!left.is_empty()).then(|| (key.clone(), left))
    };
    let expected: HashMap<Key, Vec<bool>> = marked.iter().filter_map(keep).collect();
    assert!(expected.len() < marked.len(), "the data holds no duplicates");
    assert!(expected == removed, "{} against {} records", expected.len(), removed.len());
    assert!(unmarked.values().flatten().all(|d| !d));
    assert_eq!(unmarked.len(), marked.len());
}

#[test]
fn multiqc_reads_the_metrics() {
    let multiqc = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv/bin/multiqc");
    if !multiqc.exists() {
        seqloom_testkit::skip::skip("MultiQC is not installed in .venv");
        return;
    }
    let here = folder();
    let path = |name: &str| here.path().join(name);
    let mut command = seqloom(crate::data::align_small());
    command.args(["-R", crate::common::READ_GROUP, "--metrics-dir"]).arg(path("metrics"));
    run(command.arg("-o").arg(path("sample7.bam"))).ok();
    let (rows, _) = tables(&metrics_file(&path("metrics")));
    let mut report = std::process::Command::new(multiqc);
    report.args(["--no-ansi", "--no-report", "--data-format", "tsv", "-o"]).arg(path("qc"));
    run(report.arg(path("metrics"))).ok();
    let data = path("qc").join("multiqc_data");
    let names = names_in(&data);
    let found = names.iter().find(|n| n.contains("picard_dups")).expect("a table of duplicates");
    let table = fs::read_to_string(data.join(found)).unwrap();
    assert!(table.contains("sample7"), "{table}");
    let pairs = format!("{:.1}", sum(&rows, "READ_PAIRS_EXAMINED") as f64);
    assert!(table.contains(&pairs), "{pairs} in {table}");
    for kind in ["flagstat", "idxstats"] {
        assert!(names.iter().any(|n| n.contains(kind)), "{kind} in {names:?}");
    }
}
