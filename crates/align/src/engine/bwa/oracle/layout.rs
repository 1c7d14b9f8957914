//! How the engine's library, version 0.15.0, lays out what it loads and what it finds.
//!
//! Its functions hand out pointers to these structures and no function reads them. Their layout
//! belongs to one version, which Cargo.toml pins and an assertion here compares when it is
//! compiled; what is read of a loaded index is compared with what is known of it. Sources:
//! `bwa.h`, `bntseq.h`, `bwamem.h`, `FMI_search.h`, `read_index_ele.h` and `bwa_shim_align.cpp` of
//! `bwa-mem3-sys`.

use std::ffi::{c_char, c_int, c_void};

use super::super::chain::Seed;
use super::super::chain::filter::ChosenChain;
use super::super::regions;

/// The library's own version number whose layout this is.
const VERSION: &[u8] = b"0.15.0";
const _: () = {
    let built = bwa_mem3_sys::build_info::VERSION.as_bytes();
    assert!(built.len() == VERSION.len(), "the layouts here are of another version");
    let mut at = 0;
    while at < VERSION.len() {
        assert!(built[at] == VERSION[at], "the layouts here are of another version");
        at += 1;
    }
};

/// Longest path, as the library was compiled for.
const PATH_MAX: usize = libc::PATH_MAX as usize;

/// `BwaIndex`, which points to `BwaShimIndex`.
#[repr(C)]
pub(in super::super) struct IndexHandle {
    pub(in super::super) shim: *const ShimIndex,
}

/// `BwaShimIndex`.
#[repr(C)]
pub(in super::super) struct ShimIndex {
    pub(in super::super) search: *const Search,
    pub(in super::super) original_sequences: *const c_void,
    pub(in super::super) original_packed: *const u8,
}

/// `FMI_search`, which inherits `indexEle`.
#[repr(C)]
pub(in super::super) struct Search {
    pub(in super::super) reference: *const Reference,
    pub(in super::super) rows: i64,
    pub(in super::super) sentinel_row: i64,
    pub(in super::super) sample_shift: i64,
    pub(in super::super) sample_mask: i64,
    file_name: [c_char; PATH_MAX],
    pub(in super::super) first_rows: [i64; 5],
    pub(in super::super) samples_low: *const u32,
    pub(in super::super) samples_high: *const i8,
    blocks: *const c_void,
}

/// `bwaidx_fm_t`.
#[repr(C)]
pub(in super::super) struct Reference {
    pub(in super::super) sequences: *const Sequences,
    pub(in super::super) packed: *const u8,
}

/// `bntseq_t`.
#[repr(C)]
pub(in super::super) struct Sequences {
    pub(in super::super) bases: i64,
    pub(in super::super) count: i32,
    seed: u32,
    pub(in super::super) annotations: *const Annotation,
}

/// `bntann1_t`.
#[repr(C)]
pub(in super::super) struct Annotation {
    pub(in super::super) offset: i64,
    pub(in super::super) bases: i32,
    ambiguous: i32,
    gi: u32,
    pub(in super::super) is_alt: i32,
    name: *const c_char,
    comment: *const c_char,
}

/// `BwaRegs`, which points to `ShimRegs`.
#[repr(C)]
pub(in super::super) struct CandidatesHandle {
    pub(in super::super) shim: *mut ShimCandidates,
}

/// `ShimRegs`: the reads of a batch, pairs first, with their regions.
#[repr(C)]
pub(in super::super) struct ShimCandidates {
    pub(in super::super) reads: *mut LibraryRead,
    pub(in super::super) count: c_int,
    pub(in super::super) pairs: usize,
    pub(in super::super) singles: usize,
    pub(in super::super) regions: *mut Regions,
    bisulfite: c_int,
    heap_bytes: usize,
}

