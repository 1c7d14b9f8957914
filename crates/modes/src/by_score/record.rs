//! Placements to BAM records, with the tags of Bowtie 2 and HISAT2.

use super::alignment::{CLIP, DELETION, INSERTION, MATCH, Placement, SKIP, span};
use super::mates::OfMate;
use crate::fields::{
    Fixed, MATE_UNMAPPED, REVERSE, UNMAPPED, push_decimal, push_number, push_signed,
};
use crate::query::{Query, UNKNOWN};
use crate::reference::Reference;
use seqloom_align::engine::Read;
use seqloom_align::{push_bases, push_qualities};

/// A placement, and what a record says besides it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Said<'a> {
    pub(super) placement: Placement<'a>,
    pub(super) flags: u16,
    pub(super) mapping_quality: u8,
    /// A score elsewhere, and its tag.
    pub(super) second: Option<i32>,
    pub(super) second_tag: &'static [u8; 2],
    pub(super) mate: OfMate<'a>,
}

/// MC, of operations in the order of the read.
pub(super) fn push_mate_cigar(ops: &[u32], is_reverse: bool, body: &mut Vec<u8>) {
    body.extend_from_slice(b"MCZ");
    let mut push = |op: &u32| {
        push_decimal(op >> 4, body);
        body.push(b"MIDNSHP=X"[(op & 15) as usize]);
    };
    if is_reverse {
        ops.iter().rev().for_each(&mut push);
    } else {
        ops.iter().for_each(&mut push);
    }
    body.push(0);
}

/// Working memory.
#[derive(Debug, Default)]
pub(crate) struct Records {
    body: Vec<u8>,
    codes: Vec<u8>,
    turned: Vec<u8>,
    ops: Vec<u32>,
    md: Vec<u8>,
}

/// What is counted of an alignment.
#[derive(Debug, Default)]
struct Counts {
    mismatches: u32,
    gaps: u32,
    gap_bases: u32,
    unknown: u32,
}

impl Counts {
    /// XN, XM, XO, XG, NM, MD.
    fn push_tags(&self, md: &[u8], body: &mut Vec<u8>) {
        push_number(b"XN", self.unknown, body);
        push_number(b"XM", self.mismatches, body);
        push_number(b"XO", self.gaps, body);
        push_number(b"XG", self.gap_bases, body);
        push_number(b"NM", self.mismatches + self.gap_bases, body);
        body.extend_from_slice(b"MDZ");
        body.extend_from_slice(md);
        body.push(0);
    }
}

/// The other strand of bases.
fn turn(codes: &mut [u8]) {
    codes.reverse();
    codes.iter_mut().filter(|code| **code < UNKNOWN).for_each(|code| *code = 3 - *code);
}

const LETTERS: &[u8] = b"ACGTN";

impl Records {
    /// The record of a read without a placement, with `tags` before what is said of its mate;
    /// it is where that does.
    pub(crate) fn unmapped(&mut self, read: &Read<'_>, tags: &[u8], mate: OfMate<'_>) -> &[u8] {
        let fixed = Fixed {
            flags: UNMAPPED | mate.flags,
            place: mate.spot(),
            mate: mate.spot(),
            template_length: 0,
            mapping_quality: 0,
            operations: 0,
            reference_bases: 1,
        };
        let body = &mut self.body;
        fixed.begin(read, body);
        push_bases(read.bases, false, body);
        push_qualities(read, false, body);
        body.extend_from_slice(tags);
        mate.push_tags(body);
        body
    }

