//! The engine's library behind safe handles: the loaded index, options, scratch and candidates.
//!
//! Nothing outside this file and [`layout`](super::layout) sees a pointer of the library. Beside
//! what its functions offer, the index can be read where the library has loaded it, without a
//! copy ([`Index::parts`]), and a read's region can be put in place of a search
//! ([`Candidates::put`]).
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_int, c_void};
use std::marker::PhantomData;
use std::path::Path;
use std::ptr;

use bwa_mem3_sys as sys;

use super::layout::{
    self, Block, CandidatesHandle, IndexHandle, LibraryChain, LibraryChains, LibraryRead,
    LibrarySeed, Region, Regions, Search,
};
use crate::certified::{Chains, PlacedSeed};
use crate::engine::{Ordinals, Origin, Read, RecordSink};

/// Reads that the library's kernels take at a time.
const KERNEL_READS: usize = 512;

/// Longest name that a BAM record can have, in bytes; the library ends the process above.
const LONGEST_NAME_BYTES: usize = 254;

/// bwa's options, as the library has them.
pub(super) struct Options(sys::mem_opt_t);

// SAFETY: the one pointer among the options is to a constant table of the library.
unsafe impl Send for Options {}
// SAFETY: as above; shared options are only read.
unsafe impl Sync for Options {}

impl Options {
    /// bwa's defaults.
    pub(super) fn new() -> Result<Self, String> {
        // SAFETY: no preconditions; null is handled.
        let made = unsafe { sys::bwa_shim_opts_new() };
        if made.is_null() {
            return Err(last_error());
        }
        // SAFETY: `made` is a valid structure of this type, copied out and freed once.
        unsafe {
            let options = *made;
            sys::bwa_shim_opts_free(made);
            Ok(Self(options))
        }
    }

    pub(super) fn get(&self) -> &sys::mem_opt_t {
        &self.0
    }

    /// Changes options; what follows from them (the scoring matrix) is made anew.
    pub(super) fn change(&mut self, change: impl FnOnce(&mut sys::mem_opt_t)) {
        change(&mut self.0);
        // SAFETY: the function writes the matrices inside this very structure.
        unsafe { sys::bwa_shim_opts_fill_scmat(&raw mut self.0) };
    }

    fn pointer(&self) -> *const sys::mem_opt_t {
        &raw const self.0
    }
}

/// Insert sizes of a cohort, for the orientations FF, FR, RF and RR.
pub(super) type Model = [sys::mem_pestat_t; 4];

/// A loaded index.
pub(super) struct Index {
    handle: *mut sys::BwaIndex,
    sequences: Vec<Sequence>,
}

// SAFETY: the library does not change an index once it is loaded, and keeps what belongs to a
// thread in its scratch.
unsafe impl Send for Index {}
// SAFETY: as above.
unsafe impl Sync for Index {}

impl Index {
    /// Loads the index at `prefix`, of the sequences `contigs`, with `threads` threads.
    ///
    /// # Errors
    /// When it cannot be loaded, or is not of these sequences, or not laid out as expected.
    pub(super) fn load(
        prefix: &Path,
        contigs: &[(String, u64)],
        threads: usize,
    ) -> Result<Self, String> {
        let text = prefix.to_str().ok_or("its path is not UTF-8")?;
        let text = CString::new(text).map_err(|e| e.to_string())?;
        let threads = i32::try_from(threads.max(1)).unwrap_or(i32::MAX);
        // SAFETY: `text` is a C string that outlives the call; null is handled.
        let handle = unsafe { sys::bwa_shim_idx_load_threads(text.as_ptr(), threads) };
        if handle.is_null() {
            return Err(last_error());
        }
        let mut index = Self { handle, sequences: Vec::new() };
        // The library may attach to a shared-memory index of the same file name.
        if index.contigs() != contigs {
            return Err("its sequences differ from PREFIX.ann".to_owned());
        }
        let bases = contigs.iter().map(|(_, bases)| bases).sum();
        index.sequences = index.checked_sequences(bases, contigs.len())?;
        Ok(index)
    }

