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
//! A record of no bases, as a file:
//!
//! ```
//! use std::collections::HashMap;
//!
//! use seqloom_cram::{
//!     EOF_CONTAINER, Encoder, Numbering, Referred, Settings, Version, file_start,
//! };
//! use seqloom_format::RecordRef;
//!
//! let body = b"\xff\xff\xff\xff\xff\xff\xff\xff\x02\0\x48\x12\0\0\x04\0\
//!     \0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0r\0";
//! let settings = Settings { version: Version::V30, level: 6, keeps_mismatch_tags: false };
//! let referred = Referred { sequences: &[], read_groups: &HashMap::new() };
//! let (mut encoder, mut containers) = (Encoder::new(settings, referred), Vec::new());
//! encoder.push(&RecordRef::new(body)?, None, &mut containers)?;
//! encoder.finish_unit(&mut containers)?;
//!
//! let mut file = file_start(Version::V30, b"@HD\tVN:1.6\n")?;
//! let mut numbering = Numbering::new(false);
//! for container in &containers {
//!     numbering.push(container, file.len() as u64, &mut file);
//! }
//! file.extend_from_slice(&EOF_CONTAINER);
//! assert!(containers.len() == 1 && file.starts_with(b"CRAM\x03\0"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
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
