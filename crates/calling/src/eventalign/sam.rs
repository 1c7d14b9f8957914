//! A read's events along the reference as a line of SAM, as `nanopolish eventalign --sam` has it.
//!
//! What is aligned is the read's events in place of its bases: a match is an event on the base
//! after the one of the last event, an insertion one more event on the same base, a deletion bases
//! without an event. Events before the first are clipped (on the reverse strand, where events run
//! backwards, that is as many as its number says, too); those after the last one are left out.
//! There are no bases, and the tag `ES` says which way the numbers of events run.

use crate::aligned_read::AlignedRead;

use super::EventRow;
use super::decimal::push_integer;

/// Suffix of the read's name: its strand in the pore, of which there is one only.
const SUFFIX: &[u8] = b".template";

/// Longest read name that fits: SAM has 254 letters.
pub(crate) const MAX_NAME_BYTES: usize = 254 - SUFFIX.len();

/// Appends the line of a read; nothing if it has no rows. `mapping_quality` is its record's.
pub(crate) fn push_sam(
    read: &AlignedRead<'_>,
    mapping_quality: u8,
    rows: &[EventRow],
    out: &mut Vec<u8>,
) {
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else { return };
    out.extend_from_slice(read.name);
    out.extend_from_slice(SUFFIX);
    out.push(b'\t');
    push_integer(out, if read.is_reverse { 16 } else { 0 });
    out.push(b'\t');
    out.extend_from_slice(read.contig);
    out.push(b'\t');
    push_integer(out, read.start + u64::from(first.offset) + 1);
    out.push(b'\t');
    push_integer(out, u64::from(mapping_quality));
    out.push(b'\t');
    push_cigar(rows, first.event, out);
    out.extend_from_slice(b"\t*\t0\t0\t*\t*\tES:i:");
    out.extend_from_slice(if first.event < last.event { b"1\n" } else { b"-1\n" });
}

/// Appends the CIGAR of rows, the first of which has the event of number `clipped`.
fn push_cigar(rows: &[EventRow], clipped: u32, out: &mut Vec<u8>) {
    let mut push = |operation: u8, length: u32| {
        push_integer(out, u64::from(length));
        out.push(operation);
    };
    if clipped > 0 {
        push(b'S', clipped);
    }
    let (mut operation, mut length) = (b'M', 1);
    for pair in rows.windows(2) {
        let step = pair[1].offset.saturating_sub(pair[0].offset);
        let next = if step == 0 { b'I' } else { b'M' };
        if step > 1 {
            push(operation, length);
            push(b'D', step - 1);
            (operation, length) = (b'M', 1);
        } else if next == operation {
            length += 1;
        } else {
            push(operation, length);
            (operation, length) = (next, 1);
        }
    }
    push(operation, length);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_aligned_in_place_of_bases() {
        let t = |is_reverse, rows: &[(u32, u32)], expected: &str| {
            let read = AlignedRead {
                name: b"r",
                contig: b"c",
                start: 100,
                is_reverse,
                sequence: b"",
                reference: b"",
                pairs: &[],
            };
            let row = |&(offset, event)| EventRow { offset, event, rank: 0, is_bad: false };
            let rows: Vec<EventRow> = rows.iter().map(row).collect();
            let mut out = Vec::new();
            push_sam(&read, 60, &rows, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        };
        t(false, &[], "");
        t(false, &[(0, 0), (1, 1)], "r.template\t0\tc\t101\t60\t2M\t*\t0\t0\t*\t*\tES:i:1\n");
        // As nanopolish: where there is one row, the last is not after the first.
        t(false, &[(4, 3)], "r.template\t0\tc\t105\t60\t3S1M\t*\t0\t0\t*\t*\tES:i:-1\n");
        let rows = [(2, 9), (2, 8), (3, 7), (3, 6), (3, 5), (6, 4), (7, 3), (9, 2), (9, 1)];
        let cigar = "9S1M1I1M2I2D2M1D1M1I";
        t(true, &rows, &format!("r.template\t16\tc\t103\t60\t{cigar}\t*\t0\t0\t*\t*\tES:i:-1\n"));
    }
}
