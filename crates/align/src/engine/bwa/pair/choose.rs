//! Which regions of two mates make the best pair, and what is written of it (`mem_pair`, and what
//! `mem_sam_pe` makes of its result).

use super::super::float::{crowd_penalty, raw_quality, rounded};
use super::super::reference::Reference;
use super::super::regions::mapq::{MOST, mapq_se};
use super::super::regions::mark::mixed;
use super::super::regions::{NONE, Region, WAS_SECONDARY};
use super::super::settings::Settings;
use super::insert_size::Model;
use super::score::PairScores;

/// The best pair of regions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct BestPair {
    /// The region of each mate.
    pub(in super::super) regions: [usize; 2],
    pub(in super::super) score: i32,
    /// Score of the second best pair, 0 if there is none.
    pub(in super::super) second: i32,
    /// Pairs, but for the best, with nearly that score.
    pub(in super::super) near: i32,
}

/// A region by where it begins on its own strand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct PairEnd {
    /// Sequence and place of its first base there.
    start: u64,
    score: i32,
    number: u32,
    on_reverse: bool,
    mate: u8,
}

impl PairEnd {
    fn new(mate: u8, number: u32, region: &Region, reference: &Reference<'_>) -> Self {
        let forward = reference.forward(region.reference_start);
        let sequence = region.sequence as usize;
        let within = forward.wrapping_sub(reference.sequences[sequence].start);
        let on_reverse = region.reference_start >= reference.bases as i64;
        let start = (sequence as u64) << 32 | within;
        Self { start, score: region.score, number, on_reverse, mate }
    }

    /// One of the four kinds of ends: strand and mate.
    fn kind(&self) -> usize {
        usize::from(self.on_reverse) << 1 | usize::from(self.mate)
    }
}

/// A pair of ends, by what orders it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
struct CandidatePair {
    score: i32,
    chance: u32,
    /// Numbers of the ends in order of places, the earlier first.
    ends: [u32; 2],
}

/// The options, the insert-size model and the reference.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Pairing<'a> {
    pub(in super::super) settings: &'a Settings,
    pub(in super::super) model: &'a Model,
    pub(in super::super) scores: &'a PairScores,
    pub(in super::super) reference: &'a Reference<'a>,
}

/// Working memory of [`Pairing::best`].
#[derive(Debug, Default)]
pub(in super::super) struct PairScratch {
    ends: Vec<PairEnd>,
    candidates: Vec<CandidatePair>,
}

