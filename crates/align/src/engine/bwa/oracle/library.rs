//! The engine's library by safe handles: scratch, and reads with their regions.
//!
//! Nothing outside this file, [`index`](super::super::index), [`layout`](super::super::layout) and
//! [`extension`](super::super::extension) sees a pointer of the library.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::ptr;

use bwa_mem3_sys as sys;
use seqloom_format::names::check_read_name;

use super::index::{Index, Options};
use super::layout::{self, CandidatesHandle, LibraryRead, LibrarySeed, Region, Regions};
use crate::engine::{EngineReads, Read};

/// Reads that the library's kernels take at a time.
pub(in super::super) const KERNEL_READS: usize = 512;

/// Bases of [`KERNEL_READS`] reads that a worker's memory is made for at first.
const FIRST_BASES: usize = 1 << 15;

/// Chains of [`KERNEL_READS`] reads whose first seeds have room in a worker's memory.
const FIRST_SEEDS: usize = 8 * KERNEL_READS;

/// Working memory of one worker.
pub(in super::super) struct Scratch {
    handle: *mut sys::BwaScratch,
    /// Bases of [`KERNEL_READS`] reads for which there is room.
    room_bases: usize,
    /// First seeds of chains, the library's.
    seeds: Vec<LibrarySeed>,
}

// SAFETY: the library keeps no reference to the thread that made it.
unsafe impl Send for Scratch {}

impl Scratch {
    pub(in super::super) fn new() -> Result<Self, String> {
        // SAFETY: no preconditions; null is handled.
        let handle = unsafe { sys::bwa_shim_scratch_new() };
        if handle.is_null() {
            return Err(last_error());
        }
        Ok(Self { handle, room_bases: 0, seeds: Vec::with_capacity(FIRST_SEEDS) })
    }

    /// Makes room for `bases` of [`KERNEL_READS`] reads.
    ///
    /// The library makes arrays by the bases of a batch, grows them by another measure than it
    /// writes to them, and so may write past their ends in a later batch (`mem_kernel1_core`). In
    /// memory whose first batch has as many bases as any later one it does not: no batch has more
    /// reads or seeds than bases.
    pub(in super::super) fn make_room(
        &mut self,
        index: &Index,
        options: &Options,
        bases: usize,
    ) -> Result<(), String> {
        if bases <= self.room_bases {
            return Ok(());
        }
        let each = bases.next_power_of_two().max(FIRST_BASES).div_ceil(KERNEL_READS);
        let unknown = vec![b'N'; each];
        let reads = [Read { name: b"room", bases: &unknown, qualities: None }; KERNEL_READS];
        let mut fresh = Self::new()?;
        LibraryBatch::search(index, options, &mut fresh, &[], &reads)?;
        fresh.room_bases = each * KERNEL_READS;
        *self = fresh;
        Ok(())
    }

    pub(in super::super) fn handle(&self) -> *mut sys::BwaScratch {
        self.handle
    }

    /// Memory for first seeds of chains, and for how many.
    pub(in super::super) fn seeds(&mut self) -> (*mut LibrarySeed, usize) {
        (self.seeds.as_mut_ptr(), self.seeds.capacity())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // SAFETY: the handle is valid and freed once.
        unsafe { sys::bwa_shim_scratch_free(self.handle) };
    }
}

/// Reads as the library has them, with the regions of each.
pub(in super::super) struct LibraryBatch {
    handle: *mut sys::BwaRegs,
}

