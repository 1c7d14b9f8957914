//! The stages of the engine's library by themselves, for tests: what each of our own stages is to
//! give. Safe functions over slices; inputs that the library would read past the end of are
//! refused.
#![allow(unsafe_code)]

pub(super) mod emit;
pub(super) mod extension;
pub(super) mod index;
pub(super) mod layout;
pub(super) mod library;
mod options;

use std::ffi::c_int;
use std::path::Path;
use std::ptr;

use bwa_mem3_sys as sys;

use super::chain::Seed;
use super::chain::filter::Filter;
use super::chain::long_reads::LongReads;
use super::context::Context;
use super::searches::Searches;
use super::{BwaEngine, BwaOptions, Candidates, EngineReads};
use crate::engine::bwa::seed::SearchIndex;
use crate::search::rows::Rows;
use index::{Index, Options};
use layout::{LibraryChain, LibraryChains, LibraryRead, LibrarySeed, Region, Regions};
use library::{LibraryBatch, Scratch};

/// The library, with an index and options.
pub(super) struct Library {
    pub(super) index: Index,
    pub(super) options: Options,
}

/// Our own engine, and the library with the same index and options.
pub(super) struct Compared {
    pub(super) engine: BwaEngine,
    pub(super) library: Library,
}

impl Compared {
    pub(super) fn load(prefix: &Path, options: &BwaOptions) -> Self {
        let info = crate::index::check(prefix).unwrap();
        let engine =
            BwaEngine::load(crate::index::IndexSource::new(prefix, &info), options).unwrap();
        let contigs =
            info.contigs.iter().map(|contig| (contig.name.clone(), u64::from(contig.length)));
        let index = Index::load(prefix, &contigs.collect::<Vec<_>>(), 1).unwrap();
        Self { engine, library: Library { index, options: options.library().unwrap() } }
    }

    /// The regions of a batch by the library.
    pub(super) fn candidates(&self, scratch: &mut Scratch, reads: &EngineReads<'_>) -> Candidates {
        let Library { index, options } = &self.library;
        let found = LibraryBatch::find(index, options, scratch, reads).unwrap();
        let paired = 2 * reads.pairs.len();
        let count = paired + reads.singles.len();
        let mut candidates = Candidates::with_capacity(paired, count, count);
        for at in 0..count {
            let found = found.found(at).iter().map(super::regions::Region::from);
            candidates.push(&found.collect::<Vec<_>>());
        }
        candidates
    }
}

impl std::ops::Deref for Compared {
    type Target = BwaEngine;

    fn deref(&self) -> &BwaEngine {
        &self.engine
    }
}

/// A chain as the library's search and filter leave it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FilteredChain {
    pub(super) place: i64,
    pub(super) sequence: i32,
    /// Weight, how it is kept (1 to 3), and whether it is of an ALT sequence: `w:27, kept:2,
    /// is_alt:1` and the bisulfite hypothesis.
    pub(super) bits: u32,
    pub(super) repetitive: f32,
    pub(super) first: i32,
    pub(super) seeds: Vec<Seed>,
}

impl FilteredChain {
    /// # Safety
    /// The chain points to its seeds.
    unsafe fn of(chain: &LibraryChain) -> Self {
        // SAFETY: by the caller's word.
        let seeds = unsafe { std::slice::from_raw_parts(chain.seeds, chain.count as usize) };
        Self {
            place: chain.place,
            sequence: chain.sequence,
            bits: chain.bits,
            repetitive: chain.repetitive,
            first: chain.first,
            seeds: seeds.iter().map(Seed::from).collect(),
        }
    }
}

fn copied(chains: &LibraryChains) -> Vec<FilteredChain> {
    let items = (0..chains.count).map(|at| {
        // SAFETY: there are so many in the block, and they point to their seeds.
        unsafe { FilteredChain::of(&*chains.items.add(at)) }
    });
    items.collect()
}

/// Frees the chains of a read, and those of their seeds that are not in a scratch.
fn free_chains(chains: &LibraryChains) {
    for at in 0..chains.count {
        // SAFETY: there are so many in the block; with room above 1, the seeds are a block from
        // `malloc`.
        unsafe {
            let chain = &*chains.items.add(at);
            if chain.room > 1 {
                libc::free(chain.seeds.cast());
            }
        }
    }
    // SAFETY: a block from `malloc`, or null.
    unsafe { libc::free(chains.items.cast()) };
}

