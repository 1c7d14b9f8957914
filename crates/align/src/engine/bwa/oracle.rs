//! The stages of the engine's library by themselves, for tests: what each of our own stages is to
//! give. Safe functions over slices; inputs that the library would read behind are refused.
#![allow(unsafe_code)]

use std::ffi::c_int;
use std::ptr;

use bwa_mem3_sys as sys;

use super::BwaEngine;
use super::chain::filter::Filter;
use super::extension::{self, ToFilter};
use super::index::{Index, Options};
use super::layout::{
    LibraryChain, LibraryChains, LibraryRead, LibrarySeed, Reference, Region, Regions, Sequences,
};
use super::library::{Model, Scratch};
use super::seed::Searches;
use crate::certified::Tables;

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
    pub(super) seeds: Vec<LibrarySeed>,
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
            // The library's extension writes to `region`, and nothing does before.
            seeds: seeds.iter().map(|&seed| LibrarySeed { region: 0, ..seed }).collect(),
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

/// Frees the chains of a read, and those of their seeds that do not lie in a scratch.
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
    let (mut codes, mut filter) = (codes.to_vec(), Filter::default());
    let library_reads = library_reads(&mut codes);
    let search = engine.search.as_ref().unwrap();
    let tables = Tables::new(engine.index.parts(), &search.table);
    searches.clear();
    reads.iter().enumerate().for_each(|(number, read)| searches.add(number, read));
    searches.find(&tables);
    let mut all = vec![Vec::new(); reads.len()];
    while let Some(some) = searches.chain_some(engine.loaded(), &tables, search.limits, 0) {
        for (number, chains) in some {
            let (index, options) = (&engine.index, &engine.options);
            let of = ToFilter { index, options, reads: &library_reads, number };
            let kept = extension::filtered(of, chains, &mut filter).unwrap();
            all[number] = copied(&kept);
            free_chains(&kept);
        }
    }
    all
}

/// Which chains of a read the library's filter keeps (`mem_chain_flt`); their
/// numbers stand for sequences. They are given by their seeds, and whether they are of ALT
/// sequences.
pub(super) fn chosen(options: &Options, chains: &[(Vec<LibrarySeed>, bool)]) -> Vec<FilteredChain> {
    let mut seeds: Vec<_> = chains.iter().map(|(seeds, _)| seeds.clone()).collect();
    let chain =
        |((number, (_, alternate)), seeds): ((usize, &(_, bool)), &mut Vec<LibrarySeed>)| {
            LibraryChain {
                read: 0,
                current: 0,
                count: seeds.len() as c_int,
                room: 1,
                first: -1,
                sequence: number as i32,
                bits: 0b11 << 30 | u32::from(*alternate) << 29,
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

/// Regions sorted by `reference_end` (`ks_introsort` of `mem_ars2`).
pub(super) fn sort_by_end(regions: &mut [Region]) {
    // SAFETY: sorts the slice.
    unsafe { ks_introsort_mem_ars2_m2(regions.len(), regions.as_mut_ptr()) };
}

/// Regions sorted by score, reference and read (`ks_introsort` of `mem_ars`).
pub(super) fn sort_by_score(regions: &mut [Region]) {
    // SAFETY: sorts the slice.
    unsafe { ks_introsort_mem_ars(regions.len(), regions.as_mut_ptr()) };
}

/// Redundant regions removed and others merged (`mem_sort_dedup_patch`); without a read nothing is
/// merged, as in rescue.
pub(super) fn sort_dedup_patch(
    index: &Index,
    options: &Options,
    codes: Option<&[u8]>,
    regions: &mut Vec<Region>,
) {
    let reference = reference(index);
    let mut codes = codes.map(<[u8]>::to_vec);
    // SAFETY: the read, if there is one, is as long as the regions say; it may be turned round in
    // place, and back. The regions are so many, and become no more.
    let left = unsafe {
        let (sequences, packed, read) = match &mut codes {
            Some(codes) => (reference.sequences, reference.packed, codes.as_mut_ptr()),
            None => (ptr::null(), ptr::null(), ptr::null_mut()),
        };
        let matrix = options.get().mat.as_ptr();
        let (count, items) = (regions.len() as c_int, regions.as_mut_ptr());
        mem_sort_dedup_patch(options.pointer(), sequences, packed, read, count, items, matrix)
    };
    regions.truncate(left as usize);
}

/// Primary and secondary regions marked, in the order that follows from `id`; tells how many are
/// not of ALT sequences (`mem_mark_primary_se`).
pub(super) fn mark_primary(options: &Options, regions: &mut [Region], id: i64) -> i32 {
    // SAFETY: the slice is sorted and marked in its place.
    unsafe {
        let count = regions.len() as c_int;
        mem_mark_primary_se(options.pointer(), count, regions.as_mut_ptr(), id)
    }
}

/// The mapping quality of a region by itself (`mem_approx_mapq_se`).
pub(super) fn mapping_quality(options: &Options, region: &Region) -> i32 {
    // SAFETY: both are read.
    unsafe { mem_approx_mapq_se(options.pointer(), region) }
}

/// What `ksw_extend2` gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extended {
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
) -> Extended {
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
    Extended { score, read_end, reference_end, whole_reference_end, whole_score, most_off }
}

/// `kswr_t`: a local alignment.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Local {
    pub(super) score: c_int,
    pub(super) reference_last: c_int,
    pub(super) read_last: c_int,
    pub(super) second_score: c_int,
    pub(super) second_reference_last: c_int,
    pub(super) reference_first: c_int,
    pub(super) read_first: c_int,
}

/// `KSW_XBYTE`.
pub(super) const XBYTE: c_int = 0x1_0000;
/// `KSW_XSUBO`.
pub(super) const XSUBO: c_int = 0x4_0000;
/// `KSW_XSTART`.
pub(super) const XSTART: c_int = 0x8_0000;

/// The local alignment of a read with the reference (`ksw_align2`); `extra` as in rescue: `XSUBO`,
/// `XSTART`, `XBYTE` where the scores are below 250, and the least score.
pub(super) fn local(options: &Options, [read, reference]: [&[u8]; 2], extra: c_int) -> Local {
    let o = options.get();
    let [mut read, mut reference] = [read.to_vec(), reference.to_vec()];
    // SAFETY: both are as long as is said and of codes below 5; they are turned round in place.
    unsafe {
        ksw_align2(
            read.len() as c_int,
            read.as_mut_ptr(),
            reference.len() as c_int,
            reference.as_mut_ptr(),
            5,
            o.mat.as_ptr(),
            o.o_del,
            o.e_del,
            o.o_ins,
            o.e_ins,
            extra,
            ptr::null_mut(),
        )
    }
}

/// A score and a CIGAR as in BAM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Global {
    pub(super) score: i32,
    pub(super) cigar: Vec<u32>,
}

