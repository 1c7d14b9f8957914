//! Chains of seeds: made, weighed, and chosen, as bwa does.

pub(super) mod build;
pub(super) mod filter;
pub(super) mod long_reads;
pub(crate) mod occurrences;

use std::ops::Range;

use filter::WeighedChain;

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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chain {
    pub(crate) sequence: i32,
    pub(crate) is_alt: bool,
    /// How many seeds it has, and the first of them among all.
    count: usize,
    first: usize,
}

/// The chains of a read among those of all.
#[derive(Debug, Clone)]
struct ChainsOfRead {
    chains: Range<usize>,
    repetitive: f32,
}

/// The chains of the reads of a batch.
#[derive(Debug, Default)]
pub(crate) struct Chains {
    reads: Vec<ChainsOfRead>,
    chains: Vec<Chain>,
    seeds: Vec<Seed>,
}

impl Chains {
    /// Memory of a seed, and of a chain that it begins.
    const SEED_BYTES: u64 = (size_of::<Seed>() + size_of::<Chain>()) as u64;

    /// Begins a batch. Of what an earlier one needed more of than `most_seeds` is not kept.
    pub(crate) fn clear(&mut self, most_seeds: usize) {
        self.reads.clear();
        self.chains.clear();
        self.chains.shrink_to(most_seeds);
        self.seeds.clear();
        self.seeds.shrink_to(most_seeds);
    }

    /// The chains of each read, in the order in which they were made.
    pub(crate) fn reads(&self) -> impl Iterator<Item = ReadChains<'_>> {
        self.reads.iter().map(|read| self.of(read))
    }

    /// The chains of the read whose chains were made last.
    pub(crate) fn last(&self) -> Option<ReadChains<'_>> {
        self.reads.last().map(|read| self.of(read))
    }

    fn of(&self, read: &ChainsOfRead) -> ReadChains<'_> {
        let chains = &self.chains[read.chains.clone()];
        ReadChains { chains, seeds: &self.seeds, repetitive: read.repetitive }
    }
}

/// The chains of one read, by where they begin.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadChains<'a> {
    pub(crate) chains: &'a [Chain],
    /// Those of all reads.
    seeds: &'a [Seed],
    /// Share of the read in seeds that occur too often (`frac_rep`).
    pub(crate) repetitive: f32,
}

impl<'a> ReadChains<'a> {
    /// The seeds of one of the chains, in order.
    pub(crate) fn seeds(&self, chain: &Chain) -> &'a [Seed] {
        &self.seeds[chain.first..][..chain.count]
    }

    /// What the filter compares of the chains.
    pub(crate) fn weighed(self) -> impl Iterator<Item = WeighedChain> {
        self.chains.iter().map(move |chain| WeighedChain::of(self.seeds(chain), chain.is_alt))
    }
}
