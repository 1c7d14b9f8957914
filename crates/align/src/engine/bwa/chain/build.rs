//! Chains of seeds, as bwa makes them.
//!
//! Seeds come in the order of their bases, and of the rows where they occur. Each joins the chain
//! that begins nearest before it, if it fits there, or begins one. bwa keeps chains in a [`Tree`]
//! by where they begin; of two that begin at one position it finds either, by the shape of the
//! tree.
//!
//! A seed that is far from a chain's last one does not fit. So seeds are sorted by position, and
//! cut where two neighbours are too far apart for that: on either side of a cut chains do not
//! depend on what is on the other. Most of the seeds of a repeat are alone then. Only a read with
//! two chains at one position, or with very many between two cuts, needs the tree, for all of them.

use super::{Chain, Chains, ChainsOfRead, Seed};
use crate::engine::bwa::order::tree::Tree;
use crate::index::IndexView;

/// Seeds of one chain are no further apart (`max_chain_gap`).
const GREATEST_GAP: i64 = 10_000;

/// With more chains between two cuts all of the read's are made in the tree, which takes a new one
/// in less time. They are the same.
const MOST_IN_ARRAY: usize = 512;

/// A chain to which seeds may still be added, by their numbers.
#[derive(Debug, Clone, Copy)]
struct OpenChain {
    reference_start: i64,
    sequence: i32,
    is_alt: bool,
    count: usize,
    first: usize,
    last: usize,
}

/// A seed, and the number of the next one of its chain, if there is one.
#[derive(Debug, Clone, Copy)]
struct LinkedSeed {
    seed: Seed,
    next: usize,
}

/// What chains of a read depend on but its seeds.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChainRules<'a> {
    pub(super) index: IndexView<'a>,
    /// Bases of the read.
    pub(super) length: usize,
    /// Diagonals so far apart are of one chain.
    pub(super) band: i64,
}

impl ChainRules<'_> {
    /// From a chain's last seed to the furthest that fits: in the read they are not as far apart as
    /// it is long.
    fn reach(&self) -> i64 {
        self.band.max(0).saturating_add(self.length as i64 - 1)
    }
}

/// Makes the chains of one read after the other.
#[derive(Debug, Default)]
pub(super) struct ChainBuilder {
    seeds: Vec<LinkedSeed>,
    /// Where the seeds are, and their numbers.
    positions: Vec<(i64, usize)>,
    /// Those between two cuts, or all of the read.
    open: Vec<OpenChain>,
    tree: Tree,
}

impl ChainBuilder {
    /// Memory of a seed of the read, and of a chain that it begins.
    pub(super) const SEED_BYTES: u64 =
        (size_of::<LinkedSeed>() + size_of::<(i64, usize)>() + size_of::<OpenChain>()) as u64;

    /// Begins a read. Of what an earlier one needed more of than `most_seeds` is not kept.
    pub(super) fn clear(&mut self, most_seeds: usize) {
        self.seeds.clear();
        self.seeds.shrink_to(most_seeds);
        self.positions.clear();
        self.positions.shrink_to(most_seeds);
        self.open.clear();
        self.open.shrink_to(most_seeds);
    }

    /// Adds the read's next seed.
    pub(super) fn add(&mut self, seed: Seed) {
        self.positions.push((seed.reference_start, self.seeds.len()));
        self.seeds.push(LinkedSeed { seed, next: usize::MAX });
    }

    /// Adds the read's chains to `chains`, once it has all its seeds; `repetitive` is its share in
    /// seeds that occur too often.
    pub(super) fn build(&mut self, rules: ChainRules<'_>, repetitive: f32, chains: &mut Chains) {
        let (first_chain, first_seed) = (chains.chains.len(), chains.seeds.len());
        if !self.build_apart(rules, chains) {
            chains.chains.truncate(first_chain);
            chains.seeds.truncate(first_seed);
            self.build_in_tree(rules, chains);
        }
        let of_read = first_chain..chains.chains.len();
        chains.reads.push(ChainsOfRead { chains: of_read, repetitive });
    }

