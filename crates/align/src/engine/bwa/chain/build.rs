//! Chains of seeds, as bwa makes them.
//!
//! Seeds come in the order of their bases, and of the rows where they occur. Each joins the chain
//! that begins nearest before it, if it fits there, or begins one. bwa keeps chains in a [`Tree`]
//! by where they begin; of two that begin at one position it finds either, by the shape of the
//! tree. A sorted array does as well until there are two such chains.

use super::filter::WeighedChain;
use crate::engine::bwa::order::tree::Tree;
use crate::index::IndexView;

/// Seeds of one chain are no further apart (`max_chain_gap`).
const GREATEST_GAP: i64 = 10_000;

/// More chains are kept in the tree, which takes a new one in less time. They are the same.
const MOST_IN_ARRAY: usize = 512;

/// An occurrence of a seed (`mem_seed_t`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seed {
    /// First base, in doubled coordinates.
    pub(crate) reference_start: i64,
    /// First base, in the read.
    pub(crate) read_start: i32,
    pub(crate) length: i32,
    /// Its length; of long reads, what it scores with the bases around it.
    pub(crate) score: i32,
}

impl Seed {
    /// One past its last base, in doubled coordinates.
    pub(crate) fn reference_end(&self) -> i64 {
        self.reference_start + i64::from(self.length)
    }
}

/// A chain of seeds that are nearly colinear.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chain {
    pub(crate) reference_start: i64,
    pub(crate) sequence: i32,
    pub(crate) is_alt: bool,
    pub(crate) count: usize,
    /// Its first seed among all; the others follow it, once chains are settled.
    pub(crate) first: usize,
    last: usize,
}

/// The chains of one read.
#[derive(Debug, Default)]
pub(crate) struct Chains {
    chains: Vec<Chain>,
    /// Where they begin, sorted, and their numbers; of use while there is no tree, and once chains
    /// are settled.
    order: Vec<(i64, usize)>,
    /// Whether they are in the worker's tree.
    in_tree: bool,
    seeds: Vec<Seed>,
    /// The next seed of the same chain, if there is one.
    next: Vec<usize>,
    /// Share of the read in seeds that occur too often (`frac_rep`).
    pub(crate) repetitive: f32,
}

impl Chains {
    /// So many seeds are room that is kept from read to read.
    pub(crate) const KEPT_SEEDS: usize = 64;
    /// Memory of a seed, which may be moved once, and of a chain that it begins.
    pub(crate) const SEED_BYTES: u64 =
        (2 * (size_of::<Seed>() + 8) + size_of::<Chain>() + 16) as u64;

    pub(crate) fn clear(&mut self) {
        if self.seeds.capacity() > Self::KEPT_SEEDS {
            *self = Self::default();
        }
        self.chains.clear();
        self.order.clear();
        self.in_tree = false;
        self.seeds.clear();
        self.next.clear();
        self.repetitive = 0.0;
    }

    /// The chains by where they begin.
    pub(crate) fn sorted(&self) -> impl Iterator<Item = Chain> {
        self.order.iter().map(|&(_, number)| self.chains[number])
    }

    /// The chain that is the `at`-th by where it begins, and its number.
    pub(crate) fn at(&self, at: usize) -> (usize, Chain) {
        let number = self.order[at].1;
        (number, self.chains[number])
    }

    /// The chains in the order in which they began.
    pub(crate) fn begun(&self) -> &[Chain] {
        &self.chains
    }

    /// What the filter asks of the chains, by where they begin.
    pub(crate) fn weighed(&self) -> impl Iterator<Item = WeighedChain> {
        self.sorted().map(|chain| WeighedChain::of(self.seeds(chain), chain.is_alt))
    }

    /// The seeds of a chain in order, once chains are settled.
    pub(crate) fn seeds(&self, chain: Chain) -> &[Seed] {
        &self.seeds[chain.first..][..chain.count]
    }

