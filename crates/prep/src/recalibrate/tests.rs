//! Counting and applying by hand: small records, and everything that is refused.

use seqloom_format::Persist;
use seqloom_format::bam::{AuxValue, Header, RecordRef};

use super::cigar::tests::ops;
use super::*;
use crate::input::reference::ReferenceSequences;
use crate::recalibrate::known_sites::{KnownSites, KnownSitesBuilder};

const HEADER: &str = "@SQ\tSN:c\tLN:40\n@RG\tID:a\tPL:ILLUMINA\tPU:unit\n@RG\tID:b\tPL:x\n\
                      @RG\tID:n\n";
const REFERENCE: &[u8] = b"ACGTACGTACGTACGTACGTACGTACGTACGTACGTACGT";

/// A record to be changed before it is packed.
#[derive(Clone)]
struct Read {
    flags: u16,
    mapping_quality: u8,
    position: i32,
    cigar: &'static str,
    bases: &'static str,
    qualities: Vec<u8>,
    aux: Vec<u8>,
}

/// Bases that were counted.
fn observations(table: &RecalibrationTable) -> u64 {
    let mismatches = table.by_group.iter().filter(|(key, _)| key.1 == Event::Mismatch);
    mismatches.map(|(_, datum)| datum.observations).sum()
}

/// ACGTAC at position 0 as the reference has it, of read group `a`.
fn read() -> Read {
    Read {
        flags: 0,
        mapping_quality: 60,
        position: 0,
        cigar: "6M",
        bases: "ACGTAC",
        qualities: vec![30; 6],
        aux: b"RGZa\0".to_vec(),
    }
}

impl Read {
    fn body(&self) -> Vec<u8> {
        let cigar = ops(self.cigar);
        let mut body = Vec::new();
        [0, self.position].iter().for_each(|it: &i32| body.extend_from_slice(&it.to_le_bytes()));
        body.extend_from_slice(&[2, self.mapping_quality, 0, 0, cigar.len() as u8, 0]);
        body.extend_from_slice(&self.flags.to_le_bytes());
        let length = self.bases.len() as i32;
        [length, -1, -1, 0].iter().for_each(|it| body.extend_from_slice(&it.to_le_bytes()));
        body.extend_from_slice(b"r\0");
        for (code, len) in cigar {
            body.extend_from_slice(&(len << 4 | u32::from(code)).to_le_bytes());
        }
        let code = |byte: &u8| b"=ACMGRSVTWYHKDBN".iter().position(|it| it == byte).unwrap() as u8;
        let codes: Vec<u8> = self.bases.as_bytes().iter().map(code).collect();
        body.extend(codes.chunks(2).map(|two| two[0] << 4 | two.get(1).unwrap_or(&0)));
        body.extend_from_slice(&self.qualities);
        body.extend_from_slice(&self.aux);
        body
    }
}

fn header() -> Header {
    Header::parse(HEADER.as_bytes()).unwrap()
}

/// The table of some reads; mismatches at position 3 are no errors.
fn table(
    reads: &[Read],
    options: &RecalibrationOptions,
) -> Result<RecalibrationTable, RecalibrationError> {
    let header = header();
    let reference = ReferenceSequences::new(vec![REFERENCE.to_vec()]);
    let mut sites = KnownSitesBuilder::new(header.references());
    sites.add(0, 3..4);
    let sites = sites.finish();
    let counter = Counter::new(options, &header, &reference, &sites)?;
    let (mut scratch, counts) = (CountScratch::default(), counter.counts());
    for read in reads {
        counter.count(&read.body(), &mut scratch, &counts)?;
    }
    Ok(counter.table(&counts))
}

/// Rows of the last table of a report, without padding.
fn rows(table: &RecalibrationTable) -> Vec<String> {
    let report = report::write(table);
    let (_, rows) = report.split_once("#:GATKTable:RecalTable2:\n").unwrap();
    let squeeze = |row: &str| row.split_whitespace().collect::<Vec<_>>().join(" ");
    rows.lines().skip(1).filter(|row| !row.is_empty()).map(squeeze).collect()
}

#[test]
fn bases_are_counted_by_context_and_cycle() {
    // A mismatch at position 2, another in the known site, a base of low quality.
    let mut read = read();
    (read.bases, read.qualities[4]) = ("ACTAAC", 5);
    let table = table(&[read], &RecalibrationOptions::default()).unwrap();
    let row = |value, name, errors| format!("unit 30 {value} {name} M 30.0000 1 {errors}");
    let expected = [
        row("1", "Cycle", "0.00"),
        row("2", "Cycle", "0.00"),
        row("3", "Cycle", "1.00"),
        row("6", "Cycle", "0.00"),
        "unit 30 AC Context M 30.0000 2 0.00".to_owned(),
        row("CT", "Context", "1.00"),
    ];
    assert_eq!(rows(&table), expected);
    assert_eq!(observations(&table), 4);
}