    /// Adds the chains between each two cuts; false if that takes the tree.
    fn build_apart(&mut self, rules: ChainRules<'_>, chains: &mut Chains) -> bool {
        let Self { seeds, positions, open, .. } = self;
        positions.sort_unstable_by_key(|&(position, _)| position);
        let reach = rules.reach();
        positions.chunk_by_mut(|&(a, _), &(b, _)| b - a <= reach).all(|between| {
            open.clear();
            if let &mut [(_, number)] = between {
                open.extend(OpenChain::begin(number, seeds, rules.index));
            } else if !open_all(between, seeds, open, rules) {
                return false;
            }
            open.iter().for_each(|chain| chain.close(seeds, chains));
            true
        })
    }

    /// Adds the chains as bwa does.
    fn build_in_tree(&mut self, rules: ChainRules<'_>, chains: &mut Chains) {
        let Self { seeds, open, tree, .. } = self;
        seeds.iter_mut().for_each(|seed| seed.next = usize::MAX);
        open.clear();
        tree.clear();
        for number in 0..seeds.len() {
            let Some(chain) = OpenChain::begin(number, seeds, rules.index) else { continue };
            let nearest = tree.nearest(chain.reference_start);
            if nearest.is_some_and(|nearest| open[nearest].join(chain, seeds, rules)) {
                continue;
            }
            tree.insert(chain.reference_start, open.len());
            open.push(chain);
        }
        tree.for_each(&mut |_, number| open[number].close(seeds, chains));
    }
}

/// The chains, by where they begin, of seeds that may depend on each other; false if that takes the
/// tree.
fn open_all(
    between: &mut [(i64, usize)],
    seeds: &mut [LinkedSeed],
    open: &mut Vec<OpenChain>,
    rules: ChainRules<'_>,
) -> bool {
    between.sort_unstable_by_key(|&(_, number)| number);
    for &mut (position, number) in between {
        let Some(chain) = OpenChain::begin(number, seeds, rules.index) else { continue };
        let after = open.partition_point(|chain| chain.reference_start <= position);
        if let Some(nearest) = open[..after].last_mut() {
            if nearest.join(chain, seeds, rules) {
                continue;
            }
            if nearest.reference_start == position || open.len() == MOST_IN_ARRAY {
                return false;
            }
        }
        open.insert(after, chain);
    }
    true
}

impl OpenChain {
    /// A chain of one seed; `None` if the seed is in two sequences, or across the border of the
    /// strands.
    fn begin(number: usize, seeds: &[LinkedSeed], index: IndexView<'_>) -> Option<Self> {
        let seed = seeds[number].seed;
        let (sequence, is_alt) = sequence_of(index, seed)?;
        let reference_start = seed.reference_start;
        Some(Self { reference_start, sequence, is_alt, count: 1, first: number, last: number })
    }

    /// Whether the seed that alone is chain `other` joins this one, or is in it.
    fn join(&mut self, other: Self, seeds: &mut [LinkedSeed], rules: ChainRules<'_>) -> bool {
        if self.sequence != other.sequence {
            return false;
        }
        let [first, last, seed] =
            [self.first, self.last, other.first].map(|number| seeds[number].seed);
        match fit(first, last, seed, rules.index.parts.bases as i64, rules.band) {
            Fit::Contained => true,
            Fit::Appended => {
                seeds[self.last].next = other.first;
                self.last = other.first;
                self.count += 1;
                true
            }
            Fit::Apart => false,
        }
    }

    /// Adds it, with its seeds, to `chains`.
    fn close(&self, seeds: &[LinkedSeed], chains: &mut Chains) {
        let (Self { sequence, is_alt, count, .. }, first) = (*self, chains.seeds.len());
        chains.chains.push(Chain { sequence, is_alt, count, first });
        let mut number = self.first;
        while let Some(&LinkedSeed { seed, next }) = seeds.get(number) {
            chains.seeds.push(seed);
            number = next;
        }
    }
}

