//! Any bytes as records of a template: what the collection of read ends must survive. The property
//! test beside this file and the fuzz target call the same function.

use seqloom_format::bam::Header;
use seqloom_prep::duplicates::{
    DuplicateMode, DuplicateOptions, FragmentEnd, LibraryTable, PairEnd, PairedMarker,
    resolve_pairs,
};
use seqloom_prep::metrics::DuplicationCounters;
use seqloom_prep::read_end::{ReadEndOptions, examine_template};

const HEADER: &[u8] = b"@HD\tVN:1.6\n@SQ\tSN:c\tLN:9\n@RG\tID:a\tLB:x\n@RG\tID:b\tLB:y\n";

struct Ignored;

impl seqloom_prep::duplicates::MarkSink for Ignored {
    fn mark_optical(&mut self, _: &PairEnd) {}

    fn mark(&mut self, template: u64, _: seqloom_prep::duplicates::MarkedReads) {
        assert!(template < 2);
    }
}

/// Read ends of `records` in both modes: every entry survives its encoding, and two templates with
/// the same records can be resolved.
pub(crate) fn template(records: &[u8]) {
    let table = LibraryTable::new(&Header::parse(HEADER).unwrap()).unwrap();
    for mode in [DuplicateMode::Query, DuplicateMode::Coordinate] {
        let mut counters = DuplicationCounters::new(table.libraries().len());
        let options = ReadEndOptions { mode, locate: true, barcodes: Default::default() };
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
                assert_eq!(PairedMarker::from_bytes(&end.to_bytes()), *end);
            }
            if let Some(pair) = ends.pair {
                assert_eq!(PairEnd::from_bytes(&pair.to_bytes()), pair);
                pairs.push(pair);
            }
        }
        resolve_pairs(&mut pairs, &DuplicateOptions::default(), &mut Ignored, &mut counters);
    }
}
