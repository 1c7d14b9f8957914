//! From the chains of reads to their regions (`mem_chain2aln`, `mem_align1_core`).
//!
//! The seeds of a chain are extended from the longest down, to the left and then to the right; one
//! that lies in a region found before is passed over. So what is extended depends on what was
//! found. Here the longest seed of every chain is extended at once, side by side; then read by
//! read, in bwa's order, what was found is taken or passed over, and reads that need another seed
//! wait for the next round.

mod contained;
mod dispatch;
mod kernel;
mod one;
mod side;
mod sides;
mod window;

use std::ops::Range;

use contained::{is_in_region, may_lead_elsewhere};
use dispatch::Kernels;
use sides::{SideStart, Sides};
use window::window;

use super::chain::build::{Chains, PlacedSeed};
use super::chain::filter::Filter;
use super::chain::long_reads::LongReads;
use super::cigar::Tracer;
use super::reference::Reference;
use super::regions::Region;
use super::regions::redundant::{RedundantScratch, remove_redundant};
use super::settings::Settings;

/// A region of an extended seed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Extended {
    pub(super) region: Region,
    /// Bases of the seed.
    pub(super) seed_bases: i32,
}

/// A chain whose region is known.
#[derive(Debug, Clone, Copy)]
pub(super) struct KnownChain {
    /// Number of the chain in [`Chains`].
    pub(super) chain: usize,
    pub(super) extended: Extended,
}

/// A chain that the filter kept.
#[derive(Debug)]
struct KeptChain {
    sequence: usize,
    repetitive: f32,
    seeds: Range<usize>,
    /// Its part of the reference.
    window: [i64; 2],
    /// Its region, if that is known without an extension.
    known: Option<Extended>,
    /// The seed that was extended last, by its number among all, and its region.
    ahead: Option<(usize, Extended)>,
}

/// A read on its way.
#[derive(Debug)]
struct ReadInWork {
    /// Its number in the batch.
    number: usize,
    codes: Range<usize>,
    chains: Range<usize>,
    /// The chain that is extended, and how many of its seeds are left, the longest last.
    chain: usize,
    left: Option<usize>,
    found: Vec<Extended>,
}

/// A seed that is extended.
#[derive(Debug, Clone, Copy)]
struct Job {
    read: usize,
    chain: usize,
    seed: usize,
    /// Its sides, where it has bases there.
    sides: [Option<usize>; 2],
    so_far: Extended,
}

/// The number of a seed that was passed over.
const PASSED_OVER: usize = usize::MAX;

/// Chains of so many are extended together, or of one read.
const MOST_CHAINS: usize = 2048;

/// Working memory of one worker, and the regions of the reads of a batch.
#[derive(Debug)]
pub(super) struct Extender {
    kernels: Kernels,
    sides: Sides,
    filter: Filter,
    long_reads: LongReads,
    redundant: RedundantScratch,
    tracer: Tracer,
    codes: Vec<u8>,
    reads: Vec<ReadInWork>,
    chains: Vec<KeptChain>,
    seeds: Vec<PlacedSeed>,
    /// Numbers of the seeds of each chain, by score; those passed over are [`PASSED_OVER`].
    order: Vec<usize>,
    jobs: Vec<Job>,
    /// Of reads that were in work before.
    spare: Vec<Vec<Extended>>,
    regions: Vec<Region>,
    /// The regions of each read of the batch.
    of_reads: Vec<Range<usize>>,
}

/// What extension works by.
#[derive(Debug, Clone, Copy)]
pub(super) struct Basis<'a> {
    pub(super) settings: &'a Settings,
    pub(super) reference: &'a Reference<'a>,
}

