//! Which chains of a read are extended, as bwa chooses them (`mem_chain_flt`).
//!
//! From the heaviest to the lightest: a chain of which much overlaps a heavier one in the read is
//! dropped if it is much lighter, but of each chain that is kept the first that overlaps it so is
//! kept too. Which of two chains of one weight comes first is as [`introsort`] leaves it.

use super::Seed;
use crate::engine::bwa::order::introsort::introsort;
use crate::engine::bwa::settings::FilterOptions;

/// A chain's weight (`mem_chain_weight`) and span, by which chains are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WeighedChain {
    /// Bases that its seeds cover in the read or in the genome, the fewer.
    weight: i32,
    /// Its first seed's first base in the read.
    start: i32,
    /// One past its last seed's last base.
    end: i32,
    is_alt: bool,
}

impl WeighedChain {
    /// Of a chain's seeds, one or more, in order.
    pub(crate) fn of(seeds: &[Seed], is_alt: bool) -> Self {
        let (mut in_read, mut in_genome) = (Cover::default(), Cover::default());
        for seed in seeds {
            in_read.add(i64::from(seed.read_start), seed.length);
            in_genome.add(seed.reference_start, seed.length);
        }
        let start = seeds.first().map_or(0, |seed| seed.read_start);
        let end = seeds.last().map_or(0, |seed| seed.read_start + seed.length);
        Self { weight: in_read.bases.min(in_genome.bases), start, end, is_alt }
    }
}

/// Bases that segments cover, if they come by their starts.
#[derive(Debug, Default)]
struct Cover {
    bases: i32,
    end: i64,
}

impl Cover {
    fn add(&mut self, start: i64, length: i32) {
        let end = start + i64::from(length);
        if start >= self.end {
            self.bases += length;
        } else if end > self.end {
            self.bases += (end - self.end) as i32;
        }
        self.end = self.end.max(end);
    }
}

/// Why a chain is kept (`kept` of `mem_chain_t`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kept {
    /// It is not kept.
    Dropped = 0,
    /// Much lighter than one that it overlaps, but the first of these.
    Shadowed = 1,
    /// It overlaps another, and is not much lighter.
    Overlapping = 2,
    /// It overlaps none that is heavier.
    NoOverlap = 3,
}

/// A chain that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChosenChain {
    /// Its number in the input.
    pub(crate) number: usize,
    pub(crate) weight: i32,
    pub(crate) kept: Kept,
    /// The first that overlaps it, by its number when all are sorted; -1 if none does.
    pub(crate) first: i32,
}

/// A chain in the order of weights.
#[derive(Debug, Clone, Copy)]
struct Ranked {
    chain: WeighedChain,
    number: usize,
    kept: Kept,
    first: i32,
}

/// Working memory.
#[derive(Debug, Default)]
pub(crate) struct Filter {
    chains: Vec<WeighedChain>,
    order: Vec<(i32, u32)>,
    ranked: Vec<Ranked>,
    /// The chains that stay, by their rank.
    staying: Vec<usize>,
    /// Those of `staying`, by number, that no lighter chain overlaps yet.
    open: Vec<usize>,
    chosen: Vec<ChosenChain>,
}

impl Filter {
    /// Chooses among the chains of a read, which come by where they begin.
    pub(crate) fn choose(
        &mut self,
        chains: impl Iterator<Item = WeighedChain>,
        options: &FilterOptions,
    ) -> &[ChosenChain] {
        self.chains.clear();
        self.chains.extend(chains);
        if self.rank_two(options) {
            return self.take(options.most_over_others);
        }
        self.rank(options.least_weight);
        self.compare(options);
        for &rank in &self.staying {
            if let Ok(first) = usize::try_from(self.ranked[rank].first) {
                self.ranked[first].kept = Kept::Shadowed;
            }
        }
        self.take(options.most_over_others)
    }

    /// Ranks the two heaviest chains, where all others are dropped: all overlap the first, and are
    /// much lighter. False if that is not so, or the second may be another by the order of equals.
    fn rank_two(&mut self, options: &FilterOptions) -> bool {
        let Self { chains, ranked, .. } = self;
        let numbered = || chains.iter().copied().enumerate();
        let weight = |&(_, chain): &(usize, WeighedChain)| chain.weight;
        let Some((heaviest, chain)) = numbered().max_by_key(weight) else { return false };
        let others = || numbered().filter(|&(number, _)| number != heaviest);
        let Some((second, next)) = others().max_by_key(weight) else { return false };
        if others().filter(|(_, it)| it.weight == next.weight).count() > 1 {
            return false;
        }
        let is_shadowed = |it: &WeighedChain| overlaps(it, &chain, options);
        let drops_others = next.weight >= options.least_weight
            && is_much_lighter(next.weight, chain.weight, options)
            && others().all(|(_, it)| it.weight < options.least_weight || is_shadowed(&it));
        if drops_others {
            ranked.clear();
            ranked.push(Ranked { chain, number: heaviest, kept: Kept::NoOverlap, first: 1 });
            ranked.push(Ranked { chain: next, number: second, kept: Kept::Shadowed, first: -1 });
        }
        drops_others
    }