    /// The record of a placement; a mode may have more tags to put after it.
    pub(super) fn placed(
        &mut self,
        (read, query): (&Read<'_>, &Query),
        reference: &Reference<'_>,
        said: &Said<'_>,
    ) -> &mut Vec<u8> {
        let Said { placement, ref mate, .. } = *said;
        let counts = self.compare(query, reference, placement);
        let own = placement.spot();
        let is_lonely = mate.flags & MATE_UNMAPPED != 0;
        let fixed = Fixed {
            flags: said.flags | mate.flags | if own.is_reverse { REVERSE } else { 0 },
            place: Some(own),
            mate: if is_lonely { Some(own) } else { mate.spot() },
            template_length: mate.template_length,
            mapping_quality: said.mapping_quality,
            operations: placement.ops.len() as u32,
            reference_bases: span(placement.ops),
        };
        let body = &mut self.body;
        fixed.begin(read, body);
        self.ops.iter().for_each(|op| body.extend_from_slice(&op.to_le_bytes()));
        push_bases(read.bases, own.is_reverse, body);
        push_qualities(read, own.is_reverse, body);
        push_signed(b"AS", placement.score, body);
        if let Some(second) = said.second {
            push_signed(said.second_tag, second, body);
        }
        counts.push_tags(&self.md, body);
        mate.push_tags(body);
        body
    }

    /// Compares a read with the reference, both as on the forward strand: MD and the counts.
    fn compare(
        &mut self,
        query: &Query,
        reference: &Reference<'_>,
        placement: Placement<'_>,
    ) -> Counts {
        let mut place = placement.place;
        self.codes.clear();
        for part in placement.ops.split_inclusive(|op| op & 15 == SKIP) {
            let skipped = part.last().filter(|op| *op & 15 == SKIP).map_or(0, |op| op >> 4);
            let bases = span(part) - skipped;
            reference.add_codes(placement.segment, place, bases as usize, &mut self.codes);
            place += i64::from(span(part));
        }
        self.ops.clear();
        self.ops.extend(placement.ops);
        self.turned.clear();
        self.turned.extend(query.codes());
        if placement.segment.is_reverse {
            self.ops.reverse();
            turn(&mut self.turned);
            turn(&mut self.codes);
        }
        write_md(&self.ops, &self.turned, &self.codes, &mut self.md)
    }
}

/// MD (SAM optional fields 1.1) and the counts, of a read and what it is placed on.
fn write_md(ops: &[u32], read: &[u8], reference: &[u8], md: &mut Vec<u8>) -> Counts {
    md.clear();
    let mut counts = Counts::default();
    let (mut at, mut place, mut matching) = (0, 0, 0);
    let letter = |code: u8| LETTERS[usize::from(code.min(UNKNOWN))];
    for op in ops {
        let count = (op >> 4) as usize;
        match op & 15 {
            MATCH => {
                let pairs = read[at..at + count].iter().zip(&reference[place..place + count]);
                for (&base, &under) in pairs {
                    counts.unknown += u32::from(under == UNKNOWN);
                    if base == under && base != UNKNOWN {
                        matching += 1;
                    } else {
                        counts.mismatches += 1;
                        push_decimal(matching, md);
                        md.push(letter(under));
                        matching = 0;
                    }
                }
                at += count;
                place += count;
            }
            DELETION => {
                push_decimal(matching, md);
                matching = 0;
                md.push(b'^');
                md.extend(reference[place..place + count].iter().map(|&code| letter(code)));
                counts.gaps += 1;
                counts.gap_bases += count as u32;
                place += count;
            }
            SKIP => (),
            kind => {
                debug_assert!(kind == INSERTION || kind == CLIP);
                if kind == INSERTION {
                    counts.gaps += 1;
                    counts.gap_bases += count as u32;
                }
                at += count;
            }
        }
    }
    push_decimal(matching, md);
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn md_and_counts_are_those_of_the_specification() {
        let codes = |text: &str| -> Vec<u8> {
            text.bytes().map(|it| LETTERS.iter().position(|&l| l == it).unwrap() as u8).collect()
        };
        let t = |ops: &[(u32, u32)], read: &str, reference: &str, md: &str, expected: [u32; 4]| {
            let ops: Vec<u32> = ops.iter().map(|(count, kind)| count << 4 | kind).collect();
            let mut text = Vec::new();
            let counts = write_md(&ops, &codes(read), &codes(reference), &mut text);
            assert_eq!(String::from_utf8_lossy(&text), md);
            let Counts { mismatches, gaps, gap_bases, unknown } = counts;
            assert_eq!([mismatches, gaps, gap_bases, unknown], expected);
        };
        t(&[(4, MATCH)], "ACGT", "ACGT", "4", [0; 4]);
        t(&[(4, MATCH)], "ANGT", "ACNT", "1C0N1", [2, 0, 0, 1]);
        t(&[(2, MATCH), (2, DELETION), (2, MATCH)], "ACGT", "ACTTGA", "2^TT1A0", [1, 1, 2, 0]);
        t(&[(1, CLIP), (2, MATCH), (1, INSERTION), (1, MATCH)], "GACGT", "ACT", "3", [0, 1, 1, 0]);
    }
}