#[test]
fn reads_that_are_not_counted() {
    let changes: [fn(&mut Read); 13] = [
        |it| it.flags = 0x4,
        |it| it.flags = 0x100,
        |it| it.flags = 0x200,
        |it| it.flags = 0x400,
        |it| it.mapping_quality = 0,
        |it| it.mapping_quality = 255,
        |it| it.position = -1,
        |it| it.position = 40,
        |it| it.position = 36,
        |it| it.qualities = vec![0xff; 6],
        |it| it.cigar = "5M",
        |it| it.cigar = "3M1N3M",
        |it| it.aux.clear(),
    ];
    for (index, change) in changes.into_iter().enumerate() {
        let mut read = read();
        change(&mut read);
        let table = table(&[read], &RecalibrationOptions::default()).unwrap();
        assert_eq!(observations(&table), 0, "{index}");
    }
    let mut supplementary = read();
    supplementary.flags = 0x800;
    let table = table(&[supplementary], &RecalibrationOptions::default()).unwrap();
    assert_eq!(observations(&table), 5);
}

#[test]
fn what_cannot_be_counted_is_named() {
    let counted = |change: fn(&mut Read), options: &RecalibrationOptions| {
        let mut read = read();
        change(&mut read);
        table(&[read], options).unwrap_err().to_string()
    };
    let t = |change: fn(&mut Read), expected: &str| {
        let error = counted(change, &RecalibrationOptions::default());
        assert!(error.starts_with(expected), "{error}");
    };
    t(|it| it.aux = b"RGZx\0".to_vec(), "read r: read group \"x\" is not in the header");
    t(|it| it.aux = b"RGZn\0".to_vec(), "read r: read group \"n\" has no platform");
    t(|it| it.qualities[1] = 94, "read r has the quality 94");
    t(|it| it.aux = b"RGQ".to_vec(), "record has a malformed auxiliary field");
    let short = RecalibrationOptions { max_cycle: 5, ..Default::default() };
    assert!(counted(|_| {}, &short).starts_with("read r has 6 cycles, more than the 5"));
    let original = RecalibrationOptions { use_original_qualities: true, ..Default::default() };
    let error = counted(|it| it.aux.extend_from_slice(b"OQZ!!\0"), &original);
    assert!(error.starts_with("read r: its OQ tag"), "{error}");
}

#[test]
fn options_have_bounds() {
    let default = RecalibrationOptions::default;
    for options in [
        RecalibrationOptions { mismatches_context_bases: 0, ..default() },
        RecalibrationOptions { mismatches_context_bases: 8, ..default() },
        RecalibrationOptions { indels_context_bases: 8, ..default() },
        RecalibrationOptions { max_cycle: 0, ..default() },
        RecalibrationOptions { max_cycle: u32::MAX, ..default() },
        RecalibrationOptions { preserve_below: 94, ..default() },
        RecalibrationOptions { baq_gap_open_penalty: Some(f64::NAN), ..default() },
    ] {
        let error = table(&[], &options).unwrap_err();
        assert!(matches!(error, RecalibrationError::BadOption(_)), "{error}");
    }
    let (reference, sites) = (ReferenceSequences::default(), KnownSites::default());
    let header = Header::parse(b"@SQ\tSN:c\tLN:40\n").unwrap();
    let error = Counter::new(&default(), &header, &reference, &sites).unwrap_err();
    assert_eq!(error, RecalibrationError::NoReadGroups);
}

/// A table in which quality 30 of `unit` is worth 10.
fn bad_table() -> RecalibrationTable {
    let mut wrong = read();
    (wrong.bases, wrong.qualities) = ("TGCTTG", vec![30, 30, 30, 2, 30, 30]);
    table(&vec![wrong; 200], &RecalibrationOptions::default()).unwrap()
}

fn applied(
    read: &Read,
    options: &ApplyOptions,
) -> Result<(Applied, Vec<u8>, Vec<u8>), RecalibrationError> {
    let applier = Applier::new(bad_table().view(), options, &header());
    let applier = applier.map_err(|error| match error {
        ApplierError::Options(error) => error,
        ApplierError::Table(error) => panic!("{error}"),
    })?;
    let mut body = read.body();
    let applied = applier.apply(&mut body, &mut ApplyScratch::default())?;
    let record = RecordRef::new(&body).unwrap();
    Ok((applied, record.qualities().to_vec(), body[record.aux_start()..].to_vec()))
}

