//! What the tests share: BAM in memory, our two passes over it, and how differences are shown.

use std::path::{Path, PathBuf};

use seqloom_format::bam::{AuxValue, Header, RecordRef};
use seqloom_io::{known_sites, reference};
use seqloom_testkit::bam::{BamReader, BamRecord};

use crate::input::reference::ReferenceSequences;
use crate::recalibrate::known_sites::{KnownSites, KnownSitesBuilder};
use crate::recalibrate::{
    Applied, Applier, ApplyOptions, ApplyScratch, CountScratch, Counted, Counter,
    RecalibrationOptions, RecalibrationTable, report,
};

/// Where GATK's test data are in SEQLOOM_DATA.
const BQSR: &str = "bam/gatk_testdata/org/broadinstitute/hellbender/tools/BQSR";

/// A file of GATK's BQSR tests, or `None` after saying that the test is skipped.
pub(crate) fn data(name: &str) -> Option<PathBuf> {
    seqloom_testkit::skip::data(&format!("{BQSR}/{name}"))
}

/// A BAM file in memory.
pub(crate) struct Bam {
    pub(crate) header: Header,
    pub(crate) bodies: Vec<Vec<u8>>,
}

impl Bam {
    pub(crate) fn read(path: &Path) -> Self {
        let mut reader = BamReader::open(path).unwrap();
        let header = Header::parse(reader.header.as_bytes()).unwrap();
        let mut bodies = Vec::new();
        let mut record = BamRecord::default();
        while reader.read(&mut record).unwrap() {
            bodies.push(record.bytes.clone());
        }
        Self { header, bodies }
    }
}

/// Text of a file, decompressed where it is gzip.
pub(crate) fn text(path: &Path) -> String {
    use std::io::Read as _;
    let bytes = std::fs::read(path).unwrap();
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return String::from_utf8(bytes).unwrap();
    }
    let mut text = String::new();
    flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap();
    text
}

/// Known sites of some files.
pub(crate) fn sites(header: &Header, files: &[PathBuf]) -> KnownSites {
    let mut builder = KnownSitesBuilder::new(header.references());
    for file in files {
        known_sites::read(file, header.references(), |id, bases| builder.add(id, bases)).unwrap();
    }
    builder.finish()
}

/// The first pass, as two workers that take turns would do it.
pub(crate) fn count(
    bam: &Bam,
    fasta: &Path,
    known: &[PathBuf],
    options: &RecalibrationOptions,
) -> RecalibrationTable {
    let sequences = reference::load(fasta, bam.header.references()).unwrap();
    let sequences = ReferenceSequences::new(sequences);
    let known = sites(&bam.header, known);
    let counter = Counter::new(options, &bam.header, &sequences, &known).unwrap();
    let mut workers = [(); 2].map(|()| (CountScratch::default(), counter.counts()));
    let mut used = 0;
    for (index, body) in bam.bodies.iter().enumerate() {
        let (scratch, counts) = &mut workers[index / 7 % 2];
        used += usize::from(counter.count(body, scratch, counts).unwrap() == Counted::Yes);
    }
    println!("{used} of {} records counted", bam.bodies.len());
    let [(_, mut counts), (_, others)] = workers;
    counts.merge(others);
    counter.table(&counts)
}

/// The second pass: records that GATK keeps, with their new qualities.
pub(crate) fn apply(bam: &Bam, table: &RecalibrationTable, options: &ApplyOptions) -> Vec<Vec<u8>> {
    let applier = Applier::new(table.view(), options, &bam.header).unwrap();
    let mut scratch = ApplyScratch::default();
    let mut kept = Vec::new();
    for body in &bam.bodies {
        let mut body = body.clone();
        if !matches!(applier.apply(&mut body, &mut scratch).unwrap(), Applied::NotWellFormed(_)) {
            kept.push(body);
        }
    }
    kept
}

/// Requires that two reports are the same, line by line.
#[track_caller]
pub(crate) fn assert_reports_equal(ours: &str, theirs: &str) {
    assert_lines_equal(ours, theirs, |_, _| false);
}

/// As [`assert_reports_equal`], but a few sums of shared errors may be rounded otherwise: GATK adds
/// them up in floating point, in the order of the reads, and where a sum ends in exactly half of
/// the last decimal its rounding follows from that order. Ours are exact.
#[track_caller]
pub(crate) fn assert_reports_equal_but_for_ties(ours: &str, theirs: &str) {
    let mut ties = 0;
    let allowed = 1 + ours.lines().count() / 50_000;
    assert_lines_equal(ours, theirs, |ours, theirs| {
        let errors = |line: &str| -> Option<(String, f64)> {
            let (front, errors) = line.rsplit_once(' ')?;
            Some((front.to_owned(), errors.parse().ok()?))
        };
        let both = errors(ours).zip(errors(theirs));
        ties += 1;
        ties <= allowed && both.is_some_and(|(a, b)| a.0 == b.0 && (a.1 - b.1).abs() < 0.011)
    });
}

#[track_caller]
fn assert_lines_equal(ours: &str, theirs: &str, mut is_same: impl FnMut(&str, &str) -> bool) {
    let sizes = (ours.lines().count(), theirs.lines().count());
    let mut differ = Vec::new();
    for (at, (ours, theirs)) in ours.lines().zip(theirs.lines()).enumerate() {
        if ours != theirs && !is_same(ours, theirs) {
            differ.push(format!("{}: ours {ours}\n    theirs {theirs}", at + 1));
        }
    }
    let count = differ.len();
    differ.truncate(10);
    assert!(count == 0 && sizes.0 == sizes.1, "{count} lines, {sizes:?}:\n{}", differ.join("\n"));
}

/// Reads a report.
pub(crate) fn table(path: &Path) -> RecalibrationTable {
    report::parse(text(path).as_bytes()).unwrap()
}

/// Name, qualities, tags in the order of their names, and all before the qualities.
fn parts(body: &[u8]) -> (String, Vec<u8>, Vec<String>, Vec<u8>) {
    let record = RecordRef::new(body).unwrap();
    let tag = |(name, value): ([u8; 2], AuxValue<'_>)| {
        // GATK stores integers in other widths.
        let value = value.as_int().map_or_else(|| format!("{value:?}"), |value| value.to_string());
        format!("{}:{value}", String::from_utf8_lossy(&name))
    };
    let mut tags: Vec<String> = record.aux().map(|field| tag(field.unwrap())).collect();
    tags.sort();
    let front = body[..record.aux_start() - record.base_count()].to_vec();
    (String::from_utf8_lossy(record.name()).into(), record.qualities().to_vec(), tags, front)
}

/// Requires the same records; the order of tags apart, which GATK changes.
#[track_caller]
pub(crate) fn assert_records_equal(ours: &[Vec<u8>], theirs: &[Vec<u8>]) {
    assert_eq!(ours.len(), theirs.len());
    let mut differing = 0;
    for (ours, theirs) in ours.iter().zip(theirs) {
        let (ours, theirs) = (parts(ours), parts(theirs));
        if ours != theirs {
            differing += 1;
            if differing < 4 {
                let front = if ours.3 == theirs.3 { "same" } else { "other" };
                println!("{}: {front} front\n{:?}\n{:?}", ours.0, ours.1, theirs.1);
                println!("{:?}\n{:?}", ours.2, theirs.2);
            }
        }
    }
    assert_eq!(differing, 0, "of {} records", ours.len());
}
