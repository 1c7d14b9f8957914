//! Seed extension: from the chains of reads to their regions (`mem_chain2aln`).
//!
//! The seeds of a chain are extended from the longest down, to the left and then to the right; one
//! that is contained in a region found before is skipped. So which seeds are extended depends on
//! earlier results. Here the longest seed of every chain is extended ahead, many in the lanes of a
//! kernel; then read by read, in bwa's order, results are used or dropped, and reads that need
//! another seed wait for the next round.

mod contained;
mod dispatch;
mod flank;
mod flanks;
mod kernel;
mod scalar;
mod window;

use std::ops::Range;

use contained::{is_in_region, may_lead_elsewhere};
use dispatch::Kernels;
use flanks::{FlankStart, Flanks};
use window::window;

use super::chain::build::{Chains, Seed};
use super::chain::filter::Filter;
use super::chain::long_reads::LongReads;
use super::cigar::Tracer;
use super::context::Context;
use super::regions::Region;
use super::regions::redundant::{RedundantScratch, remove_redundant};
use super::settings::Settings;

/// An extended seed: its region.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ExtendedSeed {
    pub(super) region: Region,
    /// Bases of the seed.
    pub(super) seed_bases: i32,
}

/// A chain whose region is known.
#[derive(Debug, Clone, Copy)]
pub(super) struct KnownChain {
    /// Number of the chain in [`Chains`].
    pub(super) chain: usize,
    pub(super) extended: ExtendedSeed,
}

/// A chain that the filter kept.
#[derive(Debug)]
struct KeptChain {
    sequence: usize,
    repetitive: f32,
    seeds: Range<usize>,
    /// The window of the reference over which its seeds are extended.
    window: [i64; 2],
    /// Its region, if that is known without an extension.
    known: Option<ExtendedSeed>,
    /// The seed that was extended last, by its number among all, and its region.
    ahead: Option<(usize, ExtendedSeed)>,
}

/// A read with chains still to be extended.
#[derive(Debug)]
struct PendingRead {
    /// Its number in the batch.
    number: usize,
    codes: Range<usize>,
    chains: Range<usize>,
    /// The chain that is extended, and how many of its seeds are left, the longest last.
    chain: usize,
    left: Option<usize>,
    found: Vec<ExtendedSeed>,
}

/// The extension of one seed: left, then right.
#[derive(Debug, Clone, Copy)]
struct SeedExtension {
    read: usize,
    chain: usize,
    seed: usize,
    /// Its flanks left and right, by number in [`Flanks`]; none at an end of the read.
    flanks: [Option<usize>; 2],
    so_far: ExtendedSeed,
}

/// In place of the number of a seed that was skipped.
const PASSED_OVER: usize = usize::MAX;

/// Chains of so many are extended together, or of one read.
const MOST_CHAINS: usize = 2048;

/// Working memory of one worker, and the regions of the reads of a batch.
#[derive(Debug)]
pub(super) struct Extender {
    kernels: Kernels,
    flanks: Flanks,
    filter: Filter,
    long_reads: LongReads,
    redundant: RedundantScratch,
    tracer: Tracer,
    codes: Vec<u8>,
    reads: Vec<PendingRead>,
    chains: Vec<KeptChain>,
    seeds: Vec<Seed>,
    /// Numbers of the seeds of each chain, by score; those passed over are [`PASSED_OVER`].
    order: Vec<usize>,
    seed_extensions: Vec<SeedExtension>,
    /// Recycled lists of earlier reads.
    spare: Vec<Vec<ExtendedSeed>>,
    regions: Vec<Region>,
    /// The regions of each read of the batch.
    of_reads: Vec<Range<usize>>,
}

impl Extender {
    pub(super) fn new() -> Self {
        Self {
            kernels: Kernels::new(),
            flanks: Flanks::default(),
            filter: Filter::default(),
            long_reads: LongReads::new(),
            redundant: RedundantScratch::default(),
            tracer: Tracer::default(),
            codes: Vec::new(),
            reads: Vec::new(),
            chains: Vec::new(),
            seeds: Vec::new(),
            order: Vec::new(),
            seed_extensions: Vec::new(),
            spare: Vec::new(),
            regions: Vec::new(),
            of_reads: Vec::new(),
        }
    }

