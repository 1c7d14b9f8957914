//! The library's own stages after the regions, for tests to compare ours with.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};

use bwa_mem3_sys as sys;
use proptest::prelude::*;

use super::super::cigar::Tracer;
use super::super::pair::choose::BestPair;
use super::super::pair::insert_size::{InsertSizes, Model};
use super::super::record::{Pool, Recorder};
use super::super::regions::Region;
use super::super::settings::Settings;
use super::Compared;
use super::index::Options;
use super::layout::{self, Regions};
use super::library::{LibraryBatch, Scratch};
use crate::engine::{EngineReads, Ordinals, Origin, RecordSink};

unsafe extern "C" {
    fn erfc(x: f64) -> f64;
    fn log(x: f64) -> f64;
}

// `bwamem.h` of the engine, by the names that C++ gives them (Itanium C++ ABI, 5.1).
unsafe extern "C" {
    #[link_name = "_Z18mem_approx_mapq_sePK9mem_opt_tPK12mem_alnreg_t"]
    fn mem_approx_mapq_se(options: *const sys::mem_opt_t, region: *const layout::Region) -> c_int;
    #[link_name = "_Z19mem_mark_primary_sePK9mem_opt_tiP12mem_alnreg_tl"]
    fn mem_mark_primary_se(
        options: *const sys::mem_opt_t,
        count: c_int,
        regions: *mut layout::Region,
        id: i64,
    ) -> c_int;
    #[link_name = "_Z20mem_sort_dedup_patchPK9mem_opt_tPK8bntseq_tPKhPhiP12mem_alnreg_tPKa"]
    fn mem_sort_dedup_patch(
        options: *const sys::mem_opt_t,
        sequences: *const layout::Sequences,
        packed: *const u8,
        query: *mut u8,
        count: c_int,
        regions: *mut layout::Region,
        matrix: *const i8,
    ) -> c_int;
    #[link_name = "_Z11mem_reg2alnPK9mem_opt_tPK8bntseq_tPKhiPKcPK12mem_alnreg_tS8_"]
    fn mem_reg2aln(
        options: *const sys::mem_opt_t,
        sequences: *const layout::Sequences,
        packed: *const u8,
        length: c_int,
        query: *const c_char,
        region: *const layout::Region,
        original: *const c_char,
    ) -> LibraryAlignment;
    #[link_name = "_Z10mem_pestatPK9mem_opt_tliPK12mem_alnreg_vP12mem_pestat_t"]
    fn mem_pestat(
        options: *const sys::mem_opt_t,
        bases: i64,
        count: c_int,
        regions: *const Regions,
        model: *mut sys::mem_pestat_t,
    );
    #[link_name = "_Z8mem_pairPK9mem_opt_tPK8bntseq_tPKhPK12mem_pestat_tP7bseq1_tP12mem_alnreg_v\
                   iPiSE_SE_SE_"]
    fn mem_pair(
        options: *const sys::mem_opt_t,
        sequences: *const layout::Sequences,
        packed: *const u8,
        model: *const sys::mem_pestat_t,
        reads: *mut c_void,
        regions: *mut Regions,
        id: c_int,
        sub: *mut c_int,
        near: *mut c_int,
        chosen: *mut c_int,
        on_primary: *mut c_int,
    ) -> c_int;
}

// Of C, not C++.
unsafe extern "C" {
    fn ksw_global2(
        query_length: c_int,
        query: *const u8,
        target_length: c_int,
        target: *const u8,
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
    fn ksw_align2(
        query_length: c_int,
        query: *mut u8,
        target_length: c_int,
        target: *mut u8,
        codes: c_int,
        matrix: *const i8,
        open_deletion: c_int,
        extend_deletion: c_int,
        open_insertion: c_int,
        extend_insertion: c_int,
        more: c_int,
        profile: *mut c_void,
    ) -> LibraryLocal;
}

/// `kswr_t`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct LibraryLocal {
    score: c_int,
    target_end: c_int,
    query_end: c_int,
    second: c_int,
    second_end: c_int,
    target_start: c_int,
    query_start: c_int,
}

/// `mem_aln_t`.
#[repr(C)]
struct LibraryAlignment {
    position: i64,
    sequence: c_int,
    flags: c_int,
    /// `is_rev:1, is_alt:1, mapq:8, NM:22`.
    bits: u32,
    count: c_int,
    cigar: *mut u32,
    alternatives: *mut c_void,
    hits: c_int,
    score: c_int,
    sub: c_int,
    alt_score: c_int,
    hypothesis: i8,
}

