//! Noise and damaged bytes through every parser of this crate: no panic, and the promises that
//! `exercise.rs` lists. The fuzz targets run the same functions for longer.
#![allow(clippy::unwrap_used)]

mod bam_deflate_exercise;
mod exercise;
mod hdf5;
mod pod5;
mod pod5_exercise;
mod pod5_file;
mod slow5;

use proptest::prelude::*;
use seqloom_format::bam::Header;
use seqloom_format::bgzf::BlockCompressor;
use seqloom_format::signal::SignalRead;
use seqloom_format::slow5::binary::{END_OF_FILE, RecordEncoder};
use seqloom_format::slow5::{Compression, ex_zd, header, index, svb_zd, text};
use seqloom_testkit::damage::{Change, damaged};

const FASTQ: &[u8] = b"@r1/1 BC:Z:A\nACGTN\n+\nIIII!\n@r2\r\nAC\r\n+r2\r\n@+\r\n@r3\n\n+\n\n\n";
const WRAPPED: &[u8] = b"@r1\nACGT\nAC\n+\n@III\n+I\n@r2 x\nA\n+r2\nI\n";
const FASTA: &[u8] = b">c1 a comment\r\nACGT\nacgtnRY\n\n>c2\nAC-*\nG\n";
const SAM_LINES: [&[u8]; 2] = [
    b"r\t99\tc1\t5\t60\t1H2S3M1D2I1N1P1=1X\t=\t20\t-9\tACGTACGTAC\tIIIIIIIIII\tNM:i:-3\tXA:A:!",
    b"s\t4\t*\t0\t0\t*\t*\t0\t0\t*\t*\tXZ:Z:\tXH:H:1A\tXF:f:1.5\tXB:B:s,1,-2\tXI:i:4294967295",
];
const VCF: &[u8] = b"c1\t10\trs1\tACGT\tA,<DEL>\t30.5\tPASS\tAC=1;END=2000;DB\tGT\t0/1";
/// MM of five modifications, and the read that has them.
const MODIFICATIONS: &[u8] = b"C+mh?,1,0;G-m.,0;N+76792,9;";
const READ: &[u8] = b"ACCGTCNGAACGT";
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

/// A read with values in all fields of the header that is exercised.
fn signal_read() -> SignalRead {
    let samples = (0..120).map(|i| if i % 31 == 7 { 9000 } else { 480 + i % 13 }).collect();
    let mut read = SignalRead {
        read_id: b"00000000-1111-2222-3333-444444444444".to_vec(),
        read_group: 1,
        digitisation: 8192.0,
        offset: 5.0,
        range: 1467.61,
        sampling_rate: 4000.0,
        samples,
        ..SignalRead::default()
    };
    for field in slow5::sample_header().auxiliary {
        let elements = if field.is_array { 3 } else { 1 };
        read.auxiliary.push(&vec![1; elements * field.kind.size_bytes()]);
    }
    read
}

/// The record preceded by its length.
fn signal_record(compression: Compression) -> Vec<u8> {
    let mut out = Vec::new();
    let mut encoder = RecordEncoder::new(compression).unwrap();
    encoder.append(&signal_read(), &slow5::sample_header(), &mut out).unwrap();
    out
}

fn signal_file(compression: Compression) -> Vec<u8> {
    let mut out = Vec::new();
    let mut header = slow5::sample_header();
    header.attributes.insert(b"run_id".to_vec(), vec![b"a".to_vec(), Vec::new()]);
    header::append_binary(&header, compression, &mut out).unwrap();
    let record = signal_record(compression);
    [out, record.clone(), record, END_OF_FILE.to_vec()].concat()
}

fn signal_text() -> (Vec<u8>, Vec<u8>) {
    let (mut head, mut line) = (Vec::new(), Vec::new());
    header::append_text(&slow5::sample_header(), &mut head);
    text::append_record(&signal_read(), &slow5::sample_header(), &mut line).unwrap();
    (head, line)
}