#[test]
fn qualities_are_replaced() {
    let mut read = read();
    read.qualities[2] = 5;
    read.aux.extend_from_slice(b"BIZ!!!!!!\0NMC\x01BDZ!!!!!!\0");
    let (done, qualities, aux) = applied(&read, &ApplyOptions::default()).unwrap();
    assert_eq!((done, qualities[2]), (Applied::Recalibrated, 5));
    assert!(qualities.iter().all(|&quality| quality < 10), "{qualities:?}");
    assert_eq!(aux, b"RGZa\0NMC\x01");
    let fixed = ApplyOptions { static_quantized: vec![8, 20], ..Default::default() };
    let (_, levels, _) = applied(&read, &fixed).unwrap();
    assert!(levels.iter().all(|quality| [1, 5, 6, 8, 20].contains(quality)), "{levels:?}");
}

#[test]
fn original_qualities_are_kept() {
    let emit = ApplyOptions { emit_original: true, ..Default::default() };
    let (_, _, aux) = applied(&read(), &emit).unwrap();
    assert_eq!(aux, b"RGZa\0OQZ??????\0");
    let mut known = read();
    known.aux.extend_from_slice(b"OQZ&&&&&&\0");
    let (_, new, aux) = applied(&known, &emit).unwrap();
    assert_eq!(aux, known.aux);
    let both = ApplyOptions { use_original: true, ..emit };
    let (_, original, aux) = applied(&known, &both).unwrap();
    assert_eq!(aux, known.aux);
    assert!(original.iter().all(|&quality| quality <= 5), "{original:?} {new:?}");
}

#[test]
fn records_without_a_row_or_not_well_formed() {
    let mut other = read();
    other.aux = b"RGZb\0".to_vec();
    let error = applied(&other, &ApplyOptions::default()).unwrap_err();
    assert!(error.to_string().starts_with("read r: read group \"b\" is not in the recal"));
    let allowed = ApplyOptions { allow_missing_read_group: true, ..Default::default() };
    let (done, qualities, _) = applied(&other, &allowed).unwrap();
    assert_eq!((done, qualities), (Applied::MissingReadGroup, vec![30; 6]));
    let fixed = ApplyOptions { static_quantized: vec![10, 20], ..allowed };
    assert_eq!(applied(&other, &fixed).unwrap().1, vec![20; 6]);
    type Change = fn(&mut Read);
    let changes: [(Change, Unfit); 5] = [
        (|it| it.aux.clear(), Unfit::NoReadGroup),
        (|it| it.cigar = "3M1N3M", Unfit::Spliced),
        (|it| it.position = 40, Unfit::BeyondSequence),
        (|it| it.cigar = "5M", Unfit::CigarOfOtherLength),
        (|it| it.qualities = vec![0xff; 6], Unfit::NoQualities),
    ];
    for (change, unfit) in changes {
        let mut read = read();
        read.aux.extend_from_slice(b"BIZ!!!!!!\0");
        change(&mut read);
        let (done, qualities, aux) = applied(&read, &ApplyOptions::default()).unwrap();
        assert_eq!((done, qualities), (Applied::NotWellFormed(unfit), read.qualities));
        assert_eq!(aux, read.aux);
    }
    let mut unmapped = read();
    (unmapped.flags, unmapped.position, unmapped.cigar) = (4, -1, "");
    assert_eq!(applied(&unmapped, &ApplyOptions::default()).unwrap().0, Applied::Recalibrated);
}

#[test]
fn records_are_counted_by_what_became_of_their_qualities() {
    let mut other = read();
    other.aux = b"RGZb\0".to_vec();
    let mut spliced = read();
    spliced.cigar = "3M1N3M";
    let mut alone = read();
    alone.aux.clear();
    let options = ApplyOptions { allow_missing_read_group: true, ..Default::default() };
    let applier = Applier::new(bad_table().view(), &options, &header()).unwrap();
    let mut scratch = ApplyScratch::default();
    for read in [&read(), &other, &spliced, &other, &alone, &spliced] {
        applier.apply(&mut read.body(), &mut scratch).unwrap();
    }
    let counts = applier.counts(&scratch);
    let expected = AppliedCounts {
        recalibrated: 1,
        missing_read_groups: [("b".to_owned(), 2)].into(),
        no_read_group: 1,
        spliced: 2,
        ..AppliedCounts::default()
    };
    assert_eq!(counts, expected);
    let mut sum = counts.clone();
    sum.merge(&counts);
    assert_eq!((sum.spliced, sum.missing_read_groups["b"]), (4, 4));
    assert_eq!(AppliedCounts::from_state(&sum.to_state()), Ok(sum.clone()));
    let words: Vec<_> = sum.as_they_were().collect();
    assert_eq!(words, [("spliced (N in the CIGAR)", 4), ("without read group", 2)]);
}