/// The C library's logarithm.
pub(in super::super) fn log_of_c(x: f64) -> f64 {
    // SAFETY: no preconditions.
    unsafe { log(x) }
}

/// The C library's complement of the error function.
pub(in super::super) fn erfc_of_c(x: f64) -> f64 {
    // SAFETY: as above.
    unsafe { erfc(x) }
}

impl From<&sys::mem_pestat_t> for InsertSizes {
    fn from(it: &sys::mem_pestat_t) -> Self {
        let sys::mem_pestat_t { low, high, failed, avg, std } = *it;
        Self { low, high, failed: failed != 0, mean: avg, deviation: std }
    }
}

impl From<&InsertSizes> for sys::mem_pestat_t {
    fn from(it: &InsertSizes) -> Self {
        let InsertSizes { low, high, failed, mean, deviation } = *it;
        Self { low, high, failed: failed.into(), avg: mean, std: deviation }
    }
}

/// Regions as the library has them.
fn library(regions: &[Region]) -> Vec<layout::Region> {
    regions.iter().map(layout::Region::from).collect()
}

/// A vector of the library's that is only read, or changed in place.
fn vector(regions: &mut [layout::Region]) -> Regions {
    Regions {
        count: regions.len(),
        room: regions.len(),
        items: regions.as_mut_ptr(),
        ..Regions::empty()
    }
}

pub(in super::super) fn mapq_se(region: &Region, options: &Options) -> i32 {
    // SAFETY: both are only read.
    unsafe { mem_approx_mapq_se(options.pointer(), &raw const (*library(&[*region]).as_ptr())) }
}

/// As `regions::mark::mark_primary`.
pub(in super::super) fn mark_primary(regions: &mut [Region], id: u64, options: &Options) -> usize {
    let mut items = library(regions);
    let count = items.len() as c_int;
    // SAFETY: there are so many regions, which are changed in place.
    let found =
        unsafe { mem_mark_primary_se(options.pointer(), count, items.as_mut_ptr(), id as i64) };
    for (region, item) in regions.iter_mut().zip(&items) {
        *region = item.into();
    }
    found as usize
}

pub(in super::super) fn insert_sizes(
    pairs: &[[Vec<Region>; 2]],
    bases: u64,
    options: &Options,
) -> Model {
    let mut items: Vec<_> = pairs.iter().flatten().map(|it| library(it)).collect();
    let vectors: Vec<_> = items.iter_mut().map(|it| vector(it)).collect();
    let mut model = [sys::mem_pestat_t::default(); 4];
    // SAFETY: there are so many vectors, which are only read, and four entries.
    unsafe {
        let count = vectors.len() as c_int;
        mem_pestat(options.pointer(), bases as i64, count, vectors.as_ptr(), model.as_mut_ptr());
    }
    model.map(|it| InsertSizes::from(&it))
}

/// As `pair::choose::Pairing::best`; `None` where nothing pairs or the score is 0.
pub(in super::super) fn best_pair(
    engine: &Compared,
    model: &Model,
    mates: [&[Region]; 2],
    id: i32,
) -> Option<BestPair> {
    let (_, reference) = engine.library.index.layout();
    let model = model.map(|it| sys::mem_pestat_t::from(&it));
    let mut items = mates.map(library);
    let mut vectors = items.each_mut().map(|it| vector(it));
    let (mut sub, mut near, mut chosen) = (0, 0, [0; 2]);
    let mut on_primary = mates.map(|it| it.len() as c_int);
    // SAFETY: the index is loaded; of the reads nothing is read; all else lives here.
    let score = unsafe {
        mem_pair(
            engine.library.options.pointer(),
            reference.sequences,
            reference.packed,
            model.as_ptr(),
            std::ptr::null_mut(),
            vectors.as_mut_ptr(),
            id,
            &raw mut sub,
            &raw mut near,
            chosen.as_mut_ptr(),
            on_primary.as_mut_ptr(),
        )
    };
    let regions = chosen.map(|at| at as usize);
    (score > 0).then_some(BestPair { regions, score, second: sub, near })
}

/// As `regions::redundant::remove_redundant`.
pub(in super::super) fn remove_redundant(regions: &mut Vec<Region>, options: &Options) {
    let mut items = library(regions);
    let count = items.len() as c_int;
    // SAFETY: there are so many regions, which are changed in place; without a reference nothing is
    // merged.
    let kept = unsafe {
        mem_sort_dedup_patch(
            options.pointer(),
            std::ptr::null(),
            std::ptr::null(),
            std::ptr::null_mut(),
            count,
            items.as_mut_ptr(),
            std::ptr::null(),
        )
    };
    regions.clear();
    regions.extend(items[..kept as usize].iter().map(Region::from));
}