impl LibraryBatch {
    /// Finds the regions of all reads of a batch.
    pub(in super::super) fn find(
        index: &Index,
        options: &Options,
        scratch: &mut Scratch,
        reads: &EngineReads<'_>,
    ) -> Result<Self, String> {
        let (pairs, singles) = (&reads.pairs[..], &reads.singles[..]);
        let all: Vec<_> = pairs.iter().flatten().chain(singles).copied().collect();
        if all.iter().all(|read| !read.bases.is_empty()) {
            check_names(&all)?;
            let (of_pairs, of_singles) = all.split_at(2 * pairs.len());
            scratch.make_room(index, options, most_bases(of_pairs).max(most_bases(of_singles)))?;
            return Self::search(index, options, scratch, pairs, singles);
        }
        let empty_pairs: Vec<_> = pairs.iter().map(|pair| pair.map(without)).collect();
        let empty_singles: Vec<_> = singles.iter().copied().map(without).collect();
        check_names(&all)?;
        let mut found = Self::search(index, options, scratch, &empty_pairs, &empty_singles)?;
        // The library's memory is made by bases, so that a read without has no room in it.
        let searched: Vec<_> = (0..all.len()).filter(|&at| !all[at].bases.is_empty()).collect();
        for &at in &searched {
            found.put_bases(at, all[at].bases)?;
        }
        found.extend(index, options, scratch, &searched)?;
        Ok(found)
    }

