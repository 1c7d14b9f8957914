//! What fuzz targets and property tests do with bytes.

use std::ops::Range;

use seqloom_cram::read::{
    ContainerHead, Decoder, SequenceBases, Sources, check_definition, decompress, header_text,
};

/// What a container may take: little, so that what is found is no lack of memory.
const MOST_BYTES: usize = 16 << 20;

struct Bases;

const BASES: &[u8] = b"ACGTTGCAACGTNACGTTTGCAAGGCCTTAACCGGTTACGATCGATTGCATGCATGCAAGCTTAGC";

impl SequenceBases for Bases {
    fn length(&self, index: usize) -> Option<usize> {
        (index < 2).then_some(BASES.len())
    }

    fn read(&self, _: usize, places: Range<usize>, out: &mut Vec<u8>) -> Result<(), String> {
        out.clear();
        out.extend_from_slice(&BASES[places]);
        Ok(())
    }

    fn is_known(&self, index: usize) -> Result<bool, String> {
        Ok(index < 2)
    }
}

/// A container: header and blocks.
pub(crate) fn container(data: &[u8]) {
    let _ = check_definition(data);
    let Ok(Some(head)) = ContainerHead::parse(data) else { return };
    let body = &data[head.head_bytes..];
    let body = &body[..body.len().min(head.body_bytes)];
    let _ = header_text(&head, body, MOST_BYTES);
    let sources = Sources {
        sequences: &Bases,
        read_groups: &[b"a".to_vec()],
        sequence_count: 3,
        name_prefix: b"x",
    };
    let mut out = Vec::new();
    let _ = Decoder::new(MOST_BYTES).decode(&head, body, sources, &mut out);
    assert!(out.len() <= 2 * MOST_BYTES);
}

/// A block of a method: two bytes of its raw size, then its bytes.
pub(crate) fn block(method: u8, data: &[u8]) {
    let Some((&size, bytes)) = data.split_first_chunk::<2>() else { return };
    let raw_bytes = usize::from(u16::from_le_bytes(size));
    if let Ok(out) = decompress(method, bytes, raw_bytes) {
        assert_eq!(out.len(), raw_bytes);
    }
}
