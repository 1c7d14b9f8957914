//! FAST5 files as reads: single-read and multi-read, of all versions.
//!
//! What becomes of a FAST5's attributes follows `slow5tools f2s` (version 1.3.0): those of the
//! root, of `context_tags` and `tracking_id`, and `run_id` and `pore_type` wherever they are, are
//! header attributes; `read_id`, `digitisation`, `offset`, `range`, `sampling_rate` and the one
//! dataset are the read; `start_time`, `read_number`, `start_mux`, `median_before`, `end_reason`
//! and `channel_number` are auxiliary fields in the order in which they are in the first read.
//! Seven attributes of `Raw`, such as `tracked_scaling_scale`, are not stored. Another attribute
//! that has no such place is an error, but [`Fast5Options::keep_unknown`] makes auxiliary fields of
//! all, and [`Fast5Options::leave_out_auxiliary`] leaves all out; `Analyses`, `PreviousReadInfo`
//! and `Sequences` are passed over, and lists are left out, which SLOW5 has no place for (f2s
//! refuses the file; ONT's reader takes it).
//!
//! Where f2s gives up the whole file, one read is an error here and the others stay: the header
//! comes from the first read that is in order.
//!
//! An [`Engine`] is what looks into the HDF5 container. The one used by default is
//! [`seqloom_format::hdf5`], which has no lock: threads share a [`Fast5File`] and each brings its
//! own [`Fast5Scratch`].

mod auxiliary;
mod collect;
mod engine;
mod error;
mod file;
mod write;

pub use collect::Fast5Options;
pub use engine::{Engine, Field, FieldValue};
pub use error::{Fast5Error, Fast5Problem};
pub use file::{Fast5File, Fast5Layout, Fast5Scratch};
pub use write::{Fast5WriteError, Fast5Writer};