    /// Names and lengths of the sequences.
    fn contigs(&self) -> Vec<(String, u64)> {
        // SAFETY: the handle is valid, `at` is below the count, and names are C strings that live
        // as long as the index.
        unsafe {
            let count = sys::bwa_shim_idx_n_contigs(self.handle);
            let contig = |at| {
                let name = CStr::from_ptr(sys::bwa_shim_idx_contig_name(self.handle, at));
                let bases = sys::bwa_shim_idx_contig_len(self.handle, at);
                (name.to_string_lossy().into_owned(), bases.unsigned_abs())
            };
            (0..count).map(contig).collect()
        }
    }

    /// Where the sequences lie, once all that [`Index::parts`] reads has been compared with what is
    /// known of the index.
    fn checked_sequences(&self, bases: u64, count: usize) -> Result<Vec<Sequence>, String> {
        let (search, reference) = self.layout();
        // SAFETY: as for `layout`.
        let sequences = unsafe { &*reference.sequences };
        let as_known = sequences.bases.unsigned_abs() == bases
            && sequences.count as usize == count
            && search.rows.unsigned_abs() == 2 * bases + 1
            && (0..search.rows).contains(&search.sentinel_row)
            && search.first_rows[0] == 1
            && search.first_rows[4] == search.rows
            && search.first_rows.is_sorted()
            && (0..=6).contains(&search.sample_shift)
            && search.sample_mask == (1 << search.sample_shift) - 1;
        if !as_known || search.blocks.is_null() || reference.packed.is_null() {
            return Err("the engine has not laid it out as expected".to_owned());
        }
        // SAFETY: there are so many annotations.
        let annotations = unsafe { std::slice::from_raw_parts(sequences.annotations, count) };
        let sequence = |a: &layout::Annotation| Sequence {
            start: a.offset.unsigned_abs(),
            end: (a.offset + i64::from(a.bases)).unsigned_abs(),
            alternate: a.is_alt != 0,
        };
        Ok(annotations.iter().map(sequence).collect())
    }

    fn layout(&self) -> (&Search, &layout::Reference) {
        // SAFETY: `layout` describes these structures of the version that Cargo.toml pins and that
        // a constant assertion there compares. The pointers live as long as the index, which the
        // library does not change.
        unsafe {
            let search: &Search = &*(*(*self.handle.cast::<IndexHandle>()).shim).search;
            (search, &*search.reference)
        }
    }

    /// The sequences in order.
    pub(super) fn sequences(&self) -> &[Sequence] {
        &self.sequences
    }

    /// The index where the library has it.
    pub(super) fn parts(&self) -> IndexParts<'_> {
        let (search, reference) = self.layout();
        let rows = search.rows as usize;
        let bases = self.sequences.last().map_or(0, |sequence| sequence.end);
        // SAFETY: lengths follow from the number of rows, which `checked_sequences` compared with
        // the sequences; the library allocates a block for every 64 rows and one more, a sample
        // for every `1 << sample_shift`-th row and one more, and a byte for every four bases.
        unsafe {
            let samples = (rows >> search.sample_shift) + 1;
            IndexParts {
                bases,
                first_rows: search.first_rows.map(i64::unsigned_abs),
                sentinel_row: search.sentinel_row.unsigned_abs(),
                sample_shift: search.sample_shift as u32,
                blocks: std::slice::from_raw_parts(search.blocks, (rows >> 6) + 1),
                samples_low: std::slice::from_raw_parts(search.samples_low, samples),
                samples_high: std::slice::from_raw_parts(search.samples_high, samples),
                packed: std::slice::from_raw_parts(reference.packed, (bases as usize).div_ceil(4)),
            }
        }
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        // SAFETY: the handle is valid and freed once.
        unsafe { sys::bwa_shim_idx_free(self.handle) };
    }
}

/// A sequence's place in the forward strand, in bases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sequence {
    /// First base.
    pub start: u64,
    /// Behind its last base.
    pub end: u64,
    /// An ALT sequence.
    pub alternate: bool,
}

