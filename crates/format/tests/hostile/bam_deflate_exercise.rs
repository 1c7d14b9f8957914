//! What the compressor of BAM records must keep, whatever the records: every block inflates to its
//! payload, and a unit's blocks depend on no other unit.

use std::cell::RefCell;

use seqloom_format::bam_deflate::{BamCompressor, Settings};
use seqloom_format::bgzf::{BlockDecompressor, MAX_PAYLOAD_BYTES};

/// The levels that have an effort of their own, one of each.
const LEVELS: [u8; 3] = [1, 2, 6];
/// Bytes of all records of a script.
const MAX_BYTES: usize = 150_000;

thread_local! {
    // For all inputs: what they keep of earlier units must not show.
    static COMPRESSORS: RefCell<Vec<BamCompressor>> = RefCell::new(
        LEVELS.map(|level| BamCompressor::new(Settings::at_level(level)).unwrap()).into(),
    );
}

/// A payload and the block it became.
#[allow(dead_code)] // what a property test does not read
pub(crate) struct Made {
    pub(crate) payload: Vec<u8>,
    pub(crate) block: Vec<u8>,
}

/// Takes the bytes as a script of records, or as they are, for one unit's payloads. The first byte
/// says which, and the level.
pub(crate) fn bam_deflate(input: &[u8]) -> Vec<Made> {
    let Some((&choice, script)) = input.split_first() else { return Vec::new() };
    let bytes = if choice & 0x80 == 0 { records(script) } else { script.to_vec() };
    let payloads = payloads(&bytes);
    COMPRESSORS.with_borrow_mut(|compressors| {
        let made = unit(&mut compressors[usize::from(choice) % LEVELS.len()], &payloads);
        assert!(made.iter().zip(&payloads).all(|(made, payload)| made.payload == *payload));
        made
    })
}

fn unit(compressor: &mut BamCompressor, payloads: &[&[u8]]) -> Vec<Made> {
    compressor.end_unit();
    let mut inflater = BlockDecompressor::new();
    let make = |payload: &&[u8]| {
        let (mut block, mut inflated) = (Vec::new(), Vec::new());
        let size = compressor.compress(payload, &mut block).unwrap();
        assert_eq!(size, block.len());
        inflater.decompress(&block, &mut inflated).unwrap();
        Made { payload: inflated, block }
    };
    payloads.iter().map(make).collect()
}

/// Cut where a record no longer fits, as far as there are records; else anywhere.
fn payloads(bytes: &[u8]) -> Vec<&[u8]> {
    let (mut payloads, mut start, mut end) = (Vec::new(), 0, 0);
    while let Some(size) = bytes.get(end..).and_then(|rest| rest.first_chunk()) {
        let next = (end + 4).saturating_add(u32::from_le_bytes(*size) as usize);
        if next > bytes.len() {
            break;
        }
        if next - start > MAX_PAYLOAD_BYTES && end > start {
            // One record may be larger than a block.
            payloads.extend(bytes[start..end].chunks(MAX_PAYLOAD_BYTES));
            start = end;
        }
        end = next;
    }
    payloads.extend(bytes[start..].chunks(MAX_PAYLOAD_BYTES));
    payloads
}

/// Records as the script says: new ones, and earlier ones with some bytes changed.
fn records(script: &[u8]) -> Vec<u8> {
    let mut script = script.iter().copied();
    let (mut records, mut starts): (Vec<u8>, Vec<usize>) = (Vec::new(), Vec::new());
    while let Some(kind) = script.next() {
        let mut next = || script.next().unwrap_or(7);
        let mut record = match starts.len() {
            count if count > 0 && kind & 3 != 0 => {
                let start = starts[count - 1 - usize::from(next()) % count];
                let size = u32::from_le_bytes(*records[start..].first_chunk().unwrap());
                records[start..start + 4 + size as usize].to_vec()
            }
            _ => new_record(&mut next),
        };
        // Sizes and lengths are changed, too, where a change comes to be there: such a block is not
        // whole records. A record's size stays that of its bytes for one in two.
        let size = (record.len() as u32 - 4).to_le_bytes();
        for _ in 0..kind >> 4 & 7 {
            let place = (usize::from(next()) | usize::from(next()) << 8) % record.len();
            record[place] = next();
        }
        if kind & 8 == 0 {
            record[..4].copy_from_slice(&size);
        }
        for _ in 0..=usize::from(kind >> 7) * 40 {
            if records.len() + record.len() > MAX_BYTES {
                return records;
            }
            starts.push(records.len());
            records.extend_from_slice(&record);
        }
        if kind & 8 != 0 && record[..4] != size {
            return records;
        }
    }
    records
}

fn new_record(next: &mut impl FnMut() -> u8) -> Vec<u8> {
    let (name, operations) = (usize::from(next()), usize::from(next()) % 6);
    let (bases, tags) = (usize::from(next()) * (1 + usize::from(next()) % 8), usize::from(next()));
    let size = 32 + name + 4 * operations + bases.div_ceil(2) + bases + tags;
    let mut record = (size as u32).to_le_bytes().to_vec();
    let values = 1 + next() % 64;
    // Long fields from few bytes of the script: each follows from the ones before.
    let mut state = u32::from(next()) | u32::from(next()) << 8;
    record.extend((0..size).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8 % values
    }));
    record[4..12].fill(0);
    record[8] = next();
    record[12] = name as u8;
    record[16..18].copy_from_slice(&[operations as u8, 0]);
    record[20..24].copy_from_slice(&(bases as u32).to_le_bytes());
    let start = record.len() - tags;
    for (at, byte) in record[start..].iter_mut().enumerate().filter(|(at, _)| at % 5 == 2) {
        *byte = b"AcCsSiIfZHB"[(at + usize::from(*byte)) % 11];
    }
    if let entries @ 1..=40 = next() {
        add_list(&mut record, start, entries, next);
    }
    record
}

/// Puts a list of entries, most of which begin alike, before the other tags.
fn add_list(record: &mut Vec<u8>, tags: usize, entries: u8, next: &mut impl FnMut() -> u8) {
    let rest = record.split_off(tags);
    record.extend_from_slice(b"XAZ");
    for _ in 0..entries {
        let (beginning, digits) = (next(), next());
        record.extend_from_slice(format!("chr{},-1{digits:09},151M,0;", beginning % 3).as_bytes());
    }
    record.push(0);
    record.extend(rest);
    let size = record.len() as u32 - 4;
    record[..4].copy_from_slice(&size.to_le_bytes());
}