/// The global alignment of a read with the reference in a band (`ksw_global2`).
pub(super) fn global(options: &Options, [read, reference]: [&[u8]; 2], band: i32) -> Global {
    let o = options.get();
    let (mut count, mut cigar) = (0, ptr::null_mut());
    // SAFETY: both are as long as is said and of codes below 5. The CIGAR is a block from `malloc`
    // of so many.
    unsafe {
        let score = ksw_global2(
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
            &raw mut count,
            &raw mut cigar,
        );
        Global { score, cigar: taken_cigar(cigar, count) }
    }
}

/// What `bwa_gen_cigar2` gives: score, CIGAR, edit distance, and MD.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Described {
    pub(super) global: Global,
    pub(super) distance: i32,
    pub(super) difference: Vec<u8>,
}

/// The CIGAR, NM and MD of a read at `reference` (`bwa_gen_cigar2`). `None` for a stretch that is
/// none, or lies on both strands.
pub(super) fn described(
    index: &Index,
    options: &Options,
    codes: &[u8],
    reference: [i64; 2],
    band: i32,
) -> Option<Described> {
    let o = options.get();
    let loaded = self::reference(index);
    let mut codes = codes.to_vec();
    let (mut score, mut count, mut distance) = (0, 0, 0);
    // SAFETY: the read is as long as is said, and turned round in place; `reference` is looked at.
    // The CIGAR is a block from `malloc`, with MD as a C string behind it.
    unsafe {
        let bases = (*loaded.sequences).bases;
        let cigar = bwa_gen_cigar2(
            o.mat.as_ptr(),
            o.o_del,
            o.e_del,
            o.o_ins,
            o.e_ins,
            band,
            bases,
            loaded.packed,
            codes.len() as c_int,
            codes.as_mut_ptr(),
            reference[0],
            reference[1],
            &raw mut score,
            &raw mut count,
            &raw mut distance,
        );
        if cigar.is_null() {
            return None;
        }
        let text = std::ffi::CStr::from_ptr(cigar.add(count as usize).cast());
        let difference = text.to_bytes().to_vec();
        let cigar = taken_cigar(cigar, count);
        Some(Described { global: Global { score, cigar }, distance, difference })
    }
}

