//! Referee: Picard MarkDuplicates, samtools flagstat and samtools idxstats run side by side with
//! ours on random hard data; every flag and every line of text must be equal.
//!
//! The other metrics are compared in `quality_metrics`.
//!
//! Needs java, bgzip, the current samtools, and Picard in each of its releases.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr)] // all of it is a test

mod hard_reads;
mod quality_metrics;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use seqloom_format::bam::{Flags, Header, RecordRef, framed_records, set_duplicate};
use seqloom_prep::duplicates::{
    BarcodeTags, DuplicateMarks, DuplicateMode, DuplicateOptions, DuplicationCounters, FragmentEnd,
    LibraryTable, LocationSource, PairEnds, PairedEndMarker, PartitionEnds, PicardVersion,
    ReadEndOptions, examine_template, resolve_partition,
};
use seqloom_prep::metrics::{TalliedRecord, Tally};
use seqloom_report::flagstat::write_flagstat;
use seqloom_report::idxstats::write_idxstats;
use seqloom_report::picard::write_duplication_metrics;
use seqloom_testkit::hard_data::HardData;
use seqloom_testkit::planted::changed_number;
use seqloom_testkit::referees::{self, PICARD, Picard};
use seqloom_testkit::running::{QUIETLY, has};

/// Partitions of ours; the outcome must not depend on them.
const PARTITIONS: usize = 3;

/// The Picard of this version, and samtools and bgzip, which the tests want, too.
fn find_picard(version: &str) -> Option<Picard> {
    let picard = Picard::find(version);
    picard.filter(|_| has("samtools") && has("bgzip"))
}

/// Runs a program to its end and gives its standard output.
fn run(program: &str, arguments: &[&str]) -> Vec<u8> {
    finish(Command::new(referees::path_of(program)).args(arguments))
}

fn finish(command: &mut Command) -> Vec<u8> {
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    output.stdout
}

/// Header and framed records of a BAM file.
fn read_bam(path: &Path) -> (Header, Vec<u8>) {
    let bytes = run("bgzip", &["-dc", path.to_str().unwrap()]);
    let (header, taken) = Header::decode(&bytes).unwrap();
    (header, bytes[taken..].to_vec())
}

/// Template ordinal and record number that the XI tag holds.
fn identity(record: &RecordRef<'_>) -> (u64, usize) {
    let value = record.find_aux(*b"XI").unwrap().unwrap().as_string().unwrap();
    let (template, index) = std::str::from_utf8(value).unwrap().split_once('/').unwrap();
    (template.parse().unwrap(), index.parse().unwrap())
}

/// One way to run both programs.
struct Settings {
    mode: DuplicateMode,
    options: DuplicateOptions,
    picard: PicardVersion,
}

/// What we make of the input.
struct Ours {
    marks: DuplicateMarks,
    metrics: String,
}

