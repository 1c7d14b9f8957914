//! Referees: `samtools sort`, `samtools sort -n` and Picard SortSam run beside ours, on real and on
//! random hard data; the stream of records must be the same, and the bytes of ours the same for
//! every number of threads and any memory.
//!
//! Needs samtools, java and Picard's jar (`PICARD_JAR`, else where Debian puts it).

mod hard_data;
mod sorting;

use std::path::{Path, PathBuf};
use std::process::Command;

use hard_data::Shape;
use seqloom_testkit::skip;
use sorting::{Input, Setup, records, sort};

use crate::partition::order::SortOrder;

/// Ledgers and chunks: in memory; spilling; where nothing fits.
const SETUPS: [Setup; 4] = [
    Setup { threads: 1, memory_bytes: 1 << 30, chunk_bytes: 64 << 10 },
    Setup { threads: 3, memory_bytes: 1 << 30, chunk_bytes: 4 << 10 },
    Setup { threads: 2, memory_bytes: 3 << 20, chunk_bytes: 16 << 10 },
    Setup { threads: 7, memory_bytes: 0, chunk_bytes: 2000 },
];

fn runs(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok()
}

fn has_samtools() -> bool {
    let there = runs("samtools");
    if !there {
        skip::skip("samtools is not installed");
    }
    there
}

fn picard_jar() -> Option<PathBuf> {
    let jar = std::env::var_os("PICARD_JAR").map(PathBuf::from);
    let jar = jar.unwrap_or_else(|| "/usr/share/java/picard.jar".into());
    if jar.exists() && runs("java") {
        return Some(jar);
    }
    skip::skip("java or Picard's jar is not there");
    None
}

/// Runs a program to its end.
fn run(program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {errors}");
}

/// Sorts `input` as the referee of `order` does.
fn referee(order: SortOrder, input: &Path, output: &Path, folder: &Path) {
    let (from, to) = (input.to_str().unwrap(), output.to_str().unwrap());
    let picard = |sort_order: &str| {
        let jar = picard_jar().unwrap();
        let arguments = [
            "-Xmx2g".to_owned(),
            "-XX:+UseSerialGC".to_owned(),
            "-XX:TieredStopAtLevel=1".to_owned(),
            "-jar".to_owned(),
            jar.display().to_string(),
            "SortSam".to_owned(),
            format!("INPUT={from}"),
            format!("OUTPUT={to}"),
            format!("SORT_ORDER={sort_order}"),
            format!("TMP_DIR={}", folder.display()),
            "COMPRESSION_LEVEL=1".to_owned(),
            "VALIDATION_STRINGENCY=SILENT".to_owned(),
            "USE_JDK_DEFLATER=true".to_owned(),
            "USE_JDK_INFLATER=true".to_owned(),
            "QUIET=true".to_owned(),
            "VERBOSITY=ERROR".to_owned(),
        ];
        run("java", &arguments.each_ref().map(String::as_str));
    };
    match order {
        SortOrder::Coordinate => run("samtools", &["sort", "--no-PG", "-l1", "-o", to, from]),
        SortOrder::QueryName => run("samtools", &["sort", "--no-PG", "-l1", "-n", "-o", to, from]),
        SortOrder::CoordinatePicard => picard("coordinate"),
        SortOrder::QueryNamePicard => picard("queryname"),
        SortOrder::Keep => {
            std::fs::copy(input, output).unwrap();
        }
    }
}

/// Sorts a file with every setup and compares it with the referee.
fn compare(order: SortOrder, path: &Path, setups: &[Setup]) {
    let folder = tempfile::tempdir().unwrap();
    let theirs = folder.path().join("theirs.bam");
    referee(order, path, &theirs, folder.path());
    let input = Input::read(path);
    let mut first: Option<Vec<u8>> = None;
    for setup in setups {
        let ours = folder.path().join("ours.bam");
        sort(&input, order, setup, &ours);
        let bytes = std::fs::read(&ours).unwrap();
        if let Some(first) = &first {
            assert!(*first == bytes, "{order:?} {}: bytes depend on {setup:?}", path.display());
            continue;
        }
        let (ours, theirs) = (records(&ours), records(&theirs));
        assert_eq!(ours.len(), theirs.len());
        if let Some(at) = (0..ours.len()).find(|&at| ours[at] != theirs[at]) {
            let show = |body: &[u8]| String::from_utf8_lossy(&body[32..]).into_owned();
            let (ours, theirs) = (show(&ours[at]), show(&theirs[at]));
            panic!("{order:?} {} record {at}:\n{ours:?}\n{theirs:?}", path.display());
        }
        first = Some(bytes);
    }
}

