//! Any bytes as records and as recalibration reports: what duplicate marking and recalibration must
//! survive. The property tests next to this file and the fuzz targets call the same functions.

use std::sync::Arc;

use seqloom_format::bam::{Header, RecordRef, framed_records};
use seqloom_format::bed::BedIntervals;
use seqloom_prep::duplicates::{
    DuplicateMode, DuplicateOptions, DuplicationCounters, FragmentEnd, LibraryTable, PairEnds,
    PairedEndMarker, ReadEndOptions, examine_template, resolve_pairs,
};
use seqloom_prep::finish::VisitorSource;
use seqloom_prep::input::ReferenceSequences;
use seqloom_prep::metrics::{MetricsRequest, MetricsVisitors};
use seqloom_prep::recalibrate::{
    Applied, Applier, ApplyOptions, ApplyScratch, CountScratch, Counted, Counter,
    KnownSitesBuilder, RecalibrationOptions, RecalibrationTable, gather, report,
};
use seqloom_prep::steps::{
    FixMatesOptions, MismatchTags, ReadGroupMode, ReadGroupOptions, SetMismatchTags, StepCounts,
    StepOptions, StepScratch, Strictness,
};

const HEADER: &[u8] = b"@HD\tVN:1.6\n@SQ\tSN:c\tLN:9\n@RG\tID:a\tLB:x\n@RG\tID:b\tLB:y\n";

struct Ignored;

impl seqloom_prep::duplicates::MarkSink for Ignored {
    fn mark_optical(&mut self, _: &PairEnds) {}

    fn mark(&mut self, template: u64, _: seqloom_prep::duplicates::MarkedReads) -> bool {
        assert!(template < 2);
        true
    }
}

/// Read ends of `records` in both modes: every entry survives its encoding, and two templates with
/// the same records can be resolved.
pub(crate) fn template(records: &[u8]) {
    let table = LibraryTable::new(&Header::parse(HEADER).unwrap()).unwrap();
    for mode in [DuplicateMode::Query, DuplicateMode::Coordinate] {
        let mut counters = DuplicationCounters::new(table.libraries().len());
        let (locations, barcodes, picard) = Default::default();
        let options = ReadEndOptions { mode, locations, barcodes, picard };
        let mut pairs = Vec::new();
        for ordinal in 0..2 {
            let Ok(ends) = examine_template(records, ordinal, &table, &options, &mut counters)
            else {
                continue;
            };
            for end in ends.fragments.iter().flatten() {
                assert_eq!(FragmentEnd::from_bytes(&end.to_bytes()), *end);
            }
            for end in ends.markers.iter().flatten() {
                assert_eq!(PairedEndMarker::from_bytes(&end.to_bytes()), *end);
            }
            if let Some(pair) = ends.pair {
                assert_eq!(PairEnds::from_bytes(&pair.to_bytes()), pair);
                pairs.push(pair);
            }
        }
        resolve_pairs(&mut pairs, &DuplicateOptions::default(), &mut Ignored, &mut counters);
    }
}

/// Every record step on `records`, with and without those that need templates: what comes out are
/// good records, and on an error the output is as it was.
pub(crate) fn steps(records: &[u8]) {
    let header = Header::parse(HEADER).unwrap();
    let changes = StepOptions {
        clean_sam: true,
        reference_dictionary: Some(header.clone()),
        read_group: Some(ReadGroupOptions {
            line_or_id: b"@RG\tID:n".to_vec(),
            mode: ReadGroupMode::ReplaceAll,
        }),
        remove_tags: vec![*b"XX"],
        ..StepOptions::default()
    };
    let fix_mates = Some(FixMatesOptions { template_cigar: true, ..FixMatesOptions::default() });
    let filters = StepOptions {
        filter_unmapped: Some(Strictness::Strict),
        exclude_flags: 0x200,
        min_mapping_quality: 1,
        exact_match: Some(Strictness::Plain),
        regions: Some(BedIntervals::parse(b"c\t0\t1000\n").unwrap()),
        ..StepOptions::default()
    };
    let reference = Arc::new(ReferenceSequences::new(vec![b"ACGTNACGT".to_vec()]));
    for options in [changes.clone(), StepOptions { fix_mates, ..changes }, filters] {
        // Only a step that changes tags looks at all of them.
        let checks_tags = options.read_group.is_some();
        let mut steps = options.build(&header).unwrap();
        let tags = MismatchTags { nm: true, md: true, uq: true };
        steps.add_record_step(SetMismatchTags::new(Arc::clone(&reference), tags));
        let (mut scratch, mut counts) = (StepScratch::default(), StepCounts::default());
        let mut out = Vec::new();
        match steps.apply(records, &mut out, &mut scratch, &mut counts) {
            Err(_) => assert!(out.is_empty()),
            Ok(kept) => {
                let mut good = 0;
                for body in framed_records(&out) {
                    let record = RecordRef::new(body.unwrap()).unwrap();
                    assert!(!checks_tags || record.aux().all(|field| field.is_ok()));
                    good += 1;
                }
                assert_eq!(good, kept);
                assert_eq!(counts.examined, kept + counts.dropped.iter().sum::<u64>());
            }
        }
    }
}

