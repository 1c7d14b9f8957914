//! Seed extension: from the chains of reads to their regions (`mem_chain2aln`).
//!
//! The seeds of a chain are extended from the longest down, to the left and then to the right; one
//! that is contained in a region found before is skipped. So which seeds are extended depends on
//! earlier results. Here the longest seed of every chain is extended ahead; once all those of a
//! read are, results are used or dropped in bwa's order, up to a seed that is still to be extended.
//! Extensions of many reads go on side by side, so that there are flanks to fill the lanes of a
//! kernel ([`flanks`]); what comes out does not depend on which are computed together.

mod contained;
mod dispatch;
mod flank;
mod flanks;
mod kernel;
mod scalar;
mod seed_extension;
mod window;

use std::ops::Range;

use contained::{FoundSeeds, may_lead_elsewhere};
use dispatch::Kernels;
use flanks::{Flanks, FoundFlank};
use seed_extension::{NextFlank, SeedExtension};
use window::window;

use super::chain::filter::Filter;
use super::chain::long_reads::LongReads;
use super::chain::{ReadChains, Seed};
use super::cigar::Tracer;
use super::context::Context;
use super::regions::Region;
use super::regions::redundant::{RedundantScratch, remove_redundant};
use super::settings::Settings;

/// An extended seed: its region, as far as later seeds and extensions need it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ExtendedSeed {
    /// See [`Region`].
    pub(super) reference_start: i64,
    pub(super) reference_end: i64,
    pub(super) read_start: i32,
    pub(super) read_end: i32,
    pub(super) sequence: i32,
    pub(super) score: i32,
    pub(super) true_score: i32,
    pub(super) band: i32,
    /// Bases of the seed.
    pub(super) seed_bases: i32,
}

impl ExtendedSeed {
    /// The region, of a read of which the share `repetitive` is in seeds that occur too often.
    pub(super) fn region(&self, repetitive: f32) -> Region {
        Region {
            reference_start: self.reference_start,
            reference_end: self.reference_end,
            read_start: self.read_start,
            read_end: self.read_end,
            sequence: self.sequence,
            score: self.score,
            true_score: self.true_score,
            band: self.band,
            repetitive,
            ..Region::default()
        }
    }
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
    repetitive: f32,
    chains: Range<usize>,
    /// The chain that is extended, and how many of its seeds are left, the longest last.
    chain: usize,
    left: Option<usize>,
    found: FoundSeeds,
    /// Seeds that are being extended.
    in_flight: usize,
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
    /// Numbers of those that wait for no flank.
    ready: Vec<usize>,
    /// Recycled lists of earlier reads.
    spare: Vec<FoundSeeds>,
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
            ready: Vec::new(),
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

