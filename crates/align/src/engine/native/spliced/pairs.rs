//! Mates: which of their placements make a pair, and their records.

use std::cmp::Reverse;

use super::choice::{Alignment, Chosen, Output};
use super::emit::{SEVERAL, UNIQUE};
use super::join::SCALE;
use super::record::{OfMate, Said, span};
use super::{Scratch, SplicedEngine};
use crate::engine::Read;
use crate::engine::native::fields::{MATE_UNMAPPED, PROPER, SECONDARY};
use crate::engine::native::gapped::MateOptions;
use crate::engine::native::gapped::fragment::{Extent, template_length_of};
use crate::engine::native::gapped::traceback::CLIP;
use crate::engine::native::gapped::window::Stretch;
use crate::engine::native::pairs::mate_flags;

/// Most placements of a mate that are looked at in pairs.
const MOST_OF_MATE: usize = 32;
/// A pair may be so many times as wide as the narrowest of its score, or as wide as fragments are.
const WIDER: i64 = 2;
const FRAGMENT_BP: i64 = 500;

/// Placements of both mates, by number.
#[derive(Debug, Clone, Copy)]
struct Pair {
    placements: [usize; 2],
    points: i32,
    rank: i32,
    /// Bases from end to end, less the introns that are known of.
    width: i64,
}

/// What mates are to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Concordant,
    /// Both placed, and nowhere else.
    Discordant,
    /// Each as it is.
    Mixed,
    /// Neither is said to be placed.
    Lost,
}

impl Kind {
    /// HISAT2's YT.
    fn name(self) -> &'static [u8; 2] {
        match self {
            Self::Concordant => b"CP",
            Self::Discordant => b"DP",
            Self::Mixed | Self::Lost => b"UP",
        }
    }

    fn is_pair(self) -> bool {
        matches!(self, Self::Concordant | Self::Discordant)
    }
}

/// A placement with its operations.
type Placement<'a> = (&'a Alignment, &'a [u32]);

impl Alignment {
    /// Where its read is, with what is clipped, in a genome of so many bases.
    fn extent(&self, ops: &[u32], bases: u64) -> Extent {
        let clip =
            |op: Option<&u32>| op.filter(|&op| op & 15 == CLIP).map_or(0, |op| i64::from(op >> 4));
        let start = self.place - clip(ops.first());
        let end = self.place + i64::from(span(ops)) + clip(ops.last());
        let Stretch { sequence, is_reverse, .. } = self.stretch;
        Extent { sequence, is_reverse, ends: self.forward([start, end], bases) }
    }
}

/// From the first base of two mates to their last.
fn outer_bases([one, other]: [Extent; 2]) -> i64 {
    one.ends[1].max(other.ends[1]) - one.ends[0].min(other.ends[0])
}

/// The introns of a placement on the forward strand.
fn introns((it, ops): Placement<'_>, bases: u64) -> impl Iterator<Item = [i64; 2]> {
    it.introns(ops).map(move |ends| it.forward(ends, bases))
}