fn signal_index() -> Vec<u8> {
    let mut out = Vec::new();
    index::append_header(slow5::sample_header().version, &mut out);
    for read_id in [&b"a"[..], b"bcd"] {
        index::append_entry(&index::Entry { read_id, offset: 9, size_bytes: 99 }, &mut out);
    }
    index::append_footer(&mut out);
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
    fn fasta_index(noise in "[>a0-9\t\nAC\r]{0,60}", changes in changes()) {
        exercise::fasta_index(noise.as_bytes());
        exercise::fasta_index(&damaged(b"c1\t90\t4\t60\t61\nc2\t5\t100\t5\t7\n", &changes));
        let gzi = [2_u64, 100, 60_000, 200, 65_000].map(u64::to_le_bytes).concat();
        exercise::fasta_index(&damaged(&gzi, &changes));
        exercise::fasta_index(&damaged(FASTA, &changes));
    }

    #[test]
    fn sequences(noise in "[>@+ACGI \r\n]{0,60}", changes in changes()) {
        exercise::sequences(noise.as_bytes());
        for text in [FASTA, FASTQ, WRAPPED] {
            exercise::sequences(&damaged(text, &changes));
        }
    }

    #[test]
    fn bgzf(noise in prop::collection::vec(any::<u8>(), 0..80), changes in changes()) {
        exercise::bgzf(&noise);
        exercise::bgzf(&damaged(&block(), &changes));
    }

    #[test]
    fn bam_deflate(script in prop::collection::vec(any::<u8>(), 0..400)) {
        for choice in [0, 1, 2, 0x80, 0x81, 0x82] {
            bam_deflate_exercise::bam_deflate(&[&[choice], &script[..]].concat());
        }
    }

    #[test]
    fn records(noise in prop::collection::vec(any::<u8>(), 0..80), changes in changes()) {
        let body = record_body();
        let framed = |body: &[u8]| [&(body.len() as u32).to_le_bytes(), body].concat();
        let run = [framed(&body), framed(&body)].concat();
        for bytes in [noise, damaged(&body, &changes)] {
            exercise::bam_record(&bytes);
            exercise::record_edits(&bytes);
            exercise::record_modifications(&bytes);
        }
        exercise::framed(&damaged(&run, &changes));
    }

    #[test]
    fn bed(noise in "[c#0-9\t \r\n-]{0,60}") {
        exercise::bed(noise.as_bytes());
    }

    #[test]
    fn introns(
        sites in "(c\t[0-9]{1,4}\t[0-9]{1,4}\t[+.-]\n){0,4}",
        exons in "(c\ts\texon\t[1-9][0-9]?\t[0-9]{2,3}\t.\t[+]\t.\ttranscript_id t;\n){0,4}",
        noise in "[cx#0-9\t \r\n.+-]{0,60}",
    ) {
        for text in [&sites, &exons, &noise, &(sites.clone() + &noise)] {
            exercise::introns(text.as_bytes());
        }
    }

    #[test]
    fn modifications(
        noise in "[ACGTUN+.?,;mh0-9-]{0,40}",
        ml in prop::collection::vec(any::<u8>(), 0..6),
        changes in changes(),
    ) {
        exercise::base_modifications(noise.as_bytes(), &ml, READ);
        exercise::base_modifications(&damaged(MODIFICATIONS, &changes), &ml, READ);
    }

    #[test]
    fn sam_lines(noise in "[a-z0-9\t*=:ACGT]{0,80}", changes in changes()) {
        exercise::sam_line(noise.as_bytes());
        for good in SAM_LINES {
            exercise::sam_line(&damaged(good, &changes));
        }
    }

    #[test]
    fn headers(noise in "[@HDSQRGLNID:\t\n1-9]{0,80}", changes in changes()) {
        exercise::sam_header(noise.as_bytes());
        exercise::sam_header(&damaged(HEADER.as_bytes(), &changes));
        let encoded = Header::parse(HEADER.as_bytes()).unwrap().encode().unwrap();
        exercise::bam_header(&damaged(&encoded, &changes));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn signal_headers(noise in prop::collection::vec(any::<u8>(), 0..80), changes in changes()) {
        slow5::headers(&noise);
        slow5::headers(&damaged(&signal_text().0, &changes));
        slow5::headers(&damaged(&signal_file(Compression::NONE), &changes));
    }

    #[test]
    fn signal_lines(noise in "[-0-9.,\t\n]{0,80}", changes in changes()) {
        slow5::line(noise.as_bytes());
        slow5::line(&damaged(&signal_text().1, &changes));
    }

    #[test]
    fn signal_frames(noise in prop::collection::vec(any::<u8>(), 0..80), changes in changes()) {
        slow5::signal(&noise);
        let (samples, mut svb, mut ex) = (signal_read().samples, Vec::new(), Vec::new());
        svb_zd::encode(&samples, &mut svb).unwrap();
        ex_zd::encode(&samples, &mut ex_zd::Scratch::default(), &mut ex).unwrap();
        slow5::signal(&damaged(&svb, &changes));
        slow5::signal(&damaged(&ex, &changes));
    }

    #[test]
    fn signal_records(noise in prop::collection::vec(any::<u8>(), 0..80), changes in changes()) {
        slow5::record(&noise);
        for compression in slow5::compressions() {
            slow5::record(&damaged(&signal_record(compression)[8..], &changes));
            slow5::file(&damaged(&signal_file(compression), &changes));
        }
    }

    #[test]
    fn signal_indices(noise in prop::collection::vec(any::<u8>(), 0..80), changes in changes()) {
        slow5::index_file(&noise);
        slow5::index_file(&damaged(&signal_index(), &changes));
    }
}

/// Found by fuzzing: of several carriage returns only one was dropped.
#[test]
fn a_header_line_that_ends_in_carriage_returns() {
    exercise::sam_header(b"@CO\tx\r\r\r\n@CO\ty\r\n");
}

#[test]
fn a_signal_file_cut_anywhere() {
    for compression in slow5::compressions() {
        let file = signal_file(compression);
        (0..=file.len()).for_each(|cut| slow5::file(&file[..cut]));
    }
    let (head, line) = signal_text();
    (0..=head.len()).for_each(|cut| slow5::headers(&head[..cut]));
    (0..=line.len()).for_each(|cut| slow5::line(&line[..cut]));
    let index = signal_index();
    (0..=index.len()).for_each(|cut| slow5::index_file(&index[..cut]));
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