impl Pairing<'_> {
    /// The best pair of the regions of two mates, of which only those on primary sequences are
    /// given; `id` is the pair's number.
    pub(in super::super) fn best(
        &self,
        mates: [&[Region]; 2],
        id: u64,
        scratch: &mut PairScratch,
    ) -> Option<BestPair> {
        let PairScratch { ends, candidates } = scratch;
        ends.clear();
        for (mate, regions) in (0..).zip(mates) {
            let numbered = (0..).zip(regions);
            ends.extend(numbered.map(|(at, it)| PairEnd::new(mate, at, it, self.reference)));
        }
        ends.sort_unstable();
        self.candidates(ends, id, candidates);
        let best = *candidates.iter().max()?;
        let others = || candidates.iter().filter(|it| **it != best);
        let second = others().max().map_or(0, |it| it.score);
        let close = self.settings.one_event();
        let near = others().filter(|it| second - it.score <= close).count() as i32;
        let mut regions = [0; 2];
        for end in best.ends.map(|at| &ends[at as usize]) {
            regions[usize::from(end.mate)] = end.number as usize;
        }
        Some(BestPair { regions, score: best.score, second, near })
    }

    /// All pairs of ends that are oriented to each other as a proper pair does.
    fn candidates(&self, ends: &[PairEnd], id: u64, out: &mut Vec<CandidatePair>) {
        out.clear();
        // The number is 32 bits with a sign in bwa, so its highest bits are lost from 2^23 on.
        let id = i64::from((id as i32).wrapping_shl(8)) as u64;
        let mut last: [Option<usize>; 4] = [None; 4];
        for (at, end) in ends.iter().enumerate() {
            for strand in 0..2 {
                let orientation = strand << 1 | usize::from(end.on_reverse);
                let sizes = &self.model[orientation];
                let kind = strand << 1 | usize::from(end.mate ^ 1);
                let Some(latest) = last[kind].filter(|_| !sizes.failed) else { continue };
                for (before, other) in ends[..=latest].iter().enumerate().rev() {
                    if other.kind() != kind {
                        continue;
                    }
                    let distance = (end.start - other.start) as i64;
                    if distance > i64::from(sizes.high) {
                        break;
                    }
                    if distance < i64::from(sizes.low) {
                        continue;
                    }
                    let scores = f64::from(end.score) + f64::from(other.score);
                    let score = rounded(scores + self.scores.of(orientation, distance, sizes));
                    let chance = mixed(((before as u64) << 32 | at as u64) ^ id) as u32;
                    let ends = [before as u32, at as u32];
                    out.push(CandidatePair { score: score.max(0), chance, ends });
                }
            }
            last[end.kind()] = Some(at);
        }
    }

    /// What is written of two mates as a pair; `None` where each goes by its own regions. Of each
    /// mate `on_primary` regions come first that are on primary sequences.
    pub(in super::super) fn resolve(
        &self,
        mates: &mut [Vec<Region>; 2],
        on_primary: [usize; 2],
        id: u64,
        scratch: &mut PairScratch,
    ) -> Option<Resolved> {
        let settings = self.settings;
        let of_primary = [&mates[0][..on_primary[0]], &mates[1][..on_primary[1]]];
        let best = self.best(of_primary, id, scratch).filter(|best| best.score > 0)?;
        let is_split = |it: &Region| it.secondary < 0 && it.score >= settings.least_score;
        if of_primary.iter().any(|regions| regions[1..].iter().any(is_split)) {
            return None;
        }
        let [first, second] = mates.each_ref().map(|regions| regions[0]);
        let apart = first.score + second.score - settings.unpaired_penalty;
        let resolved = if best.score > apart {
            let quality = self.pair_quality(&best, apart, first.repetitive + second.repetitive);
            Resolved {
                regions: best.regions,
                qualities: std::array::from_fn(|at| {
                    let one = &mut mates[at];
                    quality_in_pair(one, best.regions[at], quality, settings)
                }),
                proper: true,
            }
        } else {
            let qualities = [first, second].map(|it| mapq_se(&it, settings));
            Resolved { regions: [0; 2], qualities, proper: false }
        };
        for at in 0..2 {
            make_primary(&mut mates[at], resolved.regions[at], on_primary[at]);
        }
        Some(resolved)
    }

    /// MAPQ of a pair: by how much it is better than the next, and than both mates apart.
    fn pair_quality(&self, best: &BestPair, apart: i32, repetitive: f32) -> i32 {
        let next = best.second.max(apart);
        let mut quality = raw_quality((best.score - next).max(0), self.settings.matching);
        if best.near > 0 {
            quality -= crowd_penalty(best.near);
        }
        rounded(f64::from(quality.clamp(0, MOST)) * (1.0 - 0.5 * f64::from(repetitive)))
    }
}

/// What is written of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Resolved {
    /// The region of each mate.
    pub(in super::super) regions: [usize; 2],
    /// MAPQ of each.
    pub(in super::super) qualities: [i32; 2],
    /// They are oriented to each other as most pairs do.
    pub(in super::super) proper: bool,
}

