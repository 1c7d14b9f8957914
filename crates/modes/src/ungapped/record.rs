//! Placements to BAM records.

use seqloom_format::bam::FIXED_BYTES;

use crate::fields::{Fixed, MATE_UNMAPPED, PROPER, REVERSE, UNMAPPED, push_decimal, push_number};
use crate::pairs::{mate_flags, template_length};
use seqloom_align::engine::Read;
use seqloom_align::search::Genome;
use seqloom_align::{UNSEARCHED, push_bases, push_qualities};

use super::locate::Placement;
use super::pairs::Hit;
use crate::query::Query;
use crate::reference::{Extent, Spot};

/// MAPQ of all placements: not known, as Bowtie has it.
const MAPPING_QUALITY: u8 = 255;

/// A record but for its sequence, qualities and tags.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    flags: u16,
    /// Where the read is placed, or, of one that is not, where its mate is.
    spot: Option<Spot>,
    mate: Option<Spot>,
    template_length: i32,
}

impl Head {
    /// Of a read without a placement.
    pub(super) fn unmapped(flags: u16) -> Self {
        Self { flags: flags | UNMAPPED, spot: None, mate: None, template_length: 0 }
    }

    /// Of mate `mate`, 0 or 1, that is not placed; the other one is at `other`.
    pub(super) fn unmapped_mate(mate: usize, other: Option<Spot>) -> Self {
        let of_other = if other.is_some() { 0 } else { MATE_UNMAPPED };
        let flags = mate_flags(mate, other.is_some_and(|it| it.is_reverse)) | of_other;
        Self { spot: other, mate: other, ..Self::unmapped(flags) }
    }

    /// Of mate `mate`, 0 or 1, where the other one is not placed: it is said to be here.
    pub(super) fn lonely_mate(mate: usize, flags: u16, spot: Spot) -> Self {
        let flags = flags | mate_flags(mate, false) | MATE_UNMAPPED;
        Self { mate: Some(spot), ..Self::single(flags, spot) }
    }

    /// Of a single read.
    pub(super) fn single(flags: u16, spot: Spot) -> Self {
        let flags = flags | if spot.is_reverse { REVERSE } else { 0 };
        Self { flags, spot: Some(spot), mate: None, template_length: 0 }
    }

    /// Of mate `mate`, 0 or 1, of a pair.
    pub(super) fn of_pair(mate: usize, flags: u16, spots: [Spot; 2], lengths: [usize; 2]) -> Self {
        let (own, other) = (spots[mate], spots[1 - mate]);
        let extent = |at: usize| {
            let Spot { sequence, position: start, is_reverse } = spots[at];
            Extent { sequence, is_reverse, start, end: start + lengths[at] as i64 }
        };
        Self {
            flags: Self::single(flags, own).flags | PROPER | mate_flags(mate, other.is_reverse),
            spot: Some(own),
            mate: Some(other),
            template_length: template_length(mate, [extent(0), extent(1)]),
        }
    }
}

/// What the tags of a placement say.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tags {
    pub(super) place: u64,
    pub(super) stratum: u8,
    /// Placements of the read that are reported.
    pub(super) reported: u32,
    /// Of a pair: which one.
    pub(super) hit: Option<Hit>,
}

impl Tags {
    /// Those of a read's only placement.
    pub(super) fn of(placement: &Placement) -> Self {
        Self { place: placement.place, stratum: placement.stratum, reported: 1, hit: None }
    }
}

impl Head {
    fn is_placed(&self) -> bool {
        self.flags & UNMAPPED == 0
    }

    /// Where the read is placed.
    fn own_spot(&self) -> Option<Spot> {
        self.spot.filter(|_| self.is_placed())
    }

    /// The fixed part of a record of `read`.
    fn bytes(&self, read: &Read<'_>) -> [u8; FIXED_BYTES] {
        let is_placed = self.is_placed();
        Fixed {
            flags: self.flags,
            place: self.spot,
            mate: self.mate,
            template_length: self.template_length,
            mapping_quality: if is_placed { MAPPING_QUALITY } else { 0 },
            operations: u32::from(is_placed),
            reference_bases: if is_placed { read.bases.len() as u32 } else { 1 },
        }
        .bytes(read)
    }
}