#[test]
fn apply_options_have_bounds() {
    let default = ApplyOptions::default;
    for options in [
        ApplyOptions { static_quantized: vec![94], ..default() },
        ApplyOptions { preserve_below: 94, ..default() },
        ApplyOptions { global_prior: Some(f64::INFINITY), ..default() },
        ApplyOptions {
            static_quantized: vec![10],
            quantize_levels: DynamicQuantization::Levels(4),
            ..default()
        },
    ] {
        let error = applied(&read(), &options).unwrap_err();
        assert!(matches!(error, RecalibrationError::BadOption(_)), "{error}");
    }
    let applier = Applier::new(bad_table().view(), &default(), &header()).unwrap();
    assert_eq!(applier.missing_read_groups().collect::<Vec<_>>(), ["b", "n"]);
}

#[test]
fn reports_are_read_back_and_gathered() {
    let table = bad_table();
    let text = report::write(&table);
    assert_eq!(report::write(&report::parse(text.as_bytes()).unwrap()), text);
    // Columns are as wide as their widest cell, counted in characters.
    let renamed = text.replace("unit", "änit");
    assert_eq!(report::write(&report::parse(renamed.as_bytes()).unwrap()), renamed);
    let sum = gather([table.clone(), table.clone()]).unwrap();
    assert_eq!(observations(&sum), 2 * observations(&table));
    assert_eq!(gather([]), Err(GatherError::Nothing));
    let empty = super::tests::table(&[], &RecalibrationOptions::default()).unwrap();
    assert_eq!(gather([empty.clone(), empty.clone()]), Err(GatherError::Nothing));
    assert_eq!(observations(&gather([table.clone(), empty]).unwrap()), observations(&table));
    let options = RecalibrationOptions { max_cycle: 600, ..Default::default() };
    let other = super::tests::table(&[read()], &options).unwrap();
    assert_eq!(gather([table, other]), Err(GatherError::OtherArguments(2)));
}

#[test]
fn malformed_reports_are_refused() {
    let text = report::write(&bad_table());
    let t = |from: &str, to: &str, expected: &str| {
        assert!(text.contains(from), "{from}");
        let error = report::parse(text.replacen(from, to, 1).as_bytes()).unwrap_err().to_string();
        assert!(error.contains(expected), "{from} to {to}: {error}");
    };
    t("v1.1", "v1.0", "not a recalibration report");
    t("#:GATKTable:Quantized", "#:GATKTable:Q", "no table Quantized");
    t("RecalTable0:\n", "RecalTable1:\n", "a second table RecalTable1");
    t("#:GATKTable:3:94", "#:GATKTable:3:95", "has not 94 rows");
    t("#:GATKTable:3:94", "#:GATKTable:3:93", "does not start with #:GATKTable");
    t("#:GATKTable:3:94", "#:GATKTable:4:94", "not as many columns");
    t("#:GATKTable:3:94", "#:GATKTable:3:18446744073709551615", "ends within a table");
    t("Observations", "Observation ", "no column Observations");
    t("maximum_cycle_value         500", "maximum_cycle_value         0  ", "\"0\" is not a good");
    t("mismatches_context_size     2", "mismatches_context_size     9", "\"9\" is not a good");
    t(
        "unit                 30  1 ",
        "unit                 30  0 ",
        "\"0\" is not a good value of Cycle",
    );
    t("unit                 30  1 ", "unit                 94  1 ", "\"94\" is not a good value");
    t("unit                 30  2 ", "unit                 30  1 ", "a second row");
    t(
        "unit                 30  1 ",
        "else                 30  1 ",
        "\"else\" is not in RecalTable0",
    );
    t("Cycle          M", "Cycle          X", "\"X\" is not an event");
    t("Cycle  ", "Tile   ", "covariate \"Tile\" is not supported");
    // Cut anywhere before its last row.
    let last = text.trim_end().rfind('\n').unwrap();
    for end in 0..=last {
        assert!(report::parse(&text.as_bytes()[..end]).is_err(), "{end}");
    }
}

#[test]
fn tags_of_original_qualities_are_text() {
    let mut read = read();
    read.aux.extend_from_slice(b"OQi\x01\0\0\0");
    let options = RecalibrationOptions { use_original_qualities: true, ..Default::default() };
    assert_eq!(observations(&table(&[read.clone()], &options).unwrap()), 5);
    let body = read.body();
    let record = RecordRef::new(&body).unwrap();
    assert_eq!(record.find_aux(*b"OQ"), Ok(Some(AuxValue::Int32(1))));
}

/// Workers share one counter and one applier.
#[test]
fn counters_and_appliers_are_shared() {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<Counter<'_>>();
    is_shared::<Applier>();
    is_shared::<RecalibrationTable>();
    is_shared::<Counts>();
}
