//! Records to containers of CRAM 3.0 and 3.1, and back ([`read`]), as pure functions on bytes.
//!
//! ```text
//! records ─► cut ─► slice ─────────► codec ──────► Container ─► Numbering ─► file, .crai
//!            which   fields to        series to     no counter   the counter of
//!            make a  series, bases    blocks, by    yet          records before
//!            slice   to differences   a fixed table
//! ```
//!
//! Workers make containers of units of records side by side; whoever writes them in order gives
//! them the number of records before them. No codec depends on another slice, so bytes depend on
//! records, reference and settings alone.
//!
//! Source: CRAM format specification, versions 3.0 and 3.1, and CRAM codecs, of the SAM/BAM format
//! group.

mod bases;
mod block;
mod codec;
mod codec_choice;
mod container;
mod cut;
mod error;
mod header;
mod index;
mod integers;
mod mates;
mod names;
mod part;
mod rans4x8;
mod rans_nx16;
pub mod read;
mod series;
mod slice;
mod tags;
mod version;

#[cfg(test)]
mod tests;

pub use container::{Container, EOF_CONTAINER, digest, file_start};
pub use cut::Encoder;
pub use error::CramError;
pub use index::Numbering;
pub use slice::{Referred, Settings};
pub use version::Version;