    /// Begins a batch of so many reads, none of which has a region.
    pub(super) fn clear(&mut self, reads: usize) {
        self.regions.clear();
        self.of_reads.clear();
        self.of_reads.resize(reads, 0..0);
    }

    /// The regions of read `number`, the best first.
    pub(super) fn found(&self, number: usize) -> &[Region] {
        &self.regions[self.of_reads[number].clone()]
    }

    /// Takes read `number`, with its bases as codes, and its chains, of which the filter keeps
    /// some. Call [`Extender::extend`] when all are taken.
    pub(super) fn add(
        &mut self,
        number: usize,
        codes: impl FnOnce(&mut Vec<u8>),
        chains: &Chains,
        known: Option<KnownChain>,
        context: Context<'_>,
    ) {
        if self.chains.len() >= MOST_CHAINS {
            self.extend(context);
        }
        let (start, first) = (self.codes.len(), self.chains.len());
        codes(&mut self.codes);
        let codes = start..self.codes.len();
        let settings = context.settings;
        for chosen in self.filter.choose(chains.weighed(), &settings.filter) {
            let (at, chain) = chains.at(chosen.number);
            let start = self.seeds.len();
            self.seeds.extend_from_slice(chains.seeds(chain));
            self.chains.push(KeptChain {
                sequence: chain.sequence as usize,
                repetitive: chains.repetitive,
                seeds: start..self.seeds.len(),
                window: [0; 2],
                // Seeds of a later chain may be in a region found before.
                known: known
                    .filter(|known| known.chain == at && self.chains.len() == first)
                    .map(|known| known.extended),
                ahead: None,
            });
        }
        self.drop_seeds_of_chance(codes.clone(), first, context);
        for chain in &mut self.chains[first..] {
            let seeds = &self.seeds[chain.seeds.clone()];
            let length = codes.len() as i32;
            chain.window = window(seeds, chain.sequence, length, context.reference, settings);
            let start = self.order.len();
            self.order.extend(chain.seeds.clone());
            self.order[start..].sort_unstable_by_key(|&at| (self.seeds[at].score, at));
        }
        let found = self.spare.pop().unwrap_or_default();
        let chains = first..self.chains.len();
        self.reads.push(PendingRead { number, codes, chains, chain: first, left: None, found });
    }

    /// Of long reads, drops seeds of the chains from `first` on, which are those of the last read.
    fn drop_seeds_of_chance(&mut self, codes: Range<usize>, first: usize, context: Context<'_>) {
        let Self { chains, seeds, long_reads, codes: all_codes, .. } = self;
        let codes = &all_codes[codes];
        let Some(least) = long_reads.least_score(codes.len(), context.settings) else { return };
        let Some(start) = chains.get(first).map(|chain| chain.seeds.start) else { return };
        let before = seeds.split_off(start);
        for chain in &mut chains[first..] {
            let of_chain = &before[chain.seeds.start - start..chain.seeds.end - start];
            let kept = seeds.len();
            long_reads.keep(codes, of_chain, least, context, seeds);
            chain.seeds = kept..seeds.len();
        }
    }

    /// Finds the regions of all reads that were taken.
    pub(super) fn extend(&mut self, context: Context<'_>) {
        self.seed_extensions.clear();
        for read in 0..self.reads.len() {
            for chain in self.reads[read].chains.clone() {
                let KeptChain { seeds, known, .. } = &self.chains[chain];
                if known.is_none() && !seeds.is_empty() {
                    let seed = self.order[seeds.end - 1];
                    self.seed_extensions.push(SeedExtension::new(read, chain, seed));
                }
            }
        }
        loop {
            self.extend_seeds(context);
            for read in 0..self.reads.len() {
                if let Some(seed_extension) = self.advance(read, context.settings) {
                    self.seed_extensions.push(seed_extension);
                }
            }
            if self.seed_extensions.is_empty() {
                break;
            }
        }
        self.finish(context);
    }