    /// Puts the chains that are not too light in order.
    fn rank(&mut self, least_weight: i32) {
        let Self { chains, order, ranked, .. } = self;
        order.clear();
        let heavy = |&(weight, _): &(i32, u32)| weight >= least_weight;
        order.extend((0..).zip(&*chains).map(|(at, chain)| (chain.weight, at)).filter(heavy));
        introsort(order, |a, b| a.0 > b.0);
        ranked.clear();
        ranked.extend(order.iter().map(|&(_, number)| {
            let number = number as usize;
            Ranked { chain: chains[number], number, kept: Kept::Dropped, first: -1 }
        }));
    }

    /// Compares each chain with those that stay. What is not much lighter than the first of them
    /// that it overlaps is not much lighter than any after, which are no heavier: of these only
    /// those have to be looked at that no lighter chain overlaps yet.
    fn compare(&mut self, options: &FilterOptions) {
        let Self { ranked, staying, open, .. } = self;
        staying.clear();
        open.clear();
        for rank in 0..ranked.len() {
            let chain = ranked[rank].chain;
            let over =
                |other: usize, ranked: &[Ranked]| overlaps(&chain, &ranked[other].chain, options);
            let first = staying.iter().position(|&other| over(other, ranked));
            if let Some(at) = first {
                let other = staying[at];
                if ranked[other].first < 0 {
                    ranked[other].first = rank as i32;
                    open.retain(|&open| open != at);
                }
                if is_much_lighter(chain.weight, ranked[other].chain.weight, options) {
                    continue;
                }
                open.retain(|&behind| {
                    let overlaps = behind > at && over(staying[behind], ranked);
                    if overlaps {
                        ranked[staying[behind]].first = rank as i32;
                    }
                    !overlaps
                });
            }
            ranked[rank].kept = if first.is_some() { Kept::Overlapping } else { Kept::NoOverlap };
            open.push(staying.len());
            staying.push(rank);
        }
    }

    /// Those that are kept, in order.
    fn take(&mut self, most_over_others: i32) -> &[ChosenChain] {
        let Self { ranked, chosen, .. } = self;
        chosen.clear();
        let mut over_others = 0;
        for Ranked { chain, number, kept, first } in &*ranked {
            if *kept == Kept::Dropped {
                continue;
            }
            // As in bwa, one fewer than there may be.
            over_others += i32::from(*kept != Kept::NoOverlap);
            if *kept != Kept::NoOverlap && over_others >= most_over_others {
                continue;
            }
            let (number, weight, kept, first) = (*number, chain.weight, *kept, *first);
            chosen.push(ChosenChain { number, weight, kept, first });
        }
        chosen
    }
}

/// Whether much of a chain overlaps one that stays, in the read. An ALT chain hides no other.
fn overlaps(chain: &WeighedChain, staying: &WeighedChain, options: &FilterOptions) -> bool {
    let common = chain.end.min(staying.end) - chain.start.max(staying.start);
    if common <= 0 || (staying.is_alt && !chain.is_alt) {
        return false;
    }
    let shorter = (chain.end - chain.start).min(staying.end - staying.start);
    common as f32 >= shorter as f32 * options.overlap && shorter < options.greatest_gap
}

fn is_much_lighter(weight: i32, other: i32, options: &FilterOptions) -> bool {
    (weight as f32) < other as f32 * options.drop && other - weight >= options.lighter
}

#[cfg(test)]
mod tests {
    use super::super::super::oracle;
    use super::super::super::oracle::index::Options;
    use super::super::super::oracle::layout::LibraryChain;
    use super::super::super::settings::Settings;
    use super::*;
    use proptest::prelude::*;

    /// Seeds by their first base, length, and how far their places are after one another.
    fn seeds() -> impl Strategy<Value = Vec<Seed>> {
        let seed = (0..60, prop_oneof![Just(19), 19..60], 0..3_i64);
        let reference_start = prop_oneof![0_i64..1000, Just(500)];
        (reference_start, 0..200, proptest::collection::vec(seed, 1..5), any::<bool>()).prop_map(
            |(mut reference_start, mut read_start, steps, far)| {
                let seed = |(step, length, apart)| {
                    let step = if far { step * 100 } else { step };
                    (reference_start, read_start) =
                        (reference_start + i64::from(step) + apart, read_start + step);
                    Seed { reference_start, read_start, length, score: length }
                };
                steps.into_iter().map(seed).collect()
            },
        )
    }

