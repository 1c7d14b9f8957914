//! Referees: `samtools sort`, `samtools sort -n` and Picard SortSam run side by side with ours, on
//! real and on random hard data; the stream of records must be the same, and the bytes of ours the
//! same for every number of threads and any memory.
//!
//! Needs samtools, java and Picard, in their current releases and those of Debian's stable suite.

mod hard_data;
mod sorting;

use std::path::{Path, PathBuf};
use std::process::Command;

use hard_data::Shape;
use seqloom_testkit::referees::{self, PICARD, Picard, SAMTOOLS};
use seqloom_testkit::running::{QUIETLY, words};
use seqloom_testkit::skip;
use sorting::{Input, Setup, records, sort};

use seqloom_format::bam::RecordRef;

use crate::partition::order::SortOrder;

/// Ledgers and chunks: in memory; spilling; where nothing fits.
const SETUPS: [Setup; 4] = [
    Setup { threads: 1, memory_bytes: 1 << 30, chunk_bytes: 64 << 10 },
    Setup { threads: 3, memory_bytes: 1 << 30, chunk_bytes: 4 << 10 },
    Setup { threads: 2, memory_bytes: 3 << 20, chunk_bytes: 16 << 10 },
    Setup { threads: 7, memory_bytes: 0, chunk_bytes: 2000 },
];

fn finish(command: &mut Command) {
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
}

/// A release of the referees, as an index of their versions: the current one, and that of Debian's
/// stable suite.
const CURRENT: usize = 0;
const STABLE: usize = 1;

fn samtools(release: usize) -> Option<PathBuf> {
    referees::find("samtools", SAMTOOLS[release])
}

/// Sorts `input` as the referee of `order` does; its name, or `None` where it is not installed.
fn referee(order: SortOrder, release: usize, input: &Path, output: &Path) -> Option<String> {
    let (from, to) = (input.to_str().unwrap(), output.to_str().unwrap());
    let by_samtools = |options: &[&str]| {
        let program = samtools(release)?;
        let mut command = Command::new(&program);
        command.args(["sort", "--no-PG", "-l1"]).args(options);
        finish(command.args(["-o", to, from]));
        Some(referees::name_of(&program))
    };
    let by_picard = |sort_order: &str| {
        let picard = Picard::find(PICARD[release])?;
        let mut command = picard.command();
        command.arg("SortSam").arg(format!("INPUT={from}")).arg(format!("OUTPUT={to}"));
        command.arg(format!("SORT_ORDER={sort_order}"));
        command.arg(format!("TMP_DIR={}", output.parent().unwrap().display()));
        command.args(["COMPRESSION_LEVEL=1", "VALIDATION_STRINGENCY=SILENT"]);
        finish(command.args(QUIETLY.split_whitespace()));
        Some(picard.name())
    };
    match order {
        SortOrder::Coordinate => by_samtools(&[]),
        SortOrder::QueryName => by_samtools(&["-n"]),
        SortOrder::CoordinatePicard => by_picard("coordinate"),
        SortOrder::QueryNamePicard => by_picard("queryname"),
        SortOrder::Keep => std::fs::copy(input, output).ok().map(|_| "the input".to_owned()),
    }
}

/// Sorts a file with every setup and compares it with the referee.
fn compare(order: SortOrder, release: usize, path: &Path, setups: &[Setup]) {
    let folder = tempfile::tempdir().unwrap();
    let theirs = folder.path().join("theirs.bam");
    let Some(referee) = referee(order, release, path, &theirs) else { return };
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
        let (mut ours, mut theirs) = (records(&ours), records(&theirs));
        if order == SortOrder::QueryName {
            put_names_together(&mut ours);
            put_names_together(&mut theirs);
        }
        assert_eq!(ours.len(), theirs.len());
        if let Some(at) = first_difference(&ours, &theirs) {
            let show = |body: &[u8]| String::from_utf8_lossy(&body[32..]).into_owned();
            let (ours, theirs) = (show(&ours[at]), show(&theirs[at]));
            panic!("{order:?} {} record {at}:\n{ours:?}\n{theirs:?}", path.display());
        }
        sees_planted_changes(&ours, &theirs);
        if order != SortOrder::Keep {
            referees::compared(&referee, ours.len());
        }
        first = Some(bytes);
    }
}