impl Extender {
    pub(super) fn new() -> Self {
        Self {
            kernels: Kernels::new(),
            sides: Sides::default(),
            filter: Filter::default(),
            long_reads: LongReads::new(),
            redundant: RedundantScratch::default(),
            tracer: Tracer::default(),
            codes: Vec::new(),
            reads: Vec::new(),
            chains: Vec::new(),
            seeds: Vec::new(),
            order: Vec::new(),
            jobs: Vec::new(),
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
        basis: Basis<'_>,
    ) {
        if self.chains.len() >= MOST_CHAINS {
            self.extend(basis);
        }
        let (start, first) = (self.codes.len(), self.chains.len());
        codes(&mut self.codes);
        let codes = start..self.codes.len();
        let settings = basis.settings;
        for chosen in self.filter.choose(chains.weighed(), &settings.filter) {
            let (at, chain) = chains.at(chosen.number);
            let start = self.seeds.len();
            self.seeds.extend_from_slice(chains.seeds(chain));
            self.chains.push(KeptChain {
                sequence: chain.sequence as usize,
                repetitive: chains.repetitive,
                seeds: start..self.seeds.len(),
                window: [0; 2],
                // Seeds of a later chain may lie in a region found before.
                known: known
                    .filter(|known| known.chain == at && self.chains.len() == first)
                    .map(|known| known.extended),
                ahead: None,
            });
        }
        self.drop_seeds_of_chance(codes.clone(), first, basis);
        for chain in &mut self.chains[first..] {
            let seeds = &self.seeds[chain.seeds.clone()];
            let length = codes.len() as i32;
            chain.window = window(seeds, chain.sequence, length, basis.reference, settings);
            let start = self.order.len();
            self.order.extend(chain.seeds.clone());
            self.order[start..].sort_unstable_by_key(|&at| (self.seeds[at].score, at));
        }
        let found = self.spare.pop().unwrap_or_default();
        let chains = first..self.chains.len();
        self.reads.push(ReadInWork { number, codes, chains, chain: first, left: None, found });
    }

    /// Of long reads, drops seeds of the chains from `first` on, which are those of the last read.
    fn drop_seeds_of_chance(&mut self, codes: Range<usize>, first: usize, basis: Basis<'_>) {
        let Self { chains, seeds, long_reads, codes: all_codes, .. } = self;
        let codes = &all_codes[codes];
        let Some(least) = long_reads.least_score(codes.len(), basis.settings) else { return };
        let Some(start) = chains.get(first).map(|chain| chain.seeds.start) else { return };
        let before = seeds.split_off(start);
        for chain in &mut chains[first..] {
            let of_chain = &before[chain.seeds.start - start..chain.seeds.end - start];
            let kept = seeds.len();
            long_reads.keep(codes, of_chain, least, basis, seeds);
            chain.seeds = kept..seeds.len();
        }
    }

    /// Finds the regions of all reads that were taken.
    pub(super) fn extend(&mut self, basis: Basis<'_>) {
        self.jobs.clear();
        for read in 0..self.reads.len() {
            for chain in self.reads[read].chains.clone() {
                let KeptChain { seeds, known, .. } = &self.chains[chain];
                if known.is_none() && !seeds.is_empty() {
                    let seed = self.order[seeds.end - 1];
                    self.jobs.push(Job::new(read, chain, seed));
                }
            }
        }
        loop {
            self.run_jobs(basis);
            for read in 0..self.reads.len() {
                if let Some(job) = self.advance(read, basis.settings) {
                    self.jobs.push(job);
                }
            }
            if self.jobs.is_empty() {
                break;
            }
        }
        self.finish(basis);
    }

    /// Takes what was found for a read's seeds in order, up to a seed that is still to be extended.
    fn advance(&mut self, number: usize, settings: &Settings) -> Option<Job> {
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
                        return Some(Job::new(number, read.chain, seed));
                    };
                    read.found.push(extended);
                }
                left = at;
            }
            (read.chain, read.left) = (read.chain + 1, None);
        }
        None
    }

    /// Extends the seeds of all jobs.
    fn run_jobs(&mut self, basis: Basis<'_>) {
        let Self { kernels, sides, codes, reads, chains, seeds, jobs, .. } = self;
        let Basis { settings, reference } = basis;
        sides.clear();
        for job in jobs.iter() {
            let (seed, bases) = (&seeds[job.seed], reads[job.read].codes.len() as i64);
            let start = seed.place - i64::from(seed.base);
            let [low, high] = chains[job.chain].window;
            reference.prefetch([start.max(low), (start + bases).min(high)]);
        }
        for job in jobs.iter_mut() {
            let (seed, chain) = (seeds[job.seed], &chains[job.chain]);
            let codes = &codes[reads[job.read].codes.clone()];
            job.start(&seed, chain, settings);
            if seed.base > 0 {
                let start_at = job.side(false, settings);
                let reach = i64::from(seed.base) + 2 * i64::from(settings.band);
                let start = chain.window[0].max(seed.place - reach);
                let query =
                    |out: &mut Vec<u8>| out.extend(codes[..seed.base as usize].iter().rev());
                let target = |out: &mut Vec<u8>| reference.put_backwards(start, seed.place, out);
                job.sides[0] = Some(sides.add(start_at, settings, query, target));
            }
        }
        sides.extend(kernels, settings);
        for job in jobs.iter_mut() {
            if let Some(at) = job.sides[0] {
                job.take_left(sides.extension(at), &seeds[job.seed], settings);
            }
        }
        sides.clear();
        for job in jobs.iter_mut() {
            let (seed, chain) = (seeds[job.seed], &chains[job.chain]);
            let codes = &codes[reads[job.read].codes.clone()];
            let (end, place) = ((seed.base + seed.length) as usize, seed.place_end());
            if end < codes.len() {
                let start_at = job.side(true, settings);
                let reach = (codes.len() - end) as i64 + 2 * i64::from(settings.band);
                let stop = chain.window[1].min(place + reach);
                let query = |out: &mut Vec<u8>| out.extend_from_slice(&codes[end..]);
                let target = |out: &mut Vec<u8>| reference.put(place, stop, out);
                job.sides[1] = Some(sides.add(start_at, settings, query, target));
            }
        }
        sides.extend(kernels, settings);
        for job in jobs.drain(..) {
            let mut job = job;
            if let Some(at) = job.sides[1] {
                let bases = reads[job.read].codes.len() as i32;
                job.take_right(sides.extension(at), &seeds[job.seed], bases, settings);
            }
            chains[job.chain].ahead = Some((job.seed, job.so_far));
        }
    }

    /// Puts the regions of all reads in order, and begins anew.
    fn finish(&mut self, basis: Basis<'_>) {
        let Basis { settings, reference } = basis;
        let mut own = Vec::new();
        for mut read in self.reads.drain(..) {
            own.clear();
            own.extend(read.found.iter().map(|found| found.region));
            let codes = &self.codes[read.codes];
            let tracer = &mut self.tracer;
            let merge = |first: &Region, second: &Region| {
                super::regions::merge::merged([first, second], codes, basis, tracer)
            };
            remove_redundant(&mut own, settings, &mut self.redundant, merge);
            for region in &mut own {
                region.alternate = reference.sequences[region.sequence as usize].alternate;
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

/// Whether a seed, behind those of its chain that were looked at before, need not be extended.
fn is_passed_over(
    [before, seed]: [&[usize]; 2],
    seeds: &[PlacedSeed],
    found: &[Extended],
    read_bases: i32,
    settings: &Settings,
) -> bool {
    let seed = &seeds[seed[0]];
    let extended = before.iter().filter(|&&other| other != PASSED_OVER);
    found.iter().any(|found| is_in_region(seed, found, read_bases, settings))
        && !extended.into_iter().any(|&other| may_lead_elsewhere(seed, &seeds[other]))
}

impl Job {
    fn new(read: usize, chain: usize, seed: usize) -> Self {
        let so_far = Extended { region: Region::default(), seed_bases: 0 };
        Self { read, chain, seed, sides: [None; 2], so_far }
    }

    /// The region is the seed.
    fn start(&mut self, seed: &PlacedSeed, chain: &KeptChain, settings: &Settings) {
        let score = seed.length * settings.matching;
        let region = Region {
            reference_start: seed.place,
            reference_end: seed.place_end(),
            read_start: seed.base,
            read_end: seed.base + seed.length,
            sequence: chain.sequence as i32,
            score,
            true_score: score,
            band: settings.band,
            repetitive: chain.repetitive,
            ..Region::default()
        };
        self.so_far = Extended { region, seed_bases: seed.length };
    }

    /// What the next side starts from.
    fn side(&self, is_right: bool, settings: &Settings) -> SideStart {
        let clip = settings.clips[usize::from(is_right)];
        SideStart { seed_score: self.so_far.region.score, clip, band: settings.band, is_right }
    }

    fn take_left(
        &mut self,
        (found, band): (side::Extension, i32),
        seed: &PlacedSeed,
        settings: &Settings,
    ) {
        let region = &mut self.so_far.region;
        (region.score, region.band) = (found.score, region.band.max(band));
        if found.end_score <= 0 || found.end_score <= found.score - settings.clips[0] {
            region.read_start = seed.base - found.query_bases;
            region.reference_start = seed.place - i64::from(found.target_bases);
            region.true_score = found.score;
        } else {
            region.read_start = 0;
            region.reference_start = seed.place - i64::from(found.end_target_bases);
            region.true_score = found.end_score;
        }
    }

    fn take_right(
        &mut self,
        (found, band): (side::Extension, i32),
        seed: &PlacedSeed,
        read_bases: i32,
        settings: &Settings,
    ) {
        let region = &mut self.so_far.region;
        let before = region.score;
        (region.score, region.band) = (found.score, region.band.max(band));
        if found.end_score <= 0 || found.end_score <= found.score - settings.clips[1] {
            region.read_end = seed.base + seed.length + found.query_bases;
            region.reference_end = seed.place_end() + i64::from(found.target_bases);
            region.true_score += found.score - before;
        } else {
            region.read_end = read_bases;
            region.reference_end = seed.place_end() + i64::from(found.end_target_bases);
            region.true_score += found.end_score - before;
        }
    }
}

#[cfg(test)]
mod tests;
