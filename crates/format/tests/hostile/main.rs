//! Noise and damaged bytes through every parser of this crate: no panic, and the promises that
//! `exercise.rs` lists. The fuzz targets run the same functions for longer.
#![allow(clippy::unwrap_used)]

mod exercise;

use proptest::prelude::*;
use seqloom_format::bam::Header;
use seqloom_format::bgzf::BlockCompressor;
use seqloom_testkit::damage::{Change, damaged};

const FASTQ: &[u8] = b"@r1/1 BC:Z:A\nACGTN\n+\nIIII!\n@r2\r\nAC\r\n+r2\r\n@+\r\n@r3\n\n+\n\n\n";
const WRAPPED: &[u8] = b"@r1\nACGT\nAC\n+\n@III\n+I\n@r2 x\nA\n+r2\nI\n";
const FASTA: &[u8] = b">c1 a comment\r\nACGT\nacgtnRY\n\n>c2\nAC-*\nG\n";
const VCF: &[u8] = b"c1\t10\trs1\tACGT\tA,<DEL>\t30.5\tPASS\tAC=1;END=2000;DB\tGT\t0/1";
const HEADER: &str = "@HD\tVN:1.6\tSO:unsorted\n@SQ\tSN:c1\tLN:1000\n@SQ\tSN:c2\tLN:9\tAH:*\n\
                      @RG\tID:a\tSM:s\tLB:l\n@PG\tID:p\tCL:x y\n@PG\tID:q\tPP:p\n@CO\tfree text\n";

fn changes() -> impl Strategy<Value = Vec<Change>> {
    prop::collection::vec(any::<Change>(), 0..5)
}

/// A record with name, CIGAR, bases, qualities and one field of every type.
fn record_body() -> Vec<u8> {
    let mut body = Vec::new();
    [0_i32, 100].iter().for_each(|word| body.extend_from_slice(&word.to_le_bytes()));
    body.extend_from_slice(&[5, 60, 0x49, 0x12, 2, 0, 0x63, 0]);
    [5_i32, 1, 200, -150].iter().for_each(|word| body.extend_from_slice(&word.to_le_bytes()));
    body.extend_from_slice(b"name\0\x14\0\0\0\x40\0\0\0\x12\x48\xf0\x1e\x1e\x1e\x1e\x1e");
    body.extend_from_slice(b"RGZgroup\0NMC\x01ASc\x01XAAcXFf\0\0\x80?XHH0A\0");
    body.extend_from_slice(b"XBBS\x02\0\0\0\x01\0\x02\0XIi\xff\xff\xff\xff");
    body
}

fn block() -> Vec<u8> {
    let mut out = Vec::new();
    BlockCompressor::new(6).unwrap().compress(&[FASTQ, FASTA].concat(), &mut out).unwrap();
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn fastq(noise in "[@+>ACI!\n\r \t~]{0,80}", changes in changes()) {
        exercise::fastq(noise.as_bytes());
        for good in [FASTQ, WRAPPED, FASTA] {
            exercise::fastq(&damaged(good, &changes));
        }
    }

    #[test]
    fn fasta(noise in "[>AC\r\n 1a]{0,60}", changes in changes()) {
        exercise::fasta(noise.as_bytes());
        exercise::fasta(&damaged(FASTA, &changes));
    }

    #[test]
    fn vcf(noise in "[c1\t.A;END=0-9]{0,60}", changes in changes()) {
        exercise::vcf(noise.as_bytes());
        exercise::vcf(&damaged(VCF, &changes));
    }

    #[test]
    fn bgzf(noise in prop::collection::vec(any::<u8>(), 0..80), changes in changes()) {
        exercise::bgzf(&noise);
        exercise::bgzf(&damaged(&block(), &changes));
    }

    #[test]
    fn records(noise in prop::collection::vec(any::<u8>(), 0..80), changes in changes()) {
        let body = record_body();
        let framed = |body: &[u8]| [&(body.len() as u32).to_le_bytes(), body].concat();
        let run = [framed(&body), framed(&body)].concat();
        for bytes in [noise, damaged(&body, &changes)] {
            exercise::bam_record(&bytes);
        }
        exercise::framed(&damaged(&run, &changes));
    }

    #[test]
    fn headers(noise in "[@HDSQRGLNID:\t\n1-9]{0,80}", changes in changes()) {
        exercise::sam_header(noise.as_bytes());
        exercise::sam_header(&damaged(HEADER.as_bytes(), &changes));
        let encoded = Header::parse(HEADER.as_bytes()).unwrap().encode().unwrap();
        exercise::bam_header(&damaged(&encoded, &changes));
    }
}

/// Found by fuzzing: of several carriage returns only one was dropped.
#[test]
fn a_header_line_that_ends_in_carriage_returns() {
    exercise::sam_header(b"@CO\tx\r\r\r\n@CO\ty\r\n");
}

#[test]
fn the_seeds_are_good() {
    assert!(seqloom_format::bam::RecordRef::new(&record_body()).is_ok());
    let mut line = Vec::new();
    let references = Header::parse(HEADER.as_bytes()).unwrap();
    seqloom_format::sam::append_record(&record_body(), references.references(), &mut line).unwrap();
    let text = String::from_utf8(line).unwrap();
    assert!(text.starts_with("name\t99\tc1\t101\t60\t1S4M\t"), "{text}");
    assert!(text.contains("\tXB:B:S,1,2\tXI:i:-1\n"), "{text}");
}
