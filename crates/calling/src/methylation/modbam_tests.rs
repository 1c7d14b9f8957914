//! Tags of records by example: strands, clips, gaps, tags that were there.

use seqloom_format::base_modifications::decode_record;
use seqloom_format::sam::{ReferenceNames, append_record, parse_record};

use super::*;

/// A record of flag, 1-based position, CIGAR and bases, with a tag before and one after old ones.
fn record(flags: u16, position: u32, cigar: &str, bases: &str, old: &str) -> Vec<u8> {
    let references = [seqloom_format::bam::Reference { name: "c".to_owned(), length: 1000 }];
    let line =
        format!("r\t{flags}\tc\t{position}\t60\t{cigar}\t*\t0\t0\t{bases}\t*\tNM:i:1\t{old}RG:Z:x");
    let mut body = Vec::new();
    parse_record(line.as_bytes(), &ReferenceNames::new(&references), &mut body).unwrap();
    body
}

fn sites(positions: &[u64]) -> Vec<CalledSite> {
    // Ratios that distinguish the sites: 0, 1, 2, ...
    let site =
        |(index, &position)| CalledSite { position, log_lik_ratio: index as f64, motif_count: 1 };
    positions.iter().enumerate().map(site).collect()
}

/// Tags of a tagged record, as SAM shows them.
fn tags(body: &[u8]) -> String {
    let mut line = Vec::new();
    let references = [seqloom_format::bam::Reference { name: "c".to_owned(), length: 1000 }];
    append_record(body, &references, &mut line).unwrap();
    let line = String::from_utf8(line).unwrap();
    line.trim_end().splitn(12, '\t').nth(11).unwrap().to_owned()
}

#[test]
fn the_base_of_the_motif_is_tagged() {
    let t = |motif, flags, bases: &str, at: &[u64], expected: &str| {
        let mut body = record(flags, 11, &format!("{}M", bases.len()), bases, "");
        tag_record(motif, &mut body, &sites(at), &mut ModbamScratch::default()).unwrap();
        let bases = bases.len();
        assert_eq!(tags(&body), format!("NM:i:1\tRG:Z:x\t{expected}\tMN:i:{bases}"));
    };
    // The A of GATC is its second base, that of the other strand pairs with the third.
    t(Motif::Dam, 0, "AGATCGATC", &[11, 15], "MM:Z:A+a?,1,0;\tML:B:C,128,187");
    t(Motif::Dam, 16, "AGATCGATC", &[11, 15], "MM:Z:A+a?,0,0;\tML:B:C,187,128");
    // The second C of CCWGG on either strand.
    t(Motif::Dcm, 0, "CCCAGGA", &[11], "MM:Z:C+m?,2;\tML:B:C,128");
    t(Motif::Dcm, 16, "CCCAGGA", &[11], "MM:Z:C+m?,1;\tML:B:C,128");
    // The C of GC pairs with the G before it.
    t(Motif::Gpc, 0, "CAGCGC", &[12, 14], "MM:Z:C+m?,1,0;\tML:B:C,128,187");
    t(Motif::Gpc, 16, "CAGCGC", &[12, 14], "MM:Z:C+m?,0,0;\tML:B:C,187,128");
}

#[test]
fn sites_of_the_read_are_tagged() {
    let t = |flags, cigar: &str, bases: &str, at: &[u64], expected: &str| {
        let mut body = record(flags, 11, cigar, bases, "");
        let tagging =
            tag_record(Motif::Cpg, &mut body, &sites(at), &mut ModbamScratch::default()).unwrap();
        let count = expected.matches(',').count() / 2;
        assert_eq!(tagging, Tagging::Tagged { sites: count });
        let bases = bases.len();
        assert_eq!(tags(&body), format!("NM:i:1\tRG:Z:x\t{expected}\tMN:i:{bases}"));
    };
    // 128, 187 and 225 are logistic(0, 1, 2) in 256 parts.
    t(0, "8M", "CCGTCGCG", &[11, 14], "MM:Z:C+m?,1,0;\tML:B:C,128,187");
    // Reverse: the C of the other strand is the G next to it, and all counts run backwards.
    t(16, "8M", "CCGTCGCG", &[11, 14], "MM:Z:C+m?,1,0;\tML:B:C,187,128");
    t(16, "8M", "CCGTCGCG", &[11, 14, 16], "MM:Z:C+m?,0,0,0;\tML:B:C,225,187,128");
    // Clips, insertions and deletions shift; what is deleted or another base is not there.
    t(0, "2S2M1I3M", "CGACGTCG", &[11, 13], "MM:Z:C+m?,1,0;\tML:B:C,128,187");
    t(0, "3M2D3M", "ACGACG", &[11, 13, 16], "MM:Z:C+m?,0,0;\tML:B:C,128,225");
    t(0, "6M", "ATGACG", &[11, 14], "MM:Z:C+m?,0;\tML:B:C,187");
    // Sites before and after the alignment.
    t(0, "6M", "ACGACG", &[3, 14, 40], "MM:Z:C+m?,1;\tML:B:C,187");
    // Hard clips are not in the record, so nothing of them is counted.
    t(2048, "5H6M7H", "ACGACG", &[11, 14], "MM:Z:C+m?,0,0;\tML:B:C,128,187");
    t(2064, "5H6M7H", "ACGACG", &[11, 14], "MM:Z:C+m?,0,0;\tML:B:C,187,128");
}

#[test]
fn old_tags_are_removed_from_every_record() {
    let old = "MM:Z:C+m,0;\tML:B:C,1\tMN:i:6\tMm:Z:C+h,0;\tMl:B:C,1\t";
    let t = |cigar: &str, bases: &str, at: &[u64], expected: Tagging| {
        let mut body = record(0, 11, cigar, bases, old);
        let scratch = &mut ModbamScratch::default();
        assert_eq!(tag_record(Motif::Cpg, &mut body, &sites(at), scratch).unwrap(), expected);
        assert_eq!(tags(&body), "NM:i:1\tRG:Z:x");
    };
    t("6M", "ACGACG", &[], Tagging::NotCalled);
    t("6M", "*", &[11], Tagging::NoBases);
    t("6M", "AAGAAG", &[11, 14], Tagging::NoSite);
    t("6M", "ACGACG", &[200], Tagging::NoSite);
    let mut body = record(0, 11, "6M", "ACGACG", old);
    tag_record(Motif::Cpg, &mut body, &sites(&[11]), &mut ModbamScratch::default()).unwrap();
    assert_eq!(tags(&body), "NM:i:1\tRG:Z:x\tMM:Z:C+m?,0;\tML:B:C,128\tMN:i:6");
    let (mut bases, mut called) = (Vec::new(), Vec::new());
    decode_record(&RecordRef::new(&body).unwrap(), &mut bases, &mut called).unwrap();
    assert_eq!(called.len(), 1);
}

#[test]
fn malformed_records_are_refused() {
    let body = record(0, 11, "6M", "ACGACG", "");
    let mut good = 0;
    for cut in 0..=body.len() {
        let mut body = body[..cut].to_vec();
        let is_good = RecordRef::new(&body).is_ok_and(|it| it.aux().all(|field| field.is_ok()));
        let tagged =
            tag_record(Motif::Cpg, &mut body, &sites(&[11]), &mut ModbamScratch::default());
        assert_eq!(tagged.is_ok(), is_good, "{cut}");
        good += u32::from(is_good);
    }
    // Without tags, with one, with both.
    assert_eq!(good, 3);
}