fn run_ours(header: &Header, records: &[u8], settings: &Settings) -> Ours {
    let table = LibraryTable::new(header).unwrap();
    let libraries = table.libraries().len();
    let mut counters = DuplicationCounters::new(libraries);
    let locations = match settings.options.optical_distance_px {
        Some(_) => LocationSource::Illumina,
        None => LocationSource::None,
    };
    let barcodes = BarcodeTags::default();
    let Settings { mode, picard, .. } = *settings;
    let options = ReadEndOptions { mode, locations, barcodes, picard };
    let mut pairs = vec![Vec::new(); PARTITIONS];
    let mut fragments = vec![Vec::new(); PARTITIONS];
    let mut markers = vec![Vec::new(); PARTITIONS];
    let mut templates = 0;
    let mut frames = framed_records(records);
    let mut start = 0;
    let mut next = frames.next();
    while let Some(Ok(body)) = next {
        // All records of one template.
        let (template, _) = identity(&RecordRef::new(body).unwrap());
        assert_eq!(template, templates);
        let mut end;
        loop {
            end = frames.offset();
            next = frames.next();
            let Some(Ok(body)) = next else { break };
            if identity(&RecordRef::new(body).unwrap()).0 != template {
                break;
            }
        }
        let bytes = &records[start..end];
        let ends = examine_template(bytes, template, &table, &options, &mut counters).unwrap();
        if let Some(entry) = ends.pair {
            pairs[entry.partition_of(PARTITIONS)].push(entry.to_bytes());
        }
        for entry in ends.fragments.into_iter().flatten() {
            fragments[entry.partition_of(PARTITIONS)].push(entry.to_bytes());
        }
        for entry in ends.markers.into_iter().flatten() {
            markers[entry.partition_of(PARTITIONS)].push(entry.to_bytes());
        }
        start = end;
        templates += 1;
    }
    let marks = DuplicateMarks::new(templates, settings.mode);
    for part in 0..PARTITIONS {
        let mut pairs: Vec<_> = pairs[part].iter().map(PairEnds::from_bytes).collect();
        let mut fragments: Vec<_> = fragments[part].iter().map(FragmentEnd::from_bytes).collect();
        let markers = markers[part].iter().map(PairedEndMarker::from_bytes);
        let mut counts = DuplicationCounters::new(libraries);
        let ends = PartitionEnds { pairs: &mut pairs, fragments: &mut fragments, markers };
        resolve_partition(ends, &settings.options, &mut &marks, &mut counts);
        counters.merge(&counts);
    }
    let mut metrics = String::new();
    let rows = counters.metrics(&table);
    write_duplication_metrics(&mut metrics, "seqloom", None, &rows, &counters.histogram).unwrap();
    Ours { marks, metrics }
}

/// Runs Picard; gives its BAM file and its metrics text.
fn run_picard(
    picard: &Picard,
    folder: &Path,
    input: &Path,
    settings: &Settings,
) -> (PathBuf, String) {
    let (output, metrics) = (folder.join("picard.bam"), folder.join("picard.txt"));
    let order = match settings.mode {
        DuplicateMode::Query => "queryname",
        DuplicateMode::Coordinate => "coordinate",
    };
    let optical = match settings.options.optical_distance_px {
        Some(distance) => format!("OPTICAL_DUPLICATE_PIXEL_DISTANCE={distance}"),
        None => "READ_NAME_REGEX=null".to_owned(),
    };
    let arguments = [
        format!("INPUT={}", input.display()),
        format!("OUTPUT={}", output.display()),
        format!("METRICS_FILE={}", metrics.display()),
        format!("TMP_DIR={}", folder.display()),
        format!("ASSUME_SORT_ORDER={order}"),
        format!("MAX_OPTICAL_DUPLICATE_SET_SIZE={}", settings.options.max_optical_set),
        optical,
        "VALIDATION_STRINGENCY=SILENT".to_owned(),
    ];
    let mut command = picard.command();
    finish(command.arg("MarkDuplicates").args(arguments).args(QUIETLY.split_whitespace()));
    (output, std::fs::read_to_string(metrics).unwrap())
}

/// A metrics file from its class line on: without command line and date.
fn body_of(metrics: &str) -> &str {
    &metrics[metrics.find("## METRICS CLASS").unwrap()..]
}

