//! What the library has once for all workers, by safe handles: options, and the loaded index.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString};
use std::path::Path;

use bwa_mem3_sys as sys;

use super::layout::{self, IndexHandle, Search};
use super::library::last_error;

/// bwa's options, as the library has them.
pub(in super::super) struct Options(sys::mem_opt_t);

// SAFETY: the one pointer among the options is to a constant table of the library.
unsafe impl Send for Options {}
// SAFETY: as above; shared options are only read.
unsafe impl Sync for Options {}

impl Options {
    /// bwa's defaults.
    pub(in super::super) fn new() -> Result<Self, String> {
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

    pub(in super::super) fn get(&self) -> &sys::mem_opt_t {
        &self.0
    }

    /// Changes options; what follows from them (the scoring matrix) is made anew.
    pub(in super::super) fn change(&mut self, change: impl FnOnce(&mut sys::mem_opt_t)) {
        change(&mut self.0);
        // SAFETY: the function writes the matrices inside this very structure.
        unsafe { sys::bwa_shim_opts_fill_scmat(&raw mut self.0) };
    }

    pub(in super::super) fn pointer(&self) -> *const sys::mem_opt_t {
        &raw const self.0
    }
}

/// A loaded index.
pub(in super::super) struct Index {
    handle: *mut sys::BwaIndex,
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
    pub(in super::super) fn load(
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
        let index = Self { handle };
        // The library may attach to a shared-memory index of the same file name.
        if index.contigs() != contigs {
            return Err("its sequences differ from PREFIX.ann".to_owned());
        }
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

    pub(in super::super) fn layout(&self) -> (&Search, &layout::Reference) {
        // SAFETY: `layout` describes these structures of the version that Cargo.toml pins and that
        // a constant assertion there compares. The pointers live as long as the index, which the
        // library does not change.
        unsafe {
            let search: &Search = &*(*(*self.handle.cast::<IndexHandle>()).shim).search;
            (search, &*search.reference)
        }
    }

    pub(in super::super) fn handle(&self) -> *mut sys::BwaIndex {
        self.handle
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        // SAFETY: the handle is valid and freed once.
        unsafe { sys::bwa_shim_idx_free(self.handle) };
    }
}