    /// The library's search for all reads, in memory that has room for them.
    fn search(
        index: &Index,
        options: &Options,
        scratch: &mut Scratch,
        pairs: &[[Read<'_>; 2]],
        singles: &[Read<'_>],
    ) -> Result<Self, String> {
        let library_pairs: Vec<_> = pairs.iter().map(library_pair).collect();
        let library_singles: Vec<_> = singles.iter().map(library_single).collect();
        let batch = sys::BwaReadBatch {
            pairs: library_pairs.as_ptr(),
            n_pairs: library_pairs.len(),
            singles: library_singles.as_ptr(),
            n_singles: library_singles.len(),
        };
        // SAFETY: all handles are valid, and the batch borrows slices that outlive the call, which
        // copies the reads. Null is handled.
        let handle = unsafe {
            sys::bwa_shim_seed_extend(
                index.handle(),
                options.pointer(),
                scratch.handle,
                &raw const batch,
            )
        };
        if handle.is_null() {
            return Err(last_error());
        }
        Ok(Self { handle })
    }

    fn shim(&self) -> *mut layout::ShimCandidates {
        // SAFETY: the handle is valid, and is one pointer (see `layout`).
        unsafe { (*self.handle.cast::<CandidatesHandle>()).shim }
    }

    /// Regions of read `at` of the batch: mates one after the other, then singles.
    pub(in super::super) fn found(&self, at: usize) -> &[Region] {
        // SAFETY: `layout` describes the structure; the regions live as long as the candidates.
        unsafe {
            let shim = &*self.shim();
            assert!(at < shim.count as usize);
            let regions = &*shim.regions.add(at);
            if regions.count == 0 {
                return &[];
            }
            std::slice::from_raw_parts(regions.items, regions.count)
        }
    }

    pub(in super::super) fn slot(&mut self, at: usize) -> Result<Slot<'_>, String> {
        // SAFETY: `layout` describes these structures; `count` bounds `at`.
        unsafe {
            let shim = &mut *self.shim();
            if at >= shim.count as usize {
                return Err("a region for a read that is not there".to_owned());
            }
            Ok(Slot { read: &mut *shim.reads.add(at), regions: &mut *shim.regions.add(at) })
        }
    }

    /// Gives read `at`, which has none, its bases: as codes, or, if the library is to search for
    /// them, as letters.
    ///
    /// # Errors
    /// Out of memory.
    pub(in super::super) fn put_bases(&mut self, at: usize, bases: &[u8]) -> Result<(), String> {
        let Slot { read, .. } = self.slot(at)?;
        // SAFETY: the library has made the read's text with `malloc` and frees it with `free`; it
        // is replaced by a block of its own.
        read.sequence = unsafe { replaced(read.sequence, bases)? };
        read.bases = bases.len() as i32;
        Ok(())
    }

    /// Puts bases and qualities of all reads of the batch back, as the library wants them.
    #[cfg(test)]
    pub(in super::super) fn put_all(&mut self, reads: &EngineReads<'_>) -> Result<(), String> {
        let mut codes = Vec::new();
        for (at, read) in reads.pairs.iter().flatten().chain(&reads.singles).enumerate() {
            codes.clear();
            super::super::seed::append_codes(read.bases, &mut codes);
            self.put_bases(at, &codes)?;
            if let Some(qualities) = read.qualities {
                let Slot { read, .. } = self.slot(at)?;
                // SAFETY: as of bases.
                read.qualities = unsafe { replaced(read.qualities, qualities)? };
            }
        }
        Ok(())
    }

    /// Gives the handle away, which is then no longer freed.
    #[cfg(test)]
    pub(in super::super) fn take_handle(&mut self) -> *mut sys::BwaRegs {
        std::mem::replace(&mut self.handle, ptr::null_mut())
    }
}

impl Drop for LibraryBatch {
    fn drop(&mut self) {
        // SAFETY: the handle is valid or null, which is allowed, and freed once.
        unsafe { sys::bwa_shim_regs_free(self.handle) };
    }
}

/// Of names longer than BAM can hold the library ends the process.
fn check_names(reads: &[Read<'_>]) -> Result<(), String> {
    reads.iter().try_for_each(|read| check_read_name(read.name)).map_err(|fault| fault.to_string())
}

/// The most bases of the reads that the kernels take at a time.
fn most_bases(reads: &[Read<'_>]) -> usize {
    let bases = |some: &[Read<'_>]| some.iter().map(|read| read.bases.len()).sum();
    reads.chunks(KERNEL_READS).map(bases).max().unwrap_or(0)
}

/// A read of the library's and what was found for it.
pub(in super::super) struct Slot<'a> {
    pub(in super::super) read: &'a mut LibraryRead,
    pub(in super::super) regions: &'a mut Regions,
}

/// A block from `malloc` that holds `bytes` and a 0, in place of `old`.
///
/// # Safety
/// `old` is null or a block from `malloc`, which nothing else points to.
unsafe fn replaced(old: *mut u8, bytes: &[u8]) -> Result<*mut u8, String> {
    // SAFETY: by the caller's word for `old`; the new block has room for the bytes and the 0.
    unsafe {
        let new = libc::realloc(old.cast(), bytes.len() + 1).cast::<u8>();
        if new.is_null() {
            return Err("out of memory".to_owned());
        }
        ptr::copy_nonoverlapping(bytes.as_ptr(), new, bytes.len());
        new.add(bytes.len()).write(0);
        Ok(new)
    }
}

fn without(read: Read<'_>) -> Read<'_> {
    Read { bases: &[], qualities: None, ..read }
}

fn library_single(read: &Read<'_>) -> sys::BwaSingleRead {
    sys::BwaSingleRead {
        name: read.name.as_ptr().cast(),
        name_len: read.name.len(),
        seq: read.bases.as_ptr(),
        seq_len: read.bases.len(),
        qual: read.qualities.map_or(ptr::null(), <[u8]>::as_ptr),
    }
}

fn library_pair([first, second]: &[Read<'_>; 2]) -> sys::BwaReadPair {
    sys::BwaReadPair {
        r1_name: first.name.as_ptr().cast(),
        r1_name_len: first.name.len(),
        r1_seq: first.bases.as_ptr(),
        r1_seq_len: first.bases.len(),
        r1_qual: first.qualities.map_or(ptr::null(), <[u8]>::as_ptr),
        r2_name: second.name.as_ptr().cast(),
        r2_name_len: second.name.len(),
        r2_seq: second.bases.as_ptr(),
        r2_seq_len: second.bases.len(),
        r2_qual: second.qualities.map_or(ptr::null(), <[u8]>::as_ptr),
    }
}

/// The library's words for what failed last in this thread.
pub(in super::super) fn last_error() -> String {
    // SAFETY: null, or a C string that lives until the next call of this thread.
    unsafe {
        let text = sys::bwa_shim_last_error();
        if text.is_null() {
            return "for a reason it does not say".to_owned();
        }
        CStr::from_ptr(text).to_string_lossy().into_owned()
    }
}