/// MAPQ of a mate in a pair: its own, raised to the pair's by 40 at most, and no more than its
/// second best alignment nearby allows.
fn quality_in_pair(regions: &mut [Region], chosen: usize, pair: i32, settings: &Settings) -> i32 {
    if let Ok(better) = usize::try_from(regions[chosen].secondary) {
        regions[chosen].sub = regions[better].score;
        regions[chosen].secondary = WAS_SECONDARY;
    }
    let region = &regions[chosen];
    let own = mapq_se(region, settings);
    let raised = own.max(pair.min(own + 40));
    raised.min(raw_quality(region.score - region.tandem_score, settings.matching))
}

/// Makes a region primary to those that its own primary one was, if neither is on an ALT sequence.
fn make_primary(regions: &mut [Region], chosen: usize, on_primary: usize) {
    let old = regions[chosen].secondary_of_all;
    if old < 0 || old as usize >= on_primary {
        return;
    }
    for (at, region) in (0..).zip(regions.iter_mut()) {
        if region.secondary_of_all == old || at == old {
            region.secondary_of_all = chosen as i32;
        }
    }
    regions[chosen].secondary_of_all = NONE;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::TestRunner;

    use seqloom_testkit::genome::{Genome, GenomeOptions};

    use super::super::super::oracle::{Compared, emit};
    use super::super::super::{BwaOptions, emission_tests};
    use super::super::insert_size::InsertSizes;
    use super::*;

    const BASES: i64 = 30_000;

    fn engine() -> Compared {
        let options = GenomeOptions { seed: 11, length_bp: BASES as usize, contigs: 3 };
        let genome = Genome::simulate(&options).unwrap();
        emission_tests::engine(&genome, &BwaOptions::default(), &[])
    }

    fn compare(engine: &Compared, model: &Model, mates: [&[Region]; 2], id: u64) -> bool {
        let settings = Settings::of(engine.library.options.get());
        let scores = PairScores::new(model, settings.matching);
        let reference = engine.reference();
        let pairing =
            Pairing { settings: &settings, model, scores: &scores, reference: &reference };
        let found = pairing.best(mates, id, &mut PairScratch::default());
        let found = found.filter(|best| best.score > 0);
        let expected = emit::best_pair(engine, model, mates, id as i32);
        assert_eq!(found, expected, "{id} {model:?} {mates:?}");
        found.is_some()
    }

    /// Numbers of pairs at which bwa's 32 bits begin to matter, and others.
    fn ids() -> impl Strategy<Value = u64> {
        let edges = [0, (1 << 23) - 1, 1 << 23, 1 << 24, (1 << 31) - 1, 1 << 31, 1 << 32];
        prop_oneof![proptest::sample::select(edges.to_vec()), any::<u64>()]
    }

    fn models() -> impl Strategy<Value = Model> {
        let sizes = (1..900_i32, 0..2000_i32, any::<bool>(), 0..5_u32).prop_map(
            |(low, width, failed, deviation)| InsertSizes {
                low,
                high: low + width,
                failed,
                mean: f64::from(low) + f64::from(width) / 2.3,
                // Also none, as with `-I 300,0`.
                deviation: f64::from(deviation) * 13.7,
            },
        );
        [sizes.clone(), sizes.clone(), sizes.clone(), sizes]
    }

    #[test]
    fn pairs_are_those_of_the_library() {
        let engine = engine();
        assert_eq!(engine.index.sequences().len(), 3);
        let inputs =
            ([emit::some_regions(BASES, 30), emit::some_regions(BASES, 30)], models(), ids());
        let config = ProptestConfig { failure_persistence: None, cases: 3000, ..<_>::default() };
        let found = std::cell::Cell::new(0);
        let check = |(mates, model, id): ([Vec<Region>; 2], Model, u64)| {
            let one = compare(&engine, &model, mates.each_ref().map(Vec::as_slice), id);
            found.set(found.get() + u32::from(one));
            Ok(())
        };
        TestRunner::new(config).run(&inputs, check).unwrap();
        assert!(found.get() > 1000, "{found:?}");
    }
}
