//! From reads, or their chains of seeds, to regions, by the library's own functions.
//!
//! As in [`library`](super::library), nothing outside sees a pointer of the library.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::ptr;

use bwa_mem3_sys as sys;

use super::chain::build::Chains;
use super::chain::filter::Filter;
use super::index::{Index, Options};
use super::layout::{
    self, LibraryChain, LibraryChains, LibraryRead, LibrarySeed, Region, Regions, Search,
};
use super::library::{KERNEL_READS, LibraryBatch, Scratch, allocated};

/// A read whose regions are to be found.
pub(super) struct ToExtend<'a> {
    /// Its number in the batch.
    pub(super) at: usize,
    /// Its chains; the library makes those of other reads.
    pub(super) chained: Option<KnownChains<'a>>,
}

/// The chains of a read.
pub(super) struct KnownChains<'a> {
    pub(super) chains: &'a mut Chains,
    /// Where the chain begins whose region is known, and the region, which is of the whole read.
    pub(super) known: Option<(i64, Region)>,
}

impl LibraryBatch {
    /// Finds the regions of reads, which have their bases (see [`LibraryBatch::put_bases`]), as the
    /// library does. Chains of all reads are extended together: its vectors take many extensions of
    /// like lengths at a time, and cost as much with few. Chains that are known are filtered here.
    ///
    /// # Errors
    /// Out of memory.
    pub(super) fn extend(
        &mut self,
        index: &Index,
        options: &Options,
        scratch: &mut Scratch,
        reads: &mut [ToExtend<'_>],
    ) -> Result<(), String> {
        reads.sort_by_key(|read| read.chained.is_some());
        for some in reads.chunks_mut(KERNEL_READS) {
            self.extend_some(index, options, scratch, some)?;
        }
        Ok(())
    }

    /// As [`LibraryBatch::extend`], for as many as the kernels take. The chained are the last.
    fn extend_some(
        &mut self,
        index: &Index,
        options: &Options,
        scratch: &mut Scratch,
        some: &mut [ToExtend<'_>],
    ) -> Result<(), String> {
        let copy = |read: &ToExtend<'_>| {
            let slot = self.slot(read.at)?;
            // SAFETY: copied, pointers and all, for the time of the calls, which change bases in
            // their place and nothing else of a read.
            Ok(unsafe { ptr::read(slot.read) })
        };
        let mut reads = some.iter().map(copy).collect::<Result<Vec<_>, String>>()?;
        let searched = some.partition_point(|read| read.chained.is_none());
        let mut chains = chains_of(index, options, scratch, &mut reads[..searched])?;
        let mut known = Vec::with_capacity(some.len() - searched);
        for (number, read) in (searched..).zip(some.iter_mut().filter_map(|r| r.chained.as_mut())) {
            let of = ToFilter { index, options, reads: &reads, number };
            let (kept, region) = kept_chains(of, read, scratch.filter())?;
            chains.push(kept);
            known.push(region);
        }
        let regions = regions_of(index, options, scratch, &mut reads, chains);
        let known = std::iter::repeat_n(None, searched).chain(known);
        for ((read, found), known) in some.iter().zip(regions).zip(known) {
            let slot = self.slot(read.at)?;
            // SAFETY: the library's own block takes the place of an empty vector's.
            unsafe { libc::free(slot.regions.items.cast()) };
            *slot.regions = found;
            if let (Some(region), 1..) = (known, slot.regions.count) {
                let Regions { items, count, .. } = *slot.regions;
                // SAFETY: there are so many in the block.
                put_known(region, unsafe { std::slice::from_raw_parts_mut(items, count) })?;
            }
        }
        Ok(())
    }
}

/// The chains of reads by the library's own search, filtered.
pub(super) fn chains_of(
    index: &Index,
    options: &Options,
    scratch: &mut Scratch,
    reads: &mut [LibraryRead],
) -> Result<Vec<LibraryChains>, String> {
    let mut chains = Vec::new();
    if reads.is_empty() {
        return Ok(chains);
    }
    chains.resize_with(reads.len(), LibraryChains::empty);
    scratch.make_room(index, options, reads.iter().map(|read| read.bases as usize).sum())?;
    let (search, _) = index.layout();
    let (seeds, room) = scratch.seeds();
    // SAFETY: the reads are copies, whose bases the call turns to codes in their place; there are
    // as many vectors of chains as reads. First seeds of chains go to the scratch's own memory,
    // with room 1, and the others to blocks from `malloc`. `cache` is that of the scratch, whose
    // thread slot `tid` is, and has room for so many bases.
    unsafe {
        let (cache, tid) = cache(scratch);
        mem_kernel1_core(
            search,
            options.pointer(),
            reads.as_mut_ptr(),
            reads.len() as c_int,
            chains.as_mut_ptr(),
            seeds,
            room as i64,
            cache,
            tid,
            ptr::null(),
            ptr::null(),
        );
    }
    Ok(chains)
}

/// Reads of more bases may have seeds that bwa aligns once more, to drop those that lie there by
/// chance. (From 700 bases on; the library looks for itself.)
const LONG_READ_BASES: c_int = 500;

/// What the filter knows of a read.
#[derive(Clone, Copy)]
pub(super) struct ToFilter<'a> {
    pub(super) index: &'a Index,
    pub(super) options: &'a Options,
    /// The reads of the call.
    pub(super) reads: &'a [LibraryRead],
    /// Its number among them.
    pub(super) number: usize,
}