    fn chains() -> impl Strategy<Value = Vec<(Vec<Seed>, bool)>> {
        let chain = (seeds(), proptest::bool::weighted(0.2));
        // Many of the same weight and span.
        let copied = (chain, prop_oneof![Just(1), 1_usize..6]);
        let some = proptest::collection::vec(copied, 0..25);
        // And one that is longer than all.
        let long = (proptest::bool::ANY, any::<prop::sample::Index>(), 40..320);
        (some, long).prop_map(|(some, (is_there, at, length))| {
            let repeated = |(chain, times)| std::iter::repeat_n(chain, times);
            let mut all: Vec<(Vec<Seed>, bool)> = some.into_iter().flat_map(repeated).collect();
            if is_there {
                let seed = Seed { reference_start: 400, read_start: 0, length, score: length };
                all.insert(at.index(all.len() + 1), (vec![seed], false));
            }
            all
        })
    }

    #[test]
    fn two_chains_are_ranked_where_all_others_are_dropped() {
        let options = Settings::of(Options::new().unwrap().get()).filter;
        let t = |chains: &[[i32; 3]], expected: Option<[usize; 2]>| {
            let chain = |&[weight, start, end]: &[i32; 3]| WeighedChain {
                weight,
                start,
                end,
                is_alt: false,
            };
            let mut filter =
                Filter { chains: chains.iter().map(chain).collect(), ..Filter::default() };
            let found = filter.rank_two(&options);
            let ranked: Vec<_> = filter.ranked.iter().map(|it| it.number).collect();
            assert_eq!(found.then_some(ranked), expected.map(Vec::from), "{chains:?}");
        };
        t(&[], None);
        t(&[[100, 0, 100]], None);
        t(&[[100, 0, 100], [49, 0, 49]], Some([0, 1]));
        t(&[[49, 0, 49], [100, 0, 100]], Some([1, 0]));
        t(&[[20, 0, 20], [49, 0, 49], [100, 0, 100], [30, 50, 80]], Some([2, 1]));
        // Not much lighter: by half, and by twice the least seed.
        t(&[[100, 0, 100], [50, 0, 50]], None);
        t(&[[76, 0, 76], [37, 0, 37]], Some([0, 1]));
        t(&[[75, 0, 75], [37, 0, 37]], Some([0, 1]));
        t(&[[58, 0, 58], [20, 0, 20]], Some([0, 1]));
        t(&[[57, 0, 57], [20, 0, 20]], None);
        // By half within the first, and by a base fewer.
        t(&[[100, 0, 100], [49, 76, 124], [20, 90, 110]], Some([0, 1]));
        t(&[[100, 0, 100], [49, 76, 124], [20, 91, 111]], None);
        // Of two equal ones either may be the second; of others that does not matter.
        t(&[[100, 0, 100], [49, 0, 49], [49, 9, 58]], None);
        t(&[[49, 0, 49], [49, 9, 58], [100, 0, 100]], None);
        t(&[[100, 0, 100], [49, 0, 49], [20, 9, 29], [20, 0, 20]], Some([0, 1]));
        t(&[[100, 0, 100], [100, 0, 100], [20, 9, 29]], None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn the_chains_that_are_kept_are_those_of_the_library(
            chains in chains(),
            least_weight in prop_oneof![3 => Just(0), 1 => 0..80],
            overlap in prop_oneof![2 => Just(0.5), 1 => 0.0_f32..1.5],
            drop in prop_oneof![2 => Just(0.5), 1 => 0.0_f32..1.5],
            greatest_gap in prop_oneof![2 => Just(10_000), 1 => 20..200],
            most_over_others in prop_oneof![2 => Just(1 << 30), 1 => 0..6],
        ) {
            let mut options = Options::new().unwrap();
            options.change(|o| {
                (o.min_chain_weight, o.max_chain_gap) = (least_weight, greatest_gap);
                (o.mask_level, o.drop_ratio) = (overlap, drop);
                o.max_chain_extend = most_over_others;
            });
            let mut filter = Filter::default();
            let of = |(seeds, is_alt): &(Vec<Seed>, bool)| WeighedChain::of(seeds, *is_alt);
            let weighed = chains.iter().map(of);
            let found: Vec<_> = filter
                .choose(weighed, &Settings::of(options.get()).filter)
                .iter()
                .map(|kept| {
                    let is_alt = chains[kept.number].1;
                    (kept.number as i32, LibraryChain::bits(kept, is_alt), kept.first)
                })
                .collect();
            let expected: Vec<_> = oracle::chosen(&options, &chains)
                .iter()
                .map(|chain| (chain.sequence, chain.bits, chain.first))
                .collect();
            prop_assert_eq!(found, expected);
        }
    }
}