/// The loaded index: the transform of the forward strand and its reverse complement.
#[derive(Debug, Clone, Copy)]
pub struct IndexParts<'a> {
    /// Bases of the forward strand.
    pub bases: u64,
    /// First row of each base, then the number of rows.
    pub first_rows: [u64; 5],
    /// The row without a base.
    pub sentinel_row: u64,
    /// A place is kept for every `1 << sample_shift`-th row.
    pub sample_shift: u32,
    /// Rows, 64 to a block.
    pub blocks: &'a [Block],
    /// Low 32 bits of the samples.
    pub samples_low: &'a [u32],
    /// High 8 bits of the samples.
    pub samples_high: &'a [i8],
    /// Forward strand, four bases a byte, the first in the highest bits.
    pub packed: &'a [u8],
}

/// Working memory of one worker.
pub(super) struct Scratch(*mut sys::BwaScratch);

// SAFETY: the library keeps no reference to the thread that made it.
unsafe impl Send for Scratch {}

impl Scratch {
    pub(super) fn new() -> Result<Self, String> {
        // SAFETY: no preconditions; null is handled.
        let handle = unsafe { sys::bwa_shim_scratch_new() };
        if handle.is_null() { Err(last_error()) } else { Ok(Self(handle)) }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // SAFETY: the handle is valid and freed once.
        unsafe { sys::bwa_shim_scratch_free(self.0) };
    }
}

/// What was found for one batch: its reads, copied, and the regions of each.
pub struct Candidates {
    handle: *mut sys::BwaRegs,
    has_pairs: bool,
}

// SAFETY: it owns all it points to.
unsafe impl Send for Candidates {}

