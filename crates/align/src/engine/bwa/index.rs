//! What the engine's library has once for all workers, behind safe handles: options, and the loaded
//! index, which can be read where the library has it, without a copy ([`Index::parts`]).
#![allow(unsafe_code)]

use std::ffi::{CStr, CString};
use std::path::Path;

use bwa_mem3_sys as sys;

use super::layout::{self, IndexHandle, Search};
use super::library::last_error;
use super::reference::Reference;
use crate::index::{IndexParts, Sequence};

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

    pub(super) fn pointer(&self) -> *const sys::mem_opt_t {
        &raw const self.0
    }
}

/// A loaded index.
pub(super) struct Index {
    handle: *mut sys::BwaIndex,
    sequences: Vec<Sequence>,
    names: Vec<Vec<u8>>,
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
        let mut index = Self { handle, sequences: Vec::new(), names: Vec::new() };
        // The library may attach to a shared-memory index of the same file name.
        if index.contigs() != contigs {
            return Err("its sequences differ from PREFIX.ann".to_owned());
        }
        let bases = contigs.iter().map(|(_, bases)| bases).sum();
        index.sequences = index.checked_sequences(bases, contigs.len())?;
        index.names = contigs.iter().map(|(name, _)| name.clone().into_bytes()).collect();
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

    pub(super) fn layout(&self) -> (&Search, &layout::Reference) {
        // SAFETY: `layout` describes these structures of the version that Cargo.toml pins and that
        // a constant assertion there compares. The pointers live as long as the index, which the
        // library does not change.
        unsafe {
            let search: &Search = &*(*(*self.handle.cast::<IndexHandle>()).shim).search;
            (search, &*search.reference)
        }
    }

    pub(super) fn handle(&self) -> *mut sys::BwaIndex {
        self.handle
    }

    /// The sequences in order.
    pub(super) fn sequences(&self) -> &[Sequence] {
        &self.sequences
    }

    /// The reference where the library has it.
    pub(super) fn reference(&self) -> Reference<'_> {
        let IndexParts { packed, bases, .. } = self.parts();
        Reference { packed, bases, sequences: &self.sequences, names: &self.names }
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
