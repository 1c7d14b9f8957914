//! The library's own stages behind the regions, for tests to compare ours with.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use bwa_mem3_sys as sys;
use proptest::prelude::*;

use super::BwaEngine;
use super::index::Options;
use super::layout::{self, Regions};
use super::pair::choose::BestPair;
use super::pair::insert_size::{InsertSizes, Model};
use super::regions::Region;

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

/// The C library's logarithm.
pub(super) fn log_of_c(x: f64) -> f64 {
    // SAFETY: no preconditions.
    unsafe { log(x) }
}

/// The C library's complement of the error function.
pub(super) fn erfc_of_c(x: f64) -> f64 {
    // SAFETY: as above.
    unsafe { erfc(x) }
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

pub(super) fn mapping_quality(region: &Region, options: &Options) -> i32 {
    // SAFETY: both are only read.
    unsafe { mem_approx_mapq_se(options.pointer(), &raw const (*library(&[*region]).as_ptr())) }
}

/// As `regions::mark::mark_primary`.
pub(super) fn mark_primary(regions: &mut [Region], id: u64, options: &Options) -> usize {
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

pub(super) fn insert_sizes(pairs: &[[Vec<Region>; 2]], bases: u64, options: &Options) -> Model {
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
pub(super) fn best_pair(
    engine: &BwaEngine,
    model: &Model,
    mates: [&[Region]; 2],
    id: i32,
) -> Option<BestPair> {
    let (_, reference) = engine.index.layout();
    let model = model.map(|it| sys::mem_pestat_t::from(&it));
    let mut items = mates.map(library);
    let mut vectors = items.each_mut().map(|it| vector(it));
    let (mut sub, mut near, mut chosen) = (0, 0, [0; 2]);
    let mut on_primary = mates.map(|it| it.len() as c_int);
    // SAFETY: the index is loaded; of the reads nothing is read; all else lives here.
    let score = unsafe {
        mem_pair(
            engine.options.pointer(),
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

/// The region of a read of 100 bases that matches there, on the first sequence.
pub(super) fn region_at(start: i64) -> Region {
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
        alternate_score: 0,
        tandem_score: 0,
        sub_count: 0,
        band: 100,
        secondary: 0,
        secondary_of_all: 0,
        repetitive: 0.0,
        alternate: false,
    }
}

/// Regions of a read of 150 bases on a reference of `bases`, 3 sequences of equal lengths, so close
/// to each other in places, scores and bases that ties and overlaps are frequent.
pub(super) fn some_regions(bases: i64, most: usize) -> impl Strategy<Value = Vec<Region>> {
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
                alternate: bits == 7,
                ..region_at(start)
            }
        },
    );
    proptest::collection::vec(region, 0..most)
}