/// The first record that differs.
fn first_difference(ours: &[Vec<u8>], theirs: &[Vec<u8>]) -> Option<usize> {
    (0..ours.len()).find(|&at| ours[at] != theirs[at])
}

/// Requires that a changed record, and one in another place, are seen.
fn sees_planted_changes(ours: &[Vec<u8>], theirs: &[Vec<u8>]) {
    let Some(middle) = ours.len().checked_sub(1).map(|last| last / 2) else { return };
    let mut changed = ours.to_vec();
    changed[middle][15] ^= 4; // the higher byte of FLAG: duplicate
    assert_eq!(first_difference(&changed, theirs), Some(middle), "a planted change");
    if let Some(at) = (middle + 1..ours.len()).find(|&at| ours[at] != ours[middle]) {
        let mut changed = ours.to_vec();
        changed.swap(middle, at);
        assert_eq!(first_difference(&changed, theirs), Some(middle), "a planted change of places");
    }
}

/// samtools 1.24 mixes the records of names that differ in leading zeros alone, which are together
/// in ours.
fn put_names_together(records: &mut [Vec<u8>]) {
    let name = |body: &Vec<u8>| RecordRef::new(body).unwrap().name().to_vec();
    let without_zeros = |body: &Vec<u8>| {
        let mut short = Vec::new();
        for (at, &byte) in name(body).iter().enumerate() {
            let text = name(body);
            let follows_digit = short.last().is_some_and(u8::is_ascii_digit);
            let leads = text.get(at + 1).is_some_and(u8::is_ascii_digit);
            if byte != b'0' || follows_digit || !leads {
                short.push(byte);
            }
        }
        short
    };
    for same in records.chunk_by_mut(|a, b| without_zeros(a) == without_zeros(b)) {
        same.sort_by_key(name);
    }
}

fn hard_file(folder: &Path, shape: &Shape) -> PathBuf {
    let (sam, bam) = (folder.join("hard.sam"), folder.join("hard.bam"));
    std::fs::write(&sam, hard_data::sam(shape)).unwrap();
    let mut view = words("samtools view --no-PG -b -1 -o");
    finish(view.args([&bam, &sam]));
    std::fs::remove_file(sam).unwrap();
    bam
}

/// Hard data in each order; one name of most records is merged from runs.
fn hard(orders: &[SortOrder], odd_pairs: bool) {
    if samtools(CURRENT).is_none() {
        return;
    }
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
        orders.iter().for_each(|&order| compare(order, CURRENT, &path, &SETUPS));
        if shape.seed == 1 {
            // The order of names is that of the current release.
            for &order in orders.iter().filter(|&&it| it != SortOrder::QueryName) {
                compare(order, STABLE, &path, &SETUPS[2..3]);
            }
        }
    }
}

#[test]
fn hard_data_is_as_samtools_sorts_it() {
    hard(&[SortOrder::Coordinate, SortOrder::QueryName, SortOrder::Keep], true);
}

#[test]
fn hard_data_is_as_picard_sorts_it() {
    hard(&[SortOrder::CoordinatePicard, SortOrder::QueryNamePicard], false);
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
        orders.iter().for_each(|&order| compare(order, CURRENT, &path, &SETUPS[1..3]));
    }
}

#[test]
fn real_data_is_as_samtools_sorts_it() {
    real(&[SortOrder::Coordinate, SortOrder::QueryName, SortOrder::Keep], false);
}

#[test]
fn real_data_is_as_picard_sorts_it() {
    real(&[SortOrder::CoordinatePicard, SortOrder::QueryNamePicard], !skip::slow_tests());
}

#[test]
fn slow_a_million_records_in_every_order() {
    if !skip::slow_tests() || samtools(CURRENT).is_none() {
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
        compare(order, CURRENT, &path, &setups);
    }
}
