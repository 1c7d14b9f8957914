//! Blocks: made, found, inflated; what is no block.

use super::*;
use proptest::prelude::*;

fn compress(level: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let size = BlockCompressor::new(level).unwrap().compress(payload, &mut out).unwrap();
    assert_eq!(size, out.len());
    out
}

fn decompress(block: &[u8]) -> Result<Vec<u8>, BgzfError> {
    let mut out = vec![7];
    let result = BlockDecompressor::new().decompress(block, &mut out);
    assert_eq!(out[0], 7);
    if result.is_err() {
        assert_eq!(out.len(), 1, "an error leaves the output as it was");
    }
    result.map(|size| {
        assert_eq!(size, out.len() - 1);
        out.split_off(1)
    })
}

/// Bytes that deflate cannot shrink.
fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    (0..len)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u8
        })
        .collect()
}

#[test]
fn empty_payload_is_the_eof_block() {
    for level in 0..=12 {
        assert_eq!(compress(level, b""), EOF_BLOCK);
    }
    assert_eq!(decompress(&EOF_BLOCK).unwrap(), b"");
}

#[test]
fn noise_is_stored_and_fits_at_every_level() {
    let payload = noise(MAX_PAYLOAD_BYTES);
    for level in 0..=12 {
        let block = compress(level, &payload);
        assert!(block.len() <= MAX_PAYLOAD_BYTES + 31, "level {level}: {}", block.len());
        assert_eq!(decompress(&block).unwrap(), payload, "level {level}");
    }
}

#[test]
fn limits_are_refused() {
    let mut out = vec![1, 2];
    let error = BlockCompressor::new(1).unwrap().compress(&[0; 0xff01], &mut out);
    assert_eq!(error, Err(BgzfError::PayloadTooLarge(0xff01)));
    assert_eq!(out, [1, 2]);
    assert_eq!(BlockCompressor::new(13).unwrap_err(), BgzfError::BadLevel(13));
}

#[test]
fn every_truncation_is_seen() {
    let block = compress(6, b"ACGTACGTACGTACGT");
    for len in 0..block.len() {
        let error = decompress(&block[..len]).unwrap_err();
        assert!(matches!(error, BgzfError::Truncated { .. }), "{len}: {error}");
    }
    let longer = [&block[..], &[0]].concat();
    assert!(matches!(decompress(&longer), Err(BgzfError::TrailingBytes { .. })));
}

#[test]
fn other_subfields_are_stepped_over() {
    let plain = compress(6, b"payload");
    let extra = b"XX\x03\x00abcBC\x02\x00\0\0ZZ\0\0";
    let mut block = plain[..10].to_vec();
    block.extend_from_slice(&(extra.len() as u16).to_le_bytes());
    block.extend_from_slice(extra);
    block.extend_from_slice(&plain[HEADER_BYTES..]);
    let size = (block.len() - 1) as u16;
    block[12 + 11..12 + 13].copy_from_slice(&size.to_le_bytes());
    let header = parse_block_header(&block).unwrap();
    assert_eq!(header, BlockHeader { block_bytes: block.len(), header_bytes: 12 + extra.len() });
    assert_eq!(decompress(&block).unwrap(), b"payload");
}

#[test]
fn malformed_headers() {
    let good = compress(1, b"payload");
    let changed = |offset: usize, value: u8| {
        let mut block = good.clone();
        block[offset] = value;
        decompress(&block).unwrap_err()
    };
    assert_eq!(changed(0, 0), BgzfError::BadMagic);
    assert_eq!(changed(2, 7), BgzfError::BadMagic);
    assert_eq!(changed(3, 0), BgzfError::BadMagic);
    assert_eq!(changed(12, b'X'), BgzfError::NoBlockSize);
    assert_eq!(changed(14, 9), BgzfError::BadExtraField);
    assert_eq!(changed(16, 3), BgzfError::BadExtraField);
    let footer = good.len() - FOOTER_BYTES;
    assert!(matches!(changed(footer, !good[footer]), BgzfError::BadChecksum { .. }));
    assert_eq!(changed(footer + 4, 8), BgzfError::BadDeflate);
    assert_eq!(changed(footer + 4, 6), BgzfError::BadDeflate);
    assert_eq!(changed(footer + 7, 1), BgzfError::InflatedSizeTooLarge(0x0100_0007));
    assert_eq!(parse_block_header(b"BAM\x01"), Err(BgzfError::BadMagic));
}

#[test]
fn virtual_offsets() {
    let offset = VirtualOffset::new(0x1234_5678_9abc, 0xfedc).unwrap();
    assert_eq!(offset.raw(), 0x1234_5678_9abc_fedc);
    assert_eq!((offset.block_offset(), offset.offset_in_block()), (0x1234_5678_9abc, 0xfedc));
    assert_eq!(VirtualOffset::new(1 << 48, 0), None);
    assert_eq!(offset.rebased(u64::MAX), None);
    assert_eq!(offset.rebased(1).unwrap().raw(), 0x1234_5678_9abd_fedc);
}

proptest! {
    #[test]
    fn decompress_inverts_compress(
        payload in prop::collection::vec(0_u8..8, 0..4000), level in 0_u8..=12,
    ) {
        let block = compress(level, &payload);
        prop_assert_eq!(&block, &compress(level, &payload));
        prop_assert_eq!(decompress(&block).unwrap(), payload);
    }

    #[test]
    fn hostile_bytes_never_panic(
        payload in prop::collection::vec(any::<u8>(), 0..300),
        changes in prop::collection::vec((any::<usize>(), any::<u8>()), 0..4),
    ) {
        let mut block = compress(6, &payload);
        for (offset, value) in changes {
            let offset = offset % block.len();
            block[offset] = value;
        }
        let _ = decompress(&block);
        let _ = decompress(&payload);
    }
}