/// # Safety
/// `cigar` is a block from `malloc` of at least `count` values, or null, which nothing else uses.
unsafe fn taken_cigar(cigar: *mut u32, count: c_int) -> Vec<u32> {
    if cigar.is_null() {
        return Vec::new();
    }
    // SAFETY: by the caller's word.
    unsafe {
        let taken = std::slice::from_raw_parts(cigar, count as usize).to_vec();
        libc::free(cigar.cast());
        taken
    }
}

/// What `mem_pair` gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Paired {
    pub(super) score: i32,
    pub(super) second_score: i32,
    pub(super) count: i32,
    pub(super) regions: [i32; 2],
}

/// The best pair of two mates' regions (`mem_pair`), of which the first `primary` are not of ALT
/// sequences.
pub(super) fn paired(
    index: &Index,
    options: &Options,
    model: &Model,
    mates: [&[Region]; 2],
    id: i32,
    primary: [i32; 2],
) -> Paired {
    let reference = reference(index);
    let mut mates = mates.map(<[Region]>::to_vec);
    let regions = mates.each_mut().map(|mate| Regions {
        count: mate.len(),
        room: mate.len(),
        items: mate.as_mut_ptr(),
        dropped_weight: 0,
    });
    let mut primary = primary;
    let (mut sub, mut count, mut chosen) = (0, 0, [-1; 2]);
    // SAFETY: the vectors are so long, and read; the read's bases are not looked at.
    let score = unsafe {
        mem_pair(
            options.pointer(),
            reference.sequences,
            reference.packed,
            model.as_ptr(),
            ptr::null_mut(),
            regions.as_ptr(),
            id,
            &raw mut sub,
            &raw mut count,
            chosen.as_mut_ptr(),
            primary.as_mut_ptr(),
        )
    };
    Paired { score, second_score: sub, count, regions: chosen }
}

fn reference(index: &Index) -> &Reference {
    index.layout().1
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
    #[link_name = "_Z24ks_introsort_mem_ars2_m2mP12mem_alnreg_t"]
    fn ks_introsort_mem_ars2_m2(count: usize, regions: *mut Region);
    #[link_name = "_Z20ks_introsort_mem_arsmP12mem_alnreg_t"]
    fn ks_introsort_mem_ars(count: usize, regions: *mut Region);
    #[link_name = "_Z20mem_sort_dedup_patchPK9mem_opt_tPK8bntseq_tPKhPhiP12mem_alnreg_tPKa"]
    fn mem_sort_dedup_patch(
        options: *const sys::mem_opt_t,
        sequences: *const Sequences,
        packed: *const u8,
        read: *mut u8,
        count: c_int,
        regions: *mut Region,
        matrix: *const i8,
    ) -> c_int;
    #[link_name = "_Z19mem_mark_primary_sePK9mem_opt_tiP12mem_alnreg_tl"]
    fn mem_mark_primary_se(
        options: *const sys::mem_opt_t,
        count: c_int,
        regions: *mut Region,
        id: i64,
    ) -> c_int;
    #[link_name = "_Z18mem_approx_mapq_sePK9mem_opt_tPK12mem_alnreg_t"]
    fn mem_approx_mapq_se(options: *const sys::mem_opt_t, region: *const Region) -> c_int;
    #[link_name = "_Z8mem_pairPK9mem_opt_tPK8bntseq_tPKhPK12mem_pestat_tP7bseq1_tP12mem_alnreg_viPi\
                   SE_SE_SE_"]
    fn mem_pair(
        options: *const sys::mem_opt_t,
        sequences: *const Sequences,
        packed: *const u8,
        model: *const sys::mem_pestat_t,
        reads: *mut LibraryRead,
        regions: *const Regions,
        id: c_int,
        sub: *mut c_int,
        count: *mut c_int,
        chosen: *mut c_int,
        primary: *mut c_int,
    ) -> c_int;
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
    fn ksw_align2(
        read_length: c_int,
        read: *mut u8,
        reference_length: c_int,
        reference: *mut u8,
        codes: c_int,
        matrix: *const i8,
        open_deletion: c_int,
        extend_deletion: c_int,
        open_insertion: c_int,
        extend_insertion: c_int,
        extra: c_int,
        profile: *mut *mut std::ffi::c_void,
    ) -> Local;
    fn ksw_global2(
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
        count: *mut c_int,
        cigar: *mut *mut u32,
    ) -> c_int;
    fn bwa_gen_cigar2(
        matrix: *const i8,
        open_deletion: c_int,
        extend_deletion: c_int,
        open_insertion: c_int,
        extend_insertion: c_int,
        band: c_int,
        bases: i64,
        packed: *const u8,
        read_length: c_int,
        read: *mut u8,
        reference_start: i64,
        reference_end: i64,
        score: *mut c_int,
        count: *mut c_int,
        distance: *mut c_int,
    ) -> *mut u32;
}