    /// When all seeds are added: sorts chains, and moves the seeds of each chain one after the
    /// other.
    pub(crate) fn settle(&mut self, tree: &Tree) {
        if self.in_tree {
            self.order.clear();
            tree.for_each(&mut |reference_start, number| {
                self.order.push((reference_start, number))
            });
        }
        for chain in &mut self.chains {
            if chain.last - chain.first + 1 == chain.count {
                continue;
            }
            let (mut at, first) = (chain.first, self.seeds.len());
            for _ in 0..chain.count {
                self.seeds.push(self.seeds[at]);
                at = self.next[at];
            }
            (chain.first, chain.last) = (first, first + chain.count - 1);
        }
    }

    /// Adds the next seed. `tree` is the same for all of a read.
    pub(crate) fn add(&mut self, tree: &mut Tree, index: IndexView<'_>, band: i64, seed: Seed) {
        let Some((sequence, is_alt)) = sequence_of(index, seed) else { return };
        let after = self
            .order
            .partition_point(|&(reference_start, _)| reference_start <= seed.reference_start);
        let nearest = if self.in_tree {
            tree.nearest(seed.reference_start)
        } else {
            after.checked_sub(1).map(|at| self.order[at].1)
        };
        if let Some(number) = nearest {
            let strand_start = index.parts.bases as i64;
            if self.join(number, seed, sequence, [strand_start, band]) {
                return;
            }
            let is_tie = self.chains[number].reference_start == seed.reference_start;
            if !self.in_tree && (is_tie || self.chains.len() == MOST_IN_ARRAY) {
                self.plant(tree);
            }
        }
        let at = self.seeds.len();
        self.push(seed);
        let (reference_start, count) = (seed.reference_start, 1);
        if self.in_tree {
            tree.insert(reference_start, self.chains.len());
        } else {
            self.order.insert(after, (reference_start, self.chains.len()));
        }
        self.chains.push(Chain { reference_start, sequence, is_alt, count, first: at, last: at });
    }

    /// Whether the seed joins chain `number`, or is in it.
    fn join(
        &mut self,
        number: usize,
        seed: Seed,
        sequence: i32,
        [strand_start, band]: [i64; 2],
    ) -> bool {
        let chain = &mut self.chains[number];
        if chain.sequence != sequence {
            return false;
        }
        let [first, last] = [chain.first, chain.last].map(|at| self.seeds[at]);
        match fit(first, last, seed, strand_start, band) {
            Fit::Contained => true,
            Fit::Appended => {
                self.next[chain.last] = self.seeds.len();
                chain.last = self.seeds.len();
                chain.count += 1;
                self.push(seed);
                true
            }
            Fit::Apart => false,
        }
    }

    /// From now on the nearest chain is found by the tree. So far it would have found the same, so
    /// all chains go in, in the order in which they began.
    fn plant(&mut self, tree: &mut Tree) {
        tree.clear();
        for (number, chain) in self.chains.iter().enumerate() {
            tree.insert(chain.reference_start, number);
        }
        self.order.clear();
        self.in_tree = true;
    }

    fn push(&mut self, seed: Seed) {
        self.seeds.push(seed);
        self.next.push(usize::MAX);
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
mod tests {
    use super::*;
    use crate::index::Sequence;
    use crate::index::test_view::{SEQUENCES, view_of};

    /// A seed by reference start, read start and length.
    fn seed([reference_start, read_start, length]: [i64; 3]) -> Seed {
        let (read_start, length) = (read_start as i32, length as i32);
        Seed { reference_start, read_start, length, score: length }
    }

    fn chains_of(sequences: &[Sequence], band: i64, seeds: &[[i64; 3]]) -> Chains {
        let (mut chains, mut tree) = (Chains::default(), Tree::default());
        seeds.iter().for_each(|&of| chains.add(&mut tree, view_of(sequences), band, seed(of)));
        chains.settle(&tree);
        chains
    }

    #[test]
    fn seeds_join_chains_as_those_of_bwa_do() {
        let long = [Sequence { start: 0, end: 50_000, is_alt: false }];
        let t = |sequences: &[Sequence], band, seeds: &[[i64; 3]], expected: &[&[usize]]| {
            let chains = chains_of(sequences, band, seeds);
            let found: Vec<_> = chains.sorted().map(|chain| chains.seeds(chain).to_vec()).collect();
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
}