/// Operations of the library as BAM has them.
fn operations(library: &[u32]) -> Vec<u32> {
    // M, I, D, S, H.
    let kinds = [0, 1, 2, 4, 5];
    library.iter().map(|it| it & !0xF | kinds[(it & 0xF) as usize]).collect()
}

/// Score and path of a global alignment.
pub(in super::super) fn global(
    query: &[u8],
    target: &[u8],
    band: i32,
    options: &Options,
) -> (i32, Vec<u32>) {
    let o = options.get();
    let (mut count, mut cigar) = (0, std::ptr::null_mut());
    // SAFETY: both strings have so many codes; the path is a block from `malloc`, which is freed.
    unsafe {
        let score = ksw_global2(
            query.len() as c_int,
            query.as_ptr(),
            target.len() as c_int,
            target.as_ptr(),
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
        let path = operations(std::slice::from_raw_parts(cigar, count as usize));
        libc::free(cigar.cast());
        (score, path)
    }
}

/// A local alignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct OracleAlignment {
    pub(in super::super) score: i32,
    pub(in super::super) second: i32,
    /// First and last base, -1 for the first if it is not known.
    pub(in super::super) target: [i32; 2],
    pub(in super::super) query: [i32; 2],
}

/// A local alignment of a query to a target, with 8 or 16 bits.
pub(in super::super) fn local(
    query: &[u8],
    target: &[u8],
    small: bool,
    least: i32,
    options: &Options,
) -> OracleAlignment {
    const BYTE: i32 = 0x1_0000;
    const SECOND: i32 = 0x4_0000;
    const START: i32 = 0x8_0000;
    let o = options.get();
    let (mut query, mut target) = (query.to_vec(), target.to_vec());
    // SAFETY: both strings have so many codes; they are reversed in place and back.
    let found = unsafe {
        ksw_align2(
            query.len() as c_int,
            query.as_mut_ptr(),
            target.len() as c_int,
            target.as_mut_ptr(),
            5,
            o.mat.as_ptr(),
            o.o_del,
            o.e_del,
            o.o_ins,
            o.e_ins,
            SECOND | START | least | if small { BYTE } else { 0 },
            std::ptr::null_mut(),
        )
    };
    OracleAlignment {
        score: found.score,
        second: found.second,
        target: [found.target_start, found.target_end],
        query: [found.query_start, found.query_end],
    }
}

/// An alignment with its operations and text, without what it points to.
#[derive(Debug, Clone, PartialEq)]
pub(in super::super) struct WholeAlignment {
    sequence: i32,
    position: i64,
    reverse: bool,
    flags: u32,
    quality: i32,
    edits: i32,
    scores: [i32; 3],
    is_alt: bool,
    cigar: Vec<u32>,
    md: Vec<u8>,
}

/// The library's alignment of a region of a read, given as codes.
pub(in super::super) fn alignment(
    engine: &Compared,
    codes: &[u8],
    region: &Region,
) -> WholeAlignment {
    let (_, reference) = engine.library.index.layout();
    let items = library(&[*region]);
    // SAFETY: the index is loaded; the read has so many codes; operations and the text after them
    // are a block from `malloc`, which is freed.
    unsafe {
        let it = mem_reg2aln(
            engine.library.options.pointer(),
            reference.sequences,
            reference.packed,
            codes.len() as c_int,
            codes.as_ptr().cast(),
            items.as_ptr(),
            std::ptr::null(),
        );
        let count = it.count as usize;
        let whole = WholeAlignment {
            sequence: it.sequence,
            position: it.position,
            reverse: it.bits & 1 != 0,
            flags: it.flags as u32,
            quality: (it.bits >> 2 & 0xFF) as i32,
            edits: (it.bits >> 10) as i32,
            scores: [it.score, it.sub, it.alt_score],
            is_alt: it.bits & 2 != 0,
            cigar: operations(std::slice::from_raw_parts(it.cigar, count)),
            md: CStr::from_ptr(it.cigar.add(count).cast()).to_bytes().to_vec(),
        };
        libc::free(it.cigar.cast());
        whole
    }
}

