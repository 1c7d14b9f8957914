//! Placements to BAM records, with Bowtie 2's tags.

use super::candidates::ScoredRead;
use super::choice::Alignment;
use super::traceback::{CLIP, DELETION, INSERTION, MATCH};
use super::window::Reference;
use crate::engine::Read;
use crate::engine::native::fields::{
    Fixed, REVERSE, UNMAPPED, push_bases, push_decimal, push_number, push_qualities, push_signed,
};
use crate::engine::native::query::UNKNOWN;

/// Why a read is not searched for: Bowtie 2's YF.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Filtered {
    /// Too many bases that are not A, C, G or T.
    Unknown,
    /// One base or none.
    Length,
    /// No alignment can have the least score.
    Score,
}

impl Filtered {
    fn tag(self) -> &'static [u8; 6] {
        match self {
            Self::Unknown => b"YFZNS\0",
            Self::Length => b"YFZLN\0",
            Self::Score => b"YFZSC\0",
        }
    }
}

/// What a record says beside its alignment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Said {
    pub(super) flags: u16,
    pub(super) mapping_quality: u8,
    pub(super) second: Option<i32>,
}

/// Working memory.
#[derive(Debug, Default)]
pub(super) struct Work {
    body: Vec<u8>,
    codes: Vec<u8>,
    turned: Vec<u8>,
    ops: Vec<u32>,
    md: Vec<u8>,
}

/// What Bowtie 2 counts of an alignment.
#[derive(Debug, Default)]
struct Counts {
    mismatches: u32,
    gaps: u32,
    gap_bases: u32,
    unknown: u32,
}

const LETTERS: &[u8] = b"ACGTN";

impl Work {
    /// The record of a read without a placement.
    pub(super) fn unmapped(&mut self, read: &Read<'_>, filtered: Option<Filtered>) -> &[u8] {
        let fixed = Fixed {
            flags: UNMAPPED,
            place: None,
            mate: None,
            template_length: 0,
            mapping_quality: 0,
            operations: 0,
            reference_bases: 0,
        };
        let body = &mut self.body;
        body.clear();
        body.extend_from_slice(&fixed.bytes(read));
        body.extend_from_slice(read.name);
        body.push(0);
        push_bases(read.bases, false, body);
        push_qualities(read, false, body);
        if let Some(filtered) = filtered {
            body.extend_from_slice(filtered.tag());
        }
        body.extend_from_slice(b"YTZUU\0");
        body
    }

    /// The record of a placement with these operations, in the order of the read.
    pub(super) fn placed(
        &mut self,
        (read, scored): (&Read<'_>, ScoredRead<'_>),
        reference: &Reference<'_>,
        (alignment, ops): (&Alignment, &[u32]),
        said: Said,
    ) -> &[u8] {
        let is_reverse = alignment.stretch.is_reverse;
        let span = |op: &u32| if op & 15 == MATCH || op & 15 == DELETION { op >> 4 } else { 0 };
        let bases: u32 = ops.iter().map(span).sum();
        let counts = self.compare(scored, reference, alignment, ops);
        let position = if is_reverse {
            alignment.stretch.end - alignment.place - i64::from(bases)
        } else {
            alignment.place - alignment.stretch.start
        };
        let fixed = Fixed {
            flags: said.flags | if is_reverse { REVERSE } else { 0 },
            place: Some([alignment.stretch.sequence as i32, position as i32]),
            mate: None,
            template_length: 0,
            mapping_quality: said.mapping_quality,
            operations: ops.len() as u32,
            reference_bases: bases,
        };
        let body = &mut self.body;
        body.clear();
        body.extend_from_slice(&fixed.bytes(read));
        body.extend_from_slice(read.name);
        body.push(0);
        self.ops.iter().for_each(|op| body.extend_from_slice(&op.to_le_bytes()));
        push_bases(read.bases, is_reverse, body);
        push_qualities(read, is_reverse, body);
        push_signed(b"AS", alignment.score, body);
        if let Some(second) = said.second {
            push_signed(b"XS", second, body);
        }
        push_number(b"XN", counts.unknown, body);
        push_number(b"XM", counts.mismatches, body);
        push_number(b"XO", counts.gaps, body);
        push_number(b"XG", counts.gap_bases, body);
        push_number(b"NM", counts.mismatches + counts.gap_bases, body);
        body.extend_from_slice(b"MDZ");
        body.extend_from_slice(&self.md);
        body.extend_from_slice(b"\0YTZUU\0");
        body
    }

    /// Compares a read with the reference, both as on the forward strand: MD and the counts.
    fn compare(
        &mut self,
        scored: ScoredRead<'_>,
        reference: &Reference<'_>,
        alignment: &Alignment,
        ops: &[u32],
    ) -> Counts {
        let is_reverse = alignment.stretch.is_reverse;
        let span = |op: &u32| if op & 15 == MATCH || op & 15 == DELETION { op >> 4 } else { 0 };
        let bases = ops.iter().map(span).sum::<u32>() as usize;
        reference.codes(alignment.stretch, alignment.place, bases, &mut self.codes);
        self.ops.clear();
        self.ops.extend(ops);
        self.turned.clear();
        let own = scored.query.codes();
        if is_reverse {
            let complement = |code: &u8| if *code < UNKNOWN { 3 - code } else { *code };
            self.ops.reverse();
            self.turned.extend(own.iter().rev().map(complement));
            self.codes.reverse();
            self.codes.iter_mut().for_each(|code| *code = complement(code));
        } else {
            self.turned.extend(own);
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