/// How a seed fits a chain.
enum Fit {
    /// It is in what the chain spans.
    Contained,
    /// It continues after the chain's last seed.
    Appended,
    Apart,
}

fn fit(first: Seed, last: Seed, seed: Seed, bases: i64, band: i64) -> Fit {
    let ends = |seed: Seed| {
        (i64::from(seed.read_start + seed.length), seed.reference_start + i64::from(seed.length))
    };
    let ((last_end, last_reference_end), (end, reference_end)) = (ends(last), ends(seed));
    let inside = seed.read_start >= first.read_start
        && end <= last_end
        && seed.reference_start >= first.reference_start
        && reference_end <= last_reference_end;
    if inside {
        return Fit::Contained;
    }
    if (last.reference_start < bases || first.reference_start < bases)
        && seed.reference_start >= bases
    {
        return Fit::Apart;
    }
    let in_read = i64::from(seed.read_start - last.read_start);
    let in_genome = seed.reference_start - last.reference_start;
    let length = i64::from(last.length);
    let goes_on = in_genome >= 0
        && (in_read - in_genome).abs() <= band
        && in_read - length < GREATEST_GAP
        && in_genome - length < GREATEST_GAP;
    if goes_on { Fit::Appended } else { Fit::Apart }
}

/// The sequence that a seed is in, and whether that is an ALT one; `None` if it is in two, or
/// across the border of the strands.
fn sequence_of(index: IndexView<'_>, seed: Seed) -> Option<(i32, bool)> {
    let (bases, length) = (index.parts.bases as i64, i64::from(seed.length));
    let start = match seed.reference_start {
        reference_start if reference_start >= bases => 2 * bases - reference_start - length,
        reference_start if reference_start + length > bases => return None,
        reference_start => reference_start,
    };
    let start = u64::try_from(start).ok()?;
    let number = index.sequences.partition_point(|sequence| sequence.end <= start);
    let sequence = index.sequences.get(number)?;
    let in_one = start + length as u64 <= sequence.end;
    in_one.then_some((number as i32, sequence.is_alt))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::index::Sequence;
    use crate::index::test_view::{SEQUENCES, view_of};
    use proptest::prelude::*;

    /// A seed by reference start, read start and length.
    fn seed([reference_start, read_start, length]: [i64; 3]) -> Seed {
        let (read_start, length) = (read_start as i32, length as i32);
        Seed { reference_start, read_start, length, score: length }
    }

    fn builder_of(seeds: &[[i64; 3]]) -> ChainBuilder {
        let mut builder = ChainBuilder::default();
        seeds.iter().for_each(|&of| builder.add(seed(of)));
        builder
    }

    fn rules(sequences: &[Sequence], band: i64) -> ChainRules<'_> {
        ChainRules { index: view_of(sequences), length: 100, band }
    }

    /// The chains of a read of 100 bases with these seeds.
    pub(crate) fn chains_of(sequences: &[Sequence], band: i64, seeds: &[[i64; 3]]) -> Chains {
        let mut chains = Chains::default();
        builder_of(seeds).build(rules(sequences, band), 0.0, &mut chains);
        chains
    }

    #[test]
    fn seeds_join_chains_as_those_of_bwa_do() {
        let long = [Sequence { start: 0, end: 50_000, is_alt: false }];
        let t = |sequences: &[Sequence], band, seeds: &[[i64; 3]], expected: &[&[usize]]| {
            let chains = chains_of(sequences, band, seeds);
            let of_read = chains.last().unwrap();
            let found: Vec<_> =
                of_read.chains.iter().map(|chain| of_read.seeds(chain).to_vec()).collect();
            let seeds_of = |numbers: &&[usize]| numbers.iter().map(|&n| seed(seeds[n])).collect();
            let expected: Vec<Vec<_>> = expected.iter().map(seeds_of).collect();
            assert_eq!(found, expected, "{seeds:?}");
        };
        let three = |seeds, expected| t(&SEQUENCES, 10, seeds, expected);
        three(&[], &[]);
        // As far apart as the band is wide, in the read and in the genome.
        three(&[[340, 0, 20], [370, 40, 20]], &[&[0, 1]]);
        three(&[[340, 0, 20], [390, 40, 20]], &[&[0, 1]]);
        three(&[[340, 0, 20], [369, 40, 20]], &[&[0], &[1]]);
        three(&[[340, 0, 20], [391, 40, 20]], &[&[0], &[1]]);
        // As far apart as seeds of one read and one chain can be.
        three(&[[340, 0, 1], [449, 99, 1]], &[&[0, 1]]);
        three(&[[340, 0, 100], [439, 0, 1]], &[&[0]]);
        // Within what the chain spans, up to both ends, and one base further.
        three(&[[340, 0, 40], [340, 0, 40], [350, 10, 30]], &[&[0]]);
        three(&[[340, 0, 40], [350, 10, 31]], &[&[0, 1]]);
        // The second before the first, in the genome alone.
        three(&[[350, 0, 20], [345, 3, 20]], &[&[1], &[0]]);
        // At one place: one that joins, and one that does not.
        three(&[[340, 0, 20], [340, 10, 20]], &[&[0, 1]]);
        three(&[[340, 0, 20], [340, 11, 20]], &[&[0], &[1]]);
        // A third goes between them; what is after all is compared with the last.
        let at_one_place =
            [[340, 0, 20], [340, 30, 20], [365, 25, 20], [340, 60, 20], [345, 35, 20]];
        three(&at_one_place, &[&[0], &[3], &[1, 4], &[2]]);
        // Two sequences, both strands, and what is in neither.
        three(&[[150, 0, 20], [205, 50, 20]], &[&[0], &[1]]);
        three(&[[650, 0, 20], [705, 50, 20]], &[&[0], &[1]]);
        three(&[[705, 0, 20], [755, 50, 20]], &[&[0, 1]]);
        three(&[[190, 0, 20]], &[]);
        three(&[[180, 0, 20], [690, 10, 20], [1061, 30, 20]], &[&[0]]);
        // Chains in turn: each seed goes to the one that begins nearest before it.
        let in_turn = [[340, 0, 20], [500, 3, 20], [365, 25, 20], [530, 33, 20], [400, 60, 20]];
        three(&in_turn, &[&[0, 2, 4], &[1, 3]]);
        // The greatest gap.
        t(&long, 20_000, &[[100, 0, 20], [10_119, 50, 20]], &[&[0, 1]]);
        t(&long, 20_000, &[[100, 0, 20], [10_120, 50, 20]], &[&[0], &[1]]);
    }

    proptest! {
        /// Most of what is generated needs no tree.
        #[test]
        fn seeds_that_are_cut_apart_make_the_chains_of_the_tree(
            mut seeds in proptest::collection::vec((0_i64..80, 1_i64..21, 0_i64..1400), 0..40),
            band in -1_i64..60,
        ) {
            seeds.sort_unstable();
            let seeds = seeds.into_iter().map(|(read, length, at)| [at, read, length]);
            let seeds: Vec<_> = seeds.collect();
            let (mut builder, rules) = (builder_of(&seeds), rules(&SEQUENCES, band));
            let [mut apart, mut in_tree] = [(); 2].map(|()| Chains::default());
            if builder.build_apart(rules, &mut apart) {
                builder.build_in_tree(rules, &mut in_tree);
                prop_assert_eq!(apart.chains, in_tree.chains);
                prop_assert_eq!(apart.seeds, in_tree.seeds);
            }
        }
    }
}
