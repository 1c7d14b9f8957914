//! FAST5 through libhdf5, as the second [`Engine`]: what nanopolish, f5c and slow5tools read with,
//! for comparison, and for files that use more of HDF5 than our own reader knows.
//!
//! Every call is under the library's one lock, so threads read one after the other: that is
//! what Gamaarachchi 2020 (thesis, chapter on nanopore I/O) measured, and what a pool of processes
//! gets round. The filter VBZ (32020), which the library lacks, is our own decoder.
//!
//! Invariants: no identifier, pointer or callback of the library is used but under the lock; every
//! identifier is closed; no panic crosses into C; an object's address is the first eight bytes of
//! its token, which is where the library's own file format has the address (`H5VLnative`).
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_uint, c_void};
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::ptr;
use std::sync::{Mutex, Once};

use hdf5_metno_sys::LOCK;
use hdf5_metno_sys::h5::{
    H5_index_t, H5_iter_order_t, H5allocate_memory, H5dont_atexit, H5free_memory, H5open, herr_t,
    hsize_t,
};
use hdf5_metno_sys::h5a::{
    H5A_info_t, H5Aclose, H5Aget_space, H5Aget_type, H5Aiterate2, H5Aopen, H5Aread,
};
use hdf5_metno_sys::h5d::{H5Dget_space, H5Dread};
use hdf5_metno_sys::h5e::H5Eset_auto2;
use hdf5_metno_sys::h5f::{H5F_ACC_RDONLY, H5Fclose, H5Fopen};
use hdf5_metno_sys::h5i::hid_t;
use hdf5_metno_sys::h5l::{H5L_info2_t, H5L_type_t, H5Literate2};
use hdf5_metno_sys::h5o::{
    H5O_INFO_BASIC, H5O_info2_t, H5O_token_t, H5O_type_t, H5Oclose, H5Oget_info_by_name3,
    H5Oget_info3, H5Oopen_by_token,
};
use hdf5_metno_sys::h5p::H5P_DEFAULT;
use hdf5_metno_sys::h5s::{H5S_ALL, H5Sclose, H5Sget_simple_extent_npoints};
use hdf5_metno_sys::h5t::{
    H5T_NATIVE_INT16, H5T_class_t, H5T_order_t, H5T_sign_t, H5Tclose, H5Tget_class,
    H5Tget_member_name, H5Tget_member_value, H5Tget_nmembers, H5Tget_order, H5Tget_sign,
    H5Tget_size, H5Tis_variable_str, H5Treclaim,
};
use hdf5_metno_sys::h5z::{H5Z_class2_t, H5Zregister};

use seqloom_format::hdf5::vbz::{FILTER_ID, VbzDecoder};
use seqloom_format::hdf5::{Datatype, Hdf5Error, LinkTarget, Links, MAX_ELEMENTS, ObjectKind};

use seqloom_format::signal::{SignalHeader, SignalRead};
use seqloom_runtime::failure::lock;
use seqloom_signal::pool::OpenByPath;
use seqloom_signal::store::fast5::{
    Engine, Fast5File, Fast5Options, Fast5Problem, Fast5Scratch, Field, FieldValue,
};
use seqloom_signal::store::{Fast5Table, ReadError};

/// Largest attribute that is read.
const MAX_VALUE_BYTES: usize = 1 << 24;
/// Most labels of an enum that are read; SLOW5 has room for 255.
const MAX_LABELS: u32 = 4096;
/// Flag of a filter call: undo (H5Z_FLAG_REVERSE).
const REVERSE: c_uint = 0x0100;
/// Largest chunk that VBZ may stand for: the length in it has 32 bits, of which a sample takes 16.
const MAX_CHUNK_BYTES: usize = 1 << 31;

/// An open file.
#[derive(Debug)]
pub struct LibraryFile {
    file: hid_t,
    root: u64,
}

/// Buffers of one caller.
#[derive(Debug, Default)]
pub struct LibraryScratch {
    value: Vec<u8>,
    names: Vec<CString>,
}

/// Reads of a file, with the buffers of those who read: as many as have read at once.
struct LibraryTable {
    file: Fast5File<LibraryFile>,
    scratch: Mutex<Vec<Fast5Scratch<LibraryFile>>>,
}

impl Fast5Table for LibraryTable {
    fn header(&self) -> &SignalHeader {
        self.file.header()
    }

    fn reads(&self) -> usize {
        self.file.reads()
    }

    fn read_id(&self, index: usize) -> Vec<u8> {
        self.file.read_id(index).to_vec()
    }