/// The chains of a read that bwa's filter keeps, and the region that is known, whose chain is then
/// its [`whole_seed`].
fn kept_chains(
    of: ToFilter<'_>,
    read: &mut KnownChains<'_>,
    filter: &mut Filter,
) -> Result<(LibraryChains, Option<Region>), String> {
    let kept = filtered(of, read.chains, filter)?;
    // SAFETY: chains are a block from `malloc`, which the library frees; their seeds, with room 1,
    // it writes to and does not free. A region is known of a read that has a chain with a seed.
    unsafe {
        let chains = std::slice::from_raw_parts(kept.items, kept.count);
        let region = known_region(read.known, chains, of.options);
        if let Some(region) = &region {
            (*kept.items).seeds.write(whole_seed(region));
            (*kept.items).count = 1;
        }
        Ok((kept, region))
    }
}

/// The chains of a read that bwa's filter keeps, in a block from `malloc`; their seeds stay where
/// they are.
pub(super) fn filtered(
    of: ToFilter<'_>,
    chains: &mut Chains,
    filter: &mut Filter,
) -> Result<LibraryChains, String> {
    let chosen = filter.choose(chains.weighed(), &of.options.filter());
    let items = allocated::<LibraryChain>(chosen.len())?;
    let seeds = chains.seeds_mut().as_mut_ptr();
    for (at, chosen) in chosen.iter().enumerate() {
        let chain = chains.at(chosen.number);
        // SAFETY: the block has room for all that are kept, and the seeds of each are among all.
        unsafe {
            items.add(at).write(LibraryChain {
                read: of.number as i32,
                current: 0,
                count: chain.count as i32,
                room: 1,
                first: chosen.first,
                sequence: chain.sequence,
                bits: LibraryChain::bits(chosen, chain.alternate),
                repetitive: chains.repetitive,
                place: chain.place,
                seeds: seeds.add(chain.first),
            });
        }
    }
    let kept =
        LibraryChains { count: chosen.len(), room: chosen.len(), items, ..LibraryChains::empty() };
    let options = of.options.get();
    if of.reads[of.number].bases > LONG_READ_BASES || options.min_chain_weight > 0 {
        let (_, reference) = of.index.layout();
        // SAFETY: chains have the number of their read among these, which are only read; seeds are
        // dropped in their place.
        unsafe {
            mem_flt_chained_seeds(
                of.options.pointer(),
                reference.sequences,
                reference.packed,
                of.reads.as_ptr(),
                kept.count as c_int,
                kept.items,
            );
        }
    }
    Ok(kept)
}

/// The regions of reads by the library's extension of their chains.
pub(super) fn regions_of(
    index: &Index,
    options: &Options,
    scratch: &mut Scratch,
    reads: &mut [LibraryRead],
    mut chains: Vec<LibraryChains>,
) -> Vec<Regions> {
    let (search, _) = index.layout();
    let mut regions: Vec<Regions> = Vec::with_capacity(reads.len());
    regions.resize_with(reads.len(), Regions::empty);
    // SAFETY: there are as many vectors of chains and of regions as reads, which the call does not
    // change. Chains are blocks from `malloc`, and are freed. `cache` as in `chains_of`.
    unsafe {
        let (cache, tid) = cache(scratch);
        mem_kernel2_core(
            search,
            options.pointer(),
            reads.as_mut_ptr(),
            regions.as_mut_ptr(),
            reads.len() as c_int,
            chains.as_mut_ptr(),
            cache,
            ptr::null_mut(),
            tid,
            ptr::null(),
            ptr::null(),
        );
    }
    regions
}

/// The kernels' memory in a scratch, and the slot in it.
///
/// # Safety
/// Nothing else uses it meanwhile.
unsafe fn cache(scratch: &mut Scratch) -> (*mut c_void, c_int) {
    // SAFETY: `layout` describes the beginning of the structure that the handle points to.
    unsafe {
        let shim = (*scratch.handle().cast::<layout::ScratchHandle>()).shim;
        ((&raw mut (*shim).cache).cast(), sys::bwa_shim_scratch_tid(scratch.handle()))
    }
}

// `bwamem.h` of the engine, by the names that C++ gives them (Itanium C++ ABI, 5.1).
unsafe extern "C" {
    #[link_name = "_Z21mem_flt_chained_seedsPK9mem_opt_tPK8bntseq_tPKhP7bseq1_tiP11mem_chain_t"]
    fn mem_flt_chained_seeds(
        options: *const sys::mem_opt_t,
        sequences: *const layout::Sequences,
        packed: *const u8,
        reads: *const LibraryRead,
        count: c_int,
        chains: *mut LibraryChain,
    );
    #[link_name = "_Z16mem_kernel1_coreP10FMI_searchPK9mem_opt_tP7bseq1_tiP11mem_chain_vP3abclP9\
                   mem_cacheiPK8bntseq_tPKh"]
    fn mem_kernel1_core(
        search: *const Search,
        options: *const sys::mem_opt_t,
        reads: *mut LibraryRead,
        count: c_int,
        chains: *mut LibraryChains,
        seeds: *mut LibrarySeed,
        room: i64,
        cache: *mut c_void,
        tid: c_int,
        bisulfite_sequences: *const layout::Sequences,
        bisulfite_packed: *const u8,
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

/// The region that is `known` of a read, if it is of the first of the chains that are kept, and
/// no other comes near: the library extends chains in turn, and passes over a seed that lies in a
/// region found before, unless it is much longer than the seed of that region; and it compares
/// regions that lie less than a chain's greatest gap apart, by their scores. A [`whole_seed`] has
/// another length and another score. If its chain is among the others, it comes near; if it is not
/// kept, the first is another's.
///
/// # Safety
/// The chains point to their seeds.
unsafe fn known_region(
    known: Option<(i64, Region)>,
    kept: &[LibraryChain],
    options: &Options,
) -> Option<Region> {
    let (place, region) = known?;
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
