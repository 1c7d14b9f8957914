//! Chains of seeds, as bwa makes them.
//!
//! Seeds come in the order of their bases, and of the rows where they occur. Each joins the chain
//! that begins nearest in front of it in `T`, if it fits there, or begins one. bwa keeps chains in
//! a [`Tree`] by where they begin; of two that begin at one place it finds either, by the shape of
//! the tree. A sorted array does as well until there are two such chains.

use super::filter::Weighed;
use crate::engine::bwa::order::tree::Tree;
use crate::index::IndexView;

/// Seeds of one chain lie no further apart (`max_chain_gap`).
const GREATEST_GAP: i64 = 10_000;

/// More chains are kept in the tree, which takes a new one in less time. They are the same.
const MOST_IN_ARRAY: usize = 512;

/// A seed where it occurs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PlacedSeed {
    /// First base, in `T`.
    pub(crate) place: i64,
    /// First base, in the read.
    pub(crate) base: i32,
    pub(crate) length: i32,
    /// Its length; of long reads, what it scores with the bases around it.
    pub(crate) score: i32,
}

impl PlacedSeed {
    /// Behind its last base, in `T`.
    pub(crate) fn place_end(&self) -> i64 {
        self.place + i64::from(self.length)
    }
}

/// A chain.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chain {
    pub(crate) place: i64,
    pub(crate) sequence: i32,
    pub(crate) alternate: bool,
    pub(crate) count: usize,
    /// Its first seed among all; the others are behind it, once chains are settled.
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
    seeds: Vec<PlacedSeed>,
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
        (2 * (size_of::<PlacedSeed>() + 8) + size_of::<Chain>() + 16) as u64;

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
    pub(crate) fn weighed(&self) -> impl Iterator<Item = Weighed> {
        self.sorted().map(|chain| Weighed::of(self.seeds(chain), chain.alternate))
    }

    /// The seeds of a chain in order, once chains are settled.
    pub(crate) fn seeds(&self, chain: Chain) -> &[PlacedSeed] {
        &self.seeds[chain.first..][..chain.count]
    }

    /// When all seeds are added: puts chains in order, and the seeds of each one behind the other.
    pub(crate) fn settle(&mut self, tree: &Tree) {
        if self.in_tree {
            self.order.clear();
            tree.for_each(&mut |place, number| self.order.push((place, number)));
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
    pub(crate) fn add(
        &mut self,
        tree: &mut Tree,
        index: IndexView<'_>,
        band: i64,
        seed: PlacedSeed,
    ) {
        let Some((sequence, alternate)) = sequence_of(index, seed) else { return };
        let behind = self.order.partition_point(|&(place, _)| place <= seed.place);
        let nearest = if self.in_tree {
            tree.nearest(seed.place)
        } else {
            behind.checked_sub(1).map(|at| self.order[at].1)
        };
        if let Some(number) = nearest {
            let strand_start = index.parts.bases as i64;
            if self.join(number, seed, sequence, [strand_start, band]) {
                return;
            }
            let is_tie = self.chains[number].place == seed.place;
            if !self.in_tree && (is_tie || self.chains.len() == MOST_IN_ARRAY) {
                self.plant(tree);
            }
        }
        let at = self.seeds.len();
        self.push(seed);
        let (place, count) = (seed.place, 1);
        if self.in_tree {
            tree.insert(place, self.chains.len());
        } else {
            self.order.insert(behind, (place, self.chains.len()));
        }
        self.chains.push(Chain { place, sequence, alternate, count, first: at, last: at });
    }

    /// Whether the seed joins chain `number`, or lies in it.
    fn join(
        &mut self,
        number: usize,
        seed: PlacedSeed,
        sequence: i32,
        [strand_start, band]: [i64; 2],
    ) -> bool {
        let chain = &mut self.chains[number];
        if chain.sequence != sequence {
            return false;
        }
        let [first, last] = [chain.first, chain.last].map(|at| self.seeds[at]);
        match fit(first, last, seed, strand_start, band) {
            Fit::Inside => true,
            Fit::Behind => {
                self.next[chain.last] = self.seeds.len();
                chain.last = self.seeds.len();
                chain.count += 1;
                self.push(seed);
                true
            }
            Fit::Not => false,
        }
    }

    /// From now on the tree tells which chain is nearest. What it told so far would have been the
    /// same, so that all there is goes in, in the order in which it began.
    fn plant(&mut self, tree: &mut Tree) {
        tree.clear();
        for (number, chain) in self.chains.iter().enumerate() {
            tree.insert(chain.place, number);
        }
        self.order.clear();
        self.in_tree = true;
    }

    fn push(&mut self, seed: PlacedSeed) {
        self.seeds.push(seed);
        self.next.push(usize::MAX);
    }
}

/// How a seed fits a chain.
enum Fit {
    /// It lies in what the chain spans.
    Inside,
    /// It goes on behind the chain's last seed.
    Behind,
    Not,
}

fn fit(first: PlacedSeed, last: PlacedSeed, seed: PlacedSeed, bases: i64, band: i64) -> Fit {
    let ends = |seed: PlacedSeed| {
        (i64::from(seed.base + seed.length), seed.place + i64::from(seed.length))
    };
    let ((last_end, last_place_end), (end, place_end)) = (ends(last), ends(seed));
    let inside = seed.base >= first.base
        && end <= last_end
        && seed.place >= first.place
        && place_end <= last_place_end;
    if inside {
        return Fit::Inside;
    }
    if (last.place < bases || first.place < bases) && seed.place >= bases {
        return Fit::Not;
    }
    let in_read = i64::from(seed.base - last.base);
    let in_genome = seed.place - last.place;
    let length = i64::from(last.length);
    let goes_on = in_genome >= 0
        && (in_read - in_genome).abs() <= band
        && in_read - length < GREATEST_GAP
        && in_genome - length < GREATEST_GAP;
    if goes_on { Fit::Behind } else { Fit::Not }
}

/// The sequence that a seed lies in, and whether that is an ALT one; `None` if it lies in two, or
/// across the border of the strands.
fn sequence_of(index: IndexView<'_>, seed: PlacedSeed) -> Option<(i32, bool)> {
    let (bases, length) = (index.parts.bases as i64, i64::from(seed.length));
    let start = match seed.place {
        place if place >= bases => 2 * bases - place - length,
        place if place + length > bases => return None,
        place => place,
    };
    let start = u64::try_from(start).ok()?;
    let number = index.sequences.partition_point(|sequence| sequence.end <= start);
    let sequence = index.sequences.get(number)?;
    let in_one = start + length as u64 <= sequence.end;
    in_one.then_some((number as i32, sequence.alternate))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::Sequence;
    use crate::index::test_view::{SEQUENCES, view_of};

    /// A seed by its place in `T`, its first base in the read, and its length.
    fn seed([place, base, length]: [i64; 3]) -> PlacedSeed {
        let (base, length) = (base as i32, length as i32);
        PlacedSeed { place, base, length, score: length }
    }

    fn chains_of(sequences: &[Sequence], band: i64, seeds: &[[i64; 3]]) -> Chains {
        let (mut chains, mut tree) = (Chains::default(), Tree::default());
        seeds.iter().for_each(|&of| chains.add(&mut tree, view_of(sequences), band, seed(of)));
        chains.settle(&tree);
        chains
    }

    #[test]
    fn seeds_join_chains_as_those_of_bwa_do() {
        let long = [Sequence { start: 0, end: 50_000, alternate: false }];
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
        // The second in front of the first, in the genome alone.
        three(&[[350, 0, 20], [345, 3, 20]], &[&[1], &[0]]);
        // At one place: one that joins, and one that does not.
        three(&[[340, 0, 20], [340, 10, 20]], &[&[0, 1]]);
        three(&[[340, 0, 20], [340, 11, 20]], &[&[0], &[1]]);
        // A third goes between them; what is behind all is compared with the last.
        let at_one_place =
            [[340, 0, 20], [340, 30, 20], [365, 25, 20], [340, 60, 20], [345, 35, 20]];
        three(&at_one_place, &[&[0], &[3], &[1, 4], &[2]]);
        // Two sequences, both strands, and what lies in neither.
        three(&[[150, 0, 20], [205, 50, 20]], &[&[0], &[1]]);
        three(&[[650, 0, 20], [705, 50, 20]], &[&[0], &[1]]);
        three(&[[705, 0, 20], [755, 50, 20]], &[&[0, 1]]);
        three(&[[190, 0, 20]], &[]);
        three(&[[180, 0, 20], [690, 10, 20], [1061, 30, 20]], &[&[0]]);
        // Chains in turn: each seed goes to the one that begins nearest in front.
        let in_turn = [[340, 0, 20], [500, 3, 20], [365, 25, 20], [530, 33, 20], [400, 60, 20]];
        three(&in_turn, &[&[0, 2, 4], &[1, 3]]);
        // The greatest gap.
        t(&long, 20_000, &[[100, 0, 20], [10_119, 50, 20]], &[&[0, 1]]);
        t(&long, 20_000, &[[100, 0, 20], [10_120, 50, 20]], &[&[0], &[1]]);
    }
}
