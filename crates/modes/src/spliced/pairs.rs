//! Mates: which of their placements make a pair.

use std::cmp::Reverse;

use super::choice::{Chosen, Spliced};
use super::introns::introns;
use super::join::SCALE;
use crate::by_score::alignment::{Output, Placement};
use crate::by_score::mates::MateOptions;
use crate::reference::Extent;

/// Most placements of a mate that are looked at in pairs.
const MOST_OF_MATE: usize = 32;
/// A pair may be so many times as wide as the narrowest of its score, or as wide as fragments are.
const WIDER: i64 = 2;
const FRAGMENT_BP: i64 = 500;

/// Placements of both mates, by number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pair {
    pub(super) placements: [usize; 2],
    points: i32,
    rank: i32,
    /// Bases from end to end, less the introns that are known of.
    width: i64,
}

/// From the first base of two mates to their last.
fn outer_bases([one, other]: [Extent; 2]) -> i64 {
    one.end.max(other.end) - one.start.min(other.start)
}

/// Bases in the introns of two mates; one that both go over counts once.
fn skipped([one, other]: [Placement<'_>; 2], bases: u64) -> i64 {
    let of_one = || introns(one).map(|it| it.extent(bases));
    let is_new =
        |it: &Extent| !of_one().any(|known| (known.start, known.end) == (it.start, it.end));
    let of_other = introns(other).map(|it| it.extent(bases));
    of_one().chain(of_other.filter(is_new)).map(|it| it.end - it.start).sum()
}

/// The concordant pairs of the best score, the likeliest and narrowest first, in a genome of so
/// many bases.
pub(super) fn concordant(
    options: &MateOptions,
    chosen: [&Chosen; 2],
    output: &Output<Spliced>,
    bases: u64,
) -> Vec<Pair> {
    let of = |mate: usize| {
        let from = chosen[mate].found.start;
        let found = output.alignments[chosen[mate].found.clone()].iter().take(MOST_OF_MATE);
        let with_rank = |it: &Spliced| (it.alignment.with(&output.ops), it.rank);
        found.enumerate().map(move |(at, it)| (from + at, with_rank(it)))
    };
    let mut pairs = Vec::new();
    for (first, (one, rank)) in of(0) {
        let extent = one.extent(bases);
        for (second, (other, other_rank)) in of(1) {
            let extents = [extent, other.extent(bases)];
            if options.is_pair(extents, 0) {
                let points = rank.div_euclid(SCALE) + other_rank.div_euclid(SCALE);
                let rank = rank + other_rank;
                let width = outer_bases(extents) - skipped([one, other], bases);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::by_score::alignment::{MATCH, SKIP, span};
    use crate::pairs::{Orientation, PairOptions};
    use crate::reference::Segment;

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

    /// A placement from `start` of the forward strand on, with an intron of so many bases after
    /// its first ten, if that is more than none.
    fn add(output: &mut Output<Spliced>, is_reverse: bool, (start, intron, rank): (i64, u32, i32)) {
        let both = 2 * BASES as i64;
        let [first, last] = [10 << 4 | MATCH, 90 << 4 | MATCH];
        let mut ops =
            if intron > 0 { vec![first, intron << 4 | SKIP, last] } else { vec![100 << 4 | MATCH] };
        let end = start + i64::from(span(&ops));
        if is_reverse {
            ops.reverse();
        }
        let segment = if is_reverse {
            Segment { sequence: 0, is_reverse, start: both / 2, end: both }
        } else {
            Segment { sequence: 0, is_reverse, start: 0, end: both / 2 }
        };
        let of_ops = output.ops.len()..output.ops.len() + ops.len();
        output.ops.extend(ops);
        let place = if is_reverse { both - end } else { start };
        output.alignments.push(Spliced::plain((rank, segment), place, of_ops));
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
        // Rank says that the intron is known.
        let gene = (1000, 50_000, 15);
        let found = pairs([&[gene, (400_000, 0, 0)], &[(51_150, 0, 0), (400_150, 0, 0)]]);
        assert_eq!(found, [[0, 0], [1, 1]]);
        // One that both mates go over counts once.
        let both = pairs([&[gene, (400_000, 0, 0)], &[(1000, 50_000, 15), (400_150, 0, 0)]]);
        assert_eq!(both, [[0, 0], [1, 1]]);
    }

    #[test]
    fn mates_that_are_not_as_they_should_be_are_no_pair() {
        assert!(pairs([&[(1000, 0, 0)], &[(500, 0, 0)]]).is_empty());
        assert!(pairs([&[(1000, 0, 0)], &[(500_000, 0, 0)]]).is_empty());
        assert!(pairs([&[], &[(500, 0, 0)]]).is_empty());
    }
}
