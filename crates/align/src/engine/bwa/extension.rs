//! From chains of seeds to regions, by the library's own functions.
//!
//! As in [`library`](super::library), nothing outside sees a pointer of the library.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::ptr;

use bwa_mem3_sys as sys;

use super::layout::{
    self, LibraryChain, LibraryChains, LibraryRead, LibrarySeed, Region, Regions, Search,
};
use super::library::{Candidates, Index, KERNEL_READS, Options, Scratch, allocated};
use crate::certified::Chains;

/// A read whose chains are to be extended to regions.
pub(super) struct ToExtend<'a> {
    /// Its number in the batch.
    pub(super) at: usize,
    pub(super) chains: &'a mut Chains,
    /// Where the chain begins whose region is known, and the region, which is of the whole read.
    pub(super) known: Option<(i64, Region)>,
}

impl Candidates {
    /// Filters and extends the chains of reads, which have their bases (see
    /// [`Candidates::put_bases`]), to their regions, as the library does with its own.
    ///
    /// # Errors
    /// Out of memory.
    pub(super) fn extend_chains(
        &mut self,
        index: &Index,
        options: &Options,
        scratch: &mut Scratch,
        chained: &mut [ToExtend<'_>],
    ) -> Result<(), String> {
        for some in chained.chunks_mut(KERNEL_READS) {
            self.extend_some(index, options, scratch, some)?;
        }
        Ok(())
    }

    fn extend_some(
        &mut self,
        index: &Index,
        options: &Options,
        scratch: &mut Scratch,
        chained: &mut [ToExtend<'_>],
    ) -> Result<(), String> {
        let (search, _) = index.layout();
        // SAFETY: reads are copied, pointers and all, for the time of the call, which changes
        // neither them nor their bases. Chains are blocks from `malloc`, which the library frees;
        // their seeds, with room 1, it writes to and does not free. `cache` is that of
        // the scratch, whose thread slot `tid` is. The regions that come back are the library's
        // own blocks and take the place of empty vectors.
        unsafe {
            let tid = sys::bwa_shim_scratch_tid(scratch.handle());
            let shim = (*scratch.handle().cast::<layout::ScratchHandle>()).shim;
            let cache = (&raw mut (*shim).cache).cast::<c_void>();
            let mut reads = Vec::with_capacity(chained.len());
            let mut chains = Vec::with_capacity(chained.len());
            let mut known = Vec::with_capacity(chained.len());
            for (number, read) in chained.iter_mut().enumerate() {
                reads.push(ptr::read(self.slot(read.at)?.read));
                let items = library_chains(number, read.chains)?;
                let count = read.chains.count();
                let kept = mem_chain_flt(options.pointer(), count as c_int, items, tid) as usize;
                let region = known_region(read, std::slice::from_raw_parts(items, kept), options);
                if let Some(region) = &region {
                    // In the place of the chain's first seed; it has one at least.
                    (*items).seeds.write(whole_seed(region));
                    (*items).count = 1;
                }
                known.push(region);
                chains.push(LibraryChains {
                    count: kept,
                    room: count,
                    cursor: 0,
                    items,
                    dropped_weight: 0,
                });
            }
            let mut regions: Vec<Regions> = Vec::with_capacity(chained.len());
            regions.resize_with(chained.len(), Regions::empty);
            mem_kernel2_core(
                search,
                options.pointer(),
                reads.as_mut_ptr(),
                regions.as_mut_ptr(),
                chained.len() as c_int,
                chains.as_mut_ptr(),
                cache,
                ptr::null_mut(),
                tid,
                ptr::null(),
                ptr::null(),
            );
            for ((read, found), known) in chained.iter().zip(regions).zip(known) {
                let slot = self.slot(read.at)?;
                libc::free(slot.regions.items.cast());
                if let (Some(region), 1..) = (known, found.count) {
                    let found = std::slice::from_raw_parts_mut(found.items, found.count);
                    put_known(region, found)?;
                }
                *slot.regions = found;
            }
        }
        Ok(())
    }
}

// `bwamem.h` of the engine, by the names that C++ gives them (Itanium C++ ABI, 5.1).
unsafe extern "C" {
    #[link_name = "_Z13mem_chain_fltPK9mem_opt_tiP11mem_chain_ti"]
    fn mem_chain_flt(
        options: *const sys::mem_opt_t,
        count: c_int,
        chains: *mut LibraryChain,
        tid: c_int,
    ) -> c_int;
    #[link_name = "_Z16mem_kernel2_coreP10FMI_searchPK9mem_opt_tP7bseq1_tP12mem_alnreg_viP11\
                   mem_chain_vP9mem_cachePhiPK8bntseq_tPKh"]
    fn mem_kernel2_core(
        search: *const Search,
        options: *const sys::mem_opt_t,
        reads: *mut LibraryRead,
        regions: *mut Regions,
        count: c_int,
        chains: *mut LibraryChains,
        cache: *mut c_void,
        text: *mut u8,
        tid: c_int,
        bisulfite_sequences: *const layout::Sequences,
        bisulfite_packed: *const u8,
    ) -> c_int;
}

/// The region of a read that is known, if that is of the first of the chains that are kept, and no
/// other comes near: the library extends chains in turn, and passes over a seed that lies in a
/// region found before, unless it is much longer than the seed of that region; and it compares
/// regions that lie less than a chain's greatest gap apart, by their scores. A [`whole_seed`] has
/// another length and another score. If its chain is among the others, it comes near; if it is not
/// kept, the first is another's.
///
/// # Safety
/// The chains point to their seeds.
unsafe fn known_region(
    read: &ToExtend<'_>,
    kept: &[LibraryChain],
    options: &Options,
) -> Option<Region> {
    let (place, region) = read.known?;
    let (first, others) = kept.split_first()?;
    let options = options.get();
    // Regions reach less far beyond their seeds.
    let apart = i64::from(options.max_chain_gap) + 10_000 + 4 * i64::from(options.w);
    let is_far = |seed: &LibrarySeed| (seed.place - region.reference_start).abs() > apart;
    // SAFETY: by the caller's word.
    let seeds = |chain: &LibraryChain| unsafe {
        std::slice::from_raw_parts(chain.seeds, chain.count as usize)
    };
    let alone = others.iter().all(|chain| seeds(chain).iter().all(is_far));
    (first.place == place && alone).then_some(region)
}

/// A seed that is the whole region: its extension is no work.
fn whole_seed(region: &Region) -> LibrarySeed {
    let length = region.read_end - region.read_start;
    LibrarySeed {
        place: region.reference_start,
        base: region.read_start,
        length,
        score: length,
        region: 0,
        occurrences: 1,
    }
}

/// Puts a region in the place of that of its [`whole_seed`].
fn put_known(region: Region, found: &mut [Region]) -> Result<(), String> {
    let of_seed = found.iter_mut().find(|other| other.is_at(&region));
    let of_seed = of_seed.ok_or("a seed that is a whole read gave another region")?;
    *of_seed = region.in_place_of(of_seed);
    // No two are equal in this order, since one of them would be redundant.
    found.sort_unstable_by_key(Region::order);
    Ok(())
}

/// The chains of the `number`-th read in a block from `malloc`; their seeds stay where they are.
fn library_chains(number: usize, chains: &mut Chains) -> Result<*mut LibraryChain, String> {
    let seeds = chains.seeds_mut().as_mut_ptr();
    let items = allocated::<LibraryChain>(chains.count())?;
    for (at, chain) in chains.sorted().enumerate() {
        // SAFETY: the block has room for all chains, and the seeds of each are among all.
        unsafe {
            items.add(at).write(LibraryChain {
                read: number as i32,
                current: 0,
                count: chain.count as i32,
                room: 1,
                first: -1,
                sequence: chain.sequence,
                bits: LibraryChain::bits(chain.alternate),
                repetitive: chains.repetitive,
                place: chain.place,
                seeds: seeds.add(chain.first),
            });
        }
    }
    Ok(items)
}