    /// Uses the results of a read's seeds in order, up to a seed that is still to be extended.
    fn advance(&mut self, number: usize, settings: &Settings) -> Option<SeedExtension> {
        let Self { reads, chains, seeds, order, .. } = self;
        let read = &mut reads[number];
        let bases = read.codes.len() as i32;
        while read.chain < read.chains.end {
            let chain = &chains[read.chain];
            if let Some(known) = chain.known {
                read.found.push(known);
                read.chain += 1;
                continue;
            }
            let order = &mut order[chain.seeds.clone()];
            let mut left = read.left.unwrap_or(order.len());
            while let Some(at) = left.checked_sub(1) {
                let seed = order[at];
                if is_passed_over([&order[left..], &[seed]], seeds, &read.found, bases, settings) {
                    order[at] = PASSED_OVER;
                } else {
                    let Some((_, extended)) = chain.ahead.filter(|&(of, _)| of == seed) else {
                        read.left = Some(left);
                        return Some(SeedExtension::new(number, read.chain, seed));
                    };
                    read.found.push(extended);
                }
                left = at;
            }
            (read.chain, read.left) = (read.chain + 1, None);
        }
        None
    }

    /// Extends all pending seeds.
    fn extend_seeds(&mut self, context: Context<'_>) {
        let Self { kernels, flanks, codes, reads, chains, seeds, seed_extensions, .. } = self;
        let Context { settings, reference } = context;
        flanks.clear();
        for seed_extension in seed_extensions.iter() {
            let (seed, bases) =
                (&seeds[seed_extension.seed], reads[seed_extension.read].codes.len() as i64);
            let start = seed.reference_start - i64::from(seed.read_start);
            let [low, high] = chains[seed_extension.chain].window;
            reference.prefetch([start.max(low), (start + bases).min(high)]);
        }
        for seed_extension in seed_extensions.iter_mut() {
            let (seed, chain) = (seeds[seed_extension.seed], &chains[seed_extension.chain]);
            let codes = &codes[reads[seed_extension.read].codes.clone()];
            seed_extension.start(&seed, chain, settings);
            if seed.read_start > 0 {
                let start_at = seed_extension.flank(false, settings);
                let reach = start_at.reach(seed.read_start, settings);
                let start = chain.window[0].max(seed.reference_start - reach);
                let query =
                    |out: &mut Vec<u8>| out.extend(codes[..seed.read_start as usize].iter().rev());
                let target = |out: &mut Vec<u8>| {
                    reference.append_backwards(start, seed.reference_start, out)
                };
                seed_extension.flanks[0] = Some(flanks.add(start_at, settings, query, target));
            }
        }
        flanks.extend(kernels, settings);
        for seed_extension in seed_extensions.iter_mut() {
            if let Some(at) = seed_extension.flanks[0] {
                seed_extension.take_left(
                    flanks.extension(at),
                    &seeds[seed_extension.seed],
                    settings,
                );
            }
        }
        flanks.clear();
        for seed_extension in seed_extensions.iter_mut() {
            let (seed, chain) = (seeds[seed_extension.seed], &chains[seed_extension.chain]);
            let codes = &codes[reads[seed_extension.read].codes.clone()];
            let (end, place) = ((seed.read_start + seed.length) as usize, seed.reference_end());
            if end < codes.len() {
                let start_at = seed_extension.flank(true, settings);
                let reach = start_at.reach((codes.len() - end) as i32, settings);
                let stop = chain.window[1].min(place + reach);
                let query = |out: &mut Vec<u8>| out.extend_from_slice(&codes[end..]);
                let target = |out: &mut Vec<u8>| reference.append(place, stop, out);
                seed_extension.flanks[1] = Some(flanks.add(start_at, settings, query, target));
            }
        }
        flanks.extend(kernels, settings);
        for seed_extension in seed_extensions.drain(..) {
            let mut seed_extension = seed_extension;
            if let Some(at) = seed_extension.flanks[1] {
                let bases = reads[seed_extension.read].codes.len() as i32;
                seed_extension.take_right(
                    flanks.extension(at),
                    &seeds[seed_extension.seed],
                    bases,
                    settings,
                );
            }
            chains[seed_extension.chain].ahead = Some((seed_extension.seed, seed_extension.so_far));
        }
    }