    /// How many regions the reads of the batch have.
    pub(super) fn count(&self) -> usize {
        self.regions.len()
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
        chains: ReadChains<'_>,
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
            let chain = &chains.chains[chosen.number];
            let start = self.seeds.len();
            self.seeds.extend_from_slice(chains.seeds(chain));
            self.chains.push(KeptChain {
                sequence: chain.sequence as usize,
                seeds: start..self.seeds.len(),
                window: [0; 2],
                // Seeds of a later chain may be in a region found before.
                known: known
                    .filter(|known| known.chain == chosen.number && self.chains.len() == first)
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
        self.reads.push(PendingRead {
            number,
            codes,
            repetitive: chains.repetitive,
            chains: first..self.chains.len(),
            chain: first,
            left: None,
            found: self.spare.pop().unwrap_or_default(),
            in_flight: 0,
        });
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
        self.begin_longest_seeds(context);
        loop {
            while let Some(number) = self.ready.pop() {
                self.go_on(number, context);
            }
            // The flanks that are left wait for each other.
            let Self { kernels, flanks, seed_extensions, reads, seeds, ready, .. } = self;
            let has_some = flanks.extend_some(kernels, context.settings, &mut |found| {
                let extension = &mut seed_extensions[found.of];
                let bases = reads[extension.read].codes.len() as i32;
                extension.take(found, &seeds[extension.seed], bases, context.settings);
                ready.push(found.of);
            });
            if !has_some {
                break;
            }
        }
        self.finish(context);
    }

    /// Begins to extend the longest seed of each chain.
    fn begin_longest_seeds(&mut self, context: Context<'_>) {
        self.seed_extensions.clear();
        for read in 0..self.reads.len() {
            for chain in self.reads[read].chains.clone() {
                let KeptChain { seeds, known, .. } = &self.chains[chain];
                if known.is_none() && !seeds.is_empty() {
                    let extension = self.begin(read, chain, self.order[seeds.end - 1], context);
                    self.prefetch(&extension, context);
                    self.seed_extensions.push(extension);
                }
            }
            if self.reads[read].in_flight == 0 {
                // All of its regions are known, or there is none.
                let next = self.advance(read, context);
                self.seed_extensions.extend(next);
            }
        }
        self.ready.extend((0..self.seed_extensions.len()).rev());
    }

    /// Begins to extend a seed: at first the region is the seed.
    fn begin(
        &mut self,
        read: usize,
        chain: usize,
        seed: usize,
        context: Context<'_>,
    ) -> SeedExtension {
        self.reads[read].in_flight += 1;
        let (next, settings) = (NextFlank::Left, context.settings);
        let so_far = self.chains[chain].seed_alone(&self.seeds[seed], settings);
        SeedExtension { read, chain, seed, next, so_far }
    }

    /// Has the processor fetch the reference around the read.
    fn prefetch(&self, extension: &SeedExtension, context: Context<'_>) {
        let seed = &self.seeds[extension.seed];
        let bases = self.reads[extension.read].codes.len() as i64;
        let start = seed.reference_start - i64::from(seed.read_start);
        let [low, high] = self.chains[extension.chain].window;
        context.reference.prefetch([start.max(low), (start + bases).min(high)]);
    }

    /// Goes on with an extension, and with the read's next ones, up to a flank that must wait.
    fn go_on(&mut self, number: usize, context: Context<'_>) {
        loop {
            while self.seed_extensions[number].next != NextFlank::None {
                let Some(found) = self.add_flank(number, context) else { return };
                let extension = &mut self.seed_extensions[number];
                let bases = self.reads[extension.read].codes.len() as i32;
                extension.take(found, &self.seeds[extension.seed], bases, context.settings);
            }
            let SeedExtension { read, chain, seed, so_far, .. } = self.seed_extensions[number];
            self.chains[chain].ahead = Some((seed, so_far));
            self.reads[read].in_flight -= 1;
            if self.reads[read].in_flight > 0 {
                return;
            }
            let Some(next) = self.advance(read, context) else { return };
            self.seed_extensions[number] = next;
        }
    }

    /// Adds an extension's next flank to those that wait; what it comes to, if it need not.
    fn add_flank(&mut self, number: usize, context: Context<'_>) -> Option<FoundFlank> {
        let Self { flanks, codes, reads, chains, seeds, seed_extensions, .. } = self;
        let Context { settings, reference } = context;
        let extension = &seed_extensions[number];
        let (seed, [low, high]) = (&seeds[extension.seed], chains[extension.chain].window);
        let codes = &codes[reads[extension.read].codes.clone()];
        let is_right = extension.next == NextFlank::Right;
        let start_at = extension.flank_start(is_right, settings);
        let (start, end) = (seed.read_start as usize, (seed.read_start + seed.length) as usize);
        let bases = if is_right { codes.len() - end } else { start };
        if bases == 0 {
            // The end of the read.
            return Some(FoundFlank { of: number, extension: None });
        }
        let reach = start_at.reach(bases as i32, settings);
        if is_right {
            let from = seed.reference_end();
            let query = |out: &mut Vec<u8>| out.extend_from_slice(&codes[end..]);
            let target = |out: &mut Vec<u8>| reference.append(from, high.min(from + reach), out);
            flanks.add(number, start_at, settings, query, target)
        } else {
            let to = seed.reference_start;
            let query = |out: &mut Vec<u8>| out.extend(codes[..start].iter().rev());
            let target =
                |out: &mut Vec<u8>| reference.append_backwards(low.max(to - reach), to, out);
            flanks.add(number, start_at, settings, query, target)
        }
    }

    /// Uses the results of a read's seeds in order, up to a seed that is still to be extended.
    fn advance(&mut self, number: usize, context: Context<'_>) -> Option<SeedExtension> {
        let Self { reads, chains, seeds, order, .. } = self;
        let settings = context.settings;
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
                        let chain = read.chain;
                        return Some(self.begin(number, chain, seed, context));
                    };
                    read.found.push(extended);
                }
                left = at;
            }
            (read.chain, read.left) = (read.chain + 1, None);
        }
        None
    }

    /// Sorts the regions of all reads, and clears the rest.
    fn finish(&mut self, context: Context<'_>) {
        let Context { settings, reference } = context;
        let mut own = Vec::new();
        for mut read in self.reads.drain(..) {
            own.clear();
            own.extend(read.found.iter().map(|found| found.region(read.repetitive)));
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
    found: &FoundSeeds,
    read_bases: i32,
    settings: &Settings,
) -> bool {
    let seed = &seeds[seed[0]];
    let extended = before.iter().filter(|&&other| other != PASSED_OVER);
    found.contain(seed, read_bases, settings)
        && !extended.into_iter().any(|&other| may_lead_elsewhere(seed, &seeds[other]))
}

impl KeptChain {
    /// A seed as it is before its extension.
    fn seed_alone(&self, seed: &Seed, settings: &Settings) -> ExtendedSeed {
        let score = seed.length * settings.matching;
        ExtendedSeed {
            reference_start: seed.reference_start,
            reference_end: seed.reference_end(),
            read_start: seed.read_start,
            read_end: seed.read_start + seed.length,
            sequence: self.sequence as i32,
            score,
            true_score: score,
            band: settings.band,
            seed_bases: seed.length,
        }
    }
}

#[cfg(test)]
mod tests;