/// `bseq1_t`.
#[repr(C)]
pub(in super::super) struct LibraryRead {
    pub(in super::super) bases: c_int,
    id: c_int,
    pub(in super::super) name: *mut c_char,
    comment: *mut c_char,
    /// Codes 0 to 4 once the read has been through `seed_extend`.
    pub(in super::super) sequence: *mut u8,
    pub(in super::super) qualities: *mut u8,
    text: *mut c_char,
    records: *mut *mut c_void,
    record_count: c_int,
    record_room: c_int,
    original: *mut c_char,
    chemistry: i8,
}

impl LibraryRead {
    /// A read that is nothing but its codes, which the library may change in their place.
    pub(in super::super) fn of_codes(codes: &mut [u8]) -> Self {
        let (text, null) = (std::ptr::null_mut(), std::ptr::null_mut());
        Self {
            bases: codes.len() as c_int,
            id: 0,
            name: text,
            comment: text,
            sequence: codes.as_mut_ptr(),
            qualities: null,
            text,
            records: std::ptr::null_mut(),
            record_count: 0,
            record_room: 0,
            original: text,
            chemistry: -1,
        }
    }
}

/// `mem_seed_t`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct LibrarySeed {
    pub(in super::super) place: i64,
    base: i32,
    length: i32,
    score: i32,
    region: i32,
    occurrences: i32,
}

impl From<&LibrarySeed> for Seed {
    fn from(it: &LibrarySeed) -> Self {
        Self { reference_start: it.place, read_start: it.base, length: it.length, score: it.score }
    }
}

impl From<&Seed> for LibrarySeed {
    fn from(it: &Seed) -> Self {
        let Seed { reference_start: place, read_start: base, length, score } = *it;
        Self { place, base, length, score, region: 0, occurrences: 1 }
    }
}

/// `mem_chain_t`.
#[repr(C)]
pub(in super::super) struct LibraryChain {
    /// Number of the read in its call.
    pub(in super::super) read: i32,
    pub(in super::super) current: i32,
    pub(in super::super) count: i32,
    /// More than 1: the seeds are to be freed.
    pub(in super::super) room: i32,
    pub(in super::super) first: i32,
    pub(in super::super) sequence: i32,
    /// `w:27, kept:2, is_alt:1, meth_hypothesis:2`.
    pub(in super::super) bits: u32,
    pub(in super::super) repetitive: f32,
    pub(in super::super) place: i64,
    pub(in super::super) seeds: *mut LibrarySeed,
}

impl LibraryChain {
    /// The bits of a chain that is kept, without bisulfite hypothesis (-1).
    pub(in super::super) fn bits(chosen: &ChosenChain, is_alt: bool) -> u32 {
        let weight = chosen.weight as u32 & ((1 << 27) - 1);
        0b11 << 30 | u32::from(is_alt) << 29 | (chosen.kept as u32) << 27 | weight
    }
}

/// `mem_chain_v`.
#[repr(C)]
pub(in super::super) struct LibraryChains {
    pub(in super::super) count: usize,
    pub(in super::super) room: usize,
    pub(in super::super) cursor: usize,
    pub(in super::super) items: *mut LibraryChain,
    pub(in super::super) dropped_weight: c_int,
}

impl LibraryChains {
    pub(in super::super) fn empty() -> Self {
        Self { count: 0, room: 0, cursor: 0, items: std::ptr::null_mut(), dropped_weight: 0 }
    }
}

/// `BwaScratch`, which points to `ShimScratch`.
#[repr(C)]
pub(in super::super) struct ScratchHandle {
    pub(in super::super) shim: *mut ShimScratch,
}

/// The beginning of `ShimScratch`, whose first member is `worker_t`.
#[repr(C)]
pub(in super::super) struct ShimScratch {
    pointers: [*mut c_void; 5],
    processed: i64,
    chains: *mut LibraryChains,
    /// `mem_cache`.
    pub(in super::super) cache: [u64; 0],
}

/// `mem_alnreg_v`.
#[repr(C)]
pub(in super::super) struct Regions {
    pub(in super::super) count: usize,
    pub(in super::super) room: usize,
    pub(in super::super) items: *mut Region,
    pub(in super::super) dropped_weight: c_int,
}

