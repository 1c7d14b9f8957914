//! Damaged input files of every format and compression: an error that names the file or the same
//! reads however it is cut, and never a panic. Damaged plain text has tests of its own in the
//! crate.
#![allow(clippy::unwrap_used)]

mod exercise;

use std::io::Write;

use proptest::prelude::*;
use seqloom_format::bgzf::{BlockCompressor, EOF_BLOCK};
use seqloom_testkit::damage::{Change, damaged};

const FASTQ: &[u8] = b"@r1/1 BC:Z:A\nACGTN\n+\nIIII!\n@r2\nAC\n+r2\n@+\n@r3\n\n+\n\n@r4\nGATTACA\n\
                       +\n#######\n";

fn gzip_of(text: &[u8]) -> Vec<u8> {
    let level = flate2::Compression::fast();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level);
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn gzip() -> Vec<u8> {
    let (head, tail) = FASTQ.split_at(31);
    [gzip_of(head), gzip_of(tail)].concat()
}

fn bgzf(text: &[u8], block_bytes: usize) -> Vec<u8> {
    let mut compressor = BlockCompressor::new(1).unwrap();
    let mut out = Vec::new();
    for piece in text.chunks(block_bytes) {
        compressor.compress(piece, &mut out).unwrap();
    }
    out.extend_from_slice(&EOF_BLOCK);
    out
}

/// Unaligned BAM: a pair and a single read.
fn bam() -> Vec<u8> {
    let text = b"@HD\tVN:1.6\n@RG\tID:a\tLB:l\n";
    let mut bytes = b"BAM\x01".to_vec();
    bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
    bytes.extend_from_slice(text);
    bytes.extend_from_slice(&[0; 4]);
    for (name, flags) in [("p", 0x4d_u16), ("p", 0x8d), ("s", 4)] {
        let mut body = Vec::new();
        [-1_i32, -1].iter().for_each(|word| body.extend_from_slice(&word.to_le_bytes()));
        body.extend_from_slice(&[2, 0, 0x48, 0x12, 0, 0]);
        body.extend_from_slice(&flags.to_le_bytes());
        [4_i32, -1, -1, 0].iter().for_each(|word| body.extend_from_slice(&word.to_le_bytes()));
        body.extend_from_slice(name.as_bytes());
        body.extend_from_slice(b"\0\x12\x48\x1e\x1e\x1e\x1eRGZa\0");
        bytes.extend_from_slice(&(body.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&body);
    }
    bytes
}

fn seeds() -> [Vec<u8>; 6] {
    [
        FASTQ.to_vec(),
        gzip(),
        bgzf(FASTQ, 23),
        zstd::encode_all(FASTQ, 1).unwrap(),
        bgzf(&bam(), 70),
        b">a x\nACGT\nAC\n>b\n\nTT\n".to_vec(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn damaged_files(
        noise in prop::collection::vec(any::<u8>(), 0..60),
        changes in prop::collection::vec(any::<Change>(), 0..4),
    ) {
        let folder = tempfile::tempdir().unwrap();
        exercise::source(folder.path(), &noise);
        for good in seeds() {
            exercise::source(folder.path(), &damaged(&good, &changes));
        }
    }
}

/// Records that make gzip members of several blocks.
fn many_blocks() -> Vec<u8> {
    let (mut text, mut state) = (Vec::new(), 7_u32);
    for record in 0..700 {
        let mut letter = |letters: &[u8]| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            letters[(state >> 16) as usize % letters.len()]
        };
        let bases: Vec<u8> = (0..100).map(|_| letter(b"ACGT")).collect();
        let qualities: Vec<u8> = (0..100).map(|_| letter(b"!#%'()*+,-./:;<=>?@ABCD")).collect();
        writeln!(text, "@r{record}").unwrap();
        text.extend([&bases[..], b"\n+\n", &qualities, b"\n"].concat());
    }
    gzip_of(&text)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn damaged_gzip_from_restart_points(
        noise in prop::collection::vec(any::<u8>(), 0..80),
        changes in prop::collection::vec(any::<Change>(), 0..3),
    ) {
        let folder = tempfile::tempdir().unwrap();
        exercise::restart(folder.path(), &many_blocks(), &noise);
        exercise::restart(folder.path(), &damaged(&many_blocks(), &changes), &noise);
    }
}

const SAM: &[u8] =
    b"@HD\tVN:1.6\n@SQ\tSN:c\tLN:99\nr\t0\tc\t1\t9\t1S2M\t=\t5\t7\tACG\tIII\tNM:i:0\n\
                     s\t4\t*\t0\t0\t*\t*\t0\t0\t*\t*\tXB:B:c,1,-1\tXZ:Z:z\n";

fn alignment_seeds() -> [Vec<u8>; 7] {
    [
        SAM.to_vec(),
        gzip_of(SAM),
        bgzf(SAM, 50),
        bgzf(&bam(), 70),
        bgzf(&bam(), 1000),
        gzip_of(&bam()),
        bam(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn damaged_alignments(
        noise in prop::collection::vec(any::<u8>(), 0..60),
        changes in prop::collection::vec(any::<Change>(), 0..4),
    ) {
        let folder = tempfile::tempdir().unwrap();
        exercise::alignments(folder.path(), &noise);
        exercise::alignments(folder.path(), &bgzf(&damaged(&bam(), &changes), 80));
        for good in alignment_seeds() {
            exercise::alignments(folder.path(), &damaged(&good, &changes));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn damaged_fasta_and_indices(
        noise in "[>c12\\tACGT\n0-9]{0,60}",
        changes in prop::collection::vec(any::<Change>(), 0..4),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let fasta = b">c1 x\nACGTACGT\nAC\n>c2\nGGG\n".as_slice();
        let gzi = [1_u64, 60, 20].map(u64::to_le_bytes).concat();
        exercise::indexed_fasta(folder.path(), noise.as_bytes());
        for good in [fasta, &bgzf(fasta, 9), b"c1\t10\t6\t8\t9\nc2\t3\t22\t3\t4\n", &gzi] {
            exercise::indexed_fasta(folder.path(), &damaged(good, &changes));
        }
    }
}

#[test]
fn the_seeds_of_alignments_are_good() {
    let folder = tempfile::tempdir().unwrap();
    for (seed, bytes) in alignment_seeds().iter().enumerate() {
        let path = folder.path().join("seed");
        std::fs::write(&path, bytes).unwrap();
        let opened = seqloom_io::alignments::AlignmentSource::open(&[path], Default::default());
        assert!(opened.is_ok(), "seed {seed}: {:?}", opened.err().map(|error| error.to_string()));
        exercise::alignments(folder.path(), bytes);
    }
}

#[test]
fn the_seeds_are_good() {
    let folder = tempfile::tempdir().unwrap();
    for (seed, bytes) in seeds().iter().enumerate() {
        let path = folder.path().join("seed");
        std::fs::write(&path, bytes).unwrap();
        let opened = seqloom_io::reads::ReadSource::open(&[path], Default::default());
        assert!(opened.is_ok(), "seed {seed}: {:?}", opened.err().map(|error| error.to_string()));
        exercise::source(folder.path(), bytes);
    }
}
