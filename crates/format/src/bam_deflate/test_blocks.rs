//! Records and blocks for tests, and inflaters that are not ours.

use std::io::Read;

use libdeflater::Decompressor;
use seqloom_testkit::random::Random;

use crate::bgzf::MAX_PAYLOAD_BYTES;

/// Inflates a raw deflate stream with libdeflate and with zlib, which must agree.
pub(super) fn inflate_both(stream: &[u8], size: usize) -> Vec<u8> {
    let mut by_libdeflate = vec![0; size];
    let written = Decompressor::new().deflate_decompress(stream, &mut by_libdeflate).unwrap();
    assert_eq!(written, size);
    let mut by_zlib = Vec::new();
    flate2::read::DeflateDecoder::new(stream).read_to_end(&mut by_zlib).unwrap();
    assert!(by_zlib == by_libdeflate);
    by_zlib
}

/// How reads are made.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reads {
    pub(super) count: usize,
    /// Bases of a read at most.
    pub(super) bases: usize,
    /// In the order of their positions.
    pub(super) is_sorted: bool,
    /// Values of qualities: few are in runs.
    pub(super) qualities: u64,
}

impl Reads {
    /// Short reads as a sequencer of today makes them.
    pub(super) const SHORT: Self = Self { count: 3_000, bases: 150, is_sorted: true, qualities: 4 };
}

/// Framed records of reads of a small genome, with names, CIGARs and tags as aligners write them.
pub(super) fn records(seed: u64, reads: Reads) -> Vec<u8> {
    let mut random = Random::new(seed);
    let genome: Vec<u8> =
        (0..20_000 + 2 * reads.bases).map(|_| random.pick(&[1, 2, 4, 8])).collect();
    let mut starts: Vec<usize> = (0..reads.count).map(|_| random.index(20_000)).collect();
    if reads.is_sorted {
        starts.sort_unstable();
    }
    let mut out = Vec::new();
    for start in starts {
        let bases = if random.percent(90) { reads.bases } else { 1 + random.index(reads.bases) };
        let clip = if random.percent(10) { random.index(bases) } else { 0 };
        let body = record(&mut random, &genome[start..start + bases], start, clip, reads.qualities);
        out.extend_from_slice(&(body.len() as u32).to_le_bytes());
        out.extend_from_slice(&body);
    }
    out
}

/// One record's body; `codes` are the 4-bit codes of its bases.
fn record(random: &mut Random, codes: &[u8], start: usize, clip: usize, qualities: u64) -> Vec<u8> {
    let name = format!(
        "A00684:112:HKFW:{}:{}:{}:{}\0",
        random.between(1, 2),
        random.pick(&[1101, 1102, 2203]),
        random.between(1_000, 32_000),
        random.between(1_000, 37_000)
    );
    let mut body = Vec::new();
    let word = |body: &mut Vec<u8>, word: u32| body.extend_from_slice(&word.to_le_bytes());
    let cigar: &[u32] = match clip {
        0 => &[(codes.len() as u32) << 4],
        _ => &[(clip as u32) << 4 | 4, ((codes.len() - clip) as u32) << 4],
    };
    let is_mapped = random.percent(97);
    let mate = start as u32 + random.below(500) as u32;
    word(&mut body, if is_mapped { 0 } else { u32::MAX });
    word(&mut body, (start + clip) as u32);
    body.extend_from_slice(&[name.len() as u8, 60, 0x49, 0x12, cigar.len() as u8, 0]);
    body.extend_from_slice(&[random.pick(&[99, 147, 83, 163]), 0]);
    word(&mut body, codes.len() as u32);
    word(&mut body, 0);
    word(&mut body, mate);
    word(&mut body, mate.wrapping_sub(start as u32));
    body.extend_from_slice(name.as_bytes());
    cigar.iter().for_each(|&operation| word(&mut body, operation));
    let codes: Vec<u8> =
        codes.iter().map(|&code| if random.percent(1) { 15 } else { code }).collect();
    body.extend(codes.chunks(2).map(|two| two[0] << 4 | two.get(1).unwrap_or(&0)));
    // Few values: nearly all are the best, single ones are not. Many: anything.
    let change = if qualities < 8 { 6 } else { 60 };
    let mut quality = 37;
    body.extend(codes.iter().map(|_| {
        let last = quality;
        quality = if qualities < 8 { 37 } else { last };
        if random.percent(change) {
            quality = 2 + (random.below(qualities) * 37 / qualities) as u8;
        }
        quality
    }));
    body.extend_from_slice(&[b'N', b'M', b'C', random.below(4) as u8]);
    body.extend_from_slice(format!("MDZ{}\0ASC", codes.len()).as_bytes());
    body.push(codes.len() as u8);
    body.extend_from_slice(format!("RGZlane{}\0", random.below(2)).as_bytes());
    if (10_000..12_000).contains(&start) {
        body.extend_from_slice(&other_places(random, start, codes.len()));
    }
    body
}

/// XA of a read of a repeat that the genome has three more times, in any order.
fn other_places(random: &mut Random, start: usize, bases: usize) -> Vec<u8> {
    let (first, mut tag) = (random.index(3), b"XAZ".to_vec());
    for copy in (0..3).map(|at| (first + at) % 3) {
        let place = [1_403_112, 77_030_455, 120_998_001][copy] + start;
        let entry = format!("chr{},+{place},{bases}M,{};", 7 + copy, random.below(4));
        tag.extend_from_slice(entry.as_bytes());
    }
    tag.push(0);
    tag
}

/// Records as blocks of one unit, cut as they are on their way to a file.
pub(super) fn blocks(records: &[u8]) -> Vec<&[u8]> {
    let (mut blocks, mut start, mut end) = (Vec::new(), 0, 0);
    while let Some(size) = records[end..].first_chunk() {
        let next = end + 4 + u32::from_le_bytes(*size) as usize;
        if next - start > MAX_PAYLOAD_BYTES && end > start {
            blocks.push(&records[start..end]);
            start = end;
        }
        while next - start >= MAX_PAYLOAD_BYTES {
            blocks.push(&records[start..start + MAX_PAYLOAD_BYTES]);
            start += MAX_PAYLOAD_BYTES;
        }
        end = next;
    }
    blocks.extend(Some(&records[start..end]).filter(|rest| !rest.is_empty()));
    blocks
}