/// Reads of a call, without anything but their bases as codes 0 to 4.
fn library_reads(codes: &mut [Vec<u8>]) -> Vec<LibraryRead> {
    codes.iter_mut().map(|codes| LibraryRead::of_codes(codes)).collect()
}

/// The chains of reads, given as letters or as codes 0 to 4, as the library's search makes and
/// filters them (`mem_kernel1_core`).
pub(super) fn filtered_chains(
    index: &Index,
    options: &Options,
    scratch: &mut Scratch,
    reads: &[Vec<u8>],
) -> Vec<Vec<FilteredChain>> {
    let mut codes = reads.to_vec();
    let mut reads = library_reads(&mut codes);
    let all = extension::chains_of(index, options, scratch, &mut reads).unwrap();
    let found = all.iter().map(copied).collect();
    all.iter().for_each(free_chains);
    found
}

/// The chains of reads, given as letters and as codes, as our own search makes and filters them.
pub(super) fn own_chains(
    engine: &BwaEngine,
    searches: &mut Searches,
    reads: &[Vec<u8>],
    codes: &[Vec<u8>],
) -> Vec<Vec<FilteredChain>> {
    let mut filter = Filter::default();
    let (rows, reference) = (Rows::new(engine.index.parts()), engine.reference());
    let context = Context { settings: &engine.settings, reference: &reference };
    let mut long_reads = LongReads::new();
    searches.clear();
    let seeds = engine.settings.seeds;
    for (number, read) in reads.iter().enumerate() {
        searches.add(number, read, seeds.least_bases);
    }
    searches.find(seeds, &SearchIndex::new(engine.index.parts(), engine.kmer_table()));
    let limits = super::chain::occurrences::ChainLimits::of(&engine.settings).unwrap();
    let mut all = vec![Vec::new(); reads.len()];
    while let Some(some) = searches.chain_some(engine.index.view(), &rows, limits, 0) {
        for (number, chains) in some {
            let codes = &codes[number];
            let least = long_reads.least_score(codes.len(), context.settings);
            for chosen in filter.choose(chains.weighed(), &context.settings.filter) {
                let chain = &chains.chains[chosen.number];
                let mut seeds = Vec::new();
                match least {
                    Some(least) => {
                        long_reads.keep(codes, chains.seeds(chain), least, context, &mut seeds);
                    }
                    None => seeds.extend_from_slice(chains.seeds(chain)),
                }
                all[number].push(FilteredChain {
                    place: chains.seeds(chain)[0].reference_start,
                    sequence: chain.sequence,
                    bits: LibraryChain::bits(chosen, chain.is_alt),
                    repetitive: chains.repetitive,
                    first: chosen.first,
                    seeds,
                });
            }
        }
    }
    all
}

/// Which chains of a read the library's filter keeps (`mem_chain_flt`); their
/// numbers stand for sequences. They are given by their seeds, and whether they are of ALT
/// sequences.
pub(super) fn chosen(options: &Options, chains: &[(Vec<Seed>, bool)]) -> Vec<FilteredChain> {
    let library = |seeds: &Vec<Seed>| seeds.iter().map(LibrarySeed::from).collect();
    let mut seeds: Vec<Vec<_>> = chains.iter().map(|(seeds, _)| library(seeds)).collect();
    let chain = |((number, (_, is_alt)), seeds): ((usize, &(_, bool)), &mut Vec<LibrarySeed>)| {
        LibraryChain {
            read: 0,
            current: 0,
            count: seeds.len() as c_int,
            room: 1,
            first: -1,
            sequence: number as i32,
            bits: 0b11 << 30 | u32::from(*is_alt) << 29,
            repetitive: 0.0,
            place: seeds[0].place,
            seeds: seeds.as_mut_ptr(),
        }
    };
    let mut chains: Vec<_> = chains.iter().enumerate().zip(&mut seeds).map(chain).collect();
    // SAFETY: the chains have one seed or more each, which with room 1 are not freed.
    unsafe {
        let count = chains.len() as c_int;
        let count = mem_chain_flt(options.pointer(), count, chains.as_mut_ptr(), 0);
        chains[..count as usize].iter().map(|chain| FilteredChain::of(chain)).collect()
    }
}