    fn read(&self, index: usize, read: &mut SignalRead) -> Result<(), ReadError> {
        let mut scratch = lock(&self.scratch).pop().unwrap_or_default();
        let outcome = self.file.read(index, &mut scratch, read);
        lock(&self.scratch).push(scratch);
        outcome.map_err(|error| ReadError(error.problem.to_string()))
    }
}

/// Opens a FAST5 file.
///
/// # Errors
/// What is wrong with it.
pub fn open(path: &Path, options: Fast5Options) -> Result<Box<dyn Fast5Table>, String> {
    let mut scratch = Fast5Scratch::default();
    let file = Fast5File::with_engine(LibraryFile::open_path(path)?, path, options, &mut scratch)
        .map_err(|error| error.without_path())?;
    Ok(Box::new(LibraryTable { file, scratch: Mutex::new(vec![scratch]) }))
}

fn damaged(what: &'static str, address: u64) -> Hdf5Error {
    Hdf5Error::Malformed { what, address, why: "libhdf5 cannot read it" }
}

/// An identifier, and what closes it. Made and dropped under the lock.
struct Id(hid_t, unsafe extern "C" fn(hid_t) -> herr_t);

impl Drop for Id {
    fn drop(&mut self) {
        // SAFETY: the identifier is open, and closed by the function of its kind, under the lock
        // (which is re-entrant).
        unsafe {
            let _guard = LOCK.lock();
            (self.1)(self.0);
        }
    }
}

impl Id {
    fn new(id: hid_t, close: unsafe extern "C" fn(hid_t) -> herr_t) -> Option<Self> {
        (id >= 0).then_some(Self(id, close))
    }
}

/// Starts the library once: no messages, no clean-up at exit (other threads may still read), VBZ.
fn start() {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        let _guard = LOCK.lock();
        let class = H5Z_class2_t {
            version: 1,
            id: FILTER_ID.into(),
            encoder_present: 0,
            decoder_present: 1,
            name: c"vbz".as_ptr(),
            can_apply: None,
            set_local: None,
            filter: Some(undo_vbz),
        };
        // SAFETY: under the lock; the library copies the class, whose name and function live for
        // ever; a null handler means no messages.
        unsafe {
            H5dont_atexit();
            H5open();
            H5Zregister((&raw const class).cast());
        }
    });
    // Messages are switched off for each thread.
    let _guard = LOCK.lock();
    // SAFETY: under the lock; a null handler is none.
    unsafe {
        H5Eset_auto2(0, None, ptr::null_mut());
    }
}

/// Decodes a chunk in place of the library's buffer; 0 is failure.
unsafe extern "C" fn undo_vbz(
    flags: c_uint,
    count: usize,
    values: *const c_uint,
    chunk_bytes: usize,
    buffer_bytes: *mut usize,
    buffer: *mut *mut c_void,
) -> usize {
    if flags & REVERSE == 0 || count > 32 || values.is_null() {
        return 0;
    }
    // SAFETY: the library gives `count` parameters and a buffer that holds `chunk_bytes`
    // (H5Zregister, "filter operation").
    let (values, chunk) = unsafe {
        (
            std::slice::from_raw_parts(values, count),
            std::slice::from_raw_parts((*buffer).cast::<u8>(), chunk_bytes),
        )
    };
    let mut out = Vec::new();
    let decoded = catch_unwind(AssertUnwindSafe(|| {
        VbzDecoder::default().decode(values, chunk, MAX_CHUNK_BYTES, &mut out)
    }));
    if !matches!(decoded, Ok(Ok(()))) || out.is_empty() {
        return 0;
    }
    // SAFETY: the new buffer is the library's own and as large as what is copied into it; the old
    // one is given back to it (same page: a filter may replace the buffer so).
    unsafe {
        let made = H5allocate_memory(out.len(), 0);
        if made.is_null() {
            return 0;
        }
        ptr::copy_nonoverlapping(out.as_ptr(), made.cast::<u8>(), out.len());
        H5free_memory(*buffer);
        *buffer = made;
        *buffer_bytes = out.len();
    }
    out.len()
}

