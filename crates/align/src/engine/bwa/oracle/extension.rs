//! From reads, or their chains of seeds, to regions, by the library's own functions.
//!
//! As in [`library`](super::super::library), nothing outside sees a pointer of the library.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::ptr;

use bwa_mem3_sys as sys;

use super::index::{Index, Options};
use super::layout::{self, LibraryChains, LibraryRead, LibrarySeed, Regions, Search};
use super::library::{KERNEL_READS, LibraryBatch, Scratch};

impl LibraryBatch {
    /// Finds the regions of reads `at` of the batch, which have their bases (see
    /// [`LibraryBatch::put_bases`]).
    ///
    /// # Errors
    /// Out of memory.
    pub(in super::super) fn extend(
        &mut self,
        index: &Index,
        options: &Options,
        scratch: &mut Scratch,
        at: &[usize],
    ) -> Result<(), String> {
        for some in at.chunks(KERNEL_READS) {
            let copy = |&at: &usize| {
                let slot = self.slot(at)?;
                // SAFETY: copied, pointers and all, for the time of the calls, which change bases
                // in their place and nothing else of a read.
                Ok(unsafe { ptr::read(slot.read) })
            };
            let mut reads = some.iter().map(copy).collect::<Result<Vec<_>, String>>()?;
            let chains = chains_of(index, options, scratch, &mut reads)?;
            let regions = regions_of(index, options, scratch, &mut reads, chains);
            for (&at, found) in some.iter().zip(regions) {
                let slot = self.slot(at)?;
                // SAFETY: the library's own block takes the place of an empty vector's.
                unsafe { libc::free(slot.regions.items.cast()) };
                *slot.regions = found;
            }
        }
        Ok(())
    }
}

/// The chains of reads by the library's own search, filtered.
pub(in super::super) fn chains_of(
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

/// The regions of reads by the library's extension of their chains.
pub(in super::super) fn regions_of(
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