/// Every metric of `records`, with a reference that is shorter than they may say.
pub(crate) fn metrics(records: &[u8]) {
    let reference = ReferenceSequences::new(vec![b"ACGTNacgt".to_vec()]);
    let visitors = MetricsVisitors::new(MetricsRequest::ALL, Some(&reference));
    let mut visitor = visitors.visitor();
    for body in framed_records(records).map_while(Result::ok) {
        if let Ok(record) = RecordRef::new(body) {
            let _ = visitor.visit(0, &record);
        }
    }
    visitor.end_unit(0).unwrap();
    visitor.finish().unwrap();
    let metrics = visitors.into_metrics();
    let _ = metrics.depth.unwrap_or_default().finish(&[9]).fold_80();
    let _ = metrics.cycles.unwrap_or_default().first.content();
    let _ = metrics.insert_size.unwrap_or_default().rows();
    let _ = metrics.alignment_summary.unwrap_or_default().rows();
    let _ = metrics.samtools_stats.unwrap_or_default().inserts();
    let _ = metrics.quality_by_cycle.unwrap_or_default().means();
}

/// A reference that records of [`HEADER`]'s sequence may reach beyond.
const BASES: &[u8] = b"ACGTNacgtACGTACGTACGTRCGTACGTACGT";

/// One record's body, counted and recalibrated in all ways: what is counted can be written, read
/// back and applied, and only qualities and a few tags change. The report, where it was counted.
pub(crate) fn recalibration(body: &[u8]) -> Option<String> {
    let text = format!("@SQ\tSN:c\tLN:{}\n@RG\tID:a\tPL:x\n@RG\tID:b\tPL:x\n", BASES.len());
    let header = Header::parse(text.as_bytes()).unwrap();
    let reference = ReferenceSequences::new(vec![BASES.to_vec()]);
    let mut sites = KnownSitesBuilder::new(header.references());
    [2..3, 7..12, 30..60].into_iter().for_each(|site| sites.add(0, site));
    let sites = sites.finish();
    let options = RecalibrationOptions {
        indel_tables: true,
        baq_gap_open_penalty: Some(40.0),
        use_original_qualities: true,
        ..RecalibrationOptions::default()
    };
    let counter = Counter::new(&options, &header, &reference, &sites).unwrap();
    let counts = counter.counts();
    let counted = counter.count(body, &mut CountScratch::default(), &counts);
    let table = counter.table(&counts);
    let written = report::write(&table);
    let read_back = report::parse(written.as_bytes()).unwrap();
    assert_eq!(report::write(&read_back), written);
    apply(&read_back, &header, body);
    (counted == Ok(Counted::Yes)).then_some(written)
}

fn apply(table: &RecalibrationTable, header: &Header, body: &[u8]) {
    let options =
        ApplyOptions { emit_original: true, allow_missing_read_group: true, ..Default::default() };
    let applier = Applier::new(table.view(), &options, header).unwrap();
    let mut changed = body.to_vec();
    match applier.apply(&mut changed, &mut ApplyScratch::default()) {
        Ok(Applied::NotWellFormed(_)) => assert_eq!(changed, body),
        Ok(_) => {
            let (before, after) =
                (RecordRef::new(body).unwrap(), RecordRef::new(&changed).unwrap());
            let front = before.aux_start() - before.base_count();
            assert_eq!(body[..front], changed[..front]);
            let tags = after.aux().map(|field| field.unwrap().0);
            assert!(tags.clone().any(|tag| tag == *b"OQ"));
            assert!(tags.clone().all(|tag| tag != *b"BI" && tag != *b"BD"));
        }
        Err(_) => assert_eq!(changed, body),
    }
}

/// A report: what is read can be written, read back, added to itself and applied.
pub(crate) fn recalibration_report(text: &[u8]) {
    let Ok(table) = report::parse(text) else { return };
    let written = report::write(&table);
    let read_back = report::parse(written.as_bytes());
    assert!(read_back.is_ok(), "{read_back:?}");
    let _ = gather([table.clone(), table.clone()]);
    let header = Header::parse(HEADER).unwrap();
    assert!(Applier::new(table.view(), &ApplyOptions::default(), &header).is_ok());
}