/// Runs both on the data and compares flags, metrics, flagstat and idxstats; gives the number of
/// records that are duplicates.
fn compare(picard: &Picard, data: &HardData, settings: &Settings) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let sam = folder.path().join("in.sam");
    let grouped = folder.path().join("grouped.bam");
    let sorted = folder.path().join("sorted.bam");
    std::fs::write(&sam, data.sam()).unwrap();
    let [sam, grouped_name, sorted_name] =
        [&sam, &grouped, &sorted].map(|path| path.to_str().unwrap());
    run("samtools", &["view", "--no-PG", "-b", "-o", grouped_name, sam]);
    let input = match settings.mode {
        DuplicateMode::Query => &grouped,
        DuplicateMode::Coordinate => {
            run("samtools", &["sort", "--no-PG", "-o", sorted_name, grouped_name]);
            &sorted
        }
    };
    let (header, records) = read_bam(&grouped);
    let ours = run_ours(&header, &records, settings);
    let (output, metrics) = run_picard(picard, folder.path(), input, settings);

    let mut theirs = HashMap::new();
    for body in framed_records(&read_bam(&output).1) {
        let record = RecordRef::new(body.unwrap()).unwrap();
        assert!(theirs.insert(identity(&record), record.flags()).is_none());
    }
    let mut tally = Tally::new(header.references().len());
    let (mut duplicates, mut marked) = (0, Vec::new());
    for body in framed_records(&records) {
        let mut body = body.unwrap().to_vec();
        let identity = identity(&RecordRef::new(&body).unwrap());
        let flags = RecordRef::new(&body).unwrap().flags();
        set_duplicate(&mut body, ours.marks.is_duplicate(identity.0, flags));
        let record = RecordRef::new(&body).unwrap();
        tally.add(&TalliedRecord::from(&record));
        duplicates += usize::from(record.has_flags(Flags::DUPLICATE));
        marked.push((identity, record.flags()));
    }
    assert_eq!(theirs.len(), marked.len());
    let differences = |marked: &[((u64, usize), u16)]| -> Vec<_> {
        let differs = |it: &&((u64, usize), u16)| theirs.get(&it.0) != Some(&it.1);
        marked.iter().filter(differs).copied().collect()
    };
    assert_eq!(differences(&marked), []);
    referees::compared(&picard.name(), data.records());
    assert_eq!(body_of(&ours.metrics), body_of(&metrics));
    // A comparison that never fails may be blind.
    if data.records() > 0 {
        let middle = marked.len() / 2;
        marked[middle].1 ^= 0x400;
        assert_eq!(differences(&marked), [marked[middle]]);
        assert_ne!(changed_number(body_of(&ours.metrics)).unwrap(), body_of(&metrics));
    }

    let output = output.to_str().unwrap();
    let mut text = String::new();
    write_flagstat(&mut text, &tally).unwrap();
    assert_eq!(text.as_bytes(), run("samtools", &["flagstat", output]));
    if settings.mode == DuplicateMode::Coordinate {
        text.clear();
        write_idxstats(&mut text, header.references(), &tally).unwrap();
        assert_eq!(text.as_bytes(), run("samtools", &["idxstats", output]));
    }
    duplicates
}

fn optical(optical_distance_px: Option<u32>, max_optical_set: usize) -> DuplicateOptions {
    DuplicateOptions { optical_distance_px, max_optical_set, ..DuplicateOptions::default() }
}

#[test]
fn flags_metrics_and_counts_are_those_of_picard_and_samtools() {
    use DuplicateMode::{Coordinate, Query};
    let usual = DuplicateOptions::default();
    let cases = [
        ("several libraries, query", HardData::new(1, 5000, 4), Query, usual),
        ("several libraries, coordinate", HardData::new(2, 5000, 4), Coordinate, usual),
        ("one library, query", HardData::new(3, 3000, 1), Query, optical(Some(30), 60)),
        ("one library, coordinate", HardData::new(4, 3000, 1), Coordinate, optical(Some(2500), 90)),
        ("no locations, query", HardData::new(5, 2000, 2), Query, optical(None, 300_000)),
        ("no locations, coordinate", HardData::new(6, 2000, 2), Coordinate, optical(None, 300_000)),
        ("nothing", HardData::new(7, 0, 2), Query, usual),
    ];
    let releases = [PicardVersion::V3_5, PicardVersion::V2_27];
    for (version, release) in PICARD.into_iter().zip(releases) {
        let Some(picard) = find_picard(version) else { continue };
        // The older one marks the same but where locations or read groups differ: see `tests/it`.
        let cases = &cases[..if release == PicardVersion::V3_5 { cases.len() } else { 2 }];
        for (name, data, mode, options) in cases {
            eprintln!("{version}: {name}");
            let settings = Settings { mode: *mode, options: *options, picard: release };
            let duplicates = compare(&picard, data, &settings);
            let least = data.records() / 8;
            assert!(duplicates >= least, "{name}: {duplicates} duplicates prove too little");
        }
    }
}
