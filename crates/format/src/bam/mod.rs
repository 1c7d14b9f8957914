//! BAM: records as bytes, their fields read in place, and the header.
//!
//! Source: SAM specification v1, section 4.2. A *body* is one record without its leading
//! `block_size`; everything here works on bodies, so that no record is ever copied to be read.

mod auxiliary;
mod check;
pub mod cigar;
pub mod edit;
mod error;
mod flags;
mod header;
mod header_check;
mod header_digests;
mod header_line;
mod numbers;
mod record;
#[cfg(test)]
pub(crate) mod test_data;

pub use auxiliary::{AuxArray, AuxFields, AuxValue};
pub(crate) use check::hard_clips_are_at_the_ends;
pub use check::{RecordSearch, check_aux, check_record, find_record, rename_record};
pub use cigar::CIGAR_LETTERS;
pub use error::RecordError;
pub use flags::Flags;
pub use header::{Header, MAX_HEADER_LINE_BYTES, ReadGroup, Reference, expand_escapes};
pub use header_check::{HeaderError, LineProblem};
pub use header_digests::{OtherSequence, hexadecimal};
pub use record::FramedRecords;
pub use record::{
    BASE_LETTERS, CigarOps, FIXED_BYTES, RecordRef, framed_records, reg2bin, set_bin, set_duplicate,
};
