//! What the tests of this crate share: records, a store's backing, BGZF read back.

use seqloom_format::bam::{Reference, reg2bin};
use seqloom_format::bgzf::{BlockDecompressor, VirtualOffset, parse_block_header};
use seqloom_io::spill::SpillFile;
use seqloom_runtime::memory::Ledger;

use crate::partition::store::Backing;

/// A record's body: `bases` matching bases at a 0-based place, or nowhere if it is -1.
pub(crate) fn body(name: &str, flags: u16, reference: i32, position: i32, bases: usize) -> Vec<u8> {
    let operations = u16::from(reference >= 0);
    let mut body = Vec::new();
    body.extend_from_slice(&reference.to_le_bytes());
    body.extend_from_slice(&position.to_le_bytes());
    body.extend_from_slice(&[name.len() as u8 + 1, 60]);
    let end = i64::from(position) + bases.max(1) as i64;
    body.extend_from_slice(&reg2bin(position.into(), end).to_le_bytes());
    body.extend_from_slice(&operations.to_le_bytes());
    body.extend_from_slice(&flags.to_le_bytes());
    body.extend_from_slice(&(bases as u32).to_le_bytes());
    body.extend_from_slice(&(-1i32).to_le_bytes());
    body.extend_from_slice(&(-1i32).to_le_bytes());
    body.extend_from_slice(&0i32.to_le_bytes());
    body.extend_from_slice(name.as_bytes());
    body.push(0);
    if operations > 0 {
        body.extend_from_slice(&((bases as u32) << 4).to_le_bytes());
    }
    // Not all alike, or everything would deflate to nothing.
    let noise = |i: usize| (i.wrapping_mul(0x9e37_79b9) >> 7) as u8;
    body.extend((0..bases.div_ceil(2)).map(|i| 0x11 << (noise(i) & 3)));
    body.extend((0..bases).map(|i| 20 + (noise(i + name.len()) & 15)));
    body
}

/// References with these lengths.
pub(crate) fn references(lengths: &[u32]) -> Vec<Reference> {
    let reference = |(i, &length)| Reference { name: format!("c{i}"), length };
    lengths.iter().enumerate().map(reference).collect()
}

/// A ledger of `bytes` and a nameless spill file.
pub(crate) fn backing(bytes: u64) -> Backing {
    let spill = SpillFile::create(&[std::env::temp_dir()]).unwrap();
    Backing { ledger: Ledger::new(bytes), spill }
}

/// Inflates BGZF: offset and payload of every block.
fn blocks(mut bgzf: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let (mut blocks, mut offset) = (Vec::new(), 0);
    let mut inflate = BlockDecompressor::default();
    while !bgzf.is_empty() {
        let block_bytes = parse_block_header(bgzf).unwrap().block_bytes;
        let mut payload = Vec::new();
        inflate.decompress(&bgzf[..block_bytes], &mut payload).unwrap();
        blocks.push((offset, payload));
        offset += block_bytes as u64;
        bgzf = &bgzf[block_bytes..];
    }
    blocks
}

/// The records of a BGZF stream without header, each with where it starts.
pub(crate) fn records(bgzf: &[u8]) -> Vec<(VirtualOffset, Vec<u8>)> {
    let blocks = blocks(bgzf);
    let bytes: Vec<u8> = blocks.iter().flat_map(|(_, payload)| payload).copied().collect();
    let (mut records, mut at) = (Vec::new(), 0);
    let (mut block, mut block_start) = (0, 0);
    while at < bytes.len() {
        while at >= block_start + blocks[block].1.len() {
            block_start += blocks[block].1.len();
            block += 1;
        }
        let start = VirtualOffset::new(blocks[block].0, (at - block_start) as u16).unwrap();
        let size = u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
        records.push((start, bytes[at + 4..at + 4 + size].to_vec()));
        at += 4 + size;
    }
    records
}
