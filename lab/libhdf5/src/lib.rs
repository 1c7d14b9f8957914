//! libhdf5 as a second reader of FAST5, for comparison; empty without the feature `libhdf5`.

#[cfg(feature = "libhdf5")]
mod library;

#[cfg(feature = "libhdf5")]
pub use library::{LibraryFile, open};
