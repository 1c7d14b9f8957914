//! Reads to packed alignment records: the reference index, the alignment engine behind a trait, and
//! the flow of cohorts through it.
//!
//! [`ingest::run`] is the flow; it takes blocks from `seqloom_io::source`, checks what [`input`]
//! they are, cuts them with [`cohort`], drives an [`engine`] and hands packed templates, made by
//! [`records`], to an [`ingest::BatchSink`]. [`scan`] cuts without aligning, for runs of several
//! processes. An engine searches a loaded [`index`] by [`search`].
//!
//! The index of a reference, and what shows whether it is whole:
//!
//! ```
//! use seqloom_align::index::{BuildOptions, build, check, plan};
//!
//! # let folder = tempfile::tempdir()?;
//! let reference = folder.path().join("ref.fa");
//! std::fs::write(&reference, ">chr1\nGATTACAGATTACATTAGACCA\n")?;
//! let ready = plan(&reference, &BuildOptions::default(), &|_, _| ())?;
//! build(ready, &reference, &|_, _| ())?;
//! assert!(check(&reference).is_ok());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod cohort;
pub mod engine;
pub mod index;
pub mod ingest;
pub mod input;
pub mod records;
pub mod scan;
pub mod search;
#[cfg(test)]
mod test_input;
