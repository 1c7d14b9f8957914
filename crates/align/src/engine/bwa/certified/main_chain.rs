//! Which chain of a read is the one of the region that is known.

use super::{KnownRegion, MainChain};
use crate::engine::bwa::chain::{ReadChains, Seed};

/// The first chain on the diagonal of `region`, which is the diagonal's. Its region is that one if
/// all its seeds are on the diagonal, and its longest, of equal ones the last, is the region's: the
/// other seeds are in the region. It holds if no chain is extended before it.
pub(super) fn main_chain(chains: ReadChains<'_>, region: KnownRegion) -> Option<MainChain> {
    let on_diagonal =
        |seed: &Seed| seed.reference_start - i64::from(seed.read_start) == region.position as i64;
    let mut all = chains.chains.iter().map(|chain| chains.seeds(chain)).enumerate();
    let (number, seeds) = all.find(|(_, seeds)| seeds.first().is_some_and(on_diagonal))?;
    let longest = seeds.iter().max_by_key(|seed| seed.length)?;
    let is_region_s = longest.length as usize == region.seed_bases
        && longest.read_start as usize == region.seed_start;
    (is_region_s && seeds.iter().all(on_diagonal)).then_some(MainChain { number, region })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::bwa::chain::build::tests::chains_of;
    use crate::engine::bwa::seed::Mismatches;
    use crate::index::test_view::SEQUENCES;

    #[test]
    fn the_region_on_the_diagonal_is_that_of_its_longest_seed() {
        // A read of 100 bases at position 340 with a region of the whole read, from `seed` on.
        let region = |[start, end]: [usize; 2]| KnownRegion {
            position: 340,
            sequence: 2,
            bases: [0, 100],
            score: 90,
            true_score: 90,
            seed_bases: end - start,
            seed_start: start,
            mismatches: Mismatches::default(),
        };
        let t = |seeds: &[[i64; 3]], of_region, expected: bool| {
            let chains = chains_of(&SEQUENCES, 10, seeds);
            let chains = chains.last().unwrap();
            let main = main_chain(chains, region(of_region));
            assert_eq!(main.is_some(), expected, "{seeds:?} {of_region:?}");
            if let Some(main) = main {
                let first = chains.seeds(&chains.chains[main.number])[0];
                assert_eq!(first.reference_start, 340 + seeds[0][1]);
                assert_eq!(main.region.bases, [0, 100]);
            }
        };
        t(&[[340, 0, 60], [401, 61, 39]], [0, 60], true);
        t(&[[370, 30, 25], [340 + 60, 60, 30]], [60, 90], true);
        // Of equal ones the last.
        t(&[[340, 0, 30], [371, 31, 30]], [31, 61], true);
        t(&[[340, 0, 30], [371, 31, 30]], [0, 30], false);
        // The region's is not there, a longer one is, or only a piece of it.
        t(&[[340, 0, 30]], [31, 61], false);
        t(&[[340, 0, 30], [371, 31, 29]], [31, 60], false);
        t(&[[340, 0, 20]], [0, 30], false);
        // One is off the diagonal.
        t(&[[340, 0, 30], [372, 31, 20]], [0, 30], false);
        // No chain begins on the diagonal.
        t(&[[341, 0, 30], [371, 31, 20]], [0, 30], false);
    }
}