/// `mem_alnreg_t`: where a read may align.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in super::super) struct Region {
    /// First base of the reference, in doubled coordinates.
    pub(in super::super) reference_start: i64,
    /// One past its last base.
    pub(in super::super) reference_end: i64,
    /// First base of the read.
    pub(in super::super) read_start: i32,
    /// One past its last base.
    pub(in super::super) read_end: i32,
    /// Sequence of the reference.
    pub(in super::super) sequence: i32,
    pub(in super::super) dedup_rank: i32,
    chain: *mut c_void,
    /// Best score of an extension, which may end before the read does.
    pub(in super::super) score: i32,
    /// Score of the region itself.
    pub(in super::super) true_score: i32,
    pub(in super::super) sub: i32,
    pub(in super::super) alt_score: i32,
    pub(in super::super) tandem_score: i32,
    pub(in super::super) sub_count: i32,
    /// Band width of the extension.
    pub(in super::super) band: i32,
    /// Bases in seeds; read by the MAPQ formula that bwa does not use.
    pub(in super::super) seed_cover: i32,
    pub(in super::super) secondary: i32,
    pub(in super::super) secondary_all: i32,
    /// Length of the seed that was extended.
    pub(in super::super) seed_length: i32,
    /// Occurrences of the most frequent seed.
    pub(in super::super) seed_occurrences: i32,
    /// `n_comp:30, is_alt:2`.
    pub(in super::super) components_and_alt: u32,
    pub(in super::super) repetitive: f32,
    pub(in super::super) hash: u64,
    flag: i32,
    hypothesis: i8,
    strand_hypothesis: i8,
}

/// Bits of `components_and_alt` below those that say whether a region is on an ALT sequence.
const COMPONENT_BITS: u32 = 30;

impl From<&Region> for regions::Region {
    fn from(it: &Region) -> Self {
        Self {
            reference_start: it.reference_start,
            reference_end: it.reference_end,
            hash: it.hash,
            read_start: it.read_start,
            read_end: it.read_end,
            sequence: it.sequence,
            score: it.score,
            true_score: it.true_score,
            sub: it.sub,
            alt_score: it.alt_score,
            tandem_score: it.tandem_score,
            sub_count: it.sub_count,
            band: it.band,
            secondary: it.secondary,
            secondary_of_all: it.secondary_all,
            repetitive: it.repetitive,
            is_alt: it.components_and_alt >> COMPONENT_BITS != 0,
        }
    }
}

impl From<&regions::Region> for Region {
    fn from(it: &regions::Region) -> Self {
        Self {
            reference_start: it.reference_start,
            reference_end: it.reference_end,
            read_start: it.read_start,
            read_end: it.read_end,
            sequence: it.sequence,
            dedup_rank: 0,
            chain: std::ptr::null_mut(),
            score: it.score,
            true_score: it.true_score,
            sub: it.sub,
            alt_score: it.alt_score,
            tandem_score: it.tandem_score,
            sub_count: it.sub_count,
            band: it.band,
            seed_cover: 0,
            secondary: it.secondary,
            secondary_all: it.secondary_of_all,
            seed_length: 0,
            seed_occurrences: 0,
            components_and_alt: u32::from(it.is_alt) << COMPONENT_BITS,
            repetitive: it.repetitive,
            hash: it.hash,
            flag: 0,
            hypothesis: -1,
            strand_hypothesis: -1,
        }
    }
}

impl Regions {
    pub(in super::super) fn empty() -> Self {
        Self { count: 0, room: 0, items: std::ptr::null_mut(), dropped_weight: 0 }
    }
}

// The library asserts the same sizes when it is compiled.
const _: () = assert!(size_of::<Region>() == 112);
const _: () = assert!(size_of::<LibraryChain>() == 48 && size_of::<LibrarySeed>() == 32);
const _: () = assert!(std::mem::offset_of!(LibrarySeed, occurrences) == 24);
const _: () = assert!(std::mem::offset_of!(ShimScratch, cache) == 56);
const _: () = assert!(size_of::<Regions>() == 32 && size_of::<LibraryRead>() == 80);