    /// Sorts the regions of all reads, and clears the rest.
    fn finish(&mut self, context: Context<'_>) {
        let Context { settings, reference } = context;
        let mut own = Vec::new();
        for mut read in self.reads.drain(..) {
            own.clear();
            own.extend(read.found.iter().map(|found| found.region));
            let codes = &self.codes[read.codes];
            let tracer = &mut self.tracer;
            let merge = |first: &Region, second: &Region| {
                super::regions::merge::merged([first, second], codes, context, tracer)
            };
            remove_redundant(&mut own, settings, &mut self.redundant, merge);
            for region in &mut own {
                region.is_alt = reference.sequences[region.sequence as usize].is_alt;
            }
            let start = self.regions.len();
            self.regions.extend_from_slice(&own);
            self.of_reads[read.number] = start..self.regions.len();
            read.found.clear();
            self.spare.push(read.found);
        }
        self.codes.clear();
        self.chains.clear();
        self.seeds.clear();
        self.order.clear();
    }
}

/// Whether a seed is skipped, given the seeds of its chain that were looked at before.
fn is_passed_over(
    [before, seed]: [&[usize]; 2],
    seeds: &[Seed],
    found: &[ExtendedSeed],
    read_bases: i32,
    settings: &Settings,
) -> bool {
    let seed = &seeds[seed[0]];
    let extended = before.iter().filter(|&&other| other != PASSED_OVER);
    found.iter().any(|found| is_in_region(seed, found, read_bases, settings))
        && !extended.into_iter().any(|&other| may_lead_elsewhere(seed, &seeds[other]))
}

impl SeedExtension {
    fn new(read: usize, chain: usize, seed: usize) -> Self {
        let so_far = ExtendedSeed { region: Region::default(), seed_bases: 0 };
        Self { read, chain, seed, flanks: [None; 2], so_far }
    }

    /// At first the region is the seed.
    fn start(&mut self, seed: &Seed, chain: &KeptChain, settings: &Settings) {
        let score = seed.length * settings.matching;
        let region = Region {
            reference_start: seed.reference_start,
            reference_end: seed.reference_end(),
            read_start: seed.read_start,
            read_end: seed.read_start + seed.length,
            sequence: chain.sequence as i32,
            score,
            true_score: score,
            band: settings.band,
            repetitive: chain.repetitive,
            ..Region::default()
        };
        self.so_far = ExtendedSeed { region, seed_bases: seed.length };
    }

    /// Where the extension over a flank starts.
    fn flank(&self, is_right: bool, settings: &Settings) -> FlankStart {
        let clip = settings.clip_penalties[usize::from(is_right)];
        FlankStart { seed_score: self.so_far.region.score, clip, band: settings.band, is_right }
    }

    fn take_left(
        &mut self,
        (found, band): (flank::Extension, i32),
        seed: &Seed,
        settings: &Settings,
    ) {
        let region = &mut self.so_far.region;
        (region.score, region.band) = (found.score, region.band.max(band));
        if found.end_score <= 0 || found.end_score <= found.score - settings.clip_penalties[0] {
            region.read_start = seed.read_start - found.query_bases;
            region.reference_start = seed.reference_start - i64::from(found.target_bases);
            region.true_score = found.score;
        } else {
            region.read_start = 0;
            region.reference_start = seed.reference_start - i64::from(found.end_target_bases);
            region.true_score = found.end_score;
        }
    }

    fn take_right(
        &mut self,
        (found, band): (flank::Extension, i32),
        seed: &Seed,
        read_bases: i32,
        settings: &Settings,
    ) {
        let region = &mut self.so_far.region;
        let before = region.score;
        (region.score, region.band) = (found.score, region.band.max(band));
        if found.end_score <= 0 || found.end_score <= found.score - settings.clip_penalties[1] {
            region.read_end = seed.read_start + seed.length + found.query_bases;
            region.reference_end = seed.reference_end() + i64::from(found.target_bases);
            region.true_score += found.score - before;
        } else {
            region.read_end = read_bases;
            region.reference_end = seed.reference_end() + i64::from(found.end_target_bases);
            region.true_score += found.end_score - before;
        }
    }
}

#[cfg(test)]
mod tests;