impl Candidates {
    /// Finds the regions of all reads of a batch: pairs, then singles.
    pub(super) fn find(
        index: &Index,
        options: &Options,
        scratch: &mut Scratch,
        pairs: &[[Read<'_>; 2]],
        singles: &[Read<'_>],
    ) -> Result<Self, String> {
        let mut reads = pairs.iter().flatten().chain(singles);
        if let Some(long) = reads.find(|read| read.name.len() > LONGEST_NAME_BYTES) {
            let name = String::from_utf8_lossy(&long.name[..20]);
            return Err(format!("the read name '{name}...' has more than 254 bytes"));
        }
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
            sys::bwa_shim_seed_extend(index.handle, options.pointer(), scratch.0, &raw const batch)
        };
        if handle.is_null() {
            return Err(last_error());
        }
        Ok(Self { handle, has_pairs: !pairs.is_empty() })
    }

    fn shim(&self) -> *mut layout::ShimCandidates {
        // SAFETY: the handle is valid, and is one pointer (see `layout`).
        unsafe { (*self.handle.cast::<CandidatesHandle>()).shim }
    }

    /// Regions of read `at` of the batch: mates one after the other, then singles.
    #[cfg(test)]
    pub(super) fn regions(&self, at: usize) -> &[Region] {
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

    fn slot(&mut self, at: usize) -> Result<Slot<'_>, String> {
        // SAFETY: `layout` describes these structures; `count` bounds `at`.
        unsafe {
            let shim = &mut *self.shim();
            if at >= shim.count as usize {
                return Err("a region for a read that is not there".to_owned());
            }
            Ok(Slot {
                read: &mut *shim.reads.add(at),
                regions: &mut *shim.regions.add(at),
                heap_bytes: &mut shim.heap_bytes,
            })
        }
    }

    /// Gives read `at`, which went in without bases, its bases, as codes 0 to 3.
    ///
    /// # Errors
    /// Out of memory.
    pub(super) fn put_bases(
        &mut self,
        at: usize,
        codes: &[u8],
        qualities: Option<&[u8]>,
    ) -> Result<(), String> {
        let Slot { read, heap_bytes, .. } = self.slot(at)?;
        // SAFETY: the library has made the read's strings with `malloc` and frees them with
        // `free`; each is replaced by a block of its own.
        unsafe {
            read.sequence = replaced(read.sequence, codes)?;
            if let Some(qualities) = qualities {
                read.qualities = replaced(read.qualities, qualities)?;
                *heap_bytes += qualities.len();
            }
        }
        read.bases = codes.len() as i32;
        *heap_bytes += codes.len();
        Ok(())
    }

    /// Gives read `at`, which went in without bases, its only region.
    ///
    /// # Errors
    /// Out of memory.
    pub(super) fn put_region(&mut self, at: usize, region: Region) -> Result<(), String> {
        let Slot { regions, .. } = self.slot(at)?;
        // SAFETY: the library frees the vector with `free`; the old one has no regions.
        unsafe {
            let items = allocated::<Region>(1)?;
            items.write(region);
            libc::free(regions.items.cast());
            (regions.items, regions.count, regions.room) = (items, 1, 1);
        }
        Ok(())
    }

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
        chained: &[(usize, &Chains)],
    ) -> Result<(), String> {
        for some in chained.chunks(KERNEL_READS) {
            self.extend_some(index, options, scratch, some)?;
        }
        Ok(())
    }

    fn extend_some(
        &mut self,
        index: &Index,
        options: &Options,
        scratch: &mut Scratch,
        chained: &[(usize, &Chains)],
    ) -> Result<(), String> {
        let (search, _) = index.layout();
        let mut seeds = library_seeds(chained);
        // SAFETY: reads are copied, pointers and all, for the time of the call, which changes
        // neither them nor their bases. Chains are blocks from `malloc`, which the library frees;
        // their seeds, with room 1, it does not, and `seeds` outlives the call. `cache` is that of
        // the scratch, whose thread slot `tid` is. The regions that come back are the library's
        // own blocks and take the place of empty vectors.
        unsafe {
            let tid = sys::bwa_shim_scratch_tid(scratch.0);
            let shim = (*scratch.0.cast::<layout::ScratchHandle>()).shim;
            let cache = (&raw mut (*shim).cache).cast::<c_void>();
            let mut reads = Vec::with_capacity(chained.len());
            let mut chains = Vec::with_capacity(chained.len());
            let mut next_seed = seeds.as_mut_ptr();
            for (number, &(at, found)) in chained.iter().enumerate() {
                reads.push(ptr::read(self.slot(at)?.read));
                let items = library_chains(number, found, &mut next_seed)?;
                let count = found.get().len();
                let kept = mem_chain_flt(options.pointer(), count as c_int, items, tid);
                chains.push(LibraryChains {
                    count: kept as usize,
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
            for (&(at, _), found) in chained.iter().zip(regions) {
                let slot = self.slot(at)?;
                libc::free(slot.regions.items.cast());
                *slot.regions = found;
            }
        }
        Ok(())
    }

    /// Learns the insert sizes of a cohort from all its batches.
    pub(super) fn infer(
        index: &Index,
        options: &Options,
        cohort: &[Self],
    ) -> Result<Model, String> {
        let handles: Vec<_> = cohort.iter().map(|batch| batch.handle.cast_const()).collect();
        let mut model = Model::default();
        // SAFETY: all handles are valid, and the library writes four entries.
        let status = unsafe {
            sys::bwa_shim_pestat_cohort(
                index.handle,
                options.pointer(),
                handles.as_ptr(),
                handles.len(),
                model.as_mut_ptr(),
            )
        };
        if status == 0 { Ok(model) } else { Err(last_error()) }
    }

    /// Pairs, rescues and hands out the records.
    pub(super) fn emit(
        mut self,
        index: &Index,
        options: &Options,
        scratch: &mut Scratch,
        model: Option<&Model>,
        ordinals: Ordinals,
        sink: &mut dyn RecordSink,
    ) -> Result<(), String> {
        if self.has_pairs && model.is_none() {
            return Err("pairs without a model of their cohort".to_owned());
        }
        let ids = sys::BwaIdBases {
            first_single_id: ordinals.first_single,
            first_pair_id: ordinals.first_pair,
        };
        let mut context = SinkContext { sink, panic: None, borrow: PhantomData };
        let handle = std::mem::replace(&mut self.handle, ptr::null_mut());
        // SAFETY: all handles are valid. The library frees `handle` on every path, which is why it
        // was taken out. `context` outlives the call, and `take_record` is what it is for.
        let status = unsafe {
            sys::bwa_shim_pair_emit(
                index.handle,
                options.pointer(),
                scratch.0,
                handle,
                model.map_or(ptr::null(), |model| model.as_ptr()),
                ids,
                Some(take_record),
                (&raw mut context).cast(),
            )
        };
        if let Some(panic) = context.panic {
            std::panic::resume_unwind(panic);
        }
        if status == 0 { Ok(()) } else { Err(last_error()) }
    }

    /// Bytes that the library asked for.
    pub(super) fn heap_bytes(&self) -> usize {
        // SAFETY: the handle is valid.
        unsafe { sys::bwa_shim_regs_heap_bytes(self.handle) }
    }
}

impl Drop for Candidates {
    fn drop(&mut self) {
        // SAFETY: the handle is valid or null, which is allowed, and freed once.
        unsafe { sys::bwa_shim_regs_free(self.handle) };
    }
}

/// A read of the library's and what was found for it.
struct Slot<'a> {
    read: &'a mut LibraryRead,
    regions: &'a mut Regions,
    heap_bytes: &'a mut usize,
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

/// The seeds of all chains, one behind the other.
fn library_seeds(chained: &[(usize, &Chains)]) -> Vec<LibrarySeed> {
    let chains = chained.iter().flat_map(|(_, chains)| chains.get().iter().map(|&c| (*chains, c)));
    let seeds = chains.flat_map(|(chains, chain)| chains.seeds(chain));
    let seed = |seed: PlacedSeed| LibrarySeed {
        place: seed.place,
        base: seed.base,
        length: seed.length,
        score: seed.length,
        region: 0,
        occurrences: seed.occurrences,
    };
    seeds.map(seed).collect()
}

/// The chains of the `number`-th read in a block from `malloc`, with seeds from `next_seed` on.
///
/// # Safety
/// `next_seed` points to the seeds of these chains, in order.
unsafe fn library_chains(
    number: usize,
    chains: &Chains,
    next_seed: &mut *mut LibrarySeed,
) -> Result<*mut LibraryChain, String> {
    // SAFETY: the block has room for all chains; `next_seed` by the caller's word.
    unsafe {
        let items = allocated::<LibraryChain>(chains.get().len())?;
        for (at, chain) in chains.get().iter().enumerate() {
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
                seeds: *next_seed,
            });
            *next_seed = next_seed.add(chain.count);
        }
        Ok(items)
    }
}

/// A block from `malloc` for so many values.
fn allocated<T>(count: usize) -> Result<*mut T, String> {
    // SAFETY: `malloc` has no preconditions; null is handled.
    let block = unsafe { libc::malloc(size_of::<T>() * count.max(1)) };
    if block.is_null() { Err("out of memory".to_owned()) } else { Ok(block.cast()) }
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

struct SinkContext<'a, 'b> {
    sink: &'a mut (dyn RecordSink + 'b),
    panic: Option<Box<dyn std::any::Any + Send>>,
    borrow: PhantomData<&'b ()>,
}

/// Hands a record of the library to the sink. A panic must not pass through C++: it is kept, and
/// goes on when the library has returned.
///
/// # Safety
/// `context` points to a [`SinkContext`] that nothing else uses meanwhile; `body` has `length`
/// bytes.
unsafe extern "C" fn take_record(
    context: *mut c_void,
    kind: u32,
    at: usize,
    body: *const u8,
    length: usize,
) {
    // SAFETY: the caller's word.
    let (context, body) = unsafe {
        (&mut *context.cast::<SinkContext<'_, '_>>(), std::slice::from_raw_parts(body, length))
    };
    if context.panic.is_some() {
        return;
    }
    let origin = match kind {
        sys::BWA_ORIGIN_SINGLE => Origin::Single(at),
        _ => Origin::Pair(at),
    };
    let sink = std::panic::AssertUnwindSafe(&mut *context.sink);
    context.panic = std::panic::catch_unwind(move || {
        let sink = sink;
        sink.0.record(origin, body);
    })
    .err();
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
fn last_error() -> String {
    // SAFETY: null, or a C string that lives until the next call of this thread.
    unsafe {
        let text = sys::bwa_shim_last_error();
        if text.is_null() {
            return "for a reason it does not say".to_owned();
        }
        CStr::from_ptr(text).to_string_lossy().into_owned()
    }
}