/// Bases in the introns of two mates; one that both go over counts once.
fn skipped([one, other]: [Placement<'_>; 2], bases: u64) -> i64 {
    let is_new = |intron: &[i64; 2]| introns(one, bases).all(|it| it != *intron);
    let all = introns(one, bases).chain(introns(other, bases).filter(is_new));
    all.map(|[start, end]| end - start).sum()
}

/// The concordant pairs of the best score, the likeliest and narrowest first, in a genome of so
/// many bases.
fn concordant(
    options: &MateOptions,
    chosen: [&Chosen; 2],
    output: &Output,
    bases: u64,
) -> Vec<Pair> {
    let of = |mate: usize| {
        let from = chosen[mate].found.start;
        let found = output.alignments[chosen[mate].found.clone()].iter().take(MOST_OF_MATE);
        found.enumerate().map(move |(at, it)| (from + at, it, &output.ops[it.ops.clone()]))
    };
    let mut pairs = Vec::new();
    for (first, one, ops) in of(0) {
        let extent = one.extent(ops, bases);
        for (second, other, other_ops) in of(1) {
            let extents = [extent, other.extent(other_ops, bases)];
            if options.is_pair(extents, 0) {
                let skipped = skipped([(one, ops), (other, other_ops)], bases);
                let rank = one.rank + other.rank;
                let points = one.rank.div_euclid(SCALE) + other.rank.div_euclid(SCALE);
                let width = outer_bases(extents) - skipped;
                pairs.push(Pair { placements: [first, second], points, rank, width });
            }
        }
    }
    pairs.sort_by_key(|it| (Reverse(it.points), Reverse(it.rank), it.width, it.placements));
    if let Some(&best) = pairs.first() {
        let narrowest = pairs.iter().filter(|it| it.points == best.points);
        let narrowest = narrowest.map(|it| it.width).min().unwrap_or(0);
        let most = FRAGMENT_BP.max(WIDER * narrowest);
        pairs.retain(|it| it.points == best.points && it.width <= most);
    }
    pairs
}

impl SplicedEngine {
    /// What mates are to each other, where they are not concordant.
    fn kind(&self, chosen: [&Chosen; 2]) -> Kind {
        let options = &self.options.mates;
        match () {
            () if options.discordant && chosen.iter().all(|it| it.best == 1) => Kind::Discordant,
            () if options.mixed => Kind::Mixed,
            () => Kind::Lost,
        }
    }

    /// Hands out the records of a pair, whose mates are reads `number` and the next of their group.
    pub(super) fn emit_pair(
        &self,
        (number, reads): (usize, [&Read<'_>; 2]),
        scratch: &mut Scratch,
        out: &mut dyn FnMut(&[u8]),
    ) {
        let Scratch { reads: group, output, records, .. } = scratch;
        let chosen = [&group.chosen[number], &group.chosen[number + 1]];
        let bases = self.index.parts().bases;
        let pairs = concordant(&self.options.mates, chosen, output, bases);
        let kind = if pairs.is_empty() { self.kind(chosen) } else { Kind::Concordant };
        let alone = |mate: usize| {
            let count = if kind == Kind::Lost { 0 } else { chosen[mate].best };
            let from = chosen[mate].found.start;
            (from..from + count).collect::<Vec<_>>()
        };
        let numbers = [0, 1].map(|mate| {
            let of_pair = |it: &Pair| it.placements[mate];
            if kind == Kind::Concordant { pairs.iter().map(of_pair).collect() } else { alone(mate) }
        });
        let placement = |at: usize| -> Placement<'_> {
            let alignment = &output.alignments[at];
            (alignment, &output.ops[alignment.ops.clone()])
        };
        for mate in 0..2 {
            let others = &numbers[1 - mate];
            if numbers[mate].is_empty() {
                let other = others.first().map(|&at| placement(at));
                out(records.unmapped(reads[mate], self.of_mate(mate, kind, [None, other])));
            }
            let all = numbers[mate].len();
            let reported = all.min(self.options.placements);
            for (at, &own) in numbers[mate][..reported].iter().enumerate() {
                let other = if kind == Kind::Concordant { others.get(at) } else { others.first() };
                let (own, other) = (placement(own), other.map(|&at| placement(at)));
                let said = Said {
                    flags: if at > 0 { SECONDARY } else { 0 },
                    mapping_quality: if all > 1 { SEVERAL } else { UNIQUE },
                    second: chosen[mate].second,
                    placements: reported as u32,
                    is_transcript_reverse: self.is_transcript_reverse(own.0, mate),
                    strand_tag: self.options.strand_tag,
                    mate: self.of_mate(mate, kind, [Some(own), other]),
                };
                let query = &group.queries[number + mate];
                out(records.placed((reads[mate], query), &self.reference(Some(mate)), own, said));
            }
        }
    }

    /// What a record of mate `mate` says of the other one; their placements, its own first.
    fn of_mate<'a>(
        &self,
        mate: usize,
        kind: Kind,
        [own, other]: [Option<Placement<'a>>; 2],
    ) -> OfMate<'a> {
        let is_reverse = other.is_some_and(|it| it.0.stretch.is_reverse);
        let mut flags = mate_flags(mate, is_reverse);
        if other.is_none() {
            flags |= MATE_UNMAPPED;
        }
        if kind == Kind::Concordant {
            flags |= PROPER;
        }
        let both = own.zip(other).filter(|_| kind.is_pair());
        let bases = self.index.parts().bases;
        let length = both.map(|(own, other)| {
            template_length_of(mate, [own, other].map(|(it, ops)| it.extent(ops, bases)))
        });
        OfMate {
            flags,
            placement: other,
            template_length: length.unwrap_or(0),
            score: both.map(|(_, other)| other.0.score),
            kind: kind.name(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::choice::SKIP;
    use super::*;
    use crate::engine::native::gapped::traceback::MATCH;
    use crate::engine::native::pairs::{Orientation, PairOptions};

    const BASES: u64 = 1_000_000;

    fn options() -> MateOptions {
        let pairs = PairOptions {
            orientation: Orientation::ForwardReverse,
            min_insert_bp: 0,
            max_insert_bp: 400_000,
        };
        MateOptions {
            pairs,
            dovetail: false,
            contain: true,
            overlap: true,
            mixed: true,
            discordant: true,
        }
    }

    /// A placement from `start` of the forward strand on, with an intron of so many bases behind
    /// its first ten, if that is more than none.
    fn add(output: &mut Output, is_reverse: bool, (start, intron, rank): (i64, u32, i32)) {
        let both = 2 * BASES as i64;
        let [first, last] = [10 << 4 | MATCH, 90 << 4 | MATCH];
        let mut ops =
            if intron > 0 { vec![first, intron << 4 | SKIP, last] } else { vec![100 << 4 | MATCH] };
        let end = start + i64::from(span(&ops));
        if is_reverse {
            ops.reverse();
        }
        let stretch = if is_reverse {
            Stretch { sequence: 0, is_reverse, start: both / 2, end: both }
        } else {
            Stretch { sequence: 0, is_reverse, start: 0, end: both / 2 }
        };
        let of_ops = output.ops.len()..output.ops.len() + ops.len();
        output.ops.extend(ops);
        let place = if is_reverse { both - end } else { start };
        output.alignments.push(Alignment::plain((rank, stretch), place, of_ops));
    }

    /// The pairs of placements of both mates, each as its start, intron and rank.
    fn pairs(mates: [&[(i64, u32, i32)]; 2]) -> Vec<[usize; 2]> {
        let mut output = Output::default();
        let [first, second] = [0, 1].map(|mate| {
            let from = output.alignments.len();
            mates[mate].iter().for_each(|it| add(&mut output, mate == 1, *it));
            let found = from..output.alignments.len();
            Chosen { found, best: mates[mate].len(), second: None }
        });
        let count = mates[0].len();
        let found = concordant(&options(), [&first, &second], &output, BASES);
        found.iter().map(|it| [it.placements[0], it.placements[1] - count]).collect()
    }

    #[test]
    fn pairs_of_a_repeat_in_tandem_are_all_there() {
        let found = pairs([&[(1000, 0, 0)], &[(1050, 0, 0), (1230, 0, 0), (1400, 0, 0)]]);
        assert_eq!(found, [[0, 0], [0, 1], [0, 2]]);
    }

    #[test]
    fn pairs_much_wider_than_the_narrowest_are_left_out() {
        let found = pairs([&[(1000, 0, 0)], &[(200_000, 0, 0), (1800, 0, 0), (2700, 0, 0)]]);
        assert_eq!(found, [[0, 1], [0, 2]]);
        // Unless they are better.
        let found = pairs([&[(1000, 0, 0)], &[(200_000, 0, 0), (1800, 0, -SCALE)]]);
        assert_eq!(found, [[0, 0]]);
    }

    #[test]
    fn a_gene_is_likelier_than_its_copy_without_introns() {
        // Rank tells that the intron is known.
        let gene = (1000, 50_000, 15);
        let found = pairs([&[gene, (400_000, 0, 0)], &[(51_150, 0, 0), (400_150, 0, 0)]]);
        assert_eq!(found, [[0, 0], [1, 1]]);
        // One that both mates go over counts once.
        let both = pairs([&[gene, (400_000, 0, 0)], &[(1000, 50_000, 15), (400_150, 0, 0)]]);
        assert_eq!(both, [[0, 0], [1, 1]]);
    }

    #[test]
    fn mates_that_do_not_lie_as_they_should_are_no_pair() {
        assert!(pairs([&[(1000, 0, 0)], &[(500, 0, 0)]]).is_empty());
        assert!(pairs([&[(1000, 0, 0)], &[(500_000, 0, 0)]]).is_empty());
        assert!(pairs([&[], &[(500, 0, 0)]]).is_empty());
    }
}