/// Ours, in the same form.
pub(in super::super) fn our_alignment(
    engine: &Compared,
    codes: &[u8],
    region: &Region,
) -> WholeAlignment {
    let settings = Settings::of(engine.library.options.get());
    let reference = engine.reference();
    let recorder = Recorder { settings: &settings, reference: &reference };
    let mut pool = Pool::default();
    let it = recorder.align(codes, region, &mut Tracer::default(), &mut pool).unwrap();
    WholeAlignment {
        sequence: it.sequence,
        position: it.position,
        reverse: it.reverse,
        flags: it.flags,
        quality: it.quality,
        edits: it.edits,
        scores: [it.score, it.sub, it.alt_score],
        is_alt: it.is_alt,
        cigar: it.operations(&pool).to_vec(),
        md: pool.text[it.md.clone()].to_vec(),
    }
}

/// The region of a read of 100 bases that matches there, on the first sequence.
pub(in super::super) fn region_at(start: i64) -> Region {
    Region {
        reference_start: start,
        reference_end: start + 100,
        hash: 0,
        read_start: 0,
        read_end: 100,
        sequence: 0,
        score: 100,
        true_score: 100,
        sub: 0,
        alt_score: 0,
        tandem_score: 0,
        sub_count: 0,
        band: 100,
        secondary: 0,
        secondary_of_all: 0,
        repetitive: 0.0,
        is_alt: false,
    }
}

/// Regions of a read of 150 bases on a reference of `bases`, 3 sequences of equal lengths, so close
/// to each other in places, scores and bases that ties and overlaps are frequent.
pub(in super::super) fn some_regions(
    bases: i64,
    most: usize,
) -> impl Strategy<Value = Vec<Region>> {
    let region = (0..2 * bases, 0..8_i32, 0..6_i32, 20..150_i32, 0..4_i32, 0..8_u32).prop_map(
        move |(place, from, lost, length, extra, bits)| {
            let read_start = from * 12;
            let read_end = (read_start + length).min(150);
            let third = bases / 3;
            let forward = if place < bases { place } else { 2 * bases - 1 - place };
            let sequence = (forward / third).min(2);
            // Within its sequence, and on one strand.
            let [low, high] = [sequence * third, (sequence + 1) * third];
            let [low, high] =
                if place < bases { [low, high] } else { [2 * bases - high, 2 * bases - low] };
            let span = i64::from(read_end - read_start + extra).min(high - low);
            let start = (place / 7 * 7).clamp(low, high - span);
            Region {
                reference_end: start + span,
                read_start,
                read_end,
                sequence: sequence as i32,
                score: (read_end - read_start - 5 * lost).max(19),
                true_score: read_end - read_start - 5 * lost,
                tandem_score: if bits & 1 == 0 { 0 } else { 30 * extra - 1 },
                repetitive: if bits & 2 == 0 { 0.0 } else { 0.137 * extra as f32 },
                is_alt: bits == 7,
                ..region_at(start)
            }
        },
    );
    proptest::collection::vec(region, 0..most)
}

/// The records of a batch by the library, as `BwaEngine::emit` hands them out. `candidates` are of
/// `reads`.
pub(in super::super) fn emit(
    engine: &Compared,
    scratch: &mut Scratch,
    (reads, mut candidates): (&EngineReads<'_>, LibraryBatch),
    model: &Model,
    ordinals: Ordinals,
    sink: &mut dyn RecordSink,
) {
    candidates.put_all(reads).unwrap();
    let ids = sys::BwaIdBases {
        first_single_id: ordinals.first_single,
        first_pair_id: ordinals.first_pair,
    };
    let model = model.map(|it| sys::mem_pestat_t::from(&it));
    let mut context = sink;
    // SAFETY: all handles are valid, and the library frees that of the candidates on every path.
    // `context` outlives the call, and `take_record` is what it is for.
    let status = unsafe {
        sys::bwa_shim_pair_emit(
            engine.library.index.handle(),
            engine.library.options.pointer(),
            scratch.handle(),
            candidates.take_handle(),
            model.as_ptr(),
            ids,
            Some(take_record),
            (&raw mut context).cast(),
        )
    };
    assert_eq!(status, 0);
}

/// Hands a record of the library to the sink.
///
/// # Safety
/// `context` points to a reference to a sink that nothing else uses meanwhile; `body` has `length`
/// bytes.
unsafe extern "C" fn take_record(
    context: *mut c_void,
    kind: u32,
    at: usize,
    body: *const u8,
    length: usize,
) {
    // SAFETY: the caller's word.
    let (sink, body) = unsafe {
        (&mut *context.cast::<&mut dyn RecordSink>(), std::slice::from_raw_parts(body, length))
    };
    let origin = match kind {
        sys::BWA_ORIGIN_SINGLE => Origin::Single(at),
        _ => Origin::Pair(at),
    };
    sink.record(origin, body);
}