/// The regions of reads, given as letters or as codes 0 to 4, as the library's search and extension
/// find them (`mem_kernel1_core`, `mem_kernel2_core`).
pub(super) fn regions(
    index: &Index,
    options: &Options,
    scratch: &mut Scratch,
    reads: &[Vec<u8>],
) -> Vec<Vec<Region>> {
    let mut codes = reads.to_vec();
    let mut reads = library_reads(&mut codes);
    let chains = extension::chains_of(index, options, scratch, &mut reads).unwrap();
    let all = extension::regions_of(index, options, scratch, &mut reads, chains);
    let taken = |regions: Regions| {
        let found = (0..regions.count).map(|at| {
            // SAFETY: there are so many in the block.
            unsafe { *regions.items.add(at) }
        });
        let found = found.collect();
        // SAFETY: a block of the library's from `malloc`, or null.
        unsafe { libc::free(regions.items.cast()) };
        found
    };
    all.into_iter().map(taken).collect()
}

/// The numbers of `weights` as the library sorts chains, the heaviest first (`ks_introsort`).
pub(super) fn sorted_by_weight(weights: &[u32]) -> Vec<usize> {
    let chain = |(number, &weight): (usize, &u32)| LibraryChain {
        place: number as i64,
        bits: weight & 0x7ff_ffff,
        read: 0,
        current: 0,
        count: 0,
        room: 1,
        first: -1,
        sequence: 0,
        repetitive: 0.0,
        seeds: ptr::null_mut(),
    };
    let mut chains: Vec<_> = weights.iter().enumerate().map(chain).collect();
    // SAFETY: sorts the slice.
    unsafe { ks_introsort_mem_flt(chains.len(), chains.as_mut_ptr()) };
    chains.iter().map(|chain| chain.place as usize).collect()
}

/// What `ksw_extend2` gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ExtendedSeed {
    pub(super) score: i32,
    pub(super) read_end: i32,
    pub(super) reference_end: i32,
    pub(super) whole_reference_end: i32,
    pub(super) whole_score: i32,
    pub(super) most_off: i32,
}

/// A seed of score `first` extended over `read` (`ksw_extend2`), with the band `band`.
pub(super) fn extended(
    options: &Options,
    [read, reference]: [&[u8]; 2],
    [band, end_bonus, first]: [i32; 3],
) -> ExtendedSeed {
    let o = options.get();
    let mut out = [0; 5];
    let [read_end, reference_end, whole_end, whole_score, off] = out.each_mut();
    // SAFETY: both slices are as long as is said and of codes below 5; the results are written.
    let score = unsafe {
        ksw_extend2(
            read.len() as c_int,
            read.as_ptr(),
            reference.len() as c_int,
            reference.as_ptr(),
            5,
            o.mat.as_ptr(),
            o.o_del,
            o.e_del,
            o.o_ins,
            o.e_ins,
            band,
            end_bonus,
            o.zdrop,
            first,
            read_end,
            reference_end,
            whole_end,
            whole_score,
            off,
        )
    };
    let [read_end, reference_end, whole_reference_end, whole_score, most_off] = out;
    ExtendedSeed { score, read_end, reference_end, whole_reference_end, whole_score, most_off }
}

// `bwamem.h`, `bwa.h` and `ksw.h` of the engine; by the names that C++ gives them where it does.
unsafe extern "C" {
    #[link_name = "_Z13mem_chain_fltPK9mem_opt_tiP11mem_chain_ti"]
    fn mem_chain_flt(
        options: *const sys::mem_opt_t,
        count: c_int,
        chains: *mut LibraryChain,
        tid: c_int,
    ) -> c_int;
    #[link_name = "_Z20ks_introsort_mem_fltmP11mem_chain_t"]
    fn ks_introsort_mem_flt(count: usize, chains: *mut LibraryChain);
    fn ksw_extend2(
        read_length: c_int,
        read: *const u8,
        reference_length: c_int,
        reference: *const u8,
        codes: c_int,
        matrix: *const i8,
        open_deletion: c_int,
        extend_deletion: c_int,
        open_insertion: c_int,
        extend_insertion: c_int,
        band: c_int,
        end_bonus: c_int,
        drop: c_int,
        first: c_int,
        read_end: *mut c_int,
        reference_end: *mut c_int,
        whole_reference_end: *mut c_int,
        whole_score: *mut c_int,
        most_off: *mut c_int,
    ) -> c_int;
}

#[cfg(test)]
mod tests;
