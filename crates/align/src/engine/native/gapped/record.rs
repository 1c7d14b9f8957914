//! Placements to BAM records, with Bowtie 2's tags.

use super::candidates::ScoredRead;
use super::choice::Alignment;
use super::traceback::{CLIP, DELETION, INSERTION, MATCH};
use super::window::Reference;
use crate::engine::Read;
use crate::engine::native::fields::{
    Fixed, MATE_UNMAPPED, REVERSE, UNMAPPED, push_bases, push_decimal, push_number, push_qualities,
    push_signed,
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
pub(super) struct Said<'a> {
    pub(super) flags: u16,
    pub(super) mapping_quality: u8,
    pub(super) second: Option<i32>,
    pub(super) mate: OfMate<'a>,
}

/// What a record says of the mate, if there is one.
#[derive(Debug, Clone, Copy)]
pub(super) struct OfMate<'a> {
    /// Those that are about mates.
    pub(super) flags: u16,
    /// Its placement and the operations of that.
    pub(super) placement: Option<(&'a Alignment, &'a [u32])>,
    pub(super) template_length: i32,
    /// Its score, where both are placed as a pair.
    pub(super) score: Option<i32>,
    /// The score of another pair.
    pub(super) second_pair: Option<i32>,
    /// What Bowtie 2's YT says.
    pub(super) kind: &'static [u8; 2],
}

impl OfMate<'_> {
    /// Of a single read.
    pub(super) const NONE: OfMate<'static> = OfMate {
        flags: 0,
        placement: None,
        template_length: 0,
        score: None,
        second_pair: None,
        kind: b"UU",
    };

    /// Its sequence and position there.
    fn place(&self) -> Option<[i32; 2]> {
        self.placement.map(|(alignment, ops)| alignment.spot(ops))
    }

    /// MC, YS and what else is said of the pair, YT.
    fn push_tags(&self, body: &mut Vec<u8>) {
        if let Some((alignment, ops)) = self.placement {
            push_mate_cigar(ops, alignment.stretch.is_reverse, body);
        }
        if let Some(score) = self.score {
            push_signed(b"YS", score, body);
        }
        if let Some(score) = self.second_pair {
            push_signed(b"ZP", score, body);
        }
        body.extend_from_slice(b"YTZ");
        body.extend_from_slice(self.kind);
        body.push(0);
    }
}

/// MC, of operations in the order of the read.
pub(in crate::engine::native) fn push_mate_cigar(
    ops: &[u32],
    is_reverse: bool,
    body: &mut Vec<u8>,
) {
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

/// Bases of the reference under an alignment.
pub(in crate::engine::native) fn span(ops: &[u32]) -> u32 {
    let of = |op: &u32| if op & 15 == MATCH || op & 15 == DELETION { op >> 4 } else { 0 };
    ops.iter().map(of).sum()
}

impl Alignment {
    /// The sequence, and the position there.
    fn spot(&self, ops: &[u32]) -> [i32; 2] {
        let position = if self.stretch.is_reverse {
            self.stretch.end - self.place - i64::from(span(ops))
        } else {
            self.place - self.stretch.start
        };
        [self.stretch.sequence as i32, position as i32]
    }
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
pub(in crate::engine::native) struct Counts {
    pub(in crate::engine::native) mismatches: u32,
    pub(in crate::engine::native) gaps: u32,
    pub(in crate::engine::native) gap_bases: u32,
    pub(in crate::engine::native) unknown: u32,
}

impl Counts {
    /// XN, XM, XO, XG, NM, MD.
    pub(in crate::engine::native) fn push_tags(&self, md: &[u8], body: &mut Vec<u8>) {
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
pub(in crate::engine::native) fn turn(codes: &mut [u8]) {
    codes.reverse();
    codes.iter_mut().filter(|code| **code < UNKNOWN).for_each(|code| *code = 3 - *code);
}

const LETTERS: &[u8] = b"ACGTN";

impl Work {
    /// The record of a read without a placement; it stands where its mate does.
    pub(super) fn unmapped(
        &mut self,
        read: &Read<'_>,
        filtered: Option<Filtered>,
        mate: OfMate<'_>,
    ) -> &[u8] {
        let fixed = Fixed {
            flags: UNMAPPED | mate.flags,
            place: mate.place(),
            mate: mate.place(),
            template_length: 0,
            mapping_quality: 0,
            operations: 0,
            reference_bases: 1,
        };
        let body = &mut self.body;
        fixed.begin(read, body);
        push_bases(read.bases, false, body);
        push_qualities(read, false, body);
        if let Some(filtered) = filtered {
            body.extend_from_slice(filtered.tag());
        }
        mate.push_tags(body);
        body
    }

    /// The record of a placement with these operations, in the order of the read.
    pub(super) fn placed(
        &mut self,
        (read, scored): (&Read<'_>, ScoredRead<'_>),
        reference: &Reference<'_>,
        (alignment, ops): (&Alignment, &[u32]),
        said: Said<'_>,
    ) -> &[u8] {
        let is_reverse = alignment.stretch.is_reverse;
        let counts = self.compare(scored, reference, alignment, ops);
        let (own, mate) = (alignment.spot(ops), &said.mate);
        let is_lonely = mate.flags & MATE_UNMAPPED != 0;
        let fixed = Fixed {
            flags: said.flags | mate.flags | if is_reverse { REVERSE } else { 0 },
            place: Some(own),
            mate: if is_lonely { Some(own) } else { mate.place() },
            template_length: mate.template_length,
            mapping_quality: said.mapping_quality,
            operations: ops.len() as u32,
            reference_bases: span(ops),
        };
        let body = &mut self.body;
        fixed.begin(read, body);
        self.ops.iter().for_each(|op| body.extend_from_slice(&op.to_le_bytes()));
        push_bases(read.bases, is_reverse, body);
        push_qualities(read, is_reverse, body);
        push_signed(b"AS", alignment.score, body);
        if let Some(second) = said.second {
            push_signed(b"XS", second, body);
        }
        counts.push_tags(&self.md, body);
        mate.push_tags(body);
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
        let bases = span(ops) as usize;
        reference.codes(alignment.stretch, alignment.place, bases, &mut self.codes);
        self.ops.clear();
        self.ops.extend(ops);
        self.turned.clear();
        self.turned.extend(scored.query.codes());
        if is_reverse {
            self.ops.reverse();
            turn(&mut self.turned);
            turn(&mut self.codes);
        }
        write_md(self.ops.iter().copied(), &self.turned, &self.codes, &mut self.md)
    }
}

/// MD (SAM optional fields 1.1) and the counts, of a read and what it is placed on.
pub(in crate::engine::native) fn write_md(
    ops: impl Iterator<Item = u32>,
    read: &[u8],
    reference: &[u8],
    md: &mut Vec<u8>,
) -> Counts {
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
            let counts = write_md(ops.into_iter(), &codes(read), &codes(reference), &mut text);
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