fn hard_file(folder: &Path, shape: &Shape) -> PathBuf {
    let (sam, bam) = (folder.join("hard.sam"), folder.join("hard.bam"));
    std::fs::write(&sam, hard_data::sam(shape)).unwrap();
    run(
        "samtools",
        &["view", "--no-PG", "-b", "-1", "-o", bam.to_str().unwrap(), sam.to_str().unwrap()],
    );
    std::fs::remove_file(sam).unwrap();
    bam
}

/// Hard data in each order; one name of most records is merged from runs.
fn hard(orders: &[SortOrder], odd_pairs: bool) {
    let plain = Shape {
        seed: 1,
        records: 20_000,
        one_name_percent: 0,
        unmapped_percent: 15,
        sequencer_names: false,
        odd_pairs,
    };
    let shapes = [
        plain,
        Shape { seed: 2, records: 40_000, one_name_percent: 60, ..plain },
        Shape { seed: 3, records: 30_000, sequencer_names: true, ..plain },
        // Records without a coordinate of several units.
        Shape { seed: 4, records: 40_000, unmapped_percent: 90, ..plain },
        Shape { seed: 5, records: 0, ..plain },
    ];
    for shape in &shapes {
        let folder = tempfile::tempdir().unwrap();
        let path = hard_file(folder.path(), shape);
        orders.iter().for_each(|&order| compare(order, &path, &SETUPS));
    }
}

#[test]
fn hard_data_lies_as_samtools_sorts_it() {
    if has_samtools() {
        hard(&[SortOrder::Coordinate, SortOrder::QueryName, SortOrder::Keep], true);
    }
}

#[test]
fn hard_data_lies_as_picard_sorts_it() {
    if has_samtools() && picard_jar().is_some() {
        hard(&[SortOrder::CoordinatePicard, SortOrder::QueryNamePicard], false);
    }
}

/// Real files: aligned, unaligned, of several read groups and tools.
const FILES: [&str; 9] = [
    "bam/nf-cmgg/Sample1.bam",
    "bam/nf-cmgg/Sample2.bam",
    "bam/nf-cmgg/Sample3.bam",
    "bam/nf-cmgg/Sample4.bam",
    "bam/nf-cmgg/Sample5.bam",
    "bam/htsjdk_testdata/samtools/cram/NA12878.20.21.unmapped.orig.bam",
    "bam/hts-specs_test/bam/passed/level-1.bam",
    "bam/gatk_testdata/org/broadinstitute/hellbender/tools/BQSR/HiSeq.1mb.1RG.2k_lines.bam",
    "bam/sambamba_test/issue_204.bam",
];

/// Real files through a Java machine each: some of them, all where there is time.
fn real(orders: &[SortOrder], some: bool) {
    for file in FILES.iter().skip(if some { 4 } else { 0 }) {
        let Some(path) = skip::data(file) else { return };
        orders.iter().for_each(|&order| compare(order, &path, &SETUPS[1..3]));
    }
}

#[test]
fn real_data_lies_as_samtools_sorts_it() {
    if has_samtools() {
        real(&[SortOrder::Coordinate, SortOrder::QueryName, SortOrder::Keep], false);
    }
}

#[test]
fn real_data_lies_as_picard_sorts_it() {
    if picard_jar().is_some() {
        real(&[SortOrder::CoordinatePicard, SortOrder::QueryNamePicard], !skip::slow_tests());
    }
}

#[test]
fn slow_a_million_records_in_every_order() {
    if !skip::slow_tests() || !has_samtools() || picard_jar().is_none() {
        return;
    }
    let shape = Shape {
        seed: 6,
        records: 1_200_000,
        one_name_percent: 0,
        unmapped_percent: 15,
        sequencer_names: true,
        odd_pairs: false,
    };
    let folder = tempfile::tempdir().unwrap();
    let path = hard_file(folder.path(), &shape);
    let setups = [
        Setup { threads: 2, memory_bytes: 2 << 30, chunk_bytes: 64 << 10 },
        Setup { threads: 5, memory_bytes: 48 << 20, chunk_bytes: 16 << 10 },
    ];
    for order in [
        SortOrder::Coordinate,
        SortOrder::CoordinatePicard,
        SortOrder::QueryName,
        SortOrder::QueryNamePicard,
        SortOrder::Keep,
    ] {
        compare(order, &path, &setups);
    }
}
