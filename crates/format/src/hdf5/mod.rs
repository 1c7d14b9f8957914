//! The part of HDF5 that FAST5 files use, read without libhdf5 and without any lock.
//!
//! A [`Hdf5File`] is opened once and never changes; threads share it and each brings its own
//! [`Hdf5Scratch`], which holds a small cache of metadata pages and all buffers. Reading an object
//! after the first allocates no memory beyond what these buffers have grown to.
//!
//! What is read (section numbers are those of the *HDF5 File Format Specification*, version 3.0):
//! superblocks 0 to 3 (II); object headers 1 and 2 with continuations (IV.A); groups as symbol
//! tables (III.A.1, III.B, III.D), link messages (IV.A.2.g) and dense links (III.A.2, III.G); soft
//! links; attributes 1 to 3 (IV.A.2.m), dense ones too, of integers, floats, enums and strings,
//! also of variable length (III.E); one-dimensional datasets of integers, compact, contiguous or
//! chunked under a version 1 B-tree, a single chunk, an implicit index, a fixed array or an
//! extensible array (IV.A.2.i, VII); filters deflate, shuffle, fletcher32 and VBZ (IV.A.2.l).
//!
//! Nothing in a file is trusted: every address and length is checked against the file's size before
//! it is used, nodes visited are bounded by the bytes of the file, checksums are verified where the
//! format has them, and samples are bounded by [`MAX_ELEMENTS`] and by the file's size.

mod array_index;
mod attribute;
mod attributes;
mod btree1;
mod btree2;
mod bytes;
mod checksum;
mod dataset;
mod datatype;
mod error;
mod file;
mod filter;
mod fractal_heap;
mod group;
mod little_endian;
mod object;
mod scratch;
mod shape;
pub mod vbz;
mod write;

pub use attribute::{Attribute, Value};
pub use datatype::{Datatype, DatatypeClass, EnumMember};
pub use error::Hdf5Error;
pub use file::Hdf5File;
pub use group::{Link, LinkTarget, Links, ObjectKind};
pub use scratch::Hdf5Scratch;
pub use shape::MAX_ELEMENTS;
pub use write::{
    Hdf5Writer, Messages, NumberType, SUPERBLOCK_BYTES, SignalCompressor, WriteError, superblock,
};