fn address_of(token: &H5O_token_t) -> u64 {
    // SAFETY: a token is 16 bytes without padding (`H5O_MAX_TOKEN_SIZE`), and any bytes are u8.
    let bytes: [u8; 16] = unsafe { std::mem::transmute_copy(token) };
    bytes.iter().take(8).rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

fn token_of(address: u64) -> H5O_token_t {
    let mut bytes = [0_u8; 16];
    bytes[..8].copy_from_slice(&address.to_le_bytes());
    // SAFETY: as above; the library checks what it is given.
    unsafe { std::mem::transmute_copy(&bytes) }
}

impl OpenByPath for LibraryFile {
    fn open_path(path: &Path) -> Result<Self, String> {
        start();
        let name = CString::new(path.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
        let _guard = LOCK.lock();
        // SAFETY: under the lock; the name ends in NUL and outlives the call.
        let file = unsafe { H5Fopen(name.as_ptr(), H5F_ACC_RDONLY, H5P_DEFAULT) };
        if file < 0 {
            return Err("libhdf5 cannot open it".to_owned());
        }
        let mut opened = Self { file, root: 0 };
        let info = info_of(file).ok_or("libhdf5 finds no root group in it")?;
        opened.root = address_of(&info.token);
        Ok(opened)
    }
}

impl Drop for LibraryFile {
    fn drop(&mut self) {
        let _guard = LOCK.lock();
        // SAFETY: under the lock; the file is open and nobody uses it any more.
        unsafe {
            H5Fclose(self.file);
        }
    }
}

/// What an object is. Under the lock.
fn info_of(object: hid_t) -> Option<H5O_info2_t> {
    // SAFETY: all-zero is a valid value of this C struct (its enum has 0 for a group); the library
    // fills it.
    let (status, info) = unsafe {
        let mut info: H5O_info2_t = std::mem::zeroed();
        (H5Oget_info3(object, &raw mut info, H5O_INFO_BASIC), info)
    };
    (status >= 0).then_some(info)
}

impl LibraryFile {
    /// Opens an object. Under the lock.
    fn object(&self, address: u64) -> Result<Id, Hdf5Error> {
        // SAFETY: under the lock; a token of no object is refused by the library.
        let id = unsafe { H5Oopen_by_token(self.file, token_of(address)) };
        Id::new(id, H5Oclose).ok_or_else(|| damaged("object", address))
    }
}

/// What [`on_link`] is given.
struct LinkVisit<'a> {
    out: &'a mut Links,
    failed: Option<Hdf5Error>,
}

unsafe extern "C" fn on_link(
    group: hid_t,
    name: *const c_char,
    info: *const H5L_info2_t,
    data: *mut c_void,
) -> herr_t {
    // SAFETY: the library gives a name that ends in NUL and an info, both alive during the call;
    // `data` is the visit that `links` passes, which nobody else uses meanwhile.
    let (text, info, visit) =
        unsafe { (CStr::from_ptr(name), *info, &mut *data.cast::<LinkVisit<'_>>()) };
    let target = match info.type_ {
        H5L_type_t::H5L_TYPE_EXTERNAL => LinkTarget::Nowhere,
        _ => {
            // SAFETY: as in `info_of`; this follows soft links too.
            let (status, found) = unsafe {
                let mut found: H5O_info2_t = std::mem::zeroed();
                let out = &raw mut found;
                (H5Oget_info_by_name3(group, name, out, H5O_INFO_BASIC, H5P_DEFAULT), found)
            };
            if status < 0 {
                LinkTarget::Nowhere
            } else {
                LinkTarget::Object(address_of(&found.token))
            }
        }
    };
    match catch_unwind(AssertUnwindSafe(|| visit.out.add(text.to_bytes(), target))) {
        Ok(Ok(())) => 0,
        Ok(Err(error)) => {
            visit.failed = Some(error);
            -1
        }
        Err(_) => -1,
    }
}

unsafe extern "C" fn on_attribute(
    _: hid_t,
    name: *const c_char,
    _: *const H5A_info_t,
    data: *mut c_void,
) -> herr_t {
    // SAFETY: as for `on_link`; `data` is the list of names that `attributes` passes.
    let (name, names) = unsafe { (CStr::from_ptr(name), &mut *data.cast::<Vec<CString>>()) };
    let pushed = catch_unwind(AssertUnwindSafe(|| names.push(name.to_owned())));
    if pushed.is_ok() { 0 } else { -1 }
}

impl Engine for LibraryFile {
    type Scratch = LibraryScratch;

    fn root(&self) -> u64 {
        self.root
    }

    fn kind(&self, object: u64, _: &mut LibraryScratch) -> Result<ObjectKind, Hdf5Error> {
        let _guard = LOCK.lock();
        let id = self.object(object)?;
        let info = info_of(id.0).ok_or_else(|| damaged("object", object))?;
        Ok(match info.type_ {
            H5O_type_t::H5O_TYPE_GROUP => ObjectKind::Group,
            H5O_type_t::H5O_TYPE_DATASET => ObjectKind::Dataset,
            _ => ObjectKind::Other,
        })
    }

    fn links(&self, group: u64, _: &mut LibraryScratch, out: &mut Links) -> Result<(), Hdf5Error> {
        let _guard = LOCK.lock();
        let id = self.object(group)?;
        let mut visit = LinkVisit { out, failed: None };
        let mut at: hsize_t = 0;
        // SAFETY: under the lock; the callback gets what it expects, and nothing outlives the call.
        let status = unsafe {
            H5Literate2(
                id.0,
                H5_index_t::H5_INDEX_NAME,
                H5_iter_order_t::H5_ITER_INC,
                &raw mut at,
                Some(on_link),
                (&raw mut visit).cast(),
            )
        };
        match visit.failed {
            Some(error) => Err(error),
            None if status < 0 => Err(damaged("group", group)),
            None => Ok(()),
        }
    }

    fn attributes(
        &self,
        object: u64,
        scratch: &mut LibraryScratch,
        visit: &mut dyn FnMut(Field<'_>) -> Result<(), Fast5Problem>,
    ) -> Result<(), Fast5Problem> {
        let _guard = LOCK.lock();
        let id = self.object(object)?;
        let LibraryScratch { value, names } = scratch;
        names.clear();
        let mut at: hsize_t = 0;
        // SAFETY: as in `links`.
        let status = unsafe {
            H5Aiterate2(
                id.0,
                H5_index_t::H5_INDEX_NAME,
                H5_iter_order_t::H5_ITER_NATIVE,
                &raw mut at,
                Some(on_attribute),
                (&raw mut *names).cast(),
            )
        };
        if status < 0 {
            return Err(damaged("list of attributes", object).into());
        }
        for name in names.iter() {
            let failed = || Fast5Problem::from(damaged("attribute", object));
            let attribute = Attribute::open(&id, name).ok_or_else(failed)?;
            let labels = attribute.read(value).ok_or_else(failed)?;
            let value = attribute.value(value, labels.as_ref());
            visit(Field { name: name.as_bytes(), value })?;
        }
        Ok(())
    }

    fn samples(
        &self,
        dataset: u64,
        _: &mut LibraryScratch,
        out: &mut Vec<i16>,
    ) -> Result<(), Hdf5Error> {
        let _guard = LOCK.lock();
        let failed = || damaged("dataset", dataset);
        let id = self.object(dataset)?;
        // SAFETY: under the lock; `id` is open.
        let elements = unsafe {
            let space = Id::new(H5Dget_space(id.0), H5Sclose).ok_or_else(failed)?;
            H5Sget_simple_extent_npoints(space.0)
        };
        let elements = u64::try_from(elements).map_err(|_| failed())?;
        if elements > MAX_ELEMENTS {
            let (value, limit) = (elements, MAX_ELEMENTS);
            let what = "samples of a dataset";
            return Err(Hdf5Error::Limit { what, value, limit, address: dataset });
        }
        out.clear();
        out.resize(elements as usize, 0);
        // SAFETY: under the lock; the buffer has room for all elements as 16-bit integers, which is
        // the type in memory that is requested.
        let status = unsafe {
            let buffer = out.as_mut_ptr().cast();
            H5Dread(id.0, *H5T_NATIVE_INT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, buffer)
        };
        if status < 0 { Err(failed()) } else { Ok(()) }
    }
}

/// An open attribute. Used under the lock.
struct Attribute {
    id: Id,
    datatype: Id,
    space: Id,
    class: H5T_class_t,
    size_bytes: usize,
    elements: i64,
    is_variable: bool,
}

impl Attribute {
    fn open(object: &Id, name: &CStr) -> Option<Self> {
        // SAFETY: under the lock; the name ends in NUL; each identifier is open when it is used.
        unsafe {
            let id = Id::new(H5Aopen(object.0, name.as_ptr(), H5P_DEFAULT), H5Aclose)?;
            let datatype = Id::new(H5Aget_type(id.0), H5Tclose)?;
            let space = Id::new(H5Aget_space(id.0), H5Sclose)?;
            let (class, size_bytes) = (H5Tget_class(datatype.0), H5Tget_size(datatype.0));
            let elements = H5Sget_simple_extent_npoints(space.0);
            let is_variable =
                class == H5T_class_t::H5T_STRING && H5Tis_variable_str(datatype.0) > 0;
            Some(Self { id, datatype, space, class, size_bytes, elements, is_variable })
        }
    }

    /// Reads the value as it is stored; the names of an enum's values.
    fn read(&self, value: &mut Vec<u8>) -> Option<Option<Datatype>> {
        value.clear();
        let is_known = matches!(
            self.class,
            H5T_class_t::H5T_INTEGER
                | H5T_class_t::H5T_FLOAT
                | H5T_class_t::H5T_STRING
                | H5T_class_t::H5T_ENUM
        );
        if self.elements != 1 || !is_known {
            return Some(None);
        }
        if self.is_variable {
            return self.read_variable(value).map(|()| None);
        }
        if self.size_bytes > MAX_VALUE_BYTES {
            return None;
        }
        value.resize(self.size_bytes, 0);
        // SAFETY: under the lock; the buffer has room for one value of the attribute's own type.
        let status = unsafe { H5Aread(self.id.0, self.datatype.0, value.as_mut_ptr().cast()) };
        if status < 0 {
            return None;
        }
        if self.class == H5T_class_t::H5T_ENUM { self.labels().map(Some) } else { Some(None) }
    }

    fn read_variable(&self, value: &mut Vec<u8>) -> Option<()> {
        let mut text: *mut c_char = ptr::null_mut();
        // SAFETY: under the lock; a value of this type is one pointer, to a string that ends in NUL
        // or to nothing, which is the library's until it is reclaimed.
        unsafe {
            if H5Aread(self.id.0, self.datatype.0, (&raw mut text).cast()) < 0 {
                return None;
            }
            if !text.is_null() {
                value.extend_from_slice(CStr::from_ptr(text).to_bytes());
            }
            H5Treclaim(self.datatype.0, self.space.0, H5P_DEFAULT, (&raw mut text).cast());
        }
        Some(())
    }

    fn labels(&self) -> Option<Datatype> {
        // SAFETY: under the lock; the number of a member is below their count; a value has at most
        // the eight bytes that it gets; a name is the library's until it is freed.
        unsafe {
            let count = u32::try_from(H5Tget_nmembers(self.datatype.0)).ok()?.min(MAX_LABELS);
            if self.size_bytes > 8 {
                return None;
            }
            let mut members = Vec::new();
            for number in 0..count {
                let mut value = [0_u8; 8];
                let at = value.as_mut_ptr().cast();
                let name = H5Tget_member_name(self.datatype.0, number);
                if name.is_null() {
                    return None;
                }
                let text = CStr::from_ptr(name).to_bytes().to_vec();
                H5free_memory(name.cast());
                if H5Tget_member_value(self.datatype.0, number, at) < 0 {
                    return None;
                }
                members.push((text, self.bits(&value[..self.size_bytes])));
            }
            Some(Datatype::of_enum(self.size_bytes as u32, &members))
        }
    }

    /// An integer of any width and byte order.
    fn bits(&self, bytes: &[u8]) -> u64 {
        let add = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
        // SAFETY: under the lock; the type is open.
        match unsafe { H5Tget_order(self.datatype.0) } {
            H5T_order_t::H5T_ORDER_BE => bytes.iter().fold(0, add),
            _ => bytes.iter().rev().fold(0, add),
        }
    }

    fn value<'a>(&self, bytes: &'a [u8], labels: Option<&'a Datatype>) -> FieldValue<'a> {
        if self.elements != 1 {
            return FieldValue::Other;
        }
        let bits = || self.bits(bytes);
        match self.class {
            H5T_class_t::H5T_STRING => {
                let end = memchr::memchr(0, bytes).unwrap_or(bytes.len());
                FieldValue::Text(&bytes[..end])
            }
            H5T_class_t::H5T_INTEGER if (1..=8).contains(&self.size_bytes) => {
                let size_bytes = self.size_bytes as u32;
                // SAFETY: under the lock; the type is open.
                let signed = unsafe { H5Tget_sign(self.datatype.0) } == H5T_sign_t::H5T_SGN_2;
                let unused = 64 - 8 * size_bytes;
                let value = match signed {
                    true => i128::from((bits() << unused) as i64 >> unused),
                    false => i128::from(bits()),
                };
                FieldValue::Integer { value, size_bytes, signed }
            }
            H5T_class_t::H5T_FLOAT if self.size_bytes == 4 => {
                FieldValue::F32(f32::from_bits(bits() as u32))
            }
            H5T_class_t::H5T_FLOAT if self.size_bytes == 8 => {
                FieldValue::F64(f64::from_bits(bits()))
            }
            H5T_class_t::H5T_ENUM => match labels {
                Some(datatype) => FieldValue::Enum { value: bits(), datatype },
                None => FieldValue::Other,
            },
            _ => FieldValue::Other,
        }
    }
}