/// The records of a read: what they have in common is made once for each strand.
#[derive(Debug, Default)]
pub(super) struct Records {
    /// Of a record without place, a forward one, a reverse one: the last that was made.
    bodies: [Vec<u8>; 3],
    /// By the same: where tags start, 0 where there is no record yet.
    ends: [usize; 3],
}

impl Records {
    /// The records that follow are of another read.
    pub(super) fn clear(&mut self) {
        self.ends = [0; 3];
    }

    /// Begins a record of `read`: all but its tags.
    pub(super) fn begin(&mut self, read: &Read<'_>, head: Head) -> &mut Vec<u8> {
        let own = head.own_spot();
        let kind = own.map_or(0, |spot| 1 + usize::from(spot.is_reverse));
        let (body, end) = (&mut self.bodies[kind], &mut self.ends[kind]);
        body.truncate(*end);
        if *end == 0 {
            body.resize(FIXED_BYTES, 0);
            push_text(read, own, body);
            *end = body.len();
        }
        body[..FIXED_BYTES].copy_from_slice(&head.bytes(read));
        body
    }
}

/// Name, CIGAR, bases and qualities.
fn push_text(read: &Read<'_>, spot: Option<Spot>, body: &mut Vec<u8>) {
    body.extend_from_slice(read.name);
    body.push(0);
    if spot.is_some() {
        body.extend_from_slice(&((read.bases.len() as u32) << 4).to_le_bytes());
    }
    let is_reverse = spot.is_some_and(|spot| spot.is_reverse);
    push_bases(read.bases, is_reverse, body);
    push_qualities(read, is_reverse, body);
}

/// The tags of a placement: NM, MD, NH, for mates HI and MC, and Bowtie's XA, the stratum.
pub(super) fn push_tags(query: &Query, tags: &Tags, genome: Genome<'_>, body: &mut Vec<u8>) {
    let differences = query.all_differences(genome, tags.place);
    push_number(b"NM", differences.count(), body);
    body.extend_from_slice(b"MDZ");
    let is_reverse = tags.place >= genome.bases;
    let mut matching_from = 0;
    let length = query.len();
    let mut one = |at: usize| {
        // `at` counts from the read's first base, MD from the reference's.
        let code = (genome.word(tags.place + at as u64, 1) >> 62) as usize;
        let (at, code) = if is_reverse { (length - 1 - at, 3 - code) } else { (at, code) };
        push_decimal((at - matching_from) as u32, body);
        body.push(b"ACGT"[code]);
        matching_from = at + 1;
    };
    if is_reverse {
        differences.places().rev().for_each(&mut one);
    } else {
        differences.places().for_each(&mut one);
    }
    push_decimal((length - matching_from) as u32, body);
    body.push(0);
    if let Some(hit) = tags.hit {
        push_mate_cigar(hit.mate_bases, body);
    }
    push_number(b"NH", tags.reported, body);
    if let Some(hit) = tags.hit {
        push_number(b"HI", hit.number, body);
    }
    push_number(b"XA", tags.stratum.into(), body);
}

/// MC of a mate of so many bases.
fn push_mate_cigar(bases: u32, body: &mut Vec<u8>) {
    body.extend_from_slice(b"MCZ");
    push_decimal(bases, body);
    body.extend_from_slice(b"M\0");
}

/// What the tags of a read without a placement say.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct UnmappedTags {
    /// Bowtie's XM: one more than the most placements, where there are more than that.
    pub(super) suppressed: u32,
    /// It was not searched for because of its length.
    pub(super) is_outside: bool,
    /// Bases of its mate, if that is placed.
    pub(super) mate_bases: Option<u32>,
}

/// XM, YF, MC.
pub(super) fn push_unmapped_tags(tags: UnmappedTags, body: &mut Vec<u8>) {
    push_number(b"XM", tags.suppressed, body);
    if tags.is_outside {
        body.extend_from_slice(UNSEARCHED);
    }
    if let Some(bases) = tags.mate_bases {
        push_mate_cigar(bases, body);
    }
}
