//! Placements to BAM records, with HISAT2's tags.

use super::choice::{Alignment, SKIP};
use super::options::StrandTag;
use crate::engine::Read;
use crate::engine::native::fields::{
    Fixed, MATE_UNMAPPED, REVERSE, UNMAPPED, push_bases, push_number, push_qualities, push_signed,
};
use crate::engine::native::gapped::record::{Counts, push_mate_cigar, turn, write_md};
use crate::engine::native::gapped::traceback::{DELETION, MATCH};
use crate::engine::native::gapped::window::Reference;
use crate::engine::native::query::Query;

/// What a record says beside its alignment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Said<'a> {
    pub(super) flags: u16,
    pub(super) mapping_quality: u8,
    pub(super) second: Option<i32>,
    /// Placements that are reported.
    pub(super) placements: u32,
    /// Whether the transcript is on the reverse strand.
    pub(super) is_transcript_reverse: Option<bool>,
    pub(super) strand_tag: StrandTag,
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
    /// What HISAT2's YT says.
    pub(super) kind: &'static [u8; 2],
}

impl OfMate<'_> {
    /// Of a single read.
    pub(super) const NONE: OfMate<'static> =
        OfMate { flags: 0, placement: None, template_length: 0, score: None, kind: b"UU" };

    /// Its sequence and position there.
    fn place(&self) -> Option<[i32; 2]> {
        self.placement.map(|(alignment, ops)| alignment.spot(ops))
    }

    /// MC, YS and YT.
    fn push_tags(&self, body: &mut Vec<u8>) {
        if let Some((alignment, ops)) = self.placement {
            push_mate_cigar(ops, alignment.stretch.is_reverse, body);
        }
        if let Some(score) = self.score {
            push_signed(b"YS", score, body);
        }
        body.extend_from_slice(b"YTZ");
        body.extend_from_slice(self.kind);
        body.push(0);
    }
}

/// Bases of the reference from the first to the last of an alignment.
pub(super) fn span(ops: &[u32]) -> u32 {
    let of = |op: &u32| match op & 15 {
        MATCH | DELETION | SKIP => op >> 4,
        _ => 0,
    };
    ops.iter().map(of).sum()
}

impl Alignment {
    /// The introns, in places of `T`.
    pub(super) fn introns(&self, ops: &[u32]) -> impl Iterator<Item = [i64; 2]> {
        let mut place = self.place;
        let ends = move |op: &u32| {
            let left = place;
            place += i64::from(span(std::slice::from_ref(op)));
            (op & 15 == SKIP).then_some([left, place])
        };
        ops.iter().filter_map(ends)
    }

    /// The same on the forward strand, of a genome of so many bases.
    pub(super) fn forward(&self, [from, end]: [i64; 2], bases: u64) -> [i64; 2] {
        let both = 2 * bases as i64;
        if self.stretch.is_reverse { [both - end, both - from] } else { [from, end] }
    }

    /// The sequence, and the position there.
    pub(super) fn spot(&self, ops: &[u32]) -> [i32; 2] {
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
    part: Vec<u8>,
    turned: Vec<u8>,
    ops: Vec<u32>,
    md: Vec<u8>,
}

impl Work {
    /// The record of a read without a placement.
    pub(super) fn unmapped(&mut self, read: &Read<'_>, mate: OfMate<'_>) -> &[u8] {
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
        mate.push_tags(body);
        body
    }

    /// The record of a placement with these operations, in the order of the read.
    pub(super) fn placed(
        &mut self,
        (read, query): (&Read<'_>, &Query),
        reference: &Reference<'_>,
        (alignment, ops): (&Alignment, &[u32]),
        said: Said<'_>,
    ) -> &[u8] {
        let is_reverse = alignment.stretch.is_reverse;
        let counts = self.compare(query, reference, alignment, ops);
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
            push_signed(b"ZS", second, body);
        }
        counts.push_tags(&self.md, body);
        mate.push_tags(body);
        if let Some(is_transcript_reverse) = said.is_transcript_reverse {
            let (tag, is_minus) = match said.strand_tag {
                StrandTag::Genome => (b"XSA", is_transcript_reverse),
                StrandTag::Read => (b"TSA", is_transcript_reverse != is_reverse),
            };
            body.extend_from_slice(tag);
            body.push(if is_minus { b'-' } else { b'+' });
        }
        push_number(b"NH", said.placements, body);
        body
    }

    /// Compares a read with the reference, both as on the forward strand: MD and the counts.
    fn compare(
        &mut self,
        query: &Query,
        reference: &Reference<'_>,
        alignment: &Alignment,
        ops: &[u32],
    ) -> Counts {
        let is_reverse = alignment.stretch.is_reverse;
        let mut place = alignment.place;
        self.codes.clear();
        for op in ops {
            let bases = (op >> 4) as usize;
            match op & 15 {
                MATCH | DELETION => {
                    reference.codes(alignment.stretch, place, bases, &mut self.part);
                    self.codes.extend_from_slice(&self.part);
                    place += bases as i64;
                }
                SKIP => place += bases as i64,
                _ => (),
            }
        }
        self.ops.clear();
        self.ops.extend(ops);
        self.turned.clear();
        self.turned.extend(query.codes());
        if is_reverse {
            self.ops.reverse();
            turn(&mut self.turned);
            turn(&mut self.codes);
        }
        let without_introns = self.ops.iter().copied().filter(|op| op & 15 != SKIP);
        write_md(without_introns, &self.turned, &self.codes, &mut self.md)
    }
}
